"""Labels that come late: rows that were predicted wait for them, each under a ticket or the caller's own id.

A row waits as numbers, 8 bytes a column, with the text of nominal values that were not known when it came; a row with
new columns waits as it came. When its label arrives it is learned as `learn_one` would learn it then: what is new in it
becomes known at that moment. So rows that wait, and labels that never come, change nothing.

A service that was killed goes on from an older file, which does not know the tickets given out since. So that none of
them ever stands for another row, a ticket is a number after some random characters: these are drawn by each model in
each process, before its first ticket, and are not part of files and copies. The tickets of the rows that wait are.
"""

from __future__ import annotations

import os
import sys
from secrets import token_hex
from typing import Any, NamedTuple

import numpy as np

from onlineboost.contracts.state import loaded
from onlineboost.data.encoder import Kept
from onlineboost.data.errors import DataError
from onlineboost.data.frames import named_row, table_of_row
from onlineboost.data.values import interned

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

    Its state is plain: `most` rows wait at most, `given` tickets were given, `dropped` rows were dropped;
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
        ticket = f"{self._prefix()}-{self.given}" if own is None else own
        while own is None and ticket in self.rows:
            self.given += 1  # somebody has taken it for an id
            ticket = f"{self._prefix()}-{self.given}"
        if own is not None and own in self.rows:
            raise DataError(
                f"id {ticket!r} is already waiting for its label: give each row an id of its own. predict_one predicts "
                f"a row again; forget_pending drops the row that waits"
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
            f"ticket {ticket!r} is unknown: no row waits under it. Its label was given before; or this model is a "
            f"copy, or comes from a file, that does not have the row: then predict the row again"
        )

    def emptied(self) -> Pending:
        """No rows wait any more; tickets go on from where they were."""
        fresh = Pending(self.most, self.given)
        fresh.dropped = self.dropped + len(self.rows)
        fresh.lost = dict.fromkeys([*self.lost, *self.rows][-self.most :])
        return fresh


def checked_id(given: Any, what: str) -> Ticket:
    """A ticket or an id as model files hold it."""
    if isinstance(given, str):
        return str(given)
    if isinstance(given, int | np.integer) and not isinstance(given, bool) and int(given).bit_length() <= LONGEST_ID:
        return int(given)
    hint = ": give its .ticket" if hasattr(given, "ticket") else ""
    raise DataError(
        f"{what} must be text or a whole number, which a model file can hold, got a {type(given).__name__}{hint}"
    )


def as_it_came(x: Any) -> dict[str, Any] | list[Any]:
    """A row that came before the columns are known."""
    table_of_row(x)  # errors show now
    by_name = named_row(x)
    return list(x) if by_name is None else {str(name): value for name, value in by_name.items()}
