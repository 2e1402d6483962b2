"""From a distribution to a vote: the label of least expected cost, and how ties are broken."""

from __future__ import annotations

import math
from enum import IntEnum

from onlineboost._compile.jit import bare_kernel, inlined_kernel, small_kernel
from onlineboost._compile.random import VOTE_TIE, uniform

TIE = 1e-12  # costs (and probabilities) that differ by less, relatively, differ by rounding alone


class Vote(IntEnum):
    """What a learner votes for.

    COST is the label l of least sum_r p_r C[r, l], right if p are the probabilities of the labels. But the learner was
    trained on weighted examples, so its p_r is already larger for labels whose examples weigh more. If the example at
    hand weighed like the ones the learner has p from, the rows of C would have to be divided by their weights -C[r, r]
    to make up for it (for k = 2 that is ARGMAX, the likeliest label); if the two had nothing to do with each other, by
    nothing. TEMPERED goes half way, by the square root; on 13 data sets it is better than either end. NORMALIZED goes
    all the way: the costs D that the paper's Algorithm 1 hands to the learner, each row with the sum 1.
    """

    TEMPERED = 0
    COST = 1
    ARGMAX = 2
    NORMALIZED = 3


LEAST_WEIGHT = 1e-300  # of a row of costs, to divide by


@small_kernel
def row_divisor(vote, weight):
    """What a row of C of this weight is divided by before costs are added up."""
    weight = max(weight, LEAST_WEIGHT)
    if vote == Vote.TEMPERED:
        return math.sqrt(weight)
    return weight if vote == Vote.NORMALIZED else 1.0


@inlined_kernel
def only_choice(work, n):
    """The one label with p > 0, or -1 if there are several or none; and the largest p.

    Where one label is certain there is nothing to weigh up: a row of C is lowest at its own label.
    """
    top = rest = 0.0
    likeliest = 0
    for j in range(n):
        rest += min(top, work.p[j])
        likeliest = work.labels[j] if work.p[j] > top else likeliest
        top = max(top, work.p[j])
    return likeliest if rest == 0.0 and top > 0.0 else -1, top


@inlined_kernel
def likeliest(booster, i, t, k, work, n):
    """The label of largest p; among equals a draw."""
    label, _ = only_choice(work, n)
    return label if label >= 0 else cheapest(booster, i, t, k, work, n, no_costs(work, k))


@inlined_kernel
def no_costs(work, k):
    """Every label costs nothing so far; returns 0, the size of the numbers that this was added up from."""
    for l in range(k):
        work.cost[l] = 0.0
    return 0.0


@inlined_kernel
def cheapest(booster, i, t, k, work, n, size):
    """The label of least work.cost; `size` is that of the numbers the costs were added up from.

    Ties go to the higher p, then to a draw.
    """
    only, low, second = two_lowest(work.cost, k)
    if second > low + TIE * size:
        return only
    draw = uniform(booster.seed, VOTE_TIE, booster.offset + i, t)
    return break_tie(work.labels, work.p, n, low + TIE * size, draw, work.cost, k)


@small_kernel
def two_lowest(cost, k):
    """The label of least cost, its cost, and the least of the others'."""
    label, low, second = 0, math.inf, math.inf
    for l in range(k):
        if cost[l] < low:
            label, low, second = l, cost[l], low
        elif cost[l] < second:
            second = cost[l]
    return label, low, second


@bare_kernel
def break_tie(labels, p, n, limit, draw, cost, k):
    """Of the labels that cost no more than the limit, the one of highest p, or by a draw in [0, 1). Spoils `cost`."""
    top = 0.0
    for j in range(n):
        if cost[labels[j]] <= limit:
            top = max(top, p[j])
    for l in range(k):  # mark the labels that are as good
        cost[l] = 1.0 if cost[l] <= limit else 0.0
    ties, choice = 0, 0
    if top > 0.0:
        for j in range(n):
            if cost[labels[j]] == 1.0 and p[j] >= top * (1.0 - TIE):
                cost[labels[j]] = 2.0
                choice = labels[j]
                ties += 1
    if ties == 1:
        return choice
    mark = 2.0 if ties else 1.0
    if not ties:
        for l in range(k):
            ties += cost[l] == mark
    drawn = int(draw * ties)
    for l in range(k):
        if cost[l] == mark:
            choice = l
            if drawn == 0:
                break
            drawn -= 1
    return choice
