"""Synthetic streams of any length, with or without drift."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from onlineboost.data.table import Table
from onlineboost.datasets.dataset import Dataset, Order, Rows

SYNTHETIC_NOTE = "Clusters in the first 60 % of the columns, the rest irrelevant; 5 % of the labels random."


def synthetic_stream(
    n: int,
    n_columns: int = 10,
    n_classes: int = 5,
    seed: int = 0,
    drift: Literal["abrupt", "gradual"] | None = None,
) -> Dataset:
    """Gaussian clusters, four to a class, with noise: easy to learn something from, hard to learn fully.

    The first 60 % of the columns place the clusters, the rest are irrelevant; 5 % of the labels are drawn at
    random. A class is a union of round clusters, which the straight cuts of one small tree fit badly, so that
    many trees gain. Without drift, the first rows do not depend on ``n``.

    Parameters
    ----------
    n, n_columns, n_classes
        Size of the stream.
    seed
        The same seed gives the same stream.
    drift
        "abrupt": all clusters move at the middle of the stream. "gradual": over the middle third, more and
        more rows come from the moved clusters.

    Examples
    --------
    >>> stream = synthetic_stream(1000, n_columns=3, n_classes=2, drift="abrupt")
    >>> stream.X, stream.classes
    (Table(1000 rows; numeric: x1, x2, x3), ('c1', 'c2'))
    """
    if n < 1 or n_columns < 1 or n_classes < 2:
        raise ValueError(f"need n >= 1, n_columns >= 1, n_classes >= 2, got {n}, {n_columns}, {n_classes}")
    if drift not in (None, "abrupt", "gradual"):
        raise ValueError(f"drift must be None, 'abrupt' or 'gradual', got {drift!r}")
    generators = np.random.default_rng(seed).spawn(6)  # one per purpose: longer streams continue shorter ones
    for_centres, for_clusters, for_values, for_labels, for_noise, for_drift = generators
    n_clusters, n_relevant = 4 * n_classes, -(-6 * n_columns // 10)
    centres = for_centres.normal(0, 2, size=(2, n_clusters, n_relevant))  # before and after the drift

    position = (np.arange(n) + 0.5) / n
    if drift is None:
        after = np.zeros(n, dtype=np.intp)
    elif drift == "abrupt":
        after = (position > 1 / 2).astype(np.intp)
    else:
        after = (for_drift.random(n) < 3 * position - 1).astype(np.intp)

    cluster = for_clusters.integers(n_clusters, size=n)
    values = for_values.normal(size=(n, n_columns))
    values[:, :n_relevant] += centres[after, cluster]
    label = np.where(for_noise.random(n) < 0.05, for_labels.integers(n_classes, size=n), cluster % n_classes)

    width = len(str(n_classes))  # c01 ... c10 sort as they count
    names = np.array([f"c{i + 1:0{width}}" for i in range(n_classes)], dtype=object)
    table = Table(tuple(f"x{j + 1}" for j in range(n_columns)), tuple(np.ascontiguousarray(values.T)))
    name = "synthetic" if drift is None else f"synthetic-{drift}"
    y = names[label]
    order: Order = "shuffle" if drift is None else "time"
    return Dataset(name, table, y, tuple(sorted(set(y))), order, SYNTHETIC_NOTE)


def synthetic_rows(drift: Literal["abrupt", "gradual"] | None) -> Callable[[], Rows]:
    """What makes the catalogue's stream with this drift."""

    def make() -> Rows:
        stream = synthetic_stream(50_000, drift=drift)
        return stream.X, stream.y

    return make
