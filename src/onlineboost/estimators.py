"""The scikit-learn facade.

Every classifier here is the same object around a different chain: an :class:`~onlineboost.encode.Encoder` for the
columns, :class:`~onlineboost.encode.Labels` for the classes, a :class:`~onlineboost.chain.Chain` of learners, and the
experts' weights.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d, validate_data

from onlineboost import stages
from onlineboost._jit import announce_compilation
from onlineboost.chain import BLOCK, Chain, LearnerSegment, TreeSegment
from onlineboost.encode import Encoded, Encoder, Labels, as_table
from onlineboost.experts import EXPERT_RULES, HEDGE, WEIGHTED, draw_expert, expert_mass, play
from onlineboost.fastmath import SETTING, uniform
from onlineboost.losses import LOSSES
from onlineboost.potentials import Tables, build_tables, with_gamma
from onlineboost.stream import DataError, Table
from onlineboost.trees import LEAF_RULES, plant

Range = float | tuple[float, float]


@dataclass
class _Model:
    """What a fitted classifier has learned."""

    encoder: Encoder
    labels: Labels
    chain: Chain
    seed: int
    log_v: np.ndarray  # log weights of the prefix experts
    tuned: np.ndarray  # what edge_sums were at the last tuning

    @property
    def k(self) -> int:
        return len(self.labels.classes)


class _OnlineClassifier(ClassifierMixin, BaseEstimator):
    """Learning from blocks and rows. A subclass says what its chain is (`_chain`) and whom to follow (`_rule`)."""

    categorical_features: Sequence[int | str] | None
    random_state: Any
    _model: _Model  # there once something has been learned

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        raise NotImplementedError

    def _rule(self) -> int:
        raise NotImplementedError

    def _set_classes(self, model: _Model, k: int) -> None:
        """From here on there are k classes."""

    def _rounds_to_tuning(self, t: int) -> int:
        """Rounds after round t until `_tune` is due. Fixed rounds, so that how blocks are cut makes no difference."""
        return BLOCK + 1

    def _tune(self, model: _Model, k: int) -> None:
        """What a booster learns about itself, now and then."""

    # -------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn X, y in one pass, in the order given.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            NumPy, pandas, polars or pyarrow. Columns of text or of a categorical type are nominal; NaN is missing.
        y : array of shape (n_samples,)
            Labels of any type.
        sample_weight : array of shape (n_samples,), optional
            How much each example counts; 0 leaves it out.
        """
        with self._as_before_on_error():
            self.__dict__.pop("_model", None)
            y = self._check_labels(y)
            return self.partial_fit(X, y, classes=np.unique(y), sample_weight=sample_weight)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn a block of examples, in the order given. How a stream is cut into blocks makes no difference.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            All labels that will ever come; used on the first call, and any other label is an error from then on.
            Without it the classes grow with the labels that are met.
        """
        self.test_then_train(X, y, classes=classes, sample_weight=sample_weight)
        return self

    def test_then_train(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """`partial_fit` that returns what it predicted for every example just before learning it.

        Examples of weight 0 are left out of the learning, and of the array.
        """
        with self._as_before_on_error():
            self._rule()
            y = self._check_labels(y)
            table: Any = X if isinstance(X, np.ndarray) else as_table(X)
            first = not hasattr(self, "_model")
            self._check_columns(X, reset=first)
            if len(table) != len(y):
                raise DataError(f"X has {len(table)} rows and y has {len(y)}: give one label per row")
            weight = _weights(sample_weight, len(y))
            keep = weight > 0.0
            if not keep.all():
                table, y, weight = table[keep], y[keep], weight[keep]
            model = self._begin(table, classes) if first else self._model
            encoded = model.encoder.read(table)
            codes, new = model.labels.read(y)
            self._model = model
            return self._labelled(self._learn(encoded, codes, new, weight))

    def learn_one(self, x: Mapping[str, Any] | Sequence[Any], y: Any, weight: float = 1.0) -> Self:
        """Learn one example by a thin path: x is a row in the order of the columns, or a mapping from their names."""
        with self._as_before_on_error():
            self._rule()
            if not 0.0 <= weight < np.inf:
                raise DataError(f"weight must be a number that is not negative, got {weight!r}")
            if not hasattr(self, "_model"):
                table = _table_of_row(x)
                self._check_columns(table, reset=True)
                model = self._begin(table, None)
            else:
                model = self._model
            encoded = model.encoder.read_row(x)
            codes, new = model.labels.read(np.array([y], None if isinstance(y, str | int | float) else object))
            self._model = model
            if weight > 0.0:
                self._learn(encoded, codes, new, np.array([weight], np.float64))
        return self

    @contextmanager
    def _as_before_on_error(self) -> Iterator[None]:
        """An error leaves the classifier as it was: nothing changes in place before the input is known to be good."""
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _begin(self, X: Any, classes: Any) -> _Model:
        announce_compilation()
        encoder = Encoder.settle(X, self.categorical_features)
        labels = Labels(np.unique(np.asarray(classes)) if classes is not None else np.empty(0), classes is not None)
        seed = _seed(self.random_state)
        chain = self._chain(len(encoder.numeric), encoder.sizes, len(labels.classes), seed)
        return _Model(encoder, labels, chain, seed, np.zeros(chain.n_learners), np.zeros((chain.n_learners, 3)))

    def _learn(self, encoded: Encoded, codes: np.ndarray, new: dict, weight: np.ndarray) -> np.ndarray:
        """Learn checked and encoded rows; the codes predicted for them before, -1: no class was known yet."""
        if not self._model.chain.safe:  # learners of another make may still reject the rows
            self._model = deepcopy(self._model)
        model = self._model
        chain = model.chain
        X = encoded.X
        if model.encoder.commit(encoded, chain.t + 1):
            for segment in chain.segments:
                segment.new_values(model.encoder.sizes, model.encoder.births)
        before = model.k
        out = np.full(len(X), -1, np.int64)
        for start, stop, k in _stretches(codes, before):
            if k > before and before:  # the first row has a label not known until now: predict it without
                out[start] = self._predict_codes(model, X[start : start + 1], before)[0]
            begin = start + (k > before)
            before = k
            self._set_classes(model, k)
            a = start
            while a < stop:
                b = min(a + BLOCK, stop, a + self._rounds_to_tuning(chain.t))
                t = chain.t + 1
                rows = chain.learn(X[a:b], codes[a:b], weight[a:b], k)
                predicted = np.empty(b - a, np.int64)
                play(
                    self._rule(),
                    model.log_v,
                    model.seed,
                    t,
                    rows.experts,
                    codes[a:b],
                    weight[a:b],
                    k,
                    predicted,
                )
                fresh = max(0, begin - a)
                out[a + fresh : b] = predicted[fresh:]
                if self._rounds_to_tuning(chain.t - 1) == 1:
                    self._tune(model, k)
                a = b
        model.labels.add(new)
        return out

    # ------------------------------------------------------------------------------------------- predicting

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row. Changes nothing, and is safe from several threads at once."""
        model = self._fitted()
        return self._labelled(self._predict_codes(model, self._encoded(model, X), model.k))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes (in the order of `classes_`) for every row."""
        model = self._fitted()
        return self._probabilities(model, self._encoded(model, X))

    def predict_one(self, x: Mapping[str, Any] | Sequence[Any]) -> Any:
        """The label of one row, by a thin path (see `learn_one`)."""
        model = self._fitted()
        row = model.encoder.read_row(x, learning=False).X
        return self.classes_[self._predict_codes(model, row, model.k)[0]]

    def predict_proba_one(self, x: Mapping[str, Any] | Sequence[Any]) -> dict[Any, float]:
        """Probabilities of one row's classes, by a thin path."""
        model = self._fitted()
        row = model.encoder.read_row(x, learning=False).X
        return dict(zip(self.classes_.tolist(), self._probabilities(model, row)[0].tolist(), strict=True))

    def _walk(self, model: _Model) -> int:
        """How many learners the coming round's prediction needs."""
        rule = self._rule()
        if rule == HEDGE:
            return int(draw_expert(model.log_v, model.seed, model.chain.t + 1)) + 1
        if rule == EXPERT_RULES["best"]:
            return int(model.log_v.argmax()) + 1
        return model.chain.n_learners

    def _predict_codes(self, model: _Model, X: np.ndarray, k: int) -> np.ndarray:
        walk = self._walk(model)
        if self._rule() == WEIGHTED:
            return expert_mass(model.log_v, model.chain.predict(X, k).experts, k).argmax(axis=1)
        return model.chain.predict(X, k, walk).experts[:, walk - 1].astype(np.int64)

    def _probabilities(self, model: _Model, X: np.ndarray) -> np.ndarray:
        if self._rule() == WEIGHTED:
            mass = expert_mass(model.log_v, model.chain.predict(X, model.k).experts, model.k)
            return mass / mass.sum(axis=1, keepdims=True)
        s = model.chain.predict(X, model.k, self._walk(model)).s
        e = np.exp(s - s.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    # --------------------------------------------------------------------------------------- what was learned

    @property
    def classes_(self) -> np.ndarray:
        """The labels: sorted if they were given in advance, otherwise in order of appearance."""
        return self._fitted().labels.classes

    @property
    def n_seen_(self) -> int:
        """Number of examples learned."""
        return self._fitted().chain.t

    # ------------------------------------------------------------------------------------------------ checks

    def _fitted(self) -> _Model:
        check_is_fitted(self)
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _check_labels(self, y: Any) -> np.ndarray:
        if y is None:
            raise DataError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        y = column_or_1d(y, warn=True)
        if y.dtype.kind == "f":
            assert_all_finite(y, input_name="y")
        check_classification_targets(y)
        return y

    def _check_columns(self, X: Any, *, reset: bool) -> None:
        """Names and number of the columns, as scikit-learn checks them."""
        if isinstance(X, Table):
            if reset:
                self.feature_names_in_ = np.array(X.names, object)
                self.n_features_in_ = len(X.names)
            return
        if getattr(X, "ndim", 2) == 2 or hasattr(X, "columns"):
            validate_data(self, X, skip_check_array=True, reset=reset)

    def _encoded(self, model: _Model, X: Any) -> np.ndarray:
        self._check_columns(X, reset=False)
        return model.encoder.read(X, learning=False).X

    def _labelled(self, codes: np.ndarray) -> np.ndarray:
        """Labels of these codes; where no class was known (-1) None."""
        if len(codes) and codes.min() < 0:
            labels = np.array([*self.classes_.tolist(), None], object)
            return labels[codes]
        return self.classes_[codes]


def _stretches(codes: np.ndarray, known: int) -> Iterator[tuple[int, int, int]]:
    """Cut rows into (start, stop, classes) so that a label not known before can only be the first of a stretch."""
    high = np.maximum.accumulate(codes)
    cuts = [0, *(np.flatnonzero(np.diff(high) > 0) + 1), len(codes)]
    for start, stop in pairwise(cuts):
        if start < stop:
            yield int(start), int(stop), max(known, int(high[start]) + 1)


def _weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if not weight.any():
        raise DataError("Sample weights must contain at least one non-zero number")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all()):
        row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))[0])
        raise DataError(f"row {row}: sample_weight is {weight[row]}; it must be a number that is not negative")
    return weight


