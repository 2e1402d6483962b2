"""How often labels are drawn: probabilities that all ways to compute potentials share.

u_gamma^r draws label r with probability p and each other label with q. As everywhere in this package, there are k
classes, N learners and m draws left.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEGLIGIBLE = 2.0**-50  # what a sum leaves out, or counts twice, is below this


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
