"""Least squares by themselves, on the columns and on random cosines: `panel.least_squares` has their kernels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import f8, part
from onlineboost.panel.ground import rescale, tilt_columns
from onlineboost.panel.least_squares import (
    N_COSINES,
    LeastSquares,
    curve,
    learn_squares,
    standardise,
    start_frequencies,
    start_input,
    start_input_again,
    start_phases,
)
from onlineboost.panel.members.least_squares import SquaresWork, new_squares_work, say_scores
from onlineboost.panel.members.member import implement
from onlineboost.panel.metric import SHARPEST
from onlineboost.panel.state import OUTSIDE, UNSAVED, Ground


class CosinesMember(NamedTuple):
    """Least squares on the columns and on random cosines."""

    ground: Annotated[Ground, OUTSIDE]
    number: Annotated[int, UNSAVED]
    scale: Annotated[np.ndarray, f8("columns", low=0.0, high=SHARPEST)]
    tilt: Annotated[np.ndarray, f8("columns", low=0.0, high=100.0)]  # what a column counts in the cosines
    frequencies: Annotated[np.ndarray, f8("columns", N_COSINES, low=-2.0, high=2.0)]  # in turns
    phases: Annotated[np.ndarray, f8(N_COSINES, low=0.0, high=1.0)]
    curved: Annotated[LeastSquares, part(inputs="curved")]

    def new_work(self, k: int) -> SquaresWork:
        return new_squares_work(self.ground, 1 + N_COSINES, k)


@bare_kernel
def start(member, first, stop):
    if first == 0:
        start_phases(member.ground.seed, member.phases)
    for j in range(first, stop):
        start_input(member.curved, 1 + N_COSINES + j)
        start_frequencies(member.frequencies, j, member.ground.seed, member.ground.width)


@bare_kernel
def move(member, j, n, k, factor, shift):
    start_input_again(member.curved, 1 + N_COSINES + j, 1 + N_COSINES + n, k)
    member.scale[j] = 0.0
    tilt_columns(member.ground, n, member.scale, member.tilt)


@bare_kernel
def say(member, n, k, work, p):
    own = work.own
    standardise(work.values, member.ground.columns.centre, member.scale, n, own.z)
    curve(member.frequencies, member.phases, member.tilt, own.z, n, own.x)
    say_scores(member.curved, 1 + N_COSINES + n, k, own, p)


@bare_kernel
def learn(member, n, k, y, weight, work):
    own = work.own
    learn_squares(member.curved, own.x, 1 + N_COSINES + n, own.scores, k, y, weight, own.u)


@bare_kernel
def refreshed(member, n, work):
    rescale(member.ground, n, work.own.owners, member.scale)
    tilt_columns(member.ground, n, member.scale, member.tilt)


implement(CosinesMember, start, move, say, learn, refreshed)
