"""The chain: a panel if there is one, all weak learners in order, in segments, and what stands at the end (`stage`).

With several segments, one can work on a block while the one before it works on the next: see ``threads.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import numpy as np

from onlineboost._compile.jit import entry_kernel
from onlineboost.chain import restarts
from onlineboost.chain import rows as single
from onlineboost.chain.clipping import clip_rows, learn_and_clip, more_numbers, new_numbers
from onlineboost.chain.diary import new_diary
from onlineboost.chain.evidence import NOBODY, with_classes, with_evidence, with_tables
from onlineboost.chain.experts import Combiner
from onlineboost.chain.learners import Learners
from onlineboost.chain.reviews import Visit, Visitor
from onlineboost.chain.segments import NO_LABELS, Segment
from onlineboost.chain.stage import HERE, Block, End, Place, Stage, Voter
from onlineboost.chain.threads import flow
from onlineboost.contracts.rows import Rows, new_rows
from onlineboost.contracts.state import copied, restore
from onlineboost.data.places import AT_ONCE

Step = Callable[[Block], None]

BLOCK = 4096  # rows that go through one learner before the next: the block's rows and one tree should fit the cache
SEGMENTS_PER_THREAD = 4  # enough to keep all threads busy; every one costs some 50 us more per block
MOST_ROWS = 2048  # of a block for threads
MOST_TRACE = 1 << 20  # votes of a block that are kept: 8 MB
LEAST_ROWS, LEAST_VOTES = 16, 4_000  # threads pay from this many rows each, and rows x learners, at a time
AWAITED = 1 << len(Combiner)  # in `Chain.conduct`: rows have waited for their labels
OF_THIS_PROCESS = ("_caches", "heard", "place")  # fields of a chain that are not part of what it has learned


@entry_kernel
def any_missing(X, n_numeric, missing):
    for b in range(X.shape[0]):
        missing[b] = False
        for c in range(n_numeric):
            if X[b, c] != X[b, c]:
                missing[b] = True


class Chain:
    """The stages of a model, what is known of its columns, and how far the stream has come."""

    # arguments: what a chain consists of
    def __init__(self, segments: Sequence[Segment], n_numeric: int, seed: int, end: End, panel: Any = None) -> None:
        self.segments = list(segments)
        self.panel, self.end = panel, end
        self.n_numeric = n_numeric
        self.seed = seed
        self.numbers = new_numbers(n_numeric)
        self.t = 0  # examples learned
        self.mean_weight: float | None = 0.0  # of them; None: weights count as they are, as in files of older versions
        self.lightest = self.heaviest = 1.0  # of the weights that rows have counted with, and 1
        self.conduct: int | None = 0  # bits: the combiners followed, and AWAITED; None: a file of an older version
        self.costs: np.ndarray | None = None  # (k, k) what a mistake counts for the experts; None: 1
        self.watch: Any = None  # what reviews remember, if there are any (restarts.py)
        self.diary = new_diary(0, 0)  # some of the last rows, and events
        self._start()

    def _start(self) -> None:
        """What is not part of what was learned."""
        self.heard: list[np.ndarray] | None = None  # probabilities of the rows that are learned, if someone asks
        self.place: Place = HERE  # where its learners are
        self._caches: list[Any] = []

    @property
    def growing(self) -> list[Stage | Learners]:
        """What grows with the stream: the panel, all learners, and the end."""
        return [*([] if self.panel is None else [self.panel]), *(one.learners for one in self.segments), self.end]

    @property
    def n_learners(self) -> int:
        return sum(map(len, self.segments))

    @property
    def safe(self) -> bool:
        """Whether learning cannot fail."""
        return all(segment.learners.safe for segment in self.segments)

    def identity(self) -> list[Any]:
        """The states of all stages: as long as they are the same objects, what was prepared with them is good."""
        found = [self.costs, self.numbers, *self.end.identity(), *(() if self.panel is None else self.panel.identity())]
        for segment in self.segments:
            found += segment.identity()
        return found

    def __getstate__(self) -> dict[str, Any]:
        """What was learned: into how many segments it is cut, and what is kept for speed, is not part of it."""
        copy = self.joined()
        copy.segments = copy.whole()  # what segments share is in it once
        return {name: value for name, value in copy.__dict__.items() if name not in OF_THIS_PROCESS}

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)
        self._start()
        self.segments = self.end.parted(self.segments)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.joined()

    # --------------------------------------------------------------------------------------------------- predicting

    def predict(self, X: np.ndarray, k: int, combiner: Combiner) -> np.ndarray:
        """The codes of these rows in the coming round. Changes nothing."""
        if not self.place.wanted:
            return np.full(len(X), -1)
        chain = self.place.whole(self)
        walk = chain.end.walk(combiner, chain.t + 1)
        return chain.end.labels(chain.ask(X, k, combiner, walk), walk)

    def forecast(self, X: np.ndarray, k: int, combiner: Combiner) -> tuple[np.ndarray, np.ndarray]:
        """The same with the probabilities of the classes, (rows, k)."""
        chain = self.place.whole(self)
        walk = chain.end.walk(combiner, chain.t + 1)
        return chain.end.forecast(chain.ask(X, k, combiner, walk), walk)

    def ask(self, X: np.ndarray, k: int, combiner: Combiner, n_learners: int) -> Block:
        """Send rows through the first `n_learners`, as of the coming round. Changes nothing."""
        block = self.head(X, k, combiner)
        cache = self._take_cache(k)
        for i, segment in enumerate(self.segments):
            if n_learners > 0:
                self.end.ask(i, segment, block, min(n_learners, len(segment)), cache)
                n_learners -= len(segment)
        if cache is not None:
            self._caches.append((k, cache))
        return block

    def head(self, X: np.ndarray, k: int, combiner: Combiner) -> Block:
        """Rows to be predicted, ahead of the first segment."""
        block = self._open(self.new_rows(X, k, None, None), *NO_LABELS, combiner)
        if self.panel is not None:
            self.panel.predict(block.rows)
            self.end.start(block)
        return block

    def voters(self, k: int, combiner: Combiner, *, now: bool) -> list[Voter]:
        """All learners that have a say in the coming round: see `End.voters`."""
        return self.end.voters(self.segments, k, combiner, self.t + 1, now=now)

    def votes(self, x: np.ndarray, k: int, who: list[Voter]) -> np.ndarray:
        """What these voters add to the score of one row, (voters, k): exactly what they add when it is predicted."""
        each = self.end.votes_of_each(self.segments, self.head(x, k, Combiner.LAST))
        return np.array([each[voter.at] @ voter.effect for voter in who]).reshape(-1, k)

    @property
    def booster(self) -> Any:
        """The booster of the first segment: what all segments share is in it. None: there is no segment yet."""
        return self.segments[0].booster if self.segments else None

    def _take_cache(self, k: int) -> Any:
        """A cache for predicting that no other thread is using: look-ups write to it. It never changes a result."""
        try:
            classes, cache = self._caches.pop()
        except IndexError:
            classes, cache = 0, None
        return cache if classes == k else self.booster.new_cache()

    def new_rows(
        self, X: np.ndarray, k: int, spread: np.ndarray | None, weight: np.ndarray | None, traced: bool = False
    ) -> Rows:
        """A block at the head of the chain; without `spread` it is to be predicted, not learned."""
        if spread is None:
            X, spread = self.as_told(X), np.empty((len(X), 0))
        missing = np.empty(len(X), np.bool_)
        any_missing(X, self.n_numeric, missing)
        notes = self.end.new_notes(self.booster, len(X), k, weight)
        return new_rows(X, missing, spread, self.t + 1, k, self.end.n_experts, notes, traced=traced)

    def as_told(self, X: np.ndarray, own: np.ndarray = NOBODY) -> np.ndarray:
        """Rows as the stages get them, by what is known of the columns; `own` labels, if they have been learned."""
        return with_evidence(self.numbers, clip_rows(self.numbers, X), own=own)

    def _open(self, rows: Rows, y: np.ndarray, weight: np.ndarray, combiner: Combiner) -> Block:
        return Block(rows, y, weight, self.booster, combiner, self.costs, self.end.open(rows, combiner))

    # ----------------------------------------------------------------------------------------------------- learning

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
        """Test, then train, on any number of rows, in blocks, by `threads` threads; the number of rows learned.

        `out` gets what was predicted for each row before it was learned. For `stop` see `flow`. Visitors go along.
        """
        n, before = len(X), self.t
        threads = max(1, min(threads, n // LEAST_ROWS)) if n * self.n_learners >= LEAST_VOTES else 1
        if threads > 1:
            self.cut(SEGMENTS_PER_THREAD * threads)
        size = block_size(n, threads, self.most_rows(BLOCK, k, combiner) if self.safe else LEAST_ROWS)
        on_line: dict[int, tuple[slice, Block, list[Visit]]] = {}

        def enter(b: int) -> None:
            at = self.t - before
            rows = min([size, n - at, *(visitor.rows(threads) for visitor in visitors)])
            part = slice(at, at + rows)
            block = self.enter(X[part], y[part], weight[part], k, combiner)
            on_line[b] = part, block, [visitor.visit(before + at, self.t) for visitor in visitors]

        def go_through(segment: Segment | None, step: Step, b: int) -> None:
            _, block, visits = on_line[b]
            seen = visits if segment is not None else []
            for visit in seen:
                visit.before(segment)
            step(block)
            for visit in seen:
                visit.after(segment)

        def leave(b: int) -> None:
            part, block, visits = on_line.pop(b)
            self.leave(block, out[part])
            self.diary.keep(X[part], y[part], before + part.start)
            for visit in visits:
                visit.leave()

        steps: list[Callable[[int], None]] = [enter, *(partial(go_through, *step) for step in self.steps()), leave]
        ended, waits = (lambda: self.t - before == n or stop()), (lambda: any(one.waits() for one in visitors))
        flow(steps, n, threads, ended, waits)
        for visitor in visitors:
            visitor.end()
        return self.t - before

    def most_rows(self, rows: int, k: int, combiner: Combiner) -> int:
        """Rows of a block at most: this many, or fewer where the votes of all of them have to be kept."""
        return min(rows, max(LEAST_ROWS, MOST_TRACE // (self.n_learners * k))) if self.is_traced(combiner) else rows

    def is_traced(self, combiner: Combiner) -> bool:
        """Whether the votes after every learner have to be kept while a block is learned."""
        return (self.heard is not None or self.end.learns_from_trace) and self.end.is_traced(combiner)

    def enter(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray, k: int, combiner: Combiner) -> Block:
        """A labelled block at the head of the chain; `t` and what is known of the columns have moved on."""
        self.numbers = with_tables(self.numbers, X, k)
        X, spread = learn_and_clip(self.numbers, X)
        X = with_evidence(self.numbers, X, y, weight)
        rows = self.new_rows(X, k, spread, weight, self.is_traced(combiner))
        self.t += len(X)
        return self._open(rows, y, weight, combiner)

    def steps(self) -> list[tuple[Segment | None, Step]]:
        """What is done, one after the other, to every labelled block, and the segment that does it; None: the panel."""
        of_segments = [(one, partial(self.end.learn, i, one)) for i, one in enumerate(self.segments)]
        of_panel = [] if self.panel is None else [*map(self._learning, self.panel.parts), self.end.start]
        return [*((None, step) for step in of_panel), *of_segments]

    @staticmethod
    def _learning(part: Any) -> Step:
        return lambda block: part.learn(block.rows, block.y, block.weight)

    def leave(self, block: Block, out: np.ndarray) -> None:
        """A block at the end of the chain: what was predicted."""
        p = self.end.leave(block, out, heard=self.heard is not None)
        if self.heard is not None and p is not None:
            if block.rows.t == 1 and len(p):
                p[0] = 1.0 / p.shape[1]  # nothing has been learned
            self.heard.append(p)

    def rehearse(self, n_columns: int, k: int, combiner: Combiner) -> None:
        """Have all kernels compiled, those for single rows too, by a block of no rows, which changes nothing."""
        block = self.enter(np.empty((0, n_columns)), *NO_LABELS, k, combiner)
        for _, step in self.steps():
            step(block)
        self.leave(block, np.empty(0, np.int64))
        self.as_told(np.empty((0, n_columns))), self.end.walk(combiner, self.t + 1)
        single.rehearse(self, n_columns, k)
        if self.watch is not None:
            restarts.rehearse(self.segments)

    # ----------------------------------------------------------------------------------------------------- segments

    def cut(self, n_segments: int) -> None:
        """Cut it into at least `n_segments`, if there are as many learners. The votes stay the same, bit for bit."""
        if not self.end.takes_turns and len(self.segments) < min(n_segments, self.n_learners):
            most = -(-self.n_learners // n_segments)
            self.segments = [part for segment in self.segments for part in segment.cut(-(-len(segment) // most))]

    def copy_with(self, segments: list[Segment]) -> Self:
        """A copy that has these segments."""
        copy = type(self).__new__(type(self))
        copy.__dict__ = {**self.__dict__, "segments": segments}
        copy._start()
        copy.numbers, copy.diary = copied(self.numbers), copied(self.diary)
        copy.watch = None if self.watch is None else copied(self.watch)
        copy.end, copy.panel = self.end.copy(), None if self.panel is None else self.panel.copy()
        return copy

    def joined(self) -> Self:
        """A copy in as few segments as can be, with no more memory than it needs: quickest for single rows."""
        return self.copy_with(self._joined())

    def _joined(self) -> list[Segment]:
        return [first.join(others) for first, *others in self.end.groups(self.segments)] if self.segments else []

    def whole(self) -> list[Segment]:
        """All learners in one segment, if they can be; a copy, if there are several."""
        if self.end.takes_turns or len(self.segments) == 1:
            return self.segments
        return [self.segments[0].join(self.segments[1:])]

    @property
    def can_join(self) -> bool:
        """Whether it is in more segments than it need be."""
        return len(self.segments) > len(self.end.groups(self.segments))

    def join_up(self) -> None:
        """Make it as few segments as can be."""
        self.segments = self._joined()

    # ------------------------------------------------------------------------------------------------------ growing

    def set_classes(self, k: int) -> None:
        """From here on there are k classes."""
        self.numbers = with_classes(self.numbers, k)
        for part in self.growing:
            part.set_classes(k)

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """There is room for these numbers of values of each nominal column, which appeared first in these rounds."""
        for_trees = self.for_trees(sizes)
        for part in self.growing:
            part.new_values(sizes if part is self.panel else for_trees, births)
        self.place.changed("new_values", sizes, births)

    def for_trees(self, sizes: list[int]) -> list[int]:
        """Trees that do without wide columns have no room for their values, but where they had it before.

        The last of the columns may be to come: trees have no room for these yet.
        """
        forest = next((forest for segment in self.segments for forest in segment.learners.forests()), None)
        if self.end.trees_see_wide or forest is None:
            return sizes
        had = np.diff(forest.offset) - 1
        had = np.pad(had, (0, len(sizes) - len(had)))
        return [0 if size > AT_ONCE >= own else size for size, own in zip(sizes, had, strict=True)]

    def allot(self, share: float, width: int) -> None:
        """Each tree may have this many bytes; rows of statistics will be `width` numbers wide."""
        for part in self.growing:
            part.allot(share, width)
        self.place.changed("allot", share, width)

    def carry_out(self, plan: Any) -> None:
        """Start learners again as a review has decided (`restarts.Plan`)."""
        self.place.carry_out(self.segments, plan)

    def new_columns(self, numeric: int, nominal: int) -> None:
        """There are this many more columns of each kind, the last of their kind, in which nothing has been met."""
        for part in self.growing:
            part.new_columns(numeric, nominal)
        self.diary.new_columns(numeric, nominal, self.n_numeric)
        self.n_numeric += numeric
        self.numbers = more_numbers(self.numbers, numeric)
        self.place.changed("new_columns", numeric, nominal)

    # ------------------------------------------------------------------------------------------------ what is in it

    def to_note(self, lightest: float, heaviest: float, conduct: int) -> list[tuple[Callable[[Any], None], Any]]:
        """What `theory.guarantee` has to know of rows that are learned: setters, and values for them; mostly none."""
        if self.conduct is None or (
            self.lightest <= lightest and heaviest <= self.heaviest and self.conduct | conduct == self.conduct
        ):
            return []
        of_weights = {"lightest": min(self.lightest, lightest), "heaviest": max(self.heaviest, heaviest)}
        new = {**of_weights, "conduct": self.conduct | conduct}
        return [(partial(setattr, self, name), value) for name, value in new.items()]

    def gather(self, field: str) -> np.ndarray:
        """An array of the booster, over all learners."""
        return np.concatenate([getattr(segment.booster, field) for segment in self.segments])

    def edges(self, k: int) -> np.ndarray:
        """Empirical edges of all learners."""
        return np.concatenate([segment.booster.edges(max(k, 2)) for segment in self.segments])


def block_size(n: int, threads: int, most: int) -> int:
    """Rows of the blocks that n rows are cut into, at most `most`; for threads fewer, so that all have work to do."""
    return most if threads == 1 else max(2 * LEAST_ROWS, min(most, MOST_ROWS, -(-n // (2 * threads))))
