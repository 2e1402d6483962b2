"""The paper's experiments: its systems, the cells of its tables, and running them, in any number of sittings.

A cell is one run: (data set, system, order). Order o is the data set shuffled with seed o, run by a model with seed o.
Finished cells are kept in a file (:class:`Store`), a line each, so that a run that was interrupted, by whatever, goes
on where it was. :func:`summarise` makes the tables.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import asdict, dataclass, field
from functools import cache
from multiprocessing.connection import wait as wait_for
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost._compile.jit import source_hash
from onlineboost.data.stream import DataError, Table
from onlineboost.datasets.catalogue import describe_datasets, load_dataset
from onlineboost.estimators import registry
from onlineboost.evaluation.prequential import prequential
from onlineboost.evaluation.records import Record, cut, observe
from onlineboost.paper import tables as paper_tables

N_LEARNERS = 100

# ------------------------------------------------------------------------------------------------------- systems

TREE: dict[str, Any] = {"grace_period": (5, 20), "leaf_prediction": "majority", "max_features": 1.0}
RESTARTS = {"restart": "always", "no-restart": "never"}


def paper_tree() -> Any:
    """The paper's weak learner: VFDT with random settings, leaves that predict by majority."""
    return registry.make("hoeffding-tree", **TREE)


def make_model(model: str, settings: str, n_learners: int, seed: int) -> Any:
    """A model by its name in the registry, if need be with an option: adaboost-olm:restart, adaboost-olm:no-restart or
    online-mbbm:GAMMA.

    `settings` is "default", or "paper": the paper's weak learners, the weight scale of its authors' code, and no
    restarts unless the name asks for them. The algorithms are ours either way, with all corrections (docs/paper.md).
    """
    name, _, option = model.partition(":")
    chosen: dict[str, Any] = {"n_learners": n_learners, "random_state": seed}
    if settings == "paper":
        chosen |= {"learner": paper_tree(), "weight_scale": (5, 200), "restart": "never", **TREE}
    if option:
        asked = {"restart": RESTARTS[option]} if option in RESTARTS else {"gamma": _number(option, model)}
        if not asked.keys() <= set(registry.settings_of(name)):
            raise ValueError(f"{model!r}: {name} has no setting {', '.join(asked)}")
        chosen |= asked
    return registry.make(name, **chosen)


def _number(option: str, model: str) -> float:
    try:
        return float(option)
    except ValueError:
        raise ValueError(f"{model!r}: {option!r} is neither a gamma nor one of {', '.join(RESTARTS)}") from None


OURS = "default"  # the column that is to beat the paper's best
SYSTEMS = {  # heading: model and settings
    "DT": ("best-tree", "paper"),
    "OLB": ("oza-boost", "paper"),
    "AdaOLM": ("adaboost-olm", "paper"),
    "MB .3": ("online-mbbm:0.3", "paper"),
    "MB .1": ("online-mbbm:0.1", "paper"),
    "MB .05": ("online-mbbm:0.05", "paper"),
    "MB .01": ("online-mbbm:0.01", "paper"),
    "MB .001": ("online-mbbm:0.001", "paper"),
    "OvA": ("one-vs-all", "paper"),
    "AdaOVA": ("adaboost-ova", "paper"),
    "MB auto": ("online-mbbm", "paper"),
    "MB default": ("online-mbbm", "default"),
    OURS: ("adaboost-olm", "default"),
}


def find_system(name: str) -> str:
    """The heading meant by what a user typed: case, blanks and dashes do not matter."""
    plain = {_plain(heading): heading for heading in SYSTEMS}
    if _plain(name) not in plain:
        raise DataError(f"{name!r} is not a system. Systems: {', '.join(SYSTEMS)}")
    return plain[_plain(name)]


def _plain(name: str) -> str:
    return "".join(name.lower().replace("0.", ".").replace("-", "").replace("_", "").split())


# --------------------------------------------------------------------------------------------------------- cells


@dataclass(frozen=True)
class Cell:
    dataset: str
    system: str
    order: int
    n_learners: int = N_LEARNERS
    limit: int | None = None  # rows to stop after

    @property
    def key(self) -> str:
        """A hash of all that the cell's result depends on: model, data set, order, and the code that learns."""
        settings = repr(make_model(*SYSTEMS[self.system], self.n_learners, self.order).get_params())
        text = f"{SYSTEMS[self.system][0]} {settings} {self.dataset} {self.order} {self.limit} {code_version()}"
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def run(self) -> Record:
        data = _shuffled(self.dataset, self.order)
        n = self.limit or len(data)
        model = make_model(*SYSTEMS[self.system], self.n_learners, self.order)
        blocks = cut(data.X[:n], data.y[:n], snapshots=self.order == 0)
        _, record = observe(model, blocks, data.classes, snapshots=self.order == 0)
        record |= record.pop("best_tree", {})  # the paper's DT is the best tree in hindsight
        return {"key": self.key, "code": code_version(), **asdict(self), **record}


