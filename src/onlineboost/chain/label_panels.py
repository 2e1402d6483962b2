"""A panel for every label, ahead of a chain that ranks labels: `ranking` starts from what they say.

The panel of a label, and the combiner behind it, are those of OnlineBoostClassifier with two classes and no trees: is
the label relevant or not? They learn every row, those without a label or with all too, and their log odds are where the
votes for the label start. Labels beyond `most` have no panel, for want of memory: their votes start from the log odds
of how often they have been relevant.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost.chain.experts import Combiner
from onlineboost.chain.segments import NO_LABELS, PanelStage
from onlineboost.chain.stacking import Stacking
from onlineboost.chain.stage import Block, Stage
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import nbytes
from onlineboost.panel.combiner import TINY
from onlineboost.panel.state import NAMES, Panel, packed

NO, YES = 0, 1  # classes of a label's panel
UNBOUNDED = 1 << 20
MOST_PART = 0.75  # of the memory, at most, for panels


class OfLabel:
    """What a label has: a panel, and its combiner."""

    def __init__(self, panel: PanelStage, combiner: Stacking) -> None:
        self.panel, self.combiner = panel, combiner

    @classmethod
    def new(cls, n_numeric: int, n_nominal: int, seed: int) -> Self:
        own = cls(PanelStage.new(n_numeric, n_nominal, seed), Stacking(0))
        own.panel.set_classes(2)
        own.combiner.set_classes(2)
        return own

    def copy(self) -> Self:
        return type(self)(self.panel.copy(), self.combiner.copy())

    def predict(self, rows: Rows) -> np.ndarray:
        """The log odds of rows."""
        own, block = self._open(rows, *NO_LABELS)
        self.panel.predict(own)
        block.kept[:] = own.s
        return log_odds(self.combiner.forecast(block, 0)[1])

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """The log odds of each row, which is then learned: y says whether it has the label."""
        own, block = self._open(rows, y, weight)
        self.panel.learn(own, y, weight)
        block.kept[:] = own.s
        p = self.combiner.leave(block, np.empty(len(y), np.int64), heard=True)
        assert p is not None
        return log_odds(p)

    def _open(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> tuple[Rows, Block]:
        own = rows._replace(k=2, s=np.zeros((len(rows.X), 2)))
        return own, Block(own, y, weight, None, Combiner.LAST, None, self.combiner.open(own, Combiner.LAST))


class LabelPanels(Stage):
    """The panels of all labels."""

    def __init__(self, pattern: OfLabel, labels: list[OfLabel], had: np.ndarray, most: int) -> None:
        self.pattern = pattern  # for labels to come: it has learned nothing
        self.labels = labels  # the first ones, `most` at most
        self.had = had  # float64 (1 + k,) weight of all rows, and of those that have each label
        self.most = most

    @classmethod
    def new(cls, n_numeric: int, n_nominal: int, seed: int, limit: int | None) -> Self:
        """With as many panels as are sure to leave a part of the limit to the trees."""
        pattern = OfLabel.new(n_numeric, n_nominal, seed)
        most = UNBOUNDED if limit is None else int(MOST_PART * limit) // pattern.panel.most_bytes(2)
        return cls(pattern, [], np.zeros(1), most)

    @property
    def state(self) -> Panel:
        """The panel that has learned nothing: columns are the same in all."""
        return self.pattern.panel.state

    @property
    def panels(self) -> list[PanelStage]:
        return [self.pattern.panel, *(own.panel for own in self.labels)]

    def copy(self) -> Self:
        return type(self)(self.pattern.copy(), [own.copy() for own in self.labels], self.had.copy(), self.most)

    def identity(self) -> tuple[Any, ...]:
        return (self.had, *(panel.state for panel in self.panels))

    # ------------------------------------------------------------------------------------------------------- blocks

    @property
    def parts(self) -> list[Any]:
        """What learns a block, one after the other."""
        labels = self.labels if len(self.had) > 1 else [self.pattern]  # to have it compiled: no row is learned yet
        return [*map(Label, range(len(labels)), labels), Frequencies(self.had, len(labels))]

    def predict(self, rows: Rows) -> None:
        """The votes to start from are in rows.s."""
        for l, own in enumerate(self.labels):
            rows.s[:, l] = own.predict(rows)
        first = len(self.labels)
        rows.s[:, first:] = odds_of(self.had[1 + first : 1 + rows.k], self.had[0])

    def most_classes(self, k: int) -> int:
        return min(k, self.most)

    def of_classes(self, k: int, end: Any) -> list[tuple[Panel, Stacking, np.ndarray]]:
        """Each panel with its combiner, and what their votes (2,) add to the scores of the labels (k,)."""
        effects = np.zeros((len(self.labels), 2, k))
        for l, effect in enumerate(effects):
            effect[YES, l], effect[NO, l] = 1.0, -1.0
        return [(own.panel.state, own.combiner, effect) for own, effect in zip(self.labels, effects, strict=True)]

    def voices(self) -> dict[str, float]:
        """Mean coefficients of the members of the panels."""
        beta = [own.panel.state.newton.beta for own in self.labels] or [self.state.newton.beta]
        return dict(zip(NAMES, np.mean(beta, axis=0).tolist(), strict=True))

    def make_room_for_rows(self) -> int:
        return min(panel.make_room_for_rows() for panel in self.panels)

    # ------------------------------------------------------------------------------------------------------ growing

    def set_classes(self, k: int) -> None:
        """No row so far has had a label that turns up now."""
        for _ in range(len(self.labels), min(k, self.most)):
            own = self.pattern.copy()
            own.panel.state.alarm.counts[NO] = self.had[0]
            self.labels.append(own)
        self.had = np.pad(self.had, (0, max(0, 1 + k - len(self.had))))

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        for panel in self.panels:
            panel.new_values(sizes, births)

    def new_columns(self, numeric: int, nominal: int) -> None:
        for panel in self.panels:
            panel.new_columns(numeric, nominal)

    def nbytes(self) -> dict[str, int]:
        each = sum(own.panel.nbytes()["panel"] + own.combiner.nbytes()["panel"] for own in (self.pattern, *self.labels))
        return {"panel": self.had.nbytes + each}

    def most_bytes(self, k: int) -> int:
        return min(k, self.most) * self.pattern.panel.most_bytes(2) + nbytes(packed(self.state))

    def resets(self) -> list[int]:
        """Rounds after which one of them has begun again, as far as they are remembered."""
        return sorted({row for panel in self.panels for row in panel.resets()})


class Label(NamedTuple):
    """A label with a panel, as a step of the chain."""

    number: int
    own: OfLabel

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Where votes start is in rows.s, and it learns."""
        rows.s[:, self.number] = self.own.learn(rows, rows.notes.relevant[:, self.number].astype(np.int64), weight)


class Frequencies(NamedTuple):
    """The labels without a panel; those of all are counted."""

    had: np.ndarray
    first: int

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Where votes start is in rows.s, and it learns."""
        if not len(y):
            return
        own = np.column_stack([np.ones(len(y)), rows.notes.relevant]) * weight[:, None]
        sums = np.cumsum(np.concatenate([self.had[None], own]), axis=0)  # row by row, as single rows do it
        rows.s[:, self.first :] = odds_of(sums[:-1, 1 + self.first :], sums[:-1, :1])
        self.had[:] = sums[-1]


def log_odds(p: np.ndarray) -> np.ndarray:
    out: np.ndarray = np.log(np.maximum(p[:, YES], TINY)) - np.log(np.maximum(p[:, NO], TINY))
    return out


def odds_of(had: np.ndarray, of: Any) -> np.ndarray:
    """Log odds of labels that so much weight of all rows has had."""
    out: np.ndarray = np.log((had + 0.5) / (np.maximum(of - had, 0.0) + 0.5))
    return out
