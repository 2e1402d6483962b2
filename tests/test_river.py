"""The estimators as river's own, and river's classifiers as weak learners."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("river", reason="river is not installed: pip install 'onlineboost[river]'")

from river import checks, datasets, evaluate, metrics, naive_bayes, preprocessing, tree

import onlineboost
from helpers import mixed_stream, model_state
from onlineboost import AdaBoostOLM
from onlineboost import river as facade
from onlineboost.registry import ENTRIES

ALL = [entry.class_name for entry in ENTRIES]
QUICK = ("HoeffdingTree",)  # river's checks learn thousands of rows, one by one
every_class = pytest.mark.parametrize("name", ALL)
NAMES = ("colour", "length", "size", "width", "count")


def small(name, **settings):
    kind = getattr(facade, name)
    return kind(**next(kind._unit_test_params()), **settings)


def rows(n=150, seed=0):
    X, y, _ = mixed_stream(n, seed=seed)
    return [dict(zip(NAMES, row.tolist(), strict=True)) for row in X], y.tolist()


@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in ALL]
)
@pytest.mark.filterwarnings("ignore:unknown column")  # features come and go there
@pytest.mark.filterwarnings("ignore:none of this model's columns")
def test_rivers_own_checks(name):
    model = small(name)
    for check in checks.yield_checks(model):
        check(model.clone())


@every_class
def test_it_learns_what_the_estimator_learns(name):
    X, y = rows()
    model, own = small(name), small(name).estimator
    for x, label in zip(X, y, strict=True):
        model.learn_one(dict(reversed(x.items())), label)
        own.learn_one(dict(sorted(x.items())), label)
    assert model_state(model.estimator) == model_state(own)
    assert [model.predict_one(x) for x in X] == [own.predict_one(x) for x in X]
    frame = pd.DataFrame(X)
    assert model.predict_many(frame).tolist() == [model.predict_one(x) for x in X]
    assert model.predict_proba_many(frame).to_dict("records") == [model.predict_proba_one(x) for x in X]


@every_class
def test_before_anything_is_learned(name):
    model, frame = small(name), pd.DataFrame({"a": [1.0, 2.0]})
    assert model.predict_one({"a": 1.0}) is None
    assert model.predict_proba_one({"a": 1.0}) == {}
    assert model.predict_many(frame).tolist() == [None, None]
    assert model.predict_proba_many(frame).shape == (2, 0)


def test_names_need_not_be_text_and_weights_count():
    model, twin = facade.HoeffdingTree(), facade.HoeffdingTree()
    for i in range(60):
        model.learn_one({0: i % 7, 10: i % 2, 2: 1.0}, i % 2, w=2.0)
        twin.learn_one({"2": 1.0, "10": i % 2, "0": i % 7}, i % 2, w=2.0)
    assert model_state(model.estimator) == model_state(twin.estimator)
    assert model.predict_one({0: 1, 10: 1}) == 1


def test_seed_is_the_random_state():
    assert (
        facade.AdaBoostOLM(5, seed=3).estimator.get_params()
        == AdaBoostOLM(5, random_state=3, columns="open").get_params()
    )
    with pytest.raises(TypeError, match="unexpected keyword argument 'columns'"):
        facade.AdaBoostOLM(columns="fixed")


def test_in_a_pipeline_with_labels_that_come_late():
    model = preprocessing.StandardScaler() | facade.AdaBoostOLM(10)
    data = list(datasets.Phishing().take(600))
    assert evaluate.progressive_val_score(iter(data), model.clone(), metrics.Accuracy()).get() > 0.8
    assert evaluate.progressive_val_score(iter(data), model.clone(), metrics.Accuracy(), delay=20).get() > 0.75
    X = pd.DataFrame([x for x, _ in data])
    model.learn_many(X[:300], pd.Series([y for _, y in data[:300]]))
    assert len(model.predict_many(X[300:])) == 300


@pytest.mark.parametrize("learner", [naive_bayes.GaussianNB(), tree.HoeffdingTreeClassifier(grace_period=20)])
def test_classifiers_of_river_as_weak_learners(learner):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = np.where(X[:, 0] + X[:, 1] > 0.0, "a", "b")
    X[::7, 2] = np.nan
    clf = AdaBoostOLM(5, learner=learner, restart="always").partial_fit(X[:200], y[:200], classes=["a", "b"])
    assert (clf.predict(X[200:]) == y[200:]).mean() > 0.8
    again = AdaBoostOLM(5, learner=learner, restart="always")
    for start in range(0, 200, 37):
        again.partial_fit(X[start : min(start + 37, 200)], y[start : min(start + 37, 200)], classes=["a", "b"])
    assert again.predict_proba(X).tolist() == clf.predict_proba(X).tolist()


def test_all_estimators_are_there():
    assert {"RiverClassifier", *(n for n in onlineboost.__all__ if n[0].isupper())} == set(facade.__all__)


def test_type_checkers_know_the_names(tmp_path):
    """Of the classes of this module, which are made when it is imported, too."""
    names = [entry.class_name for entry in ENTRIES]
    uses = [f"{name}(seed=1).predict_one({{'x': 1.0}})" for name in names]
    script = tmp_path / "script.py"
    script.write_text(
        "\n".join([f"from onlineboost.river import {', '.join(names)}", *uses, "AdaBoostOLM(n_learners=3)"])
    )
    quick = ["--follow-imports=skip", "--ignore-missing-imports", f"--cache-dir={tmp_path / 'cache'}"]
    files = [facade.__file__, str(script)]  # and nothing that they import, which takes long
    done = subprocess.run([sys.executable, "-m", "mypy", *quick, *files], capture_output=True, text=True)
    assert done.stdout.startswith("Success"), done.stdout
