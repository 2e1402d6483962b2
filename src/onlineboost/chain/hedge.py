"""Hedge at the end of a chain: expert i is the vote of the first i learners, and one of them is followed, or all.

`BestLearner` is for learners that know nothing of each other: expert i is learner i, and the best so far is followed.
The arithmetic is in `experts`.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost.chain.experts import (
    Combiner,
    Leader,
    choose_labels,
    expert_mass,
    hedge_part,
    learners_needed,
    new_leader,
)
from onlineboost.chain.rows import Asking, Row, Step, learning_pass, predicting_pass, preparing
from onlineboost.chain.segments import Segment, vote_weights
from onlineboost.chain.stage import Block, End, Voter
from onlineboost.contracts.rows import Rows


class Hedge(End):
    """The prefix experts, and their weights."""

    name = "chain"
    alone = False  # whether an expert is one learner, and not the vote of all up to it

    def __init__(self, n_learners: int, seed: int) -> None:
        self.log_v, self.seed = np.zeros(n_learners), seed

    @property
    def log_vs(self) -> list[np.ndarray]:
        return [self.log_v]

    def copy(self) -> Self:
        copy = type(self)(0, self.seed)
        copy.log_v = self.log_v.copy()
        return copy

    # ----------------------------------------------------------------------------------------------------- learning

    def open(self, rows: Rows, combiner: Combiner) -> Leader:
        return new_leader(combiner, len(rows.X), rows.k)

    def is_traced(self, combiner: Combiner) -> bool:
        return combiner in (Combiner.HEDGE, Combiner.BEST)

    def learn(self, i: int, segment: Segment, block: Block) -> None:
        """The segment's experts come in, and their weights learn."""
        rows, place = block.rows, segment.place
        segment.learn(rows, block.y, block.weight)
        of_rows = rows.experts, block.y, block.weight, block.costs, *block.kept
        hedge_part(int(block.combiner), self.log_v[place], place.start, self.seed, rows.t, *of_rows)

    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        choose_labels(block.kept, out)
        return self._probabilities(block) if heard else None

    @staticmethod
    def _probabilities(block: Block) -> np.ndarray:
        """What `forecast` would have given of each row in its round."""
        rows, mass, followed = block.rows, block.kept.mass, block.kept.expert
        if len(mass):
            shares: np.ndarray = mass / mass.sum(axis=1, keepdims=True)
            return shares
        p = np.empty((len(followed), rows.k))
        for i in np.unique(followed):
            at = np.flatnonzero(followed == i)
            s = rows.trace[i, at] if len(rows.trace) else rows.s[at]
            p[at] = block.booster.probabilities(rows._replace(s=s, experts=rows.experts[at]), i + 1)
        return p

    # --------------------------------------------------------------------------------------------------- predicting

    def walk(self, combiner: Combiner, t: int) -> int:
        return int(learners_needed(int(combiner), self.log_v, self.seed, t))

    def labels(self, block: Block, walk: int) -> np.ndarray:
        if block.combiner is Combiner.WEIGHTED:
            codes: np.ndarray = expert_mass(self.log_v, block.rows.experts, block.rows.k).argmax(axis=1)
            return codes
        return block.rows.experts[:, walk - 1].astype(np.int64)

    def forecast(self, block: Block, walk: int) -> tuple[np.ndarray, np.ndarray]:
        if block.combiner is Combiner.WEIGHTED:
            mass = expert_mass(self.log_v, block.rows.experts, block.rows.k)
            return mass.argmax(axis=1), mass / mass.sum(axis=1, keepdims=True)
        return self.labels(block, walk), block.booster.probabilities(block.rows, 1 if self.alone else walk)

    # --------------------------------------------------------------------------------------------------- explaining

    def voters(self, segments: list[Segment], k: int, combiner: Combiner, t: int, *, now: bool) -> list[Voter]:
        worth = self._worth(combiner, t, now)
        weights = vote_weights(segments)
        every = enumerate((segment, place) for segment in segments for place in range(len(segment)))
        return [
            Voter(at, at, segment.learners, place, weights[at], worth[at] * np.eye(k))
            for at, (segment, place) in every
            if worth[at]
        ]

    def _worth(self, combiner: Combiner, t: int, now: bool) -> np.ndarray:
        """The share of the experts who listen to each learner."""
        if combiner is Combiner.WEIGHTED or (combiner is Combiner.HEDGE and not now):
            return np.cumsum(self.expert_weights()[::-1])[::-1]
        return (np.arange(len(self.log_v)) < self.walk(combiner, t)).astype(float)

    # ---------------------------------------------------------------------------------------- parts in other places

    def votes_of(self, block: Block, done: int) -> dict[str, Any]:
        """Whom the rows would follow; if the votes are traced, those behind that expert."""
        return {**_followed(block), "s": block.rows.s, "notes": block.booster.hand_on(block.rows)}

    def put_votes(self, block: Block, votes: dict[str, Any]) -> None:
        rows, booster = block.rows, block.booster
        rows.s[:] = votes["s"]
        booster.begin(rows)
        booster.take_up(rows, votes["notes"])
        for name in ("value", "label", "expert", "mass"):
            if name in votes:
                getattr(block.kept, name)[:] = votes[name]
        if "trace" in votes:
            expert, at = votes["expert"], np.arange(len(rows.X))
            rows.trace[expert, at] = votes["trace"]
            rows.experts[at, expert] = votes["label"]

    def adopt(self, i: int, segment: Segment, other: Self) -> None:
        self.log_v[segment.place] = other.log_v[segment.place]

    def sliced(self, kept: Leader, part: slice) -> Leader:
        return Leader(*(array[part] for array in kept))

    # -------------------------------------------------------------------------------------------------- single rows

    def learning_steps(self, row: Row) -> tuple[list[Step], list[Step]]:
        pairs = [learning_pass(segment, row) for segment in row.segments]
        return [ready for ready, _ in pairs], [through for _, through in pairs]

    def asking(self, row: Row) -> Asking:
        return AskingExperts(self, row)


