"""The twin of the panel and of Newton's combiner: slow, with every row remembered, and sums taken anew each time.

A row is a list of numbers and codes (None: missing), as in `reference`. Least squares solve their normal equations,
the metric is taken from all values there have been, neighbours are sorted, a tree is made of objects. The settings and
the counter-based random numbers are those of the package: they are definitions.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

import reference
from onlineboost._compile.random import EAGER, FREQUENCY, uniform
from onlineboost.panel import columns, combiner, least_squares, neighbours, panel, remembered
from onlineboost.panel import eager_trees as eager
from reference_additive import Additive
from reference_refits import RefittedTrees, softmax

# ------------------------------------------------------------------------------------------------------ dense rows


class Dense:
    """Rows of numbers alone."""

    def __init__(self, n_numeric, n_nominal):
        self.n_numeric, self.n_nominal = n_numeric, n_nominal
        self.origin, self.unit = [0.0] * n_numeric, [0.0] * n_numeric
        self.met = [0] * n_numeric  # numbers of each column
        self.numbers = [[] for _ in range(n_numeric)]  # of each column, since origin and unit were taken
        self.lately = [[] for _ in range(n_numeric)]  # and since the last look
        self.sure = [False] * n_numeric
        self.places = {}  # (nominal column, code): dense column

    def meet(self, x):
        """Whether the row brings anything new; columns with another unit, and what becomes of v: v * factor + shift."""
        moved, before = [], (list(self.origin), list(self.unit), len(self.places))
        for c, value in enumerate(x[: self.n_numeric]):
            if value is not None:
                if not self.met[c]:
                    self.origin[c] = value
                elif self.unit[c] == 0.0 and value != self.origin[c]:
                    self.unit[c] = unit_of(abs(value - self.origin[c]))
                self.met[c] += 1
                self.numbers[c].append(value)
                self.lately[c].append(value)
                n = self.met[c]
                if n >= columns.FIRST_LOOK and (n % columns.LAST_LOOK == 0 or math.log2(n).is_integer()):
                    moved += self.look(c)
                    self.lately[c] = [value]
        for q in range(self.n_nominal):
            code = x[self.n_numeric + q]
            if code is not None:
                self.places.setdefault((q, code), self.n_numeric + len(self.places))
        return before != (self.origin, self.unit, len(self.places)), moved

    def look(self, c):
        """Whether origin and unit of a column fit: as in `meet`, of one column or none."""
        low, high = min(self.lately[c]), max(self.lately[c])
        if high == low:
            return []
        fits = abs((low + high) / 2.0 - self.origin[c]) <= columns.FAR * (high - low)
        fits = fits and columns.FAR**-2.0 <= (high - low) * self.unit[c] <= columns.FAR**2.0
        if not self.sure[c]:
            fits = fits and max(self.numbers[c]) - min(self.numbers[c]) <= columns.ODD * (high - low)
            self.sure[c] = self.met[c] >= columns.SURE
        if fits:
            return []
        before, self.origin[c], factor = self.origin[c], (low + high) / 2.0, unit_of(high - low) / self.unit[c]
        self.unit[c] *= factor
        self.numbers[c] = list(self.lately[c])
        return [(c, factor, (before - self.origin[c]) * self.unit[c])]

    @property
    def owners(self):
        """Nominal column of each dense column, None for the numeric ones."""
        return [None] * self.n_numeric + [q for q, _ in self.places]

    def values(self, x, means):
        """The dense row, in single precision, and which of it are there."""
        values, there = [], []
        for c in range(self.n_numeric):
            there.append(x[c] is not None)
            values.append(means[c] if x[c] is None else self._scaled(c, x[c]))
        for q, code in self.places:
            given = x[self.n_numeric + q]
            there.append(given is not None)
            values.append(means[len(values)] if given is None else float(given == code))
        return [float(np.float32(v)) for v in values], there

    def _scaled(self, c, value):
        return min(max((value - self.origin[c]) * self.unit[c], -columns.LARGEST), columns.LARGEST)


def unit_of(width):
    """The power of two that makes this width about 1."""
    return 2.0 ** -math.frexp(width)[1]


def moved(v, factor, shift):
    """A dense number in another unit from another origin."""
    return float(np.float32(min(max(v * factor + shift, -columns.LARGEST), columns.LARGEST)))


# ---------------------------------------------------------------------------------------------------------- metric


class Metric:
    """All values of some columns, with class and weight; what follows from them at the last refresh."""

    def __init__(self):
        self.rows = []  # (values by column, y, weight)
        self.n = self.refreshed = 0  # columns, and how many there were at the last refresh
        self.centre, self.variance, self.weight, self.pull = [], [], [], []

    def grow(self, n):
        """So many columns; of a new one all values so far were 0."""
        for values, _, _ in self.rows:
            values += [0.0] * (n - self.n)
        for derived in (self.centre, self.variance, self.weight, self.pull):
            derived += [0.0] * (n - self.n)
        self.n = n

    def forget(self, j):
        """Nothing is known of column j."""
        for values, _, _ in self.rows:
            values[j] = None
        self.centre[j] = self.variance[j] = self.weight[j] = self.pull[j] = 0.0

    def learn(self, values, there, y, weight):
        self.rows.append(([v if is_there else None for v, is_there in zip(values, there, strict=True)], y, weight))

    def of(self, j, label=None):
        """Weight, mean and squared deviations of column j, in all rows or those of a class."""
        return reference.moments(
            [(v[j], w) for v, y, w in self.rows if v[j] is not None and (label is None or y == label)]
        )

    def means(self):
        return [self.of(j)[1] for j in range(self.n)]

    def refresh(self):
        labels, etas, self.refreshed = {y for _, y, _ in self.rows}, [], self.n
        for j in range(self.n):
            n, mean, squares = self.of(j)
            parts = [self.of(j, label) for label in labels]
            freedom = sum(part[0] - 1.0 for part in parts if part[0] > 0.0)
            eta = 0.0
            if freedom > 0.0 and n > 1.0 and squares > 0.0:
                eta = max(0.0, 1.0 - sum(part[2] for part in parts) / freedom * (n - 1.0) / squares)
            eta = max((eta * n + 0.3 * 40.0) / (n + 40.0), 0.001)
            spread = math.sqrt(squares / n) if n else 0.0
            self.centre[j], self.variance[j] = mean, spread**2
            etas.append(eta if spread > 1e-12 else 0.0)
            self.pull[j] = eta / spread if spread > 1e-12 else 0.0
        for j, eta in enumerate(etas):
            counts = eta > 0.0 and (self.n <= columns.MANY or eta > columns.NEGLIGIBLE * max(etas))
            self.weight[j] = math.sqrt(eta / self.variance[j]) if counts else 0.0


# --------------------------------------------------------------------------------------------------- least squares


class LeastSquares:
    """Ridge regression of 1[c = y] on x, where a row counts f less with every row after it, and so does the ridge.

    The ridge of an input that comes later is 1 when it comes.
    """

    def __init__(self):
        self.rows = []
        self.start = np.zeros((0, 0)), np.zeros((0, 0))  # what the equations were before the first of them

    def scores(self, x, k):
        return (np.linalg.solve(*self.equations(len(x), k)).T @ x).tolist()

    def equations(self, n, k):
        ages = [sum(len(past) > j for past, _, _ in self.rows) for j in range(n)]
        A, B = np.diag(least_squares.FORGET ** np.array(ages, float)), np.zeros((n, k))
        known, classes = self.start[1].shape
        A[:known, :known] = self.start[0] * least_squares.FORGET ** len(self.rows)
        B[:known, :classes] = self.start[1] * least_squares.FORGET ** len(self.rows)
        for age, (past, y, weight) in enumerate(reversed(self.rows)):
            past = np.pad(past, (0, n - len(past)))
            fade = least_squares.FORGET**age * weight
            A += fade * np.outer(past, past)
            B[:, y] += fade * past
        return A, B

    def forget(self, j, n, k):
        """Input j, of n, is as if it were new; the coefficients of the others stay, and how sure they are."""
        A, B = self.equations(n, k)
        P, W = np.linalg.inv(A), np.linalg.solve(A, B)
        P[j], P[:, j], W[j] = 0.0, 0.0, 0.0
        P[j, j] = 1.0
        A = np.linalg.inv(P)
        self.start, self.rows = (A, A @ W), []

    def learn(self, x, y, weight):
        self.rows.append((np.array(x), y, weight))


def frequencies(seed, n, width):
    """Of every cosine, for each of n columns: normal with variance 1 / width."""

    def draw(m, j):
        radius = math.sqrt(-2.0 * math.log(1.0 - uniform(seed, FREQUENCY, 2 * m, j)))
        return math.sqrt(1.0 / width) * radius * math.cos(2.0 * math.pi * uniform(seed, FREQUENCY, 2 * m + 1, j))

    return np.array([[draw(m, j) for j in range(n)] for m in range(128)]).reshape(128, n)


# ----------------------------------------------------------------------------------------------------- eager trees


class Leaf:
    def __init__(self):
        self.weights = {}  # of the classes
        self.rows = []  # numbers of the last rows


class EagerTree:
    """A tree is a Leaf, or (column, threshold, left, right) as a list."""

    def __init__(self, number, seed):
        self.number, self.seed = number, seed
        self.root = Leaf()

    def find(self, values):
        """The leaf of a row, and the inner nodes on the way to it."""
        at, way = self.root, []
        while isinstance(at, list):
            way.append(at)
            at = at[2] if values[at[0]] <= at[1] else at[3]
        return at, way

    def move(self, j, factor, shift, at=None):
        """Thresholds of column j in another unit, below node `at`."""
        at = self.root if at is None else at
        if isinstance(at, list):
            at[1] = moved(at[1], factor, shift) if at[0] == j else at[1]
            for child in at[2:]:
                self.move(j, factor, shift, child)

    def distribution(self, values, k):
        weights = self.find(values)[0].weights
        mass = sum(weights.values()) + 0.01 * k
        return [(weights.get(c, 0.0) + 0.01) / mass for c in range(k)]

    def learn(self, memory, t, pull):
        """Row t of the memory, a list of (values, y, weight)."""
        values, y, weight = memory[t]
        leaf, way = self.find(values)
        leaf.weights[y] = leaf.weights.get(y, 0.0) + weight
        leaf.rows = [*leaf.rows, t][-eager.ROWS :]
        if len({memory[row][1] for row in leaf.rows}) > 1:
            cut = self.best_cut(memory, leaf.rows, t, pull)
            if cut is not None:
                node = self.split(memory, leaf, *cut)
                if way:
                    way[-1][way[-1].index(leaf)] = node
                else:
                    self.root = node

    def best_cut(self, memory, rows, t, pull):
        n = len(pull)
        columns = [[memory[row][0][j] if j < len(memory[row][0]) else 0.0 for row in rows] for j in range(n)]
        sums = np.cumsum([(max(column) - min(column)) * pull[j] for j, column in enumerate(columns)])
        if sums[-1] <= 0.0:
            return None
        cuts = []
        for cut in range(eager.CUTS):
            level, share = (uniform(self.seed, EAGER, self.number, 2 * eager.CUTS * t + 2 * cut + i) for i in (0, 1))
            j = int(np.searchsorted(sums, level * sums[-1], side="right"))
            low, high = min(columns[j]), max(columns[j])
            cuts.append((j, low + (high - low) * share))
        best, least = None, math.inf
        for j, threshold in cuts:
            found = self.impurity(memory, rows, columns[j], threshold)
            if found < least - eager.SAME:
                best, least = (j, threshold), found
        return best

    def impurity(self, memory, rows, column, threshold):
        """Gini's, of both sides, times their weights."""
        total = 0.0
        for side in (True, False):
            weights = {}
            for row, value in zip(rows, column, strict=True):
                if (value <= threshold) == side:
                    weights[memory[row][1]] = weights.get(memory[row][1], 0.0) + memory[row][2]
            mass = sum(weights.values())
            total += mass * (1.0 - sum((w / mass) ** 2 for w in weights.values()))
        return total

    def split(self, memory, leaf, j, threshold):
        children = Leaf(), Leaf()

        def goes_left(row):
            values = memory[row][0]
            return (values[j] if j < len(values) else 0.0) <= threshold

        for row in leaf.rows:
            children[0 if goes_left(row) else 1].rows.append(row)
        for label, weight in leaf.weights.items():
            own = [row for row in leaf.rows if memory[row][1] == label] or leaf.rows
            share = sum(memory[row][2] for row in own if goes_left(row)) / sum(memory[row][2] for row in own)
            for child, part in zip(children, (share, 1.0 - share), strict=True):
                if part > 0.0:
                    child.weights[label] = weight * part
        return [j, threshold, *children]


