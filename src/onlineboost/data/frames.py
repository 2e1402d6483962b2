"""Any kind of two-dimensional data to a table: arrays, lists of rows, pandas, polars and pyarrow frames; single rows.

Frames and mappings have names, and names decide which column is which. Arrays and sequences go by position.
"""

from __future__ import annotations

import reprlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from contextlib import suppress
from importlib import import_module
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.exceptions import DuplicateError
from scipy.sparse import issparse

from onlineboost.data.errors import DataError
from onlineboost.data.table import Table
from onlineboost.data.values import DATES, NO_DATES, NUMBERS, PLAIN, is_missing, number_of, rounded_columns

FIRST_VALUE = "the first row has no value: it settles the columns. Begin with a row that has some"


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
        raise TypeError(
            "Sparse data was passed, but dense data is required: use X.toarray(), or in a pipeline "
            "ColumnTransformer(..., sparse_threshold=0) and OneHotEncoder(sparse_output=False)"
        )
    if isinstance(X, list | tuple):
        return _table_from_array(_array_of_rows(X), X) if len(X) else Table((), (), named=False)
    if isinstance(X, np.ndarray):
        return _table_from_array(X)
    if type(X).__module__.startswith("pyarrow") and hasattr(X, "to_struct_array"):
        X = import_module("pyarrow").table(X)  # a RecordBatch
    try:
        frame: Any = nw.from_native(X)
    except DuplicateError:
        raise _names_twice(getattr(X, "column_names", None) or X.columns) from None
    except TypeError:
        if isinstance(X, Mapping):
            raise DataError(
                "a mapping is one row, not a table: use predict_one or learn_one, or a data frame of several"
            ) from None
        return _table_from_array(np.asarray(X))
    if isinstance(frame, nw.LazyFrame):
        raise DataError(f"a {type(X).__name__} has no rows yet: use X.collect()")
    return _table_from_frame(frame)


def rows_of(X: Any) -> Any:
    """X as something with a length, of which rows can be chosen: an array as it is, anything else as a table."""
    return X if isinstance(X, np.ndarray) and X.ndim and not isinstance(X, np.ma.MaskedArray) else as_table(X)


def named_row(x: Any) -> Mapping[Any, Any] | None:
    """A row that has names as a mapping from them: a mapping, a named tuple, a pandas Series, a row of a database."""
    if isinstance(x, Mapping):
        return x
    if hasattr(x, "_asdict"):
        return x._asdict()  # type: ignore[no-any-return]
    if len(getattr(x, "shape", ())) > 1:  # a frame or a table, even of one row
        raise _no_row(x)
    if not hasattr(x, "keys"):
        return None
    by_name, names = dict(x), list(x.keys())
    if len(by_name) < len(names):
        raise _names_twice(names)
    return by_name


def row_in_order(x: Any) -> Sequence[Any]:
    """The values of a row that has no names."""
    if isinstance(x, np.ndarray):
        if x.ndim == 1:
            return x.tolist()  # type: ignore[no-any-return]
    elif not isinstance(x, str | bytes | bytearray | Set):
        try:
            return x if hasattr(x, "__getitem__") else list(x)
        except TypeError:
            pass
    raise _no_row(x)


def _no_row(x: Any) -> DataError:
    return DataError(
        f"a row is a mapping from the names of the columns, or a sequence with one value per column, got "
        f"{reprlib.repr(x)}. For several rows there are partial_fit and predict"
    )


def table_of_row(x: Any) -> Table:
    """A first block made of one row."""
    by_name = named_row(x)
    values = row_in_order(x) if by_name is None else list(by_name.values())
    if not len(values):
        raise DataError(FIRST_VALUE)
    names = tuple(f"x{c}" for c in range(len(values))) if by_name is None else tuple(map(str, by_name))
    return _table_of_values(names, [[value] for value in values], named=by_name is not None)


def _names_twice(names: Iterable[Any]) -> DataError:
    name, times = Counter(names).most_common(1)[0]
    return DataError(f"columns go by their names: names must differ, and {name!r} comes {times} times: rename it")


def _array_of_rows(rows: Sequence[Any]) -> np.ndarray:
    if isinstance(rows[0], Mapping):
        raise DataError(
            "a list of mappings is not a table: use predict_one or learn_one for each row, or make a data frame of them"
        )
    try:
        array = np.asarray(rows)
        return np.array(rows, object) if array.dtype.kind in "USmM" else array  # numbers beside text stay numbers
    except (ValueError, TypeError):
        if len({len(row) if isinstance(row, Sequence | np.ndarray) else -1 for row in rows}) == 1:
            return np.array(rows, object)  # values of types that NumPy does not mix
        raise DataError("the rows of X have different lengths: give every row one value per column") from None


