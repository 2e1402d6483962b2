"""Boosters and ensembles to compare with: Oza and Russell's, one booster or tree per class, the best of many trees."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, cast

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost.boosters.oza import new_oza
from onlineboost.boosters.plain import Plain
from onlineboost.chain.chain import Chain
from onlineboost.chain.evidence import with_classes
from onlineboost.chain.experts import Combiner
from onlineboost.chain.hedge import BestLearner, Hedge
from onlineboost.chain.learners import BinaryTreeLearners, TreeLearners
from onlineboost.chain.model import Model
from onlineboost.chain.one_vs_all import OneVsAllEnd
from onlineboost.chain.segments import Segment
from onlineboost.estimators.booster import (
    AsInThePaper,
    BoosterClassifier,
    boosted_chain,
    booster_of,
    of_all_learners,
    of_the_paper,
    only_tree,
    weak_learners,
)
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.settings import Scale, count, yes_or_no
from onlineboost.trees.state import Columns, no_trees


@dataclass(repr=False, eq=False)
class OzaBoost(OnlineClassifier):
    """Online boosting by Oza and Russell (2005, figure 2): each tree hands the example's weight to the next.

    An example starts with lambda = 1 (times its sample weight). Each tree learns it as often as a Poisson(lambda) draw
    says. If it is then right about the example, lambda shrinks for the next tree; if it is wrong, lambda grows, so that
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
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs, sets
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
    calibrate: bool = False
    n_jobs: int | None = 1

    alphas_, errors_ = of_all_learners("alpha"), of_all_learners("errors")

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        booster = new_oza(yes_or_no("poisson", self.poisson), seed, count("n_learners", self.n_learners))
        return boosted_chain(only_tree(self.learner, "OzaBoost"), booster, columns, k)


@dataclass(repr=False, eq=False)
class OneVsAll(OnlineClassifier):
    """One binary Adaboost.OLM per class: is it this class or another one? (OvA in the paper.)

    At two classes Adaboost.OLM is Adaboost.OL of Beygelzimer, Kale and Luo (2015). The score of a class is the share of
    Hedge weight, in its booster, of the experts that say yes; the highest wins, and among equals the one whose
    booster's votes lean most to yes. A class that turns up late gets a booster that starts in that round, with no past.

    Parameters
    ----------
    n_learners : int
        Number of weak learners of each booster; there are as many boosters as classes.
    loss, learner, weight_scale, vote
        The boosters, as in :class:`AdaBoostOLM`.
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs, sets
        As in :class:`AdaBoostOLM`.

    Attributes
    ----------
    classes_ : array of labels
    alphas_, edges_, expert_weights_ : arrays of shape (n_classes, n_learners)
        As in :class:`AdaBoostOLM`, for each class's booster.

    Examples
    --------
    >>> from onlineboost import OneVsAll
    >>> X, y = [[0.0], [1.0], [2.0]] * 50, ["low", "middle", "high"] * 50
    >>> OneVsAll(n_learners=10).fit(X, y).predict([[0.1], [1.9]]).tolist()
    ['low', 'high']
    """

    n_learners: int = 100
    _: KW_ONLY
    loss: str = "logistic"
    learner: Any = None
    weight_scale: Scale = "rising"
    vote: str = "tempered"
    calibrate: bool = False
    n_jobs: int | None = 1

    @classmethod
    def paper(cls, n_learners: int = 100, **settings: Any) -> PaperOneVsAll:
        """As in the paper; `as_printed`, `as_programmed` and others as in :meth:`AdaBoostOLM.paper`."""
        return PaperOneVsAll(n_learners, **of_the_paper(settings))

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        end = OneVsAllEnd()
        end.pattern = self._segment(columns, seed, count("n_learners", self.n_learners))  # bad settings show here
        return Chain([], columns.n_numeric, seed, end)

    def _segment(self, columns: Columns, seed: int, n: int) -> Segment:
        """A new binary booster."""
        booster = booster_of(self, n, seed)
        return Segment(weak_learners(self.learner, booster, columns, 2), booster)

    def _check_new_classes(self, model: Model) -> None:
        self._new_segment(model, model.k)

    def _rehearse(self, model: Model) -> None:
        """With a class that is there for this alone: the booster of a class comes with its first label."""
        chain = Chain([], model.chain.n_numeric, model.chain.seed, OneVsAllEnd())
        _add_class(chain, self._new_segment(model, 0))
        model.chain.place.rehearse(chain, len(model.encoder.names), 1, self._combiner())

    def _new_segment(self, model: Model, j: int) -> Segment:
        """The booster of class j in the model's chain."""
        chain = model.chain
        n = len(chain.segments[0]) if chain.segments else self.n_learners
        return self._segment(model.columns, child_key(chain.seed, j), n)

    def _set_classes(self, model: Model, k: int) -> None:
        model.chain.numbers = with_classes(model.chain.numbers, k)
        for j in range(len(model.chain.segments), k):
            _add_class(model.chain, self._new_segment(model, j))

    @property
    def alphas_(self) -> np.ndarray:
        model = self._fitted()
        return model.labels.outward(model.chain.gather("alpha").reshape(model.k, -1), axis=0)

    @property
    def edges_(self) -> np.ndarray:
        model = self._fitted()
        return model.labels.outward(model.chain.edges(2).reshape(model.k, -1), axis=0)

    @property
    def expert_weights_(self) -> np.ndarray:
        model = self._fitted()
        return model.labels.outward(model.chain.end.expert_weights(), axis=0)


@dataclass(repr=False, eq=False)
class PaperOneVsAll(AsInThePaper, OneVsAll):
    """What `OneVsAll.paper` makes: with settings that exist for comparison."""


def _add_class(chain: Chain, segment: Segment) -> None:
    """One more class. Its booster knows nothing of the past, and its steps are those of a first round."""
    segment.booster.born[:] = chain.t
    cast(OneVsAllEnd, chain.end).add_class(len(segment))
    chain.segments = [*chain.segments, segment]


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
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs, sets
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
    calibrate: bool = False
    n_jobs: int | None = 1

    alphas_ = of_all_learners("alpha")

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
        model.chain.numbers = with_classes(model.chain.numbers, k)
        tree = only_tree(self.learner, "AdaBoostOVA")
        for segment in model.chain.segments:
            learners, booster = cast(BinaryTreeLearners, segment.learners), segment.booster
            for j in range(learners.n_classes, k):
                seed = child_key(model.chain.seed, j)
                learners.add_class(tree._trees(model.columns, booster.scale, seed, first=booster.offset))


@dataclass(repr=False, eq=False)
class PaperOVA(AsInThePaper, AdaBoostOVA):
    """What `AdaBoostOVA.paper` makes: with settings that exist for comparison."""


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
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs, sets
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
    calibrate: bool = False
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
