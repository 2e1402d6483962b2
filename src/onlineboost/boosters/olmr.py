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

What learners are taught.  c . h = max c - sum_l (max c - c[l]) h[l], so a learner is to say the labels that gain most
over the worst one: it is taught the example (x, l) at the weight max c - c[l], for every l of Y. What labels that are
not in Y would gain is left out, as in the authors' program. Rows without a pair (no label, or all) teach nothing.

OnlineBMR's weights are over their mean so far, times TYPICAL, and at most MOST, as OnlineMBBM's are (`mbbm`).
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import exp
from onlineboost._compile.jit import bare_kernel, inlined_kernel, small_kernel
from onlineboost.boosters.potentials.pairwise import walk_table
from onlineboost.contracts.booster import BOOSTER, FIRST, WHOLE_CHAIN, booster
from onlineboost.contracts.schema import Field, f8, whole

ALPHA_BOUND = 2.0
E_MOST = 300.0  # exp of a difference of votes is cut there
TYPICAL, MOST = 0.3, 3.0  # weights of OnlineBMR's examples before scaling: the mean, and the largest
ROUNDING = 1e-12  # gains below are no more than that


class OlmrNotes(NamedTuple):
    """What travels with the rows of a block; (0, 0) where they are to be predicted."""

    relevant: np.ndarray  # bool (rows, k)
    cost: np.ndarray  # float64 (rows, k) c of the learner at work
    gain: np.ndarray  # float64 (rows, k) what labels of Y gain over the worst label
    lesson: np.ndarray  # int64 (rows,) the label that it is taught next, -1: none so far


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
    vote_cost: Annotated[np.ndarray, f8("learners")]  # sum_t (c . h - mean of c), times the example's weight
    weights: Annotated[np.ndarray, f8("learners")]  # sum_t (|Y| mean of c - sum of c over Y), times the same
    asked: Annotated[np.ndarray, f8("learners")]  # sum_t of the gains of Y, times the same
    seen: Annotated[np.ndarray, f8("learners")]  # weight of the examples with a pair
    psi: Annotated[np.ndarray | None, Field(shared=True, saved=False)]  # float64 (|Y|, m, N + d) for OnlineBMR

    def new_notes(self, n: int, k: int, weight: np.ndarray | None) -> OlmrNotes:
        rows = 0 if weight is None else n
        cost, gain = np.zeros((2, rows, k))
        return OlmrNotes(np.zeros((rows, k), np.bool_), cost, gain, np.full(rows, -1))

    def takes_votes(self) -> bool:
        return not self.gamma  # potentials are for votes that start at 0

    def edges(self, k: int) -> np.ndarray:
        """The gamma for which the weak learning condition, sum_t c . h <= sum_t c . u^Y, holds with equality."""
        return -np.divide(self.vote_cost, self.weights, out=np.zeros(len(self.scale)), where=self.weights != 0.0)

    def tables_of(self, k: int, spare: float) -> np.ndarray | None:
        return np.broadcast_to(0.0, potential_shape(k, self.n_learners)) if self.gamma else self.psi

    def with_labels(self, k: int) -> Any:
        """From here on there are k labels."""
        return self._replace(k=k).completed() if self.psi is None or k != self.k else self

    def completed(self) -> Any:
        return self._replace(psi=pair_potentials(self.k, self.n_learners, self.gamma))


def new_olmr(seed: int, scale: np.ndarray, gamma: float) -> Olmr:
    """A whole chain at t = 1."""
    n = len(scale)
    alpha, (vote_cost, weights, asked, seen) = np.full(n, 1.0 if gamma else 0.0), np.zeros((4, n))
    return Olmr(
        seed, n, 0, np.array(scale, np.float64), gamma, 1, alpha, vote_cost, weights, asked, seen, None
    ).completed()


def pair_losses(n_learners: int, hinge: bool = True) -> np.ndarray:
    """g(d) for d = -N..N: the hinge, or the rank loss."""
    d = np.arange(-n_learners, n_learners + 1.0)
    return np.maximum(0.0, 1.0 - d) if hinge else np.where(d < 0.0, 1.0, np.where(d == 0.0, 0.5, 0.0))


def pair_draws(k: int, relevant: int, gamma: float) -> tuple[float, float]:
    """p and q of u^Y: the probability of a label of Y, and of another."""
    gamma = min(gamma, 1.0 / relevant)
    q = (1.0 - relevant * gamma) / k
    return q + gamma, q


