"""Columns and labels to numbers.

The kernels know one thing only: a float64 matrix, numeric columns first, then nominal columns as codes 0, 1, 2, ... in
order of first appearance, NaN for missing. An :class:`Encoder` makes it from NumPy arrays, pandas, polars and pyarrow
frames, :class:`~onlineboost.stream.Table` and single rows. The first block settles which columns are nominal.

Reading a block (:meth:`Encoder.read`) changes nothing; :meth:`Encoder.commit` takes the new nominal values over. So a
block that turns out to be invalid leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from onlineboost.stream import DataError, Table

MAX_VALUES = 256
"""A nominal column keeps its first 256 values, later ones are missing: a leaf keeps a number per value and class."""

_MISSING = -1


@dataclass
class Encoded:
    """A block as the kernels want it, and what it would add to the encoder."""

    X: np.ndarray
    fresh: list[dict[Hashable, int]]  # per nominal column: new value -> row of its first appearance


@dataclass
class Encoder:
    """The columns of a stream. Make one with `settle`."""

    names: tuple[str, ...]
    named: bool  # whether the names came with the data
    numeric: list[int]  # positions of the numeric columns in the input
    nominal: list[int]  # positions of the nominal ones
    codes: list[dict[Hashable, int]]  # per nominal column: value -> code
    births: list[list[int]] = field(default_factory=list)  # per nominal column and code: round of first appearance

    @classmethod
    def settle(cls, X: Any, categorical: Sequence[int | str] | None = None) -> Encoder:
        """Find names and kinds of the columns from a first block."""
        table = as_table(X)
        names = table.names
        wanted = _positions(categorical, names)
        nominal = [c for c, column in enumerate(table.columns) if column.dtype == np.object_ or c in wanted]
        encoder = cls(
            names=names,
            named=not isinstance(X, np.ndarray | list | tuple),
            numeric=[c for c in range(len(names)) if c not in set(nominal)],
            nominal=nominal,
            codes=[{} for _ in nominal],
            births=[[] for _ in nominal],
        )
        for j, c in enumerate(nominal):
            for value in table.categories.get(names[c], ())[:MAX_VALUES]:
                encoder.codes[j][value] = len(encoder.codes[j])
                encoder.births[j].append(-1)
        return encoder

    @property
    def sizes(self) -> list[int]:
        """Number of values known in each nominal column."""
        return [len(codes) for codes in self.codes]

    def read(self, X: Any) -> Encoded:
        """Encode a block without changing the encoder; values not known yet get the next codes."""
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype != np.object_ and not self.nominal:
            self._check_width(X.shape[1])
            matrix = np.ascontiguousarray(X, np.float64)
            self._check_finite(matrix, range(X.shape[1]))
            return Encoded(matrix, [])
        table = as_table(X)
        self._check_width(len(table.names))
        out = np.empty((len(table), len(self.names)))
        for at, c in enumerate(self.numeric):
            out[:, at] = self._numbers(table.columns[c], c)
        self._check_finite(out[:, : len(self.numeric)], self.numeric)
        fresh = []
        for j, c in enumerate(self.nominal):
            new: dict[Hashable, int] = {}
            out[:, len(self.numeric) + j] = self._coded(table.columns[c], j, new)
            fresh.append(new)
        return Encoded(out, fresh)

    def read_row(self, x: Mapping[str, Any] | Sequence[Any]) -> Encoded:
        """Encode one row: a sequence in the order of the columns, or a mapping from their names. A thin path."""
        if isinstance(x, Mapping):
            for name in x:
                if name not in self.names:
                    raise DataError(f"unknown column {name!r}: this model's columns are {', '.join(self.names)}")
            x = [x.get(name) for name in self.names]
        else:
            self._check_width(len(x))
        if not self.nominal:
            try:
                row = np.array(x, np.float64).reshape(1, -1)
            except (TypeError, ValueError):
                row = np.array([[self._number(value, c) for c, value in enumerate(x)]])
            if np.isinf(row).any():
                self._check_finite(row, self.numeric)
            return Encoded(row, [])
        row = np.empty((1, len(self.names)))
        for at, c in enumerate(self.numeric):
            row[0, at] = self._number(x[c], c)
        self._check_finite(row[:, : len(self.numeric)], self.numeric)
        fresh = []
        for j, c in enumerate(self.nominal):
            new: dict[Hashable, int] = {}
            row[0, len(self.numeric) + j] = self._coded([x[c]], j, new)[0]
            fresh.append(new)
        return Encoded(row, fresh)

    def commit(self, encoded: Encoded, first_round: int) -> bool:
        """Take over the new values of a block whose first row is learned in `first_round`; True if there were any."""
        for codes, births, new in zip(self.codes, self.births, encoded.fresh, strict=False):
            for value, row in new.items():
                codes[value] = len(codes)
                births.append(first_round + row)
        return any(encoded.fresh)

    def hide_unknown(self, encoded: Encoded) -> np.ndarray:
        """The matrix with values the encoder does not know as missing: for prediction."""
        X = encoded.X
        for j, codes in enumerate(self.codes):
            column = X[:, len(self.numeric) + j]
            column[column >= len(codes)] = np.nan
        return X

    # -- one column

    def _coded(self, values: Any, j: int, new: dict[Hashable, int]) -> np.ndarray:
        codes = self.codes[j]
        out = np.empty(len(values))
        for row, value in enumerate(values):
            code = codes.get(value, _MISSING) if value is not None and value == value else None
            if code == _MISSING:
                if value not in new and len(codes) + len(new) < MAX_VALUES:
                    new[value] = row
                code = len(codes) + list(new).index(value) if value in new else None
            out[row] = np.nan if code is None else code
        return out

    def _numbers(self, column: np.ndarray, c: int) -> np.ndarray:
        if column.dtype != np.object_:
            return column
        return np.array([self._number(value, c, row) for row, value in enumerate(column)])

    def _number(self, value: Any, c: int, row: int = 0) -> float:
        if value is None:
            return np.nan
        try:
            return float(value)
        except (TypeError, ValueError):
            raise DataError(
                f"row {row}, column {self.names[c]!r}: {value!r} is not a number, and the column is numeric. If it is "
                f"a category, name it in categorical_features"
            ) from None

    def _check_width(self, n: int) -> None:
        if n != len(self.names):
            raise DataError(f"X has {n} features, but this model is expecting {len(self.names)} features as input")

    def _check_finite(self, matrix: np.ndarray, positions: Sequence[int] | range) -> None:
        if not np.isfinite(matrix.sum()) and np.isinf(matrix).any():  # the sum is quick; NaN is allowed
            row, at = np.argwhere(np.isinf(matrix))[0]
            raise DataError(
                f"row {row}, column {self.names[positions[at]]!r}: infinity is not a value that can be learned from; "
                f"use NaN for missing, or clip the column"
            )


def _positions(categorical: Sequence[int | str] | None, names: tuple[str, ...]) -> set[int]:
    """categorical_features (names, positions or a mask) as positions."""
    if categorical is None:
        return set()
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
        elif -len(names) <= c < len(names):
            out.add(int(c) % len(names))
        else:
            raise DataError(f"categorical_features names column {c}, but there are {len(names)} columns")
    return out


def as_table(X: Any) -> Table:
    """Any kind of two-dimensional data as a Table; columns of text and categories become nominal."""
    if isinstance(X, Table):
        return X
    if isinstance(X, np.ndarray | list | tuple):
        return _table_from_array(np.asarray(X) if not isinstance(X, np.ndarray) else X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        return _table_from_array(np.asarray(X))
    return _table_from_frame(frame)


def _table_from_array(X: np.ndarray) -> Table:
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using array.reshape(-1, 1) if "
            f"it has a single column or array.reshape(1, -1) if it is a single row"
        )
    if np.iscomplexobj(X):
        raise DataError("Complex data not supported: give real numbers")
    names = tuple(f"x{c}" for c in range(X.shape[1]))
    if X.dtype.kind in "biuf":
        return Table(names, tuple(np.asarray(X, np.float64).T))
    columns: list[np.ndarray] = []
    for c in range(X.shape[1]):
        values = X[:, c].tolist()
        if any(isinstance(v, str) for v in values):
            columns.append(np.array(values, object))
        else:
            columns.append(_floats(values, names[c]))
    return Table(names, tuple(columns))


def _floats(values: list[Any], name: str) -> np.ndarray:
    try:
        return np.array([np.nan if v is None else v for v in values], np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(values):
            if value is not None and not isinstance(value, int | float | np.number):
                raise TypeError(
                    f"row {row}, column {name!r}: {value!r}: a value's argument must be a string or a number"
                ) from None
        raise


def _table_from_frame(frame: nw.DataFrame[Any]) -> Table:
    names = tuple(str(name) for name in frame.columns)
    columns: list[np.ndarray] = []
    categories: dict[str, tuple[Any, ...]] = {}
    for name, native in zip(names, frame.columns, strict=True):
        series = frame[native]
        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            columns.append(np.array([np.nan if v is None else v for v in series.to_list()], np.float64)
                           if series.null_count() else np.asarray(series.to_numpy(), np.float64))  # fmt: skip
        elif dtype in (nw.Categorical, nw.Enum):
            categories[name] = tuple(series.cat.get_categories().to_list())
            columns.append(np.array([*series.to_list(), None], object)[:-1])
        elif dtype in (nw.String, nw.Object, nw.Unknown):
            values = series.to_list()
            if any(isinstance(v, str) for v in values) or dtype == nw.String:
                columns.append(np.array([*values, None], object)[:-1])
            else:
                columns.append(_floats(values, name))
        else:
            raise DataError(
                f"column {name!r} has type {dtype}, which is neither a number nor a category: turn it into one "
                f"(for a date, for instance, the hour or the day of the week)"
            )
    return Table(names, tuple(columns), categories)


@dataclass
class Labels:
    """Labels of any type to codes 0, 1, ..., and back. Fixed, or growing with every label that is met."""

    classes: np.ndarray  # code -> label
    fixed: bool
    _codes: dict[Hashable, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._codes = {label: code for code, label in enumerate(self.classes.tolist())}

    def read(self, y: np.ndarray) -> tuple[np.ndarray, dict[Hashable, int]]:
        """Codes of these labels, and the new labels with the row in which each appears first. Changes nothing."""
        known = self._codes
        new: dict[Hashable, int] = {}
        out = np.empty(len(y), np.int64)
        for row, label in enumerate(y.tolist()):
            code = known.get(label, -1)
            if code < 0:
                if label is None or label != label:
                    raise DataError(
                        f"row {row}: the label is missing ({label!r}); give every row a label or leave it out"
                    )
                if self.fixed:
                    shown = ", ".join(map(repr, self.classes.tolist()[:20]))
                    raise DataError(
                        f"row {row}: unknown label {label!r}. The classes were fixed by `classes`: {shown}"
                        f"{', ...' if len(self.classes) > 20 else ''}. "
                        f"Leave `classes` out on the first call to let them grow"
                    )
                new.setdefault(label, row)
                code = len(known) + list(new).index(label)
            out[row] = code
        return out, new

    def add(self, new: dict[Hashable, int]) -> None:
        for label in new:
            self._codes[label] = len(self._codes)
        if new:
            added = np.array(list(new), dtype=None if self.classes.dtype != np.object_ else object)
            self.classes = np.concatenate([self.classes, added]) if len(self.classes) else added
