"""Who may use a model at a time: many that predict, or one that learns."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from importlib import import_module
from os import PathLike
from threading import Lock, RLock, get_ident
from types import FrameType
from typing import Any, Self

OF_THIS_PROCESS = ("_gate_", "_desk_", "_checked_", "_changed_", "_told_")  # attributes that are no part of its pickles
LOOK_UP = 0.2  # seconds after which those that wait look for themselves, should nobody have told them


class Gate:
    """Threads that predict at once, or a single one that learns; the others wait.

    A thread that learns cannot ask the same model meanwhile, from the handler of a signal say: it would wait for
    itself. Nor can one that predicts learn meanwhile: that would change what it predicts from. Both are errors.

    What the handler of a signal raises can strike wherever Python calls a function, in these methods too. So the lock
    is one whose ``with`` is in C, and what else might be left undone is found out: news that never came by looking
    again after a while, calls that never said that they had ended by looking at what the threads are doing.
    """

    def __init__(self) -> None:
        self._lock = RLock()  # a handler may come here while its own thread is in the middle of something
        self._waiting: list[Lock] = []  # for news; each is released when there are some
        self._readers: dict[FrameType, int] = {}  # calls that predict, and their threads
        self._writer: int | None = None  # the thread that learns,
        self._next: int | None = None  # and one that waits to: no more readers before it

    @contextmanager
    def reading(self) -> Iterator[None]:
        call = sys._getframe(2)  # whose ``with`` this is: above are this generator and contextlib
        try:
            while (news := self._read(call, get_ident())) is not None:
                news.acquire(timeout=LOOK_UP)
            yield
        finally:
            self._readers.pop(call, None)
            self._tell()

    @contextmanager
    def writing(self) -> Iterator[None]:
        me = get_ident()
        self._check_not_learning(me)
        try:
            while (news := self._write(me)) is not None:
                news.acquire(timeout=LOOK_UP)
            yield
        finally:
            self._writer = None if self._writer == me else self._writer
            self._next = None if self._next == me else self._next
            self._tell()

    def learn_at_once(self, work: Callable[..., bool], *args: Any) -> bool:
        """work(*args) as the one that learns, if that takes no waiting; False: it does, or `work` says so."""
        with self._lock:  # those that come meanwhile wait here
            if self._writer is not None or self._next is not None or self._readers:
                return False
            self._writer = get_ident()
            try:
                return work(*args)
            finally:
                self._writer = None

    def predict_at_once(self, work: Callable[..., Any], *args: Any) -> Any:
        """work(*args) as one that predicts, if that takes no waiting; None: it does, or `work` says so."""
        call = sys._getframe()
        with self._lock:
            if self._writer is not None or self._next is not None:
                return None
            self._readers[call] = get_ident()
        try:
            return work(*args)
        finally:
            with self._lock:
                self._readers.pop(call, None)
                waited = bool(self._waiting)
            if waited:
                self._tell()

    def _read(self, call: FrameType, me: int) -> Lock | None:
        """From here on this call may predict, or there is something to wait for."""
        with self._lock:
            self._check_not_learning(me)
            free = self._writer is None and self._next in (None, me)
            if free or me in self._readers.values():  # who waits to learn waits for this thread
                self._readers[call] = me
                return None
            return self._news()

    def _write(self, me: int) -> Lock | None:
        """From here on this thread may learn, or there is something to wait for."""
        with self._lock:
            self._forget_those_that_have_ended()
            if me in self._readers.values():
                raise RuntimeError("this model is predicting: it cannot learn from within its own predicting")
            if self._writer is None and self._next in (None, me) and not self._readers:
                self._writer = me
                return None
            self._next = me if self._next is None else self._next
            return self._news()

    def _news(self) -> Lock:
        news = Lock()
        news.acquire()
        self._waiting.append(news)
        return news

    def _tell(self) -> None:
        """Those that wait look again."""
        with self._lock:
            waiting, self._waiting = self._waiting, []
        for news in waiting:
            news.release()

    def _forget_those_that_have_ended(self) -> None:
        """An exception at the worst moment ends a call that predicts, but keeps it from saying so."""
        if self._readers:
            running = set()
            for frame in sys._current_frames().values():
                at: FrameType | None = frame
                while at is not None:
                    running.add(at)
                    at = at.f_back
            for call in self._readers.keys() - running:
                self._readers.pop(call, None)

    def _check_not_learning(self, me: int) -> None:
        if self._writer == me:
            raise RuntimeError("this model is learning: it cannot be used from within its own learning")


class Guarded:
    """A model with a gate of its own. Copies, pickles and files pass it too: they wait while another thread learns."""

    def _gate(self) -> Gate:
        """Keeps the threads apart that use this model."""
        gate: Gate = self.__dict__.get("_gate_") or self.__dict__.setdefault("_gate_", Gate())
        return gate

    def save(self, path: str | PathLike[str], *, pickled_learners: bool = False) -> None:
        """Put it into a model file, from which `onlineboost.load` makes it again (docs/model-files.md).

        The file takes the place of one that is there as a whole, or not at all. Weak learners of another make can only
        be pickled, and only if `pickled_learners` says so here and in `load`.
        """
        files = import_module("onlineboost.estimators.saved.files")  # which knows all estimators, and so this one
        with self._gate().reading():
            saved = files.take(self, pickled_learners=pickled_learners)
        saved.write(path)

    def __copy__(self) -> Self:
        """A copy shares nothing that learning changes: otherwise one would learn half of what the other learns."""
        return deepcopy(self)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        with self._gate().reading():
            memo[id(self)] = copy = type(self).__new__(type(self))
            copy.__dict__.update(deepcopy(self._without_gate(), memo))
            copy.__dict__["_told_"] = dict(self.__dict__.get("_told_", ()))  # what was told need not be told by a copy
            return copy

    def __getstate__(self) -> dict[str, Any]:
        """What pickle reads after the gate has closed: with other threads about, a copy that none of them changes."""
        with self._gate().reading():
            state = self._without_gate()
            return deepcopy(state) if threading.active_count() > 1 else state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """As scikit-learn does it, with names that are one object each: equal models then make equal pickles."""
        super().__setstate__({sys.intern(name): value for name, value in state.items()})  # type: ignore[misc]

    def _without_gate(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name not in OF_THIS_PROCESS}
