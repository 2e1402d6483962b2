"""The panel: unlike learners side by side, ahead of the chain. Each row is first predicted, then learned.

A row goes through `dense`, the two least squares, the eager trees and the neighbours; Newton's combiner adds up what
they say, and the sum, clipped, is what the chain starts from. Everything happens row by row: how a stream is cut into
blocks makes no difference.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, entry_kernel
from onlineboost._compile.random import FREQUENCY, uniform
from onlineboost.panel.dense import densify, meet_number, meet_value
from onlineboost.panel.eager import EagerWork, ask_eager, learn_eager, new_eager_work, remember_row
from onlineboost.panel.least_squares import (
    CLIP,
    N_COSINES,
    draw_frequency,
    learn_squares,
    score,
    take_cosines,
)
from onlineboost.panel.metric import CONSTANT, LONGEST, is_due, learn_metric, refresh
from onlineboost.panel.neighbours import (
    FEW,
    MANY,
    RECENT,
    SOME,
    NeighboursWork,
    add_columns,
    nearest,
    new_neighbours_work,
    remember_neighbour,
    vote,
)
from onlineboost.panel.newton import NewtonWork, centre, combine, learn_newton, logits_of, new_newton_work
from onlineboost.panel.refits import RefitsWork, ask_refits, learn_refits, new_refits_work
from onlineboost.panel.state import COLUMNS, FOLD, ROWS, VOICES, Panel

REACH = 8.0  # of the votes that the chain starts from
SHARPNESS = 5.0  # logits per unit of a least-squares score
LIGHTEST, HEAVIEST = 1e-9, 100.0  # weights of rows beyond are cut

TREES, NEAREST, NEAR, ALIKE, LINEAR, CURVED, REFITTED = range(VOICES)
NAMES = "trees", "nearest", "nearest 4", "nearest 12", "linear", "cosines", "refitted trees"


class PanelWork(NamedTuple):
    """Scratch for one row."""

    values: np.ndarray  # float64 (columns,) the dense row
    there: np.ndarray  # float64 (columns,) 0 where a value is missing
    tilted: np.ndarray  # float64 (columns,) z for the cosines
    linear: np.ndarray  # float64 (1 + columns,) [1, z]
    curved: np.ndarray  # float64 (1 + N_COSINES + columns,) [1, cosines, z]
    u: np.ndarray  # float64 (1 + N_COSINES + columns,)
    said: np.ndarray  # float64 (2, k) scores of the two least squares
    folded: np.ndarray  # float64 (scores,) the same as columns
    whole: np.ndarray  # float64 (scores,) 1
    p: np.ndarray  # float64 (k,)
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
        np.zeros(n),
        np.ones(1 + n),
        np.ones(1 + N_COSINES + n),
        np.zeros(1 + N_COSINES + n),
        np.zeros((2, k)),
        np.zeros(scores),
        np.ones(scores),
        np.zeros(k),
        np.zeros((3, max(n, scores))),
        np.zeros(panel.width),
        new_eager_work(n),
        new_neighbours_work(len(panel.neighbours.y)),
        new_refits_work(len(panel.neighbours.y), n + scores, k),
        new_newton_work(VOICES, k),
    )


@entry_kernel
def start_columns(panel, first, stop):
    """Dense columns first, ..., stop - 1 are in use from here on: their cosines, and nothing known of them."""
    for j in range(first, stop):
        panel.linear.P[1 + j, 1 + j] = 1.0
        panel.curved.P[1 + N_COSINES + j, 1 + N_COSINES + j] = 1.0
        for m in range(N_COSINES):
            panel.frequencies[j, m] = draw_frequency(panel.seed, m, j, panel.width) / (2.0 * math.pi)


@entry_kernel
def start_phases(seed, phases):
    for m in range(phases.size):
        phases[m] = uniform(seed, FREQUENCY, m, -1)


@entry_kernel
def ask_panel(panel, X, k, work, s):
    """s[b] for every row, as if it came next. Changes nothing else."""
    for b in range(X.shape[0]):
        ask_row(panel, X[b], k, work, s[b])


@entry_kernel
def learn_panel(panel, X, y, weight, k, work, s):
    """s[b] for every row, before it is learned."""
    for b in range(X.shape[0]):
        meet_row(panel, X[b], k)
        ask_row(panel, X[b], k, work, s[b])
        learn_row(panel, k, y[b], min(max(weight[b], LIGHTEST), HEAVIEST), work)


@bare_kernel
def meet_row(panel, x, k):
    """Origins, units and new nominal values of a row that is to be learned."""
    dense = panel.dense
    n_numeric = dense.origin.size
    for c in range(n_numeric):
        if x[c] == x[c]:
            meet_number(dense, c, x[c])
    for q in range(dense.place.shape[0]):
        code = x[dense.offset + q]
        if code >= 0.0:
            before = panel.used[COLUMNS]
            n = meet_value(dense, q, int(code), before, panel.most, panel.seed)
            if n > before:
                start_value(panel, before, k)
                panel.used[COLUMNS] = n


@bare_kernel
def start_value(panel, j, k):
    """Dense column j is that of a new nominal value: it has been 0 all the time.

    Its scale, of which least squares make use, stays 0 up to the next refresh: the first row says nothing yet.
    """
    start_columns(panel, j, j + 1)
    panel.columns.total.mass[j] = panel.seen[0]
    for c in range(k):
        panel.columns.by_class.mass[c, j] = panel.class_seen[c]


@bare_kernel
def ask_row(panel, x, k, work, s):
    """What the panel says of a row: s[:k]."""
    n = panel.used[COLUMNS]
    densify(panel.dense, panel.seed, x, panel.columns.total.mean, n, work.values, work.there)
    ask_least_squares(panel, n, k, work)
    ask_eager(panel.eager, work.eager, work.values, k, work.p)
    logits_of(work.p, k, work.newton.logits[TREES])
    ask_neighbours(panel, n, k, work)
    ask_refits(panel.refits, work.refits, work.values, work.folded, k, work.p)
    logits_of(work.p, k, work.newton.logits[REFITTED])
    combine(panel.newton, work.newton, k)
    for c in range(k):
        s[c] = min(max(work.newton.total[c], -REACH), REACH)


@bare_kernel
def ask_least_squares(panel, n, k, work):
    centre_of = panel.columns.centre
    for j in range(n):
        z = (work.values[j] - centre_of[j]) * panel.scale[j]
        z = min(max(z, -CLIP), CLIP)
        work.linear[1 + j] = z
        work.curved[1 + N_COSINES + j] = z
        work.tilted[j] = z * panel.tilt[j]
    take_cosines(panel.frequencies, panel.phases, work.tilted, n, work.curved[1:])
    score(panel.linear, work.linear, 1 + n, k, work.said[0])
    score(panel.curved, work.curved, 1 + N_COSINES + n, k, work.said[1])
    for which, voice in ((0, LINEAR), (1, CURVED)):
        logits = work.newton.logits[voice]
        for c in range(k):
            logits[c] = SHARPNESS * min(max(work.said[which, c], -2.0), 2.0)
        centre(logits, k)
    for j in range(2 * min(k, FOLD)):
        work.folded[j] = 0.0
    for c in range(k):
        work.folded[2 * (c % FOLD)] += work.said[0, c]
        work.folded[2 * (c % FOLD) + 1] += work.said[1, c]


@bare_kernel
def ask_neighbours(panel, n, k, work):
    neighbours, near, logits = panel.neighbours, work.neighbours, work.newton.logits
    rows = min(panel.used[ROWS], RECENT)
    for row in range(rows):
        near.distance[row] = 0.0
    add_columns(near, neighbours.values, work.values, panel.columns.weight, n, rows)
    found = nearest(near, rows, SOME)
    vote(neighbours, near, min(found, FEW), k, work.p)
    logits_of(work.p, k, logits[NEAREST])
    vote(neighbours, near, found, k, work.p)
    logits_of(work.p, k, logits[NEAR])
    add_columns(near, neighbours.scores, work.folded, panel.scores.weight, 2 * min(k, FOLD), rows)
    vote(neighbours, near, nearest(near, rows, MANY), k, work.p)
    logits_of(work.p, k, logits[ALIKE])


@bare_kernel
def learn_row(panel, k, y, weight, work):
    """Learn the row that `ask_row` was last asked about."""
    n, t, scores = panel.used[COLUMNS], panel.used[ROWS], 2 * min(k, FOLD)
    learn_newton(panel.newton, work.newton, k, y, weight)
    learn_squares(panel.linear, work.linear, 1 + n, work.said[0], k, y, weight, work.u)
    learn_squares(panel.curved, work.curved, 1 + N_COSINES + n, work.said[1], k, y, weight, work.u)
    remember_row(panel.eager, work.values, n, y, weight, t)
    learn_eager(panel.eager, work.eager, panel.columns.pull, n, y, weight, t, panel.seed)
    remember_neighbour(panel.neighbours, work.values, n, work.folded, scores, y, weight, t)
    learn_refits(panel.refits, work.refits, panel.neighbours, n, scores, k, t, panel.seed)
    learn_metric(panel.columns, work.values, work.there, n, y, weight)
    learn_metric(panel.scores, work.folded, work.whole, scores, y, weight)
    panel.seen[0] = min(panel.seen[0] + weight, LONGEST)
    panel.class_seen[y] = min(panel.class_seen[y] + weight, LONGEST)
    panel.used[ROWS] = t + 1
    if is_due(t + 1):
        refresh(panel.columns, n, k, work.sums[0], work.sums[1], work.sums[2])
        refresh(panel.scores, scores, k, work.sums[0], work.sums[1], work.sums[2])
        rescale(panel, n, work.owners)


@bare_kernel
def rescale(panel, n, owners):
    """Scales of least squares: 1 / sd, one for all values of a nominal column together."""
    variance, n_numbers = panel.columns.variance, panel.dense.n_numbers
    for q in range(panel.dense.place.shape[0]):
        owners[q] = 0.0
    for j in range(n_numbers, n):
        owners[panel.dense.owner[j]] += variance[j]
    for j in range(n):
        spread = variance[j] if j < n_numbers else owners[panel.dense.owner[j]]
        panel.scale[j] = 1.0 / math.sqrt(spread) if spread > CONSTANT else 0.0
    tilt_columns(panel, n)


@bare_kernel
def tilt_columns(panel, n):
    """What columns count in the cosines: sqrt(eta^2), such that the variance of all columns together stays."""
    variance, tilt = panel.columns.variance, panel.tilt
    all_of = tilted = 0.0
    for j in range(n):
        eta = panel.columns.pull[j] * math.sqrt(max(variance[j], CONSTANT))
        share = variance[j] * panel.scale[j] * panel.scale[j]
        all_of += share
        tilted += eta * share
        tilt[j] = math.sqrt(eta)
    for j in range(n):
        tilt[j] *= math.sqrt(all_of / tilted) if tilted > 0.0 else 0.0
