"""Measuring a model: test-then-train with all predictions kept, or none; a hold-out; two baselines that it should beat.

`prequential` is for rows in memory. `observe` keeps no row: of a run it makes figures, and a small record for reports.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.table import Block, Table
from onlineboost.evaluation.metrics import Metrics
from onlineboost.evaluation.results import Result, Tally
from onlineboost.evaluation.runner import (
    LabelQueue,
    Progress,
    Step,
    cut,
    distinct,
    in_columns,
    predict_then_learn,
    rows_and_labels,
)
from onlineboost.evaluation.sums import checked_weight

CURVE_POINTS = 30
MAX_SNAPSHOTS = 1000  # kept of a stream whose length is not known
SNAPSHOTS = 24  # at most; a snapshot is taken after a block, so cut the rows into so many pieces
PER_LEARNER = {"alphas": "alphas_", "edges": "edges_", "expert_weights": "expert_weights_"}

Record = dict[str, Any]


def prequential(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    classes: Any = None,
    delay: Any = None,
    times: Any = None,
    weight: Any = None,
    proba: bool = True,
    progress: Progress | None = None,
) -> Result:
    """Predict every example, then learn it, in one pass; at once, or when its label comes.

    Parameters
    ----------
    model
        A classifier of this package (one compiled pass), or any other with ``partial_fit`` and ``predict`` (row by
        row). It is changed: it has learned the stream afterwards.
    X, y
        The stream: arrays or frames; or, with `y` left out, an iterable of :class:`~onlineboost.data.Block`.
    classes
        All labels; by default those of `y`. With blocks and no `classes`, they grow as labels are met.
    delay
        How late labels come: after so many more rows were predicted, or so much later by `times`; one for all rows, or
        an array with one for each. Rows go through one by one then, and nothing is predicted (None) before the first
        label has come. See docs/delayed-labels.md. None: every label comes right after its prediction.
    times
        When each row comes, in order: an array of numbers or dates, for a `delay` in the same unit.
    weight
        How much each row counts, for the model (`sample_weight`) and for the metrics; rows of weight 0 are left out.
    proba
        Whether the probabilities of the classes are kept, too, if the model has any: float64 (rows, classes).
    progress
        Called after every block with (examples so far, share of the stream so far).

    Returns
    -------
    Result
        Its seconds are those of predicting and learning (wall time), without compiling.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM, prequential
    >>> X, y = [[0.0], [1.0]] * 200, ["low", "high"] * 200
    >>> prequential(AdaBoostOLM(n_learners=10), X, y).tail_accuracy
    1.0
    """
    blocks: Iterable[Block] = X
    if y is None and weight is not None:
        raise DataError("weight needs X and y: blocks have no weights")
    if y is not None:
        X, y = rows_and_labels(X, y)
        if delay is not None:
            LabelQueue(delay, times).check_rows(len(y))
        if weight is not None:
            weight = checked_weight(weight, len(y))
            keep = weight > 0.0
            if not keep.all():
                X, y, weight = X[keep], y[keep], weight[keep]
                delay, times = (part if np.ndim(part) == 0 else np.asarray(part)[keep] for part in (delay, times))
        blocks = cut(X, y)
        classes = distinct(y) if classes is None else classes
    labels = None if delay is None else LabelQueue(delay, times)
    run = predict_then_learn(model, blocks, classes, labels=labels, proba=proba, weight=weight, progress=progress)
    steps = list(run)
    known = next((step.classes for step in reversed(steps) if step.classes is not None), None)
    trees = [step.tree_right for step in steps if step.tree_right is not None]
    return Result(
        np.concatenate([step.predictions for step in steps]),
        np.concatenate([step.block.y for step in steps]),
        sum(step.seconds for step in steps),
        np.concatenate(trees) if trees else None,
        None if known is None else in_columns([(len(s.block), s.probabilities, s.classes) for s in steps], known),
        known,
        weight,
    )


def warm_up(model: Any) -> None:
    """Let a model that is not needed otherwise learn a few rows: what it compiles or loads is not timed later.

    The rows have a numeric and a nominal column, since either has kernels of its own.
    """
    numbers, words = np.arange(12.0), np.array(["a", "b", "c"] * 4, object)
    prequential(model, Table(("number", "word"), (numbers, words), {"word": ("a", "b", "c")}), words)


def holdout(
    model: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, every: int | None = None, classes: Any = None
) -> list[tuple[int, Metrics]]:
    """Learn X, y in order, and predict X_test after every so many rows; (rows learned, metrics) of each time.

    Parameters
    ----------
    model
        A classifier with ``partial_fit`` and ``predict``. It has learned the stream afterwards.
    X, y
        The stream, arrays or frames.
    X_test, y_test
        Rows that are not learned. Take later ones than those of the stream if it may change with time.
    every
        Rows learned between two looks; None: there is one look, at the end.
    classes
        All labels; by default those of `y` and `y_test`.

    Examples
    --------
    >>> from onlineboost import HoeffdingTree
    >>> X, y = np.tile([[0.0], [1.0]], (200, 1)), np.tile(["low", "high"], 200)
    >>> looks = holdout(HoeffdingTree(), X[:300], y[:300], X[300:], y[300:], every=150)
    >>> [(rows, metrics.accuracy) for rows, metrics in looks]
    [(150, 1.0), (300, 1.0)]
    """
    if every is not None and (not isinstance(every, int | np.integer) or every < 1):
        raise ValueError(f"every must be a number of rows, at least 1, got {every!r}")
    (X, y), (X_test, y_test) = rows_and_labels(X, y), rows_and_labels(X_test, y_test)
    classes = distinct(np.concatenate([y, y_test])) if classes is None else classes
    looks, rows = [], len(y) if every is None else int(every)
    for start in range(0, len(y), rows):
        stop = min(start + rows, len(y))
        model.partial_fit(X[start:stop], y[start:stop], classes=classes)  # nobody asks what it says of these rows
        metrics = Metrics()
        p = model.predict_proba(X_test) if hasattr(model, "predict_proba") else None
        metrics.add(y_test, model.predict(X_test), probabilities=p, classes=getattr(model, "classes_", None))
        looks.append((stop, metrics))
    return looks


# -------------------------------------------------------------------------------------------------------- records


class Recorder:
    """The figures of a run, counted step by step, and the record that they make: a dictionary that JSON can hold.

    rows, classes                   size of the stream
    tail, full                      accuracy over the last 20 %, and over all
    best_tree                       {"tail": ..., "full": ...} of a BestTree's best tree in hindsight
    metrics                         {"kappa": ..., "log_loss": ...}: as of `Metrics.as_dict`
    seconds                         processor time of predicting and learning
    curve                           {"examples": [...], "right": [...]}: accuracy since the point before
    alphas, edges, expert_weights   one number per learner, at the end; missing where a model has none
    snapshots                       {"examples": [...], "expert_weights": [[...], ...]} along the way, on request
    """

    def __init__(self, model: Any, *, snapshots: bool = False) -> None:
        self.model, self.tally = model, Tally()
        self._cpu_seconds = 0.0
        self._snapshots = snapshots
        self._every = 1  # block that a snapshot is taken after; of a long stream in the end every second, fourth, ...
        self._steps = 0
        self._seen: list[int] = []
        self._weights: list[list[float]] = []

    def add(self, step: Step) -> None:
        """A block that the model has predicted and learned."""
        self.tally.add_step(step)
        self._cpu_seconds += step.cpu_seconds
        self._steps += 1
        if not self._snapshots or self._steps % self._every:
            return
        if (v := per_learner(self.model, "expert_weights_")) is not None:
            self._seen.append(len(self.tally))
            self._weights.append(v)
            if len(self._seen) > MAX_SNAPSHOTS:
                self._seen, self._weights, self._every = self._seen[1::2], self._weights[1::2], 2 * self._every

    def record(self, n_classes: int) -> Record:
        """All that was seen."""
        tally = self.tally
        examples, right = tally.curve(CURVE_POINTS)
        record: Record = {
            "rows": len(tally),
            "classes": n_classes,
            "tail": tally.tail_accuracy(0.2),
            "full": tally.accuracy,
            "metrics": tally.metrics.as_dict(),
            "seconds": round(self._cpu_seconds, 4),
            "curve": {"examples": examples.tolist(), "right": np.round(right, 5).tolist()},
        }
        if tally.trees is not None:
            record["best_tree"] = {"tail": tally.best_tree_accuracy(0.2), "full": tally.best_tree_accuracy()}
        for name, attribute in PER_LEARNER.items():
            if (values := per_learner(self.model, attribute)) is not None:
                record[name] = values
        if self._seen:
            keep = np.unique(np.linspace(0, len(self._seen) - 1, SNAPSHOTS).round().astype(int))
            shots = {"examples": [self._seen[i] for i in keep], "expert_weights": [self._weights[i] for i in keep]}
            record["snapshots"] = shots
        return record


def observe(
    model: Any,
    blocks: Iterable[Block],
    classes: Any,
    *,
    snapshots: bool = False,
    delay: Any = None,
    proba: bool = True,
    progress: Progress | None = None,
) -> tuple[Tally, Record]:
    """Test-then-train a model: its figures, and its record. No row is kept, so memory does not grow with the stream.

    `delay` and `proba` are as in `prequential`, the delay in rows.
    """
    recorder = Recorder(model, snapshots=snapshots)
    labels = None if delay is None else LabelQueue(delay)
    for step in predict_then_learn(model, blocks, classes, labels=labels, proba=proba, progress=progress):
        recorder.add(step)
    return recorder.tally, recorder.record(len(classes))


def per_learner(model: Any, attribute: str) -> list[float] | None:
    """One number per learner, or None if the model has none; a mean over the classes if it has a booster for each."""
    values = getattr(model, attribute, None)
    if values is None:
        return None
    values = np.asarray(values, np.float64)
    return np.round(values.mean(axis=0) if values.ndim == 2 else values, 5).tolist()


def smoothed(values: np.ndarray) -> np.ndarray:
    """Each value as the mean of itself and its neighbours."""
    padded = np.pad(values, 1, mode="edge")
    return (padded[:-2] + padded[1:-1] + padded[2:]) / 3.0


# ------------------------------------------------------------------------------------------------------ baselines


class _Baseline:
    """A model that knows labels alone."""

    def predict(self, X: Any) -> np.ndarray:
        """The same label for all rows; None before the first is learned."""
        out = np.empty(len(X), object)
        out[:] = self._label()
        return out

    def partial_fit(self, X: Any, y: np.ndarray, classes: Any = None, sample_weight: Any = None) -> None:
        self.test_then_train(X, np.asarray(y), classes, sample_weight)

    def test_then_train(self, X: Any, y: np.ndarray, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """What it predicts for every example just before learning it."""
        out = np.empty(len(y), object)
        weights = [1] * len(y) if sample_weight is None else np.asarray(sample_weight).tolist()
        for b, (label, weight) in enumerate(zip(y.tolist(), weights, strict=True)):
            out[b] = self._label()
            self._learn(label, weight)
        return out

    def _label(self) -> Any:
        raise NotImplementedError

    def _learn(self, label: Any, weight: float) -> None:
        raise NotImplementedError


class MajorityClass(_Baseline):
    """The baseline that predicts the label of most weight so far: seen most often, if rows have no weights."""

    def __init__(self) -> None:
        self.counts: dict[Any, float] = {}

    def _label(self) -> Any:
        return max(self.counts, key=self.counts.__getitem__) if self.counts else None

    def _learn(self, label: Any, weight: float) -> None:
        self.counts[label] = self.counts.get(label, 0) + weight


class LastClass(_Baseline):
    """The baseline that predicts the label seen last: hard to beat where labels come in runs."""

    last: Any = None

    def _label(self) -> Any:
        return self.last

    def _learn(self, label: Any, weight: float) -> None:
        self.last = label
