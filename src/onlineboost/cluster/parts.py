"""A part of a chain, for a process of its own: some of its steps, and what the others have to know about each other.

Every part has the whole chain, but of the learners of other parts it has stand-ins that have learned nothing. So the
code of the chain and of the classifiers works on it as it is: what changes the whole chain between two blocks (new
classes, new values, restarts) is done in every part, in the same order. Stand-ins take some hundred bytes each.

A `Parcel` is what travels from one part to the next with a block: its rows and labels, the votes so far, and whom the
rows would follow by the experts so far (`End.votes_of`). How many learners there are makes no difference. All else is
derived from these where it is needed. Every part learns what is believed of the columns for itself, from the rows as
they came.
"""

from __future__ import annotations

import io
import pickle
import time
from contextlib import suppress
from copy import deepcopy
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple, cast

import numpy as np

from onlineboost.chain.chain import OF_THIS_PROCESS, SEGMENTS_PER_THREAD, Chain, block_size
from onlineboost.chain.experts import Combiner
from onlineboost.chain.gammas import next_steps_of
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.memory_budget import limited_trees
from onlineboost.chain.restarts import Plan, Told, told_by
from onlineboost.chain.segments import Segment, even_work
from onlineboost.chain.stage import Block, End
from onlineboost.chain.threads import flow
from onlineboost.contracts.state import cut, loaded, restore
from onlineboost.trees.state import RECORDS, Columns, Forest, tables_in_use


class Lost(Exception):
    """A part of the chain, or what it had made, is gone: go back to the last checkpoint."""


class Parcel(NamedTuple):
    """A labelled block on its way."""

    X: np.ndarray  # float64 (rows, columns), as it came
    y: np.ndarray  # (rows,) codes, in as few bytes as the classes need
    weight: np.ndarray | None  # float64 (rows,); None: all 1
    k: int
    combiner: int
    costs: np.ndarray | None  # what mistakes count for the experts
    heard: bool  # whether someone asks for probabilities
    traced: bool  # whether these need the votes after every learner
    votes: dict[str, Any]  # so far; empty at the head of the chain


def new_parcel(X: np.ndarray, y: np.ndarray, weight: np.ndarray, k: int, **asked: Any) -> Parcel:
    """A block at the head of the chain."""
    own = None if (weight == 1.0).all() else weight
    return Parcel(np.ascontiguousarray(X), y.astype(np.min_scalar_type(k)), own, k, votes={}, **asked)


