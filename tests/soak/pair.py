"""A classifier that is treated badly, and a replica that is fed the same rows in plain blocks."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from sklearn.exceptions import NotFittedError

from contract.kinds import Kind
from helpers import asked_meanwhile, assert_finite, frozen, model_state
from onlineboost import registry as words
from soak.data import CLASSES, NAMES, NOMINAL, Batch, as_array, as_row, canonical, draw_batch, in_some_form, joined
from soak.strikes import Struck, struck_after, struck_in

REFUSED = (ValueError, TypeError)  # DataError and NotFittedError are ValueErrors
COPIERS: dict[str, Callable[[Any], Any]] = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda clf: pickle.loads(pickle.dumps(clf)),
    "snapshot": lambda clf: clf.snapshot(),
}


class Pair:
    """The two, and the rows that were learned. Each method named after an operation does one.

    An operation draws all it needs from its own generator. So a list of operations can be repeated without some of
    them.
    """

    def __init__(self, kind: Kind, *, classes: bool, timers: bool = True, tame: bool = False) -> None:
        own = kind.make().get_params(deep=False)
        settings = {"categorical_features": list(NOMINAL), "columns": "fixed"}
        if "memory_limit" in kind.name:  # enough for half as many classes
            settings["memory_limit"] = own["memory_limit"] * 2
        self.clf, self.replica = (kind.make(**settings) for _ in range(2))
        self.threads = "n_jobs" in own
        self.combines = "combiner" in own
        self.classes = CLASSES if classes else None
        self.timers, self.tame = timers, tame
        self.kind = kind
        self.learned: list[Batch] = []
        self.fed = 0  # of these, how many the replica has been given
        self.n = 0  # rows learned

    # ---------------------------------------------------------------------------------------------- learning

    def learn(self, rng: np.random.Generator) -> None:
        """A block, in any form."""
        batch = self._draw(rng)
        self._learned(batch, self._block(rng, batch))

    def learn_one(self, rng: np.random.Generator) -> None:
        """A few single rows."""
        batch = self._draw(rng, 4)
        for row, label, weight in zip(batch.rows, batch.y, batch.weight, strict=True):
            one = Batch([row], [label], np.array([weight]))
            if self.classes and not self._begun:
                self._learned(one, self._block(rng, one))
            else:
                self.clf.learn_one(as_row(rng, row, settled=self._begun), label, float(weight))
                self._count(one.kept(), complete=True)

    def learn_struck(self, rng: np.random.Generator) -> None:
        """A block or a row that an exception interrupts: the rows up to there count."""
        batch = self._draw(rng)
        learn = self._block(rng, batch)
        if len(batch) and rng.random() < 0.2 and self._begun:
            batch = Batch(batch.rows[:1], batch.y[:1], batch.weight[:1])
            row = as_row(rng, batch.rows[0], settled=self._begun)
            learn = partial(self.clf.learn_one, row, batch.y[0], float(batch.weight[0]))
        self._struck(rng, learn)
        self._count(batch.kept(), complete=False)

    def learn_watched(self, rng: np.random.Generator) -> None:
        """A handler that asks the model which is learning is told that it cannot, and nothing else happens."""
        batch = self._draw(rng)
        learn, rows, told = self._block(rng, batch), as_array(self._draw(rng, least=1).rows), [""]

        def ask() -> None:
            try:
                self.clf.predict(rows)
            except (RuntimeError, NotFittedError) as error:
                told.append(str(error))

        struck_after(_moment(rng), learn, ask)
        assert told[-1] == "" or "this model is learning" in told[-1] or "not fitted" in told[-1], told
        self._count(batch.kept(), complete=True)

    def learn_crowded(self, rng: np.random.Generator) -> None:
        """While other threads predict and copy."""
        if not self._begun:
            return
        with asked_meanwhile(self.clf, as_array(self._draw(rng, least=1).rows), 2):
            for _ in range(3):
                self.learn(rng)
            self.learn_struck(rng)

    def refuse(self, rng: np.random.Generator) -> None:
        """Input that cannot be learned leaves everything as it was."""
        batch = self._draw(rng, least=2)
        X, y, weight = as_array(batch.rows), np.array(batch.y, object), np.maximum(batch.weight, 1e-9)
        at = int(rng.integers(len(batch)))
        what = int(rng.integers(10 if self._begun else 6))
        if what == 0:
            y[at] = None
        elif what == 1:
            y[at] = 0.5
        elif what == 2:
            weight[at] = rng.choice([-1.0, np.nan, np.inf, 1e13])
        elif what == 3:
            weight = weight[:-1]
        elif what == 4:
            y = y[:-1]
        elif what == 5:
            X[at, 1] = rng.choice([np.inf, -np.inf])
        elif what == 6:
            X = X[:, :-1] if rng.random() < 0.5 else np.column_stack([X, X[:, :1]])
        elif what == 7:
            X[at, 1] = "tall"
        elif what == 8:
            X[at, 0] = [1, 2]
        else:
            y[at] = [1] if self.classes is None else "z"
        before = frozen(self.clf)
        refused(lambda: self.clf.partial_fit(X, y, self.classes, weight))
        if what in (0, 1, 5, 6, 7, 8, 9) and (self._begun or what == 5):
            refused(lambda: self.clf.learn_one(list(X[at]), y[at]))
        if self._begun:
            refused(lambda: self.clf.learn_one({"x0": "red", "x9": 1.0}, "a"))
        assert frozen(self.clf) == before, f"input {what} that is refused has left a trace"

    def new_columns(self, rng: np.random.Generator) -> None:
        """Columns turn up in two copies, in single rows of the one and in a block of the other: they must agree."""
        if not self._begun or not self.clf._model.chain.safe:
            return
        by_rows, by_block = (copy.deepcopy(self.clf) for _ in range(2))
        for clf in (by_rows, by_block):
            clf._model.encoder.opens, clf._model.encoder.named = "open", True
            clf.feature_names_in_ = np.array(NAMES, object)
        batch = self._draw(rng, 8, least=1).kept()
        rows = [dict(zip(NAMES, row, strict=True)) for row in batch.rows]
        for b, row in enumerate(rows):
            row["late"] = float(rng.normal()) if b and rng.random() < 0.5 else None
            row["later"] = str(rng.choice(["p", "q", "r"])) if b > 1 and rng.random() < 0.5 else None
            by_rows.learn_one({name: row[name] for name in sorted(row)}, batch.y[b], float(batch.weight[b]))
        if rows:
            columns = {name: pd.Series([row[name] for row in rows], dtype=object) for name in sorted(rows[0])}
            by_block.partial_fit(pd.DataFrame(columns), batch.y, None, batch.weight)
        assert_finite(by_rows)
        assert model_state(by_rows) == model_state(by_block)

    # -------------------------------------------------------------------------------------------- predicting

    def predict(self, rng: np.random.Generator) -> None:
        """Blocks and single rows agree, and leave no trace."""
        rows = self._draw(rng, 12).rows
        if not self._begun:
            assert self.clf.predict_one(as_row(rng, rows[0], settled=self._begun) if rows else [1]) is None
            refused(lambda: self.clf.predict(as_array(rows)))
            return
        before = frozen(self.clf)
        labels = self.clf.predict(in_some_form(rng, rows, settled=True))
        shares = self.clf.predict_proba(in_some_form(rng, rows, settled=True))
        assert shares.shape == (len(rows), len(self.clf.classes_))
        assert ((shares >= 0.0) & (shares <= 1.0 + 1e-9)).all(), shares
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        for b in range(0, len(rows), 3):
            assert self.clf.predict_one(as_row(rng, rows[b], settled=True)) == labels[b]
            said = self.clf.predict_proba_one(as_row(rng, rows[b], settled=True))
            assert list(said.values()) == shares[b].tolist()
        assert frozen(self.clf) == before, "predicting has left a trace"

    def predict_struck(self, rng: np.random.Generator) -> None:
        """A prediction or a copy that an exception interrupts."""
        if not self._begun:
            return
        X = as_array(self._draw(rng, least=1).rows)
        calls = [
            lambda: self.clf.predict(X),
            lambda: self.clf.predict_proba(X),
            lambda: self.clf.predict_one(list(X[0])),
            *(lambda copier=copier: copier(self.clf) for copier in COPIERS.values()),
        ]
        self._struck(rng, calls[int(rng.integers(len(calls)))])

    def look(self, rng: np.random.Generator) -> None:
        """What there is to know is finite."""
        if self._begun:
            for name in ("alphas_", "edges_", "expert_weights_", "errors_", "mistakes_", "ages_", "gammas_"):
                if hasattr(self.clf, name):
                    assert np.isfinite(getattr(self.clf, name)).all(), name
            assert self.clf.nbytes_ == sum(self.clf.nbytes_by_part_.values()) > 0

    # ------------------------------------------------------------------------------------- copies and settings

    def go_on_with_copy(self, rng: np.random.Generator) -> None:
        """A copy takes the place of the original, which then learns something else."""
        original = self.clf
        if not self._begun:
            self.clf = pickle.loads(pickle.dumps(original))
            return
        self.clf = COPIERS[list(COPIERS)[int(rng.integers(len(COPIERS)))]](original)
        other = self._draw(rng, 20)
        original.partial_fit(as_array(other.rows), np.array(other.y, object), sample_weight=other.weight)

    def cut(self, rng: np.random.Generator) -> None:
        """Into segments."""
        if self._begun:
            self.clf._model.chain.cut(int(rng.integers(1, 7)))

    def set_threads(self, rng: np.random.Generator) -> None:
        """The number of threads."""
        if self.threads:
            self.clf.set_params(n_jobs=[1, 2, 3, 4, None, -1][int(rng.integers(6))])

    def set_combiner(self, rng: np.random.Generator) -> None:
        """Another expert is followed from here on, by both."""
        if self.combines:
            self.feed()
            combiner = words.COMBINERS[int(rng.integers(len(words.COMBINERS)))]
            for each in (self.clf, self.replica):
                each.set_params(combiner=combiner)

    # ---------------------------------------------------------------------------------------------- comparing

    def compare(self, rng: np.random.Generator) -> None:
        """Both know the same, bit for bit, and nothing that they know is NaN or infinite."""
        self.feed()
        if not self.n:
            assert not self._begun
            return
        assert_finite(self.clf)
        states = model_state(self.clf), model_state(self.replica)
        for name in states[0]:
            assert states[0][name] == states[1][name], f"{name}: {_difference(states[0][name], states[1][name])}"
        X = as_array([canonical(row) for row in self._draw(rng, 20, least=1).rows])
        np.testing.assert_array_equal(self.clf.predict_proba(X), self.replica.predict_proba(X))
        assert self.clf.predict(X).tolist() == self.replica.predict(X).tolist()

    def feed(self) -> None:
        """Let the replica learn what is due."""
        due = joined(self.learned[self.fed :])
        rows = [canonical(row) for row in due.rows]
        for a in range(0, len(rows), 64):
            X, y, weight = as_array(rows[a : a + 64]), np.array(due.y[a : a + 64], object), due.weight[a : a + 64]
            self.replica.partial_fit(X, y, self.classes, weight)
        self.fed = len(self.learned)

    # ------------------------------------------------------------------------------------------------- helpers

    @property
    def _begun(self) -> bool:
        return hasattr(self.clf, "_model")

    def _draw(self, rng: np.random.Generator, most: int = 40, least: int = 0) -> Batch:
        batch = draw_batch(rng, most, least=least, tame=self.tame)
        if not self._begun:
            batch = replace(batch, rows=[canonical(row) for row in batch.rows])
        return batch

    def _block(self, rng: np.random.Generator, batch: Batch) -> Callable[[], Any]:
        """`partial_fit` of a block, if there is something to learn from, and otherwise nothing."""
        X, y, weight = in_some_form(rng, batch.rows, settled=self._begun), np.array(batch.y, object), batch.weight
        if not self._begun and not len(batch.kept()):
            return lambda: None
        one = rng.random() < 0.5 and (weight == 1.0).all()
        return lambda: self.clf.partial_fit(X, y, self.classes, None if one else weight)

    def _learned(self, batch: Batch, learn: Callable[[], Any]) -> None:
        learn()
        self._count(batch.kept(), complete=True)

    def _count(self, batch: Batch, *, complete: bool) -> None:
        """So many rows have been learned: all of them, or those up to an exception."""
        learned = (self.clf.n_samples_seen_ if self._begun else 0) - self.n
        assert learned == len(batch) if complete else 0 <= learned <= len(batch), f"{learned} of {len(batch)} rows"
        self.n += learned
        if learned:
            self.learned.append(Batch(batch.rows[:learned], batch.y[:learned], batch.weight[:learned]))

    def _struck(self, rng: np.random.Generator, call: Callable[[], Any]) -> None:
        try:
            if self.timers and rng.random() < 0.2:
                struck_in(10.0 ** rng.uniform(-5.5, -2.5), call)
            else:
                struck_after(_moment(rng), call)
        except Struck:
            pass


def _moment(rng: np.random.Generator) -> int:
    """Calls and returns until a signal comes: early moments are the most interesting ones."""
    return int(2.0 ** rng.uniform(0.0, 12.0))


def refused(call: Callable[[], Any]) -> None:
    try:
        call()
    except REFUSED:
        return
    raise AssertionError("not refused")


def _difference(a: Any, b: Any) -> str:
    """Where two states differ, in short."""
    if isinstance(a, dict) and isinstance(b, dict):
        return ", ".join(f"{name}: {_difference(a[name], b[name])}" for name in a if a[name] != b[name])
    return f"{str(a)[:300]} is not {str(b)[:300]}"
