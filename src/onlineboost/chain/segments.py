"""A segment: neighbouring learners with their part of the booster. It takes a block's votes and hands them on."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np

from onlineboost.chain.learners import Learners
from onlineboost.chain.loops import hold_pass, learning_loop, predicting_loop
from onlineboost.chain.stage import Stage
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Pass, Rows, new_work
from onlineboost.contracts.state import along, loaded, nbytes

MORE = 0.5  # work that the last learner of a chain has more than the first, in part: its tree is larger


def even_work(n_learners: int, pieces: int) -> list[int]:
    """Where to cut so many learners to get pieces with about as much work: 0, ..., n_learners."""
    if n_learners < 4 * pieces:
        return [n_learners * i // pieces for i in range(pieces + 1)]
    work = np.linspace(0.0, 1.0 + MORE / 2.0, pieces + 1)  # x learners, of 1, have x + MORE x^2 / 2
    return np.rint(n_learners * (np.sqrt(1.0 + 2.0 * MORE * work) - 1.0) / MORE).astype(int).tolist()


class Segment(Stage):
    """Neighbouring learners and their booster."""

    def __init__(self, learners: Learners, booster: Booster) -> None:
        self.learners = learners
        self.booster = booster

    def __len__(self) -> int:
        return len(self.booster.scale)

    @property
    def place(self) -> slice:
        """Which of the learners of the chain are in it, and with them which experts."""
        return slice(self.booster.offset, self.booster.offset + len(self))

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "booster": self.booster.without_cache()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.learners, self.booster = state["learners"], loaded(state["booster"]).with_cache()

    def predict(self, rows: Rows, n_learners: int, cache: Any = None) -> None:
        """Send a block through the first `n_learners` of the segment. Changes `rows`, and `cache`, alone."""
        none = np.empty(0, np.int64), np.empty(0)
        booster = self.booster if cache is None else self.booster.with_cache(cache)
        handle = hold_pass(self.open(rows, *none, booster))
        i, b = 0, 0
        while True:
            i, b = predicting_loop(handle)(handle, n_learners, i, b, rows.t)
            if i == n_learners:
                return
            handle = self._supplied(handle, i, b, (), booster, None)

    def votes_of_each(self, rows: Rows, cache: Any = None) -> np.ndarray:
        """What each learner adds to the votes of a block, (learners, rows, k). Changes `rows`, and `cache`, alone."""
        none = np.empty(0, np.int64), np.empty(0)
        booster = self.booster if cache is None else self.booster.with_cache(cache)
        handle = hold_pass(self.open(rows, *none, booster))
        out = np.empty((len(self), *rows.s.shape))
        for learner in range(len(self)):
            out[learner] = -rows.s
            i, b = learner, 0
            while i == learner:
                i, b = predicting_loop(handle)(handle, learner + 1, i, b, rows.t)
                if i == learner:
                    handle = self._supplied(handle, i, b, (), booster, None)
            out[learner] += rows.s
        return out

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Send a labelled block through the segment: every learner votes, then learns."""
        handle = hold_pass(self.open(rows, y, weight, self.booster))
        i, b = 0, 0
        while i < len(self):
            i, b, *room = learning_loop(handle)(handle, i, b, rows.t)
            handle = self._supplied(handle, i, b, room, self.booster, y)

    def _supplied(self, handle: Any, i: int, b: int, room: Sequence[int], booster: Booster, y: Any) -> Any:
        """The pass with what learner i lacks for row b: see `Learners.supply`."""
        before = handle.parts.learner
        learner = self.learners.supply(before, i, b, room, handle.parts.rows, booster, y)
        done = i == len(self) or learner is before
        return handle if done else hold_pass(handle.parts._replace(learner=learner))

    def open(self, rows: Rows, y: np.ndarray, weight: np.ndarray, booster: Booster) -> Pass:
        """All that the loops need to send a block through."""
        state, scratch = self.learners.open(rows)
        return Pass(state, booster, rows, y, weight, scratch, new_work(rows.k))

    def cut(self, pieces: int) -> list[Self]:
        """So many segments in place of this one, with about as much work each."""
        return [self.between(a, b) for a, b in pairwise(even_work(len(self), pieces))] if pieces > 1 else [self]

    def between(self, start: int, stop: int) -> Self:
        """Learners start, ..., stop - 1, with state of their own."""
        return type(self)(self.learners.part(start, stop), self.booster.part(start, stop))

    def join(self, others: Sequence[Segment]) -> Self:
        """A compact copy of this segment and those that come after it, in one."""
        learners = self.learners.join([other.learners for other in others])
        return type(self)(learners, self.booster.join([other.booster for other in others]))

    def only(self, i: int) -> Self:
        """Learner i alone, in the same tables."""
        return type(self)(self.learners.only(i), self.booster.part(i, i + 1))

    def identity(self) -> tuple[Any, ...]:
        return self.booster, self.learners.identity()

    # ---------------------------------------------------------------------------------------------------- growing

    def set_classes(self, k: int) -> None:
        self.learners.set_classes(k)

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        self.learners.new_values(sizes, births)

    def new_columns(self, numeric: int, nominal: int) -> None:
        self.learners.new_columns(numeric, nominal)

    def allot(self, share: float, width: int) -> None:
        self.learners.allot(share, width)

    def nbytes(self) -> dict[str, int]:
        """Bytes in use, part by part. Tables that segments share are not counted."""
        parts = self.learners.nbytes()
        own = nbytes(tuple(along(self.booster, "learners").values()))
        return {**parts, "settings": parts.get("settings", 0) + own}

    def most_bytes(self, k: int) -> int:
        return self.learners.most_bytes(k)


def vote_weights(segments: Sequence[Segment]) -> list[float]:
    """What each learner's vote counts: alpha, or 1 where votes are counted."""
    boosters = [segment.booster for segment in segments]
    return [w for booster in boosters for w in getattr(booster, "alpha", np.ones(len(booster.scale))).tolist()]
