"""All estimators, a line each: what the package exports, and what the command line and the experiments know by name.

Nothing heavy is imported here: a class is loaded when it is first asked for.
"""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any, NamedTuple


class Entry(NamedTuple):
    """One estimator: its name on the command line, its class, the module of this package it is in, and what it is."""

    name: str
    class_name: str
    module: str
    about: str
    is_member: bool = False  # of the panel: of use by itself, but no booster


ENTRIES = (
    Entry("adaboost-olm", "AdaBoostOLM", "adaboost_olm", "adaptive: learners count by how good they have been"),
    Entry("online-mbbm", "OnlineMBBM", "online_mbbm", "boost-by-majority, with costs from potentials"),
    Entry(
        "online-boost",
        "OnlineBoostClassifier",
        "online_boost",
        "a panel of unlike learners, then boosted trees: the most accurate",
    ),
    Entry("oza-boost", "OzaBoost", "oza_boost", "Oza and Russell's online boosting: each tree reweights for the next"),
    Entry("one-vs-all", "OneVsAll", "one_vs_all", "a binary booster for every class, each asked: this class or not?"),
    Entry("adaboost-ova", "AdaBoostOVA", "adaboost_ova", "learners that are a binary tree for every class"),
    Entry("best-tree", "BestTree", "best_tree", "trees side by side; the one right most often so far is asked"),
    Entry("hoeffding-tree", "HoeffdingTree", "hoeffding_tree", "one tree, the weak learner of all the others"),
    Entry(
        "eager-trees",
        "EagerTrees",
        "panel_members",
        "a member of the panel: trees that split at once, at random",
        is_member=True,
    ),
    Entry(
        "nearest-neighbours",
        "NearestNeighbours",
        "panel_members",
        "a member of the panel: rows most alike",
        is_member=True,
    ),
    Entry(
        "least-squares",
        "LeastSquares",
        "panel_members",
        "a member of the panel: linear scores, random cosines",
        is_member=True,
    ),
    Entry(
        "refitted-trees",
        "RefittedTrees",
        "panel_members",
        "a member of the panel: small trees over the last rows",
        is_member=True,
    ),
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
            return getattr(import_module(f"onlineboost.estimators.{entry.module}"), entry.class_name)  # type: ignore[no-any-return]
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
