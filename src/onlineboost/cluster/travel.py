"""What travels from one part of a chain to the next with a block: its rows and labels, the votes so far, and whom the
rows would follow by the experts so far. How many learners there are makes no difference.

All else is derived from these where it is needed: what is believed of numbers, the spread of columns, which values are
missing, the leading label, exp of the votes. Every part learns what is believed of the columns for itself, from the
rows as they came.

`End.votes_of` alone says what travels beside the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.chain.stage import Block, End
from onlineboost.contracts.rows import Rows

Votes = dict[str, Any]


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
    votes: Votes  # so far; empty at the head of the chain


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
    return block._replace(rows=_some(block.rows, part), kept=end.sliced(block.kept, part))


def _some(rows: Rows, part: slice) -> Rows:
    notes = None if rows.notes is None else type(rows.notes)(*(array[part] for array in rows.notes))
    arrays = {name: getattr(rows, name)[part] for name in ("X", "missing", "spread", "again", "s", "lead", "experts")}
    return rows._replace(**arrays, t=rows.t + part.start, notes=notes, trace=rows.trace[:, part])
