"""The accuracy over the last part of a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SHARE = 0.2  # of the stream, unless one is given


class TailAccuracy(float):
    """The accuracy over the last 20 % of a stream: a number. Called with a share, the accuracy over that last part."""

    _of: Callable[[float], float]

    def __new__(cls, of: Callable[[float], float]) -> TailAccuracy:
        self = super().__new__(cls, of(SHARE))
        self._of = of
        return self

    def __call__(self, share: float = SHARE) -> float:
        return self._of(share)

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)  # as a copy, a number alone
