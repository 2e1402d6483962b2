"""Trees from forest to forest: cut one forest into several, join several into one, clear a tree.

The copies are compact: nodes tree by tree, the class rows of a leaf side by side, no unused rows in between. So the
trees alone decide what a copy looks like, and that is how they are saved (`packed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from onlineboost._compile.jit import kernel
from onlineboost._compile.random import child_key
from onlineboost.trees.learn import free_rows, start_leaf
from onlineboost.trees.shrink import pack_nodes, widen
from onlineboost.trees.state import (
    BUDGET,
    DETAIL,
    N_LEAVES,
    N_LOST,
    N_NODES,
    N_STATS,
    NODE,
    NOT_BORN,
    NOTHING_GIVEN_UP,
    PER_TREE,
    ROW,
    Forest,
    in_use,
)


def select(forest: Forest, start: int, stop: int) -> Forest:
    """A forest of its own for trees start, ..., stop - 1."""
    old = _nodes_of(forest, forest.roots[start:stop])
    nodes, details = forest.nodes[old], forest.details[old]
    moved = np.full(len(forest.nodes), -1, np.int32)
    moved[old] = np.arange(len(old), dtype=np.int32)
    roots = moved[forest.roots[start:stop]]
    inner = np.flatnonzero(nodes["feature"] >= 0)
    nodes["first"][inner] = moved[nodes["first"][inner]]
    details["heavy"][inner] = moved[details["heavy"][inner]]

    leaves = np.flatnonzero(nodes["feature"] < 0)
    old = _rows_of(forest, nodes["first"][leaves])
    rows = forest.rows[old]
    moved = np.full(len(forest.rows) + 1, -1, np.int32)  # its last entry is that of row -1: none
    moved[old] = np.arange(len(old), dtype=np.int32)
    rows["next"] = moved[rows["next"]]
    nodes["first"][leaves] = moved[nodes["first"][leaves]]

    learned = np.flatnonzero(rows["stat"] >= 0)
    stats = forest.stats[rows["stat"][learned]]
    rows["stat"][learned] = np.arange(len(learned), dtype=np.int32)
    return forest._replace(
        nodes=nodes,
        details=details,
        rows=rows,
        stats=stats,
        free_stats=np.empty(len(stats), np.int32),
        used=in_use(len(nodes), len(rows), len(stats), len(leaves)),
        roots=roots,
        **_settings([forest], slice(start, stop)),
    )


def join(forests: Sequence[Forest]) -> Forest:
    """One forest of all trees, in order."""
    compact = [select(forest, 0, len(forest.roots)) for forest in forests]
    if len(compact) == 1:
        return compact[0]
    n_nodes, n_rows, n_stats, roots = 0, 0, 0, []
    for forest in compact:
        nodes, rows = forest.nodes, forest.rows
        inner = nodes["feature"] >= 0
        nodes["first"] += np.where(inner, n_nodes, np.where(nodes["first"] >= 0, n_rows, 0)).astype(np.int32)
        forest.details["heavy"] += np.where(inner, n_nodes, 0).astype(np.int32)
        rows["next"] += np.where(rows["next"] >= 0, n_rows, 0).astype(np.int32)
        rows["stat"] += np.where(rows["stat"] >= 0, n_stats, 0).astype(np.int32)
        roots.append(forest.roots + np.int32(n_nodes))
        n_nodes, n_rows, n_stats = n_nodes + len(nodes), n_rows + len(rows), n_stats + len(forest.stats)
    return compact[0]._replace(
        nodes=np.concatenate([forest.nodes for forest in compact]),
        details=np.concatenate([forest.details for forest in compact]),
        rows=np.concatenate([forest.rows for forest in compact]),
        stats=np.concatenate([forest.stats for forest in compact]),
        free_stats=np.empty(n_stats, np.int32),
        used=in_use(n_nodes, n_rows, n_stats, sum(int(forest.used[N_LEAVES]) for forest in compact)),
        roots=np.concatenate(roots),
        **_settings(compact),
    )


def _settings(forests: Sequence[Forest], trees: slice = slice(None)) -> dict[str, Any]:
    return {name: np.concatenate([getattr(forest, name)[trees] for forest in forests]) for name in PER_TREE}


def _nodes_of(forest: Forest, roots: np.ndarray) -> np.ndarray:
    """The nodes below these roots: tree by tree, then level by level, so that children stay side by side."""
    at, tree = roots.astype(np.int64), np.arange(len(roots))
    levels, trees = [at], [tree]
    while at.size:
        inner = forest.nodes["feature"][at] >= 0
        at, tree = at[inner], tree[inner]
        count = forest.details["n_children"][at]
        before = np.repeat(np.cumsum(count) - count, count)
        at = np.repeat(forest.nodes["first"][at], count) + np.arange(count.sum()) - before
        tree = np.repeat(tree, count)
        levels.append(at)
        trees.append(tree)
    return np.concatenate(levels)[np.argsort(np.concatenate(trees), kind="stable")]


def _rows_of(forest: Forest, first: np.ndarray) -> np.ndarray:
    """The class rows of the lists that begin here, list by list."""
    leaf = np.arange(len(first))
    rows, leaves = [], []
    at = first.astype(np.int64)
    while at.size:
        there = at >= 0
        at, leaf = at[there], leaf[there]
        rows.append(at)
        leaves.append(leaf)
        at = forest.rows["next"][at].astype(np.int64)
    if not rows:
        return np.empty(0, np.int64)
    return np.concatenate(rows)[np.argsort(np.concatenate(leaves), kind="stable")]


@kernel
def clear(forest, i, t):
    """Make tree i a single leaf that has learned nothing. Its other nodes stay behind, unused."""
    nodes, used, root, own = forest.nodes, forest.used, forest.roots[i], forest.budget[i]
    todo = [np.int64(root)]
    while len(todo):
        at = todo.pop()
        if nodes[at].feature >= 0:
            n_children = forest.details[at].n_children
            used[N_LEAVES] -= n_children - 1
            used[N_LOST] += n_children
            for child in range(nodes[at].first, nodes[at].first + n_children):
                todo.append(np.int64(child))
            continue
        free_rows(forest, i, nodes[at].first)
    own.nodes = 1
    own.refused = 0
    own.bar = NOTHING_GIVEN_UP
    start_leaf(forest, root, child_key(forest.details[root].key, t))


def compacted(forest: Forest) -> Forest:
    """The same trees without the nodes that restarts left behind, once these are the greater part."""
    if 2 * forest.used[N_LOST] >= forest.used[N_NODES]:
        pack_nodes(forest)
    return forest


def packed(forest: Forest) -> dict[str, Any]:
    """A forest to be saved: what was learned and nothing else, in plain arrays.

    Room in the tables that is not in use holds whatever was in memory before, and how much there is of it, for rows and
    for values of nominal columns, depends on how the stream was cut into blocks.
    """
    starts = forest.offset - forest.offset[0]
    rounds = [forest.birth[a + 1 : b] for a, b in pairwise(starts)]
    birth = [born[born < NOT_BORN].tolist() for born in rounds]
    compact = widen(select(forest, 0, len(forest.roots)), [len(born) for born in birth], birth)
    fields = compact._asdict()
    used = fields.pop("used")
    leaves, fields["stats"] = int(used[N_LEAVES]), fields["stats"][: used[N_STATS]]
    del fields["free_stats"]
    records = {name: fields[name].view(np.uint8) for name in RECORDS}
    return {**fields, **records, "leaves": leaves}


def unpacked(saved: dict[str, Any]) -> Forest:
    """The forest that `packed` saved."""
    fields = {name: loaded(value) for name, value in saved.items()}
    leaves = fields.pop("leaves")
    for name, kind in RECORDS.items():
        fields[name] = fields[name].view(kind)
    nodes, rows, stats = len(fields["nodes"]), len(fields["rows"]), len(fields["stats"])
    return Forest(free_stats=np.empty(stats, np.int32), used=in_use(nodes, rows, stats, leaves), **fields)


RECORDS = {"nodes": NODE, "details": DETAIL, "rows": ROW, "budget": BUDGET}


def restore(target: Any, state: dict[str, Any]) -> None:
    """Give an object the state that was saved, its arrays `loaded`."""
    for name, value in state.items():
        setattr(target, name, loaded(value))


def loaded(group: Any) -> Any:
    """An array that was loaded, or the arrays of a named tuple, as they were before they were saved.

    Their types are objects of their own then, which would be saved with each array; and joblib hands large arrays to
    its workers as files that can only be read.
    """
    if isinstance(group, tuple) and hasattr(group, "_fields"):
        return type(group)(*map(loaded, group))
    if not isinstance(group, np.ndarray):
        return group
    return np.asarray(group if group.flags.writeable else group.copy()).view(np.dtype(group.dtype.str))
