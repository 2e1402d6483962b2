"""A block: the costs of one state of the votes, one number for every pair of tiers; and what a booster asks of it.

C[r, l] = phi^r_m(s + e_l), eq. (costMatrix), depends on the votes s only through how far each label is behind the
leader. Labels with equal votes form a *tier*; with D tiers, C has at most D (D + 1) different numbers.
"""

from __future__ import annotations

from onlineboost._compile.jit import bare_kernel
from onlineboost.boosters.votes import row_divisor

RESOLUTION = 2.0**-44  # a difference of costs below this is rounding, and counts as zero: it must not decide a vote
UNKNOWN = -1.0


def block_size(n_tiers: int) -> int:
    """Length of a block: the number of tiers D, how many rows are filled, deficit[D], size[D], weight[D], excess[D, D].

    deficit: votes behind the leader, increasing. size: number of labels. For a label r of tier a: weight[a] =
    sum_l (C[r, l] - C[r, r]), and excess[a, b] = C[r, l] - C[r, r] for any l != r of tier b. A row that nobody has
    asked for yet has the weight UNKNOWN.
    """
    return 2 + 3 * n_tiers + n_tiers * n_tiers


@bare_kernel
def set_excess(block, a, b, value):
    """excess[a, b] of a block. Rounding errors become zeros, so that they do not decide a vote."""
    D = int(block[0])
    block[2 + 3 * D + a * D + b] = value if value > RESOLUTION else 0.0


@bare_kernel
def finish_rows(block, wanted):
    """Weigh the rows of excess costs that have just been filled, and count them as known. None is wanted any more."""
    D = int(block[0])
    for a in range(D):
        if wanted[a]:
            if block[2 + D + a] == 1:  # no other label in the tier
                block[2 + 3 * D + a * D + a] = 0.0
            weight = 0.0
            for b in range(D):
                weight += (block[2 + D + b] - (a == b)) * block[2 + 3 * D + a * D + b]
            block[1] += 1.0
            block[2 + 2 * D + a] = max(weight, 0.0)
            wanted[a] = False


# ----------------------------------------------------------------------------------------------- what a booster asks
#
# All costs are relative to the diagonal, C[r, l] - C[r, r]. The block must be the one that want_rows was last asked
# about: the cache knows the tiers of that state alone.


@bare_kernel
def expected_costs(cache, at, labels, p, n, vote, cost):
    """cost[l] = sum_r p_r (C[r, l] - C[r, r]) for all l, where label labels[j] has probability p[j], j < n.

    Every row is divided by what the vote wants first (see ``votes.Vote``).
    """
    blocks, tier = cache.blocks, cache.tier
    mass, sums = cache.scratch[0], cache.scratch[1]
    D = int(blocks[at])
    weight = at + 2 + 2 * D
    excess = weight + D
    for b in range(D):
        mass[b] = 0.0
        sums[b] = 0.0
    for j in range(n):
        mass[tier[labels[j]]] += p[j]
    for a in range(D):  # all labels l != r of a tier cost the same ...
        if mass[a] > 0.0:
            factor = mass[a] / row_divisor(vote, blocks[weight + a])
            for b in range(D):
                sums[b] += factor * blocks[excess + a * D + b]
    for l in range(tier.size):
        cost[l] = sums[tier[l]]
    for j in range(n):  # ... but l = r costs nothing
        b = tier[labels[j]]
        factor = p[j] / row_divisor(vote, blocks[weight + b])
        cost[labels[j]] -= factor * blocks[excess + b * D + b]


@bare_kernel
def label_weight(cache, at, y):
    """The weight of an example with label y, sum_l (C[y, l] - C[y, y])."""
    D = int(cache.blocks[at])
    return cache.blocks[at + 2 + 2 * D + cache.tier[y]]


@bare_kernel
def excess_cost(cache, at, r, l):
    """C[r, l] - C[r, r]."""
    if l == r:
        return 0.0
    D = int(cache.blocks[at])
    return cache.blocks[at + 2 + 3 * D + cache.tier[r] * D + cache.tier[l]]
