"""The cells of the paper's tables, how they are run, and where they are kept.

A cell is one run: (data set, system, order). Order o is the data set shuffled with seed o, run by a model with seed o.
Finished cells are in a file, so that a run that was interrupted, by whatever, goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import math
import multiprocessing
import os
import signal
import threading
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, fields
from functools import cache
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any, Self

from onlineboost._compile.cache import ROOT, source_hash
from onlineboost.data.errors import DataError
from onlineboost.datasets.catalogue import describe_datasets
from onlineboost.datasets.dataset import Dataset
from onlineboost.datasets.load import load_dataset
from onlineboost.evaluation.prequential import SNAPSHOTS, Record, observe, warm_up
from onlineboost.evaluation.runner import cut
from onlineboost_paper.tables import N_LEARNERS, SYSTEMS, column_of, make_model, read_table


@dataclass(frozen=True)
class Cell:
    dataset: str
    system: str
    order: int
    n_learners: int = N_LEARNERS
    limit: int | None = None  # rows to stop after

    @classmethod
    def of(cls, record: Record) -> Self:
        """The cell whose record this is."""
        return cls(**{field.name: record[field.name] for field in fields(cls)})

    @property
    def key(self) -> str:
        """A hash of all that the cell's result depends on: model, data set, order, and the code that learns."""
        settings = repr(make_model(*SYSTEMS[self.system], self.n_learners, self.order).get_params())
        text = f"{SYSTEMS[self.system][0]} {settings} {self.dataset} {self.order} {self.limit} {code_version()}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def run(self) -> Record:
        data = _loaded(self.dataset).shuffled(self.order)
        n = self.limit or len(data)
        model = make_model(*SYSTEMS[self.system], self.n_learners, self.order)
        blocks = cut(data.X[:n], data.y[:n], pieces=SNAPSHOTS if self.order == 0 else 1)
        _, record = observe(model, blocks, data.classes, snapshots=self.order == 0, proba=False)
        record |= record.pop("best_tree", {})  # the paper's DT is the best tree in hindsight
        return {"key": self.key, "code": code_version(), **asdict(self), **record}


@cache
def _loaded(name: str) -> Dataset:
    return load_dataset(name)


# What results do not depend on: it shows results, or says what they should be. Whatever is new counts.
WITHOUT_EFFECT = ("__init__.py", "__main__.py", "cli", "cluster", "report", "theory")


def what_counts() -> list[str]:
    """The packages and modules that results depend on."""
    return [path.name for path in ROOT.glob("*") if path.name not in WITHOUT_EFFECT]


@cache
def code_version() -> str:
    """A hash of the sources that results depend on: cells of another version are not mixed with ours."""
    return source_hash(what_counts())


# CPU seconds of a cell with 100 learners, to put long cells first and to tell the time left; only ratios matter.
_COSTS = """
balance  .06  .06  .10    .15  .14  .12   .11   .11    .25  .24    .15    .12       .09
mice     .38  .34  1.3    2.4  2.8  2.2   1.5   1.4    2.6  2.8    2.7    1.5       .44
car      .13  .11  .20    .29  .29  .28   .27   .25    .58  .48    .28    .29       .17
mushroom .47  .33  .56    .74  .74  .72   .73   .73    1.0  1.0    .74    .81       .69
nursery  .74  .77  1.2    1.7  1.7  1.6   1.5   1.4    3.9  3.3    1.6    1.6       1.2
isolet   3.7  2.7  7.9    16   18   14    7.9   5.6    23   27     16     8.9       3.2
movement 20   19   36     55   50   46    40    38     96   87     48     36        26
"""
COSTS = read_table(_COSTS, [system for system in SYSTEMS if system == column_of(system)])


def expected_cost(cell: Cell) -> float:
    cost = COSTS[cell.dataset][column_of(cell.system)] * cell.n_learners / N_LEARNERS
    return cost if cell.limit is None else cost * min(1.0, cell.limit / 1000)


def plan(
    datasets: Sequence[str],
    systems: Sequence[str],
    orders: Mapping[str, int],
    n_learners: int = N_LEARNERS,
    limit: int | None = None,
    absent: bool = False,
) -> tuple[list[Cell], list[str]]:
    """All cells, the longest first so that no core is idle at the end; and the data sets that are not at hand.

    With `absent` these have cells too, which may have been run before.
    """
    at_hand = {row["name"] for row in describe_datasets() if row["available"]}
    cells = [
        Cell(name, system, order, n_learners, limit)
        for name in datasets
        if absent or name in at_hand
        for system in systems
        for order in range(orders[name])
    ]
    cells.sort(key=lambda cell: -expected_cost(cell))
    return cells, [name for name in datasets if name not in at_hand]


# ----------------------------------------------------------------------------------------------------------------- kept


