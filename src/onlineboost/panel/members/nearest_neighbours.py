"""Nearest neighbours by themselves, by the columns alone: `panel.neighbours` has their kernels."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import part, whole
from onlineboost.panel.members.member import implement
from onlineboost.panel.neighbours import (
    RECENT,
    Neighbours,
    NeighboursWork,
    move_neighbours,
    nearest,
    new_neighbours_work,
    remember_neighbour,
    start_distances,
    vote,
)
from onlineboost.panel.state import OUTSIDE, ROWS, UNSAVED, Ground


class NeighboursMember(NamedTuple):
    """The last rows, and what is known of the columns."""

    ground: Annotated[Ground, OUTSIDE]
    number: Annotated[int, UNSAVED]
    many: Annotated[int, whole(default=1)]  # neighbours that are asked
    neighbours: Annotated[Neighbours, part(scores=0)]

    def new_work(self, k: int) -> NeighboursWork:
        return new_neighbours_work(RECENT, len(self.ground.columns.centre), self.many)


@bare_kernel
def move(member, j, n, k, factor, shift):
    move_neighbours(member.neighbours, j, factor, shift)


@bare_kernel
def say(member, n, k, work, p):
    near, rows = work.own, min(member.ground.used[ROWS], RECENT)
    stored, metric = member.neighbours.values, member.ground.columns
    start_distances(near, stored, work.values, metric, n, rows)
    found = nearest(near, stored, work.values, metric.weight, rows, member.many)
    vote(member.neighbours, near, found, k, p)


@bare_kernel
def learn(member, n, k, y, weight, work):
    remember_neighbour(member.neighbours, work.values, n, work.values, 0, y, weight, member.ground.used[ROWS])


implement(NeighboursMember, move, say, learn)
