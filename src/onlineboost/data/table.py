"""Rows: a table of named columns; a block of a stream, which is a table and its labels; and what a file format offers.

That is a source of chunks, each of which gives a column as numbers or as text when asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError, file_error


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
    named
        Whether the names tell which column is which. Otherwise they were made up, and the order tells.
    rounded
        Columns with whole numbers that a float64 array does not hold exactly.

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
    named: bool = True
    rounded: tuple[str, ...] = ()

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
        if isinstance(rows, int | np.integer):
            raise DataError(f"a table is cut by slices and arrays: for a single row, [{rows}:{rows + 1}]")
        columns = tuple(column[rows] for column in self.columns)
        return Table(self.names, columns, self.categories, self.named, self.rounded)

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
    target
        Name of the column with the labels; empty if they are not from a file.

    Examples
    --------
    >>> X = Table(("size",), (np.array([1.0, 2.0]),))
    >>> block = Block(X, np.array(["yes", "no"], dtype=object), first_row=0, fraction=1.0)
    >>> len(block), block.X
    (2, Table(2 rows; numeric: size))
    """

    X: Table
    y: NDArray[np.object_]
    first_row: int
    fraction: float
    target: str = ""

    def __len__(self) -> int:
        return len(self.y)


def joined(blocks: Iterable[Block]) -> tuple[Table, NDArray[Any]]:
    """The rows and the labels of all blocks, in memory."""
    blocks = list(blocks)
    tables = [block.X for block in blocks]
    columns = tuple(map(np.concatenate, zip(*(table.columns for table in tables), strict=True)))
    rounded = dict.fromkeys(name for table in tables for name in table.rounded)
    X = replace(tables[0], columns=columns, rounded=tuple(rounded))
    return X, np.concatenate([block.y for block in blocks])


# ------------------------------------------------------------------------------------------------------- rows of a file


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