class Store:
    """Records of finished cells in DIR/cells.jsonl, a line each, on disk before the next one starts.

    A process that dies while it writes leaves half a line at the end. The next one that writes moves it to
    cells.jsonl.rest: nothing is ever deleted. Only one process may write: a second one is told so.
    """

    def __init__(self, folder: Path, *, writing: bool = True) -> None:
        self.path = folder / "cells.jsonl"
        self.rest: Path | None = None  # where half a line has been moved to
        if not writing:
            text = self.path.read_bytes() if self.path.exists() else b""
            self.records = self._parse(text)[0]
            return
        folder.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("a+b")
        try:
            if not _lock(self.file):
                raise DataError(f"another run is writing to {folder}: wait for it, or give another --out")
            self.file.seek(0)
            self.records, whole, text = self._parse(self.file.read())
            self._tidy(whole, text)
        except BaseException:
            self.file.close()
            raise

    def _parse(self, text: bytes) -> tuple[dict[str, Record], int, bytes]:
        """The records, where the last whole one ends, and what comes after that."""
        whole = text.rfind(b"\n") + 1
        records, last = {}, text[whole:]
        for number, line in enumerate(text[:whole].split(b"\n")[:-1], 1):
            record = _record(line)
            if record is None:
                message = f"{self.path}, line {number}: not a record. Remove the line to run its cell again"
                raise DataError(message)
            records[record["key"]] = record
        if (record := _record(last)) is not None:  # all of it but the line's end
            records[record["key"]] = record
        return records, whole, last

    def _tidy(self, whole: int, last: bytes) -> None:
        """The next record begins a line."""
        if not last:
            return
        if _record(last) is None:
            rest = self.path.with_name(f"{self.path.name}.rest")
            with rest.open("ab") as file:
                file.write(last + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self.file.truncate(whole)
            self.rest = rest
        else:
            self.file.write(b"\n")
            self.file.flush()

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self.records

    def select(self, cells: Iterable[Cell], *, any_version: bool = False) -> list[Record]:
        """Records of these cells, as far as they are there; on request those of another version of the code too."""
        found = [self.records[cell.key] for cell in cells if cell in self]
        if not any_version:
            return found
        of = {Cell.of(record): record for record in self.records.values()}
        return [{**record, "key": cell.key} for cell in cells if (record := of.get(cell)) is not None]

    def add(self, record: Record) -> None:
        self.records[record["key"]] = record
        self.file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "file"):
            self.file.close()


NUMBERS = ("order", "n_learners", "tail", "full", "seconds")  # that every record has
WORDS = ("key", "code", "dataset", "system")


def _record(line: bytes) -> Record | None:
    """The record in a line, or None if there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or "limit" not in record:
        return None
    words = all(isinstance(record.get(name), str) for name in WORDS)
    numbers = (record.get(name) for name in NUMBERS)
    return record if words and all(isinstance(n, int | float) and math.isfinite(n) for n in numbers) else None


def _lock(file: Any) -> bool:
    """Ours alone until it is closed or we die; False: another process has it. True where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # this file system has none
    return True


# ------------------------------------------------------------------------------------------------------------------ run


def run_cells(cells: Sequence[Cell], jobs: int, ray: bool = False) -> Iterator[tuple[Cell, Record]]:
    """Run cells, `jobs` at a time, and yield each with its record as it finishes; or on the Ray cluster at hand."""
    if ray:
        from onlineboost.cluster.cluster import as_done

        yield from ((cells[i], record) for i, record in as_done(_run, cells))
        return
    if jobs == 1:
        for cell in cells:
            yield cell, _run(cell)
        return
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin_worker)
    waiting, running = iter(cells), {}
    try:
        for cell in waiting:
            running[pool.submit(_run, cell)] = cell
            if len(running) >= 2 * jobs:  # one in hand for each worker, and no more to throw away when stopped
                yield from _finished(running)
        while running:
            yield from _finished(running)
    finally:
        for process in list((pool._processes or {}).values()) if running else []:
            process.terminate()  # stopped in the middle: do not wait for cells that nobody will see
        pool.shutdown(cancel_futures=True)


def _finished(running: dict[Future, Cell]) -> Iterator[tuple[Cell, Record]]:
    for future in wait(running, return_when=FIRST_COMPLETED).done:
        cell = running.pop(future)
        yield cell, future.result()


def _run(cell: Cell) -> Record:
    """The record of a cell, and with it, as "warnings", what its run has warned of: whoever asked says it once."""
    warm_up_systems([cell.system])
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        record = cell.run()
    return {**record, "warnings": list(dict.fromkeys(str(warning.message) for warning in told))}


def warm_up_systems(systems: Iterable[str]) -> None:
    """Compile what the systems need, or load it, once in this process, so that it does not count as learning."""
    for system in systems:
        _warm_up_system(system)


@cache
def _warm_up_system(system: str) -> None:
    warm_up(make_model(*SYSTEMS[system], 2, 0))


def _begin_worker() -> None:
    """If the process that started us is killed, end too, and do not go on learning for nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
