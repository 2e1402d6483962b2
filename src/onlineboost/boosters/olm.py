"""Adaboost.OLM (Algorithm 2): costs from the gradient of a loss, votes weighted by alphas that learn online.

    C_t^i[r, l] = gradient of L^r at s^{i-1}               what a vote l costs if the label is r
    w_t^i = -C[y, y] / (k - 1)                             weight of the learner's example
    s^i = s^{i-1} + alpha_t^i e_l                          its vote
    alpha_{t+1}^i = Pi(alpha_t^i - eta_t f'(alpha_t^i))    f(alpha) = L^y(s^{i-1} + alpha e_l)
    gamma^i = sum_t C[y, l] / sum_t C[y, y]                its empirical edge

The steps eta_t fall with t, as in the paper, or (adaptive) with the slopes f' that there have been.

The costs do not depend on what learner i says, and the learner does not depend on alpha. So the booster's part is done
in loops of its own before and after a block, short enough for the processor to work on several rows at once.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import exp
from onlineboost._compile.jit import bare_kernel, entry_kernel, inlined_kernel, small_kernel
from onlineboost.boosters.losses import (
    Loss,
    adaptive_step_size,
    alpha_bound,
    in_reach,
    likely_costs,
    off_diagonal,
    pair_cost,
    step_size,
    wrong_slope,
)
from onlineboost.boosters.votes import Vote, cheapest, no_costs, only_choice
from onlineboost.contracts.booster import BOOSTER, FIRST, WHOLE_CHAIN, booster
from onlineboost.contracts.rows import Rows, leader
from onlineboost.contracts.schema import Field, f8, i8, whole

STEEPEST = 1e150  # slopes are cut here, so that their squares can be added up
E_MOST = 700.0  # exp of more overflows; beyond `losses.E_REACH` it is not used


class OlmNotes(NamedTuple):
    """What Adaboost.OLM keeps of a block beside the votes. Only `e` matters to the next learner."""

    e: np.ndarray  # float64 (rows, k) exp(s)
    own: np.ndarray  # float64 (rows,) -C[y, y] at the learner at work
    votes: np.ndarray  # int64 (rows,) its votes


@booster
class Olm(NamedTuple):
    """Adaboost.OLM's part of a segment."""

    seed: int
    n_learners: Annotated[int, WHOLE_CHAIN]
    offset: Annotated[int, FIRST]
    scale: Annotated[np.ndarray, f8("learners")]
    loss: Annotated[int, whole(0, 2)]  # a Loss; as a plain number, since a kernel takes 20 us to recognise an enum
    vote: Annotated[int, whole(0, 3)]  # a Vote
    printed: bool  # whether alpha follows the gradient that the paper prints, for the logistic loss
    alpha: Annotated[np.ndarray, f8("learners")]
    vote_cost: Annotated[np.ndarray, f8("learners")]  # sum_t C[y, l], times the example's weight
    right_cost: Annotated[np.ndarray, f8("learners")]  # sum_t C[y, y], times the same
    seen: Annotated[np.ndarray, f8("learners")]  # weight of all examples since the learner last started
    born: Annotated[np.ndarray, i8("learners")]  # round before the learner's first: its steps are sized by its own age
    squares: Annotated[np.ndarray | None, f8("learners")] = None  # sum_t f'(alpha_t)^2, if steps are adaptive
    programmed: Annotated[bool, Field(since=2, default=False)] = False  # whether alpha follows the authors' program

    def new_notes(self, n: int, k: int, weight: np.ndarray | None) -> OlmNotes:
        return OlmNotes(np.ones((n, k)), np.empty(n), np.empty(n, np.int64))

    def takes_votes(self) -> bool:
        return True

    def begin(self, rows: Rows) -> None:
        rows.lead[:] = rows.s.argmax(axis=1)
        exp_votes(rows.s, rows.notes.e)

    def hand_on(self, rows: Rows) -> dict[str, np.ndarray]:
        return {}  # `begin` makes e of the votes

    def edges(self, k: int) -> np.ndarray:
        return edges_from(self.vote_cost, self.right_cost)

    def restart(self, i: int, born: int) -> None:
        """Learner i starts again, as if its first round had been the one after `born`."""
        for array in (self.alpha, self.vote_cost, self.right_cost, self.seen):
            array[i] = 0.0
        if self.squares is not None:
            self.squares[i] = 0.0
        self.born[i] = born

    @property
    def weights(self) -> np.ndarray:
        """sum_t -C[y, y] of every learner."""
        return -self.right_cost


def new_olm(
    loss: Loss,
    vote: Vote,
    seed: int,
    scale: np.ndarray,
    *,
    printed: bool = False,
    programmed: bool = False,
    adaptive: bool = False,
) -> Olm:
    """A whole chain at t = 1: alpha = 0, no edges yet. Its steps are adaptive, or those of the paper."""
    n = len(scale)
    return Olm(
        loss=int(loss),
        vote=int(vote),
        printed=printed,
        seed=seed,
        n_learners=n,
        offset=0,
        scale=np.array(scale, np.float64),
        alpha=np.zeros(n),
        vote_cost=np.zeros(n),
        right_cost=np.zeros(n),
        seen=np.zeros(n),
        born=np.zeros(n, np.int64),
        squares=np.zeros(n) if adaptive else None,
        programmed=programmed,
    )


