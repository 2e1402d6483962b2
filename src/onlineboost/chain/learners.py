"""The weak learners of a segment, outside of the kernels: their state, and room for it to grow."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Sequence
from inspect import signature
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from onlineboost._compile.random import SAMPLE, uniform
from onlineboost.chain.given import Given, new_given
from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import nbytes
from onlineboost.trees.binary import BinaryTrees, new_group
from onlineboost.trees.compact import clear, compacted, join, packed, select, unpacked
from onlineboost.trees.learner import new_walk
from onlineboost.trees.shrink import allotted, pack_nodes, widen, with_columns
from onlineboost.trees.state import N_LEAVES, N_LOST, N_NODES, PER_TREE, Forest, make_room, trees_of

SUM = 1e-6  # by how much probabilities may miss 1
SETTINGS = ("grace", "log_delta", "tie")  # of a tree, that a fresh one takes from a good one


class Learners(ABC):
    """Neighbouring weak learners."""

    safe = True  # whether learning cannot fail

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def open(self, rows: Rows) -> tuple[Any, Any]:
        """State and scratch, as the loops want them, for a block."""

    @abstractmethod
    def supply(self, state: Any, i: int, b: int, room: Sequence[int], rows: Rows, booster: Booster, y: Any) -> Any:
        """The state with what learner i lacks for row b; i = number of learners: all is done. y = None: predicting."""

    @abstractmethod
    def part(self, start: int, stop: int) -> Self:
        """Learners start, ..., stop - 1, with state of their own."""

    @abstractmethod
    def join(self, others: Sequence[Any]) -> Self:
        """A compact copy of these learners and those of the others, which come after them."""

    def set_classes(self, k: int) -> None:
        """From here on there are k classes."""
        return  # most need not know before they meet one

    @abstractmethod
    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """There is room for so many values of each nominal column, which appeared first in these rounds."""

    @abstractmethod
    def new_columns(self, numeric: int, nominal: int) -> None:
        """There are so many more columns of each kind, the last of their kind."""

    @abstractmethod
    def settings(self) -> dict[str, np.ndarray]:
        """Settings of the learners that a fresh one can take over from another."""

    @abstractmethod
    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        """Learner i starts again after round t, with these settings."""

    @abstractmethod
    def tidy(self) -> None:
        """After some learners have restarted."""

    @abstractmethod
    def nbytes(self) -> dict[str, int]:
        """Bytes in use, part by part."""

    def most_bytes(self, k: int) -> int:
        """What they take at most with k classes, if there is an end to it by itself: a limit counts all of it."""
        return 0


class TreeLearners(Learners):
    """Neighbouring trees."""

    def __init__(self, forest: Forest) -> None:
        self.forest = forest

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "forest": packed(self.forest)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():
            setattr(self, name, unpacked(value) if name == "forest" else value)

    def __len__(self) -> int:
        return len(self.forest.roots)

    def open(self, rows: Rows) -> tuple[Any, Any]:
        return self.forest, new_walk(len(rows.X))

    def supply(self, state: Any, i: int, b: int, room: Sequence[int], rows: Rows, booster: Booster, y: Any) -> Any:
        if any(room):
            forest = self.forest
            if forest.used[N_LOST] and forest.used[N_NODES] + room[0] > forest.budget["most_nodes"].sum():
                pack_nodes(forest)
            self.forest = make_room(self.forest, *room)
        return self.forest

    def room_for_row(self, k: int) -> tuple[int, int, int]:
        """The most room that all trees together can need for one example of k classes: see `supply`.

        Nothing where a table has all the rows that the trees may ever have.
        """
        forest, budget = self.forest, self.forest.budget
        n, branches = len(forest.roots), max(2, int(np.diff(forest.offset).max(initial=0)) - 1)
        wanted = {"nodes": n * branches, "rows": n * branches * (k + 1), "stats": n}
        room = {}
        for name, size in wanted.items():
            most = int(budget[f"most_{name}"].sum())
            full = len(getattr(forest, name)) >= most and not (name == "nodes" and forest.used[N_LOST])
            room[name] = 0 if full else min(size, max(most - int(budget[name].sum()), 0))
        return room["nodes"], room["rows"], room["stats"]

    def make_room(self, k: int) -> None:
        """So much room."""
        self.supply(None, 0, 0, self.room_for_row(k), None, None, None)  # type: ignore[arg-type]

    def part(self, start: int, stop: int) -> Self:
        return type(self)(select(self.forest, start, stop))

    def only(self, i: int) -> TreeLearners:
        """Tree i alone, in the same tables."""
        return TreeLearners(trees_of(self.forest, slice(i, i + 1)))

    def join(self, others: Sequence[Any]) -> Self:
        return type(self)(join([learners.forest for learners in (self, *others)]))

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        self.forest = widen(self.forest, sizes, births)

    def allot(self, share: float, width: int) -> None:
        """Each tree may have so many bytes; rows of statistics will be `width` numbers wide."""
        self.forest = allotted(self.forest, share, width)

    def new_columns(self, numeric: int, nominal: int) -> None:
        self.forest = with_columns(self.forest, numeric, nominal)

    def settings(self) -> dict[str, np.ndarray]:
        return {name: getattr(self.forest, name) for name in SETTINGS}

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        clear(self.forest, i, t)
        for name, value in settings.items():
            getattr(self.forest, name)[i] = value

    def tidy(self) -> None:
        self.forest = compacted(self.forest)

    def nbytes(self) -> dict[str, int]:
        forest = self.forest
        tables = {
            "nodes": (forest.nodes, forest.details),
            "class rows": forest.rows,
            "statistics": (forest.stats, forest.free_stats),
        }
        parts = {name: nbytes(table) for name, table in tables.items()}
        return {**parts, "settings": nbytes(forest) - sum(parts.values())}


class BinaryTreeLearners(TreeLearners):
    """Neighbouring learners made of one binary tree per class. They start without a class."""

    def __init__(self, forest: Forest, n_learners: int) -> None:
        super().__init__(forest)
        self.n_learners = n_learners

    def __len__(self) -> int:
        return self.n_learners

    @property
    def n_classes(self) -> int:
        return len(self.forest.roots) // self.n_learners

    def open(self, rows: Rows) -> tuple[Any, Any]:
        return BinaryTrees(self.forest), new_group(rows.k)

    def supply(self, state: Any, i: int, b: int, room: Sequence[int], rows: Rows, booster: Booster, y: Any) -> Any:
        return BinaryTrees(super().supply(state, i, b, room, rows, booster, y))

    def part(self, start: int, stop: int) -> Self:
        k = self.n_classes
        return type(self)(select(self.forest, k * start, k * stop), stop - start)

    def join(self, others: Sequence[Any]) -> Self:
        all_of = (self, *others)
        return type(self)(join([learners.forest for learners in all_of]), sum(len(learners) for learners in all_of))

    def add_class(self, trees: Forest) -> None:
        """One more class: every learner gets one of these trees, which have learned nothing yet."""
        n = self.n_learners
        forest = make_room(self.forest, n, 0, 0)
        first = int(forest.used[N_NODES])
        forest.nodes[first : first + n] = trees.nodes[trees.roots]
        forest.details[first : first + n] = trees.details[trees.roots]
        forest.used[[N_NODES, N_LEAVES]] += n

        def beside(old: np.ndarray, new: np.ndarray) -> np.ndarray:
            return np.column_stack([old.reshape(n, -1), new]).ravel()

        settings: dict[str, Any] = {name: beside(getattr(forest, name), getattr(trees, name)) for name in PER_TREE}
        self.forest = forest._replace(roots=beside(forest.roots, (first + trees.roots).astype(np.int32)), **settings)


class GivenLearners(Learners):
    """Neighbouring weak learners of another make (``partial_fit`` and ``predict_proba``), asked one row at a time."""

    safe = False

    def __init__(self, learners: list[Any], k: int, started: np.ndarray | None = None) -> None:
        self.learners = learners
        self.k = k
        self.started = np.zeros(len(learners), bool) if started is None else started
        self.takes_weight = _takes_weight(learners[0])

    def __len__(self) -> int:
        return len(self.learners)

    def open(self, rows: Rows) -> tuple[Any, Any]:
        return new_given(len(rows.X), rows.k), None

    def supply(self, state: Given, i: int, b: int, room: Sequence[int], rows: Rows, booster: Booster, y: Any) -> Given:
        if y is not None and state.ready[0] >= 0:
            self._teach(state, int(state.ready[0]), int(state.ready[1]) - 1, rows, booster, y)
        if i < len(self.learners):
            asked = range(len(rows.X)) if y is None else (b,)
            for row in asked:
                state.p[row] = self._distribution(i, rows.X[row : row + 1])
            state.ready[:] = i, asked[-1] + 1
            state.weight[b] = 0.0
        return state

    def _distribution(self, i: int, x: np.ndarray) -> np.ndarray:
        if not self.started[i]:
            return np.full(self.k, 1.0 / self.k)
        learner, k = self.learners[i], self.k
        with np.errstate(all="ignore"):  # what is not finite is seen to below
            p = np.ascontiguousarray(learner.predict_proba(x.copy()), np.float64)
        if p.shape != (1, k):
            raise ValueError(
                f"{type(learner).__name__}.predict_proba gave an array of shape {p.shape} for one row and {k} classes; "
                f"it must be (1, {k})"
            )
        if not np.isfinite(p).all():  # GaussianNB before it has a variance
            return np.full(k, 1.0 / k)
        if p.min() < 0.0 or abs(p.sum() - 1.0) > SUM:
            raise ValueError(
                f"{type(learner).__name__}.predict_proba gave {p[0].tolist()}; "
                f"probabilities must not be negative, and must add up to 1"
            )
        return p[0]

    def _teach(self, state: Given, i: int, b: int, rows: Rows, booster: Booster, y: np.ndarray) -> None:
        """Learner i learns row b with the weight that the loop has left."""
        x, w = rows.X[b : b + 1].copy(), state.weight[b]  # a learner may write to what it is given
        classes = np.arange(self.k)
        if self.takes_weight and w > 0.0:
            self.learners[i].partial_fit(x, y[b : b + 1], classes=classes, sample_weight=np.array([w]))
            self.started[i] = True
        # The paper: a learner that takes no weight is sent the example with a probability proportional to it.
        elif w > uniform(booster.seed, SAMPLE, booster.offset + i, rows.t + b) * booster.scale[i]:
            self.learners[i].partial_fit(x, y[b : b + 1], classes=classes)
            self.started[i] = True

    def part(self, start: int, stop: int) -> Self:
        return type(self)(self.learners[start:stop], self.k, self.started[start:stop].copy())

    def join(self, others: Sequence[Any]) -> Self:
        learners = [learner for part in (self, *others) for learner in part.learners]
        started = np.concatenate([part.started for part in (self, *others)])
        copy = pickle.loads(pickle.dumps(learners))
        return type(self)(copy, self.k, started)

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """Other learners see the codes of nominal columns as numbers: there is nothing to prepare."""

    def new_columns(self, numeric: int, nominal: int) -> None:
        raise NotImplementedError("learners of another make have the columns that they began with")

    def settings(self) -> dict[str, np.ndarray]:
        return {}

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        self.learners[i] = clone(self.learners[i])
        self.started[i] = False

    def tidy(self) -> None:
        """Nothing is left behind."""

    def nbytes(self) -> dict[str, int]:
        return {"learners": len(pickle.dumps(self.learners))}


def _takes_weight(learner: Any) -> bool:
    """Whether `partial_fit`, which is all that is called, can be told the weight of an example."""
    return "sample_weight" in signature(learner.partial_fit).parameters
