"""The numbers behind a row of costs: tables made once per (k, N, gamma), and blocks of costs made from them.

The booster asks for C[r, l] = phi^r_m(s + e_l), eq. (costMatrix), for some labels r and all l. C depends on the
votes s only through how far each label is behind the leader. Labels with equal votes form a *tier*, and a *block*
holds one number for every pair of tiers (:func:`block_size` gives its layout). Four ways to fill a block:

``DENSE``        the recursion (potentialCond), run once over all states; for few classes or few learners
``FOURIER``      the sum (potentialCompute) for one state, by a short Fourier transform; for all others
                 (``potential_races.py``; :func:`fill_fourier` is for single numbers)
``PAIRWISE``     losses that are a sum over pairs of labels: a table over (m, difference of two votes) is enough
``MONTE_CARLO``  the authors' estimate of (potentialCompute) from 100 draws

A row of a block depends on the tables, m and the tiers alone, bit for bit; ``potentials.py`` remembers blocks.
Symbols: k classes, N learners, m draws left, u_gamma^r = (p for r, q for each other label).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from onlineboost._compile import fastmath
from onlineboost._compile.jit import fused_kernel, kernel
from onlineboost.boosters.potentials.blocks import (
    NEGLIGIBLE,
    Floats,
    Ints,
    own_draws,
    poisson,
    set_excess,
    stack,
    vote_distribution,
)
from onlineboost.boosters.potentials.races import Races, fill_race

DENSE, FOURIER, PAIRWISE, MONTE_CARLO = range(4)


class Dense(NamedTuple):
    """phi_m(s) for all states s within reach of N learners.

    The votes of the k - 1 labels other than r, sorted, are a partition of their sum v; s_r is what is missing to the
    total. Partitions are numbered by v, then by rank, so that the states of level m are the first so many of them.
    """

    phi: Floats  # levels m = 0..N, one after the other; level N is not used
    level: Ints  # (N + 2,) where level m begins
    first: Ints  # (N + 2,) number of the first partition of v
    up: NDArray[np.int32]  # (partitions, k - 1) the partition after one more vote for the i-th largest part
    n_below: Ints  # (k, N + 1, N + 2) [j, v, c]: number of partitions of v into at most j parts, each below c


class Fourier(NamedTuple):
    """Poisson counts in the frequency domain, for :func:`fill_fourier`. Neighbouring m share a grid of frequencies."""

    grid: Ints  # (N + 1,) the grid of m
    n_points: Ints  # (grids,) M; w = exp(2 pi i / M)
    n_nodes: Ints  # (grids,) J = (M + 1) / 2 frequencies; the other nodes are their conjugates
    free: Ints  # (grids,) an upper limit of `free` or more never binds
    rate: Floats  # (grids,) lambda p
    root: Floats  # (grids, 2, M) powers of w, real and imaginary part
    others: Floats  # (grids, c, 4, J) E_c, F_c
    own: Floats  # (grids, x, 2, J) A_x
    log_others: Floats  # (grids, c) log E_c at frequency 0, where |E_c| is largest
    log_own: Floats  # (grids, x) log Pois(x; lambda p)
    decay: Floats  # (grids, c) K_c: |E_c[j]| and |E_{c-1}[j]| are below E_c[0] exp(-K_c (1 - cos theta_j))
    norm: Floats  # (N + 1,) M Pois(m; lambda)
    x_low: Ints  # (N + 1,) fewer draws of r than this, or
    x_high: Ints  # (N + 1,) more than this, have negligible probability
    at_least: Floats  # (N + 1, draws) [m, x]: probability of x or more draws of r


OF_EACH_M = ("grid", "norm", "x_low", "x_high", "at_least")  # fields of Fourier; the others are of each grid

NO_DENSE = Dense(
    phi=np.zeros(1),
    level=np.zeros(1, dtype=np.int64),
    first=np.zeros(1, dtype=np.int64),
    up=np.zeros((1, 1), dtype=np.int32),
    n_below=np.zeros((1, 1, 1), dtype=np.int64),
)


class Tables(NamedTuple):
    """All that costs depend on besides the votes. Read-only, so threads may share it."""

    method: int  # DENSE, FOURIER, PAIRWISE or MONTE_CARLO
    n_classes: int
    n_learners: int
    gamma: Floats  # (N,) [m]: the edge in the costs of the learner with m draws left after it
    reach: Ints  # (N,) [m]: a label this far behind is out of the race, and how far behind no longer matters
    key: Ints  # (N,) [m]: a random number that stands for these tables and m
    gap: Floats  # (N, 2N + 1) [m, d + N]: G_m(d), the potential of one pair of labels (PAIRWISE)
    dense: Dense
    races: Races  # (FOURIER)
    n_draws: int  # of MONTE_CARLO
    seed: int


# ---------------------------------------------------------------------------------------------------------- DENSE


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
    """Number the states, and run the recursion (potentialCond) over them, once for every edge among gamma[m]."""
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
    mixed = phi.copy()
    for edge in np.unique(gamma):
        _recursion(*vote_distribution(n_classes, edge), level, up, phi)
        for m in np.flatnonzero(gamma == edge):
            mixed[level[m] : level[m + 1]] = phi[level[m] : level[m + 1]]
    return Dense(mixed, level, first, up, n_below)


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
def _recursion(p, q, level, up, phi):
    """phi_m(s) = p phi_{m-1}(s + e_r) + q sum_l phi_{m-1}(s + e_l); a vote for r leaves the partition as it is."""
    for m in range(1, level.size - 1):
        below = level[m - 1]
        for g in range(level[m + 1] - level[m]):
            others = 0.0
            for i in range(up.shape[1]):
                others += phi[below + up[g, i]]
            phi[level[m] + g] = p * phi[below + g] + q * others


@kernel
def fill_dense(dense, block, m, reach):
    """Look the block up: C[r, r] belongs to the partition of the others itself, C[r, l] to one of its children."""
    D = int(block[0])
    phi = dense.phi[dense.level[m] :]
    votes = _representative(block, dense.level.size - 3 - m, reach)
    others = np.empty(votes.size - 1, dtype=np.int64)
    r = 0
    for a in range(D):
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


# -------------------------------------------------------------------------------------------------------- FOURIER


def fourier_tables(n_classes: int, gamma: float, m_low: int, m_high: int) -> Fourier:
    """Tables for m_low <= m <= m_high.

    Any lambda is right in theory. In floating point it should be within 1.5 standard deviations of m, so that
    Pois(m; lambda), by which all is divided, is not small. So neighbouring m share a lambda.
    """
    grids = []
    low = m_low
    while low <= m_high:
        deviation = 0.75 + math.sqrt(0.75**2 + low)  # lambda - 1.5 sqrt(lambda) = low
        high = min(m_high, int(deviation * (deviation + 1.5)))
        grids.append(_fourier_grid(n_classes, gamma, low, high, deviation**2))
        low = high + 1
    tables = {name: stack([getattr(grid, name) for grid in grids]) for name in Fourier._fields}
    for name in OF_EACH_M:
        of_m = [row for grid in grids for row in getattr(grid, name)]
        tables[name] = stack([np.zeros_like(of_m[0])] * m_low + of_m)
    tables["grid"][m_low:] = np.repeat(np.arange(len(grids)), [grid.norm.size for grid in grids])
    return Fourier(**tables)


def _fourier_grid(n_classes: int, gamma: float, low: int, high: int, lam: float) -> Fourier:
    """The tables of one grid, without the axis for the grids."""
    p, q = vote_distribution(n_classes, gamma)
    total = poisson(lam, high + int(20.0 * math.sqrt(lam)) + 60)
    # A transform of length M also counts the sums that are M too large or too small: they must be negligible.
    M = 3
    while total[low + M] > NEGLIGIBLE * total[low] or (high >= M and total[high - M] > NEGLIGIBLE * total[high]):
        M += 2
    J = (M // 2 + 8) // 8 * 8  # loops over whole vector registers, 8 numbers each, are faster
    M = 2 * J - 1
    root = np.exp(2j * math.pi * np.arange(M) / M)
    w = root[np.outer(np.arange(-1, high + 2), np.arange(J)) % M]  # [n + 1, j]: w_j^n

    count = poisson(lam * q, high + 3)
    free = min(high + 1, int((count[::-1].cumsum()[::-1] > NEGLIGIBLE / n_classes).sum()))
    mass = count[: free + 1, None] * w[1 : free + 2]
    E = mass.cumsum(axis=0)
    E[np.abs(E) < 1e-100] = 1e-100  # divided by, and far too small to count
    F = mass / E
    draws = stack([own_draws(m, n_classes, gamma) for m in range(low, high + 1)])
    x_high = high - (draws > NEGLIGIBLE)[:, ::-1].argmax(axis=1)
    own = poisson(lam * p, high + 2)
    x = np.arange(x_high.max() + 2)
    A = own[x, None] * w[x]
    A[1:] /= E[np.minimum(x[:-1], free)]  # r's own limit is c_r = x - 1

    with np.errstate(divide="ignore"):
        angle = 1.0 - np.cos(2.0 * math.pi * np.arange(1, J) / M)
        decay = np.maximum(0.0, (-np.log(np.abs(E[:, 1:] / E[:, :1])) / angle).min(axis=1))
        log_own = np.log(own)
    decay[1:] = np.minimum(decay[1:], decay[:-1])

    return Fourier(
        grid=np.zeros(high + 1 - low, dtype=np.int64),
        n_points=np.array(M),
        n_nodes=np.array(J),
        free=np.array(free),
        rate=np.array(lam * p),
        root=np.stack([root.real, root.imag]),
        others=np.stack([E.real, E.imag, F.real, F.imag], axis=1),
        own=np.stack([A.real, A.imag], axis=1),
        log_others=np.log(np.abs(E[:, 0])),
        log_own=log_own,
        decay=decay,
        norm=M * total[low : high + 1],
        x_low=(draws > NEGLIGIBLE).argmax(axis=1),
        x_high=x_high,
        at_least=np.pad(draws[:, ::-1].cumsum(axis=1)[:, ::-1], ((0, 0), (0, 1))),
    )


@kernel
def fill_fourier(f, block, m, only, own):
    """Fill a block and own[a] = C[r, r], or row ``only`` of them (-1: all), by (potentialCompute), after Levin (1981).

    Let r end up T votes above the present leader: it was drawn x = T + deficit_r times, and wins if every other
    label v was drawn at most c_v = T - 1 + deficit_v times. Let X_r ~ Pois(lambda p), X_v ~ Pois(lambda q); given
    that they add up to m, they are the multinomial counts of m draws. The coefficient of z^m in the generating
    function is read off at the M-th roots of unity w_j, with E_c[j] = sum_{t <= c} Pois(t; lambda q) w_j^t:

        P(win) = sum_j sum_T  Pois(x) w_j^(x - m)  prod_{v != r} E_{c_v}[j]  /  (M Pois(m; lambda)).

    Its product over *all* labels, G_T, serves all r: with r's own factor (c_r = x - 1) divided out again in
    A_x = Pois(x) w^(x - 1) / E_{x-1}, the three probabilities that make a row of costs are

        P(win from s)                          sum G_T A_x
        P(win from s + e_r)                    sum G_T A_x w^-1 x / (lambda p)     Pois(x - 1) = Pois(x) x / (lambda p)
        P(win from s) - P(win from s + e_l)    sum G_T A_x F_{c_l}                 F_c = (E_c - E_{c-1}) / E_c

    From some T on no limit binds, and r is sure to win: that part of a sum is P(X_r >= x).
    """
    first, stop, n_nodes = _needed(f, block, m)
    G = np.empty((stop - first, 2, n_nodes))
    H = np.empty((2, n_nodes))
    if stop > first:
        _products(f, block, m, first, G, H)
    sums = np.empty((int(block[0]) + 2, n_nodes))
    for a in range(int(block[0])):
        if only == -1 or only == a:
            _fourier_row(f, G, H, sums, block, m, first, stop, a, own)


@fused_kernel
def _needed(f, block, m):
    """The T to sum over, first <= T < stop, and the number of frequencies; the rest is negligible."""
    D = int(block[0])
    g = f.grid[m]
    limit = math.log(NEGLIGIBLE * f.norm[m] / f.n_nodes[g])
    stop = min(f.x_high[m] + 2, f.free[g] + 1)
    first = stop
    angle = 0.0  # the largest 1 - cos theta needed
    for T in range(stop - 1, -1, -1):
        if T == 0 and block[2 + D] > 1:  # another leader has as many votes
            break
        size = 0.0  # log of the product over all labels but one, at frequency 0
        decay = 0.0
        smallest = 0.0
        fastest = 0.0
        draws = -math.inf
        for b in range(D):
            x = T + int(block[2 + b])
            c = min(x - 1, f.free[g])
            if c >= 0:
                size += block[2 + D + b] * f.log_others[g, c]
                decay += block[2 + D + b] * f.decay[g, c]
                smallest = min(smallest, f.log_others[g, c])
                fastest = max(fastest, f.decay[g, c])
            for n in range(max(x - 1, 0), min(x, m) + 1):
                draws = max(draws, f.log_own[g, n])
        size += draws - smallest - limit
        if size > 0.0:
            first = T
            angle = max(angle, size / max(decay - fastest, 1e-9))
    n_nodes = f.n_nodes[g]
    if angle < 2.0:
        beyond = int(math.acos(1.0 - angle) / (2.0 * math.pi) * f.n_points[g]) + 1
        n_nodes = min(n_nodes, (beyond + 8) // 8 * 8)
    return first, stop, n_nodes


@fused_kernel
def _products(f, block, m, first, G, power):
    """G_T = w^(1 - m) prod_v E_{c_v} at [T - first]. At T = 0 the leader's own factor is left out: only it can win.

    `power` is scratch.
    """
    D = int(block[0])
    g = f.grid[m]
    for j in range(G.shape[2]):
        at = (j * (1 - m)) % f.n_points[g]
        G[0, 0, j], G[0, 1, j] = f.root[g, 0, at], f.root[g, 1, at]
    bound = D  # tiers from here on have limits that never bind: the same factor for all T
    while bound > 0 and first - 1 + block[1 + bound] >= f.free[g]:
        bound -= 1
        _multiply_power(G[0], f.others[g, f.free[g]], int(block[2 + D + bound]), power)
    for i in range(G.shape[0] - 1, -1, -1):
        if i > 0:
            for j in range(G.shape[2]):
                G[i, 0, j], G[i, 1, j] = G[0, 0, j], G[0, 1, j]
        for b in range(bound):
            c = min(first + i - 1 + int(block[2 + b]), f.free[g])
            if c >= 0:
                _multiply_power(G[i], f.others[g, c], int(block[2 + D + b]), power)


@fused_kernel
def _multiply_power(G, E, n, power):
    """G *= E^n by repeated squaring; rows 0 and 1 of each array are the real and the imaginary part."""
    n_nodes = G.shape[1]
    if n & 1:
        for j in range(n_nodes):
            u, v = G[0, j], G[1, j]
            G[0, j] = u * E[0, j] - v * E[1, j]
            G[1, j] = u * E[1, j] + v * E[0, j]
    if n > 1:
        for j in range(n_nodes):
            power[0, j] = E[0, j] * E[0, j] - E[1, j] * E[1, j]
            power[1, j] = 2.0 * E[0, j] * E[1, j]
    n >>= 1
    while n > 0:
        if n & 1:
            for j in range(n_nodes):
                u, v = G[0, j], G[1, j]
                G[0, j] = u * power[0, j] - v * power[1, j]
                G[1, j] = u * power[1, j] + v * power[0, j]
        n >>= 1
        if n > 0:
            for j in range(n_nodes):
                u, v = power[0, j], power[1, j]
                power[0, j] = u * u - v * v
                power[1, j] = 2.0 * u * v


@fused_kernel
def _fourier_row(f, G, H, sums, block, m, first, stop, a, own_cost):
    """The row of costs of a label r in tier a. H and sums are scratch."""
    D = int(block[0])
    g = f.grid[m]
    others, own, root, free = f.others[g], f.own[g], f.root[g], f.free[g]
    n_nodes = G.shape[2]
    sums[:] = 0.0  # [b] what a vote for l costs, for l in tier b; [D] P(win from s); [D + 1] P(win from s + e_r)
    behind = int(block[2 + a])
    for T in range(max(first, f.x_low[m] - behind), min(stop, f.x_high[m] + 2 - behind)):
        if T == 0 and behind > 0:
            continue
        i = T - first
        x = T + behind
        for j in range(n_nodes):
            u, v = G[i, 0, j], G[i, 1, j]
            H[0, j] = u * own[x, 0, j] - v * own[x, 1, j]
            H[1, j] = u * own[x, 1, j] + v * own[x, 0, j]
        ratio = x / f.rate[g]
        for j in range(n_nodes):
            sums[D + 1, j] += ratio * (H[0, j] * root[0, j] + H[1, j] * root[1, j])
        if x > m:
            break
        for j in range(n_nodes):
            sums[D, j] += H[0, j]
        for b in range(D):
            c = T - 1 + int(block[2 + b])
            if 0 <= c < free:
                for j in range(n_nodes):
                    sums[b, j] += H[0, j] * others[c, 2, j] - H[1, j] * others[c, 3, j]
    for j in range(2, n_nodes):
        for b in range(D + 2):
            sums[b, 1] += sums[b, j]
    for b in range(D + 2):  # node 0 once, the others with their conjugates
        sums[b, 0] = (sums[b, 0] + 2.0 * sums[b, 1]) / f.norm[m]
    win = sums[D, 0] + f.at_least[m, min(stop + behind, m + 1)]
    win_more = sums[D + 1, 0] + f.at_least[m, min(stop + behind - 1, m + 1)]
    own_cost[a] = min(1.0, max(0.0, 1.0 - win_more))
    for b in range(D):
        set_excess(block, a, b, win_more - win + sums[b, 0])


# ------------------------------------------------------------------------------------- PAIRWISE and MONTE_CARLO

#: Losses L^r(s) = sum_{l != r} g(s_r - s_l), with g as a function of d = s_r - s_l.
PAIR_LOSSES: dict[str, Callable[[Floats], Floats]] = {
    "logistic": lambda d: np.logaddexp(0.0, -d),
    "exponential": lambda d: np.exp(np.minimum(-d, 600.0)),  # finite however many learners
    "hinge": lambda d: np.maximum(0.0, 1.0 - d),
    "squared_hinge": lambda d: 0.5 * np.maximum(0.0, 1.0 - d) ** 2,
}


def mixed_gap_table(losses: Floats, n_classes: int, gamma: Floats) -> Floats:
    """A table in which row m has the edge gamma[m]."""
    edges, which = np.unique(gamma, return_inverse=True)
    return np.stack([gap_table(losses, n_classes, edge) for edge in edges])[which, np.arange(len(gamma))]


def gap_table(losses: Floats, n_classes: int, gamma: float) -> Floats:
    """G_m(d) for |d| <= N - m at [m, N + d]: the expected g(d) after m draws. phi^r_m(s) is the sum of G_m(s_r - s_l).

    ``losses`` is G_0 = g for d = -N..N. A draw moves d up with probability p, down with q, or leaves it alone.
    """
    N = losses.size // 2
    p, q = vote_distribution(n_classes, gamma)
    table = np.zeros((N + 1, 2 * N + 1))
    table[0] = losses
    for m in range(1, N + 1):
        before = table[m - 1, m - 1 : 2 * N + 2 - m]
        table[m, m : 2 * N + 1 - m] = p * before[2:] + q * before[:-2] + (1.0 - p - q) * before[1:-1]
    return table


@kernel
def fill_pairwise(gap, block, m, own):
    """own[a] = C[r, r], and C[r, l] - C[r, r] = sum_{l' != r} (G(d') - G(d' + 1)) + G(d - 1) - G(d), d = s_r - s_l."""
    D = int(block[0])
    N = gap.shape[1] // 2
    for a in range(D):
        own[a] = 0.0
        gain = 0.0
        for b in range(D):
            d = N + int(block[2 + b] - block[2 + a])
            size = block[2 + D + b] - (a == b)
            own[a] += size * gap[m, d + 1]
            gain += size * (gap[m, d] - gap[m, d + 1])
        for b in range(D):
            d = N + int(block[2 + b] - block[2 + a])
            block[2 + 3 * D + a * D + b] = gain + gap[m, d - 1] - gap[m, d]


@kernel
def fill_monte_carlo(p, q, seed, n_draws, block, m):
    """Estimate every potential of the block from draws of its own, as the authors do."""
    D = int(block[0])
    for a in range(D):
        own = _estimate(p, q, seed, n_draws, block, m, a, -1)
        for b in range(D):
            excess = 0.0
            if a != b or block[2 + D + b] > 1:
                excess = _estimate(p, q, seed, n_draws, block, m, a, b) - own
            block[2 + 3 * D + a * D + b] = excess


@kernel
def _estimate(p, q, seed, n_draws, block, m, a, b):
    """Share of draws that r (of tier a) loses from s + e_l with l of tier b, or from s + e_r if b = -1.

    The random numbers are a function of the seed and of the state alone: the authors keep the first estimate of a
    state for good, and this is what makes it the same in whatever order the states come.
    """
    D = int(block[0])
    n = 0
    for tier in range(D):
        n += int(block[2 + D + tier])
    drawn = np.empty(n - 1, dtype=np.int64)
    ahead = np.empty(n - 1, dtype=np.int64)  # r's votes minus those of each other label, in increasing order
    n = 0
    state = m
    for tier in range(D):
        for i in range(int(block[2 + D + tier]) - (tier == a)):
            ahead[n] = int(block[2 + tier] - block[2 + a]) + (b == -1) - (tier == b and i == 0)
            state = (state * 48271 + ahead[n] + 4096) % 2147483647
            n += 1
    losses = 0
    for sample in range(n_draws):
        drawn[:n] = 0
        own = 0
        for i in range(m):
            u = fastmath.uniform(seed, fastmath.MONTE_CARLO, state, sample * m + i)
            if u < p:
                own += 1
            else:
                drawn[min(int((u - p) / q), n - 1)] += 1
        for v in range(n):
            if drawn[v] >= own + ahead[v]:
                losses += 1
                break
    return losses / n_draws


# --------------------------------------------------------------------------------------------------------- blocks


@kernel
def fill_block(tables, block, m, wanted):
    """Fill the rows of a block that are wanted; all of them, where they are cheap together."""
    D = int(block[0])
    if tables.method == FOURIER:
        fill_race(tables.races, block, m, wanted)
    else:
        wanted[:D] = True
        if tables.method == DENSE:
            fill_dense(tables.dense, block, m, tables.reach[m])
        elif tables.method == PAIRWISE:
            fill_pairwise(tables.gap, block, m, np.empty(D))
        else:
            q = (1.0 - tables.gamma[m]) / tables.n_classes
            fill_monte_carlo(q + tables.gamma[m], q, tables.seed, tables.n_draws, block, m)
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
