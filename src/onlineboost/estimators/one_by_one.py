"""Classifiers that learn row by row (`learn_one`, as river has it) as weak learners: with `partial_fit`."""

from __future__ import annotations

from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator


class OneByOne(BaseEstimator):
    """A classifier with `learn_one` and `predict_proba_one`, dressed as one that learns from arrays.

    Columns are named "x0", "x1", ...; nominal ones are codes. What is missing is left out of the row.
    """

    classes_: np.ndarray

    def __init__(self, model: Any) -> None:
        self.model = model

    def __sklearn_clone__(self) -> Self:
        """One that has learned nothing: scikit-learn would copy the model as it is."""
        return type(self)(self.model.clone())

    def partial_fit(self, X: np.ndarray, y: np.ndarray, classes: Any = None) -> Self:
        self.classes_ = classes if classes is not None else self.classes_
        for row, label in zip(X, y.tolist(), strict=True):
            self.model.learn_one(_named(row), label)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Evenly spread where the model has no opinion."""
        p = np.array([[self._said(row).get(label, 0.0) for label in self.classes_.tolist()] for row in X])
        total = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1.0 / p.shape[1])
        return np.divide(p, total, out=even, where=total > 0.0)  # type: ignore[no-any-return]

    def _said(self, row: np.ndarray) -> dict[Any, float]:
        said: dict[Any, float] = self.model.predict_proba_one(_named(row))
        return said


class WeightedOneByOne(OneByOne):
    """One that takes the weight of an example too."""

    def partial_fit(self, X: np.ndarray, y: np.ndarray, classes: Any = None, sample_weight: Any = None) -> Self:
        self.classes_ = classes if classes is not None else self.classes_
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        for row, label, weight in zip(X, y.tolist(), weights.tolist(), strict=True):
            self.model.learn_one(_named(row), label, w=weight)
        return self


def learns_one_by_one(learner: Any) -> bool:
    return not hasattr(learner, "partial_fit") and hasattr(learner, "learn_one") and hasattr(learner, "clone")


def one_by_one(learner: Any, seed: int) -> OneByOne:
    """A fresh copy of such a classifier, with this seed if it takes one."""
    takes_seed = "seed" in signature(type(learner)).parameters
    copy = learner.clone({"seed": seed}) if takes_seed else learner.clone()
    weighted = "w" in signature(copy.learn_one).parameters
    return (WeightedOneByOne if weighted else OneByOne)(copy)


def _named(row: np.ndarray) -> dict[str, float]:
    return {f"x{c}": value for c, value in enumerate(row.tolist()) if value == value}
