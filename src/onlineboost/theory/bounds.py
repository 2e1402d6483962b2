"""The paper's theorems as numbers: what error to expect, how many learners and examples it takes, what nobody can beat.

Every bound has all its constants. docs/theory.md says what each means to a user and has the proofs, where they are not
the paper's: several of its constants do not follow from its proofs, and several can be better. k is the number of
classes, N of learners, T of examples; gamma is an edge over random guessing, S an excess loss (`weak_learning`
measures both), delta the probability that a bound fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from onlineboost.boosters.losses import LOSSES, alpha_bound, step_size
from onlineboost.boosters.potentials.potentials import _check_gamma, _check_int, asymptotic_error, weight_bounds
from onlineboost.boosters.potentials.tables import Floats, vote_distribution

MOST_EXACT = 50_000  # learners: up to here planning computes phi_N(0), beyond it takes the Chernoff bound
BERRY_ESSEEN = 0.4748  # Shevtsova 2011
HEDGE_RATE = 1.0 - math.exp(-1.0)  # Hedge with step 1 expects at most (least mistakes + log N) / HEDGE_RATE
HEDGE_TILT = 0.45195128667476964  # (e^x - 1) / x = 2 HEDGE_RATE

# --------------------------------------------------------------------------------------------- OnlineMBBM: Theorem 1


def mbbm_bound(n_classes: int, n_learners: int, gamma: float, n_examples: int, excess_loss: float = 0.0) -> float:
    """Mistakes of OnlineMBBM, ties counted, at most: phi_N(0) T + S sum_i w^{i*} (Theorem mistakeOptimal).

    It holds with probability 1 - N delta if every learner satisfies the weak learning condition with (delta, gamma, S),
    for the majority of all N votes (``combiner="last"``).

    Examples
    --------
    >>> round(mbbm_bound(n_classes=5, n_learners=400, gamma=0.1, n_examples=100_000, excess_loss=20))
    5915
    """
    T = _check_int("n_examples", n_examples, 0)
    if not excess_loss >= 0.0:
        raise ValueError(f"excess_loss must be a number of at least 0, got {excess_loss!r}")
    error = mbbm_error(n_classes, n_learners, gamma)
    return error * T + (excess_loss * weight_sum(n_classes, n_learners, gamma) if excess_loss else 0.0)


def mbbm_error(n_classes: int, n_learners: int, gamma: float) -> float:
    """phi_N(0) up to 50,000 learners, beyond, where that takes long, `chernoff_error`."""
    exact = n_learners <= MOST_EXACT
    return asymptotic_error(n_classes, n_learners, gamma) if exact else chernoff_error(n_classes, n_learners, gamma)


def weight_sum(n_classes: int, n_learners: int, gamma: float) -> float:
    """sum_i w^{i*}: what one unit of excess loss costs in mistakes. From `potentials.weight_bounds`.

    For N - i above 500 the bounds are taken at every hundredth of the way: they fall with N - i, so it stays a bound.

    Examples
    --------
    >>> round(weight_sum(5, 100, 0.1), 1), round(weight_sum(5, 10_000, 0.1))
    (124.5, 1406)
    """
    k, N = _check_int("n_classes", n_classes, 2), _check_int("n_learners", n_learners, 1)
    total = float(weight_bounds(k, min(N, 500), gamma).sum())
    m = 500
    while m < N:
        after = min(N, max(m + 1, int(m * 1.01)))
        total += (after - m) * (k - 1) * _two_likeliest(m, vote_distribution(k, gamma)[0])
        m = after
    return total


def _two_likeliest(m: int, p: float) -> float:
    """max_x (b(x) + b(x + 1)), b the probabilities of Bin(m, p), for large m, rounded up."""
    x = min(m, int((m + 1) * p))  # the mode
    log_b = math.lgamma(m + 1) - math.lgamma(x + 1) - math.lgamma(m - x + 1)
    b = math.exp(log_b + x * math.log(p) + (m - x) * math.log1p(-p))
    beside = max((m - x) / (x + 1) * p / (1.0 - p), x / (m - x + 1) * (1.0 - p) / p)
    return min(1.0, b * (1.0 + beside) * (1.0 + 1e-6))


def paper_weight_bounds(n_classes: int, n_learners: int, gamma: float) -> Floats:
    """The paper's w^{i*}, i = 1..N: the smaller of k and, for gamma < 1/2, c k^(5/2) / sqrt(N - i) (Lemma weightBound).

    Its proof gives c = 2 / sqrt(2 pi) + 8 * 0.4748 = 4.6, with the best constant known for Berry-Esseen.
    `potentials.weight_bounds` are smaller by a factor of order k.

    Examples
    --------
    >>> paper_weight_bounds(n_classes=3, n_learners=2001, gamma=0.1)[[0, -1]].round(2)
    array([1.6, 3. ])
    """
    k, N = _check_int("n_classes", n_classes, 2), _check_int("n_learners", n_learners, 1)
    bounds = np.full(N, float(k))
    if _check_gamma(gamma) < 0.5:
        c = 2.0 / math.sqrt(2.0 * math.pi) + 8.0 * BERRY_ESSEEN
        bounds[:-1] = np.minimum(k, c * k**2.5 / np.sqrt(np.arange(N - 1, 0, -1)))
    return bounds


def hoeffding_error(n_classes: int, n_learners: int, gamma: float) -> float:
    """(k - 1) exp(-gamma^2 N / 2) >= phi_N(0) (Lemma asymptoticError, Corollary mistakeOptimal).

    Examples
    --------
    >>> round(hoeffding_error(5, 1000, 0.1), 4), round(chernoff_error(5, 1000, 0.1), 6)
    (0.027, 6.3e-05)
    """
    return (n_classes - 1) * math.exp(-0.5 * _check_gamma(gamma) ** 2 * n_learners)


def chernoff_error(n_classes: int, n_learners: int, gamma: float) -> float:
    """(k - 1) (1 - (sqrt p - sqrt q)^2)^N >= phi_N(0): the right exponent, where Hoeffding's is a factor k/2 too small.

    u_gamma draws the right label with probability p and each other one with q.
    """
    return (n_classes - 1) * math.exp(-n_learners * _chernoff_rate(n_classes, gamma))


def _chernoff_rate(k: int, gamma: float) -> float:
    p, q = vote_distribution(_check_int("n_classes", k, 2), _check_gamma(gamma))
    return -math.log1p(-((math.sqrt(p) - math.sqrt(q)) ** 2)) if gamma < 1.0 else math.inf


# ----------------------------------------------------------------------------------------- nobody can beat: Theorem 2


def least_error(n_classes: int, n_learners: int, gamma: float) -> float:
    """The error that no booster beats, whatever it does, on some learners with edge gamma (Theorem optimality).

    Labels are uniform, and votes are independent draws from u_{2 gamma}. Such learners satisfy the weak learning
    condition with edge gamma (`excess_of_votes`), and the majority, ties shared, is the best use of their votes.

    Examples
    --------
    >>> round(least_error(5, 100, 0.05), 4), round(least_error_closed(5, 100, 0.05), 4)
    (0.1845, 0.0317)
    """
    if 2.0 * _check_gamma(gamma) >= 1.0:
        return 0.0
    return asymptotic_error(n_classes, n_learners, 2.0 * gamma, ties="shared")


def least_error_closed(n_classes: int, n_learners: int, gamma: float) -> float:
    """Less than `least_error`, in closed form: 1/2 P(Z >= gamma sqrt(N (1/p + 1/q) + 1/(p q))), p, q as above."""
    if 2.0 * _check_gamma(gamma) >= 1.0:
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
    _check_delta(delta)
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
    _check_delta(delta)
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
    return math.ceil((1.0 - 1.0 / n_classes) * useless / _check_error(error))


# --------------------------------------------------------------------------------------------------- Adaboost.OLM


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
        raise ValueError(f"edges must lie in [-1, 1], got {g.max()}")
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
    k, N = _check_int("n_classes", n_classes, 2), _check_int("n_learners", n_learners, 1)
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
        return factor * math.sqrt(_check_int("n_examples", n_examples, 0))


def best_expert_bound(
    loss: str, edges: ArrayLike, n_classes: int, n_examples: int, weights: ArrayLike | None = None
) -> float:
    """Mistakes of the best of Adaboost.OLM's experts, at most, from the edges that the learners have shown.

    The surrogate loss of the votes starts at L(0) T, learner i takes ``edge_gain(gamma_i)`` times its weight
    w_i = -sum_t C[y, y] off it, but for its regret, and a mistake costs some loss. So, over the first j learners,

        min_i M_i <= (L(0) T + sum_{i <= j} R_i) / (m sum_{i <= j} gain_i)           since w_i >= m M_{i-1}
        M_j       <= (L(0) T + sum_{i <= j} R_i - sum_{i <= j} gain_i w_i) / L_min   if the ``weights`` w_i are given

    and the smallest of these for any j holds. L(0), m, L_min: (k - 1) log 2, 1/2, log 2 for the logistic loss; k - 1,
    1, 1 for the exponential; (k - 1) / 2, 1, 1/2 for the squared hinge, whose gain is max_{a <= c} (a |gamma_i| w_i -
    (k - 1) a^2 T / 2).

    Examples
    --------
    >>> round(best_expert_bound("logistic", [0.5] * 200, n_classes=2, n_examples=1_000_000))
    136184
    """
    gamma = np.abs(np.asarray(edges, np.float64))
    k, T = _check_int("n_classes", n_classes, 2), _check_int("n_examples", n_examples, 0)
    regret = np.cumsum(regret_bounds(loss, k, len(gamma), T))
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


def hedge_bound(best: float, n_experts: int, n_examples: int, delta: float = 0.05) -> float:
    """Mistakes of Hedge (``vote="hedge"``), at most, with probability 1 - delta, if its best expert makes ``best``.

    The smaller of 2 (best + log N) + 2.22 log(2 / delta) and 1.59 (best + log N) + sqrt(T log(2 / delta) / 2). The
    paper has 2 best + 2 log N + O(sqrt T): there is no need for the sqrt T.

    Examples
    --------
    >>> round(hedge_bound(best=1000, n_experts=100, n_examples=20_000), 1)
    1781.3
    """
    _check_delta(delta)
    expected = best + math.log(_check_int("n_experts", n_experts, 1))
    odds = math.log(2.0 / delta)
    return min(2.0 * expected + odds / HEDGE_TILT, expected / HEDGE_RATE + math.sqrt(n_examples * odds / 2.0))


def olm_bound(
    loss: str,
    edges: ArrayLike,
    n_classes: int,
    n_examples: int,
    weights: ArrayLike | None = None,
    delta: float = 0.05,
) -> float:
    """Mistakes of Adaboost.OLM, at most, with probability 1 - delta (Theorems mistakeAdaptive, exp and square).

    `hedge_bound` of `best_expert_bound`. Above ``n_examples`` it says nothing.

    Examples
    --------
    >>> round(olm_bound("logistic", [0.5] * 200, n_classes=2, n_examples=1_000_000))
    216806
    """
    edges = np.asarray(edges, np.float64)
    return hedge_bound(best_expert_bound(loss, edges, n_classes, n_examples, weights), len(edges), n_examples, delta)


# ------------------------------------------------------------------------------------------------------- planning


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
    _check_plan(n_classes, gamma, error)
    return max(1, math.ceil(2.0 * math.log((n_classes - 1) / error) / gamma**2))


def chernoff_learners(n_classes: int, gamma: float, error: float) -> int:
    """Learners that are enough by `chernoff_error`."""
    _check_plan(n_classes, gamma, error)
    return max(1, math.ceil(math.log((n_classes - 1) / error) / _chernoff_rate(n_classes, gamma)))


def least_learners(n_classes: int, gamma: float, error: float) -> int:
    """No booster can do with fewer learners of edge gamma than these, on some learners (Theorem optimality).

    At most 50,000: that many are needed, if not more.

    Examples
    --------
    >>> least_learners(n_classes=5, gamma=0.1, error=0.05)
    57
    """
    _check_plan(n_classes, gamma, error)
    if 2.0 * gamma >= 1.0:
        return 1
    enough = min(chernoff_learners(n_classes, 2.0 * gamma, error), MOST_EXACT)
    if least_error(n_classes, 1, gamma) <= error:
        return 1
    return first_where(lambda n: least_error(n_classes, n, gamma) <= error, 1, enough)


def olm_learners(n_classes: int, gamma: float, error: float) -> int:
    """Learners of edge gamma for which Adaboost.OLM's bound (logistic loss), over T, tends to at most ``error``.

    Examples
    --------
    >>> olm_learners(n_classes=5, gamma=0.1, error=0.05)
    35002
    """
    _check_plan(n_classes, gamma, error)
    limit = 2.0 * (n_classes - 1) * math.log(2.0) / float(edge_gain(gamma)) / HEDGE_RATE
    return math.ceil(limit / error)


def mbbm_examples(n_classes: int, n_learners: int, gamma: float, error: float, excess_loss: float) -> float:
    """Examples after which OnlineMBBM's bound is a share ``error``: S sum_i w^{i*} / (error - phi_N(0)), or infinity.

    Examples
    --------
    >>> round(mbbm_examples(n_classes=5, n_learners=300, gamma=0.1, error=0.05, excess_loss=20))
    147759
    """
    spare = _check_error(error) - mbbm_error(n_classes, n_learners, gamma)
    return excess_loss * weight_sum(n_classes, n_learners, gamma) / spare if spare > 0.0 else math.inf


def olm_examples(n_classes: int, n_learners: int, gamma: float, error: float, delta: float = 0.05) -> float:
    """Examples after which Adaboost.OLM's bound (logistic loss, all edges gamma) is a share ``error``, or infinity.

    Examples
    --------
    >>> f"{olm_examples(n_classes=2, n_learners=2000, gamma=0.3, error=0.05):.1e}"
    '2.2e+08'
    """
    _check_plan(n_classes, gamma, error)
    edges = np.full(n_learners, gamma)

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


def _check_plan(k: int, gamma: float, error: float) -> None:
    _check_int("n_classes", k, 2)
    _check_error(error)
    if not 0.0 < gamma < 1.0:
        raise ValueError(f"gamma must be in (0, 1): random guesses cannot be boosted; got {gamma!r}")


def _check_error(error: float) -> float:
    if not 1e-9 <= error < 1.0:
        raise ValueError(f"error must be in [1e-9, 1), got {error!r}")
    return float(error)


def _check_delta(delta: float) -> None:
    if not 0.0 < delta < 1.0:
        raise ValueError(f"delta must be in (0, 1), got {delta!r}")
