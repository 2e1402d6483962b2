"""Settings chosen on the stream itself: all run side by side, and the worse half drops out, again and again.

Successive halving (Jamieson and Talwalkar 2016) over prequential runs. Every model predicts a row before it learns it,
and what is decided after a row is decided by rows up to it: nothing looks ahead. What is left goes on to the end.
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
from onlineboost.data.table import Block
from onlineboost.evaluation.metrics import METRICS, Metrics
from onlineboost.evaluation.runner import distinct, predict_then_learn, rows_and_labels

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
        "log_loss", "brier" or "ece": one of the figures that `Metrics` has.
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
    classes = distinct(y) if classes is None else classes
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
