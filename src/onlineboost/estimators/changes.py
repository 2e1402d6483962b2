"""Settings that change after learning has begun.

Some are read in every call (`READ_EVERY_TIME`). All others count from the first row on, so that a change is for the
next `fit`: until then the model predicts as it did, and refuses to learn on with settings that are not those it shows.
A bad setting is told at once.
"""

from __future__ import annotations

from abc import abstractmethod
from copy import deepcopy
from dataclasses import replace
from typing import Any, Self

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.data.names import positions
from onlineboost.data.open_columns import check_word
from onlineboost.estimators import memory
from onlineboost.estimators.checks import check_labels, seed_of
from onlineboost.estimators.model import Model
from onlineboost.trees.state import Columns

READ_EVERY_TIME = frozenset({"n_jobs", "combiner", "restart", "class_weight", "cost_matrix"})


class Changes:
    """A classifier that remembers which settings have changed since they were checked last."""

    categorical_features: Any
    columns: str
    memory_limit: memory.MemoryLimit
    random_state: Any

    @abstractmethod
    def _fitted(self) -> Model: ...

    @abstractmethod
    def _check_settings(self) -> None: ...

    @abstractmethod
    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain: ...

    def __setattr__(self, name: str, value: Any) -> None:
        if "_model" in self.__dict__ and not (name[0] == "_" or name[-1] == "_"):
            self._note_change(name, self.__dict__.get(name), value)
        super().__setattr__(name, value)

    def set_params(self, **params: Any) -> Self:
        """Change settings, those of the weak learner too (`learner__max_features`): see docs/settings.md."""
        inner = {name.partition("__")[0] for name in params if "__" in name} if "_model" in self.__dict__ else ()
        before = {name: deepcopy(self.__dict__.get(name)) for name in inner}
        super().set_params(**params)  # type: ignore[misc]
        for name, value in before.items():
            self._note_change(name, value, self.__dict__.get(name))
            self.__dict__.pop("_desk_", None)
        return self

    def _note_change(self, name: str, old: Any, new: Any) -> None:
        """`_begun_` has the settings that are not what they were when learning began, as they were."""
        self.__dict__["_changed_"] = self.__dict__.get("_changed_", frozenset()) | {name}
        begun = {name: old} | self.__dict__.get("_begun_", {})
        settings = type(self)._get_param_names()  # type: ignore[attr-defined]
        if _is_same(begun[name], new) or name in READ_EVERY_TIME or name not in settings:
            del begun[name]
        self.__dict__.pop("_begun_", None)
        if begun:
            self.__dict__["_begun_"] = begun

    def _ready_to_learn(self, classes: Any = None) -> Model:
        """`_ready`, if the settings are those that learning began with, and so are the `classes` of a later call."""
        model = self._ready()
        if classes is not None and (late := model.labels.read(check_labels(classes, type(self).__name__))[1]):
            raise ValueError(
                f"classes names {next(iter(late))!r}, which this model has not met: it is for the first call. Leave it "
                f"out: new labels are learned as they come"
            )
        for name, old in self.__dict__.get("_begun_", {}).items():
            raise ValueError(
                f"{name} was changed from {old!r} to {getattr(self, name)!r} after learning began, and counts from the "
                f"first row on: call fit to begin again with it, or set it back to go on learning"
            )
        return model

    def _ready(self) -> Model:
        """What was learned, if the settings are good as they are now: bad ones are refused as a first call does it."""
        model, changed = self._fitted(), self.__dict__.get("_changed_")
        if changed:
            self._check_settings()
            if not changed <= READ_EVERY_TIME:
                self._try_to_begin(model)
            self.__dict__.pop("_changed_", None)
        return model

    def _try_to_begin(self, model: Model) -> None:
        """What a model with these columns and classes would say to the settings, if it began now."""
        positions(self.categorical_features, model.encoder.names)
        check_word(self.columns)
        drawn = self.random_state is None or hasattr(self.random_state, "randint")  # to look would change it
        chain = self._new_chain(model.columns, model.k, 0 if drawn else seed_of(self.random_state))
        memory.check_limit(replace(model, chain=chain, limit=memory.bytes_of(self.memory_limit)))


def _is_same(a: Any, b: Any) -> bool:
    """Whether two values of a setting are equal: weak learners are if their settings are."""
    if hasattr(a, "get_params") and not isinstance(a, type):
        return type(a) is type(b) and _is_same(a.get_params(deep=False), b.get_params(deep=False))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    try:
        return a is b or bool(np.all(a == b))
    except (TypeError, ValueError):
        return False
