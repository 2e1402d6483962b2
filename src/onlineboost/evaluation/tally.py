"""What a prequential run shows, counted as it goes: memory does not grow with the stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.evaluation.intervals import STRETCHES, interval
from onlineboost.evaluation.metrics import Metrics
from onlineboost.evaluation.steps import Step
from onlineboost.evaluation.tail import TailAccuracy

MOST = 1 << 18  # stretches that are counted apart; up to so many rows all figures are exact


class Counts:
    """How often each of some things was true, in equal stretches of the stream: of one row each at first.

    When there are more than MOST stretches, each two become one.

    Examples
    --------
    >>> counts = Counts(1)
    >>> counts.add(np.array([[True], [False], [True], [True]]))
    >>> counts.rows, counts.since(2).tolist()
    (4, [1.0])
    """

    def __init__(self, width: int) -> None:
        self.rows = 0
        self.length = 1  # rows of a stretch
        self._counts: np.ndarray = np.zeros((1024, width), np.uint16)

    def add(self, true: np.ndarray) -> None:
        """More rows: bool (rows, width)."""
        for part in np.array_split(true, max(1, -(-len(true) // MOST))):
            end = self.rows + len(part)
            while end > MOST * self.length:
                self._merge()
            self._make_room(-(-end // self.length))
            first = self.rows // self.length
            starts = np.arange(first, -(-end // self.length)) * self.length - self.rows
            if len(part):
                sums = np.add.reduceat(part, np.maximum(starts, 0), dtype=self._counts.dtype)
                self._counts[first : first + len(starts)] += sums
            self.rows = end

    def _merge(self) -> None:
        counts: np.ndarray = self._counts.astype(np.uint16 if self.length < 1 << 14 else np.int64)
        self._counts = counts[0::2] + counts[1::2]
        self.length *= 2

    def _make_room(self, stretches: int) -> None:
        room, width = self._counts.shape
        if stretches > room:
            while stretches > room:
                room *= 2
            more = np.zeros((room - len(self._counts), width), self._counts.dtype)
            self._counts = np.concatenate([self._counts, more])

    def as_values(self) -> list[Any]:
        """All of it, to be saved."""
        return [self.rows, self.length, self._counts[: -(-self.rows // self.length)].copy()]

    @classmethod
    def of_values(cls, saved: list[Any]) -> Counts:
        rows, length, kept = saved
        counts = cls(kept.shape[1])
        counts.rows, counts.length, counts._counts = rows, length, counts._counts.astype(kept.dtype)
        counts._make_room(len(kept))
        counts._counts[: len(kept)] = kept
        return counts

    def since(self, row: int) -> np.ndarray:
        """Shares of the rows from this one on, to the nearest stretch."""
        first = min(round(row / self.length), (self.rows - 1) // self.length)
        return self._counts[first:].sum(axis=0, dtype=np.int64) / (self.rows - first * self.length)

    def between(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """These rows but the first, which is 0, to the nearest stretch; and the shares from each to the next."""
        edges = np.unique(np.rint(rows / self.length).astype(np.int64))
        edges[-1] = -(-self.rows // self.length)
        counts = np.add.reduceat(self._counts[: edges[-1]], edges[:-1], axis=0, dtype=np.int64)
        ends = np.minimum(edges * self.length, self.rows)
        return ends[1:], counts / np.diff(ends)[:, None]


@dataclass
class Tally:
    """The figures of a prequential run: as those of a `Result`, without its predictions and labels."""

    right: Counts = field(default_factory=lambda: Counts(1))
    trees: Counts | None = None  # of a BestTree
    seconds: float = 0.0
    metrics: Metrics = field(default_factory=Metrics)

    def add_step(self, step: Step) -> None:
        """A block that was predicted and learned."""
        self.add(step.right, step.seconds, step.tree_right)
        told = {"probabilities": step.probabilities, "classes": step.classes}
        self.metrics.add(step.block.y, step.predictions, weight=step.weight, **told)

    def add(self, right: np.ndarray, seconds: float, tree_right: np.ndarray | None = None) -> None:
        """A block: whether each prediction was right, bool (rows,), and each tree's, bool (rows, trees)."""
        self.right.add(right[:, None])
        self.seconds += seconds
        if tree_right is not None:
            self.trees = self.trees or Counts(tree_right.shape[1])
            self.trees.add(tree_right)

    def as_values(self) -> dict[str, Any]:
        """All of it, to be saved."""
        trees = None if self.trees is None else self.trees.as_values()
        own = {"right": self.right.as_values(), "trees": trees, "seconds": self.seconds}
        return {**own, "metrics": self.metrics.as_values()}

    @classmethod
    def of_values(cls, saved: dict[str, Any]) -> Tally:
        trees = None if saved["trees"] is None else Counts.of_values(saved["trees"])
        return cls(Counts.of_values(saved["right"]), trees, saved["seconds"], Metrics.of_values(saved["metrics"]))

    def __len__(self) -> int:
        return self.right.rows

    @property
    def accuracy(self) -> float:
        """Share of right predictions over the whole stream."""
        return float(self.right.since(0)[0])

    def accuracy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the accuracy, from stretches of the stream: see docs/metrics.md. NaN: too few rows."""
        ends, shares = self.curve(STRETCHES)
        low, high = interval(shares, np.diff(ends, prepend=0), level)
        return max(low, 0.0), min(high, 1.0)

    @property
    def mistakes(self) -> int:
        """Number of wrong predictions."""
        return len(self) - round(self.accuracy * len(self))

    @property
    def tail_accuracy(self) -> TailAccuracy:
        """Share of right predictions over the last 20 % of the stream; called with a share, over that last part."""
        return TailAccuracy(self._tail_accuracy)

    def _tail_accuracy(self, share: float) -> float:
        return float(self.right.since(self._start(share))[0])

    def best_tree_accuracy(self, share: float = 1.0) -> float:
        """Share of right predictions over the last part of the stream by the tree that was best there."""
        assert self.trees is not None
        return float(self.trees.since(self._start(share)).max())

    def _start(self, share: float) -> int:
        return len(self) - max(1, round(share * len(self)))

    @property
    def examples_per_second(self) -> float:
        """Examples predicted and learned in a second."""
        return len(self) / self.seconds if self.seconds > 0.0 else float("inf")

    def curve(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Learning curve: (examples, share of right predictions since the point before)."""
        edges, shares = self.right.between(np.linspace(0, len(self), min(points, len(self)) + 1).round())
        return edges, shares[:, 0]
