"""What metrics are made of: sums over the rows of a stream, which take no more memory for more rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.evaluation.runner import one_label_per_row

BINS = 15  # of the confidence, for the calibration error
MIN_PROBABILITY = float(np.finfo(np.float64).eps)  # in the log loss, as in scikit-learn


@dataclass
class Scored:
    """Rows that were predicted, in numbers: what the sums need of each."""

    y: np.ndarray  # int64 (rows,) code of the label
    said: np.ndarray  # int64 (rows,) code of the prediction; -1: there was none
    unchanged: np.ndarray  # bool (rows,) whether the label is that of the row before
    weight: np.ndarray  # float64 (rows,)
    p_label: np.ndarray  # float64 (rows,) probability of the label; NaN: there are no probabilities
    top: np.ndarray  # float64 (rows,) the largest probability
    brier: np.ndarray  # float64 (rows,) sum over the classes of (probability - what came)^2

    def __len__(self) -> int:
        return len(self.y)

    def part(self, rows: slice | np.ndarray) -> Scored:
        return Scored(*(getattr(self, one.name)[rows] for one in fields(self)))

    def followed_by(self, other: Scored) -> Scored:
        return Scored(*(np.concatenate([getattr(self, one.name), getattr(other, one.name)]) for one in fields(self)))


def nothing_scored() -> Scored:
    codes = np.empty(0, np.int64)
    return Scored(codes, codes, np.empty(0, bool), *(np.empty(0) for _ in range(4)))


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

    @property
    def weight(self) -> float:
        return float(self.confusion.sum() + self.unpredicted.sum())

    @property
    def of_label(self) -> np.ndarray:
        """Weight of the rows of every label."""
        return np.asarray(self.confusion.sum(axis=1) + self.unpredicted)

    def add(self, rows: Scored, k: int, fade: float = 1.0) -> None:
        """More rows, with labels below k; with every row, those before it count `fade` times as much."""
        self._grow(k)
        weight = rows.weight
        if fade < 1.0:
            weight = weight * fade ** np.arange(len(rows) - 1, -1, -1.0)
            self._shrink(fade ** len(rows))
        spoke = rows.said >= 0
        np.add.at(self.confusion, (rows.y[spoke], rows.said[spoke]), weight[spoke])
        np.add.at(self.unpredicted, rows.y[~spoke], weight[~spoke])
        self.unchanged = _running_sum(self.unchanged, weight * rows.unchanged)
        known = ~np.isnan(rows.p_label)
        if known.any():
            self._add_probabilities(rows.part(known), weight[known])

    def _add_probabilities(self, rows: Scored, weight: np.ndarray) -> None:
        self.with_proba = _running_sum(self.with_proba, weight)
        log_p = np.log(np.clip(rows.p_label, MIN_PROBABILITY, 1.0))
        self.log_loss = _running_sum(self.log_loss, -weight * log_p)
        self.brier = _running_sum(self.brier, weight * rows.brier)
        bins = np.minimum((rows.top * BINS).astype(np.int64), BINS - 1)
        for i, value in enumerate((weight, weight * rows.top, weight * (rows.y == rows.said))):
            np.add.at(self.bins[i], bins, value)

    def _grow(self, k: int) -> None:
        more = k - len(self.unpredicted)
        if more > 0:
            self.confusion = np.pad(self.confusion, (0, more))
            self.unpredicted = np.pad(self.unpredicted, (0, more))

    def _shrink(self, factor: float) -> None:
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) * factor)


def _running_sum(total: float, values: np.ndarray) -> float:
    """A sum that goes on: one value after the other, so that no bit depends on how they are cut into blocks."""
    return float(np.cumsum(np.concatenate([[total], values]))[-1])


def checked_weight(weight: Any, n: int) -> np.ndarray:
    """What each of n rows counts, if it can be."""
    weight = np.asarray(weight, np.float64)
    if weight.shape != (n,) or not (np.isfinite(weight) & (weight >= 0.0)).all():
        raise DataError(f"weight must have one finite number of at least 0 for each of the {n} rows")
    return weight


class Coder:
    """Labels to codes 0, 1, ... in the order in which they turn up, and the rows of a stream to numbers."""

    def __init__(self, labels: Sequence[Any] = (), last: int = -1) -> None:
        self.labels = list(labels)
        self.last = last  # code of the last row's label
        self._codes = {label: code for code, label in enumerate(self.labels)}

    def codes(self, labels: np.ndarray) -> np.ndarray:
        """Codes of labels; -1: None."""
        codes, values = self._codes, list(labels) if labels.dtype.kind in "mM" else labels.tolist()
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
        weight = np.ones(len(y)) if weight is None else checked_weight(weight, len(y))
        if p is not None:
            p, classes = np.asarray(p, np.float64), one_label_per_row(classes)
            _check_probabilities(p, len(y), classes)
        codes, said = self.codes(y), self.codes(predictions)
        before = np.concatenate([[self.last], codes[:-1]])
        if len(codes):
            self.last = int(codes[-1])
        none = np.full(len(codes), np.nan)
        scored = Scored(codes, said, codes == before, weight, none, none, none)
        if p is not None and len(p):
            self._read_probabilities(scored, p, self.codes(classes))
        return scored

    @staticmethod
    def _read_probabilities(scored: Scored, p: np.ndarray, columns: np.ndarray) -> None:
        column = np.full(max(columns.max(), scored.y.max()) + 1, len(columns))
        column[columns] = np.arange(len(columns))
        wide = np.pad(p, ((0, 0), (0, 1)))  # of a class that no column is for
        own, total = wide[np.arange(len(p)), column[scored.y]], p.sum(axis=1)
        known = total > 0.0
        squares = np.cumsum(p * p, axis=1)[:, -1] - 2.0 * own + 1.0
        scored.p_label = np.where(known, own, np.nan)
        scored.top = np.where(known, p.max(axis=1), np.nan)
        scored.brier = np.where(known, squares, np.nan)


def _check_probabilities(p: np.ndarray, rows: int, classes: np.ndarray) -> None:
    if p.shape != (rows, len(classes)):
        raise ValueError(f"probabilities have shape {p.shape}, and there are {rows} rows of {len(classes)} classes")
    if len(set(classes.tolist())) != len(classes):
        raise ValueError("classes must differ: they are the labels of the columns of probabilities")
    if not ((p >= 0.0) & (p <= 1.0 + 1e-9)).all():
        raise ValueError("probabilities must lie between 0 and 1; a row of zeros has none")
