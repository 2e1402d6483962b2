"""What is promised of probabilities while learning, and of `calibrate`, for every estimator."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy

import numpy as np
import pytest

import onlineboost
from contract.kinds import every_estimator, every_kind, shortened
from helpers import by_code, mixed_stream, model_state
from onlineboost import HoeffdingTree, OnlineBoostClassifier
from reference import relative
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
        shares += [dict(zip(clf.classes_.tolist(), row, strict=True)) for row in p.tolist()]
    return said, np.array([[p.get(label, 0.0) for label in clf.classes_.tolist()] for p in shares])


@every_class
def test_probabilities_while_learning_are_those_before_each_row(kind):
    X, y, weight = stream(90)
    with shortened():
        said, p = learned(kind.make(), X, y, weight, 90)
        one = kind.make()
        for b in range(90):
            if b:
                known = dict(zip(one.classes_.tolist(), one.predict_proba(X[b : b + 1])[0].tolist(), strict=True))
                assert p[b].tolist() == [known.get(label, 0.0) for label in "abcd"]
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


@pytest.mark.parametrize("kind", every_kind(), ids=str)
def test_the_label_predicted_is_the_likeliest(kind):
    """Ties are broken by the model, and its probabilities say how. A panel with costs predicts what costs least."""
    X, y, weight = stream(120)
    with shortened():
        by_cost = "cost_matrix" in kind.name and ("online-boost" in kind.name or "panel=True" in kind.name)
        clf = kind.make(**({"calibrate": False} if by_cost else {}))  # what it costs is known before it is calibrated
        for at in (1, 2, 40, 120):
            rows = slice(clf.n_samples_seen_ if at > 1 else 0, at)
            clf.partial_fit(X[rows], y[rows])
            said, p = clf.predict(X), clf.predict_proba(X)
            if by_cost:
                expected, names = by_code(clf, p) @ clf._model.chain.costs, clf._model.labels.names
                chosen = expected[np.arange(len(X)), [names.index(label) for label in said]]
                np.testing.assert_allclose(chosen, expected.min(axis=1), rtol=1e-12)
                continue
            assert clf.classes_[p.argmax(axis=1)].tolist() == said.tolist()
            row = clf.predict_proba_one(list(X[at - 1]))
            assert max(row, key=row.get) == said[at - 1]
        said, p = clf.test_then_train(X, y, sample_weight=weight, proba=True)
        assert by_cost or clf.classes_[p.argmax(axis=1)].tolist() == said.tolist()


@every_class
def test_what_is_given_by_class_is_in_the_order_of_classes_which_are_sorted(kind):
    """However late they come. Inside, codes are given as labels are met."""
    X, y, weight = stream(120)
    given = {"late": np.array([{"a": "m", "b": "z", "c": "k", "d": "a"}[label] for label in y], object), "mixed": y}
    given["mixed"] = np.array([3 if label == "c" else label for label in y], object)
    for name, labels in given.items():
        clf, want = kind.make(), kind.make()
        _, p = learned(clf, X, labels, weight, 50)
        _, by_code = learned(want, X, y, weight, 50)
        names = dict(zip(labels, y, strict=True))
        order = sorted(names) if name == "late" else list(dict.fromkeys(labels.tolist()))
        assert clf.classes_.tolist() == order
        column = [want.classes_.tolist().index(names[label]) for label in order]
        np.testing.assert_array_equal(p, by_code[:, column])
        np.testing.assert_array_equal(clf.predict_proba(X), want.predict_proba(X)[:, column])
        np.testing.assert_array_equal(clf.predict_log_proba(X), want.predict_log_proba(X)[:, column])
        assert list(clf.predict_proba_one(list(X[0]))) == order
        why, same = clf.explain(list(X[0])), want.explain(list(X[0]))
        assert why.classes == order
        np.testing.assert_array_equal(why.scores, same.scores[column])
        np.testing.assert_array_equal(why.contributions, same.contributions[:, column])
        for attribute in ("alphas_", "edges_", "expert_weights_"):
            own, others = getattr(clf, attribute, None), getattr(want, attribute, None)
            np.testing.assert_array_equal(own, others if np.ndim(others) < 2 else others[column])
        assert model_state(pickle.loads(pickle.dumps(clf))) == model_state(clf)


@every_class
def test_logarithms_of_probabilities(kind):
    X, y, _ = stream(60)
    clf = kind.make().fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        logs = clf.predict_log_proba(X)
    np.testing.assert_array_equal(np.exp(logs) > 0.0, clf.predict_proba(X) > 0.0)
    np.testing.assert_allclose(np.exp(logs), clf.predict_proba(X), atol=1e-12)


@every_calibrated
def test_calibration_agrees_with_its_twin_and_changes_no_prediction(kind):
    X, y, weight = stream()
    with shortened():
        plain, calibrated = kind.make(), kind.make(calibrate=True)
        raw_said, raw = learned(plain, X, y, weight, 50)
        said, p = learned(calibrated, X, y, weight, 50)
        assert said == raw_said
        twin, k = Calibration(0.1 if kind.name in ("online-mbbm", "oza-boost") else 0.001), 0
        codes = {label: code for code, label in enumerate(calibrated._model.labels.names)}
        by_code = [calibrated.classes_.tolist().index(label) for label in codes]
        raw, p = raw[:, by_code], p[:, by_code]
        for b in range(len(y)):
            code = codes[y[b]]
            if code < k:  # otherwise the probabilities that it learned from are those of more classes than it showed
                np.testing.assert_allclose(p[b, :k], twin.say(raw[b, :k]), rtol=1e-6)
                twin.learn(raw[b, :k].tolist(), code, relative(weight)[b])
            else:
                k = code + 1
                twin.beta, twin.curvature = state_after(kind, X[: b + 1], y[: b + 1], weight[: b + 1])
        np.testing.assert_allclose(calibrated._model.calibration, [twin.beta, twin.curvature], rtol=1e-6)
        np.testing.assert_array_equal(calibrated.predict(X), plain.predict(X))
        likeliest = calibrated.predict_proba(X).argmax(axis=1)
        np.testing.assert_array_equal(calibrated.predict(X), calibrated.classes_[likeliest])


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
