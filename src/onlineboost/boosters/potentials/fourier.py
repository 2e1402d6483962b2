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
    all_draws,
    own_draws,
    poisson,
    vote_distribution,
)


class Fourier(NamedTuple):
    """Poisson counts in the frequency domain, for m draws of given edges and :func:`fill_fourier`."""

    n_draws: int  # m
    n_points: int  # M; w = exp(2 pi i / M)
    free: int  # an upper limit of `free` or more never binds
    root: Floats  # (2, M) powers of w, real and imaginary part
    others: Floats  # (c, 4, J) E_c, F_c; J = (M + 1) / 2 frequencies, the other nodes are their conjugates
    own: Floats  # (x, 2, J) A_x
    now: Floats  # (x,) P_m(x) / Bin(x; m, p): 1, if the edges are alike
    more: Floats  # (x,) the same for x - 1, times x / (lambda p) = Pois(x - 1; lambda p) / Pois(x; lambda p)
    log_others: Floats  # (c,) log E_c at frequency 0, where |E_c| is largest
    log_own: Floats  # (x,) log Pois(x; lambda p), and the log of the largest of `now`
    decay: Floats  # (c,) K_c: |E_c[j]| and |E_{c-1}[j]| are below E_c[0] exp(-K_c (1 - cos theta_j))
    norm: float  # M Pois(m; lambda)
    x_low: int  # fewer draws of r than this, or
    x_high: int  # more than this, have negligible probability
    at_least: Floats  # (m + 2,) [x]: probability of x or more draws of r


