"""The log: events on disk, and the order in which they are learned. SQLite, with one thread that writes.

* An event has a row; when it has a label, too, it gets a place: 1, 2, 3, ... Whoever follows the log learns the events
  in the order of their places, each once.
* All that is waiting to be written goes into one transaction, and is acknowledged when that is on disk (group commit).
  What was not acknowledged may be there or not; with an id it may be sent again.
* An id is there once. The same row or label under it again is a repeat, another one a conflict.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import Any, NamedTuple

from onlineboost.data.errors import DataError
from onlineboost.service.messages import Receipt

logger = logging.getLogger("onlineboost.service")

GROUP = 512  # pieces of work in a transaction, at most
AT_ONCE = 256  # events that are read, or deleted, at once
TAIL, LARGE = 1024, 16_384  # last events that are kept in memory, and bytes of a row from which on it is not
SCHEMA = """
CREATE TABLE IF NOT EXISTS events (
    seq INTEGER PRIMARY KEY,        -- in the order in which they came
    id TEXT UNIQUE,                 -- NULL: it came without one
    at REAL NOT NULL,               -- when it came, in seconds since 1970
    row BLOB NOT NULL,              -- JSON
    label BLOB,                     -- JSON; NULL: it is still to come
    weight REAL NOT NULL,
    place INTEGER,                  -- in the order in which they are learned; NULL as long as there is no label
    said BLOB                       -- what was answered, JSON; NULL: nothing
);
CREATE UNIQUE INDEX IF NOT EXISTS learned ON events (place) WHERE place IS NOT NULL;
CREATE INDEX IF NOT EXISTS waiting ON events (seq) WHERE place IS NULL;
CREATE TABLE IF NOT EXISTS dead_letters (
    what TEXT PRIMARY KEY, at REAL NOT NULL, body BLOB NOT NULL, reason TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL);
