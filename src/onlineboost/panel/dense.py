"""A row of the chain (numbers, codes of nominal values, NaN) as a row of numbers alone.

A number becomes (x - origin) * unit. The origin is the first number of its column, the unit a power of two that makes
the first difference to it about 1: then single precision is enough to tell values apart, whatever the column is about.
A nominal value becomes a 1 in a column of its own. These are given away in the order in which the values come; once
there are no more, values share them, with a sign, by a hash. A missing value becomes the mean of the column.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost._compile.random import SHARED, uniform

LARGEST = 1e12  # no dense number is larger
VALUES = 256  # codes of a nominal column


class Dense(NamedTuple):
    """How rows become dense."""

    origin: np.ndarray  # float64 (numeric columns,)
    unit: np.ndarray  # float64 (numeric columns,) 0: all numbers so far were the same
    met: np.ndarray  # bool (numeric columns,) whether there was a number yet
    place: np.ndarray  # int32 (nominal columns, VALUES) dense column of each code, plus 1; 0: none yet
    sign: np.ndarray  # int8 (nominal columns, VALUES)
    owner: np.ndarray  # int32 (dense columns,) nominal column of a dense one; of numeric ones it is not used


def new_dense(n_numeric: int, n_nominal: int, columns: int) -> Dense:
    return Dense(
        np.zeros(n_numeric),
        np.zeros(n_numeric),
        np.zeros(n_numeric, np.bool_),
        np.zeros((n_nominal, VALUES), np.int32),
        np.zeros((n_nominal, VALUES), np.int8),
        np.zeros(columns, np.int32),
    )


@bare_kernel
def meet_number(dense, c, x):
    """Origin and unit of column c, as soon as they are known."""
    if not dense.met[c]:
        dense.met[c] = True
        dense.origin[c] = x
    elif dense.unit[c] == 0.0 and x != dense.origin[c]:
        _, exponent = math.frexp(abs(x - dense.origin[c]))
        dense.unit[c] = math.ldexp(1.0, -max(-1000, min(1000, exponent)))


@bare_kernel
def meet_value(dense, q, code, n, most, seed):
    """A dense column for code `code` of nominal column q, if it has none: returns the number of columns then.

    n are in use, of at most `most`; `n_numeric` are not to be shared.
    """
    if dense.place[q, code] != 0:
        return n
    dense.sign[q, code] = 1
    if n < most:
        dense.place[q, code] = n + 1
        dense.owner[n] = q
        return n + 1
    n_numeric = dense.origin.size
    at = n_numeric + int(uniform(seed, SHARED, q, 2 * code) * (most - n_numeric))
    dense.place[q, code] = at + 1
    if uniform(seed, SHARED, q, 2 * code + 1) < 0.5:
        dense.sign[q, code] = -1
    return n


@bare_kernel
def densify(dense, x, mean, n, values, there):
    """values[:n] of a row, and there[:n]: 0.0 for what is missing, 1.0 for the rest."""
    n_numeric = dense.origin.size
    for c in range(n_numeric):
        number = x[c]
        there[c] = 1.0 if number == number else 0.0
        if number == number:
            scaled = min(max((number - dense.origin[c]) * dense.unit[c], -LARGEST), LARGEST)
            values[c] = np.float64(np.float32(scaled))
        else:
            values[c] = np.float64(np.float32(mean[c]))
    for j in range(n_numeric, n):
        code = x[n_numeric + dense.owner[j]]
        there[j] = 1.0 if code >= 0.0 else 0.0
        values[j] = 0.0 if code >= 0.0 else np.float64(np.float32(mean[j]))
    for q in range(dense.place.shape[0]):
        code = x[n_numeric + q]
        if code >= 0.0 and code < VALUES:
            at = dense.place[q, int(code)] - 1
            if at >= 0:
                values[at] += dense.sign[q, int(code)]
