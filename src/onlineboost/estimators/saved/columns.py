"""Columns and labels in model files."""

from __future__ import annotations

from array import array
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels, object_array, values_of
from onlineboost.data.places import AT_ONCE, NOTHING, OWN, Key, empty_table, note, own_places
from onlineboost.estimators.saved.fields import States
from onlineboost.storage.errors import DamagedModelFile


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


def add_columns(states: States) -> None:
    states.add(
        "columns",
        Encoder,
        {"names": "value", "nominal": "value", "values": "value", "births": "i8[v]", "named": "bool", "opens": "value"}
        | {"once": "i8[m,2]??"},
        _take_encoder,
        _make_encoder,
    )
    states.add(
        "labels",
        Labels,
        {"names": "value", "classes": "value", "fixed": "bool"},
        lambda labels: {"names": labels.names, "classes": labels.classes, "fixed": labels.fixed},
        _make_labels,
    )
