"""EagerTrees: a member of the panel by itself, or the weak learner of a booster."""

from __future__ import annotations

from onlineboost.estimators.panel_member import PanelMember
from onlineboost.panel.members.eager_trees import EagerMember
from onlineboost.panel.state import Ground, new_member


class EagerTrees(PanelMember):
    """24 trees that split as soon as a leaf has met two classes, by random cuts; their mean is what they say.

    The first voice of the panel of :class:`OnlineBoostClassifier`, by itself or as the weak learner of a
    booster. Memory is bounded: a tree of 8,192 nodes starts again, at another time than the others.

    Parameters
    ----------
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state
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

    def _member(self, ground: Ground) -> EagerMember:
        return new_member(EagerMember, ground)
