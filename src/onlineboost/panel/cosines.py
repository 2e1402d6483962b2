"""Least squares on random cosines of the columns, for what is curved; beside them are the columns as they are.

They learn from [1, 128 cosines, z] as `least_squares` do from [1, z]. The cosines are of z times the root of each
column's eta^2 (`columns`): waves run along what matters.

What two nominal columns say together is no wave. So in place of the last cosines, up to PAIRS of them, there are
products of z in two dense columns that are values of different nominal columns: of the first dense columns, as many as
there are. Where one of the values is new, nothing is known of the product.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel, fused_kernel
from onlineboost._compile.random import FREQUENCY, uniform
from onlineboost.contracts.schema import f8, i8, part
from onlineboost.panel.columns import CONSTANT
from onlineboost.panel.least_squares import (
    ON_COSINES,
    LeastSquares,
    add_scaled,
    check_squares,
    learn_squares,
    new_squares_work,
    say_scores,
    start_input,
    start_input_again,
)
from onlineboost.panel.member import MEMBER, OUTSIDE, Part, wide

N_COSINES = 128
HEIGHT = 0.35  # of the cosines
SPREAD = 1.0  # variance of the frequencies, times the number of columns
PAIRS = 120  # products at most, in place of cosines
NEAR = 2.5  # z is cut there for products
WITH_PAIRS = 4  # rules of the panel that has them

_SIN = tuple((-1.0) ** i * (2.0 * math.pi) ** (2 * i + 1) / math.factorial(2 * i + 1) for i in range(8))


class Cosines(NamedTuple):
    """What they have learned."""

    tilt: Annotated[np.ndarray, f8("columns", low=0.0, high=100.0)]  # what a column counts in the cosines
    frequencies: Annotated[np.ndarray, f8("columns", N_COSINES, low=-2.0, high=2.0)]  # in turns
    phases: Annotated[np.ndarray, f8(N_COSINES, low=0.0, high=1.0)]
    curved: Annotated[LeastSquares, part(inputs="curved")]
    paired: Annotated[np.ndarray, i8(1, low=0, since=4)]  # dense columns whose products have begun


@bare_kernel
def draw_frequency(seed, feature, column, width):
    """Of one cosine and one column: normal, by Box and Muller. `width` is the number of columns."""
    radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, FREQUENCY, 2 * feature, column)))
    turn = 2.0 * math.pi * uniform(seed, FREQUENCY, 2 * feature + 1, column)
    return math.sqrt(SPREAD / width) * radius * math.cos(turn)


@bare_kernel
def start_phases(seed, phases):
    for m in range(phases.size):
        phases[m] = uniform(seed, FREQUENCY, m, -1)


@bare_kernel
def start_frequencies(frequencies, column, seed, width):
    """The frequencies, in turns, of a column that is in use from here on."""
    for m in range(N_COSINES):
        frequencies[column, m] = draw_frequency(seed, m, column, width) / (2.0 * math.pi)


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
def multiply(dense, z, n, products):
    """Products of the first n dense columns, the first of them in the last place; returns how many there are."""
    pair = 0
    for i in range(dense.n_numbers, n):
        for j in range(dense.n_numbers, i):
            if dense.owner[i] != dense.owner[j]:
                if pair == PAIRS:
                    return pair
                product = min(max(z[i], -NEAR), NEAR) * min(max(z[j], -NEAR), NEAR)
                products[products.size - 1 - pair] = HEIGHT * product
                pair += 1
    return pair


@bare_kernel
def start_products(cosines, dense, n, k):
    """Nothing is known of the products with columns that are in use since `cosines.paired`."""
    pair = 0
    for i in range(dense.n_numbers, n):
        for j in range(dense.n_numbers, i):
            if dense.owner[i] != dense.owner[j] and pair < PAIRS:
                if i >= cosines.paired[0]:
                    start_input_again(cosines.curved, N_COSINES - pair, 1 + N_COSINES + n, k)
                pair += 1
    cosines.paired[0] = n


@bare_kernel
def curve(frequencies, phases, tilt, z, n, n_waves, out):
    """out[1:] = [cosines, z], from z[:n], of the cosines the first n_waves. Frequencies are in turns."""
    cosines, plain = out[1:], out[1 + N_COSINES :]
    for m in range(n_waves):
        cosines[m] = phases[m]
    for j in range(n):
        plain[j] = z[j]
        tilted = z[j] * tilt[j]
        if tilted != 0.0:
            add_scaled(cosines, frequencies[j], tilted, n_waves)
    for m in range(n_waves):
        cosines[m] = HEIGHT * cosine(cosines[m])


@bare_kernel
def start_cosines(cosines, shared, first, stop):
    stats = shared.stats
    if first == 0:
        start_phases(stats.seed, cosines.phases)
    for j in range(first, stop):
        start_input(cosines.curved, 1 + N_COSINES + j)
        start_frequencies(cosines.frequencies, j, stats.seed, stats.width)


@bare_kernel
def move_cosines(cosines, shared, j, n, k, factor, shift):
    start_input_again(cosines.curved, 1 + N_COSINES + j, 1 + N_COSINES + n, k)
    tilt_columns(shared.stats, n, shared.scale.scale, cosines.tilt)


@bare_kernel
def say_cosines(cosines, own, said, shared, row, n, k):
    pairs = multiply(shared.stats.dense, row.z, n, own.x[1 : 1 + N_COSINES]) if row.rules[0] >= WITH_PAIRS else 0
    curve(cosines.frequencies, cosines.phases, cosines.tilt, row.z, n, N_COSINES - pairs, own.x)
    say_scores(cosines.curved, own, said[0], row, ON_COSINES, 1 + N_COSINES + n, k)


@bare_kernel
def learn_cosines(cosines, own, shared, row, n, k, y, weight):
    if row.rules[0] >= WITH_PAIRS and cosines.paired[0] < n:
        start_products(cosines, shared.stats.dense, n, k)
    learn_squares(cosines.curved, own.x, 1 + N_COSINES + n, own.scores, k, y, weight, own.u)


@bare_kernel
def refresh_cosines(cosines, own, shared, row, n, k):
    tilt_columns(shared.stats, n, shared.scale.scale, cosines.tilt)


@bare_kernel
def tilt_columns(stats, n, scale, tilt):
    """What columns count in the cosines: sqrt(eta^2), such that the variance of all columns together stays."""
    variance, pull = stats.columns.variance, stats.columns.pull
    all_of = tilted = 0.0
    for j in range(n):
        eta = pull[j] * math.sqrt(max(variance[j], CONSTANT))
        share = variance[j] * scale[j] * scale[j]
        all_of += share
        tilted += eta * share
        tilt[j] = math.sqrt(eta)
    for j in range(n):
        tilt[j] *= math.sqrt(all_of / tilted) if tilted > 0.0 else 0.0


MEMBER.implement(
    Cosines,
    start=start_cosines,
    move=move_cosines,
    say=say_cosines,
    learn=learn_cosines,
    refreshed=refresh_cosines,
)
COSINES = Part(
    "cosines",
    Cosines,
    {5: "cosines"},
    lambda state, sizes: new_squares_work(1 + N_COSINES + sizes["columns"], sizes["classes"]),
    logits=True,
    field=OUTSIDE,
    sizes={"curved": wide(1 + N_COSINES)},
    check=lambda cosines, shared: check_squares(cosines.curved, shared),
)
