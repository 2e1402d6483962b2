"""OzaBoost, BestTree, OneVsAll and AdaBoostOVA are what their publications say, whatever the blocks and segments."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.naive_bayes import GaussianNB

import reference
from helpers import (
    asked_rows,
    assert_same_tree,
    by_code,
    forest_of,
    hedge_chain,
    in_blocks,
    learned_rows,
    mixed_stream,
    n_inner,
    number_stream,
    plain,
    twins_of,
)
from onlineboost import AdaBoostOLM, AdaBoostOVA, BestTree, HoeffdingTree, OneVsAll, OzaBoost, prequential
from onlineboost._compile.random import child_key
from onlineboost.boosters.oza import new_oza, poisson, vote_weight
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.segments import Segment
from onlineboost.trees.state import PER_TREE, Columns, LeafRule, TreeSettings, plant
from reference_baselines import Group, OzaBoosting, TreesTwin
from reference_baselines import OneVsAll as OneVsAllTwin

TREE = HoeffdingTree(grace_period=(15, 30), tie_threshold=(0.2, 0.6), max_features=0.5)


def coded(y):
    names = list(dict.fromkeys(y.tolist()))
    return names, [names.index(label) for label in y]


def run_twin(twin, past, X, y, weight):
    names, codes = coded(y)
    said = reference.run(twin, past, plain(X), codes, weight)
    return [None if code is None else names[code] for code in said]


# ---------------------------------------------------------------------------------------------------- every kind


# ------------------------------------------------------------------------------------------------------- OzaBoost


@pytest.mark.parametrize("mean", [0.05, 1.0, 7.3, 16.0, 40.0, 490.0, 2000.0])
def test_counts_are_poisson(mean):
    counts = np.array([poisson(mean, 3, 1, t) for t in range(4000)])
    assert (counts == np.floor(counts)).all()
    cuts = stats.poisson.ppf(np.arange(0.1, 0.91, 0.1), mean)
    cuts = np.unique(cuts)
    cdf = np.concatenate([[0.0], stats.poisson.cdf(cuts, mean), [1.0]])
    seen = np.histogram(counts, [-1.0, *(cuts + 0.5), np.inf])[0]
    if len(seen) > 1:
        assert stats.chisquare(seen, 4000 * np.diff(cdf)).pvalue > 1e-3
    assert counts.mean() == pytest.approx(mean, abs=4.0 * np.sqrt(mean / 4000))


def test_votes_of_learners_that_are_never_wrong_or_worse_than_a_coin():
    assert vote_weight(3.0, 1.0) == pytest.approx(np.log(3.0))
    assert vote_weight(1.0, 3.0) == vote_weight(2.0, 2.0) == vote_weight(0.0, 0.0) == 0.0
    assert vote_weight(10.0, 0.0) == pytest.approx(np.log(9.5 / 0.5))


@pytest.mark.parametrize("draws", [True, False])
@pytest.mark.parametrize("leaf", ["majority", "nba"])
def test_a_run_is_oza_and_russell(leaf, draws):
    X, y, weight = mixed_stream(350, seed=4)
    tree = HoeffdingTree(leaf_prediction=leaf, grace_period=(15, 30), tie_threshold=(0.2, 0.6), max_features=0.5)
    clf = OzaBoost(4, learner=tree, poisson=draws, random_state=3)
    said = in_blocks(clf, X, y, 57, weight)
    past = reference.Past(3, 2)
    trees = twins_of(forest_of(clf), past, 3)
    twin = OzaBoosting(trees, 3, draws)
    assert said == run_twin(twin, past, X, y, weight)
    np.testing.assert_allclose(clf.alphas_, twin.votes(), rtol=1e-8)
    errors = [wrong / (wrong + correct) for wrong, correct in zip(twin.wrong, twin.correct, strict=True)]
    np.testing.assert_allclose(clf.errors_, errors, rtol=1e-8)
    assert n_inner(forest_of(clf)) >= 5
    for root, tree in zip(forest_of(clf).roots, trees, strict=True):
        assert_same_tree(forest_of(clf), root, tree.root, lead=leaf != "majority")
    assert clf.alphas_.any()


def test_learning_n_times_and_learning_once_with_weight_n_are_the_same_where_a_tree_only_counts():
    X, y, _ = mixed_stream(200, seed=4)
    clf = OzaBoost(4, learner=HoeffdingTree(leaf_prediction="majority", grace_period=1e9), random_state=3)
    said = in_blocks(clf, X, y, 57)
    past = reference.Past(3, 2)
    twin = OzaBoosting(twins_of(forest_of(clf), past, 3), 3, one_by_one=True)
    assert said == run_twin(twin, past, X, y, np.ones(200))
    np.testing.assert_allclose(clf.alphas_, twin.votes(), rtol=1e-8)


def test_half_of_the_weight_is_on_the_mistakes_of_the_tree_before():
    """What lambda is for: learner 2 gets as much weight from what learner 1 got right as from what it got wrong."""
    X, y = number_stream(3000, seed=5)
    clf = OzaBoost(3, learner=TREE, poisson=False)
    clf.fit(X, y)
    correct, wrong, total = (clf._model.chain.gather(name) for name in ("correct", "wrong", "total"))
    np.testing.assert_allclose(total, 3000.0)
    np.testing.assert_allclose((correct + wrong)[1:], 3000.0, rtol=0.1)


@pytest.mark.parametrize("sizes", [(3, 4), (1, 5, 1)])
def test_lambda_flows_from_segment_to_segment(sizes):
    X, y = number_stream(400, seed=2)
    results = []
    for cut in ((7,), sizes):
        whole, segments, at = new_oza(draws=True, seed=5, n_learners=7), [], 0
        for size in cut:
            ones = np.ones(size)
            settings = TreeSettings(LeafRule.ADAPTIVE, 20.0 * ones, 0.1 * ones, 0.3 * ones, ones, 0.75)
            forest = plant(Columns(4, []), settings, 5, first=at)
            segments.append(Segment(TreeLearners(forest), whole.part(at, at + size)))
            at += size
        chain = hedge_chain(segments, 4, 5)
        rows = [learned_rows(chain, X[a : a + 80], y[a : a + 80], np.ones(80), 3) for a in range(0, 400, 80)]
        results.append(
            (
                b"".join(row.experts.tobytes() for row in rows),
                [chain.gather(name).tobytes() for name in whole.per_learner()],
                asked_rows(chain, X, 3).s.tobytes(),
            )
        )
    assert results[0] == results[1]
    assert chain.gather("alpha").all()


# -------------------------------------------------------------------------------------------------------- BestTree


def test_a_bag_follows_its_best_tree():
    X, y, weight = mixed_stream(300, seed=4)
    clf = BestTree(6, learner=TREE, random_state=3)
    said = in_blocks(clf, X, y, 57, weight)
    past = reference.Past(3, 2)
    twin = TreesTwin(twins_of(forest_of(clf), past, 3), 3)
    assert said == run_twin(twin, past, X, y, weight)
    np.testing.assert_allclose(clf.mistakes_, twin.mistakes)
    assert clf.best_ == np.argmin(twin.mistakes)
    p = twin.trees[clf.best_].distribution(plain(X)[7], 4)
    np.testing.assert_allclose(by_code(clf, clf.predict_proba(X[7:8]))[0], p, atol=1e-9)


def test_the_best_tree_in_hindsight_over_all_and_over_the_end(monkeypatch):
    monkeypatch.setattr("onlineboost.evaluation.runner.BLOCK_ROWS", 130)
    X, y = number_stream(600, seed=4)
    clf = BestTree(20)
    result = prequential(clf, X, y)
    one = [prequential(BestTree(20, random_state=0), X, y).tree_right for _ in range(2)]
    np.testing.assert_array_equal(one[0], one[1])
    right = one[0]
    assert right.shape == (600, 20)
    np.testing.assert_array_equal((~right).sum(axis=0), clf.mistakes_)
    assert result.best_tree_accuracy() == right.mean(axis=0).max()
    assert result.best_tree_accuracy(0.2) == right[-120:].mean(axis=0).max()
    with pytest.raises(ValueError, match="share"):
        result.best_tree_accuracy(0.0)
    with pytest.raises(ValueError, match="BestTree"):
        prequential(HoeffdingTree(), X, y).best_tree_accuracy()


# ------------------------------------------------------------------------------------------------------- OneVsAll


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared_hinge"])
def test_one_vs_all_is_a_booster_for_every_class(loss):
    """Classes turn up one by one, so some boosters are born late."""
    X, y, weight = mixed_stream(250, seed=3)
    clf = OneVsAll(3, learner=TREE, loss=loss, weight_scale=(1, 2), random_state=5)
    said = in_blocks(clf, X, y, 57, weight)
    past = reference.Past(3, 2)
    segments = clf._model.chain.segments
    assert len(segments) == 4

    def binary(j):
        segment = segments[j]
        trees = twins_of(segment.learners.forest, past, child_key(5, j))
        scale, adaptive = segment.booster.scale.tolist(), loss == "exponential"
        return reference.AdaboostOLM(trees, loss, scale, child_key(5, j), clf.vote, adaptive=adaptive)

    twin = OneVsAllTwin(binary)
    assert said == run_twin(twin, past, X, y, weight)
    in_order = clf._model.labels.outward
    np.testing.assert_allclose(clf.alphas_, in_order(np.array([b.alpha for b in twin.boosters]), axis=0), atol=1e-9)
    np.testing.assert_allclose(clf.edges_, in_order(np.array([b.edges for b in twin.boosters]), axis=0), atol=1e-9)
    v = np.array([booster.v for booster in twin.boosters])
    np.testing.assert_allclose(clf.expert_weights_, in_order(v / v.sum(axis=1, keepdims=True), axis=0), rtol=1e-9)


def test_a_binary_booster_of_one_vs_all_is_adaboost_olm():
    X, y = number_stream(400, n_classes=3, seed=2)
    clf = OneVsAll(5, random_state=1).partial_fit(X, y, classes=[0, 1, 2])
    alone = AdaBoostOLM(5, random_state=child_key(1, 2)).partial_fit(X, y == 2, classes=[False, True])
    np.testing.assert_array_equal(clf.alphas_[2], alone.alphas_)
    np.testing.assert_array_equal(clf.edges_[2], alone.edges_)
    np.testing.assert_array_equal(clf.expert_weights_[2], alone.expert_weights_)


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_one_vs_all_takes_other_learners_and_their_classes_may_grow():
    X, y = number_stream(200, seed=2)
    clf = OneVsAll(3, learner=GaussianNB())
    assert (np.array(in_blocks(clf, X, y, 50)[100:]) == y[100:]).mean() > 0.5


# ---------------------------------------------------------------------------------------------------- AdaBoostOVA


@pytest.mark.parametrize("leaf", ["majority", "nba"])
@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared_hinge"])
def test_adaboost_ova_is_adaboost_olm_with_groups_of_binary_trees(loss, leaf):
    X, y, weight = mixed_stream(300, seed=3)
    tree = HoeffdingTree(leaf_prediction=leaf, grace_period=(15, 30), tie_threshold=(0.2, 0.6), max_features=0.5)
    clf = AdaBoostOVA(3, learner=tree, loss=loss, weight_scale=[0.5, 1.0, 2.0], random_state=5)
    said = in_blocks(clf, X, y, 57, weight)
    past = reference.Past(3, 2)
    forest, k = forest_of(clf), 4
    assert len(forest.roots) == 3 * k
    made = {}

    def make(i, j):
        part = {name: getattr(forest, name)[j::k] for name in PER_TREE}
        made[i, j] = twins_of(forest._replace(**part), past, child_key(5, j))[i]
        return made[i, j]

    groups = [Group(lambda j, i=i: make(i, j)) for i in range(3)]
    twin = reference.AdaboostOLM(groups, loss, [0.5, 1.0, 2.0], 5, clf.vote, adaptive=loss == "exponential")
    assert said == run_twin(twin, past, X, y, weight)
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-9)
    assert n_inner(forest) >= 5
    for i in range(3):
        for j in range(k):
            assert_same_tree(forest, forest.roots[i * k + j], made[i, j].root, lead=leaf != "majority")


# ------------------------------------------------------------------------------------------------------- settings


@pytest.mark.parametrize("make", [OzaBoost, BestTree, OneVsAll, AdaBoostOVA])
@pytest.mark.parametrize("name_and_value", [("n_learners", 0), ("learner", "tree"), ("learner", object())])
def test_a_bad_setting_is_named(make, name_and_value):
    name, value = name_and_value
    with pytest.raises(ValueError, match=name):
        make().set_params(**{name: value}).fit([[0.0], [1.0]], [0, 1])


@pytest.mark.parametrize(
    ("clf", "says"),
    [
        (OzaBoost(3, poisson="yes"), "poisson.*'yes'"),
        (OzaBoost(3, learner=GaussianNB()), "HoeffdingTree"),
        (AdaBoostOVA(3, learner=GaussianNB()), "HoeffdingTree"),
        (AdaBoostOVA(3, loss="hinge"), "loss.*'hinge'"),
        (AdaBoostOVA(3, combiner="nobody"), "combiner.*'nobody'"),
        (OneVsAll(3, loss="hinge"), "loss.*'hinge'"),
        (OneVsAll(3, vote="secret"), "vote.*'secret'"),
        (OneVsAll(3, weight_scale="falling"), "weight_scale.*'falling'"),
    ],
)
def test_more_bad_settings(clf, says):
    with pytest.raises(ValueError, match=says):
        clf.fit([[0.0], [1.0]], [0, 1])
    assert not hasattr(clf, "_model")


# --------------------------------------------------------------------------------------------------------- threads


def test_weights_that_differ_by_hundreds_of_decades_leave_oza_boost_finite(tmp_path):
    clf = OzaBoost(n_learners=2).partial_fit([[0.0]] * 4, [0, 1, 1, 0], sample_weight=[1e12, 1e-300, 1e12, 1e-300])
    assert np.isfinite(clf.alphas_).all()
    assert np.isfinite(clf.predict_proba([[0.0]])).all()
    clf.save(tmp_path / "model.olb")
