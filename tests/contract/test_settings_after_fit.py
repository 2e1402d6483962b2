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