CELL = tuple(Cell.__dataclass_fields__)


@cache
def _loaded(name: str) -> Any:
    return load_dataset(name)


def _shuffled(name: str, order: int) -> Any:
    return _loaded(name).shuffled(order)


# Packages that results depend on; the others say how results are shown, or what they should be.
LEARNING = ("_compile", "boosters", "chain", "data", "datasets", "estimators", "evaluation", "trees")


@cache
def code_version() -> str:
    """A hash of the sources that results depend on: cells of another version are not mixed with ours."""
    return source_hash(LEARNING)


# CPU seconds of a cell with 100 learners, to put long cells first and to tell the time left; only ratios matter.
_COSTS = """
         DT   OLB  AdaOLM MB.3 MB.1 MB.05 MB.01 MB.001 OvA  AdaOVA MBauto MBdefault default
balance  .06  .06  .10    .15  .14  .12   .11   .11    .25  .24    .15    .12       .09
mice     .38  .34  1.3    2.4  2.8  2.2   1.5   1.4    2.6  2.8    2.7    1.5       .44
car      .13  .11  .20    .29  .29  .28   .27   .25    .58  .48    .28    .29       .17
mushroom .47  .33  .56    .74  .74  .72   .73   .73    1.0  1.0    .74    .81       .69
nursery  .74  .77  1.2    1.7  1.7  1.6   1.5   1.4    3.9  3.3    1.6    1.6       1.2
isolet   3.7  2.7  7.9    16   18   14    7.9   5.6    23   27     16     8.9       3.2
movement 20   19   36     55   50   46    40    38     96   87     48     36        26
"""


def expected_cost(cell: Cell) -> float:
    headings, *lines = (line.split() for line in _COSTS.strip().split("\n"))
    costs = next(line for line in lines if line[0] == cell.dataset)[1:]
    cost = float(costs[headings.index(cell.system.replace(" ", ""))]) * cell.n_learners / N_LEARNERS
    return cost if cell.limit is None else cost * min(1.0, cell.limit / 1000)


def plan(
    datasets: Sequence[str],
    systems: Sequence[str],
    orders: Mapping[str, int],
    n_learners: int = N_LEARNERS,
    limit: int | None = None,
) -> tuple[list[Cell], list[str]]:
    """All cells, the longest first so that no core is idle at the end; and the data sets that are not at hand."""
    at_hand = {row["name"] for row in describe_datasets() if row["available"]}
    cells = [
        Cell(name, system, order, n_learners, limit)
        for name in datasets
        if name in at_hand
        for system in systems
        for order in range(orders[name])
    ]
    cells.sort(key=lambda cell: -expected_cost(cell))
    return cells, [name for name in datasets if name not in at_hand]


# --------------------------------------------------------------------------------------------------------- store


class Store:
    """Records of finished cells in DIR/cells.jsonl, a line each, on disk before the next one starts.

    A process that dies while it writes leaves half a line at the end; the next one drops it. Only one process may
    write: a second one is told so.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "cells.jsonl"
        self.file = self.path.open("a+b")
        try:
            _lock(self.file)
            self.records = self._read()
        except OSError:
            self.file.close()
            raise DataError(f"another run is writing to {folder}: wait for it, or give another --out") from None
        except DataError:
            self.file.close()
            raise

    def _read(self) -> dict[str, Record]:
        self.file.seek(0)
        text = self.file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self.file.truncate(whole)
        records = {}
        for number, line in enumerate(text[:whole].splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError:
                message = f"{self.path}, line {number}: not a record. Remove the line to run its cell again"
                raise DataError(message) from None
            records[record["key"]] = record
        return records

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self.records

    def select(self, cells: Iterable[Cell], *, any_version: bool = False) -> list[Record]:
        """Records of these cells, as far as they are there; on request those of another version of the code too."""
        found = [self.records[cell.key] for cell in cells if cell in self]
        if not any_version:
            return found
        of = {Cell(*(record[name] for name in CELL)): record for record in self.records.values()}
        return [{**record, "key": cell.key} for cell in cells if (record := of.get(cell)) is not None]

    def add(self, record: Record) -> None:
        self.records[record["key"]] = record
        self.file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _lock(file: Any) -> None:
    """Ours alone until it is closed or we die; OSError if another process has it. Nothing where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


# ------------------------------------------------------------------------------------------------------- running


