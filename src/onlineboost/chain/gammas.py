"""Gammas that follow the learners' edges (`boosters.adaptive`), while rows go through the chain.

A learner's gamma changes the costs of the learners before it: that is the one thing that flows backwards, and it does
so in the rounds of reviews alone. In each of them every segment looks at its learners and notes where they are to go.
What they have noted is done in the round of the next review: the block that begins there waits, at the head of the
chain, until the one that began with the last review has left. So two blocks at least can be on the line at a time.

Reviews fall into rounds that depend on the stream alone: how it is cut into blocks makes no difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from onlineboost.boosters.adaptive import LADDER, LONGEST, NEXT, PERIOD, RARELY
from onlineboost.boosters.potentials import Tables
from onlineboost.boosters.potentials.tables import build_tables, recipe
from onlineboost.chain.chain import Chain
from onlineboost.chain.restarts import growing_period
from onlineboost.chain.reviews import NOTHING, Visit, Visitor
from onlineboost.chain.segments import Segment
from onlineboost.contracts.booster import Booster


class GammaChange:
    """What all segments do in the round of a review; `gammas` are those of all learners from there on."""

    def __init__(self, gammas: np.ndarray) -> None:
        self.gammas = gammas
        self._tables: Tables | None = None

    def __getstate__(self) -> np.ndarray:
        return self.gammas  # tables take many megabytes

    def __setstate__(self, gammas: np.ndarray) -> None:
        self.__init__(gammas)  # type: ignore[misc]

    @classmethod
    def noted(cls, boosters: Sequence[Booster]) -> GammaChange:
        """What the last review of all segments has decided."""
        return cls(LADDER[np.concatenate([booster.steps[:, NEXT] for booster in boosters])])

    def carry_out(self, segment: Segment) -> None:
        segment.booster = self.of(segment.booster)

    def of(self, booster: Booster) -> Booster:
        """The booster of a segment after the review."""
        return booster.reviewed(self._tables_like(booster.tables))

    def _tables_like(self, old: Tables) -> Tables:
        if np.array_equal(old.gamma[::-1], self.gammas):
            return old
        if self._tables is None:
            self._tables = build_tables(**{**recipe(old), "gamma": self.gammas}, n_learners=old.n_learners, like=old)
        return self._tables


class Review(Visit):
    """What goes along with a block that begins in the round of a review, or with the first of all."""

    question = "next_steps"

    def __init__(self, reviews: GammaReviews, plan: GammaChange | None) -> None:
        self.reviews, self.plan = reviews, plan

    def before(self, segment: Segment) -> None:
        if self.plan is not None:
            self.plan.carry_out(segment)

    def answered(self, answers: list[Any]) -> None:
        """Where the learners of all parts are to go."""
        for place, steps in (told for part in answers for told in part):
            segment = next(one for one in self.reviews.chain.segments if one.place == place)
            segment.booster.steps[:, NEXT] = steps
        self.leave()

    def leave(self) -> None:
        self.reviews.close()


def next_steps_of(segment: Segment) -> tuple[slice, np.ndarray]:
    """Where its learners are to go, for a process elsewhere."""
    return segment.place, segment.booster.steps[:, NEXT].copy()


class GammaReviews(Visitor):
    """The reviews of a chain while rows stream through it: see `Chain.stream`."""

    def __init__(self, chain: Chain) -> None:
        self.chain = chain
        self._begun = chain.t  # a review of this round was held when the rows before had gone through
        self._open = 0  # reviews whose blocks are on the line
        self._lock = Lock()

    def rounds(self) -> int:
        """Rounds that can enter from here on before a block has to end."""
        return rounds_to_review(self.chain.t)

    def rows(self, threads: int) -> int:
        rounds = self.rounds()
        return rounds if threads == 1 else min(rounds, _period(self.chain.t) // 2)

    def _is_due(self, t: int) -> bool:
        return t != self._begun and rounds_to_review(t - 1) == 1

    def waits(self) -> bool:
        with self._lock:
            return self._open > 0 and self._is_due(self.chain.t)

    def settled(self) -> bool:
        with self._lock:
            return self._open == 0

    def visit(self, before: int, after: int) -> Visit:
        due = self._is_due(before)
        if not due and before != self._begun:
            return NOTHING
        with self._lock:
            self._open += 1
        return Review(self, self._change() if due else None)

    def close(self) -> None:
        with self._lock:
            self._open -= 1

    def end(self) -> None:
        if self._is_due(self.chain.t):
            self.chain.carry_out(self._change())

    def _change(self) -> GammaChange:
        return GammaChange.noted([segment.booster for segment in self.chain.segments])


def _period(t: int) -> int:
    return growing_period(t, PERIOD, RARELY, LONGEST)


def rounds_to_review(t: int) -> int:
    """Rounds after round t to the next review."""
    period = _period(t)
    return period - t % period
