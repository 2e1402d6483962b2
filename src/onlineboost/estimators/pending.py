"""Labels that come late: rows that were predicted wait for them, each under a ticket.

A row waits as numbers, 8 bytes a column, with the text of nominal values that were not known when it came; a row with
new columns waits as it came. When its label arrives it is learned as `learn_one` would learn it then: what is new in it
becomes known at that moment. So rows that wait, and labels that never come, change nothing.
"""

from __future__ import annotations

import sys
from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.interrupt import Interrupt
from onlineboost.data.encoder import Kept
from onlineboost.data.errors import DataError
from onlineboost.data.frames import named_row, table_of_row
from onlineboost.data.values import interned
from onlineboost.estimators.lock import ReadWriteLock
from onlineboost.estimators.model import Model
from onlineboost.estimators.one_row import Input
from onlineboost.estimators.settings import count
from onlineboost.trees.compact import loaded

MOST = 10_000  # rows that wait at most, unless `limit_pending` says otherwise


class Awaited(NamedTuple):
    """A prediction whose label is still to come."""

    label: Any  # what was predicted; None: nothing had been learned yet
    ticket: int  # to give to `learn_pending` with the label


class Pending:
    """Rows that wait for their labels, by ticket: 0, 1, 2, ... in the order in which they came.

    Its state is plain: `most` rows wait at most, so many tickets have been `given`, so many rows were `dropped`;
    `rows` has those that wait, oldest first, and `lost` the tickets dropped last, at most `most` of them.
    """

    def __init__(self, most: int = MOST, given: int = 0) -> None:
        self.most = most
        self.given = given
        self.dropped = 0
        self.rows: dict[int, Kept | dict[str, Any] | list[Any]] = {}
        self.lost: dict[int, None] = {}  # a set in order

    def __getstate__(self) -> dict[str, Any]:
        return interned({**self.__dict__, "rows": list(self.rows.items()), "lost": list(self.lost)})  # type: ignore[no-any-return]

    def __setstate__(self, state: dict[str, Any]) -> None:
        rows = {ticket: loaded(row) for ticket, row in state["rows"]}
        own = {**state, "rows": rows, "lost": dict.fromkeys(state["lost"])}
        self.__dict__ = {sys.intern(name): value for name, value in own.items()}  # equal ones then make equal pickles

    def add(self, row: Kept | dict[str, Any] | list[Any]) -> int:
        """Let a row wait; the oldest are dropped if there are too many."""
        ticket = self.given
        self.rows[ticket] = row
        self.given = ticket + 1  # last: an exception before leaves a ticket that nobody has, to be given again
        self.shrink()
        return ticket

    def shrink(self) -> None:
        """Drop the oldest rows beyond `most`."""
        while len(self.rows) > self.most:
            self.drop(next(iter(self.rows)))
        while len(self.lost) > self.most:
            self.lost.pop(next(iter(self.lost)), None)

    def drop(self, ticket: int) -> None:
        self.lost[ticket] = None
        self.rows.pop(ticket, None)
        self.dropped += 1

    def row(self, ticket: Any) -> Kept | dict[str, Any] | list[Any]:
        """The row of a ticket; an error says what has become of it."""
        good = isinstance(ticket, int | np.integer) and not isinstance(ticket, bool)
        if good and ticket in self.rows:
            return self.rows[int(ticket)]
        if not good or not 0 <= ticket < self.given:
            raise DataError(f"ticket {ticket!r} is unknown: this model has given {self.given} tickets, from 0 on")
        if ticket in self.lost:
            raise DataError(
                f"ticket {ticket} was dropped: too many rows were waiting (at most {self.most}: limit_pending lets "
                f"more of them wait), or fit or forget_pending was called"
            )
        raise DataError(f"ticket {ticket} has been used (or was dropped long ago): a row is learned once")

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

    def predict_pending(self, x: Input) -> Awaited:
        """The label of one row as `predict_one` predicts it, and a ticket to learn the row with when its label comes.

        The ticket is a whole number that no other row of this model ever gets. The row is kept meanwhile, in copies and
        pickles too; at most 10,000 rows are, or what `limit_pending` says, and then the oldest is dropped.

        Examples
        --------
        >>> from onlineboost import HoeffdingTree
        >>> clf = HoeffdingTree().fit([[0.0], [1.0]] * 50, ["low", "high"] * 50)
        >>> first, second = clf.predict_pending([0.1]), clf.predict_pending([0.9])
        >>> first.label, second.label
        ('low', 'high')
        >>> clf.learn_pending(second.ticket, "high").learn_pending(first.ticket, "low").n_samples_seen_
        102
        """
        label = self.predict_one(x)
        with self._lock().writing():
            model: Model | None = self.__dict__.get("_model")
            if model is None or model.encoder.new_columns_of_row(x):
                return Awaited(label, self._waiting().add(_as_it_came(x)))
            return Awaited(label, self._waiting().add(model.encoder.keep(x)))

    def learn_pending(self, ticket: int, y: Any, weight: float = 1.0) -> Self:
        """Learn the row of a ticket, whose label has come: as `learn_one` would learn it now. A ticket is good once."""
        desk = self.__dict__.get("_desk_")
        rows = self._waiting().rows
        x = rows.get(ticket) if type(ticket) is int else None
        if desk is not None and x is not None and self._lock().learn_at_once(desk.learn, x, y, weight, rows, ticket):
            return self
        with Interrupt() as interrupt, self._lock().writing():
            waiting = self._waiting()
            self._learn_kept(waiting.row(ticket), y, weight, interrupt)
            waiting.rows.pop(int(ticket))
        return self

    def forget_pending(self, ticket: int) -> Self:
        """The label of this ticket will never come: its row need not wait any more."""
        with self._lock().writing():
            waiting = self._waiting()
            waiting.row(ticket)
            waiting.drop(int(ticket))
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


def _as_it_came(x: Input) -> dict[str, Any] | list[Any]:
    """A row that came before the columns are known."""
    table_of_row(x)  # errors show now
    by_name = named_row(x)
    return list(x) if by_name is None else {str(name): value for name, value in by_name.items()}
