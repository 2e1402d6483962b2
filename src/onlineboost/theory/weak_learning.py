"""The online weak learning condition as a measurement: what edge has a learner shown on a stream?

A learner satisfies the condition (Definition onlineWLC) with edge gamma and excess loss S if, after every example,

    sum_t w_t C_t[y_t, l_t] <= (1 - gamma) / k sum_t w_t + S,

where l_t are its votes, the weights w_t lie in [0, 1], and the rows of the cost matrices C_t have C[y, y] = 0, no
negative entry, and sum 1. Random guessing has gamma = 0. theory/PROOFS.md has the proofs.

Learning with expert advice makes a learner that is sure to satisfy the condition: `lea` and `link`, at the end.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar
from sklearn.utils.validation import has_fit_parameter

from onlineboost._compile.jit import kernel
from onlineboost.boosters.potentials.draws import Floats, check_int
from onlineboost.chain.experts import draw_expert
from onlineboost.theory.checks import (
    check_codes,
    check_delta,
    check_edge,
    check_number,
    check_numbers,
    check_one_gamma,
)

ROUNDING = 1e-9
GRID = 0.1  # steps of log T in which `excess_of_regret` looks for the largest excess,
LEAST_T, MOST_T = 160, 700  # this many at least, to T = 10^7, and at most, to 10^30


@dataclass(frozen=True, eq=False)
class Edge:
    """What a learner has shown on a stream. Made by `measure_edge` and `measure_learner`."""

    n_classes: int
    delta: float
    cost: Floats  # (examples,) sum of w C[y, l] up to each example
    weight: Floats  # (examples,) sum of w up to each example
    deviation: float  # by this much the expected costs may exceed the costs met, at the end, but with probability delta

    @property
    def gamma(self) -> float:
        """The edge shown: the condition holds with equality at the end of the stream, and S = 0."""
        return self._edge(self.cost[-1], self.weight[-1])

    @property
    def lower(self) -> float:
        """With probability 1 - delta the learner's expected edge on this stream is at least this.

        The expected edge replaces every cost by its expectation given the past, and the label, weight and costs of the
        example at hand. Empirical Bernstein bound for martingales; valid after any number of examples.
        """
        return self._edge(self.cost[-1] + self.deviation, self.weight[-1])

    def gamma_for(self, excess_loss: float) -> float:
        """The largest gamma for which the condition held after every example, with S = ``excess_loss``."""
        check_number("excess_loss", excess_loss)
        some = self.weight > 0.0
        return min(1.0, float((1.0 - self.n_classes * (self.cost - excess_loss)[some] / self.weight[some]).min()))

    def excess_loss(self, gamma: float) -> float:
        """The smallest S for which the condition held after every example, with this edge."""
        check_number("gamma", gamma, -math.inf, 1.0)
        return max(0.0, float((self.cost - (1.0 - gamma) / self.n_classes * self.weight).max()))

    def _edge(self, cost: float, weight: float) -> float:
        return 1.0 - self.n_classes * float(cost / weight)


def measure_edge(costs: ArrayLike, weights: ArrayLike, n_classes: int, delta: float = 0.05) -> Edge:
    """The edge of a learner from the costs it incurred: ``costs`` are w_t C_t[y_t, l_t], ``weights`` are w_t.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> wrong = rng.random(5000) < 0.9 / 2                # a learner of edge 0.1 on two classes
    >>> edge = measure_edge(wrong, np.ones(5000), n_classes=2)
    >>> round(edge.gamma, 3), round(edge.lower, 3)
    (0.089, 0.038)
    >>> round(edge.excess_loss(gamma=0.05), 1), round(edge.gamma_for(excess_loss=20), 3)
    (1.1, 0.082)
    """
    k = check_int("n_classes", n_classes, 2)
    check_delta(delta)
    x, w = np.asarray(costs, np.float64), np.asarray(weights, np.float64)
    if x.shape != w.shape or x.ndim != 1 or not w.sum() > 0.0:
        raise ValueError(f"give one cost and one weight per example, not all weights 0; got {x.shape} and {w.shape}")
    if not ((w >= 0.0) & (w <= 1.0 + ROUNDING)).all():
        raise ValueError(f"weights must lie in [0, 1], got {w[~((w >= 0.0) & (w <= 1.0 + ROUNDING))][0]}: divide them")
    if not ((x >= 0.0) & (x <= w + ROUNDING)).all():
        raise ValueError("costs must lie between 0 and the example's weight: rows of cost matrices sum to 1")
    total, mass = np.cumsum(x), np.cumsum(w)
    # A guess at every cost from the past, the mean cost per weight so far. It need not be good for the bound to hold.
    guess = w * np.concatenate([[1.0 / k], (total[:-1] + 1.0 / k) / (mass[:-1] + 1.0)])
    return Edge(k, delta, total, mass, _deviation(float(((x - guess) ** 2).sum()), delta))


def _deviation(squares: float, delta: float) -> float:
    """By how much a sum of numbers in [0, 1] stays below its expectation, at most, with probability 1 - delta.

    min over a = 1/2, 1/4, ..., 2^-j of (psi(a) squares + log(j (j + 1) / delta)) / a, psi(a) = -log(1 - a) - a. For
    each a, exp(a (m - x) - psi(a) (x - guess)^2) has expectation at most 1 (Fan, Grama, Liu 2015), so that Ville's
    inequality bounds the sum; the a share delta as 1 / (j (j + 1)).
    """
    j = np.arange(1, 41)
    a = 0.5**j
    return float((((-np.log1p(-a) - a) * squares + np.log(j * (j + 1.0) / delta)) / a).min())


def sure_edges(edges: ArrayLike, weights: ArrayLike, worst: float, most: float, delta: float = 0.05) -> Floats:
    """With probability 1 - delta all learners' expected edges are at least these: from edges and sums of weights alone.

    The expected edge is that of `Edge.lower`. For a booster's ``edges_``, which come without the costs of each example,
    and so less close than `measure_edge`.

    Parameters
    ----------
    edges, weights
        Of every learner: the edge shown, and the sum of its examples' weights, over the same examples.
    worst
        The least edge that one vote can show: -1 for Adaboost.OLM, 1 - k for OnlineMBBM.
    most
        The largest weight that an example can have: k - 1 for both (logistic and 0-1 loss).

    Examples
    --------
    >>> sure_edges([0.2, 0.2, 0.2], [100.0, 1000.0, 10_000.0], worst=-1.0, most=1.0).round(2)
    array([-0.16,  0.08,  0.16])
    """
    check_delta(delta)
    check_number("worst", worst, high=0.0, low=-math.inf), check_number("most", most, 1e-300)
    shown = check_numbers("edges", edges, worst - ROUNDING, 1.0 + ROUNDING)
    total = check_numbers("weights", weights) / most
    if len(shown) != len(total):
        raise ValueError(f"give one edge and one sum of weights per learner, got {len(shown)} and {len(total)}")
    mean = ((1.0 - shown) / (1.0 - worst))[:, None]  # of the cost, in [0, 1]
    j = np.arange(1, 41)
    a = 4.0 * 0.5**j
    with np.errstate(divide="ignore"):
        more = np.log(j * (j + 1.0) * len(shown) / delta) / total[:, None]
    above = (-np.expm1(-(a * mean + more)) / -np.expm1(-a)).min(axis=1)
    return 1.0 - (1.0 - worst) * np.minimum(above, 1.0)


def measure_learner(
    learner: Any,
    X: np.ndarray,
    y: ArrayLike,
    *,
    weights: ArrayLike | None = None,
    costs: ArrayLike | None = None,
    delta: float = 0.05,
) -> Edge:
    """Test, then train a weak learner on a stream, and measure its edge.

    Parameters
    ----------
    learner
        A classifier with ``partial_fit`` and ``predict_proba``. It has learned the stream afterwards.
    X, y
        The stream, in order.
    weights
        w_t in [0, 1]; by default all 1. The learner learns with them, if it takes any.
    costs
        C_t, of shape (examples, k, k) or (k, k) for all examples, classes in sorted order; by default a wrong vote
        costs 1 / (k - 1). The learner votes for the label of least expected cost, argmin_l sum_r p_r C[r, l].

    Examples
    --------
    >>> from onlineboost import HoeffdingTree
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(500, 1))
    >>> edge = measure_learner(HoeffdingTree(), X, X[:, 0] + rng.normal(size=500) > 0.0)
    >>> round(edge.gamma, 2), edge.lower > 0.3
    (0.51, True)
    """
    X = np.asarray(X)
    classes, label = np.unique(np.asarray(y), return_inverse=True)
    k, T = len(classes), len(label)
    if k < 2:
        raise ValueError(f"y must hold at least two classes, got {classes.tolist()}")
    w = np.ones(T) if weights is None else np.asarray(weights, np.float64)
    C = (1.0 - np.eye(k)) / (k - 1) if costs is None else np.asarray(costs, np.float64)
    if C.shape not in ((k, k), (T, k, k)):
        raise ValueError(f"costs must be of shape {(k, k)} or {(T, k, k)}, got {C.shape}")
    _check_costs(C)
    C = np.broadcast_to(C, (T, k, k))
    takes_weight = has_fit_parameter(learner, "sample_weight")
    incurred = np.empty(T)
    started = False
    for t in range(T):
        x, r = X[t : t + 1], label[t]
        p = learner.predict_proba(x)[0] if started else np.full(k, np.nan)
        p = p if np.isfinite(p).all() else np.full(k, 1.0 / k)  # it has nothing to say yet
        incurred[t] = w[t] * C[t, r, np.argmin(p @ C[t])]
        if w[t] > 0.0:
            weight = {"sample_weight": w[t : t + 1]} if takes_weight else {}
            learner.partial_fit(x, classes[r : r + 1], classes=classes, **weight)
            started = True
    return measure_edge(incurred, w, k, delta)


def _check_costs(C: Floats) -> None:
    rows, own = C.sum(axis=-1), np.diagonal(C, axis1=-2, axis2=-1)
    if (C < 0.0).any() or (np.abs(own) > 0.0).any() or (np.abs(rows - 1.0) > ROUNDING).any():
        raise ValueError("each row C[r] of a cost matrix must have C[r, r] = 0, no negative entry, and sum 1")


# ------------------------------------------------------------------------------------- learning with expert advice


@kernel
def _lea(eta, seed, advice, costs, out, incurred):
    log_v = np.zeros(advice.shape[1])
    for t in range(advice.shape[0]):
        out[t] = advice[t, draw_expert(log_v, seed, t + 1)]
        incurred[t] = costs[t, out[t]]
        for i in range(log_v.size):
            log_v[i] -= eta * costs[t, advice[t, i]]


def lea(advice: ArrayLike, costs: ArrayLike, eta: float, seed: int = 0) -> tuple[np.ndarray, Floats]:
    """Learning with expert advice (Algorithm LEA): follow expert i with probability proportional to exp(-eta C^i).

    Parameters
    ----------
    advice : int array of shape (examples, experts)
        The label each expert predicts.
    costs : array of shape (examples, classes)
        Rows w_t C_t[y_t]: what each label costs. C^i is the sum of what expert i has incurred so far.
    eta : float
        The step: `lea_step` for a known number of examples, `link` for a weak learner.

    Returns
    -------
    The predictions, and the costs they incurred.

    Examples
    --------
    >>> advice = np.tile([0, 1], (100, 1))        # two experts; the first is right
    >>> predictions, incurred = lea(advice, np.tile([0.0, 1.0], (100, 1)), eta=lea_step(2, 100))
    >>> bool(incurred.sum() <= lea_regret(2, 100, delta=0.05))
    True
    """
    costs = np.ascontiguousarray(costs, np.float64)
    if costs.ndim != 2 or not np.isfinite(costs).all():
        raise ValueError(f"costs must be finite numbers of shape (examples, classes), got shape {costs.shape}")
    advice = check_codes("advice", advice, costs.shape[1], (len(costs), -1))
    if not advice.shape[1]:
        raise ValueError("advice must have a column for each expert, one at least")
    check_number("eta", eta, high=1e300), check_int("seed", seed, 0)
    out, incurred = np.empty(len(advice), np.int64), np.empty(len(advice))
    _lea(eta, seed, advice, costs, out, incurred)
    return out, incurred


def lea_step(n_experts: int, n_examples: int) -> float:
    """eta = sqrt(8 log n / T), the paper's."""
    check_int("n_experts", n_experts, 1), check_number("n_examples", n_examples, 1)
    return math.sqrt(8.0 * math.log(n_experts) / n_examples)


