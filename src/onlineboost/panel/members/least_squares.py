"""Least squares by themselves, on the columns: `panel.least_squares` has their kernels. `cosines` makes use of it."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8, part
from onlineboost.panel.ground import rescale
from onlineboost.panel.least_squares import (
    LeastSquares,
    learn_squares,
    logits_of_scores,
    score,
    standardise,
    start_input,
    start_input_again,
)
from onlineboost.panel.members.member import implement
from onlineboost.panel.metric import SHARPEST
from onlineboost.panel.newton import softmax
from onlineboost.panel.state import OUTSIDE, UNSAVED, Ground


class SquaresWork(NamedTuple):
    """Scratch for one row."""

    x: np.ndarray  # float64 (inputs,) [1, z], or [1, cosines, z]
    z: np.ndarray  # float64 (columns,)
    u: np.ndarray  # float64 (inputs,)
    scores: np.ndarray  # float64 (k,)
    logits: np.ndarray  # float64 (k,)
    owners: np.ndarray  # float64 (columns of the stream,)


def new_squares_work(ground: Ground, before: int, k: int) -> SquaresWork:
    """`before` inputs come before z."""
    n = len(ground.columns.centre)
    x, u = np.ones(before + n), np.zeros(before + n)
    return SquaresWork(x, np.zeros(n), u, np.zeros(k), np.zeros(k), np.zeros(ground.width))


@bare_kernel
def say_scores(squares, inputs, k, work, p):
    """p[:k] from the inputs in work.x: the softmax of what the panel has as logits."""
    score(squares, work.x, inputs, k, work.scores)
    logits_of_scores(work.scores, k, work.logits)
    softmax(work.logits, k, p)


class LinearMember(NamedTuple):
    """Least squares on the columns."""

    ground: Annotated[Ground, OUTSIDE]
    number: Annotated[int, UNSAVED]
    scale: Annotated[np.ndarray, f8("columns", low=0.0, high=SHARPEST)]
    linear: Annotated[LeastSquares, part(inputs="linear")]

    def new_work(self, k: int) -> SquaresWork:
        return new_squares_work(self.ground, 1, k)


@bare_kernel
def start(member, first, stop):
    for j in range(first, stop):
        start_input(member.linear, 1 + j)


@bare_kernel
def move(member, j, n, k, factor, shift):
    start_input_again(member.linear, 1 + j, 1 + n, k)
    member.scale[j] = 0.0


@bare_kernel
def say(member, n, k, work, p):
    own = work.own
    standardise(work.values, member.ground.columns.centre, member.scale, n, own.x[1:])
    say_scores(member.linear, 1 + n, k, own, p)


@bare_kernel
def learn(member, n, k, y, weight, work):
    own = work.own
    learn_squares(member.linear, own.x, 1 + n, own.scores, k, y, weight, own.u)


@bare_kernel
def refreshed(member, n, work):
    rescale(member.ground, n, work.own.owners, member.scale)


implement(LinearMember, start, move, say, learn, refreshed)
