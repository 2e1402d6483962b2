"""Lines that come one by one, from a program at the other end of a pipe: what is there is taken, and not waited for."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, TypeVar

FIRST_ROWS = 256  # that the first block waits for: they settle which columns are numbers
STDIN = "-"  # the name of what is piped in

Item = TypeVar("Item")


class LiveLines:
    """Lines of a pipe, and whether another one is there."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._waiting = b""
        self._ended = False

    def readline(self, most: int = -1) -> bytes:
        """The next line, at most so many bytes of it; waits for it."""
        while b"\n" not in self._waiting and not self._ended and not 0 <= most <= len(self._waiting):
            self._read()
        end = self._waiting.find(b"\n") + 1 or len(self._waiting)
        end = end if most < 0 else min(end, most)
        line, self._waiting = self._waiting[:end], self._waiting[end:]
        return line

    def peek(self) -> bytes:
        """The first bytes; waits for some."""
        while not self._waiting.strip() and not self._ended:
            self._read()
        return self._waiting

    @property
    def ready(self) -> bool:
        """Whether a line is there, or the end."""
        while b"\n" not in self._waiting and not self._ended:
            if not select.select([self._handle], [], [], 0.0)[0]:
                return False
            self._read()
        return True

    def _read(self) -> None:
        more = os.read(self._handle, 1 << 16)
        self._waiting += more
        self._ended = not more


Lines = BinaryIO | LiveLines


def taken(items: Iterator[Item], most: int, lines: Any) -> Iterator[Item]:
    """The next `most` items that are made of these lines; if lines come when they come, those that are there."""
    live = isinstance(lines, LiveLines)
    for number, item in enumerate(items, start=1):
        yield item
        if number == most or (live and not lines.ready):
            return


def standard_input() -> LiveLines:
    return LiveLines(sys.stdin.fileno())
