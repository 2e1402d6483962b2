"""Hedge over the prefix experts: expert i is the weighted vote of the first i learners.

Hedge follows expert i with probability v_i / sum v. To draw one, add noise to every log v_i and take the largest sum:
with noise of the Gumbel distribution, -log(-log u), expert i has it with just this probability. So the experts of each
segment can be asked by themselves: what goes on along the chain is the largest sum so far, and what that expert says.
The noise is a hash of the round and the expert, so that the draw is the same however the chain is cut.
"""

from __future__ import annotations

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from onlineboost._compile.fastmath import LN2, exp, float_bits
from onlineboost._compile.jit import bare_kernel, entry_kernel, kernel, small_kernel
from onlineboost._compile.random import EXPERT, uniform

FAINT = 40.0  # experts whose log weight is so far below the largest do not count for the masses,
UNIT = 16.0  # which are relative to a multiple of it, not far above the largest: it seldom changes
FAINTER = 640.0  # and a factor exp(-640) is as good as none
FINEST = 2.0**-53  # random numbers are multiples of it
MOST_NOISE = 53.0 * LN2 + 1e-9  # so there is no more noise than this


class Combiner(IntEnum):
    """Whom to follow."""

    HEDGE = 0  # an expert drawn by its Hedge weight in each round
    WEIGHTED = 1  # the label with the most Hedge weight behind it
    BEST = 2  # the expert with the fewest mistakes
    LAST = 3  # the vote of all learners


class Leader(NamedTuple):
    """Whom a block of rows would follow by the experts that have been asked so far."""

    value: np.ndarray  # float64 (rows,) what the expert has that is ahead: log weight and noise, or the log weight
    label: np.ndarray  # int32 (rows,) what it predicts
    expert: np.ndarray  # int32 (rows,) its number
    mass: np.ndarray  # float64 (rows, k) if all are followed: weight behind every label, which is times exp(value)


def new_leader(combiner: Combiner, n: int, k: int) -> Leader:
    """Nobody has been asked yet about n rows with k classes."""
    rows = n if combiner is Combiner.WEIGHTED else 0
    return Leader(np.full(n, -np.inf), np.full(n, -1, np.int32), np.full(n, -1, np.int32), np.zeros((rows, k)))


@bare_kernel
def best_expert(log_v):
    """The first expert of largest weight."""
    best = 0
    for i in range(1, log_v.size):
        if log_v[i] > log_v[best]:
            best = i
    return best


@bare_kernel
def noise(u):
    """A number of the Gumbel distribution, from one that is even in [0, 1)."""
    return -math.log(max(-math.log(1.0 - u), FINEST))


@bare_kernel
def more_noise(u):
    """At least `noise(u)`, without a logarithm: -log(1 - u) >= u >= 2^e, e being the exponent of u."""
    return (1023 - (float_bits(u) >> 52)) * LN2 + 1e-9


@bare_kernel
def draw_part(log_v, first, seed, t, strong, value):
    """The one of experts first, first + 1, ... with most log weight and noise in round t, if that is above `value`.

    Returns what it has, and its place in log_v; `value` and -1: none. `strong` is the place of an expert of large
    weight. It saves time: where one is sure to have less than that expert, its noise need not be known.
    """
    least = max(value, log_v[strong] + noise(uniform(seed, EXPERT, first + strong, t)))
    ahead = -1
    for i in range(log_v.size):
        if log_v[i] + MOST_NOISE < least:
            continue
        u = uniform(seed, EXPERT, first + i, t)
        if log_v[i] + more_noise(u) < least:
            continue
        found = log_v[i] + noise(u)
        if found > value:
            ahead, value = i, found
            least = max(least, value)
    return value, ahead


@entry_kernel
def draw_expert(log_v, seed, t):
    """i with probability v_i / sum v, from logs; the draw of round t."""
    return draw_part(log_v, 0, seed, t, best_expert(log_v), -np.inf)[1]


@kernel
def expert_mass(log_v, experts, k):
    """Hedge weight behind every label, (rows, k), but for a factor; `experts` (rows, N) are their predictions."""
    mass = np.zeros((experts.shape[0], k))
    for b in range(experts.shape[0]):
        add_mass(log_v, experts[b], -np.inf, mass[b])
    return mass


@bare_kernel
def add_mass(log_v, experts, top, mass):
    """Add the weight of neighbouring experts to that behind every label, which is relative to exp(top).

    Returns the new `top`. What is added up, and in which order, does not depend on who are taken as neighbours.
    """
    for i in range(log_v.size):
        if log_v[i] > top:
            higher = math.ceil(log_v[i] / UNIT) * UNIT
            fade = exp(max(top - higher, -FAINTER))
            for l in range(mass.size):
                mass[l] *= fade
            top = higher
        if log_v[i] > top - UNIT - FAINT:
            mass[experts[i]] += exp(log_v[i] - top)
    return top


@entry_kernel
def learners_needed(combiner, log_v, seed, t):
    """How many learners, from the first on, the prediction of round t needs."""
    if combiner == Combiner.HEDGE:
        return draw_expert(log_v, seed, t) + 1
    if combiner == Combiner.BEST:
        return best_expert(log_v) + 1
    return log_v.size


# arguments: the rounds of a block
def hedge_rounds(combiner, log_v, seed, t, experts, y, weight, k, out, costs=None):
    """Rounds t, t+1, ...: predict, then v_i *= exp(-1[expert i was wrong]), in logs.

    `experts` is (rounds, N), `out` gets the predictions. With `costs` (k, k), to predict l where y is right counts
    costs[y, l] in place of 1.
    """
    leader = new_leader(combiner, len(y), k)
    hedge_part(int(combiner), log_v, 0, seed, t, experts, y, weight, costs, *leader)
    choose_labels(leader, out)


# arguments: those of `hedge_rounds`, of some of the experts; a named tuple would take 20 us more to hand over
@entry_kernel
def hedge_part(combiner, log_v, first, seed, t, experts, y, weight, costs, value, label, expert, mass):
    """`hedge_rounds` for experts first, first + 1, ..., of log weights log_v: they come in, and learn the labels.

    `experts` has the predictions of all. The last four are those of `Leader`: who is ahead before these come in, and
    after.
    """
    if log_v.size == 0:
        return
    strong = best_expert(log_v)
    for b in range(y.size):
        said = experts[b, first : first + log_v.size]
        if combiner == Combiner.WEIGHTED:
            value[b] = add_mass(log_v, said, value[b], mass[b])
        else:
            ahead, found = log_v.size - 1, 0.0
            if combiner == Combiner.HEDGE:
                found, ahead = draw_part(log_v, first, seed, t + b, strong, value[b])
            elif combiner == Combiner.BEST:
                best = best_expert(log_v)
                found, ahead = log_v[best], best if log_v[best] > value[b] else -1
            if ahead >= 0:
                value[b], label[b], expert[b] = found, said[ahead], first + ahead
                strong = ahead
        update_log_weights(log_v, said, y[b], weight[b], costs)


@entry_kernel
def choose_labels(leader, out):
    """The predictions, once all experts have been asked."""
    for b in range(out.size):
        out[b] = best_expert(leader.mass[b]) if leader.mass.shape[0] > 0 else leader.label[b]


@small_kernel
def update_log_weights(log_v, experts, y, weight, costs):
    """Experts (N,) that were wrong about an example lose weight."""
    for i in range(log_v.size):
        if experts[i] != y:
            log_v[i] -= weight if costs is None else weight * costs[y, experts[i]]
