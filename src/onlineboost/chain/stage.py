"""The stages of a model: what a block of rows goes through, one after the other.

    clip       `clipping`: outliers are clipped
    panel      `panel_stage`, if there is one: unlike learners side by side, whose votes the segments start from
    segments   `segments`: neighbouring weak learners and their booster, each adding to the votes
    end        `hedge`, `stacking` or `one_vs_all`: takes in the votes after each segment, says what is predicted

Whoever works on a chain (threads, memory, files, explanations, a cluster) goes over its stages, and asks none what it
is.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np

from onlineboost.chain.experts import Combiner
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import loaded


class Block(NamedTuple):
    """A block of examples on its way."""

    rows: Rows
    y: np.ndarray  # int64 (rows,) labels, and
    weight: np.ndarray  # float64 (rows,) weights of the examples; (0,) where they are to be predicted
    booster: Booster  # of the first segment: what all segments share is in it
    combiner: Combiner
    costs: np.ndarray | None  # (k, k) what mistakes cost; None: 1 each
    kept: Any = None  # what the end of the chain keeps of it


class Stage:
    """What all stages share: they grow with the stream. Most need not do anything for it."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, [*map(loaded, value)] if isinstance(value, list) else loaded(value))

    def set_classes(self, k: int) -> None:
        """From here on there are k classes."""

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """There is room for these numbers of values of each nominal column, which appeared first in these rounds."""

    def new_columns(self, numeric: int, nominal: int) -> None:
        """There are this many more columns of each kind, the last of their kind, in which nothing has been met."""

    def allot(self, share: float, width: int) -> None:
        """Each tree may have this many bytes; rows of statistics will be `width` numbers wide."""

    def nbytes(self) -> dict[str, int]:
        """Bytes in use, part by part."""
        return {}

    def most_bytes(self, k: int) -> int:
        """What it takes at most with k classes, if there is an end to it by itself: a limit counts all of it."""
        return 0

    def identity(self) -> tuple[Any, ...]:
        """The states that it works on: as long as they are the same objects, what was prepared with them is good."""
        return ()


class Voter(NamedTuple):
    """A weak learner that has a say in what a chain predicts."""

    at: int  # its place among all learners of the chain
    number: int  # what users know it by: the same, or its place in the booster of its class
    learners: Any  # those of its segment,
    place: int  # and its place among them
    weight: float  # of its vote
    effect: np.ndarray  # float64 (labels of its own, classes) what a vote of weight 1 adds to the score
    of_class: int = -1  # whose booster it belongs to, where each class has one
    group: str = "votes"  # what an explanation counts it to


