"""The members of the panel of OnlineBoostClassifier, each a classifier by itself, or the weak learner of a booster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onlineboost.boosters.plain import Plain
from onlineboost.chain.chain import Chain
from onlineboost.chain.hedge import Hedge
from onlineboost.chain.other_learners import MemberLearners, new_members
from onlineboost.chain.segments import Segment
from onlineboost.estimators.classifier import OnlineClassifier
from onlineboost.estimators.settings import count, yes_or_no
from onlineboost.panel.neighbours import MOST_NEIGHBOURS
from onlineboost.panel.state import ALONE
from onlineboost.trees.state import Columns


@dataclass(repr=False, eq=False, kw_only=True)
class PanelMember(OnlineClassifier):
    """A member of the panel of :class:`OnlineBoostClassifier`."""

    calibrate: bool = False

    @abstractmethod
    def _kind(self) -> tuple[str, dict[str, int]]:
        """Which one it is, by its name in files, and its settings."""

    def _members(self, columns: Columns, seeds: Sequence[int], k: int) -> MemberLearners:
        """One for each seed."""
        name, settings = self._kind()
        return new_members(ALONE[name], settings, columns.n_numeric, len(columns.nominal_sizes), seeds, k)

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        segment = Segment(self._members(columns, [seed], k), Plain(seed, 1, 0, np.ones(1)))
        return Chain([segment], columns.n_numeric, seed, Hedge(1, seed))


class EagerTrees(PanelMember):
    """24 trees that split as soon as a leaf has met two classes, by random cuts; their mean is what they say.

    The first voice of the panel of :class:`OnlineBoostClassifier`, by itself or as the weak learner of a
    booster. Memory is bounded: a tree of 8,192 nodes starts again, at another time than the others.

    Parameters
    ----------
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state, sets
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM, EagerTrees
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> EagerTrees().fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    >>> AdaBoostOLM(3, learner=EagerTrees()).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def _kind(self) -> tuple[str, dict[str, int]]:
        return "eager-trees", {}


@dataclass(repr=False, eq=False, kw_only=True)
class NearestNeighbours(PanelMember):
    """The nearest among the last 4,096 rows, where columns count by what they tell of the classes.

    With 1 and with 10 neighbours, a voice of the panel of :class:`OnlineBoostClassifier`, by itself or as
    the weak learner of a booster. A neighbour at squared distance d counts exp(-d / mean d), times its weight.

    Parameters
    ----------
    n_neighbours : int
        How many are asked, from 1 to 64.
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state, sets
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import NearestNeighbours
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> NearestNeighbours(n_neighbours=1).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    n_neighbours: int = 4

    def _kind(self) -> tuple[str, dict[str, int]]:
        many = count("n_neighbours", self.n_neighbours)
        if many > MOST_NEIGHBOURS:
            raise ValueError(f"n_neighbours must be at most {MOST_NEIGHBOURS}, got {self.n_neighbours!r}")
        return "nearest-neighbours", {"many": many}


@dataclass(repr=False, eq=False, kw_only=True)
class LeastSquares(PanelMember):
    """Recursive least squares to a score of every class, from the columns and from 128 random cosines of them.

    A voice of the panel of :class:`OnlineBoostClassifier`, by itself or as the weak learner of a booster.
    The probabilities are the softmax of 5 x the scores, as the panel takes them. Time and memory grow with the square
    of the number of columns.

    Parameters
    ----------
    cosines : bool
        Whether there are cosines: without them the scores are linear in the columns, which is the panel's other voice.
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state, sets
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import LeastSquares
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> LeastSquares(cosines=False).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    cosines: bool = True

    def _kind(self) -> tuple[str, dict[str, int]]:
        return "cosines" if yes_or_no("cosines", self.cosines) else "linear", {}


class RefittedTrees(PanelMember):
    """32 small boosted trees over the last 4,096 rows, of which the oldest is replaced at a time.

    As in the panel of :class:`OnlineBoostClassifier`, by itself or as the weak learner of a booster; but every tree
    goes by the columns alone: there are no least squares beside it, whose scores could be columns too.

    Parameters
    ----------
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state, sets
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import RefittedTrees
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> RefittedTrees().fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def _kind(self) -> tuple[str, dict[str, int]]:
        return "refitted-trees", {}
