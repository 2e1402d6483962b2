"""What prequential runs show: with all predictions (`Result`), or counted as they go (`Tally`)."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from itertools import accumulate
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import as_table
from onlineboost.evaluation.audit import Audit, audit
from onlineboost.evaluation.metrics import METRICS, Metrics
from onlineboost.evaluation.runner import Step, in_sets
from onlineboost.evaluation.sums import Coder, Stretches, Sums

STRETCHES = 30  # of a stream, for intervals
TAIL = 0.2  # share of the stream that its last part is, unless another is given
MIN_ROOM = 1024  # stretches
MAX_STRETCHES = 1 << 18  # that a Tally counts apart; up to this many rows all its figures are exact

Figure = str | Callable[[Metrics], float]  # one of METRICS, or a function


def interval(means: np.ndarray, rows: np.ndarray, level: float = 0.95) -> tuple[float, float]:
    """An interval for the mean over the stream, from the means of its stretches, in order, and their rows.

    Neighbouring rows are alike, so it is made from stretches of the stream, not from rows. What stretches differ by is
    taken from neighbours (von Neumann 1941): a model that gets better as it learns makes the interval no wider. NaN:
    there are fewer than 3 stretches.

    Examples
    --------
    >>> low, high = interval(np.array([0.6, 0.8, 0.7, 0.9]), np.full(4, 100.0))
    >>> round(low, 2), round(high, 2)
    (0.56, 0.94)
    """
    if not 0.0 < level < 1.0:
        raise ValueError(f"level must lie in (0, 1), got {level!r}")
    if len(means) < 3:
        return math.nan, math.nan
    from scipy.stats import t  # loaded when it is needed: it takes a while

    n = len(means)
    mean = float(means @ rows / rows.sum())
    variance = float(np.square(np.diff(means)).sum() / (2 * (n - 1)))
    wide = float(t.ppf(0.5 + level / 2.0, n - 1)) * math.sqrt(variance / n)
    return mean - wide, mean + wide


def _around(value: float, worth: np.ndarray, rows: np.ndarray, level: float) -> tuple[float, float]:
    low, high = interval(worth, rows, level)
    return value - (high - low) / 2.0, value + (high - low) / 2.0


class Counts:
    """How often each of some things was true, in equal stretches of the stream: of one row each at first.

    When there are more than MAX_STRETCHES, each two become one.

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
        self._counts: np.ndarray = np.zeros((MIN_ROOM, width), np.uint16)

    def add(self, true: np.ndarray) -> None:
        """More rows: bool (rows, width)."""
        for part in np.array_split(true, max(1, -(-len(true) // MAX_STRETCHES))):
            end = self.rows + len(part)
            while end > MAX_STRETCHES * self.length:
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
        room = max(MIN_ROOM, 1 << (stretches - 1).bit_length())  # even: `_merge` takes two at a time
        if room > len(self._counts):
            self._counts = np.pad(self._counts, ((0, room - len(self._counts)), (0, 0)))

    def as_values(self) -> list[Any]:
        """All of it, to be saved."""
        return [self.rows, self.length, self._counts[: -(-self.rows // self.length)].copy()]

    @classmethod
    def of_values(cls, saved: list[Any]) -> Counts:
        counts = cls(0)
        counts.rows, counts.length, counts._counts = saved
        counts._make_room(len(counts._counts))
        return counts

    @classmethod
    def of_rows(cls, true: np.ndarray) -> Counts:
        """Of all rows of a stream, bool (rows, width), each for itself."""
        counts = cls(0)
        counts.rows, counts._counts = len(true), true
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


class TailAccuracy(float):
    """The accuracy over the last 20 % of a stream: a number. Called with a share, the accuracy over that last part."""

    _of: Callable[[float], float]

    def __new__(cls, of: Callable[[float], float]) -> TailAccuracy:
        self = super().__new__(cls, of(TAIL))
        self._of = of
        return self

    def __call__(self, share: float = TAIL) -> float:
        return self._of(share)

    def __reduce__(self) -> tuple[Any, ...]:
        return float, (float(self),)  # as a copy, a number alone


@dataclass(repr=False, eq=False)
class Tally:
    """The figures of a run without its predictions and labels: memory does not grow with the stream."""

    counts: Counts = field(default_factory=lambda: Counts(1))  # of right predictions
    trees: Counts | None = None  # of right predictions of each tree of a BestTree
    seconds: float = 0.0
    metrics: Metrics = field(default_factory=Metrics)
    stretches: Stretches = field(default_factory=Stretches)
    in_sets: np.ndarray = field(default_factory=lambda: np.zeros(3))  # see `Step.in_sets`

    def add_step(self, step: Step) -> None:
        """A block that was predicted and learned."""
        self.add(step.right, step.seconds, step.tree_right)
        self.stretches.add(self.metrics.take(**step.scored), len(self.metrics.labels))
        self.in_sets = self.in_sets + step.in_sets

    def add(self, right: np.ndarray, seconds: float, tree_right: np.ndarray | None = None) -> None:
        """A block: whether each prediction was right, bool (rows,), and each tree's, bool (rows, trees)."""
        self.counts.add(right[:, None])
        self.seconds += seconds
        if tree_right is not None:
            self.trees = self.trees or Counts(tree_right.shape[1])
            self.trees.add(tree_right)

    def as_values(self) -> dict[str, Any]:
        """All of it, to be saved."""
        trees = None if self.trees is None else self.trees.as_values()
        counts = {"right": self.counts.as_values(), "trees": trees, "seconds": self.seconds}
        sums = {"metrics": self.metrics.as_values(), "stretches": self.stretches.as_values()}
        return {**counts, **sums, "in_sets": self.in_sets.tolist()}

    @classmethod
    def of_values(cls, saved: dict[str, Any]) -> Tally:
        trees = None if saved["trees"] is None else Counts.of_values(saved["trees"])
        counts, metrics = Counts.of_values(saved["right"]), Metrics.of_values(saved["metrics"])
        stretches, in_sets = Stretches.of_values(saved["stretches"]), np.array(saved.get("in_sets", [0.0] * 3))
        return cls(counts, trees, saved["seconds"], metrics, stretches, in_sets)

    def __len__(self) -> int:
        return self.counts.rows

    @property
    def accuracy(self) -> float:
        """Share of right predictions over the whole stream."""
        return self.tail_accuracy(1.0)

    @property
    def mistakes(self) -> int:
        """Number of wrong predictions."""
        return len(self) - round(self.accuracy * len(self))

    @property
    def coverage(self) -> float | None:
        """Share of the rows whose label is in their prediction set, by weight; None: there were no sets."""
        return float(self.in_sets[1] / self.in_sets[0]) if self.in_sets[0] else None

    @property
    def mean_set_size(self) -> float | None:
        """Labels in a prediction set, on the average; None: there were no sets."""
        return float(self.in_sets[2] / self.in_sets[0]) if self.in_sets[0] else None

    @property
    def tail_accuracy(self) -> TailAccuracy:
        """Share of right predictions over the last 20 % of the stream; `tail_accuracy(0.5)`: over the last half."""
        return TailAccuracy(lambda share: float(self.counts.since(self._start(share))[0]))

    def best_tree_accuracy(self, share: float = 1.0) -> float:
        """Share of right predictions over the last part of the stream by the tree that was best there: the paper's DT.

        For runs of :class:`BestTree` only. The tree is chosen in hindsight, so no online method can be sure of this.
        """
        if self.trees is None:
            raise ValueError("best_tree_accuracy needs a run of BestTree: other models have no trees to choose from")
        return float(self.trees.since(self._start(share)).max())

    def _start(self, share: float) -> int:
        """The row at which the last part of the stream begins."""
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return len(self) - max(1, round(share * len(self)))

    @property
    def examples_per_second(self) -> float:
        """Examples predicted and learned in a second."""
        return len(self) / self.seconds if self.seconds > 0.0 else float("inf")

    def curve(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Learning curve: (examples, share of right predictions since the point before)."""
        ends, shares = self.counts.between(np.linspace(0, len(self), min(points, len(self)) + 1).round())
        return ends, shares[:, 0]

    def accuracy_interval(self, level: float = 0.95) -> tuple[float, float]:
        """An interval for the accuracy, from stretches of the stream: see docs/measure.md. NaN: too few rows."""
        ends, shares = self.curve(STRETCHES)
        low, high = interval(shares, np.diff(ends, prepend=0), level)
        return max(low, 0.0), min(high, 1.0)

    def tail_metrics(self, share: float = TAIL) -> Metrics:
        """All metrics over the last part of the stream; of a Tally to the nearest of 60 to 120 stretches."""
        return self.metrics.over(*self.stretches.since(self._start(share)))

    def interval_of(self, metric: Figure, level: float = 0.95) -> tuple[float, float]:
        """An interval for a figure of `metrics` over the whole stream, such as "roc_auc". NaN: too few rows.

        A function of `Metrics` is a figure, too: ``lambda m: m.ranking("fraud").roc_auc``.

        From what becomes of the figure when one of 30 stretches is left out: the jackknife (Tukey 1958; Busing and
        others 1999 for stretches that are not quite equal). Stretches are compared with their neighbours, as for the
        accuracy.
        """
        return _around(*self._worth(metric), level)

    def better_than(self, other: Tally, level: float = 0.95, *, metric: Figure = "accuracy") -> tuple[float, float]:
        """An interval for how much this run is ahead of another one over the same rows: in accuracy, or in a metric.

        Of a metric such as "log_loss", of which less is better, values below 0 are the good ones.
        """
        if not hasattr(other, "curve"):
            raise TypeError(f"other must be the result of a run, as of prequential, got {type(other).__name__}")
        if len(other) != len(self):
            raise ValueError(f"the other run has {len(other):,} rows, and this one {len(self):,}")
        if metric == "accuracy":
            (ends, right), (_, their_right) = self.curve(STRETCHES), other.curve(STRETCHES)
            return interval(right - their_right, np.diff(ends, prepend=0), level)
        (own, values, rows), (others, their_values, _) = self._worth(metric), other._worth(metric)
        return _around(own - others, values - their_values, rows, level)

    def _worth(self, metric: Figure) -> tuple[float, np.ndarray, np.ndarray]:
        """A figure; what each stretch is worth for it, so that their mean is about the figure; and their rows."""
        if isinstance(metric, str) and metric not in METRICS:
            raise ValueError(f"metric must be one of {', '.join(METRICS)}, got {metric!r}")
        of = operator.attrgetter(metric) if isinstance(metric, str) else metric
        parts, rows = self.stretches.parts(STRETCHES)
        whole, after = of(self.metrics), list(accumulate(reversed(parts)))[::-1]
        left_out, before = [], Sums()
        for part, rest in zip(parts, [*after[1:], Sums()], strict=True):
            left_out.append(of(self.metrics.over(before + rest, 0)))
            before = before + part
        times = len(self) / rows
        return whole, times * whole - (times - 1.0) * np.array(left_out), rows

    def __repr__(self) -> str:
        name = type(self).__name__
        if not len(self):
            return f"{name}(0 examples)"
        accuracy = f"accuracy {self.accuracy:.4f}, last 20 % {self.tail_accuracy:.4f}"
        if self.coverage is not None:
            accuracy += f", sets cover {self.coverage:.4f} with {self.mean_set_size:.2f} labels"
        speed = f"{self.seconds:.2f} s, {self.examples_per_second:,.0f} examples/s"
        return f"{name}({len(self):,} examples, {accuracy}, {speed})"


class Result(Tally):
    """A prequential run: every prediction was made before its label was learned.

    Examples
    --------
    >>> r = Result(predictions=np.array(["a", "b", "b"]), y=np.array(["a", "a", "b"]), seconds=0.5)
    >>> r
    Result(3 examples, accuracy 0.6667, last 20 % 1.0000, 0.50 s, 6 examples/s)
    >>> round(r.accuracy, 3), r.tail_accuracy, r.tail_accuracy(0.67), r.examples_per_second
    (0.667, 1.0, 0.5, 6.0)
    """

    def __init__(
        self,
        predictions: np.ndarray,
        y: np.ndarray,
        seconds: float,
        tree_right: np.ndarray | None = None,  # bool (rows, trees): which trees of a BestTree were right
        probabilities: np.ndarray | None = None,  # float64 (rows, classes), of classes known at a row; otherwise 0
        classes: np.ndarray | None = None,  # the labels of their columns
        weight: np.ndarray | None = None,  # of the rows; None: 1
        sets: np.ndarray | None = None,  # bool (rows, classes): prediction sets
    ) -> None:
        self.predictions, self.y, self.seconds, self.tree_right = predictions, y, seconds, tree_right
        self.probabilities, self.classes, self.weight, self.sets = probabilities, classes, weight, sets
        self.in_sets = in_sets(sets, classes, y, weight)
        self.right = np.asarray(predictions == y, bool)  # whether each prediction was right
        self.counts = Counts.of_rows(self.right[:, None])
        self.trees = None if tree_right is None else Counts.of_rows(tree_right)

    @cached_property
    def metrics(self) -> Metrics:  # type: ignore[override]
        """Balanced accuracy, kappa, F1, log loss and others, over the whole stream."""
        return self.metrics_of()

    def metrics_of(self, *, window: int | None = None, fade: float = 1.0) -> Metrics:
        """The same over the last `window` rows, or with rows that fade: see :class:`Metrics`."""
        found = Metrics(window=window, fade=fade)
        more = {"probabilities": self.probabilities, "classes": self.classes}
        found.add(self.y, self.predictions, weight=self.weight, **more)
        return found

    @cached_property
    def stretches(self) -> Stretches:  # type: ignore[override]
        """Sums over equal stretches of the stream."""
        found, coder = Stretches(), Coder()
        scored = coder.score(self.y, self.predictions, self.weight, self.probabilities, self.classes)
        found.add(scored, len(coder.labels))
        return found

    def tail_metrics(self, share: float = TAIL) -> Metrics:
        """All metrics over the last part of the stream."""
        return self.metrics_of(window=len(self) - self._start(share))

    def audit(self, X: Any) -> Audit:
        """For whom are the probabilities wrong? In groups of rows by each column of X, the rows that were predicted.

        Of a model that is right every group is calibrated: what is said is what comes true, up to chance. Quarters of
        the rows are the groups of a numeric column, the ten most frequent values those of a nominal one.
        """
        if all(said is None for said in self.predictions.tolist()):
            raise ValueError("there is nothing to audit: no label had come before the last row; take a shorter delay")
        if self.probabilities is None or self.classes is None:
            raise ValueError("audit needs probabilities: call prequential with a model that has predict_proba")
        if (n := len(as_table(X))) != len(self):
            raise ValueError(f"X has {n:,} rows, and the run {len(self):,}: give the rows that were predicted")
        return audit(self.probabilities, np.asarray(self.y), self.classes, X, self.weight)

    def to_frame(self) -> Any:
        """A row for each example: label, prediction, right, weight, and the probability of each class.

        A frame of pandas if it is installed, else of polars.
        """
        columns: dict[str, Any] = {"label": self.y, "prediction": self.predictions, "right": self.right}
        if self.weight is not None:
            columns["weight"] = self.weight
        if self.probabilities is not None and self.classes is not None:
            columns |= {f"p({label})": p for label, p in zip(self.classes, self.probabilities.T, strict=True)}
        if self.sets is not None and self.classes is not None:
            columns |= {f"in set({label})": own for label, own in zip(self.classes, self.sets.T, strict=True)}
        for library in ("pandas", "polars"):
            try:
                return import_module(library).DataFrame(columns)
            except ImportError:
                continue
        raise DataError("to_frame needs pandas or polars: pip install 'onlineboost[frames]'")
