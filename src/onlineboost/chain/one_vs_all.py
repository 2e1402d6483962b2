"""One against all: a binary booster for every class, and the class whose booster says yes most surely.

The end of the chain holds what each class has: its segment, and the weights of its experts.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.experts import Combiner, best_expert, update_log_weights
from onlineboost.chain.rows import Asking, Row, Step, learning_pass, predicting_pass, preparing
from onlineboost.chain.segments import Segment, vote_weights
from onlineboost.chain.stage import Block, End, Voter
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows, new_rows
from onlineboost.trees.learner import MINE


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
    """What the boosters say of a block."""

    scores: np.ndarray  # float64 (rows, k) share of the Hedge weight that says yes
    margins: np.ndarray  # float64 (rows, k) votes for yes less those for no


def probabilities(said: Scores, chosen: np.ndarray) -> np.ndarray:
    """Of the classes, from what the boosters say, and the codes chosen by it."""
    lean = np.exp(said.margins - said.margins.max(axis=1, keepdims=True))  # decides where scores are equal
    p = said.scores + 1e-6 * lean / lean.sum(axis=1, keepdims=True)
    p[np.arange(len(p)), chosen] = p.max(axis=1)  # a class that is ahead by its margin alone is no less likely
    whole: np.ndarray = p / p.sum(axis=1, keepdims=True)
    return whole


class OneVsAllEnd(End):
    """One booster per class, each with segments and expert weights of its own; no expert is followed."""

    name = "one-vs-all"
    takes_turns = True
    follows_experts = False

    def __init__(self, log_vs: list[np.ndarray] | None = None) -> None:
        self._log_vs = log_vs or []  # of the experts of each class
        self.pattern: Segment | None = None  # what a class brings, as long as there is none

    @property
    def log_vs(self) -> list[np.ndarray]:
        return self._log_vs

    @property
    def n_experts(self) -> int:
        return 0  # every booster keeps its own

    def copy(self) -> Self:
        copy = type(self)()
        copy._log_vs, copy.pattern = [log_v.copy() for log_v in self._log_vs], self.pattern
        return copy

    def add_class(self, n_learners: int) -> None:
        """One more class, whose booster knows nothing of the past."""
        self._log_vs, self.pattern = [*self._log_vs, np.zeros(n_learners)], None

    def groups(self, segments: list[Segment]) -> list[list[Segment]]:
        return [[segment] for segment in segments]

    def segments_of(self, segments: list[Segment], k: int) -> list[Segment]:
        """All boosters are alike."""
        one = segments[0] if segments else self.pattern
        return [] if one is None else [one] * k

    def classes_of(self, k: int) -> int:
        return 2

    def expert_weights(self) -> np.ndarray:
        log_v = np.array(self.log_vs)
        v = np.exp(log_v - log_v.max(axis=1, keepdims=True))
        weights: np.ndarray = v / v.sum(axis=1, keepdims=True)
        return weights

    # ------------------------------------------------------------------------------------------------------- blocks

    def new_notes(self, booster: Booster, n: int, k: int, weight: np.ndarray | None) -> Any:
        return None  # every booster makes its own

    def open(self, rows: Rows, combiner: Combiner) -> Scores:
        return Scores(np.empty((len(rows.X), rows.k)), np.empty((len(rows.X), rows.k)))

    def head(self, j: int, segment: Segment, rows: Rows, weight: np.ndarray | None) -> Rows:
        """The same rows at the head of the booster of class j."""
        notes = segment.booster.new_notes(len(rows.X), 2, weight)
        own = new_rows(rows.X, rows.missing, rows.spread, rows.t, 2, len(self.log_vs[j]), notes)
        return own._replace(again=rows.again)

    def learn(self, i: int, segment: Segment, block: Block) -> None:
        """Is it class i?"""
        rows, mine = self.head(i, segment, block.rows, block.weight), (block.y == i).astype(np.int64)
        segment.learn(rows, mine, block.weight)
        play_binary(self.log_vs[i], rows.experts, mine, block.weight, block.kept.scores[:, i])
        block.kept.margins[:, i] = rows.s[:, MINE] - rows.s[:, 1 - MINE]

    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        choose(block.kept.scores, block.kept.margins, out)
        return probabilities(block.kept, out) if heard else None

    def walk(self, combiner: Combiner, t: int) -> int:
        return sum(map(len, self.log_vs))

    def ask(self, i: int, segment: Segment, block: Block, n_learners: int, cache: Any) -> None:
        rows = self.head(i, segment, block.rows, None)
        segment.predict(rows, len(segment))
        self.sum_up(i, rows, block.kept)

    def sum_up(self, j: int, rows: Rows, said: Scores) -> None:
        """What the booster of class j says of rows that have gone through it."""
        for b in range(len(rows.X)):
            said.scores[b, j] = yes_share(self.log_vs[j], rows.experts[b])
        said.margins[:, j] = rows.s[:, MINE] - rows.s[:, 1 - MINE]

    def forecast(self, block: Block, walk: int) -> tuple[np.ndarray, np.ndarray]:
        codes = self.labels(block, walk)
        return codes, probabilities(block.kept, codes)

    def labels(self, block: Block, walk: int) -> np.ndarray:
        codes = np.empty(len(block.rows.X), np.int64)
        choose(block.kept.scores, block.kept.margins, codes)
        return codes

    # --------------------------------------------------------------------------------------------------- explaining

    def voters(self, segments: list[Segment], k: int, combiner: Combiner, t: int, *, now: bool) -> list[Voter]:
        found: list[Voter] = []
        for j, segment in enumerate(segments[:k]):
            effect = np.zeros((2, k))
            effect[MINE, j], effect[1 - MINE, j] = 1.0, -1.0
            for i, weight in enumerate(vote_weights([segment])):
                found.append(Voter(len(found), i, segment.learners, i, weight, effect, j))
        return found

    def votes_of_each(self, segments: list[Segment], block: Block) -> list[np.ndarray]:
        heads = [self.head(j, segment, block.rows, None) for j, segment in enumerate(segments)]
        pairs = zip(segments, heads, strict=True)
        return [vote for segment, rows in pairs for vote in segment.votes_of_each(rows)[:, 0]]

    # ---------------------------------------------------------------------------------------- parts in other places

    def votes_of(self, block: Block, done: int) -> dict[str, Any]:
        return block.kept._asdict()  # type: ignore[no-any-return]

    def put_votes(self, block: Block, votes: dict[str, Any]) -> None:
        block.kept.scores[:], block.kept.margins[:] = votes["scores"], votes["margins"]

    def adopt(self, i: int, segment: Segment, other: Self) -> None:
        self._log_vs[i] = other.log_vs[i].copy()

    def sliced(self, kept: Scores, part: slice) -> Scores:
        return Scores(kept.scores[part], kept.margins[part])

    # -------------------------------------------------------------------------------------------------- single rows

    def learning_steps(self, row: Row) -> tuple[list[Step], list[Step]]:
        ready: list[Step] = []
        through: list[Step] = []
        for j, segment in enumerate(row.segments):
            mine, rows = np.zeros(1, np.int64), self.head(j, segment, row.rows, row.weight)
            own = hold(OfClass(row.y, mine, row.weight, rows.experts, self.log_vs[j]))
            prepare, send = learning_pass(segment, row, rows, mine, 2)
            ready.append(prepare)
            through.append(partial(compiled(tell, own, 0, 0), own, j))
            through.append(send)
            through.append(partial(compiled(judge_class, own, 0), own))
        return ready, through

    def asking(self, row: Row) -> Asking:
        return AskingClasses(self, row)


class OfClass(NamedTuple):
    """A row at the booster of one class."""

    y: np.ndarray  # int64 (rows,) its label
    mine: np.ndarray  # int64 (rows,) whether it is that of the class
    weight: np.ndarray
    experts: np.ndarray
    log_v: np.ndarray


@entry_kernel
def tell(handle, j, t):
    """Is it class j?"""
    at = handle.parts
    for b in range(at.y.size):
        at.mine[b] = int(at.y[b] == j)
    return True


@entry_kernel
def judge_class(handle, t):
    """The experts of a class learn the label."""
    at = handle.parts
    for b in range(at.y.size):
        update_log_weights(at.log_v, at.experts[b], at.mine[b], at.weight[b], None)
    return True


class AskingClasses(Asking):
    """The boosters of all classes."""

    def __init__(self, end: OneVsAllEnd, row: Row) -> None:
        super().__init__(row)
        self.end, self.said = end, end.open(row.rows, Combiner.LAST)
        self.parts: list[tuple[Rows, Any, Step]] = []
        for j, segment in enumerate(row.segments):
            rows = end.head(j, segment, row.rows, row.weight)
            loop, handle = predicting_pass(segment, rows, row, segment.booster)
            self.parts.append((rows, preparing(handle), partial(loop, handle, len(segment), 0, 0)))

    def code(self, combiner: Combiner) -> int:
        t = self.chain.t + 1
        if self.look(combiner, t) < 0:
            return -1
        for j, (rows, prepare, send) in enumerate(self.parts):
            prepare(t)
            send(t)
            self.end.sum_up(j, rows, self.said)
        choose(*self.said, self.y)
        return self.y.item()  # type: ignore[no-any-return]

    def forecast(self, combiner: Combiner) -> np.ndarray | None:
        return None if self.code(combiner) < 0 else probabilities(self.said, self.y)
