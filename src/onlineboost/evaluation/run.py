"""Test, then train: a model over a stream, every example predicted before its label is learned."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import rows_of
from onlineboost.data.table import Block, Table
from onlineboost.evaluation.blocks import cut, distinct, label_array
from onlineboost.evaluation.delay import Arrivals, steps_of
from onlineboost.evaluation.result import Result
from onlineboost.evaluation.steps import Step, in_columns


def prequential(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    classes: Any = None,
    delay: Any = None,
    times: Any = None,
    weight: Any = None,
    proba: bool = True,
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
    weight
        How much each row counts, for the model (`sample_weight`) and for the metrics; rows of weight 0 are left out.
    proba
        Whether the probabilities of the classes are kept, too, if the model has any: float64 (rows, classes).
    progress
        Called after every block with (examples so far, share of the stream so far).

    Returns
    -------
    Result
        Its seconds are those of predicting and learning (wall time), without compiling.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM, prequential
    >>> X, y = [[0.0], [1.0]] * 200, ["low", "high"] * 200
    >>> prequential(AdaBoostOLM(n_learners=10), X, y).tail_accuracy
    1.0
    """
    if y is None:
        if weight is not None:
            raise DataError("weight needs X and y: blocks have no weights")
        blocks: Iterable[Block] = X
    else:
        y = label_array(y)
        if delay is not None:
            Arrivals(delay, times).check_rows(len(y))
        if weight is not None:
            keep = _of_some_weight(weight, len(y))
            if not keep.all():
                X, y, weight = rows_of(X)[keep], y[keep], np.asarray(weight)[keep]
                delay, times = (part if np.ndim(part) == 0 else np.asarray(part)[keep] for part in (delay, times))
        blocks = cut(X, y)
        classes = distinct(y) if classes is None else classes
    arrivals = None if delay is None else Arrivals(delay, times)
    steps = list(steps_of(model, blocks, classes, arrivals, progress, proba=proba, weight=weight))
    known = next((step.classes for step in reversed(steps) if step.classes is not None), None)
    trees = [step.tree_right for step in steps if step.tree_right is not None]
    return Result(
        np.concatenate([step.predictions for step in steps]),
        np.concatenate([step.block.y for step in steps]),
        sum(step.seconds for step in steps),
        np.concatenate(trees) if trees else None,
        _all_probabilities(steps, known),
        known,
        weight,
    )


def _of_some_weight(weight: Any, n: int) -> np.ndarray:
    """Which of n rows count at all."""
    weight = np.asarray(weight, np.float64)
    if weight.shape != (n,) or not (np.isfinite(weight) & (weight >= 0.0)).all():
        raise DataError(f"weight must have one finite number of at least 0 for each of the {n} rows")
    kept: np.ndarray = weight > 0.0
    return kept


def _all_probabilities(steps: list[Step], classes: Any) -> np.ndarray | None:
    """Probabilities of all steps, in the columns of the classes that are known in the end."""
    if classes is None:
        return None
    parts: list[Any] = []
    for step in steps:
        parts += [None] * len(step.block) if step.probabilities is None else [(step.probabilities, step.classes)]
    return in_columns(parts, classes)


def warm_up(model: Any) -> None:
    """Let a model that is not needed otherwise learn a few rows: what it compiles or loads is not timed later.

    The rows have a numeric and a nominal column, since either has kernels of its own.
    """
    numbers, words = np.arange(12.0), np.array(["a", "b", "c"] * 4, object)
    prequential(model, Table(("number", "word"), (numbers, words), {"word": ("a", "b", "c")}), words)
