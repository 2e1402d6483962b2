"""Weak learners that say what they are told to: the kernels' side of learners that live outside of them.

A learner of another make answers in Python. The loop stops before a row whose answer is not there yet, the caller fills
it in and calls again; and what the learner is to learn is left for the caller in `weight`.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel
from onlineboost.contracts.learner import LEARNER


class Given(NamedTuple):
    """What the learner at work says of the rows of a block."""

    p: np.ndarray  # float64 (rows, k)
    ready: np.ndarray  # int64 (2,) the learner at work, and the number of rows of which it has been asked
    weight: np.ndarray  # float64 (rows,) with which it is to learn them; 0: not at all


def new_given(n_rows: int, k: int) -> Given:
    return Given(np.empty((n_rows, k)), np.array([-1, 0]), np.zeros(n_rows))


@inlined_kernel
def is_ready(given, i, b):
    return given.ready[0] == i and b < given.ready[1]


@inlined_kernel
def ask(given, i, rows, b, scratch, work):
    for l in range(rows.k):
        work.labels[l] = l
        work.p[l] = given.p[b, l]
    return rows.k, 0


@inlined_kernel
def teach(given, i, rows, b, y, weight, t, what, scratch):
    given.weight[b] = weight


LEARNER.implement(Given, is_ready, ask, teach)
