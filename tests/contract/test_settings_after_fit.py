"""Settings that change after learning has begun: an error leaves the model as it was, and no count goes wrong."""

from __future__ import annotations

import numpy as np
import pytest

from contract.kinds import every_estimator
from helpers import frozen, mixed_stream


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
@pytest.mark.parametrize("n_learners", [2, 11])
def test_another_number_of_learners_does_not_change_a_chain_that_has_begun(kind, n_learners):
    """The class that turns up late gets the learners that the others have."""
    X, y, weight = mixed_stream(240, seed=2)
    want, clf = kind.make(), kind.make()
    if "n_learners" not in clf.get_params():
        pytest.skip("a single tree")
    for each in (want, clf):
        each.partial_fit(X[:60], y[:60], sample_weight=weight[:60])
    clf.set_params(n_learners=n_learners)
    said = [each.test_then_train(X[60:], y[60:], sample_weight=weight[60:]).tolist() for each in (want, clf)]
    assert said[0] == said[1]
    np.testing.assert_array_equal(clf.predict_proba(X), want.predict_proba(X))
    for name in ("alphas_", "edges_", "expert_weights_"):
        if hasattr(want, name):
            np.testing.assert_array_equal(getattr(clf, name), getattr(want, name))


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


# A bad value of every setting that is no word.
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
