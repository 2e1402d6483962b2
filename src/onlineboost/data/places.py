"""The codes of a nominal column: which values get a place of their own, and which share one.

A leaf keeps a number per code and class, so there has to be an end. The first `AT_ONCE` values of a column get a place
at once. From then on a value needs a second appearance: values that come once, and mostly there are many of them, use
no places up. Until then it shares a place with its like; so do all later ones when `OWN` places are given away.

Of values met once there is a table of hashes, in small groups by hash, in which a new one displaces the oldest. So a
value counts as met before if it comes again before some `MET` others have come for the first time: how often it comes
decides.

Everything depends on the values that came before alone, not on how blocks are cut.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import partial
from typing import NamedTuple
from zlib import crc32

from onlineboost.data.errors import Remarks

MAX_VALUES = 256
"""Codes of a nominal column at most."""
SHARED = 64
"""So many of them are shared by values that have none of their own, by a hash of their text."""
OWN = MAX_VALUES - SHARED
AT_ONCE = 64
"""So many values get a code of their own when they first appear."""
MET = 1024
"""Hashes of values met once that are remembered,"""
GROUP = 8
"""in groups of so many, the youngest first; 0: none yet."""
NOTHING = array("I")
"""Before any value had to be remembered, and when there are no more places to give away. Tables are never changed."""

Key = str | int
"""What a code stands for: a value as text, or the number of a shared code."""


class Met(NamedTuple):
    """What a block changes in the table of values met once."""

    before: array[int]
    rows: array[int]  # rows with a value that comes for the first time, and
    hashes: array[int]  # the hashes of these

    def after(self, row: int, codes: dict[Key, int]) -> array[int]:
        """The table when the rows up to this one have been learned, and these are the codes."""
        n = bisect_right(self.rows, row)
        if own_places(codes) == OWN:
            return NOTHING
        if not n:
            return self.before
        table = self.before[:] or empty_table()
        for hashed in self.hashes[:n]:
            note(table, hashed)
        return table


class Column:
    """A nominal column while a block is read: what is known of it, which does not change, and what the block adds."""

    def __init__(self, known: dict[Key, int], table: array[int]) -> None:
        self._known, self._added = known, dict[Key, int]()
        self._before, self._table = table, table
        self._own, self._met = -1, 0  # not counted yet: mostly all values are known
        self._rows, self._hashes = array("q"), array("I")
        self.fresh: dict[Key, int] = {}  # new keys of codes -> row of their first appearance

    @property
    def met(self) -> Met | None:
        """What the block changes in the table of values met once; None: there is none."""
        return Met(self._before, self._rows, self._hashes) if self._before or self._rows else None

    def code(self, text: str, row: int | None) -> tuple[int, bool]:
        """The code of a value, and whether it will be the same from now on. Learning: in this row; None: predicting."""
        code = self._known.get(text, self._added.get(text))
        if code is not None:
            return code, True
        if self._own < 0:
            self._own = own_places(self._known)
            self._met = MET - self._table.count(0) if self._table else 0
        hashed = hash_of(text)
        key = self._key(text, hashed)
        code = self._known.get(key, self._added.get(key))
        following = len(self._known) + len(self._added)
        if row is not None:
            if code is None:
                self._added[key], self.fresh[key] = following, row
                self._own += type(key) is str
            if type(key) is int and self._own < OWN:
                self._note(hashed, row)
        return following if code is None else code, type(key) is str or self._own == OWN

    def _key(self, text: str, hashed: int) -> Key:
        """What a value that has no place of its own goes by: its text if it is to get one."""
        if self._own < AT_ONCE:
            return text
        if self._own < OWN and self._table and hashed in self._table[group_of(hashed)]:
            return text
        crowded = self._own == OWN or self._met > OWN - AT_ONCE  # more than OWN values have been met
        return hashed % SHARED if crowded else 0

    def _note(self, hashed: int, row: int) -> None:
        """A value has come for the first time, or for the first time in a long while."""
        if self._table is self._before:
            self._table = self._before[:] or empty_table()
        self._met += note(self._table, hashed)
        self._rows.append(row)
        self._hashes.append(hashed)


def hash_of(text: str) -> int:
    """Above 0."""
    return crc32(text.encode("utf-8", "surrogatepass")) or 1


def empty_table() -> array[int]:
    return array("I", bytes(4 * MET))


def group_of(hashed: int) -> slice:
    """Where a hash may stand in the table."""
    start = hashed % (MET // GROUP) * GROUP
    return slice(start, start + GROUP)


def note(table: array[int], hashed: int) -> bool:
    """Put a hash in the table; whether none had to go for it."""
    where = group_of(hashed)
    *others, last = table[where]
    table[where] = array("I", [hashed, *others])
    return not last


def own_places(codes: dict[Key, int]) -> int:
    """How many values have a code of their own."""
    return len(codes) if len(codes) <= AT_ONCE else sum(type(key) is str for key in codes)


def sharing_told(name: str, codes: dict[Key, int], fresh: dict[Key, int]) -> Remarks:
    """What there is to say of a column with these codes if it becomes crowded by these new ones."""
    begins = any(type(key) is int and key for key in fresh) and not any(type(key) is int and key for key in codes)
    return {f"sharing {name}": partial(_places_shared, name)} if begins else {}


def _places_shared(name: str) -> str:
    return (
        f"column {name!r} has more than {OWN} different values. At most {OWN} that came more than once are told apart; "
        f"others share {SHARED} places, by a hash of their text, so that each place stands for a mixture. If rare "
        f"values matter, give numbers that describe them instead; if they do not, call them all 'other'. If the column "
        f"should be numeric, some value in it is not a number: --numeric on the command line names it"
    )
