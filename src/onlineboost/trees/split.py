"""Split tries: which column a leaf is split on, if any (Domingos and Hulten 2000).

A leaf looks at some of the columns, and at ten thresholds of each numeric one. It splits if the best column's
information gain beats the second's by more than the Hoeffding bound, or if the bound is so small that the two may be
called a tie.
"""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.fastmath import LN2, normal_cdf, xlogx
from onlineboost._compile.jit import bare_kernel, inlined_kernel, kernel
from onlineboost._compile.random import COLUMNS, uniform
from onlineboost.trees.state import HIGH, LOW, MEAN, SQUARES, WEIGHT

N_THRESHOLDS = 10
LANES = 16  # thresholds are worked on side by side, in whole vectors; the last six are never looked at
N_WORK = 4
SAME_MERIT = 1e-9  # bits; merits that differ by less differ by rounding alone


@bare_kernel
def candidates(key, t, n, out):
    """The columns of n a leaf looks at in round t, in increasing order: as many as fit into `out`, drawn each time."""
    m = 0
    for c in range(n):
        if uniform(key, COLUMNS, c, t) * (n - c) < out.size - m:  # as many as are needed, of those that are left
            out[m] = c
            m += 1


@bare_kernel
def learned_classes(rows, first, out):
    """The rows of stats of a leaf, one per class learned there: as many as `out` has room for, and their number."""
    m = 0
    row = np.int64(first)
    while row >= 0:
        if rows[row].stat >= 0:
            if m < out.size:
                out[m] = rows[row].stat
            m += 1
        row = np.int64(rows[row].next)
    return m


@inlined_kernel
def best_split(forest, i, leaf, t):
    """(column, threshold) to split this leaf on, or column -1 to leave it: Domingos and Hulten's test."""
    detail = forest.details[leaf]
    return _best_split(
        forest.rows,
        forest.stats,
        forest.offset,
        forest.n_numeric,
        forest.nodes[leaf].first,
        detail.key,
        detail.mass,
        forest.log_delta[i],
        forest.tie[i],
        forest.share,
        t,
    )


# arguments: a whole forest would be twenty arrays to hand over, as long as looking at a column takes.
@kernel
def _best_split(rows, table, offset, n, first, key, mass, log_delta, tie, share, t):
    """`best_split` with the few arrays it needs: handing over a whole forest takes as long as looking at a column."""
    classes = learned_classes(rows, first, np.empty(0, np.int64))
    if classes < 2:
        return -1, math.nan  # one class: no split gains anything
    n_columns = n + offset.size - 1
    stats, columns = np.empty(classes, np.int64), np.empty(math.ceil(share * n_columns), np.int64)
    learned_classes(rows, first, stats)
    candidates(key, t, n_columns, columns)
    bound = math.log2(classes) * math.sqrt(log_delta / (2.0 * mass))
    return best_column(table, offset, n, stats, columns, bound, bound < tie, np.empty((N_WORK, LANES)))


@bare_kernel
def best_column(table, offset, n, stats, columns, bound, tie, work):
    """The column that beats the others by more than the bound, and where to cut it; the best one anyway in a tie."""
    best = second = 0.0  # not splitting at all has merit 0
    feature, threshold = -1, math.nan
    for c in columns:
        if c < n:
            merit, where = numeric_merit(table, n, stats, c, work)
        else:
            merit, where = nominal_merit(table, offset[c - n], offset[c - n + 1], stats), math.nan
        if merit > best + SAME_MERIT:
            second, best = best, merit
            feature, threshold = c, where
        elif merit > second:
            second = merit
    if best - second > bound or tie:
        return feature, threshold
    return -1, math.nan


@bare_kernel
def numeric_merit(table, n, stats, c, work):
    """The best information gain (bits) of `x <= threshold` over ten thresholds of numeric column c, and where.

    The thresholds lie evenly between the column's smallest and largest value here. A class's weight left of one is
    that of its normal distribution, and all or nothing outside its own range. `work` is scratch, (N_WORK, LANES).
    """
    low, high = math.inf, -math.inf
    total = before = 0.0
    for s in stats:
        w = table[s, WEIGHT * n + c]
        low = min(low, table[s, LOW * n + c])
        high = max(high, table[s, HIGH * n + c])
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
        w, mean = table[s, WEIGHT * n + c], table[s, MEAN * n + c]
        squares = table[s, SQUARES * n + c]
        below, above = table[s, LOW * n + c], table[s, HIGH * n + c]
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
def nominal_merit(table, start, stop, stats):
    """Information gain (bits) of one branch per value of the nominal column in these places of the rows of stats."""
    before = after = total = 0.0
    heavy = 0  # branches with more than 1 % of the weight
    for s in stats:
        w = table[s, start]
        total += w
        before += xlogx(w)
    before = xlogx(total) - before
    for v in range(start + 1, stop):
        w = inner = 0.0
        for s in stats:
            w += table[s, v]
            inner += xlogx(table[s, v])
        after += xlogx(w) - inner
        if w > 0.01 * total:
            heavy += 1
    if heavy < 2:
        return -math.inf
    return (before - after) / (total * LN2)


@bare_kernel
def share_below(stat, n, c, threshold):
    """The share of a class's weight that lies at or below the threshold in numeric column c of n."""
    w = stat[WEIGHT * n + c]
    if w <= 0.0 or threshold < stat[LOW * n + c]:
        return 0.0
    if threshold >= stat[HIGH * n + c]:
        return 1.0
    deviation = math.sqrt(stat[SQUARES * n + c] / w)
    return normal_cdf((threshold - stat[MEAN * n + c]) / deviation)
