"""One row through a chain, with everything prepared: the kernels are called with a pointer and a few numbers.

A block of one row takes 30 us before the first tree is asked: to make its arrays, and to hand over the model. Here the
arrays are used again, and the model is handed over as handles (`_compile.handle`). What is done to a row between its
entering and its leaving is the business of the end of the chain (`stage.End`).

All kernels that change the model for a row are called from C in one go (`map`). The handler of a signal runs between
two steps of Python alone. So what it raises finds the row learned, or not begun: there is nothing to hold back.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from itertools import repeat
from operator import call, is_
from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import bare_kernel, entry_kernel, unkept_kernel
from onlineboost.chain.clipping import Numbers, clip_numbers, learn_numbers
from onlineboost.chain.diary import EVERY
from onlineboost.chain.evidence import take_evidence
from onlineboost.chain.experts import Combiner, learners_needed, update_log_weights
from onlineboost.chain.loops import hold_pass, is_foreign, learning_loop, predicting_loop
from onlineboost.contracts.booster import BOOSTER, start, take_votes
from onlineboost.contracts.learner import LEARNER, find_all, find_more, spare
from onlineboost.contracts.rows import Pass, Rows, in_round, new_rows

CALL: Any = call  # in C
Step = Callable[[int], Any]  # does its part for the row of a round; what it returns says whether to go on


class Ends(NamedTuple):
    """A row at the head of the chain, and the experts at its end."""

    numbers: Numbers
    raw: np.ndarray  # float64 (rows, columns) as it came
    X: np.ndarray  # outliers clipped
    missing: np.ndarray  # as in Rows
    spread: np.ndarray
    again: np.ndarray
    experts: np.ndarray
    y: np.ndarray  # int64 (rows,)
    weight: np.ndarray  # float64 (rows,)
    log_v: np.ndarray  # of the experts, if they are followed
    costs: Any  # (k, k) what mistakes cost; None: 1 each
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
    """The row of round t, outliers clipped; the columns learn it."""
    ends = handle.parts
    if not is_finite(ends):
        return False
    ends.begun[0] = t
    learn_numbers(ends.numbers, ends.raw, ends.X, ends.spread, 0)
    take_evidence(ends.numbers, ends.raw, ends.y, ends.weight, ends.y[:0], ends.X)
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
        if ends.log_v.size > 0:
            update_log_weights(ends.log_v, ends.experts[b], ends.y[b], ends.weight[b], ends.costs)
        if (t + b) % EVERY == 0:
            place = (t + b) // EVERY % ends.kept_y.size
            for c in range(ends.kept.shape[1]):
                ends.kept[place, c] = ends.raw[b, c]
            ends.kept_y[place] = ends.y[b]
    return True


@entry_kernel
def look(handle, combiner, t):
    """The row, outliers clipped, to predict it in round t. How many learners that needs; -1: it is not finite."""
    ends = handle.parts
    if not is_finite(ends):
        return -1
    clip_numbers(ends.numbers, ends.raw, ends.X)
    take_evidence(ends.numbers, ends.raw, ends.y[:0], ends.weight[:0], ends.y[:0], ends.X)
    return learners_needed(combiner, ends.log_v, ends.seed, t) if ends.log_v.size > 0 else 0


def _prepare(handle, nodes, rows, stats, t):
    """No votes yet. Whether there is room in the tables for all that a row can take."""
    at = handle.parts
    at.rows.s[:] = 0.0
    at.rows.lead[:] = 0
    start(at.booster, at.rows, at.weight)
    return spare(at.learner, nodes, rows, stats)


prepare_kept, prepare_foreign = entry_kernel(_prepare), unkept_kernel(_prepare)


def preparing(handle: Any, room: tuple[int, int, int] = (0, 0, 0)) -> Step:
    """`_prepare` for this pass."""
    prepare = prepare_foreign if is_foreign(handle.parts) else prepare_kept
    return partial(compiled(prepare, handle, *room, 0), handle, *room)


def _begin(handle, t):
    """The votes of a panel are in rows.s."""
    take_votes(handle.parts.booster, handle.parts.rows)
    return True


begin_kept, begin_foreign = entry_kernel(_begin), unkept_kernel(_begin)


def beginning(row: Row, segment: Any) -> Step:
    """`_begin` for a row at the head of the first segment."""
    handle = hold_pass(row.parts(segment, row.rows, row.y, segment.booster))
    begin = begin_foreign if is_foreign(handle.parts) else begin_kept
    return partial(compiled(begin, handle, 0), handle)


class Ahead(NamedTuple):
    """A row on its way to the segments."""

    learners: tuple[Any, ...]  # of each segment,
    scratch: tuple[Any, ...]  # and for it
    n: tuple[int, ...]  # learners
    rows: Rows
    y: np.ndarray  # int64 (rows,) its label; (0,): it is not known


find_in_each = LEARNER.each(find_all, 3)
find_more_in_each = LEARNER.each(find_more, 2, counted=True)


@entry_kernel
def find_ahead(handle, t):
    """Find what all learners will need, the segments in turns, while none of them waits for it."""
    at = handle.parts
    rows = in_round(at.rows, t)
    find_in_each(at.learners, at.scratch, at.n, 0, rows, at.y)
    while find_more_in_each(at.learners, at.scratch, rows) > 0:
        pass
    return True


def finding_ahead(row: Row, y: np.ndarray) -> Step:
    """`find_ahead` for a row, whose label will be in y."""
    passes = [row.parts(segment, row.rows, row.y, segment.booster) for segment in row.segments]
    learners, scratch = tuple(one.learner for one in passes), tuple(one.scratch for one in passes)
    handle = hold(Ahead(learners, scratch, tuple(map(len, row.segments)), row.rows._replace(notes=None), y))
    return partial(compiled(find_ahead, handle, 0), handle)


def learning_pass(segment: Any, row: Row, rows: Rows | None = None, y: Any = None, k: int = 0) -> tuple[Step, Step]:
    """What makes a segment ready for a row that is to be learned, and what sends it through."""
    rows, y = row.rows if rows is None else rows, row.y if y is None else y
    handle = hold_pass(row.parts(segment, rows, y, segment.booster))
    ready = preparing(handle, segment.learners.room_for_row(k or row.k))
    return ready, partial(learning_loop(handle), handle, 0, 0)


def predicting_pass(segment: Any, rows: Rows, row: Row, booster: Any) -> tuple[Any, Any]:
    """The loop that sends a row through a segment without a label, and its handle."""
    handle = hold_pass(row.parts(segment, rows, row.y, booster))
    return predicting_loop(handle), handle


def can_go_alone(chain: Any) -> bool:
    """Whether single rows can go through this chain without being a block: trees, and boosters that have `start`."""
    parts = chain.segments
    ready = bool(parts) and all(part.learners.takes_single_rows for part in parts)
    return ready and BOOSTER.implements(type(parts[0].booster), "start")


class Row:
    """Arrays for one row on its way through a chain, used again for the next."""

    def __init__(self, chain: Any, n_columns: int, k: int) -> None:
        self.chain, self.k = chain, k
        self.segments = chain.segments
        self.asked: Any = None  # scratch of a panel, and what it was last asked about
        self.scratch: dict[Any, Any] = {}  # of the segments, likewise
        self.identity = chain.identity()
        self.raw, self.y, self.weight = np.zeros((1, n_columns)), np.zeros(1, np.int64), np.ones(1)
        missing, spread = np.zeros(1, np.bool_), np.zeros((1, chain.n_numeric))
        end, booster = chain.end, chain.segments[0].booster
        notes = end.new_notes(booster, 1, k, self.weight)
        self.rows: Rows = new_rows(np.zeros((1, n_columns)), missing, spread, 0, k, end.n_experts, notes)
        rows, self.begun = self.rows, np.zeros(1, np.int64)
        of_row = rows.X, rows.missing, rows.spread, rows.again, rows.experts, self.y, self.weight
        log_v = end.log_vs[0] if end.follows_experts else np.empty(0)
        diary = chain.diary.X, chain.diary.y
        self.ends = hold(Ends(chain.numbers, self.raw, *of_row, log_v, chain.costs, chain.seed, self.begun, *diary))

    def parts(self, segment: Any, rows: Rows, y: np.ndarray, booster: Any) -> Pass:
        """All that the loops need to send the row through a segment."""
        parts: Pass = segment.open(rows, y, self.weight, booster)
        return parts._replace(scratch=self.scratch.setdefault(segment, parts.scratch))

    def fits(self, k: int) -> bool:
        """Whether the chain is where it was, with k classes."""
        chain = self.chain
        return self.k == k and chain.segments is self.segments and all(map(is_, chain.identity(), self.identity))


class LearningRow(Row):
    """A row to be learned: fill `raw`, `y` and `weight`, then `learn`."""

    def __init__(self, chain: Any, n_columns: int, k: int) -> None:
        super().__init__(chain, n_columns, k)
        ready, through = chain.end.learning_steps(self)
        head, end = (partial(compiled(step, self.ends, 0), self.ends) for step in (enter, leave))
        self._steps = [*ready, head, *through, end, *(partial(setattr, chain, name) for name in ("mean_weight", "t"))]

    def learn(self, mean_weight: float | None, *also: tuple[Any, Any]) -> bool:
        """Learn the row; False: nothing has changed, since there is no room, or a number is not finite.

        `mean_weight` is that after the row. `also` are functions that are called with it, in C and without fail, each
        with a value.
        """
        t, steps = self.chain.t + 1, self._steps
        values: list[Any] = [*repeat(t, len(steps) - 2), mean_weight, t]
        for step, value in also:
            steps, values = [*steps[:-2], step, *steps[-2:]], [*values[:-2], value, *values[-2:]]
        _ = False in map(CALL, steps, values)  # up to the first that says no
        if self.chain.t < self.begun.item():  # so there was no room in spite of `prepare`, which never happens
            raise RuntimeError("the tables were full in the middle of a row")
        return self.chain.t == t  # type: ignore[no-any-return]


class Asking(ABC):
    """How an end of a chain predicts a row that lies in a `Row`, which refers to it: it does not refer back.

    In a cycle they would be kept, with caches of many megabytes, until the garbage collector comes.
    """

    def __init__(self, row: Row) -> None:
        self.chain, self.rows, self.y = row.chain, row.rows, row.y
        self.look = partial(compiled(look, row.ends, 0, 0), row.ends)

    @abstractmethod
    def code(self, combiner: Combiner) -> int:
        """The code of the label; -1: a number is not finite."""

    @abstractmethod
    def forecast(self, combiner: Combiner) -> np.ndarray | None:
        """Probabilities (1, k), and the code in `y`; None: a number is not finite."""


class PredictingRow(Row):
    """A row to be predicted, by one thread at a time: fill `raw`, then `code` or `forecast` (see `Asking`)."""

    def __init__(self, chain: Any, n_columns: int, k: int, beside: LearningRow | None = None) -> None:
        """`beside`: the row to be learned is mostly the one that was predicted last, and is not asked about twice."""
        super().__init__(chain, n_columns, k)
        if beside is not None:
            self.asked, self.scratch = beside.asked, beside.scratch
        asking = chain.end.asking(self)
        self.code, self.forecast = asking.code, asking.forecast


def make_room(chain: Any, k: int) -> int:
    """Make room for all that a row can take; the number of rows for which there is room beyond the tables of trees."""
    for segment in chain.segments:
        segment.learners.make_room(k)
    return chain.panel.make_room_for_rows() if chain.panel is not None else 1 << 62  # type: ignore[no-any-return]


def rehearse(chain: Any, n_columns: int, k: int) -> None:
    """Have the kernels for single rows compiled. Changes nothing."""
    if can_go_alone(chain):
        LearningRow(chain, n_columns, k), PredictingRow(chain, n_columns, k)
