"""The classifiers, as a scikit-learn user meets them: HoeffdingTree, AdaBoostOLM, OnlineMBBM."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from onlineboost._compile.fastmath import SETTING, uniform
from onlineboost.boosters import stages
from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.potentials import Tables, build_tables
from onlineboost.chain import restarts
from onlineboost.chain.chain import Chain, LearnerSegment, TreeSegment
from onlineboost.chain.experts import EXPERT_RULES, WEIGHTED
from onlineboost.estimators.base import Model, OnlineClassifier
from onlineboost.trees.state import LEAF_RULES, plant

Range = float | tuple[float, float]


def _draw(given: Range, n: int, seed: int, which: int, name: str, *, log: bool = False) -> np.ndarray:
    """A setting for each of n learners: one number for all, or drawn from a range (uniformly, or so in its log)."""
    try:
        values = np.atleast_1d(np.asarray(given, np.float64))
        good = values.shape in ((1,), (2,)) and np.isfinite(values).all() and 0.0 <= values[0] <= values[-1]
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"{name} must be a number or a (low, high) range of numbers >= 0, got {given!r}")
    if len(values) == 1:
        return np.full(n, values[0])
    low, high = values
    if log and low <= 0.0:
        raise ValueError(f"{name} is drawn from a range on a log scale: its low end must be > 0, got {given!r}")
    u = np.array([uniform(seed, SETTING, i, which) for i in range(n)])
    return low * (high / low) ** u if log else low + (high - low) * u


class HoeffdingTree(OnlineClassifier):
    """A Hoeffding tree (VFDT), by itself or as the weak learner of a booster.

    Parameters
    ----------
    grace_period : number or (low, high)
        Weight a leaf takes in between two split tries. Here and below, a range is drawn from once per learner.
    split_confidence : number or (low, high)
        delta of the Hoeffding bound: the smaller, the surer the tree must be that a column is the best one.
        A range is drawn from uniformly in the logarithm.
    tie_threshold : number or (low, high)
        tau: once the bound is below this, the leaf splits on the best column although the second is close.
        A range is drawn from uniformly in the logarithm.
    leaf_prediction : {"nba", "nb", "majority"}
        How a leaf predicts: by naive Bayes, by the shares of its classes, or (nba) by whichever of the two has been
        right more often at this leaf.
    max_features : float in (0, 1]
        Share of the columns looked at in a split try, drawn anew for every try: trees that differ make a better chain.
    categorical_features : list of names or positions, or a mask, optional
        Columns to take as nominal besides those of a text or categorical type.
    random_state : int, RandomState or None
        Seed of the settings drawn from ranges.

    Examples
    --------
    >>> from onlineboost import HoeffdingTree
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> HoeffdingTree().fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        grace_period: Range = (5, 40),
        split_confidence: Range = (0.01, 0.9),
        tie_threshold: Range = (0.01, 0.9),
        leaf_prediction: str = "nba",
        max_features: float = 0.3,
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.grace_period = grace_period
        self.split_confidence = split_confidence
        self.tie_threshold = tie_threshold
        self.leaf_prediction = leaf_prediction
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _forest(self, n_numeric: int, nominal_sizes: list[int], unit: np.ndarray, seed: int):
        """A forest of trees with these settings, one per entry of `unit`, the weight of one example."""
        n = len(unit)
        if self.leaf_prediction not in LEAF_RULES:
            raise ValueError(f"leaf_prediction must be one of {', '.join(LEAF_RULES)}, got {self.leaf_prediction!r}")
        confidence = _draw(self.split_confidence, n, seed, 1, "split_confidence", log=True)
        if confidence.min() <= 0.0 or confidence.max() >= 1.0:
            raise ValueError(f"split_confidence must lie between 0 and 1, got {self.split_confidence!r}")
        share = self.max_features
        if not (isinstance(share, int | float | np.number) and 0.0 < share <= 1.0):
            raise ValueError(f"max_features must be a share of the columns in (0, 1], got {share!r}")
        n_candidates = int(np.ceil(share * (n_numeric + len(nominal_sizes))))
        grace = _draw(self.grace_period, n, seed, 0, "grace_period")
        tie = _draw(self.tie_threshold, n, seed, 2, "tie_threshold", log=True)
        return plant(
            n, n_numeric, nominal_sizes, self.leaf_prediction, grace, confidence, tie, unit, n_candidates, seed
        )

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        unit = np.ones(1)
        stage = stages.new_stage(stages.PLAIN, 0, stages.ARGMAX, seed, unit)
        return Chain([TreeSegment(self._forest(n_numeric, nominal_sizes, unit, seed), stage)], n_numeric)

    def _rule(self) -> int:
        return EXPERT_RULES["last"]

    def _probabilities(self, model: Model, X: np.ndarray) -> np.ndarray:
        s = model.chain.predict(X, model.k).s  # one tree: s is its distribution, all 0 before it has learned
        s += (s.sum(axis=1, keepdims=True) == 0.0) / model.k
        return s / s.sum(axis=1, keepdims=True)


