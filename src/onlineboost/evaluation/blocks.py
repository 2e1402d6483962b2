"""Rows in memory as a stream: one block after the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import as_table
from onlineboost.data.table import Block

BLOCK_ROWS = 16_384  # rows learned between two calls of `progress`; threads pause at the end of each


def label_array(y: Any) -> np.ndarray:
    """Labels as an array with one for each row; a single column is one, too."""
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"y has shape {labels.shape}: give one label per row")
    return labels


def distinct(y: np.ndarray) -> np.ndarray:
    """The labels in y, in order; of kinds that have no order, as they come."""
    if y.dtype != object:
        return np.unique(y)
    found = np.array([*dict.fromkeys(y.tolist()), None], object)[:-1]
    try:
        return np.sort(found)
    except TypeError:
        return found


def cut(X: Any, y: np.ndarray, *, pieces: int = 1) -> Iterator[Block]:
    """Rows as blocks: of BLOCK_ROWS, or smaller so that there are at least about so many pieces.

    Examples
    --------
    >>> [len(block) for block in cut(np.zeros((10, 2)), np.zeros(10), pieces=3)]
    [4, 4, 2]
    """
    if not isinstance(X, np.ndarray):
        X = as_table(X)
    if len(X) != len(y):
        raise DataError(f"X has {len(X)} rows and y has {len(y)}: give one label per row")
    rows = max(1, min(BLOCK_ROWS, -(-len(y) // pieces)))
    for a in range(0, len(y), rows):
        b = min(a + rows, len(y))
        yield Block(X[a:b], y[a:b], a, b / len(y))
