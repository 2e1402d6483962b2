"""Metrics of a stream that goes by: of all its rows, of the last ones, or of all with the old ones fading.

They are made of sums over the rows, which take no more memory for more rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.labels import order_of
from onlineboost.evaluation.ranking import ENOUGH, NAN, RARE, Ranking, known
from onlineboost.evaluation.sums import Coder, Scored, Sums


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
        Only this number of rows, the last ones, count.
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
        self._sums: Sums | None = Sums()
        self._last = self._coder.score([], [], None, None, None)  # rows in the window

    def add(
        self, y: Any, predictions: Any, *, weight: Any = None, probabilities: Any = None, classes: Any = None
    ) -> None:
        """More rows: labels, and what was predicted for them (None: nothing).

        `probabilities` is (rows, classes), its columns in the order of `classes`. A row of zeros has none.
        """
        self.take(y, predictions, weight, probabilities, classes)

    def take(self, y: Any, predictions: Any, weight: Any, probabilities: Any, classes: Any) -> Scored:
        """Add rows; what was counted of them."""
        if probabilities is not None and classes is None:
            raise ValueError("probabilities need `classes`, the labels of their columns")
        rows = self._coder.score(y, predictions, weight, probabilities, classes)
        self.rows += len(rows.y)
        if self.window is None:
            self._counted().add(rows, len(self._coder.labels), self.fade)
        else:
            self._last, self._sums = self._last.then(rows).part(slice(-self.window, None)), None
        return rows

    def over(self, sums: Sums, rows: int) -> Metrics:
        """The metrics of other rows with the same labels, by their sums."""
        found = Metrics()
        sums.make_room(len(self._coder.labels))
        found.rows, found._coder, found._sums = rows, self._coder, sums
        return found

    def _counted(self) -> Sums:
        if self._sums is None:  # of a window that has moved
            self._sums = Sums()
            self._sums.add(self._last, len(self._coder.labels))
        return self._sums

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
        """For every label: precision, recall, F1, how it is ranked, and the weight of its rows and predictions."""
        sums = self._counted()
        right, rows, said = np.diagonal(sums.confusion), sums.of_label, sums.confusion.sum(axis=0)
        out = []
        for code in self._order():
            hit, there, called = float(right[code]), float(rows[code]), float(said[code])
            rates: dict[str, float | None] = {"precision": _share(hit, called, 0.0), "recall": _share(hit, there, 0.0)}
            rates["f1"] = _share(2.0 * hit, there + called, 0.0)
            ranking = self._ranking(sums, code)
            rates |= {name: known(getattr(ranking, name)) for name in ("roc_auc", "average_precision")}
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

    # ------------------------------------------------------------------------------------------------------ ranking

    @property
    def rarest(self) -> Any:
        """The label of the class with the fewest rows; of those with at least 20, if there are any. None: no rows."""
        weight = self._counted().of_label
        some = [code for code in self._order() if weight[code] > 0.0]
        enough = [code for code in some if weight[code] >= ENOUGH]
        return self._coder.labels[min(enough or some, key=weight.__getitem__)] if some else None

    @property
    def rare(self) -> Any:
        """The same, if it has less than a fifth of an even share of the rows: what reports put in front. Else None."""
        weight = self._counted().of_label
        label = self.rarest
        if label is None:
            return None
        own = weight[self._coder.labels.index(label)]
        return label if own < RARE * weight.sum() / np.count_nonzero(weight) else None

    def ranking(self, label: Any = None) -> Ranking:
        """How well the probability of a class ranks the rows; of the rarest, if no label is given."""
        label = self.rarest if label is None else label
        if label not in self._coder.labels:
            raise ValueError(f"no row has the label {label!r}; labels: {', '.join(map(repr, self.labels))}")
        return self._ranking(self._counted(), self._coder.labels.index(label))

    def _ranking(self, sums: Sums, code: int) -> Ranking:
        return Ranking(self._coder.labels[code], sums.ranks[code, 1], sums.ranks[code, 0])

    def _over_classes(self, name: str, *, but_most: bool = False) -> float:
        """Mean of a figure of the rankings of the classes; `but_most`: without the class that has most rows."""
        sums = self._counted()
        weight = sums.of_label
        left_out = max(self._order(), key=weight.__getitem__) if but_most and np.count_nonzero(weight) > 1 else None
        there = [code for code in self._order() if weight[code] > 0.0 and code != left_out]
        values = np.array([getattr(self._ranking(sums, code), name) for code in there])
        return _mean(values[~np.isnan(values)])

    @property
    @metric(
        "ROC AUC",
        heading="AUC",
        about="How often a row of a class gets a higher probability of it than a row of another class: 0.5 is "
        "guessing, 1 is a perfect order. A mean over the classes, each against the rest.",
    )
    def roc_auc(self) -> float:
        """Area under the ROC curve, a mean over the classes, each against the rest."""
        return self._over_classes("roc_auc")

    @property
    @metric(
        "average precision",
        heading="AP",
        about="Of the rows with the highest probability of a rare class, how many are of it: the area under the "
        "precision-recall curve. Guessing has the share of the class, 1 is best. A mean over the classes, without the "
        "most frequent one.",
    )
    def average_precision(self) -> float:
        """Area under the precision-recall curve, each class against the rest: a mean of all but the most frequent."""
        return self._over_classes("average_precision", but_most=True)

    def reliability(self) -> dict[str, np.ndarray]:
        """The bins of `ece`: weight of their rows, mean probability, share that was right (NaN: no row)."""
        rows, confidence, right = self._counted().bins
        some = np.where(rows > 0.0, rows, np.nan)
        return {"rows": rows.copy(), "confidence": confidence / some, "right": right / some}

    def as_dict(self) -> dict[str, float | None]:
        """All that is one number; None where there is none (no probabilities, or one class alone)."""
        return {name: known(getattr(self, name)) for name in METRICS}

    def __repr__(self) -> str:
        figures = ", ".join(f"{name} {value:.4f}" for name, value in self.as_dict().items() if value is not None)
        return f"Metrics({self.rows:,} rows, {figures})" if self.rows else "Metrics(0 rows)"

    def as_values(self) -> dict[str, Any]:
        """All of it, to be saved."""
        settings = {"window": self.window, "fade": self.fade, "rows": self.rows}
        coder = {"labels": self._coder.labels, "last": self._coder.last}
        return {**settings, **coder, "sums": asdict(self._counted()), "scored": self._last._asdict()}

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


# ------------------------------------------------------------------------------ several systems over several data sets


def mean_ranks(scores: Mapping[str, Mapping[str, float]]) -> tuple[dict[str, float], int]:
    """The mean rank of each system that has a score on all data sets, best first; and the number of data sets.

    `scores` are of a data set, then of a system; more is better. Ties share their ranks.

    Examples
    --------
    >>> mean_ranks({"car": {"tree": 0.8, "booster": 0.9}, "segment": {"tree": 0.7, "booster": 0.7}})
    ({'booster': 1.25, 'tree': 1.75}, 2)
    """
    from scipy.stats import rankdata  # loaded when it is needed: it takes a while

    everywhere = [system for system in next(iter(scores.values())) if all(system in one for one in scores.values())]
    ranks = np.mean([rankdata([-one[system] for system in everywhere]) for one in scores.values()], axis=0)
    pairs = sorted(zip(everywhere, ranks.tolist(), strict=True), key=lambda pair: pair[1])
    return dict(pairs), len(scores)


def critical_difference(n_systems: int, n_datasets: int, level: float = 0.95) -> float:
    """How far two mean ranks have to be apart to be more than chance: Nemenyi's test (Demšar 2006).

    Examples
    --------
    >>> round(critical_difference(4, 14), 2)
    1.25
    """
    from scipy.stats import studentized_range

    q = float(studentized_range.ppf(level, n_systems, np.inf)) / math.sqrt(2.0)
    return q * math.sqrt(n_systems * (n_systems + 1) / (6.0 * n_datasets))
