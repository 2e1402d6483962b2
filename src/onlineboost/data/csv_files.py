"""CSV files, compressed or not: bytes to lines to rows to chunks of rows, one pass, never the whole file."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError, file_error, show, way_out
from onlineboost.data.source import (
    MISSING_NUMBERS,
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
from onlineboost.data.values import NO_DATES

LONGEST_LINE = 1 << 24  # bytes; without a bound, a file with no line ends would be read whole
MOST_BLANK_LINES = 1_000_000  # in a row; a compressed file of a few kilobytes can have billions

_DAY = r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[./-]\d\d?[./-]\d{4}"
_TIME = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?"
DATE = re.compile(rf"({_DAY})([T ]{_TIME}( ?(Z|UTC|[+-]\d\d:?\d\d))?)?|{_TIME}")
"""A date, a time or both, as they are mostly written."""


@contextmanager
def open_lines(path: Path) -> Iterator[tuple[io.FileIO, Lines]]:
    """A file of text, compressed or not: the file itself, by which is known how far it was read, and its lines."""
    with open(path, "rb", buffering=0) as raw:
        zipped = path.name.lower().endswith(".gz")
        with io.BufferedReader(gzip.GzipFile(fileobj=raw) if zipped else raw) as lines:
            yield raw, lines


@contextmanager
def open_csv(path: Path) -> Iterator[Source]:
    with open_lines(path) as opened:
        yield CsvSource(path, *opened)


class CsvSource:
    """An open CSV file, with the place in it kept for error messages. Without `raw`, lines come when they come."""

    def __init__(self, path: Path, raw: io.FileIO | None, lines: Lines) -> None:
        self.path = path
        self.names: list[str] = []
        self._raw = raw
        self._size = 0 if raw is None else path.stat().st_size
        self._bytes = lines
        self._row = 0  # data rows read so far
        self._reader = csv.reader(self._lines(), skipinitialspace=True, strict=True)
        self.names = self._header()

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[Chunk]:
        rows = self._rows()
        n_rows = rows_at_once(n_rows, len(self.names))
        lines: Lines | None = None  # the first block is waited for: it settles which columns are numbers
        while numbered := list(taken(rows, n_rows, lines)):
            lines = self._bytes
            yield CsvChunk(self, numbered, first_row=self._row - len(numbered))

    @property
    def fraction(self) -> float:
        if self._raw is None:
            return 0.0
        return min(1.0, self._raw.tell() / self._size)  # the file may be growing

    def _lines(self) -> Iterator[str]:
        number = blank = 0
        longest, most_blank = limit("LONGEST_LINE", LONGEST_LINE), limit("MOST_BLANK_LINES", MOST_BLANK_LINES)
        try:
            for number, raw in enumerate(iter(partial(self._bytes.readline, longest), b""), start=1):
                blank = blank + 1 if raw.isspace() else 0
                if blank > most_blank:
                    what = f"there are more than {most_blank:,} blank lines in a row. Is the file damaged? "
                    raise self._line_error(number, b"", what + raise_limit("MOST_BLANK_LINES"))
                if b"\0" in raw:
                    what = "there is a NUL byte. The file is damaged, or UTF-16: save it as UTF-8."
                    raise self._line_error(number, raw, what)
                if len(raw) == longest:
                    what = f"the line is longer than {longest >> 20:,} MB. Is this a CSV file? "
                    raise self._line_error(number, b"", what + raise_limit("LONGEST_LINE"))
                try:
                    line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
                except UnicodeDecodeError as error:
                    what = f"{raw[error.start : error.end]!r} is not UTF-8. Save the file as UTF-8."
                    raise self._line_error(number, raw, what) from None
                yield line
        except EOFError:
            what = "the compressed file ends too early: it was cut off. Copy or download it again."
            raise self._line_error(number + 1, b"", what) from None
        except (gzip.BadGzipFile, zlib.error) as error:
            what = f"the file cannot be decompressed ({error}): it is damaged, or not gzip. Copy it again."
            raise self._line_error(number + 1, b"", what) from None
        except OSError as error:
            what = f"the file cannot be read on ({error.strerror or error}). Copy it to another place."
            raise self._line_error(number + 1, b"", what) from None

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
        """Rows of the right width, each with the number of its (last) line."""
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

    def _line_error(self, number: int, raw: bytes, what: str) -> DataError:
        """An error in a line that has not become a row; the column is the one that holds the bad bytes."""
        try:
            fields = next(csv.reader([raw.decode(errors="replace")]), [])
        except csv.Error:
            fields = []
        columns = zip(self.names, fields, strict=False)
        guilty = next((name for name, value in columns if "\0" in value or "\ufffd" in value), None)
        return file_error(self.path, what, self._place(number), guilty)


class CsvChunk:
    """Rows of text; a column is parsed when it is asked for."""

    def __init__(self, source: CsvSource, numbered: list[tuple[int, list[str]]], first_row: int) -> None:
        self.fraction = source.fraction
        self._path = source.path
        self._lines, rows = zip(*numbered, strict=True)
        self._columns = dict(zip(source.names, zip(*rows, strict=True), strict=True))
        self._first_row = first_row
        self._parsed: dict[str, NDArray[np.float64] | None] = {}

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1} (line {self._lines[index]})"

    def looks_numeric(self, name: str) -> bool:
        numbers = self.numbers(name)
        if numbers is None:
            self._refuse_dates(name)
            return False
        # A column of "?" alone shows text and no number. An empty one shows nothing, and is numeric so that
        # text further on is an error, instead of numbers further on being taken for categories.
        return not np.isnan(numbers).all() or not any(self._columns[name])

    def _refuse_dates(self, name: str) -> None:
        """As a frame or a Parquet file says by its types, so a column of text says by how all its values look."""
        values = {text.strip() for text in self._columns[name]} - MISSING_NUMBERS
        if values and all(map(DATE.fullmatch, values)):
            what = f"{show(min(values))} looks like a date or time: {NO_DATES}. {way_out(name)}"
            raise file_error(self._path, what, None, name)

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        if name not in self._parsed:  # the first block is parsed to find out, then to use
            self._parsed[name] = parse_numbers(self._columns[name])
        return self._parsed[name]

    def texts(self, name: str) -> list[str | None]:
        return [text or None for text in map(str.strip, self._columns[name])]
