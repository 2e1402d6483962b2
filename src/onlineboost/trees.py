"""A forest of Hoeffding trees (VFDT, Domingos and Hulten 2000) in shared arrays.

All trees of a segment live in three tables:

* ``nodes``: one 64-byte record per node, all that routing an example needs;
* ``rows``: one 32-byte record per (leaf, class seen there), a linked list per leaf: its label and mass;
* ``stats``: one wide row of float64 per (leaf, class *learned* there): what a split try and naive Bayes need.

Prediction by majority touches the first two only. A leaf pays for the classes it has seen, and a class that was
merely inherited from the parent costs 32 bytes. Rows of a leaf that has been split are used again.

The columns of an encoded example come numeric first, then nominal (codes 0, 1, ... in order of first appearance).
A row of ``stats`` holds, for the numeric columns, six stretches (weight, mean, sum of squared deviations, smallest,
largest, inverse variance), then for every nominal column its weight and the weight of each of its values.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from onlineboost._jit import kernel, summing_kernel
from onlineboost.fastmath import COLUMNS, NORMAL_CDF, child_key, log, normal_cdf, uniform, xlogx

NODE = np.dtype(
    [
        ("feature", np.int32),  # column this node splits on; -1: a leaf
        (
            "first",
            np.int32,
        ),  # inner node: its first child, the others follow; leaf: its first class row, -1: none
        ("n_children", np.int32),
        ("heavy", np.int32),  # the child for a missing value and for a value with no branch of its own
        (
            "threshold",
            np.float64,
        ),  # numeric split: x <= threshold goes to the first child; NaN: nominal split
        ("mass", np.float64),  # leaf: weight of its classes, inherited weight included
        ("since", np.float64),  # leaf: weight learned since the last split try
        (
            "bayes_lead",
            np.float64,
        ),  # leaf: weight predicted rightly by naive Bayes, less that by the majority class
        ("key", np.int64),  # a hash of the path from the root, for what is drawn at random here
        ("unused", np.int64),
    ]
)
ROW = np.dtype(
    [
        ("label", np.int32),
        ("next", np.int32),  # next class row of this leaf (or next free row), -1: none
        ("stat", np.int32),  # its row of `stats`, -1: nothing learned, only inherited
        ("unused", np.int32),
        ("mass", np.float64),
        ("log_det", np.float64),  # sum of log variances over the numeric columns
    ]
)
NODE, ROW = np.dtype((np.record, NODE.descr)), np.dtype((np.record, ROW.descr))  # attributes without the compiler too
assert (NODE.itemsize, ROW.itemsize) == (64, 32)

N_NODES, N_ROWS, FREE_ROW, N_STATS, N_FREE_STATS, N_LEAVES = range(6)  # what Forest.used holds
WEIGHT, MEAN, SQUARES, LOW, HIGH, INVERSE = range(6)  # the stretches of a row of stats
MAJORITY, BAYES, ADAPTIVE = range(3)  # Forest.leaf
LEAF_RULES = {"majority": MAJORITY, "nb": BAYES, "nba": ADAPTIVE}
N_THRESHOLDS = 10
PRIOR_EXAMPLES = 3.0  # naive Bayes: a class's variance starts from the column's, with the weight of so many examples
SAME_MERIT = 1e-9  # bits; merits that differ by less differ by rounding alone
LAPLACE = 0.01  # naive Bayes: examples added with this value of a nominal column, and as many without


class Forest(NamedTuple):
    """The trees of one segment. Arrays that can run full (nodes, rows, stats, free_stats) are grown by `make_room`."""

    nodes: np.ndarray  # NODE
    rows: np.ndarray  # ROW
    stats: np.ndarray  # float64 (rows, 6 numeric + values of nominal)
    free_stats: np.ndarray  # int32, a stack of unused rows of stats
    used: np.ndarray  # int64, how much of the tables is in use
    roots: np.ndarray  # int32 (trees,)
    grace: np.ndarray  # float64 (trees,) weight between split tries
    log_delta: np.ndarray  # float64 (trees,) ln(1/delta) of the Hoeffding bound
    tie: np.ndarray  # float64 (trees,) tau: a bound below this splits without a clear winner
    unit: np.ndarray  # float64 (trees,) weight that stands for one example, for the priors of naive Bayes
    n_numeric: int
    offset: (
        np.ndarray
    )  # int64 (nominal columns + 1,) where each column's weight stands in a row of stats, its values after it
    birth: np.ndarray  # int64, laid out as the nominal part of stats: round in which each value appeared first
    n_candidates: int  # columns a leaf looks at in a split try
    leaf: int
    cdf: np.ndarray  # fastmath.NORMAL_CDF


def nominal_layout(n_numeric: int, nominal_sizes: list[int]) -> np.ndarray:
    return np.cumsum([6 * n_numeric, *(size + 1 for size in nominal_sizes)]).astype(np.int64)


def plant(
    n_trees: int,
    n_numeric: int,
    nominal_sizes: list[int],
    leaf: str,
    grace: np.ndarray,
    split_confidence: np.ndarray,
    tie_threshold: np.ndarray,
    unit: np.ndarray,
    n_candidates: int,
    seed: int = 0,
    first: int = 0,
) -> Forest:
    """A forest of `n_trees` single leaves; the first of them is number `first` of its chain."""
    offset = nominal_layout(n_numeric, nominal_sizes)
    nodes = np.zeros(max(64, 4 * n_trees), NODE)
    nodes["feature"] = -1
    nodes["first"] = -1
    nodes["key"][:n_trees] = [child_key(child_key(0, seed), first + i) for i in range(n_trees)]
    used = np.zeros(6, np.int64)
    used[[N_NODES, N_LEAVES, FREE_ROW]] = n_trees, n_trees, -1
    return Forest(
        nodes=nodes,
        rows=np.zeros(max(64, 4 * n_trees), ROW),
        stats=np.empty((max(16, n_trees), offset[-1])),
        free_stats=np.empty(max(16, n_trees), np.int32),
        used=used,
        roots=np.arange(n_trees, dtype=np.int32),
        grace=np.asarray(grace, float),
        log_delta=np.log(1.0 / np.asarray(split_confidence, float)),
        tie=np.asarray(tie_threshold, float),
        unit=np.asarray(unit, float),
        n_numeric=n_numeric,
        offset=offset,
        birth=np.full(offset[-1] - offset[0], -1, np.int64),
        n_candidates=n_candidates,
        leaf=LEAF_RULES[leaf],
        cdf=NORMAL_CDF,
    )


def _longer(array: np.ndarray, length: int) -> np.ndarray:
    longer = np.empty((length, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def make_room(forest: Forest, nodes: int, rows: int, stats: int) -> Forest:
    """The same forest with room for so many more nodes, class rows and rows of statistics."""
    used = forest.used
    new: dict[str, Any] = {}
    if used[N_NODES] + nodes > len(forest.nodes):
        new["nodes"] = _longer(forest.nodes, max(2 * len(forest.nodes), used[N_NODES] + nodes))
    if used[N_ROWS] + rows > len(forest.rows):
        new["rows"] = _longer(forest.rows, max(2 * len(forest.rows), used[N_ROWS] + rows))
    if used[N_STATS] + stats > len(forest.stats):
        length = max(len(forest.stats) * 3 // 2, used[N_STATS] + stats)
        new["stats"] = _longer(forest.stats, length)
        new["free_stats"] = _longer(forest.free_stats, length)
    return forest._replace(**new)


def widen(forest: Forest, nominal_sizes: list[int], birth: list[list[int]]) -> Forest:
    """The same forest with room for more values in its nominal columns, and the rounds of their first appearance."""
    offset = nominal_layout(forest.n_numeric, nominal_sizes)
    born = np.full(offset[-1] - offset[0], np.iinfo(np.int64).max)
    for start, rounds in zip(offset - offset[0] + 1, birth, strict=False):
        born[start : start + len(rounds)] = rounds
    if np.array_equal(offset, forest.offset):
        return forest._replace(birth=born)
    stats = np.zeros((len(forest.stats), offset[-1]))
    stats[:, : offset[0]] = forest.stats[:, : offset[0]]
    for j in range(len(nominal_sizes)):
        old = forest.stats[:, forest.offset[j] : forest.offset[j + 1]]
        stats[:, offset[j] : offset[j] + old.shape[1]] = old
    return forest._replace(stats=stats, offset=offset, birth=born)


# ---------------------------------------------------------------------------------------------- predicting


@kernel
def route(forest, root, x):
    """The leaf that x falls into."""
    nodes = forest.nodes
    at = root
    while nodes[at].feature >= 0:
        node = nodes[at]
        value = x[node.feature]
        if value != value:
            at = node.heavy
        elif node.threshold == node.threshold:
            at = node.first if value <= node.threshold else node.first + 1
        elif value < node.n_children:
            at = node.first + int(value)
        else:
            at = node.heavy
    return at


@summing_kernel
def squared_distance(x, mean, inverse):
    """sum_c (x_c - mean_c)^2 inverse_c."""
    total = 0.0
    for c in range(mean.size):
        total += (x[c] - mean[c]) ** 2 * inverse[c] if inverse[c] > 0.0 else 0.0  # an infinite square times 0 is NaN
    return total


@summing_kernel
def log_determinant(inverse):
    """Sum of log variances, from the inverse variances; 0 stands for a column without one."""
    total = 0.0
    for c in range(inverse.size):
        total -= log(inverse[c] if inverse[c] > 0.0 else 1.0)
    return total


@kernel
def bayes_score(forest, i, row, x, missing):
    """log(mass) + log likelihood of x for the class of this row, up to a constant shared by the leaf's classes."""
    n = forest.n_numeric
    stat = forest.stats[forest.rows[row].stat]
    mean, inverse = stat[MEAN * n : (MEAN + 1) * n], stat[INVERSE * n : (INVERSE + 1) * n]
    mass = forest.rows[row].mass
    score = log(mass)
    if not missing:
        score -= 0.5 * (squared_distance(x, mean, inverse) + forest.rows[row].log_det)
    else:
        for c in range(n):
            if x[c] == x[c] and inverse[c] > 0.0:
                score -= 0.5 * ((x[c] - mean[c]) ** 2 * inverse[c] - log(inverse[c]))
    extra = LAPLACE * forest.unit[i]
    product = 1.0
    for j in range(forest.offset.size - 1):
        code = x[n + j]
        if code == code:
            at = forest.offset[j]
            known = code + 1 < forest.offset[j + 1] - at
            weight = stat[at + 1 + int(code)] if known else 0.0  # a value that no example has been learned with
            product *= (weight + extra) / (stat[at] + 2.0 * extra)
            if product < 1e-200:
                score += log(product)
                product = 1.0
    return score + log(product)


