"""The memory of a model: its limit, what it takes, and what it goes without at the limit."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlineboost.chain.memory_budget import (
    Shares,
    capacity,
    chain_bytes,
    full_trees,
    limited_trees,
    trees_in_use,
    without_statistics,
)
from onlineboost.chain.model import Model
from onlineboost.chain.reviews import Notices
from onlineboost.chain.sets import new_sets
from onlineboost.contracts.state import nbytes
from onlineboost.data.columns import NewColumn
from onlineboost.data.encoder import Encoded, Encoder
from onlineboost.data.places import AT_ONCE, CELLS

MemoryLimit = int | str | None
DEFAULT = "1GB"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
MOST_BYTES = 2**43  # a larger limit limits nothing: no table of a tree would have more rows than `UNLIMITED`
TABLE_BYTES = 8 * (CELLS + 1)  # for each class, of what the values of a wide column have shown (`chain.evidence`)
MANY_LEARNERS, LEAST_OF_LEARNER = 100_000, 500  # bytes; a tree of one leaf takes some thousand
LOOK = 256  # rounds after which a model has a look whether it is at its limit; those of `Notices` are multiples of it


def bytes_of(given: MemoryLimit) -> int | None:
    """memory_limit as a number of bytes.

    Examples
    --------
    >>> bytes_of("64MB"), bytes_of("1.5 KiB"), bytes_of(None)
    (64000000, 1536, None)
    """
    if given is None:
        return None
    if isinstance(given, str):
        found = re.fullmatch(r"\s*(\d+\.?\d*)\s*([KMGT]?I?)B?\s*", given.upper())
        if found and found[2] in UNITS:
            return int(min(float(found[1]) * UNITS[found[2]], MOST_BYTES))
    elif isinstance(given, int | np.integer) and not isinstance(given, bool) and given > 0:
        return min(int(given), MOST_BYTES)
    raise ValueError(f'memory_limit must be a number of bytes, a text such as "64MB" or "1GB", or None, got {given!r}')


def shares(model: Model, k: int, encoder: Encoder, capacities: list[int], new: Sequence[Any] = ()) -> Shares:
    """How the memory of a model with k classes, these columns and room for their values is shared out."""
    names = 4 * max((len(str(label)) for label in (*model.labels.classes, *new)), default=1) + 100
    names += 0 if model.sets is None else nbytes(new_sets(0))
    columns = sys.getsizeof(encoder.names) + sum(400 + 90 * most for most in capacities)
    columns += TABLE_BYTES * max(k, 1) * sum(most > AT_ONCE for most in capacities)
    return Shares(model.chain, k, len(encoder.numeric), capacities, columns + max(k, 1) * names)


def _capacities(encoder: Encoder, t: int) -> list[int]:
    """Values of the nominal columns that there is to be room for in round t."""
    return [capacity(bisect_right(births, t)) for births in encoder.births]


def check_limit(
    model: Model,
    new: Sequence[Any] = (),
    columns: Sequence[NewColumn] = (),
    encoded: Encoded | None = None,
    codes: np.ndarray | None = None,
) -> None:
    """The limit of a model leaves something to learn with, whenever one of these labels and columns comes in a block.

    By the rows up to there alone: how the stream is cut into blocks makes no difference.
    """
    if model.limit is None:
        return
    first = [] if codes is None else [int(np.argmax(codes == code)) for code in range(model.k, model.k + len(new))]
    for row in sorted({*first, *(column.row for column in columns)}) or [0]:
        here = [column for column in columns if column.row <= row]
        encoder = model.encoder.grown(here) if here else model.encoder
        k = max(2, model.k + bisect_right(first, row))
        values = [len(births) for births in encoder.births]
        for j, fresh in enumerate(() if encoded is None else encoded.fresh[: len(values)]):
            values[j] += sum(at <= row for at in fresh.values())
        found = shares(model, k, encoder, list(map(capacity, values)), new[: k - model.k])
        found.count_tables(model.limit)
        _check_least(model, found, len(encoder.names))


def check_number(limit: int | None, n_learners: Any) -> None:
    """Refuse a number of learners that would take minutes and gigabytes to make, before all is counted."""
    if limit is None or not isinstance(n_learners, int | np.integer) or n_learners < MANY_LEARNERS:
        return
    if n_learners * LEAST_OF_LEARNER > limit:
        raise ValueError(
            f"memory_limit of {limit:,} bytes is too small: {n_learners:,} learners need more than "
            f"{int(n_learners) * LEAST_OF_LEARNER:,}. Raise it, or take fewer learners"
        )


def _check_least(model: Model, found: Shares, n_columns: int) -> None:
    assert model.limit is not None
    if model.limit < found.least:
        raise ValueError(
            f"memory_limit of {model.limit:,} bytes is too small: with {found.n_learners} learners, "
            f"{n_columns} columns and {found.k} classes this model needs {found.least:,} at least. Raise "
            f"it, or take fewer learners"
        )


def add_columns(model: Model, columns: Sequence[NewColumn]) -> tuple[str, ...]:
    """`Model.add_columns`, for which trees that are at their limit make room before."""
    if model.limit is not None and columns:
        encoder = model.encoder.grown(columns)
        shares(model, model.k, encoder, _capacities(encoder, model.chain.t + 1)).allot(model.limit)
    return model.add_columns(columns)


def make_ready(model: Model, k: int) -> int:
    """Have room for the values and classes of the coming round; the number of rounds for which that will do.

    By these rounds alone: how the stream is cut into blocks makes no difference.
    """
    encoder, t = model.encoder, model.chain.t + 1
    capacities = _capacities(encoder, t)
    wanted = (k, len(encoder.numeric), capacities, encoder.sizes)
    if wanted != model.ready:
        if model.limit is not None and model.ready[:3] != wanted[:3]:
            shares(model, k, encoder, capacities).allot(model.limit)
        model.chain.new_values(capacities, encoder.births)
        model.ready = wanted
    more = [births[room] - t for births, room in zip(encoder.births, capacities, strict=True) if len(births) > room]
    return min(more, default=2**62)


def rounds_to_look(model: Model) -> int:
    """Rounds until `look_at_limit` is to look."""
    done = model.limit is None or (model.warned and model.chain.diary.limited)
    return 2**62 if done else LOOK - model.chain.t % LOOK


def notices(model: Model) -> list[Notices]:
    """What notes that trees go without memory, while that is still to be noted."""
    return [] if model.limit is None or model.chain.diary.limited else [Notices(model.chain)]


def look_at_limit(model: Model, n_rows: int) -> None:
    """Remark once that the limit has been reached, after these rows. To look takes time: not after each."""
    t = model.chain.t
    if model.limit is None or model.warned or (t - n_rows) // LOOK == t // LOOK or not limited_trees(model.chain):
        return
    remark_limit(model)


def remark_limit(model: Model) -> None:
    """The limit has been reached."""
    model.warned = True
    model.remarks["memory_limit"] = lambda: (
        f"the model has reached its memory_limit of {model.limit:,} bytes. The least promising leaves stop "
        f"keeping split statistics, and full trees stop growing: see `memory_`. Accuracy usually drops little. For "
        f"more, set memory_limit (None: no limit) before learning begins"
    )


def nbytes_by_part(model: Model) -> dict[str, int]:
    """Bytes of everything learned, part by part."""
    encoder = model.encoder
    parts = (encoder.names, *encoder.codes, *encoder.births, *encoder.once)
    columns = sum(map(sys.getsizeof, parts)) + model.labels.classes.nbytes
    sets = {} if model.sets is None else {"prediction sets": nbytes(model.sets)}
    return {**chain_bytes(model.chain), **sets, "columns and labels": columns}


def told(model: Model) -> dict[str, Any]:
    """What there is to know about the memory of a model."""
    return {
        "limit": model.limit,
        "bytes": nbytes_by_part(model),
        "trees in use": trees_in_use(model.chain),
        "leaves without statistics": without_statistics(model.chain),
        "trees without room to split": full_trees(model.chain),
    }
