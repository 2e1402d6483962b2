"""Any kind of two-dimensional data to a table: arrays, lists of rows, pandas, polars and pyarrow frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from scipy.sparse import issparse

from onlineboost.data.errors import DataError
from onlineboost.data.table import Table


def as_table(X: Any) -> Table:
    """Any kind of two-dimensional data as a Table; columns of text and categories become nominal.

    Examples
    --------
    >>> as_table([[1.5, "red"], [None, "blue"]])
    Table(2 rows; numeric: x0; nominal: x1)
    """
    if isinstance(X, Table):
        return X
    if issparse(X):
        raise TypeError("Sparse data was passed, but dense data is required: use X.toarray()")
    if isinstance(X, list | tuple):
        return _table_from_array(_array_of_rows(X))
    if isinstance(X, np.ndarray):
        return _table_from_array(X)
    try:
        frame = nw.from_native(X, eager_only=True)
    except TypeError:
        return _table_from_array(np.asarray(X))
    return _table_from_frame(frame)


def _array_of_rows(rows: Sequence[Any]) -> np.ndarray:
    try:
        array = np.asarray(rows)
        return np.array(rows, object) if array.dtype.kind in "US" else array  # numbers beside text stay numbers
    except ValueError:
        raise DataError("the rows of X have different lengths: give every row one value per column") from None


def _table_from_array(X: np.ndarray) -> Table:
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using array.reshape(-1, 1) if "
            f"it has a single column or array.reshape(1, -1) if it is a single row"
        )
    if np.iscomplexobj(X):
        raise DataError("Complex data not supported: give real numbers")
    names = tuple(f"x{c}" for c in range(X.shape[1]))
    if X.dtype.kind in "biuf":
        return Table(names, tuple(np.asarray(X, np.float64).T))
    return Table(names, tuple(_column(X[:, c].tolist(), name) for c, name in enumerate(names)))


def _column(values: list[Any], name: str) -> np.ndarray:
    """Python values as a column: nominal if there is text among them."""
    if any(isinstance(value, str) for value in values):
        out = np.empty(len(values), object)
        out[:] = [None if is_missing(value) else value for value in values]
        return out
    try:
        return np.array([np.nan if is_missing(value) else value for value in values], np.float64)
    except (TypeError, ValueError):
        for row, value in enumerate(values):
            if not isinstance(value, int | float | np.number):
                raise TypeError(
                    f"row {row}, column {name!r}: a value's argument must be a string or a number, got {value!r}"
                ) from None
        raise


def _table_from_frame(frame: nw.DataFrame[Any]) -> Table:
    names = tuple(str(name) for name in frame.columns)
    columns: list[np.ndarray] = []
    categories: dict[str, tuple[Any, ...]] = {}
    for name, series in zip(names, frame.iter_columns(), strict=True):
        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            columns.append(np.asarray(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), np.float64))
        elif dtype in (nw.Categorical, nw.Enum):
            categories[name] = tuple(series.cat.get_categories().to_list())
            values = np.empty(len(series), object)
            values[:] = [None if is_missing(value) else value for value in series.to_list()]
            columns.append(values)
        elif dtype in (nw.String, nw.Object, nw.Unknown):
            column = _column(series.to_list(), name)
            columns.append(column.astype(object) if dtype == nw.String else column)
        else:
            raise DataError(
                f"column {name!r} has type {dtype}, which is neither a number nor a category: turn it into one "
                f"(for a date, for instance, the hour or the day of the week)"
            )
    return Table(names, tuple(columns), categories)


def is_missing(value: Any) -> bool:
    """None, NaN, and pandas.NA, which is neither equal nor unequal to itself."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError):
        return not isinstance(value, np.ndarray | list | dict)
