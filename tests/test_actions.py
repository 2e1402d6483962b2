"""Learning from actions: its estimates are unbiased, its bound holds, and a log says what another policy is worth."""

from __future__ import annotations

import json
from copy import deepcopy
from itertools import product

import numpy as np
import pytest
from click.testing import CliRunner

from helpers import number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, OnlineMBBM, load, prequential
from onlineboost.chain.acting import Outcomes, draw_action, predicted_shares, rho_of
from onlineboost.cli.main import main
from onlineboost.data.errors import DataError
from onlineboost.evaluation import BanditFeedback, doubly_robust_value, ips_value
from onlineboost.theory import action_bound, guarantee, mbbm_bound
from reference_acting import by_doubt, distribution, estimate

TREE = HoeffdingTree(grace_period=20)


def outcomes(rows, p=None):
    codes, right = (np.array(column) for column in zip(*rows, strict=True))
    return Outcomes(codes, right.astype(bool), None if p is None else np.array(p))


@pytest.mark.parametrize("k", [2, 3, 5])
def test_an_outcome_says_what_its_twin_says(k):
    for t, a, right, known in product((1, 7, 8), range(k), (False, True), (False, True)):
        p = [0.3] if known else None
        (y,), (weight,) = outcomes([(a, right)], p).as_rows(k, 4, t)
        assert ({int(y): weight} if weight else {}) == estimate(a, right, 0.3 if known else None, k, 4, t)


@pytest.mark.parametrize("k", [2, 3, 5])
def test_what_is_learned_is_unbiased_over_the_actions(k):
    rng = np.random.default_rng(k)
    for y in range(k):
        p, f = rng.dirichlet(np.ones(k)), rng.normal(size=k)
        mean = 0.0
        for a in range(k):
            (label,), (weight,) = outcomes([(a, a == y)], [p[a]]).as_rows(k, 0, 1)
            mean += p[a] * weight * f[label]
        assert mean == pytest.approx(f[y])


@pytest.mark.parametrize(
    ("make", "fields"),
    [
        (lambda: AdaBoostOLM(5, learner=TREE, weight_scale=1.0), ("vote_cost", "right_cost", "alpha")),
        (lambda: OnlineMBBM(5, gamma=0.1, learner=TREE, weight_scale=1.0), ("vote_cost", "weights", "seen")),
    ],
    ids=["olm", "mbbm"],
)
def test_costs_edges_and_steps_of_alpha_are_unbiased_over_the_actions(make, fields):
    """Every action is tried on a copy: the mean of what the copies learn is what the label would have taught."""
    X, y = number_stream(80, n_classes=3, seed=1)
    clf, tried = make(), 0
    for b in range(80):
        x = X[b].tolist()
        act = clf.act_one(x, 0.3, classes=range(3))
        if b > 60:
            before = [clf._model.chain.gather(name).copy() for name in fields]
            changes = [np.zeros(5) for _ in fields]
            for a, p in act.distribution.items():
                copy = deepcopy(clf).learn_one(x, action=a, correct=bool(a == y[b]), probability=p)
                for change, name, old in zip(changes, fields, before, strict=True):
                    new = copy._model.chain.gather(name)
                    change += p * np.where((name == "alpha") & (np.abs(new) == 2.0), np.nan, new - old)  # cut off
            known = deepcopy(clf).learn_one(x, int(y[b]))
            for change, name, old in zip(changes, fields, before, strict=True):
                want = known._model.chain.gather(name) - old
                np.testing.assert_allclose(change, np.where(np.isnan(change), np.nan, want), atol=1e-12)
                tried += np.isfinite(change).sum()
        known = {"correct": bool(act.action == y[b]), "probability": act.probability}
        clf.learn_one(x, action=act.action, **known, classes=range(3))
    assert tried > 220  # of 285


