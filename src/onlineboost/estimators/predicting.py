"""Predicting blocks of rows: labels and probabilities, by pieces and threads."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np

from onlineboost.chain.chain import BLOCK, LEAST_ROWS, LEAST_VOTES
from onlineboost.chain.experts import Combiner
from onlineboost.chain.threads import spread
from onlineboost.data.frames import rows_of
from onlineboost.data.warn import Remarks
from onlineboost.estimators.checks import check_columns
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.estimators.model import Model


class Predicting:
    """`predict`, `predict_proba` and `predict_log_proba` of a classifier."""

    @abstractmethod
    def _lock(self) -> ReadWriteLock: ...

    @abstractmethod
    def _combiner(self) -> Combiner: ...

    @abstractmethod
    def _ready(self) -> Model: ...

    @abstractmethod
    def _tell(self, remarks: Remarks) -> None: ...

    @abstractmethod
    def _threads(self) -> int: ...

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row. Changes nothing, and is safe from several threads at once.

        While another thread learns, it waits for the block at hand (docs/serving.md).
        """
        with self._lock().reading():
            model, combiner = self._ready(), self._combiner()
            X = self._encoded(model, X)
            codes = self._in_pieces(model, X, lambda piece: model.chain.predict(piece, model.k, combiner))
            return model.labels.of(codes)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes (in the order of `classes_`) for every row."""
        with self._lock().reading():
            model, combiner = self._ready(), self._combiner()
            X = self._encoded(model, X)
            return model.labels.outward(self._in_pieces(model, X, lambda piece: model.shares(piece, combiner)))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`: -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _in_pieces(self, model: Model, X: np.ndarray, predict: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
        """predict(X) by pieces that fit the cache, and by as many threads as pay. Rows know nothing of each other."""
        if not len(X):
            return predict(X)
        threads = max(1, min(self._threads(), len(X) // LEAST_ROWS))
        if len(X) * model.chain.n_learners < LEAST_VOTES:
            threads = 1
        return spread(predict, X, min(BLOCK, -(-len(X) // threads)), threads)

    def _encoded(self, model: Model, X: Any) -> np.ndarray:
        table = rows_of(X)
        check_columns(self, X, reset=False)
        encoded = model.encoder.read(table, learning=False)
        self._tell(encoded.remarks)
        return encoded.X
