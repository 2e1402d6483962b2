"""NearestNeighbours: a member of the panel by itself, or the weak learner of a booster."""

from __future__ import annotations

from typing import Any

from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.panel_member import PanelMember
from onlineboost.estimators.settings import Names, count
from onlineboost.panel.members.nearest_neighbours import NeighboursMember
from onlineboost.panel.state import Ground, new_member

MOST = 64  # neighbours: they are sorted one by one


class NearestNeighbours(PanelMember):
    """The nearest among the last 4,096 rows, where columns count by what they tell of the classes.

    With 1 and with 4 neighbours, a voice of the panel of :class:`OnlineBoostClassifier`, by itself or as
    the weak learner of a booster. A neighbour at squared distance d counts exp(-d / mean d), times its weight.

    Parameters
    ----------
    n_neighbours : int
        How many are asked, from 1 to 64.
    class_weight, cost_matrix
        As in :class:`AdaBoostOLM`, for the member by itself: a booster has settings of its own.
    calibrate, memory_limit, categorical_features, columns, random_state
        As in :class:`HoeffdingTree`. Columns that turn up later are not looked at.

    Examples
    --------
    >>> from onlineboost import NearestNeighbours
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> NearestNeighbours(n_neighbours=1).fit(X, y).predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        *,
        n_neighbours: int = 4,
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
        self.n_neighbours = n_neighbours

    def _member(self, ground: Ground) -> NeighboursMember:
        many = count("n_neighbours", self.n_neighbours)
        if many > MOST:
            raise ValueError(f"n_neighbours must be at most {MOST}, got {self.n_neighbours!r}")
        return new_member(NeighboursMember, ground, many=many)
