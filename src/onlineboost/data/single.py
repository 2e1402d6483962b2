"""Single rows as they mostly come, read without a detour: a mapping or a sequence of plain values, all of them known.

Whatever is not plain (text for a number, a value not met before) is left to
:meth:`~onlineboost.data.encoder.Encoder.read_row`, which knows all rules.
"""

from __future__ import annotations

import struct
from operator import itemgetter
from typing import Any

import numpy as np

from onlineboost.data.encoder import Encoder, Kept
from onlineboost.data.errors import Remarks
from onlineboost.data.values import category_of

PLAIN_VALUES = frozenset({type(None), float, int, bool, np.float64, np.float32, np.int64, np.int32, np.bool_})
"""Types of values beside text that are not looked at any further."""


class RowReader:
    """Reads plain rows for an encoder, and never changes it."""

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
            out.append(np.nan if value is None else codes[value])
        return out
