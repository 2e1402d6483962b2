"""Warnings, which point at the line of the caller's program and not into this package."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from types import FrameType

PACKAGE = str(Path(__file__).parents[1]) + os.sep

Remarks = dict[str, Callable[[], str]]
"""What there is to say about data: cause -> the words, which are made where the cause has not been told before."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """`warnings.warn` for the line that called this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None:
        level += 1
        if not frame.f_code.co_filename.startswith(PACKAGE):
            break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
