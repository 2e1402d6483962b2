"""A block of examples on its way through the chain."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel, small_kernel


class Rows(NamedTuple):
    """A block of encoded examples. The last five change from learner to learner."""

    X: np.ndarray  # float64 (rows, columns), numeric columns first
    missing: np.ndarray  # bool (rows,) whether a numeric value is missing
    spread: np.ndarray  # float64 (rows, numeric columns) variance of the column, lately, up to this row;
    # below 0: after this row what is known of the column is to be forgotten (see `chain.clipping`)
    again: np.ndarray  # bool (rows,) whether there is such a column
    t: int  # round of the first row
    k: int  # classes
    s: np.ndarray  # float64 (rows, k) votes so far
    lead: np.ndarray  # int32 (rows,) argmax of s, the lowest label among equals
    experts: np.ndarray  # int32 (rows, learners of the chain) prediction of every expert
    notes: Any  # what the booster keeps beside the votes, in a type of its own; None: nothing
    trace: np.ndarray  # float64 (learners, rows, k) s after every learner; (0, 0, 0): nobody asks


def new_rows(X, missing, spread, t: int, k: int, n_learners: int, notes: Any, *, traced: bool = False) -> Rows:
    """A block at the head of a chain: no votes yet. If it is `traced`, learning keeps the votes after each learner."""
    n = len(X)
    trace = np.empty((n_learners, n, k) if traced else (0, 0, 0))
    lead, experts = np.zeros(n, np.int32), np.empty((n, n_learners), np.int32)
    return Rows(X, missing, spread, (spread < 0.0).any(axis=1), t, k, np.zeros((n, k)), lead, experts, notes, trace)


@small_kernel
def in_round(rows, t):
    """The same block, its first row in round t."""
    s, lead, experts, notes = rows.s, rows.lead, rows.experts, rows.notes
    return Rows(rows.X, rows.missing, rows.spread, rows.again, t, rows.k, s, lead, experts, notes, rows.trace)


@small_kernel
def keep_votes(rows, i):
    """Remember the votes of the block after learner i of the chain."""
    for b in range(rows.s.shape[0]):
        for l in range(rows.k):
            rows.trace[i, b, l] = rows.s[b, l]


class Work(NamedTuple):
    """Scratch for one row: what a learner says of it, p[:n] for labels[:n], and what votes cost."""

    labels: np.ndarray  # int64 (k,)
    p: np.ndarray  # float64 (2 k,)
    cost: np.ndarray  # float64 (2 k,)


def new_work(k: int) -> Work:
    return Work(np.empty(k, np.int64), np.empty(2 * k), np.empty(2 * k))


class Pass(NamedTuple):
    """All that the loops need to send a block through a segment."""

    learner: Any  # state of the weak learners
    booster: Any
    rows: Rows
    y: np.ndarray  # int64 (rows,) labels, if they are known
    weight: np.ndarray  # float64 (rows,) of the examples
    scratch: Any  # of the learners
    work: Work


@inlined_kernel
def leader(s, k, before, l):
    """argmax of s after s[l] has changed, `before` being the argmax before."""
    if l != before:
        return np.int32(l) if s[l] > s[before] or (s[l] == s[before] and l < before) else before
    best = 0
    for j in range(1, k):
        if s[j] > s[best]:
            best = j
    return np.int32(best)