@kernel
def leaf_distribution(forest, i, leaf, x, missing, labels, p):
    """Fill labels[:n] and p[:n] with the classes this leaf gives mass to, and return n.

    The last two values returned are the labels that the majority rule and naive Bayes would predict, -1: no opinion;
    `learn` credits them.
    """
    rows = forest.rows
    node = forest.nodes[leaf]
    n = 0
    majority = -1
    best = 0.0
    row = node.first
    while row >= 0:
        labels[n] = rows[row].label
        p[n] = rows[row].mass
        if p[n] > best:
            best = p[n]
            majority = labels[n]
        n += 1
        row = rows[row].next
    for j in range(n):
        p[j] /= node.mass
    if forest.leaf == MAJORITY or n == 0:
        return n, majority, -1

    # Naive Bayes over the classes that have statistics.
    use_bayes = forest.leaf == BAYES or node.bayes_lead >= 0.0
    bayes = -1
    top = -math.inf
    m = 0
    row = node.first
    scores = np.empty(n)
    while row >= 0:
        scores[m] = -math.inf
        if rows[row].stat >= 0:
            score = bayes_score(forest, i, row, x, missing)
            if abs(score) < math.inf:  # neither NaN nor infinite, as it can be where squares overflow
                scores[m] = score
                if score > top:
                    top = score
                    bayes = rows[row].label
        m += 1
        row = rows[row].next
    if use_bayes and bayes >= 0:
        total = 0.0
        for j in range(n):
            p[j] = math.exp(scores[j] - top)
            total += p[j]
        for j in range(n):
            p[j] /= total
    return n, majority, bayes


