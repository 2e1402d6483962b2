"""The service: a folder with a log, the models that follow it, and one of them that answers.

FOLDER/events.db        the log
FOLDER/main/begin.olb   the model that the log is learned on top of
FOLDER/main/model.olb   a snapshot of it
FOLDER/NAME/...         challengers: models beside the one that answers
FOLDER/answers          the name of the one that answers, if it is not main
"""

from __future__ import annotations

import asyncio
import fcntl
import gc
import logging
import os
import re
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from onlineboost.data.errors import DataError
from onlineboost.estimators.checks import check_one_label, check_row
from onlineboost.explain.views import Explanation
from onlineboost.service import follower
from onlineboost.service.follower import Follower
from onlineboost.service.keyed import Keyed
from onlineboost.service.log import AT_ONCE, Entry, Log, oldest
from onlineboost.service.messages import (
    Ask,
    Event,
    Example,
    Late,
    Line,
    Prediction,
    Read,
    Receipt,
    Why,
    decode_line,
    decode_stored,
    encode,
)
from onlineboost.service.query import Query
from onlineboost.storage.container import replacing

logger = logging.getLogger("onlineboost.service")

MAIN = "main"
BLOCK = 8  # rows of a request from which on they are predicted as a block
LONG = 20  # rows from which on they are predicted in another thread
PATIENCE = 5.0  # seconds that examples wait for a model that is behind, before they are refused
HOUSEKEEPING = 600.0  # seconds
DAY = 86400.0
Tell = Callable[[list[Prediction]], Awaitable[None]]
UNFIT = (ValueError, TypeError, RecursionError)  # of rows: DecodeError is a ValueError, the last is for nested values


class Busy(Exception):
    """The model is too far behind: try again later."""


class Refused(ValueError):
    """One of the items of a request cannot be taken."""

    def __init__(self, message: str, row: int) -> None:
        found = re.match(r"row 0(?:, column '([^']*)')?[:,] ?", message)
        super().__init__(message[found.end() :] if found else message)
        self.row, self.column = row, found[1] if found else None


@dataclass
class Options:
    """What may be set, each time a service starts."""

    most_waiting: int = 10_000_000  # events that wait for their labels; the oldest are dropped beyond
    behind: int = 10_000  # events that the model may be behind; examples that come then have to wait, or are refused
    ask: float = 0.0  # share of the events whose labels are asked for
    keep: float = 90.0  # days after which events are forgotten, with their labels or without


