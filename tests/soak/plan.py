"""What is done to an estimator: operations by name, each with the seed of all that is drawn for it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

SHARES = {
    "learn": 20,
    "learn_one": 12,
    "learn_struck": 14,
    "learn_watched": 4,
    "learn_crowded": 0.7,
    "refuse": 8,
    "predict": 8,
    "predict_struck": 8,
    "look": 2,
    "go_on_with_copy": 5,
    "cut": 3,
    "new_columns": 2,
    "set_threads": 5,
    "set_combiner": 1,
    "compare": 2,
}
MOST_OPERATIONS = 300


class Operation(NamedTuple):
    """What to do, and the seed of all that is drawn for it."""

    name: str
    seed: int


def plan(seed: int, most: int = MOST_OPERATIONS, shares: Mapping[str, float] = SHARES) -> list[Operation]:
    """The operations of an episode."""
    rng = np.random.default_rng(seed)
    weights = np.array(list(shares.values()))
    names = rng.choice(list(shares), size=most - 1, p=weights / weights.sum())
    return [Operation(str(name), int(rng.integers(2**31))) for name in [*names, "compare"]]
