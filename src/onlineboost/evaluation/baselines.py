"""The two simplest things to compare a classifier with: the most frequent label, and the last one."""

from __future__ import annotations

from typing import Any

import numpy as np


class MajorityClass:
    """The baseline that predicts the label seen most often so far."""

    def test_then_train(self, X: Any, y: np.ndarray, classes: Any = None) -> np.ndarray:
        counts = self.__dict__.setdefault("counts", {})
        out = np.empty(len(y), object)
        for b, label in enumerate(y.tolist()):
            out[b] = max(counts, key=counts.__getitem__) if counts else None
            counts[label] = counts.get(label, 0) + 1
        return out


class LastClass:
    """The baseline that predicts the label seen last: hard to beat where labels come in runs."""

    def test_then_train(self, X: Any, y: np.ndarray, classes: Any = None) -> np.ndarray:
        out = np.array([self.__dict__.get("last"), *y.tolist()], object)
        self.last = out[-1]
        return out[:-1]
