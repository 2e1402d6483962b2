"""The panel as a stage: its votes are what the segments behind it start from."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.stage import Stage
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import nbytes
from onlineboost.panel.panel import PanelWork, ask_row, begin, clipped_votes, learn_asked, new_panel_work
from onlineboost.panel.reset import PATIENCE
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


class PanelPass(NamedTuple):
    """A block at the panel."""

    panel: Panel
    X: np.ndarray  # float64 (rows, columns) as it is believed
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
def learn_rows(handle, t):
    """What the panel says of every row, from round t on, before it is learned.

    Returns how many rows: up to one after which the panel must begin again.
    """
    panel, X, y, weight, s, work, asked, about = handle.parts
    k = s.shape[1]
    for b in range(X.shape[0]):
        known = asked[0] == t + b
        for c in range(about.size):
            known = known and (about[c] == X[b, c] or (about[c] != about[c] and X[b, c] != X[b, c]))
        asked[0] = -1
        if known:
            clipped_votes(work, k, s[b])
        else:
            ask_row(panel, X[b], k, work, s[b])
        if learn_asked(panel, X[b], y[b], weight[b], k, work):
            return b + 1
    return X.shape[0]


@entry_kernel
def ask_rows(handle, t):
    """What the panel says of every row in round t. Changes nothing else; the last row is remembered."""
    panel, X, _, _, s, work, asked, about = handle.parts
    for b in range(X.shape[0]):
        ask_row(panel, X[b], s.shape[1], work, s[b])
        asked[0] = t
        for c in range(about.size):
            about[c] = X[b, c]
    return True


@entry_kernel
def will_stay(handle, t):
    """Whether the panel is sure not to begin again after the coming row."""
    return handle.parts.panel.alarm.late[0] < PATIENCE - 1


NOTHING = np.empty(0, np.int64), np.empty(0)


class PanelStage(Stage):
    """A panel ahead of the segments."""

    def __init__(self, state: Panel) -> None:
        self.state = state

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

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """The panel's votes are in rows.s, and it learns. In mid-block another may take its place."""
        done = 0
        while done < len(y):
            self.state = room_for_rows(self.state, len(y) - done)
            part = slice(done, None)
            handle = self._open(rows.X[part], rows.s[part], y[part], weight[part])
            done += compiled(learn_rows, handle, 0)(handle, rows.t + done)
            if self.state.alarm.late[0] >= PATIENCE:
                self.state = begun_anew(self.state, rows.t + done - 1)
                begin(self.state)

    def predict(self, rows: Rows) -> None:
        """The panel's votes are in rows.s."""
        handle = self._open(rows.X, rows.s, *NOTHING)
        compiled(ask_rows, handle, 0)(handle, rows.t)

    def _open(self, X: np.ndarray, s: np.ndarray, y: np.ndarray, weight: np.ndarray, asked: Asked | None = None) -> Any:
        asked = asked or Asked(new_panel_work(self.state, s.shape[1]), np.array([-1]), np.zeros(0))
        return hold(PanelPass(self.state, X, y, weight, s, *asked))

    # -------------------------------------------------------------------------------------------------- single rows

    def learning_steps(self, row: Any, asked: Asked) -> tuple[Any, Any]:
        """What says whether a row can go through, and what sends it through: steps of `rows`."""
        handle = self._open(row.rows.X, row.rows.s, row.y, row.weight, asked)
        return (partial(compiled(step, handle, 0), handle) for step in (will_stay, learn_rows))  # type: ignore[return-value]

    def asking_step(self, row: Any, asked: Asked) -> Any:
        handle = self._open(row.rows.X, row.rows.s, row.y, row.weight, asked)
        return partial(compiled(ask_rows, handle, 0), handle)

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
