"""Threads: blocks of a stream through the steps of an assembly line, and rows to predict spread over threads.

Learning is a line of steps (a block enters, goes through segment after segment of the chain, and leaves), and each step
must see the blocks in order. Step j may work on block b as soon as step j - 1 has done b and it has itself done b - 1:
any schedule that keeps to this gives the same result, bit for bit. So no step belongs to a thread: a thread that is
free takes the task that is furthest along. docs/scale.md has the reasons.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from onlineboost._compile.system import Interrupt

Step = Callable[[int], None]  # does its part on block b

LOOK_UP = 0.2  # seconds after which a waiting main thread looks for Ctrl-C, where that does not wake it by itself


def n_threads(n_jobs: Any) -> int:
    """n_jobs as a number of threads: None is 1, -1 all cores that this process may use, -2 all but one, ...

    There are no more threads than cores: they would only wake each other (64 on 2 cores took 4 times the CPU).
    """
    if n_jobs is None:
        return 1
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, int | np.integer) or n_jobs == 0:
        raise ValueError(f"n_jobs must be a number of threads, or -1 for all cores; got {n_jobs!r}")
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(int(n_jobs), cores) if n_jobs > 0 else max(1, cores + 1 + int(n_jobs))


def flow(
    steps: Sequence[Step],
    n_blocks: int,
    threads: int = 1,
    stop: Callable[[], bool] = lambda: False,
    waits: Callable[[], bool] | None = None,
) -> int:
    """Send blocks 0, 1, ... through all steps, `n_blocks` at most, and return how many went.

    steps[j](b) does step j on block b. With one thread, all is done in the caller's. `stop` is asked before every block
    but the first: once it says yes, no further block enters, and those that have entered go through to the end.
    `waits` says whether the coming block must not enter before another one that is on the line has left. An error in a
    step stops all threads after the tasks at hand, and is raised here.
    """
    if threads > 1 and n_blocks > 1:
        return _Line(steps, n_blocks, threads, stop, waits or (lambda: False)).run()
    for b in range(n_blocks):
        if b and stop():
            return b
        for step in steps:
            step(b)
    return n_blocks


class _Line:
    """What the threads of one `flow` share; all of it is read and written under the lock of `news`."""

    def __init__(
        self,
        steps: Sequence[Step],
        n_blocks: int,
        threads: int,
        stop: Callable[[], bool],
        waits: Callable[[], bool],
    ) -> None:
        self.steps = steps
        self.n_blocks = n_blocks
        self.stop, self.waits = stop, waits
        self.done = [0] * len(steps)  # blocks each step has done
        self.busy = [False] * len(steps)
        self.most = 2 * threads + 2  # blocks on the line at a time: a bound on memory, more than threads can work on
        self.error: BaseException | None = None
        self.news = threading.Condition(threading.Lock())
        self.ended = 0  # threads that have done their last task, under the lock of `end`
        self.end = threading.Condition(threading.Lock())
        self.threads = [threading.Thread(target=self._work, name=f"onlineboost-{i}") for i in range(threads)]

    def run(self) -> int:
        started: list[threading.Thread] = []
        try:
            for thread in self.threads:
                try:
                    thread.start()
                except RuntimeError:  # the system gives no more threads: those that run do it all
                    break
                started.append(thread)
            if not started:
                self._work()
            self._wait_for(started)
        except BaseException:  # not from a step, but from whoever interrupts this thread
            with self.news:
                self.stop = lambda: True
                self.news.notify_all()
            self._wait_for(started)
            raise
        if self.error is not None:
            raise self.error
        return self.n_blocks

    def _wait_for(self, threads: Iterable[threading.Thread]) -> None:
        """Until all threads are done. (A `join` that an exception interrupts takes running threads for ended ones.)"""
        threads = list(threads)
        with self.end:
            while self.ended < len(threads):
                self.end.wait(LOOK_UP)
        for thread in threads:
            thread.join()

    def _work(self) -> None:
        try:
            while (task := self._take()) is not None:
                j, b = task
                try:
                    self.steps[j](b)
                except BaseException as error:
                    self._give_back(j, error)
                    return
                self._give_back(j)
        finally:
            with self.end:
                self.ended += 1
                self.end.notify_all()

    def _take(self) -> tuple[int, int] | None:
        """Wait for a task (step, block) and mark it as taken. None: there will be none."""
        with self.news:
            while self.error is None:
                task = self._ready()
                if self.done[-1] == self.n_blocks:
                    break
                if task is not None:
                    self.busy[task[0]] = True
                    return task
                self.news.wait()
            return None

    def _ready(self) -> tuple[int, int] | None:
        """The task that is furthest along: the last step that is ready, which has the oldest block."""
        done, busy = self.done, self.busy
        for j in range(len(done) - 1, 0, -1):
            if not busy[j] and done[j - 1] > done[j]:
                return j, done[j]
        entered = done[0]
        if busy[0] or entered == self.n_blocks:
            return None
        if entered and self.stop():
            self.n_blocks = entered
            return None
        return (0, entered) if entered - done[-1] < self.most and not self.waits() else None

    def _give_back(self, j: int, error: BaseException | None = None) -> None:
        with self.news:
            self.busy[j] = False
            if error is None:
                self.done[j] += 1
            else:
                self.error = self.error or error
            if error is not None or self.done[-1] == self.n_blocks:
                self.news.notify_all()
            else:  # at most two tasks have become ready, and this thread takes one of them
                self.news.notify()


def spread(function: Callable[[np.ndarray], np.ndarray], X: np.ndarray, rows: int, threads: int) -> np.ndarray:
    """function(X), taken on pieces of limited size, by several threads. Ctrl-C stops it after those at hand."""
    pieces = [X[a : a + rows] for a in range(0, len(X), rows)]
    if len(pieces) == 1:
        return function(X)
    if threads == 1:
        return np.concatenate([function(piece) for piece in pieces])
    with Interrupt() as interrupt:  # an exception that strikes while a thread starts would leave it waiting for ever

        def unless_pressed(piece: np.ndarray) -> Any:
            return None if interrupt.pressed() else function(piece)

        pool = ThreadPoolExecutor(min(threads, len(pieces)), "onlineboost")
        try:
            parts = list(pool.map(unless_pressed, pieces))
        finally:
            pool.shutdown(cancel_futures=True)
    return np.concatenate(parts)
