"""What a run leaves on disk: a folder with its last two checkpoints, and a file of its predictions.

A checkpoint is a model and how far the run has come, in one file. It is copied in memory when it is due, and written
while the run goes on. The newest that can be read counts: a file that a crash of the machine has damaged is passed
over. The file of predictions is then cut to where it was.
"""

from __future__ import annotations

import csv
import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, TextIO

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.storage.atomic import PART, replacing
from onlineboost.storage.errors import ModelFileError

MAX_CHECKPOINTS = 2  # checkpoints
NAME = "checkpoint-{rows:012d}.olb"
NAMES = "checkpoint-*.olb"
HEADER = ("label", "prediction")
TEXT: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}  # JSON has labels that UTF-8 has not

logger = logging.getLogger("onlineboost")


class Found(NamedTuple):
    """A checkpoint that was read."""

    model: Any
    state: dict[str, Any]


class Every(NamedTuple):
    """How often: after so many rows, or so many seconds."""

    rows: int | None
    seconds: float | None

    @classmethod
    def of(cls, given: int | str) -> Every:
        """From a number of rows, or text: 10000, 30s, 5m, 1h.

        Examples
        --------
        >>> Every.of("5m"), Every.of(10_000)
        (Every(rows=None, seconds=300.0), Every(rows=10000, seconds=None))
        """
        found = re.fullmatch(r"([1-9]\d*)([smh]?)", str(given).strip().replace("_", ""))
        if found is None:
            raise ValueError(f"checkpoints come every so many rows or so often: 10000, 30s, 5m or 1h, not {given!r}")
        number, unit = int(found[1]), found[2]
        return cls(None, float(number * {"s": 1, "m": 60, "h": 3600}[unit])) if unit else cls(number, None)


class Checkpoints:
    """Checkpoints of one run, in a folder of its own."""

    def __init__(self, folder: str | Path, every: int | str, about: dict[str, Any]) -> None:
        from onlineboost.files.files import Room  # here and below: with it come Numba and all chains

        self.folder = Path(folder)
        self.every = Every.of(every)
        self.about = {**about, "version": import_module("onlineboost").__version__}
        self._last_rows, self._last_time = 0, time.monotonic()
        self._room = Room()
        self._thread: Thread | None = None
        self._error: BaseException | None = None
        self.folder.mkdir(parents=True, exist_ok=True)

    def paths(self) -> list[Path]:
        """The checkpoints that are there, newest first."""
        return sorted(self.folder.glob(NAMES), reverse=True)

    def newest(self) -> Found | None:
        """The newest checkpoint that can be read; None: there is none. An error if it is of another run."""
        from onlineboost.files.files import load_with_more

        for part in self.folder.glob(PART):
            part.unlink(missing_ok=True)  # half a file of a run that was killed
        damaged = None
        for path in self.paths():
            try:
                model, state = load_with_more(path)
            except ModelFileError as error:
                logger.warning("%s. The checkpoint before it is tried", error)
                damaged = error
                continue
            self._check_same(state.get("about"), path)
            self._last_rows, self._last_time = state["rows"], time.monotonic()
            return Found(model, state)
        if damaged is not None:
            raise DataError(f"no checkpoint in {self.folder} can be read: {damaged}") from damaged
        return None

    def _check_same(self, about: Any, path: Path) -> None:
        if not isinstance(about, dict):
            raise DataError(f"{path} is a model, but no checkpoint of a run: give a folder that only runs write to")
        names = [name for name in {**about, **self.about} if about.get(name) != self.about.get(name)]
        if names:
            told = "; ".join(f"{name} was {about.get(name)!r} and is {self.about.get(name)!r}" for name in names)
            raise DataError(
                f"the run in {self.folder} is another one: {told}. Start it as it was started, or give another folder"
            )

    def due(self, rows: int) -> bool:
        """Whether it is time for a checkpoint: put off, once, while a slow disk still writes the one before."""
        if self.every.rows is not None:
            passed = (rows - self._last_rows) / self.every.rows
        else:
            passed = (time.monotonic() - self._last_time) / (self.every.seconds or 1.0)
        writing = self._thread is not None and self._thread.is_alive()
        return passed >= (2.0 if writing else 1.0)

    def write(self, model: Any, rows: int, state: dict[str, Any], before: Callable[[], None]) -> None:
        """Begin to write a checkpoint, once the one before is written. `before` is called before it counts."""
        from onlineboost.files.files import frozen, take

        self.wait()
        copy = frozen(model, self._room)
        self._last_rows, self._last_time = rows, time.monotonic()

        def work() -> None:
            try:
                saved = take(copy, {**state, "rows": rows, "about": self.about})
                self._room.prepare()
                before()
                saved.write(self.folder / NAME.format(rows=rows))
                for old in self.paths()[MAX_CHECKPOINTS:]:
                    old.unlink(missing_ok=True)
            except BaseException as error:
                self._error = error

        self._thread = Thread(target=work, name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Until all is written; an error that came meanwhile is raised here."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None
        error, self._error = self._error, None
        if error is not None:
            raise error


# ---------------------------------------------------------------------------------------------------- predictions


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
