"""Which columns are meant: names and positions that are given, and columns that turn up later.

A column begins with the first row that has a value in it, and that value says whether it is nominal. Columns that begin
in the same row come in the order of their names. So how a stream is cut into blocks makes no difference, nor does the
order of a mapping.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError, Remarks, near_names
from onlineboost.data.frames import FIRST_VALUE, named_row, numbers_of_values, table_of_row
from onlineboost.data.table import Table
from onlineboost.data.values import category_of, is_missing

MAX_COLUMNS_OF_MODEL = 1_000
"""Columns that a model has at most, if some of them turned up later."""


def other_names(unknown: list[str], missing: list[str]) -> DataError:
    """Names that are not those of the first block, in the words of scikit-learn."""
    lines = ["The feature names should match those that were passed during fit."]
    unseen, lost = "Feature names unseen at fit time:", "Feature names seen at fit time, yet now missing:"
    for what, names in ((unseen, unknown), (lost, missing)):
        if names:
            lines += [what, *(f"- {name}" for name in names[:20]), *(["- ..."] if len(names) > 20 else [])]
    advice = "Leave out what the model has not learned from, and fill a column that is missing with NaN."
    return DataError("\n".join([*lines, advice]))


def not_a_column(unknown: list[str], known: Sequence[str]) -> DataError:
    return DataError(
        f"unknown column {', '.join(map(repr, unknown[:5]))}: this model's columns are {', '.join(known)}. The first "
        f"row or block settles the columns: leave the others out, or start a new model with all of them"
    )


def columns_by_name(table: Table, names: Sequence[str], *, gaps: bool) -> tuple[np.ndarray, ...]:
    """The columns with these names; if there may be gaps, one that is not there is missing, and others are left out."""
    by_name = dict(zip(table.names, table.columns, strict=True))
    if not gaps and by_name.keys() != set(names):
        raise other_names(sorted(by_name.keys() - set(names)), sorted(set(names) - by_name.keys()))
    nothing = np.full(len(table), np.nan)
    return tuple(by_name.get(name, nothing) for name in names)


def check_finite(matrix: np.ndarray, names: Sequence[str], positions: Sequence[int]) -> None:
    """An error for the first value that is infinite, in a matrix of the columns at these positions."""
    if np.isinf(matrix).any():
        row, column = np.argwhere(np.isinf(matrix))[0]
        raise DataError(
            f"row {row}, column {names[positions[column]]!r}: infinity is not a value that can be learned from; use "
            f"NaN for missing, or clip the column"
        )


def positions(categorical: Sequence[int | str] | None, names: tuple[str, ...]) -> set[int]:
    """categorical_features (names, positions or a mask) as positions."""
    if categorical is None:
        return set()
    if isinstance(categorical, str) or not np.iterable(categorical):
        raise DataError(f"categorical_features takes a list of names or positions, or a mask, got {categorical!r}")
    given = list(categorical)
    if given and all(isinstance(c, bool | np.bool_) for c in given):
        if len(given) != len(names):
            raise DataError(f"categorical_features is a mask of length {len(given)} for {len(names)} columns")
        return {c for c, flag in enumerate(given) if flag}
    out = set()
    for c in given:
        if isinstance(c, str):
            if c not in names:
                raise DataError(f"categorical_features names {c!r}, which is not a column: {', '.join(names)}")
            out.add(names.index(c))
        elif not isinstance(c, int | np.integer):
            raise DataError(f"categorical_features takes names, positions or a mask, got {c!r}")
        elif -len(names) <= c < len(names):
            out.add(int(c) % len(names))
        else:
            raise DataError(f"categorical_features names column {c}, but there are {len(names)} columns")
    return out


# -- what is said, once for a model


def names_told(given: Collection[str], names: Sequence[str], learning: bool, *, row: bool = False) -> Remarks:
    """What there is to say of a block or a row with the `given` names, to a model whose columns have these `names`."""
    known = set(names)
    unknown = [name for name in given if name not in known]
    if learning:
        return {"too many columns": too_many_columns} if unknown and len(names) >= MAX_COLUMNS_OF_MODEL else {}
    if len(unknown) == len(given):
        return {"no known column": partial(all_missing, given, names)}
    if not unknown:
        return {}
    if row and len(given) - len(unknown) == len(names):
        return {"unknown column": Extra(frozenset(unknown), names)}
    return {"unknown column": partial(unknown_left_out, unknown, names)}


@dataclass(frozen=True)
class Extra:
    """Unknown names beside all that are known: perhaps new, and then they are learned before they come again."""

    names: frozenset[str]
    known: Sequence[str]

    def __call__(self) -> str:
        return unknown_left_out(sorted(self.names), self.known)


def unknown_left_out(unknown: Sequence[str], known: Sequence[str]) -> str:
    near = {name: near_names(name, known) for name in unknown[:5]}
    meant = "; ".join(f"{name!r}: did you mean {found[0]!r}?" for name, found in near.items() if found)
    return (
        f"unknown column {', '.join(map(repr, unknown[:5]))}: left out of the prediction, as are others that have "
        f"never been learned{f' ({meant})' if meant else ''}. Mend the name or leave it out; columns='fixed' "
        f"makes it an error"
    )


def no_known_column(given: Collection[str], known: Sequence[str]) -> str:
    some = f"its names are {_shown(given)}" if given else "it is empty"
    return f"none of this model's columns has a value here: {some}, and the columns are {_shown(known)}"


def all_missing(given: Collection[str], known: Sequence[str]) -> str:
    return f"{no_known_column(given, known)}. It is predicted as a row whose values are all missing"


def too_many_columns() -> str:
    return (
        f"more than {MAX_COLUMNS_OF_MODEL} different columns have turned up: those that come from now on are left out. "
        f"If names are made of values, as in 'user_4711', give the value itself, in one nominal column"
    )


def digits_told(names: Iterable[str]) -> Remarks:
    """What there is to say of columns whose whole numbers are rounded."""
    return {f"digits {name}": partial(_digits_lost, name) for name in names}


def _digits_lost(name: str) -> str:
    return (
        f"column {name!r} has whole numbers beyond 2**53, which are rounded: a float has 53 bits, so two of them may "
        f"become one. If they name something (ids), give them as text (in files: --nominal, nominal=); if they measure "
        f"something (times in nanoseconds), subtract the same number from all, or ignore this where the last digits do "
        f"not matter"
    )


def _shown(names: Collection[str]) -> str:
    names = list(names)
    return ", ".join(map(repr, names if len(names) <= 6 else names[:5])) + (", ..." if len(names) > 6 else "")


# --------------------------------------------------------------------------------------------------- that turn up later


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
    return found[: max(0, MAX_COLUMNS_OF_MODEL - len(known))]


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


def first_row(x: Any, opens: Any, categorical: Any) -> Table:
    """A first block made of one row. What is None in a mapping turns up later, as if it were left out.

    Unless no columns may turn up, or all of them are spoken of.
    """
    takes = opens != "fixed" and categorical is None and isinstance(x, Mapping)
    there = {name: value for name, value in x.items() if value is not None} if takes else {}
    return table_of_row(there or x)


def perhaps_mistaken(columns: Sequence[NewColumn], x: Any, known: Sequence[str]) -> Remarks:
    """What there is to say if a row has a new column in place of one that is known and has nearly its name.

    Names that differ in digits alone are those of a family: x1, x2, ... A row without most columns is a set of words.
    """
    given = {str(name) for name in named_row(x) or ()}
    absent = [name for name in known if name not in given]
    if len(absent) > len(columns) and 2 * len(absent) > len(known) + 1:
        return {}
    for new, _, _ in columns:
        for near in near_names(new, absent):
            if re.sub(r"\d", "", new) != re.sub(r"\d", "", near):
                return {"mistaken column": partial(_mistaken, new, near)}
    return {}


def _mistaken(new: str, known: str) -> str:
    return (
        f"{new!r} is a new column from here on, in a row without {known!r}. Did you mean {known!r}? columns='fixed' "
        f"makes new names an error"
    )


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
        f"unknown column {names}: weak learners of other libraries have the columns that they began with. Leave the "
        f"others out, or start a new model with all of them"
    )
