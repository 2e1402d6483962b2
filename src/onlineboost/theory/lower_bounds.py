"""What no booster can beat (Theorem 2): errors, learners and examples, on some learners of edge gamma.

The learners vote from u_edge, with an edge above gamma: so little above that they satisfy the weak learning condition
with edge gamma and the excess loss S given, but with probability delta (each). The paper takes the edge 2 gamma.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.optimize import brentq

from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.boosters.potentials.draws import check_int, vote_distribution
from onlineboost.theory.checks import (
    check_delta,
    check_edge,
    check_error,
    check_excess_loss,
    check_number,
    check_one_gamma,
)


def edge_of_votes(n_classes: int, gamma: float, excess_loss: float, delta: float) -> float:
    """The edge with which independent votes satisfy the weak learning condition with gamma and S = ``excess_loss``.

    1 - k (e^(a q) - 1) / (e^a - 1), a = log(1 / delta) / S, q = (1 - gamma) / k. It is about gamma + (1 - gamma)
    (1 - q) log(1 / delta) / (2 S), and tends to gamma as S grows. `excess_of_votes` is the way back.

    Examples
    --------
    >>> [round(edge_of_votes(n_classes=5, gamma=0.1, excess_loss=S, delta=0.05), 4) for S in (5, 50, 500)]
    [0.3061, 0.122, 0.1022]
    """
    k, q = check_int("n_classes", n_classes, 2), (1.0 - check_one_gamma(gamma)) / n_classes
    check_delta(delta)
    if check_excess_loss(excess_loss) == math.inf:
        return float(gamma)
    if excess_loss == 0.0:
        return 1.0
    a = math.log(1.0 / delta) / excess_loss
    share = math.expm1(a * q) / math.expm1(a) if a < 500.0 else math.exp(a * (q - 1.0))
    return max(float(gamma), 1.0 - k * share)


def shrinking_edge(
    n_classes: int, gamma: float, excess_loss: float, delta: float, room: float, weight: float = 1.0
) -> float:
    """The edge of a learner that gets as close to gamma as the room it has made for itself allows.

    ``room`` is the most by which the costs have stayed below (1 - gamma) / k sum w + S so far, at least S. Votes from
    u_edge, drawn for every example and its weight, satisfy the condition with (delta, gamma, S) for all T, and the edge
    tends to gamma: as room grows, or as the weights fall to 0. Every time that the room is four times as large, S_j =
    4^(j-1) S, the edge is that of `edge_of_votes` for S_j / weight and delta / 2^j.

    Examples
    --------
    >>> [round(shrinking_edge(5, 0.1, excess_loss=10, delta=0.05, room=r), 3) for r in (10, 100, 1000, 100_000)]
    [0.231, 0.14, 0.103, 0.1]
    """
    if not check_number("room", room, high=1e300) >= check_excess_loss(excess_loss) > 0.0:
        raise ValueError(f"room must be at least the excess loss, and that above 0; got {room!r} and {excess_loss!r}")
    check_number("weight", weight, 0.0, 1.0)
    check_delta(delta)
    times = int(math.log(room / excess_loss, 4.0) + 1e-9)
    here = math.inf if weight == 0.0 else 4.0**times * excess_loss / weight
    return edge_of_votes(n_classes, gamma, here, delta / 2.0 ** (times + 1))


def excess_of_votes(edge: float, gamma: float, delta: float, n_classes: int | None = None) -> float:
    """S for which independent votes from u_edge satisfy the weak learning condition with gamma < edge.

    Without ``n_classes``, what is enough for any number of them: (1 - gamma) log(1 / delta) / (2 (edge - gamma)). With
    it, log(1 / delta) / a, a > 0 such that 1 + m (e^a - 1) = e^(a q), m = (1 - edge) / k, q = (1 - gamma) / k: half of
    that for two classes. Both hold for all T at once. The paper has k log(1 / delta) / (2 gamma) for edge = 2 gamma.

    Examples
    --------
    >>> round(excess_of_votes(edge=0.2, gamma=0.1, delta=0.05), 2)
    13.48
    >>> [round(excess_of_votes(edge=0.2, gamma=0.1, delta=0.05, n_classes=k), 2) for k in (2, 5, 100)]
    [7.34, 10.71, 12.85]
    """
    check_delta(delta)
    check_edge(gamma, edge)
    enough = 2.0 * (edge - gamma) / (1.0 - gamma)  # an a, for any k
    if n_classes is None:
        return math.log(1.0 / delta) / enough
    k = check_int("n_classes", n_classes, 2)
    m, q = (1.0 - edge) / k, (1.0 - gamma) / k
    if m == 0.0:
        return 0.0
    most = -math.log(m) / (1.0 - q)  # here m e^a = e^(a q)
    return math.log(1.0 / delta) / brentq(lambda a: math.log1p(m * math.expm1(a)) - a * q, enough, most, xtol=1e-14)


def least_error(
    n_classes: int, n_learners: int, gamma: float, excess_loss: float = math.inf, delta: float = 0.05
) -> float:
    """The error that no booster beats, whatever it does, on some learners with edge gamma (Theorem optimality).

    Labels are uniform, and votes are independent draws from u_edge, edge = `edge_of_votes`. Such learners satisfy the
    weak learning condition with (delta, gamma, ``excess_loss``), and the majority, ties shared, is the best use of
    their votes: in every round the error is at least this. With the default, edge = gamma: learners with any excess
    loss above 0 come to this as T grows (`shrinking_edge`), and so no booster has a lower error in the long run.

    Examples
    --------
    >>> round(least_error(5, 100, 0.1), 4), round(least_error_closed(5, 100, 0.1), 4)
    (0.1845, 0.0317)
    >>> round(least_error(5, 100, 0.1, excess_loss=50), 4)
    0.106
    """
    edge = edge_of_votes(n_classes, gamma, excess_loss, delta)
    return asymptotic_error(n_classes, n_learners, edge, ties="shared") if edge < 1.0 else 0.0


def least_error_closed(
    n_classes: int, n_learners: int, gamma: float, excess_loss: float = math.inf, delta: float = 0.05
) -> float:
    """Less than `least_error`, in closed form: the largest of three bounds, p and q those of u_edge.

    * 1/2 P(Z >= edge / 2 sqrt(N (1/p + 1/q) + 1/(p q))), Z normal: one other label is ahead. For edges up to 1/k.
    * (1 - p)^N: no vote is for the right label. For larger edges.
    * (log(k / 2) - N I) / log(k - 1), I what a vote tells of the label (Fano): for many classes.

    Examples
    --------
    >>> [round(least_error_closed(k, 100, 0.05), 4) for k in (2, 20, 200)]
    [0.1537, 0.1428, 0.0036]
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    edge = edge_of_votes(k, gamma, excess_loss, delta)
    if edge >= 1.0:
        return 0.0
    p, q = vote_distribution(k, edge)
    z = edge / 2.0 * math.sqrt(N * (1.0 / p + 1.0 / q) + 1.0 / (p * q))
    behind, unseen = 0.25 * math.erfc(z / math.sqrt(2.0)), (1.0 - p) ** N
    if k == 2:
        return max(behind, unseen)
    told = p * math.log(k * p) + (k - 1) * q * math.log(k * q)
    return max(behind, unseen, (math.log(k / 2.0) - N * told) / math.log(k - 1.0))


