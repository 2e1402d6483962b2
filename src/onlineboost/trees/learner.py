"""Trees as weak learners: the contract of a weak learner, for a forest, and for groups of binary trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel
from onlineboost.contracts.learner import LEARNER
from onlineboost.trees.learn import forget_columns, has_room, learn, room_allowed, room_needed
from onlineboost.trees.predict import (
    bytes_of_bayes,
    fetch_classes,
    fetch_leaf,
    fetch_leaves,
    fetch_lists,
    find_leaves,
    leaf_distribution,
    route,
    start_walks,
    walk_on,
)
from onlineboost.trees.state import N_LOST, Forest

AHEAD_FAR, AHEAD_NEAR = 8, 4  # rows by which leaves are fetched ahead
OTHERS = 7  # classes but the first whose statistics are: only where those of a tree are
LARGE = 4 << 20  # bytes, or more: smaller ones stay in the cache


class Walk(NamedTuple):
    """Scratch for a block on its way down a tree, or for a single row on its way down all trees."""

    leaves: np.ndarray  # int64 the leaf of each row, before the block was learned; of a single row, that in each tree
    walking: np.ndarray  # uint64
    others: np.ndarray  # int64 (1,) classes of a leaf but the first whose statistics are fetched
    # Of a single row. Whoever predicts it, then learns it, asks once.
    state: np.ndarray  # int64 (10,) as below
    about: np.ndarray  # float64 (columns,) the row
    said: np.ndarray  # int64 (trees, 3) labels by majority and by naive Bayes, and the vote


ROUND, LOST = 0, 1  # Walk.state: round in which trees were asked about the row, and nodes that were lost then (N_LOST);
FOUND, ASKED = 2, 3  # trees from the first on whose leaf is known, and that have voted;
PHASE, FROM, TO, MANY = 4, 5, 6, 7  # what `find_more` is at: trees FROM, ..., TO - 1, and how many it is not done with;
LABEL, BYTES = 8, 9  # label, -1: not known, whose statistics are fetched as a whole; and bytes of those of others
DONE, WALKING, LISTS = range(3)  # values of PHASE
MAJORITY, BAYES, VOTE = range(3)  # Walk.said


def new_walk(shape: tuple[int, ...], n_trees: int) -> Walk:
    """For a block of this shape."""
    size, single = (shape[0], 0) if shape[0] > 1 else (n_trees, 1)
    leaves, walking = np.empty(size, np.int64), np.empty(size, np.uint64)
    state = np.array([-1, 0, 0, 0, DONE, 0, 0, 0, -1, 0])
    about, said = np.zeros(single * shape[1]), np.empty((single * n_trees, 3), np.int64)
    return Walk(leaves, walking, np.full(1, OTHERS), state, about, said)


@inlined_kernel
def meet_row(forest, rows, scratch):
    """What is known of a single row stays, if it is the same row and round, and no node has been moved meanwhile."""
    state, about, x = scratch.state, scratch.about, rows.X[0]
    known = state[ROUND] == rows.t and state[LOST] == forest.used[N_LOST]
    for c in range(about.size):
        known = known and (about[c] == x[c] or (about[c] != about[c] and x[c] != x[c]))
        about[c] = x[c]
    if not known:
        state[ROUND], state[LOST], state[FOUND], state[ASKED], state[LABEL] = rows.t, forest.used[N_LOST], 0, 0, -1


@inlined_kernel
def find_all(forest, scratch, n, first, rows, y):
    if rows.X.shape[0] == 1:
        meet_row(forest, rows, scratch)
        state, label = scratch.state, y[0] if y.size > 0 else -1
        start = max(first, state[FOUND])
        if start < n or label != state[LABEL]:
            state[MANY] = start_walks(forest.nodes, forest.roots, start, n, scratch.leaves, scratch.walking)
            state[PHASE], state[FROM], state[TO] = WALKING, start if label < 0 else first, n
            state[LABEL] = label
            state[BYTES] = bytes_of_bayes(forest.stats, forest.n_numeric) if start < n else 0
        if first <= state[FOUND]:
            state[FOUND] = max(start, n)


@inlined_kernel
def find_more(forest, scratch, rows):
    """All walks go on by a level; once they have come to leaves, the next class of each leaf is fetched."""
    state, leaves, walking = scratch.state, scratch.leaves, scratch.walking
    if state[PHASE] == DONE:
        return False
    if state[PHASE] == WALKING:
        if state[MANY] > 0:
            state[MANY] = walk_on(forest.nodes, forest.details, rows.X[0], leaves, walking, state[MANY])
        else:
            own = leaves[state[FROM] : state[TO]]
            state[MANY] = fetch_leaves(forest.nodes, forest.details, forest.rows, own, walking)
            state[PHASE] = LISTS
        return True
    state[MANY] = fetch_lists(forest.rows, forest.stats, walking, state[MANY], state[LABEL], state[BYTES])
    if state[MANY] == 0:
        state[PHASE] = DONE
    return state[MANY] > 0


@inlined_kernel
def find(forest, i, rows, first, scratch):
    if rows.X.shape[0] > 1:
        find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, first, scratch.leaves, scratch.walking)
        scratch.others[0] = OTHERS if forest.budget[i].stats * forest.stats.strides[0] > LARGE else 0


@inlined_kernel
def remember(forest, i, what, l, scratch):
    if scratch.said.shape[0] > 0 and scratch.state[ASKED] == i:
        leaf, majority, bayes = what
        scratch.leaves[i] = leaf
        scratch.said[i, MAJORITY], scratch.said[i, BAYES], scratch.said[i, VOTE] = majority, bayes, l
        scratch.state[ASKED] = i + 1


@inlined_kernel
def recall(forest, i, scratch):
    return scratch.said[i, VOTE] if i < scratch.state[ASKED] else -1


@inlined_kernel
def ask(forest, i, rows, b, scratch, work):
    leaves, last = scratch.leaves, rows.X.shape[0] - 1
    if i < scratch.state[ASKED]:
        return 0, (leaves[i], scratch.said[i, MAJORITY], scratch.said[i, BAYES])
    if last > 0:
        near = leaves[min(b + AHEAD_NEAR, last)]
        fetch_leaf(forest, leaves[min(b + AHEAD_FAR, last)], near)
        if scratch.others[0] > 0:
            fetch_classes(forest.nodes, forest.rows, forest.stats, near, scratch.others[0])
    x = rows.X[b]
    leaf = route(forest, leaves[b if last > 0 else i], x)  # on from there, if a row before this one has split it
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


LEARNER.implement(Forest, find_all, find_more, find, remember, recall, ask, room, spare, teach, forget)


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
