"""Oza and Russell's online boosting (2005, figure 2): every learner hands the example's weight lambda to the next.

Learner m learns the example as often as a Poisson(lambda) draw says. If it is right *after that*, lambda_sc grows by
lambda, and lambda is multiplied by T / (2 lambda_sc); if it is wrong, the same with lambda_sw. T is the number of
examples so far. So, for the next learner, what it got right weighs half of the total, and what it got wrong the other.

An example drawn n times is learned once with weight n. The statistics of a tree are the same as after n times weight 1;
it looks at its grace period once instead of n times.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel, kernel
from onlineboost._compile.random import POISSON, child_key, uniform
from onlineboost.boosters.votes import likeliest
from onlineboost.contracts.booster import BOOSTER, FIRST, WHOLE_CHAIN, booster
from onlineboost.contracts.learner import ask
from onlineboost.contracts.rows import Rows, leader
from onlineboost.contracts.schema import f8

PIECE, LARGE = 16.0, 500.0  # a Poisson count is drawn in pieces of this mean; a larger mean is as good as normal


class OzaNotes(NamedTuple):
    """What Oza's booster keeps of a block beside the votes."""

    lam: np.ndarray  # float64 (rows,) lambda, the weight of the example for the next learner
    vote: np.ndarray  # int64 (rows,) the last vote; of no use to the next learner


@booster
class Oza(NamedTuple):
    """Oza's booster: its part of a segment."""

    seed: int
    n_learners: Annotated[int, WHOLE_CHAIN]
    offset: Annotated[int, FIRST]
    scale: Annotated[np.ndarray, f8("learners")]  # all 1
    draws: bool  # learn as often as a Poisson draw says; otherwise once with weight lambda
    alpha: Annotated[np.ndarray, f8("learners")]  # weight of the vote
    correct: Annotated[np.ndarray, f8("learners")]  # lambda_sc
    wrong: Annotated[np.ndarray, f8("learners")]  # lambda_sw
    total: Annotated[np.ndarray, f8("learners")]  # T

    def new_notes(self, n: int, k: int, weight: np.ndarray | None) -> OzaNotes:
        return OzaNotes(np.ones(n) if weight is None else weight.copy(), np.empty(n, np.int64))

    def hand_on(self, rows: Rows) -> dict[str, np.ndarray]:
        first = rows.experts[:, 0]  # the prediction where no vote has a weight
        return {"lam": rows.notes.lam, "first": first.astype(np.min_scalar_type(rows.k))}

    def take_up(self, rows: Rows, handed: dict[str, np.ndarray]) -> None:
        rows.notes.lam[:], rows.experts[:, 0] = handed["lam"], handed["first"]

    def probabilities(self, rows: Rows, n_votes: int) -> np.ndarray:
        s = rows.s.copy()
        s[np.arange(len(s)), rows.experts[:, n_votes - 1]] += s.sum(axis=1) == 0.0  # no learner has a vote yet
        return s / s.sum(axis=1, keepdims=True)

    @property
    def errors(self) -> np.ndarray:
        """eps, the weighted error of every learner; 1/2 before the first example."""
        total = self.correct + self.wrong
        return np.divide(self.wrong, total, out=np.full(len(total), 0.5), where=total > 0.0)


def new_oza(draws: bool, seed: int, n_learners: int) -> Oza:
    return Oza(seed, n_learners, 0, np.ones(n_learners), draws, *(np.zeros(n_learners) for _ in range(4)))


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


@inlined_kernel
def start(booster, rows, weight):
    for b in range(weight.size):
        rows.notes.lam[b] = weight[b]


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    lam = rows.notes.lam[b]
    return poisson(lam, booster.seed, booster.offset + i, rows.t + b) if booster.draws else lam


@inlined_kernel
def vote(booster, i, rows, b, t, place, work, n):
    return likeliest(booster, i, t, rows.k, work, n)


@inlined_kernel
def cast(booster, i, rows, b, l, work, n):
    """As long as no vote has a weight, the first learner's label is the prediction."""
    s, at = rows.s[b], booster.offset + i
    s[l] += booster.alpha[i]
    rows.lead[b] = leader(s, rows.k, rows.lead[b], l)
    first = l if at == 0 else rows.experts[b, 0]
    rows.experts[b, at] = rows.lead[b] if s[rows.lead[b]] > 0.0 else first


@inlined_kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    rows.notes.vote[b] = l
    cast(booster, i, rows, b, l, work, n)


@inlined_kernel
def settle(booster, learner, i, rows, b, y, weight, learned, scratch, work):
    """Is the learner right after learning? Its sums, its vote, and lambda for the next one."""
    l = rows.notes.vote[b]
    if learned > 0.0:
        n, _ = ask(learner, i, rows, b, scratch, work)
        l = vote(booster, i, rows, b, rows.t + b, 0, work, n)
    booster.total[i] += weight
    sums = booster.correct if l == y else booster.wrong
    sums[i] += rows.notes.lam[b]
    rows.notes.lam[b] *= booster.total[i] / (2.0 * sums[i])
    booster.alpha[i] = vote_weight(booster.correct[i], booster.wrong[i])


BOOSTER.implement(Oza, start, weigh, vote, cast, update, settle)
