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

    def partial_fit(self, X: Any, y: np.ndarray, classes: Any = None) -> None:
        for label in np.asarray(y).tolist():
            self._learn(label)

    def test_then_train(self, X: Any, y: np.ndarray, classes: Any = None) -> np.ndarray:
        """What it predicts for every example just before learning it."""
        out = np.empty(len(y), object)
        for b, label in enumerate(y.tolist()):
            out[b] = self._label()
            self._learn(label)
        return out

    def _label(self) -> Any:
        raise NotImplementedError

    def _learn(self, label: Any) -> None:
        raise NotImplementedError


class MajorityClass(_Baseline):
    """The baseline that predicts the label seen most often so far."""

    def __init__(self) -> None:
        self.counts: dict[Any, int] = {}

    def _label(self) -> Any:
        return max(self.counts, key=self.counts.__getitem__) if self.counts else None

    def _learn(self, label: Any) -> None:
        self.counts[label] = self.counts.get(label, 0) + 1


class LastClass(_Baseline):
    """The baseline that predicts the label seen last: hard to beat where labels come in runs."""

    last: Any = None

    def _label(self) -> Any:
        return self.last

    def _learn(self, label: Any) -> None:
        self.last = label
