"""Rows that are remembered: RECENT of them, for the neighbours and the refitted trees.

They are the last ones, but rows of rare classes stay longer. A pointer goes round; a new row takes the place there,
unless the row there is of a class with at most `rare` RECENT rows in memory (RECENT / 2k with many classes): then the
pointer goes on. So that probabilities stay right, rows of class c weigh less, by the factor

    min(1, f_c N / n_c)         for classes with n_c up to twice as many of the N rows in memory

with f_c the frequency of the class lately. Those of other classes weigh 1.
"""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost.contracts.schema import f4, f8, i4, i8
from onlineboost.contracts.state import require
from onlineboost.panel.columns import HEAVIEST, HUGE, LIGHTEST, ROOM, ROWS, moved
from onlineboost.panel.least_squares import FOLD
from onlineboost.panel.member import MEMBER, Part, Room

RECENT = 4096
RARE = 0.1  # of the memory: what a class has in any case
LATELY = 0.9999  # what a row still counts one row later in the frequencies of the classes
LARGEST_STEP = 1e6  # by which these are counted, instead of fading all of them
LAST, POINTER = range(2)  # LastRows.places


class LastRows(NamedTuple):
    """Shared: the rows."""

    values: Annotated[np.ndarray, f4("columns", "recent", low=-HUGE, high=HUGE)]
    scores: Annotated[np.ndarray, f4("scores", "recent", low=-1e4 * HUGE, high=1e4 * HUGE)]
    y: Annotated[np.ndarray, i4("recent", below="classes")]
    weight: Annotated[np.ndarray, f4("recent", low=LIGHTEST / ROOM, high=HEAVIEST * ROOM)]
    rare: Annotated[np.ndarray, f8(1, low=0.0, high=RARE, since=2)]  # 0: the last rows, as in older files
    places: Annotated[np.ndarray, i8(2, low=0, high=RECENT - 1, since=2)]  # of the last row, and of the pointer
    held: Annotated[np.ndarray, i8("classes", low=0, high=RECENT, since=2)]  # rows of each class in memory
    often: Annotated[np.ndarray, f8("classes", low=0.0, high=1e12, since=2)]  # rows of each class lately
    step: Annotated[np.ndarray, f8(1, low=1.0, high=2.0 * LARGEST_STEP, default=1.0, since=2)]  # the next one's
    less: Annotated[np.ndarray, f8("classes", low=0.0, high=1.0, since=2)]  # 1 - the factor of a class


@bare_kernel
def remember(rows, own, shared, row, n, k, y, weight):
    """The row takes the place of the oldest that is not of a rare class."""
    at, n_scores = take_place(rows, shared.stats.used[ROWS], k, y), 2 * min(k, FOLD)
    for j in range(rows.values.shape[0]):
        rows.values[j, at] = row.values[j] if j < n else 0.0
    for j in range(rows.scores.shape[0]):
        rows.scores[j, at] = row.folded[j] if j < n_scores else 0.0
    rows.y[at] = y
    rows.weight[at] = weight


@bare_kernel
def take_place(rows, t, k, y):
    """Where row t, of class y, is remembered."""
    at = t % RECENT
    if rows.rare[0] > 0.0:
        if t >= RECENT:
            at, limit = rows.places[POINTER], rare_limit(rows, k)
            while rows.held[rows.y[at]] <= limit:  # not for ever: fewer rows than there are can be of such classes
                at = (at + 1) % RECENT
            rows.held[rows.y[at]] -= 1
            rows.places[POINTER] = (at + 1) % RECENT
        rows.held[y] += 1
        count_label(rows, k, y)
    rows.places[LAST] = at
    return at


@small_kernel
def rare_limit(rows, k):
    """Rows that a class keeps in any case: all classes together at most half of the memory."""
    return min(rows.rare[0] * RECENT, RECENT / (2.0 * k))


@bare_kernel
def count_label(rows, k, y):
    rows.often[y] += rows.step[0]
    rows.step[0] /= LATELY
    if rows.step[0] > LARGEST_STEP:
        for c in range(k):
            rows.often[c] /= rows.step[0]
        rows.step[0] = 1.0


@bare_kernel
def weigh_classes(rows, own, shared, row, n, k):
    """What rows of rare classes weigh less, for each of them stands for fewer."""
    if shared.stats.used[ROWS] < RECENT:  # all rows are there
        return
    total, limit = 0.0, 2.0 * rare_limit(rows, k)
    for c in range(k):
        total += rows.often[c]
    for c in range(k):
        rows.less[c] = 0.0
        if 0 < rows.held[c] <= limit:
            rows.less[c] = 1.0 - min(1.0, rows.often[c] / total * RECENT / rows.held[c])


@bare_kernel
def move_rows(rows, shared, j, n, k, factor, shift):
    for at in range(rows.values.shape[1]):
        rows.values[j, at] = moved(rows.values[j, at], factor, shift)


def keep_rare(rows: LastRows) -> None:
    rows.rare[0] = RARE


def check_rows(rows: LastRows, shared: Any) -> None:
    """The rows of each class have been counted."""
    n_rows = min(int(shared.stats.used[ROWS]), RECENT)
    held = np.bincount(rows.y[:n_rows], minlength=len(rows.held))
    require(rows.rare[0] == 0.0 or np.array_equal(rows.held, held), "the rows of each class")
    require(rows.rare[0] == 0.0 or n_rows == 0 or rows.often.sum() > 0.0, "the frequencies of the classes")
    require((rows.less < 1.0).all(), "what the rows of a class weigh")


MEMBER.implement(LastRows, learn=remember, move=move_rows, refreshed=weigh_classes)
LAST_ROWS = Part("neighbours", LastRows, rooms=(Room("recent", RECENT, 512),), fresh=keep_rare, check=check_rows)
