"""Several labels per row: indicator matrices, sets and mappings to codes.

An indicator has a column for each label, which are the names of a frame, or numbers 0, 1, ... Columns that come later
are labels that come later.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.labels import Labels, object_array, order_of


class LabelSets:
    """The labels of some rows; `announced` are labels that are known even if no row has them."""

    def __init__(self, rows: Sequence[Sequence[Any]], announced: Sequence[Any] = ()) -> None:
        self.rows, self.announced = object_array(rows), announced

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, part: Any) -> LabelSets:
        return LabelSets(self.rows[part], self.announced)

    def read(self, labels: Labels) -> tuple[LabelCodes, dict[Any, int]]:
        """Codes of the sets, and new labels with the row in which each appears first. Changes nothing."""
        flat: list[Any] = [*self.announced, *(label for row in self.rows for label in row)]
        of_row = np.repeat(np.arange(len(self)), [len(row) for row in self.rows])
        at = np.concatenate([np.zeros(len(self.announced), np.intp), of_row])
        try:
            found, new = labels.read(object_array(flat))
        except DataError as error:
            words = re.sub(r"^row (\d+)", lambda found: f"row {at[int(found[1])]}", str(error))
            raise DataError(f"in the sets of labels: {words}") from None
        known = labels.names
        sets = np.zeros((len(self), len(known) + len(new)), np.bool_)
        last = np.zeros(len(self), np.int64)
        if len(self):
            turns_up = (found >= len(known)) | (np.arange(len(at)) >= len(self.announced))
            np.maximum.at(last, at[turns_up], found[turns_up])
        sets[of_row, found[len(self.announced) :]] = True
        codes = last.view(LabelCodes)
        codes.sets = sets
        return codes, {label: int(at[place]) for label, place in new.items()}


class LabelCodes(np.ndarray):
    """Per row the last of its labels to turn up, 0 if it has none. `sets` is the indicator, by codes."""

    sets: np.ndarray


def label_sets(Y: Any) -> LabelSets:
    """The labels of rows: an indicator (array, sparse matrix or frame), or a set, list or mapping for each row."""
    if isinstance(Y, LabelSets):
        return Y
    if Y is None:
        raise DataError("Y is None: give the labels of every row, as an indicator matrix or as sets")
    if hasattr(Y, "toarray"):
        Y = Y.toarray()
    names = [*getattr(Y, "column_names", Y.columns)] if hasattr(Y, "columns") else None
    table = np.asanyarray(Y) if names is not None or isinstance(Y, np.ndarray) else None
    if table is not None and table.ndim == 2:
        return of_indicator(table, [*range(table.shape[1])] if names is None else names)
    rows = list(Y)
    mixed = not all(_is_two_bits(row) for row in rows)
    return LabelSets([labels_of(row, f"row {b}", mixed=mixed) for b, row in enumerate(rows)])


def labels_of(row: Any, where: str = "the row", *, mixed: bool = False) -> list[Any]:
    """The labels of one row; of a mapping those that are true. `mixed`: it is among rows that tell labels from bits."""
    if isinstance(row, Mapping):
        for label, own in row.items():
            if _number(own) not in (0.0, 1.0):
                raise DataError(f"{where}: a mapping holds True and False, got {own!r} for {label!r}")
        return [label for label, own in row.items() if _number(own)]
    if isinstance(row, str | bytes) or not isinstance(row, Iterable):
        raise DataError(f"{where}: {row!r} is not a set of labels: give a set, a list, or a mapping of label to bool")
    if isinstance(row, set | frozenset):  # in an order that is the same in every process
        return sorted(row, key=lambda label: (type(label).__name__, label if isinstance(label, int) else 0, str(label)))
    labels = list(row)
    try:
        distinct = list(dict.fromkeys(labels))
    except TypeError:
        raise DataError(f"{where}: {row!r} is not a set of labels: labels are text, numbers or tuples") from None
    bits = all(not isinstance(label, str) and _number(label) in (0.0, 1.0) for label in distinct)
    if (bits and len(distinct) < len(labels)) or (isinstance(row, np.ndarray) and row.dtype == np.bool_):
        raise DataError(
            f"{where}: {row!r} is a row of an indicator: give the rows as one matrix, or a mapping of label to bool"
        )
    if not mixed and _is_two_bits(row):
        raise DataError(
            f"{where}: {row!r} may be the labels 0 and 1, or a row of an indicator: give the set {{0, 1}}, a matrix or "
            f"a mapping of label to bool"
        )
    return distinct


def _is_two_bits(row: Any) -> bool:
    """A list of 0 and 1: all labels of two, or one of them."""
    return isinstance(row, list | tuple | np.ndarray) and len(row) == 2 and sorted(map(_bit, row)) == [0.0, 1.0]


def _bit(label: Any) -> float:
    return -1.0 if isinstance(label, str) or _number(label) not in (0.0, 1.0) else _number(label)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        return math.nan


def of_indicator(table: np.ndarray, names: Sequence[Any]) -> LabelSets:
    """The labels of rows from a matrix with a column for each of these."""
    if table.dtype.kind in "biuf" and not isinstance(table, np.ma.MaskedArray):
        given = table.astype(np.float64)
    else:  # None where it is masked
        given = np.array([_number(value) for value in table.ravel().tolist()]).reshape(table.shape)
    if not np.isin(given, (0.0, 1.0)).all():
        row, column = np.argwhere(~np.isin(given, (0.0, 1.0)))[0]
        raise DataError(f"row {row}: an indicator holds 0 and 1, got {table[row, column]!r} for {names[column]!r}")
    labels = object_array(names)
    order = order_of(names)  # in which they are announced: that of the columns makes no difference
    known = names if order is None else [names[column] for column in order]
    return LabelSets([labels[own].tolist() for own in given == 1.0], known)


def indicator(Y: Any, labels: Sequence[Any]) -> np.ndarray:
    """Rows of labels, given as in `label_sets`, as an indicator (rows, labels) in this order; others are left out."""
    sets, known = label_sets(Y), Labels(object_array(labels), fixed=False)
    codes, _ = sets.read(known)
    return codes.sets[:, : len(labels)]
