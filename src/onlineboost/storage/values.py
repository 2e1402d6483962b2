"""Labels and settings as JSON: every value of the types below, and back, exactly.

Text, whole numbers, finite floats, truth values, None and lists are JSON as it is. All else is an object with one name,
which is its type: {"tuple": [1, 2]}. Nothing is imported or called by a name that a file gives.
"""

from __future__ import annotations

import base64
import json
import math
import re
import sys
from collections.abc import Callable, Sequence
from datetime import date, datetime, time, timedelta, timezone, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Any
from uuid import UUID
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np

from onlineboost.storage import CannotSave, DamagedModelFile, ModelFileError
from onlineboost.storage.container import DTYPES

LARGEST = 1 << 63  # whole numbers below are written as they are
NUMPY = re.compile(r"[<|](b1|[iu][1248]|f[248]|c8|c16|[SU][1-9]\d{0,8}|[mM]8(\[\d{0,9}[a-zA-Z]{1,2}\])?)")
CLOCK = ("year", "month", "day", "hour", "minute", "second", "microsecond", "fold")
KNOWN = (
    "text, numbers, truth values, None, bytes, Decimal, Fraction, dates and times, UUID, tuples, frozensets, and what "
    "NumPy has of these"
)
More = Callable[[Any], Any]


class Writer:
    """Values to JSON, and arrays to a list that goes with it. `more` may write what is not known here, or raise."""

    def __init__(self, more: More | None = None) -> None:
        self.arrays: list[np.ndarray] = []
        self._more = more

    def array(self, array: np.ndarray) -> int:
        """The number that an array is known by."""
        self.arrays.append(array)
        return len(self.arrays) - 1

    def value(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind in (str, bool):
            return value
        if kind is int:
            return value if -LARGEST <= value < LARGEST else {"int": hex(value)}
        if kind is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if kind is list:
            return [self.value(item) for item in value]
        if kind is tuple:
            return {"tuple": [self.value(item) for item in value]}
        if kind is frozenset:  # in an order of its own, which is another one in every process
            return {"frozenset": sorted((self.value(item) for item in value), key=json.dumps)}
        if kind is dict:
            return {"dict": [[self.value(key), self.value(item)] for key, item in value.items()]}
        if kind in SIMPLE:
            name, write, _ = SIMPLE[kind]
            return {name: write(value)}
        if kind is np.ndarray:
            return self._ndarray(value)
        if isinstance(value, np.generic) and NUMPY.fullmatch(value.dtype.str) and kind is value.dtype.type:
            return {"numpy": [value.dtype.str, _base64(np.asarray(value).tobytes())]}
        if kind is np.random.RandomState:
            _, keys, *rest = value.get_state(legacy=True)  # type: ignore[misc]
            return {"random_state": [self.array(keys.astype(np.int64)), *rest]}
        if kind.__module__.partition(".")[0] == "pandas" and kind.__name__ == "Timestamp":
            return {"timestamp": [value.to_numpy().view("i8").item(), value.unit, _zone(value.tzinfo)]}
        if self._more is not None:
            return self._more(value)
        raise unknown(value)

    def _ndarray(self, array: np.ndarray) -> Any:
        if array.dtype == object:
            return {"objects": [list(array.shape), [self.value(item) for item in array.ravel().tolist()]]}
        array = np.ascontiguousarray(array).reshape(array.shape)
        if array.dtype in DTYPES.values() and array.dtype.isnative:
            return {"array": self.array(array)}
        array = array.astype(array.dtype.newbyteorder("<"))
        if not NUMPY.fullmatch(array.dtype.str):
            raise CannotSave(f"an array of type {array.dtype} cannot be saved")
        data = np.frombuffer(array.tobytes(), np.uint8)
        return {"ndarray": [array.dtype.str, list(array.shape), self.array(data)]}


class Reader:
    """JSON and arrays to values. `more` reads objects of names that are not known here. Every array is taken once."""

    def __init__(self, arrays: Sequence[np.ndarray], more: dict[str, More] | None = None) -> None:
        self._arrays: list[np.ndarray | None] = list(arrays)
        self._more = more or {}

    def array(self, number: Any) -> np.ndarray:
        if type(number) is not int or not 0 <= number < len(self._arrays):
            raise DamagedModelFile(f"there is no array {number!r}")
        array, self._arrays[number] = self._arrays[number], None
        if array is None:
            raise DamagedModelFile(f"array {number} is there twice")
        return array

    def check_all_taken(self) -> None:
        left = [number for number, array in enumerate(self._arrays) if array is not None]
        if left:
            raise DamagedModelFile(f"array {left[0]} belongs to nothing")

    def value(self, data: Any) -> Any:
        if isinstance(data, list):
            return [self.value(item) for item in data]
        if not isinstance(data, dict):
            return data
        if len(data) != 1:
            raise DamagedModelFile(f"a value has {len(data)} types")
        ((name, given),) = data.items()
        known = self._more.get(name) or BY_NAME.get(name)
        return self._of_parts(name, given) if known is None else known(given)

    def _of_parts(self, name: str, given: Any) -> Any:
        """A value that is made of other values, or of an array."""
        match name:
            case "tuple":
                return tuple(map(self.value, given))
            case "frozenset":
                return frozenset(map(self.value, given))
            case "dict":
                return {self.value(key): self.value(item) for key, item in given}
            case "array":
                return self.array(given)
            case "ndarray":
                dtype, shape, number = given
                return _numpy_bytes(self.array(number).tobytes(), dtype).reshape(shape).copy()
            case "objects":
                shape, items = given
                return np.fromiter(map(self.value, items), object, len(items)).reshape(shape)
            case "random_state":
                number, *rest = given
                state = np.random.RandomState(0)
                state.set_state(("MT19937", self.array(number).astype(np.uint32), *rest))
                return state
        raise DamagedModelFile(f"there is no type {name!r}")


def unknown(value: Any) -> CannotSave:
    kind = type(value)
    text = repr(value)
    return CannotSave(
        f"{text if len(text) <= 80 else f'{text[:76]}...'} is of type {kind.__module__}.{kind.__qualname__}, which a "
        f"model file cannot hold. It holds {KNOWN}. Turn it into one of these, or use pickle"
    )


def _numpy_bytes(data: bytes, name: Any) -> np.ndarray:
    if not (isinstance(name, str) and NUMPY.fullmatch(name)):
        raise DamagedModelFile(f"there is no type {name!r}")
    array = np.frombuffer(data, np.dtype(name))
    if array.dtype.kind == "b" and array.view(np.uint8).max(initial=0) > 1:
        raise DamagedModelFile("a truth value is neither true nor false")
    if array.dtype.kind == "U" and np.frombuffer(data, np.uint32).max(initial=0) > sys.maxunicode:
        raise DamagedModelFile("a text has an invalid character")
    return array


# ------------------------------------------------------------------------------------------------- dates and others


def _zone(zone: tzinfo | None) -> Any:
    if zone is None:
        return None
    if type(zone) is timezone:
        offset, name = zone.utcoffset(None), zone.tzname(None)
        return [offset.days, offset.seconds, offset.microseconds, name]
    if type(zone) is ZoneInfo and zone.key:
        return zone.key
    raise CannotSave(f"the time zone {zone!r} cannot be saved: use datetime.timezone or zoneinfo.ZoneInfo")


def _zone_of(given: Any) -> tzinfo | None:
    if given is None:
        return None
    if isinstance(given, str):
        try:
            return ZoneInfo(given)
        except ZoneInfoNotFoundError:
            raise ModelFileError(f"this machine does not know the time zone {given!r}: install tzdata") from None
    *offset, name = given
    zone = timezone(timedelta(*offset))
    return zone if zone.tzname(None) == name else timezone(timedelta(*offset), name)


def _write_clock(value: datetime | time) -> list[Any]:
    return [*(getattr(value, part) for part in CLOCK if hasattr(value, part)), _zone(value.tzinfo)]


def _read_clock(kind: Any, given: list[Any]) -> Any:
    *parts, fold, zone = given
    return kind(*parts).replace(fold=fold, tzinfo=_zone_of(zone))


def _read_timestamp(given: list[Any]) -> Any:
    try:
        from pandas import Timestamp
    except ImportError:
        raise ModelFileError("a label is a Timestamp of pandas: install pandas to load this model") from None
    number, unit, zone = given
    if unit not in ("s", "ms", "us", "ns"):
        raise DamagedModelFile(f"there is no unit {unit!r}")
    stamp = Timestamp(np.datetime64(number, unit))
    return stamp if zone is None else stamp.tz_localize("UTC").tz_convert(_zone_of(zone))


def _read_float(given: str) -> float:
    if given not in ("nan", "inf", "-inf"):
        raise DamagedModelFile(f"{given!r} is not a number")
    return float(given)


def _read_numpy(given: list[Any]) -> Any:
    dtype, data = given
    (item,) = _numpy_bytes(_from_base64(data), dtype)
    return item


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _from_base64(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _from_hex(text: str) -> int:
    return int(text, 16)


SIMPLE: dict[type, tuple[str, More, More]] = {  # the name of a type in files, to JSON, and back
    bytes: ("bytes", _base64, _from_base64),
    complex: ("complex", lambda v: [v.real.hex(), v.imag.hex()], lambda d: complex(*map(float.fromhex, d))),
    Decimal: ("decimal", str, Decimal),
    Fraction: ("fraction", lambda v: list(map(hex, v.as_integer_ratio())), lambda d: Fraction(*map(_from_hex, d))),
    date: ("date", date.isoformat, date.fromisoformat),
    time: ("time", _write_clock, partial(_read_clock, time)),
    datetime: ("datetime", _write_clock, partial(_read_clock, datetime)),
    timedelta: ("timedelta", lambda v: [v.days, v.seconds, v.microseconds], lambda d: timedelta(*d)),
    UUID: ("uuid", lambda v: v.hex, UUID),
}
BY_NAME: dict[str, More] = {name: read for name, _, read in SIMPLE.values()} | {
    "int": _from_hex,
    "float": _read_float,
    "numpy": _read_numpy,
    "timestamp": _read_timestamp,
}