def arrived(block: Parcel) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y and weight as kernels want them. What another process has sent can only be read: another type to them."""
    weight = np.ones(len(block.y)) if block.weight is None else np.array(block.weight)
    return np.array(block.X), block.y.astype(np.int64), weight


def sliced(end: End, block: Block, part: slice) -> Block:
    """Some rows of a block, in the same arrays."""
    rows = block.rows
    notes = None if rows.notes is None else type(rows.notes)(*(array[part] for array in rows.notes))
    arrays = {name: getattr(rows, name)[part] for name in ("X", "missing", "spread", "again", "s", "lead", "experts")}
    some = rows._replace(**arrays, t=rows.t + part.start, notes=notes, trace=rows.trace[:, part])
    return block._replace(rows=some, y=block.y[part], weight=block.weight[part], kept=end.sliced(block.kept, part))


def pieces(group: Any) -> list[Any]:
    """A pickle, in pieces, in which trees are as they lie in their tables, but for room that is not in use.

    To sort them for a file takes ten times as long. Large arrays come after all else, so that each is copied once.
    """
    text = io.BytesIO()
    arrays: list[pickle.PickleBuffer] = []
    _Pickler(text, protocol=5, buffer_callback=arrays.append).dump(group)
    parts = [text.getbuffer(), *(array.raw() for array in arrays)]
    sizes = np.array([len(parts), *(part.nbytes for part in parts)], np.int64)
    return [sizes.tobytes(), *parts]


def loads(state: Any) -> Any:
    """What `pieces` was given, from the pieces as one. Its arrays can only be read, unless they are `loaded`."""
    n = int(np.frombuffer(state, np.int64, 1)[0])
    ends = 8 * (n + 1) + np.cumsum([0, *np.frombuffer(state, np.int64, n, 8)])
    text, *arrays = (memoryview(state)[a:b] for a, b in pairwise(ends))
    return pickle.loads(text, buffers=arrays)


class _Pickler(pickle.Pickler):
    def reducer_override(self, thing: Any) -> Any:
        if not hasattr(thing, "forest"):
            return NotImplemented
        fields = cut(thing.forest, tables_in_use(thing.forest))._asdict()
        for name in RECORDS:
            fields[name] = fields[name].view(np.uint8)  # as plain bytes: a copy of a type is another type to kernels
        return _learners, (type(thing), {**thing.__dict__, "forest": fields})


def _learners(kind: type[TreeLearners], fields: dict[str, Any]) -> TreeLearners:
    learners = kind.__new__(kind)
    tables = {name: loaded(value) for name, value in fields["forest"].items()}
    for name, record in RECORDS.items():
        tables[name] = tables[name].view(record)
    learners.__dict__ = {**fields, "forest": Forest(**tables)}
    return learners


State = bytes | str  # of a part, or the path of a file with it


class Change(NamedTuple):
    """What is done in every part between two blocks: a method of `Part`, or of the chain, and what it is given."""

    name: str
    args: tuple[Any, ...]


class Learned(NamedTuple):
    """What a part alone has learned."""

    segments: dict[int, Segment]  # by their places in the chain
    panel: Any  # if it has one
    end: Any  # of the weights of experts, those of its segments
    numbers: Any  # what is known of the columns; None: another part says it


class Said(NamedTuple):
    """What the end of the chain says of a block."""

    codes: np.ndarray  # int64 (rows,) predicted before they were learned
    heard: list[np.ndarray]  # probabilities, if someone asks


class Part:
    """Some of the steps of a chain."""

    def __init__(self, estimator: Any, chain: Chain, index: int, owners: list[int], parts: int) -> None:
        self.estimator = estimator  # its settings
        self.chain = chain
        self.index, self.parts = index, parts
        self.owners = owners  # of the segments
        self.epoch = self.number = 0  # times that the line was put together again; messages that were done

    # ------------------------------------------------------------------------------- to another process, and back

    def state(self) -> list[Any]:
        """All of it, as `pieces`. (A chain that is pickled itself would be joined.)"""
        chain = {name: value for name, value in self.chain.__dict__.items() if name not in OF_THIS_PROCESS}
        return pieces((chain, {name: value for name, value in self.__dict__.items() if name != "chain"}))

    def checkpoint(self, folder: str | None) -> tuple[State, float]:
        """Its state, in a file that all machines can read if there is a folder; and the seconds that it took."""
        start = time.perf_counter()
        state = self._put(self.state(), folder, "state")
        return state, time.perf_counter() - start

    def _put(self, content: list[Any], folder: str | None, kind: str) -> State:
        """The pieces as one, in a file if there is a folder."""
        if folder is None:
            return b"".join(content)
        path = Path(folder) / f"part-{self.index}-{self.epoch}-{self.number}.{kind}"
        try:
            with path.open("wb") as file:
                file.writelines(content)
        except OSError:  # the disk is full, say: it has to travel
            with suppress(OSError):
                path.unlink()
            return b"".join(content)
        return str(path)

    @classmethod
    def of_state(cls, state: State, epoch: int = 0) -> Part:
        """What was once saved, for a line that has been put together `epoch` times. Messages of before do not count."""
        try:
            fields, own = loads(np.memmap(state, np.uint8, "r") if isinstance(state, str) else state)
        except OSError as error:  # the folder is not there, or not yet
            raise Lost(str(error)) from error
        part = cls.__new__(cls)
        chain = Chain.__new__(Chain)
        restore(chain, fields)  # in the segments that it is in
        chain._start()
        part.__dict__ = {**own, "chain": chain, "epoch": epoch}
        return part

    def _begins(self, epoch: int, number: int) -> bool:
        """Whether this message is the next one; a message that was done before is passed over."""
        if epoch != self.epoch or number > self.number + 1:
            raise Lost(f"message {number} of line {epoch} after {self.number} of {self.epoch}")
        if number <= self.number:
            return False
        self.number = number
        return True

    # ---------------------------------------------------------------------------------------------------- blocks

    def learn(self, epoch: int, number: int, block: Parcel, threads: int = 1) -> tuple[Parcel | None, Said | None]:
        """Learn a block. The same for the next part, or what is said of it at the end of the chain."""
        if not self._begins(epoch, number):
            return None, None
        chain = self.chain
        X, y, weight = arrived(block)
        chain.costs, chain.heard = block.costs, [] if block.heard else None
        entered = chain.enter(X, y, weight, block.k, Combiner(block.combiner))
        chain.end.begin()
        if block.votes:
            chain.end.put_votes(entered, block.votes)
        self._go_through(entered, 1 if block.traced else threads)
        if self.index < self.parts - 1:
            return block._replace(votes=chain.end.votes_of(entered, self._done())), None
        out = np.empty(len(y), np.int64)
        chain.leave(entered, out)
        return None, Said(out, chain.heard or [])

    def _go_through(self, block: Block, threads: int) -> None:
        """Its own segments learn a block; in the first part, the panel too."""
        own, n = [self.chain.segments[i] for i in self._own_segments()], len(block.y)
        size = block_size(n, threads, n)
        parts = [slice(a, min(a + size, n)) for a in range(0, n, max(size, 1))]
        some = [sliced(self.chain.end, block, part) for part in parts] if len(parts) > 1 else [block]

        def learn(step: Any, b: int) -> None:
            step(some[b])

        steps = [step for segment, step in self.chain.steps() if segment is None or segment in own]
        flow([partial(learn, step) for step in steps], len(parts), threads)

    def _done(self) -> int:
        """Learners that a block has gone through behind this part."""
        pairs = zip(self.chain.segments, self.owners, strict=False)
        return sum(len(segment) for segment, owner in pairs if owner <= self.index)

    # --------------------------------------------------------------------------------------------------- changes

    def change(self, epoch: int, number: int, change: Change) -> Any:
        """Change the whole chain, or look at it between two blocks."""
        if not self._begins(epoch, number):
            return None
        return getattr(self if hasattr(self, change.name) else self.chain, change.name)(*change.args)

    def set_classes(self, k: int, columns: Columns) -> None:
        self.estimator._set_classes(SimpleNamespace(chain=self.chain, columns=columns), k)

    def carry_out(self, plan: Plan) -> None:
        """Start its own learners again whose turn it is."""
        for i in self._own_segments():
            plan.carry_out(self.chain.segments[i])

    # -------------------------------------------------------------------------------------------------- questions

    def census(self) -> list[Told]:
        """What a review has to know of its own learners, as they are now."""
        return [deepcopy(told_by(self.chain.segments[i])) for i in self._own_segments()]

    def next_steps(self) -> list[tuple[slice, np.ndarray]]:
        """Where its own learners are to go (`chain.gammas`)."""
        return [next_steps_of(self.chain.segments[i]) for i in self._own_segments()]

    def limited_trees(self) -> int:
        """Number of its own trees that have ever gone without something for lack of memory."""
        return limited_trees(self.chain)  # a stand-in never has

    def learned(self, folder: str | None) -> State:
        """What this part alone has learned: a pickle, in a file if there is a folder."""
        chain = self.chain
        segments = {i: chain.segments[i] for i in self._own_segments()}
        last = self.index == self.parts - 1
        found = Learned(segments, chain.panel, chain.end, chain.numbers if last else None)
        return self._put([pickle.dumps(found, protocol=5)], folder, "learned")

    def _own_segments(self) -> list[int]:
        return [i for i in range(len(self.chain.segments)) if self._owner(i) == self.index]

    def _owner(self, i: int) -> int:
        """The part that has segment i."""
        return self.owners[i] if self.owners else i % self.parts


# ------------------------------------------------------------------------------------------------ cutting a chain


def divide(chain: Chain, parts: int, threads: int) -> list[int]:
    """Cut a chain so that every part has as much work, in segments enough for its threads; the segments' parts.

    None, if the segments, of which there may be more later, need no other: the parts then take turns.
    """
    if chain.end.takes_turns:
        return []
    n, pieces = chain.n_learners, parts * (SEGMENTS_PER_THREAD * threads if threads > 1 else 1)
    heads = even_work(n, parts)[:-1]
    bounds = {*even_work(n, pieces), *heads}
    starts, segments = [], []
    start = 0
    for segment in chain.segments:
        inside = sorted({bound - start for bound in bounds if start < bound < start + len(segment)})
        for a, b in pairwise([0, *inside, len(segment)]):
            segments.append(segment.between(a, b) if inside else segment)
            starts.append(start + a)
        start += len(segment)
    chain.segments = segments
    return [int(np.searchsorted(heads, start, side="right")) - 1 for start in starts]


def states_of(estimator: Any, chain: Chain, owners: list[int], parts: int) -> list[bytes]:
    """The parts of a chain that was divided, each to be sent to its process. Leaves stand-ins in the chain."""
    real = chain.segments
    stand_ins = [Segment(cast(TreeLearners, one.learners).stand_in(), one.join([]).booster) for one in real]
    states = []
    for index in range(parts):
        twin = Chain.__new__(Chain)
        twin.__dict__ = dict(chain.__dict__)
        part = Part(estimator, twin, index, owners, parts)
        twin.segments = [one if part._owner(i) == index else stand_ins[i] for i, one in enumerate(real)]
        twin.panel = None if index else chain.panel
        states.append(b"".join(part.state()))
    chain.segments = stand_ins
    return states
