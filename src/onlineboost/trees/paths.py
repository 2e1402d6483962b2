"""Which columns move what a tree says of a row, from the root to the leaf; in NumPy, for explanations.

A node's distribution is that of the class masses of all leaves below it. On its way down, a row goes from one
distribution to the next, and the difference belongs to the column that the node splits on (Saabas 2014). Where the leaf
predicts by naive Bayes, each column adds a term to the classes' scores; with the terms fading in from 0 to 1, the
gradients of the probabilities add up to what each column has moved (integrated gradients: Sundararajan, Taly and Yan
2017). Everything is linear in what is asked of the distribution, so it is computed for some directions of it alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onlineboost.trees.predict import HOPELESS, LAPLACE
from onlineboost.trees.state import INVERSE, MEAN, Forest, LeafRule

_U, _W = np.polynomial.legendre.leggauss(24)
FADE_IN = (0.5 * (_U + 1.0)) ** 3  # from 0 to 1, more densely near 0, where probabilities move most
STEPS = 0.5 * _W * 3.0 * (0.5 * (_U + 1.0)) ** 2


class Tree(NamedTuple):
    """The nodes of one tree, level by level, children side by side."""

    at: np.ndarray  # int64 (nodes,) their places in the forest
    first: np.ndarray  # int64 (nodes,) the first child, in the order of this table; -1: a leaf
    heavy: np.ndarray  # int64 (nodes,) the child for missing values, likewise
    mass: np.ndarray  # float64 (nodes, labels) of the classes below


class Moves(NamedTuple):
    """How a tree comes to what it says of some rows, in some directions."""

    start: np.ndarray  # float64 (rows, directions) what it says of any row: its root
    columns: np.ndarray  # float64 (rows, columns, directions) what each column adds
    end: np.ndarray  # float64 (rows, directions) what it says


def tree_of(forest: Forest, i: int, n_labels: int) -> Tree:
    """Tree i of a forest."""
    nodes, details = forest.nodes, forest.details
    level = np.array([forest.roots[i]], np.int64)
    levels, firsts, ends = [], [], [0]
    while level.size:
        ends.append(ends[-1] + len(level))
        inner = nodes["feature"][level] >= 0
        count = np.where(inner, details["n_children"][level], 0)
        before = np.cumsum(count) - count
        levels.append(level)
        firsts.append(np.where(inner, ends[-1] + before, -1))
        level = np.repeat(nodes["first"][level] - before, count) + np.arange(count.sum())
    at, first = np.concatenate(levels), np.concatenate(firsts)
    heavy = np.where(first >= 0, first + details["heavy"][at] - nodes["first"][at], -1)
    mass = np.zeros((len(at), n_labels))
    _count_leaves(forest, at, first, mass)
    for start, stop in zip(ends[-2::-1], ends[:0:-1], strict=True):
        above = start + np.flatnonzero(first[start:stop] >= 0)
        if above.size:
            below = slice(first[above[0]], first[above[-1]] + details["n_children"][at[above[-1]]])
            mass[above] = np.add.reduceat(mass[below], first[above] - below.start, axis=0)
    return Tree(at, first, heavy, mass)


def _count_leaves(forest: Forest, at: np.ndarray, first: np.ndarray, mass: np.ndarray) -> None:
    leaf = np.flatnonzero(first < 0)
    row = forest.nodes["first"][at[leaf]].astype(np.int64)
    while row.size:
        there = row >= 0
        row, leaf = row[there], leaf[there]
        mass[leaf, forest.rows["label"][row]] += forest.rows["mass"][row]
        row = forest.rows["next"][row].astype(np.int64)


def distributions(mass: np.ndarray) -> np.ndarray:
    """Masses with the sum 1; all labels alike where nothing has been learned."""
    total = mass.sum(axis=1, keepdims=True)
    return np.where(total > 0.0, mass / np.where(total > 0.0, total, 1.0), 1.0 / mass.shape[1])


def children(forest: Forest, tree: Tree, at: np.ndarray, X: np.ndarray) -> np.ndarray:
    """The child that each row goes to from its inner node: the twin of `predict.step`."""
    places = tree.at[at]
    value = X[np.arange(len(X)), forest.nodes["feature"][places]]
    threshold, n = forest.nodes["threshold"][places], forest.details["n_children"][places]
    nominal = np.isnan(threshold)
    with np.errstate(invalid="ignore"):
        branch = np.where(nominal, value, value > threshold)
        known = ~np.isnan(value) & (~nominal | (value < n))
    return np.where(known, tree.first[at] + np.where(known, branch, 0).astype(np.int64), tree.heavy[at])


def moves(forest: Forest, i: int, X: np.ndarray, directions: np.ndarray) -> Moves:
    """What tree i says of rows, and why; `directions` is (rows, labels, directions)."""
    n, n_labels, d = directions.shape
    tree = tree_of(forest, i, n_labels)
    p = distributions(tree.mass)
    at, rows = np.zeros(n, np.int64), np.arange(n)
    by_column = np.zeros((n, X.shape[1], d))
    while (rows := rows[tree.first[at[rows]] >= 0]).size:
        after = children(forest, tree, at[rows], X[rows])
        column = forest.nodes["feature"][tree.at[at[rows]]]
        by_column[rows, column] += _along(p[after] - p[at[rows]], directions[rows])
        at[rows] = after
    end = p[at].copy()
    _add_bayes(forest, i, tree.at[at], X, directions, by_column, end)
    return Moves(_along(p[np.zeros(n, np.int64)], directions), by_column, _along(end, directions))


def _along(p: np.ndarray, directions: np.ndarray) -> np.ndarray:
    return np.einsum("rl,rld->rd", p, directions)


def _add_bayes(forest, i, leaf, X, directions, by_column, end) -> None:
    """What naive Bayes in the leaves adds: to each column, and to the distribution in the end."""
    stat, mass = _statistics(forest, leaf, directions.shape[1])
    learned = (stat >= 0).sum(axis=1)
    uses = (forest.leaf == LeafRule.BAYES) | (forest.details["bayes_lead"][leaf] >= 0.0)
    uses &= (learned > 0) & (forest.leaf != LeafRule.MAJORITY)
    rows = np.flatnonzero(uses)
    if not rows.size:
        return
    stat, prior = stat[rows], np.where(stat[rows] >= 0, np.log(np.maximum(mass[rows], 1e-300)), -np.inf)
    terms = bayes_terms(forest, i, stat, X[rows])
    score = prior + terms.sum(axis=2)
    sane = np.isfinite(np.where(stat >= 0, score, 0.0)).all(axis=1)
    rows, terms, score, prior = rows[sane], terms[sane], score[sane], prior[sane]
    end[rows] = _softmax(score)
    # p(f) = softmax(prior + f terms); of d p_l = p_l (terms_l - sum_m p_m terms_m) df, summed up over f
    alone, pairs = np.zeros_like(prior), np.zeros((len(rows), *2 * prior.shape[1:]))
    total = terms.sum(axis=2)
    for f, width in zip(FADE_IN, STEPS, strict=True):
        p = _softmax(prior + f * total)
        alone += width * p
        pairs += width * p[:, :, None] * p[:, None, :]
    own = directions[rows]
    pull = alone[:, :, None] * own - np.einsum("rlm,rld->rmd", pairs, own)
    by_column[rows] += np.einsum("rlc,rld->rcd", terms, pull)


def _statistics(forest: Forest, leaf: np.ndarray, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Places in `stats` of each leaf's classes, -1: none, and their masses: both (rows, labels)."""
    stat, mass = np.full((len(leaf), n_labels), -1, np.int64), np.zeros((len(leaf), n_labels))
    rows = np.arange(len(leaf))
    at = forest.nodes["first"][leaf].astype(np.int64)
    while at.size:
        there = at >= 0
        at, rows = at[there], rows[there]
        label = forest.rows["label"][at]
        stat[rows, label], mass[rows, label] = forest.rows["stat"][at], forest.rows["mass"][at]
        at = forest.rows["next"][at].astype(np.int64)
    return stat, mass


