"""Test, then train, block by block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.table import Block, Table


class Step(NamedTuple):
    """A block that was predicted and learned."""

    block: Block
    predictions: np.ndarray
    seconds: float
    tree_right: np.ndarray | None  # bool (rows, trees) of a BestTree


def in_steps(
    model: Any, blocks: Iterable[Block], classes: Any, progress: Callable[[int, float], None] | None = None
) -> Iterator[Step]:
    """Predict every example, then learn it, block by block. For the arguments see `prequential`."""
    compiled, seen = hasattr(model, "test_then_train"), 0
    for block in blocks:
        start = time.perf_counter()
        if compiled:
            predictions = model.test_then_train(block.X, block.y, classes=classes)
        else:
            predictions = _row_by_row(model, block, classes)
        seconds = time.perf_counter() - start
        yield Step(block, predictions, seconds, model._right_by_tree() if hasattr(model, "_right_by_tree") else None)
        seen += len(block)
        if progress is not None:
            progress(seen, block.fraction)
    if not seen:
        raise DataError("the stream is empty: there is nothing to learn from")


def _row_by_row(model: Any, block: Block, classes: Any) -> np.ndarray:
    """Test-then-train for a classifier that only knows `predict` and `partial_fit`."""
    X = as_numbers(model, block)
    out = np.empty(len(block), object)
    for b in range(len(block)):
        started = b > 0 or block.first_row > 0
        out[b] = model.predict(X[b : b + 1])[0] if started else None
        model.partial_fit(X[b : b + 1], block.y[b : b + 1], classes=classes)
    return out


def as_numbers(model: Any, block: Block) -> Any:
    """The rows of a block for a classifier that knows arrays of numbers alone."""
    X: Any = block.X
    if isinstance(X, Table):
        if any(column.dtype == np.object_ for column in X.columns):
            raise DataError(
                f"{type(model).__name__} needs numbers, but a column of the stream is nominal: encode it first"
            )
        X = np.column_stack(X.columns)
    return X
