"""OzaBoost: online boosting by Oza and Russell."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np

from onlineboost.boosters.oza import new_oza
from onlineboost.chain.chain import Chain
from onlineboost.estimators.booster import boosted_chain, only_tree
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.settings import Names, count, yes_or_no
from onlineboost.trees.state import Columns


@dataclass(repr=False, eq=False)
class OzaBoost(OnlineClassifier):
    """Online boosting by Oza and Russell (2005, figure 2): each tree hands the example's weight to the next.

    An example starts with lambda = 1 (times its sample weight). Each tree learns it as often as a Poisson(lambda) draw
    says. Is it right about the example after that, lambda shrinks for the next tree; is it wrong, lambda grows; so that
    half of the total weight lies on the examples it got wrong. A tree's vote counts log((1 - eps) / eps), eps being its
    share of weight it got wrong.

    The paper leaves open what an eps of 0 or above 1/2 means. Here a tree counts as wrong on half an example at least,
    and from eps = 1/2 on its vote counts nothing. While no tree has a vote, the first one is followed.

    Parameters
    ----------
    n_learners : int
        Number of trees.
    learner : HoeffdingTree, optional
        Settings of the trees; by default ``HoeffdingTree()``.
    poisson : bool
        Whether trees learn an example as often as drawn (as published), or once with weight lambda.
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs
        As in :class:`AdaBoostOLM`.

    Attributes
    ----------
    classes_ : array of labels
    alphas_ : array of shape (n_learners,)
        Weights of the trees' votes, log((1 - eps) / eps).
    errors_ : array of shape (n_learners,)
        eps, the weighted error of each tree; 1/2 before the first example.

    Examples
    --------
    >>> from onlineboost import OzaBoost
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> OzaBoost(n_learners=10).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    _floor = 0.1  # probabilities are shares of votes

    n_learners: int = 100
    _: KW_ONLY
    learner: Any = None
    poisson: bool = True
    class_weight: ClassWeight = None
    cost_matrix: CostMatrix = None
    calibrate: bool = False
    memory_limit: MemoryLimit = DEFAULT
    categorical_features: Names = None
    columns: str = "auto"
    random_state: Any = 0
    n_jobs: int | None = 1

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        booster = new_oza(yes_or_no("poisson", self.poisson), seed, count("n_learners", self.n_learners))
        return boosted_chain(only_tree(self.learner, "OzaBoost"), booster, columns, k)

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")

    @property
    def errors_(self) -> np.ndarray:
        return self._fitted().chain.gather("errors")
