"""Several labels: Ada.OLMR and OnlineBMR (Jung and Tewari 2018), boosters for the ranking of labels.

Y is the set of the relevant labels, and a *pair* is a label l of Y and a label r that is not in it. A learner says a
distribution h over the labels, s^i = s^{i-1} + alpha^i h, and both boosters want a loss small that is a sum over pairs:

    L^Y(s) = 1 / (|Y| (k - |Y|)) sum_{l, r} g(s_l - s_r)           rank loss: g(d) = 1[d < 0] + 1/2 1[d = 0]

Ada.OLMR takes g(d) = log(1 + exp(-d)). The costs are the gradient, alpha learns online, Hedge chooses how many learners
are followed (`chain.ranking`):

    c^i = grad L^Y(s^{i-1}),    f(alpha) = L^Y(s^{i-1} + alpha h),    f'(alpha) = h . grad L^Y(s^i)
    alpha <- Pi(alpha - eta_t f'(alpha)),   eta_t = 2 sqrt 2 / sqrt t,   Pi onto [-2, 2];    |f'| <= 1

OnlineBMR takes the hinge, g(d) = (1 - d)_+, alpha = 1, and potentials: the loss to expect if all m learners to come
said a label drawn from u^Y, in which a label of Y is gamma likelier than another. For a pair it depends on d alone:

    psi_m(d) = p psi_{m-1}(d + 1) + q psi_{m-1}(d - 1) + (1 - p - q) psi_{m-1}(d),   psi_0 = g
    q = (1 - |Y| gamma) / k,   p = q + gamma                       (gamma at most 1 / |Y|)
    c^i[l] = phi_{N-i}(s^{i-1} + e_l) - phi_{N-i}(s^{i-1})         phi the sum of psi over pairs, as L

psi_0 is linear between whole numbers, so psi_m is: a table over whole d has all of it, and nothing is drawn at random.

What learners are taught.  c is a sum over l in Y of cost vectors c^l that are those of an example with the *one* label
l, against the labels that are not in Y: c^l[l] = -w_l < 0, c^l[r] >= 0. Who has an edge over random on these examples,
weighted by w_l, has it on the set. A learner is taught one of them, drawn with probability w_l / W, at the weight W, the
sum of all w_l: that is the sum of the examples, on average. The draws of neighbouring learners are spread evenly, so
that a chain is taught all of Y. Rows without a pair (no label, or all) have W = 0.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import exp
from onlineboost._compile.jit import bare_kernel, inlined_kernel, small_kernel
from onlineboost._compile.random import LESSON, uniform
from onlineboost.boosters.potentials.pairwise import walk_table
from onlineboost.contracts.booster import BOOSTER, FIRST, WHOLE_CHAIN, booster
from onlineboost.contracts.schema import Field, f8, whole

ALPHA_BOUND = 2.0
E_MOST = 300.0  # exp of a difference of votes is cut there
TYPICAL, MOST = 0.5, 3.0  # weights of OnlineBMR's examples before scaling: the mean, and the largest
GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0


class OlmrNotes(NamedTuple):
    """What travels with the rows of a block; (0, 0) where they are to be predicted."""

    relevant: np.ndarray  # bool (rows, k)
    cost: np.ndarray  # float64 (rows, k) c of the learner at work


@booster
class Olmr(NamedTuple):
    """The booster's part of a segment."""

    seed: int
    n_learners: Annotated[int, WHOLE_CHAIN]
    offset: Annotated[int, FIRST]
    scale: Annotated[np.ndarray, f8("learners")]
    gamma: Annotated[float, Field(low=0.0, high=1.0)]  # of OnlineBMR; 0: Ada.OLMR
    k: Annotated[int, whole(1, 1 << 20)]  # labels that psi is for
    alpha: Annotated[np.ndarray, f8("learners")]
    vote_cost: Annotated[np.ndarray, f8("learners")]  # sum_t c . h, times the example's weight
    weights: Annotated[np.ndarray, f8("learners")]  # sum_t W, times the same
    seen: Annotated[np.ndarray, f8("learners")]  # weight of all examples with a pair
    psi: Annotated[np.ndarray | None, Field(shared=True, saved=False)]  # float64 (|Y|, m, N + d) for OnlineBMR

    def new_notes(self, n: int, k: int, weight: np.ndarray | None) -> OlmrNotes:
        rows = 0 if weight is None else n
        return OlmrNotes(np.zeros((rows, k), np.bool_), np.zeros((rows, k)))

    def edges(self, k: int) -> np.ndarray:
        """-sum_t c . h / sum_t W: the gamma for which the weak learning condition holds with equality and S = 0."""
        return -np.divide(self.vote_cost, self.weights, out=np.zeros(len(self.scale)), where=self.weights != 0.0)

    def with_labels(self, k: int) -> Any:
        """From here on there are k labels."""
        return self._replace(k=k).completed() if self.psi is None or k != self.k else self

    def completed(self) -> Any:
        return self._replace(psi=pair_potentials(self.k, self.n_learners, self.gamma))


def new_olmr(seed: int, scale: np.ndarray, gamma: float) -> Olmr:
    """A whole chain at t = 1."""
    n = len(scale)
    alpha = np.full(n, 1.0 if gamma else 0.0)
    return Olmr(seed, n, 0, np.array(scale, np.float64), gamma, 1, alpha, *np.zeros((3, n)), psi=None).completed()


