"""What the chain knows of the numeric columns: how far their numbers spread, and which are outliers.

One glitch of a sensor would otherwise stay for ever: in the variance of its column, and in the leaves that it fell
into. So a number far outside of what its column has shown is clipped to its range:

* The *range* of a column goes from its RANK-th smallest to its RANK-th largest number; from the second smallest to the
  second largest after the first STEP numbers, and so on. So RANK - 1 glitches do not widen it, and a new unit is
  believed after RANK rows.
* The limit is SLACK widths of the range beyond it; more while few numbers are known.
* While a column has shown one number only, others are cut to that, but for the first FEW.
* Glitches are forgotten every MEMORY numbers, so that a few now and then never add up to RANK.

Odd first numbers are believed, for nothing is known yet, and would stay in variances and leaves. So a column *starts
again* if its variance is more than (ODD widths of its range)^2, which no numbers inside the range can have: that is
looked at whenever another rank is taken for the range, and every MEMORY numbers. Its variance is then guessed from the
range, and the learners forget what they know of the column.

The rule knows the past alone, and predicting follows it without learning. So how the stream is cut into blocks makes no
difference. The variance of a column is that of its numbers after the cut, the last LONGEST or so counting most.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import entry_kernel, small_kernel
from onlineboost.contracts.schema import f8, i8
from onlineboost.contracts.state import joined, made
from onlineboost.data.places import CELLS

RANK, STEP = 4, 25
SLACK, EARLY = 1.0, 50.0  # SLACK widths, times 1 + EARLY / (numbers known)
FEW = 20
MEMORY = 1_000
LONGEST = 10_000.0
ODD = 4.0
LARGEST = 1e140  # no number is larger: sums of squares must not overflow

COUNT, MEAN, SQUARES = range(3)  # the rows of Numbers.moments
LOW, HIGH = range(2)  # the two of Numbers.ends


class Numbers(NamedTuple):
    """What the numeric columns have shown, and the nominal ones of many values (`evidence`)."""

    moments: Annotated[np.ndarray, f8(3, "columns")]  # how many numbers, their mean, sum of squared deviations from it
    # the smallest numbers, smallest first; the largest, largest first
    ends: Annotated[np.ndarray, f8(2, RANK, "columns")]
    wide: Annotated[np.ndarray, i8("wide", low=0, since=2)]  # which of the nominal columns have a table
    cells: Annotated[np.ndarray, f8("wide", CELLS, "classes", low=0.0, since=2)]  # counts of classes
    labels: Annotated[np.ndarray, f8("wide", "classes", low=0.0, since=2)]  # their sums over all cells
    step: Annotated[np.ndarray, f8("wide", low=1.0, high=2e6, default=1.0, since=2)]  # what the next row counts


def new_numbers(n_numeric: int) -> Numbers:
    ends = np.full((2, RANK, n_numeric), LARGEST)
    ends[HIGH] = -LARGEST
    return made(Numbers, {"columns": n_numeric, "wide": 0, "classes": 0}, {})._replace(ends=ends)


def more_numbers(numbers: Numbers, n_more: int) -> Numbers:
    """The same with more columns that have shown nothing."""
    return joined([numbers, new_numbers(n_more)], "columns")


@small_kernel
def column_range(numbers, c):
    """From where to where the numbers of column c are believed without a doubt."""
    count = numbers.moments[COUNT, c]
    rank = RANK - 1 if count >= STEP * (RANK - 1) else int(count / STEP)
    return numbers.ends[LOW, rank, c], numbers.ends[HIGH, rank, c]


@small_kernel
def reach(numbers, c, low, high):
    """How far beyond its range a number of column c is still believed."""
    count = numbers.moments[COUNT, c]
    if high > low:
        return SLACK * (1.0 + EARLY / count) * (high - low)
    return math.inf if count < FEW else 0.0


@small_kernel
def clipped(numbers, c, x):
    """x, or the nearest end of the range, if x is an outlier in column c; a missing value stays one."""
    low, high = column_range(numbers, c)
    if low <= x <= high:
        return x
    beyond = reach(numbers, c, low, high)
    if x < low - beyond:
        return low
    if x > high + beyond:
        return high
    return x if abs(x) <= LARGEST or x != x else math.copysign(LARGEST, x)


@small_kernel
def remember(numbers, c, x):
    """Put x among the smallest and the largest numbers of column c, where it belongs."""
    low, high = numbers.ends[LOW], numbers.ends[HIGH]
    x = min(max(x, -LARGEST), LARGEST)
    if x < low[RANK - 1, c]:
        at = RANK - 1
        while at > 0 and x < low[at - 1, c]:
            low[at, c] = low[at - 1, c]
            at -= 1
        low[at, c] = x
    if x > high[RANK - 1, c]:
        at = RANK - 1
        while at > 0 and x > high[at - 1, c]:
            high[at, c] = high[at - 1, c]
            at -= 1
        high[at, c] = x


@small_kernel
def forget(numbers, c):
    """Forget outliers, in a column that has shown more than one number."""
    low, high = column_range(numbers, c)
    if high > low:
        beyond = reach(numbers, c, low, high)
        below = above = 0
        while numbers.ends[LOW, below, c] < low - beyond:
            below += 1
        while numbers.ends[HIGH, above, c] > high + beyond:
            above += 1
        for rank in range(RANK):
            numbers.ends[LOW, rank, c] = numbers.ends[LOW, min(rank + below, RANK - 1), c]
            numbers.ends[HIGH, rank, c] = numbers.ends[HIGH, min(rank + above, RANK - 1), c]


@small_kernel
def starts_again(numbers, c):
    """Whether column c has shown odd numbers that are out of its range now; its mean and variance are mended then."""
    count = int(numbers.moments[COUNT, c])
    if count % MEMORY != 0 and (count % STEP != 0 or count >= STEP * RANK):
        return False
    low, high = column_range(numbers, c)
    width, weight = high - low, min(count, LONGEST)
    if not (width > 0.0 and numbers.moments[SQUARES, c] / weight > (ODD * width) ** 2):
        return False
    numbers.moments[MEAN, c] = low + 0.5 * width
    numbers.moments[SQUARES, c] = weight * (0.25 * width) ** 2
    return True


@entry_kernel
def learn_numbers(numbers, X, out, spread, start):
    """Learn the numbers of rows X, from number `start` on (row by row), and the variance after each of them.

    Where a column starts again after a row, the variance there is negative.
    `out` gets the clipped numbers where they differ from X. If `out` has no rows, the kernel stops before the first
    such number, and returns where it is; otherwise it returns how many numbers there are.
    """
    n = numbers.moments.shape[1]
    count, mean, squares = numbers.moments[COUNT], numbers.moments[MEAN], numbers.moments[SQUARES]
    for b in range(start // max(n, 1), X.shape[0]):
        for c in range(start - b * n if start > b * n else 0, n):
            raw = X[b, c]
            if raw == raw:
                x = clipped(numbers, c, raw)
                if x != raw:
                    if out.shape[0] == 0:
                        return b * n + c
                    out[b, c] = x
                remember(numbers, c, raw)
                count[c] += 1.0
                if int(count[c]) % MEMORY == 0:
                    forget(numbers, c)
                if count[c] > LONGEST:
                    squares[c] -= squares[c] / LONGEST
                off = x - mean[c]
                mean[c] += off / min(count[c], LONGEST)
                squares[c] += off * (x - mean[c])
            spread[b, c] = squares[c] / max(min(count[c], LONGEST), 1.0)
            if raw == raw and starts_again(numbers, c):
                spread[b, c] = -spread[b, c]
    return X.shape[0] * n


@entry_kernel
def clip_numbers(numbers, X, out):
    """Whether no number of X is an outlier; `out`, if it has rows, gets the clipped numbers where they differ."""
    all_inside = True
    for b in range(X.shape[0]):
        for c in range(numbers.moments.shape[1]):
            x = clipped(numbers, c, X[b, c])
            if x < X[b, c] or x > X[b, c]:
                all_inside = False
                if out.shape[0] > 0:
                    out[b, c] = x
    return all_inside


def learn_and_clip(numbers: Numbers, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """These rows, outliers clipped, and the variance of each column up to each row; the columns learn them.

    X stays as it is, since it may be the caller's own: there is a copy if there is something to cut.
    """
    n = numbers.moments.shape[1]
    spread = np.empty((len(X), n))
    at = learn_numbers(numbers, X, X[:0], spread, 0)
    if at == len(X) * n:
        return X, spread
    out = X.copy()
    learn_numbers(numbers, X, out, spread, at)
    return out, spread


def clip_rows(numbers: Numbers, X: np.ndarray) -> np.ndarray:
    """These rows, outliers clipped, to predict them."""
    if clip_numbers(numbers, X, X[:0]):
        return X
    out = X.copy()
    clip_numbers(numbers, X, out)
    return out