def potential_shape(k: int, n_learners: int) -> tuple[int, int, int]:
    return k, n_learners + 1, 2 * n_learners + 1


def pair_potentials(k: int, n_learners: int, gamma: float, hinge: bool = True) -> np.ndarray:
    """psi_m(d) at [|Y|, m, N + d], for m < N and |d| <= N - m; of Ada.OLMR nothing."""
    if not gamma:
        return np.zeros((0, 0, 0))
    out = np.zeros(potential_shape(k, n_learners))
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
    if not 0 < n < k:
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
def any_pair(relevant, k):
    n = 0
    for l in range(k):
        n += relevant[l]
    return 0 < n < k


@small_kernel
def worst_of(cost, k):
    top = cost[0]
    for l in range(1, k):
        top = max(top, cost[l])
    return top


@small_kernel
def asked_for(relevant, cost, k):
    """The sum of the gains of Y."""
    worst, total = worst_of(cost, k), 0.0
    for l in range(k):
        total += worst - cost[l] if relevant[l] else 0.0
    return total


@inlined_kernel
def prepare(booster, i, rows, b, y, work, n):
    """The costs of learner i; but for the first learner of a segment, `update` has had those of Ada.OLMR."""
    if y >= 0 and rows.notes.lesson[b] < 0:
        notes, k = rows.notes, rows.k
        if booster.gamma > 0.0 or i == 0:
            pair_costs(booster, booster.offset + i, rows.s[b], notes.relevant[b], k, notes.cost[b])
        worst = worst_of(notes.cost[b], k)
        for l in range(k):
            notes.gain[b, l] = worst - notes.cost[b, l] if notes.relevant[b, l] else 0.0
    return 0


@small_kernel
def next_lesson(gain, before, k):
    for l in range(before + 1, k):
        if gain[l] > ROUNDING:
            return l
    return -1


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    gain = rows.notes.gain[b]
    l = next_lesson(gain, rows.notes.lesson[b], rows.k)
    if l < 0:
        return 0.0
    if booster.gamma == 0.0:
        return weight * booster.scale[i] * gain[l]
    mean = booster.asked[i] / max(booster.seen[i], 1.0)
    return weight * booster.scale[i] * (min(TYPICAL * gain[l] / mean, MOST) if mean > 0.0 else TYPICAL)


@inlined_kernel
def lesson(booster, i, rows, b, y):
    return next_lesson(rows.notes.gain[b], rows.notes.lesson[b], rows.k)


@inlined_kernel
def more(booster, i, rows, b):
    notes = rows.notes
    at = next_lesson(notes.gain[b], notes.lesson[b], rows.k)
    notes.lesson[b] = at
    if at >= 0 and next_lesson(notes.gain[b], at, rows.k) >= 0:
        return True
    notes.lesson[b] = -1
    return False


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
    """c . h; 0 if the learner has said nothing."""
    total = 0.0
    for j in range(n):
        total += cost[work.labels[j]] * work.p[j]
    return total / said_mass(work, n)


@inlined_kernel
def count_edge(booster, i, relevant, cost, weight, k, said):
    mean, n, own = 0.0, 0, 0.0
    for l in range(k):
        mean += cost[l] / k
        n += relevant[l]
        own += cost[l] if relevant[l] else 0.0
    booster.vote_cost[i] += weight * (said - mean)
    booster.weights[i] += weight * (n * mean - own)


@inlined_kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    if rows.notes.lesson[b] >= 0:
        return
    relevant, cost = rows.notes.relevant[b], rows.notes.cost[b]
    has_pairs = any_pair(relevant, rows.k)
    if has_pairs:
        booster.seen[i] += weight
        booster.asked[i] += weight * asked_for(relevant, cost, rows.k)
        count_edge(booster, i, relevant, cost, weight, rows.k, dot(cost, work, n))
    cast(booster, i, rows, b, l, work, n)
    if has_pairs and booster.gamma == 0.0:
        pair_costs(booster, booster.offset + i + 1, rows.s[b], relevant, rows.k, cost)
        step = 2.0 * math.sqrt(2.0 / (rows.t + b)) * weight * dot(cost, work, n)
        booster.alpha[i] = min(ALPHA_BOUND, max(-ALPHA_BOUND, booster.alpha[i] - step))


BOOSTER.implement(Olmr, prepare, weigh, lesson, more, vote, cast, update)
