"""A mixture of a few forecasts that is never much worse than the best of them.

Forecast m gives probabilities p_m, and has a share v_m of the mixture p = sum_m v_m p_m. When the label y of round t is
known,

    v_m <- v_m p_m[y] / p[y]                    Bayes
    v_m <- (1 - a) v_m + a / M, a = 1 / (t + 1)     no share is ever lost

The log losses of T rounds then add up to at most those of the best forecast, and log M + log T (docs/theory.md).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8

COMBINED, SLOW, PANEL, CHAIN = range(4)  # the forecasts
FORECASTS = 4
NAMES = "the combiner", "the slow combiner", "the panel alone", "the chain alone"


class Mixture(NamedTuple):
    """Shares of the forecasts, and what they have lost."""

    share: Annotated[np.ndarray, f8(FORECASTS, low=0.0, high=1.0)]
    lost: Annotated[np.ndarray, f8(FORECASTS + 1)]  # sums of -log p[y], by weight; the last one is that of the mixture


def new_mixture() -> Mixture:
    return Mixture(np.full(FORECASTS, 1.0 / FORECASTS), np.zeros(FORECASTS + 1))


def new_forecasts(k: int) -> np.ndarray:
    """Scratch for one row: probabilities by each forecast, and by the mixture."""
    return np.empty((FORECASTS + 1, k))


@bare_kernel
def mix(mixture, forecasts, k):
    """The last row of the forecasts from those before it."""
    for c in range(k):
        p = 0.0
        for m in range(FORECASTS):
            p += mixture.share[m] * forecasts[m, c]
        forecasts[FORECASTS, c] = p


@bare_kernel
def learn_mixture(mixture, forecasts, y, weight, t):
    """The label of round t, which `mix` was asked about. No row moves the shares by more than one of weight 1 does."""
    share, lost = mixture.share, mixture.lost
    for m in range(FORECASTS + 1):
        lost[m] -= weight * math.log(forecasts[m, y])
    mass, power = 0.0, min(weight, 1.0)
    for m in range(FORECASTS):
        share[m] *= math.pow(forecasts[m, y], power)
        mass += share[m]
    a = 1.0 / (t + 1.0)
    for m in range(FORECASTS):
        share[m] = (1.0 - a) * share[m] / mass + a / FORECASTS
