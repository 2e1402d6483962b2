"""The surrogate losses of Adaboost.OLM: costs, step sizes, feasible sets.

s are the votes so far, e = exp(s) (carried along, since one vote moves one entry). For every loss the cost matrix is
the gradient of the loss, C[r] = grad L^r(s):

    logistic       L^r(s) = sum_{l != r} log(1 + exp(s_l - s_r))       C[r, l] = 1 / (1 + exp(s_r - s_l))
    exponential    L^r(s) = sum_{l != r} exp(s_l - s_r)                C[r, l] = exp(s_l - s_r)
    squared hinge  L^r(s) = 1/2 sum_{l != r} (s_l - s_r + 1)_+^2       C[r, l] = (s_l - s_r + 1)_+

for l != r, and C[r, r] = -sum_{l != r} C[r, l]. (The paper prints the logistic loss as log(1 + exp(s_r - s_r)).)

The gradient of alpha needs no formula of its own: f(alpha) = L^y(s + alpha e_l), so f'(alpha) is the entry [y, l] of
the cost matrix at the votes *after* this learner's vote. The paper's (printed) exponent for l = y has the wrong sign;
this is the derivative, as a finite difference confirms.
"""

from __future__ import annotations

import math
from enum import IntEnum

from onlineboost._compile.jit import bare_kernel, small_kernel, summing_kernel
from onlineboost.boosters.votes import TIE, row_divisor, two_lowest


class Loss(IntEnum):
    LOGISTIC = 0
    EXPONENTIAL = 1
    SQUARED_HINGE = 2


LOSSES = {loss.name.lower(): loss for loss in Loss}

UNLIKELY = 0.01  # labels of a probability below this, times the largest, are looked at only if they matter
TINY = 1e-300  # labels of less have no mass at all: 0 times an infinite cost would be NaN
E_REACH = 300.0  # exp(s) is trusted up to |s| = 300: sums and ratios of two such numbers are finite. Costs end there


@small_kernel
def in_reach(loss, s, k, most):
    """Whether costs can be had from e = exp(s), for all labels; `most` is a bound on |s| known beforehand."""
    if loss != Loss.LOGISTIC or most <= E_REACH:
        return loss == Loss.LOGISTIC
    reach = 0.0
    for l in range(k):
        reach = max(reach, abs(s[l]))
    return reach <= E_REACH


@small_kernel
def pair_cost(loss, near, s, e, r, l):
    """C[r, l] for l != r. `near` is what `in_reach` said."""
    if near:
        return e[l] / (e[l] + e[r])
    if loss == Loss.LOGISTIC:
        return 1.0 / (1.0 + math.exp(s[r] - s[l]))
    if loss == Loss.EXPONENTIAL:
        return math.exp(min(s[l] - s[r], E_REACH))
    return max(0.0, s[l] - s[r] + 1.0)


@summing_kernel
def logistic_total(e, r, k):
    """`off_diagonal` of the logistic loss, for votes in reach."""
    own = e[r]
    total = 0.0
    for l in range(k):
        total += e[l] / (e[l] + own) if l != r else 0.0
    return total


@small_kernel
def off_diagonal(loss, near, s, e, r, k):
    """-C[r, r] = sum over l != r of C[r, l]."""
    if k == 2:
        return pair_cost(loss, near, s, e, r, 1 - r)
    return logistic_total(e, r, k) if near else any_total(loss, s, e, r, k)


@bare_kernel
def any_total(loss, s, e, r, k):
    """`off_diagonal` of any loss."""
    total = 0.0
    for l in range(k):
        if l != r:
            total += pair_cost(loss, False, s, e, r, l)
    return total


@summing_kernel
def logistic_row(e, r, k, row):
    """`cost_row` of the logistic loss, for votes in reach."""
    own = e[r]
    total = 0.0
    for l in range(k):
        cost = e[l] / (e[l] + own) if l != r else 0.0
        row[l] = cost
        total += cost
    return total


@bare_kernel
def cost_row(loss, s, e, r, k, row):
    """row[l] = C[r, l] for l != r, and row[r] = 0; returns -C[r, r], their sum. For any loss."""
    total = 0.0
    for l in range(k):
        row[l] = pair_cost(loss, False, s, e, r, l) if l != r else 0.0
        total += row[l]
    return total


