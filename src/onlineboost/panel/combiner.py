"""The combiner: logits of several voices, added up with coefficients that are learned by online Newton steps.

With L_h the logits of voice h (centred: they add up to 0 over the classes) and beta_h its coefficient,

    p = softmax(sum_h beta_h L_h)
    g_h = E_p L_h - L_h[y]                          the slope of -log p[y]
    A <- f A + (1 - f) r I + g g'                   at first r I
    beta <- beta - A^-1 g

The slow combiner of a panel forgets even less, and half of g g' is there what it is expected to be by p: where a class
is rare, A grows with the rows then, and not with the luck of a few of them.

A sum of logits is a product of distributions: voices that see different things add up, those that repeat each other
share what one of them is worth. No bound on the regret is known for these steps: docs/theory.md has what was measured.

Behind the chain there are two more voices, which labels have come lately: labels often come in runs, and no column says
so. They are two frequencies of the classes that fade, one fast (hardly more than the last label) and one slowly.

What is predicted is a mixture of a few forecasts, which is never much worse than the best of them. Forecast m gives
probabilities p_m, and has a share v_m of the mixture p = sum_m v_m p_m. When the label y of round t is known,

    v_m <- v_m p_m[y] / p[y]                    Bayes
    v_m <- (1 - a) v_m + a u_m, a = 1 / (t + 1)     no share is ever lost

with u_m its first share. The log losses of any stretch of rounds up to T then add up to at most those of forecast m,
and log 1 / u_m + log T, for every m. A row of weight w counts min(w, 1) times, in the shares and in the losses
(docs/theory.md).
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import exp, log
from onlineboost._compile.jit import bare_kernel, small_kernel
from onlineboost.contracts.schema import f8, i8
from onlineboost.panel.columns import HUGE, ROOM

FADE = 0.998  # f: what a slope still counts in A one row later
SLOW_FADE = 0.9998  # likewise, for coefficients that hardly move any more after a while
SLOWEST_FADE, EXPECTED = 0.99998, 0.5  # of the slow combiner of a panel; share of g g' that is its expectation
RIDGE, PANEL_RIDGE = 5.0, 20.0  # r: behind the chain, and for the members of the panel
BOUND = 20.0  # no coefficient is larger
TINY = 1e-12  # probabilities count as at least so much
LEAST = 0.01  # probabilities count as so much more before their logarithm is taken: labels that have come lately


def panel_ridge(shape: tuple[int, int]) -> np.ndarray:
    """Also of a voice that an older file does not have: the panel alone gets new voices."""
    return PANEL_RIDGE * np.eye(*shape)


class Newton(NamedTuple):
    """Coefficients of the voices."""

    beta: Annotated[np.ndarray, f8("voices", low=-BOUND, high=BOUND)]
    A: Annotated[np.ndarray, f8("voices", "voices", low=-HUGE, high=HUGE, default=panel_ridge)]  # lower triangle


class NewtonWork(NamedTuple):
    """Scratch for one row."""

    logits: np.ndarray  # float64 (voices, k) the voices, centred
    total: np.ndarray  # float64 (k,) their sum with coefficients
    p: np.ndarray  # float64 (k,)
    slope: np.ndarray  # float64 (voices,)
    step: np.ndarray  # float64 (voices,)
    root: np.ndarray  # float64 (voices, voices) see `solve`


def new_newton(beta: list[float], ridge: float = RIDGE) -> Newton:
    return Newton(np.array(beta, np.float64), ridge * np.eye(len(beta)))


def new_newton_work(voices: int, k: int) -> NewtonWork:
    logits, root = np.empty((voices, k)), np.empty((voices, voices))
    return NewtonWork(logits, np.empty(k), np.empty(k), np.empty(voices), np.empty(voices), root)


@bare_kernel
def centre(logits, k):
    mean = 0.0
    for c in range(k):
        mean += logits[c]
    mean /= k
    for c in range(k):
        logits[c] -= mean


@bare_kernel
def logits_of(p, k, logits, least=LEAST):
    """Centred logits of a distribution."""
    for c in range(k):
        logits[c] = log(p[c] + least)
    centre(logits, k)


@small_kernel
def softmax(votes, k, p):
    """Probabilities p[:k] from votes."""
    top = votes[0]
    for c in range(k):
        top = max(top, votes[c])
    mass = 0.0
    for c in range(k):
        p[c] = exp(np.float64(max(votes[c] - top, -700.0)))
    for c in range(k):
        mass += p[c]
    for c in range(k):
        p[c] /= mass


@bare_kernel
def combine(newton, work, k):
    """work.total and work.p from the voices' logits."""
    for c in range(k):
        work.total[c] = 0.0
    for h in range(newton.beta.size):
        for c in range(k):
            work.total[c] += newton.beta[h] * work.logits[h, c]
    softmax(work.total, k, work.p)


