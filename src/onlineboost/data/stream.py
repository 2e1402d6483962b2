"""Files to blocks: a CSV or Parquet file comes out as a run of small tables, never held whole.

:func:`read_blocks` is the way in. A block is a :class:`Table` of predictors and an array of labels. The kind
of each column, numeric or nominal, is settled by the first block and holds for the rest of the file. Whatever
is wrong with a file is a :class:`DataError` that names the file, row, column and value, and the way out.
"""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from itertools import islice
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np
from numpy.typing import NDArray

MISSING_NUMBERS = frozenset({"", "?", "NA", "N/A", "na", "n/a", "NULL", "Null", "null", "None", "none"})
"""What stands for a missing value in a numeric column, besides nan in any case. In a nominal one: only ""."""

_SUFFIXES = (".csv", ".csv.gz", ".parquet")
_LONGEST_LINE = 1 << 24  # bytes; without a bound, a file with no line ends would be read whole


class DataError(ValueError):
    """Something is wrong with the data; the message says where and what to do."""


@dataclass(frozen=True, eq=False, repr=False)
class Table:
    """Named columns of equal length.

    Parameters
    ----------
    names
        Column names, all different.
    columns
        One array per name. A float64 array is a numeric column, NaN where a value is missing; an object array
        of str is a nominal one, None where a value is missing.
    categories
        For nominal columns whose values are known in advance: name to values.

    Examples
    --------
    >>> table = Table(("size", "colour"), (np.array([1.0, np.nan]), np.array(["red", None], dtype=object)))
    >>> table
    Table(2 rows; numeric: size; nominal: colour)
    >>> table[1:].columns[1]
    array([None], dtype=object)
    """

    names: tuple[str, ...]
    columns: tuple[NDArray[Any], ...]
    categories: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if len(self.names) != len(self.columns) or len(set(self.names)) != len(self.names):
            raise DataError(f"{len(self.columns)} columns need as many different names, got {self.names}")
        for name, column in zip(self.names, self.columns, strict=True):
            if column.ndim != 1 or len(column) != len(self.columns[0]):
                raise DataError(f"column {name!r} has shape {column.shape}, expected ({len(self.columns[0])},)")
            if column.dtype not in (np.float64, np.object_):
                raise DataError(f"column {name!r} has dtype {column.dtype}: use float64 (numeric) or object (nominal)")

    def __len__(self) -> int:
        return len(self.columns[0]) if self.columns else 0

    def __getitem__(self, rows: slice | NDArray[Any]) -> Table:
        """The table of some rows: a slice, an array of row numbers or a mask."""
        return Table(self.names, tuple(column[rows] for column in self.columns), self.categories)

    def __repr__(self) -> str:
        kinds = []
        for kind, dtype in (("numeric", np.float64), ("nominal", np.object_)):
            names = [n for n, column in zip(self.names, self.columns, strict=True) if column.dtype == dtype]
            if names:
                shown = names if len(names) <= 6 else [*names[:3], "...", names[-1]]
                kinds.append(f"; {kind}: {', '.join(shown)}")
        return f"Table({len(self)} rows{''.join(kinds)})"


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive rows of a file.

    Parameters
    ----------
    X
        The predictors.
    y
        The labels, an object array of str.
    first_row
        Number of the first of these rows in the file, counted from 0, header not counted.
    fraction
        How much of the file has been read, from 0 to 1: of its bytes for CSV, of its rows for Parquet.
    """

    X: Table
    y: NDArray[np.object_]
    first_row: int
    fraction: float

    def __len__(self) -> int:
        return len(self.y)


def read_blocks(
    path: str | PathLike[str],
    target: str | None = None,
    *,
    block_rows: int = 4096,
    nominal: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (),
) -> Iterator[Block]:
    """Read a CSV, gzip-compressed CSV or Parquet file block by block.

    A CSV file is UTF-8, comma-separated, with a header row; blank lines and spaces around values are ignored.
    A column is numeric if each of its values in the first block is a number or missing (see
    ``MISSING_NUMBERS``), otherwise nominal. In Parquet the file says itself which columns are numbers.

    Parameters
    ----------
    path
        A file that ends in .csv, .csv.gz or .parquet.
    target
        Name of the column with the labels; the last column by default.
    block_rows
        Rows in a block; the last block may be shorter. Memory grows with it, not with the file.
    nominal, numeric
        Columns whose kind is not to be guessed: a name or several.

    Yields
    ------
    Block
        The rows, in the order of the file.

    Raises
    ------
    DataError
        If the file, or a row that has been reached, is not as described.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "events.csv")
    >>> _ = path.write_text("amount,country,label\\n3.5,CH,ok\\n,CH,ok\\n9000,XX,fraud\\n")
    >>> for block in read_blocks(path, block_rows=2):
    ...     print(block.first_row, block.X, block.y)
    0 Table(2 rows; numeric: amount; nominal: country) ['ok' 'ok']
    2 Table(1 rows; numeric: amount; nominal: country) ['fraud']
    >>> folder.cleanup()
    """
    checked = _checked_path(path)
    if block_rows < 1:
        raise ValueError(f"block_rows must be at least 1, got {block_rows}")
    return _blocks(checked, target, block_rows, _names(nominal), _names(numeric))


def scan_labels(path: str | PathLike[str], target: str | None = None) -> list[str]:
    """The distinct labels of a file, sorted, from one pass over the target column (the last one by default).

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = Path(folder.name, "events.csv")
    >>> _ = path.write_text("amount,label\\n3.5,ok\\n7,ok\\n9000,fraud\\n")
    >>> scan_labels(path, "label")
    ['fraud', 'ok']
    >>> folder.cleanup()
    """
    labels: set[str] = set()
    with _open(_checked_path(path)) as source:
        target = _target_name(source, target)
        for chunk in source.chunks(4096, [target]):
            labels.update(_labels(source, chunk, target))
    if not labels:
        raise _no_rows(source.path)
    return sorted(labels)


def _names(names: str | Iterable[str]) -> frozenset[str]:
    return frozenset([names] if isinstance(names, str) else names)


def _blocks(
    path: Path, target: str | None, block_rows: int, nominal: frozenset[str], numeric: frozenset[str]
) -> Iterator[Block]:
    with _open(path) as source:
        target = _target_name(source, target)
        predictors = [name for name in source.names if name != target]
        _check_forced(path, predictors, nominal, numeric)
        is_numeric: dict[str, bool] = {}
        first_row = 0
        for chunk in source.chunks(block_rows, source.names):
            if not is_numeric:
                guessed = {n: n not in nominal and chunk.looks_numeric(n) for n in predictors if n not in numeric}
                is_numeric = {**guessed, **dict.fromkeys(numeric, True)}
            columns = [_numbers(source, chunk, n) if is_numeric[n] else _texts(chunk, n) for n in predictors]
            y = np.array(_labels(source, chunk, target), dtype=object)
            yield Block(Table(tuple(predictors), tuple(columns)), y, first_row, chunk.fraction)
            first_row += len(y)
        if first_row == 0:
            raise _no_rows(path)


# ------------------------------------------------------------------------------------------ sources of chunks


class _Chunk(Protocol):
    """Consecutive rows as a file format gives them; columns are asked for by name."""

    fraction: float

    def place(self, index: int) -> str:
        """Where the row with this index in the chunk stands, in words."""

    def looks_numeric(self, name: str) -> bool: ...

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        """The column as numbers, NaN for missing; None if one of its values is not a number."""

    def texts(self, name: str) -> list[str | None]:
        """The column as text without surrounding spaces, None for missing."""


class _Source(Protocol):
    """An open file."""

    path: Path
    names: list[str]

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[_Chunk]:
        """The rows, ``n_rows`` at a time; ``names`` are the columns that will be asked for."""


def _checked_path(path: str | PathLike[str]) -> Path:
    path = Path(path)
    if not path.name.lower().endswith(_SUFFIXES):
        raise _error(path, f"cannot tell the format from the name: it must end in {', '.join(_SUFFIXES)}")
    if not path.is_file():
        beside = [other.name for other in path.parent.iterdir()] if path.parent.is_dir() else []
        raise _error(path, "no such file." + _did_you_mean(get_close_matches(path.name, beside)))
    return path


@contextmanager
def _open(path: Path) -> Iterator[_Source]:
    if path.name.lower().endswith(".parquet"):
        with _open_parquet(path) as source:
            yield source
        return
    with open(path, "rb", buffering=0) as raw:
        zipped = path.name.lower().endswith(".gz")
        with io.BufferedReader(gzip.GzipFile(fileobj=raw) if zipped else raw) as lines:
            yield _CsvSource(path, raw, lines)


class _CsvSource:
    """An open CSV file: bytes to lines to rows to chunks of rows, with the place kept for error messages."""

    def __init__(self, path: Path, raw: io.FileIO, lines: BinaryIO) -> None:
        self.path = path
        self.names: list[str] = []
        self._raw = raw
        self._size = path.stat().st_size
        self._bytes = lines
        self._row = 0  # data rows read so far
        self._reader = csv.reader(self._lines(), skipinitialspace=True, strict=True)
        self.names = self._header()

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[_Chunk]:
        rows = self._rows()
        while numbered := list(islice(rows, n_rows)):
            yield _CsvChunk(self, numbered, first_row=self._row - len(numbered))

    @property
    def fraction(self) -> float:
        return min(1.0, self._raw.tell() / self._size)  # the file may be growing

    def _lines(self) -> Iterator[str]:
        number = 0
        try:
            for number, raw in enumerate(iter(partial(self._bytes.readline, _LONGEST_LINE), b""), start=1):
                if b"\0" in raw:
                    what = "there is a NUL byte. The file is damaged, or UTF-16: save it as UTF-8."
                    raise self._line_error(number, raw, what)
                if len(raw) == _LONGEST_LINE:
                    raise self._line_error(number, b"", "the line is longer than 16 MB. Is this a CSV file?")
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

    def _header(self) -> list[str]:
        try:
            names = [name.strip() for name in next(filter(None, self._reader), [])]
        except csv.Error as error:
            raise _error(self.path, f"not valid CSV ({error}). Check the quotes.", "header") from None
        if not names:
            raise _error(self.path, "the file is empty. Expected a header row of column names, then data.")
        if "" in names:
            what = f"column {names.index('') + 1} has no name. Name it; if pandas wrote it as a row number, "
            raise _error(self.path, what + "write the file with index=False.", "header")
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
            raise _error(self.path, advice, self._place(reader.line_num)) from None

    def _place(self, line: int) -> str:
        return f"row {self._row + 1} (line {line})" if self.names else f"line {line}"

    def _width_error(self, row: list[str]) -> DataError:
        place, width = self._place(self._reader.line_num), len(self.names)
        column = self.names[len(row)] if len(row) < width else None
        if column is None:
            end = f": {_show(row[width])} is one too many. Put values that contain a comma in quotes."
        elif next(self._reader, None) is None:
            end = ", and it is the last row: the file seems cut off."
        else:
            end = ": from this column on there is none. Complete the row."
        return _error(self.path, f"{len(row)} values for {width} columns{end}", place, column)

    def _line_error(self, number: int, raw: bytes, what: str) -> DataError:
        """An error in a line that has not become a row; the column is the one that holds the bad bytes."""
        try:
            fields = next(csv.reader([raw.decode(errors="replace")]), [])
        except csv.Error:
            fields = []
        columns = zip(self.names, fields, strict=False)
        guilty = next((name for name, value in columns if "\0" in value or "\ufffd" in value), None)
        return _error(self.path, what, self._place(number), guilty)


class _CsvChunk:
    def __init__(self, source: _CsvSource, numbered: list[tuple[int, list[str]]], first_row: int) -> None:
        self.fraction = source.fraction
        self._lines, rows = zip(*numbered, strict=True)
        self._columns = dict(zip(source.names, zip(*rows, strict=True), strict=True))
        self._first_row = first_row
        self._parsed: dict[str, NDArray[np.float64] | None] = {}

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1} (line {self._lines[index]})"

    def looks_numeric(self, name: str) -> bool:
        numbers = self.numbers(name)
        if numbers is None:
            return False
        # A column of "?" alone shows text and no number. An empty one shows nothing, and is numeric so that
        # text further on is an error, instead of numbers further on being taken for categories.
        return not np.isnan(numbers).all() or not any(self._columns[name])

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        if name not in self._parsed:  # the first block is parsed to find out, then to use
            self._parsed[name] = _parse_numbers(self._columns[name])
        return self._parsed[name]

    def texts(self, name: str) -> list[str | None]:
        return [text or None for text in map(str.strip, self._columns[name])]


@contextmanager
def _open_parquet(path: Path) -> Iterator[_Source]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise _error(path, "reading Parquet needs pyarrow: pip install 'onlineboost[frames]'") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield _ParquetSource(path, file)
    except (pyarrow.ArrowException, OSError) as error:
        raise _error(path, f"not a readable Parquet file ({error}). If it was cut off, copy it again.") from None


class _ParquetSource:
    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self.names = list(file.schema_arrow.names)
        self._file = file

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[_Chunk]:
        done = 0
        for batch in self._file.iter_batches(n_rows, columns=list(names)):
            done += len(batch)
            yield _ParquetChunk(self, batch, done - len(batch), done / self._file.metadata.num_rows)


class _ParquetChunk:
    def __init__(self, source: _ParquetSource, batch: Any, first_row: int, fraction: float) -> None:
        self.fraction = fraction
        self._path = source.path
        self._batch = batch
        self._first_row = first_row

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1}"

    def looks_numeric(self, name: str) -> bool:
        from pyarrow import types

        kind = self._batch.column(name).type
        if any(test(kind) for test in (types.is_nested, types.is_binary, types.is_large_binary)):
            what = f"values of type {kind} are neither numbers nor text. Leave the column out."
            raise _error(self._path, what, None, name)
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        return any(test(kind) for test in numeric)

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        if self.looks_numeric(name):
            # safe=False: integers beyond 2**53 are rounded, as float() does for text
            numbers = self._batch.column(name).cast("float64", safe=False)
            return np.array(numbers.to_numpy(zero_copy_only=False))  # a copy: Arrow's memory is read-only
        return _parse_numbers([text or "" for text in self.texts(name)])

    def texts(self, name: str) -> list[str | None]:
        values = self._batch.column(name).to_pylist()
        return [None if v is None or v != v else str(v).strip() or None for v in values]  # v != v: a NaN


# ----------------------------------------------------------------------------------------- columns of a chunk


def _parse_numbers(values: Sequence[str]) -> NDArray[np.float64] | None:
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


def _numbers(source: _Source, chunk: _Chunk, name: str) -> NDArray[np.float64]:
    numbers = chunk.numbers(name)
    if numbers is None:
        texts = chunk.texts(name)
        guilty = next(i for i, text in enumerate(texts) if text and _parse_numbers([text]) is None)
        what = f"{_show(texts[guilty])} is not a number, and the column is numeric."
    elif np.isinf(numbers).any():
        guilty = int(np.argmax(np.isinf(numbers)))
        what = f"{_show(chunk.texts(name)[guilty])} is not a finite number."
    else:
        return numbers
    advice = (
        f"{what} If it is a category, pass --nominal {name} (nominal=[{name!r}]); "
        "if not, correct the value or leave it empty, which means missing."
    )
    raise _error(source.path, advice, chunk.place(guilty), name)


def _texts(chunk: _Chunk, name: str) -> NDArray[np.object_]:
    return np.array(chunk.texts(name), dtype=object)


def _labels(source: _Source, chunk: _Chunk, target: str) -> list[str]:
    labels = chunk.texts(target)
    if None in labels:
        what = "'' is no label: every row needs one. Fill it in or remove the row."
        raise _error(source.path, what, chunk.place(labels.index(None)), target)
    return labels  # type: ignore[return-value]  # None has just been ruled out


def _target_name(source: _Source, target: str | None) -> str:
    names = source.names
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        what = "two columns have this name. Rename one; if the file starts with data, add a header row."
        raise _error(source.path, what, None, repeated)
    if len(names) < 2:
        what = "there is one column; predictors and a target are needed. Values are separated by commas"
        other = next((f", not by {sign!r}" for sign in ";\t|" if sign in names[0]), "")
        raise _error(source.path, f"{what}{other}.", None, names[0])
    if target is None:
        return names[-1]
    if target not in names:
        raise _error(source.path, f"no column is named {target!r}." + _suggest(target, names))
    return target


def _check_forced(path: Path, names: list[str], nominal: frozenset[str], numeric: frozenset[str]) -> None:
    for name in sorted(nominal | numeric):
        if name not in names:
            raise _error(path, f"no predictor is named {name!r}." + _suggest(name, names))
        if name in nominal and name in numeric:
            raise _error(path, "asked to be both nominal and numeric. Choose one.", None, name)


# -------------------------------------------------------------------------------------------------- the words


def _error(path: Path, what: str, place: str | None = None, column: str | None = None) -> DataError:
    parts = [str(path), place, f"column {column!r}" if column is not None else None]
    return DataError(f"{', '.join(part for part in parts if part)}: {what}")


def _no_rows(path: Path) -> DataError:
    return _error(path, "there is a header but no row of data.")


def _show(value: str | None) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...'"


def _did_you_mean(near: list[str]) -> str:
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def _suggest(name: str, names: list[str]) -> str:
    by_lower = {n.lower(): n for n in names}
    near = [by_lower[n] for n in get_close_matches(name.lower(), by_lower, cutoff=0.7)]
    shown = names if len(names) <= 20 else [*names[:19], "...", names[-1]]
    return _did_you_mean(near) or f" The columns are {', '.join(shown)}."
