"""Checks of the arguments that the bounds share. An error names the argument and its value."""

from __future__ import annotations

import math
from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from onlineboost.boosters.potentials.draws import Floats, check_gamma, check_int

MIN_EDGE = 1e-6  # that is worth planning for: with less it takes more than 10^12 learners


def check_number(name: str, value: float, low: float = 0.0, high: float = math.inf) -> float:
    """A number from `low` to `high`; NaN is none."""
    if not (isinstance(value, Real) and not isinstance(value, bool) and low <= value <= high):
        raise ValueError(f"{name} must be a number {_within(low, high)}, got {value!r}")
    return float(value)


def check_numbers(name: str, given: ArrayLike, low: float = 0.0, high: float = math.inf) -> Floats:
    """A list of at least one number from `low` to `high`."""
    values = np.asarray(given)
    if values.ndim != 1 or not len(values) or values.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a list of numbers, one at least; got {given!r}")
    bad = values[~((values >= low) & (values <= high))]
    if len(bad):
        raise ValueError(f"{name} must be numbers {_within(low, high)}, got {bad[0]}")
    return values.astype(np.float64)


def _within(low: float, high: float) -> str:
    return f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"


def check_codes(name: str, given: ArrayLike, n_classes: int, shape: tuple[int, ...]) -> np.ndarray:
    """Labels 0, ..., k - 1 as kernels take them, which do not look; -1 in `shape`: any length."""
    codes = np.asarray(given)
    fits = codes.ndim == len(shape) and all(size in (-1, own) for size, own in zip(shape, codes.shape, strict=True))
    if not fits or codes.dtype.kind not in "iu":
        wanted = ", ".join("any" if size < 0 else str(size) for size in shape)
        raise ValueError(f"{name} must be whole numbers of shape ({wanted}), got {codes.dtype} of shape {codes.shape}")
    if codes.size and not 0 <= codes.min() <= codes.max() < n_classes:
        raise ValueError(f"{name} must lie in 0..{n_classes - 1}, got {codes.min()} to {codes.max()}")
    return np.ascontiguousarray(codes, np.int64)


def check_error(error: float) -> float:
    """A share of mistakes that is worth planning for."""
    if not (isinstance(error, Real) and 1e-9 <= error < 1.0):
        raise ValueError(f"error must be in [1e-9, 1), got {error!r}")
    return float(error)


def check_delta(delta: float) -> None:
    """The probability that a bound fails."""
    if not (isinstance(delta, Real) and 0.0 < delta < 1.0):
        raise ValueError(f"delta must be in (0, 1), got {delta!r}")


def check_edge(gamma: float, edge: float) -> None:
    """An edge above gamma."""
    if not (isinstance(edge, Real) and 0.0 <= check_one_gamma(gamma) < edge <= 1.0):
        raise ValueError(f"gamma must lie in [0, edge), edge in (0, 1]; got gamma={gamma!r}, edge={edge!r}")


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
    return check_number("excess_loss", excess_loss)
