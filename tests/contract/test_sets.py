"""What is promised of prediction sets, for every estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import onlineboost
from contract.kinds import every_estimator, shortened
from helpers import frozen, mixed_stream, model_state, number_stream
from onlineboost import HoeffdingTree
from onlineboost._compile.random import PREDICTION_SET, child_key, uniform
from onlineboost.theory import coverage_bounds
from reference import relative
from reference_sets import LEVELS, Sets

KINDS = every_estimator()
every_class = pytest.mark.parametrize("kind", KINDS, ids=str)
LABELS = list("abcd")


def stream(n=160, seed=3):
    """A stream whose classes come one by one, with weights."""
    X, y, _ = mixed_stream(n, seed=seed)
    return X, y, np.random.default_rng(seed).random(n) + 0.2


def learned(clf, X, y, weight, block, **more):
    """Learn in blocks; the sets of all rows, in the order of the classes at the end."""
    parts = []
    for a in range(0, len(y), block):
        rows = slice(a, a + block)
        _, inside = clf.test_then_train(X[rows], y[rows], sample_weight=weight[rows], sets=0.9, **more)
        parts.append((clf.classes_.tolist(), inside))
    out, at, classes = np.zeros((len(y), len(clf.classes_)), bool), 0, clf.classes_.tolist()
    for known, inside in parts:
        out[at : at + len(inside), [classes.index(label) for label in known]] = inside
        at += len(inside)
    return out


@every_class
def test_sets_agree_with_their_twin(kind):
    X, codes = number_stream(150, n_classes=4, seed=5)
    X[::7, 1] = np.nan
    y, weight = np.array(LABELS, object)[codes], np.random.default_rng(1).exponential(size=150)
    with shortened():
        clf = kind.make(sets=True)
        _, p, inside = clf.test_then_train(X, y, classes=LABELS, sample_weight=weight, proba=True, sets=0.9)
        twin = Sets()
        for b in range(150):
            key = 0
            for value in X[b]:
                key = child_key(key, 0 if np.isnan(value) else int(np.float64(value).view(np.int64)))
            u = uniform(clf._model.chain.seed, PREDICTION_SET, key, b + 1)
            own = p[b].tolist() if p[b].any() else [0.25] * 4
            assert inside[b].tolist() == twin.inside(own, u, 0.9)
            twin.learn(own, u, int(codes[b]), float(relative(weight)[b]))
    tracks = [twin.all, *(twin.of_class[c] for c in range(4))]
    sets = clf._model.sets
    want = [[track.excess[level] for level in LEVELS] for track in tracks]
    np.testing.assert_allclose(sets.excess, want, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(sets.weight, [track.weight for track in tracks], rtol=1e-9)
    np.testing.assert_allclose(sets.mass.sum(axis=1), [sum(track.mass.values()) for track in tracks], rtol=1e-9)


@every_class
def test_sets_know_nothing_of_blocks_threads_files_pickles_and_single_rows(kind, tmp_path):
    X, y, weight = stream()
    with shortened():
        want = kind.make(sets=True)
        whole = learned(want, X, y, weight, 160)
        threads = {"n_jobs": 2} if "n_jobs" in want.get_params() else {}
        other = kind.make(sets=True, **threads)
        first = learned(other, X[:70], y[:70], weight[:70], 33)
        other.save(tmp_path / "model.olb")
        other = pickle.loads(pickle.dumps(onlineboost.load(tmp_path / "model.olb"))).snapshot()
        for b in range(70, 80):
            other.learn_one(list(X[b]), y[b], float(weight[b]))
        second = learned(other, X[80:], y[80:], weight[80:], 29)
    np.testing.assert_array_equal(whole[:70, : first.shape[1]], first)
    np.testing.assert_array_equal(whole[80:], second)
    assert model_state(other) == model_state(want)
    for by in (None, "class"):
        for coverage in (0.9, 0.93, 0.3, 0.999):
            inside = want.predict_set(X[:20], coverage, by=by)
            np.testing.assert_array_equal(other.predict_set(X[:20], coverage, by=by), inside)
            for b in range(20):
                found = other.predict_set_one(list(X[b]), coverage, by=by)
                assert set(found) == set(want.classes_[inside[b]])
                p = other.predict_proba_one(list(X[b]))
                assert [p[label] for label in found] == sorted((p[label] for label in found), reverse=True)


@every_class
def test_what_is_judged_is_what_was_shown_and_to_show_it_changes_nothing(kind):
    X, y = number_stream(80, seed=4)
    with shortened():
        whole = learned(kind.make(sets=True), X, y, np.ones(80), 80)
        one = kind.make(sets=True).partial_fit(X[:10], y[:10])
        plain = kind.make().partial_fit(X[:10], y[:10])
        for b in range(10, 80):
            before = frozen(one)
            inside = dict(zip(one.classes_.tolist(), one.predict_set(X[b : b + 1])[0].tolist(), strict=True))
            assert set(one.predict_set_one(X[b].tolist())) == {label for label in inside if inside[label]}
            assert frozen(one) == before
            assert whole[b].tolist() == [inside[label] for label in range(3)]
            ticket = one.predict_pending(X[b].tolist()).ticket
            one.learn_pending(ticket, y[b]), plain.learn_one(X[b].tolist(), y[b])
        np.testing.assert_array_equal(one.predict_proba(X), plain.predict_proba(X))  # sets change nothing else


@every_class
def test_coverage_is_within_its_bounds_on_a_stream_that_turns(kind):
    """Labels change their places all the time, and weights differ."""
    X, y = number_stream(400, n_classes=4, seed=6)
    y, weight = (y + np.arange(400) // 50) % 4, np.random.default_rng(2).exponential(size=400)
    with shortened():
        clf = kind.make(sets=True)
        _, inside = clf.test_then_train(X, y, classes=range(4), sample_weight=weight, sets=0.8)
    own = np.minimum(relative(weight), 10.0)
    least, most = coverage_bounds(0.8, own.sum(), own.max())
    assert least <= own @ inside[np.arange(400), y] / own.sum() <= most


@every_class
def test_sets_begin_and_end_with_the_setting_in_old_models_too(kind, tmp_path):
    X, y, weight = stream()
    plain = kind.make().partial_fit(X[:80], y[:80], sample_weight=weight[:80])
    plain.save(tmp_path / "old.olb")
    clf = onlineboost.load(tmp_path / "old.olb")
    with pytest.raises(ValueError, match=r"has not learned with sets=True.*set_params"):
        clf.predict_set(X)
    with pytest.raises(ValueError, match="sets=True"):
        clf.test_then_train(X[80:], y[80:], sets=0.9)
    clf.set_params(sets=True)
    with pytest.raises(ValueError, match="no row since"):
        clf.predict_set_one(list(X[0]))
    clf.learn_one(list(X[80]), y[80], weight[80]).partial_fit(X[81:], y[81:], sample_weight=weight[81:])
    assert clf._model.sets.weight[0] > 0.0
    assert clf.predict_set(X).shape == (160, 4)
    row = clf._model.sets.excess[0].copy()
    clf.set_params(sets=False).learn_one(list(X[0]), y[0])
    assert clf._model.sets is None
    clf.set_params(sets=True).learn_one(list(X[0]), y[0])
    assert (clf._model.sets.excess[0] != row).any()


@every_class
def test_a_class_that_comes_late_has_a_track_of_its_own(kind):
    X, y, weight = stream()
    with shortened():
        clf = kind.make(sets=True)
        whole = learned(clf, X, y, weight, 160)
    order = clf.classes_.tolist()
    for label in set(y.tolist()):
        first = y.tolist().index(label)
        assert not whole[: first + 1, order.index(label)].any()
    own = np.array(relative(weight))
    counts = [own[y == label].sum() for label in clf._model.labels.names]
    np.testing.assert_allclose(clf._model.sets.weight, [sum(counts), *counts], rtol=1e-9)


def test_a_bad_coverage_is_named():
    clf = HoeffdingTree(sets=True).fit([[0.0], [1.0]] * 20, ["a", "b"] * 20)
    for bad in (0.0, 1.0, 90, "much", None):
        with pytest.raises(ValueError, match=r"coverage must lie in \(0, 1\)"):
            clf.predict_set([[0.0]], bad)
    with pytest.raises(ValueError, match="by must be None"):
        clf.predict_set_one([0.0], by="row")
    with pytest.raises(ValueError, match="sets must be True or False"):
        HoeffdingTree(sets=0.9).fit([[0.0], [1.0]], [0, 1])
    assert HoeffdingTree(sets=True).predict_set_one([0.0]) == []
