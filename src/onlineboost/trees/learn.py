"""Learning one example in a Hoeffding tree (VFDT, Domingos and Hulten 2000), and splitting a leaf."""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.fastmath import log
from onlineboost._compile.jit import bare_kernel, inlined_kernel, kernel, small_kernel
from onlineboost._compile.random import child_key
from onlineboost.trees.budget import ask_again, free_stat, may_split, wanted_stat
from onlineboost.trees.predict import MANY, log_product, long_log_product
from onlineboost.trees.split import best_split, share_below
from onlineboost.trees.state import (
    FREE_ROW,
    GAVE_UP,
    HIGH,
    INVERSE,
    LOW,
    MEAN,
    N_FREE_ROWS,
    N_FREE_STATS,
    N_LEAVES,
    N_NODES,
    N_ROWS,
    N_STATS,
    SQUARES,
    WAITING,
    WEIGHT,
    LeafRule,
)

PRIOR_EXAMPLES = 3.0  # naive Bayes: a class's variance starts from the column's, with the weight of this many examples


@inlined_kernel
def room_needed(forest, i, leaf, weight):
    """Nodes, class rows and rows of stats that learning one example here can take at most."""
    if forest.details[leaf].since + weight <= forest.grace[i]:
        return 0, 1, 1
    branches = 2
    for j in range(forest.offset.size - 1):
        branches = max(branches, forest.offset[j + 1] - forest.offset[j] - 1)
    classes = 1 + n_classes(forest.rows, forest.nodes[leaf].first)
    return branches, branches * classes, 1


@bare_kernel
def n_classes(rows, first):
    """Number of class rows in the list that begins here."""
    classes = 0
    row = np.int64(first)
    while row >= 0:
        classes += 1
        row = np.int64(rows[row].next)
    return classes


@inlined_kernel
def has_room(forest, nodes, rows, stats):
    used = forest.used
    return (
        used[N_NODES] + nodes <= forest.nodes.size
        and used[N_ROWS] + rows <= forest.rows.size + used[N_FREE_ROWS]
        and used[N_STATS] + stats <= forest.stats.shape[0] + used[N_FREE_STATS]
    )


@inlined_kernel
def room_allowed(forest, i, leaf, weight):
    """`room_needed`, but no more than tree i may still take."""
    nodes, rows, stats = room_needed(forest, i, leaf, weight)
    own = forest.budget[i]
    return (
        min(nodes, own.most_nodes - own.nodes),
        min(rows, own.most_rows - own.rows),
        min(stats, own.most_stats - own.stats),
    )


@bare_kernel
def new_row(forest, i, leaf, label, mass):
    """Append a class row to the list of a leaf of tree i."""
    rows, used = forest.rows, forest.used
    row = used[FREE_ROW]
    if row >= 0:
        used[FREE_ROW] = rows[row].next
        used[N_FREE_ROWS] -= 1
    else:
        row = used[N_ROWS]
        used[N_ROWS] += 1
    forest.budget[i].rows += 1
    rows[row].label = label
    rows[row].next = -1
    rows[row].stat = -1
    rows[row].denied = 0
    rows[row].mass = mass
    rows[row].prior = 0.0
    last = forest.nodes[leaf].first
    if last < 0:
        forest.nodes[leaf].first = row
    else:
        while rows[last].next >= 0:
            last = rows[last].next
        rows[last].next = row
    return row


@small_kernel
def add_numeric(stat, x, weight, n):
    """Update weight, mean, squares, low and high of the numeric columns; a missing value changes nothing.

    Several short loops rather than one: the compiler vectorises a loop over a few arrays only.
    """
    w = stat[WEIGHT * n : (WEIGHT + 1) * n]
    mean = stat[MEAN * n : (MEAN + 1) * n]
    squares = stat[SQUARES * n : (SQUARES + 1) * n]
    low = stat[LOW * n : (LOW + 1) * n]
    high = stat[HIGH * n : (HIGH + 1) * n]
    for c in range(n):
        known = x[c] == x[c]
        before = w[c]
        total = before + weight
        off = x[c] - mean[c]
        step = off * (weight / total)  # West 1979
        w[c] = total if known else before
        mean[c] += step if known else 0.0
        squares[c] += before * off * step if known else 0.0  # in this order: an infinite square times 0 is NaN
    for c in range(n):
        low[c] = x[c] if x[c] < low[c] else low[c]
    for c in range(n):
        high[c] = x[c] if x[c] > high[c] else high[c]


