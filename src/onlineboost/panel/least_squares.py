"""Recursive least squares: linear scores of the classes, one target per class.

They learn from [1, z]; z are the columns in units of their spread, clipped. With P the inverse of the faded sum of x x'
(at first I: a ridge of 1) and u = P x, a row with weight w moves the scores' coefficients W by Newton's step:

    W_c += (1[c = y] - W_c x) w u / (f + w x' u)
    P   <- (P - w u u' / (f + w x' u)) / f

f < 1 forgets. In directions that no row has for long, P would grow without end; its diagonal is kept below MOST.

The same with random cosines beside the columns is `cosines`. The scores of both are columns for other members: those of
the first FOLD classes, which all others share. What these columns count is learned as that of the columns is.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import log
from onlineboost._compile.jit import bare_kernel, entry_kernel, fused_kernel, small_kernel, summing_kernel
from onlineboost.contracts.schema import f8, part
from onlineboost.contracts.state import require
from onlineboost.panel.columns import CONSTANT, LARGEST, SHARPEST, Metric, learn_metric, refresh
from onlineboost.panel.combiner import centre
from onlineboost.panel.member import MEMBER, OUTSIDE, Part, wide

FORGET = 0.9995
CLIP = 5.0  # of z
MOST = 8.0  # of the diagonal of P, which starts at 1
SHARPNESS = 5.0  # logits per unit of a score, by the rules of old
NEAR_ZERO = 0.01  # scores count as probabilities from here on; below they stay in order
FOLD = 32  # classes whose scores are columns of their own; beyond, they share these
ON_COLUMNS, ON_COSINES = range(2)  # of two scores of a class


def identity(shape: tuple[int, int]) -> np.ndarray:
    return np.eye(*shape)


class LeastSquares(NamedTuple):
    """What they have learned."""

    # lower triangle
    P: Annotated[np.ndarray, f8("inputs", "inputs", low=-1e3 * MOST, high=1e3 * MOST, default=identity)]
    W: Annotated[np.ndarray, f8("classes", "inputs", low=-LARGEST, high=LARGEST)]


class Scale(NamedTuple):
    """Shared: the columns in units of their spread."""

    scale: Annotated[np.ndarray, f8("columns", low=0.0, high=SHARPEST)]


class SquaresWork(NamedTuple):
    """Scratch for one row."""

    x: np.ndarray  # float64 (inputs,) [1, z], or [1, cosines, z]
    u: np.ndarray  # float64 (inputs,)
    scores: np.ndarray  # float64 (k,)


def new_squares_work(inputs: int, k: int) -> SquaresWork:
    return SquaresWork(np.ones(inputs), np.zeros(inputs), np.zeros(k))


@bare_kernel
def start_input(squares, at):
    """Input `at` is in use from here on, and nothing is known of it."""
    squares.P[at, at] = 1.0


@bare_kernel
def start_input_again(squares, at, n, k):
    """Nothing is known of input `at` any more, out of n; what is known of the others stays."""
    for i in range(at):
        squares.P[at, i] = 0.0
    for i in range(at + 1, n):
        squares.P[i, at] = 0.0
    for c in range(k):
        squares.W[c, at] = 0.0
    start_input(squares, at)


@fused_kernel
def add_scaled(out, values, factor, n):
    for m in range(n):
        out[m] += factor * values[m]


@summing_kernel
def dot(a, b, n):
    total = 0.0
    for i in range(n):
        total += a[i] * b[i]
    return total


@bare_kernel
def score(squares, x, n, k, out):
    """The score of every class."""
    for c in range(k):
        out[c] = dot(squares.W[c], x, n)


@small_kernel
def logit_of_score(score, rules):
    """The logarithm of a score, which is about the probability of its class; a smooth one of scores below 0."""
    s = min(max(score, -2.0), 2.0)
    if rules < 2:
        return SHARPNESS * s
    return log(0.5 * (s + math.sqrt(s * s + 4.0 * NEAR_ZERO * NEAR_ZERO)))


@entry_kernel
def logits_of_both(scores, rules, logits):
    """Of a table of scores, not centred: for explanations."""
    for i in range(scores.shape[0]):
        for c in range(scores.shape[1]):
            logits[i, c] = logit_of_score(scores[i, c], rules)


@bare_kernel
def logits_of_scores(scores, k, logits, rules):
    """Centred logits of the scores, as a voice of the panel."""
    for c in range(k):
        logits[c] = logit_of_score(scores[c], rules)
    centre(logits, k)


@summing_kernel
def times_row(row, x, u, i):
    """Row i of a lower triangle: adds its part to u[:i], and returns that of u[i]."""
    total, own = row[i] * x[i], x[i]
    for j in range(i):
        total += row[j] * x[j]
        u[j] += row[j] * own
    return total


@summing_kernel
def times_four(P, i, x, u):
    """`times_row` of rows i to i + 3: u is read and written once for all of them."""
    a, b, c, d = P[i], P[i + 1], P[i + 2], P[i + 3]
    x0, x1, x2, x3 = x[i], x[i + 1], x[i + 2], x[i + 3]
    u0, u1 = a[i] * x0 + b[i] * x1 + c[i] * x2 + d[i] * x3, b[i] * x0 + b[i + 1] * x1 + c[i + 1] * x2 + d[i + 1] * x3
    u2 = c[i] * x0 + c[i + 1] * x1 + c[i + 2] * x2 + d[i + 2] * x3
    u3 = d[i] * x0 + d[i + 1] * x1 + d[i + 2] * x2 + d[i + 3] * x3
    for j in range(i):
        own, p0, p1, p2, p3 = x[j], a[j], b[j], c[j], d[j]
        u0 += p0 * own
        u1 += p1 * own
        u2 += p2 * own
        u3 += p3 * own
        u[j] += (p0 * x0 + p1 * x1) + (p2 * x2 + p3 * x3)
    u[i], u[i + 1], u[i + 2], u[i + 3] = u0, u1, u2, u3


@fused_kernel
def less(row, u, factor, n):
    for j in range(n):
        row[j] = (row[j] - factor * u[j]) * (1.0 / FORGET)


@bare_kernel
def learn_squares(squares, x, n, scores, k, y, weight, u):
    """Learn a row whose scores were these; `u` is scratch, (inputs,)."""
    P = squares.P
    whole = n - n % 4
    for i in range(0, whole, 4):
        times_four(P, i, x, u)
    for i in range(whole, n):
        u[i] = times_row(P[i], x, u, i)
    along = max(dot(x, u, n), 0.0)
    gain = weight / (FORGET + weight * along)
    for c in range(k):
        add_scaled(squares.W[c], u, ((1.0 if c == y else 0.0) - scores[c]) * gain, n)
    for i in range(n):
        less(P[i], u, gain * u[i], i + 1)
    for i in range(n):
        if P[i, i] > MOST or P[i, i] < 0.0:
            shrink(P, i, n)


@bare_kernel
def shrink(P, i, n):
    """Halve what is not known along input i; where rounding has made it negative, begin anew there."""
    factor = math.sqrt(0.5) if P[i, i] > 0.0 else 0.0
    for j in range(i):
        P[i, j] *= factor
    for j in range(i + 1, n):
        P[j, i] *= factor
    P[i, i] = 0.5 * P[i, i] if P[i, i] > 0.0 else 1.0


# ------------------------------------------------------------------------------------------------------ shared: a scale


@bare_kernel
def standardise(scale, own, shared, row, n, k):
    """z[:n]: the columns in units of their spread, clipped."""
    centre_of = shared.stats.columns.centre
    for j in range(n):
        row.z[j] = min(max((row.values[j] - centre_of[j]) * scale.scale[j], -CLIP), CLIP)


@bare_kernel
def move_scale(scale, shared, j, n, k, factor, shift):
    scale.scale[j] = 0.0


@bare_kernel
def rescale(scale, owners, shared, row, n, k):
    """1 / sd, one for all values of a nominal column together."""
    dense, variance = shared.stats.dense, shared.stats.columns.variance
    for q in range(dense.place.shape[0]):
        owners[q] = 0.0
    for j in range(dense.n_numbers, n):
        owners[dense.owner[j]] += variance[j]
    for j in range(n):
        spread = variance[j] if j < dense.n_numbers else owners[dense.owner[j]]
        scale.scale[j] = 1.0 / math.sqrt(spread) if spread > CONSTANT else 0.0


MEMBER.implement(Scale, prepare=standardise, move=move_scale, refreshed=rescale)
SCALE = Part("scale", Scale, field=OUTSIDE, new_work=lambda state, sizes: np.zeros(sizes["width"]))


# -------------------------------------------------------------------------------------------- shared: what scores count


@bare_kernel
def learn_scores(metric, own, shared, row, n, k, y, weight):
    learn_metric(metric, row.folded, own, 2 * min(k, FOLD), y, weight)


@bare_kernel
def refresh_scores(metric, own, shared, row, n, k):
    refresh(metric, 2 * min(k, FOLD), k, row.sums[0], row.sums[1], row.sums[2])


def new_classes(metric: Metric, old: int, k: int) -> None:
    """Their scores have been 0 all the time."""
    new = slice(2 * min(old, FOLD), 2 * min(k, FOLD))
    metric.total.mass[new] = metric.total.mass[0]
    metric.by_class.mass[:, new] = metric.by_class.mass[:, :1]


MEMBER.implement(Metric, learn=learn_scores, refreshed=refresh_scores)
SCORES = Part(
    "scores",
    Metric,
    field=part(columns="scores"),
    new_work=lambda state, sizes: np.ones(2 * FOLD),  # no score is missing
    sizes={"scores": lambda sizes: 2 * min(sizes["classes"], FOLD)},
    new_classes=new_classes,
)


# --------------------------------------------------------------------------------------------------------------- linear


@bare_kernel
def start_linear(squares, shared, first, stop):
    for j in range(first, stop):
        start_input(squares, 1 + j)


@bare_kernel
def move_linear(squares, shared, j, n, k, factor, shift):
    start_input_again(squares, 1 + j, 1 + n, k)


@bare_kernel
def say_linear(squares, own, said, shared, row, n, k):
    for j in range(n):
        own.x[1 + j] = row.z[j]
    say_scores(squares, own, said[0], row, ON_COLUMNS, 1 + n, k)


@bare_kernel
def say_scores(squares, own, logits, row, which, inputs, k):
    """Centred logits, and the scores as columns."""
    folded = row.folded
    score(squares, own.x, inputs, k, own.scores)
    logits_of_scores(own.scores, k, logits, row.rules[0])
    for j in range(min(k, FOLD)):
        folded[2 * j + which] = 0.0
    for c in range(k):
        folded[2 * (c % FOLD) + which] += own.scores[c]


@bare_kernel
def learn_linear(squares, own, shared, row, n, k, y, weight):
    learn_squares(squares, own.x, 1 + n, own.scores, k, y, weight, own.u)


def check_squares(squares: LeastSquares, shared: Any) -> None:
    require((np.diagonal(squares.P) >= 0.0).all(), "the least squares of the panel")


def tell_linear(squares: LeastSquares, shared: Any, k: int) -> Any:
    """Its score is a sum over the columns, which share the step from the logit of the constant to that of the score."""

    def told(own: SquaresWork, row: Any, n: int, leave_out: int) -> np.ndarray:
        parts = squares.W[:k, 1 : 1 + n] * own.x[None, 1 : 1 + n]
        whole, start, rules = parts.sum(axis=1), squares.W[:k, 0], int(row.rules[0])
        logits = np.empty((2, k))
        logits_of_both(np.stack([start, start + whole]), rules, logits)
        step = logits[1] - logits[0]
        parts *= np.divide(step, whole, out=np.full(k, SHARPNESS), where=np.abs(whole) > 1e-9)[:, None]
        return (parts - parts.mean(axis=0)).T

    return told


MEMBER.implement(LeastSquares, start=start_linear, move=move_linear, say=say_linear, learn=learn_linear)
LINEAR = Part(
    "linear",
    LeastSquares,
    {4: "linear"},
    lambda state, sizes: new_squares_work(1 + sizes["columns"], sizes["classes"]),
    logits=True,
    field=part(inputs="linear"),
    sizes={"linear": wide(1)},
    check=check_squares,
    tell=tell_linear,
)
