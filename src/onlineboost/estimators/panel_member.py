"""What the members of the panel share, each a classifier by itself or the weak learner of a booster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlineboost.boosters.plain import Plain
from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.hedge import Hedge
from onlineboost.chain.members import MemberLearners, new_members
from onlineboost.chain.segments import Segment
from onlineboost.estimators.base import OnlineClassifier
from onlineboost.estimators.costs import ClassWeight, CostMatrix
from onlineboost.estimators.memory import DEFAULT, MemoryLimit
from onlineboost.estimators.settings import Names
from onlineboost.panel.members.member import Member
from onlineboost.panel.state import Ground
from onlineboost.trees.state import Columns


class PanelMember(OnlineClassifier):
    """A member of the panel of :class:`OnlineBoostClassifier`."""

    def __init__(
        self,
        *,
        class_weight: ClassWeight = None,
        cost_matrix: CostMatrix = None,
        calibrate: bool = False,
        memory_limit: MemoryLimit = DEFAULT,
        categorical_features: Names = None,
        columns: str = "auto",
        random_state: Any = 0,
    ) -> None:
        self.class_weight = class_weight
        self.cost_matrix = cost_matrix
        self.calibrate = calibrate
        self.memory_limit = memory_limit
        self.categorical_features = categorical_features
        self.columns = columns
        self.random_state = random_state

    @abstractmethod
    def _member(self, ground: Ground) -> Member:
        """One with these settings, before its first row."""

    def _members(self, columns: Columns, seeds: Sequence[int], k: int) -> MemberLearners:
        """One for each seed."""
        return new_members(self._member, columns.n_numeric, len(columns.nominal_sizes), seeds, k)

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        segment = Segment(self._members(columns, [seed], k), Plain(seed, 1, 0, np.ones(1)))
        return Chain([segment], columns.n_numeric, seed, Hedge(1, seed))

    def _combiner(self) -> Combiner:
        return Combiner.LAST