# ------------------------------------------------------------------------------------------------------ neighbours


def neighbours_vote(distances, memory, many, k):
    """By the nearest rows; `distances` are squared, of all rows there are."""
    nearest = sorted(range(len(distances)), key=lambda row: (np.float32(distances[row]), row))[:many]
    if not nearest:
        return [1.0 / k] * k
    mean = sum(distances[row] for row in nearest) / len(nearest)
    p = [0.0] * k
    for row in nearest:
        p[memory[row][1]] += memory[row][2] * (math.exp(-distances[row] / mean) if mean > 0.0 else 1.0)
    return [v / sum(p) for v in p]


# ---------------------------------------------------------------------------------------------------------- Newton


class Newton:
    """Online Newton steps on -log p[y]."""

    def __init__(self, beta, fade=combiner.FADE, ridge=combiner.RIDGE, expected=0.0):
        self.beta, self.A, self.fade = np.array(beta), ridge * np.eye(len(beta)), fade
        self.ridge, self.expected = ridge, expected

    def combine(self, logits):
        """Sum and probabilities of the voices' logits, (voices, k)."""
        total = self.beta @ logits
        e = np.exp(total - total.max())
        return total, e / e.sum()

    def learn(self, logits, y, weight):
        p = self.combine(logits)[1]
        g = logits @ p - logits[:, y]
        off = logits - (logits @ p)[:, None]
        square = (1.0 - self.expected) * np.outer(g, g) + self.expected * (off * p) @ off.T
        self.A = self.fade * self.A + (1.0 - self.fade) * self.ridge * np.eye(len(g)) + weight * square
        self.beta = self.beta - weight * np.linalg.solve(self.A, g)


