"""What the boosters promise: the error of OnlineMBBM (Theorem 1), mistakes of Adaboost.OLM (3), loss of the mixture.

theory/PROOFS.md has the proofs where they are not the paper's.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from onlineboost.boosters.losses import LOSSES, adaptive_rate, alpha_bound, step_size
from onlineboost.boosters.potentials import asymptotic_error, weight_bounds
from onlineboost.boosters.potentials.draws import Floats, check_gammas, check_int, vote_distribution, vote_distributions
from onlineboost.theory.checks import check_delta, check_excess_loss, check_number, check_numbers, check_one_gamma

# ----------------------------------------------------------------------------------------------------------- OnlineMBBM


MOST_EXACT = 50_000  # learners: up to here planning computes phi_N(0), beyond it takes the Chernoff bound
BERRY_ESSEEN = 0.4748  # Shevtsova 2011
EXACT_WEIGHTS = 500  # learners: the weights of this many, from the last one back, are exact in `weight_sum`
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


# --------------------------------------------------------------------------------------------------------- Adaboost.OLM


HEDGE_RATE = 1.0 - math.exp(-1.0)  # Hedge with step 1 expects at most (least mistakes + log N) / HEDGE_RATE
HEDGE_TILT = 0.45195128667476964  # (e^x - 1) / x = 2 HEDGE_RATE


def edge_gain(edges: ArrayLike) -> Floats:
    """How much an edge takes off the loss, per unit of weight: -min over |a| <= 2 of A (e^a - 1) + B (e^-a - 1).

    A = (1 - |gamma|) / 2 and B = (1 + |gamma|) / 2 are the worst case of Lemma 1, which has gamma^2 / 2 for this.

    Examples
    --------
    >>> edge_gain([0.1, 0.5, 1.0]).round(4)
    array([0.005 , 0.134 , 0.8647])
    """
    g = np.abs(np.asarray(edges, np.float64))
    if not (g <= 1.0 + 1e-9).all():
        raise ValueError(f"edges must lie in [-1, 1], got {g[~(g <= 1.0 + 1e-9)][0] if g.ndim else edges}")
    g = np.minimum(g, 1.0)
    inside = 1.0 - np.sqrt(1.0 - g**2)
    at_the_end = g * (1.0 - math.exp(-2.0)) - (1.0 - g) * (math.cosh(2.0) - 1.0)
    return np.where(g <= math.tanh(2.0), inside, at_the_end)


def regret_bounds(loss: str, n_classes: int, n_learners: int, n_examples: int) -> Floats:
    """For each learner i: its alphas lose at most so much more than the best fixed alpha in F would have.

    Online gradient descent with steps a / sqrt t on a set of width D and slopes of at most G has a regret of at most
    (D^2 / (2 a) + a G^2) sqrt T (Zinkevich 2003). F and the steps are the paper's; its slopes are right for the
    logistic loss alone (see docs/theory.md):

        logistic       G = k - 1                 regret 4 sqrt2 (k - 1) sqrt T
        exponential    G = (k - 1) e^(2 i)       regret 2 sqrt2 (k - 1) (e^i + e^(3 i)) sqrt T
        squared hinge  G = (k - 1) (1 + c i)     regret sqrt2 c (K + G^2 / K) sqrt T, K = k - 1 + c N, c = 1 / sqrt N

    Examples
    --------
    >>> regret_bounds("logistic", n_classes=3, n_learners=2, n_examples=10_000).round(1)
    array([1131.4, 1131.4])
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    k, N = check_int("n_classes", n_classes, 2), check_int("n_learners", n_learners, 1)
    i = np.arange(1.0, N + 1.0)
    reach = alpha_bound(LOSSES[loss], N)
    with np.errstate(over="ignore"):  # the exponential loss: a bound of infinity is a bound
        steepest = {
            "logistic": np.full(N, k - 1.0),
            "exponential": (k - 1.0) * np.exp(2.0 * i),
            "squared_hinge": (k - 1.0) * (1.0 + reach * i),
        }[loss]
        if loss == "exponential":
            factor = 2.0 * math.sqrt(2.0) * (k - 1.0) * (np.exp(i) + np.exp(3.0 * i))
        else:
            a = step_size(LOSSES[loss], k, N, 1, 1.0)  # the same for all i
            factor = (2.0 * reach) ** 2 / (2.0 * a) + a * steepest**2
        return factor * math.sqrt(check_int("n_examples", n_examples, 0))


