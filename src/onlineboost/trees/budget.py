"""What a tree does without when its share of the memory is used up.

Every tree has a share of its own, and all that is decided here depends on the tree alone: however the stream is cut
into blocks, and the trees into segments, the result is the same.

* *Statistics.* A leaf without them predicts by its class masses, and cannot be split. When a leaf wants a row of
  `stats` and the tree has as many as it may, the tree's leaves are compared by their *promise*: the weight that the
  majority class does not explain. The least promising quarter give up their statistics. A leaf that has none asks again
  each time it has taken in its grace period of weight, and gets them if its promise is above that of all who gave up.
* *Nodes and class rows.* A split that would need more than there may be is not made. The last quarter of the class rows
  is for classes that a leaf meets for the first time; once they are used up, a leaf learns no other classes than those
  it knows.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.jit import bare_kernel, inlined_kernel, kernel
from onlineboost.trees.state import GAVE_UP, HIGH, LOW, N_FREE_STATS, N_STATS, WAITING

QUARTER = 4  # one leaf in this number gives up its statistics at a time


@bare_kernel
def may_split(forest, i, branches, classes):
    """Whether tree i has room for `branches` new leaves, with `classes` class rows each."""
    own = forest.budget[i]
    fits = own.nodes + branches <= own.most_nodes and own.rows + branches * classes <= own.most_rows // 4 * 3
    if not fits:
        own.refused += 1
    return fits


@bare_kernel
def new_stat(forest):
    used = forest.used
    if used[N_FREE_STATS] > 0:
        used[N_FREE_STATS] -= 1
        s = np.int64(forest.free_stats[used[N_FREE_STATS]])
    else:
        s = used[N_STATS]
        used[N_STATS] += 1
    n = forest.n_numeric
    stat = forest.stats[s]
    stat[:] = 0.0
    stat[LOW * n : (LOW + 1) * n] = math.inf
    stat[HIGH * n : (HIGH + 1) * n] = -math.inf
    return s


@bare_kernel
def free_stat(forest, i, row):
    """The statistics of a class row of tree i, if it has any, may be used again."""
    if forest.rows[row].stat >= 0:
        used = forest.used
        forest.free_stats[used[N_FREE_STATS]] = forest.rows[row].stat
        used[N_FREE_STATS] += 1
        forest.rows[row].stat = -1
        forest.budget[i].stats -= 1


@inlined_kernel
def wanted_stat(forest, i, leaf, row):
    """A row of `stats` for a class that is learned at a leaf of tree i; -1: there is none to be had."""
    if forest.details[leaf].heavy == GAVE_UP or forest.rows[row].denied:
        return -1
    if forest.budget[i].stats >= forest.budget[i].most_stats and not make_way(forest, i, leaf, row):
        return -1
    forest.budget[i].stats += 1
    return new_stat(forest)


@bare_kernel
def promise(rows, first):
    """The weight of all classes of a leaf but the heaviest."""
    total = most = 0.0
    row = np.int64(first)
    while row >= 0:
        mass = rows[row].mass
        total += min(mass, most)
        most = max(mass, most)
        row = np.int64(rows[row].next)
    return total


@bare_kernel
def has_statistics(rows, first):
    row = np.int64(first)
    while row >= 0:
        if rows[row].stat >= 0:
            return True
        row = np.int64(rows[row].next)
    return False


@bare_kernel
def give_up(forest, i, leaf):
    """This leaf of tree i goes on without statistics."""
    detail = forest.details[leaf]
    detail.heavy = GAVE_UP
    detail.since = 0.0
    row = np.int64(forest.nodes[leaf].first)
    while row >= 0:
        free_stat(forest, i, row)
        forest.rows[row].denied = 0
        row = np.int64(forest.rows[row].next)


@kernel
def leaves_of(nodes, details, root, n_nodes):
    """The leaves below a root, in some order; the tree has `n_nodes` nodes."""
    leaves = np.empty(n_nodes, np.int64)
    leaves[0] = root
    found, todo = 0, 1  # leaves[:found] are leaves, those up to todo are to be looked at
    while found < todo:
        at = leaves[found]
        if nodes[at].feature < 0:
            found += 1
            continue
        first, n = nodes[at].first, details[at].n_children
        todo -= 1
        leaves[found] = leaves[todo]
        for child in range(first, first + n):
            leaves[todo] = child
            todo += 1
    return leaves[:found]


@kernel
def make_way(forest, i, leaf, row):
    """Have the least promising leaves of tree i give up their statistics, for a class row of this leaf.

    Returns whether the class can have them.
    """
    nodes, rows, own = forest.nodes, forest.rows, forest.budget[i]
    leaves = leaves_of(nodes, forest.details, forest.roots[i], own.nodes)
    promises = np.empty(leaves.size)
    m = 0
    for at in leaves:
        if at != leaf and has_statistics(rows, nodes[at].first):
            leaves[m] = at
            promises[m] = promise(rows, nodes[at].first)
            m += 1
    if m:
        own.bar = np.sort(promises[:m])[(m - 1) // QUARTER]
    for j in range(m):
        if promises[j] <= own.bar:
            give_up(forest, i, leaves[j])
    if has_statistics(rows, nodes[leaf].first):
        rows[row].denied = int(m == 0)
    elif m == 0 or promise(rows, nodes[leaf].first) <= own.bar:
        give_up(forest, i, leaf)
    return own.stats < own.most_stats and forest.details[leaf].heavy != GAVE_UP and not rows[row].denied


@bare_kernel
def ask_again(forest, i, leaf):
    """A leaf of tree i that has no statistics may have some, if it is promising.

    Naive Bayes, which knows nothing of what the leaf has learned before, has to prove itself again.
    """
    if promise(forest.rows, forest.nodes[leaf].first) > forest.budget[i].bar:
        forest.details[leaf].heavy = WAITING
        forest.details[leaf].bayes_lead = -forest.grace[i]
