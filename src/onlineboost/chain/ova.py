"""One against all: a binary booster for every class, and the class whose booster says yes most surely."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.chain import Chain, Step
from onlineboost.chain.experts import Combiner, best_expert
from onlineboost.chain.segments import Segment
from onlineboost.contracts.rows import Rows, new_rows
from onlineboost.contracts.schema import f8
from onlineboost.contracts.state import Restored
from onlineboost.trees.binary import MINE


@entry_kernel
def yes_share(log_v, experts):
    """Share of the Hedge weight that is with experts (N,) who say yes."""
    top = log_v[best_expert(log_v)]
    yes = total = 0.0
    for i in range(log_v.size):
        v = math.exp(log_v[i] - top)
        total += v
        yes += v if experts[i] == MINE else 0.0
    return yes / total


@entry_kernel
def play_binary(log_v, experts, mine, weight, score):
    """score[b] before round b, then v_i *= exp(-1[expert i was wrong]), in logs."""
    for b in range(mine.size):
        score[b] = yes_share(log_v, experts[b])
        for i in range(log_v.size):
            if experts[b, i] != mine[b]:
                log_v[i] -= weight[b]


@entry_kernel
def choose(scores, margins, out):
    """The class of highest score; among equals the one whose booster's votes lean most to yes."""
    for b in range(out.size):
        top = -math.inf
        for j in range(scores.shape[1]):
            top = max(top, scores[b, j])
        best = -1
        for j in range(scores.shape[1]):
            if scores[b, j] >= top - 1e-9 and (best < 0 or margins[b, j] > margins[b, best]):
                best = j
        out[b] = best


class Scores(NamedTuple):
    """A block of examples, and what the boosters say of it."""

    rows: Rows  # as it entered
    scores: np.ndarray  # float64 (rows, k) share of the Hedge weight that says yes
    margins: np.ndarray  # float64 (rows, k) votes for yes less those for no


@dataclass
class ClassBooster(Restored):
    """The booster of one class: is it this class or another one?"""

    segment: Segment
    log_v: Annotated[np.ndarray, f8("learners")]  # log weights of its experts

    def head(self, rows: Rows, weight: np.ndarray | None) -> Rows:
        """The same rows at the head of this booster."""
        notes = self.segment.booster.new_notes(len(rows.X), 2, weight)
        own = new_rows(rows.X, rows.missing, rows.spread, rows.t, 2, len(self.log_v), notes)
        return own._replace(again=rows.again)

    def learn(self, j: int, block: Scores, y: np.ndarray, weight: np.ndarray) -> None:
        """Learn a block as the booster of class j."""
        rows, mine = self.head(block.rows, weight), (y == j).astype(np.int64)
        self.segment.learn(rows, mine, weight)
        play_binary(self.log_v, rows.experts, mine, weight, block.scores[:, j])
        block.margins[:, j] = rows.s[:, MINE] - rows.s[:, 1 - MINE]

    def predict(self, j: int, block: Scores) -> None:
        rows = self.head(block.rows, None)
        self.segment.predict(rows, len(self.segment))
        self.sum_up(j, rows, block)

    def sum_up(self, j: int, rows: Rows, block: Scores) -> None:
        """What the booster of class j says of rows that have gone through it."""
        for b in range(len(rows.X)):
            block.scores[b, j] = yes_share(self.log_v, rows.experts[b])
        block.margins[:, j] = rows.s[:, MINE] - rows.s[:, 1 - MINE]


class OneVsAllChain(Chain):
    """One booster per class, each with segments and expert weights of its own; no expert is followed."""

    def __init__(self, n_numeric: int, seed: int) -> None:
        super().__init__([], n_numeric, seed)
        self.boosters: list[ClassBooster] = []
        self.pattern: Segment | None = None  # what a class brings, as long as there is none

    def add_class(self, segment: Segment) -> None:
        """One more class. Its booster knows nothing of the past, and its steps are those of a first round."""
        segment.booster.born[:] = self.t
        self.boosters.append(ClassBooster(segment, np.zeros(len(segment))))
        self.segments, self.pattern = [*self.segments, segment], None
        self.n_learners = sum(map(len, self.log_vs))

    @property
    def log_vs(self) -> list[np.ndarray]:
        return [booster.log_v for booster in self.boosters]

    # ------------------------------------------------------------------------------------------- predicting

    def predict(self, X: np.ndarray, k: int, combiner: Combiner) -> np.ndarray:
        return self.forecast(X, k, combiner)[0]

    def forecast(self, X: np.ndarray, k: int, combiner: Combiner) -> tuple[np.ndarray, np.ndarray]:
        block, chosen = self.scores(X, k), np.empty(len(X), np.int64)
        choose(block.scores, block.margins, chosen)
        return chosen, self.shares(block, chosen)

    @staticmethod
    def shares(block: Scores, chosen: np.ndarray) -> np.ndarray:
        """Probabilities of the classes from what the boosters say, and the labels chosen by it."""
        lean = np.exp(block.margins - block.margins.max(axis=1, keepdims=True))  # decides where scores are equal
        p = block.scores + 1e-6 * lean / lean.sum(axis=1, keepdims=True)
        p[np.arange(len(p)), chosen] = p.max(axis=1)  # a class that is ahead by its margin alone is no less likely
        return p / p.sum(axis=1, keepdims=True)

    def scores(self, X: np.ndarray, k: int) -> Scores:
        block = self._block(self.new_rows(X, k, None, None))
        for j in range(k):
            self.boosters[j].predict(j, block)
        return block

    def _notes(self, n: int, k: int, weight: np.ndarray | None) -> Any:
        return None  # every booster makes its own

    def _block(self, rows: Rows) -> Scores:
        return Scores(rows, np.empty((len(rows.X), rows.k)), np.empty((len(rows.X), rows.k)))

    # --------------------------------------------------------------------------------------------- learning

    def is_traced(self, combiner: Combiner) -> bool:
        return False

    def enter(self, X: np.ndarray, weight: np.ndarray, k: int, combiner: Combiner) -> Scores:
        return self._block(self.enter_rows(X, weight, k))

    def steps(self) -> list[tuple[Segment | None, Step]]:
        """A step for each booster."""

        def through(j: int) -> tuple[Segment, Step]:
            return self.segments[j], lambda block, y, weight: self.boosters[j].learn(j, block, y, weight)

        return [through(j) for j in range(len(self.boosters))]

    def leave(self, block: Any, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        choose(block.scores, block.margins, out)
        if self.heard is not None:
            self.hear(self.shares(block, out), block.rows.t)

    def cut(self, n_segments: int) -> None:
        """The boosters are steps of their own: there are enough."""

    @property
    def can_join(self) -> bool:
        return False

    def _join(self, original: Self) -> None:
        """A segment for each booster."""
        pairs = ((booster.segment.join([]), booster.log_v.copy()) for booster in original.boosters)
        self.boosters = [ClassBooster(*pair) for pair in pairs]
        self.segments = [booster.segment for booster in self.boosters]

    # ------------------------------------------------------------------------------------------ what is in it

    def segments_of(self, k: int) -> list[Segment]:
        """All boosters are alike."""
        one = self.segments[0] if self.segments else self.pattern
        return [] if one is None else [one] * k

    def most_bytes(self, k: int) -> int:
        return sum(segment.learners.most_bytes(2) for segment in self.segments_of(k))

    def expert_weights(self) -> np.ndarray:
        log_v = np.array(self.log_vs)
        v = np.exp(log_v - log_v.max(axis=1, keepdims=True))
        return v / v.sum(axis=1, keepdims=True)
