"""Learners that know nothing of each other: each learns every example, and says what it thinks.

For a single tree, and for many of which the best one is followed.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel
from onlineboost.boosters.votes import likeliest
from onlineboost.contracts.booster import BOOSTER, FIRST, WHOLE_CHAIN, booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.schema import f8


@booster
class Plain(NamedTuple):
    """No boosting. rows.s adds up the learners' distributions; while they learn it is the last one's."""

    seed: int
    n_learners: Annotated[int, WHOLE_CHAIN]
    offset: Annotated[int, FIRST]
    scale: Annotated[np.ndarray, f8("learners")]

    def probabilities(self, rows: Rows, n_votes: int) -> np.ndarray:
        s = rows.s
        s = s + (s.sum(axis=1, keepdims=True) == 0.0) / s.shape[1]  # a learner that has learned nothing says nothing
        return s / s.sum(axis=1, keepdims=True)


@inlined_kernel
def start(booster, rows, weight):
    return


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    return weight * booster.scale[i]


@inlined_kernel
def vote(booster, i, rows, b, t, place, work, n):
    return likeliest(booster, i, t, rows.k, work, n)


@inlined_kernel
def cast(booster, i, rows, b, l, work, n):
    for j in range(n):
        rows.s[b, work.labels[j]] += work.p[j]
    rows.experts[b, booster.offset + i] = l


@inlined_kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    for j in range(rows.k):
        rows.s[b, j] = 0.0  # to take it out of a sum would round
    cast(booster, i, rows, b, l, work, n)


BOOSTER.implement(Plain, start, weigh, vote, cast, update)
