"""What goes along the chain with a block, besides its rows: to look at the segments, or to change them, on the way.

A *visitor* knows in which rounds it has something to do. There a block has to end. It says so before the block enters,
and gives it a *visit* along, which each segment gets to see before and after it learns the block.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from onlineboost.chain.segments import Segment


class Visit:
    """What a block takes along. This one does nothing."""

    plan: Any = None  # to be carried out before segments learn the block (`restarts.Plan`)
    question: str | None = None  # what segments that are elsewhere are asked after it: a method of `cluster.parts.Part`

    def answered(self, answers: list[Any]) -> None:
        """They have answered, part by part."""

    def before(self, segment: Segment) -> None:
        """A segment is about to learn the block."""

    def after(self, segment: Segment) -> None:
        """It has learned the block."""

    def leave(self) -> None:
        """All segments have, and the block leaves the chain."""


NOTHING = Visit()


class Visits(list[Visit]):
    """All that a block takes along. A step of the chain that is no segment's has no visits."""

    def before(self, segment: Segment | None) -> None:
        if segment is not None:
            for visit in self:
                visit.before(segment)

    def after(self, segment: Segment | None) -> None:
        if segment is not None:
            for visit in self:
                visit.after(segment)

    def leave(self) -> None:
        for visit in self:
            visit.leave()


class Visitor(ABC):
    """Who sends visits along while rows stream through a chain. Blocks enter and leave in order, in two threads."""

    @abstractmethod
    def rows(self, threads: int) -> int:
        """Rows that the coming block may have, at most, if there are so many threads."""

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


def any_waits(visitors: Sequence[Visitor]) -> bool:
    return any(visitor.waits() for visitor in visitors)
