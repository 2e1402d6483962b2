"""The chain: all learners in order, in segments, and the experts at its end.

With several segments, one can work on a block while the one before it works on the next: see ``threads.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost._compile.jit import entry_kernel
from onlineboost.chain.diary import new_diary
from onlineboost.chain.experts import (
    Combiner,
    Following,
    choose_labels,
    draw_expert,
    expert_mass,
    new_following,
    play_part,
)
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.numbers import as_believed, learn_believed, more_numbers, new_numbers
from onlineboost.chain.segments import Segment
from onlineboost.chain.threads import flow
from onlineboost.chain.visits import Visitor, Visits, any_waits
from onlineboost.contracts.rows import Rows, new_rows
from onlineboost.contracts.state import copied, nbytes, restore

Step = Callable[[Any, np.ndarray, np.ndarray], None]

BLOCK = 4096  # rows that go through one learner before the next: the block's rows and one tree should fit the cache
SEGMENTS_PER_THREAD = 4  # enough to keep all threads busy; every one costs some 50 us more per block
MOST_ROWS = 2048  # of a block for threads
MOST_TRACE = 1 << 20  # votes of a block that are kept: 8 MB
LEAST_ROWS, LEAST_VOTES = 16, 4_000  # threads pay from so many rows each, and so many rows x learners, at a time


@entry_kernel
def any_missing(X, n_numeric, missing):
    for b in range(X.shape[0]):
        missing[b] = False
        for c in range(n_numeric):
            if X[b, c] != X[b, c]:
                missing[b] = True


class Block(NamedTuple):
    """A block of examples on its way, and whom it would follow by the experts so far."""

    rows: Rows
    following: Following
    combiner: Combiner


class Chain:
    """All learners in order, in segments, the weights of the prefix experts, and how far the stream has come."""

    goes_alone = True  # whether single rows can go through without being a block: `single`

    def __init__(self, segments: Sequence[Segment], n_numeric: int, seed: int) -> None:
        self.segments = list(segments)
        self.n_numeric = n_numeric
        self.seed = seed
        self.n_learners = sum(len(segment) for segment in segments)
        self.numbers = new_numbers(n_numeric)
        self.t = 0  # examples learned
        self.mean_weight: float | None = 0.0  # of them; None: weights count as they are, as in files of older versions
        self.log_v = np.zeros(self.n_learners)  # log weights of the experts; expert i is the vote of the first i
        self.costs: np.ndarray | None = None  # (k, k) what a mistake counts for the experts; None: 1
        self.watch: Any = None  # what reviews remember, if there are any (restarts.py)
        self.diary = new_diary(0, 0)  # some of the last rows, and events
        self.heard: list[np.ndarray] | None = None  # probabilities of the rows that are learned, if someone asks
        self._caches: list[Any] = []

    @property
    def log_vs(self) -> list[np.ndarray]:
        """The log weights of all experts there are."""
        return [self.log_v]

    @property
    def safe(self) -> bool:
        """Whether learning cannot fail."""
        return all(segment.learners.safe for segment in self.segments)

    def __getstate__(self) -> dict[str, Any]:
        """What was learned: into how many segments it is cut, and what is kept for speed, is no part of it."""
        return self.joined().__dict__

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.joined()

    # ------------------------------------------------------------------------------------------- predicting

    def predict(self, X: np.ndarray, k: int, combiner: Combiner) -> np.ndarray:
        """The labels of these rows in the coming round. Changes nothing."""
        if combiner is Combiner.WEIGHTED:
            return expert_mass(self.log_v, self.votes(X, k).experts, k).argmax(axis=1)
        walk = self.walk(combiner)
        return self.votes(X, k, walk).experts[:, walk - 1].astype(np.int64)

    def forecast(self, X: np.ndarray, k: int, combiner: Combiner) -> tuple[np.ndarray, np.ndarray]:
        """The same with the probabilities of the classes, (rows, k)."""
        if combiner is Combiner.WEIGHTED:
            mass = expert_mass(self.log_v, self.votes(X, k).experts, k)
            return mass.argmax(axis=1), mass / mass.sum(axis=1, keepdims=True)
        walk = self.walk(combiner)
        rows = self.votes(X, k, walk)
        return rows.experts[:, walk - 1].astype(np.int64), self.segments[0].booster.probabilities(rows, walk)

    def walk(self, combiner: Combiner) -> int:
        """How many learners the coming round's prediction needs."""
        if combiner is Combiner.HEDGE:
            return int(draw_expert(self.log_v, self.seed, self.t + 1)) + 1
        if combiner is Combiner.BEST:
            return int(self.log_v.argmax()) + 1
        return self.n_learners

    def votes(self, X: np.ndarray, k: int, n_learners: int | None = None) -> Rows:
        """Votes and experts of these rows in the coming round, by the first `n_learners`. Changes nothing."""
        rows = self.new_rows(X, k, None, None)
        left = self.n_learners if n_learners is None else n_learners
        cache = self._take_cache(k)
        for segment in self.segments:
            if left > 0:
                segment.predict(rows, min(left, len(segment)), cache)
                left -= len(segment)
        if cache is not None:
            self._caches.append((k, cache))
        return rows

    def _take_cache(self, k: int) -> Any:
        """A cache for predicting that no other thread is using: look-ups write to it. It never changes a result."""
        try:
            classes, cache = self._caches.pop()
        except IndexError:
            classes, cache = 0, None
        return cache if classes == k else self.segments[0].booster.new_cache()

    def new_rows(
        self, X: np.ndarray, k: int, spread: np.ndarray | None, weight: np.ndarray | None, traced: bool = False
    ) -> Rows:
        """A block at the head of the chain; without `spread` it is to be predicted, not learned."""
        if spread is None:
            X, spread = as_believed(self.numbers, X), np.empty((len(X), 0))
        missing = np.empty(len(X), np.bool_)
        any_missing(X, self.n_numeric, missing)
        notes = self._notes(len(X), k, weight)
        return new_rows(X, missing, spread, self.t + 1, k, len(self.log_v), notes, traced=traced)

    def _notes(self, n: int, k: int, weight: np.ndarray | None) -> Any:
        return self.segments[0].booster.new_notes(n, k, weight)

    # --------------------------------------------------------------------------------------------- learning

    # arguments: the rows, and how to send them
    def stream(
        self,
        X: np.ndarray,
        y: np.ndarray,
        weight: np.ndarray,
        k: int,
        combiner: Combiner,
        out: np.ndarray,
        threads: int = 1,
        stop: Callable[[], bool] = lambda: False,
        visitors: Sequence[Visitor] = (),
    ) -> int:
        """Test, then train, on any number of rows, in blocks, by so many threads; the number of rows learned.

        `out` gets what was predicted for each row before it was learned. For `stop` see `flow`. Visitors go along.
        """
        n, before = len(X), self.t
        threads = min(threads, n // LEAST_ROWS) if n * self.n_learners >= LEAST_VOTES else 1
        if threads > 1:
            self.cut(SEGMENTS_PER_THREAD * threads)
        most = self.most_rows(BLOCK, k, combiner) if self.safe else LEAST_ROWS
        size = block_size(n, max(threads, 1), most)
        on_line: dict[int, tuple[slice, Any, Visits]] = {}

        def enter(b: int) -> None:
            at = self.t - before
            rows = min([size, n - at, *(visitor.rows(max(threads, 1)) for visitor in visitors)])
            part = slice(at, at + rows)
            block = self.enter(X[part], weight[part], k, combiner)
            on_line[b] = part, block, Visits(visitor.visit(before + at, self.t) for visitor in visitors)

        def through(segment: Segment | None, step: Step) -> Callable[[int], None]:
            def do(b: int) -> None:
                part, block, visits = on_line[b]
                visits.before(segment)
                step(block, y[part], weight[part])
                visits.after(segment)

            return do

        def leave(b: int) -> None:
            part, block, visits = on_line.pop(b)
            self.leave(block, y[part], weight[part], out[part])
            self.diary.keep(X[part], y[part], before + part.start)
            visits.leave()

        steps = [enter, *(through(*step) for step in self.steps()), leave]
        waits = partial(any_waits, visitors)
        flow(steps, n, threads, lambda: self.t - before == n or stop(), waits)
        for visitor in visitors:
            visitor.end()
        return self.t - before

    def most_rows(self, rows: int, k: int, combiner: Combiner) -> int:
        """Rows of a block at most: so many, or fewer where the votes of all of them have to be kept."""
        return min(rows, max(LEAST_ROWS, MOST_TRACE // (self.n_learners * k))) if self.is_traced(combiner) else rows

    def is_traced(self, combiner: Combiner) -> bool:
        """Whether the votes after every learner have to be kept while a block is learned."""
        return self.heard is not None and combiner in (Combiner.HEDGE, Combiner.BEST)

    def enter(self, X: np.ndarray, weight: np.ndarray, k: int, combiner: Combiner) -> Any:
        """A labelled block at the head of the chain; `t` and what is known of the columns have moved on."""
        rows = self.enter_rows(X, weight, k, traced=self.is_traced(combiner))
        return Block(rows, new_following(combiner, len(X), k), combiner)

    def enter_rows(self, X: np.ndarray, weight: np.ndarray, k: int, *, traced: bool = False) -> Rows:
        """The same, without the experts."""
        X, spread = learn_believed(self.numbers, X)
        rows = self.new_rows(X, k, spread, weight, traced)
        self.t += len(X)
        return rows

    def steps(self) -> list[tuple[Segment | None, Step]]:
        """What is done, one after the other, to every block: step(block, y, weight), and the segment that does it."""
        return [(segment, partial(self._through, segment)) for segment in self.segments]

    def _through(self, segment: Segment, block: Block, y: np.ndarray, weight: np.ndarray) -> None:
        """A segment learns a block; its experts come in, and their weights learn."""
        rows, place = block.rows, segment.place
        segment.learn(rows, y, weight)
        of_rows = rows.experts, y, weight, self.costs, *block.following
        play_part(int(block.combiner), self.log_v[place], place.start, self.seed, rows.t, *of_rows)

    def leave(self, block: Any, y: np.ndarray, weight: np.ndarray, out: np.ndarray) -> None:
        """A block at the end of the chain: what was predicted."""
        choose_labels(block.following, out)
        if self.heard is not None:
            self.hear(self._shares(block.rows, block.following), block.rows.t)

    def hear(self, p: np.ndarray, t: int) -> None:
        """Probabilities (rows, k) of a block whose first row is that of round t, before it was learned."""
        assert self.heard is not None
        if t == 1 and len(p):
            p[0] = 1.0 / p.shape[1]  # nothing has been learned
        self.heard.append(p)

    def _shares(self, rows: Rows, following: Following) -> np.ndarray:
        """The probabilities that `forecast` would have given of each row in its round."""
        mass, followed = following.mass, following.expert
        if len(mass):
            return mass / mass.sum(axis=1, keepdims=True)
        p, booster = np.empty((len(followed), rows.k)), self.segments[0].booster
        for i in np.unique(followed):
            at = np.flatnonzero(followed == i)
            s = rows.trace[i, at] if len(rows.trace) else rows.s[at]
            p[at] = booster.probabilities(rows._replace(s=s, experts=rows.experts[at]), i + 1)
        return p

    def rehearse(self, n_columns: int, k: int, combiner: Combiner) -> None:
        """Send a block of no rows through, which changes nothing: everything is compiled then."""
        X, y, weight = np.empty((0, n_columns)), np.empty(0, np.int64), np.empty(0)
        block = self.enter(X, weight, k, combiner)
        for _, step in self.steps():
            step(block, y, weight)
        self.leave(block, y, weight, np.empty(0, np.int64))

    def learn(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, k: int) -> Rows:
        """Send one block through all segments. The votes and experts are those before learning."""
        block = self.enter(X, weight, k, Combiner.LAST)
        for _, step in self.steps():
            step(block, y, weight)
        return block.rows  # type: ignore[no-any-return]

    # --------------------------------------------------------------------------------------------- segments

    def cut(self, n_segments: int) -> None:
        """Make it at least so many segments, if there are as many learners. The votes stay the same, bit for bit."""
        if len(self.segments) < min(n_segments, self.n_learners):
            most = -(-self.n_learners // n_segments)
            self.segments = [part for segment in self.segments for part in segment.cut(-(-len(segment) // most))]

    def joined(self) -> Self:
        """A copy that is one segment, with no more memory than it needs: quickest for single rows."""
        copy = type(self).__new__(type(self))
        own = {"numbers": copied(self.numbers), "log_v": self.log_v.copy(), "diary": copied(self.diary)}
        own["watch"] = None if self.watch is None else copied(self.watch)
        copy.__dict__ = {**self.__dict__, **own, "_caches": [], "heard": None}
        copy._join(self)
        return copy

    def whole(self) -> Segment:
        """All learners in one segment; a copy, if there are several."""
        return self.segments[0] if len(self.segments) == 1 else self.segments[0].join(self.segments[1:])

    @property
    def can_join(self) -> bool:
        """Whether it is in more segments than it need be."""
        return len(self.segments) > 1

    def join_up(self) -> None:
        """Make it one segment again."""
        self.segments = [self.segments[0].join(self.segments[1:])]

    def _join(self, original: Self) -> None:
        """One segment, with state of its own, in place of those of the original."""
        self.segments = [original.segments[0].join(original.segments[1:])]

    def set_classes(self, k: int) -> None:
        """From here on there are k classes."""
        for segment in self.segments:
            segment.learners.set_classes(k)

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """There is room for so many values of each nominal column, which appeared first in these rounds."""
        for segment in self.segments:
            segment.learners.new_values(sizes, births)

    def allot(self, share: float, width: int) -> None:
        """Each tree may have so many bytes; rows of statistics will be `width` numbers wide."""
        for segment in self.segments:
            if isinstance(segment.learners, TreeLearners):
                segment.learners.allot(share, width)

    def carry_out(self, plan: Any) -> None:
        """Start learners again as a review has decided (`restarts.Plan`)."""
        for segment in self.segments:
            plan.carry_out(segment)

    def new_columns(self, numeric: int, nominal: int) -> None:
        """There are so many more columns of each kind, the last of their kind, in which nothing has been met."""
        for segment in self.segments:
            segment.learners.new_columns(numeric, nominal)
        self.diary.new_columns(numeric, nominal, self.n_numeric)
        self.n_numeric += numeric
        self.numbers = more_numbers(self.numbers, numeric)

    # ------------------------------------------------------------------------------------------ what is in it

    def gather(self, field: str) -> np.ndarray:
        """An array of the booster, over all learners."""
        return np.concatenate([getattr(segment.booster, field) for segment in self.segments])

    def edges(self, k: int) -> np.ndarray:
        """Empirical edges of all learners."""
        return np.concatenate([segment.booster.edges(max(k, 2)) for segment in self.segments])

    def expert_weights(self) -> np.ndarray:
        """Hedge's probabilities of following each expert."""
        v = np.exp(self.log_v - self.log_v.max())
        return v / v.sum()

    def nbytes(self) -> dict[str, int]:
        """Bytes of what has been learned, part by part; of the room kept for growth too, but not of caches."""
        parts = [segment.nbytes() for segment in self.segments]
        total = {name: sum(part[name] for part in parts) for name in (parts[0] if parts else ())}
        tables = self._table_bytes()
        own = {"experts": self.fixed_bytes() - tables - self.diary.nbytes, "diary": self.diary.nbytes}
        return {**total, **({"potentials": tables} if tables else {}), **own}

    def fixed_bytes(self) -> int:
        """Bytes of what belongs to no learner."""
        watch = self.watch.nbytes if self.watch is not None else 0
        experts = sum(log_v.nbytes for log_v in self.log_vs)
        return experts + nbytes(self.numbers) + watch + self._table_bytes() + self.diary.nbytes

    def segments_of(self, k: int) -> list[Segment]:
        """The segments with k classes, to know what they take."""
        return self.segments

    def most_bytes(self, k: int) -> int:
        """What its learners take at most with k classes, where there is an end to it by itself."""
        return sum(segment.learners.most_bytes(k) for segment in self.segments)

    def _table_bytes(self) -> int:
        return nbytes(getattr(self.segments[0].booster, "tables", None)) if self.segments else 0


def block_size(n: int, threads: int, most: int) -> int:
    """Rows of the blocks that n rows are cut into, at most `most`; for threads fewer, so that all have work to do."""
    return most if threads == 1 else max(2 * LEAST_ROWS, min(most, MOST_ROWS, -(-n // (2 * threads))))
