"""A data set in memory, the file that it is read from, and what may be made of its rows.

The sum of a file says whether it is the known one.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from onlineboost._compile.system import cache_folder
from onlineboost.data.errors import DataError
from onlineboost.data.files import read_blocks
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


# ---------------------------------------------------------------------------------------------------------------- files


@dataclass(frozen=True)
class PublicFile:
    """A public file: our columns' names, and where in its rows they are.

    Its name says what it is: comma-separated without a header, or .arff; .gz if it is compressed.
    """

    url: str
    names: str  # separated by spaces
    order: Sequence[int]
    most: int = 16 << 20  # bytes, compressed or not: more than it has, less than would do harm


@dataclass(frozen=True)
class DataFile:
    """A file in the data folder.

    ``sha256`` is that of the parsed content (see ``fingerprint``), so that a file compressed or formatted
    in another way is still the same data.
    """

    name: str
    sha256: str
    home: str
    layout: str
    nominal: tuple[str, ...] = ()
    fetch: PublicFile | None = None


def data_cache() -> Path:
    """The folder that downloads are written to, and that is searched last."""
    return cache_folder() / "data"


def _folders(data_home: str | PathLike[str] | None) -> list[Path]:
    if data_home is not None:
        return [Path(data_home).expanduser()]
    named = os.environ.get("ONLINEBOOST_DATA")
    return [*([Path(named).expanduser()] if named else []), data_cache()]


def first_file(file: DataFile, data_home: str | PathLike[str] | None) -> Path | None:
    return next((f / file.name for f in _folders(data_home) if (f / file.name).is_file()), None)


def find_file(name: str, file: DataFile, data_home: str | PathLike[str] | None) -> Path:
    """Where the file is; an error that says where it could come from if it is nowhere."""
    path = first_file(file, data_home)
    if path is not None:
        return path
    folders = " nor in ".join(map(str, _folders(data_home)))
    fetch = f"fetch_dataset({name!r}) or `onlineboost datasets {name} --fetch` downloads it; or set"
    download = fetch if file.fetch else "Set"
    raise DataError(
        f"data set {name!r}: {file.name} is not in {folders}. {download} "
        "the environment variable ONLINEBOOST_DATA to the folder that has it. Expected: gzip-compressed CSV "
        f"with a header row, columns {file.layout}, class. Public home: {file.home}."
    )


def read_file(path: Path, file: DataFile) -> Rows:
    """All rows of a file, in memory."""
    blocks = list(read_blocks(path, "class", nominal=file.nominal))
    names = blocks[0].X.names
    columns = [np.concatenate([block.X.columns[j] for block in blocks]) for j in range(len(names))]
    categories = {
        name: tuple(sorted({value for value in column if value is not None}))
        for name, column in zip(names, columns, strict=True)
        if column.dtype == np.object_
    }
    return Table(names, tuple(columns), categories), np.concatenate([block.y for block in blocks])


def fingerprint(X: Table, y: NDArray[np.object_]) -> str:
    """The sha256 of names and values: numbers as little-endian doubles (one NaN, one zero), text as lines."""
    digest = hashlib.sha256()
    for name, column in zip([*X.names, "class"], [*X.columns, y], strict=True):
        digest.update(f"{name}\n".encode())
        if column.dtype == np.object_:
            digest.update("\n".join(value or "" for value in column).encode())
        else:
            digest.update(np.where(np.isnan(column), np.nan, column + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()
