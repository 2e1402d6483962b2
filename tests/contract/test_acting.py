"""What is promised of learning from actions, for every estimator."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import onlineboost
from contract.kinds import every_estimator, shortened
from helpers import assert_finite, frozen, mixed_stream, model_state, number_stream
from reference_acting import action, distribution, estimate

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
both_ways = pytest.mark.parametrize("known", [False, True], ids=["", "probability"])
LABELS = list("abcd")


def log(known, n=160, seed=3, k=4):
    """Rows, and what a policy that is often right has done: the arguments of `partial_fit`."""
    X, y, _ = mixed_stream(n, seed=seed, n_classes=k)
    rng = np.random.default_rng(seed)
    labels = LABELS[:k]
    p = np.array([[0.7 if rng.random() < 0.6 and label == own else 0.1 for label in labels] for own in y])
    p /= p.sum(axis=1, keepdims=True)
    codes = (np.cumsum(p, axis=1) < rng.random((n, 1))).sum(axis=1)
    actions = np.array(labels, object)[codes]
    more = {"probability": p[np.arange(n), codes]} if known else {}
    return X, {"action": actions, "correct": actions == y, **more}


def part(told, rows):
    return {name: values[rows] for name, values in told.items()}


def one(told, b):
    return {name: values[b].item() if hasattr(values[b], "item") else values[b] for name, values in told.items()}


@every_class
@both_ways
def test_outcomes_become_the_rows_that_their_twin_makes_of_them(kind, known):
    for k in (4, 2):
        X, told = log(known, k=k)
        labels = LABELS[:k]
        last = {"combiner": "last"} if "combiner" in kind.make().get_params() and not known and k > 2 else {}
        with shortened():
            clf = kind.make(**last).partial_fit(X, classes=labels, **told)
            twin = kind.make(**last)
            rows, names, weights = [], [], []
            for b in range(len(X)):
                own = one(told, b)
                a = labels.index(own["action"])
                said = estimate(a, own["correct"], own.get("probability"), k, clf._model.chain.seed, b + 1)
                for l, weight in said.items():
                    rows.append(b), names.append(labels[l]), weights.append(weight)
            if known and k > 2:  # 1 / p counts as it is
                twin.partial_fit(X[:1], action=["a"], correct=[False], probability=[0.5], classes=labels)
            twin.partial_fit(X[rows], names, classes=labels, sample_weight=weights)
        assert model_state(clf) | {"acts": None} == model_state(twin) | {"acts": None}
        assert_finite(clf)
        np.testing.assert_array_equal(clf.predict_proba(X), twin.predict_proba(X))


@every_class
@both_ways
def test_actions_know_nothing_of_blocks_threads_files_pickles_and_single_rows(kind, known, tmp_path):
    X, told = log(known)
    with shortened():
        want = kind.make().partial_fit(X, classes=LABELS, **told)
        threads = {"n_jobs": 2} if "n_jobs" in want.get_params() else {}
        other = kind.make(**threads)
        for a in range(0, 66, 33):
            other.partial_fit(X[a : a + 33], classes=LABELS, **part(told, slice(a, a + 33)))
        other.save(tmp_path / "model.olb")
        other = pickle.loads(pickle.dumps(onlineboost.load(tmp_path / "model.olb"))).snapshot()
        for b in range(66, 90):
            other.learn_one(list(X[b]), **one(told, b))
        other.partial_fit(X[90:], **part(told, slice(90, None)))
        alone = kind.make()
        for b in range(len(X)):
            alone.learn_one(list(X[b]), classes=LABELS, **one(told, b))
    assert model_state(other) == model_state(want)
    assert model_state(alone) == model_state(want)
    for x in X[:20]:
        assert other.act_one(list(x), 0.3) == want.act_one(list(x), 0.3) == alone.act_one(list(x), 0.3)


@every_class
@both_ways
def test_rounds_of_weight_0_are_as_if_absent(kind, known):
    X, told = log(known, n=80)
    weight = np.tile([1.0, 0.0, 2.0, 0.0, 0.5], 16)
    with shortened():
        want = kind.make().partial_fit(
            X[weight > 0], classes=LABELS, sample_weight=weight[weight > 0], **part(told, weight > 0)
        )
        clf = kind.make().partial_fit(X[:47], classes=LABELS, sample_weight=weight[:47], **part(told, slice(47)))
        clf.partial_fit(X[:0], **part(told, slice(0)))
        for b in range(47, 80):
            clf.learn_one(list(X[b]), weight=weight[b], **one(told, b))
    assert model_state(clf) == model_state(want)


@every_class
def test_actions_are_drawn_as_their_twin_draws_them_and_change_nothing(kind):
    X, codes = number_stream(60, n_classes=3, seed=5)
    X[::7, 1] = np.nan
    labels, found = ["x", "y", "z"], []
    with shortened():
        clf = kind.make()
        first = clf.act_one(X[0].tolist(), classes=labels)
        assert first.distribution == dict.fromkeys(labels, 1.0 / 3.0)
        for b in range(60):
            x, rho = X[b].tolist(), 0.4 if b else 1.0
            before = frozen(clf)
            act = clf.act_one(x, 0.4, classes=labels)
            assert clf.act_one(x, 0.4, classes=labels) == act
            assert frozen(clf) == before
            predicted = labels.index(clf.predict_one(x)) if b and clf.n_samples_seen_ else None
            p = distribution(predicted, 3, rho)
            assert list(act.distribution.values()) == pytest.approx(p)
            bits = [0 if value != value else int(np.float64(value).view(np.int64)) for value in x]
            seed = clf._model.chain.seed if b else clf.random_state
            assert act.action == labels[action(p, seed, bits, b + 1)]
            assert act.probability == act.distribution[act.action]
            found.append(act.action)
            right = act.action == labels[codes[b]]
            clf.learn_one(x, action=act.action, correct=right, probability=act.probability, classes=labels)
    assert set(found) == set(labels)


@every_class
def test_bad_outcomes_are_named_and_leave_the_model_as_it_was(kind):
    X, told = log(True)
    clf, x = kind.make(), list(X[0])
    with pytest.raises(ValueError, match="give all of them as `classes`"):
        clf.act_one(x)
    with pytest.raises(ValueError, match="classes that are known in advance"):
        clf.learn_one(x, action="a", correct=True)
    assert not hasattr(clf, "_model")
    clf.partial_fit(X, classes=LABELS, **told)
    before = frozen(clf)
    for bad, words in (
        ({"action": "a"}, "correct is missing"),
        ({"correct": True}, "action and correct without y"),
        ({"action": "a", "correct": True, "y": "a"}, "action and correct without y"),
        ({"action": "e", "correct": True}, "unknown label 'e'"),
        ({"action": "a", "correct": 0.5}, "True or False"),
        ({"action": "a", "correct": True, "probability": 0.0}, r"in \(0, 1\]"),
        ({"action": "a", "correct": True, "probability": 1.5}, r"in \(0, 1\]"),
        ({"action": "a", "correct": False, "weight": -1.0}, "weight must be"),
        ({"action": "a", "correct": True, "probability": 1e-300}, "sample_weight / probability is 1e[+]300"),
        ({"action": ["a"], "correct": True}, "is not a label"),
        ({"action": "a", "correct": True, "classes": ["a", "e"]}, "unknown label 'e'"),
        ({"action": "a", "correct": True, "classes": "ab"}, "classes must be a list"),
    ):
        with pytest.raises(ValueError, match=words):
            clf.learn_one(x, **bad)
        assert frozen(clf) == before
    with pytest.raises(ValueError, match="unknown label 'e'"):
        clf.act_one(x, classes=["a", "e"])
    for exploration in (-0.1, 1.1, "much", None, True, 10**400):
        with pytest.raises(ValueError, match="exploration must be"):
            clf.act_one(x, exploration)
    with pytest.raises(ValueError, match="160 rows and y has 2"):
        clf.partial_fit(X, action=["a", "b"], correct=[True, False])
    with pytest.raises(ValueError, match="one value for each of the 160 actions"):
        clf.partial_fit(X, action=told["action"], correct=[True])
    for weight, words in (([1.0], "expected .160,."), (-np.ones(160), "not negative"), (["x"] * 160, "not negative")):
        with pytest.raises(ValueError, match=words):
            clf.partial_fit(X, sample_weight=weight, **told)
    assert frozen(clf) == before
