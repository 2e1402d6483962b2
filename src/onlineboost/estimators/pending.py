"""Labels that come late: rows that were predicted wait for them, each under a ticket or the caller's own id.

A row waits as numbers, 8 bytes a column, with the text of nominal values that were not known when it came; a row with
new columns waits as it came. When its label arrives it is learned as `learn_one` would learn it then: what is new in it
becomes known at that moment. So rows that wait, and labels that never come, change nothing.

A service that was killed goes on from an older file, which does not know the tickets given out since. So that none of
them ever stands for another row, a ticket is a number after some random characters: these are drawn by each model in
each process, before its first ticket, and are no part of files and copies. The tickets of the rows that wait are.
"""

from __future__ import annotations

import os
import sys
from abc import abstractmethod
from secrets import token_hex
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.interrupt import Interrupt
from onlineboost.contracts.state import loaded
from onlineboost.data.encoder import Kept
from onlineboost.data.errors import DataError
from onlineboost.data.frames import named_row, table_of_row
from onlineboost.data.values import interned
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.estimators.model import Model
from onlineboost.estimators.one_row import Input
from onlineboost.estimators.settings import count

MOST = 10_000  # rows that wait at most, unless `limit_pending` says otherwise
LONGEST_ID = 1024  # bits of a whole number


_process = object()  # another one in each process: those that were forked too


def _in_a_child() -> None:
    global _process
    _process = object()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_in_a_child)

Ticket = str | int
Row = Kept | dict[str, Any] | list[Any]


class Awaited(NamedTuple):
    """A prediction whose label is still to come."""

    label: Any  # what was predicted; None: nothing had been learned yet
    ticket: Ticket  # to give to `learn_pending` with the label: the id, if one was given


class Pending:
    """Rows that wait for their labels, by ticket or id, in the order in which they came.

    Its state is plain: `most` rows wait at most, so many tickets have been `given`, so many rows were `dropped`;
    `rows` has those that wait, oldest first, and `lost` the tickets dropped last, at most `most` of them.
    """

    _drawn: tuple[object, str] = (None, "")  # the process, and what it has drawn for this model

    def __init__(self, most: int = MOST, given: int = 0) -> None:
        self.most = most
        self.given = given
        self.dropped = 0
        self.rows: dict[Ticket, Row] = {}
        self.lost: dict[Ticket, None] = {}  # a set in order

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_drawn"}
        return interned({**state, "rows": list(self.rows.items()), "lost": list(self.lost)})  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = {ticket: loaded(row) for ticket, row in state["rows"]}
        own = {**state, "rows": rows, "lost": dict.fromkeys(state["lost"])}
        self.__dict__ = {sys.intern(name): value for name, value in own.items()}  # equal ones then make equal pickles

    def add(self, row: Row, own: Ticket | None = None) -> Ticket:
        """Let a row wait, under the caller's `own` id if there is one; the oldest are dropped if too many wait."""
        while own is None and f"{self._prefix()}-{self.given}" in self.rows:
            self.given += 1  # somebody has taken it for an id
        ticket = f"{self._prefix()}-{self.given}" if own is None else own
        if own is not None and own in self.rows:
            raise DataError(
                f"id {ticket!r} is already waiting for its label: give each row an id of its own. predict_one predicts "
                f"a row again; forget_pending lets go of the row that waits"
            )
        self.rows[ticket] = row
        self.given += own is None  # last: an exception before leaves a ticket that nobody has, to be given again
        if own is not None:
            self.lost.pop(own, None)
        self.shrink()
        return ticket

    def _prefix(self) -> str:
        """The random characters of this model in this process."""
        if self._drawn[0] is not _process:
            self._drawn = _process, token_hex(8)
        return self._drawn[1]

    def shrink(self) -> None:
        """Drop the oldest rows beyond `most`."""
        while len(self.rows) > self.most:
            self.drop(next(iter(self.rows)))
        while len(self.lost) > self.most:
            self.lost.pop(next(iter(self.lost)), None)

    def drop(self, ticket: Ticket) -> None:
        self.lost[ticket] = None
        self.rows.pop(ticket, None)
        self.dropped += 1

    def row(self, ticket: Any) -> Row:
        """The row of a ticket; an error says what has become of it."""
        ticket = checked_id(ticket, "ticket")
        if ticket in self.rows:
            return self.rows[ticket]
        if ticket in self.lost:
            raise DataError(
                f"ticket {ticket!r} was dropped: too many rows were waiting (at most {self.most}: limit_pending lets "
                f"more of them wait), or fit or forget_pending was called"
            )
        prefix, _, number = str(ticket).rpartition("-")
        if prefix == self._prefix() and number.isdecimal() and int(number) < self.given:
            raise DataError(f"ticket {ticket!r} has been used (or was dropped long ago): a row is learned once")
        raise DataError(
            f"ticket {ticket!r} is unknown: no row waits under it. Its label was given before, or the ticket was given "
            f"out by another copy of the model: before a restart from an older file, say"
        )

    def emptied(self) -> Pending:
        """No rows wait any more; tickets go on from where they were."""
        fresh = Pending(self.most, self.given)
        fresh.dropped = self.dropped + len(self.rows)
        fresh.lost = dict.fromkeys([*self.lost, *self.rows][-self.most :])
        return fresh


