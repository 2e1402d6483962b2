"""States to model files and back, by their fields (`contracts.schema`): numbers and texts to JSON, arrays beside it.

Then what has no schema: columns, labels, and rows that wait for their labels.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost.chain.pending import Pending, Ticket
from onlineboost.contracts.schema import Field, i8, schema
from onlineboost.contracts.state import check_fields, require, up_to_date
from onlineboost.data.encoder import Encoder, Kept
from onlineboost.data.labels import Labels, object_array, values_of
from onlineboost.data.places import AT_ONCE, NOTHING, OWN, Key, are_codes, empty_table, note, own_places
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
        """The fields of a state as storage/FORMAT.md has them."""
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
                raise DamagedModelFile(f"{where} is not a list")
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


# ------------------------------------------------------------------------------------------------- columns and labels


class _Columns:
    names: Any
    nominal: Any
    values: Any
    births: Annotated[np.ndarray, i8("values")]
    named: bool
    opens: Any
    once: Annotated[np.ndarray | None, i8("once", 2, since=2)]


class _Labels:
    names: Any
    classes: Any
    fixed: bool


def add_columns(states: States) -> None:
    states.add("columns", Encoder, _Columns, _take_encoder, _make_encoder)
    states.add("labels", Labels, _Labels, make=_make_labels)


def _take_encoder(encoder: Encoder) -> dict[str, Any]:
    births = [rounds for column in encoder.births for rounds in column]
    once = _hashes(encoder.once)
    return {
        "names": list(encoder.names),
        "nominal": list(encoder.nominal),
        "values": [list(codes) for codes in encoder.codes],
        "births": np.array(births, np.int64),
        "once": np.array(once, np.int64) if once else None,
        "named": encoder.named,
        "opens": encoder.opens,
    }


def _make_encoder(given: dict[str, Any]) -> Encoder:
    names, nominal, values = given["names"], given["nominal"], given["values"]
    if not (isinstance(nominal, list) and isinstance(values, list) and all(isinstance(v, list) for v in values)):
        raise DamagedModelFile("the columns are not as they should be")
    ends = [0, *accumulate(map(len, values))]
    if ends[-1] != len(given["births"]):
        raise DamagedModelFile(f"there are {ends[-1]} nominal values, and rounds for {len(given['births'])}")
    nominal_set = set(nominal)
    codes: list[dict[Key, int]] = [{value: code for code, value in enumerate(column)} for column in values]
    return Encoder(
        names=tuple(names),
        numeric=[c for c in range(len(names)) if c not in nominal_set],
        nominal=nominal,
        codes=codes,
        births=[given["births"][a:b].tolist() for a, b in pairwise(ends)],
        once=_make_once(given["once"], codes),
        named=given["named"],
        opens=given["opens"],
    )


def _make_once(given: np.ndarray | None, codes: list[dict[Key, int]]) -> list[array[int]]:
    """The tables of values met once, from the columns and hashes of these, each in the order of its table.

    There is one once a column has AT_ONCE values.
    """
    tables = [NOTHING for _ in codes]
    if given is None:
        return tables
    column, hashed = given.T
    good = (column >= 0) & (column < len(codes)) & (hashed > 0) & (hashed < 1 << 32)
    fit = [AT_ONCE <= own_places(own) < OWN for own in codes]
    if len(given) and good.all() and (np.diff(column) >= 0).all() and all(fit[j] for j in set(column.tolist())):
        for j, one in given[::-1].tolist():  # the oldest of a group first
            tables[j] = tables[j] or empty_table()
            note(tables[j], one)
    if not len(given) or _hashes(tables) != given.tolist() or len(np.unique(given, axis=0)) < len(given):
        raise DamagedModelFile("the values met once are not as they should be")
    return tables


def _hashes(tables: list[array[int]]) -> list[list[int]]:
    return [[j, hashed] for j, table in enumerate(tables) for hashed in table if hashed]


def _make_labels(given: dict[str, Any]) -> Labels:
    """Labels as they were met: an array of them may hold 1.0 for the label 1."""
    classes, names = given["classes"], given["names"]
    if not (isinstance(classes, np.ndarray) and classes.ndim == 1):
        raise DamagedModelFile("the classes are not an array")
    if not (isinstance(names, list) and len(names) == len(classes) == len(set(names)) and names == values_of(classes)):
        raise DamagedModelFile("the labels are not those of the classes")
    fresh = Labels(np.empty(0), given["fixed"])
    fresh.add(names)
    fresh.classes = object_array(names) if classes.dtype == object else classes
    return fresh


# ------------------------------------------------------------------------------------ rows that wait for their labels:
# their numbers in one array, and the rest as values

FIELDS = ("most", "given", "dropped", "lost", "tickets", "widths", "numeric", "texts", "values", "others")
NUMBERS, LISTS = FIELDS[:3], FIELDS[3:8]
WHOLE = "the rows that wait for labels"


def write_pending(writer: Writer, pending: Pending | None) -> dict[str, Any] | None:
    if pending is None:
        return None
    kept = {ticket: row for ticket, row in pending.rows.items() if isinstance(row, Kept)}
    rows = list(kept.values())
    return {
        "most": pending.most,
        "given": pending.given,
        "dropped": pending.dropped,
        "lost": [writer.value(ticket) for ticket in pending.lost],
        "tickets": [writer.value(ticket) for ticket in kept],
        "widths": [len(row.values) for row in rows],
        "numeric": [row.n_numeric for row in rows],
        "texts": [writer.value(row.texts) for row in rows],
        "values": writer.array(np.concatenate([np.empty(0), *(row.values for row in rows)])),
        "others": [
            [writer.value(ticket), writer.value(row), place]
            for place, (ticket, row) in enumerate(pending.rows.items())
            if ticket not in kept
        ],
    }


def read_pending(reader: Reader, given: Any, encoder: Encoder | None) -> Pending | None:
    """What was written. A row that is not as the model's own rows are would be read where there is nothing."""
    if given is None:
        return None
    require(isinstance(given, dict) and given.keys() == set(FIELDS), WHOLE)
    require(all(type(given[name]) is int and given[name] >= 0 for name in NUMBERS), WHOLE)
    require(all(isinstance(given[name], list) for name in (*LISTS, "others")), WHOLE)
    require(all(len(given[name]) == len(given["tickets"]) for name in ("widths", "numeric", "texts")), WHOLE)
    require(all(type(n) is int and n >= 0 for name in ("widths", "numeric") for n in given[name]), WHOLE)
    values = reader.array(given["values"])
    ends = [0, *accumulate(given["widths"])]
    require(values.dtype == np.float64 and values.shape == (ends[-1],), WHOLE)
    rows: list[tuple[Ticket, Any]] = []
    for ticket, (a, b), n_numeric, texts in zip(
        given["tickets"], pairwise(ends), given["numeric"], given["texts"], strict=True
    ):
        row = Kept(values[a:b].copy(), n_numeric, reader.value(texts))
        _check_kept(row, encoder)
        rows.append((_ticket(reader, ticket), row))
    for ticket, other, *place in given["others"]:
        row = reader.value(other)
        at = place[0] if place else len(rows)
        require(isinstance(row, dict | list) and type(at) is int and 0 <= at <= len(rows), WHOLE)
        rows.insert(at, (_ticket(reader, ticket), row))
    if any(len(other) == 2 for other in given["others"]):  # in files from before there were ids: tickets are numbers
        rows.sort(key=itemgetter(0))
    pending = Pending(given["most"], given["given"])
    pending.dropped = given["dropped"]
    pending.lost = dict.fromkeys(_ticket(reader, ticket) for ticket in given["lost"])
    pending.rows = dict(rows)
    require(len(pending.rows) == len(rows), WHOLE)
    return pending


def _ticket(reader: Reader, given: Any) -> Ticket:
    ticket: Ticket = reader.value(given)
    require(type(ticket) is str or type(ticket) is int, WHOLE)
    return ticket


def _check_kept(row: Kept, encoder: Encoder | None) -> None:
    require(encoder is not None, WHOLE)
    assert encoder is not None
    numbers, codes = row.values[: row.n_numeric], row.values[row.n_numeric :]
    require(len(numbers) == row.n_numeric <= len(encoder.numeric) and len(codes) <= len(encoder.nominal), WHOLE)
    require(not np.isinf(numbers).any(), WHOLE)
    texts = row.texts
    require(isinstance(texts, dict) and all(type(j) is int and 0 <= j < len(codes) for j in texts), WHOLE)
    require(all(type(text) is str for text in texts.values()), WHOLE)
    known = np.array([size + (j in texts) for j, size in enumerate(encoder.sizes[: len(codes)])], np.float64)
    there = ~np.isnan(codes)
    require(are_codes(codes[there], known[there]), WHOLE)
