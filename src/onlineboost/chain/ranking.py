"""Several labels at the end of a chain: experts that rank, how likely each label is, and which are said.

Expert i has the scores s^i, and a row costs it the rank loss: the share of the pairs, of a relevant label l and another
label r, with s_l < s_r; s_l = s_r counts one half. Hedge weighs the experts by it, as in `hedge`.

The scores s of the expert followed become probabilities that labels are relevant, each for itself. With z_l = s_l less
the mean of s, over the running spread of such differences, and x_l = (1, z_l, max z):

    q_l = 1 / (1 + exp(-theta . x_l)),     theta[1] >= 0: the order of the labels stays that of the scores
    A <- f A + (1 - f) I + sum_l q_l (1 - q_l) x_l x_l^T,     theta <- theta - A^-1 sum_l (q_l - y_l) x_l

a logistic regression by online Newton steps that forgets. Behind panels (`label_panels`) the scores start from s^0,
which are log odds, and there is nothing to fit: with d_l = s_l - s^0_l, what the learners have added,

    q_l = 1 / (1 + exp(-(s^0_l + d_l - mean of d)))

which has the order of the scores, too. The labels said are those with q_l > 1/2, or those above half
of the micro F1 that this very rule has reached so far: the threshold under which F1 is largest (Busa-Fekete, Szorenyi,
Dembczynski, Huellermeier 2015).
"""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from onlineboost._compile.fastmath import exp
from onlineboost._compile.jit import bare_kernel, entry_kernel, small_kernel
from onlineboost.chain.experts import Combiner, learners_needed
from onlineboost.chain.hedge import Hedge
from onlineboost.chain.stage import Block
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.schema import f8

THETA, CURVATURE = 0, 3  # places in `fit`: of theta, of A by rows,
SQUARES, ROWS, HITS, SAID, RELEVANT = range(12, 17)  # and of sums that forget
FIT = f8(17)  # what `fit` is in files
FADE = 0.999  # f: what a row still counts one row later
STEEPEST = 50.0  # bounds of theta
E_MOST = 300.0  # exp of more is not asked for


def new_fit() -> np.ndarray:
    """Nothing has been learned: theta = (0, 1, 0), A = I."""
    fit = np.zeros(17)
    fit[[THETA + 1, CURVATURE, CURVATURE + 4, CURVATURE + 8, SQUARES, ROWS]] = 1.0
    return fit


@small_kernel
def place_of(fit, s):
    """The mean of s, the spread, and max z."""
    total, top = 0.0, s[0]
    for l in range(s.size):
        total += s[l]
        top = max(top, s[l])
    mean, spread = total / s.size, math.sqrt(fit[SQUARES] / fit[ROWS])
    return mean, spread, (top - mean) / spread


@bare_kernel
def find_probabilities(fit, s, q):
    mean, spread, top = place_of(fit, s)
    for l in range(s.size):
        logit = fit[THETA] + fit[THETA + 1] * (s[l] - mean) / spread + fit[THETA + 2] * top
        q[l] = 1.0 / (1.0 + exp(min(max(-logit, -E_MOST), E_MOST)))


@small_kernel
def newton_step(fit, g):
    """theta less A^-1 g, by elimination; A is at least I."""
    a, c, f = fit[CURVATURE], fit[CURVATURE + 4], fit[CURVATURE + 8]
    b, d, e = fit[CURVATURE + 1], fit[CURVATURE + 2], fit[CURVATURE + 5]
    c, e_1, g_1 = c - b * b / a, e - b * d / a, g[1] - g[0] * b / a
    f, g_2 = f - d * d / a - e_1 * e_1 / c, g[2] - g[0] * d / a - g_1 * e_1 / c
    x_2 = g_2 / f
    x_1 = (g_1 - e_1 * x_2) / c
    x_0 = (g[0] - b * x_1 - d * x_2) / a
    fit[THETA] = min(STEEPEST, max(-STEEPEST, fit[THETA] - x_0))
    fit[THETA + 1] = min(STEEPEST, max(0.0, fit[THETA + 1] - x_1))
    fit[THETA + 2] = min(STEEPEST, max(-STEEPEST, fit[THETA + 2] - x_2))


@bare_kernel
def find_from_odds(start, s, q):
    """The same behind panels, from the mean of the scores at the head of the chain."""
    mean = 0.0
    for l in range(s.size):
        mean += s[l] / s.size
    for l in range(s.size):
        q[l] = 1.0 / (1.0 + exp(min(max(mean - start - s[l], -E_MOST), E_MOST)))


