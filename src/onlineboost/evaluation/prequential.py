"""Measuring a model: test-then-train with all predictions kept, or none; and choosing its settings.

`prequential` is for rows in memory. `observe` keeps no row: of a run it makes figures, and a small record for reports.
`tune` is successive halving (Jamieson and Talwalkar 2016) over prequential runs. Every model predicts a row before it
learns it, and what is decided after a row is decided by rows up to it: nothing looks ahead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import numpy as np
from sklearn.base import clone

from onlineboost.data.errors import DataError
from onlineboost.data.labels import sorted_labels
from onlineboost.data.table import Block, Table
from onlineboost.data.values import weights_of
from onlineboost.evaluation.metrics import METRICS, Metrics
from onlineboost.evaluation.results import Result, Tally
from onlineboost.evaluation.runner import (
    LabelQueue,
    Progress,
    Step,
    check_model,
    cut,
    in_columns,
    predict_then_learn,
    rows_and_labels,
    written_once,
)

CURVE_POINTS = 30
MAX_SNAPSHOTS = 1000  # kept of a stream whose length is not known
SNAPSHOTS = 24  # at most; a snapshot is taken after a block, so cut the rows into this many pieces
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
    sets: float | None = None,
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
        How late labels come: this number of rows later, or this much later by `times`; one for all rows, or
        an array with one for each. Rows go through one by one then, and nothing is predicted (None) before the first
        label has come. See docs/production.md. None: every label comes right after its prediction.
    times
        When each row comes, in order: an array of numbers or dates, for a `delay` in the same unit.
    weight
        How much each row counts, for the model (`sample_weight`) and for the metrics; rows of weight 0 are left out.
    proba
        Whether the probabilities of the classes are kept, too, if the model has any: float64 (rows, classes).
    sets
        The coverage of prediction sets to keep and measure, .9 say: the model's setting `sets` is turned on.
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
    check_model(model)
    blocks: Iterable[Block] = X
    if y is None and weight is not None:
        raise DataError("weight needs X and y: blocks have no weights")
    if y is not None:
        X, y = rows_and_labels(X, y)
        y = written_once(y, model, classes)
        if delay is not None:
            LabelQueue(delay, times).check_rows(len(y))
        if weight is not None:
            weight = weights_of(weight, len(y), "weight")
            keep = weight > 0.0
            if not keep.all():
                X, y, weight = X[keep], y[keep], weight[keep]
                delay, times = (part if np.ndim(part) == 0 else np.asarray(part)[keep] for part in (delay, times))
        blocks = cut(X, y)
        classes = sorted_labels(y) if classes is None else classes
    labels = None if delay is None else LabelQueue(delay, times)
    run = predict_then_learn(
        model, blocks, classes, labels=labels, proba=proba, sets=sets, weight=weight, progress=progress
    )
    steps = list(run)
    known = next((step.classes for step in reversed(steps) if step.classes is not None), None)
    trees = [step.tree_right for step in steps if step.tree_right is not None]
    return Result(
        np.concatenate([step.predictions for step in steps]),
        np.concatenate([step.block.y for step in steps]),
        sum(step.seconds for step in steps),
        np.concatenate(trees) if trees else None,
        _of_all_steps(steps, [step.probabilities for step in steps], known),
        known,
        weight,
        None if sets is None else _of_all_steps(steps, [step.sets for step in steps], known, np.bool_),
    )


def _of_all_steps(steps: list[Step], parts: list[Any], known: Any, dtype: Any = np.float64) -> np.ndarray | None:
    """What there is of every row, in columns of the classes known; None: there is nothing."""
    if known is None or all(part is None for part in parts):
        return None
    all_parts = ((len(step.block), part, step.classes) for step, part in zip(steps, parts, strict=True))
    return in_columns(all_parts, known).astype(dtype, copy=False)


def warm_up(model: Any) -> None:
    """Let a model that is not needed otherwise learn a few rows: what it compiles or loads is not timed later.

    The rows have a numeric and a nominal column, since either has kernels of its own.
    """
    numbers, words = np.arange(12.0), np.array(["a", "b", "c"] * 4, object)
    prequential(model, Table(("number", "word"), (numbers, words), {"word": ("a", "b", "c")}), words)


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
    sets: float | None = None,
    progress: Progress | None = None,
    told: Callable[[Step], None] | None = None,
) -> tuple[Tally, Record]:
    """Test-then-train a model: its figures, and its record. No row is kept, so memory does not grow with the stream.

    `delay`, `proba` and `sets` are as in `prequential`, the delay in rows; `told` is called with every step.
    """
    recorder = Recorder(model, snapshots=snapshots)
    labels = None if delay is None else LabelQueue(delay)
    asked: dict[str, Any] = {"proba": proba, "sets": sets}
    for step in predict_then_learn(model, blocks, classes, labels=labels, **asked, progress=progress):
        recorder.add(step)
        if told is not None:
            told(step)
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


# ------------------------------------------------------------------------------------------------------- settings


MIN_ROWS = 10  # between two looks
SCORES = {name: metric.better for name, metric in METRICS.items() if metric.better}
Settings = dict[str, Any]


@dataclass(frozen=True)
class Round:
    """A look: the models that were there, and how good they had been."""

    rows: int  # learned up to then
    scores: tuple[tuple[Settings, float], ...]  # the best first
    kept: int


@dataclass(frozen=True)
class Tuned:
    """What was chosen, and why. `model` has learned all rows."""

    model: Any
    settings: Settings
    score: str
    rounds: tuple[Round, ...]
    own: Metrics  # of whoever led when a row came: what following the leader would have given

    def __repr__(self) -> str:
        chosen = ", ".join(f"{name}={value!r}" for name, value in self.settings.items())
        first, last = self.rounds[0], self.rounds[-1]
        return (
            f"Tuned({chosen}; of {len(first.scores)}, by {self.score} {last.scores[0][1]:.4f} over {last.rows:,} rows)"
        )


def tune(
    model: Any,
    settings: Mapping[str, Sequence[Any]] | Sequence[Settings],
    X: Any,
    y: Any,
    *,
    score: str = "log_loss",
    keep: float = 0.5,
    classes: Any = None,
    progress: Callable[[int, int, int], None] | None = None,
    spread: Callable[[Callable[[Any], Any], list[Any]], Iterable[Any]] = map,
) -> Tuned:
    """Run a model with many settings over a stream, and drop the worse ones as it goes.

    Parameters
    ----------
    model
        A classifier that has learned nothing; it stays as it is.
    settings
        {name: values to try}, of which all combinations are tried; or a list of dictionaries.
    X, y
        The stream: arrays or frames.
    score
        By what they are compared, over all rows so far, such as "accuracy", "balanced_accuracy", "kappa", "macro_f1",
        "roc_auc", "average_precision", "log_loss", "brier" or "ece": one of the figures that `Metrics` has.
    keep
        Share of the models that each look leaves, at least one. The looks are spread so that every stretch between two
        of them takes about as long: with 8 models and 1/2, after 1/15, 3/15 and 7/15 of the rows.
    classes
        All labels; by default those of `y`.
    progress
        Called after every look with (rows learned, rows in all, models left).
    spread
        How to call a function on many things: `onlineboost.cluster.each` does it on a cluster, `map` of a pool in some
        processes. Models and rows travel there and back between two looks.

    Examples
    --------
    >>> from onlineboost import HoeffdingTree
    >>> X, y = np.tile([[0.0], [1.0]], (300, 1)), np.tile(["low", "high"], 300)
    >>> found = tune(HoeffdingTree(), {"grace_period": [20, 100_000], "leaf_prediction": ["majority", "nba"]}, X, y)
    >>> found.settings["leaf_prediction"], found.model.n_samples_seen_
    ('nba', 600)
    """
    if score not in SCORES:
        raise ValueError(f"score must be one of {', '.join(SCORES)}, got {score!r}")
    if not 0.0 < keep < 1.0:
        raise ValueError(f"keep must lie in (0, 1), got {keep!r}")
    tried = _combinations(settings)
    X, y = rows_and_labels(X, y)
    y = written_once(y, model, classes)
    classes = sorted_labels(y) if classes is None else classes
    runners = [_Runner(clone(model).set_params(**one), one) for one in tried]
    rounds, own, start = [], Metrics(), 0
    for stop, left in _looks(len(y), len(runners), keep):
        block = Block(X[start:stop], y[start:stop], start, stop / len(y))
        runners, said = map(list, zip(*spread(_run, [(runner, block, classes) for runner in runners]), strict=True))
        own.add(block.y, said[0])  # the first of them leads, by the rows before these
        runners.sort(key=lambda runner: -SCORES[score] * runner.score(score))
        scores = tuple((runner.settings, runner.score(score)) for runner in runners)
        runners, start = runners[:left], stop
        rounds.append(Round(stop, scores, left))
        if progress is not None:
            progress(stop, len(y), left)
    return Tuned(runners[0].model, runners[0].settings, score, tuple(rounds), own)


@dataclass
class _Runner:
    """A model on its way."""

    model: Any
    settings: Settings
    metrics: Metrics = field(default_factory=Metrics)

    def score(self, name: str) -> float:
        value = getattr(self.metrics, name)
        return -SCORES[name] * math.inf if math.isnan(value) else float(value)


def _run(job: tuple[_Runner, Block, Any]) -> tuple[_Runner, np.ndarray]:
    """Predict and learn a block; the predictions."""
    runner, block, classes = job
    (step,) = predict_then_learn(runner.model, [block], classes, proba=True)
    runner.metrics.add(**step.scored)
    return runner, step.predictions


def _combinations(settings: Mapping[str, Sequence[Any]] | Sequence[Settings]) -> list[Settings]:
    if isinstance(settings, Mapping):
        names = list(settings)
        for name, values in settings.items():
            if isinstance(values, str) or not np.iterable(values):
                raise ValueError(f"settings has no list of values to try for {name!r}: give [{values!r}]")
        settings = [dict(zip(names, values, strict=True)) for values in product(*settings.values())]
    tried = list(settings) if np.iterable(settings) else []
    if not tried:
        raise ValueError("settings must have at least one combination to try: {name: [values]}, each with some values")
    if not all(isinstance(one, Mapping) for one in tried):
        raise ValueError(f"settings is {{name: [values]}}, or a list of dictionaries of settings, got {settings!r}")
    return tried


def _looks(n: int, models: int, keep: float) -> list[tuple[int, int]]:
    """(rows up to a look, models left after it): stretches as long as they are few in it, the last to the end."""
    counts = [models]
    while counts[-1] > 1:
        counts.append(max(1, min(counts[-1] - 1, round(counts[-1] * keep))))
    if n < MIN_ROWS * len(counts):
        raise DataError(f"{n} rows are too few to choose from {models} settings: at least {MIN_ROWS * len(counts)}")
    shares = np.cumsum([1.0 / count for count in counts])
    ends = [max(MIN_ROWS * (i + 1), round(n * share / shares[-1])) for i, share in enumerate(shares)]
    return list(zip([*ends[:-1], n], [*counts[1:], 1], strict=True))