class Service:
    """A folder that is served: one process at a time."""

    def __init__(self, folder: Path, options: Options) -> None:
        self.folder, self.options = folder, options
        with ExitStack() as opened:
            opened.enter_context(lock(folder))
            self.log = opened.enter_context(closing(Log(folder / "events.db", options.most_waiting)))
            names = sorted(path.parent.name for path in folder.glob(f"*/{follower.BEGIN}"))
            gather = follower.GATHER if options.behind >= AT_ONCE else 0.0
            self.followers = {name: Follower(folder / name, self.log, gather) for name in names}
            self.answering = self._answering()
            self._opened = opened.pop_all()
        self.started = time.time()
        self.source_errors: dict[str, str] = {}  # of those that are not read at present, by name
        self.query = Query(options.ask) if options.ask else None
        self.recent: list[dict[str, Any]] = []  # the last events, for the page
        self.prefix, self._given = secrets.token_hex(4), 0
        self._stopped = threading.Event()
        self._housekeeper = threading.Thread(target=self._keep_house, name="housekeeping", daemon=True)

    def _answering(self) -> Follower:
        """The one that answers, if the models and the log belong together."""
        chosen = self.folder / "answers"
        answers = chosen.read_text().strip() if chosen.exists() else MAIN
        if ahead := [name for name, each in self.followers.items() if each.behind < 0]:
            learned, last = self.followers[ahead[0]].place, self.log.last_place
            raise DataError(
                f"{self.folder}: {ahead[0]} has learned {learned:,} events, and the log has {last:,}: events.db is "
                f"older than the models. Bring it back, or begin with a new folder"
            )
        if answers not in self.followers:
            raise DataError(
                f"{self.folder}: {answers!r} is to answer, and there is no such model: bring its folder back, or write "
                f"the name of another one, which are {', '.join(self.followers)}, into {chosen}"
            )
        return self.followers[answers]

    def __enter__(self) -> Service:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        for each in self.followers.values():
            follower.warm_up(each.clf)
            each.start()
        self._housekeeper.start()
        gc.freeze()

    def stop(self) -> None:
        """Stop at once; what was acknowledged is learned after the next start, if it has not been yet."""
        self._stopped.set()
        for each in self.followers.values():
            each.stop()
        if self._housekeeper.is_alive():
            self._housekeeper.join()
        self._opened.close()

    # ------------------------------------------------------------------------------------------------- predictions

    async def predict(self, asked: Sequence[Ask | Event], by: Follower | None = None) -> list[Prediction]:
        """What the model that answers says, or another one."""
        by = self.answering if by is None else by
        by.asked, by.asked_at = by.asked + len(asked), time.monotonic()
        if len(asked) > LONG:
            return await asyncio.to_thread(self._predict, asked, by)
        return self._predict(asked, by)

    def _predict(self, asked: Sequence[Ask | Event], by: Follower) -> list[Prediction]:
        if by.keyed is None and len(asked) >= BLOCK and not any(ask.explain or ask.sets for ask in asked):
            found = follower.predict_block(by.clf, [ask.row for ask in asked])
            if found is not None:
                return found
        return [self._answer(by.pick(ask.row), ask, at) for at, ask in enumerate(asked)]

    @staticmethod
    def _answer(clf: Any, ask: Ask | Event, at: int) -> Prediction:
        try:
            found = follower.predict(clf, ask.row)
            if ask.explain and found.probabilities:
                found.explanation = why(clf.explain(ask.row))
            if ask.sets is not None:
                found.set = clf.predict_set_one(ask.row, ask.sets)
            return found
        except UNFIT as error:
            more = "" if getattr(clf, "sets", True) or ask.sets is None else ". Serve a new folder with --sets"
            raise Refused(f"{error}{more}", at) from None

    # ---------------------------------------------------------------------------------------------------- learning

    async def learn(self, examples: Sequence[Example]) -> list[Receipt]:
        """Have examples on disk, where they are learned from."""
        clf, entries = self.answering.clf, []
        for at, one in enumerate(examples):
            self._check(clf, one.row, one.label, at)
            entries.append(Entry(one.id, encode(one.row), encode(one.label), one.weight))
        await self._room()
        return [receipt for receipt, _ in await self.log.write(self.log.add, entries)]

    async def observe(self, events: Sequence[Event]) -> list[Prediction]:
        """Predict events, and have them on disk, where they wait for their labels."""
        clf = self.answering.clf
        for at, event in enumerate(events):
            self._check(clf, event.row, None, at)
        out = await self.predict(events)
        entries = [
            Entry(event.id or self._new_id(), encode(event.row), None, 1.0, encode([found.label, found.probabilities]))
            for event, found in zip(events, out, strict=True)
        ]
        for at, (receipt, said) in enumerate(await self.log.write(self.log.add, entries)):
            out[at].id, out[at].status = receipt.id, receipt.status
            if receipt.status == "repeated" and said is not None:
                stored = decode_stored(said)
                out[at].label, out[at].probabilities = stored.label, stored.probabilities
            elif receipt.status == "accepted":
                out[at].wanted = self.query is not None and self.query.wants(out[at].probabilities, events[at].row)
                self._show(events[at], out[at])
        return out

    async def label(self, labels: Sequence[Late]) -> list[Receipt]:
        """Have the labels of events on disk, from where they are learned."""
        clf = self.answering.clf
        for at, late in enumerate(labels):
            self._check(clf, None, late.label, at)
        await self._room()
        given = [(late.id, encode(late.label), late.weight) for late in labels]
        receipts: list[Receipt] = await self.log.write(self.log.label, given)
        return receipts

    async def take(self, read: Sequence[Read], source: str, place: int, tell: Tell | None = None) -> list[Prediction]:
        """What a source has, and how far it has been read, on disk at once; what is said of events without a label.

        `tell` is given that before it is on disk: after a crash it may be told once more, but is never left out.
        """
        work: list[tuple[str, bytes, Any]] = []  # what it is to the log, or why it is nothing
        out: list[Prediction] = []
        for key, body, error in read:
            try:
                if error:
                    raise ValueError(error)
                piece, found = self._piece(decode_line(body), key)
                work.append((key, body, piece))
                out += [] if found is None else [found]
            except UNFIT as error_:
                work.append((key, body, str(error_)))
        await self._room()
        if tell is not None and out:
            await tell(out)
        await self.log.write(self._take, work, source, place)
        return out

    def _piece(self, line: Line, key: str) -> tuple[Entry | tuple[str, bytes, float], Prediction | None]:
        """What a line is to the log, an entry or the label of one; and what is said of an event without a label."""
        clf, label = self.answering.clf, None if line.label is None else encode(line.label)
        if line.row is None:
            if label is None or line.id is None:
                raise ValueError("it has neither a row nor the id of an event with its label")
            check_row(clf, None, line.label)
            return (line.id, label, line.weight), None
        check_row(clf, line.row, line.label)
        id, row = line.id or key, encode(line.row)
        if label is not None:
            return Entry(id, row, label, line.weight), None
        found = follower.predict(self.answering.pick(line.row), line.row)
        found.id = id
        return Entry(id, row, None, 1.0, encode([found.label, found.probabilities])), found

    def _take(self, work: list[tuple[str, bytes, Any]], source: str, place: int) -> None:
        for key, body, piece in work:
            reason = piece
            if not isinstance(piece, str):
                receipt = self.log.add([piece])[0][0] if isinstance(piece, Entry) else self.log.label([piece])[0]
                reason = {
                    "conflict": "its id is there with another row or label",
                    "unknown": "no event has this id",
                }.get(receipt.status, "")
            if reason:
                self.log.bury(key, body, reason)
        self.log.mark(source, place)

    @staticmethod
    def _check(clf: Any, row: Any, label: Any, at: int) -> None:
        try:
            check_row(clf, row, label)
        except UNFIT as error:
            raise Refused(str(error), at) from None

    async def _room(self) -> None:
        """Wait until the model that answers is not too far behind."""
        until = time.monotonic() + PATIENCE
        while self.answering.behind > self.options.behind:
            if time.monotonic() > until:
                raise Busy(f"the model is {self.answering.behind:,} events behind: try again in a second")
            await asyncio.sleep(0.01)

    def _new_id(self) -> str:
        self._given += 1
        return f"{self.prefix}-{self._given}"

    def _show(self, event: Event, said: Prediction) -> None:
        shown = {"at": time.time(), "id": said.id, "row": event.row, "label": said.label, "p": said.probabilities}
        shown["wanted"] = said.wanted
        self.recent = [shown, *self.recent[:19]]

    def promote(self, name: str) -> None:
        """From now on this model answers. It has learned the same events."""
        chosen = self.followers.get(name)
        if chosen is None:
            raise Refused(f"there is no model {name!r}: they are {', '.join(self.followers)}", 0)
        if chosen.behind > self.options.behind or chosen.error:
            raise Busy(f"{name} is {chosen.behind:,} events behind, or has stopped: it cannot answer yet")
        with replacing(self.folder / "answers") as file:
            file.write(name.encode())
        self.answering = chosen
        logger.info("%s answers from now on", name, extra={"data": {"kind": "promoted", "model": name}})

    def status(self) -> dict[str, Any]:
        """What there is to know, for the page and for machines."""
        now, first, log = time.time(), oldest(self.log.path, waiting=True), self.log
        waits = sorted(log.waits.copy()) or [0.0]
        challengers = [each for each in self.followers.values() if each is not self.answering]
        return {
            "now": now,
            "since": self.started,
            "answering": self.answering.name,
            "problems": self.problems(),
            "log": {
                "place": log.last_place,
                "waiting": log.waiting,
                "oldest": 0.0 if first is None else max(0.0, now - first),
                "dropped": log.dropped,
                "dead": log.dead,
                "bytes": sum(path.stat().st_size for path in self.folder.glob("events.db*")),
                "seconds": {"p50": waits[len(waits) // 2], "p99": waits[int(0.99 * len(waits))]},
            },
            "models": [each.status() for each in (self.answering, *challengers)],
            "better": {each.name: each.monitor.better_than(self.answering.monitor) for each in challengers},
            "recent": self.recent,
        }

    def problems(self) -> list[str]:
        """What keeps it from doing all it should."""
        found = [f"{each.name} has stopped learning: {each.error}" for each in self.followers.values() if each.error]
        found += [
            f"{each.name} cannot read the log: {each.read_error}" for each in self.followers.values() if each.read_error
        ]
        found += [f"no snapshot: {each.snapshot_error}" for each in self.followers.values() if each.snapshot_error]
        found += [f"{name} cannot be read: {error}" for name, error in list(self.source_errors.items())]
        return found + ([f"events cannot be written: {self.log.error}"] if self.log.error else [])

    # ------------------------------------------------------------------------------------------------ keeping house

    def _keep_house(self) -> None:
        while not self._stopped.wait(HOUSEKEEPING):
            try:
                self.forget()
            except Exception:
                logger.exception("housekeeping")

    def forget(self) -> None:
        """Delete events that are too old, those with labels once replays begin after them."""
        before = time.time() - self.options.keep * DAY
        first = oldest(self.log.path)
        if first is None or first >= before:
            return
        for each in self.followers.values():
            each.moves = each.begun < each.place
        learned = min(each.begun for each in self.followers.values())
        while not self._stopped.is_set() and self.log.call(self.log.forget, before, learned):
            pass


def lock(folder: Path) -> IO[str]:
    """The file that a process holds while it serves a folder."""
    file = (folder / "lock").open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        raise DataError(f"{folder} is being served by another process: stop that, or name another folder") from None
    return file


def why(found: Explanation) -> Why:
    return Why(found.runner_up, {**found.margins, **found.other_margins}, found.paths)


def create(folder: Path, clf: Any, name: str = MAIN, keyed: Keyed | None = None) -> None:
    """A model that follows the log of a folder from where it begins, unless there is one of this name."""
    check_one_label(clf)
    folder.mkdir(parents=True, exist_ok=True)
    os.chmod(folder, 0o700)
    if not (folder / name / follower.BEGIN).exists():
        begun = min(map(follower.place_of, folder.glob(f"*/{follower.BEGIN}")), default=0)
        follower.begin(folder / name, clf, begun, keyed)
