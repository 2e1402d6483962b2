"""The panel ahead of a chain, and its members by themselves, in model files.

Their arrays are bytes there, whose shapes follow from a few numbers. Kernels do not check their indices: what they go
by is checked here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from onlineboost.estimators.saved.fields import check
from onlineboost.panel import refits
from onlineboost.panel.dense import VALUES, WIDE
from onlineboost.panel.eager import COLUMN_BITS, LINK, MEMORY, N_LEAVES, N_NODES, N_TREES, NODES, ROWS
from onlineboost.panel.neighbours import RECENT
from onlineboost.panel.state import Panel, ground_of, new_ground, new_panel, packed, resized


def named_arrays(group: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of a named tuple and of those in it, by where they are; those of a ground as if they were outside."""
    for name, part in zip(group._fields, group, strict=True):
        if isinstance(part, tuple):
            yield from named_arrays(part, path if name == "ground" else f"{path}{name}.")
        elif isinstance(part, np.ndarray):
            yield path + name, part


LATER = {"dense.count", "dense.low", "dense.high", "dense.sure"}  # older files do not have these: 0 there
NUMBERS = {"seed": "int", "width": "int", "most": "int", "offset": "int"}


def fields_of(state: Any) -> dict[str, str]:
    """The fields of a panel or a member in files."""
    settings = dict.fromkeys(_settings(state), "int")
    kinds = {name: f"u1[{name.replace('.', '_')}]{'??' * (name in LATER)}" for name, _ in named_arrays(state)}
    return NUMBERS | settings | kinds


def _settings(state: Any) -> list[str]:
    """Those of a member. (Its number among its neighbours is its place in their list.)"""
    known = {*NUMBERS, "number"}
    return [name for name in state._fields if name not in known and type(getattr(state, name)) is int]


PANEL = fields_of(new_panel(1, 1, 0))


def take(state: Any) -> dict[str, Any]:
    """The fields of a panel or a member."""
    ground = ground_of(state)
    numbers = {"seed": ground.seed, "width": ground.width, "most": ground.most, "offset": ground.dense.offset}
    numbers |= {name: getattr(state, name) for name in _settings(state)}
    return numbers | {name: array.reshape(-1).view(np.uint8) for name, array in named_arrays(packed(state))}


def make_panel(given: dict[str, Any]) -> Panel:
    panel: Panel = _filled(new_panel(*_columns(given), given["seed"]), given)
    return panel._replace(**_numbers(panel, given))


def make_member(new: Callable[..., Any], given: dict[str, Any]) -> Any:
    """A member that `new` makes of a ground and its settings."""
    ground = new_ground(*_columns(given), given["seed"])
    settings = {name: value for name, value in given.items() if type(value) is int and name not in NUMBERS}
    member = _filled(new(ground, **settings), given)
    return member._replace(ground=member.ground._replace(**_numbers(member.ground, given)))


def _numbers(ground: Any, given: dict[str, Any]) -> dict[str, Any]:
    return {"width": given["width"], "most": given["most"], "dense": ground.dense._replace(offset=given["offset"])}


def _columns(given: dict[str, Any]) -> tuple[int, int]:
    """Numeric and nominal columns."""
    return given["dense.origin"].size // 8, given["dense.place"].size // (4 * VALUES)


def _filled(fresh: Any, given: dict[str, Any]) -> Any:
    """With the arrays that are given, which are checked."""
    used = given["used"]
    check(used.size == 24, "the rows of the panel")
    rows, columns, classes = map(int, used.view(np.int64))
    n_numeric, n_nominal = _columns(given)
    nodes = given["eager.nodes"].size // (16 * N_TREES) if hasattr(fresh, "eager") else 1
    good = rows >= 0 and 0 <= classes <= given["class_seen"].size // 8 and 1 <= nodes <= NODES
    check(good and min(n_numeric, WIDE) <= columns <= given["most"] <= WIDE + 1024, "the columns of the panel")
    check(given["columns.centre"].size == 8 * columns, "the columns of the panel")
    check(given["width"] == n_numeric + n_nominal, "the columns of the panel")
    sizes = {"classes": classes, "columns": columns, "memory": min(rows, MEMORY), "recent": min(rows, RECENT)}
    state = resized(fresh, {**sizes, "nodes": nodes})
    for name, array in named_arrays(state):
        if given[name] is None:
            continue
        check(given[name].size == array.nbytes, f"the size of {name} of the panel")
        array.reshape(-1).view(np.uint8)[:] = given[name]
    check_state(state, columns, classes)
    return state


def check_state(state: Any, columns: int, classes: int) -> None:
    """What the kernels of a panel or a member go by."""
    for name, array in named_arrays(state):
        check(array.dtype.kind != "f" or np.isfinite(array).all(), f"{name} of the panel is infinite or none")
    dense = ground_of(state).dense
    place, owner = dense.place, dense.owner[dense.n_numbers :]
    check(((place >= 0) & (place <= columns)).all(), "the values of the panel")
    check(((owner >= 0) & (owner < max(len(place), 1))).all(), "the values of the panel")
    labels = []
    if hasattr(state, "eager"):
        eager = state.eager
        labels += [eager.y, eager.labels]
        check(((eager.rows >= 0) & (eager.met >= 0).all() & (eager.met < 2 * ROWS).all()).all(), "the rows of a leaf")
        _check_trees(eager, columns)
    if hasattr(state, "neighbours"):
        labels.append(state.neighbours.y)
    if hasattr(state, "refits"):
        _check_refits(state.refits, columns, len(state.neighbours.scores))
    for own in labels:
        check(((own >= 0) & (own < max(classes, 1))).all(), "the labels of the panel")


def _check_trees(eager: Any, columns: int) -> None:
    """Every node leads to two nodes after it, or to a leaf of the tables."""
    links = eager.nodes[:, :, LINK]
    column, first = (links & ((1 << COLUMN_BITS) - 1)) - 1, links >> COLUMN_BITS
    n_nodes, n_leaves = eager.used[:, N_NODES, None], eager.used[:, N_LEAVES, None]
    at = np.arange(links.shape[1])
    check(((n_nodes >= 1) & (n_nodes <= links.shape[1]) & (n_nodes == 2 * n_leaves - 1)).all(), "the nodes of a tree")
    inner = (first > at) & (first + 1 < n_nodes) & (column < columns)
    leaf = (first >= 0) & (first < n_leaves)
    check((np.where(column >= 0, inner, leaf) | (at >= n_nodes)).all(), "the nodes of a tree")


def _check_refits(own: refits.Refits, columns: int, scores: int) -> None:
    """Every node above the lowest level is a leaf, or goes by a column or a score that there is."""
    at = own.columns
    known = ((at >= 0) & (at < columns)) | ((at >= refits.SCORES) & (at < refits.SCORES + scores))
    known[:, refits.NODES // 2 :] = False
    check((known | (at == refits.NONE)).all(), "the nodes of a tree")
    check(0 <= own.plan[refits.NEXT] < refits.TREES and own.plan[refits.DUE] > 0, "the tree that is fitted next")
