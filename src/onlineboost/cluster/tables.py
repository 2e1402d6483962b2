"""The tables of trees as they are, to go on with elsewhere: to sort them for a file takes ten times as long."""

from __future__ import annotations

import io
import pickle
from itertools import pairwise
from typing import Any

import numpy as np

from onlineboost.chain.learners import TreeLearners
from onlineboost.contracts.state import cut, loaded
from onlineboost.trees.state import RECORDS, Forest, tables_in_use


def dumps(group: Any) -> bytes:
    """A pickle in which trees are as they lie in their tables, but for room that is not in use."""
    return b"".join(pieces(group))


def pieces(group: Any) -> list[Any]:
    """The same in pieces, one after the other. Large arrays come after all else, so that each is copied once."""
    text = io.BytesIO()
    arrays: list[pickle.PickleBuffer] = []
    _Pickler(text, protocol=5, buffer_callback=arrays.append).dump(group)
    parts = [text.getbuffer(), *(array.raw() for array in arrays)]
    sizes = np.array([len(parts), *(part.nbytes for part in parts)], np.int64)
    return [sizes.tobytes(), *parts]


def loads(state: Any) -> Any:
    """What `dumps` was given. Its arrays can only be read, unless they are `loaded`."""
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
