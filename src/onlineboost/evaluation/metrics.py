"""Metrics of a stream that goes by: of all its rows, of the last ones, or of all with the old ones fading.

They are made of sums over the rows, which take no more memory for more rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.labels import order_of, values_of
from onlineboost.data.values import weights_of
from onlineboost.evaluation.runner import one_label_per_row

BINS = 15  # of the confidence, for the calibration error
MIN_PROBABILITY = float(np.finfo(np.float64).eps)  # in the log loss, as in scikit-learn
NAN = float("nan")


class Scored(NamedTuple):
    """Rows that were predicted, in numbers: what the sums need of each."""

    y: np.ndarray  # int64 (rows,) code of the label
    said: np.ndarray  # int64 (rows,) code of the prediction; -1: there was none
    unchanged: np.ndarray  # bool (rows,) whether the label is that of the row before
    weight: np.ndarray  # float64 (rows,)
    p_label: np.ndarray  # float64 (rows,) probability of the label; NaN: there are no probabilities
    top: np.ndarray  # float64 (rows,) the largest probability
    brier: np.ndarray  # float64 (rows,) sum over the classes of (probability - what came)^2

    def part(self, rows: slice | np.ndarray) -> Scored:
        return Scored(*(values[rows] for values in self))


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
        more, weight = max(0, k - len(self.unpredicted)), rows.weight
        self.confusion, self.unpredicted = np.pad(self.confusion, (0, more)), np.pad(self.unpredicted, (0, more))
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
        found = [np.full(len(codes), np.nan)] * 3
        if p is not None and len(p):
            found = self._read_probabilities(codes, p, self.codes(classes))
        return Scored(codes, said, codes == before, weight, *found)

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


class Metric(NamedTuple):
    """What is to know of a metric, besides how it is computed."""

    title: str  # on pages
    heading: str  # of a column in the terminal
    better: int  # 1: more is better, -1: less is, 0: it is not about the model
    about: str  # what it says, for readers of a page; "": it is not shown in tables, but in JSON


METRICS: dict[str, Metric] = {}  # by name, as they are defined below: what `tune`, tables and pages know of metrics
Computed = Callable[["Metrics"], float]


def metric(title: str, better: int = 1, *, heading: str = "", about: str = "") -> Callable[[Computed], Computed]:
    """One number that `Metrics` has: with this line above its definition it is known everywhere."""

    def listed(compute: Computed) -> Computed:
        METRICS[compute.__name__] = Metric(title, heading or title, better, about)
        return compute

    return listed


class Metrics:
    """Metrics of predictions and probabilities, counted block by block. How the rows are cut makes no difference.

    Memory grows with the number of classes squared, and with `window`, not with the rows.

    Parameters
    ----------
    window : int, optional
        Only the last so many rows count.
    fade : float in (0, 1]
        With every row, those before it count so much less: 0.999 is a memory of about 1,000 rows. Not with `window`.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.add(np.array(["a", "b", "b"]), np.array(["a", "a", "b"]))
    >>> round(metrics.accuracy, 3), metrics.balanced_accuracy, round(metrics.kappa, 3)
    (0.667, 0.75, 0.4)
    """

    def __init__(self, *, window: int | None = None, fade: float = 1.0) -> None:
        if window is not None and (fade != 1.0 or window < 1):
            raise ValueError(f"give a window of at least one row, or fade, got window={window!r}, fade={fade!r}")
        if not 0.0 < fade <= 1.0:
            raise ValueError(f"fade must lie in (0, 1], got {fade!r}")
        self.window, self.fade = window, fade
        self.rows = 0  # that were added
        self._coder = Coder()
        self._sums = Sums()
        self._last = self._coder.score([], [], None, None, None)  # rows in the window

    def add(
        self, y: Any, predictions: Any, *, weight: Any = None, probabilities: Any = None, classes: Any = None
    ) -> None:
        """More rows: labels, and what was predicted for them (None: nothing).

        `probabilities` is (rows, classes), its columns in the order of `classes`. A row of zeros has none.
        """
        if probabilities is not None and classes is None:
            raise ValueError("probabilities need `classes`, the labels of their columns")
        rows = self._coder.score(y, predictions, weight, probabilities, classes)
        self.rows += len(rows.y)
        if self.window is None:
            self._sums.add(rows, len(self._coder.labels), self.fade)
        else:
            both = Scored(*map(np.concatenate, zip(self._last, rows, strict=True)))
            self._last = both.part(slice(-self.window, None))

    def _counted(self) -> Sums:
        if self.window is None:
            return self._sums
        sums = Sums()
        sums.add(self._last, len(self._coder.labels))
        return sums

    @property
    def labels(self) -> list[Any]:
        """The labels, predicted ones too: sorted, or in order of appearance where they cannot be."""
        return [self._coder.labels[code] for code in self._order()]

    def _order(self) -> Sequence[int]:
        """Codes in the order of `labels`."""
        return order_of(self._coder.labels) or range(len(self._coder.labels))

    @property
    def confusion(self) -> np.ndarray:
        """Weight of the rows with each label (down) and each prediction (across), in the order of `labels`."""
        order = list(self._order())
        return self._counted().confusion[np.ix_(order, order)]

    @property
    @metric("accuracy")
    def accuracy(self) -> float:
        """Share of right predictions."""
        sums = self._counted()
        return _share(np.trace(sums.confusion), sums.weight)

    @property
    @metric(
        "balanced accuracy",
        heading="balanced",
        about="The share of its rows that is found, averaged over the classes: a rare class counts as much as a "
        "frequent one.",
    )
    def balanced_accuracy(self) -> float:
        """Mean over the classes of the share that was found."""
        sums = self._counted()
        there = sums.of_label > 0.0
        return _mean((np.diagonal(sums.confusion) / np.where(there, sums.of_label, 1.0))[there])

    @property
    @metric("kappa", about="How much of the way from guessing (0) to always right (1).")
    def kappa(self) -> float:
        """How much of the way from guessing by the same frequencies (0) to all right (1): Cohen's kappa."""
        sums = self._counted()
        return _above(self.accuracy, _share(sums.of_label @ sums.confusion.sum(axis=0), sums.weight * sums.weight))

    @property
    @metric("kappa temporal")
    def kappa_temporal(self) -> float:
        """How much of the way from saying the label of the row before (0) to all right (1)."""
        return _above(self.accuracy, self.no_change_accuracy)

    @property
    @metric("accuracy of the label before", better=0)
    def no_change_accuracy(self) -> float:
        """Accuracy of saying the label of the row before."""
        sums = self._counted()
        return _share(sums.unchanged, sums.weight)

    def per_class(self) -> list[dict[str, Any]]:
        """For every label: precision, recall, F1, and the weight of its rows and of its predictions."""
        sums = self._counted()
        right, rows, said = np.diagonal(sums.confusion), sums.of_label, sums.confusion.sum(axis=0)
        out = []
        for code in self._order():
            hit, there, called = float(right[code]), float(rows[code]), float(said[code])
            rates = {"precision": _share(hit, called, 0.0), "recall": _share(hit, there, 0.0)}
            rates["f1"] = _share(2.0 * hit, there + called, 0.0)
            out.append({"label": self._coder.labels[code], **rates, "rows": there, "predicted": called})
        return out

    def macro(self, rate: str) -> float:
        """Mean over the classes of "precision", "recall" or "f1"; classes in no row and no prediction do not count."""
        return _mean(np.array([one[rate] for one in self.per_class() if one["rows"] + one["predicted"] > 0.0]))

    @property
    @metric(
        "macro F1",
        heading="F1",
        about="F1 lies between precision (how many of the predictions of a class are right) and recall (how many of "
        "its rows are found); here averaged over the classes. 1 is best.",
    )
    def macro_f1(self) -> float:
        """Mean over the classes of F1, between precision and recall."""
        return self.macro("f1")

    @property
    @metric("macro precision")
    def macro_precision(self) -> float:
        """Mean over the classes of precision."""
        return self.macro("precision")

    @property
    @metric("macro recall")
    def macro_recall(self) -> float:
        """Mean over the classes of recall."""
        return self.macro("recall")

    def cost(self, cost_matrix: Mapping[Any, Mapping[Any, float]]) -> float:
        """Mean cost of a row, by {label: {prediction: cost}}; other mistakes, and rows without a prediction, cost 1."""
        sums, labels = self._counted(), self._coder.labels
        costs = 1.0 - np.eye(len(labels))
        for r, row in enumerate(labels):
            for l, said in enumerate(labels):
                costs[r, l] = cost_matrix.get(row, {}).get(said, costs[r, l])
        return _share(float((sums.confusion * costs).sum() + sums.unpredicted.sum()), sums.weight)

    @property
    @metric(
        "log loss",
        better=-1,
        about="Mean of −log of the probability that was given to the right label. 0 is best; to be sure of what is "
        "wrong costs most.",
    )
    def log_loss(self) -> float:
        """Mean of -log of the label's probability; NaN without probabilities."""
        sums = self._counted()
        return _share(sums.log_loss, sums.with_proba)

    @property
    @metric("Brier score", better=-1)
    def brier(self) -> float:
        """Mean over the rows of the sum over the classes of (probability - 1 if it came, else 0) squared: 0 to 2."""
        sums = self._counted()
        return _share(sums.brier, sums.with_proba)

    @property
    @metric(
        "ECE",
        better=-1,
        about="Expected calibration error: how far probabilities are from how often they come true. 0 is best.",
    )
    def ece(self) -> float:
        """Expected calibration error: how far the predictions' probabilities are from how often they are right.

        Rows are put into 15 bins by the probability of the likeliest class; the distances count by their rows.
        """
        sums = self._counted()
        return _share(float(np.abs(sums.bins[1] - sums.bins[2]).sum()), sums.with_proba)

    def reliability(self) -> dict[str, np.ndarray]:
        """The bins of `ece`: weight of their rows, mean probability, share that was right (NaN: no row)."""
        rows, confidence, right = self._counted().bins
        some = np.where(rows > 0.0, rows, np.nan)
        return {"rows": rows.copy(), "confidence": confidence / some, "right": right / some}

    def as_dict(self) -> dict[str, float | None]:
        """All that is one number; None where there is none (no probabilities, or one class alone)."""
        values = {name: getattr(self, name) for name in METRICS}
        return {name: None if np.isnan(value) else value for name, value in values.items()}

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in self.as_dict().items() if value is not None)
        return f"Metrics({self.rows:,} rows, {figures})" if self.rows else "Metrics(0 rows)"

    def as_values(self) -> dict[str, Any]:
        """All of it, to be saved."""
        settings = {"window": self.window, "fade": self.fade, "rows": self.rows}
        coder = {"labels": self._coder.labels, "last": self._coder.last}
        return {**settings, **coder, "sums": asdict(self._sums), "scored": self._last._asdict()}

    @classmethod
    def of_values(cls, saved: dict[str, Any]) -> Metrics:
        metrics = cls(window=saved["window"], fade=saved["fade"])
        metrics.rows, metrics._coder = saved["rows"], Coder(saved["labels"], saved["last"])
        sums, scored = saved["sums"].values(), saved["scored"].values()  # in order: their names may change
        metrics._sums, metrics._last = Sums(*sums), Scored(*scored)
        return metrics


def _share(part: float, whole: float, otherwise: float = NAN) -> float:
    return float(part / whole) if whole > 0.0 else otherwise


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else NAN


def _above(accuracy: float, by_chance: float) -> float:
    return (accuracy - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else NAN
