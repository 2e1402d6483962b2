"""One model for each value of a column (a customer, a machine), beside the model that learns all events.

A row is answered by the model of its key once that has learned `LEAST` events, until then by the one of all. There is
a limit to the number of keys: the one that learned longest ago goes. Their memory limits add up to one. Everything
depends on the events alone, so a replay has the same models.
"""

from __future__ import annotations

from collections import OrderedDict
from contextlib import suppress
from typing import Any

from sklearn.base import clone

from onlineboost.estimators.checks import check_row
from onlineboost.files.files import Room, frozen

LEAST = 50  # events of a key from which on its own model answers
UNFIT = (ValueError, TypeError)


class Keyed:
    """The models of the keys. It learns in one thread; others may ask it."""

    def __init__(self, column: str, most: int, blank: Any) -> None:
        self.column, self.most, self.blank = column, most, blank
        self.models: OrderedDict[str, Any] = OrderedDict()  # the one that learned longest ago first
        self.error = ""  # why a model of a key has not learned the last event of that key
        self._copies: dict[str, Any] = {}  # those that have not changed since they were copied

    def pick(self, shared: Any, row: Any) -> Any:
        """The model that answers a row: of its key, if that can, otherwise the one of all."""
        found = self.models.get(self._key(row))
        if found is not None and found.n_samples_seen_ >= LEAST:
            with suppress(*UNFIT):  # it learned other columns
                check_row(found, row, None)
                return found
        return shared

    def learn(self, row: Any, label: Any, weight: float) -> None:
        """Let the model of a row's key learn it; a row without a key is left to the one of all."""
        key = self._key(row)
        if key:
            known = self.models.get(key)
            model = clone(self.blank) if known is None else known
            try:
                model.learn_one(row, label, weight)
            except UNFIT as error:  # the model is as it was
                self.error = f"the model of {self.column} {key!r} cannot learn: {error}"
                return
            self.error = ""
            self.models[key] = model
            self.models.move_to_end(key)
            self._copies.pop(key, None)
            if len(self.models) > self.most:
                gone, _ = self.models.popitem(last=False)
                self._copies.pop(gone, None)

    def _key(self, row: Any) -> str:
        value = row.get(self.column) if isinstance(row, dict) else None
        return "" if value is None else str(value)

    def as_values(self) -> dict[str, Any]:
        """To be saved, by another thread too: copies of those that have changed."""
        for key, model in self.models.items():
            if key not in self._copies:
                self._copies[key] = frozen(model, Room())
        models = [self._copies[key] for key in self.models]
        return {"column": self.column, "most": self.most, "blank": self.blank, "keys": [*self.models], "models": models}

    @classmethod
    def of_values(cls, saved: dict[str, Any] | None) -> Keyed | None:
        """None: there is one model alone."""
        if saved is None:
            return None
        keyed = cls(saved["column"], saved["most"], saved["blank"])
        keyed.models.update(zip(saved["keys"], saved["models"], strict=True))
        return keyed
