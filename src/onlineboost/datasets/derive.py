"""What is made of the rows of a file: nothing, a choice of columns, or a projection."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.table import Table
from onlineboost.datasets.dataset import Rows


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
