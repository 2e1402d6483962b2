"""`OnlineClassifier`: what a user of any classifier of this package meets. The work is done elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.model import Model
from onlineboost.chain.pending import Awaited, Ticket, checked_id
from onlineboost.chain.threads import n_threads
from onlineboost.data.frames import rows_of
from onlineboost.data.labels import Labels
from onlineboost.estimators import acting, learning, memory, single_rows
from onlineboost.estimators.acting import Acting
from onlineboost.estimators.checks import OneLabel, check_columns, note_change, ready
from onlineboost.estimators.costs import Checked, ClassWeight, CostMatrix, Costs
from onlineboost.estimators.listening import Asked, check_coverage, joined_parts, with_sets
from onlineboost.estimators.lock import Copies
from onlineboost.estimators.memory import MemoryLimit
from onlineboost.estimators.settings import RESTARTS, VOTES, Names, check_names, count, word, yes_or_no
from onlineboost.estimators.single_rows import Desk, Input
from onlineboost.explain.explain import events, explain, importances, summary_lines, tree_view
from onlineboost.explain.tree_view import TreeView
from onlineboost.explain.views import Event, Explanation, framed, table
from onlineboost.trees.state import Columns


@dataclass(repr=False, eq=False, kw_only=True)
class OnlineClassifier(ClassifierMixin, Acting, Copies):
    """What all classifiers share. A subclass has more settings, and says what its chain is and whom to follow."""

    class_weight: ClassWeight = None
    cost_matrix: CostMatrix = None
    memory_limit: MemoryLimit = memory.DEFAULT
    categorical_features: Names = None
    columns: str = "auto"
    random_state: Any = 0
    sets: bool = False

    calibrate, restart, as_printed, as_programmed = False, "never", False, False  # of one that has no such setting
    _votes = VOTES  # that `vote` takes
    _reading = OneLabel  # how labels are read
    _floor = 0.001  # of the probabilities that are calibrated; of shares of votes more: docs/measure.md

    def __new__(cls, *values: Any, **settings: Any) -> Self:
        check_names(cls, settings)
        return super().__new__(cls)

    # ------------------------------------------------------------------------------- what a subclass has to say

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        """A new chain; k = 0: the classes are not known yet."""
        raise NotImplementedError

    def _combiner(self) -> Combiner:
        """Which expert to follow."""
        return Combiner.LAST

    def _check_settings(self) -> None:
        """Settings that are read in every call: a bad one shows before anything is learned."""
        self._combiner(), self._threads(), memory.bytes_of(self.memory_limit), self._costs()
        yes_or_no("calibrate", self.calibrate), yes_or_no("sets", self.sets), word("restart", self.restart, RESTARTS)

    def _check_new_classes(self, model: Model) -> None:
        """New classes ask for settings again, which may have been spoilt since the model began."""

    def _set_classes(self, model: Model, k: int) -> None:
        """From here on there are k classes."""
        model.chain.set_classes(k)

    def _rehearse(self, model: Model) -> None:
        """Have all kernels compiled before anything is learned."""
        chain, n_columns = model.chain, len(model.encoder.names)
        chain.place.rehearse(chain, n_columns, max(model.k, 2), self._combiner())

    # ------------------------------------------------------------------------------------------------- learning

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
        learning.learn_block(self, X, y, None, sample_weight, start_again=True)
        return self

    # arguments: those of scikit-learn, and what is known where labels are not
    def partial_fit(
        self,
        X: Any,
        y: Any = None,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        action: Any = None,
        correct: Any = None,
        probability: Any = None,
    ) -> Self:
        """Learn a block of examples, in the order given. How a stream is cut into blocks makes no difference.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        classes : array, optional
            All labels that will ever come, on the first call; any other label is an error from then on.
            Without it the classes grow with the labels that are met.
        action, correct, probability : arrays, optional
            In place of y, where it stays unknown: the labels that were acted on, and whether each was right. For
            `probability` see `learn_one`.
        """
        outcome = acting.told(y, action, correct, probability, type(self).__name__)
        learning.learn_block(self, X, y, classes, sample_weight, told=outcome)
        return self

    def test_then_train(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        proba: bool = False,
        sets: float | None = None,
    ) -> Any:
        """`partial_fit` that returns what it predicted for every example just before learning it.

        Examples of weight 0 are left out of the learning, and of the array. With `proba`, probabilities come too:
        (labels, array of shape (n_samples, n_classes)), in the order of `classes_` after the call. A class that was not
        known at a row has 0 there. With `sets`, a coverage, so does what `predict_set` would have said, behind them.
        """
        if sets is not None and not self.sets:
            raise ValueError(f"sets={sets!r} asks for prediction sets, which are learned with the setting sets=True")
        coverage = None if sets is None else check_coverage(sets)[0]
        asked = Asked(proba, coverage)
        said = learning.learn_block(self, X, y, classes, sample_weight, asked=asked)
        model = self.__dict__.get("_model")
        more = [joined_parts(model, asked.shares)] if proba else []
        more += [] if sets is None else [joined_parts(model, asked.sets, np.bool_)]
        return (said, *more) if more else said

    # ----------------------------------------------------------------------------------------------- predicting

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row. Changes nothing, and is safe from several threads at once.

        While another thread learns, it waits for the block at hand (docs/production.md).
        """
        return self._ask(X, lambda model, *how: model.labels.of(model.predict(*how)))

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes (in the order of `classes_`) for every row."""
        return self._ask(X, lambda model, *how: model.labels.outward(model.predict_proba(*how)))

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Logarithms of `predict_proba`: -inf where a probability is 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def _ask(self, X: Any, question: Callable[..., np.ndarray]) -> np.ndarray:
        """What the model says of rows: `question` gets it, encoded rows, the combiner and the number of threads."""
        with self._lock().reading():
            model, rows = ready(self), rows_of(X)
            check_columns(self, X, reset=False)
            encoded = model.encoder.read(rows, learning=False)
            learning.tell(self, encoded.remarks)
            return question(model, encoded.X, self._combiner(), self._threads())

    def predict_one(self, x: Input) -> Any:
        """The label of one row (see `learn_one`); None if nothing has been learned yet."""
        return single_rows.ask(self, x, Desk.predict, single_rows.label_of, None)

    def predict_proba_one(self, x: Input) -> dict[Any, float]:
        """Probabilities of one row's classes (see `learn_one`); empty if nothing has been learned yet."""
        return single_rows.ask(self, x, Desk.shares, single_rows.shares_of, {})  # type: ignore[no-any-return]

    def predict_set(self, X: Any, coverage: float = 0.9, *, by: str | None = None) -> np.ndarray:
        """The labels that are likely enough, as bool (rows, classes), in the order of `classes_`.

        Whatever the stream, they hold the label for a share of `coverage` of the rows in the long run, within a bound
        (docs/sets.md). Needs ``sets=True`` while rows are learned. A set is empty where even the likeliest label is
        less likely than it takes: that happens if the model is right more often than `coverage`.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
        coverage : float in (0, 1)
            Share of the rows whose label is to be in their set.
        by : "class", optional
            This share of the rows of each class, not of all rows.

        Examples
        --------
        >>> from onlineboost import HoeffdingTree
        >>> clf = HoeffdingTree(sets=True).fit([[0.0], [1.0]] * 200, ["low", "high"] * 200)
        >>> clf.predict_set([[0.1], [0.9]], coverage=0.99).shape
        (2, 2)
        """
        how = check_coverage(coverage, by)

        def ask(model: Model, X: np.ndarray, combiner: Combiner, threads: int) -> np.ndarray:
            return model.labels.outward(with_sets(self, model).predict_set(X, combiner, threads, *how))

        return self._ask(X, ask)

    def predict_set_one(self, x: Input, coverage: float = 0.9, *, by: str | None = None) -> list[Any]:
        """The labels of one row's set (see `predict_set` and `learn_one`), the likeliest first."""
        slowly = partial(single_rows.set_of, self)
        found: list[Any] = single_rows.ask(self, x, Desk.set_of, slowly, [], *check_coverage(coverage, by))
        return found

    # ---------------------------------------------------------------------------------- labels that come late

    def predict_pending(self, x: Input, *, id: Ticket | None = None) -> Awaited:
        """The label of one row as `predict_one` predicts it, and a ticket to learn the row with when its label comes.

        The ticket is a short text that no other row ever gets, not even after a restart from an older file. With an
        `id` of your own, text or a whole number, that is the ticket; one that is waiting already is an error. The row
        is kept meanwhile, in copies, pickles and files too; at most 10,000 rows are, or what `limit_pending` says, and
        then the oldest is dropped.

        Examples
        --------
        >>> from onlineboost import HoeffdingTree
        >>> clf = HoeffdingTree().fit([[0.0], [1.0]] * 50, ["low", "high"] * 50)
        >>> clf.predict_pending([0.2], id="order 4711")
        Awaited(label='low', ticket='order 4711')
        >>> clf.learn_pending("order 4711", "low").n_pending_
        0
        """
        return single_rows.predict_pending(self, x, id)

    def learn_pending(self, ticket: Ticket, y: Any, weight: float = 1.0) -> Self:
        """Learn the row of a ticket or id as `learn_one` would now. A ticket is good for one label."""
        single_rows.learn_pending(self, ticket, y, weight)
        return self

    def forget_pending(self, ticket: Ticket) -> Self:
        """The label of this ticket or id will never come: its row need not wait any more."""
        with self._lock().writing():
            rows = single_rows.waiting(self)
            rows.row(ticket)  # an error, if there is none
            rows.drop(checked_id(ticket, "ticket"))
        return self

    def limit_pending(self, most: int) -> Self:
        """Let at most this number of rows wait for their labels; if there are more, the oldest are dropped."""
        most = count("most", most)
        with self._lock().writing():
            rows = single_rows.waiting(self)
            rows.most = most
            rows.shrink()
        return self

    @property
    def n_pending_(self) -> int:
        """Number of rows that wait for their labels."""
        return len(single_rows.waiting(self).rows)

    @property
    def n_dropped_(self) -> int:
        """Number of rows that were dropped, or forgotten, before their labels came."""
        return single_rows.waiting(self).dropped

    # ----------------------------------------------------------------------------------------- what was learned

    @property
    def classes_(self) -> np.ndarray:
        """The labels: sorted, or in order of appearance where they cannot be (text and numbers mixed, say).

        All that is given by class is in this order. One that turns up late takes its place in it, and others move.
        """
        labels = self._fitted().labels
        return labels.outward(labels.classes)

    @property
    def n_samples_seen_(self) -> int:
        """Number of examples learned."""
        return self._fitted().chain.t

    @property
    def nbytes_by_part_(self) -> dict[str, int]:
        """Bytes of everything learned, part by part, room that is kept for growth included."""
        return memory.nbytes_by_part(self._fitted())

    @property
    def nbytes_(self) -> int:
        """Size of the model in bytes."""
        return sum(self.nbytes_by_part_.values())

    @property
    def memory_(self) -> dict[str, Any]:
        """The limit in bytes, the bytes taken part by part, and what the model does without because of the limit.

        Tables have room for growth, which takes addresses but no memory: "trees in use" are the bytes without it.
        """
        return memory.told(self._fitted())

    # -------------------------------------------------------------------------------------------------- and why

    @property
    def feature_importances_(self) -> np.ndarray:
        """How far each column moves the votes towards the label, on the rows that came last; with the sum 1.

        In the order of the columns. All 0 if no column has been of use so far. See docs/explain.md.
        """
        with self._lock().reading():
            return importances(self._fitted(), self._combiner())

    def explain(self, x: Mapping[str, Any] | Sequence[Any], *, label: Any = None, by: str = "parts") -> Explanation:
        """Which columns moved the votes of one row, given as in `predict_one`; changes nothing.

        `label`: what speaks for this one, by default the one predicted. `by`: "parts", columns and those parts of the
        model that look at all columns at once; or "columns", all of it shared out among them (docs/explain.md)."""
        with self._lock().reading():
            model, combiner = self._fitted(), self._combiner()
            return explain(model, single_rows.read_row(self, model, x), combiner, label, by, model.encoder.texts(x))

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
            return tree_view(self._fitted(), i, of_class)

    def summary(self) -> str:
        """The model in a few lines of text: what it has learned, what it takes, and which columns matter."""
        with self._lock().reading():
            lines = summary_lines(self, self._fitted(), self._combiner())
        width = max(len(name) for name, _ in lines)
        return "\n".join(f"{name:<{width}}  {value}" for name, value in lines)

    def _html_repr(self) -> str:
        """scikit-learn's diagram, and below it the summary of a model that has learned something."""
        diagram: str = super()._html_repr()
        if "_model" not in self.__dict__ or self.__dict__["_model"].damage:
            return diagram
        with self._lock().reading():
            return diagram + framed(table(summary_lines(self, self._fitted(), self._combiner())))

    # -------------------------------------------------------------------------------------------------- settings

    def __setattr__(self, name: str, value: Any) -> None:
        """A setting that changes, or a new model, needs single rows prepared again."""
        stale = "_desk_" if self.__dict__.get(name) is not value else ""
        self.__dict__.pop(stale, None)
        note_change(self, name, self.__dict__.get(name), value)
        super().__setattr__(name, value)
        self.__dict__.pop(stale, None)  # another thread may have prepared them meanwhile

    def set_params(self, **params: Any) -> Self:
        """Change settings, those of the weak learner too (`learner__max_features`): see docs/models.md."""
        inner = {name.partition("__")[0] for name in params if "__" in name} if "_model" in self.__dict__ else ()
        before = {name: deepcopy(self.__dict__.get(name)) for name in inner}
        super().set_params(**params)
        for name, value in before.items():
            note_change(self, name, value, self.__dict__.get(name))
            self.__dict__.pop("_desk_", None)
        return self

    def _costs(self, labels: Labels | None = None) -> Costs | None:
        """What mistakes cost, which has to fit the labels."""
        checked: Checked = self.__dict__.get("_checked_") or self.__dict__.setdefault("_checked_", Checked())
        return checked.costs_of(self.class_weight, self.cost_matrix, labels)

    def _threads(self) -> int:
        return n_threads(getattr(self, "n_jobs", 1))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags
