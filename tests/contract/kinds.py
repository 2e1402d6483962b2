"""Every estimator of the registry, with its defaults and with all words of its settings: what the contract is about.

A new estimator is here as soon as it has its line in the registry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.naive_bayes import GaussianNB

from contract.pairs import two_at_a_time
from onlineboost import HoeffdingTree, lookup
from onlineboost import registry as words
from onlineboost.boosters import adaptive
from onlineboost.chain import chain as chain_module
from onlineboost.chain import gammas, restarts
from onlineboost.chain import model as model_module
from onlineboost.estimators.panel_members import PanelMember
from onlineboost.panel.state import most_bytes, new_panel
from onlineboost.registry import ENTRIES
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
    "as_printed": (True, False),
    "as_programmed": (True, False),
    "weights": words.WEIGHTS,
    "weight_scale": ("rising",),
    "poisson": (True, False),
    "panel": (True, False),
    "cosines": (True, False),
    "gamma": (0.2, "adaptive"),
    "potential": ("exact", "monte_carlo"),
    "class_weight": ("balanced", {"a": 0.5, "c": 4.0}),
    "cost_matrix": ({"a": {"b": 5.0}, "d": {"a": 9.0, "c": 2.0}},),
    "calibrate": (True,),
    "sets": (True,),
    "columns": ("open", "fixed"),
}
APART = (  # words that some losses or potentials alone take
    {"loss", "as_printed"},
    {"loss", "as_programmed"},
    {"loss", "potential"},
    {"loss", "gamma"},
    {"potential", "gamma"},
)

PAPER = ".paper"  # behind the name of an estimator: what its `paper` makes
MAKERS = [*lookup.names(), *(entry.name + PAPER for entry in ENTRIES if entry.paper)]

PAYS_SOON = {"LEAST_ROWS": 2, "LEAST_VOTES": 10}
LIMITS = 0.1 / adaptive.LADDER
SHORT = (
    (chain_module, PAYS_SOON),
    (model_module, PAYS_SOON),
    (gammas, {"PERIOD": 8, "LONGEST": 32}),
    (adaptive, {"LIMITS": LIMITS, "LEVELS": np.append(0.0, np.cumsum(LIMITS))}),
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
        """Whether it is cut in all ways: with its defaults."""
        return " " not in self.name


def _kind(name: str, label: str, **settings: Any) -> Kind:
    def make(**more: Any) -> Any:
        return lookup.make(name, **(COMMON | settings | more))

    return Kind(label, make)


MEMBERS = tuple(entry.name for entry in ENTRIES if issubclass(lookup.load(entry.name), PanelMember))


def words_of(name: str) -> dict[str, list[Any]]:
    """The words that an estimator's settings take beside those of `every_estimator`."""
    default = COMMON | lookup.load(name)().get_params(deep=False)
    default["weight_scale"] = COMMON["weight_scale"]
    taken = WORDS | ({"loss": words.POTENTIAL_LOSSES} if name.startswith("online-mbbm") else {})
    own = set(lookup.settings_of(name))
    if name.endswith(PAPER):  # all else is tested without `paper`
        taken |= {"vote": ("normalized",)}
        own = own - set(lookup.settings_of(name.removesuffix(PAPER))) | (own & {"vote"})
    return {
        setting: [word for word in taken[setting] if word != default[setting] and _fits(word, default[setting])]
        for setting in taken
        if setting in own
    }


def _fits(word: Any, default: Any) -> bool:
    """Whether an estimator with this default may take the word: a setting that is a number there has no words."""
    return not (isinstance(word, str) and isinstance(default, float))


def _with_words(makers: list[str]) -> list[Kind]:
    found = two_at_a_time({name: words_of(name) for name in makers}, APART)
    return [_kind(name, " ".join([name, *(f"{a}={b}" for a, b in own.items())]), **own) for name, own in found]


def every_kind() -> list[Kind]:
    """Each estimator with its defaults, then with all words of its settings, several at once, and with little memory.

    Every two words that any estimator takes occur together in one of these kinds.
    """
    return every_estimator() + _with_words(MAKERS) + with_little_memory()


def every_two_words() -> list[Kind]:
    """Each estimator with every two words that its settings take: twice as many kinds, for `make soak`."""
    pairs = [kind for name in MAKERS for kind in _with_words([name])]
    return every_estimator() + pairs + with_little_memory()


TINY_TREE = 8_000  # bytes for a tree: room for some 20 nodes
TREES = {"hoeffding-tree": 1, "adaboost-ova": 24, "one-vs-all": 24}  # of streams with four classes; others have 6

# A panel and its members count with all that they may ever take; beside that there is room for the rows of a block.
ROWS_OF_A_BLOCK = 1_900_000
FIXED = {"online-boost": most_bytes(new_panel(3, 2, 0), 4) + ROWS_OF_A_BLOCK}
for member in MEMBERS:
    alone = lookup.load(member)()._members(Columns(3, [0, 0]), [0], 4)
    FIXED[member] = alone.most_bytes(4) + ROWS_OF_A_BLOCK


def _little_memory(**settings: Any) -> list[Kind]:
    limits = {entry.name: TINY_TREE * TREES.get(entry.name, 6) + FIXED.get(entry.name, 0) for entry in ENTRIES}
    more = " with costs" if settings else ""
    return [_kind(name, f"{name} memory_limit={n}{more}", memory_limit=n, **settings) for name, n in limits.items()]


def with_little_memory() -> list[Kind]:
    """Each estimator with so little memory that trees of short streams have to do without."""
    return _little_memory()


def every_estimator() -> list[Kind]:
    """Each estimator with its defaults."""
    return [_kind(entry.name, entry.name) for entry in ENTRIES]


def with_costs() -> list[Kind]:
    """Each estimator with all settings that say what mistakes cost, and little memory."""
    return _little_memory(**{name: WORDS[name][0] for name in ("class_weight", "cost_matrix")})


def with_learners_of_another_make() -> list[Kind]:
    """The estimators with a weak learner to choose; some take trees alone, and say so."""
    return [
        _kind(entry.name, f"{entry.name} learner=GaussianNB", learner=GaussianNB(), n_learners=3)
        for entry in ENTRIES
        if "learner" in lookup.settings_of(entry.name)
    ]