class End(Stage, ABC):
    """The end of a chain: it takes in the votes after each segment, and says what is predicted."""

    name: str  # in model files
    takes_turns = False  # whether its segments know nothing of each other: they stay as they are
    trees_see_wide = True  # whether trees learn what single values of wide columns mean
    follows_experts = True  # whether a prediction is that of an expert, or of several
    learns_from_trace = False  # whether it needs the votes after every learner, if nobody asks

    @property
    @abstractmethod
    def log_vs(self) -> list[np.ndarray]:
        """The log weights of all experts there are."""

    @property
    def n_experts(self) -> int:
        """Experts of whom a block keeps what they say."""
        return sum(map(len, self.log_vs))

    @abstractmethod
    def copy(self) -> Self: ...

    # --------------------------------------------------------------------------------------- the segments before it

    def groups(self, segments: list[Any]) -> list[list[Any]]:
        """Neighbouring segments that could be one."""
        return [segments]

    def parted(self, segments: list[Any]) -> list[Any]:
        """The segments as it needs them, from those that were saved."""
        return segments

    def segments_of(self, segments: list[Any], k: int) -> list[Any]:
        """The segments with k classes, to know what they take."""
        return segments

    def classes_of(self, k: int) -> int:
        """Classes that a segment tells apart, where there are k."""
        return k

    def begin(self) -> None:
        """A call of the user begins."""

    def take_labels(self, codes: np.ndarray) -> np.ndarray:
        """The codes of the labels of a call, as they were read; one for each row."""
        return codes

    # ------------------------------------------------------------------------------------------- a block on its way

    def new_notes(self, booster: Booster, n: int, k: int, weight: np.ndarray | None) -> Any:
        return booster.new_notes(n, k, weight)

    @abstractmethod
    def open(self, rows: Rows, combiner: Combiner) -> Any:
        """What it keeps of a block: `Block.kept`."""

    def is_traced(self, combiner: Combiner) -> bool:
        """Whether probabilities need the votes after every learner, while a block is learned."""
        return False

    def start(self, block: Block) -> None:
        """The votes of a panel are in rows.s, from which the segments go on."""

    @abstractmethod
    def learn(self, i: int, segment: Any, block: Block) -> None:
        """Segment i learns a block, and what it says is taken in."""

    @abstractmethod
    def leave(self, block: Block, out: np.ndarray, *, heard: bool) -> np.ndarray | None:
        """A labelled block has gone through all segments: `out` gets what was predicted.

        If somebody listens (`heard`), returns the probabilities (rows, k) before the labels were known.
        """

    # --------------------------------------------------------------------------------------------------- predicting

    @abstractmethod
    def walk(self, combiner: Combiner, t: int) -> int:
        """How many learners the prediction of round t needs."""

    def ask(self, i: int, segment: Any, block: Block, n_learners: int, cache: Any) -> None:
        """Send a block through the first `n_learners` of segment i, without a label."""
        segment.predict(block.rows, n_learners, cache)

    @abstractmethod
    def forecast(self, block: Block, walk: int) -> tuple[np.ndarray, np.ndarray]:
        """Codes predicted for a block that has been asked about, and probabilities (rows, k)."""

    def labels(self, block: Block, walk: int) -> np.ndarray:
        """The codes alone."""
        return self.forecast(block, walk)[0]

    # --------------------------------------------------------------------------------------------------- explaining

    @abstractmethod
    def voters(self, segments: list[Any], k: int, combiner: Combiner, t: int, *, now: bool) -> list[Voter]:
        """All learners that have a say in round t, in order.

        `now`: in this round, in which Hedge follows one expert; otherwise every expert counts by its weight.
        """

    def votes_of_each(self, segments: list[Any], block: Block) -> list[np.ndarray]:
        """What each learner adds to the votes of one row."""
        return [vote for segment in segments for vote in segment.votes_of_each(block.rows)[:, 0]]

    def scores(self, votes: np.ndarray, p: np.ndarray) -> np.ndarray:
        """What an explanation of a row behind a panel adds up to, by its votes and probabilities (k,)."""
        logits: np.ndarray = np.log(p)
        return logits - logits.mean()

    def expert_weights(self) -> np.ndarray:
        """Hedge's probabilities of following each expert."""
        (log_v,) = self.log_vs
        v = np.exp(log_v - log_v.max())
        weights: np.ndarray = v / v.sum()
        return weights

    # ---------------------------------------------------------------------------------------- parts in other places

    @abstractmethod
    def votes_of(self, block: Block, done: int) -> dict[str, Any]:
        """What another process has to know of a block that has gone through the first `done` learners."""

    @abstractmethod
    def put_votes(self, block: Block, votes: dict[str, Any]) -> None:
        """The other way round: a block that has just entered is as it left the part before."""

    def adopt(self, i: int, segment: Any, other: Self) -> None:
        """Take over what another one, beside which segment i has learned, knows of the experts of this segment."""

    @abstractmethod
    def sliced(self, kept: Any, part: slice) -> Any:
        """What is kept of some rows of a block, in the same arrays."""

    # -------------------------------------------------------------------------------------------------- single rows

    @abstractmethod
    def learning_steps(self, row: Any) -> tuple[list[Any], list[Any]]:
        """What makes the segments ready for a row (`rows.Row`), and what sends it through: steps of `rows`."""

    @abstractmethod
    def asking(self, row: Any) -> Any:
        """A `rows.Asking` for this row."""


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
