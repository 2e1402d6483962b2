"""The authors' estimate of (potentialCompute), from 100 draws; for comparison."""

from __future__ import annotations

import numpy as np

from onlineboost._compile.jit import kernel
from onlineboost._compile.random import MONTE_CARLO, uniform


@kernel
def fill_monte_carlo(p, q, seed, n_draws, block, m):
    """Estimate every potential of the block from draws of its own, as the authors do.

    Draw i is for the right label with probability p[i], for each other label with q[i].
    """
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
            u = uniform(seed, MONTE_CARLO, state, sample * m + i)
            if u < p[i]:
                own += 1
            else:
                drawn[min(int((u - p[i]) / q[i]), n - 1)] += 1
        for v in range(n):
            if drawn[v] >= own + ahead[v]:
                losses += 1
                break
    return losses / n_draws
