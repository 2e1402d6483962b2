"""The weak learners of a segment, outside of the kernels: their state, and room for it to grow."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from onlineboost.contracts.booster import Booster
from onlineboost.contracts.rows import Rows
from onlineboost.contracts.state import cut, mapped, nbytes
from onlineboost.trees.compact import clear, compacted, join, packed, rehearse, select, unpacked
from onlineboost.trees.learner import MINE, BinaryTrees, new_group, new_walk
from onlineboost.trees.paths import Moves, moves
from onlineboost.trees.shrink import allotted, pack_nodes, widen, with_columns
from onlineboost.trees.state import (
    N_LEAVES,
    N_LOST,
    N_NODES,
    NOTHING_GIVEN_UP,
    PER_TREE,
    Forest,
    make_room,
    tables_in_use,
    trees_of,
)

SETTINGS = ("grace", "log_delta", "tie")  # of a tree, that a fresh one takes from a good one


class Learners(ABC):
    """Neighbouring weak learners."""

    safe = True  # whether learning cannot fail
    takes_single_rows = False  # whether a row can go through without being a block (`rows`)
    untold = "learners of other libraries"  # what explanations call votes that cannot be divided among columns
    no_tree = (
        "learners of other libraries do not tell which columns they look at: there are importances and trees for "
        "learner=HoeffdingTree(...) alone. sklearn.inspection.permutation_importance works with any learner"
    )

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

    def new_values(self, sizes: list[int], births: list[list[int]]) -> None:
        """There is room for these numbers of values of each nominal column, which appeared first in these rounds."""
        return

    @abstractmethod
    def new_columns(self, numeric: int, nominal: int) -> None:
        """There are this many more columns of each kind, the last of their kind."""

    def settings(self) -> dict[str, np.ndarray]:
        """Settings of the learners that a fresh one can take over from another."""
        return {}

    @abstractmethod
    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        """Learner i starts again after round t, with these settings."""

    def rehearse_restart(self) -> None:
        """Have all kernels compiled that `restart` and `tidy` need."""
        return

    def tidy(self) -> None:
        """After some learners have restarted."""
        return

    @abstractmethod
    def nbytes(self) -> dict[str, int]:
        """Bytes in use, part by part."""

    def most_bytes(self, k: int) -> int:
        """What they take at most with k classes, if there is an end to it by itself: a limit counts all of it."""
        return 0

    def identity(self) -> Any:
        """The state that kernels work on: another object, if it has been replaced."""
        return self

    # -------------------------------------------------------------------------------------------------------- trees

    def forests(self) -> list[Forest]:
        """The trees among them."""
        return []

    def trees_of(self, place: int) -> list[int]:
        """Numbers of a learner's trees in its forest: one, or one per class."""
        return []

    def trees_per_learner(self, k: int) -> int:
        """Trees that a learner has with k classes."""
        return 1

    def labels_of_a_tree(self, k: int) -> int:
        """Labels that a tree tells apart, where there are k classes."""
        return k

    def quick_copy(self, copy: Callable[[str, np.ndarray], np.ndarray]) -> Learners:
        """A copy that is good to be saved; tables are copied by `copy`, as they are."""
        return self.join([])

    def allot(self, share: float, width: int) -> None:
        """Each tree may have this many bytes; rows of statistics will be `width` numbers wide."""
        return  # what is not a tree takes what it takes

    def limited(self) -> int:
        """Number of trees that have ever gone without something for lack of memory."""
        return 0

    # --------------------------------------------------------------------------------------------------- explaining

    def moves(self, place: int, X: np.ndarray, directions: np.ndarray) -> Moves | None:
        """How a learner comes to what it says of rows, in directions (rows, labels, directions); None: unsaid."""
        return None

    def column_weights(self, place: int, n_columns: int) -> np.ndarray | None:
        """What each column counts for a learner that weighs up all of them at once; None: it cannot say."""
        return None


class TreeLearners(Learners):
    """Neighbouring trees."""

    takes_single_rows = True

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
        return self.forest, new_walk(rows.X.shape, len(self))

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

    def identity(self) -> Any:
        return self.forest

    def forests(self) -> list[Forest]:
        return [self.forest]

    def trees_of(self, place: int) -> list[int]:
        return [place]

    def limited(self) -> int:
        own = self.forest.budget
        return int(np.count_nonzero((own["bar"] > NOTHING_GIVEN_UP) | (own["refused"] > 0)))

    def moves(self, place: int, X: np.ndarray, directions: np.ndarray) -> Moves | None:
        return moves(self.forest, place, X, directions)

    def quick_copy(self, copy: Callable[[str, np.ndarray], np.ndarray]) -> Self:
        twin = type(self).__new__(type(self))
        twin.__dict__ = dict(self.__dict__)
        used = cut(self.forest, tables_in_use(self.forest))
        twin.forest = mapped(used, lambda leaf, table: copy(leaf.name, table))
        return twin

    def stand_in(self) -> Self:
        """As many learners that have learned nothing."""
        copy = self.join([])
        for i in range(len(copy.forest.roots)):
            clear(copy.forest, i, 0)
        return copy.part(0, len(copy))

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
        self.forest = allotted(self.forest, share, width)

    def new_columns(self, numeric: int, nominal: int) -> None:
        self.forest = with_columns(self.forest, numeric, nominal)

    def settings(self) -> dict[str, np.ndarray]:
        return {name: getattr(self.forest, name) for name in SETTINGS}

    def restart(self, i: int, t: int, settings: dict[str, float]) -> None:
        clear(self.forest, i, t)
        for name, value in settings.items():
            getattr(self.forest, name)[i] = value

    def rehearse_restart(self) -> None:
        rehearse()

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

    def trees_of(self, place: int) -> list[int]:
        k = self.n_classes
        return list(range(place * k, (place + 1) * k))

    def trees_per_learner(self, k: int) -> int:
        return k

    def labels_of_a_tree(self, k: int) -> int:
        return 2

    def moves(self, place: int, X: np.ndarray, directions: np.ndarray) -> Moves | None:
        """p_j = q_j / sum q: what moves q_j moves p_j, with the sum as it is in the end."""
        trees, mine = self.trees_of(place), np.zeros((len(X), 2, 1))
        mine[:, MINE] = 1.0
        total = sum(moves(self.forest, tree, X, mine).end for tree in trees)
        total = np.where(total > 0.0, total, 1.0)
        each = ((directions[:, j] / total)[:, None, :] for j in range(len(trees)))
        parts = [moves(self.forest, tree, X, mine * own) for tree, own in zip(trees, each, strict=True)]
        return Moves(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))

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
