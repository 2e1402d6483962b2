"""What metrics are made of: rows as numbers, and sums over them, of the whole stream and of equal stretches of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.labels import values_of
from onlineboost.data.values import weights_of
from onlineboost.evaluation.ranking import RANKS, rank_of
from onlineboost.evaluation.runner import one_label_per_row

BINS = 15  # of the confidence, for the calibration error
MIN_PROBABILITY = float(np.finfo(np.float64).eps)  # in the log loss, as in scikit-learn
MOST_STRETCHES = 120  # of a stream, for figures of its last part and intervals; an even number
FIRST_LENGTH = 16  # rows of a stretch, until there are too many


class Scored(NamedTuple):
    """Rows that were predicted, in numbers: what the sums need of each."""

    y: np.ndarray  # int64 (rows,) code of the label
    said: np.ndarray  # int64 (rows,) code of the prediction; -1: there was none
    unchanged: np.ndarray  # bool (rows,) whether the label is that of the row before
    weight: np.ndarray  # float64 (rows,)
    p_label: np.ndarray  # float64 (rows,) probability of the label; NaN: there are no probabilities
    top: np.ndarray  # float64 (rows,) the largest probability
    brier: np.ndarray  # float64 (rows,) sum over the classes of (probability - what came)^2
    ranks: np.ndarray  # int16 (rows, classes) bin of the probability of each class known so far; 0 if none is given

    def part(self, rows: slice | np.ndarray) -> Scored:
        return Scored(*(values[rows] for values in self))

    def then(self, later: Scored) -> Scored:
        """These rows, and later ones."""
        wide = self._replace(ranks=_with_columns(self.ranks, later.ranks.shape[1]))
        return Scored(*map(np.concatenate, zip(wide, later, strict=True)))


def _with_columns(ranks: np.ndarray, k: int) -> np.ndarray:
    """The bins of k classes: those that were not known had probability 0."""
    return np.pad(ranks, ((0, 0), (0, max(0, k - ranks.shape[1]))))


@dataclass
class Sums:
    """Sums over rows; of each row its weight counts."""

    confusion: np.ndarray = field(default_factory=lambda: np.zeros((0, 0)))  # [label, prediction]
    unpredicted: np.ndarray = field(default_factory=lambda: np.zeros(0))  # [label]: rows without a prediction
    unchanged: float = 0.0  # rows whose label is that of the row before
    with_proba: float = 0.0  # rows with probabilities
    log_loss: float = 0.0
    brier: float = 0.0
    bins: np.ndarray = field(default_factory=lambda: np.zeros((3, BINS)))  # by confidence: rows, confidence, right
    ranks: np.ndarray = field(default_factory=lambda: np.zeros((0, 2, RANKS)))  # [class, whether it is the label, bin]

    @property
    def weight(self) -> float:
        return float(self.confusion.sum() + self.unpredicted.sum())

    @property
    def of_label(self) -> np.ndarray:
        """Weight of the rows of every label."""
        return np.asarray(self.confusion.sum(axis=1) + self.unpredicted)

    def add(self, rows: Scored, k: int, fade: float = 1.0) -> None:
        """More rows, with labels below k; with every row, those before it count `fade` times as much."""
        self.make_room(k)
        k, weight = len(self.unpredicted), rows.weight
        if fade < 1.0:
            n = len(rows.y)
            weight = weight * fade ** np.arange(n - 1, -1, -1.0)
            for one in fields(self):
                setattr(self, one.name, getattr(self, one.name) * fade**n)
        spoke = rows.said >= 0
        np.add.at(self.confusion, (rows.y[spoke], rows.said[spoke]), weight[spoke])
        np.add.at(self.unpredicted, rows.y[~spoke], weight[~spoke])
        self.unchanged = _running_sum(self.unchanged, weight * rows.unchanged)
        known = ~np.isnan(rows.p_label)
        rows, weight = rows.part(known), weight[known]
        self.with_proba = _running_sum(self.with_proba, weight)
        log_p = np.log(np.clip(rows.p_label, MIN_PROBABILITY, 1.0))
        self.log_loss = _running_sum(self.log_loss, -weight * log_p)
        self.brier = _running_sum(self.brier, weight * rows.brier)
        bins = np.minimum((rows.top * BINS).astype(np.int64), BINS - 1)
        for i, value in enumerate((weight, weight * rows.top, weight * (rows.y == rows.said))):
            np.add.at(self.bins[i], bins, value)
        kinds = 2 * np.arange(k) + (rows.y[:, None] == np.arange(k))
        np.add.at(self.ranks.reshape(-1), kinds * RANKS + _with_columns(rows.ranks, k), weight[:, None])

    def make_room(self, k: int) -> None:
        """For labels below k. Those that were not known had probability 0 in all rows so far."""
        if more := max(0, k - len(self.unpredicted)):
            self.confusion, self.unpredicted = np.pad(self.confusion, (0, more)), np.pad(self.unpredicted, (0, more))
            self.ranks = np.pad(self.ranks, ((0, more), (0, 0), (0, 0)))
            self.ranks[-more:, 0, 0] = self.with_proba

    def __add__(self, other: Sums) -> Sums:
        k = max(len(self.unpredicted), len(other.unpredicted))
        both = replace(self), replace(other)
        for one in both:
            one.make_room(k)
        return Sums(*(getattr(both[0], one.name) + getattr(both[1], one.name) for one in fields(Sums)))


def _running_sum(total: float, values: np.ndarray) -> float:
    """A sum that goes on: one value after the other, so that no bit depends on how they are cut into blocks."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


