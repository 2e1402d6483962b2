"""Split tries: which column a leaf is split on, if any (Domingos and Hulten 2000).

A leaf looks at some of the columns, and at ten thresholds of each numeric one. It splits if the best column's
information gain beats the second's by more than the Hoeffding bound, or if the bound is so small that the two may be
called a tie.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost._jit import kernel
from onlineboost.fastmath import COLUMNS, normal_cdf, uniform, xlogx
from onlineboost.forest import HIGH, LOW, MEAN, SQUARES, WEIGHT

N_THRESHOLDS = 10
SAME_MERIT = 1e-9  # bits; merits that differ by less differ by rounding alone


@kernel
def candidates(forest, key, t):
    """The columns a leaf looks at in round t, in increasing order: n_candidates of them, drawn anew for every try."""
    n = forest.n_numeric + forest.offset.size - 1
    out = np.empty(forest.n_candidates, np.int64)
    m = 0
    for c in range(n):
        if uniform(key, COLUMNS, c, t) * (n - c) < out.size - m:  # as many as are needed, of those that are left
            out[m] = c
            m += 1
    return out


@kernel
def best_split(forest, i, leaf, t):
    """(column, threshold) to split this leaf on, or column -1 to leave it: Domingos and Hulten's test."""
    stats = learned_classes(forest, leaf)
    classes = stats.size
    if classes < 2:
        return -1, math.nan  # one class: no split gains anything
    bound = math.log2(classes) * math.sqrt(forest.log_delta[i] / (2.0 * forest.nodes[leaf].mass))
    tie = bound < forest.tie[i]

    best = second = 0.0  # not splitting at all has merit 0
    feature, threshold = -1, math.nan
    n = forest.n_numeric
    columns = candidates(forest, forest.nodes[leaf].key, t)
    n_low = np.searchsorted(columns, n)  # candidates that are numeric
    merits, thresholds = numeric_merits(forest, stats, columns[:n_low])
    for j in range(columns.size):
        merit = merits[j] if j < n_low else nominal_merit(forest, stats, columns[j] - n)
        if merit > best + SAME_MERIT:
            second, best = best, merit
            feature, threshold = columns[j], thresholds[j] if j < n_low else math.nan
        elif merit > second:
            second = merit
    if best - second > bound or tie:
        return feature, threshold
    return -1, math.nan


@kernel
def learned_classes(forest, leaf):
    """The rows of stats of this leaf, one per class learned here."""
    rows = forest.rows
    stats = np.empty(0, np.int64)
    for fill in range(2):  # count, then fill
        m = 0
        row = forest.nodes[leaf].first
        while row >= 0:
            if rows[row].stat >= 0:
                if fill:
                    stats[m] = rows[row].stat
                m += 1
            row = rows[row].next
        if not fill:
            stats = np.empty(m, np.int64)
    return stats


@kernel
def gather(stat, stretch, columns, n, out):
    """The numbers of one stretch of a row of stats for some columns."""
    for j in range(columns.size):
        out[j] = stat[stretch * n + columns[j]]


@kernel
def numeric_merits(forest, stats, columns):
    """For some numeric columns the best information gain (bits) of `x <= threshold` over ten thresholds, and where.

    The thresholds lie evenly between the column's smallest and largest value here. A class's weight left of one is
    that of its normal distribution, and all or nothing outside its own range. All loops run over the columns.
    """
    n, m = forest.n_numeric, columns.size
    low, high = np.full(m, math.inf), np.full(m, -math.inf)
    total, before = np.zeros(m), np.zeros(m)
    w, mean, precision = np.empty(m), np.empty(m), np.empty(m)
    below, above = np.empty(m), np.empty(m)
    for s in stats:
        stat = forest.stats[s]
        gather(stat, WEIGHT, columns, n, w)
        gather(stat, LOW, columns, n, below)
        gather(stat, HIGH, columns, n, above)
        for c in range(m):
            low[c] = below[c] if below[c] < low[c] else low[c]
        for c in range(m):
            high[c] = above[c] if above[c] > high[c] else high[c]
        for c in range(m):
            total[c] += w[c]
            before[c] -= xlogx(w[c])
    for c in range(m):
        before[c] += xlogx(total[c])  # weight times entropy, in nats
        if low[c] > high[c]:  # not one known value
            low[c] = high[c] = 0.0
    left, inner = np.zeros((N_THRESHOLDS, m)), np.zeros((N_THRESHOLDS, m))
    at, share = np.empty(m), np.empty(m)
    for s in stats:
        stat = forest.stats[s]
        gather(stat, WEIGHT, columns, n, w)
        gather(stat, MEAN, columns, n, mean)
        gather(stat, SQUARES, columns, n, precision)
        gather(stat, LOW, columns, n, below)
        gather(stat, HIGH, columns, n, above)
        for c in range(m):
            precision[c] = math.sqrt(w[c] / precision[c]) if precision[c] > 0.0 else 0.0  # 1 / standard deviation
        for j in range(N_THRESHOLDS):
            part = (j + 1.0) / (N_THRESHOLDS + 1.0)
            for c in range(m):
                at[c] = low[c] + part * (high[c] - low[c])
            for c in range(m):
                share[c] = normal_cdf((at[c] - mean[c]) * precision[c], forest.cdf)
            for c in range(m):
                share[c] = 0.0 if at[c] < below[c] else share[c]
            for c in range(m):
                share[c] = w[c] * (1.0 if at[c] >= above[c] else share[c])
            sums, logs = left[j], inner[j]
            for c in range(m):
                sums[c] += share[c]
                logs[c] += xlogx(share[c]) + xlogx(w[c] - share[c])
    # Of a run of thresholds that are equally good, the middle.
    merit = np.full(m, -math.inf)
    first, last = np.zeros(m, np.int64), np.zeros(m, np.int64)
    for j in range(N_THRESHOLDS):
        for c in range(m):
            l, r = left[j, c], total[c] - left[j, c]
            if min(l, r) > 0.01 * total[c]:
                gain = (before[c] - (xlogx(l) + xlogx(r) - inner[j, c])) / (total[c] * math.log(2.0))
                if gain > merit[c] + SAME_MERIT:
                    merit[c] = gain
                    first[c] = last[c] = j
                elif gain > merit[c] - SAME_MERIT and last[c] == j - 1:
                    last[c] = j
    where = low + (1.0 + 0.5 * (first + last)) / (N_THRESHOLDS + 1.0) * (high - low)
    return merit, where


@kernel
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
    return (before - after) / (total * math.log(2.0))


@kernel
def share_below(forest, stat, c, threshold):
    """The share of a class's weight that lies at or below the threshold in numeric column c."""
    n = forest.n_numeric
    w = stat[WEIGHT * n + c]
    if w <= 0.0 or threshold < stat[LOW * n + c]:
        return 0.0
    if threshold >= stat[HIGH * n + c]:
        return 1.0
    deviation = math.sqrt(stat[SQUARES * n + c] / w)
    return normal_cdf((threshold - stat[MEAN * n + c]) / deviation, forest.cdf)
