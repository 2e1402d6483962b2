"""Labels to class codes and back. As with columns, reading changes nothing; adding takes new labels over.

A label is anything that can be hashed, and comes back as it was first met. Labels that are written alike are one class:
"1", 1 and 1.0, whether they come from a file, a frame or a single row.

Codes are given in the order in which labels are met, and never change. What users see by class is sorted: `order`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import pairwise, repeat
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.values import interned, is_missing, shortest


@dataclass
class Labels:
    """Labels of any type to codes 0, 1, ..., and back. Fixed, or growing with every label that is met."""

    classes: np.ndarray  # code -> label
    fixed: bool
    names: list[Hashable] = field(init=False, repr=False)  # the same, as Python has them
    _codes: dict[Hashable, int] = field(init=False, repr=False)
    _written: dict[str, int] = field(init=False, repr=False)
    _order: tuple[int, list[int] | None] | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.names = values_of(self.classes)
        self._codes, self._written = {}, {}
        for code, label in enumerate(self.names):
            self._enter(label, code)

    def __getstate__(self) -> dict[str, Any]:
        return interned({**self.__dict__, "_order": None})  # type: ignore[no-any-return]  # found when someone asks

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Of numbers that were loaded, the type is an object of its own: equal models would make unequal pickles."""
        for name, value in state.items():
            setattr(self, name, value)
        if not self.classes.dtype.hasobject:
            self.classes = self.classes.view(np.dtype(self.classes.dtype.str))

    def read(self, y: np.ndarray) -> tuple[np.ndarray, dict[Hashable, int]]:
        """Codes of these labels, and the new labels with the row in which each appears first. Changes nothing."""
        labels = values_of(y)
        try:
            out = np.fromiter(map(self._codes.get, labels, repeat(-1)), np.int64, len(labels))
        except TypeError:
            _check_hashable(labels)
            raise
        new: dict[Hashable, int] = {}
        met: dict[Hashable, int] = {}  # codes of labels that are new, or known but written in another type
        written: dict[str, int] = {}  # codes of the new ones by how they are written
        equal: dict[Hashable, int] = {}  # and by what they are equal to, as `_codes` will have them
        for row in np.flatnonzero(out < 0).tolist():
            label = labels[row]
            exact = (bool, label) if isinstance(label, bool | np.bool_) else label  # True equals 1
            if exact not in met:
                if is_missing(label) or (isinstance(label, str) and not label):
                    raise DataError(
                        f"row {row}: the label is missing ({label!r}); give every row a label or leave it out"
                    )
                text = written_as(label)
                code = equal.get(label, self._written.get(text, written.get(text, -1)))
                if code < 0:
                    label = self._checked(label, row)
                    code = written[text] = len(self.names) + len(new)
                    new[label] = row
                    if twin_of(label) not in self._written and twin_of(label) not in written:
                        equal[label] = code
                met[exact] = code
            out[row] = met[exact]
        return out, new

    def read_one(self, label: Any) -> tuple[np.ndarray, dict[Hashable, int]]:
        """`read` one label. A thin path."""
        if isinstance(label, np.ndarray) and label.ndim == 0:
            label = None if label is np.ma.masked else label.item()
        try:
            return np.array([self._codes[label]], np.int64), {}
        except (KeyError, TypeError):  # new, or no label
            return self.read(object_array([label]))

    def code_of(self, label: Any) -> int:
        """The code of a label as it was met before; -1: `read_one` knows."""
        try:
            return self._codes.get(label, -1)
        except TypeError:  # it cannot be hashed
            return -1

    def of(self, codes: np.ndarray) -> np.ndarray:
        """Labels of these codes; where no class was known (-1) None."""
        if len(codes) and codes.min() < 0:
            return object_array([*self.names, None])[codes]
        return self.classes[codes]

    @property
    def order(self) -> list[int] | None:
        """Codes in the order in which users meet the classes: sorted where labels can be; None: as they are."""
        if self._order is None or self._order[0] != len(self.names):
            self._order = len(self.names), order_of(self.names)
        return self._order[1]

    def outward(self, by_code: np.ndarray, axis: int = -1) -> np.ndarray:
        """Numbers by code as users meet them."""
        return by_code if self.order is None else by_code.take(self.order, axis=axis)

    def by_name(self, by_code: Sequence[Any]) -> dict[Hashable, Any]:
        """Values by code as users meet them, each with its label."""
        if self.order is None:
            return dict(zip(self.names, by_code, strict=True))
        return {self.names[code]: by_code[code] for code in self.order}

    def add(self, new: Sequence[Hashable]) -> None:
        """Take over new labels that `read` found, in its order."""
        for label in new:
            self._enter(label, len(self.names))
            self.names.append(label)
        if new:
            self.classes = label_array(self.names)

    def _enter(self, label: Hashable, code: int) -> None:
        """The codes of a class, and of what equals it unless that is written as a class before it: codes stay."""
        if twin_of(label) not in self._written:
            self._codes[label] = code
        self._written.setdefault(written_as(label), code)

    def _checked(self, label: Any, row: int) -> Hashable:
        """A label that is new, as it is kept."""
        if isinstance(label, np.generic) and label.dtype.kind not in "mM":  # dates of NumPy would become integers
            label = label.item()
        if isinstance(label, float) and not label.is_integer():
            if np.isinf(label):
                what = "Input y contains infinity or a value too large for dtype('float64')."
            else:
                what = "Unknown label type: continuous."
            raise DataError(
                f"row {row}: {what} {label!r} is not a label: numbers with a fraction are quantities; turn them "
                f"into text if they name classes"
            )
        if self.fixed:
            shown = ", ".join(map(repr, self.names[:20]))
            raise DataError(
                f"row {row}: unknown label {label!r}. The classes were fixed when learning began (by `classes`, `fit`, "
                f"`prequential` or `run` on a file): {shown}{', ...' if len(self.names) > 20 else ''}. `partial_fit` "
                f"and `learn_one` without `classes`, and `run` on a pipe, let them grow"
            )
        return label  # type: ignore[no-any-return]


