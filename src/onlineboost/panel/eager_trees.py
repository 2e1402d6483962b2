"""Eager trees: they split as soon as a leaf has met two classes, by cuts that are drawn at random.

A leaf keeps the weights of its classes and the numbers of its last rows, by turns. As soon as these rows are of two
classes, CUTS columns are drawn in proportion to (range among the rows) x (weight of the column), a threshold each
between the ends of the range, and the cut of least impurity is made (Gini's: no logarithms, and no less accurate). The
rows go on to the children, and with them the weights of the classes: nothing is forgotten at a split.

The rows themselves are in a memory that all trees share; those that have left it are of no use for a split any more. A
tree that has no room for a split starts again. The trees have room for different numbers of nodes, so that they do not
all do so at the same time. `eager` has what they say and how they learn, here is how they grow.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import float_bits, prefetch
from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost._compile.random import EAGER, drawn, stream
from onlineboost.contracts.schema import f4, i4, i8
from onlineboost.panel.columns import HEAVIEST, HUGE, LIGHTEST, ROOM

N_TREES = 24
ROWS = 16  # a leaf remembers
CLASSES = 8  # a leaf counts; of more, the lightest are forgotten
CUTS = 8  # drawn for a split
NODES = 8192  # of a tree at most
MEMORY = 8192  # rows in the memory
SAME = 1e-9  # cuts whose impurities differ by less are equally good, and the first one is made
PRIOR = 0.01  # weight that each class has in every leaf from the start
WRAP = 0x7FFFFFFF

SPLIT, LINK = 0, 1  # the two numbers of a node: the bits of its threshold, and `link`
COLUMN_BITS = 16
N_NODES, N_LEAVES = 0, 1  # Eager.used


class Eager(NamedTuple):
    """All trees, and their memory."""

    nodes: Annotated[np.ndarray, i8(N_TREES, "nodes", 2)]
    labels: Annotated[np.ndarray, i4(N_TREES, "leaves", CLASSES, below="classes")]
    weights: Annotated[np.ndarray, f4(N_TREES, "leaves", CLASSES, low=0.0, high=HUGE)]  # 0: no class
    rows: Annotated[np.ndarray, i4(N_TREES, "leaves", ROWS, below="rows")]  # numbers of rows
    met: Annotated[np.ndarray, i4(N_TREES, "leaves", low=0, high=2 * ROWS - 1)]  # rows that the leaf has been given
    used: Annotated[np.ndarray, i8(N_TREES, 2, default=1)]
    values: Annotated[np.ndarray, f4("memory", "columns", low=-HUGE, high=HUGE)]
    y: Annotated[np.ndarray, i4("memory", below="classes")]
    weight: Annotated[np.ndarray, f4("memory", low=LIGHTEST / ROOM, high=HEAVIEST * ROOM)]


class EagerWork(NamedTuple):
    """Scratch for one row."""

    leaf: np.ndarray  # int64 (trees,) node that the row is in
    turn: np.ndarray  # int64 (trees,) trees that something is to be done with
    rows: np.ndarray  # int64 (ROWS,) places in the memory
    numbers: np.ndarray  # int64 (ROWS,) their numbers
    kind: np.ndarray  # int64 (ROWS,) which of the classes at hand
    weights: np.ndarray  # float64 (ROWS,) their weights
    labels: np.ndarray  # int64 (ROWS,) the classes at hand
    mass: np.ndarray  # float64 (ROWS,) their weights
    left: np.ndarray  # float64 (ROWS,) and those on the left of a cut
    low: np.ndarray  # float32 (dense columns,)
    high: np.ndarray
    share: np.ndarray  # float64 (dense columns,) sums of range x weight up to this column


@small_kernel
def link(column, first):
    """What a node splits on, -1 for a leaf, and the first of its two children, or the leaf's place in the tables."""
    return (first << COLUMN_BITS) | (column + 1)


@small_kernel
def column_of(node):
    return (node[LINK] & ((1 << COLUMN_BITS) - 1)) - 1


