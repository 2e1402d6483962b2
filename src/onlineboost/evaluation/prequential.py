"""Test, then train: prequential runs and what they show."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost.data.encode import as_table
from onlineboost.data.stream import Block, DataError, Table

BLOCK_ROWS = 16_384  # rows learned between two calls of `progress`; threads pause at the end of each


@dataclass(frozen=True, eq=False)
class Result:
    """A prequential run: every prediction was made before its label was learned.

    Examples
    --------
    >>> r = Result(predictions=np.array(["a", "b", "b"]), y=np.array(["a", "a", "b"]), seconds=0.5)
    >>> round(r.accuracy, 3), r.tail_accuracy(0.34), r.examples_per_second
    (0.667, 1.0, 6.0)
    """

    predictions: np.ndarray
    y: np.ndarray
    seconds: float
    tree_right: np.ndarray | None = None  # bool (rows, trees): which trees of a BestTree were right

    @property
    def right(self) -> np.ndarray:
        """Whether each prediction was right."""
        return np.asarray(self.predictions == self.y, bool)

    @property
    def accuracy(self) -> float:
        """Share of right predictions over the whole stream."""
        return float(self.right.mean())

    def tail_accuracy(self, share: float = 0.2) -> float:
        """Share of right predictions over the last part of the stream."""
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return float(self.right[-max(1, round(share * len(self.y))) :].mean())

    def best_tree_accuracy(self, share: float = 1.0) -> float:
        """Share of right predictions over the last part of the stream by the tree that was best there: the paper's DT.

        For runs of :class:`BestTree` only. The tree is chosen in hindsight, so no online method can be sure of this.
        """
        if self.tree_right is None:
            raise ValueError("best_tree_accuracy needs a run of BestTree: other models have no trees to choose from")
        if not 0.0 < share <= 1.0:
            raise ValueError(f"share must lie in (0, 1], got {share!r}")
        return float(self.tree_right[-max(1, round(share * len(self.y))) :].mean(axis=0).max())

    @property
    def examples_per_second(self) -> float:
        return len(self.y) / self.seconds if self.seconds > 0.0 else float("inf")

    def curve(self, points: int = 200) -> tuple[np.ndarray, np.ndarray]:
        """Learning curve: (examples, share of right predictions since the point before)."""
        edges = np.unique(np.linspace(0, len(self.y), min(points, len(self.y)) + 1).round().astype(int))
        return edges[1:], np.add.reduceat(self.right, edges[:-1]) / np.diff(edges)


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
        The stream: arrays or frames; or, with `y` left out, an iterable of :class:`~onlineboost.data.stream.Block`.
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
        blocks = _cut(X, np.asarray(y))
        classes = _distinct(np.asarray(y)) if classes is None else classes
    compiled = hasattr(model, "test_then_train")
    predictions, labels, by_tree = [], [], []
    seconds, seen = 0.0, 0
    for block in blocks:
        start = time.perf_counter()
        if compiled:
            predictions.append(model.test_then_train(block.X, block.y, classes=classes))
        else:
            predictions.append(_row_by_row(model, block, classes))
        seconds += time.perf_counter() - start
        if hasattr(model, "_right_by_tree"):
            by_tree.append(model._right_by_tree())
        labels.append(block.y)
        seen += len(block)
        if progress is not None:
            progress(seen, block.fraction)
    if not seen:
        raise DataError("the stream is empty: there is nothing to learn from")
    tree_right = np.concatenate(by_tree) if by_tree else None
    return Result(np.concatenate(predictions), np.concatenate(labels), seconds, tree_right)


def _distinct(y: np.ndarray) -> np.ndarray:
    """The labels in y, in order; objects are compared by their hash first, since to sort many takes long."""
    return np.unique(np.array([*set(y.tolist()), None], object)[:-1] if y.dtype == object else y)


def _cut(X: Any, y: np.ndarray) -> Iterator[Block]:
    if not isinstance(X, np.ndarray):
        X = as_table(X)
    if len(X) != len(y):
        raise DataError(f"X has {len(X)} rows and y has {len(y)}: give one label per row")
    for a in range(0, len(y), BLOCK_ROWS):
        b = min(a + BLOCK_ROWS, len(y))
        yield Block(X[a:b], y[a:b], a, b / len(y))


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
