"""One against all: weak learners made of k binary trees, and boosters made of k binary boosters."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from typing import Any, Self

import numpy as np

from onlineboost._compile.jit import kernel
from onlineboost.boosters.potentials import Cache
from onlineboost.boosters.stages import cast, own_cost, update, vote, weigh
from onlineboost.chain.chain import Chain, Rows, Segment, TreeSegment, expert, new_rows
from onlineboost.trees.state import N_LEAVES, N_NODES, PER_TREE, Forest, make_room
from onlineboost.trees.trees import has_room, leaf_distribution, learn, room_needed, route

MINE = 1  # the label that a class's own examples have in its binary trees; all others have 0

# --------------------------------------------------------------- weak learners of k binary trees, under Adaboost.OLM


@kernel
def ask(forest, i, rows, b, leaves, opinions, labels, q, p):
    """p_j = P_j(mine) / sum: what the k binary trees of learner i, together, say about row b.

    Also the leaf each tree has for the row, and the two labels `trees.learn` is to be told. A tree that has learned
    nothing says 1/2.
    """
    k = rows.k
    total = 0.0
    for j in range(k):
        tree = i * k + j
        leaves[j] = route(forest, forest.roots[tree], rows.X[b])
        n, opinions[j, 0], opinions[j, 1] = leaf_distribution(
            forest, tree, leaves[j], rows.X[b], rows.missing[b], labels, q
        )
        p[j] = 0.5 if n == 0 else 0.0
        for m in range(n):
            if labels[m] == MINE:
                p[j] = q[m]
        total += p[j]
    for j in range(k):
        p[j] = p[j] / total if total > 0.0 else 1.0 / k


@kernel
def predict_groups(forest, stage, rows, n_learners):
    """`chain.predict_trees` for learners of k binary trees; learner i has the trees i k ... i k + k - 1."""
    k = rows.k
    leaves, opinions, labels, q = np.empty(k, np.int64), np.empty((k, 2), np.int64), np.empty(2, np.int64), np.empty(4)
    all_labels, p, cost = np.arange(k), np.empty(k), np.empty(2 * k)
    for i in range(n_learners):
        for b in range(rows.X.shape[0]):
            s, e = rows.s[b], rows.e[b]
            ask(forest, i, rows, b, leaves, opinions, labels, q, p)
            l = vote(stage, None, 0, i, rows.t, s, e, k, all_labels, p, k, cost)
            cast(stage, i, l, s, e, all_labels, p, k)
            rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)


@kernel
def learn_groups(forest, stage, rows, y, weight, from_i, from_b):
    """`chain.learn_trees` for learners of k binary trees: all k learn the example with the same weight."""
    k = rows.k
    leaves, opinions, labels, q = np.empty(k, np.int64), np.empty((k, 2), np.int64), np.empty(2, np.int64), np.empty(4)
    all_labels, p, cost = np.arange(k), np.empty(k), np.empty(2 * k)
    for i in range(from_i, stage.alpha.size):
        for b in range(from_b if i == from_i else 0, rows.X.shape[0]):
            s, e = rows.s[b], rows.e[b]
            t = rows.t + b
            ask(forest, i, rows, b, leaves, opinions, labels, q, p)
            own = own_cost(stage, None, 0, s, e, k, y[b])
            w = weight[b] * weigh(stage, None, i, k, own)
            if w > 0.0:
                n_nodes = n_rows = n_stats = 0
                for j in range(k):
                    more_nodes, more_rows, more_stats = room_needed(forest, i * k + j, leaves[j], w)
                    n_nodes, n_rows, n_stats = n_nodes + more_nodes, n_rows + more_rows, n_stats + more_stats
                if not has_room(forest, n_nodes, n_rows, n_stats):
                    return i, b, n_nodes, n_rows, n_stats
            l = vote(stage, None, 0, i, t, s, e, k, all_labels, p, k, cost)
            update(stage, None, 0, i, t, s, e, k, l, y[b], own, weight[b], all_labels, p, k)
            if w > 0.0:
                for j in range(k):
                    mine, x = int(y[b] == j), rows.X[b]
                    learn(forest, i * k + j, leaves[j], x, rows.spread[b], mine, w, opinions[j, 0], opinions[j, 1], t)
            rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)
    return stage.alpha.size, 0, 0, 0, 0


class GroupSegment(TreeSegment):
    """Neighbouring learners made of one binary tree per class, and their stage. Starts without a class."""

    def predict(self, rows: Rows, n_learners: int, cache: Cache | None = None) -> None:
        predict_groups(self.forest, self.stage, rows, n_learners)

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        n = len(self.stage.alpha)
        i = b = 0
        while i < n:
            i, b, *room = learn_groups(self.forest, self.stage, rows, y, weight, i, b)
            if i < n:
                self.forest = make_room(self.forest, *room)

    @property
    def trees_per_learner(self) -> int:
        return len(self.forest.roots) // len(self.stage.alpha)

    def add_class(self, trees: Forest) -> None:
        """One more class: every learner gets one of these trees, which have learned nothing yet."""
        n = len(self.stage.alpha)
        forest = make_room(self.forest, n, 0, 0)
        first = int(forest.used[N_NODES])
        forest.nodes[first : first + n] = trees.nodes[trees.roots]
        forest.details[first : first + n] = trees.details[trees.roots]
        forest.used[[N_NODES, N_LEAVES]] += n

        def beside(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            return np.column_stack([old.reshape(n, -1), new]).ravel()

        settings: dict[str, Any] = {name: beside(getattr(forest, name), getattr(trees, name)) for name in PER_TREE}
        self.forest = forest._replace(roots=beside(forest.roots, (first + trees.roots).astype(np.int32)), **settings)


# ------------------------------------------------------------------------------------------- k binary boosters


@kernel
def yes_share(log_v, experts):
    """Share of the Hedge weight that is with experts (N,) who say yes."""
    top = log_v.max()
    yes = total = 0.0
    for i in range(log_v.size):
        v = math.exp(log_v[i] - top)
        total += v
        yes += v if experts[i] == MINE else 0.0
    return yes / total


@kernel
def play_binary(log_v, experts, mine, weight, score):
    """score[b] before round b, then v_i *= exp(-1[expert i was wrong]), in logs."""
    for b in range(mine.size):
        score[b] = yes_share(log_v, experts[b])
        for i in range(log_v.size):
            if experts[b, i] != mine[b]:
                log_v[i] -= weight[b]


@kernel
def choose(scores, margins, out):
    """The class of highest score; among equals the one whose booster's votes lean most to yes."""
    for b in range(out.size):
        top = scores[b].max() - 1e-9
        best = -1
        for j in range(scores.shape[1]):
            if scores[b, j] >= top and (best < 0 or margins[b, j] > margins[b, best]):
                best = j
        out[b] = best


