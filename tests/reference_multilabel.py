"""Twin of Ada.OLMR and OnlineBMR (Jung and Tewari 2018), from the paper: sums over pairs, potentials by enumeration."""

from __future__ import annotations

import math
from fractions import Fraction

from reference import draw_expert


def pairs(relevant, k):
    return [(l, r) for l in relevant for r in range(k) if r not in relevant]


def pair_mean(g, s, relevant):
    """A loss of one pair of labels, as a function of d = s_l - s_r, over all pairs."""
    all_of = pairs(relevant, len(s))
    return sum(g(s[l] - s[r]) for l, r in all_of) / len(all_of) if all_of else 0.0


def rank_loss(s, relevant):
    return pair_mean(lambda d: 1.0 if d < 0.0 else 0.5 if d == 0.0 else 0.0, s, relevant)


def draws(k, relevant, gamma):
    """u^Y: (p, q), exactly."""
    gamma = min(gamma, Fraction(1, relevant))
    q = (1 - relevant * gamma) / k
    return q + gamma, q


def differences(m, p, q):
    """The distribution of the number of draws of l less that of r among m, in closed form: {d: probability}."""
    found = {}
    for up in range(m + 1):
        for down in range(m + 1 - up):
            ways = math.comb(m, up) * math.comb(m - up, down)
            share = ways * p**up * q**down * (1 - p - q) ** (m - up - down)
            found[up - down] = found.get(up - down, 0) + share
    return found


def potential(g, d, m, p, q):
    """E g(d + D)."""
    return sum(share * g(d + step) for step, share in differences(m, p, q).items())


def hinge(d):
    return max(0, 1 - d)


def slope_of(s, relevant):
    """The gradient of the logistic rank loss."""
    out, all_of = [0.0] * len(s), pairs(relevant, len(s))
    for l, r in all_of:
        out[l] -= 1.0 / (1.0 + math.exp(s[l] - s[r])) / len(all_of)
        out[r] += 1.0 / (1.0 + math.exp(s[l] - s[r])) / len(all_of)
    return out


class MultiLabel:
    """Learners as those of `reference.AdaboostOLM`; gamma: None, or a Fraction."""

    def __init__(self, learners, gamma, scale, seed, rule):
        self.learners, self.gamma, self.scale, self.seed, self.rule = learners, gamma, scale, seed, rule
        n = len(learners)
        self.alpha = [0.0 if gamma is None else 1.0] * n
        self.lost = [0.0] * n  # rank loss of each expert
        self.asked, self.seen = [0.0] * n, [0.0] * n
        self.edge_sums = [[0.0, 0.0] for _ in learners]
        self.fit = Fit()
        self.t = 1

    @property
    def edges(self):
        return [-a / b if b else 0.0 for a, b in self.edge_sums]

    def costs(self, i, s, relevant):
        """c of learner i, counted from 0."""
        k = len(s)
        if not pairs(relevant, k):
            return [0.0] * k
        if self.gamma is None:
            return slope_of(s, relevant)
        m, (p, q) = len(self.learners) - i - 1, draws(k, len(relevant), self.gamma)
        steps = {d: float(share) for d, share in differences(m, p, q).items()}

        def phi(s):
            return pair_mean(lambda d: sum(share * hinge(d + step) for step, share in steps.items()), s, relevant)

        return [phi([v + (j == l) for j, v in enumerate(s)]) - phi(s) for l in range(k)]

    def follow(self, scores):
        if self.rule == "hedge":
            return scores[draw_expert([math.exp(-lost) for lost in self.lost], self.seed, self.t)]
        return scores[-1] if self.rule == "last" else scores[self.lost.index(min(self.lost))]

    def round(self, x, relevant, k, weight, start=None):
        """One round; the probabilities that were said before it was learned. `start`: log odds that panels say."""
        s, scores = list(start or [0.0] * k), []
        for i, learner in enumerate(self.learners):
            h, c = learner.distribution(x, k), self.costs(i, s, relevant)
            h = [p / sum(h) for p in h] if sum(h) else h
            s = [v + self.alpha[i] * p for v, p in zip(s, h, strict=True)]
            scores.append(s)
            if pairs(relevant, k):
                self.teach(i, x, h, c, s, relevant, weight)
        followed = self.follow(scores)
        said = from_odds(start, followed) if start else self.fit.say(followed)
        self.fit.learn(followed, relevant, weight)
        self.lost = [lost + weight * rank_loss(s, relevant) for lost, s in zip(self.lost, scores, strict=True)]
        self.t += 1
        return said

    def teach(self, i, x, h, c, s, relevant, weight):
        k, gains = len(c), {l: max(c) - c[l] for l in sorted(relevant)}
        mean, total = sum(c) / k, sum(gains.values())
        self.seen[i] += weight
        self.asked[i] += weight * total
        self.edge_sums[i][0] += weight * (sum(a * b for a, b in zip(c, h, strict=True)) - mean)
        self.edge_sums[i][1] += weight * (len(relevant) * mean - sum(c[l] for l in relevant))
        before = (self.asked[i] - weight * total, self.seen[i] - weight)
        for number, (l, gain) in enumerate(gains.items()):
            asked, seen = before if number == 0 else (self.asked[i], self.seen[i])
            usual = asked / max(seen, 1.0)
            if gain <= 1e-12:
                continue
            share = gain if self.gamma is None else min(0.3 * gain / usual, 3.0) if usual > 0.0 else 0.3
            self.learners[i].learn(x, l, weight * self.scale[i] * share, self.t)
        if self.gamma is None:
            slope = weight * sum(a * b for a, b in zip(slope_of(s, relevant), h, strict=True))
            self.alpha[i] = max(-2.0, min(2.0, self.alpha[i] - 2.0 * math.sqrt(2.0) / math.sqrt(self.t) * slope))


def from_odds(start, s):
    """Probabilities by the log odds `start`, and by what learners have added, less its mean."""
    added = [b - a for a, b in zip(start, s, strict=True)]
    odds = [a + d - sum(added) / len(added) for a, d in zip(start, added, strict=True)]
    return [1.0 / (1.0 + math.exp(-v)) for v in odds]


class Fit:
    """The logistic regression behind the scores, with matrices."""

    def __init__(self):
        self.theta, self.A = [0.0, 1.0, 0.0], [[float(i == j) for j in range(3)] for i in range(3)]
        self.squares = self.rows = 1.0

    def features(self, s):
        mean, spread = sum(s) / len(s), math.sqrt(self.squares / self.rows)
        return [[1.0, (v - mean) / spread, (max(s) - mean) / spread] for v in s]

    def say(self, s):
        return [
            1.0 / (1.0 + math.exp(-sum(a * b for a, b in zip(self.theta, x, strict=True)))) for x in self.features(s)
        ]

    def learn(self, s, relevant, weight):
        import numpy as np

        X, q = np.array(self.features(s)), np.array(self.say(s))
        y = np.array([float(l in relevant) for l in range(len(s))])
        self.A = 0.999 * np.array(self.A) + 0.001 * np.eye(3) + weight * (X.T * (q * (1.0 - q))) @ X
        self.squares = 0.999 * self.squares + 0.001 + weight * float(np.var(s))
        self.rows = 0.999 * self.rows + 0.001 + weight
        theta = self.theta - np.linalg.solve(self.A, weight * X.T @ (q - y))
        self.theta = [min(50.0, max(-50.0, theta[0])), min(50.0, max(0.0, theta[1])), min(50.0, max(-50.0, theta[2]))]
