"""Twins of the systems the paper compares with, and of restarts, in plain Python. See `reference`."""

from __future__ import annotations

import math

from onlineboost._compile.random import RESTART, VOTE_TIE, child_key, uniform
from onlineboost.boosters.oza import poisson
from reference import AdaboostOLM, Tree, argmax, vote


def likeliest(learner, x, k, seed, i, t):
    """argmax of a learner's distribution; ties as a draw falls."""
    return vote("argmax", None, learner.distribution(x, k), uniform(seed, VOTE_TIE, i, t))


class OzaBoosting:
    """Oza and Russell 2005, figure 2. `draws` False: an example is learned once, with weight lambda.

    `one_by_one`: an example drawn n times is learned n times, as printed, rather than once with weight n.
    """

    def __init__(self, learners, seed, draws=True, one_by_one=False):
        self.learners, self.seed, self.draws, self.one_by_one = learners, seed, draws, one_by_one
        self.correct = [0.0] * len(learners)  # lambda^sc
        self.wrong = [0.0] * len(learners)  # lambda^sw
        self.seen = 0.0  # weight of the examples so far
        self.t = 1

    def votes(self):
        out = []
        for correct, wrong in zip(self.correct, self.wrong, strict=True):
            total = correct + wrong
            eps = max(wrong, 0.5) / total if total else 0.5
            out.append(math.log((1.0 - eps) / eps) if eps < 0.5 else 0.0)
        return out

    def predict(self, x, k):
        said = [likeliest(learner, x, k, self.seed, i, self.t) for i, learner in enumerate(self.learners)]
        score = [sum(v for v, l in zip(self.votes(), said, strict=True) if l == label) for label in range(k)]
        return argmax(score) if max(score) > 0.0 else said[0]

    def round(self, x, y, k, weight=1.0):
        prediction = self.predict(x, k)
        self.seen += weight
        lam = weight
        for m, learner in enumerate(self.learners):
            times = poisson(lam, self.seed, m, self.t) if self.draws else lam
            if self.one_by_one:
                for _ in range(int(times)):
                    learner.learn(x, y, 1.0, self.t)
            elif times > 0.0:
                learner.learn(x, y, times, self.t)
            if likeliest(learner, x, k, self.seed, m, self.t) == y:
                self.correct[m] += lam
                lam *= self.seen / (2.0 * self.correct[m])
            else:
                self.wrong[m] += lam
                lam *= self.seen / (2.0 * self.wrong[m])
        self.t += 1
        return prediction


class TreesTwin:
    """N trees by themselves; the one with the fewest mistakes so far is followed."""

    def __init__(self, trees, seed):
        self.trees, self.seed, self.t = trees, seed, 1
        self.mistakes = [0.0] * len(trees)
        self.right = []

    def said(self, x, k):
        return [likeliest(tree, x, k, self.seed, i, self.t) for i, tree in enumerate(self.trees)]

    def predict(self, x, k):
        return self.said(x, k)[argmax([-m for m in self.mistakes])]

    def round(self, x, y, k, weight=1.0):
        prediction, said = self.predict(x, k), self.said(x, k)
        self.right.append([l == y for l in said])
        for i, tree in enumerate(self.trees):
            self.mistakes[i] += weight * (said[i] != y)
            tree.learn(x, y, weight, self.t)
        self.t += 1
        return prediction


class OneVsAll:
    """A binary Adaboost.OLM per class; `binary(j)` makes class j's. One born late starts then, with no past."""

    def __init__(self, binary):
        self.binary, self.boosters = binary, []
        self.t = 1

    def predict(self, x, k):
        scores, margins = [], []
        for booster in self.boosters[:k]:
            _, experts = booster.walk(x, 2)
            yes = sum(v for v, expert in zip(booster.v, experts, strict=True) if expert == 1)
            scores.append(yes / sum(booster.v))
            margins.append(booster.s[1] - booster.s[0])
        best = [j for j in range(k) if scores[j] >= max(scores) - 1e-9]
        return max(best, key=lambda j: (margins[j], -j))

    def round(self, x, y, k, weight=1.0):
        while len(self.boosters) < k:
            booster = self.binary(len(self.boosters))
            booster.t, booster.born = self.t, [self.t - 1] * len(booster.learners)
            self.boosters.append(booster)
        prediction = self.predict(x, k)
        for j, booster in enumerate(self.boosters):
            booster.round(x, int(y == j), 2, weight)
        self.t += 1
        return prediction


class Group:
    """A weak learner made of a binary tree per class; `tree(j)` makes class j's."""

    def __init__(self, tree):
        self.tree, self.trees = tree, []

    def distribution(self, x, k):
        while len(self.trees) < k:
            self.trees.append(self.tree(len(self.trees)))
        mine = [tree.distribution(x, 2) for tree in self.trees[:k]]
        mine = [p[1] if sum(p) else 0.5 for p in mine]
        return [p / sum(mine) if sum(mine) else 1.0 / k for p in mine]

    def learn(self, x, y, weight, t):
        for j, tree in enumerate(self.trees):
            tree.learn(x, int(y == j), weight, t)


