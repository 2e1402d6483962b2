"""`Cluster`: a classifier, its chain spread over the processes of a Ray cluster; `each`: a function on many things."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from copy import deepcopy
from dataclasses import replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np

from onlineboost._compile.system import Interrupt
from onlineboost.chain.chain import Chain
from onlineboost.chain.memory_budget import limited_trees
from onlineboost.cluster.line import Engine, Figures, Line
from onlineboost.cluster.parts import divide, states_of
from onlineboost.cluster.remote import Remote
from onlineboost.estimators.learning import tell_learned
from onlineboost.estimators.memory import remark_limit
from onlineboost.estimators.settings import count

ROWS = 1024  # of a block
AHEAD = 3  # blocks on the line, more than there are parts: none has to wait for the driver


class Cluster:
    """A classifier that learns on a cluster: its chain is cut into parts, each in a process of its own.

    What it learns and predicts is what one process would have learned and predicted, bit for bit (docs/scale.md).

    Parameters
    ----------
    classifier
        Any classifier of this package, new or with something learned. It stays as it is: `result` gives another.
    segments : int
        Number of processes that the learners are spread over, one after the other. OneVsAll spreads its classes.
    address : str, optional
        Of a running Ray cluster ("auto": the one that this machine belongs to); without it, one is started on this
        machine, for as long as this is open.
    rows : int
        Rows that travel together. The result does not depend on it.
    folder : path, optional
        A folder that all machines share, for checkpoints. They go to a new folder in it, which is gone in the end.
        Without it they are kept in the memory of this process, as large as the model; or, where the cluster is on this
        machine alone, among its temporary files.
    engine : optional
        Something else than Ray to run the processes: see `onlineboost.cluster.line.Engine`.

    Examples
    --------
    >>> from onlineboost import AdaBoostOLM
    >>> from onlineboost.cluster import Cluster, Here
    >>> X, y = [[0.0], [1.0]] * 50, ["low", "high"] * 50
    >>> with Cluster(AdaBoostOLM(10), segments=2, engine=Here()) as run:
    ...     run = run.partial_fit(X, y)
    ...     clf = run.result()
    >>> clf.predict([[0.1], [0.9]]).tolist()
    ['low', 'high']
    """

    def __init__(
        self,
        classifier: Any,
        segments: int = 2,
        *,
        address: str | None = None,
        rows: int = ROWS,
        folder: str | PathLike[str] | None = None,
        engine: Engine | None = None,
    ) -> None:
        if isinstance(classifier, type) or not hasattr(classifier, "_new_chain"):
            brackets = f": {classifier.__name__}()" if isinstance(classifier, type) else ""
            raise ValueError(f"a cluster takes a classifier of this package, an object{brackets}; got {classifier!r}")
        if isinstance(engine, type):
            raise ValueError(f"engine must be an object, not a class: {engine.__name__}()")
        self.segments, self.rows, self.address = count("segments", segments), count("rows", rows), address
        self.folder = None if folder is None else str(Path(folder).absolute())
        self._engine = engine
        self._line: Line | None = None
        self._front = deepcopy(classifier)
        self._front.__dict__["_line_up_"] = self._line_up
        self._open = self._closed = self._wanted = False
        self._remote: Remote | None = None  # once the learners are in the processes
        self._own_folder: TemporaryDirectory[str] | None = None
        self._result: Any = None  # of now, if someone has asked for it

    # ------------------------------------------------------------------------------------------------------ opening

    def __enter__(self) -> Self:
        if self._closed:
            raise RuntimeError("this cluster was closed: make a new Cluster of its result() to go on")
        if self.folder is not None:
            Path(self.folder).mkdir(parents=True, exist_ok=True)
            self._own_folder = self._new_folder()
        if self._engine is None:
            from onlineboost.cluster.ray_engine import RayEngine

            self._engine = RayEngine(self.segments, self.address)
            if self._engine.is_local and self.folder is None:
                self._own_folder = self._new_folder()
        self._open = True
        return self

    def _new_folder(self) -> TemporaryDirectory[str]:
        """Of this run alone: others may have been given the same one."""
        return TemporaryDirectory(prefix="onlineboost-", dir=self.folder, ignore_cleanup_errors=True)

    def __exit__(self, *_: object) -> None:
        self._open, self._closed = False, True
        with ExitStack() as last:  # whatever goes wrong in one of them, with a cluster that is gone
            if self._own_folder is not None:
                last.callback(self._own_folder.cleanup)
            if self._engine is not None:
                last.callback(self._engine.close)
            if self._line is not None:
                last.callback(self._line.close)

    def _line_up(self, chain: Chain) -> None:
        """Send the learners of a chain to the processes, unless they are there."""
        if not chain.place.is_here:
            return
        assert self._engine is not None
        if not all(segment.learners.forests() for segment in chain.segments):
            raise ValueError("a cluster takes boosted Hoeffding trees: all other learners stay in one process")
        parts = self.segments if not chain.segments else min(self.segments, chain.n_learners)
        threads = self._front._threads()
        owners = divide(chain, parts, threads)
        settings = type(self._front)(**self._front.get_params(deep=False))
        states = states_of(settings, chain, owners, parts)
        folder = None if self._own_folder is None else self._own_folder.name
        self._line = Line(self._engine, states, parts + AHEAD, threads, folder)
        chain.place = self._remote = Remote(self._line, self.rows)
        self._remote.wanted = self._wanted

    # ----------------------------------------------------------------------------------------------------- learning

    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
        """Learn a block of examples, as `partial_fit` of the classifier. Comes back when it is on its way.

        No more than some blocks are on their way at a time: it waits where the cluster cannot keep up.
        """
        self._want(False)
        self._front.partial_fit(X, y, classes=classes, sample_weight=sample_weight)
        return self

    def test_then_train(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, **asked: Any) -> Any:
        """`partial_fit` that returns what was predicted for every example just before it was learned.

        `asked` are `proba` and `sets`, as in `test_then_train` of the classifier.
        """
        self._want(True)
        return self._front.test_then_train(X, y, classes=classes, sample_weight=sample_weight, **asked)

    def _want(self, predictions: bool) -> None:
        self._check_open()
        self._wanted, self._result = predictions, None
        if self._remote is not None:
            self._remote.wanted = predictions

    def _check_open(self) -> None:
        if not self._open:
            closed = "it was closed: take `result()` before the end of the with statement"
            raise RuntimeError(f"the cluster is not open: {closed if self._closed else 'use it in a with statement'}")

    # -------------------------------------------------------------------------------------------------- what it knows

    def predict(self, X: Any) -> np.ndarray:
        """The label of every row, by a `result` of now: to fetch it takes a while, so ask for many rows at once."""
        return self._newest().predict(X)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes for every row, likewise."""
        return self._newest().predict_proba(X)

    def _newest(self) -> Any:
        self._result = self._result or self.result()
        return self._result

    def result(self) -> Any:
        """The classifier, with all that was learned so far; the run may go on."""
        clf: Any = object.__new__(type(self._front))
        clf.__dict__ = self._front._without_lock()
        if self._remote is None:
            return deepcopy(clf)
        self._check_open()
        model = self._front._model
        with Interrupt():  # what is said of rows on their way, and a recovery, must not stop half way
            whole = model.chain.place.whole(model.chain)
            if model.limit is not None and not model.warned and limited_trees(whole):
                remark_limit(model)
            tell_learned(self._front, 0)
        clf._model = replace(model, chain=whole, compiled=False, ready=())
        return deepcopy(clf)

    @property
    def figures(self) -> Figures:
        """Checkpoints and recoveries so far."""
        return Figures() if self._line is None else self._line.figures

    @property
    def sets(self) -> bool:
        """The setting of the classifier."""
        return bool(self._front.sets)

    @property
    def classes_(self) -> np.ndarray:
        """The labels met so far."""
        return self._front.classes_

    @property
    def n_samples_seen_(self) -> int:
        """Examples that were sent."""
        return self._front.n_samples_seen_


