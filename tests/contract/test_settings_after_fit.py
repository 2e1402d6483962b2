"""Settings that change after learning has begun: an error leaves the model as it was, and no count goes wrong."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

import onlineboost
from contract.kinds import every_estimator
from helpers import frozen, mixed_stream, model_state
from onlineboost import HoeffdingTree
from onlineboost.estimators.checks import READ_EVERY_TIME

# Another value, a good one, of every setting that counts from the first row on.
ANOTHER = {
    "n_learners": 11, "learner": HoeffdingTree(max_features=0.9), "weight_scale": (0.5, 2.0), "grace_period": 17,
    "tie_threshold": 0.3, "loss": "exponential", "vote": "cost", "alpha_steps": "decaying",
    "leaf_prediction": "majority", "draws": "even", "as_printed": True, "as_programmed": True, "weights": "plain",
    "poisson": False, "panel": True, "cosines": False, "gamma": 0.3, "potential": "monte_carlo", "calibrate": True,
    "memory_limit": "3GB",
    "categorical_features": [3, 4], "columns": "fixed", "random_state": 5, "split_confidence": 0.02,
    "max_features": 0.7, "n_neighbours": 7,
}  # fmt: skip


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_a_setting_that_counts_from_the_first_row_on_is_for_the_next_fit(kind, tmp_path):
    """Until then the model predicts as it did, and refuses to learn on with settings that are not its own."""
    X, y, _ = mixed_stream(120, seed=2)
    clf, twin = kind.make().partial_fit(X[:60], y[:60]), kind.make().partial_fit(X[:60], y[:60])
    row = list(X[70])
    for setting, old in clf.get_params(deep=False).items():
        if setting in READ_EVERY_TIME:
            continue
        clf.learn_one(list(X[60]), y[60]), clf.predict_one(row)  # single rows have all at hand
        twin.learn_one(list(X[60]), y[60])
        clf.set_params(**{setting: ANOTHER[setting]})
        assert clf.get_params()[setting] == ANOTHER[setting] != old
        ticket = clf.predict_pending(row).ticket
        for model in (clf, pickle.loads(pickle.dumps(clf)), copy.copy(clf)):
            assert model.predict(X).tolist() == twin.predict(X).tolist()
            for learn in (
                lambda model=model: model.partial_fit(X[60:], y[60:]),
                lambda model=model: model.learn_one(row, y[70]),
                lambda model=model, ticket=ticket: model.learn_pending(ticket, y[70]),
            ):
                with pytest.raises(ValueError, match=f"{setting} was changed from .* after learning began"):
                    learn()
        clf.save(tmp_path / "model.olb")  # with the settings that it has learned with
        assert str(onlineboost.load(tmp_path / "model.olb").get_params()) == str(twin.get_params())
        clf.set_params(**{setting: old}).forget_pending(ticket)
        assert model_state(clf) == model_state(twin)
    assert "_begun_" not in clf.__dict__
    if "learner" in clf.get_params():
        clf.set_params(learner__max_features=0.1)
        with pytest.raises(ValueError, match="learner was changed"):
            clf.learn_one(row, y[70])
        clf.set_params(learner__max_features=0.6).learn_one(row, y[70])
    clf.set_params(random_state=5).fit(X, y).partial_fit(X[:9], y[:9])
    assert model_state(clf) == model_state(kind.make(random_state=5).fit(X, y).partial_fit(X[:9], y[:9]))


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
@pytest.mark.parametrize("setting", ["combiner", "restart", "n_jobs"])
def test_a_setting_spoilt_after_learning_leaves_no_trace(kind, setting):
    """The block brings new nominal values and classes."""
    X, y, weight = mixed_stream(240, seed=2)
    clf = kind.make().partial_fit(X[:60], y[:60], sample_weight=weight[:60])
    if setting not in clf.get_params():
        pytest.skip("has no such setting")
    good = clf.get_params()[setting]
    clf.set_params(**{setting: "nonesuch"})
    before = frozen(clf)
    for learn in (lambda: clf.partial_fit(X[60:], y[60:]), lambda: clf.learn_one(list(X[239]), y[239])):
        with pytest.raises(ValueError, match=setting):
            learn()
        assert frozen(clf) == before
    clf.set_params(**{setting: good}).partial_fit(X[60:], y[60:])


# A bad value of every setting that is not a word.
BAD = {"n_learners": -1, "memory_limit": "lots", "random_state": -1, "categorical_features": ["nope"], "poisson": 2}
NUMBERS = ("grace_period", "split_confidence", "tie_threshold", "max_features")


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_a_bad_setting_is_refused_after_learning_as_it_is_before(kind):
    """In the same words, whoever is asked next; and a good one makes all well again."""
    X, y, _ = mixed_stream(60, seed=2)
    clf = kind.make().partial_fit(X, y)
    before = frozen(clf)
    for setting, good in clf.get_params(deep=False).items():
        bad = BAD.get(setting, -1 if setting in NUMBERS else "nonesuch")
        with pytest.raises(ValueError, match=setting) as first:
            kind.make(**{setting: bad}).partial_fit(X, y)
        clf.set_params(**{setting: bad})
        for call in (
            lambda: clf.predict(X),
            lambda: clf.predict_proba_one(list(X[0])),
            lambda: clf.partial_fit(X, y),
            lambda: clf.learn_one(list(X[0]), y[0]),
            lambda: clf.predict_one(list(X[0])),
        ):
            with pytest.raises(ValueError, match=setting) as later:
                call()
            assert str(later.value) == str(first.value)
        clf.set_params(**{setting: good})
    assert frozen(clf) == before
    with pytest.raises(ValueError, match="memory_limit of 5 bytes is too small"):
        clf.set_params(memory_limit=5).predict(X)
    clf.set_params(memory_limit="1GB", random_state=None)
    state = str(np.random.get_state())  # noqa: NPY002
    assert clf.predict_one(list(X[0])) == clf.predict(X[:1])[0]
    assert str(np.random.get_state()) == state  # noqa: NPY002
    clf.set_params(categorical_features=[7], random_state=0).fit(np.ones((4, 8)), [0, 1, 0, 1])  # of the new columns
