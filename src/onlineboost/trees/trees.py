"""Hoeffding trees (VFDT, Domingos and Hulten 2000): predicting and learning, on the tables of `forest`."""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.fastmath import (
    HALF_BITS,
    LN2,
    MANTISSA,
    bits_float,
    child_key,
    exp,
    float_bits,
    log,
    prefetch,
)
from onlineboost._compile.jit import bare_kernel, inlined_kernel, small_kernel, summing_kernel
from onlineboost.trees.split import best_split, share_below
from onlineboost.trees.state import (
    BAYES,
    FREE_ROW,
    HIGH,
    INVERSE,
    LOW,
    MAJORITY,
    MEAN,
    N_FREE_STATS,
    N_LEAVES,
    N_NODES,
    N_ROWS,
    N_STATS,
    SQUARES,
    WEIGHT,
)

PRIOR_EXAMPLES = 3.0  # naive Bayes: a class's variance starts from the column's, with the weight of so many examples
LAPLACE = 0.01  # naive Bayes: examples added with this value of a nominal column, and as many without
MANY = 1024  # numbers between 0.7 and 1.42 can be multiplied without overflow
HOPELESS = 70.0  # naive Bayes: a class that is exp(70) = 2e30 times less likely than the best gets probability 0

# ---------------------------------------------------------------------------------------------- predicting


@inlined_kernel
def step(nodes, details, at, x):
    """The child of an inner node that x goes to."""
    value = x[np.uint64(nodes[at].feature)]  # an unsigned index: a negative one would count from the end, at a cost
    threshold = nodes[at].threshold
    if value == value and threshold == threshold:
        return np.int64(nodes[at].first) + int(value > threshold)
    if value < details[at].n_children and threshold != threshold:
        return np.int64(nodes[at].first) + int(value)
    return np.int64(details[at].heavy)  # missing, or a value with no branch of its own


@inlined_kernel
def route(forest, start, x):
    """The leaf that x falls into, from this node on."""
    at = np.int64(start)
    while forest.nodes[at].feature >= 0:
        at = step(forest.nodes, forest.details, at, x)
    return at


@bare_kernel
def find_leaves(nodes, details, root, X, first, leaves, walking):
    """The leaves that rows first, first + 1, ... fall into. `walking` is scratch of the same length (uint64).

    All rows go down one level, then all go down the next: no walk waits for another's node to arrive from memory, and
    there is no branch for the processor to guess.
    """
    many = 0
    inner = int(nodes[root].feature >= 0)
    for b in range(first, X.shape[0]):
        leaves[b] = root
        walking[many] = b
        many += inner
    while many > 0:
        left = 0
        for j in range(many):
            b = walking[j]
            at = np.uint64(step(nodes, details, np.uint64(leaves[b]), X[b]))
            leaves[b] = at
            walking[np.uint64(left)] = b
            left += int(nodes[at].feature >= 0)
        many = left


@inlined_kernel
def fetch_leaf(forest, far, near):
    """Ask for what two leaves to be visited soon will need: the first class of one, the statistics of the other.

    Leaves are visited in no order, and most are not in the cache. Waiting for them was a third of the time.
    """
    if forest.nodes[far].feature < 0 and forest.nodes[far].first >= 0:
        prefetch(forest.rows, forest.nodes[far].first, 0)
    if forest.nodes[near].feature < 0:
        prefetch(forest.details, near, 8)
        row = forest.nodes[near].first
        if row >= 0:
            if forest.rows[row].stat >= 0:
                for line in range(0, min(forest.stats.strides[0], 512), 64):
                    prefetch(forest.stats, forest.rows[row].stat, line)
            if forest.rows[row].next >= 0:
                prefetch(forest.rows, forest.rows[row].next, 0)


@summing_kernel
def squared_distance(x, mean, inverse):
    """sum_c (x_c - mean_c)^2 inverse_c."""
    total = 0.0
    for c in range(mean.size):
        total += (x[c] - mean[c]) ** 2 * inverse[c] if inverse[c] > 0.0 else 0.0  # an infinite square times 0 is NaN
    return total


@summing_kernel
def log_product(factors):
    """Sum of the logs of at most MANY positive numbers; 0 stands for a number left out.

    One logarithm for all of them: 2^e m is taken apart, the m multiplied, the e added up.
    """
    exponents = 0
    product = 1.0
    for c in range(factors.size):
        bits = float_bits(factors[c] if factors[c] > 0.0 else 1.0) - HALF_BITS
        exponents += bits >> 52
        product *= bits_float((bits & MANTISSA) + HALF_BITS)
    return exponents * LN2 + log(product)


