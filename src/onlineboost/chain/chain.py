"""The chain: walk the stages in order and carry the votes s from one to the next.

Nothing flows backwards: learner i's distribution depends on its own past, its vote and weight on s^{i-1} and y. So a
*block* of examples goes through learner 1, then through learner 2, and so on. One tree's tables stay in the cache
for a whole block, and the result is the same, bit for bit, as example after example through the whole chain.

A *segment* is a run of neighbouring learners with its own state; it takes a block's votes from the segment before
(:class:`Rows` carries them) and hands them on. With several segments, one can work on a block while the one before it
works on the next: see ``pipeline.py``.
"""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from copy import deepcopy
from itertools import pairwise
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from onlineboost._compile.fastmath import SAMPLE, uniform
from onlineboost._compile.jit import bare_kernel, inlined_kernel, kernel
from onlineboost.boosters.potentials import Cache, Tables, build_cache
from onlineboost.boosters.stages import OLM, PLAIN, Stage, cast, own_cost, part_of, prepare, update, vote, weigh
from onlineboost.chain.threads import flow
from onlineboost.trees.compact import join, select
from onlineboost.trees.state import Forest, make_room, widen
from onlineboost.trees.trees import fetch_leaf, find_leaves, has_room, leaf_distribution, learn, room_needed, route


class Rows(NamedTuple):
    """A block of encoded examples on its way through the chain. The last five move from segment to segment."""

    X: np.ndarray  # float64 (rows, columns), numeric columns first
    missing: np.ndarray  # bool (rows,) whether a numeric value is missing
    spread: np.ndarray  # float64 (rows, numeric columns) variance of the column over the stream, up to this row
    t: int  # round of the first row
    k: int  # classes
    s: np.ndarray  # float64 (rows, k) votes so far
    e: np.ndarray  # float64 (rows, k) exp(s)
    lead: np.ndarray  # int32 (rows,) argmax of s, the lowest label among equals
    experts: np.ndarray  # int32 (rows, learners of the chain) prediction of every expert
    lam: np.ndarray  # float64 (rows,) Oza's lambda (see `oza`)


def new_rows(X, missing, spread, t: int, k: int, n_learners: int) -> Rows:
    """A block at the head of the chain: no votes yet."""
    n = len(X)
    s, e = np.zeros((n, k)), np.ones((n, k))
    lead, experts = np.zeros(n, np.int32), np.empty((n, n_learners), np.int32)
    return Rows(X, missing, spread, t, k, s, e, lead, experts, np.ones(n))


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
        find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, 0, leaves, walking)
        for b in range(last + 1):
            fetch_leaf(forest, leaves[min(b + 8, last)], leaves[min(b + 4, last)])
            x, s, e = rows.X[b], rows.s[b], rows.e[b]
            n, _, _ = leaf_distribution(forest, i, leaves[b], x, rows.missing[b], labels, p)
            at = prepare(stage, tables, cache, i, s, -1, labels, p, n)
            l = vote(stage, cache, at, i, rows.t, s, e, rows.k, labels, p, n, cost)
            cast(stage, i, l, s, e, labels, p, n)
            rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)


@kernel
def learn_trees(forest, stage, tables, cache, rows, y, weight, from_i, from_b):
    """Send a labelled block through the segment: every learner votes, then learns.

    Stops before the first (learner, row) it has no room for, and returns it with the room it needs:
    (i, b, nodes, class rows, rows of stats). i = number of learners: all done.
    """
    n = rows.X.shape[0]
    labels, p, cost = np.empty(rows.k, np.int64), np.empty(2 * rows.k), np.empty(2 * rows.k)
    leaves, walking, own = np.empty(n, np.int64), np.empty(n, np.uint64), np.empty(n)
    scratch = leaves, walking, own, labels, p, cost
    return _learn_trees(forest, stage, tables, cache, rows, y, weight, from_i, from_b, *scratch)


