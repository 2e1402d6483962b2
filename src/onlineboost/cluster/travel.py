"""What travels from one part of a chain to the next with a block: its rows and labels, and the votes so far.

All else is derived from these where it is needed: what is believed of numbers, the spread of columns, which values are
missing, the leading label, exp of the votes. Every part learns what is believed of the columns for itself, from the
rows as they came.

`votes_of` alone says what travels beside the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.ova import Scores
from onlineboost.chain.panelled import Stages
from onlineboost.contracts.rows import Rows

Votes = dict[str, Any]


class Block(NamedTuple):
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


def new_block(X: np.ndarray, y: np.ndarray, weight: np.ndarray, k: int, **asked: Any) -> Block:
    """A block at the head of the chain."""
    own = None if (weight == 1.0).all() else weight
    return Block(np.ascontiguousarray(X), y.astype(np.min_scalar_type(k)), own, k, votes={}, **asked)


def arrived(block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X, y and weight as kernels want them. What another process has sent can only be read: another type to them."""
    weight = np.ones(len(block.y)) if block.weight is None else np.array(block.weight)
    return np.array(block.X), block.y.astype(np.int64), weight


def votes_of(chain: Chain, rows: Any, done: int) -> Votes:
    """What the next part has to know of a block that has gone through the first `done` learners.

    What the experts say goes to the end of the chain, where Hedge is.
    """
    if isinstance(rows, Scores):
        return {"scores": rows.scores, "margins": rows.margins}
    if isinstance(rows, Stages):
        return {"votes": rows.votes[: 1 + sum(end <= done for end in _ends(chain))], **_of_rows(chain, rows.rows)}
    experts = rows.experts[:, :done].astype(np.min_scalar_type(rows.k))
    return {"experts": experts, "trace": rows.trace[:done], **_of_rows(chain, rows)}


def _of_rows(chain: Chain, rows: Rows) -> Votes:
    return {"s": rows.s, "notes": chain.segments[0].booster.hand_on(rows)}


def put_votes(chain: Chain, rows: Any, votes: Votes) -> None:
    """The other way round: a block that has just entered is as it left the part before."""
    if isinstance(rows, Scores):
        rows.scores[:], rows.margins[:] = votes["scores"], votes["margins"]
        return
    if isinstance(rows, Stages):
        rows.votes[: len(votes["votes"])] = votes["votes"]
        rows = rows.rows
    else:
        rows.experts[:, : votes["experts"].shape[1]] = votes["experts"]
        rows.trace[: len(votes["trace"])] = votes["trace"]
    rows.s[:] = votes["s"]
    chain.segments[0].booster.begin(rows)
    for name, values in votes["notes"].items():
        getattr(rows.notes, name)[:] = values


def _ends(chain: Any) -> list[int]:
    ends: list[int] = chain.ends
    return ends


def sliced(rows: Any, part: slice) -> Any:
    """Some rows of a block, in the same arrays."""
    if isinstance(rows, Scores):
        return Scores(sliced(rows.rows, part), rows.scores[part], rows.margins[part])
    if isinstance(rows, Stages):
        return Stages(sliced(rows.rows, part), rows.votes[:, part])
    notes = None if rows.notes is None else type(rows.notes)(*(array[part] for array in rows.notes))
    arrays = {name: getattr(rows, name)[part] for name in ("X", "missing", "spread", "s", "lead", "experts")}
    return rows._replace(**arrays, t=rows.t + part.start, notes=notes, trace=rows.trace[:, part])
