"""A classifier whose chain is elsewhere: it reads, checks and encodes rows as ever, and sends them down the line.

Both classes go in front of those of the classifier at hand and of its chain, and change what has to be otherwise when
the learners are elsewhere. The learners that are left in the chain are stand-ins (`parts`).
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.notices import Tally
from onlineboost.chain.ova import OneVsAllChain
from onlineboost.chain.restarts import Census, Plan, Told
from onlineboost.chain.reviews import Review
from onlineboost.chain.visits import Visitor, any_waits
from onlineboost.cluster.line import Line
from onlineboost.cluster.parts import Change, Said, State
from onlineboost.cluster.travel import Block, new_block
from onlineboost.contracts.state import copied, loaded
from onlineboost.estimators.base import OnlineClassifier
from onlineboost.estimators.model import Model

OWN = ("line", "rows", "wanted", "owed")  # fields of a chain that is elsewhere


class AwayChain(Chain):
    """A chain whose learners are elsewhere."""

    line: Line
    rows: int  # of a block
    wanted: bool  # whether someone wants to know what is predicted
    owed: bool  # whether the next row's prediction is known already: what the chain says of it must not come later

    def stream(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        k: int,
        combiner: Combiner,
        out: np.ndarray,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
        visitors: Sequence[Visitor] = (),
    ) -> int:
        n, before, traced = len(X), self.t, self.is_traced(combiner)
        size = self.most_rows(self.rows, k, combiner)
        asked = {"combiner": int(combiner), "costs": self.costs, "heard": self.heard is not None, "traced": traced}
        done = 0
        while done < n and not (done and stop()):
            part = slice(done, done + self._rows(visitors, min(size, n - done)))
            sink = self._sink(out[part]) if self.wanted or self.heard is not None else None
            block = new_block(X[part], y[part], weight[part], k, **asked)
            self.diary.keep(X[part], y[part], self.t)
            self._send_rows(block, sink, visitors)
            done = self.t - before
        for visitor in visitors:
            self.line.wait(visitor.settled)
            visitor.end()
        if self.heard is not None or self.owed:
            self.line.drain()
            self.owed = False
        return done

    def _rows(self, visitors: Sequence[Visitor], most: int) -> int:
        """Rows of the coming block, once it may enter."""
        self.line.wait(lambda: not any_waits(visitors))
        return min([most, *(visitor.rows(self.line.parts) for visitor in visitors)])

    def _send_rows(self, block: Block, sink: Any, visitors: Sequence[Visitor]) -> None:
        """A plan goes ahead of a block, questions behind it: what the parts answer is handed in at once."""
        after = self.t + len(block.y)
        visits = [visitor.visit(self.t, after) for visitor in visitors]
        for visit in visits:
            if isinstance(visit, Review) and visit.plan is not None:
                self.carry_out(visit.plan)
        self.line.send(block, sink)
        self.t = after
        for visit in visits:
            if isinstance(visit, Review) and visit.census is not None:
                self.line.send(Change("census", ()), self._hold(visit, visit.census))
            elif isinstance(visit, Tally):
                self.line.send(Change("limited_trees", ()), self._count(visit))
            else:
                visit.leave()

    @staticmethod
    def _hold(visit: Review, census: Census) -> Callable[[list[list[Told]]], None]:
        """What the parts tell of their learners makes a census, and that a review."""

        def take(answers: list[list[Told]]) -> None:
            for told in (told for part in answers for told in part):
                census.put(told)
            visit.leave()

        return take

    @staticmethod
    def _count(visit: Tally) -> Callable[[list[int]], None]:
        def take(answers: list[int]) -> None:
            visit.trees = sum(answers)
            visit.leave()

        return take

    def _sink(self, out: np.ndarray) -> Callable[[list[Said]], None]:
        """Where goes what is said of a block."""

        def take(answers: list[Said]) -> None:
            said = answers[-1]
            out[:] = said.codes
            if self.heard is not None:
                self.heard += map(np.array, said.heard)

        return take

    def predict(self, X: np.ndarray, k: int, combiner: Combiner) -> np.ndarray:
        return gathered(self).predict(X, k, combiner) if self.wanted else np.full(len(X), -1)

    def forecast(self, X: np.ndarray, k: int, combiner: Combiner) -> tuple[np.ndarray, np.ndarray]:
        codes, p = gathered(self).forecast(X, k, combiner)
        return codes, p

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        super().new_values(sizes, births)
        self.line.send(Change("new_values", (sizes, births)))

    def new_columns(self, numeric: int, nominal: int) -> None:
        super().new_columns(numeric, nominal)
        self.line.send(Change("new_columns", (numeric, nominal)))

    def allot(self, share: float, width: int) -> None:
        super().allot(share, width)
        self.line.send(Change("allot", (share, width)))

    def carry_out(self, plan: Plan) -> None:
        self.line.send(Change("carry_out", (plan,)))

    def cut(self, n_segments: int) -> None:
        """It is cut already."""


def unpickled(state: State) -> Any:
    """A pickle, or what was in a file with one, which is not needed any more."""
    if isinstance(state, bytes):
        return pickle.loads(state)
    with Path(state).open("rb") as file:
        found = pickle.load(file)
    Path(state).unlink()
    return found


def gathered(chain: AwayChain) -> Any:
    """A chain with all that the parts have learned so far."""
    kind: Any = type(chain).__mro__[2]  # what it was before `AwayChain` was put in front
    whole: Any = kind.__new__(kind)
    parts = [unpickled(part) for part in chain.line.ask("learned", chain.line.folder)]  # all is known here after this
    whole.__dict__ = {name: value for name, value in chain.__dict__.items() if name not in OWN}
    whole.diary, whole.watch, whole.heard = copied(chain.diary), deepcopy(chain.watch), None
    whole.segments = [None] * len(chain.segments)
    whole.log_v = chain.log_v.copy()
    log_vs = {}
    for segments, own, fields in parts:
        for i, segment in segments.items():
            whole.segments[i] = segment
            log_vs[i] = loaded(own[i])
        whole.__dict__.update({name: loaded(value) for name, value in fields.items()})
    if isinstance(whole, OneVsAllChain):
        kinds = zip(whole.boosters, whole.segments, strict=True)
        whole.boosters = [type(old)(segment, log_vs[i]) for i, (old, segment) in enumerate(kinds)]
    else:
        for i, segment in enumerate(whole.segments):
            whole.log_v[segment.place] = log_vs[i]
    if whole.can_join:
        whole.join_up()
    return whole


class Away(OnlineClassifier):
    """A classifier whose chain is elsewhere."""

    _line_up: Callable[[Any], AwayChain]  # sends the learners of a chain away

    def _learn(self, *args: Any, **more: Any) -> np.ndarray:
        if not isinstance(self._model.chain, AwayChain):
            self._model.chain = self._line_up(self._model.chain)
        return super()._learn(*args, **more)

    def _learn_rows(self, model: Model, *args: Any) -> np.ndarray:
        out = super()._learn_rows(model, *args)
        chain = model.chain
        assert isinstance(chain, AwayChain)
        if chain.wanted:
            chain.line.drain()
        return out

    def _rehearse(self, model: Model) -> None:
        """The parts compile what they need."""

    def _set_classes(self, model: Model, k: int) -> None:
        chain = model.chain
        if isinstance(chain, AwayChain) and k > self.__dict__.get("_classes_sent_", 0):
            chain.line.send(Change("set_classes", (k, model.columns)))
            self.__dict__["_classes_sent_"] = k
            chain.owed = chain.wanted
        super()._set_classes(model, k)
