"""One list of the estimators: what the package exports, and what is known by name, comes from it."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import onlineboost
from onlineboost import lookup, registry

FUNCTIONS = ["load", "load_dataset", "prequential", "tune"]


def test_the_package_exports_all_estimators_and_four_functions():
    classes = [entry.class_name for entry in registry.ALL]
    assert onlineboost.__all__ == sorted([*classes, *FUNCTIONS])
    for name in onlineboost.__all__:
        assert getattr(onlineboost, name).__name__ == name
        assert name in dir(onlineboost)
    with pytest.raises(AttributeError, match="'onlineboost' has no attribute 'AdaBoost'"):
        _ = onlineboost.AdaBoost


def test_type_checkers_are_told_the_same():
    """The registry imports the classes for them; the package takes these over with a star, and adds its functions."""

    def told(module):
        tree = ast.parse(Path(module.__file__).read_text())
        (branch,) = (
            node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        )
        return {alias.asname or alias.name: line.module for line in branch.body for alias in line.names}

    assert told(registry) == {entry.class_name: f"onlineboost.estimators.{entry.module}" for entry in registry.ALL}
    assert sorted(told(onlineboost)) == ["*", *FUNCTIONS]
    assert told(onlineboost)["*"] == "onlineboost.registry"


def test_every_line_says_what_it_is():
    assert len(set(lookup.names())) == len(registry.ENTRIES)
    for entry in registry.ENTRIES:
        assert lookup.load(entry.name).__name__ == entry.class_name
        assert entry.about


def test_make_takes_the_settings_that_the_estimator_has():
    settings = {"n_learners": 7, "random_state": 3, "gamma": 0.2, "loss": None, "nonesuch": 1}
    for name in lookup.names():
        made = lookup.make(name, **settings).get_params(deep=False)
        plain = lookup.load(name)().get_params(deep=False)
        wanted = {key: value for key, value in settings.items() if key in plain and value is not None}
        assert made == plain | wanted
    with pytest.raises(ValueError, match=r"'adaboost' is not a model; there are adaboost-olm, online-mbbm"):
        lookup.make("adaboost")


def test_nothing_heavy_is_imported_with_the_package():
    code = "import onlineboost, sys; print({'numpy', 'numba', 'sklearn', 'scipy'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
