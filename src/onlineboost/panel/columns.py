"""What is known of the columns. What two values count apart: by their spread, and by what they tell of the classes.

Of every column there are a running mean and variance, over all rows and per class. The share of the variance that the
classes explain,

    eta^2 = 1 - MS_within / MS_total        at least 0, shrunk to (eta^2 n + .3 * 40) / (n + 40)

makes the column's weight sqrt(max(eta^2, .001)) / sd: distances are then made of what matters. Trees choose columns by
max(eta^2, .001) / sd. The weights are taken anew after every row at first, then after every eighth.

`ColumnStats` is what all members of a panel stand on: rows as numbers (`dense`), and what each column counts. A row is
met before it is learned, and after it was predicted: columns get their origins and units, new nominal values their
dense columns. After it the moments of the columns are up to date, and now and then what follows from them.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8, i8, part
from onlineboost.panel.dense import HUGE, ROOM, Dense, is_misfit, meet_number, meet_value, take_unit

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
