"""RefittedTrees: a member of the panel by itself, or the weak learner of a booster."""

from __future__ import annotations

from onlineboost.estimators.panel_member import PanelMember
from onlineboost.panel.members.refitted_trees import RefitsMember
from onlineboost.panel.state import Ground, new_member


class RefittedTrees(PanelMember):
    """32 small boosted trees over the last 4,096 rows, the oldest of which is fitted anew at a time.

    As in the panel of :class:`OnlineBoostClassifier`, by itself or as the weak learner of a booster; but every tree
    goes by the columns alone: there are no least squares beside it, whose scores could be columns too.

    Parameters
    ----------
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import RefittedTrees
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> RefittedTrees().fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def _member(self, ground: Ground) -> RefitsMember:
        return new_member(RefitsMember, ground)