@small_kernel
def add_costs(loss, near, s, e, k, work, n, least, below, vote):
    """work.cost[l] += sum_r p_r C[r, l] for all l, over those of the n labels with least <= p_r < below; O(k n).

    Every row of C is divided by what the vote wants (see `votes.Vote`). Returns the size of the numbers that were added
    up, to judge differences by.
    """
    labels, p, cost, row = work.labels, work.p, work.cost[:k], work.cost[k:]
    size = 0.0
    for j in range(n):
        if not least <= p[j] < below:
            continue
        r = labels[j]
        total = logistic_row(e, r, k, row) if near else cost_row(loss, s, e, r, k, row)
        if total > 0.0:  # a row of zeros costs nothing, whatever the vote
            mass = p[j] / row_divisor(vote, total)
            for l in range(k):  # all of cost in one loop: a vector read right after one number in it changed is slow
                cost[l] += mass * (row[l] if l != r else -total)
            size += mass * total
    return size


@small_kernel
def likely_costs(loss, near, s, e, k, work, n, top, vote):
    """`add_costs` of the n labels, the likeliest of which has p = `top`, as far as the cheapest label depends on them.

    A row of C can move the costs of two labels apart by at most -2 p_r C[r, r] over its divisor, and for the logistic
    loss -C[r, r] < k - 1. So the unlikely labels can often be left out.
    """
    floor = UNLIKELY * top if near else TINY
    size = add_costs(loss, near, s, e, k, work, n, floor, 2.0, vote)
    unlikely = 0.0
    for j in range(n):
        unlikely += work.p[j] if work.p[j] < floor else 0.0
    if unlikely > 0.0:
        others = k - 1.0
        _, low, second = two_lowest(work.cost, k)
        if second <= low + TIE * size + 2.01 * unlikely * others / row_divisor(vote, others):
            size += add_costs(loss, near, s, e, k, work, n, TINY, floor, vote)
    return size


@small_kernel
def step_size(loss, k, n_learners, i, t):
    """eta of learner i (counted from 1) in round t (counted from 1)."""
    others = max(k - 1.0, 1.0)
    if loss == Loss.LOGISTIC:
        return 2.0 * math.sqrt(2.0) / (others * math.sqrt(t))
    if loss == Loss.EXPONENTIAL:
        return 2.0 * math.sqrt(2.0) / (others * math.sqrt(t)) * math.exp(-i)
    c = alpha_bound(loss, n_learners)
    return math.sqrt(2.0) * c / ((others + c * n_learners) * math.sqrt(t))


@small_kernel
def adaptive_rate(loss):
    """What adaptive steps are multiplied with, in units of alpha's bound. Measured: benchmarks/results/settings.md."""
    return 0.03 if loss == Loss.EXPONENTIAL else 0.1


@small_kernel
def adaptive_step_size(loss, k, n_learners, squares):
    """eta of a learner whose squared slopes so far, this round's among them, add up to `squares`.

    (k - 1)^2 beside them is the square of the steepest slope without votes: it keeps the first steps small.
    """
    others = max(k - 1.0, 1.0)
    return adaptive_rate(loss) * alpha_bound(loss, n_learners) / math.sqrt(others * others + squares)


@small_kernel
def alpha_bound(loss, n_learners):
    """The feasible set of alpha is F = [-bound, bound]."""
    return 1.0 / math.sqrt(n_learners) if loss == Loss.SQUARED_HINGE else 2.0


@bare_kernel
def wrong_slope(s, y, alpha, k):
    """f'(alpha) of the logistic loss for a right vote, as the paper prints it; s has the vote in it already.

    The signs of s_j and s_y are the wrong way round: -sum_{j != y} 1 / (1 + exp(s_j + alpha - (s_y - alpha))). Its
    authors' program turns the sign of alpha, too, -sum_{j != y} 1 / (1 + exp(s_j - s_y)): that is with alpha = 0 here.
    """
    total = 0.0
    for j in range(k):
        if j != y:
            total += 1.0 / (1.0 + math.exp(min(s[j] - s[y] + 2.0 * alpha, E_REACH)))
    return -total
