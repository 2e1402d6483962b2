"""How the memory of a model is shared out: a part is fixed, and all trees have the same share of what is left.

What a tree may have is decided by the settings, and by how many classes and nominal values have been met up to a round:
by nothing that depends on how the stream is cut into blocks, or the chain into segments.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from onlineboost.chain.chain import BLOCK, Chain
from onlineboost.chain.diary import PART, new_diary
from onlineboost.chain.segments import Segment
from onlineboost.contracts.state import along
from onlineboost.contracts.state import nbytes as array_bytes
from onlineboost.trees.budget import leaves_of
from onlineboost.trees.shrink import least_share
from onlineboost.trees.state import BUDGET, GAVE_UP, Forest, nbytes, nominal_layout

BLOCK_PART, CACHE_PART = 1 / 16, 3 / 16  # of the limit, at most, for the rows at hand and for a booster's caches
DIARY_PARTS = 2  # rows and events
PER_TREE_BYTES = 4 + 4 * 8 + BUDGET.itemsize  # its root, settings and budget
PER_SEGMENT_BYTES = 8 * 8  # counters; there are no more segments than learners


def capacity(n_values: int) -> int:
    """Values of a nominal column that there is room for when this many are known: up to 8, 12, 16, 24, 32, 48, ...

    Every step copies all statistics, and room that is not needed makes all of them wider.
    """
    if n_values <= 8:
        return n_values
    above = 1 << (n_values - 1).bit_length()
    return above if 4 * n_values > 3 * above else 3 * above // 4


def forests_of(chain: Chain) -> list[Forest]:
    """The trees of a chain."""
    return [forest for segment in chain.segments for forest in segment.learners.forests()]


def chain_bytes(chain: Chain) -> dict[str, int]:
    """Bytes of what has been learned, part by part; of the room kept for growth too, but not of caches."""
    total: Counter[str] = Counter()
    for part in chain.growing:
        total.update(part.nbytes())
    total["settings"] += _booster_bytes(chain.segments)
    tables = _table_bytes(chain.booster)
    own = {"experts": fixed_bytes(chain) - tables - chain.diary.nbytes, "diary": chain.diary.nbytes}
    return {**total, **({"potentials": tables} if tables else {}), **own}


def _booster_bytes(segments: list[Segment]) -> int:
    """Of what boosters have for each learner: tables that segments share are not counted."""
    return sum(array_bytes(tuple(along(segment.booster, "learners").values())) for segment in segments)


def fixed_bytes(chain: Chain) -> int:
    """Bytes of what belongs to no learner."""
    watch = chain.watch.nbytes if chain.watch is not None else 0
    experts = sum(log_v.nbytes for log_v in chain.end.log_vs)
    return experts + array_bytes(chain.numbers) + watch + _table_bytes(chain.booster) + chain.diary.nbytes


def _table_bytes(booster: Any) -> int:
    return sum(array_bytes(getattr(booster, name, None)) for name in ("tables", "psi"))


def _most_bytes(chain: Chain, k: int) -> int:
    """What its stages take at most with k classes, where there is an end to it by itself."""
    panel = 0 if chain.panel is None else chain.panel.most_bytes(k)
    segments = chain.end.segments_of(chain.segments, k)
    return panel + sum(segment.learners.most_bytes(chain.end.classes_of(k)) for segment in segments)


class Shares:
    """The memory of a chain's trees with k classes, and room for these numbers of values of the nominal columns."""

    def __init__(self, chain: Chain, k: int, n_numeric: int, capacities: list[int], overhead: int) -> None:
        self.chain, self.k = chain, k
        layout = nominal_layout(n_numeric, chain.for_trees(capacities))
        self.width = int(layout[-1])
        segments = chain.end.segments_of(chain.segments, k)
        self.n_learners = sum(map(len, segments))
        each = max((segment.learners.trees_per_learner(k) for segment in chain.segments), default=1)
        self.n_trees = max(1, self.n_learners * each)
        per_learner = PER_SEGMENT_BYTES + 8 * len(layout) + 8 * int(layout[-1] - layout[0])
        experts = 8 * (self.n_learners - chain.n_learners)  # of learners to come
        evidence = array_bytes(tuple(along(chain.numbers, "wide").values()))  # in the overhead
        self.fixed = overhead + _booster_bytes(segments) + fixed_bytes(chain) - evidence + experts
        self.fixed += self.n_learners * per_learner + self.n_trees * PER_TREE_BYTES + _most_bytes(chain, k)
        columns = n_numeric + len(capacities)
        self.block = BLOCK * (8 * (3 * columns + 4 * k + 8) + 4 * self.n_learners)  # rows, votes and experts
        self.whole_diary = new_diary(columns, None).nbytes
        self.cached = chain.segments[0].booster.cache_bytes() if chain.segments else 0

    @property
    def least(self) -> int:
        """The least limit that leaves something to learn with."""
        parts = 1.0 - BLOCK_PART - (CACHE_PART if self.cached else 0.0)
        wanted = self.fixed + self.n_trees * least_share(self.width, self.k)
        others = wanted - self.chain.diary.nbytes  # it has its part of any limit, up to all it wants
        with_diary = min(others / (parts - DIARY_PARTS / PART), (others + self.whole_diary) / parts)
        return int(max(wanted / parts, with_diary)) + 1

    def count_tables(self, limit: int) -> None:
        """Count the tables that a booster will have with these classes, if the limit is so small that they matter."""
        for booster in (segment.booster for segment in self.chain.segments[:1]):
            tables = booster.tables_of(self.k, limit - self.least)
            self.fixed += array_bytes(tables) - _table_bytes(booster)

    def allot(self, limit: int) -> None:
        """Every tree gets its share of what is left beside the rows at hand and all that is fixed."""
        left = limit - self.fixed - min(self.block, BLOCK_PART * limit) - min(self.cached, CACHE_PART * limit)
        self.chain.allot(left / self.n_trees, self.width)


def limited_trees(chain: Chain) -> int:
    """Number of trees that have ever gone without something for lack of memory."""
    return sum(segment.learners.limited() for segment in chain.segments)


def without_statistics(chain: Chain) -> int:
    """Number of leaves that have given up their statistics."""
    total = 0
    for forest in forests_of(chain):
        for root, own in zip(forest.roots, forest.budget, strict=True):
            leaves = leaves_of(forest.nodes, forest.details, root, own["nodes"])
            total += int(np.count_nonzero(forest.details["heavy"][leaves] == GAVE_UP))
    return total


def trees_in_use(chain: Chain) -> int:
    """Bytes of the nodes, class rows and statistics that trees have."""
    return sum(nbytes(forest)["used"] for forest in forests_of(chain))


def full_trees(chain: Chain) -> int:
    """Number of trees that had no room for a split."""
    return sum(int(np.count_nonzero(forest.budget["refused"])) for forest in forests_of(chain))