def test_actions_are_as_frequent_as_they_are_said_to_be():
    rng, k, rho = np.random.default_rng(0), 4, 0.4
    found = np.zeros(k)
    for t in range(1, 4001):
        code, p = draw_action(predicted_shares(2, k), rho, 7, rng.random((1, 3)), t)
        found[code] += 1
    assert p.tolist() == pytest.approx(distribution(2, k, rho))
    assert np.abs(found / 4000 - p).max() < 4.0 * np.sqrt(0.25 / 4000)
    assert draw_action(predicted_shares(1, 3), 0.0, 0, np.zeros((1, 1)), 5)[0] == 1
    falling = [rho_of("auto", 5, t) for t in (1, 1000, 100_000)]
    assert falling == sorted(falling, reverse=True)


@pytest.mark.parametrize("clf", [OnlineBoostClassifier(5), AdaBoostOLM(5, calibrate=True), HoeffdingTree()], ids=str)
def test_without_an_exploration_actions_go_by_the_probabilities(clf):
    X, y = number_stream(200, n_classes=3, seed=2)
    clf = deepcopy(clf).partial_fit(X, y, classes=sorted(set(y)))
    slow = clf.snapshot()
    for x in X[:20].tolist():
        act, q = clf.act_one(x), clf.predict_proba_one(x)
        assert [*act.distribution.values()] == pytest.approx(by_doubt([*q.values()], rho_of("auto", 3, 201)))
        assert act == slow.act_one(x)
        certain = clf.act_one(x, 0.0)
        assert (certain.action, certain.probability) == (clf.predict_one(x), 1.0)
    even = OnlineMBBM(5).partial_fit(X, y, classes=sorted(set(y)))
    costs = AdaBoostOLM(5, class_weight="balanced").partial_fit(X, y, classes=sorted(set(y)))
    two = HoeffdingTree().partial_fit(X, y > 0, classes=[False, True])
    for other in (even, costs, two):
        assert len({round(p, 12) for p in other.act_one(X[0].tolist()).distribution.values()}) == 2


def test_a_class_that_is_never_predicted_is_found_by_what_is_wrong():
    X, y = number_stream(1500, n_classes=3, seed=2)
    for model in (OnlineBoostClassifier(5), AdaBoostOLM(10), OnlineMBBM(10)):
        labels = prequential(deepcopy(model), X, y).tail_accuracy
        told = BanditFeedback(model)
        assert prequential(told, X, y).tail_accuracy > labels - 0.1
        assert 0.5 < told.accuracy < 1.0
        assert told.rounds == 1500


def test_what_is_guaranteed_for_actions():
    X, y = number_stream(600, n_classes=3, seed=3)
    clf = OnlineMBBM(20, gamma=0.2, combiner="last", learner=TREE)
    told = BanditFeedback(clf, 0.3, unbiased=True)
    lost = 0
    for b in range(600):  # votes strictly ahead, before each row is learned
        if b > 1:
            votes = clf._model.chain.forecast(X[b : b + 1], 3, clf._combiner())[1][0]
            own = votes[clf._model.labels.code_of(int(y[b]))]
            lost += int((votes >= own - 1e-12).sum() > 1)
        else:
            lost += 1
        told.test_then_train(X[b : b + 1], y[b : b + 1], classes=range(3))
    found = guarantee(clf, told.rounds - told.right)
    assert found.wrong_actions == found.mistakes == told.rounds - told.right
    assert found.potential * 600 * 0.5 < found.lost_promised < found.potential * 600 * 1.5
    assert lost <= found.lost_bound < np.inf
    assert "if act_one drew the actions" in str(found) or found.lost_bound > 600
    assert found.as_dict()["examples"] == 600


def test_a_bound_of_infinity_is_left_out_of_what_json_gets():
    X, y = number_stream(60, n_classes=3, seed=3)
    told = BanditFeedback(OnlineMBBM(5, gamma=0.2, combiner="last", learner=TREE), exploration=0.0, unbiased=True)
    prequential(told, X, y)
    found = guarantee(told.model, told.rounds - told.right)
    assert found.lost_bound == np.inf  # actions that are taken for sure say nothing of others
    json.dumps(found.as_dict(), allow_nan=False)


