"""Files to blocks: a CSV, Parquet or NDJSON file comes out as a run of small tables, never held whole.

:func:`read_blocks` is the way in. A block is a :class:`~onlineboost.data.table.Table` of predictors and an array of
labels. The kind of each column, numeric or nominal, is settled by the first block and holds for the rest of the file.
Whatever is wrong with a file is a :class:`~onlineboost.data.errors.DataError` that names the file, row, column and
value, and the way out.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from os import PathLike
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError, file_error, near_files, no_rows, show, suggest, way_out
from onlineboost.data.table import Block, Chunk, Source, Table, check_columns, rows_at_once
from onlineboost.data.text_files import CsvSource, LiveLines, NdjsonSource
from onlineboost.data.values import NO_DATES, parse_numbers, rounded_columns, text_of

FIRST_ROWS = 256  # of a pipe that the first block waits for: they settle which columns are numbers
STDIN = "-"  # the name of what is piped in
_NDJSON = (".ndjson", ".ndjson.gz", ".jsonl", ".jsonl.gz")
_SUFFIXES = (".csv", ".csv.gz", ".parquet", *_NDJSON)


def read_blocks(
    path: str | PathLike[str],
    target: str | None = None,
    *,
    block_rows: int = 4096,
    nominal: str | Iterable[str] = (),
    numeric: str | Iterable[str] = (),
    drop: str | Iterable[str] = (),
) -> Iterator[Block]:
    """Read a CSV, Parquet or NDJSON file block by block. Those of text may be compressed with gzip.

    A CSV file is UTF-8, comma-separated, with a header row; blank lines and spaces around values are ignored.
    A column is numeric if each of its values in the first block is a number or missing (see
    ``MISSING_NUMBERS``), otherwise nominal. In Parquet the file says itself which columns are numbers. A column of
    dates is an error, unless it is forced to be nominal or left out. NDJSON has an object of names and values in each
    line; the first row settles which columns there are and, by their types, which of them are numbers.

    Parameters
    ----------
    path
        A file that ends in .csv, .parquet, .ndjson or .jsonl, or in .csv.gz, .ndjson.gz or .jsonl.gz. "-" is what is
        piped in, CSV or NDJSON: blocks are then the rows that are there, however few.
    target
        Name of the column with the labels; the last column by default.
    block_rows
        Rows in a block; the last block may be shorter. Memory grows with it, not with the file.
    nominal, numeric
        Columns whose kind is not to be guessed: a name or several.
    drop
        Columns to leave out.

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
    return _blocks(checked, target, block_rows, _names(nominal), _names(numeric), _names(drop))


def read_columns(
    path: str | PathLike[str],
    names: Iterable[str],
    nominal: Iterable[str],
    texts: Sequence[str] = (),
    *,
    block_rows: int = 4096,
) -> Iterator[tuple[Table, list[list[str | None]]]]:
    """Some columns of a file, block by block: those with these names, of which some are nominal; and some as text."""
    given = tuple(names)
    with _open(_checked_path(path)) as source:
        own = {name: name if name in source.names else name.strip() for name in given}  # a frame may have " amount"
        names, categories = tuple(own.values()), {own[name] for name in nominal}
        for name in (*names, *texts):
            if name not in source.names:
                what = f"no column is named {name!r}." + suggest(name, source.names)
                if name in names:
                    what += " The model has learned from this column: add it, empty if its values are not known"
                raise file_error(source.path, what)
            if source.names.count(name) > 1:
                raise _name_twice(source, name)
        for chunk in source.chunks(_first_rows(path, block_rows), list(dict.fromkeys([*names, *texts]))):
            table = table_of(source, chunk, names, lambda name: name not in categories)
            yield replace(table, names=given), [chunk.texts(name) for name in texts]


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
        target = target_name(source, target)
        for chunk in source.chunks(4096, [target]):
            labels.update(labels_of(source, chunk, target))
    if not labels:
        raise no_rows(source.path)
    return sorted(labels)


def _names(names: str | Iterable[str]) -> frozenset[str]:
    return frozenset([names] if isinstance(names, str) else names)


def _parted(asked: frozenset[str], names: list[str]) -> frozenset[str]:
    """Several names with commas between them are as many; a column may have a comma in its name."""
    return frozenset(part.strip() for name in asked for part in ([name] if name in names else name.split(",")))


