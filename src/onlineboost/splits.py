"""Split tries: which column a leaf is split on, if any (Domingos and Hulten 2000).

A leaf looks at some of the columns, and at ten thresholds of each numeric one. It splits if the best column's
information gain beats the second's by more than the Hoeffding bound, or if the bound is so small that the two may be
called a tie.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost._jit import bare_kernel, kernel
from onlineboost.fastmath import COLUMNS, LN2, normal_cdf, uniform, xlogx
from onlineboost.forest import HIGH, LOW, MEAN, SQUARES, WEIGHT

N_THRESHOLDS = 10
LANES = 16  # thresholds are worked on side by side, in whole vectors; the last six are never looked at
N_WORK = 4
SAME_MERIT = 1e-9  # bits; merits that differ by less differ by rounding alone


@bare_kernel
def candidates(forest, key, t, out):
    """The columns a leaf looks at in round t, in increasing order: as many as `out` has room for, drawn anew."""
    n = forest.n_numeric + forest.offset.size - 1
    m = 0
    for c in range(n):
        if uniform(key, COLUMNS, c, t) * (n - c) < out.size - m:  # as many as are needed, of those that are left
            out[m] = c
            m += 1


@bare_kernel
def count_learned(forest, leaf):
    """Number of classes learned at this leaf."""
    m = 0
    row = forest.nodes[leaf].first
    while row >= 0:
        m += forest.rows[row].stat >= 0
        row = forest.rows[row].next
    return m


@bare_kernel
def learned_classes(forest, leaf, out):
    """The rows of stats of this leaf, one per class learned here."""
    m = 0
    row = forest.nodes[leaf].first
    while row >= 0:
        if forest.rows[row].stat >= 0:
            out[m] = forest.rows[row].stat
            m += 1
        row = forest.rows[row].next


@kernel
def best_split(forest, i, leaf, t):
    """(column, threshold) to split this leaf on, or column -1 to leave it: Domingos and Hulten's test."""
    classes = count_learned(forest, leaf)
    if classes < 2:
        return -1, math.nan  # one class: no split gains anything
    stats, columns = np.empty(classes, np.int64), np.empty(forest.n_candidates, np.int64)
    work = np.empty((N_WORK, LANES))
    learned_classes(forest, leaf, stats)
    candidates(forest, forest.nodes[leaf].key, t, columns)
    return best_column(forest, i, leaf, stats, columns, work)


@bare_kernel
def best_column(forest, i, leaf, stats, columns, work):
    """`best_split` among some columns."""
    bound = math.log2(stats.size) * math.sqrt(forest.log_delta[i] / (2.0 * forest.nodes[leaf].mass))
    tie = bound < forest.tie[i]
    best = second = 0.0  # not splitting at all has merit 0
    feature, threshold = -1, math.nan
    for c in columns:
        if c < forest.n_numeric:
            merit, where = numeric_merit(forest, stats, c, work)
        else:
            merit, where = nominal_merit(forest, stats, c - forest.n_numeric), math.nan
        if merit > best + SAME_MERIT:
            second, best = best, merit
            feature, threshold = c, where
        elif merit > second:
            second = merit
    if best - second > bound or tie:
        return feature, threshold
    return -1, math.nan


@bare_kernel
def numeric_merit(forest, stats, c, work):
    """The best information gain (bits) of `x <= threshold` over ten thresholds of numeric column c, and where.

    The thresholds lie evenly between the column's smallest and largest value here. A class's weight left of one is
    that of its normal distribution, and all or nothing outside its own range. `work` is scratch, (N_WORK, LANES).
    """
    n = forest.n_numeric
    low, high = math.inf, -math.inf
    total = before = 0.0
    for s in stats:
        w = forest.stats[s, WEIGHT * n + c]
        low = min(low, forest.stats[s, LOW * n + c])
        high = max(high, forest.stats[s, HIGH * n + c])
        total += w
        before -= xlogx(w)
    before += xlogx(total)  # weight times entropy, in nats
    if low > high:  # not one known value
        return -math.inf, 0.0
    at, share, left, inner = work[0], work[1], work[2], work[3]
    for j in range(LANES):
        at[j] = low + (j + 1.0) / (N_THRESHOLDS + 1.0) * (high - low)
        left[j] = inner[j] = 0.0
    for s in stats:
        w, mean = forest.stats[s, WEIGHT * n + c], forest.stats[s, MEAN * n + c]
        squares = forest.stats[s, SQUARES * n + c]
        below, above = forest.stats[s, LOW * n + c], forest.stats[s, HIGH * n + c]
        if below < above and below <= at[N_THRESHOLDS - 1] and above > at[0]:
            precision = math.sqrt(w / squares) if squares > 0.0 else 0.0  # 1 / standard deviation
            for j in range(LANES):
                part = normal_cdf((at[j] - mean) * precision)
                part = 0.0 if at[j] < below else part
                share[j] = w * (1.0 if at[j] >= above else part)
            for j in range(LANES):
                left[j] += share[j]
                inner[j] += xlogx(share[j]) + xlogx(w - share[j])
        else:  # no threshold cuts this class in two
            whole = xlogx(w)
            for j in range(LANES):
                left[j] += w if at[j] >= above else 0.0
                inner[j] += whole
    gain = share
    for j in range(LANES):
        l, r = left[j], total - left[j]
        heavy = min(l, r) > 0.01 * total
        gain[j] = (before - (xlogx(l) + xlogx(r) - inner[j])) / (total * LN2) if heavy else -math.inf
    # Of a run of thresholds that are equally good, the middle.
    merit = -math.inf
    first = last = 0
    for j in range(N_THRESHOLDS):
        if gain[j] > merit + SAME_MERIT:
            merit = gain[j]
            first = last = j
        elif gain[j] > merit - SAME_MERIT and last == j - 1:
            last = j
    return merit, low + (1.0 + 0.5 * (first + last)) / (N_THRESHOLDS + 1.0) * (high - low)


@bare_kernel
def nominal_merit(forest, stats, j):
    """Information gain (bits) of one branch per value of nominal column j."""
    before = after = total = 0.0
    heavy = 0  # branches with more than 1 % of the weight
    for s in stats:
        w = forest.stats[s, forest.offset[j]]
        total += w
        before += xlogx(w)
    before = xlogx(total) - before
    for v in range(forest.offset[j] + 1, forest.offset[j + 1]):
        w = inner = 0.0
        for s in stats:
            w += forest.stats[s, v]
            inner += xlogx(forest.stats[s, v])
        after += xlogx(w) - inner
        if w > 0.01 * total:
            heavy += 1
    if heavy < 2:
        return -math.inf
    return (before - after) / (total * LN2)


@bare_kernel
def share_below(forest, stat, c, threshold):
    """The share of a class's weight that lies at or below the threshold in numeric column c."""
    n = forest.n_numeric
    w = stat[WEIGHT * n + c]
    if w <= 0.0 or threshold < stat[LOW * n + c]:
        return 0.0
    if threshold >= stat[HIGH * n + c]:
        return 1.0
    deviation = math.sqrt(stat[SQUARES * n + c] / w)
    return normal_cdf((threshold - stat[MEAN * n + c]) / deviation)