@bare_kernel
def learn_newton(newton, work, k, y, weight, fade=FADE, ridge=RIDGE, expected=0.0):
    """One Newton step on -log p[y], after `combine`."""
    A, beta, slope = newton.A, newton.beta, work.slope
    n = beta.size
    for h in range(n):
        slope[h] = -work.logits[h, y]
        for c in range(k):
            slope[h] += work.p[c] * work.logits[h, c]
    for i in range(n):
        for j in range(i + 1):
            square = slope[i] * slope[j]
            if expected > 0.0:
                square += expected * (covariance(work, i, j, k, y) - square)
            A[i, j] = fade * A[i, j] + weight * square
        A[i, i] += (1.0 - fade) * ridge
    solve(A, slope, work.step, work.root)
    for h in range(n):
        beta[h] = min(BOUND, max(-BOUND, beta[h] - weight * work.step[h]))


@small_kernel
def covariance(work, i, j, k, y):
    """Of the logits of two voices under p: what the product of their slopes is expected to be."""
    total, logits = 0.0, work.logits
    if k == 2:  # the same, of centred logits
        return 4.0 * work.p[0] * work.p[1] * logits[i, 0] * logits[j, 0]
    for c in range(k):
        total += work.p[c] * logits[i, c] * logits[j, c]
    return total - (work.slope[i] + logits[i, y]) * (work.slope[j] + logits[j, y])


@bare_kernel
def solve(A, b, x, root):
    """x = A^-1 b; A = L D L' is positive definite, and its lower triangle is all that is read.

    In `root`: what is left of A below the diagonal, 1 / D on it, L' above.
    """
    n = b.size
    for i in range(n):
        x[i] = b[i]
        for j in range(i + 1):
            root[i, j] = A[i, j]
    for j in range(n):
        root[j, j] = 1.0 / max(root[j, j], 1e-12)
        for i in range(j + 1, n):
            factor = root[i, j] * root[j, j]
            for m in range(j + 1, i + 1):
                root[i, m] -= factor * root[m, j]
            x[i] -= factor * x[j]
            root[j, i] = factor
    for j in range(n - 1, -1, -1):
        x[j] *= root[j, j]
        for i in range(j + 1, n):
            x[j] -= root[j, i] * x[i]


# ---------------------------------------------------------------------------------------- which labels have come lately

FADES = (0.3, 0.9)  # what a label still counts one row later
RECENCY = f8(len(FADES), "classes", low=0.0, high=ROOM)


def new_recency(classes: int) -> np.ndarray:
    """float64 (fades, classes)."""
    return np.zeros((len(FADES), classes))


@bare_kernel
def learn_recency(recency, k, y):
    for i in range(len(FADES)):
        for c in range(k):
            recency[i, c] = FADES[i] * recency[i, c] + (1.0 - FADES[i] if c == y else 0.0)


# ----------------------------------------------------------------------------------------------- a mixture of forecasts

COMBINED, SLOW, PANEL, CHAIN = range(4)  # the forecasts
FORECASTS = 4
FORECAST_NAMES = "the combiner", "the slow combiner", "the panel alone", "the chain alone"
FIRST = (0.1, 0.1, 0.7, 0.1)  # the panel is the best of them in most short streams, and where a class is rare


class Mixture(NamedTuple):
    """Shares of the forecasts, and what they have lost."""

    share: Annotated[np.ndarray, f8(FORECASTS, low=0.0, high=1.0)]
    # Sums of -log p[y], where a row counts by its weight, and 1 at most; that of the mixture is the last.
    lost: Annotated[np.ndarray, f8(FORECASTS + 1)]
    first: Annotated[np.ndarray, f8(FORECASTS, low=0.05, high=1.0, since=2, default=1.0 / FORECASTS)]


def new_mixture() -> Mixture:
    return Mixture(np.array(FIRST), np.zeros(FORECASTS + 1), np.array(FIRST))


def new_forecasts(k: int) -> np.ndarray:
    """Scratch for one row: probabilities by each forecast, and by the mixture."""
    return np.empty((FORECASTS + 1, k))


@bare_kernel
def mix(mixture, forecasts, k):
    """The last row of the forecasts from those before it."""
    for c in range(k):
        p = 0.0
        for m in range(FORECASTS):
            p += mixture.share[m] * forecasts[m, c]
        forecasts[FORECASTS, c] = p


@small_kernel
def raised(p, power):
    """p ** power: most rows have weight 1."""
    return p if power == 1.0 else math.pow(p, power)