class OneVsAllChain(Chain):
    """One binary booster per class, each with segments and expert weights of its own; outwards, a chain of one learner.

    `Rows.s` of what it returns are the scores, `Rows.e` the margins of the boosters' votes.
    """

    def __init__(self, n_numeric: int) -> None:
        super().__init__([], n_numeric)
        self.n_learners = 1
        self.boosters: list[list[Segment]] = []
        self.log_v: list[np.ndarray] = []

    def add_class(self, segments: list[Segment]) -> None:
        """One more class. Its booster knows nothing of the past, and its steps are those of a first round."""
        for segment in segments:
            segment.stage.born[:] = self.t
        self.boosters.append(segments)
        self.log_v.append(np.zeros(sum(len(segment.stage.alpha) for segment in segments)))
        self.segments = [*self.segments, *segments]
        self.safe = self.safe and all(isinstance(segment, TreeSegment) for segment in segments)

    def predict(self, X: np.ndarray, k: int, n_learners: int | None = None) -> Rows:
        out = self._rows(X, np.empty((len(X), 0)), k)
        for j in range(k):
            rows = self._binary(out, j)
            for segment in self.boosters[j]:
                segment.predict(rows, len(segment), None)
            for b in range(len(X)):
                out.s[b, j] = yes_share(self.log_v[j], rows.experts[b])
            out.e[:, j] = rows.s[:, MINE] - rows.s[:, 1 - MINE]
        choose(out.s, out.e, out.experts[:, 0])
        return out

    def _steps(
        self, on_line: dict[int, Rows], y: np.ndarray, weight: np.ndarray, parts: list[slice]
    ) -> list[Callable[[int], None]]:
        """A step for each booster, and one that compares them."""

        def through(j: int) -> Callable[[int], None]:
            return lambda b: self._learn_binary(j, on_line[b], y[parts[b]] == j, weight[parts[b]])

        def compare(b: int) -> None:
            choose(on_line[b].s, on_line[b].e, on_line[b].experts[:, 0])

        return [*map(through, range(len(self.boosters))), compare]

    def _learn_binary(self, j: int, out: Rows, mine: np.ndarray, weight: np.ndarray) -> None:
        rows, label = self._binary(out, j), mine.astype(np.int64)
        for segment in self.boosters[j]:
            segment.learn(rows, label, weight)
        play_binary(self.log_v[j], rows.experts, label, weight, out.s[:, j])
        out.e[:, j] = rows.s[:, MINE] - rows.s[:, 1 - MINE]

    def cut(self, n_segments: int) -> None:
        """The boosters are steps of their own: there are enough."""

    def joined(self) -> Self:
        return deepcopy(self)

    def _binary(self, rows: Rows, j: int) -> Rows:
        """The same rows at the head of class j's booster."""
        return new_rows(rows.X, rows.missing, rows.spread, rows.t, 2, len(self.log_v[j]))