def adaptive_regret_bounds(loss: str, n_classes: int, squares: ArrayLike) -> Floats:
    """The same as `regret_bounds` for adaptive steps, from the sum of squared slopes V that each learner has met.

    Steps eta_t = r b / sqrt(V_0 + V_t) on [-b, b] have a regret of at most b ((2 / r + r) sqrt(V_0 + V) - r sqrt(V_0)),
    with V_0 = (k - 1)^2 and r of `losses.adaptive_rate`. No slope has to be known beforehand (docs/theory.md).

    Examples
    --------
    >>> adaptive_regret_bounds("logistic", n_classes=3, squares=[2000.0, 100.0]).round(1)
    array([1799.2,  409.6])
    """
    if loss not in LOSSES:
        raise ValueError(f"loss must be one of {', '.join(LOSSES)}, got {loss!r}")
    V = check_numbers("squares", squares)
    start, rate = check_int("n_classes", n_classes, 2) - 1.0, adaptive_rate(LOSSES[loss])
    return alpha_bound(LOSSES[loss], len(V)) * ((2.0 / rate + rate) * np.sqrt(start**2 + V) - rate * start)


def best_expert_bound(
    loss: str,
    edges: ArrayLike,
    n_classes: int,
    n_examples: int,
    weights: ArrayLike | None = None,
    squares: ArrayLike | None = None,
) -> float:
    """Mistakes of the best of Adaboost.OLM's experts, at most, from the edges that the learners have shown.

    The surrogate loss of the votes starts at L(0) T, learner i takes ``edge_gain(gamma_i)`` times its weight
    w_i = -sum_t C[y, y] off it, but for its regret, and a mistake costs some loss. So, over the first j learners,

        min_i M_i <= (L(0) T + sum_{i <= j} R_i) / (m sum_{i <= j} gain_i)           since w_i >= m M_{i-1}
        M_j       <= (L(0) T + sum_{i <= j} R_i - sum_{i <= j} gain_i w_i) / L_min   if the ``weights`` w_i are given

    and the smallest of these for any j holds. R_i is that of `regret_bounds`, or of `adaptive_regret_bounds` if the
    ``squares`` of the slopes that adaptive steps met are given. L(0), m, L_min: (k - 1) log 2, 1/2, log 2 for the
    logistic loss; k - 1, 1, 1 for the exponential; (k - 1) / 2, 1, 1/2 for the squared hinge, whose gain is
    max_{a <= c} (a |gamma_i| w_i - (k - 1) a^2 T / 2).

    Examples
    --------
    >>> round(best_expert_bound("logistic", [0.5] * 200, n_classes=2, n_examples=1_000_000))
    136184
    """
    gamma = np.abs(check_numbers("edges", edges, -1.0 - 1e-9, 1.0 + 1e-9))
    k, T = check_int("n_classes", n_classes, 2), check_int("n_examples", n_examples, 0)
    for name, given in (("weights", weights), ("squares", squares)):
        if given is not None and len(check_numbers(name, given)) != len(gamma):
            raise ValueError(f"{name} must be one number for each of the {len(gamma)} edges, got {np.size(given)}")
    regrets = regret_bounds(loss, k, len(gamma), T) if squares is None else adaptive_regret_bounds(loss, k, squares)
    regret = np.cumsum(regrets)
    start = {"logistic": (k - 1) * math.log(2.0), "exponential": k - 1.0, "squared_hinge": (k - 1) / 2.0}[loss] * T
    weight_of_mistake = 0.5 if loss == "logistic" else 1.0
    loss_of_mistake = {"logistic": math.log(2.0), "exponential": 1.0, "squared_hinge": 0.5}[loss]
    with np.errstate(divide="ignore", invalid="ignore"):
        if loss == "squared_hinge":
            c = alpha_bound(LOSSES[loss], len(gamma))
            curvature = np.arange(1.0, len(gamma) + 1.0) * (k - 1) * c**2 * T / 2.0
            bounds = (start + regret + curvature) / (c * np.cumsum(gamma))
        else:
            bounds = (start + regret) / (weight_of_mistake * np.cumsum(edge_gain(gamma)))
    if weights is not None:
        w = np.asarray(weights, np.float64)
        if loss == "squared_hinge":
            a = np.minimum(c, gamma * w / max((k - 1) * T, 1))
            gain = a * gamma * w - (k - 1) * a**2 * T / 2.0
        else:
            gain = edge_gain(gamma) * w
        bounds = np.append(bounds, (start + regret - np.cumsum(gain)) / loss_of_mistake)
    return float(np.nanmin(bounds)) if np.isfinite(bounds).any() else math.inf


