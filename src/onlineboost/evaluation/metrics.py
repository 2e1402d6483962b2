"""Metrics of a stream that goes by: of all its rows, of the last ones, or of all with the old ones fading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.labels import order_of
from onlineboost.evaluation.sums import Coder, Scored, Sums, nothing_scored

NAN = float("nan")


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
        self._last: Scored = nothing_scored()  # rows in the window

    def add(
        self, y: Any, predictions: Any, *, weight: Any = None, probabilities: Any = None, classes: Any = None
    ) -> None:
        """More rows: labels, and what was predicted for them (None: nothing).

        `probabilities` is (rows, classes), its columns in the order of `classes`. A row of zeros has none.
        """
        if probabilities is not None and classes is None:
            raise ValueError("probabilities need `classes`, the labels of their columns")
        rows = self._coder.score(y, predictions, weight, probabilities, classes)
        self.rows += len(rows)
        if self.window is None:
            self._sums.add(rows, len(self._coder.labels), self.fade)
        else:
            self._last = self._last.followed_by(rows).part(slice(-self.window, None))

    def _counted(self) -> Sums:
        if self.window is None:
            return self._sums
        sums = Sums()
        sums.add(self._last, len(self._coder.labels))
        return sums

    # ------------------------------------------------------------------------------------------------- predictions

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
        total = sums.weight
        by_chance = _share(sums.of_label @ sums.confusion.sum(axis=0), total * total)
        return _above(self.accuracy, by_chance)

    @property
    @metric("kappa temporal")
    def kappa_temporal(self) -> float:
        """How much of the way from saying the label of the row before (0) to all right (1)."""
        sums = self._counted()
        return _above(self.accuracy, _share(sums.unchanged, sums.weight))

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
            rates = {"precision": _or_zero(hit, called), "recall": _or_zero(hit, there)}
            rates["f1"] = _or_zero(2.0 * hit, there + called)
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

    # ----------------------------------------------------------------------------------------------- probabilities

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

    # ------------------------------------------------------------------------------------------------- all of them

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
        return {**settings, **coder, "sums": asdict(self._sums), "scored": asdict(self._last)}

    @classmethod
    def of_values(cls, saved: dict[str, Any]) -> Metrics:
        metrics = cls(window=saved["window"], fade=saved["fade"])
        metrics.rows, metrics._coder = saved["rows"], Coder(saved["labels"], saved["last"])
        sums, scored = saved["sums"].values(), saved["scored"].values()  # in order: their names may change
        metrics._sums, metrics._last = Sums(*sums), Scored(*scored)
        return metrics


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole > 0.0 else NAN


def _or_zero(part: float, whole: float) -> float:
    return part / whole if whole > 0.0 else 0.0


def _mean(values: np.ndarray) -> float:
    return float(values.mean()) if len(values) else NAN


def _above(accuracy: float, by_chance: float) -> float:
    return (accuracy - by_chance) / (1.0 - by_chance) if by_chance < 1.0 else NAN
