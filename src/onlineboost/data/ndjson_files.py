"""Rows as JSON objects, one in a line (NDJSON, JSON Lines), from a file or a pipe. The first row settles the columns.

Text is a category; a number, true, false or null in the first row makes a column numeric.
"""

from __future__ import annotations

import gzip
import io
import json
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.csv_files import LONGEST_LINE, open_lines
from onlineboost.data.errors import DataError, file_error, show, suggest
from onlineboost.data.source import (
    Chunk,
    Lines,
    Source,
    check_columns,
    limit,
    parse_numbers,
    raise_limit,
    rows_at_once,
    taken,
)
from onlineboost.data.values import shortest

Row = tuple[int, dict[str, Any]]  # the number of its line, and what is in it


@contextmanager
def open_ndjson(path: Path) -> Iterator[Source]:
    with open_lines(path) as opened:
        yield NdjsonSource(path, *opened)


class NdjsonSource:
    """Open NDJSON. Without `raw`, lines come when they come."""

    def __init__(self, path: Path, raw: io.FileIO | None, lines: Lines) -> None:
        self.path = path
        self._raw = raw
        self._lines = lines
        self._number = 0
        self._size = 0 if raw is None else path.stat().st_size
        self._known: frozenset[str] = frozenset()
        first = next(self._read(), None)
        if first is None:
            raise file_error(path, "there is nothing in it. Expected a JSON object in each line.")
        self.first = first[1]
        self.names = list(self.first)
        self._known = frozenset(self.names)
        check_columns(path, len(self.names))
        self._rows = chain([first], self._read())

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[Chunk]:
        n_rows, done = rows_at_once(n_rows, len(self.names)), 0
        while rows := list(taken(self._rows, n_rows, self._lines)):
            yield NdjsonChunk(self, rows, done)
            done += len(rows)

    @property
    def fraction(self) -> float:
        return 0.0 if self._raw is None else min(1.0, self._raw.tell() / self._size)

    def _read(self) -> Iterator[Row]:
        """The rows, checked as far as they can be before a column is asked for."""
        longest = limit("LONGEST_LINE", LONGEST_LINE)
        while line := self._line(longest):
            self._number += 1
            if len(line) >= longest:
                raise self.error(f"the line is longer than {longest >> 20:,} MB. {raise_limit('LONGEST_LINE')}")
            if line.isspace():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_object)
            except _Twice as error:
                raise self.error(f"the name {error.name!r} comes twice in this object. Keep one.") from None
            except (ValueError, RecursionError) as error:
                raise self.error(f"this is not JSON ({error}). Put one object in a line.") from None
            if not isinstance(row, dict):
                raise self.error(f"{show(line.decode().strip())} is no object: give names and values.")
            if self._known and not row.keys() <= self._known:
                name = next(name for name in row if name not in self._known)
                raise self.error(f"the first row has no column {name!r}." + suggest(name, self.names))
            yield self._number, row

    def _line(self, longest: int) -> bytes:
        try:
            return self._lines.readline(longest)
        except EOFError:
            raise self.error("the compressed file ends too early: it was cut off. Copy it again.") from None
        except (gzip.BadGzipFile, zlib.error) as error:
            raise self.error(f"the file cannot be decompressed ({error}): it is damaged, or not gzip.") from None

    def error(self, what: str) -> DataError:
        return file_error(self.path, what, f"line {self._number}")


class NdjsonChunk:
    """Some rows."""

    def __init__(self, source: NdjsonSource, rows: list[Row], first_row: int) -> None:
        self.fraction = source.fraction
        self._source = source
        self._rows = rows
        self._first_row = first_row

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1} (line {self._rows[index][0]})"

    def looks_numeric(self, name: str) -> bool:
        return not isinstance(self._source.first[name], str)

    def _values(self, name: str) -> list[Any]:
        values = [row.get(name) for _, row in self._rows]
        for index, value in enumerate(values):
            if isinstance(value, dict | list):
                what = f"{show(json.dumps(value))} is neither a number nor text. Give each of its parts a name."
                raise file_error(self._source.path, what, self.place(index), name)
        return values

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        values = self._values(name)
        if any(isinstance(value, str) for value in values):
            return parse_numbers(["" if value is None else str(value) for value in values])
        try:
            return np.array([np.nan if value is None else value for value in values], np.float64)
        except OverflowError:
            return np.array([np.nan if value is None else float(str(value)) for value in values])

    def texts(self, name: str) -> list[str | None]:
        return [_text(value) for value in self._values(name)]


class _Twice(Exception):
    """A name that an object has twice."""

    def __init__(self, name: str) -> None:
        self.name = name


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(max(names, key=names.count))
    return row


def _text(value: Any) -> str | None:
    if value is None or value != value:
        return None
    if isinstance(value, int | float) and not isinstance(value, bool):
        return shortest(value)
    return str(value).strip() or None
