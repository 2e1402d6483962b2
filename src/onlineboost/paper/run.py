"""Running cells, one after the other or in several processes, and the time that is left."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, field
from functools import cache
from multiprocessing.connection import wait as wait_for

import numpy as np

from onlineboost.evaluation.prequential import warm_up
from onlineboost.evaluation.records import Record
from onlineboost.paper.cells import Cell, expected_cost
from onlineboost.paper.systems import SYSTEMS, make_model


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


def run_cells(cells: Sequence[Cell], jobs: int, ray: bool = False) -> Iterator[tuple[Cell, Record]]:
    """Run cells, `jobs` at a time, and yield each with its record as it finishes; or on the Ray cluster at hand."""
    if ray:
        from onlineboost.cluster.each import as_done

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
    warm_up_systems([cell.system])
    return cell.run()


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
