"""Checks of the arguments that the bounds share. An error names the argument and its value."""

from __future__ import annotations

from numbers import Real

import numpy as np

from onlineboost.boosters.potentials.checks import check_gamma, check_int

MIN_EDGE = 1e-6  # that is worth planning for: with less it takes more than 10^12 learners


def check_error(error: float) -> float:
    """A share of mistakes that is worth planning for."""
    if not (isinstance(error, Real) and 1e-9 <= error < 1.0):
        raise ValueError(f"error must be in [1e-9, 1), got {error!r}")
    return float(error)


def check_delta(delta: float) -> None:
    """The probability that a bound fails."""
    if not (isinstance(delta, Real) and 0.0 < delta < 1.0):
        raise ValueError(f"delta must be in (0, 1), got {delta!r}")


def check_one_gamma(gamma: float) -> float:
    """An edge, where a list of them has no meaning."""
    if np.ndim(gamma) > 0:
        raise ValueError(f"gamma must be one number here, the same for all learners; got {gamma!r}")
    return check_gamma(gamma)


def check_plan(k: int, gamma: float, error: float) -> None:
    """What planning starts from."""
    check_int("n_classes", k, 2)
    check_error(error)
    if not MIN_EDGE <= check_one_gamma(gamma) < 1.0:
        raise ValueError(f"gamma must be in [{MIN_EDGE:g}, 1): random guesses cannot be boosted; got {gamma!r}")


def check_excess_loss(excess_loss: float) -> float:
    """S of the weak learning condition."""
    if not (isinstance(excess_loss, Real) and excess_loss >= 0.0):
        raise ValueError(f"excess_loss must be a number of at least 0, got {excess_loss!r}")
    return float(excess_loss)
