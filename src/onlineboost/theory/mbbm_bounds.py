"""OnlineMBBM's mistake bound (Theorem 1) as a number, the errors it tends to, and the weights in it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from onlineboost.boosters.potentials import asymptotic_error, weight_bounds
from onlineboost.boosters.potentials.checks import check_gammas, check_int
from onlineboost.boosters.potentials.draws import Floats, vote_distribution, vote_distributions
from onlineboost.theory.checks import check_excess_loss, check_one_gamma

MOST_EXACT = 50_000  # learners: up to here planning computes phi_N(0), beyond it takes the Chernoff bound
BERRY_ESSEEN = 0.4748  # Shevtsova 2011
EXACT_WEIGHTS = 500  # learners: the weights of so many, from the last one back, are exact in `weight_sum`
LIKELIEST = 0.46883  # the largest sqrt(z) e^-z I_0(z): no probability of Bin(m, p) is above this / sqrt(m p (1 - p))


def mbbm_bound(
    n_classes: int, n_learners: int, gamma: float | ArrayLike, n_examples: int, excess_loss: float = 0.0
) -> float:
    """Mistakes of OnlineMBBM, ties counted, at most: phi_N(0) T + S sum_i w^{i*} (Theorem mistakeOptimal).

    It holds with probability 1 - N delta if every learner satisfies the weak learning condition with (delta, gamma, S),
    for the majority of all N votes (``combiner="last"``). ``gamma`` is a number, or one for each learner, in the order
    of the chain.

    Examples
    --------
    >>> round(mbbm_bound(n_classes=5, n_learners=400, gamma=0.1, n_examples=100_000, excess_loss=20))
    3355
    >>> round(mbbm_bound(5, 400, [0.15, 0.05] * 200, n_examples=100_000, excess_loss=20))
    3357
    """
    T = check_int("n_examples", n_examples, 0)
    check_excess_loss(excess_loss)
    error = mbbm_error(n_classes, n_learners, gamma)
    return error * T + (excess_loss * weight_sum(n_classes, n_learners, gamma) if excess_loss else 0.0)


def mbbm_error(n_classes: int, n_learners: int, gamma: float | ArrayLike) -> float:
    """phi_N(0) up to 50,000 learners, beyond, where that takes long, `chernoff_error`."""
    exact = n_learners <= MOST_EXACT
    return asymptotic_error(n_classes, n_learners, gamma) if exact else chernoff_error(n_classes, n_learners, gamma)


def weight_sum(n_classes: int, n_learners: int, gamma: float | ArrayLike) -> float:
    """sum_i w^{i*}: what one unit of excess loss costs in mistakes. From `weight_bounds`.

    ``gamma`` is a number, or one for each learner, in the order of the chain. For N - i above 500 the bounds are taken
    at every hundredth of the way: they fall with N - i, so it stays a bound. There different gammas are bounded as in
    `weight_sum_closed`.

    Examples
    --------
    >>> round(weight_sum(5, 100, 0.1), 1), round(weight_sum(5, 10_000, 0.1))
    (67.1, 708)
    >>> round(weight_sum(5, 100, [0.15, 0.05] * 50), 1)
    67.6
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    gammas = check_gammas(gamma, N)[::-1]  # by m = N - i
    exact = min(N, EXACT_WEIGHTS)
    weights = weight_bounds(k, exact, gammas[:exact][::-1])
    if N > EXACT_WEIGHTS and np.size(gamma) > 1 and (gammas != gammas[0]).any():
        p, _ = vote_distributions(k, gammas)
        z = np.cumsum(p * (1.0 - p))[exact - 1 : -1]  # of m = 500, ..., N - 1 draws
        return float(weights.sum() + np.minimum(weights[0], (k - 1) * LIKELIEST / np.sqrt(z)).sum())
    total, m = float(weights.sum()), exact
    while m < N:
        after = min(N, max(m + 1, int(m * 1.01)))
        total += (after - m) * (k - 1) * _likeliest(m, vote_distribution(k, gammas[0])[0])
        m = after
    return total