def centred(logits):
    return np.array(logits) - np.mean(logits)


def logits_of(p, least=combiner.LEAST):
    return centred(np.log(np.array(p) + least))


def logits_of_scores(scores):
    """The positive root r of r (r - s) = .01^2 is about s, and positive for all s."""
    return centred(np.log([np.roots([1.0, -s, -1e-4]).max() for s in np.clip(scores, -2.0, 2.0)]))


# -------------------------------------------------------------------------------------------------------- the panel


class Panel:
    """All members, and Newton's combiner of them."""

    def __init__(self, n_numeric, n_nominal, seed):
        self.seed, self.width = seed, n_numeric + n_nominal
        self.dense = Dense(n_numeric, n_nominal)
        self.columns, self.scores = Metric(), Metric()
        self.columns.grow(n_numeric)
        self.linear, self.curved = LeastSquares(), LeastSquares()
        self.trees = [EagerTree(i, seed) for i in range(eager.N_TREES)]
        self.memory = []  # (values, y, weight) of all rows
        self.said = []  # scores of all rows
        self.refits = RefittedTrees(seed)
        self.additive = Additive(n_numeric, n_nominal)
        first = [1.3 / 7.0] * 7 + [0.13, 0.0, 0.0]
        self.newton = Newton(first, ridge=combiner.PANEL_RIDGE)
        self.slow = Newton(first, 0.99998, combiner.PANEL_RIDGE, expected=0.5)
        self.shares = np.full(12, 1.0 / 12.0)  # of both, and of each voice by itself
        self.paired = 0  # dense columns in products
        self.labels = []  # (y, weight) of all rows
        self.leads = [0.0]  # after each row, how far the frequencies of the labels are ahead

    def meet(self, x):
        new, changed = self.dense.meet(x)
        self.columns.grow(len(self.dense.owners))
        for j, factor, shift in changed:
            self.columns.forget(j)
            for values, _, _ in self.memory:
                values[j] = moved(values[j], factor, shift)
            self.move(j, factor, shift)
        return new

    def move(self, j, factor, shift):
        """What was v in dense column j is v * factor + shift from here on, and nothing else is known of it."""
        n, k = len(self.dense.owners), len(self.now[0])
        self.linear.forget(1 + j, 1 + n, k)
        self.curved.forget(129 + j, 129 + n, k)
        for tree in self.trees:
            tree.move(j, factor, shift)
        self.refits.move(j, factor, shift)
        self.additive.move(j, factor, shift, moved)

    def ask(self, x, k):
        """The votes for a row of k classes; what the members say is kept for `learn`."""
        self.x = x
        self.scores.grow(2 * k)
        self.values, self.there = self.dense.values(x, self.columns.means())
        z = self.standardised(self.values)
        phases = np.array([uniform(self.seed, FREQUENCY, m, -1) for m in range(128)])
        waves = frequencies(self.seed, len(z), self.width) @ (z * self.tilt()) + 2.0 * math.pi * phases
        curved = 0.35 * np.cos(waves)
        products = [0.35 * np.prod(np.clip(z[list(pair)], -2.5, 2.5)) for pair in self.pairs()]
        curved[128 - len(products) :] = products[::-1]
        self.inputs = np.concatenate([[1.0], z]), np.concatenate([[1.0], curved, z])
        self.now = [squares.scores(x, k) for squares, x in zip((self.linear, self.curved), self.inputs, strict=True)]
        self.folded = [score for pair in zip(*self.now, strict=True) for score in pair]
        own = [sum(w for _, y, w in self.memory if y == c) for c in range(k)]
        prior = (np.array(own) + 1.0 / k) / (sum(own) + 1.0)
        p = np.mean([tree.distribution(self.values, k) for tree in self.trees], axis=0)
        voices = [logits_of(p, 0.001), *self.neighbours(k, prior)]
        voices += map(logits_of_scores, self.now)
        voices.append(logits_of(self.refits.distribution((self.values, self.folded), k), 0.001))
        voices.append(logits_of(self.naive_bayes(prior, k), 0.001))
        n = self.dense.n_numeric
        sums = self.additive.distributions(self.values[:n], self.there[:n], x[n:], z[:n], k)
        voices += [logits_of(p, 0.001) for p in sums[::2]]
        self.logits = np.array(voices)
        both = [newton.combine(self.logits)[1] for newton in (self.newton, self.slow)]
        self.parts = np.array([*both, *map(softmax, self.logits)])
        self.p = self.shares @ self.parts
        return np.clip(centred(np.log(self.p)), -panel.REACH, panel.REACH).tolist()

    def naive_bayes(self, prior, k):
        """Normal numbers and frequencies of values, over the rows there have been, a little drawn to those of all."""
        logits = np.log(prior)
        for j, (value, there) in enumerate(zip(self.values, self.there, strict=True)):
            if not there:
                continue
            weight, mean, squares = self.columns.of(j)
            variance = squares / weight if weight else 0.0
            if self.dense.owners[j] is None:
                if weight <= 2.0 or variance == 0.0:
                    continue
                for c in range(k):
                    w, m, within = self.columns.of(j, c)
                    own = (w * m + mean) / (w + 1.0)
                    spread = (within + 5.0 * variance) / (w + 5.0) + 1e-9 * variance
                    logits[c] += max(-((value - own) ** 2) / (2.0 * spread) - math.log(spread / variance) / 2.0, -20.0)
            elif value == 1.0:
                f = (weight * mean + 1.0) / (weight + 1.0)
                for c in range(k):
                    w, m, _ = self.columns.of(j, c)
                    logits[c] += math.log((w * m + 2.0 * f) / (w + 2.0) / f)
        return softmax(logits / 2.0)

    def pairs(self):
        """Dense columns that are values of different nominal columns."""
        owners = self.dense.owners
        nominal = [j for j, owner in enumerate(owners) if owner is not None]
        return [(i, j) for i in nominal for j in nominal if j < i and owners[i] != owners[j]][:120]

    def tilt(self):
        """What columns count in the cosines."""
        share = np.array(self.columns.variance) * np.array(self.scales()) ** 2
        eta = np.array(self.columns.pull) * np.sqrt(self.columns.variance)
        tilted = float(eta @ share)
        return np.sqrt(eta * share.sum() / tilted) if tilted > 0.0 else np.zeros(len(eta))

    def scales(self):
        """1 / spread; the values of a nominal column share one. A value met since the refresh has 0."""
        variance, owners = self.columns.variance, self.dense.owners
        out = []
        for j, owner in enumerate(owners):
            own = variance[j]
            if owner is not None:
                own = sum(v for v, other in zip(variance, owners, strict=True) if other == owner)
            out.append(1.0 / math.sqrt(own) if own > 1e-24 and j < self.columns.refreshed else 0.0)
        return out

    def standardised(self, values):
        z = (np.array(values) - np.array(self.columns.centre)) * np.array(self.scales())
        return np.clip(z, -5.0, 5.0)

    def neighbours(self, k, prior):
        def distance(a, b, weights):
            a = a + [0.0] * (len(b) - len(a))
            return sum(((u - v) * w) ** 2 for u, v, w in zip(a, b, weights, strict=True))

        plain = [distance(values, self.values, self.columns.weight) for values, _, _ in self.memory]
        beside = [distance(said, self.folded, self.scores.weight) for said in self.said]
        both = [a + b for a, b in zip(plain, beside, strict=True)]
        turns = ((plain, neighbours.FEW), (plain, neighbours.SOME), (both, neighbours.MANY))
        voices = []
        for distances, many in turns:
            own = min(many, len(self.memory))  # and the frequencies count as .6 of a neighbour
            p = (own * np.array(neighbours_vote(distances, self.memory, many, k)) + 0.6 * prior) / (own + 0.6)
            voices.append(logits_of(p, 0.0))
        return voices

    def is_lost(self, y, weight):
        """Whether the frequencies of the labels are too far ahead, with this row."""
        k = len(self.p)
        own = sum(w for label, w in self.labels if label == y)
        frequency = (own + 1.0 / k) / (sum(w for _, w in self.labels) + 1.0)
        slack = combiner.SLACK * math.log(k)
        worst = max(combiner.WORST, combiner.ABOVE + math.log(k) + slack)
        step = min(-math.log(max(self.p[y], 1e-9)), worst) + math.log(frequency) - slack
        self.labels.append((y, weight))
        lead = self.leads[-1] + min(weight, 1.0) * step
        self.leads.append(min(max(lead, 0.0), combiner.TOO_MUCH + combiner.SPARE))
        calm = max(i for i, lead in enumerate(self.leads) if lead <= combiner.TOO_MUCH / 2.0)
        return sum(lead > combiner.TOO_MUCH for lead in self.leads[calm:]) >= combiner.PATIENCE

    def begun_anew(self):
        """One that knows the columns, and nothing else."""
        fresh = Panel(self.dense.n_numeric, self.dense.n_nominal, self.seed)
        fresh.dense = self.dense
        fresh.columns.grow(len(self.dense.owners))
        return fresh

    def learn(self, y, weight):
        """The row that was asked about. The members meet it first: what is new in it is nothing that was known."""
        self.newton.learn(self.logits, y, weight)
        self.slow.learn(self.logits, y, weight)
        shares = self.shares * self.parts[:, y] ** min(weight, 1.0)
        a = 1.0 / (len(self.memory) + 2.0)
        shares = (1.0 - a) * shares / shares.sum()
        shares[2:] = np.where(shares[2:] > 1e-6, shares[2:], 0.0)
        shares[0] += 0.5 * a
        shares[1] = 1.0 - shares[0] - shares[2:].sum()
        self.shares = shares
        if self.meet(self.x):
            self.ask(self.x, len(self.now[0]))
        for slot, (i, _) in enumerate(self.pairs()):
            if i >= self.paired:
                self.curved.forget(128 - slot, len(self.inputs[1]), len(self.now[0]))
        self.paired = len(self.dense.owners)
        self.linear.learn(self.inputs[0], y, weight)
        # The cosines come before z, which grows with the nominal values.
        self.curved.learn(self.inputs[1], y, weight)
        self.memory.append((self.values, y, weight))
        self.said.append(self.folded)
        for tree in self.trees:
            tree.learn(self.memory, len(self.memory) - 1, self.columns.pull)
        remembered = [(values, said, *row) for (values, *row), said in zip(self.memory, self.said, strict=True)]
        self.refits.learn(remembered, len(self.values), len(self.now[0]))
        dense = [values for values, _, _ in self.memory]
        self.additive.learn(y, weight, dense, self.columns.pull, self.columns.variance, self.dense.owners)
        self.columns.learn(self.values, self.there, y, weight)
        self.scores.learn(self.folded, [True] * len(self.folded), y, weight)
        t = len(self.memory)
        if t <= columns.OFTEN or t % columns.PERIOD == 0:
            self.columns.refresh()
            self.scores.refresh()


