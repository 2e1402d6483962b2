"""What a booster's stage asks of a block in the cache: costs to expect, the weight of an example, what a vote costs.

All costs are relative to the diagonal, C[r, l] - C[r, r]. The block must be the one that want_rows was last asked
about: the cache knows the tiers of that state alone.
"""

from __future__ import annotations

from onlineboost._compile.jit import bare_kernel
from onlineboost.boosters.votes import row_divisor


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