@small_kernel
def set_variances(stat, spread, prior, n):
    """Inverse variances for naive Bayes, each shrunk towards the column's variance."""
    w = stat[WEIGHT * n : (WEIGHT + 1) * n]
    squares = stat[SQUARES * n : (SQUARES + 1) * n]
    inverse = stat[INVERSE * n : (INVERSE + 1) * n]
    for c in range(n):
        total, weight = squares[c] + prior * abs(spread[c]), w[c] + prior
        inverse[c] = weight / total if (w[c] > 0.0) & (total > 1e-290 * weight) else 0.0


@inlined_kernel
def learn(forest, i, leaf, x, spread, y, weight, majority, bayes, t):
    """Tree i learns (x, y) of round t with this weight, at the leaf x fell into, and splits the leaf if that pays.

    `spread` is the variance of the numeric columns over the stream so far, `majority` and `bayes` are the labels
    `leaf_distribution` returned for x. The caller has made room.
    """
    nodes, details, rows = forest.nodes, forest.details, forest.rows
    row = np.int64(nodes[leaf].first)
    while row >= 0 and rows[row].label != y:
        row = np.int64(rows[row].next)
    if row < 0:
        if forest.budget[i].rows >= forest.budget[i].most_rows:
            return  # no memory for one more class here
        row = new_row(forest, i, leaf, y, 0.0)
    details[leaf].bayes_lead += weight * (int(bayes == y) - int(majority == y))
    details[leaf].mass += weight
    details[leaf].since += weight
    rows[row].mass += weight
    if rows[row].stat < 0:
        rows[row].stat = wanted_stat(forest, i, leaf, row)
    if rows[row].stat >= 0:
        learn_values(forest, i, row, x, spread, weight)
    if details[leaf].since > forest.grace[i]:
        details[leaf].since = 0.0
        if details[leaf].heavy == GAVE_UP:
            ask_again(forest, i, leaf)
        elif may_split(forest, i, 2, 1):
            feature, threshold = best_split(forest, i, leaf, t)
            if feature >= 0:
                split(forest, i, leaf, feature, threshold, t)


@inlined_kernel
def learn_values(forest, i, row, x, spread, weight):
    """The statistics of a class row of tree i learn x."""
    rows = forest.rows
    stat = forest.stats[rows[row].stat]
    n = forest.n_numeric
    if n:
        add_numeric(stat, x, weight, n)
        if forest.leaf != LeafRule.MAJORITY:
            set_variances(stat, spread, PRIOR_EXAMPLES * forest.unit[i], n)
    if forest.leaf != LeafRule.MAJORITY:
        rows[row].prior = prior_of(rows[row].mass, stat, n)
    for j in range(forest.offset.size - 1):
        if x[n + j] == x[n + j] and forest.offset[j + 1] - forest.offset[j] > 1:
            stat[forest.offset[j]] += weight
            stat[forest.offset[j] + 1 + int(x[n + j])] += weight


@inlined_kernel
def forget_columns(forest, i, spread):
    """Tree i forgets what it knows of the numeric columns whose `spread` is below 0; its splits stay."""
    bayes = forest.leaf != LeafRule.MAJORITY
    _forget_columns(forest.nodes, forest.details, forest.rows, forest.stats, forest.roots[i], spread, bayes)


@kernel
def _forget_columns(nodes, details, rows, stats, root, spread, bayes):
    waiting, left = np.empty(nodes.size, np.int64), 1
    waiting[0] = root
    while left > 0:
        left -= 1
        at = waiting[left]
        if nodes[at].feature >= 0:
            for child in range(details[at].n_children):
                waiting[left] = nodes[at].first + child
                left += 1
        else:
            row = np.int64(nodes[at].first)
            while row >= 0:
                if rows[row].stat >= 0:
                    forget_in(stats[rows[row].stat], spread)
                    if bayes:
                        rows[row].prior = prior_of(rows[row].mass, stats[rows[row].stat], spread.size)
                row = np.int64(rows[row].next)


