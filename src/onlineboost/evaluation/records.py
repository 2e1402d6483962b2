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
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onlineboost.data.table import Block
from onlineboost.evaluation.delay import Arrivals, steps_of
from onlineboost.evaluation.tally import Tally

CURVE_POINTS = 30
MOST_SNAPSHOTS = 1000  # kept of a stream whose length is not known
SNAPSHOTS = 24  # at most; a snapshot is taken after a block, so cut the rows into so many pieces
PER_LEARNER = {"alphas": "alphas_", "edges": "edges_", "expert_weights": "expert_weights_"}

Record = dict[str, Any]


def observe(
    model: Any,
    blocks: Iterable[Block],
    classes: Any,
    *,
    snapshots: bool = False,
    delay: Any = None,
    proba: bool = True,
    progress: Callable[[int, float], None] | None = None,
) -> tuple[Tally, Record]:
    """Test-then-train a model: its figures, and its record. No row is kept, so memory does not grow with the stream.

    `delay` and `proba` are as in `prequential`, the delay in rows.
    """
    seen: list[int] = []
    weights: list[list[float]] = []
    blocks_seen = 0
    every = 1  # block that a snapshot is taken after; of a long stream in the end every second, fourth, ...

    def after_block(examples: int, share: float) -> None:
        nonlocal blocks_seen, every
        blocks_seen += 1
        if snapshots and blocks_seen % every == 0 and (v := per_learner(model, "expert_weights_")) is not None:
            seen.append(examples)
            weights.append(v)
            if len(seen) > MOST_SNAPSHOTS:
                seen[:], weights[:], every = seen[1::2], weights[1::2], 2 * every
        if progress is not None:
            progress(examples, share)

    start = time.process_time()
    tally = Tally()
    arrivals = None if delay is None else Arrivals(delay)
    for step in steps_of(model, blocks, classes, arrivals, after_block, proba=proba):
        tally.add_step(step)
    seconds = time.process_time() - start
    examples, right = tally.curve(CURVE_POINTS)
    record: Record = {
        "rows": len(tally),
        "classes": len(classes),
        "tail": tally.tail_accuracy(0.2),
        "full": tally.accuracy,
        "metrics": tally.metrics.as_dict(),
        "seconds": round(seconds, 4),
        "curve": {"examples": examples.tolist(), "right": np.round(right, 5).tolist()},
    }
    if tally.trees is not None:
        record["best_tree"] = {"tail": tally.best_tree_accuracy(0.2), "full": tally.best_tree_accuracy()}
    for name, attribute in PER_LEARNER.items():
        if (values := per_learner(model, attribute)) is not None:
            record[name] = values
    if seen:
        keep = np.unique(np.linspace(0, len(seen) - 1, SNAPSHOTS).round().astype(int))
        record["snapshots"] = {"examples": [seen[i] for i in keep], "expert_weights": [weights[i] for i in keep]}
    return tally, record


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
