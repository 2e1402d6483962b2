"""Runs that survive: test-then-train with checkpoints, which goes on after a crash as if there had been none.

A run leaves on disk a folder with its last two checkpoints, and a file of its predictions. A checkpoint is a model and
how far the run has come, in one file. It is copied in memory when it is due, and written while the run goes on. The
newest that can be read counts: a file that a crash of the machine has damaged is passed over. The file of predictions
is then cut to where it was.
"""

from __future__ import annotations

import csv
import io
import logging
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from importlib import import_module
from itertools import chain
from pathlib import Path
from threading import Thread
from typing import Any, TextIO, cast

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.table import Block, Table
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.runner import Progress, predict_then_learn
from onlineboost.storage import ModelFileError
from onlineboost.storage.container import PART, replacing

MAX_CHECKPOINTS = 2  # that are kept
NAME = "checkpoint-{rows:012d}.olb"
NAMES = "checkpoint-*.olb"
HEADER = "label,prediction\n"
TEXT: Any = {"encoding": "utf-8", "errors": "backslashreplace", "newline": ""}  # JSON has labels that UTF-8 has not

logger = logging.getLogger("onlineboost")


# arguments: it is `prequential` with all that a long run needs
def resumable(
    model: Any,
    blocks: Iterable[Block],
    folder: str | os.PathLike[str] | None,
    *,
    every: int | str = 10_000,
    classes: Any = None,
    out: str | os.PathLike[str] | Predictions | None = None,
    about: dict[str, Any] | None = None,
    proba: bool = True,
    sets: float | None = None,
    progress: Progress | None = None,
    cluster: Callable[[Any], Any] | None = None,
) -> tuple[Any, Tally]:
    """Test-then-train with checkpoints. Called again after a crash, it goes on where the last one was made.

    Predictions, figures and the model are then those of a run that was never disturbed, bit for bit.

    Parameters
    ----------
    model
        A new classifier of this package. A run that goes on takes the one of its checkpoint instead.
    blocks
        The stream, from its first row on, in every call: rows that were learned before are passed over.
    folder
        Where the checkpoints are kept, the last two of them; None: there are none.
    every
        Rows between checkpoints; or seconds, as text: "30s", "5m", "1h".
    classes
        All labels, if they are known.
    out
        A CSV file for labels and predictions. A run that goes on cuts it to where its checkpoint was. Without
        checkpoints it takes the place of a file that is there when the run has ended well.
    about
        What has to be the same when a run goes on: the name of the data, say. The model's settings and the version of
        the package are always compared, but for `n_jobs`.
    proba
        Whether log loss, Brier score and calibration are measured, too.
    sets
        The coverage of prediction sets to measure; the model's setting `sets` is turned on.
    progress
        Called after every block with (examples so far, share of the stream so far).
    cluster
        Makes of the model what learns in its place, in a ``with`` statement, and has a `result`: a function that gives
        a `Cluster` (docs/scale.md). A run may go on with another cluster, or with none.

    Returns
    -------
    model, tally
        The model that has learned the stream, and the figures of the whole run.

    Examples
    --------
    >>> import tempfile
    >>> from onlineboost import HoeffdingTree
    >>> from onlineboost.evaluation import cut, resumable
    >>> folder = tempfile.TemporaryDirectory()
    >>> X, y = np.tile([[0.0], [1.0]], (200, 1)), np.tile(["low", "high"], 200)
    >>> model, tally = resumable(HoeffdingTree(), cut(X, y, pieces=4), folder.name, every=100)
    >>> len(tally), tally.tail_accuracy(0.5)
    (400, 1.0)
    >>> folder.cleanup()
    """
    if sets is not None:
        model.set_params(sets=True)
    checkpoints = None if folder is None else Checkpoints(Path(folder), every, {**(about or {}), **_described(model)})
    found = None if checkpoints is None else checkpoints.newest()
    tally, rows, length = Tally(), 0, None
    if found is not None:
        own = model.get_params(deep=False)
        model, state = found
        tally, rows, length = Tally.of_values(state["tally"]), state["rows"], state["bytes"]
        if "n_jobs" in own:
            model.set_params(n_jobs=own["n_jobs"])
    learning = nullcontext(model) if cluster is None else cluster(model)
    with opened(out, length, whole=folder is None) as sink, learning as learner:
        try:
            left = _cut(_after(blocks, rows), checkpoints.every_rows if checkpoints else None, rows)
            first = next(left, None)
            if first is None and rows:
                return model, tally  # all was learned before
            stream = left if first is None else chain([first], left)
            for step in predict_then_learn(learner, stream, classes, proba=proba, sets=sets):
                tally.add_step(step)
                rows += len(step.block)
                if sink is not None:
                    sink.add(step.block.y, step.predictions)
                if checkpoints is not None and checkpoints.due(rows):
                    checkpoints.write(_whole(learner), rows, tally, sink)
                if progress is not None:
                    progress(rows, step.block.fraction)
            model = _whole(learner)
            if checkpoints is not None:
                checkpoints.write(model, rows, tally, sink)
        finally:
            if checkpoints is not None:
                checkpoints.wait()
    return model, tally


