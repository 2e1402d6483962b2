"""A model that follows the log: it learns what has a place there, in that order, each event once, whatever dies when.

    log:    1 2 3 4 5 6 7 8 9 ...
    begin.olb: the model at the place where it began       model.olb: a snapshot, with its place
    after a start: load model.olb (begin.olb if there is none), learn what comes after its place

How a stream is cut into calls makes no difference to a model, nor does a file in between, bit for bit. So the state is
that of a replay, always. Snapshots are taken so often that a start has no more than some seconds of learning to do.

It learns in a thread of its own; predictions come from the same model, which is safe to ask while it learns: a
prediction waits for the block at hand, some milliseconds at most.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from onlineboost.data.labels import object_array
from onlineboost.data.table import Table
from onlineboost.files.files import Room, frozen, load_with_more, take
from onlineboost.service.keyed import Keyed
from onlineboost.service.log import AT_ONCE, Learnable, Log, after, connect
from onlineboost.service.messages import Prediction, decode
from onlineboost.service.monitor import Monitor
from onlineboost.storage import ModelFileError
from onlineboost.storage.container import PART, read

logger = logging.getLogger("onlineboost.service")

MOST_REPLAY = 3.0  # seconds of learning after which there is a snapshot
LOOK = 0.5  # seconds after which a follower looks for itself whether there is something to learn
LONGEST = 0.003  # seconds that predictions wait for a block that is learned, about
LONGER, ASKED = 0.01, 1.0  # the same if none was asked for in the last second: longer blocks take less time a row
TURN = 1.5e-4  # seconds between two blocks for each prediction that was asked for meanwhile: others are behind it
GATHER = 0.05  # seconds in which events come together: each on its own takes up to four times as long
LEAST_BLOCK = 16  # events from which on a block is quicker than one by one
FORGET = 0.99  # so a block is tried again some time after one that took too long
BEGIN, NOW = "begin.olb", "model.olb"


def predict(clf: Any, row: Any) -> Prediction:
    """What a model says of a row. The label is the likeliest one: see `onlineboost.chain.model.ahead`."""
    shares = clf.predict_proba_one(row)
    label = max(shares, key=shares.__getitem__) if shares else None
    return Prediction(label, {str(name): min(p, 1.0) for name, p in shares.items()})  # p may be rounded up beyond 1


def table_of(clf: Any, rows: Sequence[Any]) -> Table | None:
    """Rows with names as a table, which is quicker than one by one. None: something in them is out of the ordinary."""
    if "_model" not in clf.__dict__ or not all(type(row) is dict for row in rows):
        return None
    encoder = clf._model.encoder
    names, known, nominal = encoder.names, set(encoder.names), set(encoder.nominal)
    if not encoder.named or not all(row and row.keys() <= known for row in rows):
        return None
    columns = []
    for at, name in enumerate(names):
        values = [row.get(name) for row in rows]
        if not {*map(type, values)} <= ({str, type(None)} if at in nominal else {int, float, type(None)}):
            return None
        try:
            columns.append(object_array(values) if at in nominal else np.array(values, np.float64))
        except OverflowError:
            return None
    return Table(names, tuple(columns))


def predict_block(clf: Any, rows: Sequence[Any]) -> list[Prediction] | None:
    """`predict` of many rows; None: they are out of the ordinary."""
    table = table_of(clf, rows)
    if table is None:
        return None
    p = np.minimum(clf.predict_proba(table), 1.0)
    labels = clf.classes_.tolist()
    names, best = list(map(str, labels)), p.argmax(axis=1).tolist()
    return [
        Prediction(labels[c], dict(zip(names, shares, strict=True))) for c, shares in zip(best, p.tolist(), strict=True)
    ]


class Learned(NamedTuple):
    """What has become of an event."""

    event: Learnable
    label: str  # as it is written
    shares: dict[str, float]  # the probabilities before it was learned
    refused: str  # why it cannot be learned; "": it was


def learn(clf: Any, events: Sequence[Learnable], keyed: Keyed | None = None) -> list[Learned]:
    """Predict each event, then learn it. As a block if that makes no difference, otherwise one by one."""
    rows, labels = [decode(event.row) for event in events], [decode(event.label) for event in events]
    if keyed is None and len(events) >= LEAST_BLOCK and (table := table_of(clf, rows)) is not None:
        weights = np.array([event.weight for event in events])
        with suppress(ValueError, TypeError):  # the model is as it was: one by one it will show which of them it is
            _, p = clf.test_then_train(table, object_array(labels), sample_weight=weights, proba=True)
            return _learned_block(clf, events, labels, p)
    return [_learn_one(clf, keyed, *each) for each in zip(events, rows, labels, strict=True)]


def _learned_block(clf: Any, events: Sequence[Learnable], labels: Sequence[Any], p: np.ndarray) -> list[Learned]:
    if len(p) != len(events):
        raise RuntimeError(f"{len(p)} of {len(events)} events were learned")
    names = [str(name) for name in clf.classes_.tolist()]
    told = [dict(zip(names, shares, strict=True)) if any(shares) else {} for shares in p.tolist()]
    return [Learned(event, str(y), q, "") for event, y, q in zip(events, labels, told, strict=True)]


def _learn_one(clf: Any, keyed: Keyed | None, event: Learnable, row: Any, label: Any) -> Learned:
    try:
        shares = (clf if keyed is None else keyed.pick(clf, row)).predict_proba_one(row)
        clf.learn_one(row, label, event.weight)
        if keyed is not None:
            keyed.learn(row, label, event.weight)
        return Learned(event, str(label), {str(name): p for name, p in shares.items()}, "")
    except (ValueError, TypeError) as error:  # the model is as it was
        return Learned(event, str(label), {}, str(error))


def begin(folder: Path, clf: Any, place: int = 0, keyed: Keyed | None = None) -> None:
    """A new follower, which begins with this model after this place."""
    folder.mkdir(parents=True, exist_ok=True)
    take(clf, {"place": place, **values_of(keyed)}).write(folder / BEGIN)


def values_of(keyed: Keyed | None) -> dict[str, Any]:
    """What is saved with a model that has others beside it."""
    return {} if keyed is None else {"keyed": keyed.as_values()}


def place_of(path: Path) -> int:
    """The place of a model in a file, which is not read as a whole."""
    return int(read(path, mapped=True)[0]["more"].get("place", 0))


def open_model(folder: Path) -> tuple[Any, dict[str, Any]]:
    """The last good model in a folder, and what was saved with it."""
    if (folder / NOW).exists():
        try:
            return _open(folder / NOW)
        except ModelFileError as error:
            logger.warning("%s. The log is learned again from %s", error, BEGIN)
    return _open(folder / BEGIN)


def _open(path: Path) -> tuple[Any, dict[str, Any]]:
    clf, more = load_with_more(path)
    if "place" not in more:
        raise ModelFileError(
            f"{path} was not written by the service: it does not say how far in the log it is. To begin with a model "
            f"of your own: onlineboost serve NEW_FOLDER --start-from FILE"
        )
    return clf, more


def believed(clf: Any) -> list[tuple[str, float]]:
    """How much the parts of a model count, the most first; none: it has no parts, or does not tell."""
    for name, what in (("voices_", "{}"), ("alphas_", "learner {}")):
        with suppress(AttributeError):
            found = getattr(clf, name)
            parts = found.items() if name == "voices_" else enumerate(np.ravel(found).tolist())
            return sorted(((what.format(key), float(value)) for key, value in parts), key=lambda part: -abs(part[1]))[
                :20
            ]
    return []


def warm_up(clf: Any) -> None:
    """Have the kernels compiled before anyone waits for them."""
    twin = clone(clf)
    for at in range(3):
        twin.learn_one({"number": float(at), "word": "ab"[at % 2]}, at % 2)
    predict(twin, {"number": 1.0, "word": "a"})
    twin.explain({"number": 1.0, "word": "a"})


def replay(path: Path, clf: Any, place: int, to: int, keyed: Keyed | None = None) -> Iterator[Learned]:
    """Let a model that is at a `place` of the log learn it up to another place."""
    with closing(connect(path)) as db:
        while place < to and (found := after(db, place, min(AT_ONCE, to - place))):
            yield from learn(clf, found, keyed)
            place = found[-1].place


class Follower:
    """A model, its files in a folder, and the thread that learns."""

    def __init__(self, folder: Path, log: Log, gather: float = GATHER) -> None:
        self.folder, self.name, self.log, self.gather = folder, folder.name, log, gather
        for left in folder.glob(PART):  # of a process that was killed while it wrote a snapshot
            left.unlink()
        self.clf, more = open_model(folder)
        self.keyed = Keyed.of_values(more.get("keyed"))
        self.place: int = more["place"]
        self.monitor = Monitor.of_values(more.get("monitor"))
        self.begun = place_of(folder / BEGIN)  # where a replay begins
        self.moves = False  # whether it is to begin where the next snapshot is
        self.kept = self.place  # the place of the last snapshot
        self.kept_at = time.time()
        self.error = ""  # why it does not learn any more; "": it does
        self.read_error = ""  # why the log cannot be read at present
        self.snapshot_error = ""
        self.busy = 0.0  # seconds of learning since the last snapshot
        self.asked, self.asked_at = 0, 0.0  # predictions that it was asked for, and when last
        self._served = 0  # of them, those for which it has waited
        self._learned_at = 0.0
        self._counted = 0.0  # when the monitor counted last
        self._seconds = 1e-4  # that an event takes to learn in a block, about
        self._room = Room()
        self._writing: threading.Thread | None = None
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name=f"learn {self.name}", daemon=True)

    @property
    def behind(self) -> int:
        """Events on disk that have not been learned yet."""
        return self.log.on_disk - self.place

    def pick(self, row: Any) -> Any:
        """The model that answers a row."""
        return self.clf if self.keyed is None else self.keyed.pick(self.clf, row)

    def start(self) -> None:
        self._thread.start()

    def status(self) -> dict[str, Any]:
        """What there is to know, for the page and for machines."""
        clf, kind = self.clf, " ".join(repr(self.clf).split())
        about: dict[str, Any] = {"name": self.name, "kind": kind, "parts": [], "happened": []}
        about |= {"place": self.place, "behind": self.behind, "begun": self.begun, "error": self.error}
        about |= {"snapshot": {"place": self.kept, "at": self.kept_at, "error": self.snapshot_error}}
        if self.keyed is not None:
            about["keys"] = {"column": self.keyed.column, "models": len(self.keyed.models), "error": self.keyed.error}
        if "_model" in clf.__dict__:
            with clf._lock().reading():
                about["parts"] = believed(clf)
                about["memory"] = {"bytes": clf.nbytes_, "limit": clf._model.limit}
            about["happened"] = [[event.row, str(event)] for event in clf.events_[-20:]]
        return about | self.monitor.figures() | {"curve": self.monitor.curve[:]}

    def stop(self) -> None:
        """Stop learning, with a snapshot."""
        self._stopping = True
        with self.log.grown:
            self.log.grown.notify_all()
        if self._thread.is_alive():
            self._thread.join()
        if self._writing is not None:
            self._writing.join()
        if not self.error and self.place > self.kept:
            self._snapshot()
            assert self._writing is not None
            self._writing.join()

    def _run(self) -> None:
        with closing(connect(self.log.path)) as db:
            while not self._stopping and not self.error:
                found: list[Learnable] = []
                try:
                    found = self.log.next(db, self.place) if self.behind else []
                    self.read_error = ""
                except sqlite3.Error as error:  # nothing was learned: it is tried again
                    self.read_error = str(error)
                more = len(found) == AT_ONCE
                try:
                    while found and not self._stopping:
                        found = found[self._learn(found) :]
                        self._let_predict()
                    due = self.busy > MOST_REPLAY or (self.moves and self.place > self.begun)
                    if due and (self._writing is None or not self._writing.is_alive()):
                        self._snapshot()
                except Exception as error:  # in the middle of a row
                    logger.exception("%s has stopped learning", self.name)
                    self.error = f"{type(error).__name__}: {error}"
                if not more:
                    if time.monotonic() - self._counted > LOOK:  # to count takes longer than to learn an event
                        self._counted = time.monotonic()
                        self.monitor.count(self.place)
                    with self.log.grown:
                        if (self.read_error or not self.behind) and not self._stopping:
                            self.log.grown.wait(LOOK)
                    if self.behind < AT_ONCE and not self._stopping:
                        time.sleep(max(0.0, self._learned_at + self.gather - time.monotonic()))

    def _learn(self, found: list[Learnable]) -> int:
        """Learn the first of these events: as many as keep predictions waiting for some milliseconds; their number."""
        size = self._size(len(found))
        began = time.thread_time()
        told = False
        for event, label, shares, refused in learn(self.clf, found[:size], self.keyed):
            if refused:
                if not told:  # all are among the dead letters
                    logger.warning("%s: the event at place %d cannot be learned: %s", self.name, event.place, refused)
                told = True
                self.log.post(self.log.bury, f"{self.name}: place {event.place}", event.row, refused)
            else:
                self.monitor.add(event, label, shares)
        self.place = found[size - 1].place
        took = time.thread_time() - began
        self.busy += took
        self._learned_at = time.monotonic()
        if size >= LEAST_BLOCK or self.keyed is not None:
            self._seconds += (took / size - self._seconds) * min(1.0, size / 100)
        elif len(found) >= LEAST_BLOCK:
            self._seconds = max(FORGET * self._seconds, took / size / 2.0)  # a block may take less
        return size

    def _size(self, most: int) -> int:
        """How many events to learn at once; `most` are there.

        Not so few that it is one by one, which takes several times as long, unless a block of them would take too long.
        """
        size = int((LONGEST if time.monotonic() - self.asked_at < ASKED else LONGER) / self._seconds)
        if size < LEAST_BLOCK and LEAST_BLOCK * self._seconds < LONGER and self.keyed is None:
            size = LEAST_BLOCK
        return max(1, min(most, size))

    def _let_predict(self) -> None:
        """Wait for predictions: they are asked for one after the other, and each would wait for a block of its own."""
        asked, self._served = self.asked - self._served, self.asked
        if asked:
            time.sleep(min(TURN * asked, LONGEST))

    def _snapshot(self) -> None:
        """Begin to write the model as it is now: a quick copy, which another thread brings to disk."""
        self.monitor.count(self.place)
        place, more = self.place, {"place": self.place, "monitor": self.monitor.as_values()} | values_of(self.keyed)
        copy = frozen(self.clf, self._room)
        self.busy = 0.0

        def work() -> None:
            try:
                saved = take(copy, more)
                saved.write(self.folder / NOW)
                if self.moves:
                    saved.write(self.folder / BEGIN)
                    self.begun, self.moves = place, False
                self.kept, self.kept_at, self.snapshot_error = place, time.time(), ""
                self._room.prepare()
            except Exception as error:
                logger.error("%s: no snapshot could be written: %s", self.name, error)
                self.snapshot_error = str(error)

        self._writing = threading.Thread(target=work, name=f"snapshot {self.name}", daemon=True)
        self._writing.start()
