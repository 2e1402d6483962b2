"""Rows as numbers, and what is known of the columns.

A row of the chain (numbers, codes of nominal values, NaN) as a row of numbers alone.

A number becomes (x - origin) * unit. The origin is the first number of its column, the unit a power of two that makes
the first difference to it about 1: then single precision is enough to tell values apart, whatever the column is about.
The first numbers may be odd ones: a glitch, 0.1 + 0.2 beside 0.3, the unit of another sensor. So a column is looked at
after FIRST_LOOK numbers, each time their number has doubled, and every LAST_LOOK in the end. By the range of the
numbers since the last look, origin and unit do not fit any more

* if the origin is more than FAR ranges away: single precision would not tell the numbers apart,
* if the range in units is below 1 / FAR^2 or above FAR^2,
* if the range of all numbers is more than ODD times as wide: the first ones were glitches. This is judged up to the
  first look after SURE numbers at which the column varies. Later glitches do not get here: see `chain.clipping`.

They are then taken from the range since the last look, and what was known of the column starts again.

A nominal value becomes a 1 in a column of its own. These are given away in the order in which the values come; once
there are no more, values share them, with a sign, by a hash. A missing value becomes the mean of the column. Of more
than WIDE numeric columns those beyond are added to the first ones, in turn, each with a sign that is drawn: column c to
c % WIDE. So a few columns more cost a little accuracy and not a lot: of 1,100 columns, 948 stay as they are.

What two values count apart: by their spread, and by what they tell of the classes.

Of every column there are a running mean and variance, over all rows and per class. The share of the variance that the
classes explain,

    eta^2 = 1 - MS_within / MS_total        at least 0, shrunk to (eta^2 n + .3 * 40) / (n + 40)

makes the column's weight sqrt(max(eta^2, .001)) / sd: distances are then made of what matters. Trees choose columns by
max(eta^2, .001) / sd. The weights are taken anew after every row at first, then after every eighth.

`ColumnStats` is what all members of a panel stand on: rows as numbers (`Dense`), and what each column counts. A row is
met before it is learned, and after it was predicted: columns get their origins and units, new nominal values their
dense columns. After it the moments of the columns are up to date, and now and then what follows from them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost._compile.random import MIX, SHARED, uniform
from onlineboost.contracts.schema import b1, f8, i1, i4, i8, part, whole

LARGEST = 1e12  # no dense number is larger
VALUES = 256  # codes of a nominal column
FIRST_LOOK, LAST_LOOK, SURE = 4, 8192, 128  # numbers
FAR, ODD = 1024.0, 16.0
LARGEST_UNIT = 500  # and smallest: the power of two
LARGEST_FACTOR = 2.0**1000  # between two units; times 0 it is 0
WIDE = 1024  # dense columns for numbers at most: memory and time of least squares grow with the square
HUGE = 1e18  # no sum of dense numbers is larger
ROOM = 1.001  # that bounds have which rounding can touch
LIGHTEST, HEAVIEST = 1e-9, 100.0  # weights of rows beyond are cut

EVER, LATELY = range(2)  # Dense.low and high

as_given = partial(f8, low=-1e140, high=1e140)  # numbers of rows: no larger ones come, see `chain.clipping`


class Dense(NamedTuple):
    """How rows become dense."""

    n_numbers: Annotated[int, whole(saved=False)]  # dense columns for numbers: the first ones
    offset: Annotated[int, whole(name="offset")]  # numeric columns of a row; later ones are left to the chain's trees
    origin: Annotated[np.ndarray, as_given("numeric")]
    unit: Annotated[np.ndarray, f8("numeric", low=0.0, high=2.0**1000)]  # 0: all numbers so far were the same
    met: Annotated[np.ndarray, b1("numeric")]  # whether there was a number yet
    shown: Annotated[np.ndarray, i8("numeric", low=0, high=1 << 62, since=2)]  # numbers so far
    low: Annotated[np.ndarray, as_given(2, "numeric", since=2)]  # the least number of all, and since the last look
    high: Annotated[np.ndarray, as_given(2, "numeric", since=2)]  # the largest
    sure: Annotated[np.ndarray, b1("numeric", since=2)]  # whether the first numbers have been judged for good
    place: Annotated[
        np.ndarray, i4("nominal", VALUES, low=0, high="columns")
    ]  # dense column of a code, plus 1; 0: none
    sign: Annotated[np.ndarray, i1("nominal", VALUES, low=-1, high=1)]
    owner: Annotated[np.ndarray, i4("columns", below="nominal")]  # nominal column of a dense one that is not numeric


@bare_kernel
def meet_number(dense, c, x):
    """Origin and unit of column c, as soon as they are known; whether this number has told one of them."""
    if not dense.met[c]:
        dense.met[c] = True
        dense.origin[c] = x
        return True
    if dense.unit[c] == 0.0 and x != dense.origin[c]:
        dense.unit[c] = unit_of(abs(x - dense.origin[c]))
        return True
    return False


@small_kernel
def unit_of(width):
    """The power of two that makes this width about 1."""
    _, exponent = math.frexp(width)
    return math.ldexp(1.0, -max(-LARGEST_UNIT, min(LARGEST_UNIT, exponent)))


@bare_kernel
def is_misfit(dense, c, x):
    """Number x of column c, which has been met, is counted; whether origin and unit do not fit any more."""
    low, high = dense.low, dense.high
    if dense.shown[c] == 0:
        for i in range(2):
            low[i, c] = high[i, c] = x
    dense.shown[c] += 1
    for i in range(2):
        low[i, c], high[i, c] = min(low[i, c], x), max(high[i, c], x)
    count = dense.shown[c]
    if count < FIRST_LOOK or (count % LAST_LOOK if count > LAST_LOOK else count & (count - 1)) != 0:
        return False
    width = high[LATELY, c] - low[LATELY, c]
    misfit = False
    if width > 0.0:
        off = abs(0.5 * (low[LATELY, c] + high[LATELY, c]) - dense.origin[c])
        units = width * dense.unit[c]
        misfit = off > FAR * width or units > FAR * FAR or units * (FAR * FAR) < 1.0
        if not dense.sure[c]:
            misfit = misfit or high[EVER, c] - low[EVER, c] > ODD * width
            dense.sure[c] = count >= SURE
    if not misfit:
        low[LATELY, c] = high[LATELY, c] = x
    return misfit


@bare_kernel
def take_unit(dense, c, x):
    """Origin and unit by the numbers since the last look, the last of which is x.

    What was v is v * factor + shift from here on; both are returned.
    """
    low, high = dense.low[LATELY, c], dense.high[LATELY, c]
    origin, unit = 0.5 * (low + high), unit_of(high - low)
    factor = min(unit / dense.unit[c], LARGEST_FACTOR) if dense.unit[c] > 0.0 else 0.0
    shift = (dense.origin[c] - origin) * unit
    dense.origin[c], dense.unit[c] = origin, unit
    dense.low[EVER, c], dense.high[EVER, c] = low, high
    dense.low[LATELY, c] = dense.high[LATELY, c] = x
    return factor, shift


@small_kernel
def moved(v, factor, shift):
    """A dense number after `take_unit`, in single precision."""
    return np.float32(min(max(v * factor + shift, -LARGEST), LARGEST))


@bare_kernel
def meet_value(dense, q, code, n, most, seed):
    """A dense column for code `code` of nominal column q, if it has none: returns the number of columns then.

    n are in use, of at most `most`; those for numbers are not to be shared.
    """
    if dense.place[q, code] != 0:
        return n
    dense.sign[q, code] = 1
    if n < most:
        dense.place[q, code] = n + 1
        dense.owner[n] = q
        return n + 1
    at = dense.n_numbers + int(uniform(seed, SHARED, q, 2 * code) * (most - dense.n_numbers))
    dense.place[q, code] = at + 1
    if uniform(seed, SHARED, q, 2 * code + 1) < 0.5:
        dense.sign[q, code] = -1
    return n


@small_kernel
def scaled(dense, c, x):
    """Number x of column c, in its unit from its origin."""
    return min(max((x - dense.origin[c]) * dense.unit[c], -LARGEST), LARGEST)


@bare_kernel
def densify(dense, seed, x, mean, n, values, there):
    """values[:n] of a row, and there[:n]: 0.0 for what is missing, 1.0 for the rest."""
    for c in range(dense.n_numbers):
        there[c] = 1.0 if x[c] == x[c] else 0.0
        values[c] = np.float64(np.float32(scaled(dense, c, x[c]) if x[c] == x[c] else mean[c]))
    if dense.origin.size > dense.n_numbers:
        fold(dense, seed, x, values, there)
    for j in range(dense.n_numbers, n):
        code = x[dense.offset + dense.owner[j]]
        there[j] = 1.0 if code >= 0.0 else 0.0
        values[j] = 0.0 if code >= 0.0 else np.float64(np.float32(mean[j]))
    for q in range(dense.place.shape[0]):
        code = x[dense.offset + q]
        if code >= 0.0 and code < VALUES:
            at = dense.place[q, int(code)] - 1
            if at >= 0:
                values[at] += dense.sign[q, int(code)]


@bare_kernel
def fold(dense, seed, x, values, there):
    """Add the numbers of the columns that have no dense one to themselves. Of those that share, a missing adds 0."""
    n = dense.n_numbers
    shared = min(n, dense.origin.size - n)
    for j in range(shared):
        values[j] = values[j] if there[j] else 0.0
        there[j] = 1.0
    for c in range(n, dense.origin.size):
        if x[c] == x[c]:
            number = scaled(dense, c, x[c])
            values[c % n] += number if uniform(seed, MIX, 1, c) < 0.5 else -number
    for j in range(shared):
        values[j] = np.float64(np.float32(min(max(values[j], -LARGEST), LARGEST)))


# ------------------------------------------------------------------------------------------- what columns count

LONGEST = 10_000.0  # weight of examples beyond which the oldest fade
PRIOR, DOUBT = 0.3, 40.0  # eta^2 that a column is taken to have shown before its first row, and on how many rows
LEAST = 0.001  # eta^2 of a column that tells nothing
MANY = 32  # of more columns than these,
NEGLIGIBLE = 0.003  # those with so little eta^2 beside the largest are left out of distances
CONSTANT = 1e-24  # variance up to which a column counts as constant
SHARPEST = ROOM / CONSTANT**0.5  # weight of a column that is all but constant
OFTEN, PERIOD = 64, 8  # the weights are refreshed after each of the first rows, then so rarely

ROWS, COLUMNS, N_CLASSES = range(3)  # ColumnStats.used


class Moments(NamedTuple):
    """Weight, mean and sum of squared deviations of some columns."""

    mass: Annotated[np.ndarray, f8("columns", low=0.0, high=ROOM * LONGEST)]
    mean: Annotated[np.ndarray, f8("columns", low=-HUGE, high=HUGE)]
    squares: Annotated[np.ndarray, f8("columns", low=0.0, high=HUGE * HUGE)]


class Metric(NamedTuple):
    """What some columns have shown, and what follows from it."""

    total: Moments
    by_class: Annotated[Moments, part(per="classes")]
    centre: Annotated[np.ndarray, f8("columns", low=-HUGE, high=HUGE)]  # the mean at the last refresh
    variance: Annotated[np.ndarray, f8("columns", low=0.0, high=HUGE * HUGE)]  # likewise
    weight: Annotated[np.ndarray, f8("columns", low=0.0, high=SHARPEST)]  # what a difference in this column counts
    pull: Annotated[
        np.ndarray, f8("columns", low=0.0, high=SHARPEST)
    ]  # likewise, for the choice of columns to split on


class ColumnStats(NamedTuple):
    """What a panel knows of the columns."""

    seed: int
    width: int  # columns of the stream
    most: int  # dense columns at most
    used: Annotated[np.ndarray, i8(3, low=0)]  # rows learned, dense columns, classes
    seen: Annotated[np.ndarray, f8(1, low=0.0, high=ROOM * LONGEST)]  # weight of all rows, as far as it counts
    class_seen: Annotated[np.ndarray, f8("classes", low=0.0, high=ROOM * LONGEST)]  # and of those of each class
    dense: Dense
    columns: Metric


@bare_kernel
def is_due(t):
    """Whether the weights are taken anew after row t (1, 2, ...)."""
    return t <= OFTEN or t % PERIOD == 0


@bare_kernel
def add_values(mass, mean, squares, values, there, n, weight):
    """One more row with this weight; `there` is 0 where a value is missing."""
    for j in range(n):
        w = weight * there[j]
        all_of = mass[j] + w
        off = values[j] - mean[j]
        step = off * (w / max(all_of, 1e-30))
        fade = min(1.0, LONGEST / max(all_of, 1e-30))
        mean[j] += step
        squares[j] = (squares[j] + w * off * (off - step)) * fade
        mass[j] = all_of * fade


@bare_kernel
def learn_metric(metric, values, there, n, y, weight):
    """Learn the first n values of a row of class y."""
    total, own = metric.total, metric.by_class
    add_values(total.mass, total.mean, total.squares, values, there, n, weight)
    add_values(own.mass[y], own.mean[y], own.squares[y], values, there, n, weight)


@bare_kernel
def refresh(metric, n, k, within, weights, seen):
    """Take the weights of the first n columns anew; the last three are scratch, (columns,)."""
    for j in range(n):
        within[j] = weights[j] = seen[j] = 0.0
    for c in range(k):
        squares, count = metric.by_class.squares[c], metric.by_class.mass[c]
        for j in range(n):
            within[j] += squares[j]
            weights[j] += count[j]
            seen[j] += 1.0 if count[j] > 0.0 else 0.0
    top = 0.0
    for j in range(n):
        count, squares = metric.total.mass[j], metric.total.squares[j]
        eta = 0.0
        if weights[j] > seen[j] and count > 1.0 and squares > 0.0:
            eta = max(0.0, 1.0 - within[j] / (weights[j] - seen[j]) * (count - 1.0) / squares)
        eta = (eta * count + PRIOR * DOUBT) / (count + DOUBT)
        variance = squares / max(count, 1e-30)
        within[j] = max(eta, LEAST) if variance > CONSTANT else 0.0
        top = max(top, within[j])
        metric.centre[j] = metric.total.mean[j]
        metric.variance[j] = variance
    for j in range(n):
        spread = math.sqrt(max(metric.variance[j], CONSTANT))
        metric.pull[j] = within[j] / spread
        metric.weight[j] = math.sqrt(within[j]) / spread if n <= MANY or within[j] > NEGLIGIBLE * top else 0.0


@bare_kernel
def meet_columns(stats, x, k):
    """Origins, units and new nominal values of a row that is to be learned; whether there was anything new.

    The column of a new value has been 0 all the time. Its weight, and its scale for least squares, stay 0 up to the
    next refresh: the first row says nothing yet.
    """
    dense, columns = stats.dense, stats.columns
    new = False
    for c in range(dense.origin.size):
        if x[c] == x[c]:
            new = meet_number(dense, c, x[c]) or new
    for q in range(dense.place.shape[0]):
        code = x[dense.offset + q]
        if code >= 0.0:
            before = stats.used[COLUMNS]
            new = new or dense.place[q, int(code)] == 0
            n = meet_value(dense, q, int(code), before, stats.most, stats.seed)
            if n > before:
                columns.total.mass[before] = stats.seen[0]
                for c in range(k):
                    columns.by_class.mass[c, before] = stats.class_seen[c]
                stats.used[COLUMNS] = n
    return new


@bare_kernel
def misfit_number(stats, x, c):
    """The first numeric column from c on whose origin and unit do not fit any more, by this row; -1: none.

    To be called for a row that has been met, again from the column after the one that was found.
    """
    for column in range(c, stats.dense.origin.size):
        if x[column] == x[column] and is_misfit(stats.dense, column, x[column]):
            return column
    return -1


@bare_kernel
def start_column_again(stats, c, x, k):
    """Numeric column c gets another origin and unit by its last number x, and nothing is known of it any more.

    Returns its dense column j, and what becomes of numbers v that are remembered of it: v * factor + shift. Where
    several columns share a dense one, that cannot be said, and the numbers stay as they are.
    """
    dense, columns = stats.dense, stats.columns
    j = c % dense.n_numbers
    factor, shift = take_unit(dense, c, x)
    columns.total.mass[j] = columns.total.mean[j] = columns.total.squares[j] = 0.0
    for l in range(k):
        columns.by_class.mass[l, j] = columns.by_class.mean[l, j] = columns.by_class.squares[l, j] = 0.0
    columns.centre[j] = columns.variance[j] = columns.weight[j] = columns.pull[j] = 0.0
    if j < dense.origin.size - dense.n_numbers:
        factor, shift = 1.0, 0.0
    return j, factor, shift


# arguments: a row, and scratch
@bare_kernel
def learn_columns(stats, values, there, n, k, y, weight, sums):
    """The columns learn a row; whether their weights have been taken anew."""
    learn_metric(stats.columns, values, there, n, y, weight)
    stats.seen[0] = min(stats.seen[0] + weight, LONGEST)
    stats.class_seen[y] = min(stats.class_seen[y] + weight, LONGEST)
    stats.used[ROWS] += 1
    due = is_due(stats.used[ROWS])
    if due:
        refresh(stats.columns, n, k, sums[0], sums[1], sums[2])
    return due
