"""Learners that know nothing of each other, of which the best one so far is followed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.segments import Segment
from onlineboost.contracts.rows import Rows


class IndependentChain(Chain):
    """A chain that asks its best learner alone, and remembers which were right on the rows of the last call."""

    right: list[np.ndarray]  # one bit each

    def __init__(self, segments: list[Segment], n_numeric: int, seed: int) -> None:
        super().__init__(segments, n_numeric, seed)
        self.right = []

    def _join(self, original: Self) -> None:
        super()._join(original)
        self.right = []

    def leave(self, block: Any, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        self.right.append(np.packbits(block.rows.experts == y[:, None], axis=1))
        super().leave(block, y, weight, out)

    def right_by_learner(self) -> np.ndarray:
        """Which learners were right on the rows of the last call, before learning them: bool (rows, learners)."""
        return np.unpackbits(np.concatenate(self.right), axis=1, count=len(self.log_v)).astype(bool)

    @property
    def best(self) -> int:
        return int(self.log_v.argmax())

    def predict(self, X: np.ndarray, k: int, combiner: Combiner) -> np.ndarray:
        return self._ask_best(X, k).experts[:, self.best].astype(np.int64)

    def forecast(self, X: np.ndarray, k: int, combiner: Combiner) -> tuple[np.ndarray, np.ndarray]:
        rows = self._ask_best(X, k)
        return rows.experts[:, self.best].astype(np.int64), self.segments[0].booster.probabilities(rows, 1)

    def _ask_best(self, X: np.ndarray, k: int) -> Rows:
        """Send rows through the best learner alone."""
        rows = self.new_rows(X, k, None, None)
        i = self.best
        for segment in self.segments:
            if i < len(segment):
                assert isinstance(segment.learners, TreeLearners)
                Segment(segment.learners.only(i), segment.booster.part(i, i + 1)).predict(rows, 1)
                break
            i -= len(segment)
        return rows
