"""Checks of the arguments that potentials and the theory share. An error names the argument and its value."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from numpy.typing import ArrayLike, NDArray

from onlineboost.boosters.potentials.pairwise import PAIR_LOSSES

LOSSES = ("zero_one", *PAIR_LOSSES)


def check_int(name: str, value: object, least: int) -> int:
    """The value, if it is an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_gamma(gamma: float) -> float:
    """An edge that learners can have: 0 guesses, 1 would never be wrong."""
    if not (isinstance(gamma, Real) and not isinstance(gamma, bool) and 0.0 <= gamma < 1.0):
        raise ValueError(f"gamma must be a number in [0, 1), got {gamma!r}")
    return float(gamma)


def check_gammas(gamma: float | ArrayLike, n: int, of_what: str = "learners") -> NDArray[np.float64]:
    """n edges, from one for all or from a list."""
    gammas = np.array([check_gamma(value) for value in np.ravel(np.asarray(gamma, object)).tolist()])
    if gammas.size not in (1, n):
        raise ValueError(f"gamma must be a number, or one for each of the {n} {of_what}; got {gammas.size}")
    return gammas if gammas.size == n else np.broadcast_to(gammas, n)  # n may be billions, in a plan


def check_loss(loss: str) -> str:
    """The name of a loss that votes can suffer."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {loss!r}")
    return loss
