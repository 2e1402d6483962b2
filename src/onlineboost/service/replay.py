"""The log learned again: the same model, or what another one would have made of the same events."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from onlineboost.data.errors import DataError
from onlineboost.files.files import load_with_more, take
from onlineboost.service.follower import BEGIN, NOW, replay, values_of
from onlineboost.service.keyed import Keyed
from onlineboost.service.log import last_place
from onlineboost.service.monitor import Monitor


class Replay:
    """A model, and the log that it learns."""

    def __init__(self, folder: Path, name: str, other: Any = None) -> None:
        self.path, self.snapshot = folder / "events.db", folder / name / NOW
        if not self.path.exists() or not (folder / name / BEGIN).exists():
            raise DataError(f"{folder} has no log with a model {name!r}: name a folder that `onlineboost serve` made")
        self.clf, more = load_with_more(folder / name / BEGIN)
        self.place: int = more["place"]
        self.keyed = Keyed.of_values(more.get("keyed"))
        if other is not None:
            self.clf, self.place, self.keyed = other, 0, None
        self.monitor, self.refused = Monitor(), 0

    def run(self, *, to_snapshot: bool = False) -> dict[str, Any]:
        """Learn all that is in the log, or up to the place of the snapshot; figures."""
        to = last_place(self.path)
        if to_snapshot:
            if not self.snapshot.exists():
                raise DataError(
                    f"{self.snapshot}: there is no snapshot yet. The service writes one when it is stopped, and after "
                    f"some three seconds of learning: stop it and try again, or leave --check out"
                )
            self.saved, more = load_with_more(self.snapshot)
            to, self.saved_keyed = more["place"], Keyed.of_values(more.get("keyed"))
        for event, label, shares, refused in replay(self.path, self.clf, self.place, to, self.keyed):
            if refused:
                self.refused += 1
            else:
                self.monitor.add(event, label, shares)
        self.monitor.count(to)
        values = {name: value for name, value in self.monitor.figures()["all"].items() if value is not None}
        return {"up to place": to, "events": self.monitor.all.rows, "refused": self.refused, **values}

    def is_snapshot(self) -> bool:
        """Whether the model is that of the snapshot, bit for bit."""
        ours = take(self.clf, values_of(self.keyed))
        theirs = take(self.saved, values_of(self.saved_keyed))
        same = len(ours.arrays) == len(theirs.arrays) and ours.content == theirs.content
        return same and all(
            (a.dtype, a.shape, a.tobytes()) == (b.dtype, b.shape, b.tobytes())
            for a, b in zip(ours.arrays, theirs.arrays, strict=True)
        )
