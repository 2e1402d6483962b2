"""Trees as weak learners: the contract of a weak learner, for a forest, and for groups of binary trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel
from onlineboost.contracts.learner import LEARNER
from onlineboost.trees.learn import forget_columns, has_room, learn, room_allowed, room_needed
from onlineboost.trees.predict import fetch_classes, fetch_leaf, find_in_trees, find_leaves, leaf_distribution, route
from onlineboost.trees.state import Forest

AHEAD_FAR, AHEAD_NEAR = 8, 4  # rows, or trees, by which leaves are fetched ahead
OTHERS = 7  # classes but the first whose statistics are: in a block only where those of a tree are
LARGE = 4 << 20  # bytes, or more: smaller ones stay in the cache


class Walk(NamedTuple):
    """Scratch for a block on its way down a tree, or for a single row on its way down all trees."""

    leaves: np.ndarray  # int64 the leaf of each row, before the block was learned; of a single row, that in each tree
    walking: np.ndarray  # uint64
    others: np.ndarray  # int64 (1,) classes of a leaf but the first whose statistics are fetched


def new_walk(n_rows: int, n_trees: int) -> Walk:
    size = n_rows if n_rows > 1 else n_trees
    return Walk(np.empty(size, np.int64), np.empty(size, np.uint64), np.full(1, OTHERS))


@inlined_kernel
def find_all(forest, first, stop, rows, scratch):
    if rows.X.shape[0] == 1:
        leaves, last = scratch.leaves, forest.roots.size - 1
        find_in_trees(forest.nodes, forest.details, forest.roots, rows.X[0], first, stop, leaves, scratch.walking)
        for tree in range(first, min(first + AHEAD_NEAR, stop)):
            fetch_leaf(forest, leaves[min(tree + AHEAD_NEAR, last)], leaves[tree])
            fetch_classes(forest.nodes, forest.rows, forest.stats, leaves[tree], OTHERS)


@inlined_kernel
def find(forest, i, rows, first, scratch):
    if rows.X.shape[0] > 1:
        find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, first, scratch.leaves, scratch.walking)
        scratch.others[0] = OTHERS if forest.budget[i].stats * forest.stats.strides[0] > LARGE else 0


@inlined_kernel
def ask(forest, i, rows, b, scratch, work):
    leaves = scratch.leaves
    at, last = (b, rows.X.shape[0] - 1) if rows.X.shape[0] > 1 else (i, forest.roots.size - 1)
    near = leaves[min(at + AHEAD_NEAR, last)]
    fetch_leaf(forest, leaves[min(at + AHEAD_FAR, last)], near)
    if scratch.others[0] > 0:
        fetch_classes(forest.nodes, forest.rows, forest.stats, near, scratch.others[0])
    x = rows.X[b]
    leaf = route(forest, leaves[at], x)  # on from there, if a row before this one has split it
    n, majority, bayes = leaf_distribution(forest, i, leaf, x, rows.missing[b], work.labels, work.p)
    return n, (leaf, majority, bayes)


@inlined_kernel
def room(forest, i, what, weight, scratch):
    nodes, rows, stats = room_needed(forest, i, what[0], weight)
    if not has_room(forest, nodes, rows, stats):
        nodes, rows, stats = room_allowed(forest, i, what[0], weight)
    return has_room(forest, nodes, rows, stats), nodes, rows, stats


@inlined_kernel
def spare(forest, nodes, rows, stats):
    return has_room(forest, nodes, rows, stats)


@inlined_kernel
def teach(forest, i, rows, b, y, weight, t, what, scratch):
    leaf, majority, bayes = what
    learn(forest, i, leaf, rows.X[b], rows.spread[b], y, weight, majority, bayes, t)


@inlined_kernel
def forget(forest, i, rows, b):
    forget_columns(forest, i, rows.spread[b])


LEARNER.implement(Forest, find_all, find, ask, room, spare, teach, forget)


# -------------------------------------------------------------------------------------- one binary tree per class
# Tree j of a learner tells class j from all others. Learner i has the trees i k ... i k + k - 1 of a forest. Its
# distribution is p_j = P_j(mine) / sum_j P_j(mine), and all its trees learn an example with the same weight.

MINE = 1  # the label that a class's own examples have in its binary trees; all others have 0


class BinaryTrees(NamedTuple):
    """A forest of k trees for each learner."""

    forest: Forest


class Group(NamedTuple):
    """Scratch: what the trees of a learner have said of a row."""

    leaves: np.ndarray  # int64 (k,) the leaf of each tree
    opinions: np.ndarray  # int64 (k, 2) the two labels that `trees.learn` is to be told
    labels: np.ndarray  # int64 (2,)
    q: np.ndarray  # float64 (4,)


def new_group(k: int) -> Group:
    return Group(np.empty(k, np.int64), np.empty((k, 2), np.int64), np.empty(2, np.int64), np.empty(4))


@inlined_kernel
def ask_group(learner, i, rows, b, scratch, work):
    """A tree that has learned nothing says 1/2."""
    forest, k, p = learner.forest, rows.k, work.p
    total = 0.0
    for j in range(k):
        tree = i * k + j
        leaf = route(forest, forest.roots[tree], rows.X[b])
        n, majority, bayes = leaf_distribution(
            forest, tree, leaf, rows.X[b], rows.missing[b], scratch.labels, scratch.q
        )
        scratch.leaves[j] = leaf
        scratch.opinions[j, 0] = majority
        scratch.opinions[j, 1] = bayes
        p[j] = 0.5 if n == 0 else 0.0
        for m in range(n):
            if scratch.labels[m] == MINE:
                p[j] = scratch.q[m]
        total += p[j]
        work.labels[j] = j
    for j in range(k):
        p[j] = p[j] / total if total > 0.0 else 1.0 / k
    return k, 0


@inlined_kernel
def room_of_group(learner, i, what, weight, scratch):
    forest, k = learner.forest, scratch.leaves.size
    nodes = rows = stats = 0
    for j in range(k):
        more_nodes, more_rows, more_stats = room_allowed(forest, i * k + j, scratch.leaves[j], weight)
        nodes, rows, stats = nodes + more_nodes, rows + more_rows, stats + more_stats
    return has_room(forest, nodes, rows, stats), nodes, rows, stats


@inlined_kernel
def spare_of_group(learner, nodes, rows, stats):
    return has_room(learner.forest, nodes, rows, stats)


@inlined_kernel
def teach_group(learner, i, rows, b, y, weight, t, what, scratch):
    forest, k, opinions = learner.forest, rows.k, scratch.opinions
    for j in range(k):
        leaf, mine = scratch.leaves[j], int(y == j)
        majority, bayes = opinions[j, 0], opinions[j, 1]
        learn(forest, i * k + j, leaf, rows.X[b], rows.spread[b], mine, weight, majority, bayes, t)


@inlined_kernel
def forget_group(learner, i, rows, b):
    for j in range(rows.k):
        forget_columns(learner.forest, i * rows.k + j, rows.spread[b])


LEARNER.implement(
    BinaryTrees,
    ask=ask_group,
    room=room_of_group,
    spare=spare_of_group,
    teach=teach_group,
    forget=forget_group,
)
