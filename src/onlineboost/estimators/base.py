"""What all classifiers share: learning from blocks and rows, predicting, and what there is to know about them.

A classifier is an :class:`~onlineboost.data.encoder.Encoder` for the columns, a
:class:`~onlineboost.data.labels.Labels` for the classes, and a :class:`~onlineboost.chain.chain.Chain` of learners.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from onlineboost._compile.interrupt import Interrupt
from onlineboost.chain.calibration import new_calibration
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import NEW_CLASS, new_diary
from onlineboost.chain.experts import Combiner
from onlineboost.chain.relative_weights import relative
from onlineboost.chain.reviews import Reviews
from onlineboost.chain.threads import n_threads
from onlineboost.data.encoder import Encoded, Encoder, Kept
from onlineboost.data.errors import DataError
from onlineboost.data.frames import rows_of, table_of_row
from onlineboost.data.labels import Labels, object_array, sorted_labels, stretches
from onlineboost.data.open_columns import NewColumn, check_word, stages
from onlineboost.estimators import memory
from onlineboost.estimators.changes import Changes
from onlineboost.estimators.checks import (
    check_columns,
    check_labels,
    check_settles,
    check_weight,
    check_weights,
    note_columns,
    seed_of,
)
from onlineboost.estimators.costs import Checked, ClassWeight, CostMatrix, Costs, count, for_experts
from onlineboost.estimators.listening import Heard, Listener, joined_shares
from onlineboost.estimators.lock import Guarded
from onlineboost.estimators.memory import Memory, MemoryLimit
from onlineboost.estimators.model import Model, compiled_by, is_new
from onlineboost.estimators.one_row import Input, SingleRows
from onlineboost.estimators.pending import DelayedLabels
from onlineboost.estimators.predicting import Predicting
from onlineboost.estimators.remarks import Telling
from onlineboost.estimators.settings import yes_or_no
from onlineboost.estimators.why.mixin import Why
from onlineboost.trees.state import Columns


class OnlineClassifier(
    Guarded, Telling, Changes, Predicting, SingleRows, DelayedLabels, Memory, Why, ClassifierMixin, BaseEstimator, ABC
):
    """Learning from blocks and rows. A subclass says what its chain is (`_new_chain`), and whom to follow."""

    categorical_features: Sequence[int | str] | None
    random_state: Any
    columns: str = "auto"
    class_weight: ClassWeight = None  # of a classifier that has no such setting
    cost_matrix: CostMatrix = None
    memory_limit: MemoryLimit = memory.DEFAULT
    calibrate: bool = False
    _model: Model  # there once something has been learned
    _floor = 0.001  # of the probabilities that are calibrated; of shares of votes more: docs/probabilities.md

    @abstractmethod
    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        """A new chain; k = 0: the classes are not known yet."""

    @abstractmethod
    def _combiner(self) -> Combiner:
        """Which expert to follow."""

    def _check_settings(self) -> None:
        """Settings that are read in every call: a bad one shows before anything is learned."""
        self._combiner(), self._threads(), memory.bytes_of(self.memory_limit), self._costs()
        yes_or_no("calibrate", self.calibrate)

    def _set_classes(self, model: Model, k: int) -> None:
        """From here on there are k classes."""
        model.chain.set_classes(k)

    def _reviews(self, chain: Chain) -> Reviews | None:
        """What a booster learns about itself on the way, now and then; None: nothing."""
        return None

    # -------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn X, y in one pass, in the order given.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            NumPy, pandas, polars or pyarrow. Columns of text or of a categorical type are nominal; NaN is missing.
            Columns of frames are known by their names, those of arrays by their position.
        y : array of shape (n_samples,)
            Labels of any type that can be hashed.
        sample_weight : array of shape (n_samples,), optional
            How much each example counts, relative to the mean of the weights so far; 0 leaves it out.
        """
        self._test_then_train(X, y, None, sample_weight, anew=True)
        return self

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn a block of examples, in the order given. How a stream is cut into blocks makes no difference.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            All labels that will ever come, on the first call; any other label is an error from then on.
            Without it the classes grow with the labels that are met.
        """
        self.test_then_train(X, y, classes=classes, sample_weight=sample_weight)
        return self

    def test_then_train(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, *, proba: bool = False
    ) -> Any:
        """`partial_fit` that returns what it predicted for every example just before learning it.

        Examples of weight 0 are left out of the learning, and of the array. With `proba`, probabilities come too:
        (labels, array of shape (n_samples, n_classes)), in the order of `classes_` after the call. A class that was not
        known at a row has 0 there.
        """
        if not proba:
            return self._test_then_train(X, y, classes, sample_weight)
        heard: list[np.ndarray] = []
        said = self._test_then_train(X, y, classes, sample_weight, heard=heard)
        known = self.__dict__.get("_model")
        return said, known.labels.outward(joined_shares(heard, known.k)) if known else np.zeros((0, 0))

    def _test_then_train(
        self, X: Any, y: Any, classes: Any, sample_weight: Any, *, anew: bool = False, heard: Heard = None
    ) -> np.ndarray:
        with Interrupt() as interrupt, self._lock().writing(), self._as_before_on_error():
            self._check_settings()
            y = check_labels(y, type(self).__name__)
            if anew:
                self.__dict__.pop("_model", None), self.__dict__.pop("_begun_", None)
                if "_pending" in self.__dict__:
                    self.__dict__["_pending"] = self._waiting().emptied()
                classes = y
            table: Any = rows_of(X)
            if len(table) != len(y):
                raise DataError(f"X has {len(table)} rows and y has {len(y)}: give one label per row")
            weight = check_weights(sample_weight, len(y))
            keep = weight > 0.0
            first = not hasattr(self, "_model")
            if first and not keep.any():
                if len(y) and classes is None:
                    return object_array([])  # rows of weight 0 are as if absent
                check_settles(table, len(y), classes=not anew and classes is not None)
            check_columns(self, X, reset=first)
            if not keep.all():
                table, y, weight = table[keep], y[keep], weight[keep]
            model = self._begin(table, classes) if first else self._ready_to_learn(classes)
            if columns := model.encoder.new_columns(table):
                said = self._learn_in_stages(model, columns, (table, y, weight), interrupt, heard)
            else:
                part = model.encoder.read(table), *model.labels.read(y)
                if interrupt.pending is not None:
                    raise interrupt.pending
                self._model = model
                if first and not len(y):
                    self._set_classes(model, model.k)  # classes without a row
                said = self._model.labels.of(self._learn(*part, weight, interrupt, heard))
        self._tell_learned(len(said))
        return said

    def _learn_block_of_one(self, x: Input, y: Any, weight: float) -> None:
        with Interrupt() as interrupt, self._lock().writing():
            desk = self.__dict__.get("_desk_")
            if desk is None or not desk.learn(x, y, weight):  # it only had to wait
                self._learn_kept(x, y, weight, interrupt)
        self._tell_learned(1)

    def _learn_kept(self, x: Any, y: Any, weight: float, interrupt: Interrupt) -> None:
        with self._as_before_on_error():
            self._check_settings()
            check_weight(weight)
            if weight == 0.0:
                return  # as if absent
            if not hasattr(self, "_model"):
                table = table_of_row(x)
                check_columns(self, table, reset=True)
                model = self._begin(table, None)
            else:
                model = self._ready_to_learn()
            if type(x) is not Kept and (columns := model.encoder.new_columns_of_row(x)):
                encoded, (codes, new) = model.with_columns(columns).read_row(x), model.labels.read_one(y)
                memory.check_limit(model, [*new], columns, encoded, codes)  # errors before any change
                note_columns(self, memory.add_columns(model, columns))
            encoded = model.encoder.read_kept(x) if type(x) is Kept else model.encoder.read_row(x)
            codes, new = model.labels.read_one(y)
            self._model = model
            self._learn(encoded, codes, new, np.array([weight], np.float64), interrupt)
            self._lay_desk(learning=True)

    def _learn_in_stages(
        self, model: Model, columns: list[NewColumn], block: tuple[Any, Any, Any], interrupt: Interrupt, heard: Heard
    ) -> np.ndarray:
        """Learn a block in which new columns turn up: each is added just before the first row that has a value."""
        table, y, weight = block
        encoded, (codes, labels) = model.with_columns(columns).read(table), model.labels.read(y)
        memory.check_limit(model, [*labels], columns, encoded, codes)  # errors, before anything changes
        if interrupt.pending is not None:
            raise interrupt.pending
        self._model, said = model, np.empty(0, np.int64)
        for rows, new in stages(columns, len(y)):
            if rows.start and (interrupt.pressed() or len(said) < rows.start):
                break
            note_columns(self, memory.add_columns(model, new))
            part = model.encoder.read(table[rows]), *model.labels.read(y[rows])
            said = np.concatenate([said, self._learn(*part, weight[rows], interrupt, heard)])
        return model.labels.of(said)

    @contextmanager
    def _as_before_on_error(self) -> Iterator[None]:
        """An error leaves the classifier as it was: nothing changes in place before the input is known to be good.

        What a signal's handler raises while it learns is not an error: see `Interrupt`. The rest is a damage: `_learn`.
        """
        before = dict(self.__dict__)
        try:
            yield
        except BaseException:
            self.__dict__ = before
            raise

    def _begin(self, X: Any, classes: Any) -> Model:
        encoder = Encoder.settle(X, self.categorical_features, check_word(self.columns))
        if encoder.opens == "open":  # columns that have no value yet are left out
            note_columns(self, encoder.names, named=encoder.named)
        known = np.empty(0) if classes is None else sorted_labels(check_labels(classes, type(self).__name__))
        labels = Labels(known, classes is not None)
        columns = Columns(len(encoder.numeric), encoder.sizes)
        chain = self._new_chain(columns, len(labels.classes), seed_of(self.random_state))
        model = Model(encoder, labels, chain, limit=memory.bytes_of(self.memory_limit))
        chain.diary = new_diary(len(encoder.names), model.limit)
        if self.calibrate:
            model.calibration, model.floor = new_calibration(), self._floor
        memory.check_limit(model)
        return model

    def _learn(
        self,
        encoded: Encoded,
        codes: np.ndarray,
        new: dict,
        weight: np.ndarray,
        interrupt: Interrupt,
        heard: Heard = None,
    ) -> np.ndarray:
        """Learn checked and encoded rows; the codes predicted for them before, -1: no class was known yet.

        What can fail without harm comes first: settings that a new class asks for, and compiling. An error after that
        (no memory is left, say) strikes in the middle of a row. The model then remembers it, and is not used again.
        """
        costs = self._costs(self._model.labels)
        if (line_up := self.__dict__.get("_line_up_")) is not None:
            line_up(self._model.chain)  # its learners go to other processes: `cluster`
        if not self._model.chain.safe:  # learners of another make may still reject the rows
            self._model = deepcopy(self._model)
        model = self._model
        model.chain.costs = for_experts(costs, model.labels)
        model.chain.end.begin()
        if new:
            self._check_new_classes(model)
            memory.check_limit(model, [*new], (), encoded, codes)
        if not model.compiled:
            with interrupt.let_through() if is_new(self) else nullcontext():  # Ctrl-C need not wait for the compiler
                compiled_by(self._rehearse, model, type(self))
        weight, means = relative(weight, model.chain.mean_weight, model.chain.t)
        own = weight
        if costs is not None:
            own = costs.weigh(model.counts, [*model.labels.names, *new], model.k, codes, weight)
        try:
            listener = Listener(model, heard)
            out = self._learn_rows(model, encoded, codes, new, own, costs, interrupt, listener)
        except BaseException as error:
            model.damage = f"{type(error).__name__}: {error}"
            raise
        finally:
            model.chain.heard = None
        if len(out) and model.chain.mean_weight is not None:
            model.chain.mean_weight = float(means[len(out) - 1])
        if costs is not None:
            model.counts = count(model.counts, codes[: len(out)], weight[: len(out)], model.k)
        if "_desk_" in self.__dict__:
            self.__dict__["_desk_"].clear()
        model.remarks |= encoded.remarks
        return out

    def _check_new_classes(self, model: Model) -> None:
        """New classes ask for settings again, which may have been spoilt since the model began."""

    def _rehearse(self, model: Model) -> None:
        """Have all kernels compiled before anything is learned."""
        chain, n_columns = model.chain, len(model.encoder.names)
        chain.place.rehearse(chain, n_columns, max(model.k, 2), self._combiner())

    def _learn_rows(
        self,
        model: Model,
        encoded: Encoded,
        codes: np.ndarray,
        new: dict,
        weight: np.ndarray,
        costs: Costs | None,
        interrupt: Interrupt,
        listener: Listener,
    ) -> np.ndarray:
        """`_learn`, where nothing is left to check.

        Ctrl-C stops after the blocks at hand. The model is then as if it had been given the rows up to there, and no
        more; there are as many predictions.
        """
        chain = model.chain
        X, combiner = encoded.X, self._combiner()
        first_round = chain.t + 1
        model.encoder.commit(encoded, first_round)
        out = np.full(len(X), -1, np.int64)
        known, done, names = model.k, 0, list(new)
        for start, stop, k in stretches(codes, known):
            if start and interrupt.pressed():
                break
            first = None
            if k > known:  # the first row has a label not known until now: predict it without
                first = chain.predict(X[start : start + 1], known, combiner)[0] if known else -1
                listener.before_new_class(X[start : start + 1], combiner)
                model.labels.add(names[: k - known])  # now, not later: no tree ever knows a code that has no label
                names = names[k - known :]
                chain.diary.note(chain.t + 1, NEW_CLASS, range(known, k))
            chain.place.new_classes(k, model.columns)
            self._set_classes(model, k)
            chain.costs = for_experts(costs, model.labels)
            known = k
            while done < stop and not (done > start and interrupt.pressed()):
                part = slice(done, min(stop, done + memory.make_ready(model, k)))
                block = X[part], codes[part], weight[part]
                reviews = self._reviews(chain)
                visitors = [*([] if reviews is None else [reviews]), *memory.notices(model)]
                how = self._threads(), interrupt.pressed, visitors
                done += chain.place.stream(chain, *block, k, combiner, out[part], *how)
                listener.after_block(*block[1:], out[part])
            if first is not None:
                out[start] = first
        if done < len(X) and model.encoder.forget(encoded, first_round, chain.t):
            memory.make_ready(model, known)
        chain.place.settle()
        return out[:done]

    def _costs(self, labels: Labels | None = None) -> Costs | None:
        """What mistakes cost, which has to fit the labels."""
        checked: Checked = self.__dict__.get("_checked_") or self.__dict__.setdefault("_checked_", Checked())
        return checked.costs_of(self.class_weight, self.cost_matrix, labels)

    def _threads(self) -> int:
        return n_threads(getattr(self, "n_jobs", 1))

    # --------------------------------------------------------------------------------------- what was learned

    @property
    def classes_(self) -> np.ndarray:
        """The labels: sorted, or in order of appearance where they cannot be (text and numbers mixed, say).

        All that is given by class is in this order. One that turns up late takes its place in it, and others move.
        """
        return self._fitted().labels.outward(self._fitted().labels.classes)

    @property
    def n_samples_seen_(self) -> int:
        """Number of examples learned."""
        return self._fitted().chain.t

    # ------------------------------------------------------------------------------------------------ checks

    def _fitted(self) -> Model:
        if "_model" not in self.__dict__:
            check_is_fitted(self)
        if self._model.damage:
            raise RuntimeError(
                f"an error in the middle of learning a row has left this model half way ({self._model.damage}). "
                f"Go back to a copy (snapshot() or pickle), or call fit"
            )
        return self._model

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
