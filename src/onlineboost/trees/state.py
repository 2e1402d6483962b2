"""The state of a forest of Hoeffding trees: shared arrays, and how they grow.

All trees of a segment live in four tables:

* ``nodes``: one 16-byte record per node, all that sending an example down a tree needs (but for nominal and missing
  values);
* ``details``: one 40-byte record per node, in the same order, for what else is known of it;
* ``rows``: one 32-byte record per (leaf, class seen there), a linked list per leaf: its label and mass;
* ``stats``: one wide row of float64 per (leaf, class *learned* there): what a split try and naive Bayes need.

Prediction by majority does without the last. A leaf pays for the classes it has seen, and a class that was
merely inherited from the parent costs 32 bytes. Rows of a leaf that has been split are used again.

The columns of an encoded example come numeric first, then nominal (codes 0, 1, ... in order of first appearance).
A row of ``stats`` holds, for the numeric columns, six stretches (mean, inverse variance, weight, sum of squared
deviations, smallest, largest), then for every nominal column its weight and the weight of each of its values.
"""

from __future__ import annotations

import math
import mmap
from enum import IntEnum
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost._compile.system import ignoring_the_system, reraise_if_from_handler
from onlineboost.contracts.schema import LEAST, Field, array, f8, i4, i8, schema, whole

NODE = np.dtype(
    [
        ("feature", np.int32),  # column this node splits on; -1: a leaf
        ("first", np.int32),  # inner node: its first child, the others follow; leaf: its first class row, -1: none
        ("threshold", np.float64),  # numeric split: x <= threshold goes to the first child; NaN: nominal split
    ]
)
DETAIL = np.dtype(
    [
        ("n_children", np.int32),
        ("heavy", np.int32),  # the child for a missing value and for a value with no branch of its own; leaf: see below
        ("mass", np.float64),  # leaf: weight of its classes, inherited weight included
        ("since", np.float64),  # leaf: weight learned since the last split try
        ("bayes_lead", np.float64),  # leaf: weight predicted rightly by naive Bayes, less that by the majority class
        ("key", np.int64),  # a hash of the path from the root, for what is drawn at random here
    ]
)
ROW = np.dtype(
    [
        ("label", np.int32),
        ("next", np.int32),  # next class row of this leaf (or next free row), -1: none
        ("stat", np.int32),  # its row of `stats`, -1: nothing learned, only inherited
        ("denied", np.int32),  # 1: there was no row of `stats` for it, and it does not ask again
        ("mass", np.float64),
        ("prior", np.float64),  # log(mass) - (sum of log variances of the numeric columns) / 2, for naive Bayes
    ]
)
BUDGET = np.dtype(
    [
        ("nodes", np.int64),  # of the tree, in use, and likewise:
        ("rows", np.int64),  # class rows
        ("stats", np.int64),  # rows of `stats`
        ("most_nodes", np.int64),  # that it may have, and likewise:
        ("most_rows", np.int64),
        ("most_stats", np.int64),
        ("bar", np.float64),  # promise that a leaf without statistics must be above to get some (budget.py)
        ("refused", np.int64),  # splits that there was no room for
    ]
)
NODE, DETAIL, ROW, BUDGET = (np.dtype((np.record, kind.descr)) for kind in (NODE, DETAIL, ROW, BUDGET))  # attributes
assert (NODE.itemsize, DETAIL.itemsize, ROW.itemsize, BUDGET.itemsize) == (16, 40, 32, 64)

WAITING, GAVE_UP = -1, -2  # DETAIL.heavy of a leaf: it may have statistics, or has given them up for lack of memory
UNLIMITED = 2**40  # rows of a table: more than a tree ever has
NOTHING_GIVEN_UP = -1.0  # BUDGET.bar of a tree that has never lacked memory for statistics: below all promises

