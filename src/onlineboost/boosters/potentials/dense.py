"""The potentials of all states, by the recursion (potentialCond), run once; for few classes or few learners."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost._compile.jit import kernel
from onlineboost.boosters.potentials.blocks import set_excess
from onlineboost.boosters.potentials.draws import Floats, Ints, vote_distributions

DENSE_LIMIT = 48e6  # bytes of a table of all states: five classes, a hundred learners


class Dense(NamedTuple):
    """phi_m(s) for all states s within reach of N learners.

    The votes of the k - 1 labels other than r, sorted, are a partition of their sum v; s_r is what is missing to the
    total. Partitions are numbered by v, then by rank, so that the states of level m are the first ones.
    """

    phi: Floats  # levels m = 0..N, one after the other; the one state of level N is the start
    level: Ints  # (N + 2,) where level m begins
    first: Ints  # (N + 2,) number of the first partition of v
    up: NDArray[np.int32]  # (partitions, k - 1) the partition after one more vote for the i-th largest part
    n_below: Ints  # (k, N + 1, N + 2) [j, v, c]: number of partitions of v into at most j parts, each below c


NO_DENSE = Dense(
    phi=np.zeros(1),
    level=np.zeros(1, dtype=np.int64),
    first=np.zeros(1, dtype=np.int64),
    up=np.zeros((1, 1), dtype=np.int32),
    n_below=np.zeros((1, 1, 1), dtype=np.int64),
)


def dense_bytes(n_classes: int, n_learners: int, limit: float) -> float:
    """Size of the table of all states; infinity if it is above ``limit``."""
    partitions = np.zeros(n_learners + 1)  # of v, by the largest part allowed so far
    partitions[0] = 1.0
    for part in range(1, min(n_classes - 1, n_learners) + 1):
        for v in range(part, n_learners + 1):
            partitions[v] += partitions[v - part]
        size = 8.0 * partitions.cumsum().sum() + 6.0 * n_classes * partitions.sum()
        if size > limit:
            return math.inf
    return size


def dense_tables(n_classes: int, gamma: Floats) -> Dense:
    """Number the states, and run the recursion (potentialCond) over them; learner m has gamma[m]."""
    N, parts = len(gamma), n_classes - 1
    n_below = np.zeros((parts + 1, N + 1, N + 2), dtype=np.int64)
    n_below[:, 0, 1:] = 1
    for j in range(1, parts + 1):
        for c in range(1, N + 1):  # all parts below c + 1: the largest is below c, or it is c
            n_below[j, :, c + 1] = n_below[j, :, c]
            n_below[j, c:, c + 1] += n_below[j - 1, : N + 1 - c, c + 1]
    first = np.concatenate([[0], np.cumsum(n_below[parts, :, N + 1])])
    level = np.concatenate([[0], np.cumsum(first[:0:-1])])  # level m has the partitions of v <= N - m
    votes = np.zeros((first[N + 1], parts), dtype=np.int16)
    up = np.zeros((first[N], parts), dtype=np.int32)
    _number_partitions(n_below, first, votes, up)
    phi = np.empty(level[N + 1])
    phi[: level[1]] = votes[:, 0] >= N - votes.sum(axis=1)  # phi_0 is the loss (zeroOne): a tie is a loss
    _recursion(*vote_distributions(n_classes, gamma), level, up, phi, 1)
    return Dense(phi, level, first, up, n_below)


def retuned(dense: Dense, n_classes: int, before: Floats, gamma: Floats) -> Dense:
    """The same states with other gammas: the levels above the first learner whose gamma is another are made again."""
    changed = np.flatnonzero(before != gamma)
    if not len(changed):
        return dense
    phi = dense.phi.copy()
    _recursion(*vote_distributions(n_classes, gamma), dense.level, dense.up, phi, 1 + changed[0])
    return dense._replace(phi=phi)


@kernel
def partition_rank(n_below, votes):
    """Rank of a partition (parts in decreasing order) among those of the same sum: how many come before it."""
    v = 0
    for i in range(votes.size):
        v += votes[i]
    rank = 0
    for i in range(votes.size):  # those that agree so far, and have a smaller part here
        rank += n_below[votes.size - i, v, votes[i]]
        v -= votes[i]
    return rank


@kernel
def _number_partitions(n_below, first, votes, up):
    """Fill `votes` (the partitions in order) and `up`; every partition of v + 1 is one of v with one more vote."""
    parts = votes.shape[1]
    child = np.empty(parts, dtype=np.int64)
    for v in range(first.size - 2):
        for g in range(first[v], first[v + 1]):
            leader = 0  # the first of the parts equal to part i: raising that one keeps them sorted
            for i in range(parts):
                if votes[g, i] != votes[g, leader]:
                    leader = i
                child[:] = votes[g]
                child[leader] += 1
                up[g, i] = first[v + 1] + partition_rank(n_below, child)
                votes[up[g, i]] = child


@kernel
def _recursion(p, q, level, up, phi, lowest):
    """phi_m(s) = p phi_{m-1}(s + e_r) + q sum_l phi_{m-1}(s + e_l); a vote for r leaves the partition as it is.

    p[m - 1] and q[m - 1] are those of the learner with m - 1 draws left after it, which takes phi_m to phi_{m-1}. The
    levels below `lowest` are there already.
    """
    for m in range(lowest, level.size - 1):
        below = level[m - 1]
        own, other = p[m - 1], q[m - 1]
        for g in range(level[m + 1] - level[m]):
            others = 0.0
            for i in range(up.shape[1]):
                others += phi[below + up[g, i]]
            phi[level[m] + g] = own * phi[below + g] + other * others


@kernel
def fill_dense(dense, block, m, reach, wanted):
    """Look rows up: C[r, r] belongs to the partition of the others itself, C[r, l] to one of its children."""
    D = int(block[0])
    phi = dense.phi[dense.level[m] :]
    votes = _representative(block, dense.level.size - 3 - m, reach)
    others = np.empty(votes.size - 1, dtype=np.int64)
    r = 0
    for a in range(D):
        if wanted[a]:
            v = 0
            for i in range(others.size):
                others[i] = votes[i + (i >= r)]
                v += others[i]
            g = dense.first[v] + partition_rank(dense.n_below, others)
            l = 0  # the first label of tier b among the others
            for b in range(D):
                size = int(block[2 + D + b]) - (a == b)
                if size > 0:
                    set_excess(block, a, b, phi[dense.up[g, l]] - phi[g])
                l += size
        r += int(block[2 + D + a])


@kernel
def _representative(block, total, reach):
    """Votes in decreasing order, with that total, that have the deficits of the block.

    For labels out of the race any deficit from `reach` on will do. The leader gets as few votes as this allows.
    """
    D = int(block[0])
    k = 0
    live = 0
    behind = 0
    for b in range(D):
        k += int(block[2 + D + b])
        if block[2 + b] < reach:
            live += int(block[2 + D + b])
            behind += int(block[2 + D + b] * block[2 + b])
    # live * lead - behind votes for the labels in the race, at most lead - reach for each of the others
    lead = -((-total - behind - (k - live) * reach) // k)
    rest = total + behind - live * lead
    if lead < block[1 + D] or rest < 0 or (live == k and rest != 0):
        raise ValueError("the votes do not add up to the number of learners before this one")
    votes = np.empty(k, dtype=np.int64)
    l = 0
    for b in range(D):
        for _ in range(int(block[2 + D + b])):
            if block[2 + b] < reach:
                votes[l] = lead - int(block[2 + b])
            else:
                votes[l] = min(rest, lead - reach)
                rest -= votes[l]
            l += 1
    return votes
