"""Evidence: what values of a wide nominal column have shown of the classes.

A column of many values (`data.places`) comes as cells of a table, the hash of a value's text. A cell has a count n_c
for each class c. Before its row is learned, a value becomes one of a few codes, by what its cell knows. With pi_c the
frequencies of the classes in rows of such values, and n the sum of the counts of the cell,

    p_c = (n_c + ROWS pi_c) / (n + ROWS)
    d_c = logit p_c - logit pi_c

the code says for which class d_c is largest, and between which of LIMITS it is. It is a nominal value like others: the
panel and the trees learn what it means. So the model of a column of a million values is as large as that of a column of
2,000, and a value that is met for the first time is not a riddle: it has no evidence yet.

Counts fade by FADE a row, so that what a value means may change. More than SLOTS classes share the codes, in turn.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.jit import entry_kernel, small_kernel
from onlineboost.chain.clipping import Numbers
from onlineboost.contracts.state import resized
from onlineboost.data.places import CELLS, FIRST_CELL
from onlineboost.panel.columns import HEAVIEST

ROWS = 10.0  # that a cell is taken to have shown before its first: m
LIMITS = (0.1, 0.3, 0.6, 1.0, 1.5, 2.1, 2.8)
LEVELS = len(LIMITS) + 1
SLOTS = 3  # LEVELS SLOTS are as many as there are codes for evidence
FADE = 0.99997
LARGEST_STEP = 1e6  # rows count by a step that grows by 1 / FADE, in place of all counts that fade


@small_kernel
def evidence_of(cells, labels, step, own):
    """The code for these counts of a cell and of all rows; without a row of class `own`, if there is one."""
    k, all_of, n = labels.size, step, 0.0
    for c in range(k):
        all_of += labels[c]
        n += cells[c]
    less = step if own >= 0 and cells[own] >= 0.5 * step else 0.0
    n -= less
    if k < 2 or n <= 0.0:
        return 0
    best, most, m = 0, -math.inf, ROWS * step
    for c in range(k):
        pi = (labels[c] + step / k) / all_of
        p = (cells[c] - (less if c == own else 0.0) + m * pi) / (n + m)
        d = math.log(p / (1.0 - p)) - math.log(pi / (1.0 - pi))
        if d > most:
            best, most = c, d
    level = 0
    for limit in LIMITS:
        level += 1 if most > limit else 0
    return (best % SLOTS) * LEVELS + level


@small_kernel
def learn_cell(numbers, w, cell, y, weight):
    cells, labels = numbers.cells[w], numbers.labels[w]
    if numbers.step[w] > LARGEST_STEP:
        for c in range(labels.size):
            labels[c] /= numbers.step[w]
            for at in range(CELLS):
                cells[at, c] /= numbers.step[w]
        numbers.step[w] = 1.0
    cells[cell, y] += weight * numbers.step[w]
    labels[y] += weight * numbers.step[w]
    numbers.step[w] /= FADE


@small_kernel
def take_evidence(numbers, X, y, weight, own, out):
    """Codes in place of cells, in `out`. With labels, the cells learn each row after it; y (0,): they stay.

    Of rows that have been learned, `own` has the labels, which are left out again.
    """
    n = numbers.moments.shape[1]
    for b in range(X.shape[0]):
        for w in range(numbers.wide.size):
            at = n + numbers.wide[w]
            if X[b, at] >= FIRST_CELL:
                code = int(X[b, at]) - FIRST_CELL
                cell, label = code % CELLS, own[b] if own.size > 0 else -1
                evidence = evidence_of(numbers.cells[w, cell], numbers.labels[w], numbers.step[w], label)
                out[b, at] = code // CELLS + evidence
                if y.size > 0:
                    learn_cell(numbers, w, cell, y[b], min(weight[b], HEAVIEST))


@entry_kernel
def take_all_evidence(numbers, X, y, weight, own, out):
    """`take_evidence`, from Python."""
    take_evidence(numbers, X, y, weight, own, out)


NOBODY, NOTHING = np.empty(0, np.int64), np.empty(0)


def with_tables(numbers: Numbers, X: np.ndarray, k: int) -> Numbers:
    """With a table for every column that has come to be wide in these rows."""
    n = numbers.moments.shape[1]
    found = np.flatnonzero((X[:, n:] >= FIRST_CELL).any(axis=0))
    new = np.setdiff1d(found, numbers.wide)
    if not len(new):
        return numbers
    more = resized(numbers, {"wide": len(numbers.wide) + len(new), "classes": k})
    more.wide[len(numbers.wide) :] = new
    more.step[len(numbers.wide) :] = 1.0
    return more


def with_classes(numbers: Numbers, k: int) -> Numbers:
    """From here on there are k classes."""
    return resized(numbers, {"classes": k}) if len(numbers.wide) else numbers


def with_evidence(
    numbers: Numbers, X: np.ndarray, y: np.ndarray = NOBODY, weight: np.ndarray = NOTHING, own: np.ndarray = NOBODY
) -> np.ndarray:
    """These rows with codes in place of cells, which learn the labels `y`, if there are any.

    To predict rows that have been learned, without their `own` labels.
    """
    if not len(numbers.wide):
        return X
    out = X.copy()
    take_all_evidence(numbers, X, y, weight, own, out)
    return out
