"""Large tables have memory of their own, which goes back to the system the moment it is not needed.

What malloc gets back it may keep, holes and all, so that a process takes more than its arrays do: a limit on memory
would not hold. Here memory takes addresses when a table is made, and counts only where it has been written to.
"""

from __future__ import annotations

import math
import mmap
from typing import Any

import numpy as np

from onlineboost._compile.system import ignoring_the_system, reraise_if_from_handler

LARGE = 2**20  # bytes from which on a table has memory of its own,
HUGE = 2**22  # and from which on it asks for large pages, as NumPy does


def empty(shape: tuple[int, ...], kind: Any, spare: float = 1.0) -> np.ndarray:
    """An array that holds anything; a large one has addresses for `spare` times as many bytes."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    if size < LARGE or not hasattr(mmap, "MAP_PRIVATE"):
        return np.empty(shape, kind)
    try:
        memory = mmap.mmap(-1, int(spare * size), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError as error:
        reraise_if_from_handler(error)
        raise MemoryError(f"no memory for a table of {size:,} bytes") from error
    if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
        with ignoring_the_system():
            memory.madvise(mmap.MADV_HUGEPAGE)
    return np.ndarray(shape, kind, memory)


def alike(table: np.ndarray, kind: Any) -> np.ndarray:
    """An array with as many entries as a table has rows, which holds anything, in memory of the same make."""
    return (empty if isinstance(table.base, mmap.mmap) else np.empty)((len(table),), kind)


def whole(table: np.ndarray) -> np.ndarray:
    """All memory that a table has, as one row of its type."""
    if isinstance(table.base, mmap.mmap):
        return np.ndarray(len(table.base) // table.itemsize, table.dtype, table.base)
    return table.reshape(-1)


def reshaped(table: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """What a table's memory begins with, in another shape; the rest goes back to the system."""
    size = math.prod(shape) * table.itemsize
    if isinstance(table.base, mmap.mmap):
        start = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        if start < len(table.base) and hasattr(mmap, "MADV_DONTNEED"):
            table.base.madvise(mmap.MADV_DONTNEED, start, len(table.base) - start)
        return np.ndarray(shape, table.dtype, table.base)
    if not table.flags.owndata:
        return table.reshape(-1)[: math.prod(shape)].reshape(shape).copy()
    table.resize(shape, refcheck=False)
    return table
