"""Columns of a chunk, checked: which is the target, which are numbers, and what is wrong with a value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import file_error, show, suggest
from onlineboost.data.source import Chunk, Source, parse_numbers
from onlineboost.data.table import Table
from onlineboost.data.values import rounded_columns


def target_name(source: Source, target: str | None) -> str:
    """The name of the column with the labels: the one asked for, if it is there, or the last."""
    names = source.names
    repeated = next((name for name, count in Counter(names).items() if count > 1), None)
    if repeated is not None:
        what = "two columns have this name. Rename one; if the file starts with data, add a header row."
        raise file_error(source.path, what, None, repeated)
    if len(names) < 2:
        what = "there is one column; predictors and a target are needed. Values are separated by commas"
        other = next((f", not by {sign!r}" for sign in ";\t|" if sign in names[0]), "")
        raise file_error(source.path, f"{what}{other}.", None, names[0])
    if target is None:
        return names[-1]
    if target not in names:
        raise file_error(source.path, f"no column is named {target!r}." + suggest(target, names))
    return target


def check_forced(path: Path, names: list[str], nominal: frozenset[str], numeric: frozenset[str]) -> None:
    """Columns whose kind is not to be guessed are there, and of one kind."""
    for name in sorted(nominal | numeric):
        if name not in names:
            raise file_error(path, f"no predictor is named {name!r}." + suggest(name, names))
        if name in nominal and name in numeric:
            raise file_error(path, "asked to be both nominal and numeric. Choose one.", None, name)


def check_dropped(path: Path, names: list[str], drop: frozenset[str]) -> None:
    """Columns to leave out are there, and others are left."""
    for name in sorted(drop):
        if name not in names:
            raise file_error(path, f"no predictor is named {name!r}." + suggest(name, names))
    if len(drop) == len(names):
        raise file_error(path, "all predictors are left out: keep at least one.")


def numbers_of(source: Source, chunk: Chunk, name: str) -> NDArray[np.float64]:
    """A numeric column; an error for the first value that is not a finite number."""
    numbers = chunk.numbers(name)
    if numbers is None:
        texts = chunk.texts(name)
        guilty = next(i for i, text in enumerate(texts) if text and parse_numbers([text]) is None)
        what = f"{show(texts[guilty])} is not a number, and the column is numeric."
    elif np.isinf(numbers).any():
        guilty = int(np.argmax(np.isinf(numbers)))
        what = f"{show(chunk.texts(name)[guilty])} is not a finite number."
    else:
        return numbers
    advice = (
        f"{what} If it is a category, it has to be learned as one: run --nominal {name} (nominal=[{name!r}]); "
        "if not, correct the value or leave it empty, which means missing."
    )
    raise file_error(source.path, advice, chunk.place(guilty), name)


def table_of(source: Source, chunk: Chunk, names: Sequence[str], is_numeric: Callable[[str], bool]) -> Table:
    """These columns of a chunk, of which some are numbers."""
    columns = [numbers_of(source, chunk, name) if is_numeric(name) else texts_of(chunk, name) for name in names]
    numbers = [(name, column) for name, column in zip(names, columns, strict=True) if is_numeric(name)]
    rounded = (name for name, column in numbers if _is_rounded(chunk, name, column))
    return Table(tuple(names), tuple(columns), rounded=tuple(rounded))


def _is_rounded(chunk: Chunk, name: str, column: np.ndarray) -> bool:
    return bool(rounded_columns(column[:, None], lambda _: chunk.texts(name)))


def texts_of(chunk: Chunk, name: str) -> NDArray[np.object_]:
    return np.array(chunk.texts(name), dtype=object)


def labels_of(source: Source, chunk: Chunk, target: str) -> list[str]:
    """The target column; an error for the first row that has no label."""
    labels = chunk.texts(target)
    if None in labels:
        what = "'' is no label: every row needs one. Fill it in or remove the row."
        raise file_error(source.path, what, chunk.place(labels.index(None)), target)
    return labels  # type: ignore[return-value]  # None has just been ruled out
