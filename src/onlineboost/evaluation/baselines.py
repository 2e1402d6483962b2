"""The two simplest things to compare a classifier with: the most frequent label, and the last one."""

from __future__ import annotations

from typing import Any

import numpy as np


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
