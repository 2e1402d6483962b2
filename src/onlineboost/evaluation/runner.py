"""Test, then train: the one loop that every run goes through, be it of `prequential`, `observe`, `tune` or `resumable`.

A stream is blocks of rows. `predict_then_learn` takes a model over them, and yields a `Step` for each. A classifier of
this package takes a block in one compiled pass. Any other one, and any whose labels come late, takes row by row: each
is predicted, and learned when the `LabelQueue` says that its label has come.
"""

from __future__ import annotations

import datetime
import heapq
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.frames import as_table, rows_of
from onlineboost.data.labels import as_array, label_array, values_of, written_as
from onlineboost.data.table import Block, Table
from onlineboost.data.values import is_missing

BLOCK_ROWS = 16_384  # rows learned between two calls of `progress`; threads pause at the end of each

Progress = Callable[[int, float], None]  # (examples so far, share of the stream so far)


def one_label_per_row(y: Any) -> np.ndarray:
    """Labels as an array of one dimension; a single column is one, too."""
    labels = as_array(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"y has shape {labels.shape}: give one label per row")
    return labels


def rows_and_labels(X: Any, y: Any) -> tuple[Any, np.ndarray]:
    """Arrays or frames as rows that can be cut, and as many labels."""
    X, y = rows_of(X), one_label_per_row(y)
    if len(X) != len(y):
        raise DataError(f"X has {len(X)} rows and y has {len(y)}: give one label per row")
    return X, y


def check_model(model: Any) -> None:
    if isinstance(model, type) or not (hasattr(model, "predict") or hasattr(model, "test_then_train")):
        made = f"{model.__name__}()" if isinstance(model, type) else "OnlineBoostClassifier()"
        raise TypeError(f"model must be a classifier with partial_fit and predict, such as {made}, got {model!r}")


def written_once(y: np.ndarray, model: Any, classes: Any = None) -> np.ndarray:
    """Labels that are written alike, 1 and "1", in one form: that of the model, of `classes`, or the first."""
    known = [*values_of(np.asarray(getattr(model, "classes_", ()))), *(() if classes is None else classes)]
    try:
        own = dict.fromkeys(values_of(y))
    except TypeError:
        return y  # who learns them says what is wrong
    met: dict[Any, Any] = {}
    form = {label: met.setdefault(written_as(label), label) for label in [*known, *own] if not is_missing(label)}
    if all(label == form.get(label, label) for label in own):
        return y
    return label_array([form.get(label, label) for label in values_of(y)])