@dataclass
class Clock:
    """Time left: what cells have cost so far, and where none of a kind is known yet, the usual ratios."""

    jobs: int
    known: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    spent: float = 0.0
    expected: float = 0.0

    def done(self, cell: Cell, seconds: float) -> None:
        self.known.setdefault((cell.dataset, cell.system), []).append(seconds)
        self.spent += seconds
        self.expected += expected_cost(cell)

    def cost(self, cell: Cell) -> float:
        if times := self.known.get((cell.dataset, cell.system)):
            return float(np.mean(times))
        return expected_cost(cell) * (self.spent / self.expected if self.expected else 1.0)

    def left(self, cells: Iterable[Cell]) -> float:
        costs = [self.cost(cell) for cell in cells]
        return max(sum(costs) / self.jobs, max(costs, default=0.0))


def run_cells(cells: Sequence[Cell], jobs: int) -> Iterator[tuple[Cell, Record]]:
    """Run cells, `jobs` at a time, and yield each with its record as it finishes."""
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
    warm_up([cell.system])
    return cell.run()


_warm: set[str] = set()


def warm_up(systems: Iterable[str]) -> None:
    """Compile what the systems need, or load it, so that it does not count as learning."""
    for system in systems:
        if system not in _warm:
            numbers, words = np.arange(12.0), np.array(["a", "b", "c"] * 4, object)
            X = Table(("number", "word"), (numbers, words), {"word": ("a", "b", "c")})
            prequential(make_model(*SYSTEMS[system], 2, 0), X, words)
            _warm.add(system)


def _begin_worker() -> None:
    """If the process that started us is killed, end too, and do not go on learning for nobody."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent, which stops us
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        wait_for([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


# -------------------------------------------------------------------------------------------------------- tables

Summary = Sequence[Mapping[str, Any]]


def summarise(records: Iterable[Record], cells: Iterable[Cell]) -> Summary:
    """A row for every data set and system: mean and standard error of each measure, and how far from the paper's."""
    order = {cell.key: (list(paper_tables.LABELS).index(cell.dataset), list(SYSTEMS).index(cell.system), cell.order)
             for cell in cells}  # fmt: skip
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in sorted((r for r in records if r["key"] in order), key=lambda r: order[r["key"]]):
        groups.setdefault((record["dataset"], record["system"]), []).append(record)
    return [
        {"dataset": name, "system": system, "n": len(group), **_measures(name, system, group)}
        for (name, system), group in groups.items()
    ]


def _measures(name: str, system: str, group: list[Record]) -> dict[str, float | None]:
    out: dict[str, float | None] = {}
    for measure, printed in paper_tables.MEASURES.items():
        values = np.array([record[measure] for record in group])
        mean, paper = float(values.mean()), printed[name].get(system)
        out[measure] = mean
        out[f"{measure}_error"] = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        out[f"{measure}_paper"] = paper
        out[f"{measure}_difference"] = None if paper is None else mean - paper
    return out


def is_below(row: Mapping[str, Any], measure: str = "tail") -> bool:
    """Whether ours is more than two standard errors, and more than rounding, below what the paper prints."""
    difference, error = row[f"{measure}_difference"], row[f"{measure}_error"]
    return None not in (difference, error) and difference < -2.0 * error and difference < -0.0005


def table_one(summary: Summary) -> list[dict[str, Any]]:
    """Table 1 of the paper beside ours: best tree, online boosting, Adaboost.OLM, and the best OnlineMBBM."""
    found = {(row["dataset"], row["system"]): row for row in summary}
    gammas = [system for system in paper_tables.SYSTEMS if system.startswith("MB")]
    lines = []
    for name in paper_tables.LABELS:
        columns = {s: _pair(found.get((name, s)), name, s) for s in ("DT", "OLB", "AdaOLM")}
        if ours := [system for system in gammas if (name, system) in found]:
            best = max(ours, key=lambda system: found[name, system]["tail"])
            printed = max(gammas, key=paper_tables.TAIL[name].__getitem__)
            columns["Best MB"] = {**_pair(found[name, best], name, printed), "system": best, "paper_system": printed}
        columns[OURS] = _pair(found.get((name, OURS)), name, None)
        if any(columns.values()):
            lines.append({"dataset": name, **columns})
    return lines


def _pair(row: Mapping[str, Any] | None, name: str, system: str | None) -> dict[str, Any]:
    if row is None:
        return {}
    printed = (
        {} if system is None else {f"{m}_paper": paper_tables.MEASURES[m][name][system] for m in ("tail", "seconds")}
    )
    return {"tail": row["tail"], "tail_error": row["tail_error"], "seconds": row["seconds"], **printed}