# ------------------------------------------------------------------------------------------------ learning


@kernel
def room_needed(forest, i, leaf, weight):
    """Nodes, class rows and rows of stats that learning one example here can take at most."""
    node = forest.nodes[leaf]
    if node.since + weight <= forest.grace[i]:
        return 0, 1, 1
    branches = 2
    for j in range(forest.offset.size - 1):
        branches = max(branches, forest.offset[j + 1] - forest.offset[j] - 1)
    classes = 1
    row = node.first
    while row >= 0:
        classes += 1
        row = forest.rows[row].next
    return branches, branches * classes, 1


@kernel
def has_room(forest, nodes, rows, stats):
    used = forest.used
    return (
        used[N_NODES] + nodes <= forest.nodes.size
        and used[N_ROWS] + rows <= forest.rows.size
        and (used[N_FREE_STATS] >= stats or used[N_STATS] + stats <= forest.stats.shape[0])
    )


@kernel
def new_row(forest, leaf, label, mass):
    """Append a class row to a leaf's list."""
    rows, used = forest.rows, forest.used
    row = used[FREE_ROW]
    if row >= 0:
        used[FREE_ROW] = rows[row].next
    else:
        row = used[N_ROWS]
        used[N_ROWS] += 1
    rows[row].label = label
    rows[row].next = -1
    rows[row].stat = -1
    rows[row].unused = 0
    rows[row].mass = mass
    rows[row].log_det = 0.0
    last = forest.nodes[leaf].first
    if last < 0:
        forest.nodes[leaf].first = row
    else:
        while rows[last].next >= 0:
            last = rows[last].next
        rows[last].next = row
    return row


