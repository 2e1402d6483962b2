"""How far apart two values of a column are: by its spread, and by how much it tells about the classes.

Of every column there are a running mean and variance, over all rows and per class. The share of the variance that the
classes explain,

    eta^2 = 1 - MS_within / MS_total        at least 0, shrunk to (eta^2 n + .3 * 40) / (n + 40)

makes the column's weight sqrt(max(eta^2, .001)) / sd: distances are then made of what matters. Trees choose columns by
max(eta^2, .001) / sd. The weights are taken anew after every row at first, then after every eighth.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8, part
from onlineboost.panel.dense import HUGE, ROOM

LONGEST = 10_000.0  # weight of examples beyond which the oldest fade
PRIOR, DOUBT = 0.3, 40.0  # eta^2 that a column is taken to have shown before its first row, and on how many rows
LEAST = 0.001  # eta^2 of a column that tells nothing
NEGLIGIBLE, MANY = (
    0.003,
    32,
)  # of more than MANY columns, those with so little eta^2 beside the largest are left out of distances
CONSTANT = 1e-24  # variance up to which a column counts as constant
SHARPEST = ROOM / CONSTANT**0.5  # weight of a column that is all but constant
OFTEN, PERIOD = 64, 8  # the weights are refreshed after each of the first rows, then so rarely


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
