"""The twin of every kernel in plain Python: slow, obvious, and written from the paper, not from the kernels.

Sections follow the paper (Jung, Goetz, Tewari 2017) with the corrections of docs/paper.md:

* the three losses: value, cost matrix, gradient of alpha, step size, feasible set;
* the vote of a weak learner that gives a distribution;
* Adaboost.OLM (Algorithm 2), example by example, over any weak learners;
* a Hoeffding tree (VFDT) whose leaves are dictionaries that remember every value they were shown.

Labels are 0..k-1, learners i = 0..N-1 (the paper counts from 1), rounds t = 1, 2, ... An example is a list with one
entry per column, numeric columns first, then nominal ones as codes; None is a missing value.

Nothing here comes from the kernels but the counter-based random numbers, which are a definition, and the settings a
constant names.
"""

from __future__ import annotations

import math

from onlineboost._compile.random import COLUMNS, EXPERT, VOTE_TIE, child_key, uniform
from onlineboost.trees.learn import PRIOR_EXAMPLES
from onlineboost.trees.predict import LAPLACE
from onlineboost.trees.split import N_THRESHOLDS
from reference_numbers import Column
from reference_potentials import recursion

UNLIMITED = 2**40  # nodes of a tree, and what else it counts: more than it ever has
ROUNDING = 1e-12  # two sums whose difference is smaller than this, relative to their terms, are equal
SAME_MERIT = (
    1e-9  # bits: columns (and thresholds) whose merits differ by less are equally good, and the first one is taken
)

# -------------------------------------------------------------------------------------------------------- losses


def loss(name, s, r):
    """L^r(s), the paper's equations (logisticLoss, corrected), (expLoss), (squareLoss)."""
    others = [l for l in range(len(s)) if l != r]
    if name == "logistic":
        return sum(math.log(1.0 + math.exp(s[l] - s[r])) for l in others)
    if name == "exponential":
        return sum(math.exp(s[l] - s[r]) for l in others)
    return 0.5 * sum(max(0.0, s[l] - s[r] + 1.0) ** 2 for l in others)


def cost_matrix(name, s):
    """C[r][l], the gradient of L^r at s: equations (costLogistic), (expCost), (squareCost)."""
    k = len(s)

    def entry(r, l):
        if name == "logistic":
            return 1.0 / (1.0 + math.exp(s[r] - s[l]))
        if name == "exponential":
            return math.exp(s[l] - s[r])
        return max(0.0, s[l] - s[r] + 1.0)

    C = [[entry(r, l) if l != r else 0.0 for l in range(k)] for r in range(k)]
    for r in range(k):
        C[r][r] = -sum(C[r])
    return C


def printed_gradient(s, l, y, alpha):
    """(gradientLogistic) letter by letter, with the wrong sign of s[y] - s[j] in its second line."""
    if l != y:
        return 1.0 / (1.0 + math.exp(s[y] - s[l] - alpha))
    return -sum(1.0 / (1.0 + math.exp(s[j] + alpha - s[y])) for j in range(len(s)) if j != y)


def programmed_gradient(s, l, y, alpha):
    """What the authors' program has in its place: the sign of alpha is turned as well."""
    if l != y:
        return 1.0 / (1.0 + math.exp(s[y] - s[l] - alpha))
    return -sum(1.0 / (1.0 + math.exp(s[j] - (alpha + s[y]))) for j in range(len(s)) if j != y)


def gradient(name, s, l, y, alpha):
    """f'(alpha) for f(alpha) = L^y(s + alpha e_l): (gradientLogistic, corrected), (expGradient), (squareGradient)."""
    others = [j for j in range(len(s)) if j != y]
    if name == "logistic":
        if l != y:
            return 1.0 / (1.0 + math.exp(s[y] - s[l] - alpha))
        return -sum(1.0 / (1.0 + math.exp(s[y] + alpha - s[j])) for j in others)
    if name == "exponential":
        if l != y:
            return math.exp(s[l] + alpha - s[y])
        return -sum(math.exp(s[j] - alpha - s[y]) for j in others)
    if l != y:
        return max(0.0, s[l] + alpha - s[y] + 1.0)
    return -sum(max(0.0, s[j] - alpha - s[y] + 1.0) for j in others)


