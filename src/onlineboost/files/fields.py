"""States to model files and back, by their fields (`contracts.schema`): numbers and texts to JSON, arrays beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from onlineboost.contracts.schema import Field, schema
from onlineboost.contracts.state import check_fields, up_to_date
from onlineboost.storage import CannotSave, DamagedModelFile
from onlineboost.storage.values import Reader, Writer

MOST_STATES = 1 << 20  # in a list


class State(NamedTuple):
    """A class that models are made of."""

    name: str  # in files
    kind: type
    fields: dict[str, Field]
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

    # arguments: those of a state
    def add(
        self,
        name: str,
        kind: type,
        declared: Any = None,
        take: Callable[[Any], dict[str, Any]] | None = None,
        make: Callable[[dict[str, Any]], Any] | None = None,
        fresh: bool = False,
    ) -> None:
        """A class. Its fields are those of its schema, or of another class; or they are given."""
        given = declared if isinstance(declared, dict) else schema(declared or kind)
        fields = {field: own for field, own in given.items() if own.saved}

        def fields_of(state: Any) -> dict[str, Any]:
            return {field: getattr(state, field) for field in fields}

        entry = State(name, kind, fields, take or fields_of, make or (lambda given: kind(**given)), fresh)
        self.by_name[name] = self.by_kind[kind] = entry

    def told(self, state: State) -> dict[str, str]:
        """The fields of a state as docs/model-format.md has them."""
        names = {kind: entry.name for kind, entry in self.by_kind.items()}
        return {name: field.told(names) for name, field in state.fields.items()}

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
            raise TypeError(f"{entry.name}: the field {odd[0]!r} is not in its line of files/states.py")
        if not entry.fresh:  # the model may go on learning before all is written
            taken |= {name: value.copy() for name, value in taken.items() if isinstance(value, np.ndarray)}
        there = {name: own for name, own in entry.fields.items() if not (own.since > 1 and taken[name] is None)}
        return {entry.name: {name: self._write(writer, taken[name], own) for name, own in there.items()}}

    def _write(self, writer: Writer, value: Any, field: Field) -> Any:
        if value is None and field.optional:
            return None
        if field.many:
            return [self.write(writer, state) for state in value]
        if field.is_array:
            if field.dtype is not None and (value.dtype != field.dtype or value.ndim != len(field.axes or ())):
                raise TypeError(f"an array {value.dtype} {value.shape} is not {field.told({})}: see its schema")
            return writer.array(value)
        kind = field.kinds[0]
        if kind is Any:
            return writer.value(value)
        return kind(value) if kind in (int, float, bool) else self.write(writer, value)

    def read(self, reader: Reader, data: Any, kinds: tuple[type, ...]) -> Any:
        """The state of one of these classes that was written."""
        wanted = [self.by_kind[kind].name for kind in kinds]
        if not (isinstance(data, dict) and len(data) == 1 and next(iter(data)) in wanted):
            raise DamagedModelFile(f"where {'|'.join(wanted)} should be there is something else")
        ((name, given),) = data.items()
        entry = self.by_name[name]
        _check_names(name, given, entry.fields)
        there = [(at, f"{name}.{at}", own) for at, own in entry.fields.items() if at in given]
        known = {at: self._read(reader, given[at], own, where) for at, where, own in there}
        sizes = check_fields([(where, own, known[at]) for at, where, own in there], {})
        return entry.make({at: known[at] if at in known else own.new(sizes) for at, own in entry.fields.items()})

    def _read(self, reader: Reader, data: Any, field: Field, where: str) -> Any:
        if data is None and field.optional:
            return None
        if field.many:
            if not isinstance(data, list) or len(data) > MOST_STATES:
                raise DamagedModelFile(f"{where} is no list")
            return [self.read(reader, state, field.kinds) for state in data]
        if field.is_array:
            return up_to_date(field, reader.array(data))
        if field.kinds[0] is Any:
            return reader.value(data)
        return data if field.kinds[0] in (int, float, bool) else self.read(reader, data, field.kinds)


def _check_names(name: str, given: Any, fields: Mapping[str, Field]) -> None:
    """Files of older versions lack fields that came after them, and no others."""
    always = {field for field, own in fields.items() if own.since == 1}
    if not (isinstance(given, dict) and always <= given.keys() <= fields.keys()):
        raise DamagedModelFile(f"the fields of {name} are not those that they should be")