def each(function: Callable[[Any], Any], items: Iterable[Any], *, address: str | None = None) -> list[Any]:
    """[function(item) for item in items], spread over the processors of a Ray cluster.

    For sweeps: runs that know nothing of each other. A call whose process is lost is made again, up to three times, so
    the function should do no harm when it is called twice. An error of the function is raised here.

    Parameters
    ----------
    function, items
        Both go to other processes: a function of a module that all machines have, or one that can be pickled.
    address : str, optional
        Of a running Ray cluster; without it, the one that this process belongs to (`ray.init`), or one that is started
        on this machine for as long as this takes.

    Examples
    --------
    >>> from onlineboost.cluster import each
    >>> each(abs, [-1, 2, -3])  # doctest: +SKIP
    [1, 2, 3]
    """
    found = dict(as_done(function, items, address=address))
    return [found[i] for i in range(len(found))]


def as_done(
    function: Callable[[Any], Any], items: Iterable[Any], *, address: str | None = None
) -> Iterator[tuple[int, Any]]:
    """The same, one by one as they are ready: the place of an item, and what came of it."""
    from onlineboost.cluster.ray_engine import LOOK_UP, joined, ray

    with joined(address):
        call = ray.remote(_call).options(max_retries=3)
        most = 2 * processors()  # one in hand for each: what is not sent need not be taken back when this is stopped
        waiting: dict[Any, int] = {}
        left = enumerate(items)
        try:
            while True:
                while len(waiting) < most and (following := next(left, None)) is not None:
                    i, item = following
                    waiting[call.remote(function, item)] = i
                if not waiting:
                    return
                for answer in ray.wait(list(waiting), timeout=LOOK_UP)[0]:
                    yield waiting.pop(answer), ray.get(answer)
        finally:
            for answer in waiting:
                ray.cancel(answer, force=True)


def processors() -> int:
    """Processors of the cluster that this process belongs to."""
    from onlineboost.cluster.ray_engine import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)