def lea_regret(n_experts: int, n_examples: float, delta: float) -> float:
    """With probability 1 - delta, LEA with `lea_step` incurs at most so much more than its best expert.

    sqrt(T log(n) / 2) + sqrt(T log(1 / delta) / 2), for costs in [0, 1] (Cesa-Bianchi and Lugosi 2006, Corollary 4.2).
    """
    check_delta(delta)
    check_int("n_experts", n_experts, 1), check_number("n_examples", n_examples)
    return math.sqrt(n_examples * math.log(n_experts) / 2.0) + math.sqrt(n_examples * math.log(1.0 / delta) / 2.0)


# -------------------------------------------------------------------------------- from good experts to weak learners


def excess_of_regret(
    regret: Callable[[float], float], n_classes: int, gamma: float, least_weight: float = 1.0
) -> float:
    """S = max_T (R(T) - gamma m T / k): regret R against experts with edge 2 gamma makes edge gamma (Theorem linkWLC).

    m = ``least_weight`` is the least weight of an example. For `lea_regret` this is k (sqrt(log n) + sqrt(log
    1/delta))^2 / (8 gamma m), but LEA must know T. `link` needs to know neither T nor m.

    Examples
    --------
    >>> S = excess_of_regret(lambda T: lea_regret(20, T, delta=0.05), n_classes=5, gamma=0.1)
    >>> round(S, 1), [round(value, 3) for value in link(20, n_classes=5, gamma=0.1, delta=0.05)]
    (74.9, [0.111, 57.188])
    """
    if not 0.0 < check_one_gamma(gamma) < 1.0 or not 0.0 < least_weight <= 1.0:
        raise ValueError(f"gamma must be in (0, 1) and least_weight in (0, 1], got {gamma!r} and {least_weight!r}")
    drift = gamma * least_weight / check_int("n_classes", n_classes, 2)

    def short(log_T: float) -> float:
        return drift * math.exp(log_T) - regret(math.exp(log_T))

    # A regret may be 0 at first. On a grid of T up to where it has been behind for a long while, look for the largest
    # excess, and then between its neighbours.
    logs = [0.0]
    while len(logs) < MOST_T and (len(logs) < LEAST_T or min(map(short, logs[-LEAST_T // 4 :])) < 0.0):
        logs.append(len(logs) * GRID)
    if len(logs) == MOST_T:
        raise ValueError(f"the regret exceeds gamma m T / k up to T = {math.exp(logs[-1]):.0e}: it must be sublinear")
    best = min(logs, key=short)
    bounds = max(0.0, best - GRID), best + GRID
    found = minimize_scalar(short, bounds=bounds, method="bounded", options={"xatol": 1e-9}).fun
    return max(0.0, -float(min(found, short(best))))


class Link(NamedTuple):
    """A step for LEA, and the excess loss S that it makes a weak learner with."""

    eta: float
    excess_loss: float


def link(n_experts: int, n_classes: int, gamma: float, delta: float, edge: float | None = None) -> Link:
    """The step that makes LEA satisfy the weak learning condition with gamma, and its S (Theorem linkWLC, improved).

    One expert must have the edge ``edge``, by default 2 gamma, with S = 0, for every choice of weights and costs. A
    constant step makes S hold for all T at once and whatever the weights. S is the smaller of two bounds:
    k Q / (8 (edge - gamma)), Q = (sqrt(log n) + sqrt(log 1/delta))^2, and about Q / (2 (edge - gamma)), without k.
    """
    check_delta(delta)
    n, k = check_int("n_experts", n_experts, 2), check_int("n_classes", n_classes, 2)
    edge = 2.0 * check_one_gamma(gamma) if edge is None else edge
    check_edge(gamma, edge)
    a, b = math.sqrt(math.log(n)), math.sqrt(math.log(1.0 / delta))
    by_range = Link(8.0 * (edge - gamma) / k * a / (a + b), k * (a + b) ** 2 / (8.0 * (edge - gamma)))
    room = (edge - gamma) / (1.0 - gamma)
    z, x = room * a / (a + b), room * b / (a + b)  # half of eta, half of the tilt of the deviation
    by_mean = Link(2.0 * z, a**2 / (2.0 * z * (1.0 - z) * (1.0 - x)) + b**2 / (2.0 * x))
    return min(by_range, by_mean, key=lambda choice: choice.excess_loss)