def pair_losses(n_learners: int, hinge: bool = True) -> np.ndarray:
    """g(d) for d = -N..N: the hinge, or the rank loss."""
    d = np.arange(-n_learners, n_learners + 1.0)
    return np.maximum(0.0, 1.0 - d) if hinge else np.where(d < 0.0, 1.0, np.where(d == 0.0, 0.5, 0.0))


def pair_draws(k: int, relevant: int, gamma: float) -> tuple[float, float]:
    """p and q of u^Y: the probability of a label of Y, and of another."""
    gamma = min(gamma, 1.0 / relevant)
    q = (1.0 - relevant * gamma) / k
    return q + gamma, q


def pair_potentials(k: int, n_learners: int, gamma: float, hinge: bool = True) -> np.ndarray:
    """psi_m(d) at [|Y|, m, N + d], for m < N and |d| <= N - m; of Ada.OLMR nothing."""
    if not gamma:
        return np.zeros((0, 0, 0))
    out = np.zeros((k, n_learners + 1, 2 * n_learners + 1))
    for n in range(1, k):
        out[n] = walk_table(pair_losses(n_learners, hinge), [pair_draws(k, n, gamma)] * n_learners)
    return out


@small_kernel
def psi_at(psi, d):
    """psi_m at any d, of its values at whole ones; outside of what the votes to come can change it is linear."""
    N = psi.size // 2
    at = min(max(d + N, 0.0), 2.0 * N)
    low = min(int(at), 2 * N - 1)
    return psi[low] + (at - low) * (psi[low + 1] - psi[low])


@bare_kernel
def pair_costs(booster, i, s, relevant, k, cost):
    """c of learner i (of the whole chain) at the votes s; all 0 where there is no pair."""
    n = 0
    for l in range(k):
        cost[l] = 0.0
        n += relevant[l]
    if n == 0 or n == k:
        return
    share = 1.0 / (n * (k - n))
    for l in range(k):
        if not relevant[l]:
            continue
        for r in range(k):
            if relevant[r]:
                continue
            d = s[l] - s[r]
            if booster.gamma > 0.0:
                psi = booster.psi[n, booster.n_learners - i - 1]
                here = psi_at(psi, d)
                cost[l] += share * (psi_at(psi, d + 1.0) - here)
                cost[r] += share * (psi_at(psi, d - 1.0) - here)
            else:
                slope = share / (1.0 + exp(min(max(d, -E_MOST), E_MOST)))
                cost[l] -= slope
                cost[r] += slope


@small_kernel
def asked_for(relevant, cost, k):
    """W."""
    total = 0.0
    for l in range(k):
        total -= cost[l] if relevant[l] else 0.0
    return total


@inlined_kernel
def prepare(booster, i, rows, b, y, work, n):
    """The costs of learner i; but for the first learner of a segment, `update` has had those of Ada.OLMR."""
    if y >= 0 and (booster.gamma > 0.0 or i == 0):
        pair_costs(booster, booster.offset + i, rows.s[b], rows.notes.relevant[b], rows.k, rows.notes.cost[b])
    return 0


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    own = asked_for(rows.notes.relevant[b], rows.notes.cost[b], rows.k)
    if booster.gamma == 0.0:
        return weight * booster.scale[i] * own
    mean = booster.weights[i] / max(booster.seen[i], 1.0)
    return weight * booster.scale[i] * (min(TYPICAL * own / mean, MOST) if mean > 0.0 else TYPICAL * (own > 0.0))


@bare_kernel
def lesson(booster, i, rows, b, y, t):
    """A label of Y, drawn by its part of W."""
    relevant, cost, k = rows.notes.relevant[b], rows.notes.cost[b], rows.k
    u = uniform(booster.seed, LESSON, 0, t) + (booster.offset + i) * GOLDEN
    left, last = (u - math.floor(u)) * asked_for(relevant, cost, k), y
    for l in range(k):
        if relevant[l] and cost[l] < 0.0:
            left += cost[l]
            last = l
            if left < 0.0:
                break
    return last


@inlined_kernel
def vote(booster, i, rows, b, t, place, work, n):
    return 0  # a distribution is added to the votes, and no label


@inlined_kernel
def cast(booster, i, rows, b, l, work, n):
    """s^i = s^{i-1} + alpha^i h. A learner that has learned nothing says nothing."""
    total = said_mass(work, n)
    for j in range(n):
        rows.s[b, work.labels[j]] += booster.alpha[i] * (work.p[j] / total)
    rows.experts[b, booster.offset + i] = 0


@small_kernel
def said_mass(work, n):
    total = 0.0
    for j in range(n):
        total += work.p[j]
    return total if total > 0.0 else 1.0


@small_kernel
def dot(cost, work, n):
    """cost . h"""
    total = 0.0
    for j in range(n):
        total += cost[work.labels[j]] * work.p[j]
    return total / said_mass(work, n)


@inlined_kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    relevant, cost = rows.notes.relevant[b], rows.notes.cost[b]
    own = asked_for(relevant, cost, rows.k)
    if own > 0.0:
        booster.seen[i] += weight
        booster.weights[i] += weight * own
        booster.vote_cost[i] += weight * dot(cost, work, n)
    cast(booster, i, rows, b, l, work, n)
    if own > 0.0 and booster.gamma == 0.0:
        pair_costs(booster, booster.offset + i + 1, rows.s[b], relevant, rows.k, cost)
        step = 2.0 * math.sqrt(2.0 / (rows.t + b)) * weight * dot(cost, work, n)
        booster.alpha[i] = min(ALPHA_BOUND, max(-ALPHA_BOUND, booster.alpha[i] - step))


BOOSTER.implement(Olmr, prepare, weigh, lesson, vote, cast, update)