def alpha_bound(name, n_learners):
    """F = [-bound, bound]."""
    return 1.0 / math.sqrt(n_learners) if name == "squared_hinge" else 2.0


def step_size(name, k, n_learners, i, t):
    """eta of learner i = 0..N-1 in round t. With one class (k = 1) there is nothing to step for; k = 2 stands in."""
    k = max(k, 2)
    if name == "logistic":
        return 2.0 * math.sqrt(2.0) / ((k - 1) * math.sqrt(t))
    if name == "exponential":
        return 2.0 * math.sqrt(2.0) / ((k - 1) * math.sqrt(t)) * math.exp(-(i + 1))
    c = alpha_bound(name, n_learners)
    return math.sqrt(2.0) * c / (((k - 1) + c * n_learners) * math.sqrt(t))


def adaptive_step_size(name, k, n_learners, slopes):
    """eta from all slopes so far: a share of alpha's bound, over the root of the sum of (k - 1)^2 and their squares."""
    share = 0.03 if name == "exponential" else 0.1
    return share * alpha_bound(name, n_learners) / math.sqrt(math.fsum([max(k - 1, 1) ** 2, *(g**2 for g in slopes)]))


def weight_of(C, y):
    """-C[y, y] / (k - 1)."""
    return -C[y][y] / max(len(C) - 1, 1)


# ---------------------------------------------------------------------------------------------------------- vote


def expected_costs(C, p):
    """sum_r p_r C[r, l] for every l."""
    return [sum(p[r] * C[r][l] for r in range(len(p))) for l in range(len(p))]


def choose(costs, p, draw, size):
    """Lowest cost, then highest p, then as `draw` in [0, 1) falls. `size`: that of the terms the costs are sums of."""
    cheapest = [l for l in range(len(p)) if costs[l] <= min(costs) + ROUNDING * size]
    top = max(p[l] for l in cheapest)
    best = [l for l in cheapest if p[l] >= top * (1.0 - ROUNDING)]
    return best[int(draw * len(best))]


POWERS = {"cost": 0.0, "tempered": 0.5, "normalized": 1.0}  # what power of its weight a row of costs is divided by


def divided(C, ballot):
    """C with every row divided by a power of its weight -C[r, r]."""
    return [[entry / (-row[r]) ** POWERS[ballot] for entry in row] if row[r] < 0.0 else row for r, row in enumerate(C)]


def vote(ballot, C, p, draw):
    """argmax_l p_l ("argmax"), or argmin_l sum_r p_r C[r, l], the rows of C divided as the other ballots say."""
    if ballot == "argmax":
        return choose([0.0] * len(p), p, draw, 0.0)
    C = divided(C, ballot)
    size = max(p[r] * abs(C[r][r]) for r in range(len(p)))
    return choose(expected_costs(C, p), p, draw, size)


def argmax(values):
    """The first of the largest."""
    return max(range(len(values)), key=lambda l: (values[l], -l))


# ------------------------------------------------------------------------------------------------- Adaboost.OLM


def draw_expert(v, seed, t):
    """i with probability v_i / sum v: waiting times that are exponential with these rates, and who is first."""
    waits = [-math.log(1.0 - uniform(seed, EXPERT, i, t)) for i in range(len(v))]
    return min(range(len(v)), key=lambda i: waits[i] / v[i] if v[i] > 0.0 else math.inf)