def cut(X: Any, y: np.ndarray, *, pieces: int = 1) -> Iterator[Block]:
    """Rows as blocks: of BLOCK_ROWS, or smaller so that there are at least about `pieces` pieces.

    Examples
    --------
    >>> [len(block) for block in cut(np.zeros((10, 2)), np.zeros(10), pieces=3)]
    [4, 4, 2]
    """
    X, y = rows_and_labels(X, y)
    rows = max(1, min(BLOCK_ROWS, -(-len(y) // pieces)))
    for a in range(0, len(y), rows):
        b = min(a + rows, len(y))
        yield Block(X[a:b], y[a:b], a, b / len(y))


# ----------------------------------------------------------------------------------------------------- the loop


class Step(NamedTuple):
    """A block that was predicted and learned."""

    block: Block
    predictions: np.ndarray
    probabilities: np.ndarray | None  # float64 (rows, classes)
    classes: Any  # the labels of their columns
    tree_right: np.ndarray | None  # bool (rows, trees) of a BestTree
    weight: np.ndarray | None  # of the rows; None: 1
    seconds: float  # of predicting and learning: what has to be compiled is compiled before
    cpu_seconds: float
    sets: np.ndarray | None = None  # bool (rows, classes): prediction sets

    @property
    def right(self) -> np.ndarray:
        """Whether each prediction was right."""
        return np.asarray(self.predictions == self.block.y, bool)

    @property
    def in_sets(self) -> np.ndarray:
        """Of the rows that have sets: their weight, that of those whose label is in it, and the labels in them."""
        return in_sets(self.sets, self.classes, self.block.y, self.weight)

    @property
    def scored(self) -> dict[str, Any]:
        """What `Metrics.add` takes."""
        told = {"weight": self.weight, "probabilities": self.probabilities, "classes": self.classes}
        return {"y": self.block.y, "predictions": self.predictions, **told}


def in_sets(sets: np.ndarray | None, classes: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """`Step.in_sets` of any rows."""
    if sets is None:
        return np.zeros(3)
    column = {label: c for c, label in enumerate(values_of(np.asarray(classes)))}
    own = np.fromiter((column.get(label, -1) for label in values_of(y)), np.int64, len(y))
    covers, weight = (own >= 0) & sets[np.arange(len(y)), own], np.ones(len(y)) if weight is None else weight
    return np.array([weight.sum(), weight @ covers, weight @ sets.sum(axis=1)])


def predict_then_learn(
    model: Any,
    blocks: Iterable[Block],
    classes: Any = None,
    *,
    labels: LabelQueue | None = None,
    proba: bool = False,
    sets: float | None = None,
    weight: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Iterator[Step]:
    """Predict every example, and learn it at once, or when `labels` says so. For the arguments see `prequential`."""
    proba = proba and hasattr(model, "predict_proba")
    if sets is not None:
        _learn_sets(model)
    in_blocks, rows, seen = labels is None and hasattr(model, "test_then_train"), None, 0
    for block in blocks:
        if not hasattr(block, "X"):
            raise DataError("without y a stream is an iterable of Block, as read_blocks gives them: give X and y")
        own = None if weight is None else weight[seen : seen + len(block)]
        if seen == 0:
            _compile_before(model, block, classes)
            if not in_blocks:
                rows = _RowByRow(model, classes, labels, begun=labels is None and block.first_row > 0)
        start, cpu_start = time.perf_counter(), time.process_time()
        asked = proba, sets
        said = _whole_block(model, block, classes, own, *asked) if rows is None else rows.take(block, own, *asked)
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        trees = model._right_by_tree() if hasattr(model, "_right_by_tree") and in_blocks else None
        yield Step(block, *said[:3], trees, own, seconds, cpu_seconds, said.sets)
        seen += len(block)
        if progress is not None:
            progress(seen, block.fraction)
    if not seen:
        raise DataError("the stream is empty: there is nothing to learn from")
    if rows is not None:
        rows.learn(rows.labels.due())  # the stream has ended


class Said(NamedTuple):
    """What a model says of a block."""

    predictions: np.ndarray
    probabilities: np.ndarray | None = None
    classes: Any = None  # the labels of their columns, and of those of the sets
    sets: np.ndarray | None = None


def _learn_sets(model: Any) -> None:
    """Have a model learn what prediction sets are made of."""
    if not hasattr(model, "sets"):
        raise TypeError(f"a {type(model).__name__} has no prediction sets: all classifiers of this package have")
    if not model.sets:
        model.set_params(sets=True)


def _compile_before(model: Any, block: Block, classes: Any) -> None:
    """Have the kernels of a new model of ours compiled or loaded before it is timed: a copy learns two rows."""
    if hasattr(model, "test_then_train") and hasattr(model, "get_params") and not hasattr(model, "_model"):
        with warnings.catch_warnings(action="ignore"):  # the model itself will say it
            deepcopy(model).partial_fit(block.X[:2], block.y[:2], classes=classes)


# arguments: the rows, and what is asked about them
def _whole_block(
    model: Any, block: Block, classes: Any, weight: np.ndarray | None, proba: bool, sets: float | None
) -> Said:
    more: dict[str, Any] = {} if weight is None else {"sample_weight": weight}
    more |= ({"proba": True} if proba else {}) | ({} if sets is None else {"sets": sets})
    found = model.test_then_train(block.X, block.y, classes=classes, **more)
    if not proba and sets is None:
        return Said(found)
    said, *parts = found
    return Said(said, parts[0] if proba else None, model.classes_, None if sets is None else parts[-1])


def in_columns(parts: Iterable[tuple[int, np.ndarray | None, Any]], classes: Any) -> np.ndarray:
    """Probabilities in columns of all classes; a part: its rows, their probabilities or None, the classes of those."""
    column, out = {label: c for c, label in enumerate(values_of(np.asarray(classes)))}, []
    for rows, p, known in parts:
        out.append(np.zeros((rows, len(column))))
        if p is not None:
            out[-1][:, [column[label] for label in values_of(np.asarray(known))]] = p
    return np.concatenate(out)


# ---------------------------------------------------------------------------------------------------- row by row


class LabelQueue:
    """When labels come, and the numbers of the rows that wait for them.

    Row i comes at times[i], and its label at times[i] + delay; `delay` is a number, or one for each row. Without
    `times` row i comes at i: its label is learned right after row i + delay was predicted. With `times`, labels that
    have come by the time of a row are learned before it is predicted.
    """

    def __init__(self, delay: Any = 0, times: Any = None) -> None:
        self._times = None if times is None else _checked_times(np.asarray(times))
        if isinstance(delay, datetime.timedelta):
            delay = np.timedelta64(delay)
        self._delay = delay if np.ndim(delay) == 0 else np.asarray(delay)
        self._waiting: list[tuple[Any, int]] = []
        zero = np.zeros(1, np.asarray(self._delay).dtype)[0]
        try:
            good = bool(np.all(np.asarray(self._delay) >= zero))
        except TypeError:
            good = False
        if not good or isinstance(self._delay, bool | str):
            raise ValueError(
                f"delay must be a number of rows, or with `times` an amount of time in their unit, such as "
                f"datetime.timedelta(hours=1), got {self._delay!r}"
            )
        if self._times is not None and np.any(self._times[1:] < self._times[:-1]):
            row = int(np.flatnonzero(self._times[1:] < self._times[:-1])[0]) + 1
            raise DataError(f"row {row}: its time is before that of the row above; sort the stream by `times`")

    def check_rows(self, n: int) -> None:
        """There are `n` rows."""
        given: Any
        for name, given in (("times", self._times), ("delay", self._delay)):
            if np.ndim(given) == 1 and len(given) != n:
                raise DataError(f"{name} has {len(given)} entries and the stream has {n} rows: give one for each")

    def before(self, row: int) -> Iterator[int]:
        """Rows to be learned before this one is predicted."""
        return iter(()) if self._times is None else self.due(self._times[row])

    def after(self, row: int) -> Iterator[int]:
        """This row has been predicted; the rows to be learned now."""
        now = row if self._times is None else self._times[row]
        heapq.heappush(self._waiting, (now + (self._delay[row] if np.ndim(self._delay) else self._delay), row))
        return self.due(now) if self._times is None else iter(())

    def due(self, now: Any = None) -> Iterator[int]:
        """Rows whose labels have come by now; None: all, since the stream has ended."""
        while self._waiting and (now is None or self._waiting[0][0] <= now):
            yield heapq.heappop(self._waiting)[1]


def _checked_times(times: np.ndarray) -> np.ndarray:
    has_text = times.dtype.kind == "O" and any(isinstance(time, str) for time in times.flat)
    if times.ndim != 1 or times.dtype.kind in "USb" or has_text:
        hint = ": pandas.to_datetime reads dates that are text" if has_text else ""
        raise DataError(f"times must be numbers or dates, one for each row, got an array of {times.dtype}{hint}")
    missing = np.flatnonzero(times != times)
    if len(missing):
        raise DataError(f"row {missing[0]}: its time is missing; give every row one, or leave it out")
    return times


class _Row(NamedTuple):
    values: list[Any] | None  # for a model that takes single rows
    X: Any  # as a block of its own
    y: np.ndarray
    weight: float | None


class _RowByRow:
    """A model that is given rows one by one, and those whose labels have not come.

    They are kept here and not under the model's own tickets (`predict_pending`): these are part of a model file, a
    model lets at most 10,000 rows wait, and models of others and baselines have none.
    """

    def __init__(self, model: Any, classes: Any, labels: LabelQueue | None, *, begun: bool) -> None:
        self._model, self._classes, self.labels = model, classes, labels or LabelQueue()
        self._takes_tables = hasattr(model, "test_then_train")  # of this package
        self._takes_single_rows = self._takes_tables and hasattr(model, "learn_one")
        self._begun = begun  # before the first label has come there is nothing to predict with
        self._seen = 0
        self._waiting: dict[int, _Row] = {}

    def take(self, block: Block, weight: np.ndarray | None, proba: bool, sets: float | None) -> Said:
        """Predict the rows of a block, and learn those whose labels have come meanwhile."""
        said: np.ndarray = np.empty(len(block), object)
        parts: list[tuple[int, np.ndarray | None, Any]] = []
        inside: list[tuple[int, np.ndarray | None, Any]] = []
        for b, row in enumerate(self._rows(block, weight)):
            self.learn(self.labels.before(self._seen))
            said[b], p = self._ask(row, proba) if self._begun else (None, None)
            parts.append((1, p, None if p is None else self._model.classes_))
            own = self._model.predict_set(row.X, sets) if sets is not None and self._begun else None
            inside.append((1, own, None if own is None else self._model.classes_))
            self._waiting[self._seen] = row
            self.learn(self.labels.after(self._seen))
            self._seen += 1
        if not self._begun or all(p is None for _, p, _ in parts + inside):
            return Said(said)
        known = self._model.classes_
        shares = None if all(p is None for _, p, _ in parts) else in_columns(parts, known)
        return Said(said, shares, known, None if sets is None else in_columns(inside, known) > 0.0)

    def _rows(self, block: Block, weight: np.ndarray | None) -> Iterator[_Row]:
        X: Any = block.X if self._takes_tables else _as_numbers(self._model, block)
        if isinstance(X, np.ndarray) and X.dtype == np.object_:
            X = as_table(X)  # the block says what its columns are, not the first row
        values: Iterable[Any] = [None] * len(block)
        if self._takes_single_rows:
            columns = (column.tolist() for column in X.columns) if isinstance(X, Table) else None
            values = map(list, zip(*columns, strict=True)) if columns is not None else X.tolist()
        for b, row in enumerate(values):
            yield _Row(row, X[b : b + 1], block.y[b : b + 1], None if weight is None else float(weight[b]))

    def _ask(self, row: _Row, proba: bool) -> tuple[Any, np.ndarray | None]:
        model, x = self._model, row.values
        if x is None:
            return model.predict(row.X)[0], np.asarray(model.predict_proba(row.X)) if proba else None
        return model.predict_one(x), np.array([list(model.predict_proba_one(x).values())]) if proba else None

    def learn(self, numbers: Iterator[int]) -> None:
        """These rows, whose labels have come."""
        for number in numbers:
            row = self._waiting.pop(number)
            if self._begun and row.values is not None:
                self._model.learn_one(row.values, row.y[0], 1.0 if row.weight is None else row.weight)
            else:  # the first row settles what the columns are, and takes the classes
                more = {} if row.weight is None else {"sample_weight": [row.weight]}
                self._model.partial_fit(row.X, row.y, classes=self._classes, **more)
            self._begun = True


def _as_numbers(model: Any, block: Block) -> Any:
    """The rows of a block for a classifier that knows arrays of numbers alone."""
    X: Any = block.X
    if isinstance(X, Table):
        if any(column.dtype == np.object_ for column in X.columns):
            raise DataError(
                f"{type(model).__name__} needs numbers, but a column of the stream is nominal: encode it first"
            )
        X = np.column_stack(X.columns)
    return X


# ------------------------------------------------------------------------------------------------------ baselines


class MajorityClass:
    """The baseline that predicts the label of most weight so far: seen most often, if rows have no weights."""

    def __init__(self) -> None:
        self.counts: dict[Any, float] = {}

    def predict(self, X: Any) -> np.ndarray:
        """The same label for all rows; None before the first is learned."""
        out = np.empty(len(X), object)
        out[:] = self._label()
        return out

    def partial_fit(self, X: Any, y: np.ndarray, classes: Any = None, sample_weight: Any = None) -> None:
        self.test_then_train(X, np.asarray(y), classes, sample_weight)

    def test_then_train(self, X: Any, y: np.ndarray, classes: Any = None, sample_weight: Any = None) -> np.ndarray:
        """What it predicts for every example just before learning it."""
        out = np.empty(len(y), object)
        weights = [1] * len(y) if sample_weight is None else np.asarray(sample_weight).tolist()
        for b, (label, weight) in enumerate(zip(y.tolist(), weights, strict=True)):
            out[b] = self._label()
            self._learn(label, weight)
        return out

    def _label(self) -> Any:
        return max(self.counts, key=self.counts.__getitem__) if self.counts else None

    def _learn(self, label: Any, weight: float) -> None:
        self.counts[label] = self.counts.get(label, 0) + weight


class LastClass(MajorityClass):
    """The baseline that predicts the label seen last: hard to beat where labels come in runs."""

    def _learn(self, label: Any, weight: float) -> None:
        self.counts = {label: weight}  # nothing before it counts
