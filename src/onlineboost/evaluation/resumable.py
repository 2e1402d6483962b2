"""Runs that survive: test-then-train with checkpoints, which goes on after a crash as if there had been none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.data.errors import DataError
from onlineboost.data.table import Block, Table
from onlineboost.evaluation.checkpoints import Checkpoints, Every, Predictions, Printed, replacing_text
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.runner import Progress, Step, predict_then_learn

Out = str | os.PathLike[str] | Predictions | Printed | None


# arguments: it is `prequential` with all that a long run needs
def resumable(
    model: Any,
    blocks: Iterable[Block],
    folder: str | os.PathLike[str] | None,
    *,
    every: int | str = 10_000,
    classes: Any = None,
    out: Out = None,
    about: dict[str, Any] | None = None,
    proba: bool = True,
    progress: Progress | None = None,
    watch: Callable[[Step], None] | None = None,
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
    progress
        Called after every block with (examples so far, share of the stream so far).
    watch
        Called after every block with what was predicted.
    cluster
        Makes of the model what learns in its place, in a ``with`` statement, and has a `result`: a function that gives
        a `Cluster` (docs/cluster.md). A run may go on with another cluster, or with none.

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
    >>> again, _ = resumable(HoeffdingTree(), cut(X, y, pieces=4), folder.name, every=100)  # nothing is left to do
    >>> again.n_samples_seen_
    400
    >>> folder.cleanup()
    """
    checkpoints = None if folder is None else Checkpoints(Path(folder), every, {**(about or {}), **_described(model)})
    found = None if checkpoints is None else checkpoints.newest()
    tally, rows, length = Tally(), 0, None
    if found is not None:
        own = model.get_params(deep=False)
        model, rows, length = found.model, found.state["rows"], found.state["bytes"]
        tally = Tally.of_values(found.state["tally"])
        if "n_jobs" in own:
            model.set_params(n_jobs=own["n_jobs"])
    with _opened(out, length, whole=folder is None) as sink, _elsewhere(model, cluster) as learner:
        try:
            left = _cut(_after(blocks, rows), checkpoints.every if checkpoints else Every(None, None), rows)
            first = next(left, None)
            if first is None and rows:
                return model, tally  # all was learned before
            stream = chain([] if first is None else [first], left)
            told = _counted(progress, rows)
            for step in predict_then_learn(learner, stream, classes, proba=proba, progress=told):
                tally.add_step(step)
                rows += len(step.block)
                if sink is not None:
                    sink.add(step.block.y, step.predictions)
                if watch is not None:
                    watch(step)
                if checkpoints is not None and checkpoints.due(rows):
                    _write(checkpoints, _whole(learner), rows, tally, sink)
            model = _whole(learner)
            if checkpoints is not None:
                _write(checkpoints, model, rows, tally, sink)
        finally:
            if checkpoints is not None:
                checkpoints.wait()
    return model, tally


def _elsewhere(model: Any, cluster: Callable[[Any], Any] | None) -> Any:
    """What learns, for a ``with`` statement."""
    return nullcontext(model) if cluster is None else cluster(model)


def _whole(learner: Any) -> Any:
    """The model, with all that it has learned."""
    return learner.result() if hasattr(learner, "result") else learner


@contextmanager
def _opened(out: Out, length: int | None, *, whole: bool) -> Iterator[Predictions | Printed | None]:
    """Where predictions go; `whole`: a file takes the place of another when all is well."""
    if out is None or isinstance(out, Printed):
        yield out
    elif whole and not isinstance(out, Predictions) and (os.path.isfile(out) or not os.path.exists(out)):
        with replacing_text(out) as text:
            yield Printed(text)
    else:
        sink = out if isinstance(out, Predictions) else Predictions(out, length)
        try:
            yield sink
        finally:
            sink.close()


def _write(checkpoints: Checkpoints, model: Any, rows: int, tally: Tally, sink: Predictions | Printed | None) -> None:
    length = None if sink is None else sink.flush()
    state = {"tally": tally.as_values(), "bytes": length}
    checkpoints.write(model, rows, state, (lambda: None) if sink is None else sink.sync)


def _described(model: Any) -> dict[str, str]:
    """A model and its settings as they are compared: arrays in full, and generators as what they are."""
    out = {"model": type(model).__name__}
    for name, value in model.get_params(deep=False).items():
        if name != "n_jobs":
            value = value.tolist() if isinstance(value, np.ndarray) else value
            out[name] = "a RandomState" if isinstance(value, np.random.RandomState) else repr(value)
    return out


def _counted(progress: Progress | None, before: int) -> Progress | None:
    return None if progress is None else lambda seen, share: progress(before + seen, share)


def _after(blocks: Iterable[Block], rows: int) -> Iterator[Block]:
    """The stream without its first rows."""
    passed = 0
    for block in blocks:
        skip = min(rows - passed, len(block))
        passed += skip
        if skip < len(block):
            yield _part(block, skip, len(block)) if skip else block
    if passed < rows:
        raise DataError(f"the run had learned {rows:,} rows, and the stream has {passed:,}: it is another one")


def _cut(blocks: Iterable[Block], every: Every, rows: int) -> Iterator[Block]:
    """Cut tables where a checkpoint is due: their columns are of a known kind, so that it changes nothing."""
    start = rows
    for block in blocks:
        at = 0
        while every.rows is not None and isinstance(block.X, Table) and at < len(block):
            stop = min(len(block), at + every.rows - (rows - start) % every.rows)
            yield _part(block, at, stop)
            rows, at = rows + stop - at, stop
        if at == 0:
            yield block
            rows += len(block)


def _part(block: Block, start: int, stop: int) -> Block:
    return Block(block.X[start:stop], block.y[start:stop], block.first_row + start, block.fraction)
