"""A classifier that is treated badly beside its slow twin in plain Python, which is given the rows that it learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import reference
from contract.kinds import Kind, every_estimator
from helpers import assert_same_tree, forest_of, plain, twins_of
from onlineboost._compile.random import child_key
from onlineboost.data.values import category_of
from onlineboost.trees.state import PER_TREE
from reference_baselines import Group, OneVsAll, OzaBoosting, TreesTwin
from soak.data import NOMINAL, as_array, joined
from soak.pair import Pair
from soak.plan import Operation

SEED = 3
SETTINGS = {"random_state": SEED, "restart": "never", "n_learners": 3}
CALM = ("set_combiner", "compare")  # what the twin cannot follow
MOST_ROWS = 250


def _olm(clf: Any, trees: list[Any]) -> Any:
    adaptive = clf.loss == "exponential"
    scale = clf._model.chain.gather("scale").tolist()
    return reference.AdaboostOLM(trees, clf.loss, scale, SEED, clf.vote, adaptive=adaptive)


def _adaboost_olm(clf: Any, past: Any) -> tuple[Any, list[Any]]:
    trees = twins_of(forest_of(clf), past, SEED)
    return _olm(clf, trees), trees


def _oza_boost(clf: Any, past: Any) -> tuple[Any, list[Any]]:
    trees = twins_of(forest_of(clf), past, SEED)
    return OzaBoosting(trees, SEED), trees


def _best_tree(clf: Any, past: Any) -> tuple[Any, list[Any]]:
    trees = twins_of(forest_of(clf), past, SEED)
    return TreesTwin(trees, SEED), trees


def _hoeffding_tree(clf: Any, past: Any) -> tuple[Any, list[Any]]:
    trees = twins_of(forest_of(clf), past, SEED)
    return reference.PlainTree(trees[0], SEED), trees


def _adaboost_ova(clf: Any, past: Any) -> tuple[Any, list[Any]]:
    """A tree for every learner and class; those of the table come learner by learner."""
    forest, k, n = forest_of(clf), len(clf.classes_), SETTINGS["n_learners"]
    by_class = []
    for j in range(k):
        part = {name: getattr(forest, name)[j::k] for name in PER_TREE}
        by_class.append(twins_of(forest._replace(**part), past, child_key(SEED, j)))
    trees = [by_class[j][i] for i in range(n) for j in range(k)]
    return _olm(clf, [Group(lambda j, i=i: by_class[j][i]) for i in range(n)]), trees


def _one_vs_all(clf: Any, past: Any) -> tuple[Any, list[Any]]:
    segments = clf._model.chain.segments

    def binary(j: int) -> Any:
        segment, seed = segments[j], child_key(SEED, j)
        trees = twins_of(segment.learners.forest, past, seed)
        return reference.AdaboostOLM(trees, clf.loss, segment.booster.scale.tolist(), seed, clf.vote)

    return OneVsAll(binary), []


TWINS: dict[str, Callable[[Any, Any], tuple[Any, list[Any]]]] = {
    "adaboost-olm": _adaboost_olm,
    "oza-boost": _oza_boost,
    "one-vs-all": _one_vs_all,
    "adaboost-ova": _adaboost_ova,
    "best-tree": _best_tree,
    "hoeffding-tree": _hoeffding_tree,
}


def kinds_with_twins() -> list[Kind]:
    """The estimators whose runs have a twin of their own, with settings that it knows."""
    return [_with_settings(kind) for kind in every_estimator() if kind.name in TWINS]


def _with_settings(kind: Kind) -> Kind:
    return Kind(kind.name, lambda **more: kind.make(**SETTINGS, **more))


def compare(pair: Pair) -> None:
    """The twin has the same trees, alphas and mistakes after the rows that were learned."""
    clf, past, learned = pair.clf.snapshot(), reference.Past(3, 2), joined(pair.learned)
    X = as_array([[category_of(v) if c in NOMINAL else v for c, v in enumerate(row)] for row in learned.rows])
    twin, trees = TWINS[pair.kind.name](clf, past)
    names = clf._model.labels.names
    reference.run(twin, past, plain(X), [names.index(label) for label in learned.y], learned.weight)
    if trees:
        forest = forest_of(clf)
        for root, tree in zip(forest.roots, trees, strict=True):
            assert_same_tree(forest, root, tree.root)
    for name, of_twin in (("alphas_", "alpha"), ("mistakes_", "mistakes")):
        if hasattr(clf, name) and hasattr(twin, of_twin):
            np.testing.assert_allclose(getattr(clf, name), getattr(twin, of_twin), atol=1e-8)
    if hasattr(twin, "boosters"):
        alphas = np.array([booster.alpha for booster in twin.boosters])
        np.testing.assert_allclose(clf.alphas_, clf._model.labels.outward(alphas, axis=0), atol=1e-8)


def perform_beside_twin(kind: Kind, operations: Sequence[Operation]) -> int:
    """Do them to a classifier whose rows the twin can take, up to so many rows, and compare; how many were done."""
    pair, done = Pair(kind, classes=False, tame=True), 0
    for operation in operations:
        done += 1
        if operation.name not in CALM:
            getattr(pair, operation.name)(np.random.default_rng(operation.seed))
        if pair.n > MOST_ROWS:
            break
    compare(pair)
    return done