def _followed(block: Block) -> dict[str, Any]:
    rows, (value, label, expert, mass) = block.rows, block.kept
    if block.combiner is Combiner.WEIGHTED:
        return {"value": value, "mass": mass}
    if block.combiner is Combiner.LAST:
        return {}  # it is still to come
    own = {"value": value, "label": label.astype(np.min_scalar_type(rows.k))}
    if not len(rows.trace):
        return own
    at = np.arange(len(expert))
    return {**own, "expert": expert, "trace": rows.trace[expert, at]}


class Reach(NamedTuple):
    """A segment, and which of the learners of the chain are in it."""

    loop: Any
    handle: Any
    first: int
    n: int


class AskingExperts(Asking):
    """As many learners as the prediction needs, or the best one alone."""

    def __init__(self, hedge: Hedge, row: Row) -> None:
        super().__init__(row)
        self.hedge, self.booster = hedge, row.segments[0].booster
        cache, first = self.booster.new_cache(), 0
        self.parts: list[Reach] = []
        for segment in row.segments:
            booster = segment.booster if cache is None else segment.booster.with_cache(cache)
            loop, handle = predicting_pass(segment, row.rows, row, booster)
            self.parts.append(Reach(loop, handle, first, len(segment)))
            first += len(segment)
        self.prepare = preparing(self.parts[0].handle)

    def ask(self, combiner: Combiner) -> int:
        t = self.chain.t + 1
        walk = self.look(combiner, t)
        if walk >= 0:
            self.prepare(t)
            for loop, handle, offset, n in self.parts:
                if offset < walk and not (self.hedge.alone and walk > offset + n):
                    loop(handle, min(walk - offset, n), walk - offset - 1 if self.hedge.alone else 0, 0, t)
        return walk

    def code(self, combiner: Combiner) -> int:
        walk = self.ask(combiner)
        if walk < 0:
            return -1
        rows = self.rows
        if combiner is Combiner.WEIGHTED:
            return int(expert_mass(self.hedge.log_v, rows.experts, rows.k).argmax(axis=1)[0])
        return rows.experts.item(walk - 1)  # type: ignore[no-any-return]

    def forecast(self, combiner: Combiner) -> np.ndarray | None:
        walk = self.ask(combiner)
        if walk < 0:
            return None
        codes, p = self.hedge.forecast(Block(self.rows, self.y, self.y, self.booster, combiner, None), walk)
        self.y[:] = codes
        return p


class BestLearner(Hedge):
    """Learners that know nothing of each other. It remembers which were right on the rows of the last call."""

    name = "independent"
    alone = True

    def __init__(self, n_learners: int, seed: int) -> None:
        super().__init__(n_learners, seed)
        self.right: list[np.ndarray] = []  # one bit each

    def begin(self) -> None:
        self.right = []

    @property
    def best(self) -> int:
        return int(self.log_v.argmax())

    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        self.right.append(np.packbits(block.rows.experts == block.y[:, None], axis=1))
        return super().leave(block, out, heard=heard)

    def right_by_learner(self) -> np.ndarray:
        """Which learners were right on the rows of the last call, before learning them: bool (rows, learners)."""
        return np.unpackbits(np.concatenate(self.right), axis=1, count=len(self.log_v)).astype(bool)

    def walk(self, combiner: Combiner, t: int) -> int:
        return self.best + 1

    def ask(self, i: int, segment: Segment, block: Block, n_learners: int, cache: Any) -> None:
        """The best learner alone."""
        best = self.best - segment.place.start
        if 0 <= best < len(segment):
            segment.only(best).predict(block.rows, 1)

    def _worth(self, combiner: Combiner, t: int, now: bool) -> np.ndarray:
        return (np.arange(len(self.log_v)) == self.best).astype(float)
