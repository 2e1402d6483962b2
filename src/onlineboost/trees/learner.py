"""Trees as weak learners: the contract of a weak learner, for a forest."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel
from onlineboost.contracts.learner import LEARNER
from onlineboost.trees.learn import forget_columns, has_room, learn, room_allowed, room_needed
from onlineboost.trees.predict import fetch_leaf, find_leaves, leaf_distribution, route
from onlineboost.trees.state import Forest

AHEAD_FAR, AHEAD_NEAR = 8, 4  # rows by which leaves are fetched ahead


class Walk(NamedTuple):
    """Scratch for a block on its way down a tree."""

    leaves: np.ndarray  # int64 (rows,) the leaf of each row, before the block was learned
    walking: np.ndarray  # uint64 (rows,)


def new_walk(n_rows: int) -> Walk:
    return Walk(np.empty(n_rows, np.int64), np.empty(n_rows, np.uint64))


@inlined_kernel
def find(forest, i, rows, first, scratch):
    find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, first, scratch.leaves, scratch.walking)


@inlined_kernel
def ask(forest, i, rows, b, scratch, work):
    leaves, last = scratch.leaves, rows.X.shape[0] - 1
    fetch_leaf(forest, leaves[min(b + AHEAD_FAR, last)], leaves[min(b + AHEAD_NEAR, last)])
    x = rows.X[b]
    leaf = route(forest, leaves[b], x)  # on from there, if a row before this one has split it
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


LEARNER.implement(Forest, find, ask, room, spare, teach, forget)
