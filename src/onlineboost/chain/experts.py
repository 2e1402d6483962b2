"""Hedge over the prefix experts: expert i is the weighted vote of the first i learners."""

from __future__ import annotations

import math
from enum import IntEnum

import numpy as np

from onlineboost._compile.jit import bare_kernel, entry_kernel, kernel, small_kernel
from onlineboost._compile.random import EXPERT, uniform


class Combiner(IntEnum):
    """Whom to follow."""

    HEDGE = 0  # an expert drawn by its Hedge weight, anew each round
    WEIGHTED = 1  # the label with the most Hedge weight behind it
    BEST = 2  # the expert with the fewest mistakes
    LAST = 3  # the vote of all learners


@bare_kernel
def best_expert(log_v):
    """The first expert of largest weight."""
    best = 0
    for i in range(1, log_v.size):
        if log_v[i] > log_v[best]:
            best = i
    return best


@entry_kernel
def draw_expert(log_v, seed, t):
    """i with probability v_i / sum v, from logs; the draw of round t."""
    best = best_expert(log_v)
    top = log_v[best]
    total = 0.0
    for i in range(log_v.size):
        total += math.exp(log_v[i] - top)
    left = uniform(seed, EXPERT, 0, t) * total
    for i in range(log_v.size):
        left -= math.exp(log_v[i] - top)
        if left < 0.0:
            return i
    return best


@kernel
def expert_mass(log_v, experts, k):
    """Hedge weight behind every label, (rows, k), where `experts` (rows, N) are the experts' predictions."""
    mass = np.zeros((experts.shape[0], k))
    add_mass(log_v, experts, mass)
    return mass


@bare_kernel
def add_mass(log_v, experts, mass):
    top = log_v[best_expert(log_v)]
    for i in range(log_v.size):
        if log_v[i] > top - 40.0:
            v = math.exp(log_v[i] - top)
            for b in range(experts.shape[0]):
                mass[b, experts[b, i]] += v


@bare_kernel
def follow(combiner, log_v, seed, t, experts, mass):
    """The label predicted in round t from the experts' predictions, (1, N). `mass` is scratch, (1, k)."""
    if combiner == Combiner.HEDGE:
        return np.int64(experts[0, draw_expert(log_v, seed, t)])
    if combiner == Combiner.BEST:
        return np.int64(experts[0, best_expert(log_v)])
    if combiner == Combiner.LAST:
        return np.int64(experts[0, log_v.size - 1])
    mass[:] = 0.0
    add_mass(log_v, experts, mass)
    return np.int64(best_expert(mass[0]))


def play(combiner, log_v, seed, t, experts, y, weight, k, out, costs=None):
    """Rounds t, t+1, ...: predict, then v_i *= exp(-1[expert i was wrong]), in logs.

    `experts` is (rounds, N), `out` gets the predictions. With `costs` (k, k), to predict l where y is right counts
    costs[y, l] in place of 1.
    """
    play_rounds(int(combiner), log_v, seed, t, experts, y, weight, np.empty((1, k)), out, costs)


@entry_kernel
def play_rounds(combiner, log_v, seed, t, experts, y, weight, mass, out, costs):
    """`play`, with scratch for a number per class."""
    for b in range(y.size):
        out[b] = follow(combiner, log_v, seed, t + b, experts[b : b + 1], mass)
        judge(log_v, experts[b], y[b], weight[b], costs)


@small_kernel
def judge(log_v, experts, y, weight, costs):
    """Experts (N,) that were wrong about an example lose weight."""
    for i in range(log_v.size):
        if experts[i] != y:
            log_v[i] -= weight if costs is None else weight * costs[y, experts[i]]
