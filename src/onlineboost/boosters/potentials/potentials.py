"""Potentials of OnlineMBBM: what a vote costs, how much an example weighs, what error to expect in the end.

phi^r_m(s) is the loss to expect if label r is correct, the votes so far are s, and m more votes are drawn from
u_gamma^r, eq. (potentialCond). Learner i is charged C[r, l] = phi^r_{N-i}(s^{i-1} + e_l), eq. (costMatrix), for the
vote l, and learns with weight sum_l (C[y, l] - C[y, y]).

In a kernel: one look-up per (learner, example), then as many questions as there are::

    tables = build_tables(n_classes, n_learners, gamma)       # read-only, any number of threads
    cache = build_cache(tables)                               # one thread at a time

    at = find_costs(cache, s, tables.reach[m], tables.key[m]) # m = N - i draws left after this vote
    if at < 0:
        at = make_costs(cache)
    if want_rows(cache, at, y, labels, p, n):                 # of C: only those that the questions need
        make_rows(tables, cache, at, m)
    expected_costs(cache, at, labels, p, n, False, cost)      # cost[l] = sum_r p_r (C[r, l] - C[r, r])
    weight = label_weight(cache, at, y)                       # sum_l (C[y, l] - C[y, y])
    edge = excess_cost(cache, at, y, l)                       # C[y, l] - C[y, y]

(Two calls rather than one, since passing the tables around costs more than the look-up.) Costs are relative to the
diagonal, as in (normalizedCostMatrix). That takes the same off all entries of a row, so that argmin_l sum_r p_r C[r, l]
stays what it is, and small differences do not drown in large costs.
"""

from __future__ import annotations

import hashlib
import math
from numbers import Integral
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlineboost._compile.jit import bare_kernel, kernel
from onlineboost.boosters.potentials.blocks import (
    NEGLIGIBLE,
    UNKNOWN,
    Floats,
    Ints,
    block_size,
    own_draws,
    poisson,
    race_reach,
    vote_distribution,
)
from onlineboost.boosters.potentials.races import race_tables
from onlineboost.boosters.potentials.tables import (
    DENSE,
    FOURIER,
    MONTE_CARLO,
    NO_DENSE,
    PAIR_LOSSES,
    PAIRWISE,
    Tables,
    dense_bytes,
    dense_tables,
    fill_block,
    fill_fourier,
    fill_pairwise,
    fourier_tables,
    gap_table,
    mixed_gap_table,
)

LOSSES = ("zero_one", *PAIR_LOSSES)
DENSE_LIMIT = 48e6  # bytes of a table of all states: five classes, a hundred learners
TINY = 1e-300

NO_RACES = race_tables(2, np.zeros(1))  # a kernel wants all tables, used or not

# ----------------------------------------------------------------------------------------------- tables and cache


