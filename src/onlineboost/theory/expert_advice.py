"""Learning with expert advice, and how it makes a learner that is sure to satisfy the weak learning condition.

The condition is in `weak_learning`; docs/theory.md has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from onlineboost._compile.jit import kernel
from onlineboost.boosters.potentials.checks import check_int
from onlineboost.boosters.potentials.draws import Floats
from onlineboost.chain.experts import draw_expert
from onlineboost.theory.checks import check_delta, check_one_gamma

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
    advice, costs = np.asarray(advice, np.int64), np.asarray(costs, np.float64)
    out, incurred = np.empty(len(advice), np.int64), np.empty(len(advice))
    _lea(eta, seed, advice, costs, out, incurred)
    return out, incurred


def lea_step(n_experts: int, n_examples: int) -> float:
    """eta = sqrt(8 log n / T), the paper's."""
    return math.sqrt(8.0 * math.log(n_experts) / n_examples)


def lea_regret(n_experts: int, n_examples: float, delta: float) -> float:
    """With probability 1 - delta, LEA with `lea_step` incurs at most so much more than its best expert.

    sqrt(T log(n) / 2) + sqrt(T log(1 / delta) / 2), for costs in [0, 1] (Cesa-Bianchi and Lugosi 2006, Corollary 4.2).
    """
    check_delta(delta)
    return math.sqrt(n_examples * math.log(n_experts) / 2.0) + math.sqrt(n_examples * math.log(1.0 / delta) / 2.0)


def littlestone_regret(dimension: int, n_classes: int, n_examples: float, delta: float) -> float:
    """The same for all hypotheses of a class of finite Littlestone dimension d, as (T k)^d experts cover it.

    (Lemma onlineAgnosticLearnability.)
    """
    check_delta(delta)
    experts = dimension * math.log(n_examples * n_classes)
    return math.sqrt(n_examples * experts / 2.0) + math.sqrt(n_examples * math.log(1.0 / delta) / 2.0)


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
    drift = gamma * least_weight / n_classes
    T = 1.0
    while regret(T) > drift * T:  # a sublinear regret falls behind in the end
        T *= 2.0
    best = minimize_scalar(
        lambda log_T: drift * math.exp(log_T) - regret(math.exp(log_T)),
        bounds=(0.0, math.log(2.0 * T)),
        method="bounded",
        options={"xatol": 1e-9},
    )
    return max(0.0, -float(best.fun))


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
    check_one_gamma(gamma)
    edge = 2.0 * gamma if edge is None else edge
    if not 0.0 <= gamma < edge <= 1.0:
        raise ValueError(f"gamma must lie in [0, edge), edge in (0, 1]; got gamma={gamma!r}, edge={edge!r}")
    a, b = math.sqrt(math.log(n)), math.sqrt(math.log(1.0 / delta))
    by_range = Link(8.0 * (edge - gamma) / k * a / (a + b), k * (a + b) ** 2 / (8.0 * (edge - gamma)))
    room = (edge - gamma) / (1.0 - gamma)
    z, x = room * a / (a + b), room * b / (a + b)  # half of eta, half of the tilt of the deviation
    by_mean = Link(2.0 * z, a**2 / (2.0 * z * (1.0 - z) * (1.0 - x)) + b**2 / (2.0 * x))
    return min(by_range, by_mean, key=lambda choice: choice.excess_loss)