@bare_kernel
def learn_mixture(mixture, forecasts, y, weight, t):
    """The label of round t, which `mix` was asked about. No row moves the shares by more than one of weight 1 does."""
    share, lost, mass, power = mixture.share, mixture.lost, 0.0, min(weight, 1.0)
    for m in range(FORECASTS + 1):
        lost[m] -= power * log(forecasts[m, y])
    for m in range(FORECASTS):
        share[m] *= raised(forecasts[m, y], power)
        mass += share[m]
    a = 1.0 / (t + 1.0)
    for m in range(FORECASTS):
        share[m] = (1.0 - a) * share[m] / mass + a * mixture.first[m]


# Ahead of the chain, in the panel, the mixture is that of two combiners and, at first, of single voices: what is given
# back goes to the combiners alone, so that the shares of voices only last while no better is known.

LEAST_TRUST = 1e-6  # share of a voice; with less it is heard through the combiners alone


@bare_kernel
def add_voices(trust, logits, k, single, p):
    """p[:k] with what single voices say, in `single`, times their shares."""
    for voice in range(trust.size):
        if trust[voice] > 0.0:
            softmax(logits[voice], k, single[voice])
            for c in range(k):
                p[c] += trust[voice] * single[voice, c]


@bare_kernel
def weigh_voices(trust, single, y, power):
    """Shares times the probability of the label; returns their sum."""
    total = 0.0
    for voice in range(trust.size):
        if trust[voice] > 0.0:
            trust[voice] *= raised(max(single[voice, y], TINY), power)
            total += trust[voice]
    return total


@bare_kernel
def share_out(trust, factor):
    """Shares times a factor, those that are too small 0; returns their sum."""
    total = 0.0
    for voice in range(trust.size):
        trust[voice] = factor * trust[voice] if factor * trust[voice] > LEAST_TRUST else 0.0
        total += trust[voice]
    return total


# -------------------------------------------------------------------------------------------------- the reset test
# The panel is of no use any more if the frequencies of the labels would have done better. Let p be what it says of a
# row, and q the frequencies of the labels that it has learned. With every label y of weight w,
#
#     lead <- max(0, lead + min(w, 1) (min(-log p[y], worst) + log q[y] - SLACK log k))
#
# which is how far, in log loss, the frequencies are ahead of the panel since the row from which on they are ahead most,
# less what the panel may always lose: where labels cannot be told from columns, learning to do so costs something. No
# row counts as a greater loss of the panel than `worst`. That is WORST or, in many classes, ABOVE more than what the
# frequencies and the slack take away where all classes are as frequent: the panel could not be lost there otherwise.
#
# When `lead` has been above TOO_MUCH for PATIENCE rows, what the panel has learned is about a world that is gone, and
# it begins again: a panel that knows nothing is right sooner than one that has to unlearn. A few rows with wrong labels
# are not a reason: `lead` is never above TOO_MUCH by more than SPARE, so it falls as soon as they are over, and once it
# has fallen to half of TOO_MUCH the rows count from 0 again. As long as the panel's probabilities are right, and
# weights do not depend on labels, this happens once in exp(TOO_MUCH) = 480 million rows, or less often: docs/theory.md.

TOO_MUCH, SPARE = 20.0, 5.0
PATIENCE = 32
WORST, ABOVE = 4.0, 1.0  # the second counts for more than 10 classes
SLACK = 0.3  # in parts of the log loss of guessing, log k
KEPT = 16  # rounds that are remembered


class ResetTest(NamedTuple):
    """How the panel does beside the frequencies of the labels."""

    lead: Annotated[np.ndarray, f8(1, low=0.0, high=TOO_MUCH + SPARE)]
    late: Annotated[np.ndarray, i8(1, low=0, high=PATIENCE - 1)]  # rows that it has been above TOO_MUCH
    counts: Annotated[np.ndarray, f8("classes")]  # weight of the rows of each class that the panel has learned
    rounds: Annotated[np.ndarray, i8(KEPT)]  # after which it has begun anew, the last one first; 0: not so often


@bare_kernel
def should_reset(test, p, k, y, weight):
    """Whether the panel, which has said p[:k] of a row of class y, should begin anew."""
    counts, total = test.counts, 1.0
    for c in range(k):
        total += counts[c]
    frequency = (counts[y] + 1.0 / k) / total
    guess = math.log(float(k))
    loss = min(-math.log(max(p[y], 1e-9)), max(WORST, (1.0 + SLACK) * guess + ABOVE))
    step = loss + math.log(frequency) - SLACK * guess
    lead = min(max(0.0, test.lead[0] + min(weight, 1.0) * step), TOO_MUCH + SPARE)
    test.lead[0] = lead
    if lead > TOO_MUCH:
        test.late[0] += 1
    elif lead <= 0.5 * TOO_MUCH:
        test.late[0] = 0
    counts[y] += weight
    return test.late[0] >= PATIENCE
