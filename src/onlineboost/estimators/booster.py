"""What the boosters share: their weak learners, those of other packages too, and the numbers they show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any, Self, TypeVar, cast

import numpy as np
from sklearn.base import BaseEstimator, clone

from onlineboost._compile.random import child_key
from onlineboost.boosters.olm import Olm, new_olm
from onlineboost.chain.acting import guesses
from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.hedge import Hedge
from onlineboost.chain.learners import Learners, TreeLearners
from onlineboost.chain.other_learners import ExternalLearners
from onlineboost.chain.restarts import Watch
from onlineboost.chain.segments import PanelStage, Segment
from onlineboost.chain.stacking import Stacking
from onlineboost.contracts.booster import Booster
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.hoeffding_tree import HoeffdingTree
from onlineboost.estimators.panel_members import PanelMember
from onlineboost.estimators.settings import (
    ALL_VOTES,
    COMBINERS,
    RESTARTS,
    adapts,
    loss_of,
    scales,
    vote_of,
    word,
    yes_or_no,
)
from onlineboost.trees.state import Columns

Own = TypeVar("Own", bound=OnlineClassifier)  # a weak learner of this package


def of_all_learners(field: str) -> Any:
    """A property of classifiers: an array of the booster, over all learners."""
    return property(lambda self: self._fitted().chain.gather(field))


class BoosterClassifier(OnlineClassifier):
    """A chain of boosted learners, and a combiner that says which of its experts to follow."""

    combiner: str

    def _combiner(self) -> Combiner:
        """Experts cannot be judged by labels that were drawn: all of them together are followed then."""
        own = word("combiner", self.combiner, COMBINERS)
        return Combiner.LAST if guesses(self.__dict__.get("_model")) else own

    @property
    def edges_(self) -> np.ndarray:
        model = self._fitted()
        return model.chain.edges(model.k)

    @property
    def voices_(self) -> dict[str, float]:
        """Coefficients of the two combiners: of the panel's members, then of panel, labels and fifths of the chain.

        A negative coefficient means that the voice repeats another one, and corrects it.
        """
        chain = self._fitted().chain
        if chain.panel is None:
            raise AttributeError("without panel=True there are no voices_")
        return cast(Stacking, chain.end).voices(chain.panel.state.newton)

    @property
    def expert_weights_(self) -> np.ndarray:
        return self._fitted().chain.end.expert_weights()


def watched(chain: Chain, restart: str) -> Chain:
    """A new chain of Adaboost.OLM that is reviewed now and then, by the setting `restart`."""
    word("restart", restart, RESTARTS)  # a bad setting shows here
    chain.watch = Watch(np.zeros(chain.n_learners), np.zeros(chain.n_learners))
    return chain


def only_tree(learner: Any, whose: str) -> HoeffdingTree:
    """The weak learner of a booster that takes trees alone."""
    if learner is None:
        return HoeffdingTree()
    if not isinstance(learner, HoeffdingTree):
        raise ValueError(f"learner of {whose} must be a HoeffdingTree, got {learner!r}")
    return _of_a_booster(learner)


def _of_a_booster(learner: Own) -> Own:
    """A learner in a chain learns with the weights that the booster gives it."""
    for name in ("class_weight", "cost_matrix"):
        if getattr(learner, name) is not None:
            raise ValueError(f"{name} of a weak learner has no effect: give it to the booster instead")
    for name in ("calibrate", "sets"):
        if getattr(learner, name):
            raise ValueError(f"{name} of a weak learner has no effect: give it to the booster instead")
    return learner


# arguments: what a chain is made of
def boosted_chain(learner: Any, booster: Booster, columns: Columns, k: int, panel: Any = False) -> Chain:
    """N copies of a weak learner and their booster; with `panel`, behind one."""
    segment, seed = Segment(weak_learners(learner, booster, columns, k), booster), booster.seed
    if not yes_or_no("panel", panel):
        return Chain([segment], columns.n_numeric, seed, Hedge(len(segment), seed))
    stage, end = PanelStage.new(columns.n_numeric, len(columns.nominal_sizes), seed), Stacking(len(segment))
    stage.new_values(columns.nominal_sizes, [])
    return Chain(end.parted([segment]), columns.n_numeric, seed, end, stage)


@dataclass(repr=False, eq=False, kw_only=True)
class AsInThePaper:
    """Settings of Adaboost.OLM that are there to be compared with: see :meth:`AdaBoostOLM.paper`."""

    as_printed: bool = False
    as_programmed: bool = False

    _votes = ALL_VOTES


FIRST_WEIGHT = 5.0  # of all examples, for the first learner of the authors' program


def booster_of(clf: Any, n: int, seed: int) -> Olm:
    """Adaboost.OLM for n learners, with the settings of an estimator."""
    loss, scale = loss_of(clf.loss), scales(clf.weight_scale, n, seed)
    vote, steps = vote_of(clf.vote, clf._votes), adapts(getattr(clf, "alpha_steps", "auto"), loss)
    printed, programmed = (yes_or_no(name, getattr(clf, name)) for name in ("as_printed", "as_programmed"))
    if (printed or programmed) and clf.loss != "logistic":
        name = "as_printed" if printed else "as_programmed"
        raise ValueError(f"{name}=True is an error of the logistic loss alone, got loss={clf.loss!r}")
    if programmed:
        scale = np.array([2.0 * FIRST_WEIGHT, *scale[1:]])  # without votes before it, its weights are 1/2 unscaled
    return new_olm(loss, vote, seed, scale, printed=printed, programmed=programmed, adaptive=steps)


def of_the_paper(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of Adaboost.OLM in the paper, or in its authors' program, where those given are not others."""
    programmed = settings.get("as_programmed", False)
    scale = (5, 200) if programmed else 1.0
    learner = HoeffdingTree.paper(as_programmed=programmed)
    return {"learner": learner, "weight_scale": scale, "vote": "cost", **settings}


