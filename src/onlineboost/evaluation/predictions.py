"""Predictions on their way to a file: a line for each row, with its label, and the place where a run has come to."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.storage.atomic import replacing

HEADER = ("label", "prediction")
TEXT: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}  # JSON has labels that UTF-8 has not


class Predictions:
    """A CSV file of labels and predictions, written as they come; what was there before goes with the first of them.

    One that a run left behind is cut to `length` bytes, and goes on there.
    """

    def __init__(self, path: str | os.PathLike[str], length: int | None = None) -> None:
        self.path = Path(path)
        there = self.path.stat().st_size if length is not None and self.path.exists() else 0
        if length is not None and there < length:
            raise DataError(
                f"{self.path}: the run had written {length:,} bytes of predictions here, and {there:,} are left. Bring "
                f"the file back, or start again in another folder"
            )
        self._file: TextIO | None = None
        if length is not None:
            self._file = self.path.open("r+", **TEXT)
            self._file.truncate(length)
            self._file.seek(0, os.SEEK_END)

    def add(self, labels: np.ndarray, predictions: np.ndarray) -> None:
        self._opened().write(lines(labels, predictions))

    def _opened(self) -> TextIO:
        if self._file is None:
            self._file = self.path.open("w", **TEXT)
            self._file.write(",".join(HEADER) + "\n")
        return self._file

    def flush(self) -> int:
        """Hand all that was written to the system; its bytes."""
        self._opened().flush()
        return os.fstat(self._opened().fileno()).st_size

    def sync(self) -> None:
        """Have it on disk."""
        os.fsync(self._opened().fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def replacing_text(path: str | os.PathLike[str]) -> Iterator[TextIO]:
    """A file for predictions that takes the place of `path` as a whole at the end, or not at all."""
    with replacing(path) as file:
        text = io.TextIOWrapper(file, **TEXT)
        yield text
        text.flush()
        text.detach()


def lines(*columns: Any) -> str:
    """Rows as CSV; nothing where there was no prediction yet."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(zip(*(np.asarray(column).tolist() for column in columns), strict=True))
    return text.getvalue()


class Printed:
    """The same, to a stream of somebody else's, such as one that someone reads as it comes."""

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
