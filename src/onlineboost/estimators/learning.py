"""Learning from blocks, and from single rows that are out of the ordinary: from what a user gives to the chain.

An error leaves a classifier as it was: nothing changes in place before the input is known to be good.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from typing import Any

import numpy as np

from onlineboost._compile.system import Interrupt
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import NEW_CLASS, new_diary
from onlineboost.chain.gammas import GammaReviews
from onlineboost.chain.model import Model, compiled_by, is_new, new_calibration
from onlineboost.chain.reviews import Reviews
from onlineboost.chain.sets import new_sets
from onlineboost.chain.weights import relative
from onlineboost.data.columns import Extra, NewColumn, check_word, first_row, perhaps_mistaken, stages
from onlineboost.data.encoder import Encoded, Encoder, Kept
from onlineboost.data.errors import DataError, Remarks, warn
from onlineboost.data.frames import rows_of
from onlineboost.data.labels import Labels, object_array, sorted_labels, stretches
from onlineboost.estimators import memory
from onlineboost.estimators.checks import (
    check_classes,
    check_columns,
    check_settles,
    check_weight,
    check_weights,
    note_columns,
    ready_to_learn,
    seed_of,
)
from onlineboost.estimators.costs import Costs, count, for_experts
from onlineboost.estimators.listening import Asked, Listener
from onlineboost.estimators.settings import RESTARTS, word
from onlineboost.panel.columns import WIDE
from onlineboost.trees.state import Columns

SLOW = 10_000_000  # learners x classes x (classes + columns) from which on a row takes milliseconds
SETTLED = 50  # rows after which a new name beside a known one may be a typing mistake


def learn_block(
    clf: Any,
    X: Any,
    y: Any,
    classes: Any,
    sample_weight: Any,
    *,
    start_again: bool = False,
    asked: Asked | None = None,
    told: Any = None,
) -> np.ndarray:
    """Learn rows and their labels; or, with `told` (`acting.Told`), what outcomes of actions say of them."""
    with Interrupt() as interrupt, clf._lock().writing(), as_before_on_error(clf):
        clf._check_settings()
        if told is not None:
            y, sample_weight = _as_rows(clf, X, classes, told, sample_weight)
        y = clf._reading.given(y, type(clf).__name__)
        if start_again:
            clf.__dict__.pop("_model", None), clf.__dict__.pop("_begun_", None)
            if "_pending" in clf.__dict__:
                clf.__dict__["_pending"] = clf._pending.emptied()
            classes = y
        table: Any = rows_of(X)
        if len(table) != len(y):
            raise DataError(f"X has {len(table)} rows and y has {len(y)}: give one label per row")
        weight = check_weights(sample_weight, len(y))
        keep = weight > 0.0
        first = not hasattr(clf, "_model")
        if first and not keep.any():
            if len(y) and classes is None:
                return object_array([])  # rows of weight 0 are as if absent
            check_settles(table, len(y), classes=not start_again and classes is not None)
        check_columns(clf, X, reset=first)
        if not keep.all():
            table, y, weight = table[keep], y[keep], weight[keep]
        model = _begin(clf, table, classes) if first else ready_to_learn(clf, classes)
        if columns := model.encoder.new_columns(table):
            said = _learn_in_stages(clf, model, columns, (table, y, weight), interrupt, asked)
        else:
            encoded, (codes, new) = model.encoder.read(table), clf._reading.read(model.labels, y)
            if interrupt.pending is not None:
                raise interrupt.pending
            clf._model = model
            if first and not len(y):
                clf._set_classes(model, model.k)  # classes without a row
            said = clf._model.labels.of(_learn(clf, encoded, codes, new, weight, interrupt, asked))
        if told is not None:
            told.note(clf._model, len(said))
    tell_learned(clf, len(said))
    return said


# arguments: those of `learn_one`
def learn_row(
    clf: Any, x: Any, y: Any, weight: float, interrupt: Interrupt, told: Any = None, classes: Any = None
) -> None:
    with as_before_on_error(clf):
        clf._check_settings()
        check_weight(weight)
        if told is not None:
            begun = hasattr(clf, "_model")
            table = None if begun else first_row(x, clf.columns, clf.categorical_features)
            (y,), (weight,) = _as_rows(clf, table, classes, told, [weight])
        if weight == 0.0:
            if told is not None:
                told.note(clf._model, 0)
            return  # as if absent
        if not hasattr(clf, "_model"):
            if clf._reading.is_blank(y):
                return
            table = first_row(x, clf.columns, clf.categorical_features)
            check_columns(clf, table, reset=True)
            model = _begin(clf, table, None)
        else:
            model = ready_to_learn(clf)
        if type(x) is not Kept and (columns := model.encoder.new_columns_of_row(x)):
            encoded, (codes, new) = model.with_columns(columns).read_row(x), clf._reading.read_one(model.labels, y)
            memory.check_limit(model, [*new], columns, encoded, codes)  # errors before any change
            if model.chain.t >= SETTLED:
                model.remarks |= perhaps_mistaken(columns, x, model.encoder.names)
            note_columns(clf, memory.add_columns(model, columns))
        encoded = model.encoder.read_kept(x) if type(x) is Kept else model.encoder.read_row(x)
        codes, new = clf._reading.read_one(model.labels, y)
        clf._model = model
        _learn(clf, encoded, codes, new, np.array([weight], np.float64), interrupt)
        if told is not None:
            told.note(clf._model, 1)


def _as_rows(clf: Any, X: Any, classes: Any, told: Any, sample_weight: Any) -> tuple[np.ndarray, np.ndarray]:
    """The labels and weights that outcomes of actions become. From here on there is a model, with all classes."""
    if not hasattr(clf, "_model"):
        check_columns(clf, X, reset=True)
        clf._model = _begin(clf, rows_of(X), classes)
        clf._set_classes(clf._model, clf._model.k)
    model = ready_to_learn(clf, classes)
    rows: tuple[np.ndarray, np.ndarray] = told.rows(model, sample_weight)
    told.prepare(clf, model)
    return rows


def _learn_in_stages(
    clf: Any,
    model: Model,
    columns: list[NewColumn],
    block: tuple[Any, Any, Any],
    interrupt: Interrupt,
    asked: Asked | None,
) -> np.ndarray:
    """Learn a block in which new columns turn up: each is added just before the first row that has a value."""
    table, y, weight = block
    encoded, (codes, labels) = model.with_columns(columns).read(table), clf._reading.read(model.labels, y)
    memory.check_limit(model, [*labels], columns, encoded, codes)  # errors, before anything changes
    if interrupt.pending is not None:
        raise interrupt.pending
    clf._model, said = model, np.empty(0, np.int64)
    for rows, new in stages(columns, len(y)):
        if rows.start and (interrupt.pressed() or len(said) < rows.start):
            break
        note_columns(clf, memory.add_columns(model, new))
        encoded, (codes, found) = model.encoder.read(table[rows]), clf._reading.read(model.labels, y[rows])
        said = np.concatenate([said, _learn(clf, encoded, codes, found, weight[rows], interrupt, asked)])
    return model.labels.of(said)


@contextmanager
def as_before_on_error(clf: Any) -> Iterator[None]:
    """An error leaves the classifier as it was: nothing changes in place before the input is known to be good.

    Exceptions of signal handlers are deferred (`Interrupt`). One in mid-row marks the model as damaged (`_learn`).
    """
    before = dict(clf.__dict__)
    model: Model | None = before.get("_model")
    acting = None if model is None else (model.acts, model.chain.mean_weight)  # which `_as_rows` may change
    try:
        yield
    except BaseException:
        clf.__dict__ = before
        if model is not None and acting is not None:
            model.acts, model.chain.mean_weight = acting
        raise
    finally:
        if (desk := clf.__dict__.get("_desk_")) is not None:
            desk.clear()  # what is prepared for single rows may not be of use any more


def _begin(clf: Any, X: Any, classes: Any) -> Model:
    model = new_model(clf, X, classes, seed_of(clf.random_state))
    if model.encoder.opens == "open":  # columns that have no value yet are left out
        note_columns(clf, model.encoder.names, named=model.encoder.named)
    return model


def new_model(clf: Any, X: Any, classes: Any, seed: int) -> Model:
    """What a classifier begins with, if all settings are good. Changes nothing."""
    encoder = Encoder.settle(X, clf.categorical_features, check_word(clf.columns))
    known = np.empty(0) if classes is None else sorted_labels(check_classes(classes, type(clf).__name__))
    labels = Labels(known, classes is not None)
    columns, limit = Columns(len(encoder.numeric), encoder.sizes), memory.bytes_of(clf.memory_limit)
    memory.check_number(limit, getattr(clf, "n_learners", 1))
    chain = clf._new_chain(columns, len(labels.classes), seed)
    model = Model(encoder, labels, chain, limit=limit)
    chain.diary = new_diary(len(encoder.names), model.limit)
    if clf.calibrate:
        model.calibration, model.floor = new_calibration(), clf._floor
    model.sets = new_sets(model.k) if clf.sets else None
    memory.check_limit(model)
    return model


def _learn(
    clf: Any,
    encoded: Encoded,
    codes: np.ndarray,
    new: dict,
    weight: np.ndarray,
    interrupt: Interrupt,
    asked: Asked | None = None,
) -> np.ndarray:
    """Learn checked and encoded rows; the codes predicted for them before, -1: no class was known yet.

    What can fail without harm comes first: settings that a new class asks for, and compiling. An error after that
    (no memory is left, say) strikes in the middle of a row. The model then remembers it, and is not used again.
    """
    costs = clf._costs(clf._model.labels)
    if (line_up := clf.__dict__.get("_line_up_")) is not None:
        line_up(clf._model.chain)  # its learners go to other processes: `cluster`
    if not clf._model.chain.safe:  # learners of other libraries may still reject the rows
        clf._model = deepcopy(clf._model)
    model = clf._model
    model.chain.costs = for_experts(costs, model.labels)
    model.chain.end.begin()
    codes = model.chain.end.take_labels(codes)
    if new:
        clf._check_new_classes(model)
        memory.check_limit(model, [*new], (), encoded, codes)
    if not model.compiled:
        with interrupt.let_through() if is_new(clf) else nullcontext():  # Ctrl-C need not wait for the compiler
            compiled_by(clf._rehearse, model, type(clf))
    weight, means = relative(weight, model.chain.mean_weight, model.chain.t)
    own = weight
    if costs is not None:
        model.remarks |= costs.told(model.labels)
        own = costs.weigh(model.counts, [*model.labels.names, *new], model.k, codes, weight)
    try:
        model.sets = (model.sets or new_sets(model.k)) if clf.sets else None
        listener = Listener(model, asked, weight)
        out = _learn_rows(clf, model, encoded, codes, new, own, costs, interrupt, listener)
    except BaseException as error:
        model.damage = f"{type(error).__name__}: {error}"
        raise
    finally:
        model.chain.heard = None
    if len(out) and model.chain.mean_weight is not None:
        model.chain.mean_weight = float(means[len(out) - 1])
    if len(out):
        learned = own[: len(out)]
        for note, value in model.chain.to_note(float(learned.min()), float(learned.max()), 1 << clf._combiner()):
            note(value)
    if costs is not None:
        model.counts = count(model.counts, codes[: len(out)], weight[: len(out)], model.k)
    model.remarks |= encoded.remarks
    return out


def reviews_of(clf: Any, chain: Chain) -> Reviews | GammaReviews | None:
    """What a chain learns about itself on the way, now and then; None: nothing."""
    if chain.watch is None:
        return GammaReviews(chain) if chain.segments and chain.booster.adapts() else None
    if word("restart", clf.restart, RESTARTS) == "never":
        chain.watch.plan = None  # nothing restarts any more
        return None
    return Reviews(chain, clf.restart == "auto")


def _learn_rows(
    clf: Any,
    model: Model,
    encoded: Encoded,
    codes: np.ndarray,
    new: dict,
    weight: np.ndarray,
    costs: Costs | None,
    interrupt: Interrupt,
    listener: Listener,
) -> np.ndarray:
    """`_learn`, where nothing is left to check.

    Ctrl-C stops after the blocks at hand. The model is then as if it had been given the rows up to there, and no
    more; there are as many predictions.
    """
    chain = model.chain
    X, combiner = encoded.X, clf._combiner()
    first_round = chain.t + 1
    model.encoder.commit(encoded, first_round)
    out = np.full(len(X), -1, np.int64)
    known, done, names = model.k, 0, list(new)
    for start, stop, k in stretches(codes, known):
        if start and interrupt.pressed():
            break
        first = None
        if k > known:  # the first row has a label not known until now: predict it without
            first = chain.predict(X[start : start + 1], known, combiner)[0] if known else -1
            listener.before_new_class(X[start : start + 1], combiner)
            model.labels.add(names[: k - known])  # now, not later: no tree ever knows a code that has no label
            names = names[k - known :]
            chain.diary.note(chain.t + 1, NEW_CLASS, range(known, k))
        chain.place.new_classes(k, model.columns)
        if model.ready[:1] != (k,):
            clf._set_classes(model, k)
        chain.costs = for_experts(costs, model.labels)
        known = k
        while done < stop and not (done > start and interrupt.pressed()):
            part = slice(done, min(stop, done + memory.make_ready(model, k)))
            block = X[part], codes[part], weight[part]
            reviews = reviews_of(clf, chain)
            visitors = [*([] if reviews is None else [reviews]), *memory.notices(model)]
            how = clf._threads(), interrupt.pressed, visitors
            done += chain.place.stream(chain, *block, k, combiner, out[part], *how)
            listener.after_block(*block, out[part])
        if first is not None:
            out[start] = first
    if done < len(X) and model.encoder.forget(encoded, first_round, chain.t):
        memory.make_ready(model, known)
    chain.place.settle()
    return out[:done]


# ---------------------------------------------------------------------- what a classifier warns of, each cause once


def tell(clf: Any, remarks: Remarks) -> None:
    """Warn of what has not been told yet; that is remembered as long as a classifier lives."""
    told = clf.__dict__.setdefault("_told_", {})
    for cause, words in remarks.items():
        if cause in told:
            continue
        if isinstance(words, Extra) and not words.names & told.get("extra", frozenset()):
            told["extra"] = words.names
            continue
        told[cause] = True
        warn(words())


def tell_learned(clf: Any, n_rows: int) -> None:
    """What there is to say after these rows were learned: last, since a warning may be an error."""
    model: Model | None = clf.__dict__.get("_model")
    if model is not None:
        memory.look_at_limit(model, n_rows)
        remarks, model.remarks = model.remarks, {}
        tell(clf, remarks | _too_much(clf, model))


def _too_much(clf: Any, model: Model) -> Remarks:
    """What there is to say of many learners, classes or columns: it is slow, or goes without something."""
    name, learners, k, columns = type(clf).__name__, getattr(clf, "n_learners", 1), model.k, len(model.encoder.names)
    found: Remarks = {}
    if learners * k * (k + columns) > SLOW:
        found["slow"] = lambda: (
            f"a row now takes {name} some milliseconds, with {learners} learners, {k} classes and {columns} columns. "
            f"It is quicker with fewer learners (n_learners), fewer columns, or rare classes called 'other'; where "
            f"there are many classes, OnlineMBBM and OzaBoost are quicker than AdaBoostOLM (docs/scale.md)"
        )
    panel = model.chain.panel
    if panel is None:
        return found
    if without := k - panel.most_classes(k):
        found["panels"] = lambda: (
            f"{without} of {k} labels have no panel, since panels may take three quarters of memory_limit at most: "
            f"they are ranked by how often they are relevant, and by the trees. Raise memory_limit for more accuracy"
        )
    beyond = len(panel.state.shared.stats.dense.origin) - WIDE
    if beyond > 0:
        found["sharing"] = lambda: (
            f"the panel tells {WIDE:,} numeric columns apart: the other {beyond:,} are added to the first ones by a "
            f"hash, and only the boosted trees see each as it is; leave out columns that do not matter (docs/scale.md)"
        )
    return found
