"""`Copies`: a fitted estimator under its lock, its copies, pickles and files."""

from __future__ import annotations

import sys
import threading
from copy import deepcopy
from os import PathLike
from typing import Any, Self

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from onlineboost.chain.model import OF_THIS_PROCESS, Model
from onlineboost.data.values import interned
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.files.files import take


class Copies(BaseEstimator):
    """What was learned is the attribute `_model`, and some threads may read it, or one may change it."""

    _model: Model

    def _lock(self) -> ReadWriteLock:
        return self.__dict__.get("_lock_") or self.__dict__.setdefault("_lock_", ReadWriteLock())  # type: ignore[no-any-return]

    def _fitted(self) -> Model:
        if "_model" not in self.__dict__:
            check_is_fitted(self)
        if damage := self._model.damage:
            raise RuntimeError(
                f"an error in the middle of learning a row has left this model half way ({damage}). "
                f"Go back to a copy (snapshot() or pickle), or call fit"
            )
        return self._model

    def save(self, path: str | PathLike[str], *, pickled_learners: bool = False) -> None:
        """Save the model to a file, for `onlineboost.load` (docs/production.md).

        The file takes the place of one that is there as a whole, or not at all. Learners of other libraries can only
        be pickled, and only if `pickled_learners` says so here and in `load`.
        """
        with self._lock().reading():
            saved = take(self, pickled_learners=pickled_learners)
        saved.write(path)

    def snapshot(self) -> Self:
        """A copy as it is now, to predict with while this one goes on learning: compact, and quick for single rows."""
        self._fitted()
        return deepcopy(self)

    def __copy__(self) -> Self:
        """A copy shares nothing that learning changes: otherwise one would learn half of what the other learns."""
        return deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        with self._lock().reading():
            memo[id(self)] = copy = type(self).__new__(type(self))
            copy.__dict__.update(deepcopy(self._without_lock(), memo))
            copy.__dict__["_told_"] = dict(self.__dict__.get("_told_", ()))  # what was told need not be told by a copy
            return copy

    def __getstate__(self) -> dict[str, Any]:
        """What pickle reads after the lock is released: with other threads about, a copy that none of them changes."""
        with self._lock().reading():
            state = self._without_lock()
            return deepcopy(state) if threading.active_count() > 1 else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As scikit-learn does it, with names that are one object each: equal models then make equal pickles."""
        super().__setstate__({sys.intern(name): value for name, value in state.items()})

    def _without_lock(self) -> dict[str, Any]:
        """By name, and equal texts as one object: equal models then make equal pickles, loaded ones too."""
        state: dict[str, Any] = super().__getstate__()
        return {name: interned(state[name]) for name in sorted(state.keys() - {*OF_THIS_PROCESS})}
