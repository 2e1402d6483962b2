"""Parquet files, batch by batch. The file says which columns are numbers. Needs pyarrow, which is optional."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import file_error, way_out
from onlineboost.data.source import Chunk, Source, check_columns, parse_numbers, rows_at_once
from onlineboost.data.values import NO_DATES, NUMBERS, shortest


@contextmanager
def open_parquet(path: Path) -> Iterator[Source]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise file_error(path, "reading Parquet needs pyarrow: pip install 'onlineboost[frames]'") from None
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            yield ParquetSource(path, file)
    except (pyarrow.ArrowException, OSError) as error:
        raise file_error(path, f"not a readable Parquet file ({error}). If it was cut off, copy it again.") from None


class ParquetSource:
    """An open Parquet file."""

    def __init__(self, path: Path, file: Any) -> None:
        self.path = path
        self.names = list(file.schema_arrow.names)
        check_columns(path, len(self.names))
        self._file = file

    def chunks(self, n_rows: int, names: Sequence[str]) -> Iterator[Chunk]:
        done = 0
        for batch in self._file.iter_batches(rows_at_once(n_rows, len(names)), columns=list(names)):
            done += len(batch)
            yield ParquetChunk(self, batch, done - len(batch), done / self._file.metadata.num_rows)


class ParquetChunk:
    """An Arrow batch."""

    def __init__(self, source: ParquetSource, batch: Any, first_row: int, fraction: float) -> None:
        self.fraction = fraction
        self._path = source.path
        self._batch = batch
        self._first_row = first_row

    def place(self, index: int) -> str:
        return f"row {self._first_row + index + 1}"

    def looks_numeric(self, name: str) -> bool:
        from pyarrow import types

        kind = self._batch.column(name).type
        if any(test(kind) for test in (types.is_nested, types.is_binary, types.is_large_binary)):
            what = f"values of type {kind} are neither numbers nor text. Leave the column out with --drop {name}"
            raise file_error(self._path, f"{what} (drop=[{name!r}]).", None, name)
        if types.is_temporal(kind):
            raise file_error(self._path, f"the type is {kind}: {NO_DATES}. {way_out(name)}", None, name)
        numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
        return any(test(kind) for test in numeric)

    def numbers(self, name: str) -> NDArray[np.float64] | None:
        if self.looks_numeric(name):
            # safe=False: integers beyond 2**53 are rounded, as float() does for text; the model warns of it
            numbers = self._batch.column(name).cast("float64", safe=False)
            return np.array(numbers.to_numpy(zero_copy_only=False))  # a copy: Arrow's memory is read-only
        return parse_numbers([text or "" for text in self.texts(name)])

    def texts(self, name: str) -> list[str | None]:
        values = self._batch.column(name).to_pylist()
        return [None if v is None or v != v else _text(v) for v in values]  # v != v: a NaN


def _text(value: Any) -> str | None:
    if isinstance(value, NUMBERS) and not isinstance(value, bool):
        return shortest(value)  # type: ignore[arg-type]
    return str(value).strip() or None
