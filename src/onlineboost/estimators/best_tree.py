"""BestTree: many trees that know nothing of each other, and the best one so far."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np

from onlineboost.boosters.plain import Plain
from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.hedge import BestLearner
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.segments import Segment
from onlineboost.estimators.booster import only_tree
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.settings import Names, count
from onlineboost.trees.state import Columns


@dataclass(repr=False, eq=False)
class BestTree(OnlineClassifier):
    """The best of N trees: they know nothing of each other, and the one with the fewest mistakes so far is followed.

    The paper's "best decision tree" (DT) is chosen in hindsight: see :meth:`Result.best_tree_accuracy` of what
    :func:`prequential` returns.

    Parameters
    ----------
    n_learners : int
        Number of trees. They differ in the settings drawn from ranges, and in the columns they look at.
    learner : HoeffdingTree, optional
        Settings of the trees; by default ``HoeffdingTree()``.
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs
        As in :class:`AdaBoostOLM`.

    Attributes
    ----------
    classes_ : array of labels
    mistakes_ : array of shape (n_learners,)
        Weight of the examples each tree predicted wrongly before learning them.
    best_ : int
        The tree with the fewest mistakes, the one that `predict` follows.

    Examples
    --------
    >>> from onlineboost import BestTree, prequential
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> BestTree(n_learners=10).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    >>> prequential(BestTree(n_learners=10), X, y).best_tree_accuracy(0.2)
    1.0
    """

    n_learners: int = 100
    _: KW_ONLY
    learner: Any = None
    class_weight: ClassWeight = None
    cost_matrix: CostMatrix = None
    calibrate: bool = False
    memory_limit: MemoryLimit = DEFAULT
    categorical_features: Names = None
    columns: str = "auto"
    random_state: Any = 0
    n_jobs: int | None = 1

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        n = count("n_learners", self.n_learners)
        forest = only_tree(self.learner, "BestTree")._trees(columns, np.ones(n), seed)
        segment = Segment(TreeLearners(forest), Plain(seed, n, 0, np.ones(n)))
        return Chain([segment], columns.n_numeric, seed, BestLearner(n, seed))

    def _combiner(self) -> Combiner:
        return Combiner.BEST

    def _right_by_tree(self) -> np.ndarray:
        """Which trees were right on the rows of the last call, before learning them: bool (rows, trees)."""
        return self._end.right_by_learner()

    @property
    def _end(self) -> BestLearner:
        return cast(BestLearner, self._fitted().chain.end)

    @property
    def mistakes_(self) -> np.ndarray:
        return -self._end.log_v

    @property
    def best_(self) -> int:
        return self._end.best
