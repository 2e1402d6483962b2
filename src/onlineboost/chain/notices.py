"""That trees go without something for lack of memory is noted in the diary, once, while rows go through the chain.

It is looked at in rounds that depend on the stream alone, as seldom as people can bear: a block has to end there.
"""

from __future__ import annotations

from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import MEMORY
from onlineboost.chain.restarts import growing_period, rounds_to_multiple
from onlineboost.chain.segments import Segment
from onlineboost.chain.visits import NOTHING, Visit, Visitor

NOTICE = 2048  # rounds after which the chain is looked at;
SELDOM, LONGEST = 4, 16_384  # they grow with the stream to t / SELDOM, or to this


class Tally(Visit):
    """The trees that have gone without something up to round t, which segments hand in one by one."""

    question = "limited_trees"

    def __init__(self, chain: Chain, t: int) -> None:
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

    def __init__(self, chain: Chain) -> None:
        self.chain = chain

    def rows(self, threads: int) -> int:
        return _rounds_to_notice(self.chain.t)

    def visit(self, before: int, after: int) -> Visit:
        return Tally(self.chain, after) if _rounds_to_notice(after - 1) == 1 else NOTHING


def _rounds_to_notice(t: int) -> int:
    return rounds_to_multiple(t, growing_period(t, NOTICE, SELDOM, LONGEST))
