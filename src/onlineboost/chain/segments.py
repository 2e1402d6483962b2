"""The stages ahead of the end of a chain: a panel, and segments.

A segment is neighbouring learners with their part of the booster. It takes a block's votes and hands them on. With a
panel ahead of them, its votes are what the segments start from.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, Self, cast

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.learners import Learners, TreeLearners
from onlineboost.chain.loops import hold_pass, learning_loop, predicting_loop
from onlineboost.chain.stage import Stage
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Pass, Rows, new_work
from onlineboost.contracts.state import loaded, nbytes
from onlineboost.panel.combiner import PATIENCE
from onlineboost.panel.panel import PanelWork, ask_row, begin, clipped_votes, learn_asked, new_panel_work
from onlineboost.panel.state import (
    Panel,
    begun_anew,
    most_bytes,
    new_panel,
    packed,
    room_for_rows,
    rows_left,
    with_classes,
    with_offset,
    with_room,
)

NO_LABELS = np.empty(0, np.int64), np.empty(0)  # and no weights: of rows to be predicted
MORE = 0.5  # work that the last learner of a chain has more than the first, in part: its tree is larger


def even_work(n_learners: int, pieces: int) -> list[int]:
    """Where to cut `n_learners` learners to get pieces with about as much work: 0, ..., n_learners."""
    if n_learners < 4 * pieces:
        return [n_learners * i // pieces for i in range(pieces + 1)]
    work = np.linspace(0.0, 1.0 + MORE / 2.0, pieces + 1)  # x learners, of 1, have x + MORE x^2 / 2
    return np.rint(n_learners * (np.sqrt(1.0 + 2.0 * MORE * work) - 1.0) / MORE).astype(int).tolist()


class Segment:
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
        booster = self.booster if cache is None else self.booster.with_cache(cache)
        self._predict(hold_pass(self.open(rows, *NO_LABELS, booster)), 0, n_learners)

    def votes_of_each(self, rows: Rows) -> np.ndarray:
        """What each learner adds to the votes of a block, (learners, rows, k). Changes `rows` alone."""
        handle = hold_pass(self.open(rows, *NO_LABELS, self.booster))
        out = np.empty((len(self), *rows.s.shape))
        for i in range(len(self)):
            out[i] = -rows.s
            handle = self._predict(handle, i, i + 1)
            out[i] += rows.s
        return out

    def _predict(self, handle: Any, i: int, stop: int) -> Any:
        """Send a block through learners i, ..., stop - 1; the handle to go on with."""
        b = 0
        while True:
            i, b = predicting_loop(handle)(handle, stop, i, b, handle.parts.rows.t)
            if i == stop:
                return handle
            handle = self._supplied(handle, i, b, (), None)

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Send a labelled block through the segment: every learner votes, then learns."""
        handle = hold_pass(self.open(rows, y, weight, self.booster))
        i, b = 0, 0
        while i < len(self):
            i, b, *room = learning_loop(handle)(handle, i, b, rows.t)
            handle = self._supplied(handle, i, b, room, y)

    def _supplied(self, handle: Any, i: int, b: int, room: Sequence[int], y: Any) -> Any:
        """The pass with what learner i lacks for row b: see `Learners.supply`."""
        before = handle.parts.learner
        learner = self.learners.supply(before, i, b, room, handle.parts.rows, handle.parts.booster, y)
        done = i == len(self) or learner is before
        return handle if done else hold_pass(handle.parts._replace(learner=learner))

    def open(self, rows: Rows, y: np.ndarray, weight: np.ndarray, booster: Booster) -> Pass:
        """All that the loops need to send a block through."""
        state, scratch = self.learners.open(rows)
        return Pass(state, booster, rows, y, weight, scratch, new_work(rows.k))

    def cut(self, pieces: int) -> list[Self]:
        """This many segments in place of this one, with about as much work each."""
        return [self.between(a, b) for a, b in pairwise(even_work(len(self), pieces))] if pieces > 1 else [self]

    def between(self, start: int, stop: int) -> Self:
        """Learners start, ..., stop - 1, with state of their own."""
        return type(self)(self.learners.part(start, stop), self.booster.part(start, stop))

    def join(self, others: Sequence[Segment]) -> Self:
        """A compact copy of this segment and those that come after it, in one."""
        learners = self.learners.join([other.learners for other in others])
        return type(self)(learners, self.booster.join([other.booster for other in others]))

    def only(self, i: int) -> Self:
        """Tree i alone, in the same tables."""
        return type(self)(cast(TreeLearners, self.learners).only(i), self.booster.part(i, i + 1))

    def identity(self) -> tuple[Any, ...]:
        return self.booster, self.learners.identity()


