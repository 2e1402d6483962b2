"""The models that `run` and `compare` know by name: the estimators, and two things that any of them should beat."""

from __future__ import annotations

from typing import Any

from onlineboost.estimators import lookup
from onlineboost.estimators.registry import ENTRIES

BASELINES = {"majority": "MajorityClass", "last-class": "LastClass"}  # classes of `onlineboost.evaluation`
MODELS = (*lookup.names(), *BASELINES)
COMPARED = (*(entry.name for entry in ENTRIES if not entry.is_member), *BASELINES)  # unless others are named


def settings_of(name: str) -> tuple[str, ...]:
    """The settings that a model has."""
    return () if name in BASELINES else lookup.settings_of(name)


def make_model(name: str, *, seed: int, jobs: int, learners: int | None = None, **settings: Any) -> Any:
    """A model by its name, with those of the settings that it has."""
    if name in BASELINES:
        from onlineboost import evaluation

        return getattr(evaluation, BASELINES[name])()
    return lookup.make(name, n_learners=learners, random_state=seed, n_jobs=jobs, **settings)
