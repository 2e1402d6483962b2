"""Who may use a model at a time: many that read it (predict, copy, save), or one that writes to it (learns).

`Copies` is an estimator under such a lock: what copies, pickles and files have of it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from os import PathLike
from threading import Lock, RLock, active_count, get_ident
from types import FrameType
from typing import Any, Self
from weakref import WeakSet

from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from onlineboost.chain.model import OF_THIS_PROCESS, Model
from onlineboost.data.values import interned
from onlineboost.files.files import take

LOOK_UP = 0.2  # seconds after which those that wait look for themselves, should nobody have told them


class Ticket:
    """A call that waits, then reads or writes."""

    def __init__(self, call: FrameType, *, writes: bool) -> None:
        self.call, self.thread, self.writes = call, get_ident(), writes
        self.number = -1  # those that come later have higher ones
        self.news: Lock | None = None  # released when it is this thread's turn


class ReadWriteLock:
    """Threads that read at once, or a single one that writes; the others wait. It is phase-fair:

    A writer that waits keeps out the readers that come after it: it waits for no more than those that read when it
    came, and the writers before it. When a writer has ended, all readers that wait by then go before the next writer:
    a reader waits for one writer at most.

    A thread that writes cannot read the same model meanwhile, from the handler of a signal say: it would wait for
    itself. Nor can one that reads write meanwhile: that would change what it reads. Both are errors.

    What the handler of a signal raises can strike wherever Python calls a function, in these methods too. So the lock
    is one whose ``with`` is in C, and what else might be left undone is found out: news that never came by looking
    again after a while, calls that never said that they had ended by looking at what the threads are doing.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a handler may come here while its own thread is in the middle of something
        self._readers: dict[object, int] = {}  # calls that read, and their threads
        self._writer: int | None = None  # the thread that writes,
        self._writing: Ticket | None = None  # and its call, unless that is `learn_at_once`, which always ends well
        self._waiting: dict[Ticket, None] = {}  # a set in order
        self._given = 0  # tickets,
        self._first = 0  # and of the readers that wait, those with tickets below this one go before the next writer
        self._torn = False  # whether this is the copy, made by a fork, of a model that was being written to
        _LOCKS.add(self)

    @contextmanager
    def reading(self) -> Iterator[None]:
        ticket = Ticket(sys._getframe(2), writes=False)  # whose ``with`` this is: above are this and contextlib
        try:
            self._wait(ticket)
            yield
        finally:
            self._waiting.pop(ticket, None)
            self._readers.pop(ticket, None)
            if self._waiting:
                self._tell()

    @contextmanager
    def writing(self) -> Iterator[None]:
        ticket = Ticket(sys._getframe(2), writes=True)
        try:
            self._wait(ticket)
            yield
        finally:
            self._waiting.pop(ticket, None)
            if self._writing is ticket:
                self._first = self._given
                self._writer = self._writing = None
            if self._waiting:
                self._tell()

    def learn_at_once(self, work: Callable[..., Any], *args: Any) -> Any:
        """work(*args) as the one that writes, if that takes no waiting; False: it does, or `work` says so."""
        mine = False
        try:
            with self._lock:
                if self._writer is not None or self._readers or self._waiting:
                    return False
                self._writer, mine = get_ident(), True
            return work(*args)
        finally:
            if mine:
                self._writer = None
                if self._waiting:
                    self._first = self._given
                    self._tell()

    def predict_at_once(self, work: Callable[..., Any], *args: Any) -> Any:
        """work(*args) as one that reads, if that takes no waiting; None: it does, or `work` says so."""
        call = object()
        try:
            with self._lock:
                if self._writer is not None or self._waiting:
                    return None
                self._readers[call] = get_ident()
            return work(*args)
        finally:
            if self._readers.pop(call, None) is not None and self._waiting:
                self._tell()

    def _wait(self, ticket: Ticket) -> None:
        """Until it is this call's turn: from then on it reads or writes."""
        me, writes = ticket.thread, ticket.writes
        while True:
            with self._lock:
                self._check(me, writes)
                if ticket.number < 0:
                    ticket.number, self._given = self._given, self._given + 1
                ticket.news = news = Lock()
                news.acquire()
                self._waiting[ticket] = None  # before it looks: who ends takes no lock, but looks for those that wait
                if not writes and me in self._readers.values():
                    is_turn = True  # a writer that waits does so for this thread
                else:
                    is_turn = me in self._turns() and not (writes and self._readers)
                if is_turn:
                    if writes:
                        self._writer, self._writing = me, ticket
                    else:
                        self._readers[ticket] = me
                    del self._waiting[ticket]
                    return
            if not news.acquire(timeout=LOOK_UP):
                self._forget_those_that_have_ended()

    def _turns(self) -> set[int]:
        """Threads whose turn it is. It is theirs too if a handler came while they waited, and waits in their place."""
        if self._writer is not None:
            return set()
        writers = [ticket.thread for ticket in self._waiting if ticket.writes]
        first = self._first if writers else self._given
        readers = {ticket.thread for ticket in self._waiting if not ticket.writes and ticket.number < first}
        return readers or (set() if self._readers else set(writers[:1]))

    def _tell(self) -> None:
        """Those whose turn it is look again."""
        with self._lock:
            turns = self._turns()
            for ticket in list(self._waiting):
                if ticket.thread in turns:
                    news, ticket.news = ticket.news, None
                    if news is not None:
                        news.release()

    def _forget_those_that_have_ended(self) -> None:
        """An exception at the worst moment ends a call, but keeps it from saying so."""
        with self._lock:  # nobody begins meanwhile
            running = set()
            for frame in sys._current_frames().values():
                at: FrameType | None = frame
                while at is not None:
                    running.add(at)
                    at = at.f_back
            for reader in list(self._readers):
                if isinstance(reader, Ticket) and reader.call not in running:
                    self._readers.pop(reader, None)
            if self._writing is not None and self._writing.call not in running:
                self._writer = self._writing = None
        self._tell()

    def _check(self, me: int, writes: bool) -> None:
        if self._torn:
            raise RuntimeError(
                "another thread was learning with this model when the process was forked, so the copy in this process "
                "is half way through a block: fork between two calls that learn, or give the child a snapshot() made "
                "before"
            )
        if me == self._writer or (writes and me in self._readers.values()):
            self._forget_those_that_have_ended()
        if me == self._writer:
            raise RuntimeError(
                "this model is learning: it cannot be used from within its own learning; ask a snapshot()"
            )
        if writes and me in self._readers.values():
            raise RuntimeError(
                "this model is predicting: it cannot learn from within its own predicting; learn after it"
            )

    def _after_fork(self) -> None:
        """In a child, which has the thread that forked and no other one."""
        me = get_ident()
        self._lock = RLock()
        for call in [call for call, thread in self._readers.items() if thread != me]:
            del self._readers[call]
        for ticket in [ticket for ticket in self._waiting if ticket.thread != me]:
            del self._waiting[ticket]
        if self._writer not in (None, me):
            self._torn, self._writing = True, None  # a writer that never ends: nobody goes in at once


def _renew_locks() -> None:
    for lock in list(_LOCKS):
        lock._after_fork()


_LOCKS: WeakSet[ReadWriteLock] = WeakSet()  # of this process
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_locks)


# ----------------------------------------------------------------------------------- an estimator under its lock


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
            return deepcopy(state) if active_count() > 1 else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As scikit-learn does it, with names that are one object each: equal models then make equal pickles."""
        super().__setstate__({sys.intern(name): value for name, value in state.items()})

    def _without_lock(self) -> dict[str, Any]:
        """By name, and equal texts as one object: equal models then make equal pickles, loaded ones too."""
        state: dict[str, Any] = super().__getstate__()
        return {name: interned(state[name]) for name in sorted(state.keys() - {*OF_THIS_PROCESS})}
