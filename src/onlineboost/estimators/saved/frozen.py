"""A quick copy of an estimator, to be saved by another thread while this one goes on learning.

The tables of trees are copied as they are, which takes a tenth of the time that it takes to sort them for a file; and
into memory that was used before. To get fresh memory from the system takes longer than all else.
"""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.numbers import Numbers
from onlineboost.chain.segments import Segment
from onlineboost.estimators.lock import OF_THIS_PROCESS
from onlineboost.estimators.model import Model
from onlineboost.trees.state import N_NODES, N_ROWS, N_STATS, PER_TREE, Forest

SPARE = 1.5  # times what the last copy took: models grow
Key = tuple[int, str]


class Room:
    """Memory for the large tables of one copy at a time."""

    def __init__(self) -> None:
        self._room: dict[Key, np.ndarray] = {}
        self._taken: dict[Key, int] = {}

    def copy(self, key: Key, table: np.ndarray) -> np.ndarray:
        """A copy of a table, which holds until the next one with the same key."""
        self._taken[key] = table.nbytes
        if key not in self._room or self._room[key].nbytes < table.nbytes:
            self._room[key] = np.empty(int(SPARE * table.nbytes), np.uint8)
        out = self._room[key][: table.nbytes].view(table.dtype).reshape(table.shape)
        np.copyto(out, table)
        return out

    def prepare(self) -> None:
        """Get the memory for the next copy, once the last is not needed any more: in a thread that has the time."""
        for key, nbytes in self._taken.items():
            if self._room[key].nbytes < SPARE * nbytes:
                self._room[key] = np.empty(int(SPARE * SPARE * nbytes), np.uint8)
                self._room[key].fill(0)  # the system gives memory when it is first written to


def frozen(estimator: Any, room: Room) -> Any:
    """A copy that shares nothing that learning changes. It is good for `take`, until the room is used again."""
    twin = object.__new__(type(estimator))
    twin.__dict__ = {name: value for name, value in estimator.__dict__.items() if name not in OF_THIS_PROCESS}
    if "_pending" in twin.__dict__:
        twin._pending = deepcopy(twin._pending)
    if "_model" in twin.__dict__:
        model: Model = estimator._fitted()
        twin._model = replace(
            model,
            encoder=deepcopy(model.encoder),
            labels=deepcopy(model.labels),
            chain=_chain(model.chain, room),
            counts=model.counts.copy(),
            calibration=None if model.calibration is None else model.calibration.copy(),
        )
    return twin


def _chain(chain: Chain, room: Room) -> Chain:
    twin: Chain = _copy_of(chain)
    twin.numbers = Numbers(*(part.copy() for part in chain.numbers))
    twin.watch, twin.diary = deepcopy(chain.watch), chain.diary.copy()
    twin.end, twin.panel = chain.end.copy(), None if chain.panel is None else chain.panel.copy()
    twin.segments = [_segment(segment, number, room) for number, segment in enumerate(chain.segments)]
    return twin


def _copy_of(state: Any) -> Any:
    """An object of the same class and with the same fields."""
    twin = object.__new__(type(state))
    twin.__dict__ = dict(state.__dict__)
    return twin


def _segment(segment: Segment, number: int, room: Room) -> Segment:
    booster, learners = segment.booster, segment.learners
    own = {name: getattr(booster, name).copy() for name in booster.per_learner()}
    if isinstance(learners, TreeLearners):
        learners = _copy_of(learners)
        learners.forest = _forest(learners.forest, number, room)
    else:
        learners = learners.join([])
    return Segment(learners, booster._replace(**own))


def _forest(forest: Forest, number: int, room: Room) -> Forest:
    """The part of the tables that is in use."""
    nodes, rows, stats = (int(forest.used[part]) for part in (N_NODES, N_ROWS, N_STATS))
    tables = {"nodes": nodes, "details": nodes, "rows": rows, "stats": stats}
    own: dict[str, Any] = {n: room.copy((number, n), getattr(forest, n)[:used]) for n, used in tables.items()}
    own |= {name: getattr(forest, name).copy() for name in (*PER_TREE, "roots", "used", "birth")}
    return forest._replace(**own, free_stats=forest.free_stats[:0])
