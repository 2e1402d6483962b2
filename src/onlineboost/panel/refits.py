"""Boosted trees over the last rows, one of which is fitted anew at a time.

TREES small trees whose leaves hold votes for the classes, added up. From time to time the oldest of them is taken out,
and a new one is fitted to what the others get wrong on the rows that are remembered (`remembered`): by the
slopes of the log loss at the votes of the others, with one Newton step per leaf,

    g_c = w (p_c - 1[c = y])        h_c = w p_c (1 - p_c)        vote_c = -RATE sum g_c / (sum h_c + RIDGE)

The splits are found on histograms of COLUMNS columns that are drawn, and of SKETCHES sums of the slopes with random
signs, in place of one for every class (Iosipoi, Vakhrushev: SketchBoost, 2022). USEFUL of the columns are those of cuts
of the trees there are, drawn at random: what has been of use comes again, so that a few columns that matter together
are found among many that do not. For every other tree the least-squares scores are columns too; the rest must do
without them, for a cut that looks best at once can hide those that are best together. A tree is fitted each time one
part in PARTS of the rows is new, so that the cost of a row stays the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import add_four
from onlineboost._compile.jit import bare_kernel, fused_kernel, small_kernel, summing_kernel
from onlineboost._compile.random import REFIT, uniform
from onlineboost.contracts.schema import f4, i4, i8
from onlineboost.contracts.state import require
from onlineboost.panel.columns import COLUMNS as IN_USE
from onlineboost.panel.columns import HUGE, ROWS, moved
from onlineboost.panel.combiner import softmax
from onlineboost.panel.least_squares import FOLD, dot
from onlineboost.panel.member import MEMBER, Part
from onlineboost.panel.remembered import LAST, RECENT

TREES = 32
DEPTH = 4
NODES = 1 << (DEPTH + 1)  # node i has children 2i and 2i + 1; the root is 1
COLUMNS = 12  # drawn for a tree
USEFUL = 9  # of them by cuts of the trees there are
AT_ONCE = 4  # whose histograms are filled together; divides COLUMNS
BINS = 32
LOOKED_AT = 64  # rows from which the edges of the bins are taken
SKETCHES = 3
PARTS = 32
SOONEST = 2  # rows between two fits, at least
RATE = 0.2
RIDGE = 1.0
BOUND = 2.0  # no vote of a leaf is larger
LIGHTEST = 1e-3  # sum of h on either side of a split, at least
SAME = 1e-3  # cuts whose gains differ by less are equally good, and the first one is made; the least gain of a cut
SCORES = 1 << 20  # column numbers from here on are those of scores
NONE = -1  # column of a leaf

NEXT, DUE = 0, 1  # Refits.plan: the tree that is fitted next, and the number of rows after which


class Refits(NamedTuple):
    """The trees, and what they say of the rows that are remembered."""

    columns: Annotated[np.ndarray, i4(TREES, NODES, default=NONE)]
    thresholds: Annotated[np.ndarray, f4(TREES, NODES, low=-1e4 * HUGE, high=1e4 * HUGE)]
    votes: Annotated[np.ndarray, f4(TREES, NODES, "classes", low=-BOUND, high=BOUND)]
    said: Annotated[np.ndarray, f4("recent", "classes", low=-2.0 * TREES * BOUND, high=2.0 * TREES * BOUND)]
    plan: Annotated[np.ndarray, i8(2, default=(0, 2))]


class RefitsWork(NamedTuple):
    """Scratch for one fit."""

    p: np.ndarray  # float32 (recent, k) probabilities without the tree that is taken out
    slopes: np.ndarray  # float32 (recent, SKETCHES + 1) sums of slopes with signs, and of h
    signs: np.ndarray  # float64 (SKETCHES, k)
    node: np.ndarray  # int32 (recent,)
    bins: np.ndarray  # uint8 (COLUMNS, recent)
    edges: np.ndarray  # float32 (COLUMNS, BINS - 1)
    drawn: np.ndarray  # int64 (columns + scores,) the first COLUMNS are those of the tree
    sample: np.ndarray  # float32 (LOOKED_AT,)
    histograms: np.ndarray  # float32 (AT_ONCE * NODES / 4 * BINS, SKETCHES + 1) of several columns, and their nodes
    sums: np.ndarray  # float64 (NODES / 4, SKETCHES + 1)
    left: np.ndarray  # float64 (SKETCHES + 2, BINS) sums up to each bin, and the gain of a cut there
    best: np.ndarray  # float64 (NODES / 4,) gain
    cut: np.ndarray  # int64 (NODES / 4, 2) column drawn, and last bin on the left
    leaf: np.ndarray  # float64 (NODES, 2, k) sums of g and h
    total: np.ndarray  # float64 (k,) the votes of all trees for one row


def new_refits_work(refits: Refits, sizes: Mapping[str, int]) -> RefitsWork:
    n, recent, k = NODES // 4, sizes["recent"], sizes["classes"]
    return RefitsWork(
        np.empty((recent, k), np.float32),
        np.empty((recent, SKETCHES + 1), np.float32),
        np.empty((SKETCHES, k)),
        np.empty(recent, np.int32),
        np.zeros((COLUMNS, recent), np.uint8),
        np.empty((COLUMNS, BINS - 1), np.float32),
        np.empty(sizes["columns"] + 2 * FOLD, np.int64),
        np.empty(LOOKED_AT, np.float32),
        np.empty((AT_ONCE * n * BINS, SKETCHES + 1), np.float32),
        np.empty((n, SKETCHES + 1)),
        np.empty((SKETCHES + 2, BINS)),
        np.empty(n),
        np.empty((n, 2), np.int64),
        np.empty((NODES, 2, k)),
        np.empty(k),
    )


@bare_kernel
def say(refits, work, said, shared, row, n, k):
    """Probabilities of a row by all trees."""
    total, values, scores = work.total, row.values, row.folded
    for c in range(k):
        total[c] = 0.0
    for tree in range(TREES):
        columns, at = refits.columns[tree], 1
        while columns[at] != NONE:
            column = columns[at]
            value = np.float32(scores[column - SCORES] if column >= SCORES else values[column])
            at = 2 * at + (1 if value > refits.thresholds[tree, at] else 0)
        for c in range(k):
            total[c] += refits.votes[tree, at, c]
    softmax(total, k, said[0])


@bare_kernel
def learn(refits, work, shared, row, n, k, y, weight):
    """The row is among those that are remembered now: fit a tree if one is due."""
    t, rows = shared.stats.used[ROWS], shared.neighbours
    for c in range(k):
        refits.said[rows.places[LAST], c] = work.total[c]
    if t + 1 >= refits.plan[DUE]:
        refit(refits, work, rows, n, min(2 * min(k, FOLD), rows.scores.shape[0]), k, t, shared.stats.seed)


@bare_kernel
def refit(refits, work, rows, n, n_scores, k, t, seed):
    """After row t the oldest tree makes way for a new one."""
    n_rows = min(t + 1, RECENT)
    tree = refits.plan[NEXT]
    refits.plan[NEXT] = (tree + 1) % TREES
    refits.plan[DUE] = t + 1 + max(SOONEST, n_rows // PARTS)
    take_out(refits, work, rows, tree, n_rows, k)
    take_slopes(work, rows, n_rows, k, t, seed)
    n_drawn = draw_columns(refits, work, n, n_scores if tree % 2 == 0 else 0, t, seed)
    for j in range(n_drawn):
        column = work.drawn[j]
        stored = rows.scores[column - SCORES] if column >= SCORES else rows.values[column]
        place_edges(work, stored, j, n_rows, t, seed)
        take_bins(work.bins[j], work.edges[j], stored, n_rows)
    grow(refits.columns[tree], refits.thresholds[tree], work, n_drawn, n_rows)
    put_in(refits, work, rows, tree, n_rows, k)


@bare_kernel
def move(refits, shared, j, n, k, factor, shift):
    """In the rows that are remembered it is so already."""
    rows, n_rows = shared.neighbours, min(shared.stats.used[ROWS], RECENT)
    for tree in range(TREES):
        for at in range(NODES):
            if refits.columns[tree, at] == j:
                refits.thresholds[tree, at] = moved(refits.thresholds[tree, at], factor, shift)
    for row in range(n_rows):  # numbers that were apart may be the same now
        said = refits.said[row]
        for c in range(k):
            said[c] = 0.0
        for tree in range(TREES):
            at = leaf_of(refits, tree, rows, row)
            for c in range(k):
                said[c] += refits.votes[tree, at, c]


@small_kernel
def leaf_of(refits, tree, rows, row):
    """The leaf of a tree that a remembered row is in."""
    columns, thresholds, at = refits.columns[tree], refits.thresholds[tree], 1
    while columns[at] != NONE:
        column = columns[at]
        value = rows.scores[column - SCORES, row] if column >= SCORES else rows.values[column, row]
        at = 2 * at + (1 if value > thresholds[at] else 0)
    return at


@bare_kernel
def take_out(refits, work, rows, tree, n_rows, k):
    """Votes and probabilities of the remembered rows without this tree."""
    votes = refits.votes[tree]
    for row in range(n_rows):
        at = leaf_of(refits, tree, rows, row)
        said = refits.said[row]
        for c in range(k):
            said[c] -= votes[at, c]
        softmax(said, k, work.p[row])


@bare_kernel
def take_slopes(work, rows, n_rows, k, t, seed):
    """Of every row the sums of its slopes, with signs, and of h. Two classes need one: their slopes are opposite."""
    for m in range(SKETCHES):
        for c in range(k):
            sign = 1.0 if uniform(seed, REFIT, t, SKETCHES * c + m) < 0.5 else -1.0
            work.signs[m, c] = sign if k > 2 else (1.0 if m + c == 0 else 0.0)
    for row in range(n_rows):
        y, p, weight = rows.y[row], work.p[row], rows.weight[row] * (1.0 - rows.less[rows.y[row]])
        for m in range(SKETCHES):
            work.slopes[row, m] = weight * (dot(work.signs[m], p, k) - work.signs[m, y])
        work.slopes[row, SKETCHES] = weight * slack(p, k)


@summing_kernel
def slack(p, k):
    total = 0.0
    for c in range(k):
        total += p[c] * (1.0 - p[c])
    return total


@bare_kernel
def draw_columns(refits, work, n, n_scores, t, seed):
    """Up to COLUMNS different ones of n columns and n_scores scores, in work.drawn; returns how many."""
    drawn, n_all = work.drawn, n + n_scores
    for j in range(n_all):
        drawn[j] = j if j < n else SCORES + j - n
    n_drawn = min(COLUMNS, n_all)
    for j in range(n_drawn):
        u = uniform(seed, REFIT, t, -1 - j)
        other = j + int(u * (n_all - j))
        if j < USEFUL:
            cut = int(u * TREES * (NODES // 2))
            column = refits.columns[cut // (NODES // 2), cut % (NODES // 2)]
            if column != NONE:
                for i in range(j, n_all):
                    if drawn[i] == column:
                        other = i
        drawn[j], drawn[other] = drawn[other], drawn[j]
    return n_drawn


@bare_kernel
def place_edges(work, stored, j, n_rows, t, seed):
    """Edges between the values of some rows, all that differ if they are few; infinite where none is needed."""
    sample, edges = work.sample, work.edges[j]
    n = min(n_rows, LOOKED_AT)
    for i in range(n):
        row = i if n_rows <= LOOKED_AT else int(uniform(seed, REFIT, t, -1 - COLUMNS - (j * LOOKED_AT + i)) * n_rows)
        at = i
        while at > 0 and sample[at - 1] > stored[row]:
            sample[at] = sample[at - 1]
            at -= 1
        sample[at] = stored[row]
    different = 0
    for i in range(n):
        if different == 0 or sample[i] != sample[different - 1]:
            sample[different] = sample[i]
            different += 1
    gaps = different - 1
    for b in range(BINS - 1):
        gap = b if gaps < BINS else (2 * b + 1) * gaps // (2 * (BINS - 1))
        edges[b] = np.float32(0.5) * (sample[gap] + sample[gap + 1]) if gap < gaps else np.float32(np.inf)


@small_kernel
def take_bins(bins, edges, stored, n_rows):
    for row in range(n_rows):
        bins[row] = 0
    for b in range(BINS - 1):
        edge = edges[b]
        if edge == np.inf:
            break
        for row in range(n_rows):
            bins[row] += stored[row] > edge


@bare_kernel
def grow(columns, thresholds, work, n_drawn, n_rows):
    """A tree, level by level: all nodes of a level are split on the same histograms."""
    node, cut = work.node, work.cut
    for row in range(n_rows):
        node[row] = 1
    for at in range(NODES):
        columns[at] = NONE
    for level in range(DEPTH):
        first = 1 << level
        for i in range(first):
            work.best[i] = SAME
        for j in range(0, n_drawn, AT_ONCE):
            fill_histograms(work, j, first, n_rows)
            if j == 0:
                add_up(work, first)
            for own in range(min(AT_ONCE, n_drawn - j)):
                for i in range(first):
                    cut_best(work, own, first, j + own, i)
        for i in range(first):
            if work.best[i] > SAME:
                columns[first + i] = work.drawn[cut[i, 0]]
                thresholds[first + i] = work.edges[cut[i, 0], cut[i, 1]]
        for row in range(n_rows):
            i = node[row] - first
            if i >= 0 and work.best[i] > SAME:
                node[row] = 2 * node[row] + (1 if work.bins[cut[i, 0], row] > cut[i, 1] else 0)


@bare_kernel
def add_up(work, first):
    """Sums over the rows of each node of a level: all bins of the first column."""
    for i in range(first):
        for m in range(SKETCHES + 1):
            work.sums[i, m] = 0.0
            for b in range(BINS):
                work.sums[i, m] += work.histograms[i * BINS + b, m]


@bare_kernel
def fill_histograms(work, j, first, n_rows):
    """Those of AT_ONCE columns from number j on: sums for the one are on their way while another's begin."""
    histograms, slopes, node, size = work.histograms, work.slopes, work.node, first * BINS
    b0, b1, b2, b3 = work.bins[j], work.bins[j + 1], work.bins[j + 2], work.bins[j + 3]
    for cell in range(AT_ONCE * size):
        for m in range(SKETCHES + 1):
            histograms[cell, m] = 0.0
    for row in range(n_rows):
        cell = (np.int64(node[row]) - first) * BINS
        if cell >= 0:
            add_four(histograms, cell + b0[row], slopes, row)
            add_four(histograms, cell + size + b1[row], slopes, row)
            add_four(histograms, cell + 2 * size + b2[row], slopes, row)
            add_four(histograms, cell + 3 * size + b3[row], slopes, row)