def weight_sum_closed(n_classes: int, n_learners: int, gamma: float | ArrayLike) -> float:
    """At least `weight_sum`, in closed form: (k - 1) (1 + 0.94 sqrt((N - 1) / (p (1 - p)))), p of u_gamma.

    Of several gammas, one for each learner, the one with the least p (1 - p) counts.

    With the learners that `chernoff_error` asks for it is below (k - 1) (1 + 1.9 sqrt(L / (1 - p)) / gamma), with
    L = log((k - 1) / error). So O~(k S / (gamma error)) examples are enough, as many as Theorem optimality asks for.

    Examples
    --------
    >>> round(weight_sum_closed(5, 100, 0.1), 1), round(weight_sum_closed(5, 10_000, 0.1))
    (87.1, 839)
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    p, _ = vote_distributions(k, _different(gamma, N))
    return (k - 1) * (1.0 + 2.0 * LIKELIEST * math.sqrt((N - 1) / (p * (1.0 - p)).min()))


def _different(gamma: float | ArrayLike, n: int) -> Floats:
    """The gammas of n learners, or the one that all of them have."""
    gammas = check_gammas(gamma, n)
    return gammas if np.size(gamma) > 1 and (gammas != gammas[0]).any() else gammas[:1]


def _likeliest(m: int, p: float) -> float:
    """max_x b(x), b the probabilities of Bin(m, p), for large m, rounded up."""
    x = min(m, int((m + 1) * p))  # the mode
    log_b = math.lgamma(m + 1) - math.lgamma(x + 1) - math.lgamma(m - x + 1)
    b = math.exp(log_b + x * math.log(p) + (m - x) * math.log1p(-p))
    return min(1.0, b * (1.0 + 1e-6))


def paper_weight_bounds(n_classes: int, n_learners: int, gamma: float) -> Floats:
    """The paper's w^{i*}, i = 1..N: the smaller of k and, for gamma < 1/2, c k^(5/2) / sqrt(N - i) (Lemma weightBound).

    Its proof gives c = 2 / sqrt(2 pi) + 8 * 0.4748 = 4.6, with the best constant known for Berry-Esseen.
    `weight_bounds` are smaller by a factor of order k.

    Examples
    --------
    >>> paper_weight_bounds(n_classes=3, n_learners=2001, gamma=0.1)[[0, -1]].round(2)
    array([1.6, 3. ])
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    bounds = np.full(N, float(k))
    if check_one_gamma(gamma) < 0.5:
        c = 2.0 / math.sqrt(2.0 * math.pi) + 8.0 * BERRY_ESSEEN
        bounds[:-1] = np.minimum(k, c * k**2.5 / np.sqrt(np.arange(N - 1, 0, -1)))
    return bounds


def hoeffding_error(n_classes: int, n_learners: int, gamma: float | ArrayLike) -> float:
    """(k - 1) exp(-gamma^2 N / 2) >= phi_N(0) (Lemma asymptoticError, Corollary mistakeOptimal).

    Of several gammas, one for each learner, the mean counts.

    Examples
    --------
    >>> round(hoeffding_error(5, 1000, 0.1), 4), round(chernoff_error(5, 1000, 0.1), 6)
    (0.027, 6.3e-05)
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    return (k - 1) * math.exp(-0.5 * float(_different(gamma, N).mean()) ** 2 * N)


def chernoff_error(n_classes: int, n_learners: int, gamma: float | ArrayLike) -> float:
    """(k - 1) (1 - (sqrt p - sqrt q)^2)^N >= phi_N(0): the right exponent, where Hoeffding's is a factor k/2 too small.

    u_gamma draws the right label with probability p and each other one with q. With one gamma for each learner it is
    the least (k - 1) prod_i (1 - p_i (1 - e^-a) - q_i (1 - e^a)) over a.
    """
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    gammas = check_gammas(gamma, N)
    if (gammas == gammas[0]).all():
        return (k - 1) * math.exp(-N * chernoff_rate(k, gammas[0]))
    p, q = vote_distributions(k, gammas)

    def log_error(a: float) -> float:  # convex in a
        return float(np.log1p(p * math.expm1(-a) + q * math.expm1(a)).sum())

    most = 0.5 * math.log((p / q).max())  # the best a lies between those of the single gammas
    return (k - 1) * math.exp(minimize_scalar(log_error, bounds=(0.0, most), method="bounded").fun)


def chernoff_rate(k: int, gamma: float) -> float:
    p, q = vote_distribution(check_int("n_classes", k, 2), check_one_gamma(gamma))
    return -math.log1p(-((math.sqrt(p) - math.sqrt(q)) ** 2)) if gamma < 1.0 else math.inf
