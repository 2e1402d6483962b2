"""gamma="adaptive": a gamma for each learner that follows the edge that it shows (theory/PROOFS.md has the theorem).

Gammas are steps of a ladder, gamma_j = LARGEST / RATIO^j. Learner i stands on step j, and its *excess* is

    E_i = sum_t w_t (D_t[y, l] - (1 - gamma_j) / k)          over the rounds since it came there,

above 0 if it is worse than gamma_j. Its *account* A_i is the sum of all its excesses, and w*_i a bound on its weights.

    down, to j + 1, if E_i > S_j w*_i,                        S_j = SLACK / gamma_j
    up, to j - 1, if its excess with gamma_{j-1} would be below -S_{j-1} w*_i, and A_i <= w*_i sum_{home <= h < j-1} S_h

where `home` is the step on which it began. What a learner's gamma is changes the costs of all learners before it. So
gammas change in the rounds of reviews alone, and what a review decides is done in the round of the next one: by then
all learners are known to have passed the first (`chain.gammas`).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum

import numpy as np

from onlineboost.boosters.potentials.draws import Floats, Ints

LARGEST, RATIO, N_STEPS = 0.5, 1.5, 11  # the ladder: 0.5, 0.333, ..., 0.0087
STARTS = (1, 4, 7, 9)  # steps on which learners begin, in turn: .333, .099, .029 and .013
SLACK = 0.5  # S_j = SLACK / gamma_j
LADDER = LARGEST / RATIO ** np.arange(N_STEPS)
LIMITS = SLACK / LADDER
LEVELS = np.append(0.0, np.cumsum(LIMITS))  # [j]: S_0 + ... + S_{j-1}
PERIOD, RARELY, LONGEST = 16, 16, 128  # rounds between reviews; they grow with the stream to t / RARELY, or to LONGEST
PEAK = 0.4689  # no probability of a sum of independent draws of variance z is above PEAK / sqrt z (theory/PROOFS.md)


GOLDEN = (5.0**0.5 - 1.0) / 2.0
STEP, NEXT, HOME = range(3)  # where a learner stands, where it goes at the next review, and where its account began


class Sums(IntEnum):
    """What is summed up for each learner."""

    EXCESS = 0  # E_i
    ACCOUNT = 1  # excesses on the steps before, since there are as many classes as there are
    BEFORE = 2  # excesses of the rounds with fewer classes
    PROMISED = 3  # phi(0) of all examples before the tables in use came
    EXAMPLES = 4  # weight of those since
    BEGUN = 5  # weights that it had been given when it came to its step,
    REVIEWED = 6  # and at the last review
    MOST = 7  # the most between two reviews, with as many classes as there are


def in_turn(values: Sequence[float], n: int) -> np.ndarray:
    """One of these for each of n learners, so that any stretch of the chain has its share of each."""
    turn = (np.arange(1, n + 1) * GOLDEN) % 1.0
    return np.array(values)[(turn * len(values)).astype(np.intp)]


def first_steps(n: int) -> Ints:
    """Where the learners of a chain begin."""
    return in_turn(STARTS, n)


def largest_weights(n_classes: int, left: Ints) -> Floats:
    """w*: no weight is above it where `left` votes are left to come, whatever their gammas up to LARGEST.

    It is (k - 1) times a bound on max_x b(x), b the law of the number of right votes to come (theory/PROOFS.md).
    """
    k = n_classes
    p = (1.0 - LARGEST) / k + LARGEST
    least = min((k - 1) / k**2, p * (1.0 - p))  # variance of a vote: concave in p, so least at an end, p = 1/k or this
    return (k - 1) * np.where(left > 0, np.minimum(1.0, PEAK / np.sqrt(np.maximum(left, 1) * least)), 1.0)


def next_steps(steps: Ints, home: Ints, excess: Floats, account: Floats, weight: Floats, unit: Floats, k: int) -> Ints:
    """Where learners go from these steps; `weight` is what they have been given on them, `account` A_i, `unit` w*_i."""
    above = np.maximum(steps - 1, 0)
    excess_above = excess + (LADDER[above] - LADDER[steps]) * weight / k
    falls = (excess > LIMITS[steps] * unit) & (steps < N_STEPS - 1)
    rises = (excess_above < -LIMITS[above] * unit) & (account <= (LEVELS[above] - LEVELS[home]) * unit) & (steps > 0)
    return np.where(falls, steps + 1, np.where(rises, steps - 1, steps))


def account_bounds(steps: Ints, home: Ints, account: Floats, unit: Floats, most: Floats) -> Floats:
    """The most that the accounts of learners on these steps can be, whatever they do; `most` as in `Sums`.

    On the last step there is no limit: there an account counts as it is.
    """
    bound = (LEVELS[steps + 1] - LEVELS[home]) * unit + (2 * steps + 3) * most
    return np.where(steps == N_STEPS - 1, np.maximum(account, bound), bound)