@bare_kernel
def cut_best(work, own, first, j, i):
    """Node i of a level of `first` nodes is cut by column j if that is better than by those before it."""
    start, sums, left = (own * first + i) * BINS, work.sums[i], work.left
    histogram, gain = work.histograms[start : start + BINS], left[SKETCHES + 1]
    s0 = s1 = s2 = h = 0.0
    for b in range(BINS):
        s0, s1, s2 = s0 + histogram[b, 0], s1 + histogram[b, 1], s2 + histogram[b, 2]
        h += histogram[b, 3]
        left[0, b], left[1, b], left[2, b], left[3, b] = s0, s1, s2, h
    s0, s1, s2, h = sums[0], sums[1], sums[2], sums[3]
    whole = (s0 * s0 + s1 * s1 + s2 * s2) / (h + RIDGE)
    for b in range(BINS):
        own_part = left[0, b] * left[0, b] + left[1, b] * left[1, b] + left[2, b] * left[2, b]
        rest = (s0 - left[0, b]) ** 2 + (s1 - left[1, b]) ** 2 + (s2 - left[2, b]) ** 2
        gain[b] = own_part / (left[3, b] + RIDGE) + rest / (h - left[3, b] + RIDGE) - whole
    for b in range(BINS - 1):
        if work.edges[j, b] == np.inf:
            break
        if gain[b] > work.best[i] + SAME and left[3, b] >= LIGHTEST and h - left[3, b] >= LIGHTEST:
            work.best[i] = gain[b]
            work.cut[i, 0], work.cut[i, 1] = j, b


