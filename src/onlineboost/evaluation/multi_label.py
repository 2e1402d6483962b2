"""Several labels: what is measured of rankings and of sets, and test-then-train for both.

Y is an indicator (rows, labels), `scores` rank the labels of each row, `said` is an indicator of the labels predicted.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from scipy.stats import rankdata

from onlineboost.data.errors import DataError
from onlineboost.data.label_sets import indicator, label_sets
from onlineboost.data.values import weights_of
from onlineboost.estimators.settings import count


def rank_losses(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Per row, the share of the pairs, a relevant label and another one, in the wrong order; ties count one half.

    0 where there is no pair, as in the paper and in scikit-learn.

    Examples
    --------
    >>> rank_losses(np.array([[1, 0, 0], [1, 1, 1]]), np.array([[0.5, 0.9, 0.1], [0.1, 0.2, 0.3]])).tolist()
    [0.5, 0.0]
    """
    own = np.asarray(Y) != 0
    n, k = own.sum(axis=1), own.shape[1]
    places = rankdata(scores, axis=1)  # the sum over Y is n (n + 1) / 2 and the pairs in the right order: Mann-Whitney
    right = np.where(own, places, 0.0).sum(axis=1) - n * (n + 1) / 2.0
    pairs = n * (k - n)
    losses: np.ndarray = np.where(pairs > 0, 1.0 - right / np.maximum(pairs, 1), 0.0)
    return losses


def coverages(Y: np.ndarray, scores: np.ndarray) -> np.ndarray:
    """Per row, how many labels of the ranking have to be read to have met all that are relevant; ties come first.

    Examples
    --------
    >>> coverages(np.array([[1, 0, 0], [0, 0, 0]]), np.array([[0.5, 0.9, 0.1], [0.1, 0.2, 0.3]])).tolist()
    [2, 0]
    """
    own, scores = np.asarray(Y) != 0, np.asarray(scores, np.float64)
    least = np.where(own, scores, np.inf).min(axis=1, initial=np.inf)
    depths: np.ndarray = (scores >= least[:, None]).sum(axis=1)
    return depths


class LabelMetrics:
    """Sums over rows, from which all metrics follow; `update` takes any number of rows, and labels may be added.

    Examples
    --------
    >>> metrics = LabelMetrics().update(np.array([[1, 0, 1]]), np.array([[0.9, 0.8, 0.1]]), np.array([[1, 1, 0]]))
    >>> metrics.rank_loss, metrics.micro_f1, round(metrics.hamming, 3)
    (0.5, 0.5, 0.667)
    """

    def __init__(self) -> None:
        self.rows = 0.0
        self._rank = self._depth = self._wrong = self._exact = 0.0
        self._hits = self._said = self._own = np.zeros(0)  # of each label

    def update(self, Y: Any, scores: Any, said: Any, sample_weight: Any = None) -> LabelMetrics:
        """Count some rows."""
        Y, said, scores = np.asarray(Y) != 0, np.asarray(said) != 0, np.asarray(scores, np.float64)
        if Y.ndim != 2 or not Y.shape == said.shape == scores.shape or np.isnan(scores).any():
            raise DataError("Y, scores and said must be numbers (rows, labels), of one shape, and no score NaN")
        if Y.shape[1] < len(self._own):
            raise DataError(f"there were {len(self._own)} labels before, and now {Y.shape[1]}: give them all")
        weight = weights_of(sample_weight, len(Y))
        self.rows += weight.sum()
        self._rank += weight @ rank_losses(Y, scores)
        self._depth += weight @ coverages(Y, scores)
        self._wrong += weight @ (said != Y).sum(axis=1) / max(Y.shape[1], 1)
        self._exact += weight @ (said == Y).all(axis=1)
        own = [weight @ (Y & said), weight @ said, weight @ Y]
        old = (np.pad(sums, (0, Y.shape[1] - len(sums))) for sums in (self._hits, self._said, self._own))
        self._hits, self._said, self._own = (a + b for a, b in zip(old, own, strict=True))
        return self

    def _mean(self, total: float) -> float:
        return float(total / self.rows) if self.rows else float("nan")

    @property
    def rank_loss(self) -> float:
        """Mean of `rank_losses`."""
        return self._mean(self._rank)

    @property
    def coverage(self) -> float:
        """Mean of `coverages`."""
        return self._mean(self._depth)

    @property
    def hamming(self) -> float:
        """The share of wrong entries in the indicator."""
        return self._mean(self._wrong)

    @property
    def exact(self) -> float:
        """The share of rows whose whole set is right."""
        return self._mean(self._exact)

    @property
    def micro_f1(self) -> float:
        """F1 of all entries together; 1 if there is nothing to say and nothing is said."""
        total = self._said.sum() + self._own.sum()
        return float(2.0 * self._hits.sum() / total) if total else 1.0

    @property
    def macro_f1(self) -> float:
        """Mean of the labels' F1; a label that never is relevant nor said has 0, as in scikit-learn."""
        total = self._said + self._own
        each = np.divide(2.0 * self._hits, total, out=np.zeros(len(total)), where=total > 0.0)
        return float(each.mean()) if len(each) else float("nan")

    def as_dict(self) -> dict[str, float]:
        """All metrics by name."""
        names = "rank_loss", "coverage", "hamming", "exact", "micro_f1", "macro_f1"
        return {name: getattr(self, name) for name in names}

    def __str__(self) -> str:
        return ", ".join(f"{name} {value:.4f}" for name, value in self.as_dict().items())


