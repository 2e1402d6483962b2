"""One row through the chain, with everything prepared: the kernels are called with a pointer and a few numbers.

A block of one row takes 30 us before the first tree is asked: to make its arrays, and to hand over the model. Here the
arrays are used again, and the model is handed over as handles (`_compile.handle`).

All kernels that change the model for a row are called from C in one go (`map`). The handler of a signal runs between
two steps of Python alone. So what it raises finds the row learned, or not begun: there is nothing to hold back.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import repeat
from operator import call
from typing import Any, NamedTuple, cast

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import bare_kernel, entry_kernel, unkept_kernel
from onlineboost.chain.calibration import ahead
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import EVERY
from onlineboost.chain.experts import Combiner, best_expert, draw_expert, expert_mass, judge
from onlineboost.chain.independent import IndependentChain
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.loops import hold_pass, is_foreign, learning_loop, predicting_loop
from onlineboost.chain.numbers import Numbers, believe_numbers, learn_numbers
from onlineboost.chain.segments import Segment
from onlineboost.contracts.booster import BOOSTER, start
from onlineboost.contracts.learner import spare
from onlineboost.contracts.rows import Rows, new_rows

CALL: Any = call  # in C
Step = Callable[[int], Any]  # does its part for the row of a round; what it returns says whether to go on


class Ends(NamedTuple):
    """A row at the head of the chain, and the experts at its end."""

    numbers: Numbers
    raw: np.ndarray  # float64 (rows, columns) as it came
    X: np.ndarray  # as it is believed
    missing: np.ndarray  # as in Rows
    spread: np.ndarray
    again: np.ndarray
    experts: np.ndarray
    y: np.ndarray  # int64 (rows,)
    weight: np.ndarray  # float64 (rows,)
    log_v: np.ndarray  # of the experts
    seed: int
    begun: np.ndarray  # int64 (1,) the last round whose row has begun to be learned
    kept: np.ndarray  # float64 (rows kept, columns) of the diary,
    kept_y: np.ndarray  # int64 (rows kept,) and their labels


@bare_kernel
def is_finite(ends):
    """Copy the row as it came; False: there is an infinite number in it, which is refused in words elsewhere."""
    n = ends.numbers.moments.shape[1]
    for b in range(ends.raw.shape[0]):
        ends.missing[b] = False
        for c in range(ends.raw.shape[1]):
            x = ends.raw[b, c]
            if c < n and abs(x) == np.inf:
                return False
            if c < n and x != x:
                ends.missing[b] = True
            ends.X[b, c] = x
    return True


@entry_kernel
def enter(handle, t):
    """The row of round t as it is believed; the columns learn it."""
    ends = handle.parts
    if not is_finite(ends):
        return False
    ends.begun[0] = t
    learn_numbers(ends.numbers, ends.raw, ends.X, ends.spread, 0)
    for b in range(ends.spread.shape[0]):
        ends.again[b] = False
        for c in range(ends.spread.shape[1]):
            ends.again[b] |= ends.spread[b, c] < 0.0
    return True


@entry_kernel
def leave(handle, t):
    """The experts learn the label, and the diary keeps the row if it is its turn: the twin of `Diary.keep`."""
    ends = handle.parts
    for b in range(ends.y.size):
        judge(ends.log_v, ends.experts[b], ends.y[b], ends.weight[b], None)
        if (t + b) % EVERY == 0:
            place = (t + b) // EVERY % ends.kept_y.size
            for c in range(ends.kept.shape[1]):
                ends.kept[place, c] = ends.raw[b, c]
            ends.kept_y[place] = ends.y[b]
    return True


@entry_kernel
def look(handle, combiner, t):
    """The row as it is believed, to predict it in round t. How many learners that needs; -1: it is not finite."""
    ends = handle.parts
    if not is_finite(ends):
        return -1
    believe_numbers(ends.numbers, ends.raw, ends.X)
    if combiner == Combiner.HEDGE:
        return draw_expert(ends.log_v, ends.seed, t) + 1
    if combiner == Combiner.BEST:
        return best_expert(ends.log_v) + 1
    return ends.log_v.size


def _prepare(handle, nodes, rows, stats, t):
    """No votes yet. Whether there is room in the tables for all that a row can take."""
    at = handle.parts
    at.rows.s[:] = 0.0
    at.rows.lead[:] = 0
    start(at.booster, at.rows, at.weight)
    return spare(at.learner, nodes, rows, stats)


prepare_kept, prepare_foreign = entry_kernel(_prepare), unkept_kernel(_prepare)


def can_go_alone(chain: Chain) -> bool:
    """Whether single rows can go through this chain without being a block: trees, and boosters that have `start`."""
    parts = chain.segments
    trees = all(isinstance(part.learners, TreeLearners) for part in parts)
    alone = chain.goes_alone and chain.costs is None
    return bool(parts) and trees and alone and BOOSTER.implements(type(parts[0].booster), "start")


def make_room(chain: Chain, k: int) -> None:
    """Make room in the tables for all that a row can take."""
    for part in chain.segments:
        trees_of(part).make_room(k)


def trees_of(part: Segment) -> TreeLearners:
    """The learners of a segment of a chain that can go alone."""
    return cast(TreeLearners, part.learners)


class Row:
    """Arrays for one row on its way through a chain, used again for the next."""

    def __init__(self, chain: Chain, n_columns: int, k: int) -> None:
        self.chain, self.k = chain, k
        self.segments = chain.segments
        self.state = [(trees_of(part).forest, part.booster) for part in chain.segments]  # new columns: a new forest
        self.raw, self.y, self.weight = np.zeros((1, n_columns)), np.zeros(1, np.int64), np.ones(1)
        missing, spread = np.zeros(1, np.bool_), np.zeros((1, chain.n_numeric))
        notes = chain.segments[0].booster.new_notes(1, k, self.weight)
        self.rows: Rows = new_rows(np.zeros((1, n_columns)), missing, spread, 0, k, len(chain.log_v), notes)
        rows, self.begun = self.rows, np.zeros(1, np.int64)
        of_row = rows.X, rows.missing, rows.spread, rows.again, rows.experts, self.y, self.weight
        kept = chain.diary.X, chain.diary.y
        self.ends = hold(Ends(chain.numbers, self.raw, *of_row, chain.log_v, chain.seed, self.begun, *kept))

    def fits(self, k: int) -> bool:
        """Whether the chain is where it was, with so many classes."""
        if self.chain.segments is not self.segments or self.k != k:
            return False
        for part, (forest, booster) in zip(self.segments, self.state, strict=True):
            if part.booster is not booster or part.learners.forest is not forest:  # type: ignore[attr-defined]
                return False
        return True


class LearningRow(Row):
    """A row to be learned: fill `raw`, `y` and `weight`, then `learn`."""

    def __init__(self, chain: Chain, n_columns: int, k: int) -> None:
        super().__init__(chain, n_columns, k)
        ready, through = self._through()
        head, end = (partial(compiled(step, self.ends, 0), self.ends) for step in (enter, leave))
        self._steps = [*ready, head, *through, end, *(partial(setattr, chain, name) for name in ("mean_weight", "t"))]

    def _through(self) -> tuple[list[Step], list[Step]]:
        """What makes the segments ready, and what sends the row through them."""
        handles = [hold_pass(part.open(self.rows, self.y, self.weight, part.booster)) for part in self.segments]
        rooms = [trees_of(part).room_for_row(self.k) for part in self.segments]
        through: list[Step] = [partial(learning_loop(handle), handle, 0, 0) for handle in handles]
        return list(map(preparing, handles, rooms)), through

    def learn(self, mean_weight: float | None, *also: Step) -> bool:
        """Learn the row; False: nothing has changed, since there is no room, or a number is not finite.

        `mean_weight` is that after the row. `also` is done with it, in C and without fail.
        """
        t = self.chain.t + 1
        steps = [*self._steps[:-2], *also, *self._steps[-2:]] if also else self._steps
        _ = False in map(CALL, steps, [*repeat(t, len(steps) - 2), mean_weight, t])  # up to the first that says no
        if self.is_half_way:  # so there was no room in spite of `prepare`, which never happens
            raise RuntimeError("the tables were full in the middle of a row")
        return self.chain.t == t

    @property
    def is_half_way(self) -> bool:
        """Whether an error, which nobody expects, has struck in the middle of the row."""
        return self.chain.t < self.begun.item()  # type: ignore[no-any-return]


class PredictingRow(Row):
    """A row to be predicted, by one thread at a time: fill `raw`, then `code` or `shares`."""

    def __init__(self, chain: Chain, n_columns: int, k: int) -> None:
        super().__init__(chain, n_columns, k)
        self._alone = isinstance(chain, IndependentChain)
        self._look = compiled(look, self.ends, 0, 0)
        self._open()

    def _open(self) -> None:
        self._parts: list[tuple[Any, Any, int, int]] = []
        first, cache = 0, self.segments[0].booster.new_cache()
        for part in self.segments:
            booster = part.booster if cache is None else part.booster.with_cache(cache)
            handle = hold_pass(part.open(self.rows, self.y, self.weight, booster))
            self._parts.append((predicting_loop(handle), handle, first, len(part)))
            first += len(part)
        self._prepare = preparing(self._parts[0][1], (0, 0, 0))

    def code(self, combiner: Combiner) -> int:
        """The code of the label; -1: a number is not finite."""
        walk = self._ask(combiner)
        if walk < 0:
            return -1
        if combiner is Combiner.WEIGHTED:
            return int(expert_mass(self.chain.log_v, self.rows.experts, self.k).argmax(axis=1)[0])
        return self.rows.experts.item(walk - 1)  # type: ignore[no-any-return]

    def shares(self, combiner: Combiner) -> list[float] | None:
        """Probabilities of the classes; None: a number is not finite."""
        walk = self._ask(combiner)
        if walk < 0:
            return None
        if combiner is Combiner.WEIGHTED:
            mass = expert_mass(self.chain.log_v, self.rows.experts, self.k)
            self.y[0], shares = mass.argmax(), mass / mass.sum(axis=1, keepdims=True)
        else:
            self.y[0] = self.rows.experts[0, walk - 1]
            shares = self.segments[0].booster.probabilities(self.rows, 1 if self._alone else walk)
        return ahead(shares, self.y)[0].tolist()  # type: ignore[no-any-return]

    def _ask(self, combiner: Combiner) -> int:
        """Votes of as many learners as the prediction needs, which is returned; of the best alone if they are apart."""
        t = self.chain.t + 1
        walk: int = self._look(self.ends, int(combiner), t)
        if walk < 0:
            return walk
        self._prepare(t)
        first = walk - 1 if self._alone else 0
        for loop, handle, offset, n in self._parts:
            if offset < walk and first < offset + n:
                loop(handle, min(walk - offset, n), max(first - offset, 0), 0, t)
        return walk


def preparing(handle: Any, room: tuple[int, int, int]) -> Step:
    """`_prepare` for this pass."""
    prepare = prepare_foreign if is_foreign(handle.parts) else prepare_kept
    return partial(compiled(prepare, handle, *room, 0), handle, *room)
