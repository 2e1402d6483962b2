"""What is wrong with the data, in words: the file, the row, the column, the value, and the way out."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from shlex import quote
from types import FrameType


class DataError(ValueError):
    """Something is wrong with the data; the message says where and what to do.

    Examples
    --------
    >>> from onlineboost.data import read_blocks
    >>> try:  # doctest: +ELLIPSIS
    ...     read_blocks("events.xlsx")
    ... except DataError as error:
    ...     print(error)
    events.xlsx: no such file, and a name must end in .csv, .csv.gz, .parquet, ...
    """


def file_error(path: Path, what: str, place: str | None = None, column: str | None = None) -> DataError:
    """An error in a file: `place` is a row or line in words, `column` a name."""
    parts = [str(path), place, f"column {column!r}" if column is not None else None]
    return DataError(f"{', '.join(part for part in parts if part)}: {what}")


def way_out(name: str) -> str:
    """What to do with a column of a file that cannot be taken as it is."""
    word = quote(name)
    return (
        f"Leave the column out with --drop {word} (drop=[{name!r}]), or pass --nominal {word} (nominal=[{name!r}]) to "
        f"take every value as a category."
    )


def near_files(path: Path, suffixes: tuple[str, ...] = ("",)) -> str:
    """After "no such file": those of nearly this name that end in one of these."""
    beside = [other.name for other in path.parent.iterdir() if other.is_file()] if path.parent.is_dir() else []
    return did_you_mean(get_close_matches(path.name, [name for name in beside if name.lower().endswith(suffixes)]))


def no_rows(path: Path) -> DataError:
    return file_error(path, "there is a header but no row of data.")


def show(value: str | None) -> str:
    """A value as a message shows it: in quotes, cut if it is long."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:56]}...'"


def did_you_mean(near: list[str]) -> str:
    return f" Did you mean {' or '.join(map(repr, near))}?" if near else ""


def near_names(name: str, names: Sequence[str]) -> list[str]:
    by_lower = {n.lower(): n for n in names}
    return [by_lower[n] for n in get_close_matches(name.lower(), by_lower, cutoff=0.7)]


def suggest(name: str, names: list[str]) -> str:
    """After "no column is named ...": the near names, or all of them."""
    shown = names if len(names) <= 20 else [*names[:19], "...", names[-1]]
    return did_you_mean(near_names(name, names)) or f" The columns are {', '.join(shown)}."


# ------------------------------------------------------------------------------------------------------------- warnings


PACKAGE = str(Path(__file__).parents[1]) + os.sep

Remarks = dict[str, Callable[[], str]]
"""What there is to say about data: cause -> the words, which are made where the cause has not been told before."""


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """`warnings.warn` for the line that called this package."""
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None:
        level += 1
        if not frame.f_code.co_filename.startswith(PACKAGE):
            break
        frame = frame.f_back
    warnings.warn(message, category, stacklevel=level)
