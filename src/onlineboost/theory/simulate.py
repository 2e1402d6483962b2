"""Boosters on simulated weak learners: votes with a prescribed edge, and the adversaries of the lower bounds.

A simulated learner sees the label and votes from u_gamma^y, whatever the costs: right with probability
(1 - gamma) / k + gamma, any other label with (1 - gamma) / k. On such votes OnlineMBBM's theorem is tight.
The boosters are the real ones, from the vote on: costs, edges, alphas and experts come from `stages` and `experts`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from onlineboost._compile.fastmath import uniform
from onlineboost._compile.jit import kernel
from onlineboost.boosters import stages
from onlineboost.boosters.losses import LOSSES, alpha_bound
from onlineboost.boosters.pair_losses import PAIR_LOSSES
from onlineboost.boosters.potentials import build_cache, build_tables
from onlineboost.chain.chain import leader
from onlineboost.chain.experts import EXPERT_RULES, play

LABEL, VOTE = 20, 21  # what a random number is for (see fastmath)

# --------------------------------------------------------------------------------------------- learners, adversaries


@kernel
def _draw_labels(k, seed, y):
    for t in range(y.size):
        y[t] = int(uniform(seed, LABEL, 0, t + 1) * k)


@kernel
def _draw_votes(y, k, edges, useless, seed, votes):
    for t in range(y.size):
        for i in range(edges.size):
            edge = 0.0 if t < useless else edges[i]
            u = uniform(seed, VOTE, i, t + 1)
            if u < edge:
                votes[t, i] = y[t]
            else:  # what is left of u is uniform again
                votes[t, i] = min(k - 1, int((u - edge) / (1.0 - edge) * k))


def draw_labels(n_examples: int, n_classes: int, seed: int = 0) -> np.ndarray:
    """Labels 0..k-1, uniform and independent.

    Examples
    --------
    >>> draw_labels(8, n_classes=3)
    array([0, 2, 0, 1, 0, 2, 2, 1])
    """
    y = np.empty(n_examples, np.int64)
    _draw_labels(n_classes, seed, y)
    return y


def draw_votes(
    y: np.ndarray, n_classes: int, n_learners: int, edge: ArrayLike, *, useless: int = 0, seed: int = 0
) -> np.ndarray:
    """Votes (examples, learners), independent draws from u_edge^y; mere guesses (u_0) in the first `useless` rounds.

    ``edge`` is a number, or one for each learner. With twice the edge gamma of the weak learning condition these are
    the adversaries of Theorem optimality: ``useless=0`` for the number of learners, ``theory.useless_rounds`` for the
    number of examples.

    Examples
    --------
    >>> y = draw_labels(1000, n_classes=4)
    >>> votes = draw_votes(y, n_classes=4, n_learners=50, edge=0.2)
    >>> round(float((votes == y[:, None]).mean()), 1)    # 0.8 / 4 + 0.2
    0.4
    """
    edges = np.array(np.broadcast_to(np.asarray(edge, np.float64), n_learners))
    if not ((edges >= 0.0) & (edges < 1.0)).all():
        raise ValueError(f"edges must be in [0, 1), got {edge!r}")
    votes = np.empty((len(y), n_learners), np.int64)
    _draw_votes(y, n_classes, edges, useless, seed, votes)
    return votes


# ------------------------------------------------------------------------------------------------------- boosters


@kernel
def _play(stage, tables, cache, votes, y, t, k, experts, lost, before, alphas):
    """Rounds t, t + 1, ... of a booster whose learners vote as given. Fills the arrays after k, if they have a size."""
    s, e = np.empty(k), np.empty(k)
    labels, p = np.arange(k), np.zeros(k)  # the distributions behind the votes: nobody asks
    for b in range(y.size):
        s[:] = 0.0
        e[:] = 1.0
        lead = np.int32(0)
        for i in range(votes.shape[1]):
            l = votes[b, i]
            if before.size:
                before[b, i] = s
                alphas[b, i] = stage.alpha[i]
            at = stages.prepare(stage, tables, cache, i, s, y[b], labels, p, 0)
            own = stages.own_cost(stage, cache, at, s, e, k, y[b])
            stages.update(stage, cache, at, i, t + b, s, e, k, l, y[b], own, 1.0, labels, p, k)
            lead = leader(s, k, lead, l)
            experts[b, i] = lead
        lost[b] = False
        for l in range(k):
            lost[b] |= l != y[b] and s[l] >= s[y[b]]


@kernel
def _play_oza(right, wrong, votes, y, k, out):
    """Oza and Russell's online boosting (2001): errors under the weights lambda, votes of log((1 - eps) / eps)."""
    s = np.empty(k)
    for b in range(y.size):
        s[:] = 0.0
        lam = 1.0
        for i in range(votes.shape[1]):
            eps = (wrong[i] + 0.5) / (right[i] + wrong[i] + 1.0)
            s[votes[b, i]] += max(0.0, math.log((1.0 - eps) / eps))  # worse than a coin: no vote
            if votes[b, i] == y[b]:
                right[i] += lam
                lam *= (right[i] + wrong[i]) / (2.0 * right[i])
            else:
                wrong[i] += lam
                lam *= (right[i] + wrong[i]) / (2.0 * wrong[i])
        out[b] = s.argmax()


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a simulated booster did in some rounds."""

    y: np.ndarray
    predictions: np.ndarray  # (rounds,)
    experts: np.ndarray  # (rounds, learners) prediction of every expert
    lost: np.ndarray  # bool (rounds,) whether y is not strictly ahead in all votes: the theorem's mistakes
    before: np.ndarray  # (rounds, learners, classes) votes before each learner, if traced
    alphas: np.ndarray  # (rounds, learners) the alpha each vote was cast with, if traced

    @property
    def mistakes(self) -> int:
        return int((self.predictions != self.y).sum())

    @property
    def expert_mistakes(self) -> np.ndarray:
        return (self.experts != self.y[:, None]).sum(axis=0)


class Simulation:
    """A booster whose learners vote as they are told.

    Parameters
    ----------
    booster : {"adaboost-olm", "online-mbbm", "oza"}
        Adaboost.OLM follows Hedge, OnlineMBBM the majority of all votes, as in the paper. Oza's is for comparison.
    loss : str
        Of Adaboost.OLM.
    gamma : float
        Of OnlineMBBM.

    Examples
    --------
    >>> y = draw_labels(2000, n_classes=3)
    >>> votes = draw_votes(y, n_classes=3, n_learners=50, edge=0.3)
    >>> booster = Simulation("online-mbbm", n_classes=3, n_learners=50, gamma=0.3)
    >>> booster.play(votes, y).mistakes, int((votes != y[:, None]).sum(axis=0).min())
    (21, 896)
    """

    def __init__(
        self,
        booster: str,
        n_classes: int,
        n_learners: int,
        *,
        loss: str = "logistic",
        gamma: float = 0.1,
        seed: int = 0,
    ) -> None:
        if booster not in ("adaboost-olm", "online-mbbm", "oza"):
            raise ValueError(f"booster must be adaboost-olm, online-mbbm or oza, got {booster!r}")
        self.booster, self.k, self.n_learners, self.seed, self.t = booster, n_classes, n_learners, seed, 0
        kind = stages.MBBM if booster == "online-mbbm" else stages.OLM
        self.stage = stages.new_stage(kind, LOSSES[loss], stages.ARGMAX, seed, np.ones(n_learners))
        self.tables = build_tables(n_classes, n_learners, gamma) if booster == "online-mbbm" else None
        self.cache = build_cache(self.tables) if self.tables is not None else None
        self.log_v = np.zeros(n_learners)
        self.right, self.wrong = np.zeros(n_learners), np.zeros(n_learners)

    @property
    def edges(self) -> np.ndarray:
        """Edges shown so far (see `stages.edges`)."""
        return stages.edges(self.stage, self.k)

    @property
    def weights(self) -> np.ndarray:
        """sum_t -C[y, y] (Adaboost.OLM) or sum_t w_t (OnlineMBBM) of every learner."""
        return np.abs(self.stage.edge_sums[:, 1])

    def play(self, votes: np.ndarray, y: np.ndarray, *, trace: bool = False) -> Outcome:
        """The coming rounds. With ``trace``, keep what `alpha_regret` needs."""
        T, N = votes.shape
        if self.n_learners != N:
            raise ValueError(f"votes are of {N} learners, the booster has {self.n_learners}")
        experts, lost = np.empty((T, N), np.int32), np.empty(T, np.bool_)
        before = np.empty((T, N, self.k) if trace else (0, 0, 0))
        alphas = np.empty((T, N) if trace else (0, 0))
        out = np.empty(T, np.int64)
        if self.booster == "oza":
            _play_oza(self.right, self.wrong, votes, y, self.k, out)
            experts[:], lost[:] = out[:, None], out != y
        else:
            _play(self.stage, self.tables, self.cache, votes, y, self.t + 1, self.k, experts, lost, before, alphas)
            rule = EXPERT_RULES["hedge" if self.booster == "adaboost-olm" else "last"]
            play(rule, self.log_v, self.seed, self.t + 1, experts, y, np.ones(T), self.k, out)
        self.t += T
        return Outcome(y, out, experts, lost, before, alphas)


# --------------------------------------------------------------------------------------------------------- regret


def alpha_regret(loss: str, before: np.ndarray, votes: np.ndarray, y: np.ndarray, alphas: np.ndarray, reach: float):
    """sum_t f_t(alpha_t) - min over |alpha| <= reach of sum_t f_t(alpha), for one learner.

    f_t(alpha) = L^y(s + alpha e_l): ``before`` (rounds, k) are the votes s before the learner, ``votes`` its l,
    ``alphas`` the alphas it voted with. At most `theory.regret_bounds`.
    """
    term = PAIR_LOSSES[loss]
    rows = np.arange(len(y))
    ahead = before - before[rows, y][:, None]  # s_l - s_y
    right = votes == y
    single = ahead[rows, votes][~right]  # a wrong vote moves one term of the loss, a right one all k - 1
    others = ahead[right][y[right][:, None] != np.arange(before.shape[1])].reshape(-1, before.shape[1] - 1)

    def total(alpha: np.ndarray) -> float:
        return float(term(single + alpha[~right]).sum() + term(others - alpha[right][:, None]).sum())

    def fixed(alpha: float) -> float:
        return total(np.full(len(y), alpha))

    best = minimize_scalar(fixed, bounds=(-reach, reach), method="bounded", options={"xatol": 1e-9}).fun
    return total(alphas) - min(best, fixed(-reach), fixed(reach), fixed(0.0))


def alpha_regrets(loss: str, votes: np.ndarray, outcome: Outcome) -> np.ndarray:
    """`alpha_regret` of every learner of a traced run.

    Examples
    --------
    >>> y = draw_labels(500, n_classes=3)
    >>> votes = draw_votes(y, n_classes=3, n_learners=4, edge=0.3)
    >>> run = Simulation("adaboost-olm", n_classes=3, n_learners=4).play(votes, y, trace=True)
    >>> alpha_regrets("logistic", votes, run).round(1)
    array([ 8.7, 10.1,  5.6,  5.4])
    """
    n = votes.shape[1]
    reach = alpha_bound(LOSSES[loss], n)
    runs = [(outcome.before[:, i], votes[:, i], outcome.y, outcome.alphas[:, i]) for i in range(n)]
    return np.array([alpha_regret(loss, *run, reach) for run in runs])
