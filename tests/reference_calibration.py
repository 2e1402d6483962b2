"""Calibration, the slow way: from the formulas, a row at a time."""

from __future__ import annotations

import math


class Calibration:
    def __init__(self, floor):
        self.floor, self.beta, self.curvature = floor, 1.0, 1.0

    def say(self, p):
        """The calibrated probabilities."""
        powers = [(v + self.floor) ** self.beta for v in p]
        return [power / sum(powers) for power in powers]

    def learn(self, p, y, weight):
        """The label of a row whose own probabilities were p."""
        q, z = self.say(p), [math.log(v + self.floor) for v in p]
        slope = sum(a * b for a, b in zip(q, z, strict=True)) - z[y]
        weight = min(max(weight, 1e-9), 100.0)
        self.curvature = 0.998 * self.curvature + 0.002 + weight * slope**2
        self.beta = min(20.0, max(0.05, self.beta - weight * slope / self.curvature))
