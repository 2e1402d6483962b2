"""Booster stages: what happens between a weak learner's distribution and the votes.

A stage turns learner i's distribution p and the votes so far s into a vote l (`vote`, `cast`), and, once the label y is
known, into the weight of the learner's training example (`weigh`) and its new alpha and edge (`update`). It knows
nothing of trees; any weak learner can stand in front of it.

OnlineMBBM has its costs from potentials: `prepare` looks them up for the votes at hand, and `at` says where in the
`cache` they are. For all others `tables` and `cache` are None, and the compiler drops the branches that do not apply.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost._compile.fastmath import VOTE_TIE, exp, uniform
from onlineboost._compile.jit import bare_kernel, inlined_kernel
from onlineboost.boosters.losses import (
    TIE,
    alpha_bound,
    in_reach,
    likely_costs,
    off_diagonal,
    pair_cost,
    step_size,
    two_lowest,
)
from onlineboost.boosters.potentials import (
    excess_cost,
    find_costs,
    label_weight,
    make_costs,
    make_rows,
    want_rows,
)
from onlineboost.boosters.potentials import expected_costs as expected_excess

OLM, MBBM, PLAIN, OZA = range(4)  # Stage.kind: Adaboost.OLM; OnlineMBBM; trees that know nothing of each other; Oza's
TEMPERED, COST, ARGMAX = range(3)  # Stage.ballot
BALLOTS = {"tempered": TEMPERED, "cost": COST, "argmax": ARGMAX}
TYPICAL, MOST = 0.3, 3.0  # OnlineMBBM's weights before scaling: of an example of mean weight, and the largest
E_MOST = 700.0  # exp of more overflows; beyond `losses.E_REACH` it is not used


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
    edge_sums: np.ndarray  # float64 (learners, 3): what the edges are made of (see `edges`), and the weight of it all
    born: np.ndarray  # int64 (learners,) round before the learner's first: its steps are sized by its own age


def new_stage(kind: int, loss: int, ballot: int, seed: int, scale: np.ndarray) -> Stage:
    """A stage for a whole chain at t = 1: alpha = 0, no edges yet."""
    n = len(scale)
    scale = np.array(scale, np.float64)
    return Stage(kind, loss, ballot, seed, n, 0, scale, np.zeros(n), np.zeros((n, 3)), np.zeros(n, np.int64))


def part_of(stage: Stage, start: int, stop: int) -> Stage:
    """The stage of some of the learners, for a segment of their own; with its own copy of their state."""
    part = slice(start, stop)
    own = {name: getattr(stage, name)[part].copy() for name in ("scale", "alpha", "edge_sums", "born")}
    return stage._replace(offset=stage.offset + start, **own)


def edges(stage: Stage, k: int) -> np.ndarray:
    """Empirical edges of the learners: at most 1, and 0 for random guesses or before any example.

    Adaboost.OLM: gamma_i = sum_t C[y, l] / sum_t C[y, y]. OnlineMBBM: the gamma for which the weak learning condition
    holds with equality and S = 0, sum_t w_t D_t[y, l] = (1 - gamma) / k sum_t w_t.
    """
    return edges_of(stage.kind, stage.edge_sums, k)


def edges_of(kind: int, sums: np.ndarray, k: int) -> np.ndarray:
    """`edges` of sums over any stretch of the stream."""
    nothing = 1.0 / k if kind == MBBM else 0.0
    ratio = np.divide(sums[:, 0], sums[:, 1], out=np.full(len(sums), nothing), where=sums[:, 1] != 0.0)
    return 1.0 - k * ratio if kind == MBBM else ratio


@inlined_kernel
def prepare(stage, tables, cache, i, s, y, labels, p, n):
    """Look up learner i's costs at the votes s: C[r, l] = phi^r_{N-i}(s + e_l), i counted from 1 (OnlineMBBM).

    Only the rows r that will be asked for: that of y (-1: it is not known), and those of the labels that p has.
    """
    if cache is not None:
        m = stage.n_learners - (stage.offset + i + 1)
        at = find_costs(cache, s, tables.reach[m], tables.key[m])
        if at < 0:
            at = make_costs(cache)
        if want_rows(cache, at, y, labels, p, n):
            make_rows(tables, cache, at, m)
        return at
    return 0


@inlined_kernel
def votes_in_reach(stage, s, k):
    """`losses.in_reach` of the votes s: no learner adds more to a vote than alpha's bound."""
    return in_reach(stage.loss, s, k, stage.n_learners * alpha_bound(stage.loss, stage.n_learners))