def _blocks(
    path: Path,
    target: str | None,
    block_rows: int,
    nominal: frozenset[str],
    numeric: frozenset[str],
    drop: frozenset[str],
) -> Iterator[Block]:
    with _open(path) as source:
        target = target_name(source, target)
        nominal, numeric, drop = (_parted(names, source.names) for names in (nominal, numeric, drop))
        predictors = _predictors(source, target, nominal, numeric, drop)
        is_numeric: dict[str, bool] = {}
        first_row = 0
        for chunk in source.chunks(_first_rows(path, block_rows), [*predictors, target]):
            if not is_numeric:
                guessed = {n: n not in nominal and chunk.looks_numeric(n) for n in predictors if n not in numeric}
                is_numeric = {**guessed, **dict.fromkeys(numeric, True)}
            X = table_of(source, chunk, predictors, is_numeric.__getitem__)
            y = np.array(labels_of(source, chunk, target), dtype=object)
            yield Block(X, y, first_row, chunk.fraction, target)
            first_row += len(y)
        if first_row == 0:
            raise no_rows(path)


def _checked_path(path: str | PathLike[str]) -> Path:
    path = Path(path)
    if str(path) == STDIN:
        return path
    if path.is_dir():
        raise file_error(path, "it is a folder: name a file in it")
    known, suffixes = path.name.lower().endswith(_SUFFIXES), ", ".join(_SUFFIXES)
    if not path.is_file():
        what = "no such file" if known else f"no such file, and a name must end in {suffixes}"
        raise file_error(path, f"{what}.{near_files(path, _SUFFIXES)}")
    if not known:
        raise file_error(path, f"cannot tell the format from the name: it must end in {suffixes}")
    return path


def _first_rows(path: str | PathLike[str], block_rows: int) -> int:
    return min(FIRST_ROWS, block_rows) if str(path) == STDIN else block_rows


def standard_input() -> LiveLines:
    return LiveLines(sys.stdin.fileno())


def _open(path: Path) -> AbstractContextManager[Source]:
    if str(path) == STDIN:
        lines = standard_input()
        is_ndjson = lines.peek().lstrip()[:1] == b"{"
        return nullcontext(NdjsonSource(path, None, lines) if is_ndjson else CsvSource(path, None, lines))
    if path.name.lower().endswith(_NDJSON):
        return NdjsonSource.open(path)
    return open_parquet(path) if path.name.lower().endswith(".parquet") else CsvSource.open(path)


# -------------------------------------------------------------------------------------------------------------- columns


def target_name(source: Source, target: str | None) -> str:
    """The name of the column with the labels: the one asked for, if it is there, or the last."""
    names = source.names
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        raise _name_twice(source, repeated)
    if not names:
        raise file_error(source.path, "there is no column; predictors and a target are needed.")
    if len(names) < 2:
        what = "there is one column; predictors and a target are needed. Values are separated by commas"
        other = next((f", not by {sign!r}" for sign in ";\t|" if sign in names[0]), "")
        raise file_error(source.path, f"{what}{other}.", None, names[0])
    if target is None:
        return names[-1]
    if target not in names:
        raise file_error(source.path, f"no column is named {target!r}." + suggest(target, names))
    return target


def _name_twice(source: Source, name: str) -> DataError:
    what = "two columns have this name. Rename one; if the file starts with data, add a header row."
    return file_error(source.path, what, None, name)


def _predictors(
    source: Source, target: str, nominal: frozenset[str], numeric: frozenset[str], drop: frozenset[str]
) -> list[str]:
    """The columns to learn from; those that are to be left out or not to be guessed are there, and of one kind."""
    names = [name for name in source.names if name != target]
    kept = [name for name in names if name not in drop]
    for asked, known in ((drop, names), (nominal | numeric, kept)):
        for name in sorted(asked):
            if name not in known:
                raise file_error(source.path, f"no predictor is named {name!r}." + suggest(name, known))
    if not kept:
        raise file_error(source.path, "all predictors are left out: keep at least one.")
    for name in sorted(nominal & numeric):
        raise file_error(source.path, "asked to be both nominal and numeric. Choose one.", None, name)
    return kept