def test_where_nothing_is_guaranteed_for_actions_the_reason_is_given():
    X, y = number_stream(100, n_classes=3, seed=3)

    def run(model, **how):
        told = BanditFeedback(model, **how)
        prequential(told, X, y)
        return str(guarantee(told.model, 0))

    assert "labels were drawn" in run(OnlineMBBM(3))
    assert "is about OnlineMBBM" in run(AdaBoostOLM(3), exploration=0.2, unbiased=True)
    assert "exact potentials" in run(OnlineMBBM(3, loss="logistic"), exploration=0.2, unbiased=True)
    clf = OnlineMBBM(3)
    prequential(BanditFeedback(clf, 0.2, unbiased=True), X, y)
    clf.partial_fit(X, y)
    assert "some rows were learned from labels" in str(guarantee(clf, 0))


def test_of_two_classes_nothing_is_hidden():
    X, y = number_stream(200, n_classes=2, seed=3)
    clf, twin = AdaBoostOLM(5), AdaBoostOLM(5).partial_fit(X, y, classes=[0, 1])
    clf.partial_fit(X, action=1 - y, correct=np.zeros(200, bool), classes=[0, 1])
    np.testing.assert_array_equal(clf.predict_proba(X), twin.predict_proba(X))
    assert guarantee(clf, 0).edge_bound == guarantee(twin, 0).edge_bound


def test_the_bound_of_actions_is_that_of_labels_and_what_actions_cost():
    for T in (10_000, 10_000_000):
        bound, labels = action_bound(4, 200, 0.2, T, 0.1, 5.0), mbbm_bound(4, 200, 0.2, T, 5.0)
        assert labels + 0.075 * T <= bound <= T
    assert (bound - 0.075 * T) / T == pytest.approx(labels / T, abs=0.01)  # in the long run the same phi_N(0)
    with pytest.raises(ValueError, match="exploration must be"):
        action_bound(4, 200, 0.2, 100, 0.0)


def test_a_log_says_what_another_policy_is_worth():
    """A policy that was not followed, whose value is known: the estimates are as far off as they say."""
    rng, n, k = np.random.default_rng(5), 400, 3
    off, off_robust, errors, errors_robust = [], [], [], []
    for _ in range(200):
        y = rng.integers(k, size=n)
        p = rng.dirichlet(np.full(k, 3.0), size=n)
        action = (np.cumsum(p, axis=1) < rng.random((n, 1))).sum(axis=1).clip(max=k - 1)
        policy = 0.2 * np.ones((n, k)) / k + 0.8 * np.eye(k)[(y + (rng.random(n) < 0.3)) % k]
        reward, own = (action == y).astype(float), p[np.arange(n), action]
        worth = policy[np.arange(n), y].mean()
        ips = ips_value(reward, own, policy[np.arange(n), action])
        guess = 0.7 * np.eye(k)[y] + 0.1
        robust = doubly_robust_value(reward, own, action, policy, guess)
        off.append(ips.mean - worth), off_robust.append(robust.mean - worth)
        errors.append(ips.error), errors_robust.append(robust.error)
    for found, told in ((off, errors), (off_robust, errors_robust)):
        assert abs(np.mean(found)) < 4.0 * np.std(found) / np.sqrt(200)
        assert np.std(found) < 1.2 * np.mean(told)
    assert np.mean(errors_robust) < 0.6 * np.mean(errors)


def test_a_bad_log_is_named():
    with pytest.raises(DataError, match="probability must be that of the action"):
        ips_value([1.0], [0.0], [1.0])
    with pytest.raises(DataError, match="policy must be 2 finite numbers"):
        ips_value([1.0, 0.0], [0.5, 0.5], [1.0])
    with pytest.raises(DataError, match="equal shapes"):
        doubly_robust_value([1.0], [0.5], [0], [[1.0, 0.0]], [[1.0]])
    with pytest.raises(DataError, match="from 0 to 1"):
        doubly_robust_value([1.0], [0.5], [2], [[1.0, 0.0]], [[1.0, 0.0]])


