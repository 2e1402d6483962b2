"""Weak learners that are not trees: members of the panel, and learners of other packages.

*Members.*  Each is a state of its own. The loops are given one of them at a time: they stop where the next learner is
to be asked, and go on with its state, in which there is room then for all rows of the block.

*External learners.*  Anything with ``partial_fit`` and ``predict_proba``, asked row by row in Python. The loops stop
before a row whose answer is not there yet; `ExternalLearners` fills it in (`External`), and teaches the learner what
the loop has left for it.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import clone

from onlineboost._compile.jit import inlined_kernel
from onlineboost._compile.random import SAMPLE, child_key, uniform
from onlineboost.chain.learners import Learners
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.learner import LEARNER
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import loaded, nbytes
from onlineboost.panel.panel import begin, column_weights, new_panel_work
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

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        old = self.members[i]
        stats, sizes = old.shared.stats, own_sizes(old)
        n_numeric, n_nominal = len(stats.dense.origin), len(stats.dense.place)
        fresh = new_state(type(old), n_numeric, n_nominal, child_key(stats.seed, t), settings_of(old))
        begin(fresh)
        fresh = with_offset(fresh, stats.dense.offset - n_numeric)
        fresh = with_sizes(fresh, {**own_sizes(fresh), "columns": sizes["columns"]})
        self.members[i] = with_classes(fresh, int(stats.used[N_CLASSES]))

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


SUM = 1e-6  # by how much probabilities may miss 1


class External(NamedTuple):
    """What the learner at work says of the rows of a block."""

    p: np.ndarray  # float64 (rows, k)
    ready: np.ndarray  # int64 (2,) the learner at work, and the number of rows of which it has been asked
    weight: np.ndarray  # float64 (rows,) with which it is to learn them; 0: not at all


@inlined_kernel
def is_ready(external, i, b):
    return external.ready[0] == i and b < external.ready[1]


@inlined_kernel
def ask(external, i, rows, b, scratch, work):
    for l in range(rows.k):
        work.labels[l] = l
        work.p[l] = external.p[b, l]
    return rows.k, 0


@inlined_kernel
def teach(external, i, rows, b, y, weight, t, what, scratch):
    external.weight[b] = weight


LEARNER.implement(External, is_ready, ask, teach)


class ExternalLearners(Learners):
    """Neighbouring weak learners of another package."""

    safe = False

    def __init__(self, learners: list[Any], k: int, started: np.ndarray | None = None) -> None:
        self.learners = learners
        self.k = k
        self.started = np.zeros(len(learners), bool) if started is None else started
        self.takes_weight = "sample_weight" in signature(learners[0].partial_fit).parameters

    def __len__(self) -> int:
        return len(self.learners)

    def open(self, rows: Rows) -> tuple[Any, Any]:
        n = len(rows.X)
        return External(np.empty((n, rows.k)), np.array([-1, 0]), np.zeros(n)), None

    def supply(self, state: Any, i: int, b: int, room: Sequence[int], rows: Rows, booster: Booster, y: Any) -> Any:
        if y is not None and state.ready[0] >= 0:
            self._teach(state, int(state.ready[0]), int(state.ready[1]) - 1, rows, booster, y)
        if i < len(self.learners):
            asked = range(len(rows.X)) if y is None else (b,)
            for row in asked:
                state.p[row] = self._distribution(i, rows.X[row : row + 1])
            state.ready[:] = i, asked[-1] + 1
            state.weight[b] = 0.0
        return state

    def _distribution(self, i: int, x: np.ndarray) -> np.ndarray:
        if not self.started[i]:
            return np.full(self.k, 1.0 / self.k)
        learner, k = self.learners[i], self.k
        with np.errstate(all="ignore"):  # what is not finite is seen to below
            p = np.ascontiguousarray(learner.predict_proba(x.copy()), np.float64)
        if p.shape != (1, k):
            raise ValueError(
                f"{type(learner).__name__}.predict_proba gave an array of shape {p.shape} for one row and {k} classes; "
                f"it must be (1, {k})"
            )
        if not np.isfinite(p).all():  # GaussianNB before it has a variance
            return np.full(k, 1.0 / k)
        if p.min() < 0.0 or abs(p.sum() - 1.0) > SUM:
            raise ValueError(
                f"{type(learner).__name__}.predict_proba gave {p[0].tolist()}; "
                f"probabilities must not be negative, and must add up to 1"
            )
        return p[0]

    def _teach(self, state: External, i: int, b: int, rows: Rows, booster: Booster, y: np.ndarray) -> None:
        """Learner i learns row b with the weight that the loop has left."""
        x, w = rows.X[b : b + 1].copy(), state.weight[b]  # a learner may write to what it is given
        classes = np.arange(self.k)
        if self.takes_weight and w > 0.0:
            self.learners[i].partial_fit(x, y[b : b + 1], classes=classes, sample_weight=np.array([w]))
            self.started[i] = True
        # The paper: a learner that takes no weight is sent the example with a probability proportional to it.
        elif w > uniform(booster.seed, SAMPLE, booster.offset + i, rows.t + b) * booster.scale[i]:
            self.learners[i].partial_fit(x, y[b : b + 1], classes=classes)
            self.started[i] = True

    def part(self, start: int, stop: int) -> Self:
        return type(self)(self.learners[start:stop], self.k, self.started[start:stop].copy())

    def join(self, others: Sequence[Any]) -> Self:
        learners = [learner for part in (self, *others) for learner in part.learners]
        started = np.concatenate([part.started for part in (self, *others)])
        copy = pickle.loads(pickle.dumps(learners))
        return type(self)(copy, self.k, started)

    def new_columns(self, numeric: int, nominal: int) -> None:
        raise NotImplementedError("learners of other libraries have the columns that they began with")

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        self.learners[i] = clone(self.learners[i])
        self.started[i] = False

    def nbytes(self) -> dict[str, int]:
        return {"learners": len(pickle.dumps(self.learners))}