class LabelRun:
    """What `prequential_labels` found: `metrics` of all rows, those of the last 20 %, and processor seconds."""

    def __init__(self) -> None:
        self.metrics, self.tail, self.seconds = LabelMetrics(), LabelMetrics(), 0.0

    def __str__(self) -> str:
        return f"{self.metrics} ({self.metrics.rows:.0f} rows, {self.seconds:.1f} s)\nlast 20 %: {self.tail}"


def prequential_labels(clf: Any, X: Any, Y: Any, *, block: int = 1000, tail: float = 0.2) -> LabelRun:
    """Predict every row, then learn it. A label that is not known yet stands last, and is not said.

    Parameters
    ----------
    clf : MultiLabelBoost
        How rows are cut into blocks makes no difference, but to the threshold "f1": it is read before each block.
    X, Y
        As in `MultiLabelBoost.partial_fit`.
    block : int
        Rows at a time.
    tail : float
        The share of the rows, at the end, that are also measured alone.

    Examples
    --------
    >>> from onlineboost import MultiLabelBoost
    >>> X, Y = [[0.0], [1.0], [2.0]] * 100, [{"a"}, {"a", "b"}, {"c"}] * 100
    >>> prequential_labels(MultiLabelBoost(10), X, Y).tail.rank_loss
    0.0
    """
    if not hasattr(clf, "rank"):
        raise TypeError(f"prequential_labels takes a MultiLabelBoost, got {type(clf).__name__}: see prequential")
    run, rows, asked = LabelRun(), label_sets(Y), []
    if len(rows) != len(X):
        raise DataError(f"X has {len(X)} rows and Y has {len(rows)}: give the labels of every row")
    if count("block", block) and not 0.0 <= tail <= 1.0:
        raise ValueError(f"tail must be a share of the rows, in [0, 1], got {tail!r}")
    for start in range(0, len(X), block):
        part = slice(start, min(start + block, len(X)))
        x = X.iloc[part] if hasattr(X, "iloc") else X[part]
        begun = time.process_time()
        said, q = clf.test_then_train(x, rows[part], proba=True)
        run.seconds += time.process_time() - begun
        if len(q):  # the first rows are left out as long as none has a label
            asked.append((clf.classes_.tolist(), said, q))
    labels = asked[-1][0] if asked else []
    scores, sets = np.zeros((2, sum(len(q) for *_, q in asked), len(labels)))
    done = 0
    for known, said, q in asked:
        columns, at = [labels.index(label) for label in known], slice(done, done + len(q))
        scores[at, columns], sets[at, columns], done = q, said, at.stop
    own = indicator(rows[len(X) - done :], labels)
    last = slice(max(0, done - round(tail * len(X))), done)
    run.metrics.update(own, scores, sets)
    run.tail.update(own[last], scores[last], sets[last])
    return run