@bare_kernel
def forget_in(stat, spread):
    n = spread.size
    for c in range(n):
        if spread[c] < 0.0:
            for stretch in (MEAN, INVERSE, WEIGHT, SQUARES):
                stat[stretch * n + c] = 0.0
            stat[LOW * n + c], stat[HIGH * n + c] = math.inf, -math.inf


@small_kernel
def prior_of(mass, stat, n):
    """ROW.prior of a class row with this mass and these statistics."""
    inverse = stat[INVERSE * n : (INVERSE + 1) * n]
    return log(mass) + 0.5 * (log_product(inverse) if n <= MANY else long_log_product(inverse))


@bare_kernel
def start_leaf(forest, at, key):
    """Make this node a leaf that knows no class."""
    node, detail = forest.nodes[at], forest.details[at]
    node.feature = -1
    node.first = -1
    node.threshold = math.nan
    detail.n_children = 0
    detail.heavy = WAITING
    detail.mass = 0.0
    detail.since = 0.0
    detail.bayes_lead = 0.0
    detail.key = key


@bare_kernel
def free_rows(forest, i, first_row):
    """Class rows of a leaf of tree i, and their statistics, may be used again."""
    rows, used, own = forest.rows, forest.used, forest.budget[i]
    row = np.int64(first_row)
    while row >= 0:
        following = np.int64(rows[row].next)
        free_stat(forest, i, row)
        rows[row].next = used[FREE_ROW]
        used[FREE_ROW] = row
        used[N_FREE_ROWS] += 1
        own.rows -= 1
        row = following


@bare_kernel
def n_branches(forest, feature, t):
    """Branches of a split on this column in round t."""
    j = feature - forest.n_numeric
    if j < 0:
        return 2
    branches = 0  # every value the column has shown up to this round, seen at this leaf or not
    born = forest.birth[forest.offset[j] - forest.offset[0] + 1 : forest.offset[j + 1] - forest.offset[0]]
    while branches < born.size and born[branches] <= t:
        branches += 1
    return branches


@bare_kernel
def split(forest, i, leaf, feature, threshold, t):
    """Turn a leaf of tree i into an inner node whose children inherit its class masses, branch by branch."""
    nodes, details, rows, used = forest.nodes, forest.details, forest.rows, forest.used
    n = forest.n_numeric
    j = feature - n
    branches = n_branches(forest, feature, t)
    first_row = nodes[leaf].first
    if not may_split(forest, i, branches, n_classes(rows, first_row)):
        return
    first = used[N_NODES]
    used[N_NODES] += branches
    used[N_LEAVES] += branches - 1
    forest.budget[i].nodes += branches
    heavy = first
    for b in range(branches):
        child = first + b
        start_leaf(forest, child, child_key(details[leaf].key, b))
        row = first_row
        while row >= 0:
            s = rows[row].stat
            if s >= 0:
                if feature < n:
                    share = share_below(forest.stats[s], n, feature, threshold)
                    mass = forest.stats[s, WEIGHT * n + feature] * (share if b == 0 else 1.0 - share)
                else:
                    mass = forest.stats[s, forest.offset[j] + 1 + b]
                if mass > 0.0:
                    new_row(forest, i, child, rows[row].label, mass)
                    details[child].mass += mass
            row = rows[row].next
        if details[child].mass > details[heavy].mass:
            heavy = child
        if details[child].mass == 0.0:  # a value not seen here: the parent's classes, with next to no weight
            row = first_row
            while row >= 0:
                new_row(forest, i, child, rows[row].label, 1e-6 * rows[row].mass)
                details[child].mass += 1e-6 * rows[row].mass
                row = rows[row].next
    free_rows(forest, i, first_row)
    nodes[leaf].feature = feature
    nodes[leaf].first = first
    nodes[leaf].threshold = threshold
    details[leaf].n_children = branches
    details[leaf].heavy = heavy
