"""Random programs of a service: blocks, rows, labels that come late, files, restarts, forks, readers beside a learner.

As in `pair`, a replica is fed the rows that were learned in plain blocks. Here what is predicted on the way is compared
too: with a copy that is asked row by row, with a child process, with the states between blocks that readers may see.
"""

from __future__ import annotations

import copy
import os
import pickle
import tempfile
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from contract.kinds import Kind
from helpers import model_state
from onlineboost import load
from soak.data import Batch, as_array, as_row, canonical
from soak.pair import Pair, refused

SHARES = {
    "learn": 8,
    "learn_one": 6,
    "test_then_train": 6,
    "predict": 3,
    "wait": 8,
    "label": 8,
    "file": 4,
    "restart": 3,
    "fork": 2,
    "read_beside": 2,
    "go_on_with_copy": 2,
    "set_threads": 2,
    "compare": 3,
}


class Program(Pair):
    """A pair that serves: some of its rows wait for their labels."""

    def __init__(self, kind: Kind, **settings: bool) -> None:
        super().__init__(kind, **settings)
        self.waiting: dict[Any, list[Any]] = {}  # ticket: row
        self.done: list[Any] = []  # tickets whose labels have come

    # ------------------------------------------------------------------------------------------------- predicting

    def test_then_train(self, rng: np.random.Generator) -> None:
        """What a block says of its rows is what a copy says of each before it learns it."""
        batch = self._draw(rng, 10, least=1).kept()
        if not self._begun or not len(batch):
            return
        one, X, y = copy.deepcopy(self.clf), as_array(batch.rows), np.array(batch.y, object)
        said, p = self.clf.test_then_train(X, y, self.classes, batch.weight, proba=True)
        for b in range(len(batch)):
            row = X[b : b + 1]
            before = dict(zip(one.classes_.tolist(), one.predict_proba(row)[0].tolist(), strict=True))
            now = [before.get(label, 0.0) for label in self.clf.classes_.tolist()]
            np.testing.assert_allclose(p[b], now, atol=1e-12)
            assert said[b] == one.predict(row)[0]
            one.partial_fit(row, y[b : b + 1], None, batch.weight[b : b + 1])
        self._count(batch, complete=True)

    # ------------------------------------------------------------------------------------------------ late labels

    def wait(self, rng: np.random.Generator) -> None:
        """Some rows are predicted, and wait for their labels: under tickets, or ids of ours."""
        if not self._begun:
            return
        for row in self._draw(rng, 4).rows:
            own = f"event {rng.integers(1 << 40)}" if rng.random() < 0.5 else None
            given = as_row(rng, row, settled=True)
            said = self.clf.predict_pending(given, id=own)
            assert said.ticket not in self.waiting
            assert own in (None, said.ticket)
            assert said.label == self.clf.predict_one(given)
            self.waiting[said.ticket] = row

    def label(self, rng: np.random.Generator) -> None:
        """Labels of some that wait come, in any order; a second time they are refused, and so are those of nobody."""
        for ticket in rng.permutation(list(self.waiting))[: int(rng.integers(5))].tolist():
            row, drawn = self.waiting.pop(ticket), self._draw(rng, 1, least=1)
            one = Batch([row], drawn.y, np.maximum(drawn.weight, 1e-6))
            if rng.random() < 0.15:
                self.clf.forget_pending(ticket)
            else:
                self.clf.learn_pending(ticket, one.y[0], float(one.weight[0]))
                self._count(one, complete=True)
            self.done.append(ticket)
        for ticket in [*self.done[-2:], "nobody's"]:
            refused(lambda ticket=ticket: self.clf.learn_pending(ticket, "a"))

    # --------------------------------------------------------------------------------------------- files, processes

    def file(self, rng: np.random.Generator) -> None:
        """It goes on from a file."""
        if self._begun:
            before = pickle.dumps(self.clf)
            self.clf = self._through_file(self.clf, mapped=bool(rng.random() < 0.3))
            assert pickle.dumps(self.clf) == before

    def restart(self, rng: np.random.Generator) -> None:
        """It falls back to a file: what was given out since is known to nobody, and given out to nobody again."""
        if not self._begun:
            return
        older = self._through_file(self.clf)
        rows = self._draw(rng, 4, least=1).rows
        given = [self.clf.predict_pending(as_row(rng, row, settled=True)).ticket for row in rows]
        self.clf = older
        again = [self.clf.predict_pending(as_row(rng, row, settled=True)).ticket for row in rows]
        assert not {*given, *self.done, *self.waiting} & {*again}
        for ticket in given:
            refused(lambda ticket=ticket: self.clf.learn_pending(ticket, "a"))
        self.waiting.update(zip(again, rows, strict=True))

    def fork(self, rng: np.random.Generator) -> None:
        """A child predicts and learns what a copy does here, while threads of this process read the model."""
        batch = self._draw(rng, 8, least=1).kept()
        if not self._begun or not len(batch):
            return
        X, y = as_array(batch.rows), np.array(batch.y, object)

        def use(clf: Any) -> tuple[Any, ...]:
            said = clf.predict_proba(X).tolist()
            clf.partial_fit(X, y, None, batch.weight)
            return said, clf.predict_proba(X).tolist()

        end, other = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, from Python 3.12 on
            child = os.fork()
        if child == 0:
            try:
                with os.fdopen(other, "wb") as file:
                    pickle.dump(use(self.clf), file)
            finally:
                os._exit(0)
        os.close(other)
        with os.fdopen(end, "rb") as file:
            content = file.read()
        os.waitpid(child, 0)
        assert content, "the child has said nothing"
        assert pickle.loads(content) == use(copy.deepcopy(self.clf))

    def read_beside(self, rng: np.random.Generator) -> None:
        """Readers beside a learner are told what one of the states between two blocks says."""
        if not self._begun:
            return
        X = as_array([canonical(row) for row in self._draw(rng, 4, least=1).rows])
        blocks = [self._draw(rng, 20, least=1).kept() for _ in range(3)]
        shadow = copy.deepcopy(self.clf)
        told: list[Any] = []
        stop = threading.Event()

        def read() -> None:
            while not stop.is_set():
                told.append(self.clf.predict(X).tolist())
                told.append(self.clf.snapshot().predict(X).tolist())

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        try:
            states = [shadow.predict(X).tolist()]
            for batch in blocks:
                if len(batch):
                    self.clf.partial_fit(as_array(batch.rows), np.array(batch.y, object), None, batch.weight)
                    self._count(batch, complete=True)
        finally:
            stop.set()
            for reader in readers:
                reader.join()
        for batch in blocks:
            if len(batch):
                shadow.partial_fit(as_array(batch.rows), np.array(batch.y, object), None, batch.weight)
                states.append(shadow.predict(X).tolist())
        assert all(labels in states for labels in told)
        assert model_state(shadow) == model_state(self.clf)

    def _through_file(self, clf: Any, *, mapped: bool = False) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.olb"
            clf.save(path)
            return load(path, mapped=mapped)
