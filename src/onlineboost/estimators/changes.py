"""Settings that change after learning has begun.

Some are read in every call (`READ_EVERY_TIME`). All others count from the first row on, so that a change is for the
next `fit`: until then the model predicts as it did, and refuses to learn on with settings that are not those it shows.
A bad setting is told at once.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from onlineboost.chain.model import Model
from onlineboost.data.columns import check_word, positions
from onlineboost.estimators import memory
from onlineboost.estimators.checks import check_labels, seed_of

READ_EVERY_TIME = frozenset({"n_jobs", "combiner", "restart", "class_weight", "cost_matrix"})


def note_change(clf: Any, name: str, old: Any, new: Any) -> None:
    """`_begun_` has the settings that are not what they were when learning began, as they were."""
    clf.__dict__["_changed_"] = clf.__dict__.get("_changed_", frozenset()) | {name}
    begun = {name: old} | clf.__dict__.get("_begun_", {})
    if _is_same(begun[name], new) or name in READ_EVERY_TIME or name not in type(clf)._get_param_names():
        del begun[name]
    clf.__dict__.pop("_begun_", None)
    if begun:
        clf.__dict__["_begun_"] = begun


def ready_to_learn(clf: Any, classes: Any = None) -> Model:
    """`ready`, if the settings are those that learning began with, and so are the `classes` of a later call."""
    model = ready(clf)
    if classes is not None and (late := model.labels.read(check_labels(classes, type(clf).__name__))[1]):
        raise ValueError(
            f"classes names {next(iter(late))!r}, which this model has not met: it is for the first call. Leave it "
            f"out: new labels are learned as they come"
        )
    for name, old in clf.__dict__.get("_begun_", {}).items():
        raise ValueError(
            f"{name} was changed from {old!r} to {getattr(clf, name)!r} after learning began, and counts from the "
            f"first row on: call fit to begin again with it, or set it back to go on learning"
        )
    return model


def ready(clf: Any) -> Model:
    """What was learned, if the settings are good as they are now: bad ones are refused as a first call does it."""
    model, changed = clf._fitted(), clf.__dict__.get("_changed_")
    if changed:
        clf._check_settings()
        if not changed <= READ_EVERY_TIME:
            _try_to_begin(clf, model)
        clf.__dict__.pop("_changed_", None)
    return model  # type: ignore[no-any-return]


def _try_to_begin(clf: Any, model: Model) -> None:
    """What a model with these columns and classes would say to the settings, if it began now."""
    positions(clf.categorical_features, model.encoder.names)
    check_word(clf.columns)
    drawn = clf.random_state is None or hasattr(clf.random_state, "randint")  # to look would change it
    chain = clf._new_chain(model.columns, model.k, 0 if drawn else seed_of(clf.random_state))
    memory.check_limit(replace(model, chain=chain, limit=memory.bytes_of(clf.memory_limit)))


def _is_same(a: Any, b: Any) -> bool:
    """Whether two values of a setting are equal: weak learners are if their settings are."""
    if hasattr(a, "get_params") and not isinstance(a, type):
        return type(a) is type(b) and _is_same(a.get_params(deep=False), b.get_params(deep=False))
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(_is_same, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_is_same(a[key], b[key]) for key in a)
    try:
        return a is b or bool(np.all(a == b))
    except (TypeError, ValueError):
        return False
