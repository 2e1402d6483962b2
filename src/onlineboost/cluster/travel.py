"""What travels from one part of a chain to the next with a block: its rows and labels, the votes so far, and whom the
rows would follow by the experts so far. How many learners there are makes no difference.

All else is derived from these where it is needed: what is believed of numbers, the spread of columns, which values are
missing, the leading label, exp of the votes. Every part learns what is believed of the columns for itself, from the
rows as they came.

`votes_of` alone says what travels beside the rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.chain import chain as chains
from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner, Following
from onlineboost.chain.ova import Scores
from onlineboost.chain.panelled import START, Stages
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


def votes_of(chain: Chain, block: Any, done: int) -> Votes:
    """What the next part has to know of a block that has gone through the first `done` learners."""
    if isinstance(block, Scores):
        return {"scores": block.scores, "margins": block.margins}
    if isinstance(block, Stages):
        fifths = sum(end <= done for end in _ends(chain))
        own = {"panel": block.votes[0], "fifths": block.votes[START + 1 : START + 1 + fifths]}
    else:
        own = _of_experts(block)
    rows = block.rows
    return {**own, "s": rows.s, "notes": chain.segments[0].booster.hand_on(rows)}


def put_votes(chain: Any, block: Any, votes: Votes) -> None:
    """The other way round: a block that has just entered is as it left the part before."""
    if isinstance(block, Scores):
        block.scores[:], block.margins[:] = votes["scores"], votes["margins"]
        return
    rows, booster = block.rows, chain.segments[0].booster
    if isinstance(block, Stages):
        rows.s[:] = block.votes[0] = votes["panel"]
        block.votes[START] = chain.set_out(rows)
        block.votes[START + 1 : START + 1 + len(votes["fifths"])] = votes["fifths"]
    rows.s[:] = votes["s"]
    booster.begin(rows)
    booster.take_up(rows, votes["notes"])
    if isinstance(block, chains.Block):
        _put_experts(block, votes)


def _of_experts(block: chains.Block) -> Votes:
    """Whom the rows would follow; if the votes are traced, those behind that expert."""
    rows, (value, label, expert, mass) = block.rows, block.following
    if block.combiner is Combiner.WEIGHTED:
        return {"value": value, "mass": mass}
    if block.combiner is Combiner.LAST:
        return {}  # it is still to come
    own = {"value": value, "label": label.astype(np.min_scalar_type(rows.k))}
    if not len(rows.trace):
        return own
    at = np.arange(len(expert))
    return {**own, "expert": expert, "trace": rows.trace[expert, at]}


def _put_experts(block: chains.Block, votes: Votes) -> None:
    for name in ("value", "label", "expert", "mass"):
        if name in votes:
            getattr(block.following, name)[:] = votes[name]
    if "trace" in votes:
        rows, expert = block.rows, votes["expert"]
        at = np.arange(len(expert))
        rows.trace[expert, at] = votes["trace"]
        rows.experts[at, expert] = votes["label"]


def _ends(chain: Any) -> list[int]:
    ends: list[int] = chain.ends
    return ends


def sliced(block: Any, part: slice) -> Any:
    """Some rows of a block, in the same arrays."""
    if isinstance(block, Scores):
        return Scores(_some(block.rows, part), block.scores[part], block.margins[part])
    if isinstance(block, Stages):
        return Stages(_some(block.rows, part), block.votes[:, part])
    return block._replace(
        rows=_some(block.rows, part), following=Following(*(array[part] for array in block.following))
    )


def _some(rows: Rows, part: slice) -> Rows:
    notes = None if rows.notes is None else type(rows.notes)(*(array[part] for array in rows.notes))
    arrays = {name: getattr(rows, name)[part] for name in ("X", "missing", "spread", "again", "s", "lead", "experts")}
    return rows._replace(**arrays, t=rows.t + part.start, notes=notes, trace=rows.trace[:, part])
