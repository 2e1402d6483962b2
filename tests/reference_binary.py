"""Two classes: the boosters of Beygelzimer, Kale and Luo (2015), "Optimal and adaptive algorithms for online boosting".

Written from that paper: labels are -1 and +1, one number s is the margin so far, a weak learner says -1 or +1. A weak
learner here has ``distribution(x, 2)`` and ``learn(x, y, weight, t)``, as in `reference`; it says the likelier label.
"""

from __future__ import annotations

import math

from onlineboost._compile.random import VOTE_TIE, uniform
from reference import draw_expert, vote


def sign(x):
    return 1 if x > 0.0 else -1


class Binary:
    """What both share: asking the weak learners."""

    def __init__(self, learners, seed):
        self.learners, self.seed, self.t = learners, seed, 1

    def say(self, x):
        """WL^i(x) of every learner; where both labels are as likely, a draw."""
        n = range(len(self.learners))
        draws = [uniform(self.seed, VOTE_TIE, i, self.t) for i in n]
        return [2 * vote("argmax", None, self.learners[i].distribution(x, 2), draws[i]) - 1 for i in n]


class OnlineBBM(Binary):
    """Their Algorithm 1. The weights are handed over as they are: the learners take weights, so nothing is sampled."""

    def __init__(self, learners, gamma, seed):
        super().__init__(learners, seed)
        self.gamma = gamma

    def round(self, x, y):
        N, said = len(self.learners), self.say(x)
        s = 0
        for i, (learner, z) in enumerate(zip(self.learners, said, strict=True), start=1):
            k = math.floor((N - i - s + 1) / 2)
            w = 0.0
            if 0 <= k <= N - i:
                right = 0.5 + self.gamma / 2.0
                w = math.comb(N - i, k) * right**k * (1.0 - right) ** (N - i - k)
            if w > 0.0:
                learner.learn(x, (y + 1) // 2, w, self.t)
            s += y * z
        self.t += 1
        return sign(sum(said))


class AdaBoostOL(Binary):
    """Their Algorithm 2. They print eta_t = 4 / sqrt t; `rate` stands in the place of 4."""

    def __init__(self, learners, seed, rate=4.0):
        super().__init__(learners, seed)
        self.rate = rate
        self.alpha, self.v = [0.0] * len(learners), [1.0] * len(learners)

    def round(self, x, y):
        said = self.say(x)
        votes = [sum(a * z for a, z in zip(self.alpha[: i + 1], said, strict=False)) for i in range(len(said))]
        experts = [sign(total) for total in votes]
        prediction = experts[draw_expert(self.v, self.seed, self.t)]
        s = 0.0
        for i, learner in enumerate(self.learners):
            z, before = y * said[i], s
            s += self.alpha[i] * z
            step = self.rate / math.sqrt(self.t) * z / (1.0 + math.exp(s))
            self.alpha[i] = max(-2.0, min(2.0, self.alpha[i] + step))
            learner.learn(x, (y + 1) // 2, 1.0 / (1.0 + math.exp(before)), self.t)
            self.v[i] *= math.exp(-(experts[i] != y))
        self.t += 1
        return prediction
