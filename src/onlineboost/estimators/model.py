"""What a fitted classifier has learned: its columns, its classes, and the chain."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels
from onlineboost.trees.state import Columns


@dataclass
class Model:
    """What a fitted classifier has learned."""

    encoder: Encoder
    labels: Labels
    chain: Chain
    counts: np.ndarray = field(default_factory=lambda: np.zeros(0))  # weight of each class, where costs need it
    damage: str = ""  # what went wrong in the middle of a row, if anything did: it cannot be used any more
    compiled: bool = False  # whether its kernels are, in this process

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "compiled": False}

    @property
    def k(self) -> int:
        return len(self.labels.classes)

    @property
    def columns(self) -> Columns:
        return Columns(len(self.encoder.numeric), self.encoder.sizes)

    def shares(self, X: np.ndarray, combiner: Combiner) -> np.ndarray:
        """Probabilities of the classes for encoded rows; before the first is learned all are as likely."""
        if self.chain.t == 0:
            return np.full((len(X), self.k), 1.0 / self.k)
        return self.chain.probabilities(X, self.k, combiner)
