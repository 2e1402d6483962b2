"""Columns that turn up later: which they are, and the stretches of a block that have the same columns.

A column begins with the first row that has a value in it, and that value says whether it is nominal. Columns that begin
in the same row come in the order of their names. So how a stream is cut into blocks makes no difference, nor does the
order of a mapping.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import FIRST_VALUE, numbers_of_values, table_of_row
from onlineboost.data.names import MOST_COLUMNS
from onlineboost.data.table import Table
from onlineboost.data.values import category_of, is_missing

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
            objects = column.dtype == np.object_
            empty = [category_of(value) is None for value in column] if objects else np.isnan(column)
            if not np.all(empty):
                row = int(np.argmin(empty))
                nominal = objects and (name in table.categories or isinstance(column[row], str))
                found.append(NewColumn(name, nominal, row))
    found.sort(key=lambda column: (column.row, column.name))
    return found[: max(0, MOST_COLUMNS - len(known))]


def first_columns(table: Table) -> Table:
    """The columns of a first block that have a value in its first row: the others turn up later."""
    if not table.named or not len(table):
        return table
    first = {column.name: column for column in new_columns(table, frozenset()) if column.row == 0}
    if not first:
        raise DataError(FIRST_VALUE)
    columns = {
        name: column if column.dtype != np.object_ or first[name].nominal else numbers_of_values(column.tolist(), name)
        for name, column in zip(table.names, table.columns, strict=True)
        if name in first
    }
    return Table(tuple(columns), tuple(columns.values()), table.categories)


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
