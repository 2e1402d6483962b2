"""The state of the panel, and room in its arrays, and in those of its members by themselves.

Arrays grow along axes that have names (`contracts.schema`). What is added is 0, and means: nothing learned yet. How
much room there is makes no difference to what is learned; copies and pickles have none to spare.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

import numpy as np

from onlineboost.contracts.schema import Field, f8, i8, part, schema
from onlineboost.contracts.state import bytes_with, check, made, require, resized, sizes_of
from onlineboost.panel import refits
from onlineboost.panel.alarm import Alarm
from onlineboost.panel.dense import ROOM, VALUES, WIDE, Dense
from onlineboost.panel.eager import COLUMN_BITS, LINK, MEMORY, N_LEAVES, N_NODES, N_TREES, NODES, WRAP, Eager
from onlineboost.panel.least_squares import N_COSINES, LeastSquares
from onlineboost.panel.metric import LONGEST, SHARPEST, Metric
from onlineboost.panel.neighbours import RECENT, Neighbours
from onlineboost.panel.newton import PANEL_RIDGE, Newton, new_newton

MOST_COLUMNS = 150  # dense columns
FEWEST_NOMINAL = 22  # of them for nominal values, whatever the number of numeric columns
FOLD = 32  # classes whose scores are columns of their own; beyond, they share these
VOICES = 7  # two kinds of trees, three of neighbours, two least squares

FIRST_ROOM = {"memory": 512, "recent": 512, "nodes": 1024}  # as soon as there are rows: to grow takes time

ROWS, COLUMNS, N_CLASSES = range(3)  # Panel.used
OWN_AXES = "classes", "columns", "memory", "recent", "nodes"  # others follow from these
State = TypeVar("State", bound=tuple[Any, ...])  # a panel or a member

OUTSIDE = Field(name="/")  # of a member's ground: files have its fields as if they were the member's own
UNSAVED = Field(saved=False)


class Ground(NamedTuple):
    """What a member by itself knows of the columns. The panel has the same fields, for all of its members."""

    seed: int
    width: int  # columns of the stream
    most: int  # dense columns at most
    used: Annotated[np.ndarray, i8(3, low=0)]  # rows learned, dense columns, classes
    seen: Annotated[np.ndarray, f8(1, low=0.0, high=ROOM * LONGEST)]  # weight of all rows, as far as it counts
    class_seen: Annotated[np.ndarray, f8("classes", low=0.0, high=ROOM * LONGEST)]  # and of those of each class
    dense: Dense
    columns: Metric


class Panel(NamedTuple):
    """What the panel has learned. The first fields are those of `Ground`."""

    seed: int
    width: int
    most: int
    used: Annotated[np.ndarray, i8(3, low=0)]
    seen: Annotated[np.ndarray, f8(1, low=0.0, high=ROOM * LONGEST)]
    class_seen: Annotated[np.ndarray, f8("classes", low=0.0, high=ROOM * LONGEST)]
    dense: Dense
    columns: Metric
    scale: Annotated[np.ndarray, f8("columns", low=0.0, high=SHARPEST)]  # of least squares
    tilt: Annotated[np.ndarray, f8("columns", low=0.0, high=100.0)]  # what a column counts in the cosines
    frequencies: Annotated[np.ndarray, f8("columns", N_COSINES, low=-2.0, high=2.0)]  # in turns
    phases: Annotated[np.ndarray, f8(N_COSINES, low=0.0, high=1.0)]
    linear: Annotated[LeastSquares, part(inputs="linear")]
    curved: Annotated[LeastSquares, part(inputs="curved")]
    scores: Annotated[Metric, part(columns="scores")]
    eager: Eager
    neighbours: Neighbours
    refits: refits.Refits
    newton: Annotated[Newton, part(voices=VOICES)]
    alarm: Alarm


def new_ground(n_numeric: int, n_nominal: int, seed: int) -> Ground:
    """Columns of which nothing is known, and no class."""
    ground: Ground = made(Ground, first_sizes(n_numeric, n_nominal), first_numbers(n_numeric, n_nominal, seed))
    ground.used[COLUMNS] = ground.dense.n_numbers
    return ground


def new_panel(n_numeric: int, n_nominal: int, seed: int) -> Panel:
    """A panel that knows nothing, of no class."""
    panel: Panel = made(Panel, first_sizes(n_numeric, n_nominal), first_numbers(n_numeric, n_nominal, seed))
    panel.used[COLUMNS] = panel.dense.n_numbers
    return panel._replace(newton=new_newton([1.0 / VOICES] * VOICES, PANEL_RIDGE))


def new_member(kind: Any, ground: Ground, **settings: int) -> Any:
    """A member of this kind that has learned nothing, of no class."""
    return made(kind, first_sizes(len(ground.dense.origin), len(ground.dense.place)), settings)._replace(ground=ground)


def settings_of(member: Any) -> dict[str, int]:
    """What `new_member` was given."""
    kind: Any = type(member)
    numbers = [name for name, field in schema(kind).items() if field.kinds == (int,) and field.saved]
    return {name: getattr(member, name) for name in numbers}


def first_numbers(n_numeric: int, n_nominal: int, seed: int) -> dict[str, int]:
    """The numbers of a ground, or a panel, that knows nothing."""
    n = min(n_numeric, WIDE)
    most = max(MOST_COLUMNS, n + FEWEST_NOMINAL) if n_nominal else n
    own = {"seed": seed, "width": n_numeric + n_nominal, "most": most}
    return {**own, "dense.n_numbers": n, "offset": n_numeric}


def first_sizes(n_numeric: int, n_nominal: int) -> dict[str, int]:
    sizes = {"numeric": n_numeric, "nominal": n_nominal, "columns": min(n_numeric, WIDE), "classes": 0}
    return all_sizes({**sizes, "memory": 0, "recent": 0, "nodes": 1})


def begun_anew(panel: Panel, t: int) -> Panel:
    """A panel for the same columns and classes that has learned nothing. Round t was the last one of the old one."""
    fresh = new_panel(len(panel.dense.origin), len(panel.dense.place), panel.seed)
    fresh = with_sizes(fresh._replace(width=panel.width, most=panel.most, dense=panel.dense), own_sizes(panel))
    fresh.used[:] = panel.used
    fresh.used[ROWS] = 0
    fresh.alarm.rounds[:] = [t, *panel.alarm.rounds[:-1]]
    return fresh


def ground_of(state: Any) -> Any:
    """What is known of the columns, by a panel or by a member."""
    return getattr(state, "ground", state)


def own_sizes(state: State) -> dict[str, int]:
    """Room along every axis that a panel or a member has, but for those that follow from others."""
    return sizes_of(state, OWN_AXES)


def all_sizes(sizes: Mapping[str, int]) -> dict[str, int]:
    """With those of the axes that follow from others."""
    columns, classes, nodes = sizes["columns"], sizes["classes"], sizes.get("nodes", 0)
    derived = {"linear": 1 + columns, "curved": 1 + N_COSINES + columns, "leaves": nodes // 2 + 1}
    return {**sizes, **derived, "scores": 2 * min(classes, FOLD)}


def with_sizes(state: State, sizes: Mapping[str, int]) -> State:
    """A copy with exactly so much room."""
    return resized(state, all_sizes(sizes))


def with_room(state: State, **wanted: int) -> State:
    """With room for so much along these axes at least: twice of what there was, if it has to grow."""
    have = own_sizes(state)
    most = _most(state)
    sizes = dict(have)
    for axis in have.keys() & wanted.keys():
        limit = most.get(axis, 1 << 60)
        if wanted[axis] > have[axis]:
            sizes[axis] = min(limit, max(wanted[axis], 2 * have[axis], FIRST_ROOM.get(axis, 0)))
    return state if sizes == have else with_sizes(state, sizes)


def room_for_rows(state: State, n: int) -> State:
    """Room for n more rows."""
    rows, nodes = int(ground_of(state).used[ROWS]) + n, _nodes(state) + 2 * n
    return with_room(state, memory=min(rows, MEMORY), recent=min(rows, RECENT), nodes=min(nodes, NODES))


def rows_left(state: Any) -> int:
    """Rows for which there is room, at least."""
    have, most, rows = own_sizes(state), _most(state), int(ground_of(state).used[ROWS])
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
    return with_sizes(state, {**sizes, "memory": min(rows, MEMORY), "recent": min(rows, RECENT)})


def most_bytes(state: Any, k: int) -> int:
    """What a panel or a member takes at most with k classes: what has not been met yet included."""
    return bytes_with(
        state, all_sizes({"classes": 2 * max(k, 1), **_most(state)})
    )  # there may be room for as many again


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


# ----------------------------------------------------------------------------------------------------------- from files


def read(kind: Any, given: dict[str, Any]) -> Any:
    """A panel, or a member of this kind, of arrays as bytes, whose shapes follow from a few numbers; it is checked."""
    n_numeric, n_nominal = given["dense.origin"].size // 8, given["dense.place"].size // (4 * VALUES)
    nodes = given["eager.nodes"].size // (16 * N_TREES) if "eager.nodes" in given else 1
    require(given["used"].size == 24, "the rows of the panel")
    rows, columns, classes = map(int, given["used"].view(np.int64))
    good = rows >= 0 and 0 <= classes <= given["class_seen"].size // 8 and 1 <= nodes <= NODES
    good = good and given["width"] == n_numeric + n_nominal
    require(good and min(n_numeric, WIDE) <= columns <= given["most"] <= WIDE + 1024, "the columns of the panel")
    sizes = {"numeric": n_numeric, "nominal": n_nominal, "columns": columns, "classes": classes, "nodes": nodes}
    sizes = all_sizes({**sizes, "memory": min(rows, MEMORY), "recent": min(rows, RECENT)})
    state = made(kind, sizes, {**given, "dense.n_numbers": min(n_numeric, WIDE)})
    check(state, {**sizes, "rows": min(rows, WRAP + 1)}, "panel.")
    check_links(state)
    return state


def check_newton(newton: Newton) -> None:
    """A is positive definite, by far: a step would have no end otherwise."""
    check(newton, name="newton.")
    require(np.linalg.eigvalsh(newton.A).min() > 1e-3, "the combiner of the panel")


def check_links(state: Any) -> None:
    """What the numbers of a panel or a member refer to is there."""
    ground = ground_of(state)
    rows, columns, dense = int(ground.used[ROWS]), int(ground.used[COLUMNS]), ground.dense
    met = min(np.count_nonzero(dense.place), ground.most - dense.n_numbers)
    require(columns == dense.n_numbers + met, "the values of the panel")
    for name in ("linear", "curved"):
        if hasattr(state, name):
            require((np.diagonal(getattr(state, name).P) >= 0.0).all(), f"{name}.P of the panel")
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
    require(((n_nodes >= 1) & (n_nodes <= links.shape[1]) & (n_nodes == 2 * n_leaves - 1)).all(), "the nodes of a tree")
    inner = (first > at) & (first + 1 < n_nodes) & (column < columns)
    leaf = (first >= 0) & (first < n_leaves)
    require((np.where(column >= 0, inner, leaf) | (at >= n_nodes)).all(), "the nodes of a tree")


def _check_refits(own: refits.Refits, columns: int, scores: int, rows: int) -> None:
    """Every node above the lowest level is a leaf, or goes by a column or a score that there is."""
    at = own.columns
    known = ((at >= 0) & (at < columns)) | ((at >= refits.SCORES) & (at < refits.SCORES + scores))
    known[:, refits.NODES // 2 :] = False
    require((known | (at == refits.NONE)).all(), "the nodes of a tree")
    soon = max(refits.SOONEST, RECENT // refits.PARTS)
    good = 0 <= own.plan[refits.NEXT] < refits.TREES and rows < own.plan[refits.DUE] <= rows + soon
    require(good, "the tree that is fitted next")
