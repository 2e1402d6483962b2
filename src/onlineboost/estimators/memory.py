"""The memory of a model: its limit, what it takes, and what it goes without at the limit."""

from __future__ import annotations

import re
import sys
from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

import numpy as np

from onlineboost.chain.notices import Notices
from onlineboost.chain.shares import (
    Shares,
    capacity,
    full_trees,
    reached,
    trees_in_use,
    without_statistics,
)
from onlineboost.data.encoder import Encoder
from onlineboost.data.open_columns import NewColumn
from onlineboost.data.places import AT_ONCE, MET
from onlineboost.estimators.model import Model

MemoryLimit = int | str | None
DEFAULT = "1GB"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}
LEARNER_BYTES = 300  # at most, of a booster's learner and its tree, but for what the tree learns
TABLE_BYTES = 4 * MET + 100  # of values met once in a nominal column
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
            return int(float(found[1]) * UNITS[found[2]])
    elif isinstance(given, int | np.integer) and not isinstance(given, bool) and given > 0:
        return int(given)
    raise ValueError(f'memory_limit must be a number of bytes, a text such as "64MB" or "1GB", or None, got {given!r}')


def shares(model: Model, k: int, encoder: Encoder) -> Shares:
    """How the memory of a model with k classes is shared out in the coming round, if this is its encoder."""
    capacities = _capacities(encoder, model.chain.t + 1)
    names = 4 * max((len(str(label)) for label in model.labels.classes), default=1) + 100
    columns = sys.getsizeof(encoder.names) + sum(400 + 90 * most for most in capacities)
    columns += TABLE_BYTES * sum(most > AT_ONCE for most in capacities)
    found = Shares(model.chain, k, len(encoder.numeric), capacities, columns + max(k, 1) * names)
    to_come = max(0, model.per_class * k - model.chain.n_learners)  # trees of classes that are not there yet
    found.n_trees += to_come
    found.fixed += to_come * LEARNER_BYTES
    return found


def _capacities(encoder: Encoder, t: int) -> list[int]:
    """Values of the nominal columns that there is to be room for in round t."""
    return [capacity(bisect_right(births, t)) for births in encoder.births]


def check_limit(model: Model, k: int, encoder: Encoder | None = None) -> None:
    """The limit of a model that is about to have k classes, and this encoder, leaves something to learn with."""
    if model.limit is None:
        return
    encoder = model.encoder if encoder is None else encoder
    least = shares(model, max(k, 2), encoder).least
    if model.limit < least:
        raise ValueError(
            f"memory_limit of {model.limit:,} bytes is too small: with {model.chain.n_learners} learners, "
            f"{len(encoder.names)} columns and {max(k, 2)} classes this model needs {least:,} at least. Raise "
            f"it, or take fewer learners"
        )


def try_columns(model: Model, columns: Sequence[NewColumn]) -> Encoder:
    """The encoder with these columns, to try them on; an error if the model cannot have them."""
    encoder = model.with_columns(columns)
    check_limit(model, model.k, encoder)
    return encoder


def add_columns(model: Model, columns: Sequence[NewColumn]) -> tuple[str, ...]:
    """`Model.add_columns`, for which trees that are at their limit make room before."""
    if model.limit is not None and columns:
        shares(model, model.k, model.encoder.grown(columns)).allot(model.limit)
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
            shares(model, k, encoder).allot(model.limit)
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
    """Remark once that the limit has been reached, after so many rows. To look takes time: not after each."""
    t = model.chain.t
    if model.limit is None or model.warned or (t - n_rows) // LOOK == t // LOOK or not reached(model.chain):
        return
    remark_limit(model)


def remark_limit(model: Model) -> None:
    """The limit has been reached."""
    model.warned = True
    model.remarks["memory_limit"] = lambda: (
        f"the model has reached its memory_limit of {model.limit:,} bytes. The leaves that promise least now go "
        f"without statistics, and trees that are full are not split any more; `memory_` says how many. Accuracy mostly "
        f"suffers little. For more, set memory_limit (None: no limit) before learning begins"
    )


class Memory:
    """What there is to know about the memory of a classifier."""

    def _fitted(self) -> Model:
        raise NotImplementedError

    @property
    def nbytes_by_part_(self) -> dict[str, int]:
        """Bytes of everything learned, part by part, room that is kept for growth included."""
        model = self._fitted()
        encoder = model.encoder
        parts = (encoder.names, *encoder.codes, *encoder.births, *encoder.once)
        columns = sum(map(sys.getsizeof, parts)) + model.labels.classes.nbytes
        return {**model.chain.nbytes(), "columns and labels": columns}

    @property
    def nbytes_(self) -> int:
        """Size of the model in bytes."""
        return sum(self.nbytes_by_part_.values())

    @property
    def memory_(self) -> dict[str, Any]:
        """The limit in bytes, the bytes taken part by part, and what the model goes without because of the limit.

        Tables have room for growth, which takes addresses but no memory: "trees in use" are the bytes without it.
        """
        model = self._fitted()
        return {
            "limit": model.limit,
            "bytes": self.nbytes_by_part_,
            "trees in use": trees_in_use(model.chain),
            "leaves without statistics": without_statistics(model.chain),
            "trees without room to split": full_trees(model.chain),
        }