def fourier_tables(n_classes: int, gamma: Floats) -> Fourier:
    """Tables for one draw with each of these edges, in no order.

    Any lambda is right in theory. In floating point it should be within 1.5 standard deviations of m, so that
    Pois(m; lambda), by which all is divided, is not small.
    """
    m = len(gamma)
    lam = (0.75 + math.sqrt(0.75**2 + m)) ** 2  # lambda - 1.5 sqrt(lambda) = m
    total = poisson(lam, m + int(20.0 * math.sqrt(lam)) + 60)
    # A transform of length M also counts the sums that are M too large or too small: they must be negligible.
    M = 3
    while total[m + M] > NEGLIGIBLE * total[m] or (m >= M and total[m - M] > NEGLIGIBLE * total[m]):
        M += 2
    J = (M // 2 + 8) // 8 * 8  # loops over whole vector registers, 8 numbers each, are faster
    M = 2 * J - 1
    root = np.exp(2j * math.pi * np.arange(M) / M)
    w = root[np.outer(np.arange(-1, m + 2), np.arange(J)) % M]  # [n + 1, j]: w_j^n

    edge = math.fsum(gamma) / max(m, 1)  # of equal numbers: that number
    p, q = vote_distribution(n_classes, edge)
    draws, binomial = all_draws(n_classes, gamma), own_draws(m, n_classes, edge)
    x_low, x_high = (int(x) for x in np.flatnonzero(draws > NEGLIGIBLE)[[0, -1]])
    now = np.append(np.divide(draws, binomial, out=np.zeros(m + 1), where=binomial > 0.0), 1.0)
    count = poisson(lam * q, m + 3)
    free = min(m + 1, int((count[::-1].cumsum()[::-1] > NEGLIGIBLE / n_classes).sum()))
    mass = count[: free + 1, None] * w[1 : free + 2]
    E = mass.cumsum(axis=0)
    E[np.abs(E) < 1e-100] = 1e-100  # divided by, and far too small to count
    F = mass / E
    own = poisson(lam * p, m + 2)
    x = np.arange(x_high + 2)
    A = own[x, None] * w[x]
    A[1:] /= E[np.minimum(x[:-1], free)]  # r's own limit is c_r = x - 1

    with np.errstate(divide="ignore"):
        angle = 1.0 - np.cos(2.0 * math.pi * np.arange(1, J) / M)
        decay = np.maximum(0.0, (-np.log(np.abs(E[:, 1:] / E[:, :1])) / angle).min(axis=1))
        log_own = np.log(own) + math.log(now.max())
    decay[1:] = np.minimum(decay[1:], decay[:-1])

    return Fourier(
        n_draws=m,
        n_points=M,
        free=free,
        root=np.stack([root.real, root.imag]),
        others=np.stack([E.real, E.imag, F.real, F.imag], axis=1),
        own=np.stack([A.real, A.imag], axis=1),
        now=now,
        more=np.append(0.0, now[:-1]) * (np.arange(m + 2) / (lam * p)),
        log_others=np.log(np.abs(E[:, 0])),
        log_own=log_own,
        decay=decay,
        norm=float(M * total[m]),
        x_low=x_low,
        x_high=x_high,
        at_least=np.append(draws[::-1].cumsum()[::-1], 0.0),
    )


@kernel
def fill_fourier(f, block, only, own):
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

    With several edges, p and q are of their mean. A draw that is not for r is for each other label alike, whatever its
    edge; so only the law of X_r differs, and the terms of x are multiplied by P_m(x) / Bin(x; m, p).
    """
    first, stop, n_nodes = _needed(f, block)
    G = np.empty((stop - first, 2, n_nodes))
    H = np.empty((2, n_nodes))
    if stop > first:
        _products(f, block, first, G, H)
    sums = np.empty((int(block[0]) + 2, n_nodes))
    for a in range(int(block[0])):
        if only == -1 or only == a:
            _fourier_row(f, G, H, sums, block, first, stop, a, own)


@fused_kernel
def _needed(f, block):
    """The T to sum over, first <= T < stop, and the number of frequencies; the rest is negligible."""
    D = int(block[0])
    m = f.n_draws
    limit = math.log(NEGLIGIBLE * f.norm / f.own.shape[2])
    stop = min(f.x_high + 2, f.free + 1)
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
            c = min(x - 1, f.free)
            if c >= 0:
                size += block[2 + D + b] * f.log_others[c]
                decay += block[2 + D + b] * f.decay[c]
                smallest = min(smallest, f.log_others[c])
                fastest = max(fastest, f.decay[c])
            for n in range(max(x - 1, 0), min(x, m) + 1):
                draws = max(draws, f.log_own[n])
        size += draws - smallest - limit
        if size > 0.0:
            first = T
            angle = max(angle, size / max(decay - fastest, 1e-9))
    n_nodes = f.own.shape[2]
    if angle < 2.0:
        beyond = int(math.acos(1.0 - angle) / (2.0 * math.pi) * f.n_points) + 1
        n_nodes = min(n_nodes, (beyond + 8) // 8 * 8)
    return first, stop, n_nodes


@fused_kernel
def _products(f, block, first, G, power):
    """G_T = w^(1 - m) prod_v E_{c_v} at [T - first]. At T = 0 the leader's own factor is left out: only it can win.

    `power` is scratch.
    """
    D = int(block[0])
    m = f.n_draws
    for j in range(G.shape[2]):
        at = (j * (1 - m)) % f.n_points
        G[0, 0, j], G[0, 1, j] = f.root[0, at], f.root[1, at]
    bound = D  # tiers from here on have limits that never bind: the same factor for all T
    while bound > 0 and first - 1 + block[1 + bound] >= f.free:
        bound -= 1
        _multiply_power(G[0], f.others[f.free], int(block[2 + D + bound]), power)
    for i in range(G.shape[0] - 1, -1, -1):
        if i > 0:
            for j in range(G.shape[2]):
                G[i, 0, j], G[i, 1, j] = G[0, 0, j], G[0, 1, j]
        for b in range(bound):
            c = min(first + i - 1 + int(block[2 + b]), f.free)
            if c >= 0:
                _multiply_power(G[i], f.others[c], int(block[2 + D + b]), power)


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
def _fourier_row(f, G, H, sums, block, first, stop, a, own_cost):
    """The row of costs of a label r in tier a. H and sums are scratch."""
    D = int(block[0])
    m, others, own, root, free = f.n_draws, f.others, f.own, f.root, f.free
    n_nodes = G.shape[2]
    sums[:] = 0.0  # [b] what a vote for l costs, for l in tier b; [D] P(win from s); [D + 1] P(win from s + e_r)
    behind = int(block[2 + a])
    for T in range(max(first, f.x_low - behind), min(stop, f.x_high + 2 - behind)):
        if T == 0 and behind > 0:
            continue
        i = T - first
        x = T + behind
        for j in range(n_nodes):
            u, v = G[i, 0, j], G[i, 1, j]
            H[0, j] = u * own[x, 0, j] - v * own[x, 1, j]
            H[1, j] = u * own[x, 1, j] + v * own[x, 0, j]
        now, more = f.now[x], f.more[x]
        for j in range(n_nodes):
            sums[D + 1, j] += more * (H[0, j] * root[0, j] + H[1, j] * root[1, j])
        if x > m:
            break
        for j in range(n_nodes):
            sums[D, j] += now * H[0, j]
        for b in range(D):
            c = T - 1 + int(block[2 + b])
            if 0 <= c < free:
                for j in range(n_nodes):
                    sums[b, j] += now * (H[0, j] * others[c, 2, j] - H[1, j] * others[c, 3, j])
    for j in range(2, n_nodes):
        for b in range(D + 2):
            sums[b, 1] += sums[b, j]
    for b in range(D + 2):  # node 0 once, the others with their conjugates
        sums[b, 0] = (sums[b, 0] + 2.0 * sums[b, 1]) / f.norm
    win = sums[D, 0] + f.at_least[min(stop + behind, m + 1)]
    win_more = sums[D + 1, 0] + f.at_least[min(stop + behind - 1, m + 1)]
    own_cost[a] = min(1.0, max(0.0, 1.0 - win_more))
    for b in range(D):
        set_excess(block, a, b, win_more - win + sums[b, 0])
