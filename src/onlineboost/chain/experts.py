"""Hedge over the prefix experts: expert i is the weighted vote of the first i learners."""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.fastmath import EXPERT, uniform
from onlineboost._compile.jit import kernel

HEDGE, WEIGHTED, BEST, LAST = range(4)
EXPERT_RULES = {"hedge": HEDGE, "weighted": WEIGHTED, "best": BEST, "last": LAST}


@kernel
def draw_expert(log_v, seed, t):
    """i with probability v_i / sum v, from logs; the draw of round t."""
    top = log_v.max()
    total = 0.0
    for value in log_v:
        total += math.exp(value - top)
    left = uniform(seed, EXPERT, 0, t) * total
    for i in range(log_v.size):
        left -= math.exp(log_v[i] - top)
        if left < 0.0:
            return i
    return np.int64(log_v.argmax())


@kernel
def expert_mass(log_v, experts, k):
    """Hedge weight behind every label, (rows, k), where `experts` (rows, N) are the experts' predictions."""
    mass = np.zeros((experts.shape[0], k))
    top = log_v.max()
    for i in range(log_v.size):
        if log_v[i] > top - 40.0:
            v = math.exp(log_v[i] - top)
            for b in range(experts.shape[0]):
                mass[b, experts[b, i]] += v
    return mass


@kernel
def follow(rule, log_v, seed, t, experts, k):
    """The label predicted in round t from the experts' predictions, (1, N)."""
    if rule == HEDGE:
        return np.int64(experts[0, draw_expert(log_v, seed, t)])
    if rule == BEST:
        return np.int64(experts[0, log_v.argmax()])
    if rule == LAST:
        return np.int64(experts[0, log_v.size - 1])
    return np.int64(expert_mass(log_v, experts, k).argmax())


@kernel
def play(rule, log_v, seed, t, experts, y, weight, k, out):
    """Rounds t, t+1, ...: predict, then v_i *= exp(-1[expert i was wrong]), in logs.

    `experts` is (rounds, N), `out` gets the predictions.
    """
    for b in range(y.size):
        out[b] = follow(rule, log_v, seed, t + b, experts[b : b + 1], k)
        for i in range(log_v.size):
            if experts[b, i] != y[b]:
                log_v[i] -= weight[b]