@bare_kernel
def long_log_product(factors):
    """`log_product` of any number of factors."""
    total = 0.0
    for start in range(0, factors.size, MANY):
        total += log_product(factors[start : start + MANY])
    return total


@inlined_kernel
def bayes_score(forest, i, row, x, missing):
    """log(mass) + log likelihood of x for the class of this row, up to a constant shared by the leaf's classes."""
    n = forest.n_numeric
    stat = forest.stats[forest.rows[row].stat]
    mean, inverse = stat[MEAN * n : (MEAN + 1) * n], stat[INVERSE * n : (INVERSE + 1) * n]
    if not missing:
        score = forest.rows[row].prior
        if n:
            score -= 0.5 * squared_distance(x, mean, inverse)
    else:
        score = log(forest.rows[row].mass)
        for c in range(n):
            if x[c] == x[c] and inverse[c] > 0.0:
                score -= 0.5 * ((x[c] - mean[c]) ** 2 * inverse[c] - log(inverse[c]))
    if forest.offset.size == 1:
        return score
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


@summing_kernel
def softmax(scores, n, top, p):
    """p[:n] in proportion to exp(scores), whose largest is `top`, with sum 1."""
    total = 0.0
    for j in range(n):
        p[j] = exp(scores[j] - top) if scores[j] > top - HOPELESS else 0.0
        total += p[j]
    for j in range(n):
        p[j] /= total