def useless_rounds(n_classes: int, gamma: float, excess_loss: float, delta: float) -> int:
    """T_0: so long may learners just guess, and never be wrong after, within edge gamma and excess loss S.

    The largest (S - log(1/delta) / a) / (log(1 + (e^a - 1) / k) / a - (1 - gamma) / k) over a > 0. It tends to k S /
    gamma as S grows; the paper has k S / (4 gamma). 0 if S is too small for such learners.

    Examples
    --------
    >>> useless_rounds(n_classes=3, gamma=0.1, excess_loss=100, delta=0.05)
    1604
    """
    check_delta(delta)
    k = check_int("n_classes", n_classes, 2)
    if not 0.0 < check_one_gamma(gamma) < 1.0:
        raise ValueError(f"gamma must be in (0, 1), got {gamma!r}")
    if check_number("excess_loss", excess_loss, high=1e300) == 0.0:
        return 0
    a = math.log(1.0 / delta) / excess_loss * (1.0 + np.geomspace(1e-4, 1e6, 4001))
    growth = np.logaddexp(math.log1p(-1.0 / k), a - math.log(k)) / a  # log(1 + (e^a - 1) / k) / a, for large a too
    rounds = (excess_loss - math.log(1.0 / delta) / a) / (growth - (1.0 - gamma) / k)
    return max(0, math.floor(rounds.max()))


def least_examples(n_classes: int, gamma: float, error: float, excess_loss: float, delta: float) -> int:
    """No booster has made less than a share ``error`` of mistakes before this many examples, on some learners.

    (1 - 1/k) T_0 / error: learners that just guess for T_0 rounds leave the booster guessing too.

    Examples
    --------
    >>> least_examples(n_classes=3, gamma=0.1, error=0.05, excess_loss=100, delta=0.05)
    21387
    """
    useless = useless_rounds(n_classes, gamma, excess_loss, delta)
    return math.ceil((1.0 - 1.0 / n_classes) * useless / check_error(error))
