"""One run of a model as a small record: accuracies, times, a learning curve, and what the booster thought meanwhile.

A record is a plain dictionary that JSON can hold:

    rows, classes                   size of the stream
    tail, full                      accuracy over the last 20 %, and over all
    best_tree                       {"tail": ..., "full": ...} of a BestTree's best tree in hindsight
    metrics                         {"kappa": ..., "log_loss": ...}: as of `Metrics.as_dict`
    seconds                         processor time of predicting and learning
    curve                           {"examples": [...], "right": [...]}: accuracy since the point before
    alphas, edges, expert_weights   one number per learner, at the end; missing where a model has none
    snapshots                       {"examples": [...], "expert_weights": [[...], ...]} along the way, on request

Systems that have been run on several data sets are ranked by `mean_ranks`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from onlineboost.data.table import Block
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.runner import LabelQueue, Progress, Step, predict_then_learn

CURVE_POINTS = 30
MAX_SNAPSHOTS = 1000  # kept of a stream whose length is not known
SNAPSHOTS = 24  # at most; a snapshot is taken after a block, so cut the rows into so many pieces
PER_LEARNER = {"alphas": "alphas_", "edges": "edges_", "expert_weights": "expert_weights_"}

Record = dict[str, Any]


class Recorder:
    """The figures of a run, counted step by step, and the record that they make."""

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


# ----------------------------------------------------------------------------------------- several data sets


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
