"""Twins of the members of the panel by themselves: weak learners, as `reference.AdaboostOLM` and `PlainTree` take them.

What they are made of is that of the panel's twin; a member has columns and rows of its own, and no scores.
"""

from __future__ import annotations

import numpy as np

from onlineboost._compile.random import FREQUENCY, uniform
from onlineboost.panel import columns, cosines, least_squares
from onlineboost.panel import eager_trees as eager
from reference_panel import EagerTree, LeastSquares, Panel, centred, frequencies, neighbours_vote
from reference_refits import RefittedTrees, softmax


class Member(Panel):
    """A row that weighs nothing is not learned, and leaves no trace."""

    def distribution(self, x, k):
        return self.ask(x, k)

    def ask(self, x, k):
        self.values, self.there = self.dense.values(x, self.columns.means())
        self.k = k
        return list(self.say(k))

    def learn(self, x, y, weight, t):
        if weight == 0.0:
            return
        weight = min(max(weight, columns.LIGHTEST), columns.HEAVIEST)
        self.meet(x)
        self.ask(x, self.k)
        self.memory.append((self.values, y, weight))
        self.take(y, weight)
        self.columns.learn(self.values, self.there, y, weight)
        if len(self.memory) <= columns.OFTEN or len(self.memory) % columns.PERIOD == 0:
            self.columns.refresh()

    def move(self, j, factor, shift):
        """What becomes of what this kind knows of dense column j."""

    def take(self, y, weight):
        """What this kind learns of the row that was last asked about; it is in the memory."""


class EagerTrees(Member):
    def __init__(self, *shape):
        super().__init__(*shape)
        self.trees = [EagerTree(i, self.seed) for i in range(eager.N_TREES)]

    def move(self, j, factor, shift):
        for tree in self.trees:
            tree.move(j, factor, shift)

    def say(self, k):
        return np.mean([tree.distribution(self.values, k) for tree in self.trees], axis=0)

    def take(self, y, weight):
        for tree in self.trees:
            tree.learn(self.memory, len(self.memory) - 1, self.columns.pull)


class NearestNeighbours(Member):
    many = 4

    def say(self, k):
        weights, now = np.array(self.columns.weight), np.array(self.values)
        rows = [np.array(values + [0.0] * (len(now) - len(values))) for values, _, _ in self.memory]
        return neighbours_vote([float(np.sum(((row - now) * weights) ** 2)) for row in rows], self.memory, self.many, k)


class Linear(Member):
    def __init__(self, *shape):
        super().__init__(*shape)
        self.squares = LeastSquares()

    def inputs(self):
        return np.concatenate([[1.0], self.standardised(self.values)])

    def move(self, j, factor, shift):
        n = len(self.dense.owners)
        self.squares.forget(len(self.x) - len(self.values) + j, len(self.x) - len(self.values) + n, self.k)

    def say(self, k):
        self.x = self.inputs()
        return softmax(centred(least_squares.SHARPNESS * np.clip(self.squares.scores(self.x, k), -2.0, 2.0)))

    def take(self, y, weight):
        self.squares.learn(self.x, y, weight)


class Cosines(Linear):
    def inputs(self):
        z = self.standardised(self.values)
        phases = np.array([uniform(self.seed, FREQUENCY, m, -1) for m in range(cosines.N_COSINES)])
        waves = frequencies(self.seed, len(z), self.width) @ (z * self.tilt()) + 2.0 * np.pi * phases
        return np.concatenate([[1.0], cosines.HEIGHT * np.cos(waves), z])


class Refitted(Member):
    def __init__(self, *shape):
        super().__init__(*shape)
        self.refits = RefittedTrees(self.seed)

    def move(self, j, factor, shift):
        self.refits.move(j, factor, shift)

    def say(self, k):
        return self.refits.distribution((self.values, []), k)

    def take(self, y, weight):
        self.refits.learn([(values, [], *row) for values, *row in self.memory], len(self.values), self.k)
