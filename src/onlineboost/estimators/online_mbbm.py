"""OnlineMBBM: the optimal booster of the paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np

from onlineboost.boosters.adaptive import LADDER, first_steps, in_turn
from onlineboost.boosters.mbbm import CACHE_MEGABYTES, new_mbbm
from onlineboost.boosters.potentials import Tables, build_tables
from onlineboost.boosters.potentials.tables import recipe
from onlineboost.chain.chain import Chain
from onlineboost.chain.memory_budget import CACHE_PART
from onlineboost.chain.model import Model
from onlineboost.estimators.booster import BoosterClassifier, boosted_chain
from onlineboost.estimators.hoeffding_tree import HoeffdingTree
from onlineboost.estimators.memory import bytes_of
from onlineboost.estimators.settings import ALL_VOTES, WEIGHTS, Scale, scales, vote_of, word
from onlineboost.trees.state import Columns

GAMMAS = (0.3, 0.1, 0.03, 0.01)  # of gamma="auto"


@dataclass(repr=False, eq=False)
class OnlineMBBM(BoosterClassifier):
    """OnlineMBBM: online multiclass boost-by-majority (Jung, Goetz, Tewari 2017, Algorithm 1), with exact potentials.

    Parameters
    ----------
    n_learners : int
        N, the number of weak learners.
    gamma : float in [0, 1), list of one for each learner, "auto" or "adaptive"
        The edge over random guessing that the learners are taken to have. "auto": 0.3, 0.1, 0.03 and 0.01 in turn
        along the chain, which needs no guess (docs/mbbm.md). "adaptive": it follows the edge that each learner shows
        (docs/mbbm.md). Theorem 1 holds for all of them.
    loss : {"zero_one", "pairwise", "logistic", "exponential", "hinge", "squared_hinge"}
        The loss of the final votes to be made small; the potentials and costs follow from it. "pairwise" counts the
        wrong labels that are not behind the right one: for over 100 learners, as its time grows with N, not N^2.
    learner, weight_scale, vote, class_weight, cost_matrix, panel, calibrate, memory_limit
        As in :class:`AdaBoostOLM`.
    categorical_features, columns, random_state, n_jobs, sets
        As in :class:`AdaBoostOLM`.
    combiner : {"hedge", "weighted", "best", "last"}
        Which of the experts (expert i is the majority of the first i votes) to follow, as in :class:`AdaBoostOLM`.
        "last", the majority of all votes, is the paper's. With `panel` it is not used.

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

    _floor = 0.1  # probabilities are shares of votes
    _explores_doubts = False  # its theorem asks for actions that are drawn from all alike

    n_learners: int = 100
    _: KW_ONLY
    gamma: float | Sequence[float] | str = "auto"
    loss: str = "zero_one"
    learner: Any = None
    weight_scale: Scale = "rising"
    combiner: str = "hedge"
    vote: str = "tempered"
    panel: bool = False
    calibrate: bool = False
    n_jobs: int | None = 1

    potential = "exact"  # settings of the paper's form alone
    weights = "relative"

    @classmethod
    def paper(
        cls, gamma: float | Sequence[float], n_learners: int = 100, *, as_programmed: bool = False, **settings: Any
    ) -> PaperMBBM:
        """Algorithm 1 of the paper over its weak learners: plain weights, normalized costs, the majority of all votes.

        Parameters
        ----------
        gamma, n_learners
            As in the class.
        as_programmed : bool
            Whether weights, votes and trees are those of the authors' program: ``weights="mean"`` times U(.5, 20),
            plain costs, and trees drawn evenly in the logarithm. Potentials are exact all the same.
        potential : {"exact", "monte_carlo"}
            How potentials are computed. "monte_carlo" is the way of the authors' program, from 100 random draws.
        weights : {"plain", "mean", "relative"}
            What examples weigh, before `weight_scale`: the paper's weight itself; that weight over the number of other
            classes, k - 1; or over its mean so far, as in `OnlineMBBM()` (docs/mbbm.md).
        **settings
            Any of the parameters of the class, to differ from the paper in these. `vote` is "normalized" here: every
            row of the cost matrix is divided by its sum.

        Examples
        --------
        >>> OnlineMBBM.paper(gamma=0.1).combiner
        'last'
        """
        printed: dict[str, Any] = {"weights": "plain", "weight_scale": 1.0, "vote": "normalized"}
        if as_programmed:
            printed = {"weights": "mean", "weight_scale": (0.5, 20), "vote": "cost"}
        printed |= {"gamma": gamma, "combiner": "last", "learner": HoeffdingTree.paper(as_programmed=as_programmed)}
        return PaperMBBM(n_learners, **(printed | settings))

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        self._combiner()  # a bad setting shows here
        scale = scales(self.weight_scale, self.n_learners, seed)
        plain = word("weights", self.weights, WEIGHTS) != "relative"
        vote, tables = vote_of(self.vote, self._votes), self._tables(2, seed, len(scale))
        booster = new_mbbm(vote, seed, scale, tables, plain, self._cache(), self._is_adaptive())
        return boosted_chain(self.learner, booster, columns, k, self.panel)

    def _cache(self) -> float:
        """Megabytes for costs met before."""
        limit = bytes_of(self.memory_limit)
        return CACHE_MEGABYTES if limit is None else min(CACHE_MEGABYTES, limit * CACHE_PART / 1.5e6)

    def _tables(self, k: int, seed: int, n: int) -> Tables:
        return build_tables(k, n, self._gammas(n), loss=self.loss, potential=self.potential, seed=seed)

    def _is_adaptive(self) -> bool:
        adaptive = isinstance(self.gamma, str) and self.gamma == "adaptive"
        if adaptive and (self.loss != "zero_one" or self.potential != "exact"):
            raise ValueError(
                f'gamma="adaptive" is for loss="zero_one" and potential="exact"; got loss={self.loss!r} and '
                f'potential={self.potential!r}: use gamma="auto"'
            )
        return adaptive

    def _gammas(self, n: int) -> np.ndarray:
        """gamma as one number for all learners, or for each, in the first round."""
        if not isinstance(self.gamma, str):
            return np.ravel(self.gamma)
        if self.gamma == "adaptive":
            return LADDER[first_steps(n)]
        if self.gamma != "auto":
            raise ValueError(
                f'gamma must be a number in [0, 1), one for each learner, "auto" or "adaptive", got {self.gamma!r}'
            )
        return in_turn(GAMMAS, n)

    def _check_new_classes(self, model: Model) -> None:
        self._tables(2, model.chain.seed, model.chain.n_learners)

    def _set_classes(self, model: Model, k: int) -> None:
        super()._set_classes(model, k)
        segments = model.chain.segments
        if k < 2 or segments[0].booster.tables.n_classes == k:
            return
        made: dict[bytes, Tables] = {}  # by gammas, which only segments that are elsewhere have others of
        scale = scales(self.weight_scale, model.chain.n_learners, model.chain.seed) / (k - 1.0)
        for segment in segments:
            old = segment.booster.tables
            if old.gamma.tobytes() not in made:
                given = {**recipe(old), "n_classes": k}
                made[old.gamma.tobytes()] = build_tables(n_learners=model.chain.n_learners, **given)
            booster = segment.booster.with_tables(made[old.gamma.tobytes()])
            if self.weights == "mean":
                booster.scale[:] = scale[booster.offset : booster.offset + len(booster.scale)]
            segment.booster = booster

    @property
    def gammas_(self) -> np.ndarray:
        return self._fitted().chain.segments[0].booster.tables.gamma[::-1]


@dataclass(repr=False, eq=False)
class PaperMBBM(OnlineMBBM):
    """What `OnlineMBBM.paper` makes: with settings that exist for comparison."""

    _votes = ALL_VOTES

    potential: str = field(default="exact", kw_only=True)
    weights: str = field(default="relative", kw_only=True)
