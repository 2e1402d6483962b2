"""What a chain remembers of its past: every fourth of the last rows, and what has happened, when.

The rows are what importances are measured on (they have to be those of now), the events are for people. Both follow
from the rows learned alone: where a row is kept is decided by its number, so blocks and threads make no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from onlineboost.contracts.schema import f8, i8, whole
from onlineboost.contracts.state import Restored

EVERY = 4  # one row in this many is kept: neighbours are often alike
ROWS = 256  # rows kept at most: of the last EVERY * ROWS
EVENTS = 512  # events kept at most; a learner that restarts is one
PART = 50  # of a memory limit, the rows get one part in this many at most, and so do the events
FEWEST = 4

KINDS = 4
RESTART, NEW_CLASS, NEW_COLUMN, MEMORY = range(KINDS)  # of events; their numbers: learner, class, column, trees


@dataclass
class Diary(Restored):
    """Rows as they came, encoded, and events."""

    X: Annotated[np.ndarray, f8("rows", "columns", missing=True)]
    y: Annotated[np.ndarray, i8("rows")]  # codes of their labels; -1: no row yet
    events: Annotated[np.ndarray, i8("events", 3)]  # row number, kind, and a number that goes with it; the oldest first
    most: Annotated[int, whole(0, 1 << 20)]  # events at most
    limited: bool = False  # whether it is written here that trees have gone without memory

    @property
    def nbytes(self) -> int:
        return self.X.nbytes + self.y.nbytes + 24 * self.most

    def keep(self, X: np.ndarray, y: np.ndarray, t: int) -> None:
        """The rows of rounds t + 1, t + 2, ... have been learned."""
        rounds = np.arange(t + EVERY - t % EVERY, t + len(y) + 1, EVERY)[-len(self.y) :]
        place, row = rounds // EVERY % len(self.y), rounds - t - 1
        self.X[place] = X[row, : self.X.shape[1]]
        self.y[place] = y[row]

    def kept(self) -> tuple[np.ndarray, np.ndarray]:
        """The rows and their labels, in no order."""
        there = self.y >= 0
        return self.X[there], self.y[there]

    def note(self, row: int, kind: int, numbers: Any) -> None:
        """Something has happened in this row. It may be told late: events are in order of their rows and kinds."""
        new = np.array([(row, kind, int(number)) for number in numbers], np.int64).reshape(-1, 3)
        at = np.searchsorted(self.events[:, 0] * KINDS + self.events[:, 1], row * KINDS + kind, side="right")
        self.events = np.concatenate([self.events[:at], new, self.events[at:]])[-self.most :]

    def new_columns(self, numeric: int, nominal: int, before: int) -> None:
        """More columns of each kind, of which nothing is known; there were `before` numeric ones."""
        self.X = np.insert(self.X, [before] * numeric, np.nan, axis=1)
        self.X = np.concatenate([self.X, np.full((len(self.X), nominal), np.nan)], axis=1)


def new_diary(columns: int, limit: int | None) -> Diary:
    """An empty diary for a model of `columns` columns that may take `limit` bytes."""
    rows, events = ROWS, EVENTS
    if limit is not None:
        rows = max(FEWEST, min(rows, limit // PART // (8 * columns + 8)))
        events = max(FEWEST, min(events, limit // PART // 24))
    return Diary(np.zeros((rows, columns)), np.full(rows, -1, np.int64), np.empty((0, 3), np.int64), events)
