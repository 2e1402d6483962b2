"""Refitted trees by themselves, by the columns alone: `panel.refits` has their kernels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import part
from onlineboost.panel.members.member import implement
from onlineboost.panel.neighbours import RECENT, Neighbours, move_neighbours, remember_neighbour
from onlineboost.panel.refits import (
    Refits,
    RefitsWork,
    ask_refits,
    learn_refits,
    move_refits,
    new_refits_work,
)
from onlineboost.panel.state import OUTSIDE, ROWS, UNSAVED, Ground


class RefitsMember(NamedTuple):
    """The trees, the rows that they are fitted to, and what is known of the columns."""

    ground: Annotated[Ground, OUTSIDE]
    number: Annotated[int, UNSAVED]
    neighbours: Annotated[Neighbours, part(scores=0)]
    refits: Refits

    def new_work(self, k: int) -> RefitsWork:
        return new_refits_work(RECENT, len(self.ground.columns.centre), k)


@bare_kernel
def move(member, j, n, k, factor, shift):
    move_neighbours(member.neighbours, j, factor, shift)
    move_refits(member.refits, member.neighbours, j, factor, shift, min(member.ground.used[ROWS], RECENT), k)


@bare_kernel
def say(member, n, k, work, p):
    ask_refits(member.refits, work.own, work.values, work.values, k, p)


@bare_kernel
def learn(member, n, k, y, weight, work):
    ground, t = member.ground, member.ground.used[ROWS]
    remember_neighbour(member.neighbours, work.values, n, work.values, 0, y, weight, t)
    learn_refits(member.refits, work.own, member.neighbours, n, 0, k, t, ground.seed)


implement(RefitsMember, move, say, learn)