class Booster(OnlineClassifier):
    """What the boosters share."""

    combiner: str

    def _rule(self) -> int:
        if self.combiner not in EXPERT_RULES:
            raise ValueError(f"combiner must be one of {', '.join(EXPERT_RULES)}, got {self.combiner!r}")
        return EXPERT_RULES[self.combiner]

    @property
    def edges_(self) -> np.ndarray:
        model = self._fitted()
        return np.concatenate([stages.edges(segment.stage, max(model.k, 2)) for segment in model.chain.segments])

    @property
    def expert_weights_(self) -> np.ndarray:
        log_v = self._fitted().log_v
        v = np.exp(log_v - log_v.max())
        return v / v.sum()


class AdaBoostOLM(Booster):
    """Adaboost.OLM: adaptive online multiclass boosting (Jung, Goetz, Tewari 2017, Algorithm 2), corrected.

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    loss : {"logistic", "exponential", "squared_hinge"}
        The surrogate loss whose gradient makes the cost matrices, the weights and the steps of alpha.
    learner : HoeffdingTree, or any classifier with ``partial_fit`` and ``predict_proba``, optional
        The weak learner; by default ``HoeffdingTree()``. Others than trees run the same algorithm on a slower path,
        and need `classes` on the first call of ``partial_fit``.
    weight_scale : number, (low, high), list of numbers or "rising"
        The weights of the paper lie in [0, 1]; each learner's are multiplied by its scale. A Hoeffding tree's grace
        period and bound are in units of weight, so the scale decides how fast a tree grows. A range is drawn from
        uniformly.
        "rising": next to nothing for the first twentieth of the learners, which so stay single leaves, then from 1 to
        200 by equal factors.
    combiner : {"hedge", "weighted", "best", "last"}
        Which of the experts (expert i is the weighted vote of the first i learners) to follow: one drawn by its Hedge
        weight, anew each round; their vote by Hedge weight; the one with the fewest mistakes; the one of all learners.
    vote : {"tempered", "cost", "argmax"}
        What a learner votes for: the label of least expected cost under its distribution (with "tempered" costs, or as
        in the paper), or simply the likeliest label.
    restart : {"auto", "always", "never"}
        Whether the learners that have lately been worst start again, with settings like those of the best: while the
        stream seems to change with time, which a few learners at the end of the chain find out ("auto"); all the time;
        or never, as in the paper. See :mod:`onlineboost.chain.restarts` for the rule.
    categorical_features : list of names or positions, or a mask, optional
        Columns to take as nominal besides those of a text or categorical type.
    random_state : int, RandomState or None
        Seed. The same seed gives the same run, however the stream is cut into blocks.
    n_jobs : int or None
        Threads to learn and predict with; -1: all cores. The result is the same, bit for bit (docs/parallel.md).

    Attributes
    ----------
    classes_ : array of labels
    alphas_ : array of shape (n_learners,)
        Weights of the learners' votes.
    edges_ : array of shape (n_learners,)
        Empirical edges gamma_i in [-1, 1]; 0 is random guessing.
    expert_weights_ : array of shape (n_learners,)
        Hedge's probabilities of following each expert.
    ages_ : array of shape (n_learners,)
        Weight of the examples each learner has met since it last started.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> clf = AdaBoostOLM(n_learners=10).fit(X, y)
    >>> clf.predict([[0.1], [0.9]]).tolist()
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
        restart: str = "auto",
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
        self.restart = restart
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        if self.restart not in RESTARTS:
            raise ValueError(f"restart must be one of {', '.join(RESTARTS)}, got {self.restart!r}")
        self._rule()
        stage = _olm_stage(self.loss, self.vote, self.weight_scale, self.n_learners, seed)
        return _chain_of(self.learner, stage, n_numeric, nominal_sizes, k, seed)

    def _rounds_to_tuning(self, model: Model, t: int) -> int:
        if self.restart == "never":
            return super()._rounds_to_tuning(model, t)
        return restarts.rounds_to_review(model.watch, t, self.restart == "auto")

    def _tune(self, model: Model, k: int) -> None:
        restarts.review(model.chain, model.watch, k, model.seed, self.restart == "auto")

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")

    @property
    def ages_(self) -> np.ndarray:
        return self._fitted().chain.gather("edge_sums")[:, 2]


class OnlineMBBM(Booster):
    """OnlineMBBM: online multiclass boost-by-majority (Jung, Goetz, Tewari 2017, Algorithm 1), with exact potentials.

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    gamma : float in [0, 1), list of one for each learner, or "auto"
        The edge over random guessing that the learners are taken to have. "auto": 0.3, 0.1, 0.03 and 0.01 in turn
        along the chain, which needs no guess and is as good as the best single value (docs/mbbm.md).
    loss : {"zero_one", "logistic", "exponential", "hinge", "squared_hinge"}
        The loss that the final votes are to have little of; the potentials and costs follow from it.
    potential : {"exact", "monte_carlo"}
        How potentials are computed. "monte_carlo" is the authors' way, from 100 random draws; for comparison.
    learner, weight_scale, vote, categorical_features, random_state, n_jobs
        As in :class:`AdaBoostOLM`.
    combiner : {"hedge", "weighted", "best", "last"}
        Which of the experts (expert i is the majority of the first i votes) to follow, as in :class:`AdaBoostOLM`.
        "last", the majority of all votes, is the paper's.

    Attributes
    ----------
    classes_ : array of labels
    gammas_ : array of shape (n_learners,)
        The edge taken for each learner.
    edges_ : array of shape (n_learners,)
        Edges the learners have shown; 0 is random guessing.
    expert_weights_ : array of shape (n_learners,)
        Hedge's probabilities of following each expert.

    Examples
    --------
    >>> from onlineboost import OnlineMBBM
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> OnlineMBBM(n_learners=10, gamma=0.1).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        n_learners: int = 100,
        *,
        gamma: float | Sequence[float] | str = "auto",
        loss: str = "zero_one",
        potential: str = "exact",
        learner: Any = None,
        weight_scale: Range | Sequence[float] | str = "rising",
        combiner: str = "hedge",
        vote: str = "tempered",
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_learners = n_learners
        self.gamma = gamma
        self.loss = loss
        self.potential = potential
        self.learner = learner
        self.weight_scale = weight_scale
        self.combiner = combiner
        self.vote = vote
        self.categorical_features = categorical_features
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        self._rule()
        stage = _stage(stages.MBBM, 0, self.vote, _scales(self.weight_scale, self.n_learners, seed), seed)
        self._tables(2, seed)  # bad settings show here
        return _chain_of(self.learner, stage, n_numeric, nominal_sizes, k, seed)

    def _tables(self, k: int, seed: int) -> Tables:
        return build_tables(k, self.n_learners, self._gammas(), loss=self.loss, potential=self.potential, seed=seed)

    def _gammas(self) -> np.ndarray:
        """gamma as one number for all learners, or for each."""
        if not isinstance(self.gamma, str):
            return np.ravel(self.gamma)
        if self.gamma != "auto":
            raise ValueError(f'gamma must be a number in [0, 1), one for each learner, or "auto", got {self.gamma!r}')
        turn = (np.arange(1, self.n_learners + 1) * GOLDEN) % 1.0  # spreads any stretch of the chain evenly over [0, 1)
        return np.array(GAMMAS)[(turn * len(GAMMAS)).astype(np.intp)]

    def _set_classes(self, model: Model, k: int) -> None:
        segments = model.chain.segments
        if k < 2 or (segments[0].tables is not None and segments[0].tables.n_classes == k):
            return
        tables = self._tables(k, model.seed)
        for segment in segments:
            segment.set_tables(tables)

    def _probabilities(self, model: Model, X: np.ndarray) -> np.ndarray:
        if self._rule() == WEIGHTED:
            return super()._probabilities(model, X)
        walk = self._walk(model)
        return model.chain.predict(X, model.k, walk).s / walk  # shares of the votes

    @property
    def gammas_(self) -> np.ndarray:
        tables = self._fitted().chain.segments[0].tables
        return np.broadcast_to(self._gammas(), self.n_learners) if tables is None else tables.gamma[::-1]


