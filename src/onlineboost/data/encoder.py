"""Columns to numbers.

The kernels know one thing only: a float64 matrix, numeric columns first, then nominal columns as codes 0, 1, 2, ... in
order of first appearance, NaN for missing. An :class:`Encoder` makes it from everything that
:func:`~onlineboost.data.frames.as_table` takes and from single rows. The first block settles which columns are nominal.

Reading a block (:meth:`Encoder.read`) changes nothing; :meth:`Encoder.commit` takes the new nominal values over. So a
block that turns out to be invalid leaves everything as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import as_table, is_missing

MAX_VALUES = 256
"""A nominal column keeps its first 256 values, later ones are missing: a leaf keeps a number per value and class."""


@dataclass
class Encoded:
    """A block as the kernels want it, and what it would add to the encoder."""

    X: np.ndarray
    fresh: list[dict[Hashable, int]]  # per nominal column: new value -> row of its first appearance


@dataclass
class Encoder:
    """The columns of a stream. Make one with `settle`."""

    names: tuple[str, ...]
    numeric: list[int]  # positions of the numeric columns in the input
    nominal: list[int]  # positions of the nominal ones
    codes: list[dict[Hashable, int]]  # per nominal column: value -> code
    births: list[list[int]] = field(default_factory=list)  # per nominal column and code: round of first appearance

    @classmethod
    def settle(cls, X: Any, categorical: Sequence[int | str] | None = None) -> Encoder:
        """Find names and kinds of the columns from a first block."""
        table = as_table(X)
        names = table.names
        if not names:
            raise DataError(
                f"Found array with 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required."
            )
        wanted = _positions(categorical, names)
        nominal = [c for c, column in enumerate(table.columns) if column.dtype == np.object_ or c in wanted]
        encoder = cls(
            names=names,
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

    def read(self, X: Any, *, learning: bool = True) -> Encoded:
        """Encode a block without changing the encoder.

        When learning, values not known yet get the next codes. When predicting, each of them gets the next code, as if
        it were the only one: a value is predicted alike whatever else is in the block.
        """
        if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "biuf" and not self.nominal:
            self._check_width(X.shape[1])
            if len(X) == 0:
                raise DataError(f"Found array with 0 sample(s) (shape={X.shape}) while a minimum of 1 is required")
            matrix = np.require(X, np.float64, ["C", "W"])  # a read-only array would be another type to the kernels
            self._check_finite(matrix, range(X.shape[1]))
            return Encoded(matrix, [])
        table = as_table(X)
        self._check_width(len(table.names))
        if len(table) == 0:
            raise DataError(
                f"Found array with 0 sample(s) (shape=(0, {len(self.names)})) while a minimum of 1 is required"
            )
        out = np.empty((len(table), len(self.names)))
        for at, c in enumerate(self.numeric):
            out[:, at] = self._numbers(table.columns[c], c)
        self._check_finite(out[:, : len(self.numeric)], self.numeric)
        return Encoded(out, self._code(out, lambda c: table.columns[c], learning))

    def read_row(self, x: Mapping[str, Any] | Sequence[Any], *, learning: bool = True) -> Encoded:
        """`read` one row: a sequence in the order of the columns, or a mapping from their names. A thin path."""
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
            self._check_finite(row, self.numeric)
            return Encoded(row, [])
        row = np.empty((1, len(self.names)))
        for at, c in enumerate(self.numeric):
            row[0, at] = self._number(x[c], c)
        self._check_finite(row[:, : len(self.numeric)], self.numeric)
        return Encoded(row, self._code(row, lambda c: [x[c]], learning))

    def commit(self, encoded: Encoded, first_round: int) -> bool:
        """Take over the new values of a block whose first row is learned in `first_round`; True if there were any."""
        for codes, births, new in zip(self.codes, self.births, encoded.fresh, strict=False):
            for value, row in new.items():
                codes[value] = len(codes)
                births.append(first_round + row)
        return any(encoded.fresh)

    def forget(self, last_round: int) -> bool:
        """Take back the values that were to appear after this round; True if there were any."""
        forgotten = False
        for codes, births in zip(self.codes, self.births, strict=True):
            while births and births[-1] > last_round:
                births.pop()
                codes.popitem()
                forgotten = True
        return forgotten

    def _code(self, out: np.ndarray, column: Callable[[int], Any], learning: bool) -> list[dict[Hashable, int]]:
        """Fill in the codes of the nominal columns; the new values with the rows of their first appearance."""
        fresh: list[dict[Hashable, int]] = []
        for j, c in enumerate(self.nominal):
            known = self.codes[j]
            new: dict[Hashable, int] = {}
            codes: dict[Hashable, float] = {}  # of the new values
            for row, value in enumerate(column(c)):
                if is_missing(value):
                    code = np.nan
                elif value in known:
                    code = known[value]
                elif value in codes:
                    code = codes[value]
                else:
                    code = len(known) + len(new)
                    if code >= MAX_VALUES:
                        code = np.nan
                    elif learning:
                        codes[value] = code
                        new[value] = row
                out[row, len(self.numeric) + j] = code
            fresh.append(new)
        return fresh

    # -- one column

    def _numbers(self, column: np.ndarray, c: int) -> np.ndarray:
        if column.dtype != np.object_:
            return column
        return np.array([self._number(value, c, row) for row, value in enumerate(column)])

    def _number(self, value: Any, c: int, row: int = 0) -> float:
        if is_missing(value):
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
        if np.isinf(matrix).any():
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
        elif not isinstance(c, int | np.integer):
            raise DataError(f"categorical_features takes names, positions or a mask, got {c!r}")
        elif -len(names) <= c < len(names):
            out.add(int(c) % len(names))
        else:
            raise DataError(f"categorical_features names column {c}, but there are {len(names)} columns")
    return out
