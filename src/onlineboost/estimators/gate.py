"""Who may use a model at a time: many that predict, or one that learns."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition, Lock, get_ident


class Gate:
    """Threads that predict at once, or a single one that learns; the others wait.

    A thread that learns cannot ask the same model meanwhile, from the handler of a signal say: it would wait for
    itself. That is an error.
    """

    def __init__(self) -> None:
        self._news = Condition(Lock())
        self._readers: set[int] = set()  # threads that predict
        self._writer: int | None = None  # the thread that learns,
        self._next: int | None = None  # and one that waits to: no more readers before it

    @contextmanager
    def reading(self) -> Iterator[None]:
        me = get_ident()
        with self._news:
            self._check_not_learning(me)
            while self._writer is not None or self._next is not None:
                self._news.wait()
            self._readers.add(me)
        try:
            yield
        finally:
            with self._news:
                self._readers.discard(me)
                self._news.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        me = get_ident()
        with self._news:
            self._check_not_learning(me)
            try:
                while self._writer is not None or self._next not in (None, me) or self._readers - {me}:
                    self._next = me if self._next is None else self._next
                    self._news.wait()
                self._writer = me
            finally:
                self._next = None if self._next == me else self._next
        try:
            yield
        finally:
            with self._news:
                self._writer = None
                self._news.notify_all()

    def _check_not_learning(self, me: int) -> None:
        if self._writer == me:
            raise RuntimeError("this model is learning: it cannot be used from within its own learning")
