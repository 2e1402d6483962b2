"""Boosters on simulated weak learners: votes with a prescribed edge, and the adversaries of the lower bounds.

A simulated learner sees the label and votes from u_gamma^y, whatever the costs: right with probability
(1 - gamma) / k + gamma, any other label with (1 - gamma) / k. On such votes OnlineMBBM's theorem is tight.
The boosters are the real ones, and so is the loop.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from onlineboost._compile.jit import inlined_kernel, kernel
from onlineboost._compile.random import uniform
from onlineboost.boosters.adaptive import LADDER, first_steps
from onlineboost.boosters.losses import LOSSES, alpha_bound
from onlineboost.boosters.mbbm import new_mbbm
from onlineboost.boosters.olm import new_olm
from onlineboost.boosters.oza import new_oza
from onlineboost.boosters.potentials import (
    Tables,
    build_cache,
    build_tables,
    excess_cost,
    find_costs,
    label_weight,
    make_costs,
    make_rows,
    want_rows,
)
from onlineboost.boosters.potentials.draws import check_int
from onlineboost.boosters.potentials.pairwise import PAIR_LOSSES
from onlineboost.boosters.votes import Vote
from onlineboost.chain.experts import Combiner, hedge_rounds
from onlineboost.chain.gammas import GammaChange, rounds_to_review
from onlineboost.chain.loops import learn_block
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.learner import LEARNER
from onlineboost.contracts.rows import Pass, new_rows, new_work
from onlineboost.theory.checks import check_codes

LABEL, VOTE = 20, 21  # what a random number is for: `_compile.random` has the other numbers

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
    y = np.empty(check_int("n_examples", n_examples, 0), np.int64)
    check_int("n_classes", n_classes, 2), check_int("seed", seed, 0)
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
    y = check_codes("y", y, check_int("n_classes", n_classes, 2), (-1,))
    check_int("useless", useless, 0), check_int("seed", seed, 0)
    edges = np.ravel(np.asarray(edge, np.float64))
    if len(edges) not in (1, check_int("n_learners", n_learners, 1)):
        raise ValueError(f"edge must be a number, or one for each of the {n_learners} learners; got {len(edges)}")
    edges = np.array(np.broadcast_to(edges, n_learners))
    if not ((edges >= 0.0) & (edges < 1.0)).all():
        raise ValueError(f"edges must be in [0, 1), got {edge!r}")
    votes = np.empty((len(y), n_learners), np.int64)
    _draw_votes(y, n_classes, edges, useless, seed, votes)
    return votes


# arguments: a kernel takes all that it works on
@kernel
def _greedy_votes(tables, cache, y, gammas, slack, spent, weights, s, votes):
    N, k = gammas.size, s.size
    labels, p = np.arange(k), np.zeros(k)
    for t in range(y.size):
        s[:] = 0.0
        for i in range(N):
            m = N - 1 - i
            at = find_costs(cache, s, tables.reach[m], tables.key[m])
            if at < 0:
                at = make_costs(cache)
            if want_rows(cache, at, y[t], labels, p, 0):
                make_rows(tables, cache, at, m)
            weights[i] += label_weight(cache, at, y[t])
            left = (1.0 - gammas[i]) / k * weights[i] + slack - spent[i]
            votes[t, i] = y[t]
            most = 0.0
            for l in range(k):
                cost = excess_cost(cache, at, y[t], l)
                if most < cost <= left:
                    votes[t, i] = l
                    most = cost
            spent[i] += most
            s[votes[t, i]] += 1.0


def greedy_votes(y: np.ndarray, tables: Tables, edges: ArrayLike | None = None, slack: float = 0.0) -> np.ndarray:
    """Votes (examples, learners) that cost OnlineMBBM as much as the weak learning condition allows, at once.

    Learner i knows the label and the costs. It casts the dearest vote for which the condition, sum_t w_t D_t[y, l] <=
    (1 - gamma_i) / k sum_t w_t + slack, still holds after this round, with its own gamma: that of the tables, unless
    ``edges`` are given.

    Examples
    --------
    >>> from onlineboost.boosters.potentials import asymptotic_error
    >>> y = draw_labels(2000, n_classes=3)
    >>> booster = Simulation("online-mbbm", n_classes=3, n_learners=30, gamma=[0.3, 0.05] * 15)
    >>> lost = booster.play(greedy_votes(y, booster.state.tables), y).lost
    >>> bool(lost.mean() <= asymptotic_error(3, 30, [0.3, 0.05] * 15))
    True
    """
    if not isinstance(tables, Tables):
        raise TypeError(f"tables must be those of a Simulation of online-mbbm, got {type(tables).__name__}")
    N, y = tables.n_learners, check_codes("y", y, tables.n_classes, (-1,))
    votes = np.empty((len(y), N), np.int64)
    gammas = np.array(np.broadcast_to(tables.gamma[::-1] if edges is None else edges, N), np.float64)
    s = np.zeros(tables.n_classes)
    _greedy_votes(tables, build_cache(tables), y, gammas, slack, np.zeros(N), np.zeros(N), s, votes)
    return votes


# ------------------------------------------------------------------------------------------------------- boosters


class Told(NamedTuple):
    """Weak learners that vote as they are told."""

    votes: np.ndarray  # int64 (rows, learners)


@inlined_kernel
def ask(told, i, rows, b, scratch, work):
    work.labels[0] = told.votes[b, i]
    work.p[0] = 1.0
    return 1, 0


@inlined_kernel
def teach(told, i, rows, b, y, weight, t, what, scratch):
    return


LEARNER.implement(Told, ask, teach)


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
    adaptive : bool
        Whether its alphas move in adaptive steps, or in those of the paper.
    gamma : float, one for each learner, or "adaptive"
        Of OnlineMBBM; `change_gamma` changes it between rounds.

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
        adaptive: bool = False,
        gamma: float | ArrayLike | str = 0.1,
        seed: int = 0,
    ) -> None:
        if booster not in ("adaboost-olm", "online-mbbm", "oza"):
            raise ValueError(f"booster must be adaboost-olm, online-mbbm or oza, got {booster!r}")
        if isinstance(gamma, str) and gamma != "adaptive":
            raise ValueError(f'gamma must be a number, one for each learner, or "adaptive", got {gamma!r}')
        if loss not in LOSSES:
            raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
        self.k, self.n_learners = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
        self.booster, self.seed, self.t = booster, check_int("seed", seed, 0), 0
        self.state = self._new_state(loss, adaptive, gamma)
        self.combiner = Combiner.HEDGE if booster == "adaboost-olm" else Combiner.LAST
        self.log_v = np.zeros(n_learners)

    def _new_state(self, loss: str, adaptive: bool, gamma: Any) -> Booster:
        if self.booster == "online-mbbm":
            adapts = isinstance(gamma, str)
            tables = build_tables(self.k, self.n_learners, LADDER[first_steps(self.n_learners)] if adapts else gamma)
            return new_mbbm(Vote.ARGMAX, self.seed, np.ones(self.n_learners), tables, adaptive=adapts)
        if self.booster == "oza":
            return new_oza(draws=False, seed=self.seed, n_learners=self.n_learners)
        return new_olm(LOSSES[loss], Vote.ARGMAX, self.seed, np.ones(self.n_learners), adaptive=adaptive)

    def change_gamma(self, gamma: float | ArrayLike) -> None:
        """From the next round on, OnlineMBBM's costs are those of this gamma, or of one for each learner."""
        if self.booster != "online-mbbm":
            raise ValueError(f"gamma is a setting of online-mbbm; this is {self.booster}")
        self.state = self.state.with_tables(build_tables(self.k, self.n_learners, gamma))

    @property
    def edges(self) -> np.ndarray:
        """Edges shown so far."""
        return self.state.edges(self.k)

    @property
    def weights(self) -> np.ndarray:
        """sum_t -C[y, y] (Adaboost.OLM) or sum_t w_t (OnlineMBBM) of every learner."""
        return self.state.weights

    def play(self, votes: np.ndarray, y: np.ndarray, *, trace: bool = False) -> Outcome:
        """The coming rounds. With ``trace``, keep what `alpha_regret` needs."""
        votes, N = np.asarray(votes), self.n_learners
        if votes.ndim == 2 and votes.shape[1] != N:
            raise ValueError(f"votes are of {votes.shape[1]} learners, the booster has {N}")
        y = check_codes("y", y, self.k, (-1,))
        votes = check_codes("votes", votes, self.k, (len(y), N))
        if not self.state.adapts():
            return self._play(votes, y, trace)
        parts: list[Outcome] = []
        at = 0
        while at < len(y) or not parts:  # gammas change in some rounds alone
            rounds = rounds_to_review(self.t)
            parts.append(self._play(votes[at : at + rounds], y[at : at + rounds], trace))
            at += rounds
            if at <= len(y):
                self.state = GammaChange.noted([self.state]).of(self.state)
        return Outcome(*(np.concatenate([getattr(part, f.name) for part in parts]) for f in fields(Outcome)))

    def _play(self, votes: np.ndarray, y: np.ndarray, trace: bool) -> Outcome:
        T, N = votes.shape
        weight, none = np.ones(T), np.empty((T, 0))
        notes = self.state.new_notes(T, self.k, weight)
        rows = new_rows(none, np.zeros(T, np.bool_), none, self.t + 1, self.k, N, notes)
        before = np.empty((T, N, self.k) if trace else (0, 0, 0))
        alphas = np.empty((T, N) if trace else (0, 0))
        work, out, at = new_work(self.k), np.empty(T, np.int64), np.arange(T)
        if trace:  # learner by learner, to see the votes in between
            for i in range(N):
                before[:, i] = rows.s
                one = self.state.part(i, i + 1)
                learn_block(Pass(Told(np.ascontiguousarray(votes[:, i : i + 1])), one, rows, y, weight, None, work))
                for name in one.per_learner():
                    getattr(self.state, name)[i] = getattr(one, name)[0]
                alphas[:, i] = rows.s[at, votes[:, i]] - before[at, i, votes[:, i]]
        else:
            learn_block(Pass(Told(votes), self.state, rows, y, weight, None, work))
        hedge_rounds(self.combiner, self.log_v, self.seed, self.t + 1, rows.experts, y, weight, self.k, out)
        self.t += T
        rivals = rows.s.copy()
        rivals[at, y] = -np.inf
        lost = rivals.max(axis=1) >= rows.s[at, y]
        return Outcome(y, out, rows.experts, lost, before, alphas)


# --------------------------------------------------------------------------------------------------------- regret


def alpha_regret(loss: str, before: np.ndarray, votes: np.ndarray, y: np.ndarray, alphas: np.ndarray, reach: float):
    """sum_t f_t(alpha_t) - min over |alpha| <= reach of sum_t f_t(alpha), for one learner.

    f_t(alpha) = L^y(s + alpha e_l): ``before`` (rounds, k) are the votes s before the learner, ``votes`` its l,
    ``alphas`` the alphas it voted with. At most `theory.regret_bounds`, or `theory.adaptive_regret_bounds`.
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
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
    if not isinstance(outcome, Outcome):
        raise TypeError(f"outcome must be what Simulation.play returns, got {type(outcome).__name__}")
    if not outcome.before.size:
        raise ValueError("outcome has no trace: call play with trace=True")
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    votes = check_codes("votes", votes, outcome.before.shape[2], outcome.before.shape[:2])
    n = votes.shape[1]
    reach = alpha_bound(LOSSES[loss], n)
    runs = [(outcome.before[:, i], votes[:, i], outcome.y, outcome.alphas[:, i]) for i in range(n)]
    return np.array([alpha_regret(loss, *run, reach) for run in runs])
