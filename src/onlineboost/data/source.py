"""What a file format offers: a source of chunks, each of which gives a column as numbers or as text when asked.

What is piped in comes line by line: what is there is taken, and not waited for (`LiveLines`).
"""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import file_error

MISSING_NUMBERS = frozenset({"", "?", "NA", "N/A", "na", "n/a", "NULL", "Null", "null", "None", "none"})
"""What stands for a missing value in a numeric column, besides nan in any case. In a nominal one: only ""."""


def limit(name: str, usual: int) -> int:
    """A limit on what a file may ask for; the environment variable ONLINEBOOST_<name> raises it."""
    given = os.environ.get(f"ONLINEBOOST_{name}", "")
    return int(given) if given.isdecimal() else usual


def raise_limit(name: str) -> str:
    """The way out for whoever meets a limit."""
    return f"If the file is as it should be, set the environment variable ONLINEBOOST_{name} to a larger number."


MAX_COLUMNS = 20_000
MAX_CELLS = 1 << 22  # of a block: rows of a wide file are read fewer at a time


def check_columns(path: Path, n_columns: int) -> None:
    """A model keeps some numbers for every column, class and tree: a small file of many columns takes gigabytes."""
    most = limit("MOST_COLUMNS", MAX_COLUMNS)
    if n_columns > most:
        what = f"there are {n_columns:,} columns, and at most {most:,} are read. {raise_limit('MOST_COLUMNS')}"
        raise file_error(path, what, "header")


def rows_at_once(n_rows: int, n_columns: int) -> int:
    """How many rows to read at a time, if `n_rows` are asked for."""
    return max(1, min(n_rows, MAX_CELLS // max(n_columns, 1)))


class Chunk(Protocol):
    """Consecutive rows as a file format gives them; columns are asked for by name."""

    fraction: float

    def place(self, index: int) -> str:
        """Where the row with this index in the chunk stands, in words."""

    def looks_numeric(self, name: str) -> bool: ...

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """The column as numbers, NaN for missing; None if one of its values is not a number."""

    def texts(self, name: str) -> list[str | None]:
        """The column as text without surrounding spaces, None for missing."""


class Source(Protocol):
    """An open file."""

    path: Path
    names: list[str]

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[Chunk]:
        """The rows, ``n_rows`` at a time; ``names`` are the columns that will be asked for."""


def parse_numbers(values: Sequence[str]) -> NDArray[np.float64] | None:
    """Text as numbers, NaN for missing; None if one of the values is not a number."""
    if "_" in "".join(values):
        return None  # Python reads 309_1 as 3091; in data it is a name
    try:
        if len(set(values[:256])) > 64:
            return np.array(values, dtype=np.float64)
    except ValueError:
        pass  # a missing value, or text
    try:  # few distinct values: four times faster if each is parsed once
        number = {v: np.nan if v.strip() in MISSING_NUMBERS else float(v) for v in set(values)}
    except ValueError:
        return None
    return np.fromiter(map(number.__getitem__, values), np.float64, len(values))


# ---------------------------------------------------------------------------------------------------------------- pipes


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
