"""The sum (potentialCompute) for one state, by a short Fourier transform: single numbers, with the diagonal C[r, r].

A booster's costs come from `races` instead, which leaves the diagonal out and shares more between states. These are two
ways to the same sum, so each checks the other.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import fused_kernel, kernel
from onlineboost.boosters.potentials.blocks import set_excess
from onlineboost.boosters.potentials.draws import (
    NEGLIGIBLE,
    Floats,
    Ints,
    own_draws,
    poisson,
    stack,
    vote_distribution,
)


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