class Memory:
    """Which rows are remembered, by their numbers: the last ones, but rows of rare classes stay longer."""

    def __init__(self, k):
        self.labels, self.places, self.pointer, self.k = [], [], 0, k
        self.limit = min(remembered.RARE * remembered.RECENT, remembered.RECENT / (2.0 * k))

    def held(self, y):
        return sum(self.labels[t] == y for t in self.places)

    def learn(self, y):
        self.labels.append(y)
        if len(self.places) < remembered.RECENT:
            self.places.append(len(self.labels) - 1)
            return
        rare = {c for c in range(self.k) if self.held(c) <= self.limit}
        while self.labels[self.places[self.pointer]] in rare:
            self.pointer = (self.pointer + 1) % remembered.RECENT
        self.places[self.pointer] = len(self.labels) - 1
        self.pointer = (self.pointer + 1) % remembered.RECENT

    def factors(self):
        """What a row of each class counts, as often as its class has come lately."""
        age = len(self.labels) - 1 - np.arange(len(self.labels))
        often = np.array([(remembered.LATELY**age)[np.array(self.labels) == c].sum() for c in range(self.k)])
        held, all_of = np.array([self.held(c) for c in range(self.k)]), len(self.places)
        factors = np.minimum(1.0, often / often.sum() * all_of / np.maximum(held, 1))
        return np.where((held > 0) & (held <= 2.0 * self.limit), factors, 1.0)