class AdaboostOLM:
    """Algorithm 2. A weak learner has ``distribution(x, k)`` (k probabilities) and ``learn(x, y, weight, t)``.

    What the paper leaves open: `scale` multiplies a learner's weights; an example's own weight multiplies the weight it
    is learned with, its gradient, its costs in the edge and its mistakes in Hedge; k may grow from round to round.
    """

    def __init__(self, learners, loss, scale, seed, ballot="cost", rule="hedge", printed=False, adaptive=False):
        self.learners, self.loss, self.scale, self.seed = learners, loss, scale, seed
        self.ballot, self.rule, self.printed = ballot, rule, printed
        self.slopes = [[] for _ in learners] if adaptive else None  # all that each alpha has met
        n = len(learners)
        self.v = [1.0] * n
        self.alpha = [0.0] * n
        self.cost_sums = [[0.0, 0.0] for _ in learners]  # sums over t of C[y, l] and C[y, y]
        self.born = [0] * n  # the round before a learner's first
        self.t = 1  # the coming round
        self.start = None  # votes before the first learner; None: 0

    @property
    def edges(self):
        return [a / b if b else 0.0 for a, b in self.cost_sums]

    def walk(self, x, k):
        """Lines 4-9: for every learner its cost matrix, its vote, and s before it; and the experts' predictions."""
        s = list(self.start or [0.0] * k)
        steps, experts = [], []
        for i, learner in enumerate(self.learners):
            C = cost_matrix(self.loss, s)
            p = learner.distribution(x, k)
            draw = uniform(self.seed, VOTE_TIE, i, self.t)
            l = vote(self.ballot, C, p, draw)
            steps.append((C, l, list(s)))
            s[l] += self.alpha[i]
            experts.append(argmax(s))
        self.s = s
        return steps, experts

    def follow(self, experts, k):
        """Lines 10-11: whose prediction counts in this round."""
        if self.rule == "hedge":
            return experts[draw_expert(self.v, self.seed, self.t)]
        if self.rule == "best":
            return experts[argmax(self.v)]
        if self.rule == "last":
            return experts[-1]
        return argmax([sum(v for v, e in zip(self.v, experts, strict=True) if e == l) for l in range(k)])

    def predict(self, x, k):
        return self.follow(self.walk(x, k)[1], k)

    def round(self, x, y, k, weight=1.0):
        """One round: predict x, then learn that its label is y. Returns the prediction."""
        steps, experts = self.walk(x, k)
        prediction = self.follow(experts, k)
        bound = alpha_bound(self.loss, len(self.learners))
        for i, (C, l, s) in enumerate(steps):
            self.cost_sums[i][0] += weight * C[y][l]
            self.cost_sums[i][1] += weight * C[y][y]
            now = s, l, y, self.alpha[i]
            wrong = {True: printed_gradient, "programmed": programmed_gradient}.get(self.printed)
            slope = weight * (wrong(*now) if wrong else gradient(self.loss, *now))
            if self.slopes is None:
                eta = step_size(self.loss, k, len(self.learners), i, self.t - self.born[i])
            else:
                self.slopes[i].append(slope)
                eta = adaptive_step_size(self.loss, k, len(self.learners), self.slopes[i])
            self.alpha[i] = max(-bound, min(bound, self.alpha[i] - eta * slope))
            self.learners[i].learn(x, y, weight * self.scale[i] * weight_of(C, y), self.t)
            self.v[i] *= math.exp(-weight * (experts[i] != y))
        self.t += 1
        return prediction


# --------------------------------------------------------------------------------------------------- OnlineMBBM


class OnlineMBBM:
    """Algorithm 1, with the 0-1 loss. Learners as in `AdaboostOLM`; gamma is a Fraction.

    What the paper leaves open: a learner's weights over their mean so far, times 0.3, at most 3, times `scale`; or
    `plain`, the weights of the paper, times `scale`.
    """

    def __init__(self, learners, gamma, scale, seed, ballot="cost", plain=False):
        self.learners, self.gamma, self.scale, self.seed, self.ballot = learners, gamma, scale, seed, ballot
        self.plain = plain
        self.sums = [[0.0, 0.0] for _ in learners]  # sums over t of w D[y, l] and of w
        self.t = 1

    def edges(self, k):
        return [1.0 - k * a / b if b else 0.0 for a, b in self.sums]

    def round(self, x, y, k):
        s = [0] * k
        steps = []
        for i, learner in enumerate(self.learners):
            m = len(self.learners) - (i + 1)  # N - i, i counted from 1
            C = [[recursion([*s[:l], s[l] + 1, *s[l + 1 :]], r, m, self.gamma) for l in range(k)] for r in range(k)]
            D = [[float(C[r][l] - C[r][r]) for l in range(k)] for r in range(k)]  # exact until here
            weight = [sum(row) for row in D]
            p = learner.distribution(x, k)
            draw = uniform(self.seed, VOTE_TIE, i, self.t)
            power = POWERS.get(self.ballot, 0.0)
            factor = [1.0 / w**power if w > 0.0 else 1.0 for w in weight]
            costs = expected_costs([[f * c for c in row] for row, f in zip(D, factor, strict=True)], p)
            l = choose([0.0] * k, p, draw, 0.0) if self.ballot == "argmax" else choose(costs, p, draw, max(costs))
            steps.append((weight[y], D[y][l]))
            s[l] += 1
        for i, (w, cost) in enumerate(steps):
            mean = self.sums[i][1] / max(self.t - 1, 1)
            share = w if self.plain else min(0.3 * w / mean, 3.0) if mean > 0.0 else 0.3
            if share > 0.0:
                self.learners[i].learn(x, y, self.scale[i] * share, self.t)
            self.sums[i][0] += cost
            self.sums[i][1] += w
        self.t += 1
        return argmax(s)