def build_tables(
    n_classes: int,
    n_learners: int,
    gamma: float | ArrayLike,
    *,
    loss: str = "zero_one",
    potential: str = "exact",
    n_draws: int = 100,
    seed: int = 0,
) -> Tables:
    """Prepare the costs of a chain.

    Parameters
    ----------
    n_classes, n_learners : int
        k >= 2 and N >= 1.
    gamma : float, or one for each learner
        The edge, 0 <= gamma < 1. The costs of learner i are those of a chain that has its gamma throughout.
    loss : {"zero_one", "logistic", "exponential", "hinge", "squared_hinge"}
        The loss L^r that the final votes suffer.
    potential : {"exact", "monte_carlo"}
        ``"monte_carlo"`` estimates each potential of the 0-1 loss from ``n_draws`` draws, as the authors do.
    n_draws, seed : int
        For ``"monte_carlo"``.

    Examples
    --------
    >>> tables = build_tables(n_classes=5, n_learners=20, gamma=0.1)
    >>> tables.reach[:5]  # 2 votes behind with no draw left: a label can neither win nor keep others from it
    array([2, 3, 4, 5, 6])
    """
    k, N = _check_int("n_classes", n_classes, 2), _check_int("n_learners", n_learners, 1)
    gammas = np.array([_check_gamma(value) for value in np.ravel(gamma).tolist()])
    if gammas.size not in (1, N):
        raise ValueError(f"gamma must be a number, or one for each of the {N} learners; got {gammas.size}")
    gammas = np.ascontiguousarray(np.broadcast_to(gammas, N)[::-1])  # by m = N - i
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {loss!r}")
    if potential not in ("exact", "monte_carlo"):
        raise ValueError(f"potential must be 'exact' or 'monte_carlo', got {potential!r}")
    if potential == "monte_carlo" and loss != "zero_one":
        raise ValueError(f"potential='monte_carlo' is for loss='zero_one'; loss={loss!r} is exact anyway")
    tables = Tables(
        method=PAIRWISE,
        n_classes=k,
        n_learners=N,
        gamma=gammas,
        reach=np.full(N, N),
        key=_keys(N, k, gammas.tolist(), loss, potential, n_draws, seed),
        gap=np.zeros((1, 1)),
        dense=NO_DENSE,
        races=NO_RACES,
        n_draws=_check_int("n_draws", n_draws, 1),
        seed=_check_int("seed", seed, 0),
    )
    if loss != "zero_one":
        return tables._replace(gap=mixed_gap_table(PAIR_LOSSES[loss](np.arange(-N, N + 1.0)), k, gammas))
    if potential == "monte_carlo":
        return tables._replace(method=MONTE_CARLO)
    tables = tables._replace(reach=race_reach(k, gammas))
    if dense_bytes(k, N, DENSE_LIMIT) <= DENSE_LIMIT:
        return tables._replace(method=DENSE, dense=dense_tables(k, gammas))
    return tables._replace(method=FOURIER, races=race_tables(k, gammas))


def _keys(size: int, *meaning: object) -> Ints:
    """Random numbers that stand for what is given."""
    digest = hashlib.blake2b(repr(meaning).encode(), digest_size=16).digest()
    return np.random.default_rng(int.from_bytes(digest, "little")).integers(1 << 60, size=size)


class Cache(NamedTuple):
    """Blocks of costs met before (see ``potential_tables``), and the state in hand.

    A hash table with open addressing, emptied when full. It changes how long a look-up takes, never its result.
    Look-ups write to it, so it is for one thread at a time. It may serve several tables of the same k and N.
    """

    slots: Ints  # (slots, 3) two hashes of the state, over 100 bits, and where its block begins (0: empty)
    blocks: Floats  # one after the other
    used: Ints  # (6,) END.. below
    mix: Ints  # (N + 2, 2) [deficit]: random numbers to hash with
    deficit: Ints  # (k,) votes of each label behind the leader, of the state in hand
    tier: Ints  # (k,) and its tier
    tier_at: Ints  # (N + 2,) scratch: number of labels, or tier, with that deficit
    scratch: Floats  # (2, D)
    wanted: NDArray[np.bool_]  # (D,) rows to fill


END, ENTRIES, MISSES, SLOT, HASH_0, HASH_1 = range(6)


def build_cache(tables: Tables, megabytes: float = 64.0) -> Cache:
    """An empty cache. Memory is taken as it fills up, to at most about ``megabytes``.

    Examples
    --------
    >>> tables = build_tables(n_classes=3, n_learners=10, gamma=0.1)
    >>> cache, s = build_cache(tables), np.array([2.0, 1.0, 0.0])
    >>> find_costs(cache, s, tables.reach[6], tables.key[6])
    -1
    >>> at = make_costs(cache)
    >>> find_costs(cache, s, tables.reach[6], tables.key[6]) == at
    True
    >>> want_rows(cache, at, 0, np.arange(3), np.zeros(3), 3)  # the row of label 0
    True
    >>> make_rows(tables, cache, at, 6)
    >>> round(label_weight(cache, at, 0), 4)
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


# ---------------------------------------------------------------------------------------------- costs in a kernel


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
    all labels[j] with p[j] > 0, j < n.
    """
    blocks = cache.blocks
    D = int(blocks[at])
    if blocks[at + 1] == D:
        return False
    possible = 0
    for j in range(n):
        possible += p[j] > 0.0
    missing = False
    for j in range(-1, n if possible > 1 else 0):
        r = y
        if j >= 0:
            r = labels[j] if p[j] > 0.0 else -1
        if r >= 0:
            a = tier_of(cache, at, r)
            if blocks[at + 2 + 2 * D + a] == UNKNOWN:
                cache.wanted[a] = True
                missing = True
    return missing


