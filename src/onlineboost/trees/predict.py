"""What a Hoeffding tree says of an example: down to a leaf, and the leaf's distribution over the labels."""

from __future__ import annotations

import math

import numpy as np

from onlineboost._compile.fastmath import HALF_BITS, LN2, MANTISSA, bits_float, exp, float_bits, log, prefetch
from onlineboost._compile.jit import bare_kernel, inlined_kernel, small_kernel, summing_kernel
from onlineboost.trees.state import INVERSE, MEAN, LeafRule

LAPLACE = 0.01  # naive Bayes: examples added with this value of a nominal column, and as many without
MANY = 1024  # numbers between 0.7 and 1.42 can be multiplied without overflow
HOPELESS = 70.0  # naive Bayes: a class that is exp(70) = 2e30 times less likely than the best gets probability 0


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


@bare_kernel
def start_walks(nodes, roots, first, stop, leaves, walking):
    """A row is at the roots of trees first, ..., stop - 1: how many it has to walk down, and which, in `walking`."""
    many = 0
    for tree in range(first, stop):
        leaves[tree] = roots[tree]
        walking[many] = tree
        many += int(nodes[roots[tree]].feature >= 0)
    return many


@small_kernel
def walk_on(nodes, details, x, leaves, walking, many):
    """One level down in these trees, but where it is at a leaf; how many trees are left.

    The next nodes are only asked for: while they come, it is the turn of other trees.
    """
    left = 0
    for j in range(many):
        tree = walking[j]
        at = np.uint64(leaves[tree])
        if nodes[at].feature >= 0:
            child = step(nodes, details, at, x)
            prefetch(nodes, child, 0)
            leaves[tree] = child
            walking[np.uint64(left)] = tree
            left += 1
    return left


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


@bare_kernel
def fetch_classes(nodes, rows, stats, near, most):
    """Ask for the statistics of the leaf's other classes, too, `most` of them at most."""
    if nodes[near].feature < 0 and nodes[near].first >= 0:
        row = np.int64(rows[nodes[near].first].next)
        while row >= 0 and most > 0:
            if rows[row].stat >= 0:
                for line in range(0, min(stats.strides[0], 512), 64):
                    prefetch(stats, rows[row].stat, line)
            row = np.int64(rows[row].next)
            most -= 1


@bare_kernel
def fetch_leaves(nodes, details, rows, leaves, todo):
    """Ask for what is known of leaves, and for the first class of each, which is put into `todo`; how many have one."""
    many = 0
    for j in range(leaves.size):
        prefetch(details, leaves[j], 8)
        row = nodes[leaves[j]].first
        if row >= 0:
            prefetch(rows, row, 0)
            todo[many] = row
            many += 1
    return many


@small_kernel
def bytes_of_bayes(stats, n_numeric):
    """The bytes at the beginning of a row of statistics that naive Bayes needs."""
    wide = stats.strides[0]
    return 16 * n_numeric if wide == 48 * n_numeric else wide


@bare_kernel
def fetch_lists(rows, stats, todo, many, y, narrow):
    """Ask for the statistics of these classes: all of those with label y, `narrow` bytes of others.

    `todo` goes on to the next class of each leaf; how many have one.
    """
    left = 0
    for j in range(many):
        row = np.int64(todo[j])
        if rows[row].stat >= 0:
            for line in range(0, min(stats.strides[0] if rows[row].label == y else narrow, 512), 64):
                prefetch(stats, rows[row].stat, line)
        if rows[row].next >= 0:
            prefetch(rows, rows[row].next, 0)
            todo[left] = rows[row].next
            left += 1
    return left


@summing_kernel
def squared_distance(x, mean, inverse):
    """sum_c (x_c - mean_c)^2 inverse_c; what is missing adds nothing."""
    total = 0.0
    for c in range(mean.size):
        known = (inverse[c] > 0.0) & (x[c] == x[c])  # an infinite square times 0 is NaN
        total += (x[c] - mean[c]) ** 2 * inverse[c] if known else 0.0
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
    score = forest.rows[row].prior
    if n:
        score -= 0.5 * squared_distance(x, mean, inverse)
    if missing:
        for c in range(n):
            if x[c] != x[c] and inverse[c] > 0.0:
                score -= 0.5 * log(inverse[c])  # which `prior` has counted
    if forest.offset.size == 1:
        return score
    extra = LAPLACE * forest.unit[i]
    product = 1.0
    for j in range(forest.offset.size - 1):
        code, at = x[n + j], forest.offset[j]
        size = forest.offset[j + 1] - at
        if code == code and size > 1:
            known = code + 1 < size
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
        p[j] = exp(scores[j] - top) if scores[j] >= top - HOPELESS else 0.0  # one is: the top may be -1e99
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
    use_bayes = forest.leaf == LeafRule.BAYES or forest.details[leaf].bayes_lead >= 0.0
    if forest.leaf == LeafRule.MAJORITY or learned == 0:
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
