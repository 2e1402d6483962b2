"""Members of the panel as weak learners of a chain.

Each is a state of its own. The loops are given one of them at a time: they stop where the next learner is to be asked,
and go on with its state, in which there is room then for all rows of the block.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost.chain.learners import Learners
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import loaded, nbytes
from onlineboost.panel.members.member import Member, new_member_work, start_numbers
from onlineboost.panel.paths import column_weights
from onlineboost.panel.state import (
    N_CLASSES,
    Ground,
    most_bytes,
    new_ground,
    new_member,
    own_sizes,
    packed,
    room_for_rows,
    settings_of,
    with_classes,
    with_room,
    with_sizes,
)

MOST_NEIGHBOURS = 64  # that a member asks: they are sorted one by one
NOBODY = -1  # number of a learner that is not to be asked


class MemberLearners(Learners):
    """Neighbouring members, all of one kind."""

    untold = "members of the panel, which weigh up all columns at once"
    no_tree = (
        "a member of the panel has no tree that could be shown: there are trees of learner=HoeffdingTree(...) alone"
    )

    def __init__(self, members: list[Member]) -> None:
        self.members = members

    def __getstate__(self) -> dict[str, Any]:
        return {"members": [packed(member) for member in self.members]}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.members = [loaded(member) for member in state["members"]]

    def __len__(self) -> int:
        return len(self.members)

    def open(self, rows: Rows) -> tuple[Any, Any]:
        widest = max(self.members, key=lambda member: len(member.ground.columns.centre))
        return widest._replace(number=NOBODY), new_member_work(widest, rows.k)

    def supply(self, state: Any, i: int, b: int, room: Sequence[int], rows: Rows, booster: Booster, y: Any) -> Any:
        if i == len(self.members):
            return state
        if y is not None:
            self.members[i] = room_for_rows(self.members[i], len(rows.X) - b)
        return self.members[i]._replace(number=i)

    def set_classes(self, k: int) -> None:
        self.members = [with_classes(member, k) for member in self.members]

    def part(self, start: int, stop: int) -> Self:
        return type(self)(self.members[start:stop])

    def join(self, others: Sequence[Any]) -> Self:
        return type(self)([packed(member) for learners in (self, *others) for member in learners.members])

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        for i, member in enumerate(self.members):
            wanted = member.ground.dense.n_numbers + sum(sizes)
            self.members[i] = with_room(member, columns=min(wanted, member.ground.most))

    def new_columns(self, numeric: int, nominal: int) -> None:
        """A member goes on without them, as the panel does."""
        for i, member in enumerate(self.members):
            dense = member.ground.dense
            ground = member.ground._replace(dense=dense._replace(offset=dense.offset + numeric))
            self.members[i] = member._replace(ground=ground)

    def settings(self) -> dict[str, np.ndarray]:
        return {}

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        old = self.members[i]
        dense = old.ground.dense
        ground = new_ground(len(dense.origin), len(dense.place), child_key(old.ground.seed, t))
        ground = ground._replace(dense=ground.dense._replace(offset=dense.offset))
        fresh = _started(new_member(type(old), ground, **settings_of(old)))
        sizes = {**own_sizes(fresh), "columns": own_sizes(old)["columns"]}
        self.members[i] = with_classes(with_sizes(fresh, sizes), int(old.ground.used[N_CLASSES]))

    def tidy(self) -> None:
        """Nothing is left behind."""

    def nbytes(self) -> dict[str, int]:
        return {"members": nbytes(tuple(self.members))}

    def column_weights(self, place: int, n_columns: int) -> np.ndarray | None:
        """In proportion to what columns count in its metric."""
        return column_weights(self.members[place].ground, n_columns)

    def most_bytes(self, k: int) -> int:
        return sum(most_bytes(member, k) for member in self.members)


def _started(member: Member) -> Member:
    start_numbers(member)
    return member


def new_members(
    make: Callable[[Ground], Member], n_numeric: int, n_nominal: int, seeds: Sequence[int], k: int
) -> MemberLearners:
    """A member for each of these seeds, with k classes."""
    grounds = [new_ground(n_numeric, n_nominal, seed) for seed in seeds]
    return MemberLearners([with_classes(_started(make(ground)), k) for ground in grounds])
