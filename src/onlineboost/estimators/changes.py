"""Settings that change after learning has begun: most count for the next model alone, and a bad one is told at once."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any

from onlineboost.chain.chain import Chain
from onlineboost.data.names import positions
from onlineboost.data.open_columns import check_word
from onlineboost.estimators import memory
from onlineboost.estimators.checks import seed_of
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
            self.__dict__["_changed_"] = self.__dict__.get("_changed_", frozenset()) | {name}
        super().__setattr__(name, value)

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
