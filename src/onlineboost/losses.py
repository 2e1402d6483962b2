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

import numpy as np

from onlineboost._jit import bare_kernel, summing_kernel

LOGISTIC, EXPONENTIAL, SQUARED_HINGE = range(3)
LOSSES = {"logistic": LOGISTIC, "exponential": EXPONENTIAL, "squared_hinge": SQUARED_HINGE}

E_REACH = 300.0  # exp(s) is trusted up to |s| = 300: sums and ratios of two such numbers are finite


@bare_kernel
def pair_cost(loss, s, e, r, l):
    """C[r, l] for l != r."""
    if loss == LOGISTIC:
        if max(abs(s[l]), abs(s[r])) <= E_REACH:
            return e[l] / (e[l] + e[r])
        return 1.0 / (1.0 + math.exp(s[r] - s[l]))
    if loss == EXPONENTIAL:
        return math.exp(s[l] - s[r])
    return max(0.0, s[l] - s[r] + 1.0)


@bare_kernel
def in_reach(s, k):
    """Whether exp(s) can be trusted for all labels."""
    reach = 0.0
    for l in range(k):
        reach = max(reach, abs(s[l]))
    return reach <= E_REACH


@summing_kernel
def logistic_row(e, r, k, row):
    """`cost_row` of the logistic loss, for votes in reach."""
    own = e[r]
    total = 0.0
    for l in range(k):
        cost = e[l] / (e[l] + own)
        row[l] = cost
        total += cost if l != r else 0.0
    row[r] = 0.0
    return total


@summing_kernel
def logistic_total(e, r, k):
    """`off_diagonal` of the logistic loss, for votes in reach."""
    own = e[r]
    total = 0.0
    for l in range(k):
        total += e[l] / (e[l] + own) if l != r else 0.0
    return total


@bare_kernel
def off_diagonal(loss, s, e, r, k):
    """-C[r, r] = sum over l != r of C[r, l]."""
    if loss == LOGISTIC and in_reach(s, k):
        return logistic_total(e, r, k)
    total = 0.0
    for l in range(k):
        if l != r:
            total += pair_cost(loss, s, e, r, l)
    return total


@bare_kernel
def cost_row(loss, s, e, r, k, row):
    """row[l] = C[r, l] for l != r, and row[r] = 0; returns -C[r, r], their sum."""
    if loss == LOGISTIC and in_reach(s, k):
        return logistic_row(e, r, k, row)
    total = 0.0
    for l in range(k):
        row[l] = pair_cost(loss, s, e, r, l) if l != r else 0.0
        total += row[l]
    return total


@bare_kernel
def expected_costs(loss, s, e, k, labels, p, n, tempered, cost, row):
    """cost[l] = sum_r p_r C[r, l] for all l, over the n labels that p gives mass to; O(k n). `row` is scratch.

    Tempered: every row of C is divided by the square root of its weight -C[r, r] (see `stages.vote`). Returns the size
    of the numbers that were added up, to judge differences by.
    """
    cost[:k] = 0.0
    size = 0.0
    near = loss == LOGISTIC and in_reach(s, k)
    for j in range(n):
        if p[j] == 0.0:
            continue
        r = labels[j]
        total = logistic_row(e, r, k, row) if near else cost_row(loss, s, e, r, k, row)
        if total > 0.0:  # a row of zeros costs nothing, whatever the vote
            mass = p[j] / math.sqrt(total) if tempered else p[j]
            for l in range(k):
                cost[l] += mass * row[l]
            cost[r] -= mass * total
            size += mass * total
    return size


@bare_kernel
def step_size(loss, k, n_learners, i, t):
    """eta of learner i (counted from 1) in round t (counted from 1)."""
    others = max(k - 1.0, 1.0)
    if loss == LOGISTIC:
        return 2.0 * math.sqrt(2.0) / (others * math.sqrt(t))
    if loss == EXPONENTIAL:
        return 2.0 * math.sqrt(2.0) / (others * math.sqrt(t)) * math.exp(-i)
    c = alpha_bound(loss, n_learners)
    return math.sqrt(2.0) * c / ((others + c * n_learners) * math.sqrt(t))


@bare_kernel
def alpha_bound(loss, n_learners):
    """The feasible set of alpha is F = [-bound, bound]."""
    return 1.0 / math.sqrt(n_learners) if loss == SQUARED_HINGE else 2.0


def loss_value(loss: str, s: np.ndarray, r: int) -> float:
    """L^r(s): what the costs are the gradient of. For tests and diagnosis; the kernels never need it."""
    d = np.delete(s, r) - s[r]
    if loss == "logistic":
        return float(np.logaddexp(0.0, d).sum())
    if loss == "exponential":
        return float(np.exp(d).sum())
    return float(0.5 * (np.maximum(0.0, d + 1.0) ** 2).sum())
