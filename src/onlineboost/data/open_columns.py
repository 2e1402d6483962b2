"""Columns that turn up later: which they are, and the stretches of a block that have the same columns.

A column begins with the first row that has a value in it. So how a stream is cut into blocks makes no difference.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import table_of_row
from onlineboost.data.table import Table
from onlineboost.data.values import category_of, is_missing

MOST_COLUMNS = 1_000
"""Columns that a model has at most, if some of them turned up later."""

COLUMNS = ("auto", "open", "fixed")
"""Where new columns may turn up: in rows that are mappings, everywhere, nowhere."""


class NewColumn(NamedTuple):
    """A column that is not known yet."""

    name: str
    nominal: bool
    row: int  # of the block: the first that has a value


def new_columns(table: Table, known: frozenset[str]) -> list[NewColumn]:
    """The columns of a table that are not known and not empty, in the order in which they turn up."""
    found = []
    for name, column in zip(table.names, table.columns, strict=True):
        if name not in known:
            nominal = column.dtype == np.object_
            empty = [category_of(value) is None for value in column] if nominal else np.isnan(column)
            if not np.all(empty):
                found.append(NewColumn(name, nominal, int(np.argmin(empty))))
    found.sort(key=lambda column: column.row)
    if len(known) + len(found) > MOST_COLUMNS:
        _warn_of_too_many()
    return found[: max(0, MOST_COLUMNS - len(known))]


def first_columns(table: Table) -> Table:
    """The columns of a first block that have a value in its first row: the others turn up later."""
    first = {column.name for column in new_columns(table, frozenset()) if column.row == 0}
    if not table.named or not first:
        return table
    columns = tuple(column for name, column in zip(table.names, table.columns, strict=True) if name in first)
    return Table(tuple(name for name in table.names if name in first), columns, table.categories)


def new_columns_of_row(by_name: Mapping[Any, Any], known: frozenset[str]) -> list[NewColumn]:
    """`new_columns` of a single row."""
    values = {str(name): value for name, value in by_name.items() if str(name) not in known and not is_missing(value)}
    return new_columns(table_of_row(values), known) if values else []


def stages(columns: list[NewColumn], n: int) -> Iterator[tuple[slice, list[NewColumn]]]:
    """Stretches of the n rows of a block, each with the columns that turn up in its first row."""
    starts = sorted({0, *(column.row for column in columns)})
    for start, stop in zip(starts, [*starts[1:], n], strict=True):
        yield slice(start, stop), [column for column in columns if column.row == start]


def check_word(columns: Any) -> str:
    if not isinstance(columns, str) or columns not in COLUMNS:
        raise ValueError(f"columns must be one of {', '.join(COLUMNS)}, got {columns!r}")
    return columns


def no_new_columns(columns: Sequence[NewColumn]) -> DataError:
    names = ", ".join(repr(column.name) for column in columns[:5])
    return DataError(
        f"unknown column {names}: weak learners of another make have the columns that they began with. Leave the "
        f"others out, or start a new model with all of them"
    )


def _warn_of_too_many() -> None:
    warnings.warn(
        f"more than {MOST_COLUMNS} different columns have turned up: those that come from now on are left out. If "
        f"names are made of values, as in 'user_4711', give the value itself, in one nominal column",
        UserWarning,
        stacklevel=2,
    )
