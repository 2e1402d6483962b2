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
def whom(combiner, log_v, seed, t):
    """The expert that is followed in round t; -1: all of them, by their weights."""
    if combiner == Combiner.HEDGE:
        return draw_expert(log_v, seed, t)
    if combiner == Combiner.BEST:
        return best_expert(log_v)
    return log_v.size - 1 if combiner == Combiner.LAST else -1


# arguments: the rounds of a block, and what may be asked of them
def play(combiner, log_v, seed, t, experts, y, weight, k, out, costs=None, *, followed=None, mass=None):
    """Rounds t, t+1, ...: predict, then v_i *= exp(-1[expert i was wrong]), in logs.

    `experts` is (rounds, N), `out` gets the predictions. With `costs` (k, k), to predict l where y is right counts
    costs[y, l] in place of 1. `followed` (rounds,) gets the experts that were followed (-1: all of them), and `mass`
    (rounds, k) then the Hedge weight behind every label.
    """
    followed = np.empty(0, np.int64) if followed is None else followed
    mass = np.empty((1, k)) if mass is None else mass
    play_rounds(int(combiner), log_v, seed, t, experts, y, weight, mass, followed, out, costs)


# arguments: those of `play`
@entry_kernel
def play_rounds(combiner, log_v, seed, t, experts, y, weight, mass, followed, out, costs):
    """`play`, with scratch for a number per class if nobody asks for the masses."""
    for b in range(y.size):
        i = whom(combiner, log_v, seed, t + b)
        if followed.size > 0:
            followed[b] = i
        if i >= 0:
            out[b] = experts[b, i]
        else:
            at = b if mass.shape[0] > 1 else 0
            mass[at] = 0.0
            add_mass(log_v, experts[b : b + 1], mass[at : at + 1])
            out[b] = best_expert(mass[at])
        judge(log_v, experts[b], y[b], weight[b], costs)


@small_kernel
def judge(log_v, experts, y, weight, costs):
    """Experts (N,) that were wrong about an example lose weight."""
    for i in range(log_v.size):
        if experts[i] != y:
            log_v[i] -= weight if costs is None else weight * costs[y, experts[i]]
