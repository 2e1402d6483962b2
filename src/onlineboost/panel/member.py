"""What a member of the panel is: kernels by the contract `MEMBER`, and what Python has to know of it, a `Part`.

A panel has `shared` parts, which prepare a row for all (`columns.ColumnStats`, in which every row is first made of
numbers, the scale of least squares, their scores as columns, the last rows), and `members`, which have voices. Both
are NamedTuples of states, each of another type: the kernels of this contract are called for one after the other, in
order, and which function that is follows from the type, when the panel is compiled (`Contract.each`). Shared parts
come first. A member may read what the shared parts have, and what they have made of the row.

A panel of one member is that member by itself: a weak learner, and a classifier.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.dispatch import Contract
from onlineboost._compile.jit import entry_kernel
from onlineboost.contracts.schema import Field

MEMBER = Contract("member of a panel")
OUTSIDE = Field(name="/")  # of a part: files have its fields as if they were the panel's own


class Row(NamedTuple):
    """Scratch for one row, which all parts read."""

    values: np.ndarray  # float64 (columns,) the dense row
    there: np.ndarray  # float64 (columns,) 0 where a value is missing
    codes: np.ndarray  # float64 (nominal,) the nominal values as they came; NaN: missing
    z: np.ndarray  # float64 (columns,) the dense row in units of its spread, if there is a scale
    folded: np.ndarray  # float64 (scores,) scores of least squares, as columns
    sums: np.ndarray  # float64 (3, columns or scores) for whoever needs it
    prior: np.ndarray  # float64 (k,) frequencies of the classes so far, in a panel with a combiner
    rules: np.ndarray  # int64 (1,) how members of such a panel speak: see `state.RULES`


@MEMBER.optional
def start(member, shared, first, stop):
    """Dense columns first, ..., stop - 1 are in use from here on."""
    return


@MEMBER.optional
def move(member, shared, j, n, k, factor, shift):
    """What was v in dense column j, of n, is v * factor + shift from here on, and nothing else is known of it."""
    return


@MEMBER.optional
def prepare(member, own, shared, row, n, k):
    """Of a shared part: what all members need to know of the row, of n columns."""
    return


@MEMBER.optional
def say(member, own, said, shared, row, n, k):
    """said[voice, :k] of the row, of n columns: probabilities, or centred logits if its `Part` says so."""
    return


@MEMBER.optional
def learn(member, own, shared, row, n, k, y, weight):
    """Learn the row that `say` was last asked about, before the columns do."""
    return


@MEMBER.optional
def refreshed(member, own, shared, row, n, k):
    """The weights of the columns have been taken anew."""
    return


start_each, move_each = MEMBER.each(start), MEMBER.each(move)
prepare_each, say_each = MEMBER.each(prepare, 2), MEMBER.each(say, 3)
learn_each, refreshed_each = MEMBER.each(learn, 2), MEMBER.each(refreshed, 2)


@entry_kernel
def start_member(member, shared, stop):
    """A member that is new in a panel which has so many columns."""
    start(member, shared, 0, stop)


class Room(NamedTuple):
    """An axis that grows with the rows."""

    axis: str
    most: int
    first: int  # as soon as there are rows: to grow takes time
    per_row: int = 1
    used: Callable[[Any], int] | None = None  # of the part's state; None: as many as there are rows
    start: int = 0


class Part(NamedTuple):
    """A shared part or a member, for Python."""

    name: str  # of its field in the panel, and so in files
    kind: type  # of its state, which implements MEMBER
    voices: Mapping[int, str] = {}  # their places in the combiner, which stay for ever, and names
    new_work: Callable[[Any, Mapping[str, int]], Any] = lambda state, sizes: None  # scratch for one row
    logits: bool = False  # whether it says centred logits, not probabilities
    floor: float = 0.001  # what is added to probabilities before their logarithm is taken
    field: Field = Field()  # what its field is like: names of axes, and `since` which version of the panel it is there
    rooms: tuple[Room, ...] = ()
    sizes: Mapping[str, Callable[[Mapping[str, int]], int]] = {}  # of axes that follow from others
    fresh: Callable[[Any], None] | None = None  # what a new state has that those of older files have not
    new_classes: Callable[[Any, int, int], None] | None = None  # there were `old` classes, and there are k
    check: Callable[[Any, Any], None] | None = None  # whether this state, in a panel's `shared`, can have been learned
    tell: Callable[[Any, Any, int], Any] | None = None  # which columns move its voice: see `panel`


def wide(columns: int) -> Callable[[Mapping[str, int]], int]:
    """An axis that is so much longer than the dense columns are many."""
    return lambda sizes: columns + sizes["columns"]
