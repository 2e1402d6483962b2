"""What a classifier warns of, each cause once: data that are not as they seem, and what a model has become."""

from __future__ import annotations

from functools import partial
from typing import Any

from onlineboost.chain.model import Model
from onlineboost.data.columns import Extra
from onlineboost.data.errors import Remarks, warn
from onlineboost.estimators import memory

SLOW = 10_000_000  # learners x classes x (classes + columns) from which on a row takes milliseconds


def tell(told: dict[str, Any], remarks: Remarks) -> None:
    """Warn of what has not been `told` yet; that is remembered as long as a classifier lives."""
    for cause, words in remarks.items():
        if cause in told:
            continue
        if isinstance(words, Extra) and not words.names & told.get("extra", frozenset()):
            told["extra"] = words.names
            continue
        told[cause] = True
        warn(words())


def after_learning(model: Model, estimator: Any, n_rows: int) -> Remarks:
    """What there is to say after so many rows were learned."""
    memory.look_at_limit(model, n_rows)
    remarks, model.remarks = model.remarks, {}
    return remarks | _slow(model, estimator)


def _slow(model: Model, estimator: Any) -> Remarks:
    k, columns = model.k, len(model.encoder.names)
    learners: int = getattr(estimator, "n_learners", 1)
    if learners * k * (k + columns) <= SLOW:
        return {}
    return {"slow": partial(_slow_words, type(estimator).__name__, learners, k, columns)}


def _slow_words(name: str, learners: int, k: int, columns: int) -> str:
    return (
        f"a row now takes {name} some milliseconds, with {learners} learners, {k} classes and {columns} columns. It is "
        f"quicker with fewer learners (n_learners), fewer columns, or rare classes called 'other'; where there are "
        f"many classes, OnlineMBBM and OzaBoost are quicker than AdaBoostOLM (docs/limits.md)"
    )
