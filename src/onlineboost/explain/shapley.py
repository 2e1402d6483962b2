"""What the columns of a row add to its scores, and nothing else: Shapley values, by walks from other rows to this one.

A walk starts at one of the last rows that the model has learned, and puts the values of the row to be explained in its
place, one column after the other in a random order. What a step changes in the scores is that column's doing; its value
is the mean over the walks. The steps of a walk add up to the way from its start to its end, so the values add up to
the scores of the row less the mean of those of the starts. Every order is gone backwards, too, from the same start,
which makes the means surer (Strumbelj and Kononenko 2014; Mitchell and others 2022).
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

PAIRS = 64  # of walks, at most
MOST_ROWS = 20_000  # that are predicted for one row, if there are too many columns for 4 pairs
FEWEST = 4  # pairs


def shapley(
    ask: Callable[[np.ndarray], np.ndarray], x: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The values of each column, (columns, scores), and the mean scores of the starts.

    `ask` gives the scores of rows, x is a row and `starts` are others: (columns,) and (rows, columns). The same call
    gives the same values.
    """
    d, random = len(x), np.random.default_rng(0)
    pairs = max(FEWEST, min(PAIRS, MOST_ROWS // (2 * d + 2)))
    starts = starts[random.permutation(len(starts))[:pairs]]
    values: np.ndarray | float = 0.0
    base: np.ndarray | float = 0.0
    for start in starts:
        order = random.permutation(d)
        rows = np.tile(start, (2 * d + 1, 1))  # to x, and back by the same order: as another walk in the reverse order
        for i, column in enumerate(order):
            rows[i + 1 : i + 1 + d, column] = x[column]
        scores = ask(rows)
        steps = np.empty((d, scores.shape[1]))
        steps[order] = (scores[1 : d + 1] - scores[:d] + scores[d:-1] - scores[d + 1 :]) / 2.0
        values, base = values + steps / len(starts), base + scores[0] / len(starts)
    return np.asarray(values), np.asarray(base)
