"""What no booster can beat (Theorem 2): errors, learners and examples, on some learners of edge gamma."""

from __future__ import annotations

import math

import numpy as np

from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.boosters.potentials.checks import check_gamma
from onlineboost.boosters.potentials.draws import vote_distribution
from onlineboost.theory.checks import check_delta, check_error


def least_error(n_classes: int, n_learners: int, gamma: float) -> float:
    """The error that no booster beats, whatever it does, on some learners with edge gamma (Theorem optimality).

    Labels are uniform, and votes are independent draws from u_{2 gamma}. Such learners satisfy the weak learning
    condition with edge gamma (`excess_of_votes`), and the majority, ties shared, is the best use of their votes.

    Examples
    --------
    >>> round(least_error(5, 100, 0.05), 4), round(least_error_closed(5, 100, 0.05), 4)
    (0.1845, 0.0317)
    """
    if 2.0 * check_gamma(gamma) >= 1.0:
        return 0.0
    return asymptotic_error(n_classes, n_learners, 2.0 * gamma, ties="shared")


def least_error_closed(n_classes: int, n_learners: int, gamma: float) -> float:
    """Less than `least_error`, in closed form: 1/2 P(Z >= gamma sqrt(N (1/p + 1/q) + 1/(p q))), p, q as above."""
    if 2.0 * check_gamma(gamma) >= 1.0:
        return 0.0
    p, q = vote_distribution(n_classes, 2.0 * gamma)
    z = gamma * math.sqrt(n_learners * (1.0 / p + 1.0 / q) + 1.0 / (p * q))
    return 0.25 * math.erfc(z / math.sqrt(2.0))


def excess_of_votes(edge: float, gamma: float, delta: float) -> float:
    """S for which independent votes from u_edge satisfy the weak learning condition with gamma < edge.

    (1 - gamma) log(1 / delta) / (2 (edge - gamma)), for all T at once. The paper has k log(1 / delta) / (2 gamma) for
    edge = 2 gamma; there is no need for the k.

    Examples
    --------
    >>> round(excess_of_votes(edge=0.2, gamma=0.1, delta=0.05), 2)
    13.48
    """
    check_delta(delta)
    if not 0.0 <= gamma < edge <= 1.0:
        raise ValueError(f"gamma must lie in [0, edge), edge in (0, 1]; got gamma={gamma!r}, edge={edge!r}")
    return (1.0 - gamma) * math.log(1.0 / delta) / (2.0 * (edge - gamma))


def useless_rounds(n_classes: int, gamma: float, excess_loss: float, delta: float) -> int:
    """T_0: so long may learners just guess, and then vote from u_{2 gamma}, within edge gamma and excess loss S.

    The largest k (S - log(1/delta) / x) / ((e^x - 1) / x - 1 + gamma) over x <= 2 gamma / (1 - gamma). It tends to
    k S / gamma as S grows; the paper has k S / (4 gamma). 0 if S is too small for such learners.

    Examples
    --------
    >>> useless_rounds(n_classes=3, gamma=0.1, excess_loss=100, delta=0.05)
    1389
    """
    check_delta(delta)
    if not 0.0 < gamma < 0.5:
        raise ValueError(f"gamma must be in (0, 1/2): votes are from u_(2 gamma); got {gamma!r}")
    x = np.linspace(0.0, 2.0 * gamma / (1.0 - gamma), 2001)[1:]
    rounds = n_classes * (excess_loss - math.log(1.0 / delta) / x) / (np.expm1(x) / x - 1.0 + gamma)
    return max(0, math.floor(rounds.max()))


def least_examples(n_classes: int, gamma: float, error: float, excess_loss: float, delta: float) -> int:
    """No booster has made less than a share ``error`` of mistakes before so many examples, on some learners.

    (1 - 1/k) T_0 / error: learners that just guess for T_0 rounds leave the booster guessing too.

    Examples
    --------
    >>> least_examples(n_classes=3, gamma=0.1, error=0.05, excess_loss=100, delta=0.05)
    18520
    """
    useless = useless_rounds(n_classes, gamma, excess_loss, delta)
    return math.ceil((1.0 - 1.0 / n_classes) * useless / check_error(error))
