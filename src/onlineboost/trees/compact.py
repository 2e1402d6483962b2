"""Trees from forest to forest: cut one forest into several, join several into one, clear a tree; to files and back.

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
from onlineboost.contracts.state import between, check, joined, loaded, require
from onlineboost.trees.learn import free_rows, start_leaf
from onlineboost.trees.shrink import cut_back, pack_nodes, widen
from onlineboost.trees.state import (
    N_LEAVES,
    N_LOST,
    N_NODES,
    N_STATS,
    NOT_BORN,
    NOTHING_GIVEN_UP,
    RECORDS,
    UNLIMITED,
    Columns,
    Forest,
    LeafRule,
    TreeSettings,
    in_use,
    plant,
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
    return between(forest, "trees", start, stop)._replace(
        nodes=nodes,
        details=details,
        rows=rows,
        stats=stats,
        free_stats=np.empty(len(stats), np.int32),
        used=in_use(len(nodes), len(rows), len(stats), len(leaves)),
        roots=roots,
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
    leaves = sum(int(forest.used[N_LEAVES]) for forest in compact)
    whole = joined(compact, "nodes", "rows", "stats", "trees")
    return whole._replace(used=in_use(n_nodes, n_rows, n_stats, leaves), roots=np.concatenate(roots))


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


def rehearse(*, rare: bool = False) -> None:
    """Have the kernels compiled that make a tree start again; those for new values and for less memory, if `rare`."""
    one = np.ones(1)
    forest = plant(Columns(1, [1]), TreeSettings(LeafRule.MAJORITY, one, 0.5 * one, one, one, 1.0))
    clear(forest, 0, 1)
    pack_nodes(forest)
    if rare:
        cut_back(forest, 0)
        widen(forest, [2], [[0, 1]])


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


# ----------------------------------------------------------------------------------------- could it have been learned?
# Kernels do not check their indices, they go by these. There is one order alone (`packed`): children after their
# parent, class rows of a leaf side by side, statistics in the order of the class rows. So most of it is a comparison
# with what that order has to be.


def check_tables(forest: Forest) -> None:
    """All that can be told of a forest by itself: before anything is made of it."""
    check(forest)
    require(len(forest.offset) > 0 and forest.stats.shape[1] == forest.offset[-1], "the width of the statistics")
    _check_nodes(forest, forest.n_numeric + len(forest.offset) - 1)
    _check_rows(forest)


def _check_nodes(forest: Forest, n_columns: int) -> None:
    nodes, details, n = forest.nodes, forest.details, len(forest.nodes)
    feature, first, count = nodes["feature"], nodes["first"].astype(np.int64), details["n_children"].astype(np.int64)
    require(((feature >= -1) & (feature < n_columns)).all(), "the columns of the nodes")
    at = np.flatnonzero(feature >= 0)
    numeric = feature[at] < forest.n_numeric
    require((np.isnan(nodes["threshold"][at]) != numeric).all(), "the thresholds of the nodes")
    require((count[at] >= 1).all() and (count[at][numeric] == 2).all(), "the number of children")
    last = first[at] + count[at]
    require(((first[at] > at) & (last <= n)).all(), "the children of a node")
    heavy = details["heavy"][at]
    require(((heavy >= first[at]) & (heavy < last)).all(), "the children of a node")
    parents = np.zeros(n + 1, np.int64)  # changes of: how many nodes have this one as a child
    np.add.at(parents, first[at], 1)
    np.add.at(parents, last, -1)
    parents = np.cumsum(parents)[:n]
    roots = forest.roots
    require(((roots >= 0) & (roots < n)).all() and (np.diff(roots) > 0).all(), "the roots of the trees")
    require((last <= _ends(forest)[_tree_of(forest, at)]).all(), "the children of a node")
    parents[roots] += 1
    require((parents == 1).all(), "the parents of a node")
    leaf = feature < 0
    require(int(forest.used[N_LEAVES]) == int(leaf.sum()), "the number of leaves")
    _require_finite(*(details[name] for name in ("mass", "since", "bayes_lead")))


def _check_rows(forest: Forest) -> None:
    """The lists of the leaves' classes: side by side, each with its own statistics, no class twice in one."""
    rows, n = forest.rows, len(forest.rows)
    last = rows["next"] == -1
    require((last | (rows["next"] == np.arange(1, n + 1))).all() and (not n or last[-1]), "the class rows")
    starts = np.flatnonzero(np.concatenate([[True], last[:-1]])) if n else np.empty(0, np.int64)
    first = forest.nodes["first"][forest.nodes["feature"] < 0]
    require((first >= -1).all() and np.array_equal(np.sort(first[first >= 0]), starts), "the class rows of the leaves")
    label = rows["label"].astype(np.int64)
    require((label >= 0).all(), "the labels")
    leaf = np.cumsum(np.concatenate([[0], last[:-1]])) if n else np.empty(0, np.int64)
    pairs = np.sort(leaf * (label.max(initial=0) + 1) + label)
    require((pairs[1:] != pairs[:-1]).all(), "a label is there twice in a leaf")
    learned = rows["stat"][rows["stat"] != -1]
    require(np.array_equal(learned, np.arange(len(forest.stats))), "the statistics of the class rows")
    _require_finite(rows["mass"], rows["prior"])
    require((rows["mass"] >= 0.0).all(), "the masses of the classes")
    at = np.flatnonzero((forest.nodes["feature"] < 0) & (forest.nodes["first"] >= 0))
    tree = _tree_of(forest, at[np.argsort(forest.nodes["first"][at])])[leaf]
    _check_budget(forest, tree)


def _ends(forest: Forest) -> np.ndarray:
    """The node after the last of each tree: they are saved one after the other."""
    return np.append(forest.roots[1:], len(forest.nodes)).astype(np.int64)


def _tree_of(forest: Forest, nodes: np.ndarray) -> np.ndarray:
    return np.searchsorted(forest.roots, nodes, side="right") - 1


def _check_budget(forest: Forest, tree: np.ndarray) -> None:
    """What each tree has in the tables is what is there; `tree` is that of each class row."""
    budget, n = forest.budget, len(forest.roots)
    there = {
        "nodes": _ends(forest) - forest.roots,
        "rows": np.bincount(tree, minlength=n),
        "stats": np.bincount(tree[forest.rows["stat"] >= 0], minlength=n),
    }
    for name, count in there.items():
        require(np.array_equal(budget[name], count), f"the {name} of the trees")
        most = budget[f"most_{name}"]
        require(((most >= 0) & (most <= UNLIMITED)).all(), "the shares of the trees")
    _require_finite(budget["bar"])
    require((budget["refused"] >= 0).all(), "the shares of the trees")


def _require_finite(*arrays: np.ndarray) -> None:
    require(all(np.isfinite(array).all() for array in arrays), "a number is infinite or none")
