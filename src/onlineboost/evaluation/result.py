"""What a prequential run shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.evaluation.intervals import STRETCHES, interval
from onlineboost.evaluation.metrics import Metrics
from onlineboost.evaluation.tail import TailAccuracy


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """A prequential run: every prediction was made before its label was learned.

    Examples
    --------
    >>> r = Result(predictions=np.array(["a", "b", "b"]), y=np.array(["a", "a", "b"]), seconds=0.5)
    >>> r
    Result(3 examples, accuracy 0.6667, last 20 % 1.0000, 0.50 s, 6 examples/s)
    >>> round(r.accuracy, 3), r.tail_accuracy, r.tail_accuracy(0.67), r.examples_per_second
    (0.667, 1.0, 0.5, 6.0)
    """

    predictions: np.ndarray
    y: np.ndarray
    seconds: float
    tree_right: np.ndarray | None = None  # bool (rows, trees): which trees of a BestTree were right
    probabilities: np.ndarray | None = None  # float64 (rows, classes), of classes known at a row; otherwise 0
    classes: np.ndarray | None = None  # the labels of their columns
    weight: np.ndarray | None = None  # of the rows; None: 1

    def __repr__(self) -> str:
        if not len(self.y):
            return "Result(0 examples)"
        accuracy = f"accuracy {self.accuracy:.4f}, last 20 % {self.tail_accuracy:.4f}"
        speed = f"{self.seconds:.2f} s, {self.examples_per_second:,.0f} examples/s"
        return f"Result({len(self.y):,} examples, {accuracy}, {speed})"

    @property
    def right(self) -> np.ndarray:
        """Whether each prediction was right."""
        return np.asarray(self.predictions == self.y, bool)

    @property
    def accuracy(self) -> float:
        """Share of right predictions over the whole stream."""
        return float(self.right.mean())

    @cached_property
    def metrics(self) -> Metrics:
        """Balanced accuracy, kappa, F1, log loss and others, over the whole stream."""
        return self.metrics_of()

    def metrics_of(self, *, window: int | None = None, fade: float = 1.0) -> Metrics:
        """The same over the last `window` rows, or with rows that fade: see :class:`Metrics`."""
        found, told = Metrics(window=window, fade=fade), {"probabilities": self.probabilities, "classes": self.classes}
        found.add(self.y, self.predictions, weight=self.weight, **told)
        return found

    def accuracy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the accuracy, from stretches of the stream: see docs/metrics.md. NaN: too few rows."""
        ends, shares = self.curve(STRETCHES)
        low, high = interval(shares, np.diff(ends, prepend=0), level)
        return max(low, 0.0), min(high, 1.0)

    def better_than(self, other: Result, level: float = 0.95) -> tuple[float, float]:
        """An interval for how much more accurate this run is than another one over the same rows."""
        if len(other.y) != len(self.y):
            raise ValueError(f"the other run has {len(other.y):,} rows, and this one {len(self.y):,}")
        (ends, own), (_, others) = self.curve(STRETCHES), other.curve(STRETCHES)
        return interval(own - others, np.diff(ends, prepend=0), level)

    def to_frame(self) -> Any:
        """A row for each example: label, prediction, right, weight, and the probability of each class.

        A frame of pandas if it is installed, else of polars.
        """
        columns: dict[str, Any] = {"label": self.y, "prediction": self.predictions, "right": self.right}
        if self.weight is not None:
            columns["weight"] = self.weight
        if self.probabilities is not None and self.classes is not None:
            columns |= {f"p({label})": p for label, p in zip(self.classes, self.probabilities.T, strict=True)}
        for library in ("pandas", "polars"):
            try:
                return import_module(library).DataFrame(columns)
            except ImportError:
                continue
        raise DataError("to_frame needs pandas or polars: pip install 'onlineboost[frames]'")

    @property
    def tail_accuracy(self) -> TailAccuracy:
        """Share of right predictions over the last 20 % of the stream; `tail_accuracy(0.5)`: over the last half."""
        return TailAccuracy(self._tail_accuracy)

    def _tail_accuracy(self, share: float) -> float:
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return float(self.right[-max(1, round(share * len(self.y))) :].mean())

    def best_tree_accuracy(self, share: float = 1.0) -> float:
        """Share of right predictions over the last part of the stream by the tree that was best there: the paper's DT.

        For runs of :class:`BestTree` only. The tree is chosen in hindsight, so no online method can be sure of this.
        """
        if self.tree_right is None:
            raise ValueError("best_tree_accuracy needs a run of BestTree: other models have no trees to choose from")
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return float(self.tree_right[-max(1, round(share * len(self.y))) :].mean(axis=0).max())

    @property
    def examples_per_second(self) -> float:
        """Examples predicted and learned in a second."""
        return len(self.y) / self.seconds if self.seconds > 0.0 else float("inf")

    def curve(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Learning curve: (examples, share of right predictions since the point before)."""
        edges = np.unique(np.linspace(0, len(self.y), min(points, len(self.y)) + 1).round().astype(int))
        return edges[1:], np.add.reduceat(self.right, edges[:-1]) / np.diff(edges)
