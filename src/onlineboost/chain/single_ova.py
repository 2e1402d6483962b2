"""One row through the boosters of one against all: see `single`."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.calibration import ahead
from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner, judge
from onlineboost.chain.loops import hold_pass, learning_loop, predicting_loop
from onlineboost.chain.ova import OneVsAllChain, Scores, choose
from onlineboost.chain.single import LearningRow, PredictingRow, Step, can_go_alone, preparing, trees_of


class Class(NamedTuple):
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
        judge(at.log_v, at.experts[b], at.mine[b], at.weight[b], None)
    return True


class LearningBoosters(LearningRow):
    """A row to be learned by all boosters."""

    chain: OneVsAllChain

    def _through(self) -> tuple[list[Step], list[Step]]:
        ready: list[Step] = []
        through: list[Step] = []
        for j, booster in enumerate(self.chain.boosters):
            mine, rows = np.zeros(1, np.int64), booster.head(self.rows, self.weight)
            handle = hold_pass(booster.segment.open(rows, mine, self.weight, booster.segment.booster))
            own = hold(Class(self.y, mine, self.weight, rows.experts, booster.log_v))
            ready.append(preparing(handle, trees_of(booster.segment).room_for_row(2)))
            through.append(partial(compiled(tell, own, 0, 0), own, j))
            through.append(partial(learning_loop(handle), handle, 0, 0))
            through.append(partial(compiled(judge_class, own, 0), own))
        return ready, through


class PredictingBoosters(PredictingRow):
    """A row to be predicted by all boosters."""

    chain: OneVsAllChain

    def _open(self) -> None:
        self._boosters: list[tuple[Any, Any, Any, Any, Any]] = []
        for booster in self.chain.boosters:
            rows = booster.head(self.rows, self.weight)
            handle = hold_pass(booster.segment.open(rows, self.y, self.weight, booster.segment.booster))
            prepare = preparing(handle, (0, 0, 0))
            self._boosters.append((booster, rows, handle, prepare, predicting_loop(handle)))
        self._block = Scores(self.rows, np.empty((1, self.k)), np.empty((1, self.k)))

    def code(self, combiner: Combiner) -> int:
        if self._ask(combiner) < 0:
            return -1
        choose(self._block.scores, self._block.margins, self.y)
        return int(self.y[0])

    def shares(self, combiner: Combiner) -> list[float] | None:
        if self.code(combiner) < 0:
            return None
        return ahead(self.chain.shares(self._block, self.y), self.y)[0].tolist()  # type: ignore[no-any-return]

    def _ask(self, combiner: Combiner) -> int:
        t = self.chain.t + 1
        walk: int = self._look(self.ends, int(Combiner.LAST), t)
        if walk >= 0:
            for j, (booster, rows, handle, prepare, loop) in enumerate(self._boosters):
                prepare(t)
                loop(handle, len(booster.segment), 0, 0, t)
                booster.sum_up(j, rows, self._block)
        return walk


def learning_row(chain: Chain, n_columns: int, k: int) -> LearningRow:
    """The arrays to learn a row with, for any chain."""
    return (LearningBoosters if isinstance(chain, OneVsAllChain) else LearningRow)(chain, n_columns, k)


def predicting_row(chain: Chain, n_columns: int, k: int) -> PredictingRow:
    """The arrays to predict a row with."""
    return (PredictingBoosters if isinstance(chain, OneVsAllChain) else PredictingRow)(chain, n_columns, k)


def rehearse(chain: Chain, n_columns: int, k: int, combiner: Combiner) -> None:
    """Have all kernels compiled, those for single rows included. Changes nothing."""
    chain.rehearse(n_columns, k, combiner)
    if can_go_alone(chain):
        learning_row(chain, n_columns, k), predicting_row(chain, n_columns, k)
