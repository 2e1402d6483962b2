"""Probabilities of rows as they are learned: what was said of each before, for whoever asks, and for calibration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onlineboost.chain.calibration import ahead
from onlineboost.chain.experts import Combiner
from onlineboost.estimators.model import Model

Heard = list[np.ndarray] | None  # probabilities of rows that were learned, part by part; None: nobody asks


class Listener:
    """Listens to a model while it learns: `parts` gets what it says, and its calibration learns from it."""

    def __init__(self, model: Model, parts: Heard) -> None:
        self.model, self.parts = model, parts
        self._first: np.ndarray | None = None
        self._even = int(model.chain.t == 0)  # rows to come of which nothing is said: all classes are as likely
        model.chain.heard = None if parts is None and model.calibration is None else []

    def before_new_class(self, x: np.ndarray, combiner: Combiner) -> None:
        """The coming row has a label that is not known yet: it is predicted without."""
        if self.parts is not None:
            self._first = self.model.shares(x, combiner)[0] if self.model.k else np.zeros(0)

    def after_block(self, codes: np.ndarray, weight: np.ndarray, said: np.ndarray) -> None:
        """Rows with these labels and weights, or the first of them, have been learned, and were `said` to be these."""
        heard = self.model.chain.heard
        if heard is None:
            return
        self.model.chain.heard = []
        if self.model.calibration is not None:
            self.model.calibrate(heard, codes, weight)
        if self.parts is not None:
            for p in heard:
                p[self._even :] = ahead(p[self._even :], said[self._even : len(p)])
                said, self._even = said[len(p) :], 0
            if self._first is not None and heard:
                heard[0][0] = np.pad(self._first, (0, heard[0].shape[1] - len(self._first)))
                self._first = None
            self.parts += heard


def joined_shares(parts: Sequence[np.ndarray], k: int) -> np.ndarray:
    """Probabilities that came part by part as one array, (rows, k); classes that a part does not know have 0."""
    out, at = np.zeros((sum(map(len, parts)), k)), 0
    for part in parts:
        out[at : at + len(part), : part.shape[1]] = part
        at += len(part)
    return out
