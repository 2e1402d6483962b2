"""Columns, labels and rows that wait for their labels, in model files."""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Annotated, Any

import numpy as np

from onlineboost.chain.pending import Pending, Ticket
from onlineboost.contracts.schema import i8
from onlineboost.contracts.state import require
from onlineboost.data.encoder import Encoder, Kept
from onlineboost.data.labels import Labels, object_array, values_of
from onlineboost.data.places import AT_ONCE, NOTHING, OWN, Key, empty_table, note, own_places
from onlineboost.files.fields import States
from onlineboost.storage import DamagedModelFile
from onlineboost.storage.values import Reader, Writer


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
        raise DamagedModelFile("the classes are no array")
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
    require(((codes >= 0.0) & (codes < known) & (codes == np.floor(codes)))[there].all(), WHOLE)
