"""LeastSquares: a member of the panel by itself, or the weak learner of a booster."""

from __future__ import annotations

from typing import Any

from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.panel_member import PanelMember
from onlineboost.estimators.settings import Names, yes_or_no
from onlineboost.panel.members.cosines import CosinesMember
from onlineboost.panel.members.least_squares import LinearMember
from onlineboost.panel.state import Ground, new_member


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
    calibrate, memory_limit, categorical_features, columns, random_state
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import LeastSquares
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> LeastSquares(cosines=False).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        cosines: bool = True,
        class_weight: ClassWeight = None,
        cost_matrix: CostMatrix = None,
        calibrate: bool = False,
        memory_limit: MemoryLimit = DEFAULT,
        categorical_features: Names = None,
        columns: str = "auto",
        random_state: Any = 0,
    ) -> None:
        super().__init__(
            class_weight=class_weight,
            cost_matrix=cost_matrix,
            calibrate=calibrate,
            memory_limit=memory_limit,
            categorical_features=categorical_features,
            columns=columns,
            random_state=random_state,
        )
        self.cosines = cosines

    def _member(self, ground: Ground) -> LinearMember | CosinesMember:
        return new_member(CosinesMember if yes_or_no("cosines", self.cosines) else LinearMember, ground)
