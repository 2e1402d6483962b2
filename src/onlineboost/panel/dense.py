"""A row of the chain (numbers, codes of nominal values, NaN) as a row of numbers alone.

A number becomes (x - origin) * unit. The origin is the first number of its column, the unit a power of two that makes
the first difference to it about 1: then single precision is enough to tell values apart, whatever the column is about.
A nominal value becomes a 1 in a column of its own. These are given away in the order in which the values come; once
there are no more, values share them, with a sign, by a hash. A missing value becomes the mean of the column. Of more
than WIDE numeric columns those beyond are added to the first ones, in turn, each with a sign that is drawn: column c to
c % WIDE. So a few columns more cost a little accuracy and not a lot: of 1,100 columns, 948 stay as they are.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost._compile.random import MIX, SHARED, uniform

LARGEST = 1e12  # no dense number is larger
VALUES = 256  # codes of a nominal column
WIDE = 1024  # dense columns for numbers at most: memory and time of least squares grow with the square


class Dense(NamedTuple):
    """How rows become dense."""

    n_numbers: int  # dense columns for numbers: the first ones
    offset: int  # numeric columns of a row; those that turned up later are left to the trees of the chain
    origin: np.ndarray  # float64 (numeric columns,)
    unit: np.ndarray  # float64 (numeric columns,) 0: all numbers so far were the same
    met: np.ndarray  # bool (numeric columns,) whether there was a number yet
    place: np.ndarray  # int32 (nominal columns, VALUES) dense column of each code, plus 1; 0: none yet
    sign: np.ndarray  # int8 (nominal columns, VALUES)
    owner: np.ndarray  # int32 (dense columns,) nominal column of a dense one; of numeric ones it is not used


def new_dense(n_numeric: int, n_nominal: int, columns: int) -> Dense:
    return Dense(
        min(n_numeric, WIDE),
        n_numeric,
        np.zeros(n_numeric),
        np.zeros(n_numeric),
        np.zeros(n_numeric, np.bool_),
        np.zeros((n_nominal, VALUES), np.int32),
        np.zeros((n_nominal, VALUES), np.int8),
        np.zeros(columns, np.int32),
    )


@bare_kernel
def meet_number(dense, c, x):
    """Origin and unit of column c, as soon as they are known; whether this number has told one of them."""
    if not dense.met[c]:
        dense.met[c] = True
        dense.origin[c] = x
        return True
    if dense.unit[c] == 0.0 and x != dense.origin[c]:
        _, exponent = math.frexp(abs(x - dense.origin[c]))
        dense.unit[c] = math.ldexp(1.0, -max(-1000, min(1000, exponent)))
        return True
    return False


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
