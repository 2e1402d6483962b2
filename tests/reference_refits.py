"""The twin of the trees that are fitted anew (`panel.refits`).

All votes are taken from the trees each time, and a split tries every column and edge. The settings and the
counter-based random numbers are those of the package.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from onlineboost._compile.random import REFIT, uniform
from onlineboost.panel import refits
from onlineboost.panel.columns import LARGEST


class RefittedTrees:
    """A tree is a list of votes, or (column, threshold, left, right). A column is a number, or ("score", number)."""

    def __init__(self, seed):
        self.seed = seed
        self.trees = [[] for _ in range(refits.TREES)]  # no votes
        self.next, self.due = 0, 2

    def votes(self, row, k, trees):
        total = np.zeros(k)
        for tree in trees:
            while isinstance(tree, tuple):
                column, threshold, left, right = tree
                tree = right if value_of(row, column) > threshold else left
            total[: len(tree)] += tree
        return total

    def move(self, j, factor, shift):
        """Thresholds of column j in another unit, from another origin."""

        def changed(tree):
            if not isinstance(tree, tuple):
                return tree
            column, threshold, left, right = tree
            if column == j:
                threshold = float(np.float32(min(max(threshold * factor + shift, -LARGEST), LARGEST)))
            return column, threshold, changed(left), changed(right)

        self.trees = [changed(tree) for tree in self.trees]

    def distribution(self, row, k):
        return softmax(self.votes(row, k, self.trees))

    def learn(self, rows, n_columns, k):
        """`rows` are (values, scores, y, weight) of all rows so far, the last one new."""
        t = len(rows) - 1
        if t + 1 < self.due:
            return
        number, self.next = self.next, (self.next + 1) % refits.TREES
        self.due = t + 1 + max(refits.SOONEST, len(rows) // refits.PARTS)
        drawn = self.drawn(n_columns, len(rows[-1][1]) if number % 2 == 0 else 0, t)
        self.trees[number] = []
        p = np.array([softmax(self.votes(row, k, self.trees)) for row in rows])
        y, weight = np.array([row[2] for row in rows]), np.array([row[3] for row in rows])
        g, h = weight[:, None] * (p - np.eye(k)[y]), weight[:, None] * p * (1.0 - p)
        slopes = np.column_stack([*(g @ self.signs(t, m, k) for m in range(refits.SKETCHES)), h.sum(axis=1)])
        cuts = [(column, self.edges(rows, column, j, t)) for j, column in enumerate(drawn)]
        self.trees[number] = grow(rows, np.arange(len(rows)), cuts, slopes, g, h, refits.DEPTH)

    def signs(self, t, m, k):
        if k == 2:
            return np.array([float(m == 0), 0.0])
        drawn = [uniform(self.seed, REFIT, t, refits.SKETCHES * c + m) for c in range(k)]
        return np.array([1.0 if u < 0.5 else -1.0 for u in drawn])

    def drawn(self, n_columns, n_scores, t):
        left = [*range(n_columns), *(("score", j) for j in range(n_scores))]
        for j in range(min(refits.COLUMNS, len(left))):
            u = uniform(self.seed, REFIT, t, -1 - j)
            other = j + int(u * (len(left) - j))
            if j < refits.USEFUL:
                tree, node = divmod(int(u * refits.TREES * (refits.NODES // 2)), refits.NODES // 2)
                column = column_at(self.trees[tree], node)
                if column in left[j:]:
                    other = left.index(column)
            left[j], left[other] = left[other], left[j]
        return left[: refits.COLUMNS]

    def edges(self, rows, column, j, t):
        sample = rows
        if len(rows) > refits.LOOKED_AT:
            first = -1 - refits.COLUMNS - j * refits.LOOKED_AT
            numbers = [uniform(self.seed, REFIT, t, first - i) for i in range(refits.LOOKED_AT)]
            sample = [rows[int(number * len(rows))] for number in numbers]
        values = sorted({value_of(row, column) for row in sample})
        middles = [(a + b) / 2.0 for a, b in pairwise(values)]
        most = refits.BINS - 1
        if len(middles) <= most:
            return middles
        return [middles[(2 * b + 1) * len(middles) // (2 * most)] for b in range(most)]


def column_at(tree, node):
    """The column of a node of a tree, None if there is no cut; the root is node 1, those below node i 2i and 2i + 1."""
    for right in f"{node:b}"[1:]:
        tree = tree[2 + int(right)] if isinstance(tree, tuple) else None
    return tree[0] if node and isinstance(tree, tuple) else None


def value_of(row, column):
    """In single precision, as it is stored; a column that came later was 0."""
    if isinstance(column, tuple):
        values, column = row[1], column[1]
    else:
        values = row[0]
    return float(np.float32(values[column])) if column < len(values) else 0.0


def softmax(votes):
    e = np.exp(votes - votes.max())
    return e / e.sum()


def grow(rows, at, cuts, slopes, g, h, depth):
    """The tree of the rows with these numbers."""

    def worth(some):
        *sums, mass = slopes[some].sum(axis=0)
        return sum(s * s for s in sums) / (mass + refits.RIDGE)

    best, cut = refits.SAME, None
    for column, edges in cuts if depth else ():
        values = np.array([value_of(rows[i], column) for i in at])
        for edge in edges:
            sides = at[values <= edge], at[values > edge]
            if min(slopes[side, -1].sum() for side in sides) >= refits.LIGHTEST:
                gain = worth(sides[0]) + worth(sides[1]) - worth(at)
                if gain > best + refits.SAME:
                    best, cut = gain, (column, edge, *sides)
    if cut is None:
        step = -refits.RATE * g[at].sum(axis=0) / (h[at].sum(axis=0) + refits.RIDGE)
        return np.clip(step, -refits.BOUND, refits.BOUND).tolist()
    column, edge, left, right = cut
    return (column, edge, *(grow(rows, side, cuts, slopes, g, h, depth - 1) for side in (left, right)))
