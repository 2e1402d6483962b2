"""Is the input what it should be? Labels, weights, columns, seeds, and settings that have changed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Set
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from onlineboost.chain.model import Model
from onlineboost.chain.weights import MOST_WEIGHT
from onlineboost.data.columns import check_word, positions
from onlineboost.data.errors import DataError
from onlineboost.data.frames import table_of_row
from onlineboost.data.labels import Labels, as_array, object_array
from onlineboost.data.table import Table
from onlineboost.data.values import weights_of
from onlineboost.estimators import memory

TOO_HEAVY = f"more than {MOST_WEIGHT:g}: divide all weights by the same number, their mean for instance"


def check_labels(y: Any, whose: str) -> np.ndarray:
    """One label per row, of any type; `Labels` looks at each that is new."""
    if y is None:
        raise DataError(f"{whose} requires y to be passed, but the target y is None")
    if isinstance(y, np.ma.MaskedArray):
        y = object_array(y.tolist()) if y.ndim == 1 and np.ma.is_masked(y) else np.asarray(y)  # None where masked
    elif isinstance(y, list | tuple):
        y = as_array(y)
    elif hasattr(y, "__array__"):
        y = np.asarray(y)  # scikit-learn would make floats of pandas' Int64
    return column_or_1d(y, warn=True)  # type: ignore[no-any-return]


def check_classes(classes: Any, whose: str) -> np.ndarray:
    """Labels given in advance: a list, an array or a set."""
    if isinstance(classes, Set):  # in an order that is the same in every process
        classes = sorted(classes, key=lambda label: (type(label).__name__, str(label)))
    if isinstance(classes, str | bytes | Mapping) or not hasattr(classes, "__len__"):
        raise DataError(f"classes must be a list, an array or a set of labels, got {classes!r}")
    return check_labels(classes, whose)


def check_classes_known(model: Model, classes: Any, whose: str) -> None:
    """An error if `classes`, given again, has labels that are not known."""
    if late := model.labels.read(check_classes(classes, whose))[1]:
        raise ValueError(
            f"classes names {next(iter(late))!r}, which this model has not met: it is for the first call. Leave it "
            f"out: new labels are learned as they come"
        )


class OneLabel:
    """How labels are read: one for each row."""

    given = staticmethod(check_labels)
    one_each = True

    @staticmethod
    def is_blank(y: Any) -> bool:
        """Whether a row with it teaches nothing as long as no label is known."""
        return False

    @staticmethod
    def read(labels: Labels, y: Any) -> tuple[np.ndarray, dict[Any, int]]:
        """Codes, and new labels: `Labels.read`."""
        return labels.read(y)

    @staticmethod
    def read_one(labels: Labels, y: Any) -> tuple[np.ndarray, dict[Any, int]]:
        return labels.read_one(y)


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Names and number of the columns, as scikit-learn checks them; the encoder goes by names where there are any."""
    if isinstance(X, Table):
        if reset:
            estimator.__dict__.pop("feature_names_in_", None)
            note_columns(estimator, X.names, named=X.named)
        return
    has_names = hasattr(X, "columns")
    if not reset and has_names and hasattr(estimator, "feature_names_in_"):
        return
    if isinstance(X, list | tuple) and not len(X):
        return
    if getattr(X, "ndim", 2) == 2 or has_names:
        validate_data(estimator, X, skip_check_array=True, reset=reset)


def note_columns(estimator: Any, names: tuple[str, ...], *, named: bool = True) -> None:
    """Number and names of the columns, where scikit-learn looks for them."""
    if named:
        estimator.feature_names_in_ = np.array(names, object)
    estimator.n_features_in_ = len(names)


def check_weight(weight: float) -> None:
    """The weight of one example."""
    if not (isinstance(weight, int | float | np.number) and 0.0 <= weight < np.inf):
        raise DataError(f"weight must be a number that is not negative, got {weight!r}")
    if weight > MOST_WEIGHT:
        raise DataError(f"weight is {min(weight, sys.float_info.max):g}, {TOO_HEAVY}")


def check_weights(sample_weight: Any, n: int) -> np.ndarray:
    weight = weights_of(sample_weight, n)
    if weight.max(initial=0.0) > MOST_WEIGHT:
        row = int(weight.argmax())
        raise DataError(f"row {row}: sample_weight is {weight[row]:g}, {TOO_HEAVY}")
    return weight


def check_settles(table: Any, n: int, *, classes: bool) -> None:
    """A first block of n rows, none of a positive weight, will do if classes are given and types say the rest."""
    typed = table.dtype.kind in "biuf" if isinstance(table, np.ndarray) else table.named
    if classes and typed:
        return
    if n:
        raise DataError("Sample weights must contain at least one non-zero number in the first block")
    shape = table.shape if isinstance(table, np.ndarray) else (0, len(table.names))
    raise DataError(
        f"Found array with 0 sample(s) (shape={shape}) while a minimum of 1 is required: the first block settles the "
        f"columns. Later ones may be empty; so may the first, if it is a frame or an array of numbers, and `classes` "
        f"are given"
    )


def seed_of(random_state: Any) -> int:
    """An integer seed from what scikit-learn takes as random_state."""
    if isinstance(random_state, int | np.integer):
        if random_state < 0:
            raise ValueError(f"random_state must not be negative, got {random_state}")
        if random_state >= 2**63:
            raise ValueError(f"random_state must be less than 2**63, got {random_state}")
        return int(random_state)
    return int(check_random_state(random_state).randint(2**31 - 1))


def check_one_label(clf: Any) -> None:
    """An error if rows have several labels."""
    if not clf._reading.one_each:
        raise ValueError(f"a {type(clf).__name__} says a set of labels for each row, not one: use it from Python")


def check_row(clf: Any, x: Any, y: Any) -> None:
    """An error if `learn_one` would refuse this row or label now; None is not looked at. Changes nothing."""
    desk = clf.__dict__.get("_desk_")
    if desk is not None and desk.knows(x, y):  # while another thread learns, too: that changes no kinds of columns
        return
    with clf._lock().reading():
        model: Model | None = clf.__dict__.get("_model")
        if x is not None and model is None:
            table_of_row(x)
        elif x is not None and model is not None and not (desk and desk.knows(x, None)):
            columns = model.encoder.new_columns_of_row(x)
            (model.with_columns(columns) if columns else model.encoder).read_row(x)
        if y is not None:
            (Labels(np.empty(0), False) if model is None else model.labels).read_one(y)


# ---------------------------------------------------------------------------- settings that change after learning began
#
# Some are read in every call. All others count from the first row on, so that a change is for the next `fit`: until
# then the model predicts as it did, and refuses to learn on with settings that are not those it shows. A bad setting is
# told at once.

READ_EVERY_TIME = frozenset({"n_jobs", "combiner", "restart", "class_weight", "cost_matrix", "sets"})


def note_change(clf: Any, name: str, old: Any, new: Any) -> None:
    """`_begun_` has the settings that are not what they were when learning began, as they were."""
    if "_model" not in clf.__dict__ or name[0] == "_" or name[-1] == "_":
        return
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
    if classes is not None:
        check_classes_known(model, classes, type(clf).__name__)
    for name, old in clf.__dict__.get("_begun_", {}).items():
        raise ValueError(
            f"{name} was changed from {old!r} to {getattr(clf, name)!r} after learning began, which takes "
            f"effect with the next fit: call fit to start again with it, or set it back to go on learning"
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
