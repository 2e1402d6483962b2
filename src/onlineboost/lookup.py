"""Estimators by their names in the registry."""

from __future__ import annotations

from importlib import import_module
from inspect import signature
from typing import Any

from onlineboost.registry import ALL, ENTRIES


def names() -> tuple[str, ...]:
    """The command-line names, in the order of the table.

    Examples
    --------
    >>> names()[:2]
    ('adaboost-olm', 'online-mbbm')
    """
    return tuple(entry.name for entry in ENTRIES)


def load(name: str) -> type[Any]:
    """The class with this command-line name; with ".paper" behind it, what its `paper` makes."""
    for entry in ALL:
        if class_name := {entry.name: entry.class_name, f"{entry.name}.paper": entry.paper}.get(name):
            return getattr(import_module(f"onlineboost.estimators.{entry.module}"), class_name)  # type: ignore[no-any-return]
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
