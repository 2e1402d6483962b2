"""What has happened to a model, in words."""

from __future__ import annotations

from itertools import groupby
from typing import Any, NamedTuple

from onlineboost.chain.diary import MEMORY, NEW_CLASS, NEW_COLUMN, RESTART
from onlineboost.chain.model import Model

KINDS = {RESTART: "restart", NEW_CLASS: "new class", NEW_COLUMN: "new column", MEMORY: "memory"}


class Event(NamedTuple):
    """Something that has happened."""

    row: int  # number of the row that was learned then; the first one is row 1
    kind: str  # "restart", "new class", "new column", "memory" or "new panel"
    what: tuple[Any, ...]  # numbers of learners, labels, names of columns, how many trees went without memory; or none

    def __str__(self) -> str:
        what = ", ".join(map(str, self.what))
        words = {
            "restart": f"{'learner' if len(self.what) == 1 else 'learners'} {what} restarted",
            "new class": f"the first row of class {what}",
            "new column": f"the first row with column {what}",
            "memory": f"{what} trees have reached their share of the memory limit",
            "new panel": "what the panel knew was of no use any more, and it began anew",
        }
        return f"row {self.row:,}: {words[self.kind]}"


def events(model: Model) -> list[Event]:
    """The last events, the oldest first."""
    found = []
    for (row, kind), group in groupby(model.chain.diary.events.tolist(), key=lambda event: (event[0], event[1])):
        numbers = [number for _, _, number in group]
        what: list[Any] = numbers
        if kind == NEW_CLASS:
            what = [model.labels.names[number] for number in numbers]
        elif kind == NEW_COLUMN:
            what = [model.encoder.names[number] for number in numbers]
        found.append(Event(row, KINDS[kind], tuple(what)))
    if model.chain.panel is not None:
        found += [Event(row, "new panel", ()) for row in model.chain.panel.resets()]
    return sorted(found, key=lambda event: event.row)