def edges_from(vote_cost: np.ndarray, right_cost: np.ndarray) -> np.ndarray:
    """gamma^i = sum_t C[y, l] / sum_t C[y, y] over any stretch of the stream; 0 where there is nothing."""
    return np.divide(vote_cost, right_cost, out=np.zeros(len(vote_cost)), where=right_cost != 0.0)


@entry_kernel
def exp_votes(s, e):
    """e = exp(s), as `count_vote` has it."""
    for b in range(s.shape[0]):
        for l in range(s.shape[1]):
            e[b, l] = exp(min(max(s[b, l], -E_MOST), E_MOST))


@inlined_kernel
def votes_in_reach(booster, s, k):
    """`losses.in_reach` of the votes s: no learner adds more to a vote than alpha's bound."""
    return in_reach(booster.loss, s, k, booster.n_learners * alpha_bound(booster.loss, booster.n_learners))


@bare_kernel
def start(booster, rows, weight):
    rows.notes.e[:] = 1.0


@bare_kernel
def take_votes(booster, rows):
    """The twin of `Olm.begin`."""
    for b in range(rows.s.shape[0]):
        best = 0
        for l in range(1, rows.k):
            if rows.s[b, l] > rows.s[b, best]:
                best = l
        rows.lead[b] = best
    exp_votes(rows.s, rows.notes.e)


@bare_kernel
def prepare_block(booster, i, rows, y):
    """-C[y, y] of every row: how much its label is asked for."""
    for b in range(y.size):
        s = rows.s[b]
        near = votes_in_reach(booster, s, rows.k)
        rows.notes.own[b] = off_diagonal(booster.loss, near, s, rows.notes.e[b], y[b], rows.k)


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    """-C[y, y] / (k - 1), in [0, 1] for the logistic loss, times the learner's scale."""
    return weight * (booster.scale[i] * rows.notes.own[b] / max(rows.k - 1.0, 1.0))


@inlined_kernel
def vote(booster, i, rows, b, t, place, work, n):
    k = rows.k
    label, top = only_choice(work, n)
    if label >= 0:
        return label
    size = no_costs(work, k)
    if booster.vote != Vote.ARGMAX:
        s = rows.s[b]
        near = votes_in_reach(booster, s, k)
        size = likely_costs(booster.loss, near, s, rows.notes.e[b], k, work, n, top, booster.vote)
    return cheapest(booster, i, t, k, work, n, size)


@inlined_kernel
def recalls(booster):
    return True


@inlined_kernel
def cast(booster, i, rows, b, l, work, n):
    """s^i = s^{i-1} + alpha^i e_l."""
    count_vote(booster, i, rows, b, l)


@inlined_kernel
def count_vote(booster, i, rows, b, l):
    s = rows.s[b]
    s[l] += booster.alpha[i]
    rows.notes.e[b, l] = exp(min(max(s[l], -E_MOST), E_MOST))
    rows.lead[b] = leader(s, rows.k, rows.lead[b], l)
    rows.experts[b, booster.offset + i] = rows.lead[b]


@inlined_kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    rows.notes.votes[b] = l  # counted in `settle_block`


@small_kernel
def alpha_step(squares, loss, k, n_learners, offset, i, age, weight, slope):
    """eta f'(alpha) of an example of this weight.

    `squares` is an argument of its own since its type then decides, when this is compiled, which steps are taken.
    """
    if squares is None:
        return step_size(loss, k, n_learners, offset + i + 1, age) * weight * slope
    slope = min(STEEPEST, max(-STEEPEST, weight * slope))
    squares[i] += slope * slope
    return adaptive_step_size(loss, k, n_learners, squares[i]) * slope


@bare_kernel
def settle_block(booster, i, rows, y, weight):
    """Cast learner i's votes, row after row; its edge and its alpha learn the labels."""
    loss, k = booster.loss, rows.k
    bound = alpha_bound(loss, booster.n_learners)
    for b in range(y.size):
        s, e, l, own = rows.s[b], rows.notes.e[b], rows.notes.votes[b], rows.notes.own[b]
        near = votes_in_reach(booster, s, k)
        booster.seen[i] += weight[b]
        booster.vote_cost[i] += weight[b] * (-own if l == y[b] else pair_cost(loss, near, s, e, y[b], l))
        booster.right_cost[i] -= weight[b] * own
        count_vote(booster, i, rows, b, l)
        # f'(alpha) = C[y, l] after the vote (see losses.py); alpha <- Pi(alpha - eta f').
        near = votes_in_reach(booster, s, k)
        if l != y[b]:
            slope = pair_cost(loss, near, s, e, y[b], l)
        elif booster.printed or booster.programmed:
            slope = wrong_slope(s, y[b], 0.0 if booster.programmed else booster.alpha[i], k)
        else:
            slope = -off_diagonal(loss, near, s, e, y[b], k)
        age = rows.t + b - booster.born[i]
        step = alpha_step(booster.squares, loss, k, booster.n_learners, booster.offset, i, age, weight[b], slope)
        booster.alpha[i] = min(bound, max(-bound, booster.alpha[i] - step))


BOOSTER.implement(Olm, start, take_votes, prepare_block, weigh, vote, recalls, cast, update, settle_block)
