"""Reviews as part of the assembly line: they are held, and their plans carried out, while rows go through the chain.

A *visitor* goes along the chain with the rows. It knows in which rounds it has something to do: there a block has to
end. It says so before the block enters, and gives it a *visit* along, which each segment gets to see before and after
it learns the block. `Reviews` and `Notices` are visitors.

A block that ends in the round of a review takes a *census* along: each segment, having learned the block, puts in what
has to be known of its learners. At the end of the chain the census is complete, and the review decides
(`restarts.decide`). The plan goes with the block that begins a lag of some rounds after the review: each segment
carries out its part before it learns that block. So a block has to wait, at the head of the chain, only where it would
begin so long after a review that has not decided yet.

When the next review is due depends on what the last one decides; it is not before that is done. Until it is known, a
block that ends in the round in which it is done, which may be that of a review, takes a census along in any case. It
is thrown away if it turns out not to be needed.

`Notices` goes along as well: that trees go without something for lack of memory is an event of the history, once. It is
looked at in rounds that depend on the stream alone, as seldom as people can bear, for a block has to end there.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from threading import Lock
from typing import Any

from onlineboost.chain import restarts
from onlineboost.chain.diary import MEMORY, RESTART
from onlineboost.chain.restarts import Census, Plan, Told, Watch, growing_period, told_by
from onlineboost.chain.segments import Segment


class Visit:
    """What a block takes along. This one does nothing."""

    plan: Any = None  # to be carried out before segments learn the block (`restarts.Plan`)
    question: str | None = None  # what segments that are elsewhere are asked after it: a method of `cluster.parts.Part`

    def answered(self, answers: list[Any]) -> None:
        """They have answered, part by part."""

    def before(self, segment: Any) -> None:
        """A segment is about to learn the block."""

    def after(self, segment: Any) -> None:
        """It has learned the block."""

    def leave(self) -> None:
        """All segments have, and the block leaves the chain."""


NOTHING = Visit()


class Visitor(ABC):
    """Who sends visits along while rows stream through a chain. Blocks enter and leave in order, in two threads."""

    @abstractmethod
    def rows(self, threads: int) -> int:
        """Rows that the coming block may have, at most, with this many threads."""

    def waits(self) -> bool:
        """Whether the coming block must not enter yet."""
        return False

    @abstractmethod
    def visit(self, before: int, after: int) -> Visit:
        """What a block takes along that has entered: the rounds after `before`, up to `after`."""

    def settled(self) -> bool:
        """Whether all that was sent along has come back, as far as `end` needs it."""
        return True

    def end(self) -> None:  # noqa: B027 (most have nothing to do then)
        """All rows have gone through."""


class Review(Visit):
    """What reviews send along with a block."""

    def __init__(self, reviews: Reviews, plan: Plan | None, census: Census | None) -> None:
        self.reviews = reviews
        self.plan = plan  # to be carried out before segments learn the block
        self.census = census  # of them after it

    def before(self, segment: Segment) -> None:
        if self.plan is not None:
            self.plan.carry_out(segment)

    def after(self, segment: Segment) -> None:
        if self.census is not None:
            self.census.put(told_by(segment))

    @property
    def question(self) -> str | None:  # type: ignore[override]
        return None if self.census is None else "census"

    def answered(self, answers: list[list[Told]]) -> None:
        """What the parts tell of their learners makes a census, and that a review."""
        assert self.census is not None
        for told in (told for part in answers for told in part):
            self.census.put(told)
        self.leave()

    def leave(self) -> None:
        self.reviews.note(self.plan)
        if self.census is not None:
            self.reviews.hold(self.census)


class Reviews(Visitor):
    """The reviews of a chain while rows stream through it: see `Chain.stream`. The lock is for what two threads use."""

    def __init__(self, chain: Any, auto: bool) -> None:
        self.chain, self.auto = chain, auto
        self.watch: Watch = chain.watch
        self._last = self.watch.plan  # the last plan that was made
        self._plans = {} if self._last is None else {self._last.at: self._last}  # that no block has taken along
        self._open: list[int] = []  # rounds of reviews on their way; the second one may turn out not to be due
        self._lock = Lock()

    def _rounds_to_review(self, t: int) -> int:
        """Rounds after round t until the next review, which is not before what the last one decided is done."""
        after = t if self._last is None else max(t, self._last.at - 1)
        period = restarts.period_of(self.watch, after, self.auto)
        return after - t + period - after % period

    def _is_due(self, t: int) -> bool:
        return self._rounds_to_review(t - 1) == 1

    def _decided(self, t: int) -> int:
        """The round after which is done what the review of round t decides."""
        return t + restarts.lag_of(self.watch, t, self.auto)

    def rounds(self) -> int:
        """Rounds that can enter from here on before a block has to end."""
        t = self.chain.t
        with self._lock:
            if self._open:
                return self._decided(self._open[0]) - t
            plans = [at - t for at in self._plans if at > t]
            return min([self._rounds_to_review(t), *plans])

    def rows(self, threads: int) -> int:
        """For threads so few that all have something to do while a review is on its way."""
        rounds = self.rounds()
        if threads == 1:
            return rounds
        lag = restarts.lag_of(self.watch, self.chain.t + 1, self.auto)
        return min(rounds, max(-(-rounds // 2), lag // (threads - 1)))

    def waits(self) -> bool:
        """Whether the coming block has to wait for a decision."""
        with self._lock:
            return bool(self._open) and self.chain.t >= self._decided(self._open[0])

    def settled(self) -> bool:
        """Whether no review is on its way."""
        with self._lock:
            return not self._open

    def visit(self, before: int, after: int) -> Review:
        with self._lock:
            plan, census = self._plans.pop(before, None), None
            if self._may_be_due(after) if self._open else self._is_due(after):
                self._open.append(after)
                census = Census(after, self.chain.n_learners)
        return Review(self, plan, census)

    def _may_be_due(self, t: int) -> bool:
        """Whether a review may be due after round t, for all that is known while another one is on its way."""
        return t == self._decided(self._open[0]) and t % restarts.PERIOD == 0

    def hold(self, census: Census) -> None:
        """A census is complete. Hold the review, if it is one."""
        with self._lock:
            if census.t not in self._open:
                return
            if self._last is not None and self._last.at == census.t:
                census.foresee(self._last)
            plan = restarts.decide(self.watch, census, self.chain.seed, self.auto)
            self._last = self._plans[plan.at] = plan
            del self._open[0]
            if self._open and not self._is_due(self._open[0]):
                del self._open[0]

    def end(self) -> None:
        """All rows have gone through. A plan for this round is carried out now, a later one kept."""
        plan = self._plans.pop(self.chain.t, None)
        self.note(plan)
        if plan is not None:
            self.chain.carry_out(plan)
        self.watch.plan = next(iter(self._plans.values()), None)

    def note(self, plan: Plan | None) -> None:
        """A plan is carried out: the diary gets to know."""
        if plan is not None and len(plan.chosen):
            self.chain.diary.note(plan.at, RESTART, sorted(plan.chosen.tolist()))


# ------------------------------------------------------------------------------------------ memory that is used up

NOTICE = 2048  # rounds after which the chain is looked at;
SELDOM, LONGEST = 4, 16_384  # they grow with the stream to t / SELDOM, or to this


class Tally(Visit):
    """The trees that have gone without something up to round t, which segments hand in one by one."""

    question = "limited_trees"

    def __init__(self, chain: Any, t: int) -> None:
        self.chain, self.t, self.trees = chain, t, 0

    def after(self, segment: Segment) -> None:
        self.trees += segment.learners.limited()

    def answered(self, answers: list[int]) -> None:
        self.trees = sum(answers)
        self.leave()

    def leave(self) -> None:
        diary = self.chain.diary
        if self.trees and not diary.limited:
            diary.limited = True
            diary.note(self.t, MEMORY, [self.trees])


class Notices(Visitor):
    """Looks at a chain with a memory limit while rows stream through it: see `Chain.stream`."""

    def __init__(self, chain: Any) -> None:
        self.chain = chain

    def rows(self, threads: int) -> int:
        return _rounds_to_notice(self.chain.t)

    def visit(self, before: int, after: int) -> Visit:
        return Tally(self.chain, after) if _rounds_to_notice(after - 1) == 1 else NOTHING


def _rounds_to_notice(t: int) -> int:
    period = growing_period(t, NOTICE, SELDOM, LONGEST)
    return period - t % period