@kernel
def new_stat(forest):
    used = forest.used
    if used[N_FREE_STATS] > 0:
        used[N_FREE_STATS] -= 1
        s = np.int64(forest.free_stats[used[N_FREE_STATS]])
    else:
        s = used[N_STATS]
        used[N_STATS] += 1
    n = forest.n_numeric
    stat = forest.stats[s]
    stat[:] = 0.0
    stat[LOW * n : (LOW + 1) * n] = math.inf
    stat[HIGH * n : (HIGH + 1) * n] = -math.inf
    return s


@kernel
def add_numeric(stat, x, weight, n):
    """Update weight, mean, squares, low and high of the numeric columns; a missing value changes nothing.

    Several short loops rather than one: the compiler vectorises a loop over a few arrays only.
    """
    w = stat[WEIGHT * n : (WEIGHT + 1) * n]
    mean = stat[MEAN * n : (MEAN + 1) * n]
    squares = stat[SQUARES * n : (SQUARES + 1) * n]
    low = stat[LOW * n : (LOW + 1) * n]
    high = stat[HIGH * n : (HIGH + 1) * n]
    for c in range(n):
        known = x[c] == x[c]
        before = w[c]
        total = before + weight
        off = x[c] - mean[c]
        step = off * (weight / total)  # West 1979
        w[c] = total if known else before
        mean[c] += step if known else 0.0
        squares[c] += before * off * step if known else 0.0  # in this order: an infinite square times 0 is NaN
    for c in range(n):
        low[c] = x[c] if x[c] < low[c] else low[c]
    for c in range(n):
        high[c] = x[c] if x[c] > high[c] else high[c]


@kernel
def set_variances(stat, spread, prior, n):
    """Inverse variances for naive Bayes, each shrunk towards the column's variance; returns the sum of their logs."""
    w = stat[WEIGHT * n : (WEIGHT + 1) * n]
    squares = stat[SQUARES * n : (SQUARES + 1) * n]
    inverse = stat[INVERSE * n : (INVERSE + 1) * n]
    for c in range(n):
        variance = (squares[c] + prior * spread[c]) / (w[c] + prior)
        inverse[c] = 1.0 / variance if (w[c] > 0.0) & (variance > 1e-290) else 0.0
    return log_determinant(inverse)