class Panelled(reference.AdaboostOLM):
    """Adaboost.OLM that starts from a panel, and Newton's combiner of panel, recent labels and fifths of the chain."""

    def __init__(self, panel_twin, learners, scale, seed):
        super().__init__(learners, "logistic", scale, seed, "tempered")
        self.panel = panel_twin
        n = min(5, len(learners))
        self.ends = [len(learners) * (i + 1) // n for i in range(n)]
        self.recent = [[] for _ in combiner.FADES]
        start = [1.0] + [0.0] * len(combiner.FADES) + [0.15] * n
        self.newtons = Newton(start), Newton(start, combiner.SLOW_FADE)
        self.share, self.rounds, self.lost = np.array(combiner.FIRST), 0, np.zeros(5)
        self.begun = []  # rounds after which another panel took over

    def ask(self, x, k):
        self.start = self.panel.ask(x, k)
        steps, _ = self.walk(x, k)
        at = [s for _, _, s in steps] + [self.s]
        parts = [np.array(at[end]) for end in [0, *self.ends]]
        fifths = [after - before for before, after in pairwise(parts)]
        recent = [logits_of((list(p) + [0.0] * k)[:k]) for p in self.recent]
        logits = np.array([centred(parts[0]), *recent, *map(centred, fifths)])
        combined = [combiner.combine(logits)[1] for combiner in self.newtons]
        forecasts = [*combined, softmax(parts[0]), softmax(parts[-1])]
        return logits, np.array([*forecasts, self.share @ forecasts])

    def predict(self, x, k):
        return reference.argmax(self.ask(x, k)[1][-1].tolist())

    def round(self, x, y, k, weight=1.0):
        logits, forecasts = self.ask(x, k)
        prediction = reference.argmax(forecasts[-1].tolist())
        super().round(x, y, k, weight)
        if self.panel.is_lost(y, weight):
            self.panel = self.panel.begun_anew()
            self.begun.append(self.rounds + 1)
        else:
            self.panel.learn(y, weight)
        for newton in self.newtons:
            newton.learn(logits, y, weight)
        self.rounds += 1
        self.lost -= min(weight, 1.0) * np.log(forecasts[:, y])
        share = self.share * forecasts[:-1, y] ** min(weight, 1.0)
        self.share = (share / share.sum() * self.rounds + np.array(combiner.FIRST)) / (self.rounds + 1)
        for i, fade in enumerate(combiner.FADES):
            known = self.recent[i] + [0.0] * (k - len(self.recent[i]))
            self.recent[i] = [fade * v + (1.0 - fade) * (c == y) for c, v in enumerate(known)]
        return prediction
