"""Sums over columns, over pairs and over triples of columns: logistic regression on tables of cells.

Each column has a bin for a row: a nominal value, or which of BINS quantiles a number is between. A group of columns
has a cell for every combination of bins that turns up, and a cell has a vote for every class. They are added up:

    v1 = bias + votes of the row's cell of each column + z times the slope of each numeric column
    v2 = v1 + bias + votes of its cell of each pair
    v3 = v2 + bias + votes of its cell of each triple

with z the number in units of its spread, NEAR at most. In two classes, z is a logarithm where a column is skewed, from
where and in which units quantiles tell, and its cells are believed less; and a value of a column of more than WIDE ones
has the bin of the evidence that it has shown, as those without a code of their own have. Two voices say softmax(v1) and
softmax(v3). Each of the three sums learns what the one before it leaves over, by one Newton step in each of its cells,
with p = softmax(v):

    g_c = w (p_c - 1[c = y])        q_c = w p_c (1 - p_c)
    h_c += q_c, LONGEST at most     vote_c -= g_c / (h_c + r + m q_c)

with r of RIDGES for columns, pairs and triples: the more cells there are, the less one of them is believed. The m cells
of a sum all take their steps at once, and share what one of them would need: with 77 columns a sum would go far beyond
its aim otherwise, as long as the cells are new. A slope is a cell with z in place of 1: its g is g_c z, its h grows by
z^2 as much, and it counts z^2 in m. Votes for two classes are opposite: in v1 each takes half a step, by q_c twice.

Pairs and triples are those of the CHOSEN columns that tell most of the classes by themselves. Bins of numbers are half
as fine for pairs, and a quarter for triples. Quantiles and choice are taken anew now and then, from what is remembered.

Cells are found by a hash. The table of those of pairs and triples grows with the rows, by linear hashing (Litwin 1980):
a new cell begins as a copy of the one that its combinations shared so far.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import log
from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost._compile.random import child_key
from onlineboost.contracts.schema import f4, i4, part
from onlineboost.panel.columns import CONSTANT, HUGE, ROOM, ROWS, moved
from onlineboost.panel.combiner import softmax
from onlineboost.panel.member import MEMBER, Part
from onlineboost.panel.remembered import RECENT

SINGLES, PAIRS, TRIPLES = range(3)
ORDERS = 3
BINS = 16
CHOSEN = 8  # columns in pairs and triples
RIDGES = (3.0, 5.0, 8.0)  # r
SLOPE_RIDGE = 6.0  # r of slopes
SKEWED = 2.0  # times as far from the median to one outer quantile as to the other: slopes go by a logarithm then,
BESIDE_LOG = 4.0  # and r of the cells is so many times as large
OUTER = 1.534  # standard deviations from the median of a normal distribution to its quantile 15 / 16
NEAR = 3.0  # z is cut there
LONGEST = 1000.0
BOUND = 20.0  # no vote of a cell is larger
OWN = 4096  # cells of single columns
FIRST, PER_ROW = 64, 8  # cells of pairs and triples at first, and for each of the first RECENT rows
SOONEST = 8  # rows before quantiles are taken for the first time: then after twice as many, or RECENT more
SOONEST_OF_OLD = 32  # likewise, before SHARED_STEPS
NONE = -1
NO_EDGE = 1e30
WIDE = 64  # values of a nominal column that have codes of their own; the next codes are for evidence,
LIMITS = (0.1, 0.3, 0.6, 1.0, 1.5, 2.1, 2.8)  # by levels between these,
EVIDENCE_ROWS = 10.0  # as if a value had shown so many rows before its first: all this as in `chain.evidence`
VOICES = {8: "single columns", 9: "pairs and triples"}
SINCE = 3  # rules of the panel that has them,
SHARED_STEPS = 4  # and of those in which there are slopes, cells share their steps, and quantiles come soon,
BY_EVIDENCE = 5  # and of those in which values of wide columns go by evidence, and slopes of skewed ones by logarithms


class Additive(NamedTuple):
    """Cells, each with votes and h, and what they are cells of."""

    bias: Annotated[np.ndarray, f4(ORDERS, 2, "classes", low=-BOUND, high=ROOM * LONGEST)]
    own: Annotated[np.ndarray, f4(OWN, 2, "classes", low=-BOUND, high=ROOM * LONGEST)]
    groups: Annotated[np.ndarray, f4("cells", 2, "classes", low=-BOUND, high=ROOM * LONGEST)]
    edges: Annotated[np.ndarray, f4("numeric", BINS - 1, low=-HUGE, high=ROOM * NO_EDGE, default=NO_EDGE)]
    chosen: Annotated[np.ndarray, i4(CHOSEN, low=NONE, default=NONE)]
    slopes: Annotated[np.ndarray, f4("numeric", 2, "classes", low=-BOUND, high=ROOM * LONGEST, since=4)]


class AdditiveWork(NamedTuple):
    """Scratch for one row."""

    bins: np.ndarray  # int64 (columns of the stream,)
    z: np.ndarray  # float64 (columns of the stream,)
    keys: np.ndarray  # int64 (CHOSEN,) hashes
    cells: np.ndarray  # int64 (cells of a row,)
    ridges: np.ndarray  # float64 (columns of the stream,) r of their cells
    stops: np.ndarray  # int64 (ORDERS,) where those of each order end
    votes: np.ndarray  # float64 (k,)
    p: np.ndarray  # float64 (ORDERS, k)
    slope: np.ndarray  # float64 (k,)
    curve: np.ndarray  # float64 (k,)
    others: np.ndarray  # float64 (k,) what is added to h for the other cells of a sum
    sorted: np.ndarray  # float32 (recent,) numbers of a column
    told: np.ndarray  # float64 (columns of the stream,) how much each tells of the classes


def new_additive_work(additive: Additive, sizes: Mapping[str, int]) -> AdditiveWork:
    k, width = sizes["classes"], sizes["width"]
    cells = width + math.comb(CHOSEN, 2) + math.comb(CHOSEN, 3)
    keys, stops = np.zeros(CHOSEN, np.int64), np.zeros(ORDERS, np.int64)
    bins, cells_of_row, told = np.zeros(width, np.int64), np.zeros(cells, np.int64), np.zeros(width)
    votes, p, slope, curve, others = np.zeros(k), np.zeros((ORDERS, k)), np.zeros(k), np.zeros(k), np.zeros(k)
    numbers = np.zeros(sizes["recent"], np.float32)
    z, ridges, sums = np.zeros(width), np.full(width, RIDGES[SINGLES]), (votes, p, slope, curve, others)
    return AdditiveWork(bins, z, keys, cells_of_row, ridges, stops, *sums, numbers, told)


@bare_kernel
def start(additive, shared, first, stop):
    dense = shared.stats.dense
    if first == 0:
        for i in range(CHOSEN):
            additive.chosen[i] = i if i < dense.n_numbers + dense.place.shape[0] else NONE


@bare_kernel
def move(additive, shared, j, n, k, factor, shift):
    for b in range(BINS - 1):
        if additive.edges[j, b] < NO_EDGE:
            additive.edges[j, b] = moved(additive.edges[j, b], factor, shift)
    for c in range(k):
        additive.slopes[j, 0, c] = additive.slopes[j, 1, c] = 0.0


@bare_kernel
def say(additive, work, said, shared, row, n, k):
    """Probabilities."""
    if row.rules[0] < SINCE:
        for c in range(k):
            said[0, c] = said[1, c] = 1.0 / k
        return
    take_bins(additive, work, shared.stats, row, k)
    find_cells(additive, work, shared.stats)
    at = 0
    for c in range(k):
        work.votes[c] = 0.0
    for order in range(ORDERS):
        table = additive.own if order == SINGLES else additive.groups
        add_votes(work.votes, additive.bias[order, 0], k)
        while at < work.stops[order]:
            add_votes(work.votes, table[work.cells[at], 0], k)
            at += 1
        if order == SINGLES and row.rules[0] >= SHARED_STEPS:
            add_slopes(additive, work, shared.stats.dense.n_numbers, row, k)
        softmax(work.votes, k, work.p[order])
    for c in range(k):
        said[0, c], said[1, c] = work.p[SINGLES, c], work.p[TRIPLES, c]


@small_kernel
def add_votes(votes, cell, k):
    for c in range(k):
        votes[c] += cell[c]


@bare_kernel
def add_slopes(additive, work, n_numbers, row, k):
    for j in range(n_numbers):
        work.ridges[j], z = RIDGES[SINGLES], row.z[j]
        if k == 2 and row.rules[0] >= BY_EVIDENCE:
            skew = skew_of(additive.edges[j])
            if skew > SKEWED or skew < 1.0 / SKEWED:
                work.ridges[j] *= BESIDE_LOG
                z = straightened(row.values[j], additive.edges[j], skew)
        work.z[j] = min(max(z, -NEAR), NEAR) * row.there[j]
        for c in range(k):
            work.votes[c] += work.z[j] * additive.slopes[j, 0, c]


@small_kernel
def skew_of(edges):
    """How many times as far it is from the median to the upper of the outer quantiles as to the lower; 1: not known."""
    median = np.float64(edges[BINS // 2 - 1])
    up, down = np.float64(edges[BINS - 2]) - median, median - np.float64(edges[0])
    return up / down if up > 0.0 and down > 0.0 and edges[BINS - 2] < NO_EDGE else 1.0


@small_kernel
def straightened(value, edges, skew):
    """A number of a skewed column on a scale on which median and outer quantiles are those of a normal distribution."""
    median = np.float64(edges[BINS // 2 - 1])
    part = (value - median) / (np.float64(edges[BINS - 2]) - median)
    return OUTER * log(max(1.0 + (skew - 1.0) * part, 1e-3)) / log(skew)


@bare_kernel
def take_bins(additive, work, stats, row, k):
    """From 1 on; 0: missing."""
    dense, m = stats.dense, stats.dense.n_numbers
    for j in range(m):
        work.bins[j] = 0
        if row.there[j] > 0.0:
            work.bins[j] = 1
            for b in range(BINS - 1):
                work.bins[j] += 1 if row.values[j] > additive.edges[j, b] else 0
    for q in range(row.codes.size):
        work.bins[m + q] = int(row.codes[q]) + 1 if row.codes[q] >= 0.0 else 0
        if k == 2 and row.rules[0] >= BY_EVIDENCE and 0.0 <= row.codes[q] < WIDE and is_wide(dense.place[q]):
            at = dense.place[q, int(row.codes[q])] - 1
            work.bins[m + q] = evidence_code(stats.columns.by_class, row.prior, at) + 1


@small_kernel
def is_wide(places):
    """Whether code WIDE is one for evidence: it comes after all others. Values that are known in advance may not."""
    last = places[WIDE]
    for code in range(WIDE):
        if places[code] == 0 or places[code] > last:
            return False
    return last > 0


@small_kernel
def evidence_code(by_class, prior, at):
    """The code for what the value of dense column `at` has shown of the rarer of two classes; the least if nothing."""
    rarer = 1 if prior[1] < prior[0] else 0
    pi, rows = prior[rarer], by_class.mass[rarer, at]
    own = rows * max(by_class.mean[rarer, at], 0.0) + EVIDENCE_ROWS * pi
    others = rows * (1.0 - pi) / pi * max(by_class.mean[1 - rarer, at], 0.0) + EVIDENCE_ROWS * (1.0 - pi)
    d = log(own / others) - log(pi / (1.0 - pi))
    code = WIDE + rarer * (len(LIMITS) + 1)
    for limit in LIMITS:
        code += 1 if d > limit else 0
    return code


@bare_kernel
def find_cells(additive, work, stats):
    """Cells of the row: of single columns, pairs and triples."""
    keys, chosen, n_numbers = work.keys, additive.chosen, stats.dense.n_numbers
    n_cells, n_chosen, at = cells_after(stats.used[ROWS]), 0, 0
    span = span_of(n_cells)
    for column in range(n_numbers + stats.dense.place.shape[0]):
        work.cells[at] = child_key(ORDERS * column, work.bins[column]) % OWN
        at += 1
    work.stops[SINGLES] = at
    while n_chosen < CHOSEN and chosen[n_chosen] != NONE:
        n_chosen += 1
    for order in range(PAIRS, ORDERS):
        for i in range(n_chosen):
            keys[i] = key_of(chosen[i], work.bins[chosen[i]], order, n_numbers)
        for i in range(n_chosen):
            for j in range(i):
                if order == PAIRS:
                    work.cells[at] = place(keys[i] ^ keys[j], n_cells, span)
                    at += 1
                else:
                    for m in range(j):
                        work.cells[at] = place(keys[i] ^ keys[j] ^ keys[m], n_cells, span)
                        at += 1
        work.stops[order] = at


@small_kernel
def key_of(column, bin_, order, n_numbers):
    """A hash of a column and its bin, of those that are used for groups of this order."""
    if column < n_numbers and bin_ > 0:
        bin_ = ((bin_ - 1) >> order) + 1
    return child_key(ORDERS * column + order, bin_)


@small_kernel
def cells_after(t):
    """Cells of groups after t rows."""
    return FIRST + PER_ROW * min(t, RECENT)


@small_kernel
def span_of(n):
    """The largest power of two up to n."""
    span = 1
    while 2 * span <= n:
        span *= 2
    return span


@small_kernel
def place(key, n, span):
    """One of n cells."""
    at = key & (2 * span - 1)
    return at if at < n else at - span


@bare_kernel
def learn(additive, work, shared, row, n, k, y, weight):
    """Of what `say` has said; the row is among those that are remembered now."""
    if row.rules[0] < SINCE:
        return
    at, t = 0, shared.stats.used[ROWS]
    sharing = row.rules[0] >= SHARED_STEPS
    for order in range(ORDERS):
        table, p = additive.own if order == SINGLES else additive.groups, work.p[order]
        many, twice = np.float64(work.stops[order] - at) if sharing else 0.0, 1.0
        if order == SINGLES and sharing:
            for j in range(shared.stats.dense.n_numbers):
                many += work.z[j] * work.z[j]
            twice = 2.0 if k == 2 else 1.0
        for c in range(k):
            work.slope[c] = weight * (p[c] - (1.0 if c == y else 0.0))
            work.curve[c] = twice * weight * p[c] * (1.0 - p[c])
            work.others[c] = many * work.curve[c]
        ridge = RIDGES[order] * max(weight, 1.0)
        take_step(additive.bias[order], work, k, ridge)
        while at < work.stops[order]:
            take_step(table[work.cells[at]], work, k, work.ridges[at] * max(weight, 1.0) if order == SINGLES else ridge)
            at += 1
        if order == SINGLES and sharing:
            for j in range(shared.stats.dense.n_numbers):
                if work.z[j] != 0.0:
                    tilt(additive.slopes[j], work, work.z[j], k, SLOPE_RIDGE * max(weight, 1.0))
    n_cells = cells_after(t)
    for new in range(n_cells, cells_after(t + 1)):
        shared_so_far = new - span_of(new)
        for i in range(2):
            for c in range(k):
                additive.groups[new, i, c] = additive.groups[shared_so_far, i, c]
    if t + 1 >= (SOONEST if sharing else SOONEST_OF_OLD) and ((t + 1) & t == 0 or (t + 1) % RECENT == 0):
        take_edges(additive, work, shared, min(t + 1, RECENT))
        choose(additive, work, shared.stats, n)


@small_kernel
def take_step(cell, work, k, ridge):
    for c in range(k):
        h = min(np.float64(cell[1, c]) + work.curve[c], LONGEST)
        vote = np.float64(cell[0, c]) - work.slope[c] / (h + ridge + work.others[c])
        cell[0, c], cell[1, c] = min(max(vote, -BOUND), BOUND), h


@small_kernel
def tilt(slopes, work, z, k, ridge):
    """`take_step` of a column's slopes."""
    for c in range(k):
        h = min(np.float64(slopes[1, c]) + z * z * work.curve[c], LONGEST)
        slope = np.float64(slopes[0, c]) - z * work.slope[c] / (h + ridge + work.others[c])
        slopes[0, c], slopes[1, c] = min(max(slope, -BOUND), BOUND), h


