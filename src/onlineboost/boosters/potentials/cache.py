"""Blocks of costs met before: look one up, make room for a new one, have the rows computed that are asked for."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost._compile.jit import bare_kernel, kernel
from onlineboost.boosters.potentials.blocks import UNKNOWN, block_size
from onlineboost.boosters.potentials.draws import Floats, Ints
from onlineboost.boosters.potentials.tables import Tables, fill_block


class Cache(NamedTuple):
    """Blocks of costs met before (see `blocks`), and the state in hand.

    A hash table with open addressing, emptied when full. It changes how long a look-up takes, never its result.
    Look-ups write to it, so it is for one thread at a time. It may serve several tables of the same k and N.
    """

    slots: Ints  # (slots, 3) two hashes of the state, over 100 bits, and where its block begins (0: empty)
    blocks: Floats  # one after the other
    used: Ints  # (6,) END.. below
    mix: Ints  # (N + 2, 2) [deficit]: random numbers to hash with
    deficit: Ints  # (k,) votes of each label behind the leader, of the state in hand
    tier: Ints  # (k,) and its tier; want_rows sets it
    tier_at: Ints  # (N + 2,) scratch: number of labels, or tier, with that deficit
    scratch: Floats  # (2, D)
    wanted: NDArray[np.bool_]  # (D,) rows to fill


END, ENTRIES, MISSES, SLOT, HASH_0, HASH_1 = range(6)


def build_cache(tables: Tables, megabytes: float = 64.0) -> Cache:
    """An empty cache. Memory is taken as it fills up, to at most about ``megabytes``.

    Examples
    --------
    >>> from onlineboost.boosters.potentials import build_tables, label_weight
    >>> tables = build_tables(n_classes=3, n_learners=10, gamma=0.1)
    >>> cache, s = build_cache(tables), np.array([2.0, 1.0, 0.0])
    >>> find_costs(cache, s, tables.reach[6], tables.key[6])
    -1
    >>> at = make_costs(cache)
    >>> bool(find_costs(cache, s, tables.reach[6], tables.key[6]) == at)
    True
    >>> bool(want_rows(cache, at, 0, np.arange(3), np.zeros(3), 3))  # the row of label 0
    True
    >>> make_rows(tables, cache, at, 6)
    >>> float(round(label_weight(cache, at, 0), 4))
    0.54
    """
    k, N = tables.n_classes, tables.n_learners
    n_tiers = min(k, (1 + math.isqrt(8 * N - 7)) // 2)  # 0 + 1 + ... + (D - 1) votes make D tiers
    n_slots = 1 << max(4, int(megabytes * 2**13).bit_length() - 1)  # 24 bytes each; a block has some 200
    n_floats = max(int(megabytes * 2**17) - 3 * n_slots, 1 + block_size(n_tiers))
    bits = 61 - (k + 1).bit_length()  # sums of k of them stay below 2^62
    return Cache(
        slots=np.zeros((n_slots, 3), dtype=np.int64),
        blocks=np.zeros(n_floats),
        used=np.array([1, 0, 0, 0, 0, 0]),
        mix=np.random.default_rng(0).integers(1 << bits, size=(N + 2, 2)),
        deficit=np.zeros(k, dtype=np.int64),
        tier=np.zeros(k, dtype=np.int64),
        tier_at=np.zeros(N + 2, dtype=np.int64),
        scratch=np.zeros((2, n_tiers)),
        wanted=np.zeros(n_tiers, dtype=np.bool_),
    )


@bare_kernel
def find_costs(cache, s, reach, key):
    """Where in the cache the costs of votes ``s`` are; -1 if they are not there, and make_costs is to be called.

    ``reach`` and ``key`` are tables.reach[m] and tables.key[m], m the number of draws left after this vote.
    """
    lead = s[0]
    for l in range(1, cache.deficit.size):
        lead = max(lead, s[l])
    h0 = key
    h1 = key
    for l in range(cache.deficit.size):
        d = min(int(lead - s[l]), reach)
        cache.deficit[l] = d
        h0 += cache.mix[d, 0]
        h1 += cache.mix[d, 1]
    slots = cache.slots
    mask = slots.shape[0] - 1
    slot = h0 & mask
    while slots[slot, 2] != 0:
        if slots[slot, 0] == h0 and slots[slot, 1] == h1:
            return slots[slot, 2]
        slot = (slot + 1) & mask
    cache.used[SLOT] = slot
    cache.used[HASH_0] = h0
    cache.used[HASH_1] = h1
    return -1


@bare_kernel
def make_costs(cache):
    """Make a block for the state that find_costs has just not found, all of it unknown. Returns where."""
    count = cache.tier_at
    top = 0
    for l in range(cache.deficit.size):
        top = max(top, cache.deficit[l])
    for d in range(top + 1):
        count[d] = 0
    D = 0
    for l in range(cache.deficit.size):
        D += count[cache.deficit[l]] == 0
        count[cache.deficit[l]] += 1

    used = cache.used
    slot = used[SLOT]
    size = 2 + 3 * D + D * D
    if used[END] + size > cache.blocks.size or 3 * used[ENTRIES] >= 2 * cache.slots.shape[0]:
        for i in range(cache.slots.shape[0]):
            cache.slots[i, 2] = 0
        used[END] = 1
        used[ENTRIES] = 0
        slot = used[HASH_0] & (cache.slots.shape[0] - 1)
    at = used[END]
    block = cache.blocks[at : at + size]
    block[0] = D
    block[1] = 0
    b = 0
    for d in range(top + 1):
        if count[d] > 0:
            block[2 + b] = d
            block[2 + D + b] = count[d]
            block[2 + 2 * D + b] = UNKNOWN
            b += 1
    cache.slots[slot, 0] = used[HASH_0]
    cache.slots[slot, 1] = used[HASH_1]
    cache.slots[slot, 2] = at
    used[END] += size
    used[ENTRIES] += 1
    used[MISSES] += 1
    return at


@bare_kernel
def want_rows(cache, at, y, labels, p, n):
    """Ask for the rows of C that a learner's vote and weight depend on. False: they are there already.

    These are the row of label y (-1: none) and, unless only one label is possible and the vote is certain, those of
    all labels[j] with p[j] > 0, j < n. It also finds the tier of each label, which the questions in `costs` rely on.
    """
    blocks, tier, wanted = cache.blocks, cache.tier, cache.wanted
    D = int(blocks[at])
    for b in range(D):
        cache.tier_at[int(blocks[at + 2 + b])] = b
    for l in range(tier.size):
        tier[l] = cache.tier_at[cache.deficit[l]]
    if blocks[at + 1] == D:
        return False
    possible = 0
    for j in range(n):
        possible += p[j] > 0.0
    if possible > 1:
        for j in range(n):
            wanted[tier[labels[j]]] |= p[j] > 0.0
    if y >= 0:
        wanted[tier[y]] = True
    missing = False
    for a in range(D):
        wanted[a] &= blocks[at + 2 + 2 * D + a] == UNKNOWN
        missing |= wanted[a]
    return missing


@kernel
def make_rows(tables, cache, at, m):
    """Compute the rows that have been asked for."""
    D = int(cache.blocks[at])
    fill_block(tables, cache.blocks[at : at + 2 + 3 * D + D * D], m, cache.wanted)