@kernel
def make_rows(tables, cache, at, m):
    """Compute the rows that have been asked for."""
    D = int(cache.blocks[at])
    fill_block(tables, cache.blocks[at : at + 2 + 3 * D + D * D], m, cache.wanted)


@bare_kernel
def expected_costs(cache, at, labels, p, n, tempered, cost):
    """cost[l] = sum_r p_r (C[r, l] - C[r, r]) for all l, where label labels[j] has probability p[j], j < n.

    Tempered: every row is divided by the square root of its weight first (see ``stages.vote``).
    """
    blocks, tier = cache.blocks, cache.tier
    mass, sums = cache.scratch[0], cache.scratch[1]
    D = int(blocks[at])
    weight = at + 2 + 2 * D
    excess = weight + D
    for b in range(D):
        cache.tier_at[int(blocks[at + 2 + b])] = b
        mass[b] = 0.0
        sums[b] = 0.0
    for l in range(tier.size):
        tier[l] = cache.tier_at[cache.deficit[l]]
    for j in range(n):
        mass[tier[labels[j]]] += p[j]
    for a in range(D):  # all labels l != r of a tier cost the same ...
        if mass[a] > 0.0:
            factor = mass[a]
            if tempered:
                factor /= math.sqrt(max(blocks[weight + a], TINY))
            for b in range(D):
                sums[b] += factor * blocks[excess + a * D + b]
    for l in range(tier.size):
        cost[l] = sums[tier[l]]
    for j in range(n):  # ... but l = r costs nothing
        b = tier[labels[j]]
        factor = p[j]
        if tempered:
            factor /= math.sqrt(max(blocks[weight + b], TINY))
        cost[labels[j]] -= factor * blocks[excess + b * D + b]


@bare_kernel
def tier_of(cache, at, l):
    """The tier of label l in the state in hand."""
    b = 0
    while cache.blocks[at + 2 + b] != cache.deficit[l]:
        b += 1
    return b


@bare_kernel
def label_weight(cache, at, y):
    """The weight of an example with label y, sum_l (C[y, l] - C[y, y])."""
    D = int(cache.blocks[at])
    return cache.blocks[at + 2 + 2 * D + tier_of(cache, at, y)]


@bare_kernel
def excess_cost(cache, at, r, l):
    """C[r, l] - C[r, r]."""
    if l == r:
        return 0.0
    D = int(cache.blocks[at])
    return cache.blocks[at + 2 + 3 * D + tier_of(cache, at, r) * D + tier_of(cache, at, l)]


# ------------------------------------------------------------------------------------------------- single numbers


def potential(votes: ArrayLike, label: int, remaining: int, gamma: float, *, loss: str = "zero_one") -> float:
    """phi^r_m(s), eq. (potentialCond), for s = ``votes``, r = ``label`` and m = ``remaining``.

    Examples
    --------
    >>> potential([3, 1, 1], label=0, remaining=0, gamma=0.1)
    0.0
    >>> round(potential([3, 1, 1], label=0, remaining=10, gamma=0.1), 6)
    0.272546
    """
    s, m, gamma = _check_state(votes, remaining, gamma, loss)
    r = _check_int("label", label, 0)
    if r >= s.size:
        raise ValueError(f"label must be below the number of classes {s.size}, got {label}")
    s[r] -= 1  # phi(s) is the cost C[r, r] of the state before
    _, own, tier = _block_of(s, m, gamma, loss, only=r)
    return float(own[tier[r]])