class Coder:
    """Labels to codes 0, 1, ... in the order in which they turn up, and the rows of a stream to numbers."""

    def __init__(self, labels: Sequence[Any] = (), last: int = -1) -> None:
        self.labels = list(labels)
        self.last = last  # code of the last row's label
        self._codes = {label: code for code, label in enumerate(self.labels)}

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Codes of labels; -1: None."""
        codes, values = self._codes, values_of(labels)
        for label in values:
            if label not in codes and label is not None:
                codes[label] = len(self.labels)
                self.labels.append(label)
        return np.fromiter((codes.get(label, -1) for label in values), np.int64, len(values))

    def score(self, y: Any, predictions: Any, weight: Any, p: Any, classes: Any) -> Scored:
        """Rows of the stream, right after those of the call before; `classes` are the columns of p.

        All is checked first: rows that are refused leave no label behind.
        """
        y, predictions = one_label_per_row(y), one_label_per_row(predictions)
        if len(predictions) != len(y):
            raise ValueError(f"there are {len(y)} labels and {len(predictions)} predictions: give one for each")
        weight = weights_of(weight, len(y), "weight")
        if p is not None:
            p, classes = np.asarray(p, np.float64), one_label_per_row(classes)
            _check_probabilities(p, len(y), classes)
        codes, said = self.codes(y), self.codes(predictions)
        before = np.concatenate([[self.last], codes[:-1]])
        if len(codes):
            self.last = int(codes[-1])
        nothing = np.full(len(codes), np.nan)
        own, top, brier = nothing, nothing, nothing
        ranks: np.ndarray = np.zeros((len(codes), len(self.labels)), np.int16)
        if p is not None and len(p):
            columns = self.codes(classes)
            own, top, brier = self._read_probabilities(codes, p, columns)
            ranks = _with_columns(ranks, len(self.labels))
            ranks[:, columns] = rank_of(p)
        return Scored(codes, said, codes == before, weight, own, top, brier, ranks)

    @staticmethod
    def _read_probabilities(codes: np.ndarray, p: np.ndarray, columns: np.ndarray) -> list[np.ndarray]:
        column = np.full(max(columns.max(), codes.max()) + 1, len(columns))
        column[columns] = np.arange(len(columns))
        wide = np.pad(p, ((0, 0), (0, 1)))  # of a class that no column is for
        own = wide[np.arange(len(p)), column[codes]]
        squares = np.cumsum(p * p, axis=1)[:, -1] - 2.0 * own + 1.0
        known = p.sum(axis=1) > 0.0
        return [np.where(known, values, np.nan) for values in (own, p.max(axis=1), squares)]


def _check_probabilities(p: np.ndarray, rows: int, classes: np.ndarray) -> None:
    if p.shape != (rows, len(classes)):
        raise ValueError(f"probabilities have shape {p.shape}, and there are {rows} rows of {len(classes)} classes")
    if len(set(classes.tolist())) != len(classes):
        raise ValueError("classes must differ: they are the labels of the columns of probabilities")
    if not ((p >= 0.0) & (p <= 1.0 + 1e-9)).all():
        raise ValueError("probabilities must lie between 0 and 1; a row of zeros has none")


class Packed(NamedTuple):
    """Sums that take little memory: of ranks and confusion only what is not 0."""

    sums: Sums  # without them
    cells: np.ndarray  # int64 (cells,) of ranks: where they are
    weights: np.ndarray  # float64 (cells,)
    pairs: np.ndarray  # int64 (pairs,) of the confusion, likewise
    counts: np.ndarray  # float64 (pairs,)

    @classmethod
    def of(cls, sums: Sums) -> Packed:
        found = []
        for flat in (sums.ranks.reshape(-1), sums.confusion.reshape(-1)):
            cells = np.flatnonzero(flat)
            found += [cells, flat[cells]]
        return cls(replace(sums, ranks=np.zeros((0, 2, RANKS)), confusion=np.zeros((0, 0))), *found)

    def unpacked(self) -> Sums:
        k = len(self.sums.unpredicted)
        ranks, confusion = np.zeros((k, 2, RANKS)), np.zeros((k, k))
        ranks.reshape(-1)[self.cells] = self.weights
        confusion.reshape(-1)[self.pairs] = self.counts
        return replace(self.sums, ranks=ranks, confusion=confusion)


class Stretches:
    """Sums over equal stretches of the stream, so that its last part can be told, and how sure a figure is.

    When there are too many, each two become one: there are 60 to 120 of them in a long stream.
    """

    def __init__(self) -> None:
        self.length = FIRST_LENGTH  # rows of a stretch
        self.rows = 0
        self._whole: list[Packed] = []
        self._open = Sums()

    def add(self, rows: Scored, k: int) -> None:
        """More rows, with labels below k."""
        start = 0
        while start < len(rows.y):
            stop = min(len(rows.y), start + self.length - self.rows % self.length)
            self._open.add(rows.part(slice(start, stop)), k)
            self.rows += stop - start
            start = stop
            if self.rows % self.length == 0:
                self._close()

    def _close(self) -> None:
        self._whole.append(Packed.of(self._open))
        self._open = Sums()
        if len(self._whole) == MOST_STRETCHES:
            pairs = zip(self._whole[0::2], self._whole[1::2], strict=True)
            self._whole = [Packed.of(a.unpacked() + b.unpacked()) for a, b in pairs]
            self.length *= 2

    def _sums(self, first: int, stop: int) -> Sums:
        """Over the stretches from one to before another; the last of them is not whole."""
        total = sum_of(packed.unpacked() for packed in self._whole[first:stop])
        return total + self._open if stop > len(self._whole) else total

    def since(self, row: int) -> tuple[Sums, int]:
        """Over the rows from this one on, to the nearest stretch; and how many they are."""
        last = -(-self.rows // self.length)
        first = max(0, min(round(row / self.length), last - 1))
        return self._sums(first, last), self.rows - first * self.length

    def parts(self, number: int) -> tuple[list[Sums], np.ndarray]:
        """The stream in about this many parts of equal length, to the nearest stretch; and the rows of each."""
        last = -(-self.rows // self.length)
        inner = np.rint(np.linspace(0, self.rows, number + 1)[1:-1] / self.length).astype(np.int64)
        edges = np.unique([0, *inner, last])
        ends = np.minimum(edges * self.length, self.rows)
        return [self._sums(a, b) for a, b in pairwise(edges.tolist())], np.diff(ends)

    def as_values(self) -> list[Any]:
        """All of it, to be saved."""
        packed = [*self._whole, Packed.of(self._open)]
        return [self.length, self.rows, [[asdict(one.sums), *one[1:]] for one in packed]]

    @classmethod
    def of_values(cls, saved: list[Any]) -> Stretches:
        found = cls()
        found.length, found.rows, packed = saved
        *found._whole, last = [Packed(Sums(*sums.values()), *parts) for sums, *parts in packed]
        found._open = last.unpacked()
        return found


def sum_of(parts: Iterable[Sums]) -> Sums:
    """Of none: that of no rows."""
    total = Sums()
    for part in parts:
        total = total + part
    return total