N_NODES, N_ROWS, FREE_ROW, N_STATS, N_FREE_STATS, N_LEAVES, N_LOST, N_FREE_ROWS = range(8)  # what Forest.used holds
# (N_LOST: nodes that belong to no tree any more, left behind by restarts)
SPARE = 1.25  # addresses that a table at its limit has: rows get wider, and a tree has whole rows only, four at least
NOT_BORN = np.iinfo(np.int64).max  # in Forest.birth: no value yet, room for one
STRETCHES = 6  # of the numeric columns in a row of stats; naive Bayes reads the first two:
MEAN, INVERSE, WEIGHT, SQUARES, LOW, HIGH = range(STRETCHES)


class LeafRule(IntEnum):
    """How leaves predict."""

    MAJORITY = 0  # the shares of the classes
    BAYES = 1  # naive Bayes
    ADAPTIVE = 2  # whichever of the two has been right more often at this leaf


LEAF_RULES = {"majority": LeafRule.MAJORITY, "nb": LeafRule.BAYES, "nba": LeafRule.ADAPTIVE}


class Forest(NamedTuple):
    """The trees of one segment. Arrays that can run full are grown by `make_room`."""

    nodes: Annotated[np.ndarray, array(NODE, "nodes")]
    details: Annotated[np.ndarray, array(DETAIL, "nodes")]
    rows: Annotated[np.ndarray, array(ROW, "rows")]
    stats: Annotated[
        np.ndarray, f8("stats", "width", anything=True)
    ]  # 6 for each numeric column, values of nominal ones
    free_stats: Annotated[np.ndarray, i4("stats", saved=False, anything=True)]  # a stack of unused rows of stats
    used: Annotated[np.ndarray, i8(8, saved=False)]  # how much of the tables is in use
    roots: Annotated[np.ndarray, i4("trees")]
    grace: Annotated[np.ndarray, f8("trees")]  # weight between split tries
    log_delta: Annotated[np.ndarray, f8("trees")]  # ln(1/delta) of the Hoeffding bound
    tie: Annotated[np.ndarray, f8("trees")]  # tau: a bound below this splits without a clear winner
    unit: Annotated[np.ndarray, f8("trees")]  # weight that stands for one example, for the priors of naive Bayes
    budget: Annotated[np.ndarray, array(BUDGET, "trees")]  # what each tree has in the tables, and may have
    n_numeric: int
    offset: Annotated[np.ndarray, i8("offsets")]  # where each nominal column's weight stands in a row of stats, its
    # values after it; and the end
    birth: Annotated[np.ndarray, i8("places")]  # as the nominal part of stats: round in which each value appeared first
    share: Annotated[float, Field(low=LEAST, high=1.0)]  # of the columns, that a leaf looks at in a split try
    leaf: Annotated[int, whole(0, 2)]  # a LeafRule


PER_TREE = [name for name, field in schema(Forest).items() if field.place("trees") == 0 and name != "roots"]
RECORDS = {name: field.dtype for name, field in schema(Forest).items() if field.dtype is not None and field.dtype.names}


def tables_in_use(forest: Forest) -> dict[str, int]:
    """How much of the tables is."""
    nodes, rows, stats = forest.used[[N_NODES, N_ROWS, N_STATS]].tolist()
    return {"nodes": nodes, "rows": rows, "stats": stats}


def nominal_layout(n_numeric: int, nominal_sizes: list[int]) -> np.ndarray:
    return np.cumsum([STRETCHES * n_numeric, *(size + 1 for size in nominal_sizes)]).astype(np.int64)


def in_use(nodes: int, rows: int, stats: int, leaves: int) -> np.ndarray:
    """Forest.used of tables that are full up to here, with nothing free or lost."""
    used = np.zeros(8, np.int64)
    used[[N_NODES, N_ROWS, FREE_ROW, N_STATS, N_LEAVES]] = nodes, rows, -1, stats, leaves
    return used


class Columns(NamedTuple):
    """What trees are told of the columns."""

    n_numeric: int
    nominal_sizes: list[int]  # values known of each nominal column