@bare_kernel
def _learn_trees(forest, stage, tables, cache, rows, y, weight, from_i, from_b, leaves, walking, own, labels, p, cost):
    """`learn_trees` with scratch: a leaf and two numbers per row, k labels, 2 k probabilities and 2 k costs.

    Adaboost.OLM's costs are the same before and after the tree has learned the block, and its alpha does not matter to
    the tree. So its part is done in loops of its own, which are short enough for the processor to work on several rows
    at once.
    """
    apart = cache is None and stage.kind == OLM
    for i in range(from_i, forest.roots.size):
        first, last = from_b if i == from_i else 0, rows.X.shape[0] - 1
        find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, first, leaves, walking)
        if apart:
            own_costs(stage, rows, y, own)
        for b in range(first, last + 1):
            fetch_leaf(forest, leaves[min(b + 8, last)], leaves[min(b + 4, last)])
            x, s, e = rows.X[b], rows.s[b], rows.e[b]
            t = rows.t + b
            leaf = route(forest, leaves[b], x)  # on from there, if a row before this one has split it
            n, majority, bayes = leaf_distribution(forest, i, leaf, x, rows.missing[b], labels, p)
            at = prepare(stage, tables, cache, i, s, y[b], labels, p, n)
            if not apart:
                own[b] = own_cost(stage, cache, at, s, e, rows.k, y[b])
            w = weight[b] * weigh(stage, cache, i, rows.k, own[b])
            if w > 0.0:
                n_nodes, n_rows, n_stats = room_needed(forest, i, leaf, w)
                if not has_room(forest, n_nodes, n_rows, n_stats):
                    return i, b, n_nodes, n_rows, n_stats
            l = vote(stage, cache, at, i, t, s, e, rows.k, labels, p, n, cost)
            rows.experts[b, stage.offset + i] = l  # for now
            if not apart:
                update(stage, cache, at, i, t, s, e, rows.k, l, y[b], own[b], weight[b], labels, p, n)
                rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)
            if w > 0.0:
                learn(forest, i, leaf, x, rows.spread[b], y[b], w, majority, bayes, t)
        if apart:
            count_votes(stage, rows, i, y, own, weight, labels, p)
    return forest.roots.size, 0, 0, 0, 0


@bare_kernel
def own_costs(stage, rows, y, own):
    """`own_cost` of every row, for Adaboost.OLM."""
    for b in range(y.size):
        own[b] = own_cost(stage, None, 0, rows.s[b], rows.e[b], rows.k, y[b])


@bare_kernel
def count_votes(stage, rows, i, y, own, weight, labels, p):
    """Learner i's votes stand where expert i's predictions belong: cast them, row after row, and let alpha learn."""
    for b in range(y.size):
        s, e = rows.s[b], rows.e[b]
        l = np.int64(rows.experts[b, stage.offset + i])
        update(stage, None, 0, i, rows.t + b, s, e, rows.k, l, y[b], own[b], weight[b], labels, p, 0)
        rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)


