"""Several labels at the end of a chain: experts that rank, how likely each label is, and which are said.

Expert i has the scores s^i, and a row costs it the rank loss: the share of the pairs, of a relevant label l and another
label r, with s_l < s_r; s_l = s_r counts one half. Hedge weighs the experts by it, as in `hedge`.

The scores s of the expert followed become probabilities that labels are relevant, each for itself. With z_l = s_l less
the mean of s, over the running spread of such differences,

    q_l = 1 / (1 + exp(-(a + b z_l))),    b >= 0: the order of the labels stays that of the scores
    (a, b) <- (a, b) - A^-1 sum_l (q_l - y_l) (1, z_l),    A <- f A + sum_l q_l (1 - q_l) (1, z_l) (1, z_l)^T

a logistic regression by Newton steps that forgets. The labels said are those with q_l > 1/2, or (`f1`) those above half
of the micro F1 that this rule has reached so far: the threshold under which F1 is largest (Busa-Fekete et al. 2015).
"""

from __future__ import annotations

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

A, B, A_00, A_01, A_11, SQUARES, ROWS, HITS, SAID, RELEVANT = range(10)  # places in `fit`
FIT = f8(10)  # what `fit` is in files
FADE = 0.999  # f: what a row still counts one row later
PRIOR = 1.0  # weight of the rows that `fit` begins with
STEEPEST = 20.0  # bounds of a and b
E_MOST = 300.0  # exp of more is not asked for


def new_fit() -> np.ndarray:
    """Nothing has been learned."""
    fit = np.zeros(10)
    fit[[B, A_00, A_11, SQUARES, ROWS]] = 1.0, PRIOR, PRIOR, PRIOR, PRIOR
    return fit


@small_kernel
def middle(s):
    total = 0.0
    for l in range(s.size):
        total += s[l]
    return total / max(s.size, 1)


@bare_kernel
def find_probabilities(fit, s, q):
    mean, spread = middle(s), np.sqrt(fit[SQUARES] / fit[ROWS])
    for l in range(s.size):
        z = (s[l] - mean) / spread
        q[l] = 1.0 / (1.0 + exp(min(max(-fit[A] - fit[B] * z, -E_MOST), E_MOST)))


@bare_kernel
def learn_fit(fit, s, relevant, q, weight):
    """The row with these scores, of which q was said, has the labels `relevant`."""
    mean, spread = middle(s), np.sqrt(fit[SQUARES] / fit[ROWS])
    above = 0.5 * f1_of(fit)
    g_0 = g_1 = h_00 = h_01 = h_11 = squares = 0.0
    for name in (A_00, A_01, A_11, SQUARES, ROWS, HITS, SAID, RELEVANT):
        fit[name] *= FADE
    for l in range(s.size):
        z, own = (s[l] - mean) / spread, q[l] * (1.0 - q[l])
        y = 1.0 if relevant[l] else 0.0
        g_0 += q[l] - y
        g_1 += (q[l] - y) * z
        h_00 += own
        h_01 += own * z
        h_11 += own * z * z
        squares += (s[l] - mean) ** 2
        said = 1.0 if q[l] > above else 0.0
        fit[HITS] += weight * said * y
        fit[SAID] += weight * said
        fit[RELEVANT] += weight * y
    fit[A_00] += weight * h_00 + (1.0 - FADE) * PRIOR
    fit[A_01] += weight * h_01
    fit[A_11] += weight * h_11 + (1.0 - FADE) * PRIOR
    fit[SQUARES] += weight * squares / s.size
    fit[ROWS] += weight
    det = fit[A_00] * fit[A_11] - fit[A_01] ** 2
    if det > 0.0:
        a = fit[A] - weight * (fit[A_11] * g_0 - fit[A_01] * g_1) / det
        b = fit[B] - weight * (fit[A_00] * g_1 - fit[A_01] * g_0) / det
        fit[A], fit[B] = min(STEEPEST, max(-STEEPEST, a)), min(STEEPEST, max(0.0, b))


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


# arguments: the rounds of a block
@entry_kernel
def rank_rounds(combiner, log_v, seed, t, trace, relevant, weight, fit, scores, q):
    """Rounds t, t + 1, ...: whom to follow, what is said, and then all learn the labels."""
    for b in range(relevant.shape[0]):
        i = learners_needed(combiner, log_v, seed, t + b) - 1
        for l in range(scores.shape[1]):
            scores[b, l] = trace[i, b, l]
        find_probabilities(fit, scores[b], q[b])
        learn_fit(fit, scores[b], relevant[b], q[b], weight[b])
        for j in range(log_v.size):
            log_v[j] -= weight[b] * rank_loss_of(trace[j, b], relevant[b])


@entry_kernel
def say(fit, scores, q):
    for b in range(scores.shape[0]):
        find_probabilities(fit, scores[b], q[b])


class Ranking(Hedge):
    """The prefix experts as rankings, their weights, and the fit of probabilities."""

    name = "ranking"
    learns_from_trace = True

    def __init__(self, n_learners: int, seed: int) -> None:
        super().__init__(n_learners, seed)
        self.fit = new_fit()
        self.coming = np.empty((0, 0), np.bool_)  # labels of the rows of a call, and how many of them have come
        self.come = 0

    def copy(self) -> Self:
        copy = super().copy()
        copy.fit = self.fit.copy()
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
        return np.empty(rows.s.shape), np.empty(rows.s.shape)  # scores and probabilities

    def learn(self, i: int, segment: Any, block: Block) -> None:
        segment.learn(block.rows, block.y, block.weight)

    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        rows, (scores, q) = block.rows, block.kept
        of_rows = rows.trace, rows.notes.relevant, block.weight
        rank_rounds(int(block.combiner), self.log_v, self.seed, rows.t, *of_rows, self.fit, scores, q)
        out[:] = scores.argmax(axis=1)
        return q

    def forecast(self, block: Block, walk: int) -> tuple[np.ndarray, np.ndarray]:
        q = np.empty(block.rows.s.shape)
        say(self.fit, block.rows.s, q)
        return self.labels(block, walk), q

    def labels(self, block: Block, walk: int) -> np.ndarray:
        codes: np.ndarray = block.rows.s.argmax(axis=1)
        return codes

    def threshold(self, given: float | str) -> float:
        """The probability above which a label is said."""
        return 0.5 * float(f1_of(self.fit)) if given == "f1" else float(given)