def _table_from_array(X: np.ndarray, rows: Sequence[Any] | None = None) -> Table:
    """The table of an array, which was made of these rows."""
    if X.ndim != 2:
        raise DataError(
            f"Expected 2D array, got {X.ndim}D array instead. Reshape your data either using array.reshape(-1, 1) if "
            f"it has a single column or array.reshape(1, -1) if it is a single row"
        )
    if np.iscomplexobj(X):
        raise DataError("Complex data not supported: give real and imaginary parts as two columns")
    names = tuple(f"x{c}" for c in range(X.shape[1]))
    if X.dtype.kind in "mM":
        raise DataError(f"X has type {X.dtype}: {NO_DATES}")
    if X.dtype.kind in "biuf":
        numbers = np.ma.filled(X.astype(np.float64), np.nan) if isinstance(X, np.ma.MaskedArray) else X
        numbers = np.asarray(numbers, np.float64)
        return Table(names, tuple(numbers.T), named=False, rounded=rounded_names(names, numbers, X, rows))
    # tolist gives None for what is masked
    return _table_of_values(names, [X[:, c].tolist() for c in range(X.shape[1])], named=False)


def rounded_names(
    names: Sequence[str], numbers: np.ndarray, X: np.ndarray, rows: Sequence[Any] | None = None
) -> tuple[str, ...]:
    """The columns of an array, or of the rows that it was made of, whose whole numbers are not those in `numbers`."""
    if rows is None and (X.dtype.kind not in "iu" or X.itemsize < 8):
        return ()
    found = rounded_columns(numbers, lambda c: X[:, c] if rows is None else [row[c] for row in rows])
    return tuple(names[c] for c in found)


def _table_of_values(names: tuple[str, ...], given: Sequence[list[Any]], *, named: bool) -> Table:
    columns = tuple(_column(values, name) for values, name in zip(given, names, strict=True))
    rounded = tuple(names[c] for c, values in enumerate(given) if _is_rounded(columns[c], values))
    return Table(names, columns, named=named, rounded=rounded)


def _is_rounded(column: np.ndarray, values: Any) -> bool:
    return column.dtype != np.object_ and bool(rounded_columns(column[:, None], lambda _: values))


def _column(values: list[Any], name: str) -> np.ndarray:
    """Python values as a column: nominal if there is text among them."""
    types = set(map(type, values))
    if any(issubclass(kind, str) for kind in types):
        out = np.empty(len(values), object)
        out[:] = values if types <= {str, type(None)} else [None if is_missing(value) else value for value in values]
        return out
    try:
        if types <= PLAIN:
            return np.array(values, np.float64)
        if not any(issubclass(kind, DATES) for kind in types):
            numbers = np.array([np.nan if is_missing(value) else value for value in values], np.float64)
            if numbers.ndim == 1:  # of lists of one length there are more
                return numbers
    except (TypeError, ValueError, OverflowError):
        pass  # find out which
    for row, value in enumerate(values):
        if not (is_missing(value) or isinstance(value, (*NUMBERS, *DATES))):
            raise TypeError(
                f"row {row}, column {name!r}: a value's argument must be a string or a number, got {value!r}"
            )
    return numbers_of_values(values, name)


def numbers_of_values(values: Sequence[Any], name: str) -> np.ndarray:
    """The values of a numeric column; an error for the first that is not a number."""
    return np.array([checked_number(value, row, name) for row, value in enumerate(values)], np.float64)


def checked_number(value: Any, row: int, name: str) -> float:
    try:
        return number_of(value)
    except ValueError as error:
        raise DataError(f"row {row}, column {name!r}: {value!r} {error}") from None


def _table_from_frame(frame: nw.DataFrame[Any]) -> Table:
    names = tuple(str(name) for name in frame.columns)
    columns: list[np.ndarray] = []
    categories: dict[str, tuple[Any, ...]] = {}
    rounded: list[str] = []
    for name, series in zip(names, frame.iter_columns(), strict=True):
        dtype = series.dtype
        if dtype.is_numeric() or dtype == nw.Boolean:
            if dtype not in (nw.Int64, nw.UInt64):
                columns.append(np.asarray(series.cast(nw.Float64).fill_null(np.nan).to_numpy(), np.float64))
                continue
            columns.append(series.fill_null(0).to_numpy().astype(np.float64))  # Arrow would not cast large ones
            columns[-1][series.is_null().to_numpy()] = np.nan
            if _is_rounded(columns[-1], series):
                rounded.append(name)
        elif dtype in (nw.Categorical, nw.Enum):
            with suppress(AttributeError):  # narwhals does not find those of Arrow's dictionaries in pandas
                categories[name] = tuple(map(_plain_category, series.cat.get_categories().to_list()))
            column = np.empty(len(series), object)
            column[:] = [None if is_missing(value) else _plain_category(value) for value in series.to_list()]
            columns.append(column)
        elif dtype in (nw.String, nw.Object, nw.Unknown):
            values = series.to_list()
            column = _column(values, name)
            typed = dtype == nw.String and getattr(series.to_native(), "dtype", None) != np.object_
            columns.append(column.astype(object) if typed else column)  # of objects the values tell, and all of them
            if _is_rounded(columns[-1], values):
                rounded.append(name)
        elif dtype.is_temporal():
            raise DataError(f"column {name!r} has type {dtype}: {NO_DATES}")
        else:
            raise DataError(
                f"column {name!r} has type {dtype}, which is neither a number nor a category: turn it into one or "
                f"leave it out"
            )
    return Table(names, tuple(columns), categories, rounded=tuple(rounded))


def _plain_category(value: Any) -> Any:
    """A value of a categorical type: intervals and the like by their text."""
    return value if isinstance(value, (str, *NUMBERS)) else str(value)
