"""The twin of chain/clipping.py: a numeric column that remembers every number it has shown."""

import math


class Column:
    """What is believed of a numeric column's numbers, and their variance."""

    def __init__(self):
        self.shown = []  # as they came
        self.believed = []  # as they were taken
        self.weights = []  # what they count for the variance
        self.spread = 0.0  # the variance after the last row
        self.again = False  # whether the last number has made it start again

    def range(self):
        """The range of the column, and how far beyond it a number is still believed."""
        n, shown = len(self.shown), sorted(self.shown)
        rank = min(n // 25, 3)
        low, high = shown[rank], shown[-1 - rank]
        if low < high:
            return low, high, (1.0 + 50.0 / n) * (high - low)
        return low, high, math.inf if n < 20 else 0.0

    def believe(self, x):
        """What is made of the coming number."""
        if self.shown:
            low, high, beyond = self.range()
            if x < low - beyond:
                return low
            if x > high + beyond:
                return high
        return min(max(x, -1e140), 1e140)

    def meet(self, x):
        """Learn a number; what is made of it."""
        believed = self.believe(x)
        self.shown.append(min(max(x, -1e140), 1e140))
        if len(self.shown) % 1000 == 0:
            low, high, beyond = self.range()
            if beyond > 0.0:
                below = [low if x < low - beyond else x for x in self.shown]
                self.shown = [high if x > high + beyond else x for x in below]
        if len(self.shown) > 10_000:
            self.weights = [w * (1.0 - 1e-4) for w in self.weights]
        self.believed.append(believed)
        self.weights.append(1.0)
        self.spread, self.again = self.variance, False
        if len(self.shown) in (25, 50, 75) or len(self.shown) % 1000 == 0:
            low, high, _ = self.range()
            if high > low and self.spread > (4.0 * (high - low)) ** 2:
                self.again = True
                half, quarter = math.fsum(self.weights) / 2.0, (high - low) / 4.0
                self.believed = [(low + high) / 2.0 - quarter, (low + high) / 2.0 + quarter]
                self.weights = [half, half]
        return believed

    @property
    def variance(self):
        if not self.shown:
            return 0.0
        total = math.fsum(self.weights)
        mean = math.fsum(w * x for w, x in zip(self.weights, self.believed, strict=True)) / total
        return math.fsum(w * (x - mean) ** 2 for w, x in zip(self.weights, self.believed, strict=True)) / total
