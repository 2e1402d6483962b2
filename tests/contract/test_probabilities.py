"""What is promised of probabilities while learning, and of `calibrate`, for every estimator."""

from __future__ import annotations

import pickle
from copy import deepcopy

import numpy as np
import pytest

import onlineboost
from contract.kinds import every_estimator, shortened
from helpers import mixed_stream, model_state
from onlineboost import HoeffdingTree, OnlineBoostClassifier
from reference_calibration import Calibration

KINDS = every_estimator()
CALIBRATED = [kind for kind in KINDS if kind.name != "online-boost"]  # whose combiner calibrates what it says
every_class = pytest.mark.parametrize("kind", KINDS, ids=str)
every_calibrated = pytest.mark.parametrize("kind", CALIBRATED, ids=str)


def stream(n=160, seed=3):
    """A stream whose classes come one by one, with weights."""
    X, y, _ = mixed_stream(n, seed=seed)
    return X, y, np.random.default_rng(seed).random(n) + 0.2


def learned(clf, X, y, weight, block):
    """Learn in blocks; labels and probabilities that were predicted."""
    said, shares = [], []
    for a in range(0, len(y), block):
        rows = slice(a, a + block)
        labels, p = clf.test_then_train(X[rows], y[rows], sample_weight=weight[rows], proba=True)
        said += labels.tolist()
        shares += p.tolist()
    k = len(clf.classes_)
    return said, np.array([p + [0.0] * (k - len(p)) for p in shares])


@every_class
def test_probabilities_while_learning_are_those_before_each_row(kind):
    X, y, weight = stream(90)
    with shortened():
        said, p = learned(kind.make(), X, y, weight, 90)
        one = kind.make()
        for b in range(90):
            if b:
                known = one.predict_proba(X[b : b + 1])[0]
                np.testing.assert_allclose(p[b, : len(known)], known, atol=1e-12)
                assert not p[b, len(known) :].any()
                assert said[b] == one.predict(X[b : b + 1])[0]
            one.partial_fit(X[b : b + 1], y[b : b + 1], sample_weight=weight[b : b + 1])
    assert not p[0].any()


@every_class
def test_so_are_those_of_rows_with_values_never_met(kind):
    """More values than the panel has columns for: a new one has none yet when it is predicted."""
    rng = np.random.default_rng(0)
    X, y = np.empty((250, 2), object), rng.integers(2, size=250)
    X[:, 0], X[:, 1] = [f"merchant {i if i % 3 else i % 30}" for i in range(250)], rng.normal(y, 1.0)
    one = kind.make().partial_fit(X[:200], y[:200])
    said, p = deepcopy(one).test_then_train(X[200:], y[200:], proba=True)
    for b in range(50):
        row = X[200 + b : 201 + b]
        np.testing.assert_allclose(p[b], one.predict_proba(row)[0], atol=1e-12)
        assert said[b] == one.predict(row)[0]
        one.partial_fit(row, y[200 + b : 201 + b])


@every_calibrated
def test_calibration_agrees_with_its_twin_and_changes_no_prediction(kind):
    X, y, weight = stream()
    with shortened():
        plain, calibrated = kind.make(), kind.make(calibrate=True)
        raw_said, raw = learned(plain, X, y, weight, 50)
        said, p = learned(calibrated, X, y, weight, 50)
        assert said == raw_said
        twin, k = Calibration(0.1 if kind.name in ("online-mbbm", "oza-boost") else 0.001), 0
        codes = {label: code for code, label in enumerate(calibrated.classes_.tolist())}
        for b in range(len(y)):
            code = codes[y[b]]
            if code < k:  # otherwise the probabilities that it learned from are those of more classes than it showed
                np.testing.assert_allclose(p[b, :k], twin.say(raw[b, :k]), rtol=1e-6)
                twin.learn(raw[b, :k].tolist(), code, weight[b])
            else:
                k = code + 1
                twin.beta, twin.curvature = state_after(kind, X[: b + 1], y[: b + 1], weight[: b + 1])
        np.testing.assert_allclose(calibrated._model.calibration, [twin.beta, twin.curvature], rtol=1e-6)
        np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))
        chosen = [codes[label] for label in calibrated.predict(X)]
        q = calibrated.predict_proba(X)
        assert (q[np.arange(len(X)), chosen] >= q.max(axis=1) * (1 - 1e-12)).all()


def state_after(kind, X, y, weight):
    return kind.make(calibrate=True).partial_fit(X, y, sample_weight=weight)._model.calibration


@every_calibrated
def test_calibration_knows_nothing_of_blocks_threads_files_and_pickles(kind, tmp_path):
    X, y, weight = stream()
    with shortened():
        want = kind.make(calibrate=True)
        _, p = learned(want, X, y, weight, 160)
        threads = {"n_jobs": 2} if "n_jobs" in want.get_params() else {}
        other = kind.make(calibrate=True, **threads)
        _, first = learned(other, X[:70], y[:70], weight[:70], 33)
        other.save(tmp_path / "model.olb")
        other = pickle.loads(pickle.dumps(onlineboost.load(tmp_path / "model.olb"))).snapshot()
        for b in range(70, 80):
            other.learn_one(list(X[b]), y[b], float(weight[b]))
        _, second = learned(other, X[80:], y[80:], weight[80:], 29)
        np.testing.assert_array_equal(p[:70, : first.shape[1]], first)
        np.testing.assert_array_equal(p[80:], second)
        assert model_state(other) == model_state(want)
        np.testing.assert_array_equal(other._model.calibration, want._model.calibration)
        row = list(X[5])
        assert list(other.predict_proba_one(row).values()) == want.predict_proba(X[5:6])[0].tolist()


@every_calibrated
def test_an_error_leaves_calibration_as_it_was(kind):
    X, y, weight = stream(60)
    clf = kind.make(calibrate=True).partial_fit(X, y, sample_weight=weight)
    before = clf._model.calibration.copy()
    with pytest.raises(ValueError, match="rows"):
        clf.partial_fit(X[:5], y[:4])
    with pytest.raises(ValueError, match="weight"):
        clf.partial_fit(X[:5], y[:5], sample_weight=[1, 1, 1, 1, -1])
    np.testing.assert_array_equal(clf._model.calibration, before)
    clf.predict_proba(X)
    np.testing.assert_array_equal(clf._model.calibration, before)


def test_settings_that_have_no_effect_are_named():
    with pytest.raises(ValueError, match="calibrate must be True or False"):
        HoeffdingTree(calibrate="yes").fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="calibrate of a weak learner has no effect"):
        onlineboost.AdaBoostOLM(2, learner=HoeffdingTree(calibrate=True)).fit([[0.0], [1.0]], [0, 1])
    assert "calibrate" not in OnlineBoostClassifier().get_params()