# ------------------------------------------------------------------------------------------------ Hoeffding tree


class Past:
    """What all trees of a run know of the stream: the columns' variances, and when each nominal value was first met."""

    def __init__(self, n_numeric, n_nominal):
        self.n_numeric = n_numeric
        self.columns = [Column() for _ in range(n_numeric)]
        self.met = [{} for _ in range(n_nominal)]  # per nominal column: code -> round
        self.again = []  # columns that are to be forgotten after the row that was met last

    def believe(self, x):
        """A row as it is believed now, to predict it."""
        believed = [None if v is None else column.believe(v) for column, v in zip(self.columns, x, strict=False)]
        return believed + x[self.n_numeric :]

    def meet(self, x, t):
        """Learn a row of round t; the row as it is believed."""
        believed = [None if v is None else column.meet(v) for column, v in zip(self.columns, x, strict=False)]
        for j, met in enumerate(self.met):
            code = x[self.n_numeric + j]
            if code is not None:
                met.setdefault(code, t)
        self.spread = [
            column.variance if v is None else column.spread for column, v in zip(self.columns, x, strict=False)
        ]
        self.again = [c for c, column in enumerate(self.columns) if x[c] is not None and column.again]
        return believed + x[self.n_numeric :]


def moments(weighted):
    """Weight, mean and sum of squared deviations of (value, weight) pairs."""
    weight = math.fsum(w for _, w in weighted)
    if not weighted:
        return 0.0, 0.0, 0.0
    if len({v for v, _ in weighted}) == 1:  # v w / w may miss v by a rounding error, and a variance of 1e-33 is not 0
        return weight, weighted[0][0], 0.0
    mean = math.fsum(v * w for v, w in weighted) / weight
    return weight, mean, math.fsum(w * (v - mean) ** 2 for v, w in weighted)


class Learned:
    """What a leaf has been shown of one class."""

    def __init__(self, n_columns):
        self.shown = [[] for _ in range(n_columns)]  # per column (value, weight), known values only
        self.moments = [(0.0, 0.0, 0.0)] * n_columns  # of the numeric ones
        self.variance = [None] * n_columns  # for naive Bayes; None: none

    def weight(self, c, value=None):
        """Weight shown in column c, of all values or of one."""
        return math.fsum(w for v, w in self.shown[c] if value is None or v == value)

    def share_below(self, c, threshold):
        """Share of the weight at or below a threshold by the class's normal distribution, cut to its range."""
        values = [v for v, _ in self.shown[c]]
        if not values or threshold < min(values):
            return 0.0
        if threshold >= max(values):
            return 1.0
        weight, mean, squares = self.moments[c]
        deviation = math.sqrt(squares / weight)
        return 0.5 * math.erfc((mean - threshold) / (deviation * math.sqrt(2.0)))


class Node:
    def __init__(self, key):
        self.key = key
        self.column = None  # a leaf
        self.threshold = None  # None: a nominal split
        self.children = []
        self.heavy = None
        self.masses = {}  # label -> inherited and learned weight, in the order the labels were met
        self.learned = {}  # label -> Learned
        self.since = 0.0
        self.bayes_lead = 0.0
        self.gave_up = False  # for lack of memory it goes without statistics
        self.denied = set()  # labels that there were no statistics for

    def promise(self):
        """The weight of all classes but the heaviest."""
        return sum(sorted(self.masses.values())[:-1])


