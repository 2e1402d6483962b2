"""Prediction sets, the slow way: from the formulas, a row and a label at a time."""

from __future__ import annotations

import math

LEVELS = (0.5, 0.7, 0.8, 0.85, 0.9, 0.95, 0.975, 0.99, 0.995)


class Track:
    def __init__(self):
        self.mass = {}  # by bin
        self.excess = dict.fromkeys(LEVELS, 0.0)
        self.weight = 0.0

    def threshold(self, level):
        E = self.excess[level]
        return level + 0.2 * min(level, 1.0 - level) * E * (1.0 + (E / 4.0) ** 2)

    def rank(self, p, u):
        """The share of the rows whose own label was likelier, ties broken by u."""
        own = bin_of(p)
        mass = [self.mass.get(b, 0.0) + 1.0 / 128.0 for b in range(128)]
        return (sum(mass[own + 1 :]) + u * mass[own]) / sum(mass)

    def learn(self, p, u, weight):
        weight = min(weight, 10.0)
        rank = self.rank(p, u)
        for level in LEVELS:
            self.excess[level] += weight * ((rank > self.threshold(level)) - (1.0 - level))
        self.mass = {b: 0.999 * mass for b, mass in self.mass.items()}
        self.mass[bin_of(p)] = self.mass.get(bin_of(p), 0.0) + weight
        self.weight += weight


def bin_of(p):
    if p in (0.0, 1.0):
        return 127 if p else 0
    return min(127, max(0, math.floor((math.log(p / (1.0 - p)) + 7.0) / 14.0 * 128.0)))


class Sets:
    """All rows, and those of each class."""

    def __init__(self):
        self.all, self.of_class = Track(), {}

    def inside(self, p, u, coverage, by_class=False):
        """Which labels are in the set, where the coverage is a level."""
        tracks = [self.of_class.setdefault(c, Track()) if by_class else self.all for c in range(len(p))]
        return [track.rank(own, u) <= track.threshold(coverage) for track, own in zip(tracks, p, strict=True)]

    def learn(self, p, u, y, weight):
        self.all.learn(p[y], u, weight)
        self.of_class.setdefault(y, Track()).learn(p[y], u, weight)
