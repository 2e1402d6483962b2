"""Rows in memory: a table of named columns, and a block of a stream, which is a table and its labels."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError


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