@bare_kernel
def put_in(refits, work, rows, tree, n_rows, k):
    """Votes of the new tree's leaves, and of the remembered rows with it."""
    votes, leaf = refits.votes[tree], work.leaf
    for at in range(NODES):
        for c in range(k):
            leaf[at, 0, c] = leaf[at, 1, c] = 0.0
    for row in range(n_rows):
        g, h = leaf[work.node[row], 0], leaf[work.node[row], 1]
        weight = rows.weight[row] * (1.0 - rows.less[rows.y[row]])
        add_slopes(g, h, work.p[row], weight, k)
        g[rows.y[row]] -= weight
    for at in range(NODES):
        for c in range(k):
            step = -RATE * leaf[at, 0, c] / (leaf[at, 1, c] + RIDGE)
            votes[at, c] = min(max(step, -BOUND), BOUND)
    for row in range(n_rows):
        said, vote = refits.said[row], votes[work.node[row]]
        for c in range(k):
            said[c] += vote[c]


@fused_kernel
def add_slopes(g, h, p, weight, k):
    for c in range(k):
        own = weight * p[c]
        g[c] += own
        h[c] += own * (1.0 - p[c])


def check_refits(refits: Refits, shared: Any) -> None:
    """Every node above the lowest level is a leaf, or goes by a column or a score that there is."""
    at, rows, scores = refits.columns, int(shared.stats.used[ROWS]), len(shared.neighbours.scores)
    known = ((at >= 0) & (at < shared.stats.used[IN_USE])) | ((at >= SCORES) & (at < SCORES + scores))
    known[:, NODES // 2 :] = False
    require((known | (at == NONE)).all(), "the nodes of a tree")
    soon = max(SOONEST, RECENT // PARTS)
    good = 0 <= refits.plan[NEXT] < TREES and rows < refits.plan[DUE] <= rows + soon
    require(good, "the tree that is fitted next")


MEMBER.implement(Refits, move, say, learn)
REFITS = Part("refits", Refits, {6: "refitted trees"}, new_refits_work, check=check_refits)