RESTARTS = ("auto", "always", "never")
GAMMAS = (0.3, 0.1, 0.03, 0.01)  # of gamma="auto"
GOLDEN = (5.0**0.5 - 1.0) / 2.0


def _stage(kind: int, loss: int, vote: str, scale: np.ndarray, seed: int) -> stages.Stage:
    if vote not in stages.BALLOTS:
        raise ValueError(f"vote must be one of {', '.join(stages.BALLOTS)}, got {vote!r}")
    return stages.new_stage(kind, loss, stages.BALLOTS[vote], seed, scale)


def _olm_stage(loss: str, vote: str, weight_scale: Any, n_learners: int, seed: int) -> stages.Stage:
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    return _stage(stages.OLM, LOSSES[loss], vote, _scales(weight_scale, n_learners, seed), seed)


def _scales(given: Any, n: int, seed: int) -> np.ndarray:
    """weight_scale as one number per learner."""
    if not isinstance(n, int | np.integer) or n < 1:
        raise ValueError(f"n_learners must be a whole number >= 1, got {n!r}")
    if isinstance(given, str):
        if given != "rising":
            raise ValueError(f'weight_scale must be a number, a (low, high) range, a list or "rising", got {given!r}')
        leaves = n // 20
        return np.concatenate([np.full(leaves, 1e-6), np.geomspace(1.0, 200.0, n - leaves)])
    if isinstance(given, list | np.ndarray):
        if len(given) != n or not all(isinstance(value, int | float | np.number) for value in given):
            raise ValueError(f"a list of weight_scale must hold one number for each of the {n} learners, got {given!r}")
        scale = np.asarray(given, np.float64)
    else:
        scale = _draw(given, n, seed, 3, "weight_scale")
    if not (np.isfinite(scale).all() and (scale > 0.0).all()):
        raise ValueError(f"weight_scale must be positive, got {given!r}")
    return scale


def _chain_of(learner: Any, stage: stages.Stage, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
    """N copies of a weak learner behind this stage."""
    learner = HoeffdingTree() if learner is None else learner
    n = len(stage.alpha)
    if isinstance(learner, HoeffdingTree):
        forest = learner._forest(n_numeric, nominal_sizes, stage.scale, seed)
        return Chain([TreeSegment(forest, stage)], n_numeric)
    if isinstance(learner, type):
        raise ValueError(f"learner must be an object, not a class: {learner.__name__}()")
    for method in ("partial_fit", "predict_proba"):
        if not hasattr(learner, method):
            raise ValueError(f"learner {learner!r} has no {method}; a weak learner needs partial_fit and predict_proba")
    if k == 0:
        raise ValueError("learners other than HoeffdingTree need `classes` on the first call of partial_fit")
    copies = [clone(learner) for _ in range(n)]
    if "random_state" in learner.get_params():
        copies = [copy.set_params(random_state=(seed + i) % 2**32) for i, copy in enumerate(copies)]
    return Chain([LearnerSegment(copies, stage, k)], n_numeric)