@bare_kernel
def learn_fit(fit, s, relevant, q, weight):
    """The row with these scores, of which q was said, has the labels `relevant`."""
    mean, spread, top = place_of(fit, s)
    above = 0.5 * f1_of(fit)
    for place in range(CURVATURE, fit.size):
        fit[place] *= FADE
    for place in (CURVATURE, CURVATURE + 4, CURVATURE + 8, ROWS, SQUARES):
        fit[place] += 1.0 - FADE
    g_0 = g_1 = 0.0
    for l in range(s.size):
        z, own, y = (s[l] - mean) / spread, weight * q[l] * (1.0 - q[l]), 1.0 if relevant[l] else 0.0
        g_0 += weight * (q[l] - y)
        g_1 += weight * (q[l] - y) * z
        for at, x in enumerate((1.0, z, top)):
            fit[CURVATURE + at] += own * x
            fit[CURVATURE + 3 + at] += own * z * x
            fit[CURVATURE + 6 + at] += own * top * x
        fit[SQUARES] += weight * (s[l] - mean) ** 2 / s.size
        said = 1.0 if q[l] > above else 0.0
        fit[HITS] += weight * said * y
        fit[SAID] += weight * said
        fit[RELEVANT] += weight * y
    fit[ROWS] += weight
    newton_step(fit, (g_0, g_1, g_0 * top))


@small_kernel
def f1_of(fit):
    """Micro F1 of the labels said so far; of nothing it is 1: the first threshold is 1/2."""
    total = fit[SAID] + fit[RELEVANT]
    return 2.0 * fit[HITS] / total if total > 0.0 else 1.0


@bare_kernel
def rank_loss_of(s, relevant):
    """The share of the pairs that are in the wrong order; 0 if there is none."""
    wrong, n = 0.0, 0
    for l in range(s.size):
        if relevant[l]:
            n += 1
            for r in range(s.size):
                if not relevant[r]:
                    wrong += 1.0 if s[l] < s[r] else 0.5 if s[l] == s[r] else 0.0
    pairs = n * (s.size - n)
    return wrong / pairs if pairs else 0.0


@small_kernel
def find(fit, start, scores, q, b):
    if start.size > 0:
        find_from_odds(start[b], scores[b], q[b])
    else:
        find_probabilities(fit, scores[b], q[b])


# arguments: the rounds of a block
@entry_kernel
def rank_rounds(combiner, log_v, seed, t, trace, relevant, weight, fit, scores, q, start):
    """Rounds t, t + 1, ...: whom to follow, what is said, and then all learn the labels."""
    for b in range(relevant.shape[0]):
        i = learners_needed(combiner, log_v, seed, t + b) - 1
        for l in range(scores.shape[1]):
            scores[b, l] = trace[i, b, l]
        find(fit, start, scores, q, b)
        learn_fit(fit, scores[b], relevant[b], q[b], weight[b])
        for j in range(log_v.size):
            log_v[j] -= weight[b] * rank_loss_of(trace[j, b], relevant[b])


@entry_kernel
def say(fit, scores, q, start):
    for b in range(scores.shape[0]):
        find(fit, start, scores, q, b)


class Ranking(Hedge):
    """The prefix experts as rankings, their weights, and the fit of probabilities."""

    name = "ranking"
    learns_from_trace = True

    def __init__(self, n_learners: int, seed: int, *, panelled: bool = False) -> None:
        super().__init__(n_learners, seed)
        self.panelled = panelled  # whether scores start from log odds
        self.fit = new_fit()
        self.coming = np.empty((0, 0), np.bool_)  # labels of the rows of a call, and how many of them have come
        self.come = 0

    def copy(self) -> Self:
        copy = super().copy()
        copy.fit, copy.panelled = self.fit.copy(), self.panelled
        return copy

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "coming": self.coming[:0], "come": 0}

    def take_labels(self, codes: Any) -> np.ndarray:
        self.coming, self.come = codes.sets, 0
        return np.asarray(codes)

    def new_notes(self, booster: Booster, n: int, k: int, weight: np.ndarray | None) -> Any:
        notes = super().new_notes(booster, n, k, weight)
        if weight is not None:
            rows = self.coming[self.come : self.come + n, :k]
            notes.relevant[:, : rows.shape[1]] = rows
            self.come += n
        return notes

    def is_traced(self, combiner: Combiner) -> bool:
        return True

    def open(self, rows: Rows, combiner: Combiner) -> Any:
        start = np.empty(len(rows.s) if self.panelled else 0)
        return np.empty(rows.s.shape), np.empty(rows.s.shape), start  # scores, probabilities, mean scores of panels

    def start(self, block: Block) -> None:
        block.kept[2][:] = block.rows.s.mean(axis=1)

    def learn(self, i: int, segment: Any, block: Block) -> None:
        segment.learn(block.rows, block.y, block.weight)

    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        rows, (scores, q, start) = block.rows, block.kept
        of_rows = rows.trace, rows.notes.relevant, block.weight
        rank_rounds(int(block.combiner), self.log_v, self.seed, rows.t, *of_rows, self.fit, scores, q, start)
        out[:] = scores.argmax(axis=1)
        return q

    def forecast(self, block: Block, walk: int) -> tuple[np.ndarray, np.ndarray]:
        q = np.empty(block.rows.s.shape)
        say(self.fit, block.rows.s, q, block.kept[2])
        return self.labels(block, walk), q

    def labels(self, block: Block, walk: int) -> np.ndarray:
        codes: np.ndarray = block.rows.s.argmax(axis=1)
        return codes

    def scores(self, votes: np.ndarray, p: np.ndarray) -> np.ndarray:
        return votes

    def threshold(self, given: float | str) -> float:
        """The probability above which a label is said."""
        return 0.5 * float(f1_of(self.fit)) if given == "f1" else float(given)
