"""AdaBoostOVA: Adaboost.OLM with weak learners made of one binary tree per class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost.chain.chain import Chain
from onlineboost.chain.hedge import Hedge
from onlineboost.chain.learners import BinaryTreeLearners
from onlineboost.chain.model import Model
from onlineboost.chain.segments import Segment
from onlineboost.estimators.booster import BoosterClassifier, booster_of, of_the_paper, only_tree
from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.settings import ALL_VOTES, VOTES, Names, Scale
from onlineboost.trees.state import Columns, no_trees


@dataclass(repr=False, eq=False)
class AdaBoostOVA(BoosterClassifier):
    """Adaboost.OLM with weak learners made of one binary tree per class (AdaOVA in the paper).

    Tree j of a weak learner tells class j from all others, and the learner's distribution is p_j = P_j(mine) / sum. All
    its trees learn an example with the same weight. There are n_learners times n_classes trees. When a class turns up
    late, each weak learner gets one more tree, which has learned nothing yet.

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    learner : HoeffdingTree, optional
        Settings of the trees; by default ``HoeffdingTree()``.
    loss, weight_scale, combiner, vote
        The booster, as in :class:`AdaBoostOLM`.
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs
        As in :class:`AdaBoostOLM`.

    Attributes
    ----------
    classes_ : array of labels
    alphas_, edges_, expert_weights_ : arrays of shape (n_learners,)
        As in :class:`AdaBoostOLM`.

    Examples
    --------
    >>> from onlineboost import AdaBoostOVA
    >>> X, y = [[0.0], [1.0], [2.0]] * 50, ["low", "middle", "high"] * 50
    >>> AdaBoostOVA(n_learners=10).fit(X, y).predict([[0.1], [1.9]]).tolist()
    ['low', 'high']
    """

    n_learners: int = 100
    _: KW_ONLY
    loss: str = "logistic"
    learner: Any = None
    weight_scale: Scale = "rising"
    combiner: str = "hedge"
    vote: str = "tempered"
    class_weight: ClassWeight = None
    cost_matrix: CostMatrix = None
    calibrate: bool = False
    memory_limit: MemoryLimit = DEFAULT
    categorical_features: Names = None
    columns: str = "auto"
    random_state: Any = 0
    n_jobs: int | None = 1

    _votes = VOTES
    as_printed = as_programmed = False  # settings of the paper's form alone

    @classmethod
    def paper(cls, n_learners: int = 100, **settings: Any) -> PaperOVA:
        """As in the paper; `as_printed`, `as_programmed` and others as in :meth:`AdaBoostOLM.paper`."""
        return PaperOVA(n_learners, **of_the_paper(settings))

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        self._combiner()  # a bad setting shows here
        booster = booster_of(self, self.n_learners, seed)
        tree = only_tree(self.learner, "AdaBoostOVA")
        none = no_trees(tree._trees(columns, booster.scale, seed))
        n = booster.n_learners
        return Chain([Segment(BinaryTreeLearners(none, n), booster)], columns.n_numeric, seed, Hedge(n, seed))

    def _check_new_classes(self, model: Model) -> None:
        only_tree(self.learner, "AdaBoostOVA")._trees(model.columns, np.ones(1), model.chain.seed)

    def _set_classes(self, model: Model, k: int) -> None:
        tree = only_tree(self.learner, "AdaBoostOVA")
        for segment in model.chain.segments:
            learners, booster = cast(BinaryTreeLearners, segment.learners), segment.booster
            for j in range(learners.n_classes, k):
                seed = child_key(model.chain.seed, j)
                learners.add_class(tree._trees(model.columns, booster.scale, seed, first=booster.offset))

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")


@dataclass(repr=False, eq=False)
class PaperOVA(AdaBoostOVA):
    """What `AdaBoostOVA.paper` makes: with the settings that are there to be compared with."""

    _votes = ALL_VOTES

    as_printed: bool = field(default=False, kw_only=True)
    as_programmed: bool = field(default=False, kw_only=True)
