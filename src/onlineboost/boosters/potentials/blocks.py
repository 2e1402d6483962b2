"""What all ways to compute potentials share: how often labels are drawn, and the blocks that hold costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost._compile.jit import bare_kernel

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEGLIGIBLE = 2.0**-50  # what a sum leaves out, or counts twice, is below this
RESOLUTION = 2.0**-44  # a difference of costs below this is rounding, and counts as zero: it must not decide a vote
UNKNOWN = -1.0


def vote_distribution(n_classes: int, gamma: float) -> tuple[float, float]:
    """p and q of u_gamma^r: the probability of label r, and of each other label."""
    q = (1.0 - gamma) / n_classes
    return q + gamma, q


def race_reach(n_classes: int, gamma: Floats) -> Ints:
    """[m]: a label this far behind the leader wins with negligible probability, and keeps no other from winning.

    Its count of m draws would have to be the deficit, or one less if it gets a vote before.
    """
    tails = [own_draws(m, n_classes, edge)[::-1].cumsum() for m, edge in enumerate(gamma)]
    return np.array([1 + (tail > NEGLIGIBLE / n_classes).sum() for tail in tails])


def poisson(mean: float, size: int) -> Floats:
    """Pois(x; mean) for x < size."""
    end = max(size, int(mean + 40.0 * math.sqrt(mean + 1.0)) + 40)
    return _from_ratios(mean / np.arange(1.0, end), int(mean))[:size]


def own_draws(m: int, n_classes: int, gamma: float) -> Floats:
    """The probabilities of x = 0..m draws of label r among m, Bin(x; m, p)."""
    p, q = vote_distribution(n_classes, gamma)
    x = np.arange(1.0, m + 1.0)
    return _from_ratios((m + 1.0 - x) / x * (p / ((n_classes - 1) * q)), min(m, int((m + 1) * p)))


def _from_ratios(ratio: Floats, mode: int) -> Floats:
    """Probabilities P(0), P(1), ... from the ratios P(x) / P(x - 1). Log-gamma would lose digits where m is large."""
    mass = np.concatenate([np.cumprod(1.0 / ratio[:mode][::-1])[::-1], [1.0], np.cumprod(ratio[mode:])])
    return mass / mass.sum()


def stack(arrays: list[NDArray]) -> NDArray:
    """One array of all, the shorter ones padded with zeros."""
    stacked = np.zeros((len(arrays), *np.max([array.shape for array in arrays], axis=0)), dtype=arrays[0].dtype)
    for i, array in enumerate(arrays):
        corner: tuple[Any, ...] = (i, *map(slice, array.shape))
        stacked[corner] = array
    return stacked


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