def hedge_bound(best: float, n_experts: int, n_examples: int, delta: float = 0.05, least_weight: float = 1.0) -> float:
    """Mistakes of Hedge (``combiner="hedge"``), at most, with probability 1 - delta, if its best expert makes ``best``.

    The smaller of 2 (best + log N) + 2.22 log(2 / delta) and 1.59 (best + log N) + sqrt(T log(2 / delta) / 2). The
    paper has 2 best + 2 log N + O(sqrt T): there is no need for the sqrt T. It holds for streams that do not see whom
    Hedge has drawn: not if labels depend on the predictions of their own rounds. If examples have weights, ``best`` is
    by weight, and no weight is below ``least_weight``.

    Examples
    --------
    >>> round(hedge_bound(best=1000, n_experts=100, n_examples=20_000), 1)
    1781.3
    """
    check_delta(delta)
    T, w = check_int("n_examples", n_examples, 0), check_number("least_weight", least_weight, 1e-300, 1.0)
    total = check_number("best", best) + math.log(check_int("n_experts", n_experts, 1))
    expected, odds = total / -math.expm1(-w), math.log(2.0 / delta)
    return min(2.0 * HEDGE_RATE * expected + odds / HEDGE_TILT, expected + math.sqrt(T * odds / 2.0))


def mixture_bound(
    losses: Sequence[float],
    T: int,
    switches: int = 0,
    n_forecasts: int | None = None,
    *,
    shares: Sequence[float] | None = None,
) -> float:
    """The most that the mixture of forecasts behind a panel can lose, in log loss, on any stretch of rounds up to T.

    Weights of examples are 1 at most: a row of weight w counts w times in all losses.

    Parameters
    ----------
    losses
        What each forecast has lost on that stretch, in log loss: the sum of -log of the probabilities of what came
        true. With `switches`, one number: what is lost by following one forecast, then another, and so on.
    T
        The last round of the stretch: their number, if it begins with the first.
    switches
        How often another forecast is followed.
    n_forecasts
        By default as many as there are losses.
    shares
        The first shares of the forecasts; by default they are all alike.

    Examples
    --------
    >>> mixture_bound([700.0, 650.0, 800.0], 10_000) - 650.0 < 11.0
    True
    """
    known = check_numbers("losses", losses, low=0.0)
    T, switches = check_int("T", T, 1), check_int("switches", switches, 0)
    if switches and (n_forecasts is None or len(known) != 1):
        raise ValueError("with switches, give one loss, that of the forecasts followed in turn, and n_forecasts")
    n = len(known) if n_forecasts is None else check_int("n_forecasts", n_forecasts, len(known))
    first = np.full(n, 1.0 / n) if shares is None else check_numbers("shares", shares, low=0.0)
    if len(first) != n or not (first > 0.0).all() or abs(first.sum() - 1.0) > 1e-6:
        raise ValueError(f"shares must be {n} numbers above 0 that add up to 1, one for each forecast; got {shares!r}")
    prices = -np.log(first if len(known) == n else first.min())
    return float((known + prices).min()) + math.log(T) + switches * (math.log(T) - math.log(first.min()))


def olm_bound(
    loss: str,
    edges: ArrayLike,
    n_classes: int,
    n_examples: int,
    weights: ArrayLike | None = None,
    delta: float = 0.05,
    squares: ArrayLike | None = None,
) -> float:
    """Mistakes of Adaboost.OLM, at most, with probability 1 - delta (Theorems mistakeAdaptive, exp and square).

    `hedge_bound` of `best_expert_bound`. Above ``n_examples`` it says nothing.

    Examples
    --------
    >>> round(olm_bound("logistic", [0.5] * 200, n_classes=2, n_examples=1_000_000))
    216806
    """
    edges = np.asarray(edges, np.float64)
    best = best_expert_bound(loss, edges, n_classes, n_examples, weights, squares)
    return hedge_bound(best, len(edges), n_examples, delta)
