"""Losses that are a sum over pairs of labels, L^r(s) = sum_{l != r} g(s_l - s_r), by their term g."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

#: g, as a function of d = s_l - s_r: by how much a wrong label l is ahead of the right label r.
PAIR_LOSSES: dict[str, Callable[[NDArray[np.float64]], NDArray[np.float64]]] = {
    "logistic": lambda d: np.logaddexp(0.0, d),
    "exponential": lambda d: np.exp(d),
    "hinge": lambda d: np.maximum(0.0, d + 1.0),
    "squared_hinge": lambda d: 0.5 * np.maximum(0.0, d + 1.0) ** 2,
    "pairwise": lambda d: np.where(d >= 0.0, 1.0, 0.0),  # how many wrong labels are not behind: the 0-1 loss or more
}
