"""The contract of a booster: what happens between a weak learner's distribution and the votes.

A booster's state is a NamedTuple, made a booster by :func:`booster`. Every array in it has one entry per learner along
its first axis; what is shared by all learners (settings, tables) is a number or a NamedTuple. Four fields are a must:

    seed        of all that is drawn
    scale       float64 (learners,) factor of the weights that the learners are trained with
    n_learners  number of learners of the whole chain
    offset      number of learners before this segment

Below, i is a learner of the segment, b a row of the block, l a label voted for, y the label, `place` what `prepare` has
returned, and `work` has what the learner said, in its first n entries. An algorithm that can do its part on a whole
block at once, before the learner or after it, does so in `prepare_block` and `settle_block`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from onlineboost._compile.dispatch import Contract
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.schema import Field, whole
from onlineboost.contracts.state import along, between, joined

BOOSTER = Contract("booster")
WHOLE_CHAIN = Field(size="learners")  # of n_learners and offset: in files, a chain is one segment
FIRST = whole(0, 0)


@BOOSTER.optional_loop
def start(booster, rows, weight):
    """A row is at the head of the chain: put into rows.notes what `new_notes` puts there.

    For single rows, whose arrays are used again. Without it, a single row goes through as a block does.
    """
    return


@BOOSTER.optional_loop
def take_votes(booster, rows):
    """The votes of a panel are in rows.s. This booster starts from none; one that starts from them says so here.

    For single rows, as `Methods.begin` does it for blocks.
    """
    rows.s[:] = 0.0


@BOOSTER.optional
def prepare_block(booster, i, rows, y):
    """Before learner i is asked about a labelled block. May be called again for the same block."""
    return


@BOOSTER.optional
def prepare(booster, i, rows, b, y, work, n):
    """Learner i has said something about row b; y = -1: the label is not known. Returns `place`."""
    return 0


@BOOSTER.kernel
def weigh(booster, i, rows, b, y, weight, place):
    """The weight with which learner i is to learn row b, `weight` being the example's own."""


@BOOSTER.kernel
def vote(booster, i, rows, b, t, place, work, n):
    """The label that learner i votes for in round t."""


@BOOSTER.optional
def recalls(booster):
    """Whether a row that was just predicted is learned with the same votes: nothing else in `work` is needed then."""
    return False


@BOOSTER.kernel
def cast(booster, i, rows, b, l, work, n):
    """Add learner i's vote to rows.s, and what the first i learners say together to rows.experts."""


@BOOSTER.kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    """`cast`, and let the booster learn that the label is y."""


@BOOSTER.optional
def lesson(booster, i, rows, b, y):
    """The label that learner i is taught for row b, if its weight is above 0."""
    return y


@BOOSTER.optional
def more(booster, i, rows, b):
    """Whether learner i is to be asked and taught about row b once more, before the next row."""
    return False


@BOOSTER.optional
def settle(booster, learner, i, rows, b, y, weight, learned, scratch, work):
    """Learner i has learned row b with weight `learned`. It may be asked again (`contracts.learner.ask`)."""
    return


@BOOSTER.optional
def settle_block(booster, i, rows, y, weight):
    """After learner i has learned a block."""
    return


# -------------------------------------------------------------------------------------- outside of kernels

Booster = Any  # a NamedTuple with the methods below: type checkers do not know what a decorator adds
State = TypeVar("State", bound=type)


def booster(kind: State) -> State:
    """Make a NamedTuple a booster's state: methods that it has not itself are those of :class:`Methods`."""
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    if missing := {"seed", "scale", "n_learners", "offset"} - set(fields):
        raise TypeError(f"{kind.__name__} is not a booster: it has no field {', '.join(sorted(missing))}")
    for name, method in vars(Methods).items():
        if not name.startswith("__") and not hasattr(kind, name):
            setattr(kind, name, method)
    return kind


class Methods:
    """What a booster can do outside of kernels, unless it says otherwise."""

    def new_notes(self: Any, n: int, k: int, weight: np.ndarray | None) -> Any:
        """Rows.notes of a block of n rows with these example weights (None: predicting)."""
        return None

    def takes_votes(self: Any) -> bool:
        """Whether the votes of a chain can start from others than none, as `begin` has it: those of a panel."""
        return False

    def begin(self: Any, rows: Rows) -> None:
        """A block whose votes, rows.s, do not start at 0: see to rows.lead and rows.notes."""
        rows.lead[:] = rows.s.argmax(axis=1)

    def hand_on(self: Any, rows: Rows) -> dict[str, np.ndarray]:
        """What the next segment needs beside the votes if it is elsewhere, but for what `begin` makes of them."""
        return {} if rows.notes is None else rows.notes._asdict()

    def take_up(self: Any, rows: Rows, handed: dict[str, np.ndarray]) -> None:
        """The other way round, after `begin`."""
        for name, values in handed.items():
            getattr(rows.notes, name)[:] = values

    def probabilities(self: Any, rows: Rows, n_votes: int) -> np.ndarray:
        """Probabilities (rows, k) from the votes of the first `n_votes` learners: softmax."""
        e = np.exp(rows.s - rows.s.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)

    def edges(self: Any, k: int) -> np.ndarray:
        """Empirical edges of the learners: at most 1, and 0 for random guesses or before any example."""
        return np.zeros(len(self.scale))

    def adapts(self: Any) -> bool:
        """Whether what learners are taken to be good for follows what they show, in reviews (`chain.gammas`)."""
        return False

    def part(self: Any, start: int, stop: int) -> Any:
        """The booster of some of the learners, with its own copy of their state."""
        own = between(self.without_cache(), "learners", start, stop)
        return own._replace(offset=self.offset + start).with_cache()

    def join(self: Any, others: Sequence[Any]) -> Any:
        """One booster of this one's learners and those of the others, which come after it."""
        return joined([self.without_cache(), *others], "learners").with_cache()

    def per_learner(self: Any) -> list[str]:
        """The fields with an entry for every learner."""
        return list(along(self, "learners"))

    def with_cache(self: Any, cache: Any = None) -> Any:
        """With a cache to work with, for one thread at a time; None: a new one."""
        return self

    def without_cache(self: Any) -> Any:
        """Without what can be made again."""
        return self

    def completed(self: Any) -> Any:
        """A booster that was read from a file, with what can be computed and is not saved."""
        return self

    def new_cache(self: Any) -> Any:
        """A cache for a thread that predicts; None: it needs none."""
        return None

    def tables_of(self: Any, k: int, spare: float) -> Any:
        """The tables with k classes that all learners share. Those there are, if no others take `spare` bytes more."""
        return None

    def cache_bytes(self: Any) -> int:
        """The most bytes of the caches of a whole chain, one for predicting included."""
        return 0
