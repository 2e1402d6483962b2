"""How many learners and examples an error takes: the bounds, solved for N and T."""

from __future__ import annotations

import math
from collections.abc import Callable

from numpy.typing import ArrayLike

from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.boosters.potentials.draws import check_gammas, check_int
from onlineboost.theory.checks import check_error, check_excess_loss, check_plan
from onlineboost.theory.lower_bounds import edge_of_votes, least_error, least_error_closed
from onlineboost.theory.upper_bounds import (
    HEDGE_RATE,
    MOST_EXACT,
    chernoff_rate,
    edge_gain,
    mbbm_error,
    olm_bound,
    weight_sum,
)


def mbbm_learners(n_classes: int, gamma: float, error: float) -> int:
    """The fewest learners of edge gamma for which OnlineMBBM's error rate phi_N(0) is at most ``error``.

    Exact up to 50,000 learners; where the Chernoff bound needs more, what it needs.

    Examples
    --------
    >>> mbbm_learners(n_classes=5, gamma=0.1, error=0.05)
    219
    """
    enough = chernoff_learners(n_classes, gamma, error)
    if enough > MOST_EXACT:
        return enough

    def good(n: int) -> bool:
        return asymptotic_error(n_classes, n, gamma) <= error

    if good(1):
        return 1
    found = first_where(good, 1, enough)
    # With ties lost, one vote more can do harm: N even is worse than N - 1. So look at a few smaller N.
    while any(good(n) for n in range(max(2, found - 6), found)):
        found = next(n for n in range(max(2, found - 6), found) if good(n))
    return found


def hoeffding_learners(n_classes: int, gamma: float, error: float) -> int:
    """Learners that are enough by the paper's (k - 1) exp(-gamma^2 N / 2) <= error.

    Examples
    --------
    >>> hoeffding_learners(5, 0.1, 0.05), chernoff_learners(5, 0.1, 0.05)
    (877, 397)
    """
    check_plan(n_classes, gamma, error)
    return max(1, math.ceil(2.0 * math.log((n_classes - 1) / error) / gamma**2))


def chernoff_learners(n_classes: int, gamma: float, error: float) -> int:
    """Learners that are enough by `chernoff_error`."""
    check_plan(n_classes, gamma, error)
    return max(1, math.ceil(math.log((n_classes - 1) / error) / chernoff_rate(n_classes, gamma)))


def least_learners(
    n_classes: int, gamma: float, error: float, excess_loss: float = math.inf, delta: float = 0.05
) -> int:
    """No booster can do with fewer learners of edge gamma than these, on some learners (Theorem optimality).

    With the default, for an error in the long run, whatever the excess loss. With an ``excess_loss``, for an error
    after any number of examples, and learners that satisfy the condition with (delta, gamma, ``excess_loss``). Exact up
    to 50,000 learners; above, what `least_error_closed` says, if that is more.

    Examples
    --------
    >>> least_learners(n_classes=5, gamma=0.1, error=0.05)
    210
    >>> [least_learners(n_classes=5, gamma=0.1, error=0.05, excess_loss=S) for S in (10, 100, 1000)]
    [53, 172, 205]
    """
    check_plan(n_classes, gamma, error)
    edge = edge_of_votes(n_classes, gamma, excess_loss, delta)
    if edge >= 1.0 or least_error(n_classes, 1, edge) <= error:
        return 1
    enough = chernoff_learners(n_classes, edge, error)
    if enough > MOST_EXACT and least_error(n_classes, MOST_EXACT, edge) > error:
        closed = first_where(lambda n: least_error_closed(n_classes, n, edge) <= error, 1, enough)
        return max(MOST_EXACT + 1, closed)
    return first_where(lambda n: least_error(n_classes, n, edge) <= error, 1, min(enough, MOST_EXACT))


def olm_learners(n_classes: int, gamma: float, error: float) -> int:
    """Learners of edge gamma for which Adaboost.OLM's bound (logistic loss), over T, tends to at most ``error``.

    Examples
    --------
    >>> olm_learners(n_classes=5, gamma=0.1, error=0.05)
    35002
    """
    check_plan(n_classes, gamma, error)
    limit = 2.0 * (n_classes - 1) * math.log(2.0) / float(edge_gain(gamma)) / HEDGE_RATE
    return math.ceil(limit / error)


def mbbm_examples(n_classes: int, n_learners: int, gamma: float | ArrayLike, error: float, excess_loss: float) -> float:
    """Examples after which OnlineMBBM's bound is a share ``error``: S sum_i w^{i*} / (error - phi_N(0)), or infinity.

    ``gamma`` is a number, or one for each learner, in the order of the chain.

    Examples
    --------
    >>> round(mbbm_examples(n_classes=5, n_learners=300, gamma=0.1, error=0.05, excess_loss=20))
    77159
    """
    spare = check_error(error) - mbbm_error(n_classes, n_learners, gamma)
    S = check_excess_loss(excess_loss)
    return S * weight_sum(n_classes, n_learners, gamma) / spare if spare > 0.0 else math.inf


def olm_examples(n_classes: int, n_learners: int, gamma: float | ArrayLike, error: float, delta: float = 0.05) -> float:
    """Examples after which Adaboost.OLM's bound (logistic loss, edges gamma) is a share ``error``, or infinity.

    ``gamma`` is a number, or one for each learner, in the order of the chain.

    Examples
    --------
    >>> f"{olm_examples(n_classes=2, n_learners=2000, gamma=0.3, error=0.05):.1e}"
    '2.2e+08'
    """
    edges = check_gammas(gamma, check_int("n_learners", n_learners, 1))
    check_plan(n_classes, edges.max(), error)

    def good(n: int) -> bool:
        return olm_bound("logistic", edges, n_classes, n, delta=delta) <= error * n

    most = 1 << 62
    return first_where(good, 0, most) if good(most) else math.inf


def first_where(good: Callable[[int], bool], low: int, high: int) -> int:
    """The n where bad turns good, low < n <= high, given that high is good."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if good(middle) else (middle, high)
    return high