def _seed(random_state: Any) -> int:
    """An integer seed from what scikit-learn takes as random_state."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def _table_of_row(x: Mapping[str, Any] | Sequence[Any]) -> Any:
    """A first block made of one row."""
    if isinstance(x, Mapping):
        columns = []
        for value in x.values():
            kind = object if isinstance(value, str) else np.float64
            columns.append(np.array([np.nan if value is None and kind is np.float64 else value], kind))
        return Table(tuple(x), tuple(columns))
    return np.array([list(x)], object if any(isinstance(v, str) for v in x) else np.float64)


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


class HoeffdingTree(_OnlineClassifier):
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
    leaf : {"nba", "nb", "majority"}
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
        leaf: str = "nba",
        max_features: float = 0.3,
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.grace_period = grace_period
        self.split_confidence = split_confidence
        self.tie_threshold = tie_threshold
        self.leaf = leaf
        self.max_features = max_features
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _forest(self, n_numeric: int, nominal_sizes: list[int], unit: np.ndarray, seed: int):
        """A forest of trees with these settings, one per entry of `unit`, the weight of one example."""
        n = len(unit)
        if self.leaf not in LEAF_RULES:
            raise ValueError(f"leaf must be one of {', '.join(LEAF_RULES)}, got {self.leaf!r}")
        confidence = _draw(self.split_confidence, n, seed, 1, "split_confidence", log=True)
        if confidence.min() <= 0.0 or confidence.max() >= 1.0:
            raise ValueError(f"split_confidence must lie between 0 and 1, got {self.split_confidence!r}")
        share = self.max_features
        if not (isinstance(share, int | float | np.number) and 0.0 < share <= 1.0):
            raise ValueError(f"max_features must be a share of the columns in (0, 1], got {share!r}")
        n_candidates = int(np.ceil(share * (n_numeric + len(nominal_sizes))))
        grace = _draw(self.grace_period, n, seed, 0, "grace_period")
        tie = _draw(self.tie_threshold, n, seed, 2, "tie_threshold", log=True)
        return plant(n, n_numeric, nominal_sizes, self.leaf, grace, confidence, tie, unit, n_candidates, seed)

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        unit = np.ones(1)
        stage = stages.new_stage(stages.PLAIN, 0, stages.ARGMAX, seed, unit)
        return Chain([TreeSegment(self._forest(n_numeric, nominal_sizes, unit, seed), stage)], n_numeric)

    def _rule(self) -> int:
        return EXPERT_RULES["last"]

    def _probabilities(self, model: _Model, X: np.ndarray) -> np.ndarray:
        s = model.chain.predict(X, model.k).s  # one tree: s is its distribution, all 0 before it has learned
        s += (s.sum(axis=1, keepdims=True) == 0.0) / model.k
        return s / s.sum(axis=1, keepdims=True)


class AdaBoostOLM(_OnlineClassifier):
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
    vote : {"hedge", "weighted", "best", "last"}
        Which of the experts (expert i is the weighted vote of the first i learners) to follow: one drawn by its Hedge
        weight, anew each round; their vote by Hedge weight; the one with the fewest mistakes; the one of all learners.
    ballot : {"tempered", "cost", "argmax"}
        What a learner votes for: the label of least expected cost under its distribution (with "tempered" costs, or as
        in the paper), or simply the likeliest label.
    categorical_features : list of names or positions, or a mask, optional
        Columns to take as nominal besides those of a text or categorical type.
    random_state : int, RandomState or None
        Seed. The same seed gives the same run, however the stream is cut into blocks.

    Attributes
    ----------
    classes_ : array of labels
    alphas_ : array of shape (n_learners,)
        Weights of the learners' votes.
    edges_ : array of shape (n_learners,)
        Empirical edges gamma_i in [-1, 1]; 0 is random guessing.
    expert_weights_ : array of shape (n_learners,)
        Hedge's probabilities of following each expert.

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
        vote: str = "hedge",
        ballot: str = "tempered",
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_learners = n_learners
        self.loss = loss
        self.learner = learner
        self.weight_scale = weight_scale
        self.vote = vote
        self.ballot = ballot
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        if self.loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {self.loss!r}")
        self._rule()
        stage = _stage(
            stages.OLM, LOSSES[self.loss], self.ballot, _scales(self.weight_scale, self.n_learners, seed), seed
        )
        return _chain_of(self.learner, stage, n_numeric, nominal_sizes, k, seed)

    def _rule(self) -> int:
        return _expert_rule(self.vote)

    @property
    def alphas_(self) -> np.ndarray:
        return self._fitted().chain.gather("alpha")

    @property
    def edges_(self) -> np.ndarray:
        return _edges(self._fitted())

    @property
    def expert_weights_(self) -> np.ndarray:
        return _expert_weights(self._fitted())


class OnlineMBBM(_OnlineClassifier):
    """OnlineMBBM: online multiclass boost-by-majority (Jung, Goetz, Tewari 2017, Algorithm 1), with exact potentials.

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    gamma : float in [0, 1) or "auto"
        The edge over random guessing that the learners are taken to have. "auto": learned from the edges they show.
    loss : {"zero_one", "logistic", "exponential", "hinge", "squared_hinge"}
        The loss that the final votes are to have little of; the potentials and costs follow from it.
    potential : {"exact", "monte_carlo"}
        How potentials are computed. "monte_carlo" is the authors' way, from 100 random draws; for comparison.
    learner, weight_scale, ballot, categorical_features, random_state
        As in :class:`AdaBoostOLM`.
    vote : {"hedge", "weighted", "best", "last"}
        Which of the experts (expert i is the majority of the first i votes) to follow, as in :class:`AdaBoostOLM`.
        "last", the majority of all votes, is the paper's.

    Attributes
    ----------
    classes_ : array of labels
    gamma_ : float
        The edge in use.
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
        gamma: float | str = "auto",
        loss: str = "zero_one",
        potential: str = "exact",
        learner: Any = None,
        weight_scale: Range | Sequence[float] | str = "rising",
        vote: str = "hedge",
        ballot: str = "tempered",
        categorical_features: Sequence[int | str] | None = None,
        random_state: Any = 0,
    ) -> None:
        self.n_learners = n_learners
        self.gamma = gamma
        self.loss = loss
        self.potential = potential
        self.learner = learner
        self.weight_scale = weight_scale
        self.vote = vote
        self.ballot = ballot
        self.categorical_features = categorical_features
        self.random_state = random_state

    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        self._rule()
        stage = _stage(stages.MBBM, 0, self.ballot, _scales(self.weight_scale, self.n_learners, seed), seed)
        self._tables(2, FIRST_GAMMA if self.gamma == "auto" else self.gamma, seed)  # bad settings show here
        return _chain_of(self.learner, stage, n_numeric, nominal_sizes, k, seed)

    def _rule(self) -> int:
        return _expert_rule(self.vote)

    def _tables(self, k: int, gamma: Any, seed: int) -> Tables:
        if isinstance(gamma, str):
            raise ValueError(f'gamma must be a number in [0, 1) or "auto", got {gamma!r}')
        n = self.n_learners
        return build_tables(k, n, gamma, loss=self.loss, potential=self.potential, seed=seed)

    def _set_classes(self, model: _Model, k: int) -> None:
        segments = model.chain.segments
        if k < 2 or (segments[0].tables is not None and segments[0].tables.n_classes == k):
            return
        tables = self._tables(k, FIRST_GAMMA if self.gamma == "auto" else self.gamma, model.seed)
        for segment in segments:
            segment.set_tables(tables)

    def _rounds_to_tuning(self, t: int) -> int:
        if self.gamma != "auto":
            return super()._rounds_to_tuning(t)
        due = FIRST_TUNING
        while due <= t:
            due *= 2
        return due - t

    def _tune(self, model: _Model, k: int) -> None:
        """Move gamma half way (in its logarithm) to the mean of the edges shown since the last tuning."""
        sums = model.chain.gather("edge_sums")
        recent = stages.edges_of(stages.MBBM, sums - model.tuned, k)
        model.tuned = sums.copy()
        shown = np.clip(recent.mean(), LEAST_GAMMA, MOST_GAMMA)
        for segment in model.chain.segments:
            if segment.tables is not None:
                gamma = float(np.sqrt(shown * (segment.tables.p - segment.tables.q)))
                segment.set_tables(with_gamma(segment.tables, gamma))

    def _probabilities(self, model: _Model, X: np.ndarray) -> np.ndarray:
        if self._rule() == WEIGHTED:
            return super()._probabilities(model, X)
        walk = self._walk(model)
        return model.chain.predict(X, model.k, walk).s / walk  # shares of the votes

    @property
    def gamma_(self) -> float:
        tables = self._fitted().chain.segments[0].tables
        return FIRST_GAMMA if tables is None else float(tables.p - tables.q)

    @property
    def edges_(self) -> np.ndarray:
        return _edges(self._fitted())

    @property
    def expert_weights_(self) -> np.ndarray:
        return _expert_weights(self._fitted())


FIRST_GAMMA, FIRST_TUNING = (
    0.1,
    512,
)  # gamma="auto": where it starts, and the round it is first tuned in; then 1024, ...
LEAST_GAMMA, MOST_GAMMA = 0.01, 0.5


def _edges(model: _Model) -> np.ndarray:
    return np.concatenate([stages.edges(segment.stage, max(model.k, 2)) for segment in model.chain.segments])


def _expert_weights(model: _Model) -> np.ndarray:
    v = np.exp(model.log_v - model.log_v.max())
    return v / v.sum()


def _expert_rule(vote: str) -> int:
    if vote not in EXPERT_RULES:
        raise ValueError(f"vote must be one of {', '.join(EXPERT_RULES)}, got {vote!r}")
    return EXPERT_RULES[vote]


def _stage(kind: int, loss: int, ballot: str, scale: np.ndarray, seed: int) -> stages.Stage:
    if ballot not in stages.BALLOTS:
        raise ValueError(f"ballot must be one of {', '.join(stages.BALLOTS)}, got {ballot!r}")
    return stages.new_stage(kind, loss, stages.BALLOTS[ballot], seed, scale)


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