def vote_weights(segments: Sequence[Segment]) -> list[float]:
    """What each learner's vote counts: alpha, or 1 where votes are counted."""
    boosters = [segment.booster for segment in segments]
    return [w for booster in boosters for w in getattr(booster, "alpha", np.ones(len(booster.scale))).tolist()]


class PanelPass(NamedTuple):
    """A block at the panel."""

    panel: Panel
    X: np.ndarray  # float64 (rows, columns) outliers clipped
    y: np.ndarray  # int64 (rows,)
    weight: np.ndarray  # float64 (rows,)
    s: np.ndarray  # float64 (rows, k) what the panel says
    work: PanelWork
    asked: np.ndarray  # int64 (1,) the round for which `work` has what the panel says
    about: np.ndarray  # float64 (columns,) of this row


class Asked(NamedTuple):
    """Scratch, and the row that it was last used for: whoever predicts a row, then learns it, asks once."""

    work: PanelWork
    asked: np.ndarray
    about: np.ndarray


def new_asked(panel: Panel, n_columns: int, k: int) -> Asked:
    return Asked(new_panel_work(panel, k), np.array([-1]), np.zeros(n_columns))


@entry_kernel
def send_rows(handle, t):
    """What the panel says of every row, from round t on, before it is learned; how many rows went through.

    They are all, or those up to one after which the panel must begin again. Without labels every row is one of round t:
    nothing else changes, and the last row is remembered. One kernel does both, as it takes a long time to compile.
    """
    panel, X, y, weight, s, work, asked, about = handle.parts
    k, learns = s.shape[1], y.size > 0
    for b in range(X.shape[0]):
        known = learns and asked[0] == t + b
        for c in range(about.size):
            known = known and (about[c] == X[b, c] or (about[c] != about[c] and X[b, c] != X[b, c]))
        asked[0] = -1
        if known:
            clipped_votes(work, k, s[b])
        else:
            ask_row(panel, X[b], k, work, s[b])
        if not learns:
            asked[0] = t
            for c in range(about.size):
                about[c] = X[b, c]
        elif learn_asked(panel, X[b], y[b], weight[b], k, work):
            return b + 1
    return X.shape[0]


@entry_kernel
def will_stay(handle, t):
    """Whether the panel is sure not to begin again after the coming row."""
    return handle.parts.panel.alarm.late[0] < PATIENCE - 1


