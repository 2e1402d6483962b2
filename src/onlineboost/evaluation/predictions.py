"""Predictions on their way to a file: a line for each row, with its label, and the place where a run has come to."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from onlineboost.data.errors import DataError

HEADER = ("label", "prediction")


class Predictions:
    """A CSV file of labels and predictions. One that a run left behind is cut to `length` bytes, and goes on there."""

    def __init__(self, path: str | os.PathLike[str], length: int | None = None) -> None:
        self.path = Path(path)
        there = self.path.stat().st_size if length is not None and self.path.exists() else 0
        if length is not None and there < length:
            raise DataError(
                f"{self.path}: the run had written {length:,} bytes of predictions here, and {there:,} are left. Bring "
                f"the file back, or start again in another folder"
            )
        self._file = self.path.open("w" if length is None else "r+", encoding="utf-8", newline="")
        if length is not None:
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)
        else:
            self._file.write(",".join(HEADER) + "\n")

    def add(self, labels: np.ndarray, predictions: np.ndarray) -> None:
        self._file.write(lines(labels, predictions))

    def flush(self) -> int:
        """Hand all that was written to the system; its bytes."""
        self._file.flush()
        return os.fstat(self._file.fileno()).st_size

    def sync(self) -> None:
        """Have it on disk."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def lines(*columns: Any) -> str:
    """Rows as CSV; nothing where there was no prediction yet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    return text.getvalue()


class Printed:
    """The same, to a stream that someone reads as it comes."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        stream.write(",".join(HEADER) + "\n")

    def add(self, labels: np.ndarray, predictions: np.ndarray) -> None:
        self._stream.write(lines(labels, predictions))
        self._stream.flush()

    def flush(self) -> int | None:
        return None

    def sync(self) -> None:
        """Nobody can take back what was printed."""

    def close(self) -> None:
        """It is not ours."""
