"""Members of the panel as weak learners of a chain.

Each is a state of its own. The loops are given one of them at a time: they stop where the next learner is to be asked,
and go on with its state, in which there is room then for all rows of the block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost.chain.learners import Learners
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import loaded, nbytes
from onlineboost.panel.panel import begin, new_panel_work
from onlineboost.panel.paths import column_weights
from onlineboost.panel.state import (
    N_CLASSES,
    most_bytes,
    new_state,
    own_sizes,
    packed,
    room_for_rows,
    settings_of,
    with_classes,
    with_offset,
    with_room,
    with_sizes,
)

Member = Any  # a panel of one member: one of `panel.state.ALONE`
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
        widest = max(self.members, key=lambda member: len(member.shared.stats.columns.centre))
        return widest._replace(number=NOBODY), new_panel_work(widest, rows.k)

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
            stats = member.shared.stats
            self.members[i] = with_room(member, columns=min(stats.dense.n_numbers + sum(sizes), stats.most))

    def new_columns(self, numeric: int, nominal: int) -> None:
        """A member goes on without them, as the panel does."""
        self.members = [with_offset(member, numeric) for member in self.members]

    def settings(self) -> dict[str, np.ndarray]:
        return {}

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        old = self.members[i]
        stats, sizes = old.shared.stats, own_sizes(old)
        n_numeric, n_nominal = len(stats.dense.origin), len(stats.dense.place)
        fresh = new_state(type(old), n_numeric, n_nominal, child_key(stats.seed, t), settings_of(old))
        begin(fresh)
        fresh = with_offset(fresh, stats.dense.offset - n_numeric)
        fresh = with_sizes(fresh, {**own_sizes(fresh), "columns": sizes["columns"]})
        self.members[i] = with_classes(fresh, int(stats.used[N_CLASSES]))

    def tidy(self) -> None:
        """Nothing is left behind."""

    def nbytes(self) -> dict[str, int]:
        return {"members": nbytes(tuple(self.members))}

    def column_weights(self, place: int, n_columns: int) -> np.ndarray | None:
        """In proportion to what columns count in its metric."""
        return column_weights(self.members[place].shared.stats, n_columns)

    def most_bytes(self, k: int) -> int:
        return sum(most_bytes(member, k) for member in self.members)


def new_members(
    kind: type, settings: Mapping[str, int], n_numeric: int, n_nominal: int, seeds: Sequence[int], k: int
) -> MemberLearners:
    """A member of this kind for each of these seeds, with k classes."""
    members = [new_state(kind, n_numeric, n_nominal, seed, settings) for seed in seeds]
    for member in members:
        begin(member)
    return MemberLearners([with_classes(member, k) for member in members])