@kernel
def learn(forest, i, leaf, x, spread, y, weight, majority, bayes, t):
    """Tree i learns (x, y) of round t with this weight, at the leaf x fell into, and splits the leaf if that pays.

    `spread` is the variance of the numeric columns over the stream so far, `majority` and `bayes` are the labels
    `leaf_distribution` returned for x. The caller has made room.
    """
    nodes, rows = forest.nodes, forest.rows
    nodes[leaf].bayes_lead += weight * (int(bayes == y) - int(majority == y))
    nodes[leaf].mass += weight
    nodes[leaf].since += weight

    row = np.int64(nodes[leaf].first)
    while row >= 0 and rows[row].label != y:
        row = np.int64(rows[row].next)
    if row < 0:
        row = new_row(forest, leaf, y, 0.0)
    rows[row].mass += weight
    if rows[row].stat < 0:
        rows[row].stat = new_stat(forest)
    stat = forest.stats[rows[row].stat]
    n = forest.n_numeric
    if n:
        add_numeric(stat, x, weight, n)
        if forest.leaf != MAJORITY:
            rows[row].log_det = set_variances(stat, spread, PRIOR_EXAMPLES * forest.unit[i], n)
    for j in range(forest.offset.size - 1):
        if x[n + j] == x[n + j]:
            stat[forest.offset[j]] += weight
            stat[forest.offset[j] + 1 + int(x[n + j])] += weight

    if nodes[leaf].since > forest.grace[i]:
        nodes[leaf].since = 0.0
        feature, threshold = best_split(forest, i, leaf, t)
        if feature >= 0:
            split(forest, leaf, feature, threshold, t)


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


@kernel
def split(forest, leaf, feature, threshold, t):
    """Turn a leaf into an inner node whose children inherit its class masses, branch by branch."""
    nodes, rows, used = forest.nodes, forest.rows, forest.used
    n = forest.n_numeric
    j = feature - n
    if feature < n:
        branches = 2
    else:  # every value the column has shown up to this round, seen at this leaf or not
        branches = 0
        born = forest.birth[forest.offset[j] - forest.offset[0] + 1 : forest.offset[j + 1] - forest.offset[0]]
        while branches < born.size and born[branches] <= t:
            branches += 1
    first = used[N_NODES]
    used[N_NODES] += branches
    used[N_LEAVES] += branches - 1
    parent_mass = nodes[leaf].mass
    first_row = nodes[leaf].first
    heavy = first
    for b in range(branches):
        child = first + b
        nodes[child].feature = -1
        nodes[child].first = -1
        nodes[child].n_children = 0
        nodes[child].heavy = -1
        nodes[child].threshold = math.nan
        nodes[child].mass = 0.0
        nodes[child].since = 0.0
        nodes[child].bayes_lead = 0.0
        nodes[child].unused = 0
        nodes[child].key = child_key(nodes[leaf].key, b)
        row = first_row
        while row >= 0:
            s = rows[row].stat
            if s >= 0:
                if feature < n:
                    share = share_below(forest, forest.stats[s], feature, threshold)
                    mass = forest.stats[s, WEIGHT * n + feature] * (share if b == 0 else 1.0 - share)
                else:
                    mass = forest.stats[s, forest.offset[j] + 1 + b]
                if mass > 0.0:
                    new_row(forest, child, rows[row].label, mass)
                    nodes[child].mass += mass
            row = rows[row].next
        if nodes[child].mass > nodes[heavy].mass:
            heavy = child
        if nodes[child].mass == 0.0:  # a value not seen here: the parent's classes, with next to no weight
            row = first_row
            while row >= 0:
                new_row(forest, child, rows[row].label, 1e-6 * rows[row].mass)
                nodes[child].mass += 1e-6 * rows[row].mass
                row = rows[row].next
    # The leaf's rows are free again.
    row = np.int64(first_row)
    while row >= 0:
        following = np.int64(rows[row].next)
        if rows[row].stat >= 0:
            forest.free_stats[used[N_FREE_STATS]] = rows[row].stat
            used[N_FREE_STATS] += 1
        rows[row].next = used[FREE_ROW]
        used[FREE_ROW] = row
        row = following
    nodes[leaf].feature = feature
    nodes[leaf].first = first
    nodes[leaf].n_children = branches
    nodes[leaf].heavy = heavy
    nodes[leaf].threshold = threshold
    nodes[leaf].mass = parent_mass
