"""The panel ahead of a chain in model files: its arrays as bytes, whose shapes follow from a few numbers.

Kernels do not check their indices: what they go by is checked here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onlineboost.estimators.saved.fields import check
from onlineboost.panel import refits
from onlineboost.panel.dense import VALUES, WIDE
from onlineboost.panel.eager import COLUMN_BITS, LINK, MEMORY, N_LEAVES, N_NODES, N_TREES, NODES, ROWS
from onlineboost.panel.neighbours import RECENT
from onlineboost.panel.state import Panel, new_panel, packed, resized


def named_arrays(group: Any, path: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """All arrays of a named tuple and of those in it, by where they are."""
    for name, part in zip(group._fields, group, strict=True):
        if isinstance(part, tuple):
            yield from named_arrays(part, f"{path}{name}.")
        elif isinstance(part, np.ndarray):
            yield path + name, part


NUMBERS = {"seed": "int", "width": "int", "most": "int"}
PANEL = (
    NUMBERS
    | {"offset": "int"}
    | {name: f"u1[{name.replace('.', '_')}]" for name, _ in named_arrays(new_panel(1, 1, 0))}
)


def take_panel(panel: Panel) -> dict[str, Any]:
    numbers = {name: getattr(panel, name) for name in NUMBERS} | {"offset": panel.dense.offset}
    return numbers | {name: array.reshape(-1).view(np.uint8) for name, array in named_arrays(packed(panel))}


def make_panel(given: dict[str, Any]) -> Panel:
    used = given["used"]
    check(used.size == 24, "the rows of the panel")
    rows, columns, classes = map(int, used.view(np.int64))
    n_numeric, n_nominal = given["dense.origin"].size // 8, given["dense.place"].size // (4 * VALUES)
    nodes = given["eager.nodes"].size // (16 * N_TREES)
    good = rows >= 0 and 0 <= classes <= given["class_seen"].size // 8 and 1 <= nodes <= NODES
    check(good and min(n_numeric, WIDE) <= columns <= given["most"] <= WIDE + 1024, "the columns of the panel")
    check(given["scale"].size == 8 * columns, "the columns of the panel")
    sizes = {"classes": classes, "columns": columns, "memory": min(rows, MEMORY), "recent": min(rows, RECENT)}
    room = resized(new_panel(n_numeric, n_nominal, given["seed"]), {**sizes, "nodes": nodes})
    for name, array in named_arrays(room):
        check(given[name].size == array.nbytes, f"the size of {name} of the panel")
        array.reshape(-1).view(np.uint8)[:] = given[name]
    dense = room.dense._replace(offset=given["offset"])
    panel = room._replace(width=given["width"], most=given["most"], dense=dense)
    check(panel.width == n_numeric + n_nominal, "the columns of the panel")
    check_panel(panel, rows, columns, classes)
    return panel


def check_panel(panel: Panel, rows: int, columns: int, classes: int) -> None:
    for name, array in named_arrays(panel):
        check(array.dtype.kind != "f" or np.isfinite(array).all(), f"{name} of the panel is infinite or none")
    place, owner = panel.dense.place, panel.dense.owner[panel.dense.n_numbers :]
    check(((place >= 0) & (place <= columns)).all(), "the values of the panel")
    check(((owner >= 0) & (owner < max(len(place), 1))).all(), "the values of the panel")
    eager = panel.eager
    for labels in (eager.y, eager.labels, panel.neighbours.y):
        check(((labels >= 0) & (labels < max(classes, 1))).all(), "the labels of the panel")
    check(((eager.rows >= 0) & (eager.met >= 0).all() & (eager.met < 2 * ROWS).all()).all(), "the rows of a leaf")
    _check_trees(eager, columns)
    _check_refits(panel.refits, columns, len(panel.neighbours.scores))


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
