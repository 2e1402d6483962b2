"""The systems the paper compares with: OzaBoost, BestTree, OneVsAll, AdaBoostOVA."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from onlineboost._compile.fastmath import child_key
from onlineboost.boosters import stages
from onlineboost.chain.chain import Chain, Rows, TreeSegment
from onlineboost.chain.experts import EXPERT_RULES
from onlineboost.chain.ova import GroupSegment, OneVsAllChain
from onlineboost.chain.oza import CORRECT, WRONG, OzaSegment
from onlineboost.estimators.base import Model, OnlineClassifier
from onlineboost.estimators.boosters import AdaBoostOLM, Booster, HoeffdingTree, Range, _olm_stage, _scales
from onlineboost.trees.state import N_LEAVES, N_NODES, Forest, trees_of


def _tree(learner: Any, whose: str) -> HoeffdingTree:
    if learner is None:
        return HoeffdingTree()
    if not isinstance(learner, HoeffdingTree):
        raise ValueError(f"learner of {whose} must be a HoeffdingTree, got {learner!r}")
    return learner


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
    categorical_features, random_state, n_jobs
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

    def __init__(
        self,
        n_learners: int = 100,
        *,
        learner: Any = None,
        poisson: bool = True,
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_learners = n_learners
        self.learner = learner
        self.poisson = poisson
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        if not isinstance(self.poisson, bool | np.bool_):
            raise ValueError(f"poisson must be True or False, got {self.poisson!r}")
        stage = stages.new_stage(stages.OZA, 0, stages.ARGMAX, seed, _scales(1.0, self.n_learners, seed))
        forest = _tree(self.learner, "OzaBoost")._forest(n_numeric, nominal_sizes, stage.scale, seed)
        return Chain([OzaSegment(forest, stage, bool(self.poisson))], n_numeric)

    def _rule(self) -> int:
        return EXPERT_RULES["last"]

    def _probabilities(self, model: Model, X: np.ndarray) -> np.ndarray:
        rows = model.chain.predict(X, model.k)
        s = rows.s
        s[np.arange(len(s)), rows.experts[:, -1]] += s.sum(axis=1) == 0.0  # no tree has a vote yet
        return s / s.sum(axis=1, keepdims=True)

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")

    @property
    def errors_(self) -> np.ndarray:
        sums = self._fitted().chain.gather("edge_sums")
        wrong, total = sums[:, WRONG], sums[:, CORRECT] + sums[:, WRONG]
        return np.divide(wrong, total, out=np.full(len(sums), 0.5), where=total > 0.0)


class BagChain(Chain):
    """A chain that remembers which trees were right on the rows of the last call, one bit each."""

    right: list[np.ndarray]

    def _steps(
        self, on_line: dict[int, Rows], y: np.ndarray, weight: np.ndarray, parts: list[slice]
    ) -> list[Callable[[int], None]]:
        def note(b: int) -> None:
            self.right.append(np.packbits(on_line[b].experts == y[parts[b], None], axis=1))

        return [*super()._steps(on_line, y, weight, parts), note]

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "right": []}


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
    categorical_features, random_state, n_jobs
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

    def __init__(
        self,
        n_learners: int = 100,
        *,
        learner: Any = None,
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_learners = n_learners
        self.learner = learner
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        stage = stages.new_stage(stages.PLAIN, 0, stages.ARGMAX, seed, _scales(1.0, self.n_learners, seed))
        forest = _tree(self.learner, "BestTree")._forest(n_numeric, nominal_sizes, stage.scale, seed)
        chain = BagChain([TreeSegment(forest, stage)], n_numeric)
        chain.right = []
        return chain

    def _rule(self) -> int:
        return EXPERT_RULES["best"]

    def _learn(self, *args: Any) -> np.ndarray:
        self._bag(self._model).right = []
        return super()._learn(*args)

    def _predict_codes(self, model: Model, X: np.ndarray, k: int) -> np.ndarray:
        return self._ask_best(model, X, k).experts[:, model.log_v.argmax()].astype(np.int64)

    def _probabilities(self, model: Model, X: np.ndarray) -> np.ndarray:
        s = self._ask_best(model, X, model.k).s  # the tree's distribution, all 0 before it has learned
        s += (s.sum(axis=1, keepdims=True) == 0.0) / model.k
        return s / s.sum(axis=1, keepdims=True)

    def _ask_best(self, model: Model, X: np.ndarray, k: int) -> Rows:
        """Send rows through the best tree alone."""
        rows = model.chain._rows(X, np.empty((len(X), 0)), k)
        i = int(model.log_v.argmax())
        for segment in model.chain.segments:
            n = len(segment.stage.alpha)
            if i < n and isinstance(segment, TreeSegment):
                one = trees_of(segment.forest, slice(i, i + 1))
                TreeSegment(one, stages.part_of(segment.stage, i, i + 1)).predict(rows, 1, None)
                break
            i -= n
        return rows

    @staticmethod
    def _bag(model: Model) -> BagChain:
        assert isinstance(model.chain, BagChain)
        return model.chain

    def _right_by_tree(self) -> np.ndarray:
        """Which trees were right on the rows of the last call, before learning them: bool (rows, trees)."""
        packed = np.concatenate(self._bag(self._fitted()).right)
        return np.unpackbits(packed, axis=1, count=len(self._model.log_v)).astype(bool)

    @property
    def mistakes_(self) -> np.ndarray:
        return -self._fitted().log_v

    @property
    def best_(self) -> int:
        return int(self._fitted().log_v.argmax())


class OneVsAll(OnlineClassifier):
    """One binary Adaboost.OLM per class: is it this class or another one? (OvA in the paper.)

    At two classes Adaboost.OLM is Adaboost.OL of Beygelzimer, Kale and Luo (2015). The score of a class is the share of
    Hedge weight, in its booster, of the experts that say yes; the highest wins, and among equals the one whose
    booster's votes lean most to yes. A class that turns up late gets a booster that starts in that round, with no past.

    Parameters
    ----------
    n_learners : int
        Number of weak learners of each booster; there are as many boosters as classes.
    loss, learner, weight_scale, vote, categorical_features, random_state, n_jobs
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

    def __init__(
        self,
        n_learners: int = 100,
        *,
        loss: str = "logistic",
        learner: Any = None,
        weight_scale: Range | Sequence[float] | str = "rising",
        vote: str = "tempered",
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_learners = n_learners
        self.loss = loss
        self.learner = learner
        self.weight_scale = weight_scale
        self.vote = vote
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        self._booster(n_numeric, nominal_sizes, seed)  # bad settings show here
        return OneVsAllChain(n_numeric)

    def _booster(self, n_numeric: int, nominal_sizes: list[int], seed: int) -> list:
        names = ("loss", "learner", "weight_scale", "vote")
        booster = AdaBoostOLM(self.n_learners, **{name: getattr(self, name) for name in names})
        return booster._chain(n_numeric, nominal_sizes, 2, seed).segments

    def _set_classes(self, model: Model, k: int) -> None:
        chain, encoder = self._ova(model), model.encoder
        for j in range(len(chain.boosters), k):
            segments = self._booster(len(encoder.numeric), encoder.sizes, child_key(model.seed, j))
            for segment in segments:
                segment.new_values(encoder.sizes, encoder.births)
            chain.add_class(segments)

    def _rule(self) -> int:
        return EXPERT_RULES["last"]

    def _probabilities(self, model: Model, X: np.ndarray) -> np.ndarray:
        rows = model.chain.predict(X, model.k)
        lean = np.exp(rows.e - rows.e.max(axis=1, keepdims=True))  # decides where all scores are 0 or equal
        p = rows.s + 1e-6 * lean / lean.sum(axis=1, keepdims=True)
        return p / p.sum(axis=1, keepdims=True)

    @staticmethod
    def _ova(model: Model) -> OneVsAllChain:
        assert isinstance(model.chain, OneVsAllChain)
        return model.chain

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha").reshape(len(self.classes_), -1)

    @property
    def edges_(self) -> np.ndarray:
        segments = self._fitted().chain.segments
        return np.concatenate([stages.edges(segment.stage, 2) for segment in segments]).reshape(len(self.classes_), -1)

    @property
    def expert_weights_(self) -> np.ndarray:
        log_v = np.array(self._ova(self._fitted()).log_v)
        v = np.exp(log_v - log_v.max(axis=1, keepdims=True))
        return v / v.sum(axis=1, keepdims=True)


class AdaBoostOVA(Booster):
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
    loss, weight_scale, combiner, vote, categorical_features, random_state, n_jobs
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

    def __init__(
        self,
        n_learners: int = 100,
        *,
        loss: str = "logistic",
        learner: Any = None,
        weight_scale: Range | Sequence[float] | str = "rising",
        combiner: str = "hedge",
        vote: str = "tempered",
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_learners = n_learners
        self.loss = loss
        self.learner = learner
        self.weight_scale = weight_scale
        self.combiner = combiner
        self.vote = vote
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        self._rule()
        stage = _olm_stage(self.loss, self.vote, self.weight_scale, self.n_learners, seed)
        forest = self._trees(n_numeric, nominal_sizes, stage.scale, seed)
        forest.used[[N_NODES, N_LEAVES]] = 0
        return Chain([GroupSegment(trees_of(forest, slice(0)), stage)], n_numeric)

    def _trees(self, n_numeric: int, nominal_sizes: list[int], unit: np.ndarray, seed: int) -> Forest:
        return _tree(self.learner, "AdaBoostOVA")._forest(n_numeric, nominal_sizes, unit, seed)

    def _set_classes(self, model: Model, k: int) -> None:
        encoder = model.encoder
        for segment in model.chain.segments:
            assert isinstance(segment, GroupSegment)
            for j in range(segment.trees_per_learner, k):
                seed = child_key(model.seed, j)
                segment.add_class(self._trees(len(encoder.numeric), encoder.sizes, segment.stage.scale, seed))

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")
