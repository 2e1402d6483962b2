"""gamma="adaptive" in plain Python, from theory/PROOFS.md: the rule, the accounts, and both sides of the identity.

Small games only: potentials are a recursion over all states, in exact arithmetic.
"""

from __future__ import annotations

from fractions import Fraction

from reference_potentials import recursion


def ladder(largest=0.5, ratio=1.5, steps=11):
    return [largest / ratio**j for j in range(steps)]


def period_at(t, first=16, rarely=16, longest=128):
    """Rounds between reviews after round t."""
    period = first
    while rarely * period <= t and period < longest:
        period *= 2
    return period


class Game:
    """OnlineMBBM with adaptive gammas; learners vote as they are told."""

    def __init__(self, k, n, starts, slack):
        self.k, self.n, self.slack = k, n, slack
        self.gammas = ladder()
        self.start, self.step, self.next = list(starts), list(starts), list(starts)
        self.excess, self.given = [0.0] * n, [0.0] * n  # on the present step: sum w (D - q), sum w
        self.account = [0.0] * n  # of the steps before
        self.promised, self.lost, self.t = 0.0, 0, 0
        self.found = {}

    def largest_weight(self, i):
        """w*_i, for learner i counted from 0."""
        left, k = self.n - 1 - i, self.k
        p = (1 - self.gammas[0]) / k + self.gammas[0]
        least = min((1 / k) * (1 - 1 / k), p * (1 - p))
        return (k - 1) * (1.0 if left == 0 else min(1.0, 0.4689 / (left * least) ** 0.5))

    def limit(self, i, j):
        return self.slack / self.gammas[j] * self.largest_weight(i)

    def phi(self, votes, r, i):
        """The potential after the votes of the first i learners."""
        key = (*votes, r, *self.step[i:])
        if key not in self.found:
            edges = [Fraction(self.gammas[j]) for j in self.step[i:]]
            self.found[key] = float(recursion(votes, r, self.n - i, edges))
        return self.found[key]

    def costs(self, votes, r, i):
        """C[r, l] - C[r, r] of learner i, for all l."""
        C = [self.phi([v + (l == j) for j, v in enumerate(votes)], r, i + 1) for l in range(self.k)]
        return [c - C[r] for c in C]

    def round(self, y, votes):
        """A round in which learner i votes for votes[i]."""
        s = [0] * self.k
        self.promised += self.phi(s, y, 0)
        for i, l in enumerate(votes):
            costs = self.costs(s, y, i)
            weight = sum(costs)
            self.excess[i] += costs[l] - weight * (1 - self.gammas[self.step[i]]) / self.k
            self.given[i] += weight
            s[l] += 1
        self.lost += max(v for l, v in enumerate(s) if l != y) >= s[y]
        before = self.t
        self.t += 1
        if self.t % period_at(before) == 0:
            self.review()

    def review(self):
        for i in range(self.n):
            if self.next[i] != self.step[i]:
                self.account[i] += self.excess[i]
                self.excess[i] = self.given[i] = 0.0
                self.step[i] = self.next[i]
            self.next[i] = self.decide(i)

    def decide(self, i):
        j = self.step[i]
        if self.excess[i] > self.limit(i, j):
            return min(j + 1, len(self.gammas) - 1)
        if j > 0:
            above = self.excess[i] + (self.gammas[j - 1] - self.gammas[j]) * self.given[i] / self.k
            level = sum(self.limit(i, h) for h in range(self.start[i], j - 1))
            level -= sum(self.limit(i, h) for h in range(j - 1, self.start[i]))
            if above < -self.limit(i, j - 1) and self.account[i] + self.excess[i] <= level:
                return j - 1
        return j

    def identity(self):
        """What the identity says that was lost."""
        return self.promised + sum(self.account) + sum(self.excess)
