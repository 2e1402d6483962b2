"""The panel ahead of a chain, and its members by themselves, in model files.

Their arrays are bytes there, whose shapes follow from a few numbers. Kernels do not check their indices: what they go
by is checked here, by itself with `panel.ranges`, and with what it refers to. Nothing is made of a size that a file
claims before its bytes are known to be there.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from onlineboost.estimators.saved.fields import check
from onlineboost.panel import ranges, refits
from onlineboost.panel.dense import VALUES, WIDE
from onlineboost.panel.eager import COLUMN_BITS, LINK, MEMORY, N_LEAVES, N_NODES, N_TREES, NODES, WRAP
from onlineboost.panel.neighbours import RECENT
from onlineboost.panel.newton import Newton
from onlineboost.panel.state import Panel, ground_of, new_ground, new_panel, packed, shapes_with


def named_arrays(group: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of a named tuple and of those in it, by where they are; those of a ground as if they were outside."""
    for name, part in zip(group._fields, group, strict=True):
        if isinstance(part, tuple):
            yield from named_arrays(part, path if name == "ground" else f"{path}{name}.")
        elif isinstance(part, np.ndarray):
            yield path + name, part


LATER = {"dense.shown", "dense.low", "dense.high", "dense.sure"}  # older files do not have these: 0 there
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
    check(given["width"] == n_numeric + n_nominal, "the columns of the panel")
    sizes = {"classes": classes, "columns": columns, "memory": min(rows, MEMORY), "recent": min(rows, RECENT)}
    names = [name for name, _ in named_arrays(fresh)]
    arrays = []
    for name, (array, shape) in zip(names, shapes_with(fresh, {**sizes, "nodes": nodes}), strict=True):
        if given[name] is None:
            arrays.append(np.zeros(shape, array.dtype))
            continue
        check(given[name].size == math.prod(shape) * array.itemsize, f"the size of {name} of the panel")
        check(array.dtype != np.bool_ or given[name].max(initial=0) <= 1, f"{name} of the panel")
        arrays.append(given[name].view(array.dtype).reshape(shape))
    state = _with_arrays(fresh, iter(arrays))
    limits = {ranges.LABEL: max(classes, 1) - 1, ranges.COLUMN: columns, ranges.NOMINAL: max(n_nominal, 1) - 1}
    limits[ranges.ROW] = WRAP if rows > WRAP else max(rows, 1) - 1
    for name, array in named_arrays(state):
        check_inside(name, array, limits)
    _check_links(state, given["most"])
    return state


def _with_arrays(group: Any, arrays: Iterator[np.ndarray]) -> Any:
    """A named tuple with these arrays in place of its own, in their order."""
    if isinstance(group, tuple):
        return type(group)(*[_with_arrays(part, arrays) for part in group])
    return next(arrays) if isinstance(group, np.ndarray) else group


def check_inside(name: str, array: np.ndarray, limits: Mapping[str, int] | None = None) -> None:
    """Whether the numbers of an array are within its range; without one, whether they are finite."""
    if not array.size or (array.dtype.kind != "f" and name not in ranges.RANGES):
        return
    most = np.finfo(np.float64).max
    low, high = ranges.RANGES.get(name, (-most, most))
    largest = (limits or {})[high] if isinstance(high, str) else high
    check(low <= array.min() and array.max() <= largest, f"{name} of the panel")  # nothing is above or below NaN


def check_newton(newton: Newton) -> None:
    """A is positive definite, by far: a step would have no end otherwise."""
    for name, array in newton._asdict().items():
        check_inside(f"newton.{name}", array)
    check(np.linalg.eigvalsh(newton.A).min() > 1e-3, "the combiner of the panel")


def _check_links(state: Any, most: int) -> None:
    """What the numbers of a panel or a member refer to is there."""
    ground = ground_of(state)
    rows, columns, dense = int(ground.used[0]), int(ground.used[1]), ground.dense
    met = min(np.count_nonzero(dense.place), most - dense.n_numbers)
    check(columns == dense.n_numbers + met, "the values of the panel")
    for name in ("linear", "curved"):
        if hasattr(state, name):
            check((np.diagonal(getattr(state, name).P) >= 0.0).all(), f"{name}.P of the panel")
    if hasattr(state, "newton"):
        check_newton(state.newton)
    if hasattr(state, "eager"):
        _check_trees(state.eager, columns)
    if hasattr(state, "refits"):
        _check_refits(state.refits, columns, len(state.neighbours.scores), rows)


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


def _check_refits(own: refits.Refits, columns: int, scores: int, rows: int) -> None:
    """Every node above the lowest level is a leaf, or goes by a column or a score that there is."""
    at = own.columns
    known = ((at >= 0) & (at < columns)) | ((at >= refits.SCORES) & (at < refits.SCORES + scores))
    known[:, refits.NODES // 2 :] = False
    check((known | (at == refits.NONE)).all(), "the nodes of a tree")
    soon = max(refits.SOONEST, RECENT // refits.PARTS)
    good = 0 <= own.plan[refits.NEXT] < refits.TREES and rows < own.plan[refits.DUE] <= rows + soon
    check(good, "the tree that is fitted next")
