"""Files of text, compressed or not: CSV, and NDJSON (JSON Lines), which has a row as a JSON object in each line.

Bytes to lines to rows to chunks of rows, in one pass, never the whole file. What is piped in comes line by line: what
is there is taken, and not waited for (`LiveLines`).
"""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import select
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError, file_error, show, suggest, way_out
from onlineboost.data.table import check_columns, limit, raise_limit, rows_at_once
from onlineboost.data.values import MISSING_NUMBERS, NO_DATES, is_date, parse_numbers, text_of

LONGEST_LINE = 1 << 24  # bytes; without a bound, a file with no line ends would be read whole
MOST_BLANK_LINES = 1_000_000  # in a row; a compressed file of a few kilobytes can have billions

Item = TypeVar("Item")


class LiveLines:
    """Lines of a pipe, and whether another one is there."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._waiting = b""
        self._ended = False

    def readline(self, most: int = -1) -> bytes:
        """The next line, at most `most` bytes of it; waits for it."""
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


def _taken(items: Iterator[Item], most: int, lines: Any) -> Iterator[Item]:
    """The next `most` items that are made of these lines; if lines come when they come, those that are there."""
    live = isinstance(lines, LiveLines)
    for number, item in enumerate(items, start=1):
        yield item
        if number == most or (live and not lines.ready):
            return


class _TextSource:
    """An open file, with the place in it kept for error messages. Without `raw`, lines come when they come."""

    format: str
    chunk: Callable[..., Any]
    waits: bool  # whether the first chunk is waited for: it settles which columns are numbers
    names: list[str]

    def __init__(self, path: Path, raw: io.FileIO | None, lines: Lines) -> None:
        self.path = path
        self._raw = raw  # by which is known how far it was read
        self._size = 0 if raw is None else path.stat().st_size
        self._bytes = lines
        self._number = 0  # lines that were read

    @classmethod
    @contextmanager
    def open(cls, path: Path) -> Iterator[_TextSource]:
        with open(path, "rb", buffering=0) as raw:
            zipped = path.name.lower().endswith(".gz")
            with io.BufferedReader(gzip.GzipFile(fileobj=raw) if zipped else raw) as lines:
                yield cls(path, raw, lines)

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[Any]:
        n_rows, done = rows_at_once(n_rows, len(self.names)), 0
        rows, lines = self._rows(), None if self.waits else self._bytes
        while numbered := list(_taken(rows, n_rows, lines)):
            lines = self._bytes
            yield self.chunk(self, numbered, done)
            done += len(numbered)

    def _rows(self) -> Iterator[tuple[int, Any]]:
        """The rows, each with the number of its (last) line."""
        raise NotImplementedError

    @property
    def fraction(self) -> float:
        return 0.0 if self._raw is None else min(1.0, self._raw.tell() / self._size)  # the file may be growing

    def _lines(self) -> Iterator[bytes]:
        longest = limit("LONGEST_LINE", LONGEST_LINE)
        try:
            while raw := self._bytes.readline(longest):
                self._number += 1
                if len(raw) == longest and b"\0" not in raw:
                    what = f"the line is longer than {longest >> 20:,} MB. Is this {self.format}? "
                    raise self._line_error(what + raise_limit("LONGEST_LINE"))
                yield raw
            return
        except EOFError:
            what = "the compressed file ends too early: it was cut off. Copy or download it again."
        except (gzip.BadGzipFile, zlib.error) as error:
            what = f"the file cannot be decompressed ({error}): it is damaged, or not gzip. Copy it again."
        except OSError as error:
            what = f"the file cannot be read on ({error.strerror or error}). Copy it to another place."
        self._number += 1
        raise self._line_error(what)

    def _line_error(self, what: str, raw: bytes = b"") -> DataError:
        return file_error(self.path, what, f"line {self._number}")


class _TextChunk:
    """Consecutive rows."""

    def __init__(self, source: _TextSource, lines: Sequence[int], first_row: int) -> None:
        self.fraction = source.fraction
        self._path, self._lines, self._first_row = source.path, lines, first_row

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1} (line {self._lines[index]})"


# ------------------------------------------------------------------------------------------------------------------ CSV


class CsvChunk(_TextChunk):
    """Rows of text; a column is parsed when it is asked for."""

    def __init__(self, source: CsvSource, numbered: list[tuple[int, list[str]]], first_row: int) -> None:
        lines, rows = zip(*numbered, strict=True)
        super().__init__(source, lines, first_row)
        self._columns = dict(zip(source.names, zip(*rows, strict=True), strict=True))
        self._parsed: dict[str, NDArray[np.float64] | None] = {}

    def looks_numeric(self, name: str) -> bool:
        numbers = self.numbers(name)
        if numbers is None:  # a frame or a Parquet file says by its types what are dates, text by how all of it looks
            values = {text.strip() for text in self._columns[name]} - MISSING_NUMBERS
            if values and all(map(is_date, values)):
                what = f"{show(min(values))} looks like a date or time: {NO_DATES}. {way_out(name)}"
                raise file_error(self._path, what, None, name)
            return False
        # A column of "?" alone shows text and no number. An empty one shows nothing, and is numeric so that
        # text further on is an error, instead of numbers further on being taken for categories.
        return not np.isnan(numbers).all() or not any(self._columns[name])

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        if name not in self._parsed:  # the first block is parsed to find out, then to use
            self._parsed[name] = parse_numbers(self._columns[name])
        return self._parsed[name]

    def texts(self, name: str) -> list[str | None]:
        return [text or None for text in map(str.strip, self._columns[name])]


class CsvSource(_TextSource):
    """An open CSV file."""

    format, chunk, waits = "a CSV file", CsvChunk, True

    def __init__(self, path: Path, raw: io.FileIO | None, lines: Lines) -> None:
        super().__init__(path, raw, lines)
        self.names = []
        self._row = 0  # data rows read so far
        self._reader = csv.reader(self._texts(), skipinitialspace=True, strict=True)
        self.names = self._header()

    def _texts(self) -> Iterator[str]:
        blank, most_blank = 0, limit("MOST_BLANK_LINES", MOST_BLANK_LINES)
        for raw in self._lines():
            blank = blank + 1 if raw.isspace() else 0
            if blank > most_blank:
                what = f"there are more than {most_blank:,} blank lines in a row. Is the file damaged? "
                raise self._line_error(what + raise_limit("MOST_BLANK_LINES"))
            if b"\0" in raw:
                raise self._line_error("there is a NUL byte. The file is damaged, or UTF-16: save it as UTF-8.", raw)
            try:
                line = raw.decode("utf-8-sig" if self._number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                what = f"{raw[error.start : error.end]!r} is not UTF-8. Save the file as UTF-8."
                raise self._line_error(what, raw) from None
            yield line

    def _header(self) -> list[str]:
        try:
            names = [name.strip() for name in next(filter(None, self._reader), [])]
        except csv.Error as error:
            raise file_error(self.path, f"not valid CSV ({error}). Check the quotes.", "header") from None
        if not names:
            raise file_error(self.path, "the file is empty. Expected a header row of column names, then data.")
        if "" in names:
            what = f"column {names.index('') + 1} has no name. Name it; if pandas wrote it as a row number, "
            raise file_error(self.path, what + "write the file with index=False.", "header")
        check_columns(self.path, len(names))
        return names

    def _rows(self) -> Iterator[tuple[int, list[str]]]:
        reader, width = self._reader, len(self.names)
        try:
            for row in reader:
                if len(row) != width:
                    if row in ([], [""]):
                        continue  # a blank line
                    raise self._width_error(row)
                self._row += 1
                yield reader.line_num, row
        except csv.Error as error:
            if "unexpected end" in str(error):
                advice = "the file ends inside a quoted value: it seems cut off, or a quote is never closed."
            else:
                advice = f"not valid CSV ({error}). Check the quotes: one may be opened and never closed."
            raise file_error(self.path, advice, self._place(reader.line_num)) from None

    def _place(self, line: int) -> str:
        return f"row {self._row + 1} (line {line})" if self.names else f"line {line}"

    def _width_error(self, row: list[str]) -> DataError:
        place, width = self._place(self._reader.line_num), len(self.names)
        column = self.names[len(row)] if len(row) < width else None
        if column is None:
            end = f": {show(row[width])} is one too many. Put values that contain a comma in quotes."
        elif next(self._reader, None) is None:
            end = ", and it is the last row: the file seems cut off."
        else:
            end = ": from this column on there is none. Complete the row."
        return file_error(self.path, f"{len(row)} values for {width} columns{end}", place, column)

    def _line_error(self, what: str, raw: bytes = b"") -> DataError:
        """An error in a line that has not become a row; the column is the one that holds the bad bytes."""
        try:
            fields = next(csv.reader([raw.decode(errors="replace")]), [])
        except csv.Error:
            fields = []
        columns = zip(self.names, fields, strict=False)
        guilty = next((name for name, value in columns if "\0" in value or "\ufffd" in value), None)
        return file_error(self.path, what, self._place(self._number), guilty)


# --------------------------------------------------------------------------------------------------------------- NDJSON


class NdjsonChunk(_TextChunk):
    """Rows as objects."""

    def __init__(self, source: NdjsonSource, numbered: list[tuple[int, dict[str, Any]]], first_row: int) -> None:
        lines, self._rows = zip(*numbered, strict=True)
        super().__init__(source, lines, first_row)
        self._first = source.first

    def looks_numeric(self, name: str) -> bool:
        first = self._first[name]
        return self.numbers(name) is not None if first is None else not isinstance(first, str)

    def _values(self, name: str) -> list[Any]:
        values = [row.get(name) for row in self._rows]
        for index, value in enumerate(values):
            if isinstance(value, dict | list):
                what = f"{show(json.dumps(value))} is neither a number nor text. Give each of its parts a name."
                raise file_error(self._path, what, self.place(index), name)
        return values

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        values = self._values(name)
        if any(isinstance(value, str) for value in values):
            texts = (int(value) if isinstance(value, bool) else value for value in values)
            return parse_numbers(["" if value is None else str(value) for value in texts])
        try:
            return np.array([np.nan if value is None else value for value in values], np.float64)
        except OverflowError:
            return np.array([np.nan if value is None else float(str(value)) for value in values])

    def texts(self, name: str) -> list[str | None]:
        return list(map(text_of, self._values(name)))


class NdjsonSource(_TextSource):
    """Open NDJSON. The first row settles the columns: text is a category; a number, true or false a number.

    Null is a number, too, unless the first chunk has text there that is none.
    """

    format, chunk, waits = "NDJSON", NdjsonChunk, False

    def __init__(self, path: Path, raw: io.FileIO | None, lines: Lines) -> None:
        super().__init__(path, raw, lines)
        self._known: frozenset[str] = frozenset()
        self._objects = self._read()
        first = next(self._objects, None)
        if first is None:
            raise file_error(path, "there is nothing in it. Expected a JSON object in each line.")
        self.first = first[1]
        self.names, self._known = list(self.first), frozenset(self.first)
        check_columns(path, len(self.names))
        self._objects = chain([first], self._objects)

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        return self._objects

    def _read(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows, checked as far as they can be before a column is asked for."""
        for line in self._lines():
            if line.isspace():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_object)
            except _Twice as error:
                raise self._line_error(f"the name {str(error)!r} comes twice in this object. Keep one.") from None
            except (ValueError, RecursionError) as error:
                raise self._line_error(f"this is not JSON ({error}). Put one object in a line.") from None
            if not isinstance(row, dict):
                raise self._line_error(f"{show(line.decode().strip())} is not an object: give names and values.")
            if self._known and not row.keys() <= self._known:
                name = next(name for name in row if name not in self._known)
                raise self._line_error(f"the first row has no column {name!r}." + suggest(name, self.names))
            yield self._number, row


class _Twice(Exception):
    """A name that an object has twice."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        names = [name for name, _ in pairs]
        raise _Twice(max(names, key=names.count))
    return row
