"""The twin of `panel.additive`: cells by name, sums taken anew, quantiles of sorted lists.

Which combinations share a cell is a definition, as the hash is: that of the package.
"""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np

from onlineboost._compile.random import child_key
from onlineboost.panel import additive
from onlineboost.panel.remembered import RECENT
from reference_refits import softmax


class Additive:
    """Cells are (table, number) -> [votes, h], each a number per class."""

    def __init__(self, n_numeric, n_nominal):
        self.n_numeric, self.width = n_numeric, n_numeric + n_nominal
        self.cells = {}
        self.slopes = [[np.zeros(0), np.zeros(0)] for _ in range(n_numeric)]  # likewise
        self.edges = {j: [] for j in range(n_numeric)}
        self.chosen = list(range(min(self.width, additive.CHOSEN)))
        self.t = 0

    def cell(self, name, k):
        """Votes and h of a cell; of a new class both are 0."""
        votes, h = self.cells.get(name, (np.zeros(0), np.zeros(0)))
        self.cells[name] = [np.pad(votes, (0, k - len(votes))), np.pad(h, (0, k - len(h)))]
        return self.cells[name]

    def bins(self, values, there, codes):
        numbers = [
            1 + sum(value > edge for edge in self.edges[j]) if is_there else 0
            for j, (value, is_there) in enumerate(zip(values, there, strict=True))
        ]
        return numbers + [0 if code is None else int(code) + 1 for code in codes]

    def names_of(self, order):
        """The cells of the row for groups of so many columns."""
        if order == 1:
            return [("own", child_key(3 * j, self.row[j]) % additive.OWN) for j in range(self.width)]
        names = []
        for group in combinations(self.chosen, order):
            key = 0
            for j in group:
                coarse = self.row[j]
                if j < self.n_numeric and coarse:
                    coarse = (coarse - 1) // 2 ** (order - 1) + 1
                key ^= child_key(3 * j + order - 1, coarse)
            names.append(("group", self.number(key)))
        return names

    def n_cells(self, t):
        return additive.FIRST + additive.PER_ROW * min(t, RECENT)

    def number(self, key):
        """Linear hashing: by as many low bits as there are cells for, one less where that is too many."""
        n = self.n_cells(self.t)
        bits = n.bit_length()
        number = key % 2**bits
        return number if number < n else key % 2 ** (bits - 1)

    def distributions(self, values, there, codes, z, k):
        """By single columns, with pairs, and with triples; the first and the last are voices.

        `codes` are those by which values go here: of evidence, where there are many values.
        """
        self.k = k
        straight = [self.straightened(j, values[j], z[j]) for j in range(self.n_numeric)]
        self.z = [min(max(one, -3.0), 3.0) if is_there else 0.0 for one, is_there in zip(straight, there, strict=True)]
        self.slopes = [[np.pad(part, (0, k - len(part))) for part in slope] for slope in self.slopes]
        self.skewed = [self.skew(j) is not None for j in range(self.n_numeric)]
        self.row = self.bins(values, there, codes)
        self.names = [[("bias", order), *self.names_of(order)] for order in (1, 2, 3)]
        votes, self.p = np.zeros(k), []
        for names in self.names:
            votes = votes + sum(self.cell(name, k)[0] for name in names)
            if not self.p:
                votes = votes + sum(z * slope for z, (slope, _) in zip(self.z, self.slopes, strict=True))
            self.p.append(softmax(votes))
        return self.p

    def skew(self, j):
        """How many times as far the upper outer quantile is from the median as the lower; None: about, or 3 classes."""
        if not self.edges[j] or self.k != 2:
            return None
        low, median, high = (float(np.float32(self.edges[j][i])) for i in (0, 7, 14))
        if not low < median < high:
            return None
        skew = (high - median) / (median - low)
        return skew if skew > 2.0 or skew < 0.5 else None

    def straightened(self, j, value, z):
        """Where a column is skewed, its logarithm: median and outer quantiles become 0 and -1.534, 1.534."""
        skew = self.skew(j)
        if skew is None:
            return z
        median, high = (float(np.float32(self.edges[j][i])) for i in (7, 14))
        return 1.534 * math.log(max(1.0 + (skew - 1.0) * (value - median) / (high - median), 1e-3)) / math.log(skew)

    def move(self, j, factor, shift, moved):
        self.edges[j] = [moved(edge, factor, shift) for edge in self.edges[j]]
        self.slopes[j] = [np.zeros(self.k), np.zeros(self.k)]

    def step(self, cell, z, ridge):
        votes, h = cell
        h[:] = np.minimum(h + z * z * self.curve, additive.LONGEST)
        votes[:] = np.clip(votes - z * self.g / (h + ridge + self.others), -additive.BOUND, additive.BOUND)

    def learn(self, y, weight, memory, pulls, variances, owners):
        """`memory` has the dense values of the remembered rows, this one included."""
        numbers = [list(zip(self.z, self.slopes, strict=True)), [], []]
        for names, slopes, p, ridge in zip(self.names, numbers, self.p, (3.0, 5.0, 8.0), strict=True):
            self.g, self.curve = weight * (p - np.eye(self.k)[y]), weight * p * (1.0 - p)
            self.curve *= 2.0 if self.k == 2 and p is self.p[0] else 1.0
            # All but the bias take their steps at once.
            self.others = (len(names) - 1 + sum(z * z for z, _ in slopes)) * self.curve
            for i, name in enumerate(names):
                skewed = p is self.p[0] and 0 < i <= self.n_numeric and self.skewed[i - 1]
                self.step(self.cell(name, self.k), 1.0, ridge * (4.0 if skewed else 1.0) * max(weight, 1.0))
            for z, slope in slopes:
                self.step(slope, z, 6.0 * max(weight, 1.0))
        for new in range(self.n_cells(self.t), self.n_cells(self.t + 1)):
            was = new - 2 ** int(math.log2(new))
            self.cells["group", new] = [part.copy() for part in self.cell(("group", was), self.k)]
        self.t += 1
        if self.t >= additive.SOONEST and (math.log2(self.t).is_integer() or self.t % RECENT == 0):
            for j in self.edges:
                numbers = sorted(row[j] for row in memory)
                self.edges[j] = [numbers[b * len(numbers) // additive.BINS] for b in range(1, additive.BINS)]
            told = np.zeros(self.width)
            for j, owner in enumerate(owners):
                told[j if owner is None else self.n_numeric + owner] += pulls[j] * math.sqrt(max(variances[j], 1e-24))
            self.chosen = sorted(range(self.width), key=lambda column: -told[column])[: additive.CHOSEN]
