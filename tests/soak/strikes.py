"""Exceptions at any moment: a signal whose handler raises, at a moment that can be repeated."""

from __future__ import annotations

import gc
import signal
import sys
from collections.abc import Callable
from typing import Any

NOBODY = ("weakref.py", "_weakrefset.py")


class Struck(Exception):
    """Raised by the handler of the signal."""


def strike() -> None:
    """What a handler does that stops a call."""
    raise Struck


def struck_after(n: int, call: Callable[[], Any], handler: Callable[[], Any] = strike) -> None:
    """In the middle of the call SIGALRM comes.

    It comes when Python has called functions, or functions in C have returned, n times: these are the moments at which
    Python looks for signals. Garbage is not collected meanwhile, and callbacks of weak references do not count: what is
    raised while Python clears away the threads of an earlier test, say, reaches nobody.
    """
    left = n

    def count(frame: Any, event: str, what: Any) -> None:
        nonlocal left
        if event in ("call", "c_return") and left > 0 and not frame.f_code.co_filename.endswith(NOBODY):
            left -= 1
            if not left:
                signal.raise_signal(signal.SIGALRM)

    def ring(signum: int, frame: Any) -> None:
        sys.setprofile(None)
        handler()

    before, collects = signal.signal(signal.SIGALRM, ring), gc.isenabled()
    gc.disable()
    try:
        sys.setprofile(count)
        call()
    finally:
        sys.setprofile(None)
        signal.signal(signal.SIGALRM, before)
        if collects:
            gc.enable()


def struck_in(seconds: float, call: Callable[[], Any]) -> None:
    """After some time SIGALRM comes, in the middle of a kernel perhaps. No two runs are alike."""
    armed = True

    def ring(signum: int, frame: Any) -> None:
        if armed:
            strike()

    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        call()
    finally:
        armed = False
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