class TreeSettings(NamedTuple):
    """Settings of the trees of a forest; arrays have one entry per tree."""

    leaf: LeafRule
    grace: np.ndarray
    confidence: np.ndarray  # delta of the Hoeffding bound
    tie: np.ndarray
    unit: np.ndarray
    share: float


def plant(columns: Columns, settings: TreeSettings, seed: int = 0, first: int = 0) -> Forest:
    """A forest of single leaves; the first of them is number `first` of its chain."""
    n_trees = len(settings.grace)
    offset = nominal_layout(*columns)
    nodes = np.zeros(max(64, 4 * n_trees), NODE)
    nodes["feature"] = -1
    nodes["first"] = -1
    details = np.zeros(len(nodes), DETAIL)
    details["key"][:n_trees] = [child_key(child_key(0, seed), first + i) for i in range(n_trees)]
    return Forest(
        nodes=nodes,
        details=details,
        rows=np.zeros(max(64, 4 * n_trees), ROW),
        stats=np.empty((max(16, n_trees), offset[-1])),
        free_stats=np.empty(max(16, n_trees), np.int32),
        used=in_use(n_trees, 0, 0, n_trees),
        roots=np.arange(n_trees, dtype=np.int32),
        grace=np.array(settings.grace, float),
        log_delta=np.log(1.0 / np.asarray(settings.confidence, float)),
        tie=np.array(settings.tie, float),
        unit=np.array(settings.unit, float),
        budget=_no_limits(n_trees),
        n_numeric=columns.n_numeric,
        offset=offset,
        birth=np.full(offset[-1] - offset[0], -1, np.int64),
        share=settings.share,
        leaf=int(settings.leaf),
    )


def _no_limits(n_trees: int) -> np.ndarray:
    """The budgets of trees that are single leaves and may grow for ever."""
    budget = np.zeros(n_trees, BUDGET)
    budget["nodes"] = 1
    budget["bar"] = NOTHING_GIVEN_UP
    for name in ("most_nodes", "most_rows", "most_stats"):
        budget[name] = UNLIMITED
    return budget


def longer(array: np.ndarray, needed: int, most: int) -> np.ndarray:
    """A copy of an array with room for `needed` rows, and for more to come: several times as many, at most `most`.

    Room that is not in use takes addresses but no memory. Small arrays grow fast, so that little is ever copied: on the
    way to any size, about half of it in all. From a sixteenth of `most` on there is room for all of it: while it is
    copied, an array is there twice.
    """
    factor = 4.0 if array.nbytes < 2**26 else 2.0 if array.nbytes < 2**30 else 1.5
    copy = with_room(max(int(factor * len(array)), needed), needed, most, array.shape[1:], array.dtype)
    copy[: len(array)] = array
    return copy


def with_room(room: int, needed: int, most: int, shape: tuple[int, ...], kind: Any) -> np.ndarray:
    """A table with so much room, or for `most` rows if that is not much more; `needed` in any case.

    Small ones are left to malloc, which is faster: it has memory at hand.
    """
    if 4 * room > most:
        return empty((max(most, needed), *shape), kind, SPARE)
    return empty((room, *shape), kind) if 16 * room > most else np.empty((room, *shape), kind)


def make_room(forest: Forest, nodes: int, rows: int, stats: int) -> Forest:
    """The same forest with room for this many more nodes, class rows and rows of statistics."""
    used, budget = forest.used, forest.budget
    new: dict[str, Any] = {}
    if used[N_NODES] + nodes > len(forest.nodes):
        new["nodes"] = longer(forest.nodes, used[N_NODES] + nodes, int(budget["most_nodes"].sum()))
        new["details"] = alike(new["nodes"], DETAIL)
        new["details"][: len(forest.details)] = forest.details
    if used[N_ROWS] + rows > len(forest.rows) + used[N_FREE_ROWS]:
        needed = used[N_ROWS] - used[N_FREE_ROWS] + rows
        new["rows"] = longer(forest.rows, needed, int(budget["most_rows"].sum()))
    if used[N_STATS] + stats > len(forest.stats) + used[N_FREE_STATS]:
        needed = used[N_STATS] - used[N_FREE_STATS] + stats
        new["stats"] = longer(forest.stats, needed, int(budget["most_stats"].sum()))
        new["free_stats"] = alike(new["stats"], np.int32)
        new["free_stats"][: len(forest.free_stats)] = forest.free_stats
    return forest._replace(**new) if new else forest  # the same object, if it is the same


