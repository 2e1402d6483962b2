"""What a single value means, the same wherever it comes from: missing, a number, a category, or a date."""

from __future__ import annotations

import datetime
import re
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError

MISSING_NUMBERS = frozenset({"", "?", "NA", "N/A", "na", "n/a", "NULL", "Null", "null", "None", "none"})
"""What stands for a missing value in a numeric column, besides nan in any case. In a nominal one: only ""."""
NUMBERS = (int, float, np.number, np.bool_, Decimal)
PLAIN = frozenset({float, int, bool, type(None)})
"""Types of which NumPy makes numbers as they are meant: None is NaN."""
DATES = (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)
NO_DATES = (
    "a date or time is neither a number nor a category. Turn it into a number, such as the hour, the day of the week "
    "or the seconds since a fixed day"
)

_DAY = r"\d{4}[-/]\d\d?[-/]\d\d?|\d\d?[./-]\d\d?[./-]\d{4}"
_TIME = r"\d\d?:\d\d(:\d\d([.,]\d+)?)?"
_DATE = re.compile(rf"({_DAY})([T ]{_TIME}( ?(Z|UTC|[+-]\d\d:?\d\d))?)?|{_TIME}")

EXACT = 2.0**53  # not all whole numbers beyond are floats
LOOKED_AT = 100  # values beyond it in a column, to see whether they are

NO_NUMBER = (
    "is not a number, and the column is numeric. If it is a category, name it in categorical_features before the first "
    "row is learned"
)


