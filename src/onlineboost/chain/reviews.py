"""Reviews as part of the assembly line: they are held, and their plans carried out, while rows go through the chain.

A block that ends in the round of a review takes a *census* along: each segment, having learned the block, puts in what
has to be known of its learners. At the end of the chain the census is complete, and the review decides
(`restarts.decide`). The plan goes with the block that begins LAG rounds after the review: each segment carries out its
part before it learns that block. So a block has to wait, at the head of the chain, only where it would begin LAG rounds
after a review that has not decided yet.

When the next review is due depends on what the last one decides. Until that is known, a block that may end in the round
of a review takes a census along in any case. It is thrown away if it turns out not to be needed.
"""

from __future__ import annotations

from threading import Lock
from typing import NamedTuple

from onlineboost.chain import restarts
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import RESTART
from onlineboost.chain.restarts import Census, Plan, Watch
from onlineboost.chain.segments import Segment


class Visit(NamedTuple):
    """What a block takes along to the segments."""

    plan: Plan | None  # to be carried out before they learn the block
    census: Census | None  # of them after it

    def before(self, segment: Segment) -> None:
        if self.plan is not None:
            self.plan.carry_out(segment)

    def after(self, segment: Segment) -> None:
        if self.census is not None:
            self.census.take(segment)


class Reviews:
    """The reviews of a chain while rows stream through it: see `Chain.stream`.

    Blocks enter and leave in two threads, each in order; the lock is for what both use.
    """

    def __init__(self, chain: Chain, auto: bool) -> None:
        self.chain, self.auto = chain, auto
        self.watch: Watch = chain.watch
        self._last = self.watch.plan  # the last plan that was made
        self._plans = {} if self._last is None else {self._last.at: self._last}  # that no block has taken along
        self._open: list[int] = []  # rounds of reviews on their way; all but the first may turn out not to be due
        self._lock = Lock()

    def _is_due(self, t: int) -> bool:
        return restarts.rounds_to_review(self.watch, t - 1, self.auto) == 1

    def rounds(self) -> int:
        """Rounds that can enter from here on before a block has to end."""
        t = self.chain.t
        with self._lock:
            if self._open:
                return min(self._open[0] + restarts.LAG - t, restarts.PERIOD - t % restarts.PERIOD)
            plans = [at - t for at in self._plans if at > t]
            return min([restarts.rounds_to_review(self.watch, t, self.auto), *plans])

    def rows(self, threads: int) -> int:
        """Rows of the coming block: for threads so few that all have something to do while a review is on its way."""
        rounds = self.rounds()
        return rounds if threads == 1 else min(rounds, max(-(-rounds // 2), restarts.LAG // (threads - 1)))

    def waits(self) -> bool:
        """Whether the coming block has to wait for a decision."""
        with self._lock:
            return bool(self._open) and self.chain.t >= self._open[0] + restarts.LAG

    def settled(self) -> bool:
        """Whether no review is on its way."""
        with self._lock:
            return not self._open

    def visit(self, before: int, after: int) -> Visit:
        """What a block takes along that has entered: the rounds after `before`, up to `after`."""
        with self._lock:
            plan, census = self._plans.pop(before, None), None
            if after % restarts.PERIOD == 0 if self._open else self._is_due(after):
                self._open.append(after)
                census = Census(after, self.chain.n_learners)
        self._note(plan)
        return Visit(plan, census)

    def hold(self, census: Census) -> None:
        """A census is complete. Hold the review, if it is one."""
        with self._lock:
            if census.t not in self._open:
                return
            if self._last is not None and self._last.at == census.t:
                census.foresee(self._last)
            plan = restarts.decide(self.watch, census, self.chain.seed, self.auto)
            if len(plan.chosen):
                self._last = self._plans[plan.at] = plan
            del self._open[0]
            while self._open and not self._is_due(self._open[0]):
                del self._open[0]

    def end(self) -> None:
        """All rows have gone through. A plan for this round is carried out now, a later one kept."""
        plan = self._plans.pop(self.chain.t, None)
        self._note(plan)
        if plan is not None:
            self.chain.carry_out(plan)
        self.watch.plan = next(iter(self._plans.values()), None)

    def _note(self, plan: Plan | None) -> None:
        if plan is not None:
            self.chain.diary.note(plan.at, RESTART, sorted(plan.chosen.tolist()))
