"""A row of the chain (numbers, codes of nominal values, NaN) as a row of numbers alone.

A number becomes (x - origin) * unit. The origin is the first number of its column, the unit a power of two that makes
the first difference to it about 1: then single precision is enough to tell values apart, whatever the column is about.
The first numbers may be odd ones: a glitch, 0.1 + 0.2 beside 0.3, the unit of another sensor. So a column is looked at
after FIRST_LOOK numbers, each time their number has doubled, and every LAST_LOOK in the end. By the range of the
numbers since the last look, origin and unit do not fit any more

* if the origin is more than FAR ranges away: single precision would not tell the numbers apart,
* if the range in units is below 1 / FAR^2 or above FAR^2,
* if the range of all numbers is more than ODD times as wide: the first ones were glitches. This is judged up to the
  first look after SURE numbers at which the column varies. Later glitches do not get here: see `chain.numbers`.

They are then taken from the range since the last look, and what was known of the column starts again (`columns`).
A nominal value becomes a 1 in a column of its own. These are given away in the order in which the values come; once
there are no more, values share them, with a sign, by a hash. A missing value becomes the mean of the column. Of more
than WIDE numeric columns those beyond are added to the first ones, in turn, each with a sign that is drawn: column c to
c % WIDE. So a few columns more cost a little accuracy and not a lot: of 1,100 columns, 948 stay as they are.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost._compile.random import MIX, SHARED, uniform
from onlineboost.contracts.schema import b1, f8, i1, i4, i8, whole

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

as_given = partial(f8, low=-1e140, high=1e140)  # numbers of rows: no larger ones come, see `chain.numbers`


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