def cost_matrix(votes: ArrayLike, remaining: int, gamma: float, *, loss: str = "zero_one") -> Floats:
    """C[r, l] = phi^r_m(s + e_l), eq. (costMatrix), for s = ``votes`` and m = ``remaining`` draws after this vote.

    Examples
    --------
    >>> cost_matrix([2, 1, 0], remaining=1, gamma=0.1).round(4)
    array([[0. , 0.6, 0.6],
           [1. , 0.6, 1. ],
           [1. , 1. , 1. ]])
    """
    s, m, gamma = _check_state(votes, remaining, gamma, loss)
    block, own, tier = _block_of(s, m, gamma, loss, only=-1)
    excess = block[2 + 3 * own.size :].reshape(own.size, own.size)
    C = (own[:, None] + excess)[np.ix_(tier, tier)]
    np.fill_diagonal(C, own[tier])
    return C


def _block_of(s: Ints, m: int, gamma: float, loss: str, only: int) -> tuple[Floats, Floats, Ints]:
    """The block and C[r, r] of one state, or the row of one label of it, and the tier of each label."""
    deficit = s.max() - s
    if loss == "zero_one":
        deficit = np.minimum(deficit, m + 2)  # out of the race
    deficits, tier, sizes = np.unique(deficit, return_inverse=True, return_counts=True)
    block, own = np.zeros(block_size(deficits.size)), np.zeros(deficits.size)
    block[0] = deficits.size
    block[2 : 2 + 2 * deficits.size] = np.concatenate([deficits, sizes])
    if loss == "zero_one":
        fill_fourier(fourier_tables(s.size, gamma, m, m), block, m, -1 if only == -1 else tier[only], own)
    else:
        N = m + 1 + int(deficit.max())
        fill_pairwise(gap_table(PAIR_LOSSES[loss](np.arange(-N, N + 1.0)), s.size, gamma), block, m, own)
    return block, own, tier


# --------------------------------------------------------------------------------------------------------- theory


