"""HoeffdingTree: a single tree, or the weak learner of a booster."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost.boosters.plain import Plain
from onlineboost.chain.chain import Chain
from onlineboost.chain.hedge import Hedge
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.segments import Segment
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.settings import CONFIDENCE, DRAWS, GRACE, TIE, Range, draw, word
from onlineboost.trees.state import LEAF_RULES, Columns, Forest, TreeSettings, plant


@dataclass(repr=False, eq=False, kw_only=True)
class HoeffdingTree(OnlineClassifier):
    """A Hoeffding tree (VFDT), by itself or as the weak learner of a booster.

    Parameters
    ----------
    grace_period : number or (low, high)
        Weight a leaf takes in between two split tries. Here and below, a range is drawn from once per learner.
    split_confidence : number or (low, high)
        delta of the Hoeffding bound: the smaller, the surer the tree must be that a column is the best one. Drawn
        uniformly in the logarithm, and so is `tie_threshold`: there are then more trees that split with care.
    tie_threshold : number or (low, high)
        tau: once the bound is below this, the leaf splits on the best column although the second is close.
    leaf_prediction : {"nba", "nb", "majority"}
        How a leaf predicts: by naive Bayes, by the shares of its classes, or (nba) by whichever of the two has been
        right more often at this leaf.
    max_features : float in (0, 1]
        Share of the columns looked at in a split try, drawn for every try: trees that differ make a better chain.
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for a tree by itself: a booster has settings of its own.
    calibrate : bool
        Whether probabilities are calibrated online, by temperature scaling (docs/measure.md). Predictions stay the
        same; single rows take longer to learn. Read when learning begins.
    memory_limit : int, str such as "64MB" or "1GB", or None
        The most bytes that the model takes, kept at every moment (docs/scale.md); None: no limit. Read when learning
        begins. In a booster the booster's own limit counts.
    categorical_features : list of names or positions, or a mask, optional
        Columns to take as nominal besides those of a text or categorical type.
    columns : {"auto", "open", "fixed"}
        Whether columns may turn up that the first row or block did not have: in rows that are mappings, in blocks with
        names too, or not at all. A column begins with the first row that has a value in it.
    random_state : int, RandomState or None
        Seed of the settings drawn from ranges.
    sets : bool
        Whether it learns what prediction sets are made of: see `predict_set` and docs/sets.md. May change at any time.

    Examples
    --------
    >>> from onlineboost import HoeffdingTree
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> HoeffdingTree().fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    grace_period: Range = (5, 40)
    split_confidence: Range = (0.01, 0.9)
    tie_threshold: Range = (0.01, 0.9)
    leaf_prediction: str = "nba"
    max_features: float = 0.3
    calibrate: bool = False

    draws = "log"  # a setting of the paper's form alone

    @classmethod
    def paper(cls, *, as_programmed: bool = False, **settings: Any) -> PaperTree:
        """The weak learner of the paper's experiments: a plain VFDT, its settings drawn evenly for every tree.

        Parameters
        ----------
        as_programmed : bool
            Whether they are drawn as the authors' program draws them, evenly in the logarithm.
        draws : {"even", "log"}
            How `split_confidence` and `tie_threshold` are drawn from a range: uniformly, or uniformly in the logarithm,
            as in `HoeffdingTree()`.
        **settings
            Any of the parameters of the class, to differ from the paper in these.
        """
        printed: dict[str, Any] = {"grace_period": (5, 20), "draws": "log" if as_programmed else "even"}
        printed |= {"leaf_prediction": "majority", "max_features": 1.0}
        return PaperTree(**(printed | settings))

    def _trees(self, columns: Columns, unit: np.ndarray, seed: int, first: int = 0) -> Forest:
        """Trees with these settings, from number `first` of a chain on; `unit` is the weight of one example."""
        n = len(unit)
        log = word("draws", self.draws, DRAWS) == "log"
        confidence = draw(self.split_confidence, n, seed, CONFIDENCE, "split_confidence", log=log, first=first)
        if confidence.min() <= 0.0 or confidence.max() >= 1.0:
            raise ValueError(f"split_confidence must lie between 0 and 1, got {self.split_confidence!r}")
        share = self.max_features
        if not (isinstance(share, int | float | np.number) and 0.0 < share <= 1.0):
            raise ValueError(f"max_features must be a share of the columns in (0, 1], got {share!r}")
        settings = TreeSettings(
            leaf=word("leaf_prediction", self.leaf_prediction, LEAF_RULES),
            grace=draw(self.grace_period, n, seed, GRACE, "grace_period", first=first),
            confidence=confidence,
            tie=draw(self.tie_threshold, n, seed, TIE, "tie_threshold", log=log, first=first),
            unit=unit,
            share=float(share),
        )
        return plant(columns, settings, seed, first)

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        forest = self._trees(columns, np.ones(1), seed)
        segment = Segment(TreeLearners(forest), Plain(seed, 1, 0, np.ones(1)))
        return Chain([segment], columns.n_numeric, seed, Hedge(1, seed))


@dataclass(repr=False, eq=False, kw_only=True)
class PaperTree(HoeffdingTree):
    """What `HoeffdingTree.paper` makes: with a setting that exists for comparison."""

    draws: str = "log"
