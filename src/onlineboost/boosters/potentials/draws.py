"""How often labels are drawn: probabilities that all ways to compute potentials share.

u_gamma^r draws label r with probability p and each other label with q. As everywhere in this package, there are k
classes, N learners and m draws left. Each learner has a gamma: gamma[m] is that of the learner with m draws left after
it, so the draws after it have the edges gamma[:m]. An error names the argument and its value.
"""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

NEGLIGIBLE = 2.0**-50  # what a sum leaves out, or counts twice, is below this


def check_int(name: str, value: object, least: int) -> int:
    """The value, if it is an integer of at least `least`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, got {value!r}")
    return int(value)


def check_gamma(gamma: float) -> float:
    """An edge that learners can have: 0 guesses, 1 would never be wrong."""
    if not (isinstance(gamma, Real) and not isinstance(gamma, bool) and 0.0 <= gamma < 1.0):
        raise ValueError(f"gamma must be a number in [0, 1), got {gamma!r}")
    return float(gamma)


def check_gammas(gamma: float | ArrayLike, n: int, of_what: str = "learners") -> NDArray[np.float64]:
    """n edges, from one for all or from a list."""
    gammas = np.array([check_gamma(value) for value in np.ravel(np.asarray(gamma, object)).tolist()])
    if gammas.size not in (1, n):
        raise ValueError(f"gamma must be a number, or one for each of the {n} {of_what}; got {gammas.size}")
    return gammas if gammas.size == n else np.broadcast_to(gammas, n)  # n may be billions, in a plan


def vote_distribution(n_classes: int, gamma: float) -> tuple[float, float]:
    """p and q of u_gamma^r: the probability of label r, and of each other label."""
    q = (1.0 - gamma) / n_classes
    return q + gamma, q


def vote_distributions(n_classes: int, gamma: Floats) -> tuple[Floats, Floats]:
    """p and q for each of several edges."""
    both = np.array([vote_distribution(n_classes, edge) for edge in gamma.tolist()])
    return np.ascontiguousarray(both[:, 0]), np.ascontiguousarray(both[:, 1])


def race_reach(n_classes: int, gamma: Floats) -> Ints:
    """[m]: a label this far behind the leader wins with negligible probability, and keeps no other from winning.

    Its count of m draws would have to be the deficit, or one less if it gets a vote before.
    """
    tails = [draws[::-1].cumsum() for draws in draws_left(n_classes, gamma)]
    return np.array([1 + (tail > NEGLIGIBLE / n_classes).sum() for tail in tails])


def poisson(mean: float, size: int) -> Floats:
    """Pois(x; mean) for x < size."""
    end = max(size, int(mean + 40.0 * math.sqrt(mean + 1.0)) + 40)
    return _from_ratios(mean / np.arange(1.0, end), int(mean))[:size]


def own_draws(m: int, n_classes: int, gamma: float) -> Floats:
    """The probabilities of x = 0..m draws of label r among m, Bin(x; m, p)."""
    p, q = vote_distribution(n_classes, gamma)
    x = np.arange(1.0, m + 1.0)
    return _from_ratios((m + 1.0 - x) / x * (p / ((n_classes - 1) * q)), min(m, int((m + 1) * p)))


def draws_left(n_classes: int, gamma: Floats) -> list[Floats]:
    """[m] for m < N: the probabilities of x = 0..m draws of label r among those with the edges gamma[:m].

    A binomial law as long as these are alike, and from there on a sum of different Bernoulli draws.
    """
    alike = int(np.argmin(gamma == gamma[0])) or len(gamma)
    laws = [own_draws(m, n_classes, gamma[0]) for m in range(min(alike + 1, len(gamma)))]
    while len(laws) < len(gamma):
        laws.append(one_more_draw(laws[-1], n_classes, gamma[len(laws) - 1]))
    return laws


def all_draws(n_classes: int, gamma: Floats) -> Floats:
    """The same for one draw with each of these edges, in no order: a binomial law for each edge, put together."""
    laws = [own_draws(int((gamma == edge).sum()), n_classes, edge) for edge in np.unique(gamma).tolist()]
    if len(laws) < 2:
        return laws[0] if laws else np.ones(1)
    while len(laws) > 1:
        laws = [*laws[2:], np.convolve(laws[0], laws[1])]  # the shorter ones first
    return laws[0] / laws[0].sum()


def one_more_draw(law: Floats, n_classes: int, gamma: float) -> Floats:
    """The probabilities of x draws of label r after one more of this edge."""
    p, q = vote_distribution(n_classes, gamma)
    after = np.append((n_classes - 1) * q * law, 0.0)
    after[1:] += p * law
    return after / after.sum()


def _from_ratios(ratio: Floats, mode: int) -> Floats:
    """Probabilities P(0), P(1), ... from the ratios P(x) / P(x - 1). Log-gamma would lose digits where m is large."""
    mass = np.concatenate([np.cumprod(1.0 / ratio[:mode][::-1])[::-1], [1.0], np.cumprod(ratio[mode:])])
    return mass / mass.sum()


def stack(arrays: list[NDArray]) -> NDArray:
    """One array of all, the shorter ones padded with zeros."""
    stacked = np.zeros((len(arrays), *np.max([array.shape for array in arrays], axis=0)), dtype=arrays[0].dtype)
    for i, array in enumerate(arrays):
        corner: tuple[Any, ...] = (i, *map(slice, array.shape))
        stacked[corner] = array
    return stacked
