"""The online weak learning condition as a measurement: what edge has a learner shown on a stream?

A learner satisfies the condition (Definition onlineWLC) with edge gamma and excess loss S if, after every example,

    sum_t w_t C_t[y_t, l_t] <= (1 - gamma) / k sum_t w_t + S,

where l_t are its votes, the weights w_t lie in [0, 1], and the rows of the cost matrices C_t have C[y, y] = 0, no
negative entry, and sum 1. Random guessing has gamma = 0. docs/theory.md has the proofs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import has_fit_parameter

from onlineboost.boosters.potentials.checks import check_int
from onlineboost.boosters.potentials.draws import Floats
from onlineboost.theory.checks import check_delta

ROUNDING = 1e-9


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
        some = self.weight > 0.0
        return min(1.0, float((1.0 - self.n_classes * (self.cost - excess_loss)[some] / self.weight[some]).min()))

    def excess_loss(self, gamma: float) -> float:
        """The smallest S for which the condition held after every example, with this edge."""
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
    shown, total = np.asarray(edges, np.float64), np.asarray(weights, np.float64) / most
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
