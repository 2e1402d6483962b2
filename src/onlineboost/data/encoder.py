"""Columns to numbers.

The kernels know one thing only: a float64 matrix, numeric columns first, then nominal columns as codes 0, 1, 2, ... in
order of first appearance, NaN for missing. An :class:`Encoder` makes it from everything that
:func:`~onlineboost.data.frames.as_table` takes and from single rows. The first block settles which columns are nominal.

Reading a block (:meth:`Encoder.read`) changes nothing; :meth:`Encoder.commit` takes the new nominal values over. So a
block that turns out to be invalid leaves everything as it was.
"""

from __future__ import annotations

import struct
import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.columns import (
    NewColumn,
    check_finite,
    columns_by_name,
    digits_told,
    first_columns,
    names_told,
    new_columns,
    new_columns_of_row,
    no_known_column,
    not_a_column,
    positions,
)
from onlineboost.data.errors import DataError, Remarks
from onlineboost.data.frames import as_table, checked_number, named_row, numbers_of_values, rounded_names, row_in_order
from onlineboost.data.places import NOTHING, OWN, Column, Key, Met, is_final, known_code, values_told
from onlineboost.data.table import Table
from onlineboost.data.values import category_of, interned, is_missing, rounded_columns

PLAIN_VALUES = frozenset({type(None), float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
"""Types of single values beside text that are not looked at any further."""


@dataclass
class Encoded:
    """A block as the kernels want it, and what it would add to the encoder."""

    X: np.ndarray
    fresh: list[dict[Key, int]]  # per nominal column: new value -> row of its first appearance
    met: list[Met | None] = field(default_factory=list)  # and what is to be remembered of values met once
    remarks: Remarks = field(default_factory=dict)  # what there is to warn of


class Kept(NamedTuple):
    """A row that is kept to be learned later."""

    values: np.ndarray  # float64 (columns,) as encoded when it came,
    n_numeric: int  # with this many numeric columns at that time,
    texts: dict[int, str]  # but for these nominal columns, whose values may have another code when it is learned


@dataclass
class Encoder:
    """The columns of a stream. Make one with `settle`."""

    names: tuple[str, ...]
    numeric: list[int]  # positions of the numeric columns in the input
    nominal: list[int]  # positions of the nominal ones
    codes: list[dict[Key, int]]  # per nominal column: value -> code
    births: list[list[int]] = field(default_factory=list)  # per nominal column and code: round of first appearance
    once: list[array[int]] = field(default_factory=list)  # per nominal column: hashes of values met once
    named: bool = True  # whether the names were given; otherwise the order of the columns is what is known of them
    opens: str = "fixed"  # where new columns may turn up: a word of `open_columns.COLUMNS`
    _known: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self.once = self.once or [NOTHING for _ in self.codes]
        self._known = frozenset(self.names)

    def __getstate__(self) -> dict[str, Any]:
        """Without the set: its order, and so its pickle, is another one in every process.

        Tables as bytes: whether two columns have one in common, which they may, must not show.
        """
        state = {name: value for name, value in self.__dict__.items() if name != "_known"}
        return interned(state | {"once": [table.tobytes() for table in self.once]})  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, [array("I", table) for table in value] if name == "once" else value)
        self._known = frozenset(self.names)

    @classmethod
    def settle(cls, X: Any, categorical: Sequence[int | str] | None = None, opens: str = "fixed") -> Encoder:
        """Find names and kinds of the columns from a first block."""
        table = as_table(X) if opens != "open" else first_columns(as_table(X))
        names = table.names
        if not names:
            raise DataError(
                f"Found array with 0 feature(s) (shape=({len(table)}, 0)) while a minimum of 1 is required."
            )
        wanted = positions(categorical, names)
        nominal = [c for c, column in enumerate(table.columns) if column.dtype == np.object_ or c in wanted]
        encoder = cls(
            names=names,
            numeric=[c for c in range(len(names)) if c not in set(nominal)],
            nominal=nominal,
            codes=[{} for _ in nominal],
            births=[[] for _ in nominal],
            named=table.named,
            opens=opens,
        )
        for j, c in enumerate(nominal):
            values = dict.fromkeys(map(category_of, table.categories.get(names[c], ())))
            known = list(filter(None, values))
            if len(known) <= OWN:  # of more than that, those that come often are to be found
                encoder.codes[j] = {value: code for code, value in enumerate(known)}
            encoder.births[j] = [-1] * len(encoder.codes[j])
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
        plain = isinstance(X, np.ndarray) and not isinstance(X, np.ma.MaskedArray)
        if plain and X.ndim == 2 and X.dtype.kind in "biuf" and not self.nominal:
            self._check_width(X.shape[1])
            matrix = np.require(X, np.float64, ["C", "W"])  # a read-only array would be another type to the kernels
            check_finite(matrix, self.names, self.numeric)
            return Encoded(matrix, [], remarks=digits_told(rounded_names(self.names, matrix, X)) if learning else {})
        table = as_table(X)
        if not table.names and not table.named:  # an empty list of rows
            return Encoded(np.empty((0, len(self.names))), [{} for _ in self.nominal])
        columns = self._columns(table)
        out = np.empty((len(table), len(self.names)))
        for at, c in enumerate(self.numeric):
            column = columns[c]
            out[:, at] = column if column.dtype != np.object_ else numbers_of_values(column.tolist(), self.names[c])
        check_finite(out[:, : len(self.numeric)], self.names, self.numeric)
        encoded = self._code(out, lambda c: columns[c].tolist(), learning, {})
        if table.named and self.named:
            encoded.remarks |= names_told(table.names, self.names, learning)
        encoded.remarks |= digits_told(table.rounded) if learning else {}
        return encoded

    def read_row(self, x: Mapping[str, Any] | Sequence[Any], *, learning: bool = True) -> Encoded:
        """`read` one row: a sequence in the order of the columns, or a mapping from their names."""
        remarks: Remarks = {}
        values = x if type(x) is list else self._values(x, learning, remarks)
        self._check_width(len(values))
        n = len(self.numeric)
        row = np.empty((1, len(self.names)))
        numbers = [values[c] for c in self.numeric]
        try:
            if not PLAIN_VALUES.issuperset(map(type, numbers)):
                raise TypeError
            row[0, :n] = array("d", numbers)  # takes nothing but numbers
        except (TypeError, OverflowError):
            row[0, :n] = [checked_number(values[c], 0, self.names[c]) for c in self.numeric]
        check_finite(row[:, :n], self.names, self.numeric)
        if learning:
            rounded = rounded_columns(row[:, :n], lambda at: [values[self.numeric[at]]])
            remarks |= digits_told(self.names[self.numeric[at]] for at in rounded)
        return self._code(row, lambda c: (values[c],), learning, remarks)

    def keep(self, x: Mapping[str, Any] | Sequence[Any]) -> Kept:
        """Encode a row without new columns, to be learned later. Codes never change: those it has will be good then.

        But a value without a place of its own may have got one by then.
        """
        row = self.read_row(x, learning=False).X[0]
        known = enumerate(zip(self.codes, self.texts(x), row[len(self.numeric) :], strict=True))
        texts = {j: text for j, (codes, text, code) in known if text and not is_final(codes, text, code)}
        return Kept(row, len(self.numeric), texts)

    def texts(self, x: Mapping[str, Any] | Sequence[Any]) -> list[str | None]:
        """What a row that can be read has in the nominal columns."""
        values = self._values(x, False, {}) if self.nominal else ()
        return [category_of(values[c]) for c in self.nominal]

    def recall(self, kept: Kept, row: np.ndarray) -> bool:
        """Write a row that was kept to `row` (1, columns); False: some of its values may still be unknown."""
        n = kept.n_numeric
        if len(kept.values) == len(self.names):
            row[0] = kept.values
        else:  # columns have come since
            row[:] = np.nan
            row[0, :n] = kept.values[:n]
            row[0, len(self.numeric) :][: len(kept.values) - n] = kept.values[n:]
        return not kept.texts

    def read_kept(self, kept: Kept) -> Encoded:
        """`read_row` of a row that was kept."""
        row = np.empty((1, len(self.names)))
        self.recall(kept, row)
        encoded = Encoded(row, [{} for _ in self.nominal], [None for _ in self.nominal])
        for j, text in kept.texts.items():
            column = Column(self.codes[j], self.once[j])
            row[0, len(self.numeric) + j], _ = column.code(text, 0)
            encoded.fresh[j], encoded.met[j] = column.fresh, column.met
            encoded.remarks |= values_told(self.names[self.nominal[j]], self.codes[j], column.fresh)
        return encoded

    def commit(self, encoded: Encoded, first_round: int) -> bool:
        """Take over the new values of a block whose first row is learned in `first_round`; True if there were any."""
        for codes, births, new in zip(self.codes, self.births, encoded.fresh, strict=False):
            for value, row in new.items():
                codes[value] = len(codes)
                births.append(first_round + row)
        self._remember(encoded, len(encoded.X))
        return any(encoded.fresh)

    def forget(self, encoded: Encoded, first_round: int, last_round: int) -> bool:
        """Take back what a block that was committed was to add after this round; True if there were any new values."""
        forgotten = False
        for codes, births in zip(self.codes, self.births, strict=True):
            while births and births[-1] > last_round:
                births.pop()
                codes.popitem()
                forgotten = True
        self._remember(encoded, last_round - first_round)
        return forgotten

    def _remember(self, encoded: Encoded, last_row: int) -> None:
        """The values met once, up to this row of a block."""
        for j, met in enumerate(encoded.met):
            if met is not None:
                self.once[j] = met.after(last_row, self.codes[j])

    def _code(self, out: np.ndarray, values: Callable[[int], Iterable[Any]], learning: bool, told: Remarks) -> Encoded:
        """Fill in the codes of the nominal columns."""
        encoded = Encoded(out, [], remarks=told)
        for j, c in enumerate(self.nominal):
            column = Column(self.codes[j], self.once[j])
            met: dict[Any, float] = {}  # codes of values as they came: "1", 1 and 1.0 are one category
            codes: list[float] = []
            for row, value in enumerate(values(c)):
                try:
                    code = met.get(value)
                    if code is None:
                        text = category_of(value)
                        code, final = (np.nan, True) if text is None else column.code(text, row if learning else None)
                        if final or not learning:
                            met[value] = code
                except (TypeError, ValueError) as error:
                    what = error if isinstance(error, ValueError) else "is not a category: give text or a number"
                    raise DataError(f"row {row}, column {self.names[c]!r}: {value!r} {what}") from None
                codes.append(code)
            out[:, len(self.numeric) + j] = codes
            encoded.fresh.append(column.fresh)
            encoded.met.append(column.met)
            encoded.remarks |= values_told(self.names[c], self.codes[j], column.fresh)
        return encoded

    # -- new columns

    def new_columns(self, X: Any) -> list[NewColumn]:
        """The columns of a block that are to be added before it can be read."""
        takes = self.opens == "open" and self.named and isinstance(X, Table) and X.named
        return new_columns(X, self._known) if takes else []

    def new_columns_of_row(self, x: Any) -> list[NewColumn]:
        """Those of a single row."""
        by_name = None if self.opens == "fixed" or not self.named else named_row(x)
        return [] if by_name is None or by_name.keys() <= self._known else new_columns_of_row(by_name, self._known)

    def grown(self, columns: Sequence[NewColumn]) -> Encoder:
        """A copy with these columns, too."""
        copy = deepcopy(self)
        copy.add_columns(columns)
        return copy

    def add_columns(self, columns: Sequence[NewColumn]) -> None:
        """These columns come after those that are known."""
        for column in columns:
            (self.nominal if column.nominal else self.numeric).append(len(self.names))
            self.names = (*self.names, sys.intern(column.name))
            if column.nominal:
                self.codes.append({})
                self.births.append([])
                self.once.append(NOTHING)
        self._known = frozenset(self.names)

    # -- names and numbers

    def _columns(self, table: Table) -> tuple[np.ndarray, ...]:
        """The columns in the order of the first block: by name where both have names, otherwise by position."""
        if table.names == self.names:
            return table.columns
        if table.named and (self.named or self._known == set(table.names)):
            return columns_by_name(table, self.names, gaps=self.named and self.opens == "open")
        self._check_width(len(table.names))
        return table.columns

    def _values(self, x: Any, learning: bool, remarks: Remarks) -> Sequence[Any]:
        """The values of a row in the order of the columns; by name if it has names, and what is left out is None."""
        by_name = None if isinstance(x, np.ndarray) else named_row(x)
        if by_name is None:
            return row_in_order(x)
        if not by_name or not by_name.keys() <= self._known:
            given = {str(name): value for name, value in by_name.items()}
            unknown = sorted(given.keys() - self._known)
            nameless = not (self.named and isinstance(x, Mapping)) and all(isinstance(name, int) for name in by_name)
            if unknown and nameless:  # a Series without names
                return list(by_name.values())
            if unknown and (self.opens == "fixed" or not self.named):
                raise not_a_column(unknown, self.names)
            if not given and self.opens == "fixed":
                raise DataError(no_known_column(given, self.names))
            by_name = given
            there = {name for name in given if name in self._known or not is_missing(given[name])}
            remarks |= names_told(there, self.names, learning, row=True)
        return [by_name.get(name) for name in self.names]

    def _check_width(self, n: int) -> None:
        if n != len(self.names):
            raise DataError(f"X has {n} features, but this model is expecting {len(self.names)} features as input")


class RowReader:
    """Reads single rows without a detour: mappings and sequences of plain values, all known. Changes nothing.

    Whatever is not plain (text for a number, a value not met before) is left to `Encoder.read_row`, with all its rules.
    """

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.names = encoder.names
        self._n = len(encoder.names)
        self._by_name = itemgetter(*encoder.names) if self._n > 1 else lambda x: (x[encoder.names[0]],)
        self._known = frozenset(encoder.names)
        self._pack = struct.Struct(f"{self._n}d").pack_into  # takes nothing but numbers

    def read(self, x: Any, row: np.ndarray) -> bool:
        """Write the row x, encoded, to `row` (1, columns); False: it is not plain."""
        kind = type(x)
        try:
            if kind is dict:
                if len(x) == self._n:
                    values = self._by_name(x)
                elif x and x.keys() <= self._known:
                    values = [x.get(name) for name in self.names]  # what is left out is missing
                else:
                    return False
            elif kind is list or kind is tuple:
                values = x
            elif kind is np.ndarray:
                values = x.tolist()
            elif kind is Kept:
                return self._encoder.recall(x, row)
            else:
                return False
            if self._encoder.nominal:
                values = self._coded(values)
            elif None in values:
                values = [np.nan if value is None else value for value in values]
            self._pack(row, 0, *values)  # type: ignore[arg-type]
        except (KeyError, TypeError, OverflowError, struct.error):
            return False
        return True

    def read_any(self, x: Any, row: np.ndarray, *, learning: bool) -> Remarks | None:
        """The same by all rules, errors included; what there is to warn of.

        None: it is to be learned, and a value or a column might be new.
        """
        encoder = self._encoder
        if learning and (encoder.nominal or type(x) is Kept or encoder.new_columns_of_row(x)):
            return None
        encoded = encoder.read_row(x, learning=False)
        row[:] = encoded.X
        return encoded.remarks

    def _coded(self, values: Any) -> list[float]:
        encoder, out = self._encoder, []
        if len(values) != self._n:
            raise TypeError
        for c in encoder.numeric:
            value = values[c]
            if type(value) not in PLAIN_VALUES:
                raise TypeError
            out.append(np.nan if value is None else value)
        for c, codes in zip(encoder.nominal, encoder.codes, strict=True):
            value = values[c]
            if type(value) is not str:
                if type(value) not in PLAIN_VALUES:
                    raise TypeError
                value = category_of(value)
            out.append(np.nan if value is None else known_code(codes, value))
        return out
