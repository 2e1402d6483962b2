"""What a model says of rows just before it learns them: for its calibration, its prediction sets, and whoever asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from onlineboost.chain.experts import Combiner
from onlineboost.chain.model import Model, ahead
from onlineboost.chain.sets import with_classes
from onlineboost.data.errors import DataError


@dataclass
class Asked:
    """What a caller wants to know of rows just before they are learned, part by part."""

    proba: bool = False
    coverage: float | None = None  # of prediction sets; None: there are to be none
    shares: list[np.ndarray] = field(default_factory=list)  # probabilities (rows, k)
    sets: list[np.ndarray] = field(default_factory=list)  # bool (rows, k)


class Listener:
    """Listens to a model while it learns: its calibration and its sets learn from what it says, and `asked` gets it."""

    def __init__(self, model: Model, asked: Asked | None, weight: np.ndarray) -> None:
        self.model, self.asked = model, asked or Asked()
        self.weight = weight  # of the rows to come, without what their classes are worth
        self._first: np.ndarray | None = None
        self._first_set: np.ndarray | None = None
        self._even = int(model.chain.t == 0)  # rows to come of which nothing is said: all classes are as likely
        hears = self.asked.proba or model.calibration is not None or model.sets is not None
        model.chain.heard = [] if hears else None

    def before_new_class(self, x: np.ndarray, combiner: Combiner) -> None:
        """The coming row has a label that is not known yet: it is predicted without."""
        k = self.model.k
        if self.asked.proba:
            self._first = self.model.shares(x, combiner)[0] if k else np.zeros(0)
        if self.asked.coverage is not None:
            own = self.model.sets_of(x, combiner, self.asked.coverage, False)[0] if k else np.zeros(0, np.bool_)
            self._first_set = own

    def after_block(self, X: np.ndarray, codes: np.ndarray, weight: np.ndarray, said: np.ndarray) -> None:
        """These rows, or the first of them, have been learned, and were `said` to be these."""
        model, asked = self.model, self.asked
        heard = model.chain.heard
        if heard is None:
            return
        model.chain.heard = []
        n = sum(map(len, heard))
        if model.calibration is not None:
            model.calibrate(heard, codes, weight)
        if model.sets is not None:
            model.sets = with_classes(model.sets, model.k)
            shown = model.learn_sets(heard, X, codes, self.weight[:n], model.chain.t + 1 - n, asked.coverage)
            self.weight = self.weight[n:]
            if asked.coverage is not None:
                self._first_set = _as_first(shown, self._first_set)
                asked.sets += shown
        if asked.proba:
            for p in heard:
                p[self._even :] = ahead(p[self._even :], said[self._even : len(p)])
                said, self._even = said[len(p) :], 0
            self._first = _as_first(heard, self._first)
            asked.shares += heard


def _as_first(parts: list[np.ndarray], first: np.ndarray | None) -> np.ndarray | None:
    """The first row becomes this one, which knows fewer classes; what is still to be put there."""
    if first is not None and parts:
        parts[0][0] = np.pad(first, (0, parts[0].shape[1] - len(first)))
        return None
    return first


def joined_parts(model: Model | None, parts: list[np.ndarray], dtype: type = np.float64) -> np.ndarray:
    """What came part by part as one array, (rows, classes); classes that a part does not know have 0."""
    if model is None:
        return np.zeros((0, 0), dtype)
    out: np.ndarray = np.zeros((sum(map(len, parts)), model.k), dtype)
    at = 0
    for part in parts:
        out[at : at + len(part), : part.shape[1]] = part
        at += len(part)
    return model.labels.outward(out)


def with_sets(clf: Any, model: Model) -> Model:
    """The model, if it has learned what prediction sets are made of."""
    if model.sets is None:
        what = "has learned no row since sets=True was set" if clf.sets else "has not learned with sets=True"
        raise DataError(
            f"this {type(clf).__name__} {what}, so it does not know which labels are likely enough: "
            f"{'' if clf.sets else 'set_params(sets=True), and '}let it learn some rows"
        )
    return model


def check_coverage(coverage: Any, by: Any = None) -> tuple[float, bool]:
    """A share of rows, and whether it is to hold for the rows of each class."""
    if not isinstance(coverage, float | int | np.floating) or not 0.0 < coverage < 1.0:
        raise ValueError(f"coverage must lie in (0, 1): .9 is to cover nine rows of ten, got {coverage!r}")
    if by not in (None, "class"):
        raise ValueError(f'by must be None or "class", got {by!r}')
    return float(coverage), by == "class"
