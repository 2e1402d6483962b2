"""The state of the panel, and room in its arrays, and in those of its members by themselves.

Arrays grow along axes that have names (`AXES`). What is added is 0, and means: nothing learned yet. How much room there
is makes no difference to what is learned; copies and pickles have none to spare.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

import numpy as np

from onlineboost.panel.alarm import Alarm, new_alarm
from onlineboost.panel.dense import WIDE, Dense, new_dense
from onlineboost.panel.eager import MEMORY, N_NODES, NODES, Eager, new_eager
from onlineboost.panel.least_squares import N_COSINES, LeastSquares, new_least_squares
from onlineboost.panel.metric import Metric, new_metric
from onlineboost.panel.neighbours import RECENT, Neighbours, new_neighbours
from onlineboost.panel.newton import PANEL_RIDGE, Newton, new_newton
from onlineboost.panel.refits import Refits, new_refits

MOST_COLUMNS = 150  # dense columns
FEWEST_NOMINAL = 22  # of them for nominal values, whatever the number of numeric columns
FOLD = 32  # classes whose scores are columns of their own; beyond, they share these
VOICES = 7  # two kinds of trees, three of neighbours, two least squares

FIRST_ROOM = {"memory": 512, "recent": 512, "nodes": 1024}  # as soon as there are rows: to grow takes time

ROWS, COLUMNS, N_CLASSES = range(3)  # Panel.used
OWN_AXES = "classes", "columns", "memory", "recent", "nodes"  # others follow from these
State = TypeVar("State", bound=tuple[Any, ...])  # a panel or a member


class Ground(NamedTuple):
    """What a member by itself knows of the columns. The panel has the same fields, for all of its members."""

    seed: int
    width: int  # columns of the stream
    most: int  # dense columns at most
    used: np.ndarray  # int64 (3,) rows learned, dense columns, classes
    seen: np.ndarray  # float64 (1,) weight of all rows, as far as it counts
    class_seen: np.ndarray  # float64 (classes,) and of those of each class
    dense: Dense
    columns: Metric


class Panel(NamedTuple):
    """What the panel has learned. The first fields are those of `Ground`."""

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
    alarm: Alarm


def _metric_axes(columns: str) -> dict[str, Any]:
    moments = dict.fromkeys(("mass", "mean", "squares"), (columns,))
    by_class = dict.fromkeys(("mass", "mean", "squares"), ("classes", columns))
    derived = dict.fromkeys(("centre", "variance", "weight", "pull"), (columns,))
    return {"total": moments, "by_class": by_class, **derived}


GROUND: dict[str, Any] = {
    "class_seen": ("classes",),
    "dense": {"owner": ("columns",)},
    "columns": _metric_axes("columns"),
}
AXES: dict[str, Any] = {
    **GROUND,
    "ground": GROUND,
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
    "alarm": {"counts": ("classes",)},
}


def new_ground(n_numeric: int, n_nominal: int, seed: int) -> Ground:
    """Columns of which nothing is known, and no class."""
    dense = new_dense(n_numeric, n_nominal, min(n_numeric, WIDE))
    n = dense.n_numbers
    return Ground(
        seed=seed,
        width=n_numeric + n_nominal,
        most=max(MOST_COLUMNS, n + FEWEST_NOMINAL) if n_nominal else n,
        used=np.array([0, n, 0]),
        seen=np.zeros(1),
        class_seen=np.zeros(0),
        dense=dense,
        columns=new_metric(0, n),
    )


def new_panel(n_numeric: int, n_nominal: int, seed: int) -> Panel:
    """A panel that knows nothing, of no class."""
    ground = new_ground(n_numeric, n_nominal, seed)
    n = ground.dense.n_numbers
    return Panel(
        **ground._asdict(),
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
        newton=new_newton([1.0 / VOICES] * VOICES, PANEL_RIDGE),
        alarm=new_alarm(0),
    )


def begun_anew(panel: Panel, t: int) -> Panel:
    """A panel for the same columns and classes that has learned nothing. Round t was the last one of the old one."""
    fresh = new_panel(len(panel.dense.origin), len(panel.dense.place), panel.seed)
    fresh = resized(fresh._replace(width=panel.width, most=panel.most, dense=panel.dense), sizes_of(panel))
    fresh.used[:] = panel.used
    fresh.used[ROWS] = 0
    fresh.alarm.rounds[:] = [t, *panel.alarm.rounds[:-1]]
    return fresh


def ground_of(state: Any) -> Any:
    """What is known of the columns, by a panel or by a member."""
    return getattr(state, "ground", state)


def sizes_of(state: State) -> dict[str, int]:
    """Room along every axis that a panel or a member has, but for those that follow from others."""
    found: dict[str, int] = {}

    def look(group: Any, axes: Any) -> None:
        if isinstance(group, tuple):
            for name, part in zip(group._fields, group, strict=True):  # type: ignore[attr-defined]
                look(part, (axes or {}).get(name))
        elif isinstance(group, np.ndarray) and axes:
            found.update(zip(axes, group.shape, strict=True))

    look(state, AXES)
    return {axis: size for axis, size in found.items() if axis in OWN_AXES}


def with_room(state: State, **wanted: int) -> State:
    """With room for so much along these axes at least: twice of what there was, if it has to grow."""
    have = sizes_of(state)
    most = _most(state)
    sizes = dict(have)
    for axis in have.keys() & wanted.keys():
        limit = most.get(axis, 1 << 60)
        if wanted[axis] > have[axis]:
            sizes[axis] = min(limit, max(wanted[axis], 2 * have[axis], FIRST_ROOM.get(axis, 0)))
    return state if sizes == have else resized(state, sizes)


def room_for_rows(state: State, n: int) -> State:
    """Room for n more rows."""
    rows, nodes = int(ground_of(state).used[ROWS]) + n, _nodes(state) + 2 * n
    return with_room(state, memory=min(rows, MEMORY), recent=min(rows, RECENT), nodes=min(nodes, NODES))


def rows_left(state: Any) -> int:
    """Rows for which there is room, at least."""
    have, most, rows = sizes_of(state), _most(state), int(ground_of(state).used[ROWS])
    left = {"memory": have.get("memory", 0) - rows, "recent": have.get("recent", 0) - rows}
    left["nodes"] = (have.get("nodes", 0) - _nodes(state)) // 2
    return min((left[axis] for axis in left if axis in have and have[axis] < most[axis]), default=1 << 60)


def _nodes(state: Any) -> int:
    """Of the largest eager tree, if there are any."""
    return int(state.eager.used[:, N_NODES].max()) if hasattr(state, "eager") else 0


def _most(state: Any) -> dict[str, int]:
    return {"columns": ground_of(state).most, "memory": MEMORY, "recent": RECENT, "nodes": NODES}


def packed(state: State) -> State:
    """A copy with no room to spare."""
    rows, columns, classes = map(int, ground_of(state).used)
    sizes = {"classes": classes, "columns": columns, "nodes": _nodes(state)}
    return resized(state, {**sizes, "memory": min(rows, MEMORY), "recent": min(rows, RECENT)})


def resized(state: State, sizes: Mapping[str, int]) -> State:
    """A copy with exactly so much room."""
    made: State = _fitted(state, AXES, _all_sizes(state, sizes))
    return made


def _all_sizes(state: Any, sizes: Mapping[str, int]) -> dict[str, int]:
    """With those of the axes that follow from others. There are scores where there are least squares beside others."""
    columns, classes = sizes["columns"], sizes["classes"]
    scores = 2 * min(classes, FOLD) if hasattr(state, "scores") else 0
    derived = {"linear": 1 + columns, "curved": 1 + N_COSINES + columns, "scores": scores}
    return {**sizes, **derived, "leaves": sizes.get("nodes", 0) // 2 + 1}


def most_bytes(state: Any, k: int) -> int:
    """What a panel or a member takes at most with k classes: what has not been met yet included."""
    shapes = shapes_with(state, {"classes": 2 * max(k, 1), **_most(state)})  # there may be room for as many again
    return sum(math.prod(shape) * array.itemsize for array, shape in shapes)


def shapes_with(state: Any, sizes: Mapping[str, int]) -> Iterator[tuple[np.ndarray, tuple[int, ...]]]:
    """Every array, and the shape that it has with exactly so much room."""
    return _shapes(state, AXES, _all_sizes(state, sizes))


def _shapes(group: Any, axes: Any, sizes: Mapping[str, int]) -> Iterator[tuple[np.ndarray, tuple[int, ...]]]:
    if isinstance(group, tuple):
        names = group._fields  # type: ignore[attr-defined]
        for name, part in zip(names, group, strict=True):
            yield from _shapes(part, (axes or {}).get(name), sizes)
    elif isinstance(group, np.ndarray):
        named = zip(axes or [""] * group.ndim, group.shape, strict=True)
        yield group, tuple(sizes.get(axis, have) for axis, have in named)


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


def with_classes(state: State, k: int) -> State:
    """From here on there are k classes: a new one is as if it had been there all the time, without a row."""
    old = int(ground_of(state).used[N_CLASSES])
    if k <= old:
        return state
    state = with_room(state, classes=k)
    ground_of(state).used[N_CLASSES] = k
    scores = getattr(state, "scores", None)
    if old and scores is not None:  # their scores have been 0 all the time
        new = slice(2 * min(old, FOLD), 2 * min(k, FOLD))
        scores.total.mass[new] = scores.total.mass[0]
        scores.by_class.mass[:, new] = scores.by_class.mass[:, :1]
    return state