def bayes_terms(forest: Forest, i: int, stat: np.ndarray, X: np.ndarray) -> np.ndarray:
    """What each column adds to the score of each class, (rows, labels, columns): the twin of `predict.bayes_score`.

    0 for a class without statistics, and for a missing value.
    """
    n, offset = forest.n_numeric, forest.offset
    terms = np.zeros((*stat.shape, X.shape[1]))
    row, label = np.nonzero(stat >= 0)
    table, x = forest.stats[stat[row, label]], X[row]
    mean, inverse = table[:, MEAN * n : (MEAN + 1) * n], table[:, INVERSE * n : (INVERSE + 1) * n]
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        term = -0.5 * ((x[:, :n] - mean) ** 2 * inverse - np.log(inverse))
    terms[row, label, :n] = np.where(~np.isnan(x[:, :n]) & (inverse > 0.0), term, 0.0)
    extra = LAPLACE * forest.unit[i]
    for j in range(len(offset) - 1):
        code, size = x[:, n + j], offset[j + 1] - offset[j] - 1
        if not size:
            continue
        there = np.flatnonzero(~np.isnan(code))
        value = code[there].astype(np.int64)
        weight = np.zeros(len(there))
        known = value < size
        weight[known] = table[there[known], offset[j] + 1 + value[known]]
        terms[row[there], label[there], n + j] = np.log((weight + extra) / (table[there, offset[j]] + 2.0 * extra))
    return terms


def _softmax(score: np.ndarray) -> np.ndarray:
    if not len(score):
        return score
    top = score.max(axis=1, keepdims=True)
    e = np.where(score >= top - HOPELESS, np.exp(np.maximum(score - top, -HOPELESS)), 0.0)
    return e / e.sum(axis=1, keepdims=True)