class Segment(ABC):
    """Neighbouring learners, their stage and, for OnlineMBBM, the tables of its potentials."""

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.tables: Tables | None = None
        self._cache: Cache | None = None

    def __len__(self) -> int:
        return len(self.stage.alpha)

    def set_tables(self, tables: Tables | None) -> None:
        """From here on costs come from these tables. A cache may be kept for as long as k is the same."""
        if tables is not None and (self.tables is None or self.tables.n_classes != tables.n_classes):
            share = len(self) / self.stage.n_learners
            self._cache = build_cache(tables, CACHE_MEGABYTES * min(1.0, 2.0 * share))  # those in the middle need most
        self.tables = tables

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}  # a cache can be made anew

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__ = {**state, "tables": None}
        self.set_tables(state["tables"])

    def cut(self, most: int) -> list[Self]:
        """Segments of at most so many learners in place of this one."""
        pieces = -(-len(self) // most)
        if pieces == 1:
            return [self]
        ends = [len(self) * i // pieces for i in range(pieces + 1)]
        parts = [self.part(start, stop) for start, stop in pairwise(ends)]
        for part in parts:
            part.set_tables(self.tables)
        return parts

    @abstractmethod
    def part(self, start: int, stop: int) -> Self:
        """A segment of learners start, ..., stop - 1 of this one."""

    @abstractmethod
    def predict(self, rows: Rows, n_learners: int, cache: Cache | None) -> None:
        """Send a block through the first `n_learners` of the segment. Changes `rows`, and `cache`, alone."""

    @abstractmethod
    def learn(self, rows: Rows, y: np.ndarray, weight: np.ndarray) -> None:
        """Send a labelled block through the segment: every learner votes, then learns."""

    @abstractmethod
    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """Nominal columns have new values."""

    @abstractmethod
    def nbytes(self) -> dict[str, int]:
        """Bytes in use, part by part."""


CACHE_MEGABYTES = 64.0  # OnlineMBBM: the most that a chain keeps of costs met before, and
PREDICTING_MEGABYTES = 32.0  # the most that a thread keeps which predicts


class TreeSegment(Segment):
    """Neighbouring trees and their stage."""

    def __init__(self, forest: Forest, stage: Stage) -> None:
        super().__init__(stage)
        self.forest = forest

    @property
    def trees_per_learner(self) -> int:
        return 1

    def part(self, start: int, stop: int) -> Self:
        n = self.trees_per_learner
        return self.like(select(self.forest, n * start, n * stop), part_of(self.stage, start, stop))

    def like(self, forest: Forest, stage: Stage) -> Self:
        """A segment of this kind with other learners."""
        other = type(self).__new__(type(self))
        other.__dict__ = {**self.__dict__, "forest": forest, "stage": stage, "tables": None, "_cache": None}
        return other

    def predict(self, rows: Rows, n_learners: int, cache: Cache | None) -> None:
        predict_trees(self.forest, self.stage, self.tables, cache, rows, n_learners)

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

    def nbytes(self) -> dict[str, int]:
        forest = self.forest
        tables = {"nodes": (forest.nodes, forest.details), "class rows": forest.rows, "statistics": forest.stats}
        parts = {name: _array_bytes(table) for name, table in tables.items()}
        return {**parts, "settings": _array_bytes((forest, self.stage)) - sum(parts.values())}


# ------------------------------------------------------------------ segments of other weak learners, one row at a time


@kernel
def predict_given(stage, tables, cache, rows, i, b, p):
    """Learner i has given the distribution p for row b: vote."""
    s, e = rows.s[b], rows.e[b]
    labels = np.arange(rows.k)
    at = prepare(stage, tables, cache, i, s, -1, labels, p, rows.k)
    l = vote(stage, cache, at, i, rows.t, s, e, rows.k, labels, p, rows.k, np.empty(2 * rows.k))
    cast(stage, i, l, s, e, labels, p, rows.k)
    rows.experts[b, stage.offset + i] = expert(stage, rows, b, l)


@kernel
def learn_given(stage, tables, cache, rows, i, b, p, y, weight):
    """Learner i has given the distribution p for row b with label y: vote, update; the weight it is to learn with."""
    s, e = rows.s[b], rows.e[b]
    labels = np.arange(rows.k)
    at = prepare(stage, tables, cache, i, s, y, labels, p, rows.k)
    own = own_cost(stage, cache, at, s, e, rows.k, y)
    w = weight * weigh(stage, cache, i, rows.k, own)
    l = vote(stage, cache, at, i, rows.t + b, s, e, rows.k, labels, p, rows.k, np.empty(2 * rows.k))
    update(stage, cache, at, i, rows.t + b, s, e, rows.k, l, y, own, weight, labels, p, rows.k)
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

    def part(self, start: int, stop: int) -> LearnerSegment:
        segment = LearnerSegment(self.learners[start:stop], part_of(self.stage, start, stop), len(self.classes))
        segment.started = self.started[start:stop].copy()
        return segment

    def _distribution(self, i: int, x: np.ndarray) -> np.ndarray:
        if not self.started[i]:
            return np.full(len(self.classes), 1.0 / len(self.classes))
        p = np.ascontiguousarray(self.learners[i].predict_proba(x)[0], np.float64)
        return p if np.isfinite(p).all() else np.full(len(p), 1.0 / len(p))  # GaussianNB before it has a variance

    def predict(self, rows: Rows, n_learners: int, cache: Cache | None) -> None:
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

    def nbytes(self) -> dict[str, int]:
        return {"learners": len(pickle.dumps(self.learners))}


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


BLOCK = 4096  # rows that go through one learner before the next: the block's rows and one tree should fit the cache
SEGMENTS_PER_THREAD = 8  # enough to keep all threads busy; every one costs 5 us more per call
MOST_ROWS = 2048  # of a block for threads
LEAST_ROWS, LEAST_VOTES = 16, 4_000  # threads pay from so many rows each, and so many rows x learners, at a time


class Chain:
    """All learners in order, in segments, and how far the stream has come."""

    def __init__(self, segments: Sequence[Segment], n_numeric: int) -> None:
        self.segments = list(segments)
        self.n_learners = sum(len(segment) for segment in segments)
        self.n_numeric = n_numeric
        self.moments = np.zeros((3, n_numeric))
        self.t = 0  # examples learned
        self.safe = all(isinstance(segment, TreeSegment) for segment in segments)  # whether learning cannot fail
        self._caches: list[Cache] = []

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_caches": []}

    # ------------------------------------------------------------------------------------------- predicting

    def predict(self, X: np.ndarray, k: int, n_learners: int | None = None) -> Rows:
        """Votes and experts of these rows in the coming round, by the first `n_learners`. Changes nothing."""
        rows = self._rows(X, np.empty((len(X), 0)), k)
        left = self.n_learners if n_learners is None else n_learners
        cache = self._take_cache()
        for segment in self.segments:
            if left > 0:
                segment.predict(rows, min(left, len(segment)), cache)
                left -= len(segment)
        if cache is not None:
            self._caches.append(cache)
        return rows

    def _take_cache(self) -> Cache | None:
        """A cache for predicting that no other thread is using: look-ups write to it. It never changes a result."""
        tables = self.segments[0].tables
        if tables is None:
            return None
        try:
            cache = self._caches.pop()
        except IndexError:
            cache = None
        fits = cache is not None and len(cache.deficit) == tables.n_classes
        return cache if fits else build_cache(tables, PREDICTING_MEGABYTES)

    def _rows(self, X: np.ndarray, spread: np.ndarray, k: int) -> Rows:
        missing = np.empty(len(X), np.bool_)
        any_missing(X, self.n_numeric, missing)
        return new_rows(X, missing, spread, self.t + 1, k, self.n_learners)

    # --------------------------------------------------------------------------------------------- learning

    def enter(self, X: np.ndarray, k: int) -> Rows:
        """A block at the head of the chain; `t` and the moments of the columns have moved on."""
        spread = np.empty((len(X), self.n_numeric))
        column_spread(self.moments, X, self.n_numeric, spread)
        rows = self._rows(X, spread, k)
        self.t += len(X)
        return rows

    def learn(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, k: int) -> Rows:
        """Test, then train, on one block. The votes and experts are those before learning."""
        rows = self.enter(X, k)
        for step in self._steps({0: rows}, y, weight, [slice(None)]):
            step(0)
        return rows

    def _steps(
        self, on_line: dict[int, Rows], y: np.ndarray, weight: np.ndarray, parts: list[slice]
    ) -> list[Callable[[int], None]]:
        """What is done, one after the other, to block b of the line: rows parts[b] of the stream."""

        def through(segment: Segment) -> Callable[[int], None]:
            return lambda b: segment.learn(on_line[b], y[parts[b]], weight[parts[b]])

        return [through(segment) for segment in self.segments]

    def stream(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        k: int,
        leave: Callable[[Rows, slice], None],
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
    ) -> int:
        """`learn` any number of rows, in blocks, by so many threads; the number of rows learned.

        `leave` is called with every block at the end of the chain and its place in X, in order. For `stop` see `flow`.
        """
        n = len(X)
        threads = min(threads, n // LEAST_ROWS) if n * self.n_learners >= LEAST_VOTES else 1
        if threads > 1:
            self.cut(SEGMENTS_PER_THREAD * threads)
        parts = _blocks(n, max(threads, 1), BLOCK if self.safe else LEAST_ROWS)
        on_line: dict[int, Rows] = {}

        def enter(b: int) -> None:
            on_line[b] = self.enter(X[parts[b]], k)

        def exit(b: int) -> None:
            leave(on_line.pop(b), parts[b])

        steps = [enter, *self._steps(on_line, y, weight, parts), exit]
        through_all = flow(steps, len(parts), threads, stop)
        return parts[through_all - 1].stop if through_all else 0

    def cut(self, n_segments: int) -> None:
        """Make it at least so many segments, if there are as many learners. The votes stay the same, bit for bit."""
        if len(self.segments) < min(n_segments, self.n_learners):
            most = -(-self.n_learners // n_segments)
            self.segments = [part for segment in self.segments for part in segment.cut(most)]

    def joined(self) -> Self:
        """A copy that is one segment, with no more memory than it needs: quickest for single rows."""
        copy = type(self).__new__(type(self))
        copy.__dict__ = {**self.__getstate__(), "moments": self.moments.copy()}
        segments = [segment for segment in self.segments if isinstance(segment, TreeSegment)]
        if not self.safe:
            copy.segments = deepcopy(self.segments)
        else:
            own: dict[str, Any] = {name: self.gather(name) for name in ("scale", "alpha", "edge_sums", "born")}
            stage = segments[0].stage._replace(**own)
            whole = segments[0].like(join([segment.forest for segment in segments]), stage)
            whole.set_tables(segments[0].tables)
            copy.segments = [whole]
        return copy

    # ------------------------------------------------------------------------------------------ what is in it

    def gather(self, field: str) -> np.ndarray:
        """An array of the stages, over all learners."""
        return np.concatenate([getattr(segment.stage, field) for segment in self.segments])

    def nbytes(self) -> dict[str, int]:
        """Bytes of the learners' state, part by part; of the room kept for growth too, but not of caches."""
        parts = [segment.nbytes() for segment in self.segments]
        total = {name: sum(part[name] for part in parts) for name in parts[0]}
        tables = self.segments[0].tables
        return total if tables is None else {**total, "potentials": _array_bytes(tables)}


def _array_bytes(group: Any) -> int:
    if isinstance(group, tuple):
        return sum(_array_bytes(part) for part in group)
    return int(group.nbytes) if isinstance(group, np.ndarray) else 0


def _blocks(n: int, threads: int, most: int) -> list[slice]:
    """Cut n rows into blocks of at most `most`; for threads into smaller ones, so that all have something to do."""
    size = most if threads == 1 else max(2 * LEAST_ROWS, min(most, MOST_ROWS, -(-n // (2 * threads))))
    return [slice(a, min(a + size, n)) for a in range(0, n, size)]
