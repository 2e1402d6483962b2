"""Potentials of OnlineMBBM: what a state of the votes is worth, what a vote costs, how much an example weighs.

phi^r_m(s) is the loss to expect when label r is correct, the votes so far are s, and m more votes are drawn from
u_gamma^r, eq. (potentialCond). Learner i is charged C[r, l] = phi^r_{N-i}(s^{i-1} + e_l), eq. (costMatrix), and
learns with the weight sum_l (C[y, l] - C[y, y]).

In a kernel, one look-up per (learner, example), then as many questions as wanted::

    tables = build_tables(n_classes, n_learners, gamma)      # read-only, may be shared
    cache = build_cache(tables)                              # one per thread

    find_costs(tables, cache, s, m)                          # m = N - i draws left after this vote
    expected_costs(cache, k, labels, p, n, cost)             # cost[l] = sum_r p_r (C[r, l] - C[r, r])
    weight = label_weight(cache, y)                          # sum_l (C[y, l] - C[y, y])
    excess_cost(cache, y, l)                                 # C[y, l] - C[y, y]

Costs are given relative to the diagonal, as in (normalizedCostMatrix): this takes the same number off every entry of
a row, so the vote argmin_l sum_r p_r C[r, l] is the same, and small differences are not lost beside large costs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._jit import kernel
from onlineboost.potential_tables import (
    DENSE,
    FOURIER,
    MONTE_CARLO,
    PAIR_LOSSES,
    PAIRWISE,
    Dense,
    Floats,
    Ints,
    Tables,
    Work,
    block_size,
    dense_size,
    dense_tables,
    fill_block,
    fourier_tables,
    gap_table,
    vote_distribution,
)

LOSSES = ("zero_one", *PAIR_LOSSES)
DENSE_LIMIT = 5_000_000  # values; 40 MB, and 0.05 s to fill


class Cache(NamedTuple):
    """Blocks met before, and the block in hand. For one thread: a look-up writes to it.

    A hash table with open addressing. When it is full it is emptied; what it holds never changes a result.
    """

    key: Ints  # (slots,) hash of (m, deficits)
    start: Ints  # (slots,) where in `blocks` the block begins; 0: slot empty
    blocks: Floats  # at `start` m, then the block
    used: Ints  # (4,) end of `blocks` in use, slots in use, hits, misses
    mix: Ints  # (2, N + 2) random numbers to hash with: [0, deficit], [1, m]
    deficit: Ints  # (k,) of each label, in hand
    tier: Ints  # (k,) of each label, in hand
    tier_at: Ints  # (N + 2,) tier with that deficit, in hand
    mass: Floats  # (D,)
    block: Floats  # the block in hand
    work: Work


USED, SLOTS, HITS, MISSES = range(4)


def build_tables(n_classes, n_learners, gamma, *, loss="zero_one", potential="exact", n_draws=100, seed=0) -> Tables:
    N = n_learners
    p, q = vote_distribution(n_classes, gamma)
    none = np.zeros((1, 1))
    dense = Dense(
        none[0], np.zeros(1, np.int64), np.zeros(1, np.int64), np.zeros((1, 1), np.int32), np.zeros((1, 1, 1), np.int64)
    )
    fourier = fourier_tables(n_classes, gamma, 0, 0)
    gap = none
    reach = np.full(N + 1, N + 1)
    if loss != "zero_one":
        method = PAIRWISE
        gap = gap_table(loss, n_classes, N, gamma)
    elif potential == "monte_carlo":
        method = MONTE_CARLO
    elif potential == "exact" and dense_size(n_classes, N) <= DENSE_LIMIT:
        method = DENSE
        dense = dense_tables(n_classes, N, gamma)
    else:
        method = FOURIER
        fourier = fourier_tables(n_classes, gamma, 0, N - 1)
        reach = fourier.reach
    return Tables(method, n_classes, N, p, q, reach, gap, dense, fourier, n_draws, seed)


def build_cache(tables, megabytes=16.0, slots=None) -> Cache:
    k, N = tables.n_classes, tables.n_learners
    D = min(k, int((1 + math.sqrt(8 * N + 1)) / 2))
    J = int(tables.fourier.n_nodes.max())
    n_slots = 1 << max(4, int(math.log2(megabytes * 2**20 / 8 / 4 / 2)))
    rng = np.random.default_rng(0)
    bits = 62 - int(math.ceil(math.log2(k + 2)))
    work = Work(
        np.zeros(k - 1, np.int64),
        np.zeros(k - 1, np.int64),
        np.zeros((int(tables.fourier.x_high.max()) + 2, 2, J)),
        np.zeros((2, J)),
        np.zeros((D + 2, J)),
    )
    return Cache(
        np.zeros(n_slots, np.int64),
        np.zeros(n_slots, np.int64),
        np.zeros(int(megabytes * 2**20 / 8)),
        np.array([1, 0, 0, 0]),
        rng.integers(1 << bits, size=(2, N + 3)),
        np.zeros(k, np.int64),
        np.zeros(k, np.int64),
        np.zeros(N + 3, np.int64),
        np.zeros(D),
        np.zeros(block_size(D)),
        work,
    )


@kernel
def find_costs(tables, cache, s, m):
    """Take the block of the votes s with m draws left in hand."""
    k = tables.n_classes
    lead = s[0]
    for l in range(1, k):
        lead = max(lead, s[l])
    reach = tables.reach[m]
    h = cache.mix[1, m]
    for l in range(k):
        d = min(int(lead - s[l]), reach)
        cache.deficit[l] = d
        h += cache.mix[0, d]
    mask = cache.key.size - 1
    slot = h & mask
    while cache.start[slot] != 0:
        if cache.key[slot] == h and _recall(cache, cache.start[slot], k, m):
            cache.used[HITS] += 1
            return
        slot = (slot + 1) & mask
    cache.used[MISSES] += 1
    _sort_tiers(cache, k)
    fill_block(tables, cache.work, cache.block, m)
    size = block_size(int(cache.block[0]))
    if cache.used[USED] + size + 1 > cache.blocks.size or 2 * cache.used[SLOTS] > cache.key.size:
        cache.start[:] = 0
        cache.used[USED] = 1
        cache.used[SLOTS] = 0
        slot = h & mask
        if size + 2 > cache.blocks.size:
            return
    at = cache.used[USED]
    cache.key[slot] = h
    cache.start[slot] = at
    cache.blocks[at] = m
    for i in range(size):
        cache.blocks[at + 1 + i] = cache.block[i]
    cache.used[USED] = at + size + 1
    cache.used[SLOTS] += 1


block_size = kernel(block_size)


@kernel
def _recall(cache, at, k, m):
    """Take the stored block in hand, if it really is the one for these deficits."""
    if cache.blocks[at] != m:
        return False
    D = int(cache.blocks[at + 1])
    for b in range(D):
        cache.tier_at[int(cache.blocks[at + 2 + b])] = b
        cache.mass[b] = 0.0
    for l in range(k):
        b = cache.tier_at[cache.deficit[l]]
        if b >= D or cache.blocks[at + 2 + b] != cache.deficit[l]:
            return False
        cache.tier[l] = b
        cache.mass[b] += 1.0
    for b in range(D):
        if cache.mass[b] != cache.blocks[at + 2 + D + b]:
            return False
    for i in range(block_size(D)):
        cache.block[i] = cache.blocks[at + 1 + i]
    return True


@kernel
def _sort_tiers(cache, k):
    """Write the deficits in hand into the block in hand, as tiers."""
    for l in range(k):
        cache.tier_at[cache.deficit[l]] = 0
    for l in range(k):
        cache.tier_at[cache.deficit[l]] += 1
    D = 0
    top = 0
    for l in range(k):
        top = max(top, cache.deficit[l])
    # number of tiers first
    for l in range(k):
        d = cache.deficit[l]
        if cache.tier_at[d] > 0:
            D += 1
            cache.tier_at[d] = -cache.tier_at[d]
    cache.block[0] = D
    b = 0
    for d in range(top + 1):
        found = 0
        for l in range(k):
            if cache.deficit[l] == d:
                cache.tier[l] = b
                found += 1
        if found > 0:
            cache.block[1 + b] = d
            cache.block[1 + D + b] = found
            b += 1


@kernel
def expected_costs(cache, k, labels, p, n, cost):
    D = int(cache.block[0])
    block, mass = cache.block, cache.mass
    mass[:D] = 0.0
    for j in range(n):
        mass[cache.tier[labels[j]]] += p[j]
    for b in range(D):
        total = 0.0
        for a in range(D):
            total += mass[a] * block[1 + 4 * D + a * D + b]
        block[1 + 2 * D + b], total = total, block[1 + 2 * D + b]
    for l in range(k):
        cost[l] = block[1 + 2 * D + cache.tier[l]]
    for j in range(n):
        b = cache.tier[labels[j]]
        cost[labels[j]] -= p[j] * block[1 + 4 * D + b * D + b]


@kernel
def label_weight(cache, y):
    D = int(cache.block[0])
    return cache.block[1 + 3 * D + cache.tier[y]]
