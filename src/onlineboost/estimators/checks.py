"""Is the input what it should be? Labels, weights, columns and seeds, each with an error that names what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import assert_all_finite, column_or_1d, validate_data

from onlineboost.data.errors import DataError
from onlineboost.data.table import Table


def check_labels(y: Any, whose: str) -> np.ndarray:
    """One label per row, none of them missing or a fraction."""
    if y is None:
        raise DataError(f"{whose} requires y to be passed, but the target y is None")
    y = column_or_1d(y, warn=True)
    if y.dtype.kind == "f":
        assert_all_finite(y, input_name="y")
    # Numbers with a fraction are no labels. The check sorts y, which would take longer than 10 learners do.
    if y.dtype.kind not in "iubUS" and not (y.dtype == object and len(y) and isinstance(y[0], str)):
        check_classification_targets(y)
    return y


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Names and number of the columns, as scikit-learn checks them."""
    if isinstance(X, Table):
        if reset:
            estimator.feature_names_in_ = np.array(X.names, object)
            estimator.n_features_in_ = len(X.names)
        return
    if getattr(X, "ndim", 2) == 2 or hasattr(X, "columns"):
        validate_data(estimator, X, skip_check_array=True, reset=reset)


def check_weight(weight: float) -> None:
    """The weight of one example."""
    if not 0.0 <= weight < np.inf:
        raise DataError(f"weight must be a number that is not negative, got {weight!r}")


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    if sample_weight is None:
        return np.ones(n)
    weight = np.asarray(sample_weight, np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise DataError(f"sample_weight.shape == {weight.shape}, expected {(n,)}!")
    if not weight.any():
        raise DataError("Sample weights must contain at least one non-zero number")
    if not (np.isfinite(weight).all() and (weight >= 0.0).all()):
        row = int(np.flatnonzero(~(np.isfinite(weight) & (weight >= 0.0)))[0])
        raise DataError(f"row {row}: sample_weight is {weight[row]}; it must be a number that is not negative")
    return weight


def seed_of(random_state: Any) -> int:
    """An integer seed from what scikit-learn takes as random_state."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def table_of_row(x: Mapping[str, Any] | Sequence[Any]) -> Any:
    """A first block made of one row."""
    if isinstance(x, Mapping):
        columns = []
        for value in x.values():
            kind = object if isinstance(value, str) else np.float64
            columns.append(np.array([np.nan if value is None and kind is np.float64 else value], kind))
        return Table(tuple(x), tuple(columns))
    return np.array([list(x)], object if any(isinstance(v, str) for v in x) else np.float64)