def asymptotic_error(n_classes: int, n_learners: int, gamma: float, *, ties: str = "lost") -> float:
    """phi_N(0), the error rate that OnlineMBBM tends to under the weak learning condition (Theorem mistakeOptimal).

    Never above the bound (k - 1) exp(-gamma^2 N / 2) of Lemma asymptoticError, and often far below. N may be large.

    The theorem counts a tie as a mistake (``ties="lost"``). With ``ties="shared"`` a tie is broken by a fair draw: the
    error of the majority of N independent votes, which no other use of these votes can beat.

    Examples
    --------
    >>> round(asymptotic_error(n_classes=5, n_learners=100, gamma=0.1), 4)
    0.2057
    >>> round(4 * math.exp(-0.1**2 * 100 / 2), 4)
    2.4261
    """
    k, N = _check_int("n_classes", n_classes, 2), _check_int("n_learners", n_learners, 1)
    if ties not in ("lost", "shared"):
        raise ValueError(f"ties must be 'lost' or 'shared', got {ties!r}")
    p, q = vote_distribution(k, _check_gamma(gamma))
    # fill_fourier with all other labels equal: P(win) = sum_x Pois(x; N p) w^(x - N) E_{x-1}^(k-1) / (M Pois(N; N)).
    # If a tie of j + 1 labels is won once in j + 1 times, E_{x-1}^(k-1) becomes, with a = E_x - E_{x-1},
    # sum_j binom(k-1, j) a^j E_{x-1}^(k-1-j) / (j + 1) = (E_x^k - E_{x-1}^k) / (k a), mean of E_x^i E_{x-1}^(k-1-i).
    total = poisson(N, N + int(20.0 * math.sqrt(N)) + 60)
    M = 3
    while total[N + M] > NEGLIGIBLE * total[N] or (M <= N and total[N - M] > NEGLIGIBLE * total[N]):
        M += 2
    root = np.exp(2j * math.pi * np.arange(M) / M)
    j = np.arange((M + 1) // 2)
    own, other = poisson(N * p, N + 1), poisson(N * q, N + 1)
    E = np.zeros(j.size, dtype=complex)
    sums = np.zeros(j.size)
    for x in np.flatnonzero((own > NEGLIGIBLE * total[N]) | (other > NEGLIGIBLE * total[N] / k)):
        more = E + other[x] * root[j * x % M]
        wins = E ** (k - 1) if ties == "lost" else _mean_of_products(more, E, k)
        sums += own[x] * (root[j * (x - N) % M] * wins).real
        E = more
    return float(np.clip(1.0 - (2.0 * sums.sum() - sums[0]) / (M * total[N]), 0.0, 1.0))


def _mean_of_products(a: np.ndarray, b: np.ndarray, k: int) -> np.ndarray:
    """The mean of a^i b^(k-1-i), i = 0..k-1, by Horner's rule."""
    total, power = np.ones_like(a), np.ones_like(a)
    for _ in range(k - 1):
        power = power * b
        total = total * a + power
    return total / k


def weight_bounds(n_classes: int, n_learners: int, gamma: float, *, exact: bool = False) -> Floats:
    """w^{i*} for i = 1..N: no example's weight at learner i exceeds it (0-1 loss).

    The excess loss of Theorem mistakeOptimal is S times their sum. With ``exact`` they are the largest weights over all
    states, for as many classes and learners as that is feasible. Otherwise they are the bound

        (k - 1) max_x (b(x) + b(x + 1)),   b the probabilities of Bin(N - i, p),

    which is O(k^{3/2} / sqrt(N - i)), against the k^{5/2} of Lemma weightBound; docs/potentials.md has the proof.

    Examples
    --------
    >>> weight_bounds(n_classes=3, n_learners=4, gamma=0.1).round(3)
    array([1.44, 1.68, 2.  , 2.  ])
    >>> weight_bounds(n_classes=3, n_learners=4, gamma=0.1, exact=True).round(3)
    array([0.72, 0.84, 1.  , 2.  ])
    """
    k, N = _check_int("n_classes", n_classes, 2), _check_int("n_learners", n_learners, 1)
    gamma = _check_gamma(gamma)
    if not exact:
        bounds = np.empty(N)
        for i in range(1, N + 1):
            draws = own_draws(N - i, k, gamma)
            bounds[i - 1] = (k - 1) * min(1.0, (draws + np.append(draws[1:], 0.0)).max())
        return bounds
    if dense_bytes(k, N, DENSE_LIMIT) > DENSE_LIMIT:
        raise ValueError(f"too many states for exact weights: n_classes={k}, n_learners={N}; use exact=False")
    dense = dense_tables(k, np.full(N, gamma))
    weights = np.empty(N)
    for i in range(1, N + 1):
        phi = dense.phi[dense.level[N - i] :]
        own = phi[: dense.first[i]]  # others with up to i - 1 votes, and one more vote for r
        weights[i - 1] = (phi[dense.up[: own.size]].sum(axis=1) - (k - 1) * own).max()
    return weights


# ---------------------------------------------------------------------------------------------------------- checks


def _check_int(name: str, value: object, least: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def _check_gamma(gamma: float) -> float:
    if not 0.0 <= gamma < 1.0:
        raise ValueError(f"gamma must be in [0, 1), got {gamma!r}")
    return float(gamma)


def _check_state(votes: ArrayLike, remaining: int, gamma: float, loss: str) -> tuple[Ints, int, float]:
    s = np.array(votes)
    if s.ndim != 1 or s.size < 2:
        raise ValueError(f"votes must hold one number for each of at least 2 classes, got shape {s.shape}")
    if (s < 0).any() or (s != np.floor(s)).any():
        raise ValueError(f"votes must be whole numbers, none negative, got {s[(s < 0) | (s != np.floor(s))][0]}")
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {loss!r}")
    return s.astype(np.int64), _check_int("remaining", remaining, 0), _check_gamma(gamma)
