"""All estimators, a line each: what the package exports, and what the command line and the experiments know by name.

Nothing heavy is imported here: a class is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One estimator: its name on the command line, its class and the module of it, and what it is."""

    name: str
    class_name: str
    module: str
    about: str


_BOOSTERS, _BASELINES = "onlineboost.estimators.boosters", "onlineboost.estimators.baselines"

ENTRIES = (
    Entry("adaboost-olm", "AdaBoostOLM", _BOOSTERS, "adaptive boosting: learners count by how good they have been"),
    Entry("online-mbbm", "OnlineMBBM", _BOOSTERS, "boost-by-majority: all votes count the same, costs from potentials"),
    Entry("oza-boost", "OzaBoost", _BASELINES, "Oza and Russell's online boosting: each tree reweights for the next"),
    Entry("one-vs-all", "OneVsAll", _BASELINES, "a binary booster for every class, each asked: this class or not?"),
    Entry("adaboost-ova", "AdaBoostOVA", _BASELINES, "one booster whose learners are a binary tree for every class"),
    Entry("best-tree", "BestTree", _BASELINES, "trees side by side; the one right most often so far is asked"),
    Entry("hoeffding-tree", "HoeffdingTree", _BOOSTERS, "one Hoeffding tree, the weak learner of all the others"),
)


def names() -> tuple[str, ...]:
    """The command-line names, in the order of the table.

    Examples
    --------
    >>> names()[:2]
    ('adaboost-olm', 'online-mbbm')
    """
    return tuple(entry.name for entry in ENTRIES)


def load(name: str) -> type[Any]:
    """The class with this command-line name."""
    for entry in ENTRIES:
        if entry.name == name:
            return getattr(import_module(entry.module), entry.class_name)  # type: ignore[no-any-return]
    raise ValueError(f"{name!r} is not a model; there are {', '.join(names())}")


def settings_of(name: str) -> tuple[str, ...]:
    """The settings that this estimator has."""
    return tuple(signature(load(name)).parameters)


def make(name: str, **settings: Any) -> Any:
    """A new estimator with those of the settings that it has; the others are left out. None: the estimator's default.

    Examples
    --------
    >>> make("oza-boost", n_learners=5, gamma=0.1, random_state=None)
    OzaBoost(n_learners=5)
    """
    own = settings_of(name)
    return load(name)(**{key: value for key, value in settings.items() if key in own and value is not None})
