"""New columns for trees that have begun: their statistics get places that hold nothing yet."""

from __future__ import annotations

import numpy as np

from onlineboost.trees.state import HIGH, LOW, Forest, nominal_layout

STRETCHES = 6  # of the numeric columns in a row of statistics


def with_columns(forest: Forest, numeric: int, nominal: int) -> Forest:
    """The same trees with so many more columns of each kind, the last of their kind, in which nothing has been met."""
    before, n = forest.n_numeric, forest.n_numeric + numeric
    sizes = [*(np.diff(forest.offset) - 1).tolist(), *[0] * nominal]
    offset = nominal_layout(n, sizes)
    stats = np.zeros((len(forest.stats), offset[-1]))
    for j in range(STRETCHES):
        nothing = {LOW: np.inf, HIGH: -np.inf}.get(j, 0.0)
        stats[:, j * n : j * n + before] = forest.stats[:, j * before : (j + 1) * before]
        stats[:, j * n + before : (j + 1) * n] = nothing
    old = forest.stats.shape[1] - STRETCHES * before
    stats[:, STRETCHES * n : STRETCHES * n + old] = forest.stats[:, STRETCHES * before :]
    forest.nodes["feature"][forest.nodes["feature"] >= before] += numeric  # nominal columns come after the numeric ones
    birth = np.concatenate([forest.birth, np.full(nominal, -1, np.int64)])
    return forest._replace(stats=stats, offset=offset, birth=birth, n_numeric=n)
