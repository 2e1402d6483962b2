"""What a classifier warns of, each cause once: data that are not as they seem, and what a model has become."""

from __future__ import annotations

from functools import partial
from typing import Any

from onlineboost.data.names import Extra
from onlineboost.data.warn import Remarks, warn
from onlineboost.estimators import memory
from onlineboost.estimators.model import Model

SLOW = 10_000_000  # learners x classes x (classes + columns) from which on a row takes milliseconds


class Telling:
    """A classifier that remembers what it has warned of, as long as it lives: another `fit` says nothing twice."""

    def _tell(self, remarks: Remarks) -> None:
        told: dict[str, Any] = self.__dict__.setdefault("_told_", {})
        for cause, words in remarks.items():
            if cause in told:
                continue
            if isinstance(words, Extra) and not words.names & told.get("extra", frozenset()):
                told["extra"] = words.names
                continue
            told[cause] = True
            warn(words())

    def _tell_learned(self, n_rows: int) -> None:
        """What there is to say after so many rows were learned: last, since a warning may be an error."""
        model: Model | None = self.__dict__.get("_model")
        if model is not None:
            memory.look_at_limit(model, n_rows)
            remarks, model.remarks = model.remarks, {}
            self._tell(remarks | _slow(model, self))


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
