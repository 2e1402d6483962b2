"""OneVsAll: a binary booster for every class."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, cast

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost.chain.chain import Chain
from onlineboost.chain.model import Model
from onlineboost.chain.one_vs_all import OneVsAllEnd
from onlineboost.chain.segments import Segment
from onlineboost.estimators.booster import booster_of, of_the_paper, weak_learners
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.settings import ALL_VOTES, VOTES, Names, Scale, count
from onlineboost.trees.state import Columns


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
    class_weight, cost_matrix, calibrate, memory_limit, categorical_features, columns, random_state, n_jobs
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
class PaperOneVsAll(OneVsAll):
    """What `OneVsAll.paper` makes: with the settings that are there to be compared with."""

    _votes = ALL_VOTES

    as_printed: bool = field(default=False, kw_only=True)
    as_programmed: bool = field(default=False, kw_only=True)


def _add_class(chain: Chain, segment: Segment) -> None:
    """One more class. Its booster knows nothing of the past, and its steps are those of a first round."""
    segment.booster.born[:] = chain.t
    cast(OneVsAllEnd, chain.end).add_class(len(segment))
    chain.segments = [*chain.segments, segment]
