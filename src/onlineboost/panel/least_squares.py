"""Recursive least squares: linear scores of the classes, one target per class, and random cosines for what is curved.

Two of them learn side by side: one from [1, z], one from [1, 128 cosines, z]. z are the columns in units of their
spread, clipped. The cosines are of z times the root of each column's eta^2 (`metric`): waves run along what matters.
With P the inverse of the faded sum of x x' (at first I: a ridge of 1) and u = P x, a row with weight w moves the
scores' coefficients W by Newton's step:

    W_c += (1[c = y] - W_c x) w u / (f + w x' u)
    P   <- (P - w u u' / (f + w x' u)) / f

f < 1 forgets. In directions that no row has for long, P would grow without end; its diagonal is kept below MOST.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, entry_kernel, fused_kernel, summing_kernel
from onlineboost._compile.random import FREQUENCY, uniform
from onlineboost.contracts.schema import f8
from onlineboost.panel.dense import LARGEST
from onlineboost.panel.newton import centre

FORGET = 0.9995
CLIP = 5.0  # of z
N_COSINES = 128
HEIGHT = 0.35  # of the cosines
SPREAD = 1.0  # variance of the frequencies, times the number of columns
MOST = 8.0  # of the diagonal of P, which starts at 1
SHARPNESS = 5.0  # logits per unit of a score

_SIN = tuple((-1.0) ** i * (2.0 * math.pi) ** (2 * i + 1) / math.factorial(2 * i + 1) for i in range(8))


def identity(shape: tuple[int, int]) -> np.ndarray:
    return np.eye(*shape)


class LeastSquares(NamedTuple):
    """One of the two."""

    P: Annotated[
        np.ndarray, f8("inputs", "inputs", low=-1e3 * MOST, high=1e3 * MOST, default=identity)
    ]  # lower triangle
    W: Annotated[np.ndarray, f8("classes", "inputs", low=-LARGEST, high=LARGEST)]


@bare_kernel
def draw_frequency(seed, feature, column, width):
    """Of one cosine and one column: normal, by Box and Muller. `width` is the number of columns."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, FREQUENCY, 2 * feature, column)))
    turn = 2.0 * math.pi * uniform(seed, FREQUENCY, 2 * feature + 1, column)
    return math.sqrt(SPREAD / width) * radius * math.cos(turn)


@entry_kernel
def start_phases(seed, phases):
    for m in range(phases.size):
        phases[m] = uniform(seed, FREQUENCY, m, -1)


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


@bare_kernel
def start_frequencies(frequencies, column, seed, width):
    """The frequencies, in turns, of a column that is in use from here on."""
    for m in range(N_COSINES):
        frequencies[column, m] = draw_frequency(seed, m, column, width) / (2.0 * math.pi)


@bare_kernel
def standardise(values, centre_of, scale, n, z):
    """z[:n]: the columns in units of their spread, clipped."""
    for j in range(n):
        z[j] = min(max((values[j] - centre_of[j]) * scale[j], -CLIP), CLIP)


@fused_kernel
def cosine(turns):
    """cos(2 pi turns), to 1e-11: a polynomial, so that loops over it vectorise."""
    t = turns + 0.25
    t -= math.floor(t + 0.5)  # -1/2 ... 1/2; sin(2 pi t)
    t = t if abs(t) <= 0.25 else math.copysign(0.5, t) - t
    s = t * t
    value = _SIN[7]
    value = value * s + _SIN[6]
    value = value * s + _SIN[5]
    value = value * s + _SIN[4]
    value = value * s + _SIN[3]
    value = value * s + _SIN[2]
    value = value * s + _SIN[1]
    value = value * s + _SIN[0]
    return value * t


@bare_kernel
def curve(frequencies, phases, tilt, z, n, out):
    """out[1:] = [cosines, z], from z[:n]. Frequencies are in turns."""
    cosines, plain = out[1:], out[1 + N_COSINES :]
    for m in range(N_COSINES):
        cosines[m] = phases[m]
    for j in range(n):
        plain[j] = z[j]
        tilted = z[j] * tilt[j]
        if tilted != 0.0:
            add_scaled(cosines, frequencies[j], tilted, N_COSINES)
    for m in range(N_COSINES):
        cosines[m] = HEIGHT * cosine(cosines[m])


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


@bare_kernel
def logits_of_scores(scores, k, logits):
    """Centred logits of the scores, as a voice of the panel."""
    for c in range(k):
        logits[c] = SHARPNESS * min(max(scores[c], -2.0), 2.0)
    centre(logits, k)


@summing_kernel
def times_row(row, x, u, i):
    """Row i of a lower triangle: adds its part to u[:i], and returns that of u[i]."""
    total, own = row[i] * x[i], x[i]
    for j in range(i):
        total += row[j] * x[j]
        u[j] += row[j] * own
    return total


@fused_kernel
def less(row, u, factor, n):
    for j in range(n):
        row[j] = (row[j] - factor * u[j]) * (1.0 / FORGET)


@bare_kernel
def learn_squares(squares, x, n, scores, k, y, weight, u):
    """Learn a row whose scores were these; `u` is scratch, (inputs,)."""
    P = squares.P
    for i in range(n):
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
