"""The state of the panel, and room in its arrays.

Arrays grow along axes that have names (`AXES`). What is added is 0, and means: nothing learned yet. How much room there
is makes no difference to what is learned; copies and pickles have none to spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from onlineboost.panel.dense import WIDE, Dense, new_dense
from onlineboost.panel.eager import MEMORY, N_NODES, NODES, Eager, new_eager
from onlineboost.panel.least_squares import N_COSINES, LeastSquares, new_least_squares
from onlineboost.panel.metric import Metric, new_metric
from onlineboost.panel.neighbours import RECENT, Neighbours, new_neighbours
from onlineboost.panel.newton import Newton, new_newton
from onlineboost.panel.refits import Refits, new_refits

MOST_COLUMNS = 150  # dense columns
FEWEST_NOMINAL = 22  # of them for nominal values, whatever the number of numeric columns
FOLD = 32  # classes whose scores are columns of their own; beyond, they share these
VOICES = 7  # two kinds of trees, three of neighbours, two least squares

ROWS, COLUMNS, N_CLASSES = range(3)  # Panel.used


class Panel(NamedTuple):
    """What the panel has learned."""

    seed: int
    width: int  # columns of the stream
    most: int  # dense columns at most
    used: np.ndarray  # int64 (3,) rows learned, dense columns, classes
    seen: np.ndarray  # float64 (1,) weight of all rows, as far as it counts
    class_seen: np.ndarray  # float64 (classes,) and of those of each class
    dense: Dense
    columns: Metric
    scale: np.ndarray  # float64 (dense columns,) of least squares
    tilt: np.ndarray  # float64 (dense columns,) what a column counts in the cosines
    frequencies: np.ndarray  # float64 (dense columns, N_COSINES) in turns
    phases: np.ndarray  # float64 (N_COSINES,)
    linear: LeastSquares
    curved: LeastSquares
    scores: Metric
    eager: Eager
    neighbours: Neighbours
    refits: Refits
    newton: Newton


def _metric_axes(columns: str) -> dict[str, Any]:
    moments = dict.fromkeys(("mass", "mean", "squares"), (columns,))
    by_class = dict.fromkeys(("mass", "mean", "squares"), ("classes", columns))
    derived = dict.fromkeys(("centre", "variance", "weight", "pull"), (columns,))
    return {"total": moments, "by_class": by_class, **derived}


AXES: dict[str, Any] = {
    "class_seen": ("classes",),
    "dense": {"owner": ("columns",)},
    "columns": _metric_axes("columns"),
    "scale": ("columns",),
    "tilt": ("columns",),
    "frequencies": ("columns", ""),
    "linear": {"P": ("linear", "linear"), "W": ("classes", "linear")},
    "curved": {"P": ("curved", "curved"), "W": ("classes", "curved")},
    "scores": _metric_axes("scores"),
    "eager": {
        "nodes": ("", "nodes", ""),
        **dict.fromkeys(("labels", "weights", "rows"), ("", "leaves", "")),
        "met": ("", "leaves"),
        "values": ("memory", "columns"),
        "y": ("memory",),
        "weight": ("memory",),
    },
    "neighbours": {
        "values": ("columns", "recent"),
        "scores": ("scores", "recent"),
        "y": ("recent",),
        "weight": ("recent",),
    },
    "refits": {"votes": ("", "", "classes"), "said": ("recent", "classes")},
}


def new_panel(n_numeric: int, n_nominal: int, seed: int) -> Panel:
    """A panel that knows nothing, of no class."""
    dense = new_dense(n_numeric, n_nominal, min(n_numeric, WIDE))
    n = dense.n_numbers
    return Panel(
        seed=seed,
        width=n_numeric + n_nominal,
        most=max(MOST_COLUMNS, n + FEWEST_NOMINAL) if n_nominal else n,
        used=np.array([0, n, 0]),
        seen=np.zeros(1),
        class_seen=np.zeros(0),
        dense=dense,
        columns=new_metric(0, n),
        scale=np.zeros(n),
        tilt=np.zeros(n),
        frequencies=np.zeros((n, N_COSINES)),
        phases=np.zeros(N_COSINES),
        linear=new_least_squares(0, 1 + n),
        curved=new_least_squares(0, 1 + N_COSINES + n),
        scores=new_metric(0, 0),
        eager=new_eager(n),
        neighbours=new_neighbours(n, 0),
        refits=new_refits(),
        newton=new_newton([1.0 / VOICES] * VOICES),
    )


def sizes_of(panel: Panel) -> dict[str, int]:
    """Room along every axis."""
    return {
        "classes": len(panel.class_seen),
        "columns": len(panel.scale),
        "memory": len(panel.eager.y),
        "recent": len(panel.neighbours.y),
        "nodes": panel.eager.nodes.shape[1],
    }


def with_room(panel: Panel, **wanted: int) -> Panel:
    """The panel with room for so much along these axes at least: twice of what there was, if it has to grow."""
    have = sizes_of(panel)
    most = {"columns": panel.most, "memory": MEMORY, "recent": RECENT, "nodes": NODES}
    sizes = dict(have)
    for axis, size in wanted.items():
        limit = most.get(axis, 1 << 60)
        if size > have[axis]:
            sizes[axis] = min(limit, max(size, 2 * have[axis]))
    return panel if sizes == have else resized(panel, sizes)


def room_for_rows(panel: Panel, n: int) -> Panel:
    """Room for n more rows."""
    rows, nodes = int(panel.used[ROWS]) + n, int(panel.eager.used[:, N_NODES].max()) + 2 * n
    return with_room(panel, memory=min(rows, MEMORY), recent=min(rows, RECENT), nodes=min(nodes, NODES))


def packed(panel: Panel) -> Panel:
    """A copy with no room to spare."""
    rows, columns, classes = map(int, panel.used)
    nodes = int(panel.eager.used[:, N_NODES].max())
    sizes = {"classes": classes, "columns": columns, "memory": rows, "recent": rows, "nodes": nodes}
    sizes["memory"], sizes["recent"] = min(rows, MEMORY), min(rows, RECENT)
    return resized(panel, sizes)


def resized(panel: Panel, sizes: Mapping[str, int]) -> Panel:
    """A copy with exactly so much room."""
    made: Panel = _fitted(panel, AXES, _all_sizes(sizes))
    return made


def _all_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    """With those of the axes that follow from others."""
    columns, classes = sizes["columns"], sizes["classes"]
    derived = {"linear": 1 + columns, "curved": 1 + N_COSINES + columns, "scores": 2 * min(classes, FOLD)}
    return {**sizes, **derived, "leaves": sizes["nodes"] // 2 + 1}


def most_bytes(panel: Panel) -> int:
    """What the panel takes at most, with the classes there are: what has not been met yet included."""
    classes = 2 * max(int(panel.used[N_CLASSES]), 1)  # there may be room for as many again
    full = {"classes": classes, "columns": panel.most, "memory": MEMORY, "recent": RECENT, "nodes": NODES}
    return _bytes(panel, AXES, _all_sizes(full))


def _bytes(group: Any, axes: Any, sizes: Mapping[str, int]) -> int:
    if isinstance(group, tuple):
        own = axes or {}
        names = group._fields  # type: ignore[attr-defined]
        return sum(_bytes(part, own.get(name), sizes) for name, part in zip(names, group, strict=True))
    if not isinstance(group, np.ndarray):
        return 0
    shape = [sizes.get(axis, have) for axis, have in zip(axes or [""] * group.ndim, group.shape, strict=True)]
    return int(np.prod(shape)) * group.itemsize


def _fitted(group: Any, axes: Any, sizes: Mapping[str, int]) -> Any:
    if isinstance(group, tuple):
        names = group._fields  # type: ignore[attr-defined]
        own = axes or {}
        return type(group)(*(_fitted(part, own.get(name), sizes) for name, part in zip(names, group, strict=True)))
    if not isinstance(group, np.ndarray):
        return group
    if not axes:
        return group.copy()
    shape = tuple(sizes.get(axis, have) for axis, have in zip(axes, group.shape, strict=True))
    out = np.zeros(shape, group.dtype)
    common = tuple(slice(min(a, b)) for a, b in zip(shape, group.shape, strict=True))
    out[common] = group[common]
    return out


def with_classes(panel: Panel, k: int) -> Panel:
    """From here on there are k classes: a new one is as if it had been there all the time, without a row."""
    old = int(panel.used[N_CLASSES])
    if k <= old:
        return panel
    panel = with_room(panel, classes=k)
    panel.used[N_CLASSES] = k
    if old:  # their scores have been 0 all the time
        new = slice(2 * min(old, FOLD), 2 * min(k, FOLD))
        panel.scores.total.mass[new] = panel.scores.total.mass[0]
        panel.scores.by_class.mass[:, new] = panel.scores.by_class.mass[:, :1]
    return panel
