"""Naive Bayes: what is known without looking at several columns together.

It takes the columns as independent within a class. It needs nothing but the moments that `columns` keeps:

    log prior_c + sum over numbers of max(-z^2 / 2v - log(v / v_all) / 2, -20) + sum over values of log(f_c / f)

A number is normal in every class: z is its distance from the mean of the class, v the variance there, both drawn to
those of all rows (a mean by 1 row, a variance by 5). f_c is the frequency of a nominal value in class c, drawn to that
of all rows, f, by 2 rows. Missing values, and values that have no dense column of their own, are left out.

Columns are not independent, so it is far too sure of itself: half of the sum is what it says.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import log
from onlineboost._compile.jit import bare_kernel, summing_kernel
from onlineboost.contracts.schema import part, whole
from onlineboost.panel.columns import COLUMNS
from onlineboost.panel.combiner import softmax
from onlineboost.panel.member import MEMBER, Part

MEAN_ROWS, VARIANCE_ROWS, VALUE_ROWS = 1.0, 5.0, 2.0
LEAST_LOG = -20.0  # of what a number says of a class
TINY = 1e-9  # of a variance, beside that of all rows
NAIVE_BAYES = 7  # its voice
HALVED = 4  # rules of the panel in which half of the sum counts


class Bayes(NamedTuple):
    """Nothing of its own."""

    voices: Annotated[int, whole(saved=False, default=1)]


@bare_kernel
def say(bayes, own, said, shared, row, n, k):
    """Probabilities."""
    if row.rules[0] < 2:
        for c in range(k):
            said[0, c] = 1.0 / k
        return
    for c in range(k):
        own[c] = log(row.prior[c])
    add_numbers(shared.stats, row, own, k)
    add_values(shared.stats, row, own, k)
    for c in range(k):
        own[c] *= 0.5 if row.rules[0] >= HALVED else 1.0
    softmax(own, k, said[0])


@bare_kernel
def add_numbers(stats, row, logits, k):
    total, own, spread = stats.columns.total, stats.columns.by_class, row.sums[0]
    n = stats.dense.n_numbers
    for j in range(n):
        counts = (row.there[j] > 0.0) & (total.mass[j] > 2.0)
        spread[j] = total.squares[j] / total.mass[j] if counts else 0.0
    for c in range(k):
        logits[c] += log_density(row.values, own.mass[c], own.mean[c], own.squares[c], total.mean, spread, n)


@summing_kernel
def log_density(values, mass, mean, squares, mean_of_all, spread, n):
    """Of the numbers of a row in one class, less that in all rows; those with no spread are left out."""
    total = 0.0
    for j in range(n):
        z = values[j] - (mass[j] * mean[j] + MEAN_ROWS * mean_of_all[j]) / (mass[j] + MEAN_ROWS)
        whole = spread[j] if spread[j] > 0.0 else 1.0
        v = (squares[j] + VARIANCE_ROWS * whole) / (mass[j] + VARIANCE_ROWS) + TINY * whole
        one = max(-0.5 * z * z / v - 0.5 * log(v / whole), LEAST_LOG)
        total += one if spread[j] > 0.0 else 0.0
    return total


@bare_kernel
def add_values(stats, row, logits, k):
    total, own = stats.columns.total, stats.columns.by_class
    for j in range(stats.dense.n_numbers, stats.used[COLUMNS]):
        if row.values[j] == 1.0 and row.there[j] > 0.0:
            mass = total.mass[j]
            share = (mass * max(total.mean[j], 0.0) + 1.0) / (mass + 1.0)
            for c in range(k):
                seen = own.mass[c, j]
                logits[c] += log((seen * max(own.mean[c, j], 0.0) + VALUE_ROWS * share) / (seen + VALUE_ROWS) / share)


MEMBER.implement(Bayes, say=say)
BAYES = Part(
    "bayes",
    Bayes,
    {NAIVE_BAYES: "naive Bayes"},
    lambda state, sizes: np.zeros(sizes["classes"]),
    field=part(since=2),
)
