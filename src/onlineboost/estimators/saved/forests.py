"""Could the trees of a model that was read have been learned? Kernels do not check their indices: they go by these.

Trees are saved in one order alone (`trees.compact`): children after their parent, class rows of a leaf side by side,
statistics in the order of the class rows. So most of it is a comparison with what that order has to be.
"""

from __future__ import annotations

import numpy as np

from onlineboost.data.encoder import Encoder
from onlineboost.estimators.saved.fields import check, check_finite
from onlineboost.trees.state import N_LEAVES, NOT_BORN, UNLIMITED, Forest, nominal_layout


def check_tables(forest: Forest) -> None:
    """All that can be told of a forest by itself: before anything is made of it."""
    check(0.0 < forest.share <= 1.0, "the share of columns to look at")
    check_finite(forest.grace, forest.log_delta, forest.tie, forest.unit)
    check(len(forest.offset) > 0 and forest.stats.shape[1] == forest.offset[-1], "the width of the statistics")
    _check_nodes(forest, forest.n_numeric + len(forest.offset) - 1)
    _check_rows(forest)


def check_forest(forest: Forest, trees: int, classes: int, encoder: Encoder) -> None:
    """So many trees, with these columns, whose leaves know so many classes."""
    check(len(forest.roots) == trees, "the number of trees")
    check(forest.n_numeric == len(encoder.numeric), "the number of numeric columns")
    check(np.array_equal(forest.offset, nominal_layout(forest.n_numeric, encoder.sizes)), "the places of the values")
    births: list[int] = []
    for column in encoder.births:
        births += [NOT_BORN, *column]
    check(np.array_equal(forest.birth, births), "the rounds of the values")
    check(forest.rows["label"].max(initial=-1) < classes, "the labels")


def _check_nodes(forest: Forest, n_columns: int) -> None:
    nodes, details, n = forest.nodes, forest.details, len(forest.nodes)
    check(len(details) == n, "the number of nodes")
    feature, first, count = nodes["feature"], nodes["first"].astype(np.int64), details["n_children"].astype(np.int64)
    check(((feature >= -1) & (feature < n_columns)).all(), "the columns of the nodes")
    at = np.flatnonzero(feature >= 0)
    numeric = feature[at] < forest.n_numeric
    check((np.isnan(nodes["threshold"][at]) != numeric).all(), "the thresholds of the nodes")
    check((count[at] >= 1).all() and (count[at][numeric] == 2).all(), "the number of children")
    last = first[at] + count[at]
    check(((first[at] > at) & (last <= n)).all(), "the children of a node")
    heavy = details["heavy"][at]
    check(((heavy >= first[at]) & (heavy < last)).all(), "the children of a node")
    parents = np.zeros(n + 1, np.int64)  # changes of: how many nodes have this one as a child
    np.add.at(parents, first[at], 1)
    np.add.at(parents, last, -1)
    parents = np.cumsum(parents)[:n]
    roots = forest.roots
    check(((roots >= 0) & (roots < n)).all() and (np.diff(roots) > 0).all(), "the roots of the trees")
    check((last <= _ends(forest)[_tree_of(forest, at)]).all(), "the children of a node")
    parents[roots] += 1
    check((parents == 1).all(), "the parents of a node")
    leaf = feature < 0
    check(int(forest.used[N_LEAVES]) == int(leaf.sum()), "the number of leaves")
    check_finite(*(details[name] for name in ("mass", "since", "bayes_lead")))


def _check_rows(forest: Forest) -> None:
    """The lists of the leaves' classes: side by side, each with its own statistics, no class twice in one."""
    rows, n = forest.rows, len(forest.rows)
    last = rows["next"] == -1
    check((last | (rows["next"] == np.arange(1, n + 1))).all() and (not n or last[-1]), "the class rows")
    starts = np.flatnonzero(np.concatenate([[True], last[:-1]])) if n else np.empty(0, np.int64)
    first = forest.nodes["first"][forest.nodes["feature"] < 0]
    check((first >= -1).all() and np.array_equal(np.sort(first[first >= 0]), starts), "the class rows of the leaves")
    label = rows["label"].astype(np.int64)
    check((label >= 0).all(), "the labels")
    leaf = np.cumsum(np.concatenate([[0], last[:-1]])) if n else np.empty(0, np.int64)
    pairs = np.sort(leaf * (label.max(initial=0) + 1) + label)
    check((pairs[1:] != pairs[:-1]).all(), "a label is there twice in a leaf")
    learned = rows["stat"][rows["stat"] != -1]
    check(np.array_equal(learned, np.arange(len(forest.stats))), "the statistics of the class rows")
    check_finite(rows["mass"], rows["prior"])
    check((rows["mass"] >= 0.0).all(), "the masses of the classes")
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
    check(len(budget) == n, "the shares of the trees")
    there = {
        "nodes": _ends(forest) - forest.roots,
        "rows": np.bincount(tree, minlength=n),
        "stats": np.bincount(tree[forest.rows["stat"] >= 0], minlength=n),
    }
    for name, count in there.items():
        check(np.array_equal(budget[name], count), f"the {name} of the trees")
        most = budget[f"most_{name}"]
        check(((most >= 0) & (most <= UNLIMITED)).all(), "the shares of the trees")
    check_finite(budget["bar"])
    check((budget["refused"] >= 0).all(), "the shares of the trees")
