"""A chain whose learners are in other processes: rows go down the line, and what is said of them comes back.

The learners that are left in the chain are stand-ins (`parts`). The classifier reads, checks and encodes rows as ever.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.reviews import Visitor
from onlineboost.chain.stage import Place
from onlineboost.cluster.line import Line
from onlineboost.cluster.parts import Change, Learned, Parcel, Said, State, new_parcel
from onlineboost.contracts.state import loaded


class Remote(Place):
    """The processes of a line, as the place of the learners of a chain."""

    is_here = False

    def __init__(self, line: Line, rows: int) -> None:
        self.line = line
        self.rows = rows  # of a block
        self.wanted = False  # whether someone wants to know what is predicted
        self._owed = False  # whether the next row's prediction is known already: what is said of it must not come later
        self._classes = 0  # that the parts know of

    # arguments: those of `Chain.stream`
    def stream(  # type: ignore[override]
        self,
        chain: Chain,
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
        n, before, heard = len(X), chain.t, chain.heard
        asked = {"combiner": int(combiner), "costs": chain.costs, "heard": heard is not None}
        asked["traced"] = chain.is_traced(combiner)
        size, done = chain.most_rows(self.rows, k, combiner), 0
        while done < n and not (done and stop()):
            self.line.wait(lambda: not any(visitor.waits() for visitor in visitors))
            rows = min([size, n - done, *(visitor.rows(self.line.parts) for visitor in visitors)])
            part = slice(done, done + rows)
            sink = partial(_take, out[part], heard) if self.wanted or heard is not None else None
            chain.diary.keep(X[part], y[part], chain.t)
            self._send_rows(chain, new_parcel(X[part], y[part], weight[part], k, **asked), sink, visitors)
            done = chain.t - before
        for visitor in visitors:
            self.line.wait(visitor.settled)
            visitor.end()
        if heard is not None or self._owed:
            self.line.drain()
            self._owed = False
        return done

    def _send_rows(self, chain: Chain, block: Parcel, sink: Any, visitors: Sequence[Visitor]) -> None:
        """A plan goes ahead of a block, questions behind it: what the parts answer is handed in at once."""
        after = chain.t + len(block.y)
        visits = [visitor.visit(chain.t, after) for visitor in visitors]
        for visit in visits:
            if visit.plan is not None:
                self.carry_out((), visit.plan)
        self.line.send(block, sink)
        chain.t = after
        for visit in visits:
            if visit.question is None:
                visit.leave()
            else:
                self.line.send(Change(visit.question, ()), visit.answered)

    def whole(self, chain: Chain) -> Chain:
        """A chain, here, with all that the parts have learned so far."""
        answers = self.line.ask("learned", self.line.folder)  # all is known after this
        parts: list[Learned] = [unpickled(part) for part in answers]
        whole = chain.copy_with([*chain.segments])
        whole.panel, whole.end, whole.numbers = parts[0].panel, parts[-1].end, loaded(parts[-1].numbers)
        for part in parts:
            for i, segment in part.segments.items():
                whole.segments[i] = segment
                whole.end.adopt(i, segment, part.end)
        if whole.can_join:
            whole.join_up()
        return whole

    def rehearse(self, chain: Chain, n_columns: int, k: int, combiner: Any) -> None:
        """The parts compile what they need."""

    def changed(self, what: str, *args: Any) -> None:
        self.line.send(Change(what, args))

    def carry_out(self, segments: Any, plan: Any) -> None:
        self.changed("carry_out", plan)

    def new_classes(self, k: int, columns: Any) -> None:
        if k > self._classes:
            self.changed("set_classes", k, columns)
            self._classes, self._owed = k, self.wanted

    def settle(self) -> None:
        if self.wanted:
            self.line.drain()


def _take(out: np.ndarray, heard: list[np.ndarray] | None, answers: list[Said]) -> None:
    """What is said of a block goes where it is wanted."""
    said = answers[-1]
    out[:] = said.codes
    if heard is not None:
        heard.extend(map(np.array, said.heard))


def unpickled(state: State) -> Any:
    """A pickle, or what was in a file with one, which is not needed any more."""
    if isinstance(state, bytes):
        return pickle.loads(state)
    with Path(state).open("rb") as file:
        found = pickle.load(file)
    Path(state).unlink()
    return found
