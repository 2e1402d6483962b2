"""Booster stages: what happens between a weak learner's distribution and the votes.

A stage turns learner i's distribution p and the votes so far s into a vote l (`vote`, `cast`), and, once the label y is
known, into the weight of the learner's training example (`weigh`) and its new alpha and edge (`update`). It knows
nothing of trees; any weak learner can stand in front of it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost._jit import kernel
from onlineboost.fastmath import VOTE_TIE, uniform
from onlineboost.losses import alpha_bound, expected_costs, off_diagonal, pair_cost, step_size

OLM, PLAIN = range(2)  # Stage.kind: Adaboost.OLM; trees that know nothing of each other
TEMPERED, COST, ARGMAX = range(3)  # Stage.ballot
BALLOTS = {"tempered": TEMPERED, "cost": COST, "argmax": ARGMAX}
TIE = 1e-12  # costs (and probabilities) that differ by less, relatively, differ by rounding alone


class Stage(NamedTuple):
    """The booster's part of one segment."""

    kind: int
    loss: int
    ballot: int  # how a distribution becomes a vote
    seed: int
    n_learners: int  # of the whole chain
    offset: int  # number of learners before this segment
    scale: np.ndarray  # float64 (learners,) weight scale
    alpha: np.ndarray  # float64 (learners,)
    edge_sums: np.ndarray  # float64 (learners, 2): sums over t of C[y, l] and of C[y, y]


def new_stage(kind: int, loss: int, ballot: int, seed: int, scale: np.ndarray) -> Stage:
    """A stage for a whole chain at t = 1: alpha = 0, no edges yet."""
    n = len(scale)
    return Stage(kind, loss, ballot, seed, n, 0, np.array(scale, np.float64), np.zeros(n), np.zeros((n, 2)))


def edges(stage: Stage) -> np.ndarray:
    """Empirical edges gamma_i = sum_t C[y, l] / sum_t C[y, y], in [-1, 1]; 0 before any example."""
    below = stage.edge_sums[:, 1]
    return np.divide(stage.edge_sums[:, 0], below, out=np.zeros(len(below)), where=below != 0.0)


@kernel
def vote(stage, i, t, s, e, k, labels, p, n, cost):
    """The label learner i votes for in round t: the one of least expected cost under its distribution.

    COST is sum_r p_r C[r, l], right if p are the probabilities of the labels. But the learner was trained on weighted
    examples, so its p_r is already larger for labels whose examples weigh more. If the example at hand weighed like
    the ones the learner has p from, the rows of C would have to be divided by their weights -C[r, r] to make up for
    it (for k = 2 that is ARGMAX); if the two had nothing to do with each other, by nothing. TEMPERED goes half way, by
    the square root; on 13 data sets it is better than either end.

    p[:n] are the probabilities of labels[:n], all others have 0. Ties go to the higher p, then to a draw.
    `cost` is scratch for 2 k numbers.
    """
    if stage.ballot == ARGMAX:
        cost[:k] = 0.0
        size = 0.0
    else:
        size = expected_costs(stage.loss, s, e, k, labels, p, n, stage.ballot == TEMPERED, cost, cost[k:])
    low = math.inf
    for l in range(k):
        low = min(low, cost[l])
    limit = low + TIE * size
    top = 0.0  # highest p among the cheapest
    for j in range(n):
        if cost[labels[j]] <= limit:
            top = max(top, p[j])
    # Mark the labels that are as good: `cost` is scratch from here on.
    for l in range(k):
        cost[l] = 1.0 if cost[l] <= limit else 0.0
    ties, choice = 0, 0
    if top > 0.0:
        for j in range(n):
            if cost[labels[j]] == 1.0 and p[j] >= top * (1.0 - TIE):
                cost[labels[j]] = 2.0
                choice = labels[j]
                ties += 1
    if ties == 1:
        return choice
    mark = 2.0 if ties else 1.0
    if not ties:
        for l in range(k):
            ties += cost[l] == mark
    drawn = int(uniform(stage.seed, VOTE_TIE, stage.offset + i, t) * ties) if ties > 1 else 0
    for l in range(k):
        if cost[l] == mark:
            choice = l
            if drawn == 0:
                break
            drawn -= 1
    return choice


@kernel
def cast(stage, i, l, s, e, labels, p, n):
    """s^i = s^{i-1} + alpha^i e_l. Plain trees add their distribution instead."""
    if stage.kind == PLAIN:
        for j in range(n):
            s[labels[j]] += p[j]
    else:
        s[l] += stage.alpha[i]
        e[l] = math.exp(s[l])


@kernel
def weigh(stage, i, s, e, k, y):
    """Weight of learner i's training example, from the votes before its own: -C[y, y] / (k - 1) times its scale."""
    if stage.kind == PLAIN:
        return stage.scale[i]
    return stage.scale[i] * off_diagonal(stage.loss, s, e, y, k) / max(k - 1.0, 1.0)


@kernel
def update(stage, i, t, s, e, k, l, y, weight, labels, p, n):
    """Cast learner i's vote l, and let its edge and its alpha learn the label y."""
    if stage.kind == PLAIN:
        cast(stage, i, l, s, e, labels, p, n)
        return
    row = off_diagonal(stage.loss, s, e, y, k)  # -C[y, y] before the vote
    stage.edge_sums[i, 0] += weight * (-row if l == y else pair_cost(stage.loss, s, e, y, l))
    stage.edge_sums[i, 1] -= weight * row
    cast(stage, i, l, s, e, labels, p, n)
    # f'(alpha) = C[y, l] after the vote (see losses.py); alpha <- Pi(alpha - eta f').
    slope = -off_diagonal(stage.loss, s, e, y, k) if l == y else pair_cost(stage.loss, s, e, y, l)
    eta = step_size(stage.loss, k, stage.n_learners, stage.offset + i + 1, t)
    bound = alpha_bound(stage.loss, stage.n_learners)
    stage.alpha[i] = min(bound, max(-bound, stage.alpha[i] - eta * weight * slope))