@small_kernel
def first_of(node):
    return node[LINK] >> COLUMN_BITS


@bare_kernel
def push_row(rows, met, place, number):
    rows[met[place] % ROWS] = number
    met[place] += 1
    if met[place] >= 2 * ROWS:  # the turns go on, and the number stays small
        met[place] -= ROWS


@small_kernel
def fetch_leaf(eager, tree, place):
    """Ask for what is known of a leaf, which will soon be needed."""
    prefetch(eager.labels[tree], place, 0)
    prefetch(eager.weights[tree], place, 0)
    prefetch(eager.rows[tree], place, 0)
    prefetch(eager.met[tree], place, 0)


@bare_kernel
def gather_rows(eager, work, tree, place, t):
    """The leaf's rows that are still in the memory, oldest first, into `work`: how many classes and rows there are."""
    met = eager.met[tree, place]
    n_rows = kinds = 0
    for turn in range(max(0, met - ROWS), met):
        number = eager.rows[tree, place, turn % ROWS]
        age = ((t & WRAP) - number) & WRAP
        if age >= MEMORY:
            continue
        row = (t - age) % MEMORY
        kind = 0
        while kind < kinds and work.labels[kind] != eager.y[row]:
            kind += 1
        if kind == kinds:
            work.labels[kinds] = eager.y[row]
            work.mass[kinds] = 0.0
            kinds += 1
        work.mass[kind] += eager.weight[row]
        work.weights[n_rows] = eager.weight[row]
        work.rows[n_rows], work.numbers[n_rows], work.kind[n_rows] = row, number, kind
        n_rows += 1
    return kinds, n_rows


@small_kernel
def split(eager, work, tree, at, kinds, n_rows, column_weight, n, t, seed):
    """Make the best of the cuts that are drawn, if there is one."""
    total = weigh_ranges(eager.values, work, n_rows, column_weight, n)
    if total <= 0.0:
        return
    best, best_column, best_threshold, draws = 1e300, -1, 0.0, stream(seed, EAGER, tree)
    for cut in range(CUTS):
        column = drawn_column(work.share, n, total * drawn(draws, 2 * CUTS * t + 2 * cut))
        low, high = np.float64(work.low[column]), np.float64(work.high[column])
        threshold = low + (high - low) * drawn(draws, 2 * CUTS * t + 2 * cut + 1)
        found = impurity(eager.values, work, kinds, n_rows, column, threshold)
        if found < best - SAME:
            best, best_column, best_threshold = found, column, threshold
    limit = NODES // 2 + (NODES // 2) * (tree + 1) // N_TREES
    if eager.used[tree, N_NODES] + 2 > limit:
        start_again(eager, tree)
        return
    impurity(eager.values, work, kinds, n_rows, best_column, best_threshold)  # for work.left
    grow(eager, work, tree, at, kinds, n_rows, best_column, best_threshold)


@small_kernel
def weigh_ranges(values, work, n_rows, column_weight, n):
    """Ends of all columns among the rows at hand, and the sums of range x weight; returns the whole sum."""
    low, high = work.low, work.high
    first = values[work.rows[0]]
    for j in range(n):
        low[j] = high[j] = first[j]
    for i in range(1, n_rows, 2):
        widen_ends(low, high, values[work.rows[i]], values[work.rows[min(i + 1, n_rows - 1)]], n)
    for j in range(n):
        work.share[j] = (np.float64(high[j]) - np.float64(low[j])) * column_weight[j]
    total = 0.0
    for j in range(n):
        total += work.share[j]
        work.share[j] = total
    return total


@small_kernel
def widen_ends(low, high, row, other, n):
    """By two rows."""
    for j in range(n):
        less = row[j] if row[j] < other[j] else other[j]
        more = row[j] if row[j] > other[j] else other[j]
        low[j] = less if less < low[j] else low[j]
        high[j] = more if more > high[j] else high[j]


