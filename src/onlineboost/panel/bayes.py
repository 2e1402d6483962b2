"""Naive Bayes: what is known without looking at several columns together.

It takes the columns as independent within a class. It needs nothing but the moments that `columns` keeps:

    log prior_c + sum over numbers of max(-z^2 / 2v - log(v / v_all) / 2, -20) + sum over values of log(f_c / f)

A number is normal in every class: z is its distance from the mean of the class, v the variance there, both drawn to
those of all rows (a mean by 1 row, a variance by 5). f_c is the frequency of a nominal value in class c, drawn to that
of all rows, f, by 2 rows. Missing values, and values that have no dense column of their own, are left out.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import bare_kernel
from onlineboost.contracts.schema import part, whole
from onlineboost.panel.columns import COLUMNS
from onlineboost.panel.combiner import softmax
from onlineboost.panel.member import MEMBER, Part

MEAN_ROWS, VARIANCE_ROWS, VALUE_ROWS = 1.0, 5.0, 2.0
LEAST_LOG = -20.0  # of what a number says of a class
TINY = 1e-9  # of a variance, beside that of all rows
NAIVE_BAYES = 7  # its voice


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
        own[c] = math.log(row.prior[c])
    add_numbers(shared.stats, row, own, k)
    add_values(shared.stats, row, own, k)
    softmax(own, k, said[0])


@bare_kernel
def add_numbers(stats, row, logits, k):
    total, own = stats.columns.total, stats.columns.by_class
    for j in range(stats.dense.n_numbers):
        if row.there[j] > 0.0 and total.mass[j] > 2.0 and total.squares[j] > 0.0:
            spread = total.squares[j] / total.mass[j]
            for c in range(k):
                mass = own.mass[c, j]
                mean = (mass * own.mean[c, j] + MEAN_ROWS * total.mean[j]) / (mass + MEAN_ROWS)
                v = (own.squares[c, j] + VARIANCE_ROWS * spread) / (mass + VARIANCE_ROWS) + TINY * spread
                z = row.values[j] - mean
                logits[c] += max(-0.5 * z * z / v - 0.5 * math.log(v / spread), LEAST_LOG)


@bare_kernel
def add_values(stats, row, logits, k):
    total, own = stats.columns.total, stats.columns.by_class
    for j in range(stats.dense.n_numbers, stats.used[COLUMNS]):
        if row.values[j] == 1.0 and row.there[j] > 0.0:
            mass = total.mass[j]
            share = (mass * max(total.mean[j], 0.0) + 1.0) / (mass + 1.0)
            for c in range(k):
                seen = own.mass[c, j]
                logits[c] += math.log(
                    (seen * max(own.mean[c, j], 0.0) + VALUE_ROWS * share) / (seen + VALUE_ROWS) / share
                )


MEMBER.implement(Bayes, say=say)
BAYES = Part(
    "bayes",
    Bayes,
    {NAIVE_BAYES: "naive Bayes"},
    lambda state, sizes: np.zeros(sizes["classes"]),
    field=part(since=2),
)
