"""What all classifiers here share: learning from blocks and rows, predicting, and saying what is wrong with the input.

A classifier is an :class:`~onlineboost.encode.Encoder` for the columns, :class:`~onlineboost.encode.Labels` for the
classes, a :class:`~onlineboost.chain.Chain` of learners, and the experts' weights.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, check_is_fitted, column_or_1d, validate_data

from onlineboost._jit import announce_compilation
from onlineboost.chain import BLOCK, Chain
from onlineboost.encode import Encoded, Encoder, Labels, as_table
from onlineboost.experts import EXPERT_RULES, HEDGE, WEIGHTED, draw_expert, expert_mass, play
from onlineboost.stream import DataError, Table


@dataclass
class Model:
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


class OnlineClassifier(ClassifierMixin, BaseEstimator, ABC):
    """Learning from blocks and rows. A subclass says what its chain is (`_chain`) and whom to follow (`_rule`)."""

    categorical_features: Sequence[int | str] | None
    random_state: Any
    _model: Model  # there once something has been learned

    @abstractmethod
    def _chain(self, n_numeric: int, nominal_sizes: list[int], k: int, seed: int) -> Chain:
        """A new chain; k = 0: the classes are not known yet."""

    @abstractmethod
    def _rule(self) -> int:
        """Which expert to follow, one of experts.EXPERT_RULES."""

    def _set_classes(self, model: Model, k: int) -> None:
        """From here on there are k classes."""

    def _rounds_to_tuning(self, t: int) -> int:
        """Rounds after round t until `_tune` is due. Fixed rounds, so that how blocks are cut makes no difference."""
        return BLOCK + 1

    def _tune(self, model: Model, k: int) -> None:
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

    def _begin(self, X: Any, classes: Any) -> Model:
        announce_compilation()
        encoder = Encoder.settle(X, self.categorical_features)
        labels = Labels(np.unique(np.asarray(classes)) if classes is not None else np.empty(0), classes is not None)
        seed = _seed(self.random_state)
        chain = self._chain(len(encoder.numeric), encoder.sizes, len(labels.classes), seed)
        return Model(encoder, labels, chain, seed, np.zeros(chain.n_learners), np.zeros((chain.n_learners, 3)))

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

    def _walk(self, model: Model) -> int:
        """How many learners the coming round's prediction needs."""
        rule = self._rule()
        if rule == HEDGE:
            return int(draw_expert(model.log_v, model.seed, model.chain.t + 1)) + 1
        if rule == EXPERT_RULES["best"]:
            return int(model.log_v.argmax()) + 1
        return model.chain.n_learners

    def _predict_codes(self, model: Model, X: np.ndarray, k: int) -> np.ndarray:
        walk = self._walk(model)
        if self._rule() == WEIGHTED:
            return expert_mass(model.log_v, model.chain.predict(X, k).experts, k).argmax(axis=1)
        return model.chain.predict(X, k, walk).experts[:, walk - 1].astype(np.int64)

    def _probabilities(self, model: Model, X: np.ndarray) -> np.ndarray:
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

    def _fitted(self) -> Model:
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

    def _encoded(self, model: Model, X: Any) -> np.ndarray:
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
