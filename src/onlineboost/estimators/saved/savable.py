"""What every estimator has of model files."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from os import PathLike
from typing import Any


class Savable:
    """An estimator that can be saved."""

    _gate: Callable[[], Any]  # of `OnlineClassifier`

    def save(self, path: str | PathLike[str], *, pickled_learners: bool = False) -> None:
        """Put it into a model file, from which `onlineboost.load` makes it again (docs/model-files.md).

        The file takes the place of one that is there as a whole, or not at all. Weak learners of another make can only
        be pickled, and only if `pickled_learners` says so here and in `load`.
        """
        files = import_module("onlineboost.estimators.saved.files")  # which knows all estimators, and so this one
        with self._gate().reading():
            saved = files.take(self, pickled_learners=pickled_learners)
        saved.write(path)