"""
INSERT = (
    "INSERT INTO events (id, at, row, label, weight, place, said) VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING"
)
NEXT = "SELECT place, row, label, weight, said FROM events WHERE place > ? ORDER BY place LIMIT ?"


Promise = asyncio.Future[Any] | concurrent.futures.Future[Any]


class CannotWrite(Exception):
    """The disk is full, or cannot be written to: nothing of what was to be written is there."""


class Entry(NamedTuple):
    """An event to be written."""

    id: str | None
    row: bytes
    label: bytes | None
    weight: float = 1.0
    said: bytes | None = None


class Learnable(NamedTuple):
    """An event that has a place."""

    place: int
    row: bytes
    label: bytes
    weight: float
    said: bytes | None


def connect(path: Path, *, write: bool = False) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=30.0)
    if write:
        try:
            db.executescript("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;" + SCHEMA)
        except sqlite3.DatabaseError as error:
            db.close()
            raise DataError(
                f"{path} cannot be opened as a log: {error}. Bring it back from a copy, or begin with a new folder"
            ) from None
    else:
        db.execute("PRAGMA query_only = 1")
    return db


def oldest(path: Path, *, waiting: bool = False) -> float | None:
    """When the oldest event came, of all or of those that wait for their labels; None: there is none."""
    with closing(connect(path)) as db:
        where = "WHERE place IS NULL" if waiting else ""
        found = db.execute(f"SELECT at FROM events {where} ORDER BY seq LIMIT 1").fetchone()
    return None if found is None else float(found[0])


def last_place(path: Path) -> int:
    """The last place of the log in a file."""
    with closing(connect(path)) as db:
        return int(db.execute("SELECT coalesce(max(place), 0) FROM events WHERE place IS NOT NULL").fetchone()[0])


def after(db: sqlite3.Connection, place: int, most: int = AT_ONCE) -> list[Learnable]:
    """The next events to be learned."""
    return [Learnable(*found) for found in db.execute(NEXT, (place, most))]


class Log:
    """The log of a folder, open for writing. `write` is for coroutines of one event loop, the others for any thread."""

    def __init__(self, path: Path, most_waiting: int) -> None:
        self.path, self.most_waiting = path, most_waiting
        self._db = connect(path, write=True)
        self.last_place, self.waiting = self._last_place(), self._one("SELECT count(*) FROM events WHERE place IS NULL")
        self.on_disk = (
            self.last_place
        )  # of those that were committed; `last_place` is ahead of it for the time of a sync
        self.dead = self._one("SELECT count(*) FROM dead_letters")
        self.dropped = 0  # events that were dropped before their labels came
        self.error = ""  # why the last transaction failed; "": it did not
        self.grown = threading.Condition()  # told when there is more to be learned
        self._tail: deque[Learnable] = deque(maxlen=TAIL)  # the last events: to read them from the file takes longer
        self._fresh: list[Learnable] = []  # those of the transaction at hand
        self.waits: deque[float] = deque(maxlen=1000)  # seconds that the last transactions took
        self._work: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...], Promise | None] | None]
        self._work = SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def _one(self, query: str) -> Any:
        return self._db.execute(query).fetchone()[0]

    def _last_place(self) -> int:
        """Of the events that are here, or were: some have been deleted."""
        deleted = self._one("SELECT coalesce(max(value), 0) FROM numbers WHERE name = 'last place'")
        return max(deleted, self._one("SELECT coalesce(max(place), 0) FROM events WHERE place IS NOT NULL"))

    # ---------------------------------------------------------------------------------------------- from outside

    async def write(self, work: Callable[..., Any], *args: Any) -> Any:
        """What `work(*args)` returns, once what it has written is on disk."""
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._work.put((work, args, future))
        return await future

    def call(self, work: Callable[..., Any], *args: Any) -> Any:
        """`write` for other threads."""
        future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._work.put((work, args, future))
        return future.result()

    def post(self, work: Callable[..., Any], *args: Any) -> None:
        self._work.put((work, args, None))

    def next(self, db: sqlite3.Connection, place: int) -> list[Learnable]:
        """`after`, from memory if they are there."""
        with self.grown:
            if self._tail and self._tail[0].place <= place + 1:
                first = place + 1 - self._tail[0].place
                return list(islice(self._tail, first, first + AT_ONCE))
        return after(db, place)

    def close(self) -> None:
        """When all that was asked for is written."""
        self._work.put(None)
        self._thread.join()
        self._db.close()

    # --------------------------------------------------------------------------------------- pieces of work to be done

    def add(self, entries: Sequence[Entry]) -> list[tuple[Receipt, bytes | None]]:
        """What has become of each, and what was answered to it (a repeat: when it came first)."""
        now, out = time.time(), []
        for entry in entries:
            id, row, label, weight, said = entry
            place = None if label is None else self.last_place + 1
            if self._db.execute(INSERT, (id, now, row, label, weight, place, said)).rowcount:
                if place is None:
                    self.waiting += 1
                else:
                    self.last_place = place
                    self._fresh.append(Learnable(place, row, label, weight, None))  # type: ignore[arg-type]
                out.append((Receipt("accepted", place, id), said))
            else:
                out.append(self._met(entry))
        if self.waiting > self.most_waiting:
            self._drop(self.waiting - self.most_waiting)
        return out

    def _met(self, entry: Entry) -> tuple[Receipt, bytes | None]:
        """An entry whose id is there."""
        query = "SELECT row, label, place, said FROM events WHERE id = ?"
        row, label, place, said = self._db.execute(query, (entry.id,)).fetchone()
        if row == entry.row and label is None and entry.label is not None:  # the event, and now its label
            return self._label(str(entry.id), entry.label, entry.weight), said
        same = row == entry.row and entry.label in (None, label)
        return Receipt("repeated" if same else "conflict", place, entry.id), said

    def _drop(self, number: int) -> None:
        """The oldest events without labels go: labels that never come must not fill the disk."""
        oldest = "SELECT seq FROM events WHERE place IS NULL ORDER BY seq LIMIT ?"
        self._db.execute(f"DELETE FROM events WHERE seq IN ({oldest})", (number,))
        self.waiting -= number
        self.dropped += number

    def label(self, labels: Sequence[tuple[str, bytes, float]]) -> list[Receipt]:
        """What has become of each label."""
        return [self._label(*each) for each in labels]

    def _label(self, id: str, label: bytes, weight: float) -> Receipt:
        query = "SELECT seq, row, label, place, said FROM events WHERE id = ?"
        found = self._db.execute(query, (id,)).fetchone()
        if found is None:
            return Receipt("unknown", None, id)
        seq, row, own, place, said = found
        if place is not None:
            return Receipt("repeated" if own == label else "conflict", place, id)
        place = self.last_place + 1
        self._db.execute(
            "UPDATE events SET label = ?, weight = ?, place = ? WHERE seq = ?", (label, weight, place, seq)
        )
        self.last_place, self.waiting = place, self.waiting - 1
        self._fresh.append(Learnable(place, row, label, weight, said))
        return Receipt("accepted", place, id)

    def bury(self, what: str, body: bytes, reason: str) -> None:
        """Something that cannot be learned, to be looked at: a dead letter."""
        query = "INSERT INTO dead_letters VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"
        self.dead += self._db.execute(query, (what, time.time(), body, reason)).rowcount

    def forget(self, before: float, learned: int) -> int:
        """Delete some events (with places up to `learned` alone) and dead letters from `before` a time: how many."""
        first = f"SELECT seq, at, place FROM events WHERE place IS NULL OR place <= ? ORDER BY seq LIMIT {AT_ONCE}"
        found = [(seq, place) for seq, at, place in self._db.execute(first, (learned,)) if at < before]
        self._db.execute("INSERT OR REPLACE INTO numbers VALUES ('last place', ?)", (self.last_place,))
        letters = f"SELECT what FROM dead_letters WHERE at < ? LIMIT {AT_ONCE}"
        gone = self._db.execute(f"DELETE FROM dead_letters WHERE what IN ({letters})", (before,)).rowcount
        self.dead -= gone
        self._db.executemany("DELETE FROM events WHERE seq = ?", [(seq,) for seq, _ in found])
        lost = sum(place is None for _, place in found)
        self.waiting, self.dropped = self.waiting - lost, self.dropped + lost
        return len(found) + gone

    def mark(self, name: str, value: int) -> None:
        """How far a source has been read: in the same transaction as what was read."""
        self._db.execute("INSERT OR REPLACE INTO numbers VALUES (?, ?)", (name, value))

    def number(self, name: str) -> int:
        """What was marked; 0: nothing."""
        with closing(connect(self.path)) as db:
            found = db.execute("SELECT value FROM numbers WHERE name = ?", (name,)).fetchone()
        return 0 if found is None else int(found[0])

    # --------------------------------------------------------------------------------------------- the thread's own

    def _run(self) -> None:
        going_on = True
        while going_on:
            group = [self._work.get()]
            while group[-1] is not None and len(group) < GROUP and not self._work.empty():
                group.append(self._work.get())
            going_on = group[-1] is not None
            work = [piece for piece in group if piece is not None]
            if work:
                self._tell(work, *self._transact(work))

    def _transact(self, work: list[Any]) -> tuple[list[Any], Exception | None]:
        """What each piece of work returns, or the error for which none of it was done."""
        before, began = (self.last_place, self.waiting, self.dropped, self.dead), time.perf_counter()
        try:
            self._db.execute("BEGIN IMMEDIATE")
            results = [piece(*args) for piece, args, _ in work]
            self._db.execute("COMMIT")
        except Exception as error:
            self.last_place, self.waiting, self.dropped, self.dead = before
            self._fresh.clear()
            if self._db.in_transaction:
                self._db.rollback()
            if not isinstance(error, sqlite3.Error):
                logger.exception("the log")
            self.error = str(error)
            return [], CannotWrite(
                f"nothing was written: {error}. Make room on the disk, or look at it; then try again"
            )
        self.error = ""
        self.waits.append(time.perf_counter() - began)
        if self._fresh:
            with self.grown:
                if max(len(event.row) for event in self._fresh) > LARGE:
                    self._tail.clear()
                else:
                    self._tail.extend(self._fresh)
                self.on_disk = self.last_place
                self.grown.notify_all()
            self._fresh.clear()
        return results, None

    @staticmethod
    def _tell(work: list[Any], results: list[Any], error: Exception | None) -> None:
        promises = [(promise, None if error else results[at]) for at, (_, _, promise) in enumerate(work) if promise]

        def tell(to: list[tuple[Promise, Any]]) -> None:
            for promise, result in to:
                if not promise.done():
                    promise.set_result(result) if error is None else promise.set_exception(error)

        tell([each for each in promises if isinstance(each[0], concurrent.futures.Future)])
        awaited = [each for each in promises if isinstance(each[0], asyncio.Future)]
        if awaited:
            loop = awaited[0][0].get_loop()  # type: ignore[union-attr]
            if not loop.is_closed():
                loop.call_soon_threadsafe(tell, awaited)
