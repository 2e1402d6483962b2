"""Hold-out: a model learns a stream, and is asked now and then about rows that it never learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import rows_of
from onlineboost.evaluation.blocks import distinct, label_array
from onlineboost.evaluation.metrics import Metrics


def holdout(
    model: Any, X: Any, y: Any, X_test: Any, y_test: Any, *, every: int | None = None, classes: Any = None
) -> list[tuple[int, Metrics]]:
    """Learn X, y in order, and predict X_test after every so many rows; (rows learned, metrics) of each time.

    Parameters
    ----------
    model
        A classifier with ``partial_fit`` and ``predict``. It has learned the stream afterwards.
    X, y
        The stream, arrays or frames.
    X_test, y_test
        Rows that are not learned. Take later ones than those of the stream if it may change with time.
    every
        Rows learned between two looks; None: there is one look, at the end.
    classes
        All labels; by default those of `y` and `y_test`.

    Examples
    --------
    >>> from onlineboost import HoeffdingTree
    >>> X, y = np.tile([[0.0], [1.0]], (200, 1)), np.tile(["low", "high"], 200)
    >>> looks = holdout(HoeffdingTree(), X[:300], y[:300], X[300:], y[300:], every=150)
    >>> [(rows, metrics.accuracy) for rows, metrics in looks]
    [(150, 1.0), (300, 1.0)]
    """
    y, y_test = label_array(y), label_array(y_test)
    if every is not None and (not isinstance(every, int | np.integer) or every < 1):
        raise ValueError(f"every must be a number of rows, at least 1, got {every!r}")
    classes = distinct(np.concatenate([y, y_test])) if classes is None else classes
    looks, stream, test = [], rows_of(X), rows_of(X_test)
    if len(stream) != len(y) or len(test) != len(y_test):
        raise DataError("give one label for each row, of the stream and of the rows that are not learned")
    step = len(y) if every is None else int(every)
    for start in range(0, len(y), step):
        stop = min(start + step, len(y))
        model.partial_fit(stream[start:stop], y[start:stop], classes=classes)
        metrics = Metrics()
        p = model.predict_proba(test) if hasattr(model, "predict_proba") else None
        metrics.add(y_test, model.predict(test), probabilities=p, classes=getattr(model, "classes_", None))
        looks.append((stop, metrics))
    return looks
