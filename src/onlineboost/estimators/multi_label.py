"""MultiLabelBoost: boosting for rows with several labels, or none."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import clone

from onlineboost.boosters.olmr import new_olmr
from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.label_panels import LabelPanels
from onlineboost.chain.model import Model
from onlineboost.chain.ranking import Ranking
from onlineboost.chain.segments import Segment
from onlineboost.data.errors import DataError
from onlineboost.data.label_sets import LabelSets, label_sets, labels_of
from onlineboost.data.labels import Labels
from onlineboost.data.values import weights_of
from onlineboost.estimators import memory, single_rows
from onlineboost.estimators.acting import Act
from onlineboost.estimators.booster import BoosterClassifier, of_all_learners, only_tree, weak_learners
from onlineboost.estimators.checks import OneLabel, ready
from onlineboost.estimators.memory import MemoryLimit
from onlineboost.estimators.settings import COMBINERS, Names, Scale, scales, word, yes_or_no
from onlineboost.estimators.single_rows import Input
from onlineboost.trees.state import Columns

FOLLOWED = {name: COMBINERS[name] for name in ("hedge", "best", "last")}


class SetOfLabels(OneLabel):
    """How labels are read: any number for each row."""

    one_each = False

    @staticmethod
    def given(y: Any, whose: str) -> Any:
        return label_sets(y)

    @staticmethod
    def is_blank(y: Any) -> bool:
        return not labels_of(y)

    @staticmethod
    def read(labels: Labels, y: LabelSets) -> tuple[np.ndarray, dict[Any, int]]:
        return y.read(labels)

    @staticmethod
    def read_one(labels: Labels, y: Any) -> tuple[np.ndarray, dict[Any, int]]:
        return LabelSets([labels_of(y)]).read(labels)


class MultiLabelBoost(BoosterClassifier):
    """Ranks labels, and says a set of them: any number of labels may be right for a row (Jung and Tewari 2018).

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    panel : bool
        Whether each label has the panel of :class:`OnlineBoostClassifier`, from whose log odds the ranking starts. Not
        with `gamma`. Labels that come when three quarters of `memory_limit` are taken have none.
    gamma : float in (0, 1) or None
        None: Ada.OLMR, which is adaptive. A number: OnlineBMR, for learners with this edge over random: 100, say.
    threshold : float in (0, 1) or "f1"
        `predict` gives the labels that are likelier than this; "f1": than what makes micro F1 largest, learned online.
    combiner : {"hedge", "best", "last"}
        Whose scores are followed, where expert i is the first i learners: one drawn by its Hedge weight in each round;
        the one with the least rank loss so far; all learners. OnlineBMR always follows all.
    learner : HoeffdingTree, optional
        The weak learner.
    weight_scale, memory_limit, categorical_features, columns, random_state, n_jobs
        As in :class:`AdaBoostOLM`.

    Attributes
    ----------
    classes_ : array of labels
        In the order of the columns of `predict`.
    alphas_, edges_, expert_weights_ : arrays of shape (n_learners,)
        As in :class:`AdaBoostOLM`; the edge of random rankings is 0.

    Examples
    --------
    >>> from onlineboost import MultiLabelBoost
    >>> X, Y = [[0.0], [1.0], [2.0]] * 50, [{"a"}, {"a", "b"}, {"b", "c"}] * 50
    >>> clf = MultiLabelBoost(n_learners=10).partial_fit(X, Y)
    >>> sorted(clf.predict_one([1.0]))
    ['a', 'b']
    """

    _reading = SetOfLabels
    alphas_ = of_all_learners("alpha")

    # arguments: the settings of an estimator
    def __init__(
        self,
        n_learners: int = 20,
        *,
        panel: bool = True,
        gamma: float | None = None,
        threshold: float | str = 0.5,
        combiner: str = "best",
        learner: Any = None,
        weight_scale: Scale = "rising",
        memory_limit: MemoryLimit = memory.DEFAULT,
        categorical_features: Names = None,
        columns: str = "auto",
        random_state: Any = 0,
        n_jobs: int | None = 1,
    ) -> None:
        self.n_learners = n_learners
        self.panel = panel
        self.gamma = gamma
        self.threshold = threshold
        self.combiner = combiner
        self.learner = learner
        self.weight_scale = weight_scale
        self.memory_limit = memory_limit
        self.categorical_features = categorical_features
        self.columns = columns
        self.random_state = random_state
        self.n_jobs = n_jobs

    # ------------------------------------------------------------------------------------------------- its chain

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        booster = new_olmr(seed, scales(self.weight_scale, self.n_learners, seed), self._gamma())
        learners = weak_learners(only_tree(self.learner, "MultiLabelBoost"), booster, columns, k)
        panels = self._new_panels(columns, seed) if self._has_panel() else None
        end = Ranking(len(booster.scale), seed, panelled=panels is not None)
        return Chain([Segment(learners, booster)], columns.n_numeric, seed, end, panels)

    def _new_panels(self, columns: Columns, seed: int) -> LabelPanels:
        panels = LabelPanels.new(
            columns.n_numeric, len(columns.nominal_sizes), seed, memory.bytes_of(self.memory_limit)
        )
        panels.new_values(columns.nominal_sizes, [])
        return panels

    def _has_panel(self) -> bool:
        return yes_or_no("panel", self.panel) and self.gamma is None

    def _gamma(self) -> float:
        if self.gamma is None:
            return 0.0
        if not (isinstance(self.gamma, int | float | np.number) and 0.0 < self.gamma < 1.0):
            raise ValueError(f"gamma must be None or a number in (0, 1), got {self.gamma!r}")
        return float(self.gamma)

    def _combiner(self) -> Combiner:
        own = word("combiner", self.combiner, FOLLOWED)
        return Combiner.LAST if self.gamma is not None else own

    def _check_settings(self) -> None:
        super()._check_settings()
        self._gamma(), self._has_panel()
        good = isinstance(self.threshold, int | float | np.number) and 0.0 < self.threshold < 1.0
        if not (good or self.threshold == "f1"):
            raise ValueError(f"threshold must be a number in (0, 1) or 'f1', got {self.threshold!r}")

    def _set_classes(self, model: Model, k: int) -> None:
        super()._set_classes(model, k)
        first, *others = model.chain.segments
        first.booster = first.booster.with_labels(k)
        for segment in others:
            segment.booster = segment.booster._replace(k=k, psi=first.booster.psi)

    # -------------------------------------------------------------------------------------------------- learning

    def fit(self, X: Any, Y: Any, sample_weight: Any = None) -> Self:
        """Forget everything, then learn in one pass, as `partial_fit` does."""
        fresh = clone(self).partial_fit(X, Y, sample_weight=sample_weight)
        if "_model" not in fresh.__dict__:
            raise DataError("no row that counts has a label: there is nothing to learn")
        with self._lock().writing():
            for name in ("_begun_", "_desk_", "feature_names_in_"):
                self.__dict__.pop(name, None)
            if "_pending" in self.__dict__:
                self.__dict__["_pending"] = self.__dict__["_pending"].emptied()
            settings = self.get_params(deep=False)
            self.__dict__.update({name: value for name, value in fresh.__dict__.items() if name not in settings})
        return self

    def partial_fit(  # type: ignore[override]
        self, X: Any, Y: Any, classes: Any = None, sample_weight: Any = None
    ) -> Self:
        """Learn a block of examples, in the order given. How a stream is cut into blocks makes no difference.

        Parameters
        ----------
        X, sample_weight
            As in :class:`AdaBoostOLM`.
        Y : indicator matrix (array, sparse matrix, frame), or a list with a set, list or {label: bool} for each row
            New columns, and new labels, may turn up at any time.
        classes : array, optional
            All labels that will ever come, on the first call.
        """
        Y = label_sets(Y)
        super().partial_fit(X, Y, classes, self._from_first_label(Y, classes, sample_weight))
        return self

    def test_then_train(
        self,
        X: Any,
        Y: Any,
        classes: Any = None,
        sample_weight: Any = None,
        *,
        proba: bool = False,
        sets: float | None = None,
    ) -> Any:
        """`partial_fit` that returns the indicator of what it predicted for every example just before learning it.

        With `proba`, probabilities come too: (indicator, array), both in the order of `classes_` after the call. A
        label that was not known at a row has 0 there. The threshold "f1" is that of before the call.
        """
        if sets is not None:
            raise ValueError("prediction sets hold one label: MultiLabelBoost says a set of labels by itself")
        self._check_settings()
        above = self.threshold_ if "_model" in self.__dict__ else 0.5 if self.threshold == "f1" else self.threshold
        Y = label_sets(Y)
        weight = self._from_first_label(Y, classes, sample_weight)
        q = super().test_then_train(X, Y, classes, weight, proba=True)[1]
        said = (q > above).astype(np.int64)
        return (said, q) if proba else said

    def act_one(self, x: Input, exploration: float | str = "auto", *, classes: Any = None) -> Act:
        """There is no single label to take as an action."""
        raise ValueError("MultiLabelBoost says a set of labels, none of which is an action: take another model")

    def learn_one(self, x: Input, y: Any, weight: float = 1.0) -> Self:  # type: ignore[override]
        """Learn one example: y is a set or list of labels, or {label: bool}."""
        return super().learn_one(x, labels_of(y), weight)

    def _from_first_label(self, Y: LabelSets, classes: Any, sample_weight: Any) -> Any:
        """Weights with which rows without a label are left out as long as no label is known."""
        if "_model" in self.__dict__ or classes is not None:
            return sample_weight
        weight = weights_of(sample_weight, len(Y))
        first = next((b for b, row in enumerate(Y.rows) if row and weight[b]), len(Y))
        if not first or Y.announced:
            return sample_weight
        weight[:first] = 0.0
        return weight

    # ------------------------------------------------------------------------------------------------ predicting

    def predict(self, X: Any) -> np.ndarray:
        """Which labels are said, as an indicator (rows, classes), in the order of `classes_`."""
        return (self.predict_proba(X) > self.threshold_).astype(np.int64)

    def decision_function(self, X: Any) -> np.ndarray:
        """The scores (rows, classes): the higher, the earlier a label stands in the ranking."""
        return self._ask(X, lambda model, X, combiner, _: model.labels.outward(_scores(model, X, combiner)))

    def rank(self, X: Any) -> np.ndarray:
        """The places of the labels in the ranking (rows, classes), from 1 on; labels of one score share the mean."""
        from scipy.stats import rankdata

        return rankdata(-self.decision_function(X), axis=1)  # type: ignore[no-any-return]

    @property
    def threshold_(self) -> float:
        """The probability above which a label is said."""
        end: Any = self._fitted().chain.end
        self._check_settings()
        return float(end.threshold(self.threshold))

    def predict_proba_one(self, x: Input) -> dict[Any, float]:
        """How likely each label is to be relevant for one row; empty if nothing has been learned yet."""
        with self._lock().reading():
            if "_model" not in self.__dict__:
                return {}
            model = ready(self)
            q = model.predict_proba(single_rows.read_row(self, model, x), self._combiner(), 1)
            return model.labels.by_name(q[0].tolist())

    def predict_one(self, x: Input) -> set[Any]:
        """The labels of one row; none if nothing has been learned yet."""
        return {label for label, q in self.predict_proba_one(x).items() if q > self.threshold_}

    def predict_set(self, X: Any, coverage: float = 0.9, *, by: str | None = None) -> np.ndarray:
        """Not for several labels: `predict` gives a set."""
        raise NotImplementedError("prediction sets hold one label: MultiLabelBoost.predict gives a set of labels")

    def predict_set_one(self, x: Input, coverage: float = 0.9, *, by: str | None = None) -> list[Any]:
        """Not for several labels: `predict_one` gives a set."""
        raise NotImplementedError("prediction sets hold one label: MultiLabelBoost.predict_one gives a set of labels")

    @property
    def voices_(self) -> dict[str, float]:
        """How much the combiners count each member of the panels, on the average over the labels."""
        chain = self._fitted().chain
        if chain.panel is None:
            raise AttributeError("without panels there are no voices_")
        return chain.panel.voices()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def _scores(model: Model, X: np.ndarray, combiner: Combiner) -> np.ndarray:
    chain = model.chain
    return chain.ask(X, model.k, combiner, chain.end.walk(combiner, chain.t + 1)).rows.s  # type: ignore[no-any-return]