def stretches(codes: np.ndarray, known: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into (start, stop, classes) so that a label not known before can only be the first of a stretch."""
    high = np.maximum(np.maximum.accumulate(codes), known - 1)
    cuts = [0, *(np.flatnonzero(np.diff(high) > 0) + 1), len(codes)]
    for start, stop in pairwise(cuts):
        if start < stop:
            yield int(start), int(stop), int(high[start]) + 1


def sorted_labels(y: np.ndarray) -> np.ndarray:
    """The distinct labels, sorted; in order of first appearance where they cannot be sorted."""
    _, new = Labels(np.empty(0), fixed=False).read(y)
    labels, order = list(new), order_of(list(new))
    labels = labels if order is None else [labels[i] for i in order]
    return label_array(labels) if y.dtype == object else np.array(labels, y.dtype)


def order_of(labels: Sequence[Any]) -> list[int] | None:
    """The places of these labels in sorted order; None: they are sorted as they are, or cannot be."""
    try:
        order = sorted(range(len(labels)), key=labels.__getitem__)
    except TypeError:
        return None
    return None if order == list(range(len(labels))) else order


def label_array(labels: Sequence[Any]) -> np.ndarray:
    """Labels as an array that gives them back: of a type of NumPy if they are all of one, otherwise of objects."""
    types = set(map(type, labels))
    of_numpy = len(types) == 1 and (types <= {str, bool} or isinstance(labels[0], np.generic))
    if not (types <= {int, float} or of_numpy):
        return object_array(labels)
    out = np.array(labels)  # which leaves out NUL at the end of a text, and rounds whole numbers beside floats
    kept = out.dtype.kind not in "Uf" or out.tolist() == list(labels)
    return out if kept else object_array(labels)


def as_array(y: Any) -> np.ndarray:
    """Labels of rows as an array; a list of text and numbers keeps both."""
    is_list = isinstance(y, list | tuple) and not any(isinstance(label, list | np.ndarray) for label in y)
    return label_array(y) if is_list else np.asarray(y)


def object_array(values: Sequence[Any]) -> np.ndarray:
    """Values as an array of objects of one dimension, whatever they are."""
    out = np.empty(len(values), object)
    for i, value in enumerate(values):  # an array or a tuple among them would be taken apart by `out[:] = values`
        out[i] = value
    return out


def values_of(y: np.ndarray) -> list[Any]:
    """The labels of an array; dates of NumPy stay what they are."""
    return list(y) if y.dtype.kind in "mM" else y.tolist()


def written_as(label: Any) -> Any:
    """How a label is written: what text, numbers and truth values have in common. Others are written as themselves.

    Spaces around text do not count, as in files and in categories.
    """
    if isinstance(label, str):
        return label.strip() or label
    if isinstance(label, bool | np.bool_):
        return str(bool(label))
    if isinstance(label, int | float | np.integer | np.floating | Decimal) and not isinstance(label, np.timedelta64):
        return shortest(label)  # type: ignore[arg-type]
    return label


def twin_of(label: Any) -> str | None:
    """How what equals a label is written, if that is otherwise: True equals 1."""
    if isinstance(label, bool | np.bool_):
        return str(int(label))
    return str(bool(label)) if isinstance(label, int | float | np.number) and label in (0, 1) else None


def _check_hashable(labels: list[Any]) -> None:
    for row, label in enumerate(labels):
        try:
            hash(label)
        except TypeError:
            what = "is not a label: give text, a number or another value that can be hashed"
            raise DataError(f"row {row}: {label!r} {what}") from None
