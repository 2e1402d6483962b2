"""Restarts: the rule is the twin's, nothing leaks, and neither blocks nor segments change a bit."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

import reference
from helpers import (
    assert_same_tree,
    chain_state,
    forest_of,
    forests,
    in_blocks,
    leaf_rows,
    leaves,
    mixed_stream,
    model_state,
    number_stream,
    plain,
    tree_state,
    twins_of,
)
from onlineboost import AdaBoostOLM, HoeffdingTree, load
from onlineboost.chain import restarts
from onlineboost.chain.diary import new_diary
from onlineboost.chain.experts import Combiner
from onlineboost.chain.learners import SETTINGS
from onlineboost.chain.reviews import Reviews
from onlineboost.trees.compact import _nodes_of, clear, compacted
from onlineboost.trees.state import FREE_ROW, N_FREE_STATS, N_LEAVES, N_LOST, N_NODES, N_ROWS, N_STATS
from reference_baselines import Restarting
from test_chain import encoded_stream, segmented

QUICK = {"period": 50, "least_share": 0.1, "most_share": 0.5, "low": 0.3, "high": 0.6, "least_age": 100}
QUICK |= {"head_start": 20, "young": (1, 4), "lag": 50}
AUTO = {"rarely": 4, "longest": 100, "probes": 0.25, "fewest": 8, "gap": 100, "grown": 150, "near": 3}
AUTO |= {"fade": 0.9, "doubt": 0.5, "open": -0.05, "shut": -0.1}
TREE = HoeffdingTree(grace_period=(5, 15), tie_threshold=(0.2, 0.6), max_features=0.5)


@pytest.fixture
def quick(monkeypatch):
    """Reviews often enough for a short stream."""
    for name, value in (QUICK | AUTO).items():
        monkeypatch.setattr(restarts, name.upper(), value)


def booster(seed=0, n_learners=8, **settings):
    settings = {"learner": TREE, "weight_scale": (1, 5), "restart": "always", **settings}
    return AdaBoostOLM(n_learners, random_state=seed, **settings)


def swapping(n, every, seed=0):
    """Four classes that swap places again and again."""
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(n, 5))
    return X, ((X[:, 0] * X[:, 1] > 0.0) + 2 * (X[:, 2] > 0.0) + np.arange(n) // every) % 4


@pytest.mark.parametrize(("restart", "lag"), [("always", 50), ("always", 70), ("auto", 50), ("auto", 30)])
def test_the_rule_is_the_twins(restart, lag, quick, monkeypatch):
    monkeypatch.setattr(restarts, "LAG", lag)
    seed = 7
    X, y, weight = mixed_stream(600, seed)
    y[350:] = np.roll(y, 1)[350:]  # nothing that was learned is of use any more
    clf = booster(seed, restart=restart)
    settings = clone(clf).partial_fit(X[:1], y[:1])
    said = in_blocks(clf, X, y, 57, weight)

    names = list(dict.fromkeys(y.tolist()))
    past = reference.Past(3, 2)
    scale = settings._model.chain.gather("scale").tolist()
    trees = twins_of(forest_of(settings), past, seed)
    rule = {**QUICK, "lag": lag, "auto": AUTO if restart == "auto" else None}
    twin = Restarting(trees, "logistic", scale, seed, clf.vote, **rule)
    want = reference.run(twin, past, plain(X), [names.index(label) for label in y], weight)
    assert said == [None if code is None else names[code] for code in want]
    assert len(twin.restarted) >= 6
    counts = np.unique([t for t, _ in twin.restarted], return_counts=True)[1]
    assert len(set(counts.tolist())) > 1  # not always as many
    if restart == "auto":
        assert {i for _, i in twin.restarted} > {5, 7}  # the probes, and others
        assert clf._model.chain.watch.lead == pytest.approx(twin.lead)
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-9)
    forest = forest_of(clf)
    for i, tree in enumerate(twin.learners):
        np.testing.assert_allclose([forest.grace[i], forest.tie[i]], [tree.grace, tree.tie])
        np.testing.assert_allclose(np.exp(-forest.log_delta[i]), tree.delta)
        assert_same_tree(forest, forest.roots[i], tree.root)
    last = dict((i, t) for t, i in twin.restarted)
    np.testing.assert_allclose(clf.ages_, [sum(reference.relative(weight)[last.get(i, 0) :]) for i in range(8)])


@pytest.mark.parametrize("at", [201, 230, 250, 280])
def test_a_plan_is_kept_by_copies_and_files_and_dropped_where_nothing_restarts(at, quick, tmp_path):
    X, y, weight = mixed_stream(400, seed=8)
    clf = booster(2).partial_fit(X[:at], y[:at], sample_weight=weight[:at])
    assert clf._model.chain.watch.plan.at == at - at % 50 + 50
    clf.save(tmp_path / "model")
    states = []
    for other in (clf, pickle.loads(pickle.dumps(clf)), clf.snapshot(), load(tmp_path / "model")):
        other.partial_fit(X[at:], y[at:], sample_weight=weight[at:])
        states.append(model_state(other))
    assert all(state == states[0] for state in states)
    clf.set_params(restart="never").partial_fit(X[:60], y[:60])
    assert clf._model.chain.watch.plan is None
    assert clf.ages_.min() > 50.0  # 60 rows of weight 1, and those before weigh 1.15 on the average


@pytest.mark.parametrize("sizes", [(3, 4), (1, 5, 1)])
def test_segments_are_reviewed_as_one_chain(sizes, quick):
    encoded, y, weight, births = encoded_stream()
    results = []
    for cut in ((7,), sizes):
        chain = segmented(cut, seed=9)
        chain.watch, chain.diary = restarts.Watch(np.zeros(7), np.zeros(7)), new_diary(encoded.shape[1], None)
        chain.new_values([len(born) for born in births], births)
        said = np.empty(len(y), np.int64)
        chain.stream(encoded, y, weight, 4, Combiner.HEDGE, said, visitors=[Reviews(chain, auto=False)])
        chosen = chain.diary.events.tolist()
        settings = [np.concatenate([getattr(forest, name) for forest in forests(chain)]) for name in SETTINGS]
        results.append((chosen, np.array(settings).tobytes(), chain_state(chain, [len(born) for born in births])))
    assert results[0] == results[1]
    assert len(results[0][0]) >= 4


def accounts(forest):
    """Every class row and every row of statistics is either in use at one leaf or free."""
    rows = [row for leaf in leaves(forest) for row in leaf_rows(forest, leaf)]
    stats = [int(forest.rows[row]["stat"]) for row in rows if forest.rows[row]["stat"] >= 0]
    row = forest.used[FREE_ROW]
    while row >= 0:
        rows.append(int(row))
        row = forest.rows[row]["next"]
    stats += forest.free_stats[: forest.used[N_FREE_STATS]].tolist()
    assert sorted(rows) == list(range(forest.used[N_ROWS]))
    assert sorted(stats) == list(range(forest.used[N_STATS]))
    assert len(leaves(forest)) == forest.used[N_LEAVES]


def test_nothing_of_a_cleared_tree_is_left_and_the_others_stay_as_they_are(mixed):
    X, y, _ = mixed
    clf = booster(n_learners=4, restart="never", weight_scale=5).partial_fit(X, y)
    forest, sizes = forest_of(clf), clf._model.encoder.sizes
    others = [tree_state(forest, root, sizes) for root in forest.roots]
    grown = forest.used[N_NODES]
    assert grown > 20
    for i in (2, 0, 3):
        clear(forest, i, 300)
        accounts(forest)
        assert forest.nodes[forest.roots[i]]["feature"] == forest.nodes[forest.roots[i]]["first"] == -1
        assert tree_state(forest, forest.roots[1], sizes) == others[1]
    live = len(_nodes_of(forest, forest.roots))
    assert forest.used[N_LOST] == grown - live
    small = compacted(forest)
    accounts(small)
    assert (small.used[N_NODES], small.used[N_LOST]) == (live, 0)
    assert live < grown
    assert tree_state(small, small.roots[1], sizes) == others[1]
    assert compacted(small) is small


def test_a_long_life_does_not_fill_the_memory(quick):
    """Nodes, rows and statistics of restarted trees are used again."""
    X, y = number_stream(6000, seed=1)
    clf = booster(n_learners=6)
    for a in range(0, 6000, 1000):
        clf.partial_fit(X[a : a + 1000], y[a : a + 1000])
        forest = forest_of(clf)
        accounts(forest)
        assert forest.used[N_NODES] < 2 * len(_nodes_of(forest, forest.roots))
    assert (clf.ages_ < 1000.0).any()


@pytest.mark.filterwarnings("ignore:divide by zero:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
def test_other_learners_restart_too(quick):
    X, y = number_stream(300, seed=1)
    clf = AdaBoostOLM(4, learner=GaussianNB(), weight_scale=1.0, restart="always").partial_fit(X, y, classes=[0, 1, 2])
    assert clf.ages_.min() < 300.0
    assert (clf.predict(X) == y).mean() > 0.5


def test_restarts_keep_up_where_the_concept_changes_again_and_again():
    """Every change leaves the old trees with more to unlearn."""
    X, y = swapping(6000, every=1000)
    right = {}
    for restart in ("never", "always", "auto"):
        clf = AdaBoostOLM(30, restart=restart)
        right[restart] = (clf.test_then_train(X, y, classes=range(4)) == y)[4000:].mean()
    assert right["always"] > right["never"] + 0.08
    assert right["auto"] > right["never"] + 0.08
    assert clf._model.chain.watch.changing


@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_where_nothing_changes_only_probes_restart(noise):
    """Noise in the labels is not a change, and the experts before the probes are those of a chain without restarts."""
    X, y = swapping(6000, every=6000)
    rng = np.random.default_rng(1)
    y = np.where(rng.random(6000) < noise, rng.integers(4, size=6000), y)
    clf = AdaBoostOLM(30).partial_fit(X, y, classes=range(4))
    plain = AdaBoostOLM(30, restart="never").partial_fit(X, y, classes=range(4))
    assert not clf._model.chain.watch.changing
    assert np.flatnonzero(clf.ages_ < 6000.0).tolist() == [29]
    assert clf._model.chain.end.log_v[:29].tolist() == plain._model.chain.end.log_v[:29].tolist()


def test_auto_leaves_short_streams_and_short_chains_alone():
    X, y = swapping(restarts.GAP - 1, every=500)
    assert (AdaBoostOLM(20).fit(X, y).ages_ == len(y)).all()
    X, y = swapping(restarts.GAP + 600, every=500)
    assert (AdaBoostOLM(restarts.FEWEST - 1).fit(X, y).ages_ == len(y)).all()


def test_a_setting_that_all_trees_share_is_kept(quick):
    X, y = number_stream(400, seed=1)
    tree = HoeffdingTree(grace_period=7, tie_threshold=(0.1, 0.5), split_confidence=0.05)
    forest = forest_of(booster(learner=tree).fit(X, y))
    assert set(forest.grace) == {7.0}
    np.testing.assert_allclose(np.exp(-forest.log_delta), 0.05)


def test_young_learners_are_spared():
    X, y = number_stream(restarts.LEAST_AGE - 1)
    clf = booster(n_learners=3).fit(X, y)
    assert (clf.ages_ == len(y)).all()
