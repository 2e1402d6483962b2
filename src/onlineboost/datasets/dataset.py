"""A data set in memory: predictors, labels, what to know about them, and what may be made of the rows of a file."""

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


# ------------------------------------------------------------------------------------------------------- rows of a file


def as_read(X: Table, y: NDArray[np.object_]) -> Rows:
    return X, y


def proteins(X: Table, y: NDArray[np.object_]) -> Rows:
    """Without the animal's number and its treatment, which together give the class away."""
    kept = [j for j, name in enumerate(X.names) if name.endswith("_N")]
    return Table(tuple(X.names[j] for j in kept), tuple(X.columns[j] for j in kept)), y


def zeros_for_missing(X: Table, y: NDArray[np.object_]) -> Rows:
    """All columns, with 0 in the place of missing numbers."""
    columns = tuple(np.nan_to_num(values) if values.dtype.kind == "f" else values for values in X.columns)
    return replace(X, columns=columns), y


def principal_components(X: Table, y: NDArray[np.object_], n_components: int = 50) -> Rows:
    """Projection on the leading eigenvectors of the covariance, the largest entry of each being positive."""
    values = np.stack(X.columns, axis=1)
    values -= values.mean(axis=0)
    _, vectors = np.linalg.eigh(values.T @ values)
    axes = vectors[:, ::-1][:, :n_components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_components)])
    names = tuple(f"pc{j + 1}" for j in range(n_components))
    return Table(names, tuple(np.ascontiguousarray((values @ axes).T))), y
