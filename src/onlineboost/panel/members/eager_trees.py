"""Eager trees by themselves: `panel.eager` has their kernels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from onlineboost._compile.jit import bare_kernel
from onlineboost.panel.eager import (
    Eager,
    EagerWork,
    ask_eager,
    learn_eager,
    move_eager,
    new_eager_work,
    remember_row,
)
from onlineboost.panel.members.member import implement
from onlineboost.panel.state import OUTSIDE, ROWS, UNSAVED, Ground


class EagerMember(NamedTuple):
    """Eager trees, and what they know of the columns."""

    ground: Annotated[Ground, OUTSIDE]
    number: Annotated[int, UNSAVED]
    eager: Eager

    def new_work(self, k: int) -> EagerWork:
        return new_eager_work(len(self.ground.columns.centre))


@bare_kernel
def move(member, j, n, k, factor, shift):
    move_eager(member.eager, j, factor, shift)


@bare_kernel
def say(member, n, k, work, p):
    ask_eager(member.eager, work.own, work.values, k, p)


@bare_kernel
def learn(member, n, k, y, weight, work):
    ground, t = member.ground, member.ground.used[ROWS]
    remember_row(member.eager, work.values, n, y, weight, t)
    learn_eager(member.eager, work.own, ground.columns.pull, n, y, weight, t, ground.seed)


implement(EagerMember, move, say, learn)
