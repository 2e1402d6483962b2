"""The panel: unlike learners side by side, ahead of the chain. Each row is first predicted, then learned.

A row goes through `dense`, the two least squares, the eager trees and the neighbours; Newton's combiner adds up what
they say, and the sum, clipped, is what the chain starts from. Everything happens row by row: how a stream is cut into
blocks makes no difference.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, entry_kernel
from onlineboost.panel.alarm import is_lost
from onlineboost.panel.dense import HEAVIEST, LIGHTEST, densify
from onlineboost.panel.eager import EagerWork, ask_eager, learn_eager, move_eager, new_eager_work, remember_row
from onlineboost.panel.ground import (
    learn_columns,
    meet_columns,
    misfit_number,
    rescale,
    start_column_again,
    tilt_columns,
)
from onlineboost.panel.least_squares import (
    N_COSINES,
    curve,
    learn_squares,
    logits_of_scores,
    score,
    standardise,
    start_frequencies,
    start_input,
    start_input_again,
    start_phases,
)
from onlineboost.panel.metric import learn_metric, refresh
from onlineboost.panel.neighbours import (
    FEW,
    MANY,
    RECENT,
    SOME,
    NeighboursWork,
    add_scores,
    move_neighbours,
    nearest,
    new_neighbours_work,
    remember_neighbour,
    start_distances,
    vote,
)
from onlineboost.panel.newton import (
    FADE,
    PANEL_RIDGE,
    NewtonWork,
    combine,
    learn_newton,
    logits_of,
    new_newton_work,
)
from onlineboost.panel.refits import RefitsWork, ask_refits, learn_refits, move_refits, new_refits_work
from onlineboost.panel.state import COLUMNS, FOLD, ROWS, VOICES, Panel

REACH = 8.0  # of the votes that the chain starts from

TREES, NEAREST, NEAR, ALIKE, LINEAR, CURVED, REFITTED = range(VOICES)
NAMES = "trees", "nearest", "nearest 10", "nearest 12", "linear", "cosines", "refitted trees"


class PanelWork(NamedTuple):
    """Scratch for one row."""

    values: np.ndarray  # float64 (columns,) the dense row
    there: np.ndarray  # float64 (columns,) 0 where a value is missing
    linear: np.ndarray  # float64 (1 + columns,) [1, z]
    curved: np.ndarray  # float64 (1 + N_COSINES + columns,) [1, cosines, z]
    u: np.ndarray  # float64 (1 + N_COSINES + columns,)
    said: np.ndarray  # float64 (2, k) scores of the two least squares
    folded: np.ndarray  # float64 (scores,) the same as columns
    whole: np.ndarray  # float64 (scores,) 1
    p: np.ndarray  # float64 (k,)
    again: np.ndarray  # float64 (k,) votes for a row that is asked about twice
    sums: np.ndarray  # float64 (3, columns or scores)
    owners: np.ndarray  # float64 (nominal columns,)
    eager: EagerWork
    neighbours: NeighboursWork
    refits: RefitsWork
    newton: NewtonWork


def new_panel_work(panel: Panel, k: int) -> PanelWork:
    n, scores = len(panel.scale), 2 * FOLD
    return PanelWork(
        np.zeros(n),
        np.zeros(n),
        np.ones(1 + n),
        np.ones(1 + N_COSINES + n),
        np.zeros(1 + N_COSINES + n),
        np.zeros((2, k)),
        np.zeros(scores),
        np.ones(scores),
        np.zeros(k),
        np.zeros(k),
        np.zeros((3, max(n, scores))),
        np.zeros(panel.width),
        new_eager_work(n),
        new_neighbours_work(len(panel.neighbours.y), max(n, scores)),
        new_refits_work(len(panel.neighbours.y), n + scores, k),
        new_newton_work(VOICES, k),
    )


@entry_kernel
def start_columns(panel, first, stop):
    """Dense columns first, ..., stop - 1 are in use from here on: their cosines, and nothing known of them."""
    for j in range(first, stop):
        start_input(panel.linear, 1 + j)
        start_input(panel.curved, 1 + N_COSINES + j)
        start_frequencies(panel.frequencies, j, panel.seed, panel.width)


def begin(panel: Panel) -> None:
    """What a panel that has learned nothing draws: cosines of the columns that are in use."""
    start_columns(panel, 0, int(panel.used[COLUMNS]))
    start_phases(panel.seed, panel.phases)


@entry_kernel
def ask_panel(panel, X, k, work, s):
    """s[b] for every row, as if it came next. Changes nothing else."""
    for b in range(X.shape[0]):
        ask_row(panel, X[b], k, work, s[b])


@entry_kernel
def learn_panel(panel, X, y, weight, k, work, s):
    """s[b] for every row, before it is learned. Returns how many: up to a row after which the panel must begin anew."""
    for b in range(X.shape[0]):
        ask_row(panel, X[b], k, work, s[b])
        if learn_asked(panel, X[b], y[b], weight[b], k, work):
            return b + 1
    return X.shape[0]


@bare_kernel
def learn_asked(panel, x, y, weight, k, work):
    """Learn the row that `ask_row` was last asked about; True: not so, for the panel must begin anew after it."""
    w = min(max(weight, LIGHTEST), HEAVIEST)
    if is_lost(panel.alarm, work.newton.p, k, y, w):
        return True
    learn_newton(panel.newton, work.newton, k, y, w, FADE, PANEL_RIDGE)
    if meet_row(panel, x, k):
        ask_row(panel, x, k, work, work.again)
    learn_row(panel, k, y, w, work)
    return False


@bare_kernel
def meet_row(panel, x, k):
    """Origins, units and new nominal values of a row that is to be learned; whether there was anything new."""
    before = panel.used[COLUMNS]
    new = meet_columns(panel, x, k)
    if panel.used[COLUMNS] > before:
        start_columns(panel, before, panel.used[COLUMNS])
    c = misfit_number(panel, x, 0)
    while c >= 0:
        j, factor, shift = start_column_again(panel, c, x[c], k)
        move_column(panel, j, k, factor, shift)
        c = misfit_number(panel, x, c + 1)
        new = True
    return new


@bare_kernel
def move_column(panel, j, k, factor, shift):
    """What was v in dense column j is v * factor + shift from here on, and nothing else is known of it."""
    n = panel.used[COLUMNS]
    start_input_again(panel.linear, 1 + j, 1 + n, k)
    start_input_again(panel.curved, 1 + N_COSINES + j, 1 + N_COSINES + n, k)
    panel.scale[j] = 0.0
    tilt_columns(panel, n, panel.scale, panel.tilt)
    move_eager(panel.eager, j, factor, shift)
    move_neighbours(panel.neighbours, j, factor, shift)
    move_refits(panel.refits, panel.neighbours, j, factor, shift, min(panel.used[ROWS], RECENT), k)


@bare_kernel
def ask_row(panel, x, k, work, s):
    """What the panel says of a row: s[:k]."""
    n = panel.used[COLUMNS]
    densify(panel.dense, panel.seed, x, panel.columns.total.mean, n, work.values, work.there)
    ask_least_squares(panel, n, k, work)
    ask_neighbours(panel, n, k, work)
    ask_refits(panel.refits, work.refits, work.values, work.folded, k, work.p)
    logits_of(work.p, k, work.newton.logits[REFITTED])
    ask_eager(panel.eager, work.eager, work.values, k, work.p)  # last: the leaves are then at hand when it learns
    logits_of(work.p, k, work.newton.logits[TREES])
    combine(panel.newton, work.newton, k)
    clipped_votes(work, k, s)


@bare_kernel
def clipped_votes(work, k, s):
    """s[:k] by what the members have said together."""
    for c in range(k):
        s[c] = min(max(work.newton.total[c], -REACH), REACH)


@bare_kernel
def ask_least_squares(panel, n, k, work):
    z = work.linear[1:]
    standardise(work.values, panel.columns.centre, panel.scale, n, z)
    curve(panel.frequencies, panel.phases, panel.tilt, z, n, work.curved)
    score(panel.linear, work.linear, 1 + n, k, work.said[0])
    score(panel.curved, work.curved, 1 + N_COSINES + n, k, work.said[1])
    logits_of_scores(work.said[0], k, work.newton.logits[LINEAR])
    logits_of_scores(work.said[1], k, work.newton.logits[CURVED])
    for j in range(2 * min(k, FOLD)):
        work.folded[j] = 0.0
    for c in range(k):
        work.folded[2 * (c % FOLD)] += work.said[0, c]
        work.folded[2 * (c % FOLD) + 1] += work.said[1, c]


@bare_kernel
def ask_neighbours(panel, n, k, work):
    neighbours, near, logits = panel.neighbours, work.neighbours, work.newton.logits
    rows, weight = min(panel.used[ROWS], RECENT), panel.columns.weight
    start_distances(near, neighbours.values, work.values, panel.columns, n, rows)
    found = nearest(near, neighbours.values, work.values, weight, rows, SOME)
    vote(neighbours, near, min(found, FEW), k, work.p)
    logits_of(work.p, k, logits[NEAREST])
    vote(neighbours, near, found, k, work.p)
    logits_of(work.p, k, logits[NEAR])
    add_scores(near, neighbours.scores, work.folded, panel.scores.weight, 2 * min(k, FOLD), rows)
    found = nearest(near, neighbours.values, work.values, weight, rows, MANY)
    vote(neighbours, near, found, k, work.p)
    logits_of(work.p, k, logits[ALIKE])


@bare_kernel
def learn_row(panel, k, y, weight, work):
    """The members learn the row that `ask_row` was last asked about."""
    n, t, scores = panel.used[COLUMNS], panel.used[ROWS], 2 * min(k, FOLD)
    learn_squares(panel.linear, work.linear, 1 + n, work.said[0], k, y, weight, work.u)
    learn_squares(panel.curved, work.curved, 1 + N_COSINES + n, work.said[1], k, y, weight, work.u)
    remember_row(panel.eager, work.values, n, y, weight, t)
    learn_eager(panel.eager, work.eager, panel.columns.pull, n, y, weight, t, panel.seed)
    remember_neighbour(panel.neighbours, work.values, n, work.folded, scores, y, weight, t)
    learn_refits(panel.refits, work.refits, panel.neighbours, n, scores, k, t, panel.seed)
    due = learn_columns(panel, work.values, work.there, n, k, y, weight, work.sums)
    learn_metric(panel.scores, work.folded, work.whole, scores, y, weight)
    if due:
        refresh(panel.scores, scores, k, work.sums[0], work.sums[1], work.sums[2])
        rescale(panel, n, work.owners, panel.scale)
        tilt_columns(panel, n, panel.scale, panel.tilt)