def trees_of(forest: Forest, part: slice) -> Forest:
    """These trees alone, in the same tables; for a forest with tables of its own see `compact.select`."""
    return forest._replace(roots=forest.roots[part], **{name: getattr(forest, name)[part] for name in PER_TREE})


def no_trees(forest: Forest) -> Forest:
    """An empty forest for the same columns."""
    forest.used[[N_NODES, N_LEAVES]] = 0
    return trees_of(forest, slice(0))


def nbytes(forest: Forest) -> dict[str, int]:
    """Bytes of a forest's tables: "used" by nodes, class rows and statistics in use, and "allocated" for all arrays.

    Allocated room that has never been used takes addresses, but no memory.

    Examples
    --------
    >>> forest = plant(Columns(4, []), TreeSettings(LeafRule.ADAPTIVE, [10], [0.1], [0.05], [1.0], 0.5))
    >>> nbytes(forest)["used"] < nbytes(forest)["allocated"]
    True
    """
    used = forest.used
    live = (
        int(used[N_NODES]) * (NODE.itemsize + DETAIL.itemsize)
        + int(used[N_ROWS] - used[N_FREE_ROWS]) * ROW.itemsize
        + int(used[N_STATS] - used[N_FREE_STATS]) * forest.stats.strides[0]
    )
    return {"used": live, "allocated": sum(part.nbytes for part in forest if isinstance(part, np.ndarray))}


# ------------------------------------------------------------------------------------------------ memory of tables
# Large tables have memory of their own, which goes back to the system the moment it is not needed. What malloc gets
# back it may keep, holes and all, so that a process takes more than its arrays do: a limit on memory would not hold.
# Here memory takes addresses when a table is made, and counts only where it has been written to.

LARGE = 2**20  # bytes from which on a table has memory of its own,
HUGE = 2**22  # and from which on it asks for large pages, as NumPy does


def empty(shape: tuple[int, ...], kind: Any, spare: float = 1.0) -> np.ndarray:
    """An array that holds anything; a large one has addresses for `spare` times as many bytes."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size < LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(shape, kind)
    try:
        memory = mmap.mmap(-1, int(spare * size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        reraise_if_from_handler(error)
        raise MemoryError(f"no memory for a table of {size:,} bytes") from error
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with ignoring_the_system():
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.ndarray(shape, kind, memory)


def alike(table: np.ndarray, kind: Any) -> np.ndarray:
    """An array with as many entries as a table has rows, which holds anything, in memory of the same make."""
    return (empty if isinstance(table.base, mmap.mmap) else np.empty)((len(table),), kind)


def all_memory(table: np.ndarray) -> np.ndarray:
    """All memory that a table has, as one row of its type."""
    if isinstance(table.base, mmap.mmap):
        return np.ndarray(len(table.base) // table.itemsize, table.dtype, table.base)
    return table.reshape(-1)


def reshaped(table: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What a table's memory begins with, in another shape; the rest goes back to the system."""
    size = math.prod(shape) * table.itemsize
    if isinstance(table.base, mmap.mmap):
        start = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        if start < len(table.base) and hasattr(mmap, "MADV_DONTNEED"):
            table.base.madvise(mmap.MADV_DONTNEED, start, len(table.base) - start)
        return np.ndarray(shape, table.dtype, table.base)
    if not table.flags.owndata:
        return table.reshape(-1)[: math.prod(shape)].reshape(shape).copy()
    table.resize(shape, refcheck=False)
    return table
