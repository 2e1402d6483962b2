"""Holding back what the handlers of signals raise, while it would leave something half done."""

from __future__ import annotations

import _signal  # the functions of `signal` itself: those there take microseconds to make enums
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

# Signals that a program may have a handler for. (Real-time signals, and faults of the program itself, are left out.)
NAMES = "HUP INT QUIT USR1 USR2 PIPE ALRM TERM CHLD CONT TSTP URG VTALRM PROF WINCH IO BREAK"
SIGNALS = [int(getattr(signal, f"SIG{name}")) for name in NAMES.split() if hasattr(signal, f"SIG{name}")]


class Interrupt:
    """Hold back what the handlers of signals raise (Ctrl-C, a timeout) where it would leave something half done.

    The handlers are called as ever. The first exception that one of them raises is kept in `pending` and raised at the
    end of the ``with``. Signals reach the main thread alone, so in other threads there is nothing to hold back.

    A handler can raise in the middle of `__enter__` and `__exit__` too, and leave `_note` in the place of another one.
    That does no harm: outside of the ``with``, `_note` holds nothing back.

    One ``with`` may be within another: the outer one then holds back what the inner one would raise at its end, unless
    it lets everything through.
    """

    def __init__(self) -> None:
        self.pending: BaseException | None = None
        self._handlers: dict[int, Any] = {}
        self._holds = False
        self._entered = False  # and not left

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = _signal.getsignal(number)
                while getattr(handler, "__func__", None) is Interrupt._note and not handler.__self__._entered:
                    handler = handler.__self__._handlers[number]  # it was left behind: see above
                if callable(handler):  # it may also be ignored, left to the system, or not Python's
                    self._handlers[number] = handler
                    try:
                        _signal.signal(number, self._note)
                    except ValueError:  # the main thread of another interpreter in this process
                        del self._handlers[number]
            self._entered = self._holds = True  # nothing can strike between this and the body of the ``with``
        return self

    def _note(self, signum: int, frame: Any) -> None:
        try:
            self._handlers[signum](signum, frame)
        except BaseException as error:
            if not self._holds:
                raise
            self.pending = self.pending or error

    def pressed(self) -> bool:
        return self.pending is not None

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """For a while nothing is changed: what is raised, or was before, has its effect at once."""
        held, self._holds = self._holds, False
        try:
            if self.pending is not None:
                raise self.pending
            yield
        finally:
            self._holds = held

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._entered = self._holds = False
        for number, handler in self._handlers.items():
            if _signal.getsignal(number) == self._note:  # a handler may have put another one in its place
                _signal.signal(number, handler)
        if self.pending is not None and kind is None:
            raise self.pending.with_traceback(None)
