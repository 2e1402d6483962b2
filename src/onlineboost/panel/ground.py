"""What every member stands on: rows as numbers, and what each column counts (`state.Ground`, or a panel).

A row is met before it is learned, and after it was predicted: columns get their origins and units, new nominal values
their dense columns. After it the moments of the columns are up to date, and now and then what follows from them.
"""

from __future__ import annotations

import math

from onlineboost._compile.jit import bare_kernel
from onlineboost.panel.dense import is_misfit, meet_number, meet_value, take_unit
from onlineboost.panel.metric import CONSTANT, LONGEST, is_due, learn_metric, refresh
from onlineboost.panel.state import COLUMNS, ROWS


@bare_kernel
def meet_columns(ground, x, k):
    """Origins, units and new nominal values of a row that is to be learned; whether there was anything new.

    The column of a new value has been 0 all the time. Its weight, and its scale for least squares, stay 0 up to the
    next refresh: the first row says nothing yet.
    """
    dense, columns = ground.dense, ground.columns
    new = False
    for c in range(dense.origin.size):
        if x[c] == x[c]:
            new = meet_number(dense, c, x[c]) or new
    for q in range(dense.place.shape[0]):
        code = x[dense.offset + q]
        if code >= 0.0:
            before = ground.used[COLUMNS]
            new = new or dense.place[q, int(code)] == 0
            n = meet_value(dense, q, int(code), before, ground.most, ground.seed)
            if n > before:
                columns.total.mass[before] = ground.seen[0]
                for c in range(k):
                    columns.by_class.mass[c, before] = ground.class_seen[c]
                ground.used[COLUMNS] = n
    return new


@bare_kernel
def misfit_number(ground, x, c):
    """The first numeric column from c on whose origin and unit do not fit any more, by this row; -1: none.

    To be called for a row that has been met, again from the column after the one that was found.
    """
    for column in range(c, ground.dense.origin.size):
        if x[column] == x[column] and is_misfit(ground.dense, column, x[column]):
            return column
    return -1


@bare_kernel
def start_column_again(ground, c, x, k):
    """Numeric column c gets another origin and unit by its last number x, and nothing is known of it any more.

    Returns its dense column j, and what becomes of numbers v that are remembered of it: v * factor + shift. Where
    several columns share a dense one, that cannot be said, and the numbers stay as they are.
    """
    dense, columns = ground.dense, ground.columns
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
def learn_columns(ground, values, there, n, k, y, weight, sums):
    """The columns learn a row; whether their weights have been taken anew."""
    learn_metric(ground.columns, values, there, n, y, weight)
    ground.seen[0] = min(ground.seen[0] + weight, LONGEST)
    ground.class_seen[y] = min(ground.class_seen[y] + weight, LONGEST)
    ground.used[ROWS] += 1
    due = is_due(ground.used[ROWS])
    if due:
        refresh(ground.columns, n, k, sums[0], sums[1], sums[2])
    return due


@bare_kernel
def rescale(ground, n, owners, scale):
    """Scales of least squares: 1 / sd, one for all values of a nominal column together. `owners` is scratch."""
    dense, variance = ground.dense, ground.columns.variance
    for q in range(dense.place.shape[0]):
        owners[q] = 0.0
    for j in range(dense.n_numbers, n):
        owners[dense.owner[j]] += variance[j]
    for j in range(n):
        spread = variance[j] if j < dense.n_numbers else owners[dense.owner[j]]
        scale[j] = 1.0 / math.sqrt(spread) if spread > CONSTANT else 0.0


@bare_kernel
def tilt_columns(ground, n, scale, tilt):
    """What columns count in the cosines: sqrt(eta^2), such that the variance of all columns together stays."""
    variance, pull = ground.columns.variance, ground.columns.pull
    all_of = tilted = 0.0
    for j in range(n):
        eta = pull[j] * math.sqrt(max(variance[j], CONSTANT))
        share = variance[j] * scale[j] * scale[j]
        all_of += share
        tilted += eta * share
        tilt[j] = math.sqrt(eta)
    for j in range(n):
        tilt[j] *= math.sqrt(all_of / tilted) if tilted > 0.0 else 0.0
