"""What classifiers tell about themselves: importances, explanations, events, trees, a summary."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from onlineboost.chain.experts import Combiner
from onlineboost.data.errors import DataError
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.estimators.model import Model
from onlineboost.estimators.why import summary
from onlineboost.estimators.why.columns import shown
from onlineboost.estimators.why.events import Event, events
from onlineboost.estimators.why.explain import explain
from onlineboost.estimators.why.explanation import Explanation
from onlineboost.estimators.why.html import framed, table
from onlineboost.estimators.why.importances import importances
from onlineboost.estimators.why.tree import TreeView


class Why(BaseEstimator):
    """Attributes and methods of a classifier that say why."""

    @abstractmethod
    def _lock(self) -> ReadWriteLock: ...

    @abstractmethod
    def _combiner(self) -> Combiner: ...

    @abstractmethod
    def _fitted(self) -> Model: ...

    @abstractmethod
    def _read(self, model: Model, x: Any) -> np.ndarray: ...

    @property
    def feature_importances_(self) -> np.ndarray:
        """How far each column moves the votes towards the label, on the rows that came last; with the sum 1.

        In the order of the columns. All 0 if no column has been of use so far. See docs/why.md.
        """
        with self._lock().reading():
            return importances(self._fitted(), self._combiner())

    def explain(self, x: Mapping[str, Any] | Sequence[Any]) -> Explanation:
        """Which columns moved the votes of one row, given as in `predict_one`; changes nothing."""
        with self._lock().reading():
            model = self._fitted()
            if not model.k:
                raise DataError("there is nothing to explain before the first class is known")
            return explain(model, self._read(model, x), self._combiner())

    @property
    def events_(self) -> list[Event]:
        """What has happened, the oldest first: learners that restarted, new classes and columns, memory used up.

        The last 512 are kept (fewer under a small memory limit).
        """
        with self._lock().reading():
            return events(self._fitted())

    def tree(self, i: int = 0, of_class: Any = None) -> TreeView:
        """Learner i's tree, to print (`to_text`), draw (`plot`) or hand to Graphviz (`to_dot`).

        Where a learner has a tree per class, or each class has learners of its own, `of_class` says whose.
        """
        with self._lock().reading():
            model = self._fitted()
            learners, place, labels, title = self._tree(model, i, of_class)
            order = model.labels.order if len(labels) == model.k and of_class is None else None
            return TreeView(learners.forest, place, model.encoder, labels, title, order)

    def _tree(self, model: Model, i: int, of_class: Any) -> tuple[Any, int, list[str], str]:
        chain, names = model.chain, list(model.labels.names)
        labels, title = [shown(label) for label in names], f"tree of learner {i}"
        segments = chain.segments
        if chain.end.takes_turns or segments[0].learners.trees_per_learner(2) > 1:
            if of_class not in names:
                raise DataError(f"each class has trees of its own: say whose with of_class, one of {names}")
            labels, title = ["another class", shown(of_class)], f"{title} for {shown(of_class)}"
            if chain.end.takes_turns:
                segments = [segments[names.index(of_class)]]
        elif of_class is not None:
            raise DataError("of_class is for models with trees for each class; here one tree knows all classes")
        n = sum(map(len, segments))
        if not isinstance(i, int | np.integer) or isinstance(i, bool):
            raise DataError(f"i is the number of a learner, from 0 to {n - 1}, got {i!r}")
        if not 0 <= i < n:
            raise DataError(f"there is no learner {i}: they are 0 to {n - 1}")
        for segment in segments:
            if i < len(segment):
                break
            i -= len(segment)
        trees = segment.learners.trees_of(i)
        if not trees:
            raise DataError(segment.learners.no_tree)
        return segment.learners, trees[names.index(of_class) if len(trees) > 1 else 0], labels, title

    def summary(self) -> str:
        """The model in a few lines of text: what it has learned, what it takes, and which columns matter."""
        with self._lock().reading():
            return summary.text(self, self._fitted(), self._combiner())

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it the summary of a model that has learned something."""
        diagram: str = super()._html_repr()
        if "_model" not in self.__dict__ or self.__dict__["_model"].damage:
            return diagram
        with self._lock().reading():
            return diagram + framed(table(summary.lines(self, self._fitted(), self._combiner())))
