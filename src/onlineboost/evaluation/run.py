"""Test, then train: a model over a stream, every example predicted before its label is learned."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.table import Block, Table
from onlineboost.evaluation.blocks import cut
from onlineboost.evaluation.result import Result


def prequential(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    classes: Any = None,
    progress: Callable[[int, float], None] | None = None,
) -> Result:
    """Predict every example, then learn it, in one pass.

    Parameters
    ----------
    model
        A classifier of this package (one compiled pass), or any other with ``partial_fit`` and ``predict`` (row by
        row). It is changed: it has learned the stream afterwards.
    X, y
        The stream: arrays or frames; or, with `y` left out, an iterable of :class:`~onlineboost.data.Block`.
    classes
        All labels; by default those of `y`. With blocks and no `classes`, they grow as labels are met.
    progress
        Called after every block with (examples so far, share of the stream so far).

    Returns
    -------
    Result

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM, prequential
    >>> X, y = [[0.0], [1.0]] * 200, ["low", "high"] * 200
    >>> prequential(AdaBoostOLM(n_learners=10), X, y).tail_accuracy()
    1.0
    """
    if y is None:
        blocks: Iterable[Block] = X
    else:
        blocks = cut(X, np.asarray(y))
        classes = _distinct(np.asarray(y)) if classes is None else classes
    predictions, labels, by_tree, seconds = [], [], [], 0.0
    for step in in_steps(model, blocks, classes, progress):
        predictions.append(step.predictions)
        labels.append(step.block.y)
        seconds += step.seconds
        if step.tree_right is not None:
            by_tree.append(step.tree_right)
    tree_right = np.concatenate(by_tree) if by_tree else None
    return Result(np.concatenate(predictions), np.concatenate(labels), seconds, tree_right)


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


def _distinct(y: np.ndarray) -> np.ndarray:
    """The labels in y, in order; objects are compared by their hash first, since to sort many takes long."""
    return np.unique(np.array([*set(y.tolist()), None], object)[:-1] if y.dtype == object else y)


def _row_by_row(model: Any, block: Block, classes: Any) -> np.ndarray:
    """Test-then-train for a classifier that only knows `predict` and `partial_fit`."""
    X: Any = block.X
    if isinstance(X, Table):
        if any(column.dtype == np.object_ for column in X.columns):
            raise DataError(
                f"{type(model).__name__} needs numbers, but a column of the stream is nominal: encode it first"
            )
        X = np.column_stack(X.columns)
    out = np.empty(len(block), object)
    for b in range(len(block)):
        started = b > 0 or block.first_row > 0
        out[b] = model.predict(X[b : b + 1])[0] if started else None
        model.partial_fit(X[b : b + 1], block.y[b : b + 1], classes=classes)
    return out


def warm_up(model: Any) -> None:
    """Let a model that is not needed otherwise learn a few rows: what it compiles or loads is not timed later.

    The rows have a numeric and a nominal column, since either has kernels of its own.
    """
    numbers, words = np.arange(12.0), np.array(["a", "b", "c"] * 4, object)
    prequential(model, Table(("number", "word"), (numbers, words), {"word": ("a", "b", "c")}), words)
