"""Test, then train: a model over a stream, every example predicted before its label is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onlineboost.data.table import Block, Table
from onlineboost.evaluation.blocks import cut
from onlineboost.evaluation.delay import Arrivals, steps_of
from onlineboost.evaluation.result import Result


def prequential(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    classes: Any = None,
    delay: Any = None,
    times: Any = None,
    progress: Callable[[int, float], None] | None = None,
) -> Result:
    """Predict every example, then learn it, in one pass; at once, or when its label comes.

    Parameters
    ----------
    model
        A classifier of this package (one compiled pass), or any other with ``partial_fit`` and ``predict`` (row by
        row). It is changed: it has learned the stream afterwards.
    X, y
        The stream: arrays or frames; or, with `y` left out, an iterable of :class:`~onlineboost.data.Block`.
    classes
        All labels; by default those of `y`. With blocks and no `classes`, they grow as labels are met.
    delay
        How late labels come: after so many more rows were predicted, or so much later by `times`; one for all rows, or
        an array with one for each. Rows go through one by one then, and nothing is predicted (None) before the first
        label has come. See docs/delayed-labels.md. None: every label comes right after its prediction.
    times
        When each row comes, in order: an array of numbers or dates, for a `delay` in the same unit.
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
    arrivals = None if delay is None else Arrivals(delay, times)
    if arrivals is not None and y is not None:
        arrivals.check_rows(len(y))
    steps = steps_of(model, blocks, classes, arrivals, progress)
    predictions, labels, by_tree, seconds = [], [], [], 0.0
    for step in steps:
        predictions.append(step.predictions)
        labels.append(step.block.y)
        seconds += step.seconds
        if step.tree_right is not None:
            by_tree.append(step.tree_right)
    tree_right = np.concatenate(by_tree) if by_tree else None
    return Result(np.concatenate(predictions), np.concatenate(labels), seconds, tree_right)


def _distinct(y: np.ndarray) -> np.ndarray:
    """The labels in y, in order; objects are compared by their hash first, since to sort many takes long."""
    return np.unique(np.array([*set(y.tolist()), None], object)[:-1] if y.dtype == object else y)


def warm_up(model: Any) -> None:
    """Let a model that is not needed otherwise learn a few rows: what it compiles or loads is not timed later.

    The rows have a numeric and a nominal column, since either has kernels of its own.
    """
    numbers, words = np.arange(12.0), np.array(["a", "b", "c"] * 4, object)
    prequential(model, Table(("number", "word"), (numbers, words), {"word": ("a", "b", "c")}), words)