class PanelStage(Stage):
    """A panel ahead of the segments."""

    def __init__(self, state: Panel) -> None:
        self.state = state
        self._scratch: tuple[Panel, int, PanelWork] | None = None  # of the last block, and what it was made for

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._scratch = None

    @classmethod
    def new(cls, n_numeric: int, n_nominal: int, seed: int) -> PanelStage:
        stage = cls(new_panel(n_numeric, n_nominal, seed))
        begin(stage.state)
        return stage

    def copy(self) -> PanelStage:
        """With no room to spare."""
        return type(self)(packed(self.state))

    def identity(self) -> tuple[Any, ...]:
        return (self.state,)

    # ------------------------------------------------------------------------------------------------------- blocks

    @property
    def parts(self) -> list[Self]:
        """What learns a block, one after the other."""
        return [self]

    def most_classes(self, k: int) -> int:
        """How many of k classes it covers."""
        return k

    def of_classes(self, k: int, end: Any) -> list[tuple[Panel, Any, np.ndarray]]:
        """The panel with its combiner, and what its votes add to the scores of the classes."""
        return [(self.state, end, np.eye(k))]

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """The panel's votes are in rows.s, and it learns. In mid-block another may take its place."""
        done = -1
        while done < len(y):
            done = max(done, 0)  # once, if there is no row: to have it compiled
            self.state = room_for_rows(self.state, len(y) - done)
            part = slice(done, None)
            handle = self._open(rows.X[part], rows.s[part], y[part], weight[part], self._asked(rows.k))
            done += compiled(send_rows, handle, 0)(handle, rows.t + done)
            if self.state.alarm.late[0] >= PATIENCE:
                self.state = begun_anew(self.state, rows.t + done - 1)
                begin(self.state)

    def _asked(self, k: int) -> Asked:
        """To learn a block with: the scratch of the last one, if it fits."""
        if self._scratch is None or self._scratch[0] is not self.state or self._scratch[1] != k:
            self._scratch = (self.state, k, new_panel_work(self.state, k))
        return Asked(self._scratch[2], np.array([-1]), np.zeros(0))

    def predict(self, rows: Rows) -> None:
        """The panel's votes are in rows.s."""
        handle = self._open(rows.X, rows.s, *NO_LABELS)
        compiled(send_rows, handle, 0)(handle, rows.t)

    def _open(self, X: np.ndarray, s: np.ndarray, y: np.ndarray, weight: np.ndarray, asked: Asked | None = None) -> Any:
        asked = asked or Asked(new_panel_work(self.state, s.shape[1]), np.array([-1]), np.zeros(0))
        return hold(PanelPass(self.state, X, y, weight, s, *asked))

    def rehearse(self, n_columns: int, k: int) -> None:
        """Have its kernels compiled, of which one is the largest of all."""
        handle = self._open(np.empty((0, n_columns)), np.empty((0, k)), *NO_LABELS, self._asked(k))
        compiled(send_rows, handle, 0), compiled(will_stay, handle, 0)

    # -------------------------------------------------------------------------------------------------- single rows

    def learning_steps(self, row: Any, asked: Asked) -> tuple[Any, Any]:
        """What says whether a row can go through, and what sends it through: steps of `rows`."""
        handle = self._open(row.rows.X, row.rows.s, row.y, row.weight, asked)
        return (partial(compiled(step, handle, 0), handle) for step in (will_stay, send_rows))  # type: ignore[return-value]

    def asking_step(self, row: Any, asked: Asked) -> Any:
        handle = self._open(row.rows.X, row.rows.s, *NO_LABELS, asked)
        return partial(compiled(send_rows, handle, 0), handle)

    def make_room_for_rows(self) -> int:
        """Room for some more rows; how many."""
        self.state = room_for_rows(self.state, 1)
        return rows_left(self.state)

    # ------------------------------------------------------------------------------------------------------ growing

    def set_classes(self, k: int) -> None:
        self.state = with_classes(self.state, k)

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        stats = self.state.shared.stats
        self.state = with_room(self.state, columns=min(stats.dense.n_numbers + sum(sizes), stats.most))

    def new_columns(self, numeric: int, nominal: int) -> None:
        """The panel goes on without them: the trees behind it alone see columns that turn up later."""
        self.state = with_offset(self.state, numeric)

    def nbytes(self) -> dict[str, int]:
        return {"panel": nbytes(self.state)}

    def most_bytes(self, k: int) -> int:
        return most_bytes(self.state, k)

    def resets(self) -> list[int]:
        """Rounds after which it has begun again, as far as they are remembered."""
        return [row for row in self.state.alarm.rounds.tolist() if row]
