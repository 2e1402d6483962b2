"""Costs of one state, for more classes and learners than a table of all states can hold.

Let r be correct. It ends T votes above the present leader if it is drawn x = T + deficit_r times, and then wins if
every other label v is drawn at most c_v = T - 1 + deficit_v times. With J_r(x, T) for the probability of both,

    P(win from s)                          sum_T J_r(x, T)
    P(win from s + e_r)                    sum_T J_r(x - 1, T)
    P(win from s) - P(win from s + e_l)    sum_T of the part of J_r(x, T) in which l is drawn exactly c_l times

and the differences of these three are a row of excess costs. J_r(x, T) is P_m(x), the probability of x draws of r
among the m, times the probability that the n = m - x other draws keep to their limits. Whatever the edge of a draw, if
it is not for r it is for each of the k - 1 other labels alike, so the second probability knows nothing of edges.
Multinomial counts are independent
Poisson counts given that they add up to n (Levin 1981), of *any* rate Lambda, so this probability is a coefficient of
a product of polynomials, read off at the M-th roots of unity w_j:

    E_c[j] = sum_{t <= c} Pois(t; Lambda) w_j^t
    J_r(x, T) = P_m(x) sum_j w_j^(x - m) prod_{v != r} E_{c_v}[j] / (M Pois(n; (k - 1) Lambda))

The product over all labels serves all rows, with r's own factor divided out in a table. Few T matter: below some T the
draws have no room, and above some T nothing can keep r from winning any more, which is why the *differences* are summed
up and not the potentials. The rates form one ladder for all m and all edges; the edges are in P_m(x) alone, which is
Bin(x; m, p) if they are alike, and otherwise the law of a sum of different draws (`draws.draws_left`).

This file has the tables; `race_costs` sums up the costs from them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from onlineboost.boosters.potentials.draws import (
    NEGLIGIBLE,
    Floats,
    Ints,
    draws_left,
    poisson,
    race_reach,
    stack,
    vote_distribution,
)

FEW_LANES, MANY_LANES = 16, 24  # frequencies in a group, for k < 8 and k >= 8: some 500 numbers in a loop
STEP = 0.5  # of the ladder, in square roots of the mean (k - 1) Lambda: a standard deviation
LONG = ("limited", "exact", "without")  # fields of Races in which the rates follow one another


class Races(NamedTuple):
    """Poisson counts in the frequency domain, one set for each rate Lambda of the ladder.

    Row i of a table is for the limit c = i - 1, so i = T + deficit. Row 0 is only met by the label that wins, and its
    factor is left out. Frequencies come in groups of lanes, real and imaginary parts apart: then the numbers of
    one group and of all T in a row are one stretch of memory, whatever the deficit, and one long loop.
    """

    lanes: int  # frequencies in a group
    rate: Ints  # (N,) the rate for m draws
    free: Ints  # (rates,) a limit of `free` or more never binds
    n_points: Ints  # (rates,) M; w = exp(2 pi i / M)
    groups: Ints  # (rates,) of frequencies
    start: Ints  # (rates,) where a rate begins in the next three tables, each (groups, 2, rows, lanes) of a rate
    stride: Ints  # (rates,) rows * lanes
    limited: Floats  # E_c
    exact: Floats  # (E_c - E_{c-1}) / E_c: the label is drawn c times, not fewer
    without: Floats  # w^i / E_c, for the label that wins
    unlimited: Floats  # (rates, groups, 2, lanes) E_c without a limit
    step: Floats  # (rates, groups, 2, lanes) w
    phase: Floats  # (N, groups, 2, lanes) w^-m
    log_limited: Floats  # (rates, rows) log E_c[0], E_c[0] = P(at most c draws)
    decay: Floats  # (rates, rows) K_c: |E_c[j]| and |E_{c-1}[j]| are below E_c[0] exp(-K_c (1 - cos theta_j))
    angle: Floats  # (rates, groups) 1 - cos theta of the first frequency of a group
    inverse: Floats  # (rates, rows) 1 / E_c[0]
    weight: Floats  # (N, rows) [m, x]: 2 P_m(x) / (M Pois(n; (k - 1) Lambda)); 2, for the conjugate frequencies
    own_tail: Floats  # (N, x) [m, x]: probability of x or more draws of the correct label,
    other_tail: Floats  # (N, c) [m, c]: of c or more draws of another one
    longest: Ints  # (N,) more draws of the correct label than this have negligible probability


def race_tables(n_classes: int, gamma: Floats) -> Races:
    """Tables for m < N draws, of the edges gamma[:m]."""
    N, k = len(gamma), n_classes
    wrong = [1.0 - vote_distribution(k, edge)[0] for edge in gamma.tolist()]
    others_mean = np.array([math.fsum(wrong[:m]) for m in range(N)])
    ladder = np.arange(0.5, max(0.5, math.sqrt(others_mean.max())) + STEP, STEP) ** 2
    rates = np.abs(np.sqrt(others_mean)[:, None] - np.sqrt(ladder)).argmin(axis=1)
    draws = draws_left(k, gamma)
    longest = np.array([1 + int((_tail(row) > NEGLIGIBLE).sum()) for row in draws])
    reach = race_reach(k, gamma)
    lanes = FEW_LANES if k < 8 else MANY_LANES
    tables = []
    for g, mean in enumerate(ladder):
        served = np.flatnonzero(rates == g)
        likely = np.max([np.pad(draws[m][::-1], (0, N - 1 - m)) for m in served.tolist()] or [np.zeros(N)], axis=0)
        rows = max([1 + longest[m] + min(reach[m], N - 1 - m) for m in served], default=1)
        tables.append(_rate_tables(k, mean, likely, rows, lanes))
    others = draws_left(k, -gamma / (k - 1.0))  # p of this edge is q of the other
    one_over = [table.pop("one_over") for table in tables]
    weights = [row * one_over[g][len(row) - 1 :: -1] for g, row in zip(rates, draws, strict=True)]
    widest = max(len(table["decay"]) for table in tables)
    return Races(
        lanes=lanes,
        rate=rates,
        start=np.cumsum([0] + [table["limited"].size for table in tables[:-1]]),
        stride=np.array([table["limited"].shape[2] * lanes for table in tables]),
        **{name: np.concatenate([table[name].ravel() for table in tables]) for name in LONG},
        **{name: stack([table[name] for table in tables]) for name in tables[0] if name not in LONG},
        phase=stack([_in_groups(_turn(tables[g], -m), lanes)[:, :, 0] for m, g in enumerate(rates)]),
        weight=np.stack([np.pad(row, (0, max(0, widest - len(row))))[:widest] for row in weights]),
        own_tail=stack([_tail(row) for row in draws]),
        other_tail=stack([_tail(row) for row in others]),
        longest=longest,
    )


def _tail(probability: Floats) -> Floats:
    return probability[::-1].cumsum()[::-1]


def _rate_tables(n_classes: int, mean: float, likely: Floats, rows: int, lanes: int) -> dict[str, np.ndarray]:
    """The tables of one rate, (k - 1) Lambda = mean; n draws of other labels have a probability of up to likely[n]."""
    N, rate = len(likely), mean / (n_classes - 1)
    size = 2 * N + int(mean + 40.0 * math.sqrt(mean)) + 80
    total = poisson(mean, size)
    # A transform of length M also counts sums that are M too large or too small, which must be negligible.
    n = np.arange(N)
    M = 7
    while (likely * (total[n + M] + np.where(n < M, 0.0, total[n - M])) > NEGLIGIBLE * total[n]).any():
        M += 2
    J = (M + 1) // 2
    groups = -(-J // lanes)
    count = poisson(rate, max(size, int(rate + 40 * math.sqrt(rate)) + 80))
    free = min(N, int((count[::-1].cumsum()[::-1] > NEGLIGIBLE / n_classes).sum()))
    rows = max(rows, free + 2)
    root = np.exp(2j * math.pi * np.arange(M) / M)
    i = np.arange(rows)
    w = root[np.outer(i, np.arange(J)) % M]
    mass = count[: rows - 1, None] * w[:-1]  # [c, j]
    E = np.concatenate([np.ones((1, J)), mass.cumsum(axis=0)])
    E[free + 1 :] = np.exp(rate * (root[:J] - 1.0))
    E[np.abs(E) < 1e-100] = 1e-100  # divided by, and far too small to count
    F = np.concatenate([np.zeros((1, J)), mass / E[1:]])
    F[free + 1 :] = 0.0
    with np.errstate(divide="ignore", invalid="ignore"):
        angle = 1.0 - np.cos(2.0 * math.pi * np.arange(J) / M)
        decay = np.maximum(0.0, (-np.log(np.abs(E[:, 1:] / E[:, :1])) / angle[1:]).min(axis=1))
    decay[2:] = np.minimum(decay[2:], decay[1:-1])
    one_over = np.zeros(N)  # left 0 where n is so unlikely that P_m(x) is negligible
    one_over[total[:N] > 1e-60] = 2.0 / (M * total[:N][total[:N] > 1e-60])
    return {
        "free": np.array(free),
        "n_points": np.array(M),
        "groups": np.array(groups),
        "limited": _in_groups(E, lanes),
        "exact": _in_groups(F, lanes),
        "without": _in_groups(w / E, lanes),
        "unlimited": _in_groups(E[-1:], lanes)[:, :, 0],
        "step": _in_groups(root[None, :J], lanes)[:, :, 0],
        "log_limited": np.log(E[:, 0].real),
        "inverse": 1.0 / E[:, 0].real,
        "decay": decay,
        "angle": np.append(angle[::lanes], math.inf),
        "one_over": one_over,
    }


def _turn(table: dict[str, np.ndarray], power: int) -> np.ndarray:
    """A row of w_j^power."""
    M = int(table["n_points"])
    return np.exp(2j * math.pi * (np.arange((M + 1) // 2) * power % M) / M)[None]


def _in_groups(table: np.ndarray, lanes: int) -> Floats:
    """[row, frequency] as [group, part, row, lane]; zeros where there is no frequency."""
    padded = np.zeros((len(table), -(-table.shape[1] // lanes) * lanes), dtype=complex)
    padded[:, : table.shape[1]] = table
    parts = np.stack([padded.real, padded.imag]).reshape(2, len(table), -1, lanes)
    return np.ascontiguousarray(parts.transpose(2, 0, 1, 3))


NO_RACES = race_tables(2, np.zeros(1))  # a kernel wants all tables, used or not
