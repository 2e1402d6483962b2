"""What the fields of a state may hold, in short words, and how they are written and read.

"int", "float", "bool"          a number; of a float, a finite one
"0..3"                          a whole number from 0 to 3
"f8[n,c]"                       an array of this type with two dimensions: n and c are the same wherever they stand
                                in a state, and a number stands for itself
"=n"                            a whole number that is n
"value"                         labels and settings (`storage.values`)
"olm|plain"                     a state of one of these names
"[segment]"                     a list of states
"...?"                          or nothing
"...??"                         or nothing, and then it is left out: files of older versions do not have it
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from onlineboost.storage.container import DTYPES, dtype_name
from onlineboost.storage.errors import CannotSave, DamagedModelFile
from onlineboost.storage.values import Reader, Writer

ARRAY = re.compile(r"(\w\d)\[([\w,]+)\]")
RANGE = re.compile(r"(\d+)\.\.(\d+)")
MOST_STATES = 1 << 20  # in a list


class State(NamedTuple):
    """A class that models are made of."""

    name: str  # in files
    kind: type
    fields: dict[str, str]
    take: Callable[[Any], dict[str, Any]]  # the fields of an object
    make: Callable[[dict[str, Any]], Any]  # and back
    fresh: bool  # whether `take` gives arrays that nobody else has


def kind_of(state: Any) -> type:
    """What a state is known by: a chain, by what stands at its end."""
    return type(getattr(state, "end", state))


class States:
    """All classes that models are made of, by their names in files and by themselves."""

    def __init__(self) -> None:
        self.by_name: dict[str, State] = {}
        self.by_kind: dict[type, State] = {}

    def add(
        self,
        name: str,
        kind: type,
        fields: dict[str, str],
        take: Callable[[Any], dict[str, Any]] | None = None,
        make: Callable[[dict[str, Any]], Any] | None = None,
        fresh: bool = False,
    ) -> None:
        """A class. Without `take` and `make` its fields are those of a NamedTuple, or those of its pickle."""
        tuples = hasattr(kind, "_fields")

        def fields_of(state: Any) -> dict[str, Any]:
            return dict(state._asdict() if tuples else state.__getstate__())

        def restored(given: dict[str, Any]) -> Any:
            if tuples:
                return kind(**given)
            state: Any = object.__new__(kind)
            state.__setstate__(given)
            return state

        entry = State(name, kind, fields, take or fields_of, make or restored, fresh)
        self.by_name[name] = self.by_kind[kind] = entry

    # ------------------------------------------------------------------------------------------------- writing

    def write(self, writer: Writer, state: Any) -> dict[str, Any]:
        """A state as JSON; its arrays go to the writer."""
        entry = self.by_kind.get(kind_of(state))
        if entry is None:
            raise CannotSave(
                f"a model file cannot hold a {type(state).__module__}.{type(state).__qualname__}: use pickle"
            )
        taken = entry.take(state)
        if taken.keys() != entry.fields.keys():
            odd = sorted(taken.keys() ^ entry.fields.keys())
            raise TypeError(f"{entry.name}: the field {odd[0]!r} is not in its line of estimators/saved/states.py")
        if not entry.fresh:  # the model may go on learning before all is written
            taken |= {name: value.copy() for name, value in taken.items() if isinstance(value, np.ndarray)}
        written = {name: kind for name, kind in entry.fields.items() if not (_is_new(kind) and taken[name] is None)}
        return {entry.name: {name: self._write(writer, taken[name], kind) for name, kind in written.items()}}

    def _write(self, writer: Writer, value: Any, kind: str) -> Any:
        if kind.endswith("?"):
            return None if value is None else self._write(writer, value, kind[:-1])
        if kind.startswith("["):
            return [self.write(writer, state) for state in value]
        if found := ARRAY.fullmatch(kind):
            if dtype_name(value) != found[1] or value.ndim != found[2].count(",") + 1:
                raise TypeError(f"an array {value.dtype} {value.shape} is not {kind}: see estimators/saved/states.py")
            return writer.array(value)
        if kind == "value":
            return writer.value(value)
        if kind == "float":
            return float(value)
        if kind in ("int", "bool") or kind.startswith("=") or RANGE.fullmatch(kind):
            return bool(value) if kind == "bool" else int(value)
        return self.write(writer, value)

    # ------------------------------------------------------------------------------------------------- reading

    def read(self, reader: Reader, data: Any, names: str) -> Any:
        """The state of one of these names that was written."""
        if not (isinstance(data, dict) and len(data) == 1):
            raise DamagedModelFile(f"where {names} should be there is something else")
        ((name, given),) = data.items()
        entry = self.by_name.get(name)
        if entry is None or name not in names.split("|"):
            raise DamagedModelFile(f"where {names} should be there is {name!r}")
        given = {**{name: None for name, kind in entry.fields.items() if _is_new(kind)}, **_fields_of(given)}
        if given.keys() != entry.fields.keys():
            raise DamagedModelFile(f"the fields of {name} are not those that they should be")
        sizes: dict[str, int] = {}
        fields = {
            field: self._read(reader, given[field], kind, sizes, f"{name}.{field}")
            for field, kind in entry.fields.items()
        }
        for field, kind in entry.fields.items():
            if kind.startswith("=") and sizes.get(kind[1:]) != fields[field]:
                raise DamagedModelFile(f"{name}.{field} is {fields[field]}, which does not fit its arrays")
        return entry.make(fields)

    def _read(self, reader: Reader, data: Any, kind: str, sizes: dict[str, int], where: str) -> Any:
        if kind.endswith("?"):
            return None if data is None else self._read(reader, data, kind[:-1], sizes, where)
        if kind.startswith("["):
            if not isinstance(data, list) or len(data) > MOST_STATES:
                raise DamagedModelFile(f"{where} is no list")
            return [self.read(reader, state, kind[1:-1]) for state in data]
        if found := ARRAY.fullmatch(kind):
            array = reader.array(data)
            _check_array(array, found[1], found[2].split(","), sizes, where)
            return array
        if kind == "value":
            return reader.value(data)
        if kind in ("int", "float", "bool") or kind.startswith("=") or RANGE.fullmatch(kind):
            return _checked_number(data, kind, where)
        return self.read(reader, data, kind)


def _is_new(kind: str) -> bool:
    """Whether files of older versions do not have such a field."""
    return kind.endswith("??")


def _fields_of(given: Any) -> dict[str, Any]:
    return given if isinstance(given, dict) else {"": None}  # which no state has


def check(good: Any, what: str) -> None:
    if not good:
        raise DamagedModelFile(f"{what}: this model cannot have been learned")


def check_finite(*arrays: np.ndarray | None) -> None:
    check(all(array is None or np.isfinite(array).all() for array in arrays), "a number is infinite or none")


def _check_array(array: np.ndarray, dtype: str, wanted: list[str], sizes: dict[str, int], where: str) -> None:
    """Type and shape; sizes met for the first time are noted."""
    if array.dtype != DTYPES[dtype] or array.ndim != len(wanted):
        raise DamagedModelFile(f"{where} is an array {array.dtype} of {array.ndim} dimensions")
    for size, name in zip(array.shape, wanted, strict=True):
        if size != (int(name) if name.isdecimal() else sizes.setdefault(name, size)):
            raise DamagedModelFile(f"{where} has the shape {array.shape}, which does not fit the rest")


def _checked_number(data: Any, kind: str, where: str) -> int | float | bool:
    if kind == "bool":
        good = type(data) is bool
    elif kind == "float":
        good = type(data) is float and math.isfinite(data)
    else:
        good = type(data) is int and -(1 << 63) <= data < 1 << 63
        if good and (found := RANGE.fullmatch(kind)):
            good = int(found[1]) <= data <= int(found[2])
    if not good:
        raise DamagedModelFile(f"{where} is {data!r}, where {kind} should be")
    return data  # type: ignore[no-any-return]
