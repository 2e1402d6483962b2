"""Test-then-train where labels come late: a row is predicted at once, and learned when its label arrives."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import as_table
from onlineboost.data.table import Block, Table
from onlineboost.evaluation.steps import Step, as_numbers, in_columns, in_steps


class Arrivals:
    """Rows whose labels are still to come, and when they come.

    Row i comes at times[i], and its label at times[i] + delay; `delay` is a number, or one for each row. Without
    `times` row i comes at i: its label is learned right after row i + delay was predicted. With `times`, labels that
    have come by the time of a row are learned before it is predicted.
    """

    def __init__(self, delay: Any, times: Any = None) -> None:
        self._by_row = times is None
        self._times = None if times is None else np.asarray(times)
        self._delay = delay if np.ndim(delay) == 0 else np.asarray(delay)
        self._waiting: list[tuple[Any, int]] = []
        self._check()

    def _check(self) -> None:
        zero = np.zeros(1, np.asarray(self._delay).dtype)[0]
        try:
            good = bool(np.all(np.asarray(self._delay) >= zero))
        except TypeError:
            good = False
        if not good or isinstance(self._delay, bool | str):
            raise ValueError(f"delay must be a number of rows, or an amount of time with `times`, got {self._delay!r}")
        if self._times is not None and np.any(self._times[1:] < self._times[:-1]):
            row = int(np.flatnonzero(self._times[1:] < self._times[:-1])[0]) + 1
            raise DataError(f"row {row}: its time is before that of the row above; sort the stream by `times`")

    def check_rows(self, n: int) -> None:
        """There are so many rows."""
        given: Any
        for name, given in (("times", self._times), ("delay", self._delay)):
            if np.ndim(given) == 1 and len(given) != n:
                raise DataError(f"{name} has {len(given)} entries and the stream has {n} rows: give one for each")

    def before(self, row: int) -> Iterator[int]:
        """Rows to be learned before this one is predicted."""
        if not self._by_row:
            assert self._times is not None
            yield from self._due(self._times[row])

    def after(self, row: int) -> Iterator[int]:
        """This row has been predicted; the rows to be learned now."""
        now = row if self._times is None else self._times[row]
        delay = self._delay[row] if np.ndim(self._delay) else self._delay
        heapq.heappush(self._waiting, (now + delay, row))
        if self._by_row:
            yield from self._due(now)

    def _due(self, now: Any) -> Iterator[int]:
        while self._waiting and self._waiting[0][0] <= now:
            yield heapq.heappop(self._waiting)[1]

    def rest(self) -> Iterator[int]:
        """The stream has ended: all labels that had not arrived."""
        while self._waiting:
            yield heapq.heappop(self._waiting)[1]


class Student:
    """A model that is given rows one by one, and a memory of those whose labels have not come."""

    def __init__(self, model: Any, classes: Any, weight: np.ndarray | None = None) -> None:
        self.model, self.classes, self.weight = model, classes, weight
        self._takes_all = hasattr(model, "test_then_train")  # of this package
        self._singles = self._takes_all and hasattr(model, "learn_one")
        self._begun = False
        self._rows: dict[int, tuple[Any, Any, np.ndarray]] = {}

    def read(self, block: Block) -> Iterator[tuple[Any, Any, np.ndarray]]:
        """Every row as values, as a block of its own, and its label."""
        X: Any = block.X if self._takes_all else as_numbers(self.model, block)
        if isinstance(X, np.ndarray) and X.dtype == np.object_:
            X = as_table(X)  # the block says what its columns are, not the first row
        values = zip(*(column.tolist() for column in X.columns), strict=True) if isinstance(X, Table) else X.tolist()
        for b, row in enumerate(values):
            yield list(row), X[b : b + 1], block.y[b : b + 1]

    def predict(self, number: int, row: tuple[Any, Any, np.ndarray]) -> Any:
        """What the model says of this row, which waits for its label from now on; None: nothing has been learned."""
        self._rows[number] = row
        if not self._begun:
            return None
        return self.model.predict_one(row[0]) if self._singles else self.model.predict(row[1])[0]

    def shares(self, row: tuple[Any, Any, np.ndarray]) -> tuple[np.ndarray, Any] | None:
        """Probabilities of this row's classes, and the classes; None if nothing has been learned."""
        if not self._begun:
            return None
        if self._singles:
            return np.array([list(self.model.predict_proba_one(row[0]).values())]), self.model.classes_
        return np.asarray(self.model.predict_proba(row[1])), self.model.classes_

    def learn(self, number: int) -> None:
        """The label of this row has come."""
        values, X, y = self._rows.pop(number)
        weight = None if self.weight is None else self.weight[number]
        if self._begun and self._singles:
            self.model.learn_one(values, y[0], 1.0 if weight is None else float(weight))
        else:
            more = {} if weight is None else {"sample_weight": [weight]}
            self.model.partial_fit(X, y, classes=self.classes, **more)
        self._begun = True


def delayed_steps(
    model: Any,
    blocks: Iterable[Block],
    classes: Any,
    arrivals: Arrivals,
    progress: Callable[[int, float], None] | None = None,
    *,
    proba: bool = False,
    weight: np.ndarray | None = None,
) -> Iterator[Step]:
    """Predict every example, and learn it when its label arrives; those that are left are learned at the end."""
    student, number = Student(model, classes, weight), 0
    proba = proba and hasattr(model, "predict_proba")
    for block in blocks:
        start, said, shares = time.perf_counter(), np.empty(len(block), object), []
        for b, row in enumerate(student.read(block)):
            for due in arrivals.before(number):
                student.learn(due)
            said[b] = student.predict(number, row)
            if proba:
                shares.append(student.shares(row))
            for due in arrivals.after(number):
                student.learn(due)
            number += 1
        seconds = time.perf_counter() - start
        own = None if weight is None else weight[number - len(block) : number]
        known = getattr(model, "classes_", None) if proba and any(shares) else None
        p = None if known is None else in_columns(shares, known)
        yield Step(block, said, seconds, None, p, known, own)
        if progress is not None:
            progress(number, block.fraction)
    for due in arrivals.rest():
        student.learn(due)
    if not number:
        raise DataError("the stream is empty: there is nothing to learn from")


def steps_of(
    model: Any,
    blocks: Iterable[Block],
    classes: Any,
    arrivals: Arrivals | None,
    progress: Callable[[int, float], None] | None = None,
    *,
    proba: bool = False,
    weight: np.ndarray | None = None,
) -> Iterator[Step]:
    """Predict every example and learn it: at once, or when its label arrives."""
    if arrivals is None:
        return in_steps(model, blocks, classes, progress, proba=proba, weight=weight)
    return delayed_steps(model, blocks, classes, arrivals, progress, proba=proba, weight=weight)
