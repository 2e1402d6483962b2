"""How well scores rank: ROC AUC, average precision, what the highest scores hold, thresholds, and curves of a class.

Scores are counted in 4,096 bins of their logit, so that memory does not grow with the rows: two scores whose odds
differ by less than 1 % may count as equal. All figures are exactly those of the scores rounded so, and `roc_auc_error`
and `average_precision_bounds` say how far those of the scores themselves can be away.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from onlineboost.evaluation.metrics import Metrics
    from onlineboost.evaluation.results import Tally

RANKS = 4096  # bins of the logit of a score
WIDTH = 0.01  # of a bin: the odds of scores in it differ by 1 % at most; the first and the last bin take all beyond
LEAST = 0.5 * RANKS * WIDTH  # logits from -20.48 on, a probability of 1.3e-9
RARE = 0.2  # a class is rare if it has a smaller part than this of an even share of the rows
ENOUGH = 20.0  # rows, by weight, without which a class is not put in front
NAN = float("nan")


def logit(p: np.ndarray) -> np.ndarray:
    """log(p / (1 - p)), from -LEAST to LEAST."""
    low = 1.0 / (1.0 + np.exp(LEAST))
    p = np.clip(p, low, 1.0 - low)
    return np.asarray(np.log(p) - np.log1p(-p))


def rank_of(p: np.ndarray) -> np.ndarray:
    """The bins of scores from 0 to 1, as int16."""
    return np.clip(np.floor((logit(p) + LEAST) / WIDTH), 0, RANKS - 1).astype(np.int16)


def score_of(rank: Any) -> np.ndarray:
    """The least score that is in each bin."""
    return np.where(np.asarray(rank) > 0, 1.0 / (1.0 + np.exp(LEAST - WIDTH * np.asarray(rank, np.float64))), 0.0)


@dataclass(frozen=True, eq=False)
class Ranking:
    """How well the probability of one class ranks the rows: its rows, the positives, against all others.

    Get one from :meth:`Metrics.ranking`. Rows count by their weights. An alarm is a row whose score is at least some
    threshold.

    Parameters
    ----------
    label
        The class.
    positives, negatives
        Weight of its rows, and of the others, in each bin of the score, the lowest first.

    Examples
    --------
    >>> from onlineboost.evaluation import Metrics
    >>> metrics = Metrics()
    >>> y, p = np.array(["ok", "fraud", "ok", "fraud"]), np.array([0.1, 0.2, 0.3, 0.9])
    >>> metrics.add(y, np.full(4, "ok"), probabilities=np.column_stack([p, 1 - p]), classes=["fraud", "ok"])
    >>> ranking = metrics.ranking("fraud")
    >>> ranking.roc_auc, round(ranking.average_precision, 3)
    (0.75, 0.833)
    >>> ranking.top(1).precision, ranking.top(1).recall, ranking.top(1).lift
    (1.0, 0.5, 2.0)
    """

    label: Any
    positives: np.ndarray
    negatives: np.ndarray

    @property
    def rows(self) -> float:
        """Weight of all rows."""
        return float(self.positives.sum() + self.negatives.sum())

    @property
    def share(self) -> float:
        """Share of the rows that are positives: the precision of guessing."""
        return float(self.positives.sum() / self.rows) if self.rows > 0.0 else NAN

    @cached_property
    def _steps(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(positives, negatives) of the bins that are not empty, the highest score first, and these bins."""
        ranks = np.flatnonzero(self.positives + self.negatives)[::-1]
        return self.positives[ranks], self.negatives[ranks], ranks

    @property
    def _both(self) -> bool:
        return bool(self.positives.sum() > 0.0 and self.negatives.sum() > 0.0)

    @property
    def roc_auc(self) -> float:
        """Area under the ROC curve: how often a positive has a higher score than a negative; 0.5 is guessing.

        Ties count half. NaN without rows of both kinds.
        """
        if not self._both:
            return NAN
        own, others, _ = self._steps
        below = others.sum() - np.cumsum(others)
        return float(own @ (below + 0.5 * others) / (own.sum() * others.sum()))

    @property
    def roc_auc_error(self) -> float:
        """How far `roc_auc` can be from that of the scores before they were put into bins."""
        if not self._both:
            return NAN
        own, others, _ = self._steps
        return float(0.5 * (own @ others) / (own.sum() * others.sum()))

    @property
    def average_precision(self) -> float:
        """Mean over the positives of the precision of the alarms down to each: the area under the PR curve.

        Guessing has the share of positives. NaN without positives.
        """
        own, others, _ = self._steps
        if not own.sum() > 0.0:
            return NAN
        hits = np.cumsum(own)
        return float(own @ (hits / (hits + np.cumsum(others))) / own.sum())

    @property
    def average_precision_bounds(self) -> tuple[float, float]:
        """Between what the average precision of the scores lies, before they were put into bins."""
        own, others, _ = self._steps
        if not own.sum() > 0.0:
            return NAN, NAN
        hits, false = np.cumsum(own), np.cumsum(others)
        # At best the positives of a bin come first, all at once. At worst they come last, one after the other: a sum of
        # x / (x + false) over the hits x so far, which is above its integral.
        most = own * hits / np.maximum(hits + false - others, 1e-300)
        least = own - false * np.log((hits + false) / np.maximum(hits + false - own, 1e-300))
        least = np.where(false > 0.0, least, own)
        return float(least.sum() / own.sum()), float(most.sum() / own.sum())

    # ------------------------------------------------------------------------------------------------------- alarms

    def top(self, alarms: float) -> Alarms:
        """The rows with the highest scores: a whole number of them (1 or more), or a share of all (below 1).

        Of the bin in which the number is reached, a part counts.
        """
        if not alarms > 0.0 or (alarms > 1.0 and alarms % 1.0 != 0.0):
            raise ValueError(f"alarms must be a whole number of rows, or a share of them below 1, got {alarms!r}")
        own, others, ranks = self._steps
        if not len(ranks):
            return self._alarms(NAN, 0.0, 0.0)
        wanted = min(alarms * self.rows if alarms < 1.0 else float(alarms), self.rows)
        ends = np.cumsum(own + others)
        at = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
        part = 1.0 - (ends[at] - wanted) / (own[at] + others[at])
        hits, false = (float(kind[:at].sum() + part * kind[at]) for kind in (own, others))
        return self._alarms(float(score_of(ranks[at])), hits, false)

    def above(self, threshold: float) -> Alarms:
        """The rows whose score is at least `threshold`, to the nearest bin."""
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"threshold must lie in [0, 1], got {threshold!r}")
        first = min(round(float(logit(np.array(threshold)) + LEAST) / WIDTH), RANKS - 1)
        return self._alarms(threshold, float(self.positives[first:].sum()), float(self.negatives[first:].sum()))

    def cheapest(self, miss: float, false_alarm: float = 1.0) -> Alarms:
        """The alarms that would have cost least, if a miss and a false alarm cost so much.

        The threshold was chosen after the fact, on the rows it is told of. Where probabilities are right it is near
        false_alarm / (miss + false_alarm).
        """
        if not (miss > 0.0 and false_alarm > 0.0):
            raise ValueError(f"costs must be above 0, got miss={miss!r}, false_alarm={false_alarm!r}")
        own, others, ranks = self._steps
        hits, false = np.concatenate([[0.0], np.cumsum(own)]), np.concatenate([[0.0], np.cumsum(others)])
        at = int(np.argmin(miss * (own.sum() - hits) + false_alarm * false))
        threshold = float(score_of(ranks[at - 1])) if at else 1.0
        return self._alarms(threshold, float(hits[at]), float(false[at]))

    def _alarms(self, threshold: float, hits: float, false: float) -> Alarms:
        return Alarms(threshold, hits, false, float(self.positives.sum()) - hits, self.rows)

    # ------------------------------------------------------------------------------------------------------- curves

    def roc_curve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(share of the negatives that raise an alarm, share of the positives that do, threshold), from no alarm on."""
        own, others, thresholds = self._curve()
        return others / max(others[-1], 1e-300), own / max(own[-1], 1e-300), thresholds

    def precision_recall_curve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(share of the alarms that are right, share of the positives that raise one, threshold), from one alarm on."""
        own, others, thresholds = (values[1:] for values in self._curve())
        return own / (own + others), own / max(float(self.positives.sum()), 1e-300), thresholds

    def _curve(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        own, others, ranks = self._steps
        pad = (np.concatenate([[0.0], np.cumsum(kind)]) for kind in (own, others))
        return (*pad, np.concatenate([[1.0], score_of(ranks)]))  # type: ignore[return-value]

    def __repr__(self) -> str:
        figures = f"AUC {self.roc_auc:.4f}, average precision {self.average_precision:.4f}"
        return f"Ranking({self.label!r}, {self.share:.2%} of {self.rows:,.0f} rows, {figures})"


@dataclass(frozen=True)
class Alarms:
    """What comes of an alarm for every row with a score of at least `threshold`. Rows count by their weights."""

    threshold: float
    hits: float  # alarms that are right
    false: float  # alarms that are not
    missed: float  # positives without an alarm
    rows: float

    def __str__(self) -> str:
        return (
            f"threshold {self.threshold:.4g}: precision {self.precision:.3f}, recall {self.recall:.3f} "
            f"({self.hits:g} alarms right, {self.false:g} wrong, {self.missed:g} positives missed)"
        )

    @property
    def precision(self) -> float:
        """Share of the alarms that are right; NaN without an alarm."""
        return self.hits / (self.hits + self.false) if self.hits + self.false > 0.0 else NAN

    @property
    def recall(self) -> float:
        """Share of the positives that raise an alarm."""
        return self.hits / (self.hits + self.missed) if self.hits + self.missed > 0.0 else NAN

    @property
    def lift(self) -> float:
        """How many times as many of the alarms are right as of rows drawn by lot."""
        return self.precision * self.rows / (self.hits + self.missed) if self.hits + self.missed > 0.0 else NAN

    def cost(self, miss: float, false_alarm: float = 1.0) -> float:
        """Mean cost of a row."""
        return (miss * self.missed + false_alarm * self.false) / self.rows

    def as_dict(self) -> dict[str, float | None]:
        values = {name: getattr(self, name) for name in ("threshold", "precision", "recall", "lift")}
        return {name: known(value) for name, value in values.items()}


# -------------------------------------------------------------------------------------------------------- of a run


TOPS = (0.001, 0.01, 0.05)  # shares of the rows with the highest scores that JSON and reports tell of
POINTS = 200  # of a curve, at most


def class_in_front(metrics: Metrics) -> Any:
    """The class that reports rank: a rare one, or of two the rarer. None: there is none, or no probabilities."""
    label = metrics.rarest if len(metrics.labels) == 2 else metrics.rare
    return None if metrics.as_dict()["log_loss"] is None else label


def area(metrics: Metrics, label: Any) -> float:
    return metrics.ranking(label).roc_auc


def precision(metrics: Metrics, label: Any) -> float:
    return metrics.ranking(label).average_precision


def figures(tally: Tally, label: Any) -> dict[str, Any]:
    """What JSON and reports have of how a run ranks a class."""
    ranking, tail = tally.metrics.ranking(label), tally.tail_metrics().ranking(label)
    out: dict[str, Any] = {"label": label, "share": ranking.share}
    for name, of in (("roc_auc", area), ("average_precision", precision)):
        ends = tally.interval_of(partial(of, label=label))
        out[name] = known(of(tally.metrics, label))
        out[f"{name}_interval"] = None if np.isnan(ends[0]) else list(ends)
    bounds = ranking.average_precision_bounds
    out |= {"roc_auc_error": known(ranking.roc_auc_error), "average_precision_bounds": [known(end) for end in bounds]}
    out["tail"] = {name: known(getattr(tail, name)) for name in ("roc_auc", "average_precision")}
    return out | {"top": {f"{share:g}": ranking.top(share).as_dict() for share in TOPS}}


def curves(ranking: Ranking) -> dict[str, list[float]]:
    """The ROC and the precision-recall curve in this many points, for pages."""
    false, found, _ = ranking.roc_curve()
    right, recall, _ = ranking.precision_recall_curve()
    rows = np.unique(np.rint(np.linspace(0, len(false) - 1, POINTS)).astype(int))
    steps = np.unique(np.searchsorted(recall, np.linspace(0.0, 1.0, POINTS)).clip(0, len(recall) - 1))
    chosen = {"false": false[rows], "found": found[rows], "precision": right[steps], "recall": recall[steps]}
    return {name: np.round(values, 5).tolist() for name, values in chosen.items()}


def known(value: float) -> float | None:
    """None for NaN, which JSON does not have."""
    return None if np.isnan(value) else value
