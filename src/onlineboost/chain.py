"""The chain: walk the stages in order and carry the votes s from one to the next.

Nothing flows backwards: learner i's distribution depends on its own past, its vote and weight on s^{i-1} and y. So a
*block* of examples goes through learner 1, then through learner 2, and so on. One tree's tables stay in the cache
for a whole block, and the result is the same, bit for bit, as example after example through the whole chain.

A *segment* is a run of neighbouring learners with its own state; it takes a block's votes from the segment before
(:class:`Rows` carries them) and hands them on.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from onlineboost._jit import bare_kernel, inlined_kernel, kernel
from onlineboost.fastmath import SAMPLE, uniform
from onlineboost.forest import Forest, make_room, widen
from onlineboost.potentials import Cache, Tables, build_cache
from onlineboost.stages import PLAIN, Stage, cast, prepare, update, vote, weigh
from onlineboost.trees import fetch_leaf, find_leaves, has_room, leaf_distribution, learn, room_needed, route


class Rows(NamedTuple):
    """A block of encoded examples on its way through the chain. The last four move from segment to segment."""

    X: np.ndarray  # float64 (rows, columns), numeric columns first
    missing: np.ndarray  # bool (rows,) whether a numeric value is missing
    spread: np.ndarray  # float64 (rows, numeric columns) variance of the column over the stream, up to this row
    t: int  # round of the first row
    k: int  # classes
    s: np.ndarray  # float64 (rows, k) votes so far
    e: np.ndarray  # float64 (rows, k) exp(s)
    lead: np.ndarray  # int32 (rows,) argmax of s, the lowest label among equals
    experts: np.ndarray  # int32 (rows, learners of the chain) prediction of every expert


def new_rows(X, missing, spread, t: int, k: int, n_learners: int) -> Rows:
    """A block at the head of the chain: no votes yet."""
    n = len(X)
    s, e = np.zeros((n, k)), np.ones((n, k))
    return Rows(X, missing, spread, t, k, s, e, np.zeros(n, np.int32), np.empty((n, n_learners), np.int32))


@inlined_kernel
def leader(s, k, before, l):
    """argmax of s after s[l] has changed, `before` being the argmax before."""
    if l != before:
        return np.int32(l) if s[l] > s[before] or (s[l] == s[before] and l < before) else before
    best = 0
    for j in range(1, k):
        if s[j] > s[best]:
            best = j
    return np.int32(best)


@inlined_kernel
def expert(stage, rows, b, l):
    """What expert i predicts for row b after learner i has voted l."""
    if stage.kind == PLAIN:
        return np.int32(l)
    rows.lead[b] = leader(rows.s[b], rows.k, rows.lead[b], l)
    return rows.lead[b]


# ------------------------------------------------------------------------------------------- segments of trees


@kernel
def predict_trees(forest, stage, tables, cache, rows, n_learners):
    """Send a block through the first `n_learners` of the segment without learning. Changes `rows` alone.

    Every row is predicted as the example of round rows.t.
    """
    labels, p, cost = np.empty(rows.k, np.int64), np.empty(2 * rows.k), np.empty(2 * rows.k)
    leaves, walking = np.empty(rows.X.shape[0], np.int64), np.empty(rows.X.shape[0], np.uint64)
    _predict_trees(forest, stage, tables, cache, rows, n_learners, leaves, walking, labels, p, cost)


@bare_kernel
def _predict_trees(forest, stage, tables, cache, rows, n_learners, leaves, walking, labels, p, cost):
    """`predict_trees` with scratch: a leaf and a number per row, k labels, 2 k probabilities and 2 k costs."""
    last = rows.X.shape[0] - 1
    for i in range(n_learners):
        find_leaves(forest.nodes, forest.roots[i], rows.X, 0, leaves, walking)
        for b in range(last + 1):
            fetch_leaf(forest, leaves[min(b + 8, last)], leaves[min(b + 4, last)])
            x, s, e = rows.X[b], rows.s[b], rows.e[b]
            n, _, _ = leaf_distribution(forest, i, leaves[b], x, rows.missing[b], labels, p)
            at = prepare(stage, tables, cache, i, s)
            l = vote(stage, cache, at, i, rows.t, s, e, rows.k, labels, p, n, cost)
            cast(stage, i, l, s, e, labels, p, n)
            rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)


@kernel
def learn_trees(forest, stage, tables, cache, rows, y, weight, from_i, from_b):
    """Send a labelled block through the segment: every learner votes, then learns.

    Stops before the first (learner, row) it has no room for, and returns it with the room it needs:
    (i, b, nodes, class rows, rows of stats). i = number of learners: all done.
    """
    labels, p, cost = np.empty(rows.k, np.int64), np.empty(2 * rows.k), np.empty(2 * rows.k)
    leaves, walking = np.empty(rows.X.shape[0], np.int64), np.empty(rows.X.shape[0], np.uint64)
    return _learn_trees(forest, stage, tables, cache, rows, y, weight, from_i, from_b, leaves, walking, labels, p, cost)


@bare_kernel
def _learn_trees(forest, stage, tables, cache, rows, y, weight, from_i, from_b, leaves, walking, labels, p, cost):
    """`learn_trees` with scratch: a leaf and a number per row, k labels, 2 k probabilities and 2 k costs."""
    for i in range(from_i, forest.roots.size):
        first, last = from_b if i == from_i else 0, rows.X.shape[0] - 1
        find_leaves(forest.nodes, forest.roots[i], rows.X, first, leaves, walking)
        for b in range(first, last + 1):
            fetch_leaf(forest, leaves[min(b + 8, last)], leaves[min(b + 4, last)])
            x, s, e = rows.X[b], rows.s[b], rows.e[b]
            t = rows.t + b
            leaf = route(forest, leaves[b], x)  # on from there, if a row before this one has split it
            at = prepare(stage, tables, cache, i, s)
            w = weight[b] * weigh(stage, cache, at, i, s, e, rows.k, y[b])
            if w > 0.0:
                n_nodes, n_rows, n_stats = room_needed(forest, i, leaf, w)
                if not has_room(forest, n_nodes, n_rows, n_stats):
                    return i, b, n_nodes, n_rows, n_stats
            n, majority, bayes = leaf_distribution(forest, i, leaf, x, rows.missing[b], labels, p)
            l = vote(stage, cache, at, i, t, s, e, rows.k, labels, p, n, cost)
            update(stage, cache, at, i, t, s, e, rows.k, l, y[b], weight[b], labels, p, n)
            if w > 0.0:
                learn(forest, i, leaf, x, rows.spread[b], y[b], w, majority, bayes, t)
            rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)
    return forest.roots.size, 0, 0, 0, 0


class Segment(ABC):
    """Neighbouring learners, their stage and, for OnlineMBBM, the tables of its potentials."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.tables: Tables | None = None
        self._cache: Cache | None = None

    def set_tables(self, tables: Tables) -> None:
        if self._cache is None or self.tables is None or self.tables.n_classes != tables.n_classes:
            self._cache = build_cache(tables)
        self.tables = tables

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}  # a cache can be made anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = state
        if self.tables is not None:
            self._cache = build_cache(self.tables)

    def own_cache(self) -> Cache | None:
        """A cache for predicting: look-ups write to it, and several threads may be predicting."""
        return None if self.tables is None else build_cache(self.tables, megabytes=4.0)

    @abstractmethod
    def predict(self, rows: Rows, n_learners: int) -> None:
        """Send a block through the first `n_learners` of the segment. Changes `rows` alone."""

    @abstractmethod
    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Send a labelled block through the segment: every learner votes, then learns."""

    @abstractmethod
    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """Nominal columns have new values."""


class TreeSegment(Segment):
    """Neighbouring trees and their stage."""

    def __init__(self, forest: Forest, stage: Stage) -> None:
        super().__init__(stage)
        self.forest = forest

    def predict(self, rows: Rows, n_learners: int) -> None:
        predict_trees(self.forest, self.stage, self.tables, self.own_cache(), rows, n_learners)

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        i = b = 0
        while i < len(self.forest.roots):
            i, b, *room = learn_trees(self.forest, self.stage, self.tables, self._cache, rows, y, weight, i, b)
            if i < len(self.forest.roots):
                self.forest = make_room(self.forest, *room)

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """Nominal columns have new values."""
        capacity = np.diff(self.forest.offset) - 1
        wanted = [int(c) if c >= n else 2 * n for c, n in zip(capacity, sizes, strict=True)]
        self.forest = widen(self.forest, wanted, births)


# ------------------------------------------------------------------ segments of other weak learners, one row at a time


@kernel
def predict_given(stage, tables, cache, rows, i, b, p):
    """Learner i has given the distribution p for row b: vote."""
    s, e = rows.s[b], rows.e[b]
    labels = np.arange(rows.k)
    at = prepare(stage, tables, cache, i, s)
    l = vote(stage, cache, at, i, rows.t, s, e, rows.k, labels, p, rows.k, np.empty(2 * rows.k))
    cast(stage, i, l, s, e, labels, p, rows.k)
    rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)


@kernel
def learn_given(stage, tables, cache, rows, i, b, p, y, weight):
    """Learner i has given the distribution p for row b with label y: vote, update; the weight it is to learn with."""
    s, e = rows.s[b], rows.e[b]
    labels = np.arange(rows.k)
    at = prepare(stage, tables, cache, i, s)
    w = weight * weigh(stage, cache, at, i, s, e, rows.k, y)
    l = vote(stage, cache, at, i, rows.t + b, s, e, rows.k, labels, p, rows.k, np.empty(2 * rows.k))
    update(stage, cache, at, i, rows.t + b, s, e, rows.k, l, y, weight, labels, p, rows.k)
    rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)
    return w


class LearnerSegment(Segment):
    """Neighbouring weak learners of another make (``partial_fit`` and ``predict_proba``) and their stage."""

    def __init__(self, learners: list[Any], stage: Stage, k: int) -> None:
        super().__init__(stage)
        self.learners = learners
        self.classes = np.arange(k)
        self.started = np.zeros(len(learners), bool)
        self.takes_weight = has_fit_parameter(learners[0], "sample_weight")

    def _distribution(self, i: int, x: np.ndarray) -> np.ndarray:
        if not self.started[i]:
            return np.full(len(self.classes), 1.0 / len(self.classes))
        p = np.ascontiguousarray(self.learners[i].predict_proba(x)[0], np.float64)
        return p if np.isfinite(p).all() else np.full(len(p), 1.0 / len(p))  # GaussianNB before it has a variance

    def predict(self, rows: Rows, n_learners: int) -> None:
        cache = self.own_cache()
        for i in range(n_learners):
            for b in range(len(rows.X)):
                p = self._distribution(i, rows.X[b : b + 1])
                predict_given(self.stage, self.tables, cache, rows, i, b, p)

    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        for i, learner in enumerate(self.learners):
            for b in range(len(rows.X)):
                x = rows.X[b : b + 1]
                p = self._distribution(i, x)
                w = learn_given(self.stage, self.tables, self._cache, rows, i, b, p, y[b], weight[b])
                if self.takes_weight and w > 0.0:
                    learner.partial_fit(x, y[b : b + 1], classes=self.classes, sample_weight=np.array([w]))
                    self.started[i] = True
                # The paper: a learner that takes no weight is sent the example with a probability proportional to it.
                elif w > uniform(self.stage.seed, SAMPLE, self.stage.offset + i, rows.t + b) * self.stage.scale[i]:
                    learner.partial_fit(x, y[b : b + 1], classes=self.classes)
                    self.started[i] = True

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """Other learners see the codes of nominal columns as numbers: there is nothing to prepare."""


# -------------------------------------------------------------------------------------------------- the whole chain


@kernel
def column_spread(moments, X, n_numeric, spread):
    """Running variance of the numeric columns; `moments` (count, mean, squares) x columns is updated."""
    for b in range(X.shape[0]):
        for c in range(n_numeric):
            x = X[b, c]
            if x == x:
                moments[0, c] += 1.0
                off = x - moments[1, c]
                moments[1, c] += off / moments[0, c]
                moments[2, c] += off * (x - moments[1, c])
            spread[b, c] = moments[2, c] / max(moments[0, c], 1.0)


@kernel
def any_missing(X, n_numeric, missing):
    for b in range(X.shape[0]):
        missing[b] = False
        for c in range(n_numeric):
            if X[b, c] != X[b, c]:
                missing[b] = True


BLOCK = 2048  # rows that go through one learner before the next: the block's rows and one tree should fit the cache


class Chain:
    """All learners in order, in segments, and how far the stream has come."""

    def __init__(self, segments: Sequence[Segment], n_numeric: int) -> None:
        self.segments = list(segments)
        self.n_learners = sum(len(segment.stage.alpha) for segment in segments)
        self.n_numeric = n_numeric
        self.moments = np.zeros((3, n_numeric))
        self.t = 0  # examples learned
        self.safe = all(isinstance(segment, TreeSegment) for segment in segments)  # whether learning cannot fail

    def _rows(self, X: np.ndarray, spread: np.ndarray, k: int) -> Rows:
        missing = np.empty(len(X), np.bool_)
        any_missing(X, self.n_numeric, missing)
        return new_rows(X, missing, spread, self.t + 1, k, self.n_learners)

    def predict(self, X: np.ndarray, k: int, n_learners: int | None = None) -> Rows:
        """Votes and experts of these rows in the coming round, by the first `n_learners`. Changes nothing."""
        rows = self._rows(X, np.empty((len(X), 0)), k)
        left = self.n_learners if n_learners is None else n_learners
        for segment in self.segments:
            segment.predict(rows, min(left, len(segment.stage.alpha)))
            left = max(0, left - len(segment.stage.alpha))
        return rows

    def learn(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, k: int) -> Rows:
        """Test, then train, on a block of at most BLOCK rows. The votes and experts are those before learning."""
        spread = np.empty((len(X), self.n_numeric))
        column_spread(self.moments, X, self.n_numeric, spread)
        rows = self._rows(X, spread, k)
        for segment in self.segments:
            segment.learn(rows, y, weight)
        self.t += len(X)
        return rows

    def gather(self, field: str) -> np.ndarray:
        """An array of the stages, over all learners."""
        return np.concatenate([getattr(segment.stage, field) for segment in self.segments])
