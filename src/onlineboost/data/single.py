"""Single rows as they mostly come, read without a detour: a mapping or a sequence of plain values.

Whatever is not plain (a name left out, text for a number, a value not met before) is left to
:meth:`~onlineboost.data.encoder.Encoder.read_row`, which knows all rules.
"""

from __future__ import annotations

import struct
from operator import itemgetter
from typing import Any

import numpy as np

from onlineboost.data.encoder import Encoder, Kept
from onlineboost.data.errors import Remarks

NOT_PLAIN = (KeyError, TypeError, OverflowError, struct.error)


class RowReader:
    """Reads plain rows for an encoder, and never changes it."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self.names = encoder.names
        self._n = len(encoder.names)
        self._by_name = itemgetter(*encoder.names) if self._n > 1 else lambda x: (x[encoder.names[0]],)
        self._known = frozenset(encoder.names)
        self._pack = struct.Struct(f"{self._n}d").pack_into  # as array("d"), takes nothing but numbers

    def read(self, x: Any, row: np.ndarray) -> bool:
        """Write the row x, encoded, to `row` (1, columns); False: it is not plain."""
        kind = type(x)
        try:
            if kind is dict:
                values = self._by_name(x) if len(x) == self._n else self._with_gaps(x)
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
        except NOT_PLAIN:
            return False
        return True

    def read_any(self, x: Any, row: np.ndarray, *, learning: bool) -> Remarks | None:
        """The same by all rules, errors included; what there is to warn of.

        None: it is to be learned, and a value or a column might be new.
        """
        encoder = self._encoder
        if learning and (encoder.nominal or type(x) is Kept or encoder.new_columns_of_row(x)):
            return None
        encoded = self._encoder.read_row(x, learning=False)
        row[:] = encoded.X
        return encoded.remarks

    def _with_gaps(self, x: dict[Any, Any]) -> list[Any]:
        """What is left out is missing."""
        if not x or not x.keys() <= self._known:
            raise KeyError
        return [x.get(name) for name in self._encoder.names]

    def _coded(self, values: Any) -> list[float]:
        encoder, out = self._encoder, []
        if len(values) != self._n:
            raise TypeError
        for c in encoder.numeric:
            value = values[c]
            if value is None:
                value = np.nan
            elif type(value) is not float and type(value) is not int:
                raise TypeError
            out.append(value)
        for c, codes in zip(encoder.nominal, encoder.codes, strict=True):
            value = values[c]
            if value is not None and type(value) is not str:
                raise TypeError
            out.append(np.nan if value is None else codes[value])
        return out
