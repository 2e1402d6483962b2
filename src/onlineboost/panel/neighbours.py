"""Nearest neighbours among the rows that are remembered (`remembered`), in the columns' own metric (`columns`).

Three voices: the nearest row and the nearest ten by the columns, and the nearest twelve by the columns and the scores
of least squares, which say what the columns mean together. A neighbour at squared distance d counts exp(-d / mean d).
The rows are stored by columns, in single precision, so that the processor compares several rows at once.

Columns that tell little are not added up for all rows. A distance without them is never too large: they matter only to
rows that are no farther by the other columns than the nearest rows by all of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import exp
from onlineboost._compile.jit import bare_kernel, fused_kernel, small_kernel
from onlineboost.contracts.schema import whole
from onlineboost.panel.columns import ROWS
from onlineboost.panel.least_squares import FOLD
from onlineboost.panel.member import MEMBER, OUTSIDE, Part
from onlineboost.panel.remembered import RECENT

FEW, SOME, MANY = 1, 10, 12
MOST_NEIGHBOURS = 64  # they are sorted one by one
FOUR = 4  # columns compared at once
LANES = 32  # the nearest are picked by stretches of rows. In one, rows with the same number modulo LANES are a group:
STRETCH = 16 * LANES  # its least distance says whether one of them can be among the nearest
STEPS = 8  # of a bisection; it ends earlier if so few groups
SPARE = 3  # too many have a row within the bound
MINOR = 0.25  # a column tells little if its eta^2 is less than so much of the mean,
WORTH_IT = 24  # and if there are so many of this kind
FEW_ROWS = 8  # one row in so many at most gets these columns by itself; if there are more of them, all rows do
PRIOR = 0.6  # neighbours that the frequencies of the classes count as
FAR = np.float32(1e30)
FAR_BITS = int(FAR.view(np.int32))


class Neighbours(NamedTuple):
    """How many neighbours each voice asks; the last one goes by the scores too."""

    few: Annotated[int, whole(saved=False, default=FEW)]
    some: Annotated[int, whole(saved=False, default=SOME)]
    many: Annotated[int, whole(saved=False, default=MANY)]


class Nearest(NamedTuple):
    """How many neighbours are asked, where there is one voice, which goes by the columns alone."""

    many: Annotated[int, whole(1, MOST_NEIGHBOURS, default=1)]


class NeighboursWork(NamedTuple):
    """Scratch for one row."""

    distance: np.ndarray  # float32 (recent, up to a whole stretch, and a bound) squared
    bits: np.ndarray  # int32, the same memory: whole numbers are compared several at a time, in the same order
    lows: np.ndarray  # int32 (groups,) the least of each group
    lanes: np.ndarray  # int64 (LANES + 1,) groups of a stretch that are looked at
    rows: np.ndarray  # int64 (most,) nearest first
    squares: np.ndarray  # float32 (most,) their squared distances
    near: np.ndarray  # int64 (recent,) rows that may be among the nearest
    near_squares: np.ndarray  # float32 (recent,)
    major: np.ndarray  # int64 (columns,) columns to be added for all rows,
    minor: np.ndarray  # int64 (columns,) and those that wait
    n_minor: np.ndarray  # int64 (1,)
    value: np.ndarray  # float32 (FOUR,) of columns that are added at once, the row's value there,
    weight: np.ndarray  # float32 (FOUR,) and the column's weight


def new_neighbours_work(recent: int, columns: int, most: int = MANY) -> NeighboursWork:
    """To find up to `most` of them."""
    stretches = -(-recent // STRETCH)
    distance = np.empty(stretches * STRETCH + 1, np.float32)
    return NeighboursWork(
        distance,
        distance.view(np.int32),
        np.empty(stretches * LANES, np.int32),
        np.empty(LANES + 1, np.int64),
        np.empty(most, np.int64),
        np.empty(most, np.float32),
        np.empty(recent, np.int64),
        np.empty(recent, np.float32),
        np.empty(columns, np.int64),
        np.empty(columns, np.int64),
        np.zeros(1, np.int64),
        np.zeros(FOUR, np.float32),
        np.zeros(FOUR, np.float32),
    )


@bare_kernel
def start_distances(work, stored, values, metric, columns, n):
    """Squared distances of n rows by the columns that tell much; the others wait in work.minor."""
    for row in range(n):
        work.distance[row] = 0.0
    n_major, work.n_minor[0] = sort_out(work, metric, columns)
    add_columns(work, stored, values, metric.weight, work.major, n_major, n)


@bare_kernel
def sort_out(work, metric, columns):
    """Columns that tell much, and those that tell little: how many there are of both."""
    total, n_major, n_minor = 0.0, 0, 0
    for j in range(columns):
        total += metric.weight[j] * metric.weight[j] * metric.variance[j]
        n_major += 1 if metric.weight[j] > 0.0 else 0
    limit = MINOR * total / max(n_major, 1)
    n_major = 0
    for j in range(columns):
        if metric.weight[j] * metric.weight[j] * metric.variance[j] >= limit:
            work.major[n_major] = j
            n_major += 1 if metric.weight[j] > 0.0 else 0
        elif metric.weight[j] > 0.0:
            work.minor[n_minor] = j
            n_minor += 1
    if n_minor >= WORTH_IT:
        return n_major, n_minor
    for i in range(n_minor):
        work.major[n_major + i] = work.minor[i]
    return n_major + n_minor, 0


@bare_kernel
def add_scores(work, stored, scores, weight, columns, n):
    """Add the squared differences of all scores."""
    n_major = 0
    for j in range(columns):
        if weight[j] > 0.0:
            work.major[n_major] = j
            n_major += 1
    add_columns(work, stored, scores, weight, work.major, n_major, n)


@fused_kernel
def add_column(distance, column, value, weight, n):
    for row in range(n):
        off = (column[row] - value) * weight
        distance[row] += off * off


@fused_kernel
def add_four(distance, stored, at, value, weight, n):
    """Four columns at once: the distances are read and written once for all of them."""
    a, b, c, d = stored[at[0]], stored[at[1]], stored[at[2]], stored[at[3]]
    x0, x1, x2, x3 = value[0], value[1], value[2], value[3]
    w0, w1, w2, w3 = weight[0], weight[1], weight[2], weight[3]
    for row in range(n):
        off_0, off_1 = (a[row] - x0) * w0, (b[row] - x1) * w1
        off_2, off_3 = (c[row] - x2) * w2, (d[row] - x3) * w3
        distance[row] += (off_0 * off_0 + off_1 * off_1) + (off_2 * off_2 + off_3 * off_3)


@bare_kernel
def add_columns(work, stored, values, weight, chosen, n_chosen, n):
    """Add the squared differences in these columns to the squared distances of n rows."""
    whole = n_chosen - n_chosen % FOUR
    for start in range(0, whole, FOUR):
        for i in range(FOUR):
            work.value[i], work.weight[i] = values[chosen[start + i]], weight[chosen[start + i]]
        add_four(work.distance, stored, chosen[start : start + FOUR], work.value, work.weight, n)
    for i in range(whole, n_chosen):
        j = chosen[i]
        add_column(work.distance, stored[j], np.float32(values[j]), np.float32(weight[j]), n)


@bare_kernel
def nearest(work, stored, values, weight, n, most):
    """The nearest rows, nearest first, the lower place among equals; returns how many there are."""
    found = pick(work, n, most)
    n_minor = work.n_minor[0]
    if n_minor == 0:
        return found
    for i in range(found):
        work.near[i], work.near_squares[i] = work.rows[i], work.squares[i]
    complete(work, stored, values, weight, found)
    bound = np.float32(0.0)
    for i in range(found):
        bound = max(bound, min(work.near_squares[i], FAR))
    n_near = gather(work, n, bound)
    if n_near > max(n // FEW_ROWS, most):
        add_columns(work, stored, values, weight, work.minor, n_minor, n)
        work.n_minor[0] = 0
        return pick(work, n, most)
    complete(work, stored, values, weight, n_near)
    found = 0
    for i in range(n_near):
        d = min(work.near_squares[i], FAR)
        if found < most or d < work.squares[most - 1]:
            found = place(work, found, most, work.near[i], d)
    return found


@bare_kernel
def pick(work, n, most):
    """The nearest rows by the columns that have been added. They are looked at in order: of equals the first stay."""
    bits, stretches = work.bits, (n + STRETCH - 1) // STRETCH
    for row in range(n, stretches * STRETCH):
        bits[row] = FAR_BITS
    take_lows(work.lows, bits, stretches)
    limit, found = bound_of(work.lows, stretches * LANES, most) + 1, 0
    for stretch in range(stretches):
        n_lanes = lanes_below(work, stretch, limit)
        if n_lanes > 0:
            for start in range(stretch * STRETCH, min((stretch + 1) * STRETCH, n), LANES):
                for i in range(n_lanes):
                    row = start + work.lanes[i]
                    if min(bits[row], FAR_BITS) < limit and row < n:
                        found = place(work, found, most, row, min(work.distance[row], FAR))
                        if found == most:
                            limit = min(bits[work.rows[most - 1]], FAR_BITS)
    return found


@bare_kernel
def take_lows(lows, bits, stretches):
    """The least of each group, FAR at most."""
    for stretch in range(stretches):
        low = lows[stretch * LANES : (stretch + 1) * LANES]
        for lane in range(low.size):
            low[lane] = FAR_BITS
        for start in range(stretch * STRETCH, (stretch + 1) * STRETCH, LANES):
            part = bits[start : start + LANES]
            for lane in range(part.size):
                low[lane] = min(low[lane], part[lane])


@bare_kernel
def bound_of(lows, n, most):
    """No less than the least `most` of n: so many rows are no farther."""
    if n < most:
        return np.int64(FAR_BITS)
    low = high = lows[0]
    for i in range(n):
        low, high = min(low, lows[i]), max(high, lows[i])
    below, bound = np.int64(low) - 1, np.int64(high)
    for _ in range(STEPS):
        middle = np.int32((below + bound) >> 1)
        count = np.int32(0)
        for i in range(n):
            count += np.int32(1) if lows[i] <= middle else np.int32(0)
        if count >= most:
            bound = np.int64(middle)
            if count <= most + SPARE:
                break
        else:
            below = np.int64(middle)
    return bound


@small_kernel
def lanes_below(work, stretch, limit):
    """Groups of a stretch with a row below the limit, in work.lanes; returns how many."""
    n_lanes = 0
    for lane in range(LANES):
        work.lanes[n_lanes] = lane
        n_lanes += 1 if work.lows[stretch * LANES + lane] < limit else 0
    return n_lanes


@small_kernel
def place(work, found, most, row, square):
    """A row among the nearest, after those that are as near; returns how many there are then."""
    rows, squares = work.rows, work.squares
    at = found if found < most else most - 1
    while at > 0 and squares[at - 1] > square:
        rows[at], squares[at] = rows[at - 1], squares[at - 1]
        at -= 1
    rows[at], squares[at] = row, square
    return min(found + 1, most)


@bare_kernel
def gather(work, n, bound):
    """Rows that are no farther than `bound` by the columns that have been added, in work.near; returns how many."""
    last = work.distance.size - 1
    work.distance[last] = np.float32(min(bound, FAR))
    n_near, limit = 0, work.bits[last] + 1
    for stretch in range((n + STRETCH - 1) // STRETCH):
        n_lanes = lanes_below(work, stretch, limit)
        if n_lanes > 0:
            for start in range(stretch * STRETCH, min((stretch + 1) * STRETCH, n), LANES):
                for i in range(n_lanes):
                    row = start + work.lanes[i]
                    if min(work.bits[row], FAR_BITS) < limit and row < n:
                        work.near[n_near], work.near_squares[n_near] = row, work.distance[row]
                        n_near += 1
    return n_near


@bare_kernel
def complete(work, stored, values, weight, n_near):
    """Add the columns that have been waiting to the distances in work.near_squares."""
    for i in range(work.n_minor[0]):
        j = work.minor[i]
        column, value, factor = stored[j], np.float32(values[j]), np.float32(weight[j])
        for near in range(n_near):
            off = (column[work.near[near]] - value) * factor
            work.near_squares[near] += off * off


@bare_kernel
def vote(neighbours, work, found, k, p):
    """p[:k] by the first `found` neighbours; all alike if there are none."""
    mean = 0.0
    for i in range(found):
        mean += work.squares[i]
    mean /= max(found, 1)
    mass = 0.0
    for c in range(k):
        p[c] = 0.0
    for i in range(found):
        row = work.rows[i]
        w = np.float64(neighbours.weight[row]) * (1.0 - neighbours.less[neighbours.y[row]])
        if mean > 0.0:
            w *= exp(-work.squares[i] / mean)
        p[neighbours.y[row]] += w
        mass += w
    for c in range(k):
        p[c] = p[c] / mass if mass > 0.0 else 1.0 / k


@bare_kernel
def say(member, near, said, shared, row, n, k):
    """Three voices: two by the columns, one by the scores too."""
    rows, metric, n_rows = shared.neighbours, shared.stats.columns, min(shared.stats.used[ROWS], RECENT)
    start_distances(near, rows.values, row.values, metric, n, n_rows)
    found = nearest(near, rows.values, row.values, metric.weight, n_rows, member.some)
    vote(rows, near, min(found, member.few), k, said[0])
    shrink(said[0], min(found, member.few), row, k)
    vote(rows, near, found, k, said[1])
    shrink(said[1], found, row, k)
    add_scores(near, rows.scores, row.folded, shared.scores.weight, 2 * min(k, FOLD), n_rows)
    found = nearest(near, rows.values, row.values, metric.weight, n_rows, member.many)
    vote(rows, near, found, k, said[2])
    shrink(said[2], found, row, k)


@bare_kernel
def shrink(p, found, row, k):
    """Towards the frequencies of the classes."""
    if row.rules[0] < 2:
        return
    for c in range(k):
        p[c] = (found * p[c] + PRIOR * row.prior[c]) / (found + PRIOR)


@bare_kernel
def say_nearest(member, near, said, shared, row, n, k):
    rows, metric, n_rows = shared.neighbours, shared.stats.columns, min(shared.stats.used[ROWS], RECENT)
    start_distances(near, rows.values, row.values, metric, n, n_rows)
    found = nearest(near, rows.values, row.values, metric.weight, n_rows, member.many)
    vote(rows, near, found, k, said[0])


def new_work(member: Any, sizes: Mapping[str, int]) -> NeighboursWork:
    return new_neighbours_work(sizes["recent"], max(sizes["columns"], 2 * FOLD), member.many)


MEMBER.implement(Neighbours, say)
MEMBER.implement(Nearest, say=say_nearest)


NEIGHBOURS = Part(
    "nearest", Neighbours, {1: "nearest", 2: "nearest 10", 3: "nearest 12"}, new_work, field=OUTSIDE, floor=1e-9
)
NEAREST = Part("nearest", Nearest, {0: "nearest"}, new_work, field=OUTSIDE)
