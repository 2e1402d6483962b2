"""Slow twins of what the theory computes: by enumeration, by plain loops, from the definitions."""

from __future__ import annotations

import itertools
import math

import reference
from onlineboost._compile.random import uniform
from onlineboost.theory.simulate import VOTE


def majority_error(k, gammas, ties):
    """P(the majority of votes from u_gamma is wrong), over all outcomes; ties lost, or won once in their number."""
    won = 0.0
    for votes in itertools.product(range(k), repeat=len(gammas)):
        counts = [votes.count(l) for l in range(k)]
        leaders = counts.count(max(counts))
        if counts[0] == max(counts) and (ties == "shared" or leaders == 1):
            won += math.prod((1 - g) / k + g * (l == 0) for l, g in zip(votes, gammas, strict=True)) / leaders
    return 1.0 - won


def largest_weights(k, gammas):
    """(k - 1) max_x P(x right votes of those to come) for each learner, over all outcomes of right and wrong."""
    out = []
    for i in range(1, len(gammas) + 1):
        p = [(1 - g) / k + g for g in gammas[i:]]
        law = [0.0] * (len(p) + 1)
        for rights in itertools.product((True, False), repeat=len(p)):
            law[sum(rights)] += math.prod(q if right else 1 - q for right, q in zip(rights, p, strict=True))
        out.append((k - 1) * max(law))
    return out


def draw_vote(seed, i, t, y, k, edge):
    """u_edge^y as a mixture: y with probability edge, otherwise any label; both from one number."""
    u = uniform(seed, VOTE, i, t)
    return y if u < edge else min(k - 1, int((u - edge) / (1.0 - edge) * k))


class Told:
    """A weak learner that is sure of the label it is told to vote for."""

    def __init__(self, i):
        self.i = i

    def distribution(self, x, k):
        return [float(l == x[self.i]) for l in range(k)]

    def learn(self, x, y, weight, t):
        pass


def regret(loss, before, votes, y, alphas, reach, points=4001):
    """sum_t f_t(alpha_t) - min_alpha sum_t f_t(alpha), the minimum over a grid."""

    def total(alpha_of):
        out = 0.0
        for t, (s, l, label) in enumerate(zip(before, votes, y, strict=True)):
            moved = list(s)
            moved[l] += alpha_of(t)
            out += reference.loss(loss, moved, label)
        return out

    grid = [reach * (2.0 * j / (points - 1) - 1.0) for j in range(points)]
    return total(lambda t: alphas[t]) - min(total(lambda t, a=a: a) for a in grid)


def lea(advice, costs, eta, seed):
    """Algorithm LEA, line by line."""
    totals = [0.0] * len(advice[0])
    out = []
    for t, row in enumerate(advice, start=1):
        v = [math.exp(-eta * total) for total in totals]
        out.append(row[reference.draw_expert(v, seed, t)])
        totals = [total + costs[t - 1][l] for total, l in zip(totals, row, strict=True)]
    return out