def weak_learners(learner: Any, booster: Booster, columns: Columns, k: int) -> Learners:
    """As many copies of a weak learner as the booster wants."""
    learner = HoeffdingTree() if learner is None else learner
    if isinstance(learner, HoeffdingTree):
        return TreeLearners(_of_a_booster(learner)._trees(columns, booster.scale, booster.seed))
    if isinstance(learner, PanelMember):
        seeds = [child_key(booster.seed, i) for i in range(booster.n_learners)]
        return _of_a_booster(learner)._members(columns, seeds, k)
    if isinstance(learner, type):
        raise ValueError(f"learner must be an object, not a class: {learner.__name__}()")
    rows_alone = learns_one_by_one(learner)
    for method in ("partial_fit", "predict_proba"):
        if not (hasattr(learner, method) or rows_alone):
            raise ValueError(f"learner {learner!r} has no {method}; a weak learner needs partial_fit and predict_proba")
    if k == 0:
        raise ValueError("weak learners of other libraries need `classes` on the first call of partial_fit")
    if rows_alone:
        return ExternalLearners([one_by_one(learner, (booster.seed + i) % 2**32) for i in range(booster.n_learners)], k)
    copies = [clone(learner) for _ in range(booster.n_learners)]
    if "random_state" in learner.get_params():
        copies = [copy.set_params(random_state=(booster.seed + i) % 2**32) for i, copy in enumerate(copies)]
    return ExternalLearners(copies, k)


class OneByOne(BaseEstimator):
    """A classifier with `learn_one` and `predict_proba_one`, dressed as one that learns from arrays.

    Columns are named "x0", "x1", ...; nominal ones are codes. What is missing is left out of the row.
    """

    classes_: np.ndarray

    def __init__(self, model: Any) -> None:
        self.model = model

    def __sklearn_clone__(self) -> Self:
        """One that has learned nothing: scikit-learn would copy the model as it is."""
        return type(self)(self.model.clone())

    def partial_fit(self, X: np.ndarray, y: np.ndarray, classes: Any = None) -> Self:
        self.classes_ = classes if classes is not None else self.classes_
        for row, label in zip(X, y.tolist(), strict=True):
            self.model.learn_one(_named(row), label)
        return self

    def predict_proba(self, X: np.ndarray) -> np.ndarray:
        """Evenly spread where the model has no opinion."""
        p = np.array([[self._said(row).get(label, 0.0) for label in self.classes_.tolist()] for row in X])
        total = p.sum(axis=1, keepdims=True)
        even = np.full_like(p, 1.0 / p.shape[1])
        return np.divide(p, total, out=even, where=total > 0.0)  # type: ignore[no-any-return]

    def _said(self, row: np.ndarray) -> dict[Any, float]:
        said: dict[Any, float] = self.model.predict_proba_one(_named(row))
        return said


class WeightedOneByOne(OneByOne):
    """One that takes the weight of an example too."""

    def partial_fit(self, X: np.ndarray, y: np.ndarray, classes: Any = None, sample_weight: Any = None) -> Self:
        self.classes_ = classes if classes is not None else self.classes_
        weights = np.ones(len(y)) if sample_weight is None else sample_weight
        for row, label, weight in zip(X, y.tolist(), weights.tolist(), strict=True):
            self.model.learn_one(_named(row), label, w=weight)
        return self


def learns_one_by_one(learner: Any) -> bool:
    return not hasattr(learner, "partial_fit") and hasattr(learner, "learn_one") and hasattr(learner, "clone")


def one_by_one(learner: Any, seed: int) -> OneByOne:
    """A fresh copy of such a classifier, with this seed if it takes one."""
    takes_seed = "seed" in signature(type(learner)).parameters
    copy = learner.clone({"seed": seed}) if takes_seed else learner.clone()
    weighted = "w" in signature(copy.learn_one).parameters
    return (WeightedOneByOne if weighted else OneByOne)(copy)


def _named(row: np.ndarray) -> dict[str, float]:
    return {f"x{c}": value for c, value in enumerate(row.tolist()) if value == value}
