"""Test, then train, block by block."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.labels import values_of
from onlineboost.data.table import Block, Table


class Step(NamedTuple):
    """A block that was predicted and learned."""

    block: Block
    predictions: np.ndarray
    seconds: float
    tree_right: np.ndarray | None  # bool (rows, trees) of a BestTree
    probabilities: np.ndarray | None = None  # float64 (rows, classes)
    classes: Any = None  # the labels of their columns
    weight: np.ndarray | None = None  # of the rows; None: 1

    @property
    def right(self) -> np.ndarray:
        """Whether each prediction was right."""
        return np.asarray(self.predictions == self.block.y, bool)


def in_steps(
    model: Any,
    blocks: Iterable[Block],
    classes: Any,
    progress: Callable[[int, float], None] | None = None,
    *,
    proba: bool = False,
    weight: np.ndarray | None = None,
) -> Iterator[Step]:
    """Predict every example, then learn it, block by block. For the arguments see `prequential`.

    The seconds are those of predicting and learning: what has to be compiled is compiled before.
    """
    compiled, seen = hasattr(model, "test_then_train"), 0
    for block in blocks:
        if compiled and not seen:
            compile_before(model, block, classes)
        own = None if weight is None else weight[seen : seen + len(block)]
        start = time.perf_counter()
        if compiled:
            said = _block_by_block(model, block, classes, own, proba)
        else:
            said = _row_by_row(model, block, classes, own, proba)
        seconds = time.perf_counter() - start
        trees = model._right_by_tree() if hasattr(model, "_right_by_tree") else None
        yield Step(block, said[0], seconds, trees, *said[1:], own)
        seen += len(block)
        if progress is not None:
            progress(seen, block.fraction)
    if not seen:
        raise DataError("the stream is empty: there is nothing to learn from")


def compile_before(model: Any, block: Block, classes: Any) -> None:
    """Have a new model's kernels compiled or loaded before it is timed: a copy learns two rows."""
    if not hasattr(model, "_model") and hasattr(model, "get_params"):
        deepcopy(model).partial_fit(block.X[:2], block.y[:2], classes=classes)


def _block_by_block(
    model: Any, block: Block, classes: Any, weight: np.ndarray | None, proba: bool
) -> tuple[np.ndarray, np.ndarray | None, Any]:
    """Predictions, probabilities and their classes, by a classifier of this package."""
    more = {} if weight is None else {"sample_weight": weight}
    if not (proba and hasattr(model, "predict_proba")):
        return model.test_then_train(block.X, block.y, classes=classes, **more), None, None
    said, p = model.test_then_train(block.X, block.y, classes=classes, proba=True, **more)
    return said, p, model.classes_


def _row_by_row(
    model: Any, block: Block, classes: Any, weight: np.ndarray | None, proba: bool
) -> tuple[np.ndarray, np.ndarray | None, Any]:
    """Test-then-train for a classifier that only knows `predict` and `partial_fit`."""
    X = as_numbers(model, block)
    out, shares = np.empty(len(block), object), []
    proba = proba and hasattr(model, "predict_proba")
    for b in range(len(block)):
        x, y = X[b : b + 1], block.y[b : b + 1]
        started = b > 0 or block.first_row > 0
        out[b] = model.predict(x)[0] if started else None
        if proba:
            shares.append((model.predict_proba(x), model.classes_) if started else None)
        model.partial_fit(x, y, classes=classes, **({} if weight is None else {"sample_weight": weight[b : b + 1]}))
    return (out, in_columns(shares, model.classes_), model.classes_) if proba else (out, None, None)


def in_columns(parts: Sequence[tuple[np.ndarray, Any] | None], classes: Any) -> np.ndarray:
    """Probabilities, (rows, known classes) and those classes, in columns of all classes; None: a row without any."""
    column = {label: c for c, label in enumerate(values_of(np.asarray(classes)))}
    p, at = np.zeros((sum(1 if part is None else len(part[0]) for part in parts), len(column))), 0
    for part in parts:
        if part is None:
            at += 1
            continue
        said, known = part
        p[at : at + len(said), [column[label] for label in values_of(np.asarray(known))]] = said
        at += len(said)
    return p


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