def _whole(learner: Any) -> Any:
    """The model, with all that it has learned, wherever it learns."""
    return learner.result() if hasattr(learner, "result") else learner


@contextmanager
def opened(
    out: str | os.PathLike[str] | Predictions | None, length: int | None, *, whole: bool
) -> Iterator[Predictions | None]:
    """Where predictions go; `whole`: a file takes the place of another when all is well."""
    if out is None:
        yield None
    elif whole and not isinstance(out, Predictions) and (os.path.isfile(out) or not os.path.exists(out)):
        with replacing_text(out) as text:
            yield Predictions(text)
    else:
        sink = out if isinstance(out, Predictions) else Predictions(out, length)
        try:
            yield sink
        finally:
            sink.close()


def _described(model: Any) -> dict[str, str]:
    """A model and its settings as they are compared: arrays in full, and generators as what they are."""
    out = {"model": type(model).__name__}
    for name, value in model.get_params(deep=False).items():
        if name != "n_jobs":
            value = value.tolist() if isinstance(value, np.ndarray) else value
            out[name] = "a RandomState" if isinstance(value, np.random.RandomState) else repr(value)
    return out


def _after(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """The stream without its first rows."""
    passed = 0
    for block in blocks:
        skip = min(rows - passed, len(block))
        passed += skip
        if skip < len(block):
            yield _part(block, skip, len(block)) if skip else block
    if passed < rows:
        raise DataError(
            f"the run had learned {rows:,} rows, and the stream has {passed:,}: give the stream from its start, or "
            f"another folder"
        )


def _cut(blocks: Iterable[Block], every: int | None, rows: int) -> Iterator[Block]:
    """Cut tables where a checkpoint is due: their columns are of a known kind, so that it changes nothing."""
    start = rows
    for block in blocks:
        at = 0
        while every is not None and isinstance(block.X, Table) and at < len(block):
            stop = min(len(block), at + every - (rows - start) % every)
            yield _part(block, at, stop)
            rows, at = rows + stop - at, stop
        if at == 0:
            yield block
            rows += len(block)


def _part(block: Block, start: int, stop: int) -> Block:
    return Block(block.X[start:stop], block.y[start:stop], block.first_row + start, block.fraction)


# ---------------------------------------------------------------------------------------------------- checkpoints


def how_often(every: int | str) -> tuple[int | None, float | None]:
    """A number of rows, or of seconds, of a number or text: 10000, 30s, 5m, 1h."""
    found = re.fullmatch(r"([1-9]\d*)([smh]?)", str(every).strip().replace("_", ""))
    if found is None:
        raise ValueError(f"every must be a number of rows or a time, such as 10000, 30s, 5m or 1h; got {every!r}")
    number, unit = int(found[1]), found[2]
    return (None, float(number * {"s": 1, "m": 60, "h": 3600}[unit])) if unit else (number, None)


class Checkpoints:
    """Checkpoints of one run, in a folder of its own."""

    def __init__(self, folder: str | Path, every: int | str, about: dict[str, Any]) -> None:
        from onlineboost.files.files import Room  # here and below: with it come Numba and all chains

        self.folder = Path(folder)
        self.every_rows, self._every_seconds = how_often(every)
        self.about = {**about, "version": import_module("onlineboost").__version__}
        self._last_rows, self._last_time = 0, time.monotonic()
        self._room = Room()
        self._thread: Thread | None = None
        self._error: BaseException | None = None
        self.folder.mkdir(parents=True, exist_ok=True)

    def paths(self) -> list[Path]:
        """The checkpoints that are there, newest first."""
        return sorted(self.folder.glob(NAMES), reverse=True)

    def newest(self) -> tuple[Any, dict[str, Any]] | None:
        """Model and state of the newest checkpoint that can be read. An error if it is of another run."""
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
            return model, state
        if damaged is not None:
            raise DataError(
                f"no checkpoint in {self.folder} can be read: {damaged} Start again in another folder"
            ) from damaged
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
        if self.every_rows is not None:
            passed = (rows - self._last_rows) / self.every_rows
        else:
            passed = (time.monotonic() - self._last_time) / (self._every_seconds or 1.0)
        writing = self._thread is not None and self._thread.is_alive()
        return passed >= (2.0 if writing else 1.0)

    def write(self, model: Any, rows: int, tally: Tally, sink: Predictions | None) -> None:
        """Begin to write a checkpoint, once the one before is written. It counts when its predictions are on disk."""
        from onlineboost.files.files import frozen, take

        length = None if sink is None else sink.flush()
        state = {"tally": tally.as_values(), "bytes": length, "rows": rows, "about": self.about}
        self.wait()
        copy = frozen(model, self._room)
        self._last_rows, self._last_time = rows, time.monotonic()

        def work() -> None:
            try:
                saved = take(copy, state)
                self._room.prepare()
                if sink is not None:
                    sink.sync()
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


class Predictions:
    """Labels and predictions as CSV, written as they come: to a file, or to a stream that somebody may be reading.

    What was in the file before goes with the first of them. One that a run left behind is cut to `length` bytes, and
    goes on there.
    """

    def __init__(self, to: str | os.PathLike[str] | TextIO, length: int | None = None) -> None:
        self._path = Path(to) if isinstance(to, str | os.PathLike) else None
        self._file: TextIO | None = None
        if self._path is None:
            self._file = cast(TextIO, to)
            self._file.write(HEADER)
        elif length is not None:
            self._file = self._cut(self._path, length)

    @staticmethod
    def _cut(path: Path, length: int) -> TextIO:
        there = path.stat().st_size if path.exists() else 0
        if there < length:
            raise DataError(
                f"{path}: the run had written {length:,} bytes of predictions here, and {there:,} are left. Bring the "
                f"file back, or start again in another folder"
            )
        file: TextIO = path.open("r+", **TEXT)
        file.truncate(length)
        file.seek(0, os.SEEK_END)
        return file

    def _opened(self) -> TextIO:
        if self._file is None:
            assert self._path is not None
            self._file = self._path.open("w", **TEXT)
            self._file.write(HEADER)
        return self._file

    def add(self, labels: np.ndarray, predictions: np.ndarray) -> None:
        self._opened().write(lines(labels, predictions))
        if self._path is None:
            self.flush()

    def flush(self) -> int | None:
        """Hand all that was written to the system; the bytes of the file."""
        self._opened().flush()
        return None if self._path is None else os.fstat(self._opened().fileno()).st_size

    def sync(self) -> None:
        """Have the file on disk."""
        if self._path is not None:
            os.fsync(self._opened().fileno())

    def close(self) -> None:
        """A stream is not ours to close."""
        if self._path is not None and self._file is not None:
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
