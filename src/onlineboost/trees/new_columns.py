"""New columns for trees that have begun: their statistics get places that hold nothing yet."""

from __future__ import annotations

import numpy as np

from onlineboost.trees.shrink import laid_out
from onlineboost.trees.state import N_NODES, Forest, nominal_layout


def with_columns(forest: Forest, numeric: int, nominal: int) -> Forest:
    """The same trees with so many more columns of each kind, the last of their kind, in which nothing has been met."""
    before, n = forest.n_numeric, forest.n_numeric + numeric
    sizes = [*(np.diff(forest.offset) - 1).tolist(), *[0] * nominal]
    features = forest.nodes["feature"][: forest.used[N_NODES]]
    features[features >= before] += numeric  # nominal columns come after the numeric ones
    birth = np.concatenate([forest.birth, np.full(nominal, -1, np.int64)])
    return laid_out(forest, nominal_layout(n, sizes))._replace(birth=birth, n_numeric=n)