@inlined_kernel
def vote(stage, cache, at, i, t, s, e, k, labels, p, n, cost):
    """The label learner i votes for in round t: the one of least expected cost under its distribution.

    COST is sum_r p_r C[r, l], right if p are the probabilities of the labels. But the learner was trained on weighted
    examples, so its p_r is already larger for labels whose examples weigh more. If the example at hand weighed like
    the ones the learner has p from, the rows of C would have to be divided by their weights -C[r, r] to make up for
    it (for k = 2 that is ARGMAX); if the two had nothing to do with each other, by nothing. TEMPERED goes half way, by
    the square root; on 13 data sets it is better than either end.

    p[:n] are the probabilities of labels[:n], all others have 0. Ties go to the higher p, then to a draw.
    `cost` is scratch for 2 k numbers.
    """
    top = rest = 0.0
    likeliest = 0
    for j in range(n):
        rest += min(top, p[j])
        likeliest = labels[j] if p[j] > top else likeliest
        top = max(top, p[j])
    if rest == 0.0 and top > 0.0:  # a row of C is lowest at its own label
        return likeliest
    for l in range(k):
        cost[l] = 0.0
    size = 0.0
    if stage.ballot != ARGMAX:
        if cache is not None:
            expected_excess(cache, at, labels, p, n, stage.ballot == TEMPERED, cost)
            for l in range(k):
                size = max(size, cost[l])
        else:
            near = votes_in_reach(stage, s, k)
            size = likely_costs(stage.loss, near, s, e, k, labels, p, n, top, stage.ballot == TEMPERED, cost, cost[k:])
    only, low, second = two_lowest(cost, k)
    if second > low + TIE * size:
        return only
    draw = uniform(stage.seed, VOTE_TIE, stage.offset + i, t)
    return break_tie(labels, p, n, low + TIE * size, draw, cost, k)


@bare_kernel
def break_tie(labels, p, n, limit, draw, cost, k):
    """Of the labels that cost no more than the limit, the one of highest p, or by a draw in [0, 1). Spoils `cost`."""
    top = 0.0
    for j in range(n):
        if cost[labels[j]] <= limit:
            top = max(top, p[j])
    for l in range(k):  # mark the labels that are as good
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
    drawn = int(draw * ties)
    for l in range(k):
        if cost[l] == mark:
            choice = l
            if drawn == 0:
                break
            drawn -= 1
    return choice


@inlined_kernel
def cast(stage, i, l, s, e, labels, p, n):
    """s^i = s^{i-1} + alpha^i e_l. Plain trees add their distribution instead."""
    if stage.kind == PLAIN:
        for j in range(n):
            s[labels[j]] += p[j]
    elif stage.kind == MBBM:
        s[l] += 1.0
    else:
        s[l] += stage.alpha[i]
        e[l] = exp(min(max(s[l], -E_MOST), E_MOST))


@inlined_kernel
def own_cost(stage, cache, at, s, e, k, y):
    """How much label y is asked for at the votes s. Adaboost.OLM: -C[y, y]; OnlineMBBM: sum_l (C[y, l] - C[y, y])."""
    if cache is not None:
        return label_weight(cache, at, y)
    if stage.kind == PLAIN:
        return max(k - 1.0, 1.0)
    return off_diagonal(stage.loss, votes_in_reach(stage, s, k), s, e, y, k)


@inlined_kernel
def weigh(stage, cache, i, k, own):
    """Weight of learner i's training example, from `own_cost` before its vote, times the learner's scale.

    Adaboost.OLM: -C[y, y] / (k - 1), in [0, 1] for the logistic loss. OnlineMBBM: w = sum_l (C[y, l] - C[y, y]), over
    the mean of w so far. The weak learning condition asks for w / max w, but how large w can get depends much on gamma
    and on i, and a Hoeffding tree's speed on the size of its weights: this keeps them alike.
    """
    if cache is not None:
        mean = stage.edge_sums[i, 1] / max(stage.edge_sums[i, 2], 1.0)
        return stage.scale[i] * min(TYPICAL * own / mean, MOST) if mean > 0.0 else stage.scale[i] * TYPICAL
    return stage.scale[i] * own / max(k - 1.0, 1.0)


@inlined_kernel
def update(stage, cache, at, i, t, s, e, k, l, y, own, weight, labels, p, n):
    """Cast learner i's vote l, let its edge and alpha learn the label y; `own` is the `own_cost` before the vote."""
    stage.edge_sums[i, 2] += weight
    if cache is not None:
        stage.edge_sums[i, 0] += weight * excess_cost(cache, at, y, l)
        stage.edge_sums[i, 1] += weight * own
    if stage.kind != OLM:
        cast(stage, i, l, s, e, labels, p, n)
        return
    near = votes_in_reach(stage, s, k)
    stage.edge_sums[i, 0] += weight * (-own if l == y else pair_cost(stage.loss, near, s, e, y, l))
    stage.edge_sums[i, 1] -= weight * own
    cast(stage, i, l, s, e, labels, p, n)
    # f'(alpha) = C[y, l] after the vote (see losses.py); alpha <- Pi(alpha - eta f').
    near = votes_in_reach(stage, s, k)
    slope = -off_diagonal(stage.loss, near, s, e, y, k) if l == y else pair_cost(stage.loss, near, s, e, y, l)
    eta = step_size(stage.loss, k, stage.n_learners, stage.offset + i + 1, t - stage.born[i])
    bound = alpha_bound(stage.loss, stage.n_learners)
    stage.alpha[i] = min(bound, max(-bound, stage.alpha[i] - eta * weight * slope))
