"""Where the learners of a chain are: in this process, or in others (`cluster.remote`)."""

from __future__ import annotations

from typing import Any


class Place:
    """In this process: what is done to the chain here is all there is to do."""

    is_here = True
    wanted = True  # whether someone wants to know what is predicted of rows that are learned

    def stream(self, chain: Any, *rows: Any) -> int:
        """`Chain.stream`."""
        return chain.stream(*rows)  # type: ignore[no-any-return]

    def whole(self, chain: Any) -> Any:
        """The chain with all that was learned so far, to predict with."""
        return chain

    def rehearse(self, chain: Any, n_columns: int, k: int, combiner: Any) -> None:
        chain.rehearse(n_columns, k, combiner)

    def changed(self, what: str, *args: Any) -> None:
        """The method `what` of the chain has been called with these, between two blocks."""

    def carry_out(self, segments: Any, plan: Any) -> None:
        """Start learners again as a review has decided (`restarts.Plan`)."""
        for segment in segments:
            plan.carry_out(segment)

    def new_classes(self, k: int, columns: Any) -> None:
        """There will be k classes from the coming block on."""

    def settle(self) -> None:
        """All rows of a call have been sent: until what is said of them is known, if someone wants to know."""


HERE = Place()
