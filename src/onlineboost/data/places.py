"""The codes of a nominal column: which values get a place of their own, and what becomes of the others.

A leaf keeps a number per code and class, so there has to be an end. The first `AT_ONCE` values of a column get a place
at once (categories that are known in advance, all of them). The next one makes it a *wide* column: all further values
go by a cell of a table, a hash of their text, and the chain tells what the cell has shown of the classes
(`chain/evidence.py`). For this evidence there are `EVIDENCE` more codes, which come at once. The code of a value that
goes by a cell is FIRST_CELL + its cell + CELLS times the first of them: it says all that the chain needs.

Models from older files in which more than AT_ONCE values had been met go on as they did: a value needs a second
appearance to get a place. Until then it shares one with its like; so do all later ones when `OWN` places are given
away. Of values met once there is a table of hashes, in small groups by hash, in which a new one displaces the oldest.
So a value counts as met before if it comes again before some `MET` others have come for the first time: how often it
comes decides.

Everything depends on the values that came before alone, not on how blocks are cut.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from functools import partial
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np

from onlineboost.data.errors import Remarks
from onlineboost.data.values import is_date

MAX_VALUES = 256
"""Codes of a nominal column at most."""
SHARED = 64
"""This many are shared by values that have none of their own, by a hash of their text."""
OWN = MAX_VALUES - SHARED
AT_ONCE = 64
"""This many values get a code of their own when they first appear."""
EVIDENCE = tuple(range(-1, -25, -1))
"""What the codes of a wide column for evidence stand for, in order."""
CELLS = 16_384
"""Of the table of a wide column."""
FIRST_CELL = MAX_VALUES
"""The first code that is not a code, but a cell."""
MET = 1024
"""Hashes of values met once that are remembered,"""
GROUP = 8
"""in groups of this many, the youngest first; 0: none yet."""
NOTHING = array("I")
"""Before any value had to be remembered, and when there are no more places to give away. Tables are never changed."""

Key = str | int
"""What a code stands for: a value as text, the number of a shared code, or one of EVIDENCE."""


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
        self._older = False  # whether values share places, as in older files
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
            self._older = self._shares_places()
            self._met = MET - self._table.count(0) if self._table else 0
        if self._own >= AT_ONCE and not self._older:
            return self._cell(text, row)
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

    def _shares_places(self) -> bool:
        """Whether values share codes, as in older files."""
        return any(type(key) is int and key >= 0 for key in self._known)

    def _cell(self, text: str, row: int | None) -> tuple[int, bool]:
        """The code of a value that has none of its own."""
        codes = self._known if EVIDENCE[0] in self._known else self._added
        if EVIDENCE[0] not in codes:
            first = len(self._known) + len(self._added)
            if row is None:
                return first, False  # nothing is known of such values yet
            for code, key in enumerate(EVIDENCE, first):
                self._added[key], self.fresh[key] = code, row
        return cell_code(codes, text), True

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


def cell_code(codes: dict[Key, int], text: str) -> int:
    """The code of a value that goes by a cell, in a column that is wide."""
    return FIRST_CELL + CELLS * codes[EVIDENCE[0]] + hash_of(text) % CELLS


def known_code(codes: dict[Key, int], text: Any) -> int:
    """The code of a value; a KeyError if it might get one of its own."""
    return codes[text] if text in codes or EVIDENCE[0] not in codes else cell_code(codes, text)


def is_final(codes: dict[Key, int], text: str, code: float) -> bool:
    """Whether a value that has this code will always have it."""
    return text in codes or code >= FIRST_CELL or (code != len(codes) and own_places(codes) == OWN)


def are_codes(given: np.ndarray, sizes: Any) -> bool:
    """Whether these can be codes, in columns of these sizes, or cells of wide columns."""
    first = np.floor((given - FIRST_CELL) / CELLS)
    known = (given < sizes) | ((first >= AT_ONCE) & (first + len(EVIDENCE) == sizes))
    return bool(((given >= 0) & known & (given == np.floor(given))).all())


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


def values_told(name: str, codes: dict[Key, int], fresh: dict[Key, int]) -> Remarks:
    """What there is to say of a column with these codes if these new ones are dates, or make it wide or crowded."""
    first = None if codes else next(iter(fresh), None)
    dates = {f"dates {name}": partial(_dates_told, name, first)} if is_date(first) else {}
    return dates | _sharing_told(name, codes, fresh)


def _dates_told(name: str, value: str) -> str:
    return (
        f"column {name!r} has dates or times as text, such as {value!r}: each is a category of its own, and says "
        f"nothing about later ones. Turn them into numbers, such as the hour, the day of the week or the seconds since "
        f"a fixed day, or leave the column out"
    )


def _sharing_told(name: str, codes: dict[Key, int], fresh: dict[Key, int]) -> Remarks:
    if EVIDENCE[0] in fresh:
        numbers = sum(_is_number(text) for text in (*codes, *fresh) if isinstance(text, str))
        return {f"numbers in {name}": partial(_numbers_told, name)} if numbers > AT_ONCE // 2 else {}
    begins = any(type(key) is int and key > 0 for key in fresh)
    begins = begins and not any(type(key) is int and key > 0 for key in codes)
    return {f"sharing {name}": partial(_places_shared, name)} if begins else {}


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _numbers_told(name: str) -> str:
    return (
        f"column {name!r} is nominal, with more than {AT_ONCE} different values, most of which are numbers. If it "
        f"should be numeric, some value in it is not a number: --numeric on the command line names it. If these "
        f"are codes, all is well"
    )


def _places_shared(name: str) -> str:
    return (
        f"column {name!r} has more than {OWN} different values. At most {OWN} that came more than once are told apart; "
        f"others share {SHARED} places, by a hash of their text, so that each place stands for a mixture. If rare "
        f"values matter, begin with a new model: in one from this version all values tell of their classes"
    )