def numbers_of(source: Source, chunk: Chunk, name: str) -> NDArray[np.float64]:
    """A numeric column; an error for the first value that is not a finite number."""
    numbers = chunk.numbers(name)
    if numbers is None:
        texts = chunk.texts(name)
        odd = [i for i, text in enumerate(texts) if text and parse_numbers([text]) is None]
        guilty = next((i for i in odd if texts[i] not in ("True", "False")), odd[0])  # those of NDJSON are numbers
        what = f"{show(texts[guilty])} is not a number, and the column is numeric."
    elif np.isinf(numbers).any():
        guilty = int(np.argmax(np.isinf(numbers)))
        what = f"{show(chunk.texts(name)[guilty])} is not a finite number."
    else:
        return numbers
    advice = (
        f"{what} If it is a category, it has to be learned as one: run --nominal {quote(name)} (nominal=[{name!r}]); "
        "if not, correct the value or leave it empty, which means missing."
    )
    raise file_error(source.path, advice, chunk.place(guilty), name)


def table_of(source: Source, chunk: Chunk, names: Sequence[str], is_numeric: Callable[[str], bool]) -> Table:
    """These columns of a chunk, of which some are numbers."""

    def is_rounded(name: str, column: np.ndarray) -> bool:
        return is_numeric(name) and bool(rounded_columns(column[:, None], lambda _: chunk.texts(name)))

    columns = [
        numbers_of(source, chunk, name) if is_numeric(name) else np.array(chunk.texts(name), dtype=object)
        for name in names
    ]
    rounded = (name for name, column in zip(names, columns, strict=True) if is_rounded(name, column))
    return Table(tuple(names), tuple(columns), rounded=tuple(rounded))


def labels_of(source: Source, chunk: Chunk, target: str) -> list[str]:
    """The target column; an error for the first row that has no label."""
    labels = chunk.texts(target)
    if None in labels:
        what = "'' is not a label: every row needs one. Fill it in or remove the row."
        raise file_error(source.path, what, chunk.place(labels.index(None)), target)
    return labels  # type: ignore[return-value]  # None has just been ruled out


# -------------------------------------------------------------------------------------------------------------- Parquet


@contextmanager
def open_parquet(path: Path) -> Iterator[Source]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise file_error(path, "reading Parquet needs pyarrow: pip install 'onlineboost[frames]'") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield ParquetSource(path, file)
    except (pyarrow.ArrowException, OSError) as error:
        raise file_error(path, f"not a readable Parquet file ({error}). If it was cut off, copy it again.") from None


class ParquetSource:
    """An open Parquet file."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self.names = list(file.schema_arrow.names)
        check_columns(path, len(self.names))
        self._file = file

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[Chunk]:
        done = 0
        for batch in self._file.iter_batches(rows_at_once(n_rows, len(names)), columns=list(names)):
            done += len(batch)
            yield ParquetChunk(self, batch, done - len(batch), done / self._file.metadata.num_rows)


class ParquetChunk:
    """An Arrow batch."""

    def __init__(self, source: ParquetSource, batch: Any, first_row: int, fraction: float) -> None:
        self.fraction = fraction
        self._path = source.path
        self._batch = batch
        self._first_row = first_row

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1}"

    def _kind(self, name: str) -> Any:
        """The type of a column; an error if its values are neither numbers nor text."""
        from pyarrow import types

        kind = self._batch.column(name).type
        odd = types.is_nested, types.is_binary, types.is_large_binary, types.is_fixed_size_binary
        if any(test(kind) for test in odd):
            what = f"values of type {kind} are neither numbers nor text. Leave the column out with --drop {quote(name)}"
            raise file_error(self._path, f"{what} (drop=[{name!r}]).", None, name)
        return kind

    def looks_numeric(self, name: str) -> bool:
        from pyarrow import types

        kind = self._kind(name)
        if types.is_temporal(kind):
            raise file_error(self._path, f"the type is {kind}: {NO_DATES}. {way_out(name)}", None, name)
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        return any(test(kind) for test in numeric)

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        if self.looks_numeric(name):
            # safe=False: integers beyond 2**53 are rounded, as float() does for text; the model warns of it
            numbers = self._batch.column(name).cast("float64", safe=False)
            return np.array(numbers.to_numpy(zero_copy_only=False))  # a copy: Arrow's memory is read-only
        return parse_numbers([text or "" for text in self.texts(name)])

    def texts(self, name: str) -> list[str | None]:
        self._kind(name)
        return list(map(text_of, self._batch.column(name).to_pylist()))
