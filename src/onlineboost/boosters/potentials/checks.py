"""Checks of the arguments that potentials and the theory share. An error names the argument and its value."""

from __future__ import annotations

from numbers import Integral

from onlineboost.boosters.pair_losses import PAIR_LOSSES

LOSSES = ("zero_one", *PAIR_LOSSES)


def check_int(name: str, value: object, least: int) -> int:
    """The value, if it is an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_gamma(gamma: float) -> float:
    """An edge that learners can have: 0 guesses, 1 would never be wrong."""
    if not 0.0 <= gamma < 1.0:
        raise ValueError(f"gamma must be in [0, 1), got {gamma!r}")
    return float(gamma)


def check_loss(loss: str) -> str:
    """The name of a loss that votes can suffer."""
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}; got {loss!r}")
    return loss
