"""A data set in memory: predictors, labels, and what to know about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.table import Table

Order = Literal["shuffle", "time"]
Rows = tuple[Table, NDArray[np.object_]]  # predictors and labels


@dataclass(frozen=True, eq=False)
class Dataset:
    """Predictors and labels, held in memory.

    Parameters
    ----------
    name
        As given to :func:`load_dataset`.
    X
        The predictors. The values of every nominal column are in ``X.categories``.
    y
        The labels, an object array of str.
    classes
        The distinct labels, sorted.
    order
        "shuffle" if the rows are sorted or their order is arbitrary: shuffle before an online run. "time" if
        the order carries meaning: run them as they are.
    note
        What to know before trusting a number.

    Examples
    --------
    >>> from onlineboost.datasets import load_dataset
    >>> balance = load_dataset("balance")
    >>> balance.X, balance.classes, len(balance)
    (Table(625 rows; numeric: left_weight, left_distance, right_weight, right_distance), ('B', 'L', 'R'), 625)
    """

    name: str
    X: Table
    y: NDArray[np.object_]
    classes: tuple[str, ...]
    order: Order
    note: str

    def __len__(self) -> int:
        return len(self.y)

    def shuffled(self, seed: int) -> Dataset:
        """The same rows in a random order; the same seed gives the same order.

        Examples
        --------
        >>> from onlineboost.datasets import load_dataset
        >>> load_dataset("car").shuffled(seed=1).y[:3]
        array(['unacc', 'unacc', 'acc'], dtype=object)
        """
        rows = np.random.default_rng(seed).permutation(len(self))
        return replace(self, X=self.X[rows], y=self.y[rows])