class Restarting(AdaboostOLM):
    """Adaboost.OLM whose worst learners start again; the learners are `reference.Tree`s.

    After every `period` rounds, of the learners that are `least_age` rounds old, those with the smallest edges in these
    rounds restart: settings near those of one drawn from the best quarter, and a head start for alpha's steps. How
    many: `least_share` to `most_share`, as the mean place of the young, from worst to best, goes from `low` to `high`.

    What a review decides, settings included, is done `lag` rounds later, or half a period, if that is more. No review
    is held before that.

    With `auto` that is done only while the mean lead of young learners over neighbours that are `gap` rounds older says
    so; otherwise the probes at the end of the chain restart in turn.
    """

    def __init__(
        self, learners, *settings, period, lag, least_share, most_share, low, high, least_age, head_start, young, auto
    ):
        super().__init__(learners, *settings)
        self.lag, self.plan = lag, (0, {})  # when, and the settings of those who restart then
        self.period, self.least_age, self.head_start, self.young = period, least_age, head_start, young
        self.least_share, self.most_share, self.low, self.high = least_share, most_share, low, high
        self.before = [[0.0, 0.0] for _ in learners]
        self.restarted = []
        self.auto, self.lead, self.compared, self.changing = auto, 0.0, 0.0, False

    def round(self, x, y, k, weight=1.0):
        prediction = super().round(x, y, k, weight)
        t = self.t - 1
        period = self.period
        if self.auto and not self.changing:
            while period < self.auto["longest"] and t - 1 >= self.auto["rarely"] * period:
                period *= 2
        if self.plan[0] == t:
            for i, settings in self.plan[1].items():
                self.restart(i, t, *settings)
        if t % period == 0 and t >= self.plan[0]:
            chosen = self.review(t)
            self.before = [[0.0, 0.0] if i in chosen else list(sums) for i, sums in enumerate(self.cost_sums)]
            self.plan = t + max(self.lag, period // 2), chosen
        return prediction

    def review(self, t):
        n = len(self.learners)
        sums = [(a - a0, b - b0) for (a, b), (a0, b0) in zip(self.cost_sums, self.before, strict=True)]
        edges = [a / b if b else 0.0 for a, b in sums]
        order = sorted(range(n), key=lambda i: edges[i])
        start = {i: at for at, i in self.restarted}  # round of the last restart
        first, last = self.young
        young = [i for i in start if first * self.period <= t - start[i] < last * self.period]
        share = self.least_share
        if young:
            place = sum(order.index(i) for i in young) / len(young) / (n - 1)
            part = min(1.0, max(0.0, (place - self.low) / (self.high - self.low)))
            share += part * (self.most_share - self.least_share)
        chosen = [i for i in order if t - self.born[i] >= self.least_age][: max(1, round(share * n))]
        if self.auto and not self.changes(t, order, start):
            probes = range(n - 1, n - 1 - 2 * round(self.auto["probes"] * n), -2)
            due = n >= self.auto["fewest"] and t - min(self.born) >= self.auto["gap"]
            chosen = [i for i in probes if due and t - self.born[i] >= self.least_age]
        good = [i for i in sorted(order[-max(1, n // 4) :]) if i not in chosen]
        plan = {}
        for i in chosen:
            tree = self.learners[i]
            settings = [tree.grace, math.log(1.0 / tree.delta), tree.tie]
            if good:
                donor = self.learners[good[int(uniform(self.seed, RESTART, i, t) * len(good))]]
                settings = [donor.grace, math.log(1.0 / donor.delta), donor.tie]
                for which in range(3):
                    settings[which] *= 2.0 ** (uniform(child_key(self.seed, which), RESTART, i, t) - 0.5)
            plan[i] = settings
        return plan

    def restart(self, i, t, grace, log_delta, tie):
        tree = self.learners[i]
        key = child_key(tree.root.key, t)
        self.learners[i] = Tree(
            tree.past, tree.leaf, grace, math.exp(-log_delta), tie, tree.unit, tree.n_candidates, key, tree.most
        )
        self.alpha[i], self.cost_sums[i], self.born[i] = 0.0, [0.0, 0.0], t - self.head_start
        self.restarted.append((t, i))

    def changes(self, t, order, start):
        place = {learner: at / (len(order) - 1) for at, learner in enumerate(order)}
        self.lead, self.compared = self.lead * self.auto["fade"], self.compared * self.auto["fade"]
        for i in start:
            if self.period <= t - start[i] < self.auto["grown"]:
                near = [j for j in order if abs(i - j) <= self.auto["near"]]
                old = [place[j] for j in near if self.born[i] - self.born[j] >= self.auto["gap"]]
                if old:
                    self.lead += place[i] - sum(old) / len(old)
                    self.compared += 1.0
        mean = self.lead / (self.compared + self.auto["doubt"])
        self.changing = mean > self.auto["shut" if self.changing else "open"]
        return self.changing