@bare_kernel
def drawn_column(share, n, level):
    """The first column whose sum is above `level`: by bisection, without a branch that cannot be foreseen."""
    first, left = 0, n
    while left > 1:
        half = left // 2
        first += half if share[first + half - 1] <= level else 0
        left -= half
    return first


@small_kernel
def impurity(values, work, kinds, n_rows, column, threshold):
    """Gini's, of the classes on both sides of a cut, times their weight; work.left gets the weights on the left."""
    if kinds == 2:
        weigh_two(values, work, n_rows, column, threshold)
    else:
        for kind in range(kinds):
            work.left[kind] = 0.0
        for i in range(n_rows):
            work.left[work.kind[i]] += work.weights[i] if values[work.rows[i], column] <= threshold else 0.0
    left = right = left_squares = right_squares = 0.0
    for kind in range(kinds):
        rest = max(0.0, work.mass[kind] - work.left[kind])
        left += work.left[kind]
        right += rest
        left_squares += work.left[kind] * work.left[kind]
        right_squares += rest * rest
    return (left - left_squares / max(left, 1e-30)) + (right - right_squares / max(right, 1e-30))


@small_kernel
def weigh_two(values, work, n_rows, column, threshold):
    """The weights on the left of a cut, where there are two classes: sums that need not go through memory."""
    first = second = 0.0
    for i in range(n_rows):
        weight = work.weights[i] if values[work.rows[i], column] <= threshold else 0.0
        first += weight if work.kind[i] == 0 else 0.0
        second += weight if work.kind[i] == 1 else 0.0
    work.left[0], work.left[1] = first, second


@bare_kernel
def start_again(eager, tree):
    """A single leaf that knows nothing."""
    for at in range(eager.used[tree, N_NODES]):
        eager.nodes[tree, at, SPLIT] = eager.nodes[tree, at, LINK] = 0
    for place in range(eager.used[tree, N_LEAVES]):
        clear_rows(eager, tree, place)
        for i in range(CLASSES):
            eager.weights[tree, place, i] = 0.0
            eager.labels[tree, place, i] = 0
    eager.used[tree, N_NODES] = eager.used[tree, N_LEAVES] = 1


@bare_kernel
def clear_rows(eager, tree, place):
    eager.met[tree, place] = 0
    for i in range(ROWS):
        eager.rows[tree, place, i] = 0


@small_kernel
def grow(eager, work, tree, at, kinds, n_rows, column, threshold):
    """Split node `at`: its place in the tables of leaves goes to the first child. work.left belongs to this cut."""
    nodes, used = eager.nodes[tree], eager.used[tree]
    children, place, other = used[N_NODES], first_of(nodes[at]), used[N_LEAVES]
    used[N_NODES] += 2
    used[N_LEAVES] += 1
    nodes[children, LINK], nodes[children + 1, LINK] = link(-1, place), link(-1, other)
    nodes[at, LINK], nodes[at, SPLIT] = link(column, children), float_bits(threshold)
    share_classes(eager, work, tree, place, other, kinds)
    clear_rows(eager, tree, place)
    clear_rows(eager, tree, other)
    for i in range(n_rows):
        leaf = place if eager.values[work.rows[i], column] <= threshold else other
        push_row(eager.rows[tree, leaf], eager.met[tree], leaf, work.numbers[i])


@bare_kernel
def share_classes(eager, work, tree, place, other, kinds):
    """Share the classes of a leaf between two, each as its rows at hand fall; all rows, for one that has none."""
    left = mass = 0.0
    for kind in range(kinds):
        left += work.left[kind]
        mass += work.mass[kind]
    for i in range(CLASSES):
        label, weight = eager.labels[tree, place, i], eager.weights[tree, place, i]
        share = left / mass
        for kind in range(kinds):
            if work.labels[kind] == label and work.mass[kind] > 0.0:
                share = min(1.0, work.left[kind] / work.mass[kind])
        for leaf, part in ((place, weight * share), (other, weight * (1.0 - share))):
            eager.weights[tree, leaf, i] = part
            eager.labels[tree, leaf, i] = label if eager.weights[tree, leaf, i] > 0.0 else 0