class Tree:
    """A VFDT. `past` is shared by the trees of a run and told of every example before it is learned.

    It may have so many nodes, masses of a class at a leaf, and Learned: `most`.
    """

    def __init__(self, past, leaf, grace, delta, tie, unit, n_candidates, key, most=(UNLIMITED,) * 3):
        self.past, self.leaf, self.grace, self.delta, self.tie = past, leaf, grace, delta, tie
        self.unit, self.n_candidates = unit, n_candidates
        self.root = Node(key)
        self.most = self.most_nodes, self.most_masses, self.most_learned = most
        self.bar = -1.0  # a leaf that gave up must promise more than this to have statistics again
        self.refused = 0  # splits that there was no room for

    # -- memory

    def nodes(self):
        found = [self.root]
        for node in found:
            found += node.children
        return found

    def leaves(self):
        return [node for node in self.nodes() if node.column is None]

    def may_split(self, branches, classes):
        masses = sum(len(leaf.masses) for leaf in self.leaves()) + branches * classes
        fits = len(self.nodes()) + branches <= self.most_nodes and masses <= 3 * (self.most_masses // 4)
        self.refused += not fits
        return fits

    def may_learn(self, node, label):
        """Whether this leaf can have statistics of one more class; others may have to give theirs up."""
        if node.gave_up or label in node.denied:
            return False
        if self.n_learned() < self.most_learned:
            return True
        others = sorted((leaf for leaf in self.leaves() if leaf is not node and leaf.learned), key=Node.promise)
        if others:
            self.bar = others[(len(others) - 1) // 4].promise()
        for leaf in others:
            if leaf.promise() <= self.bar:
                self.give_up(leaf)
        if node.learned:
            if not others:
                node.denied.add(label)
        elif not others or node.promise() <= self.bar:
            self.give_up(node)
        return self.n_learned() < self.most_learned and not node.gave_up

    def n_learned(self):
        return sum(len(leaf.learned) for leaf in self.leaves())

    def give_up(self, leaf):
        leaf.learned, leaf.denied, leaf.gave_up, leaf.since = {}, set(), True, 0.0

    # -- predicting

    def route(self, x):
        node = self.root
        while node.column is not None:
            value = x[node.column]
            if value is None:
                node = node.children[node.heavy]
            elif node.threshold is not None:
                node = node.children[0 if value <= node.threshold else 1]
            else:
                node = node.children[value if value < len(node.children) else node.heavy]
        return node

    def majority(self, node):
        """The label of largest mass, the first met among equals; None at an empty leaf."""
        return max(node.masses, key=node.masses.__getitem__, default=None)

    def bayes_scores(self, node, x):
        """Label -> log of mass times naive likelihood, for the labels learned at this leaf."""
        n = self.past.n_numeric
        scores = {}
        for label, learned in node.learned.items():
            score = math.log(node.masses[label])
            for c, value in enumerate(x):
                if value is None:
                    continue
                if c < n:
                    variance = learned.variance[c]
                    if variance is not None:
                        _, mean, _ = learned.moments[c]
                        score -= 0.5 * ((value - mean) ** 2 / variance + math.log(variance))
                else:
                    a = LAPLACE * self.unit
                    score += math.log((learned.weight(c, value) + a) / (learned.weight(c) + 2.0 * a))
            scores[label] = score
        return scores

    def bayes(self, scores):
        """The label of the highest score, in the order the labels were met at the leaf; None without any."""
        return max(scores, key=scores.__getitem__, default=None)

    def distribution(self, x, k):
        node = self.route(x)
        p = [0.0] * k
        scores = self.bayes_scores(node, x)
        if scores and (self.leaf == "nb" or (self.leaf == "nba" and node.bayes_lead >= 0.0)):
            top = max(scores.values())
            for label, score in scores.items():
                p[label] = math.exp(score - top)
        else:
            for label, mass in node.masses.items():
                p[label] = mass
        total = sum(p)
        return [q / total for q in p] if total > 0.0 else p

    # -- learning

    def learn(self, x, y, weight, t):
        if weight <= 0.0:
            return
        node = self.route(x)
        if y not in node.masses and sum(len(leaf.masses) for leaf in self.leaves()) >= self.most_masses:
            return
        majority_right = self.majority(node) == y
        bayes_right = self.bayes(in_order(self.bayes_scores(node, x), node.masses)) == y
        node.bayes_lead += weight * (bayes_right - majority_right)

        node.masses[y] = node.masses.get(y, 0.0) + weight
        node.since += weight
        if y not in node.learned and self.may_learn(node, y):
            node.learned[y] = Learned(len(x))
        if y in node.learned:
            self.learn_values(node.learned[y], x, weight)

        if node.since > self.grace:
            node.since = 0.0
            if node.gave_up:
                if node.promise() > self.bar:
                    node.gave_up, node.bayes_lead = False, -self.grace
            elif self.may_split(2, 1) and len(node.learned) >= 2:
                self.try_split(node, t)

    def learn_values(self, learned, x, weight):
        for c, value in enumerate(x):
            if value is not None:
                learned.shown[c].append((value, weight))
        prior = PRIOR_EXAMPLES * self.unit
        for c in range(self.past.n_numeric):
            learned.moments[c] = w, _, squares = moments(learned.shown[c])
            variance = (squares + prior * self.past.spread[c]) / (w + prior)
            learned.variance[c] = variance if w > 0.0 and variance > 0.0 else None

    def forget(self, columns):
        """What is known of these numeric columns; the splits stay."""
        for leaf in self.leaves():
            for learned in leaf.learned.values():
                for c in columns:
                    learned.shown[c], learned.moments[c], learned.variance[c] = [], (0.0, 0.0, 0.0), None

    def candidates(self, key, n, t):
        """n_candidates of n columns, every choice as likely as any other (selection sampling)."""
        chosen = []
        for c in range(n):
            if uniform(key, COLUMNS, c, t) * (n - c) < self.n_candidates - len(chosen):
                chosen.append(c)
        return chosen

    def try_split(self, node, t):
        mass = math.fsum(node.masses.values())
        bound = math.log2(len(node.learned)) * math.sqrt(math.log(1.0 / self.delta) / (2.0 * mass))
        n_columns = self.past.n_numeric + len(self.past.met)
        tried = [(*self.merit(node, c, t), c) for c in self.candidates(node.key, n_columns, t)]
        merits = sorted([merit for merit, _, _ in tried] + [0.0, 0.0], reverse=True)  # 0: no split
        if merits[0] > SAME_MERIT and (merits[0] - merits[1] > bound or bound < self.tie):
            _, threshold, column = next(entry for entry in tried if entry[0] >= merits[0] - SAME_MERIT)
            branches = 2 if threshold is not None else self.n_values(column, t)
            if self.may_split(branches, len(node.masses)):
                self.split(node, column, threshold, t)

    def n_values(self, column, t):
        """Values of a nominal column that the stream has shown up to round t."""
        return sum(met <= t for met in self.past.met[column - self.past.n_numeric].values())

    def merit(self, node, column, t):
        """(information gain in bits, threshold) of splitting on a column; the threshold of a nominal one is None."""
        classes = list(node.learned.values())
        if column >= self.past.n_numeric:
            branches = [[c.weight(column, v) for c in classes] for v in range(self.n_values(column, t))]
            return gain(branches), None
        values = [v for c in classes for v, _ in c.shown[column]]
        if not values:
            return -math.inf, None
        low, step = min(values), (max(values) - min(values)) / (N_THRESHOLDS + 1)
        gains = [-math.inf]
        for j in range(1, N_THRESHOLDS + 1):
            left = [c.weight(column) * c.share_below(column, low + j * step) for c in classes]
            right = [c.weight(column) - l for c, l in zip(classes, left, strict=True)]
            gains.append(gain([left, right]))
        first = 0  # the best threshold, and the last of those right after it that are as good
        for j, merit in enumerate(gains):
            first = j if merit > gains[first] + SAME_MERIT else first
        last = first
        while last < N_THRESHOLDS and abs(gains[last + 1] - gains[first]) < SAME_MERIT:
            last += 1
        return gains[first], low + step * (first + last) / 2

    def split(self, node, column, threshold, t):
        numeric = threshold is not None
        for b in range(2 if numeric else self.n_values(column, t)):
            child = Node(child_key(node.key, b))
            for label in in_order(node.learned, node.masses):
                learned = node.learned[label]
                if numeric:
                    share = learned.share_below(column, threshold)
                    mass = learned.weight(column) * (share if b == 0 else 1.0 - share)
                else:
                    mass = learned.weight(column, b)
                if mass > 0.0:
                    child.masses[label] = mass
            node.children.append(child)
        totals = [sum(child.masses.values()) for child in node.children]
        node.heavy = argmax(totals)
        for child in node.children:
            if not child.masses:
                child.masses = {label: 1e-6 * mass for label, mass in node.masses.items()}
        node.column, node.threshold = column, threshold


def in_order(mapping, order):
    """The same mapping with its keys in another one's order."""
    return {key: mapping[key] for key in order if key in mapping}


def entropy(weights):
    total = math.fsum(weights)
    return -math.fsum(w / total * math.log2(w / total) for w in weights if w > 0.0)


def gain(branches):
    """Information gain in bits of class weights per branch; -inf unless two branches hold over 1 % of the weight."""
    totals = [math.fsum(branch) for branch in branches]
    total = math.fsum(totals)
    if sum(part > 0.01 * total for part in totals) < 2:
        return -math.inf
    whole = [math.fsum(weights) for weights in zip(*branches, strict=True)]
    return entropy(whole) - math.fsum(
        part / total * entropy(branch) for part, branch in zip(totals, branches, strict=True) if part > 0.0
    )


class PlainTree:
    """A tree by itself: the likeliest label of its distribution, every example with its own weight."""

    def __init__(self, tree, seed):
        self.tree, self.seed, self.t = tree, seed, 1

    def predict(self, x, k):
        return vote("argmax", None, self.tree.distribution(x, k), uniform(self.seed, VOTE_TIE, 0, self.t))

    def round(self, x, y, k, weight=1.0):
        prediction = self.predict(x, k)
        self.tree.learn(x, y, weight, self.t)
        self.t += 1
        return prediction


# ---------------------------------------------------------------------------------------------------- whole streams


def codes_by_appearance(values):
    """Codes 0, 1, ... in order of first appearance; None stays None."""
    codes = {}
    return [None if v is None else codes.setdefault(v, len(codes)) for v in values]


def plain_rows(columns, nominal):
    """Rows of an encoded stream from its columns (lists, None for missing): numeric first, then nominal as codes."""
    numeric = [column for c, column in enumerate(columns) if c not in nominal]
    coded = [codes_by_appearance(column) for c, column in enumerate(columns) if c in nominal]
    return [list(row) for row in zip(*numeric, *coded, strict=True)]


def forget(thing, columns):
    """All trees that a model is made of forget what they know of these columns."""
    if isinstance(thing, Tree):
        thing.forget(columns)
    elif isinstance(thing, list | tuple):
        for part in thing:
            forget(part, columns)
    elif hasattr(thing, "__dict__"):
        for part in vars(thing).values():
            forget(part, columns)


def relative(weights):
    """Weights relative to the mean of those so far."""
    return [max(weight / (sum(weights[:n]) / n), 1e-9) for n, weight in enumerate(weights, 1)]


def run(model, past, rows, y, weights, k=None):
    """Send a stream through a booster or tree; the prediction for every row just before it was learned.

    `y` are codes. Without k the classes grow: labels are met in the order of their codes, and a row whose label was not
    known is predicted with the classes known before it (None: there were none).
    """
    known = k or 0
    predictions = []
    for x, label, weight in zip(rows, y, relative(weights), strict=True):
        before, known = known, max(known, label + 1)
        x = past.meet(x, model.t)
        early = model.predict(x, before) if before else None
        prediction = model.round(x, label, known, weight)
        if past.again:
            forget(model, past.again)
        predictions.append(prediction if before == known else early)
    return predictions