@bare_kernel
def take_edges(additive, work, shared, n_rows):
    """Quantiles of the numbers that are remembered."""
    for j in range(shared.stats.dense.n_numbers):
        sort(shared.neighbours.values[j], n_rows, work.sorted)
        for b in range(1, BINS):
            additive.edges[j, b - 1] = work.sorted[b * n_rows // BINS]


@small_kernel
def sort(values, n, out):
    """values[:n] in order, by Shell's method."""
    for i in range(n):
        out[i] = values[i]
    gap = 1
    while gap < n:
        gap = 3 * gap + 1
    while gap > 1:
        gap //= 3
        for i in range(gap, n):
            value, at = out[i], i
            while at >= gap and out[at - gap] > value:
                out[at] = out[at - gap]
                at -= gap
            out[at] = value


@bare_kernel
def choose(additive, work, stats, n):
    """The columns of largest eta^2, all values of a nominal one together."""
    told, columns, m = work.told, stats.columns, stats.dense.n_numbers
    n_columns = m + stats.dense.place.shape[0]
    for column in range(n_columns):
        told[column] = 0.0
    for j in range(n):
        column = j if j < m else m + stats.dense.owner[j]
        told[column] += columns.pull[j] * math.sqrt(max(columns.variance[j], CONSTANT))
    for i in range(min(CHOSEN, n_columns)):
        best = 0
        for column in range(n_columns):
            if told[column] > told[best]:
                best = column
        additive.chosen[i] = best
        told[best] = -1.0


MEMBER.implement(Additive, start, move, say, learn)
ADDITIVE = Part(
    "additive",
    Additive,
    VOICES,
    new_additive_work,
    field=part(since=3),
    sizes={"cells": lambda sizes: FIRST + PER_ROW * sizes["recent"]},
)