@inlined_kernel
def leaf_distribution(forest, i, leaf, x, missing, labels, p):
    """Fill labels[:n] and p[:n] with the classes this leaf gives mass to, and return n. `p` has room for 2 k numbers.

    The last two values returned are the labels that the majority rule and naive Bayes would predict, -1: no opinion;
    `learn` credits them.
    """
    rows = forest.rows
    n = 0
    majority = bayes = -1
    best = 0.0
    learned = 0  # classes that have statistics
    row = forest.nodes[leaf].first
    while row >= 0:
        labels[n] = rows[row].label
        p[n] = rows[row].mass
        if p[n] > best:
            best = p[n]
            majority = labels[n]
        if rows[row].stat >= 0:
            bayes = labels[n]
            learned += 1
        n += 1
        row = rows[row].next
    use_bayes = forest.leaf == BAYES or forest.details[leaf].bayes_lead >= 0.0
    if forest.leaf == MAJORITY or learned == 0:
        bayes = -1
    elif learned == 1:  # naive Bayes has no choice
        if use_bayes:
            for j in range(n):
                p[j] = 1.0 if labels[j] == bayes else 0.0
            return n, majority, bayes
    else:
        bayes = -1
        top = -math.inf
        m = 0
        row = forest.nodes[leaf].first
        scores = p[p.size // 2 :]
        while row >= 0:
            scores[m] = -math.inf
            if rows[row].stat >= 0:
                score = bayes_score(forest, i, row, x, missing)
                if abs(score) < math.inf:  # neither NaN nor infinite, as it can be where squares overflow
                    scores[m] = score
                    if score > top:
                        top = score
                        bayes = labels[m]
            m += 1
            row = rows[row].next
        if use_bayes and bayes >= 0:
            softmax(scores, n, top, p)
            return n, majority, bayes
    for j in range(n):
        p[j] /= forest.details[leaf].mass
    return n, majority, bayes


# ------------------------------------------------------------------------------------------------ learning


@inlined_kernel
def room_needed(forest, i, leaf, weight):
    """Nodes, class rows and rows of stats that learning one example here can take at most."""
    if forest.details[leaf].since + weight <= forest.grace[i]:
        return 0, 1, 1
    branches = 2
    for j in range(forest.offset.size - 1):
        branches = max(branches, forest.offset[j + 1] - forest.offset[j] - 1)
    classes = 1
    row = forest.nodes[leaf].first
    while row >= 0:
        classes += 1
        row = forest.rows[row].next
    return branches, branches * classes, 1


@inlined_kernel
def has_room(forest, nodes, rows, stats):
    used = forest.used
    return (
        used[N_NODES] + nodes <= forest.nodes.size
        and used[N_ROWS] + rows <= forest.rows.size
        and (used[N_FREE_STATS] >= stats or used[N_STATS] + stats <= forest.stats.shape[0])
    )


@bare_kernel
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
    rows[row].prior = 0.0
    last = forest.nodes[leaf].first
    if last < 0:
        forest.nodes[leaf].first = row
    else:
        while rows[last].next >= 0:
            last = rows[last].next
        rows[last].next = row
    return row


@bare_kernel
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


@small_kernel
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


@small_kernel
def set_variances(stat, spread, prior, n):
    """Inverse variances for naive Bayes, each shrunk towards the column's variance."""
    w = stat[WEIGHT * n : (WEIGHT + 1) * n]
    squares = stat[SQUARES * n : (SQUARES + 1) * n]
    inverse = stat[INVERSE * n : (INVERSE + 1) * n]
    for c in range(n):
        total, weight = squares[c] + prior * spread[c], w[c] + prior
        inverse[c] = weight / total if (w[c] > 0.0) & (total > 1e-290 * weight) else 0.0


@inlined_kernel
def learn(forest, i, leaf, x, spread, y, weight, majority, bayes, t):
    """Tree i learns (x, y) of round t with this weight, at the leaf x fell into, and splits the leaf if that pays.

    `spread` is the variance of the numeric columns over the stream so far, `majority` and `bayes` are the labels
    `leaf_distribution` returned for x. The caller has made room.
    """
    nodes, details, rows = forest.nodes, forest.details, forest.rows
    details[leaf].bayes_lead += weight * (int(bayes == y) - int(majority == y))
    details[leaf].mass += weight
    details[leaf].since += weight

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
            set_variances(stat, spread, PRIOR_EXAMPLES * forest.unit[i], n)
    if forest.leaf != MAJORITY:
        inverse = stat[INVERSE * n : (INVERSE + 1) * n]
        rows[row].prior = log(rows[row].mass) + 0.5 * (log_product(inverse) if n <= MANY else long_log_product(inverse))
    for j in range(forest.offset.size - 1):
        if x[n + j] == x[n + j]:
            stat[forest.offset[j]] += weight
            stat[forest.offset[j] + 1 + int(x[n + j])] += weight

    if details[leaf].since > forest.grace[i]:
        details[leaf].since = 0.0
        feature, threshold = best_split(forest, i, leaf, t)
        if feature >= 0:
            split(forest, leaf, feature, threshold, t)


@bare_kernel
def start_leaf(forest, at, key):
    """Make this node a leaf that knows no class."""
    node, detail = forest.nodes[at], forest.details[at]
    node.feature = -1
    node.first = -1
    node.threshold = math.nan
    detail.n_children = 0
    detail.heavy = -1
    detail.mass = 0.0
    detail.since = 0.0
    detail.bayes_lead = 0.0
    detail.key = key


@bare_kernel
def free_rows(forest, first_row):
    """Class rows of a leaf, and their statistics, may be used again."""
    rows, used = forest.rows, forest.used
    row = np.int64(first_row)
    while row >= 0:
        following = np.int64(rows[row].next)
        if rows[row].stat >= 0:
            forest.free_stats[used[N_FREE_STATS]] = rows[row].stat
            used[N_FREE_STATS] += 1
        rows[row].next = used[FREE_ROW]
        used[FREE_ROW] = row
        row = following


@bare_kernel
def split(forest, leaf, feature, threshold, t):
    """Turn a leaf into an inner node whose children inherit its class masses, branch by branch."""
    nodes, details, rows, used = forest.nodes, forest.details, forest.rows, forest.used
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
    first_row = nodes[leaf].first
    heavy = first
    for b in range(branches):
        child = first + b
        start_leaf(forest, child, child_key(details[leaf].key, b))
        row = first_row
        while row >= 0:
            s = rows[row].stat
            if s >= 0:
                if feature < n:
                    share = share_below(forest.stats[s], n, feature, threshold)
                    mass = forest.stats[s, WEIGHT * n + feature] * (share if b == 0 else 1.0 - share)
                else:
                    mass = forest.stats[s, forest.offset[j] + 1 + b]
                if mass > 0.0:
                    new_row(forest, child, rows[row].label, mass)
                    details[child].mass += mass
            row = rows[row].next
        if details[child].mass > details[heavy].mass:
            heavy = child
        if details[child].mass == 0.0:  # a value not seen here: the parent's classes, with next to no weight
            row = first_row
            while row >= 0:
                new_row(forest, child, rows[row].label, 1e-6 * rows[row].mass)
                details[child].mass += 1e-6 * rows[row].mass
                row = rows[row].next
    free_rows(forest, first_row)
    nodes[leaf].feature = feature
    nodes[leaf].first = first
    nodes[leaf].threshold = threshold
    details[leaf].n_children = branches
    details[leaf].heavy = heavy