class DelayedLabels:
    """Predicting now and learning later: `predict_pending` and `learn_pending` of a classifier."""

    @abstractmethod
    def _lock(self) -> ReadWriteLock: ...

    @abstractmethod
    def predict_one(self, x: Input) -> Any: ...

    @abstractmethod
    def _learn_kept(self, x: Any, y: Any, weight: float, interrupt: Interrupt) -> None: ...

    @abstractmethod
    def _tell_learned(self, n_rows: int) -> None: ...

    def predict_pending(self, x: Input, *, id: Ticket | None = None) -> Awaited:
        """The label of one row as `predict_one` predicts it, and a ticket to learn the row with when its label comes.

        The ticket is a short text that no other row ever gets, after a restart from an older file neither. With an
        `id` of your own, text or a whole number, that is the ticket; one that is waiting already is an error. The row
        is kept meanwhile, in copies, pickles and files too; at most 10,000 rows are, or what `limit_pending` says, and
        then the oldest is dropped.

        Examples
        --------
        >>> from onlineboost import HoeffdingTree
        >>> clf = HoeffdingTree().fit([[0.0], [1.0]] * 50, ["low", "high"] * 50)
        >>> first, second = clf.predict_pending([0.1]), clf.predict_pending([0.9])
        >>> first.label, second.label
        ('low', 'high')
        >>> clf.learn_pending(second.ticket, "high").learn_pending(first.ticket, "low").n_samples_seen_
        102
        >>> clf.predict_pending([0.2], id="order 4711")
        Awaited(label='low', ticket='order 4711')
        >>> clf.learn_pending("order 4711", "low").n_pending_
        0
        """
        own = None if id is None else checked_id(id, "id")
        label = self.predict_one(x)
        with self._lock().writing():
            model: Model | None = self.__dict__.get("_model")
            if model is None or model.encoder.new_columns_of_row(x):
                return Awaited(label, self._waiting().add(_as_it_came(x), own))
            return Awaited(label, self._waiting().add(model.encoder.keep(x), own))

    def learn_pending(self, ticket: Ticket, y: Any, weight: float = 1.0) -> Self:
        """Learn the row of a ticket or id, whose label has come: as `learn_one` would learn it now. It is good once."""
        desk = self.__dict__.get("_desk_")
        rows = self._waiting().rows
        x = rows.get(ticket) if type(ticket) is str or type(ticket) is int else None
        if desk is not None and x is not None and self._lock().learn_at_once(desk.learn, x, y, weight, rows, ticket):
            return self
        with Interrupt() as interrupt, self._lock().writing():
            waiting = self._waiting()
            self._learn_kept(waiting.row(ticket), y, weight, interrupt)
            waiting.rows.pop(checked_id(ticket, "ticket"))
        self._tell_learned(1)
        return self

    def forget_pending(self, ticket: Ticket) -> Self:
        """The label of this ticket or id will never come: its row need not wait any more."""
        with self._lock().writing():
            waiting = self._waiting()
            waiting.row(ticket)
            waiting.drop(checked_id(ticket, "ticket"))
        return self

    def limit_pending(self, most: int) -> Self:
        """Let so many rows wait for their labels at most; if there are more, the oldest are dropped."""
        most = count("most", most)
        with self._lock().writing():
            waiting = self._waiting()
            waiting.most = most
            waiting.shrink()
        return self

    @property
    def n_pending_(self) -> int:
        """Number of rows that wait for their labels."""
        return len(self._waiting().rows)

    @property
    def n_dropped_(self) -> int:
        """Number of rows that were dropped, or forgotten, before their labels came."""
        return self._waiting().dropped

    def _waiting(self) -> Pending:
        found: Pending = self.__dict__.get("_pending") or self.__dict__.setdefault("_pending", Pending())
        return found


def checked_id(given: Any, what: str) -> Ticket:
    """A ticket or an id as model files hold it."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and int(given).bit_length() <= LONGEST_ID:
        return int(given)
    raise DataError(f"{what} must be text or a whole number, which a model file can hold, got a {type(given).__name__}")


def _as_it_came(x: Input) -> dict[str, Any] | list[Any]:
    """A row that came before the columns are known."""
    table_of_row(x)  # errors show now
    by_name = named_row(x)
    return list(x) if by_name is None else {str(name): value for name, value in by_name.items()}
