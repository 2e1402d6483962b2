"""Every estimator of the registry, in every setting that is a word: what the contract is about.

A new estimator is here as soon as it has its line in the registry.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

from sklearn.naive_bayes import GaussianNB

from onlineboost import HoeffdingTree, LeastSquares
from onlineboost.chain import chain as chain_module
from onlineboost.chain import restarts
from onlineboost.estimators import lookup, predicting, words
from onlineboost.estimators.panel_members import PanelMember
from onlineboost.estimators.registry import ENTRIES
from onlineboost.panel.state import most_bytes, new_panel
from onlineboost.trees.state import Columns

TREE = HoeffdingTree(grace_period=(10, 25), tie_threshold=(0.2, 0.7), max_features=0.6)  # splits on short streams
COMMON = {"n_learners": 6, "learner": TREE, "weight_scale": (0.7, 3.0), "grace_period": 15, "tie_threshold": 0.4}
WORDS: dict[str, tuple[Any, ...]] = {
    "loss": words.LOSSES,
    "combiner": words.COMBINERS,
    "vote": words.VOTES,
    "restart": words.RESTARTS,
    "alpha_steps": words.ALPHA_STEPS,
    "leaf_prediction": words.LEAF_PREDICTIONS,
    "draws": words.DRAWS,
    "gradient": words.GRADIENTS,
    "weights": words.WEIGHTS,
    "poisson": (True, False),
    "panel": (True, False),
    "cosines": (True, False),
    "gamma": (0.2,),
    "potential": ("exact", "monte_carlo"),
    "class_weight": ("balanced", {"a": 0.5, "c": 4.0}),
    "cost_matrix": ({"a": {"b": 5.0}, "d": {"a": 9.0, "c": 2.0}},),
}

PAYS_SOON = {"LEAST_ROWS": 2, "LEAST_VOTES": 10}
SHORT = (
    (chain_module, PAYS_SOON),
    (predicting, PAYS_SOON),
    (restarts, {"PERIOD": 32, "LAG": 20, "LEAST_AGE": 60, "HEAD_START": 10, "GAP": 40, "FEWEST": 3, "RARELY": 4}),
)


@contextmanager
def shortened() -> Iterator[None]:
    """Threads, segments and restarts in streams of a few hundred rows."""
    with ExitStack() as stack:
        for module, values in SHORT:
            stack.enter_context(patch.multiple(module, **values))
        yield


@dataclass(frozen=True)
class Kind:
    """An estimator and its settings."""

    name: str
    make: Callable[..., Any]  # with more settings

    def __str__(self) -> str:
        return self.name

    @property
    def thoroughly(self) -> bool:
        """Whether it is cut in all ways: with its defaults, and in `make soak`."""
        return WHOLE or " " not in self.name


def _kind(name: str, label: str, **settings: Any) -> Kind:
    def make(**more: Any) -> Any:
        return lookup.make(name, **(COMMON | settings | more))

    return Kind(label, make)


MEMBERS = tuple(entry.name for entry in ENTRIES if issubclass(lookup.load(entry.name), PanelMember))
STANDS_FOR_ALL = "least-squares"  # what holds for one member holds for all
WITH_ONE = [entry for entry in ENTRIES if entry.name not in MEMBERS or entry.name == STANDS_FOR_ALL]
WHOLE = bool(os.environ.get("ONLINEBOOST_ALL_MEMBERS"))  # `make soak` tries all members, and one with all settings
TRIED = ENTRIES if WHOLE else WITH_ONE
VARIED = WITH_ONE if WHOLE else [entry for entry in ENTRIES if entry.name not in MEMBERS]


def every_kind() -> list[Kind]:
    """Each estimator with its defaults, then with each word that one of its settings takes."""
    kinds = every_estimator()
    for entry in VARIED:
        own = set(lookup.settings_of(entry.name))
        default = lookup.load(entry.name)().get_params(deep=False)
        for setting, values in WORDS.items():
            if setting in own:
                kinds += [
                    _kind(entry.name, f"{entry.name} {setting}={value}", **{setting: value})
                    for value in values
                    if value != default[setting]
                ]
    return kinds + with_little_memory()


TINY_TREE = 8_000  # bytes for a tree: room for some 20 nodes
TREES = {"hoeffding-tree": 1, "adaboost-ova": 24, "one-vs-all": 24}  # of streams with four classes; others have 6

# The panel counts with all that it may ever take, and beside it there is room for the rows of a block.
ROWS_OF_A_BLOCK = 1_700_000
FIXED = {"online-boost": most_bytes(new_panel(3, 2, 0), 4) + ROWS_OF_A_BLOCK}
FIXED[STANDS_FOR_ALL] = LeastSquares()._members(Columns(3, [0, 0]), [0], 4).most_bytes(4) + ROWS_OF_A_BLOCK


def with_little_memory() -> list[Kind]:
    """Each estimator with so little memory that trees of short streams have to do without."""
    limits = {entry.name: TINY_TREE * TREES.get(entry.name, 6) + FIXED.get(entry.name, 0) for entry in VARIED}
    return [_kind(name, f"{name} memory_limit={limit}", memory_limit=limit) for name, limit in limits.items()]


def every_estimator() -> list[Kind]:
    """Each estimator with its defaults; of the members of the panel, one."""
    return [_kind(entry.name, entry.name) for entry in TRIED]


def every_member_too() -> list[Kind]:
    """Each estimator with its defaults, all members of the panel among them."""
    return [_kind(entry.name, entry.name) for entry in ENTRIES]


def with_costs() -> list[Kind]:
    """Each estimator with all settings that say what mistakes cost."""
    costs = {name: WORDS[name][0] for name in ("class_weight", "cost_matrix")}
    return [_kind(entry.name, f"{entry.name} with costs", **costs) for entry in VARIED]


def with_learners_of_another_make() -> list[Kind]:
    """The estimators with a weak learner to choose; some take trees alone, and say so."""
    return [
        _kind(entry.name, f"{entry.name} learner=GaussianNB", learner=GaussianNB(), n_learners=3)
        for entry in ENTRIES
        if "learner" in lookup.settings_of(entry.name)
    ]