def is_missing(value: Any) -> bool:
    """None, NaN, NaT, a masked value, and pandas.NA, which is neither equal nor unequal to itself."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except (TypeError, ValueError):
        return not isinstance(value, np.ndarray | list | dict)


def is_date(value: Any) -> TypeGuard[str]:
    """Whether a value is text that looks like a date, a time or both, as they are mostly written."""
    return isinstance(value, str) and _DATE.fullmatch(value) is not None


def parse_numbers(values: Sequence[str]) -> NDArray[np.float64] | None:
    """Text as numbers, NaN for missing; None if one of the values is not a number."""
    if "_" in "".join(values):
        return None  # Python reads 309_1 as 3091; in data it is a name
    try:
        if len(set(values[:256])) > 64:
            return np.array(values, dtype=np.float64)
    except ValueError:
        pass  # a missing value, or text
    try:  # few distinct values: four times faster if each is parsed once
        number = {v: np.nan if v.strip() in MISSING_NUMBERS else float(v) for v in set(values)}
    except ValueError:
        return None
    return np.fromiter(map(number.__getitem__, values), np.float64, len(values))


def number_of(value: Any) -> float:
    """A value of a numeric column, NaN for missing; text is read as in a file. ValueError: it is not a number."""
    if isinstance(value, float):
        return value
    if isinstance(value, str):
        numbers = parse_numbers([value])
        if numbers is None:
            raise ValueError(NO_NUMBER)
        return float(numbers[0])
    if is_missing(value):
        return np.nan
    if isinstance(value, DATES):
        raise ValueError(f"is not a number: {NO_DATES}")
    if isinstance(value, np.ndarray) and value.ndim:
        raise ValueError(NO_NUMBER)
    try:
        return float(value)
    except OverflowError:
        return np.inf  # refused by name, as infinity is
    except (TypeError, ValueError):
        raise ValueError(NO_NUMBER) from None


def rounded_columns(matrix: np.ndarray, values: Callable[[int], Any]) -> list[int]:
    """The columns with whole numbers that floats do not hold, such as 2**53 + 1; values(c) are those that were given.

    Examples
    --------
    >>> given = [2**53 + 1, "9007199254740993", 2**60, 1e20]
    >>> rounded_columns(np.array([given], float), lambda c: given[c : c + 1])
    [0, 1]
    """
    large = (np.abs(matrix) >= EXACT) & np.isfinite(matrix)
    found = []
    for c in np.flatnonzero(large.any(axis=0)).tolist():
        given = values(c)
        if any(_is_rounded(given[row]) for row in np.flatnonzero(large[:, c])[:LOOKED_AT].tolist()):
            found.append(c)
    return found


def _is_rounded(value: Any) -> bool:
    whole = value.strip().lstrip("+-").isdecimal() if isinstance(value, str) else isinstance(value, int | np.integer)
    return whole and int(float(value)) != int(value)


def category_of(value: Any) -> str | None:
    """A value of a nominal column as text, None for missing. ValueError: it is neither text nor a number.

    A number is its shortest text, so "1", 1 and 1.0 are the same category. Spaces around text do not count.

    Examples
    --------
    >>> category_of(" red"), category_of(1.0), category_of("1"), category_of(0.5), category_of(float("nan"))
    ('red', '1', '1', '0.5', None)
    """
    if isinstance(value, str):
        return value.strip() or None
    if is_missing(value):
        return None
    if isinstance(value, DATES):
        raise ValueError(f"is not a category: {NO_DATES}")
    if isinstance(value, NUMBERS):
        return shortest(int(value) if isinstance(value, int | np.integer) else value)  # type: ignore[arg-type]
    raise ValueError("is not a category: give text or a number")


def text_of(value: Any) -> str | None:
    """A value of a file as text, None for missing."""
    if value is None or value != value:  # a NaN
        return None
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return shortest(value)  # type: ignore[arg-type]
    return str(value).strip() or None


def shortest(number: int | float | Decimal) -> str:
    """The shortest text of a number: 1.0 is "1"."""
    if isinstance(number, int):
        return str(int(number))
    number = float(number)
    return str(int(number)) if number.is_integer() else repr(number)


def weights_of(given: Any, n: int, name: str = "sample_weight") -> np.ndarray:
    """How much each of n rows counts: None (1 each), a number for all of them, or one for each."""
    if given is None:
        return np.ones(n)
    if isinstance(given, np.ma.MaskedArray):
        given = np.ma.filled(given.astype(np.float64), np.nan)
    given = np.asarray(given)
    if given.dtype.kind in "USO":  # NumPy would read text as numbers
        numbers = [np.nan if isinstance(value, str | bytes) else value for value in given.flat]
        try:
            weight = np.array(numbers, np.float64).reshape(given.shape)
        except OverflowError:
            raise DataError(f"{name} holds a whole number that is too large for a float") from None
    else:
        weight = given.astype(np.float64)
    if weight.ndim == 0:
        weight = np.full(n, float(weight))
    if weight.ndim != 1:
        raise DataError("Sample weights must be 1D array or scalar")
    if weight.shape != (n,):
        raise DataError(f"{name}.shape == {weight.shape}, expected {(n,)}!")
    good = np.isfinite(weight) & (weight >= 0.0)
    if not good.all():
        row = int(good.argmin())
        value = given.item(row % given.size)
        raise DataError(f"row {row}: {name} is {value!r}; it must be a number that is not negative")
    return weight


def interned(value: Any) -> Any:
    """A copy in which equal texts are one object, as deep as lists, tuples, dicts and arrays of objects go.

    A pickle shows which texts are one object: without this, equal models would make unequal pickles.
    """
    kind = type(value)
    if kind is str:
        return sys.intern(value)
    if kind is list:
        return list(map(interned, value))
    if isinstance(value, tuple):
        parts = map(interned, value)
        return kind(*parts) if hasattr(value, "_fields") else kind(parts)
    if kind is dict:
        return {interned(key): interned(item) for key, item in value.items()}
    if kind is np.ndarray and value.dtype == object:
        out = np.empty(value.size, object)
        for i, item in enumerate(value.flat):  # a tuple among them would be taken apart by `out[:] = values`
            out[i] = interned(item)
        return out.reshape(value.shape)
    return value
