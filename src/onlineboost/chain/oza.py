"""Oza and Russell's online boosting (2005, figure 2): every learner hands the example's weight lambda to the next.

Learner m learns the example as often as a Poisson(lambda) draw says. If it is right *after that*, lambda_sc grows by
lambda, and lambda is multiplied by T / (2 lambda_sc); if it is wrong, the same with lambda_sw. T is the number of
examples so far. So, for the next learner, what it got right weighs half of the total, and what it got wrong the other.

An example drawn n times is learned once with weight n. The statistics of a tree are the same as after n times weight 1;
it looks at its grace period once instead of n times.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.fastmath import POISSON, child_key, uniform
from onlineboost._compile.jit import kernel
from onlineboost.boosters.potentials import Cache
from onlineboost.boosters.stages import Stage, vote
from onlineboost.chain.chain import Rows, TreeSegment, leader
from onlineboost.trees.state import Forest, make_room
from onlineboost.trees.trees import has_room, leaf_distribution, learn, room_needed, route

CORRECT, WRONG, TOTAL = range(3)  # Stage.edge_sums of Oza's learners: lambda_sc, lambda_sw, T
PIECE, LARGE = 16.0, 500.0  # a Poisson count is drawn in pieces of this mean; a larger mean is as good as normal


@kernel
def poisson(mean, seed, i, t):
    """A Poisson count that is a pure function of (seed, learner i, round t)."""
    if mean > LARGE:
        u, v = uniform(seed, POISSON, i, t), uniform(child_key(seed, 0), POISSON, i, t)
        normal = math.sqrt(-2.0 * math.log(1.0 - u)) * math.cos(2.0 * math.pi * v)
        return max(0.0, math.floor(mean + math.sqrt(mean) * normal + 0.5))
    pieces = int(mean / PIECE) + 1
    rate = mean / pieces
    count = 0
    for piece in range(pieces):
        left = uniform(child_key(seed, piece), POISSON, i, t)
        p = math.exp(-rate)
        n = 0
        while left >= p and n < 200:  # 200 is far beyond what a mean of PIECE can give
            left -= p
            n += 1
            p *= rate / n
        count += n
    return float(count)


@kernel
def vote_weight(correct, wrong):
    """log((1 - eps) / eps) with eps = lambda_sw / (lambda_sc + lambda_sw), for 0 < eps < 1/2.

    Without a mistake the vote would be infinite: eps is at least that of half an example. From eps = 1/2 on the formula
    is negative, and with more than two classes would speak against a label that is right more often than chance: 0.
    """
    total = correct + wrong
    eps = max(wrong, 0.5) / total if total > 0.0 else 0.5
    return math.log((1.0 - eps) / eps) if eps < 0.5 else 0.0


@kernel
def cast(stage, rows, b, i, l):
    """Learner i votes l for row b. As long as no vote has a weight, the first learner's label is the prediction."""
    rows.s[b, l] += stage.alpha[i]
    rows.lead[b] = leader(rows.s[b], rows.k, rows.lead[b], l)
    first = l if stage.offset + i == 0 else rows.experts[b, 0]
    rows.experts[b, stage.offset + i] = rows.lead[b] if rows.s[b, rows.lead[b]] > 0.0 else first


@kernel
def pass_on(stage, rows, b, i, right, weight):
    """Learner i was right or wrong on row b, after learning it: its sums, its vote, and lambda for the next learner."""
    sums = stage.edge_sums[i]
    sums[TOTAL] += weight
    which = CORRECT if right else WRONG
    sums[which] += rows.lam[b]
    rows.lam[b] *= sums[TOTAL] / (2.0 * sums[which])
    stage.alpha[i] = vote_weight(sums[CORRECT], sums[WRONG])


@kernel
def predict_oza(forest, stage, rows, n_learners):
    """Send a block through the first `n_learners` of the segment without learning. Changes `rows` alone."""
    labels, p, cost = np.empty(rows.k, np.int64), np.empty(2 * rows.k), np.empty(2 * rows.k)
    for i in range(n_learners):
        for b in range(rows.X.shape[0]):
            x, s, e = rows.X[b], rows.s[b], rows.e[b]
            leaf = route(forest, forest.roots[i], x)
            n, _, _ = leaf_distribution(forest, i, leaf, x, rows.missing[b], labels, p)
            cast(stage, rows, b, i, vote(stage, None, 0, i, rows.t, s, e, rows.k, labels, p, n, cost))


@kernel
def learn_oza(forest, stage, rows, y, weight, draws, from_i, from_b):
    """Send a labelled block through the segment: every learner votes, learns, and hands lambda on.

    `draws`: learn as often as a Poisson draw says; otherwise once with weight lambda. Stops before the first
    (learner, row) it has no room for, as `chain.learn_trees` does.
    """
    labels, p, cost = np.empty(rows.k, np.int64), np.empty(2 * rows.k), np.empty(2 * rows.k)
    for i in range(from_i, forest.roots.size):
        for b in range(from_b if i == from_i else 0, rows.X.shape[0]):
            x, s, e = rows.X[b], rows.s[b], rows.e[b]
            t = rows.t + b
            w = poisson(rows.lam[b], stage.seed, stage.offset + i, t) if draws else rows.lam[b]
            leaf = route(forest, forest.roots[i], x)
            if w > 0.0:
                n_nodes, n_rows, n_stats = room_needed(forest, i, leaf, w)
                if not has_room(forest, n_nodes, n_rows, n_stats):
                    return i, b, n_nodes, n_rows, n_stats
            n, majority, bayes = leaf_distribution(forest, i, leaf, x, rows.missing[b], labels, p)
            l = vote(stage, None, 0, i, t, s, e, rows.k, labels, p, n, cost)
            cast(stage, rows, b, i, l)
            if w > 0.0:
                learn(forest, i, leaf, x, rows.spread[b], y[b], w, majority, bayes, t)
                leaf = route(forest, forest.roots[i], x)
                n, _, _ = leaf_distribution(forest, i, leaf, x, rows.missing[b], labels, p)
                l = vote(stage, None, 0, i, t, s, e, rows.k, labels, p, n, cost)
            pass_on(stage, rows, b, i, l == y[b], weight[b])
    return forest.roots.size, 0, 0, 0, 0


class OzaSegment(TreeSegment):
    """Neighbouring trees of Oza's booster."""

    def __init__(self, forest: Forest, stage: Stage, draws: bool) -> None:
        super().__init__(forest, stage)
        self.draws = draws

    def predict(self, rows: Rows, n_learners: int, cache: Cache | None = None) -> None:
        predict_oza(self.forest, self.stage, rows, n_learners)

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        if self.stage.offset == 0:
            rows.lam[:] = weight
        i = b = 0
        while i < len(self.forest.roots):
            i, b, *room = learn_oza(self.forest, self.stage, rows, y, weight, self.draws, i, b)
            if i < len(self.forest.roots):
                self.forest = make_room(self.forest, *room)