@pytest.mark.parametrize(
    ("policy", "expected", "words"),
    [
        ([[1.0, 0.0]], [[np.nan, 0.0]], "expected must have finite numbers"),
        ([[np.nan, 0.0]], [[1.0, 0.0]], "policy must have probabilities"),
        ([[5.0, -4.0]], [[1.0, 0.0]], "policy must have probabilities"),
        ([[1.0, 1.0]], [[1.0, 0.0]], "the sum of each row is 1"),
    ],
)
def test_a_policy_is_probabilities(policy, expected, words):
    with pytest.raises(DataError, match=words):
        doubly_robust_value([1.0], [0.5], [0], policy, expected)
    with pytest.raises(DataError, match="policy must have probabilities"):
        ips_value([1.0], [0.5], [2.0])
    for nothing in ([], 1.0):
        with pytest.raises(DataError, match="each action taken"):
            ips_value(nothing, 0.5, 1.0)


@pytest.mark.parametrize("names", [("a", 1, 2), (True, "x", 3), ((0, 1), (0, 2), (0, 3)), ("1", "2", "3")], ids=str)
def test_simulated_feedback_knows_labels_of_any_type_however_written(names):
    codes = np.random.default_rng(2).integers(3, size=150)
    X = codes[:, None] + 0.1 * np.arange(150.0)[:, None] % 0.5
    told = BanditFeedback(HoeffdingTree(grace_period=20), 0.2)
    told.test_then_train(X, [names[code] for code in codes], classes=[1, 2, 3] if names[0] == "1" else list(names))
    assert told.rounds == 150
    assert told.accuracy > 0.5
    said, p = told.test_then_train(X[:0], [], proba=True)
    assert len(said) == 0
    assert p.shape == (0, 3)
    with pytest.raises(DataError, match="unknown label 'new'"):
        told.test_then_train(X[:1], ["new"])
    with pytest.raises(DataError, match="2 rows and y has 1"):
        told.test_then_train(X[:2], [names[0]])
    assert told.rounds == 150
    with pytest.raises(TypeError, match="no late labels, nor weights"):
        prequential(BanditFeedback(HoeffdingTree()), X, codes, delay=3)


def test_run_with_bandit_feedback(tmp_path):
    call = CliRunner().invoke
    small = ["run", "balance", "--limit", "150", "--learners", "3"]
    done = call(main, [*small, "--feedback", "bandit", "--save", str(tmp_path / "model.olb")])
    assert done.exit_code == 0, done.output
    assert "actions" in done.output
    assert load(tmp_path / "model.olb")._model.acts[0] == 150
    said = ["--model", "online-mbbm", "--feedback", "unbiased-bandit", "--exploration", "0.3", "--json"]
    done = call(main, [*small, *said])
    assert '"actions_right"' in done.output
    assert '"wrong_actions"' in done.output
    done = call(main, [*small, "--feedback", "bandit", "--delay", "5"])
    assert done.exit_code == 2
    done = call(main, [*small, "--feedback", "bandit", "--exploration", "much"])
    assert "a share or auto" in done.output


@pytest.mark.parametrize(
    ("setting", "value"),
    [("loss", "nope"), ("vote", "x"), ("weight_scale", -1), ("n_learners", 0), ("learner", 3), ("memory_limit", 10)],
)
def test_settings_that_a_chain_reads_are_checked_before_the_first_action(setting, value):
    with pytest.raises(ValueError, match=setting):
        AdaBoostOLM(**{setting: value}).act_one([0.1], classes=["a", "b"])


def test_an_action_before_anything_is_learned_changes_nothing():
    clf = AdaBoostOLM(3, columns="open", random_state=np.random.RandomState(0))
    before = clf.get_params(), clf.random_state.get_state()[1].tolist()
    assert clf.act_one({"x": 1.0}, classes=["a", "b"]).probability == 0.5
    assert (clf.get_params(), clf.random_state.get_state()[1].tolist()) == before
    assert not [name for name in vars(clf) if name.endswith("_in_") or name == "_model"]
