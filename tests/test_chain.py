"""A chain is Adaboost.OLM of the twin, and neither blocks nor segments nor threads nor a look at it change a bit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

import reference
from helpers import (
    asked_rows,
    assert_same_tree,
    chain_state,
    forest_of,
    hedge_chain,
    in_blocks,
    learned_rows,
    mixed_stream,
    model_state,
    n_inner,
    plain,
    twins_of,
)
from onlineboost import HoeffdingTree
from onlineboost._compile.random import SAMPLE, uniform
from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.olm import new_olm
from onlineboost.boosters.votes import Vote
from onlineboost.chain import chain
from onlineboost.chain.learners import TreeLearners
from onlineboost.chain.other_learners import ExternalLearners
from onlineboost.chain.segments import Segment
from onlineboost.contracts.rows import leader
from onlineboost.estimators.adaboost_olm import PaperOLM
from onlineboost.trees.state import LEAF_RULES, Columns, TreeSettings, plant

LOSS_NAMES = sorted(LOSSES)
SCALE = {"logistic": (1.0, 3.0), "exponential": (0.4, 1.2), "squared_hinge": (0.4, 1.2)}


def booster(seed=0, loss="logistic", leaf="nba", n_learners=4, **settings):
    tree = HoeffdingTree(leaf_prediction=leaf, grace_period=(15, 30), tie_threshold=(0.2, 0.6), max_features=0.5)
    return PaperOLM(n_learners, loss=loss, learner=tree, weight_scale=SCALE[loss], random_state=seed, **settings)


def coded(y):
    names = list(dict.fromkeys(y.tolist()))
    return names, [names.index(label) for label in y]


# ------------------------------------------------------------------------------------------- the whole algorithm


@pytest.mark.parametrize("leaf", ["majority", "nb", "nba"])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_run_is_adaboost_olm(loss, leaf):
    """With the paper's steps."""
    run_and_compare(loss, leaf, "decaying")


@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_a_run_with_adaptive_steps_is_adaboost_olm_with_such_steps(loss):
    run_and_compare(loss, "nba", "adaptive")


def run_and_compare(loss, leaf, steps):
    """Predictions, alphas, edges, expert weights, every split and every mass of every tree."""
    seed = 3
    X, y, weight = mixed_stream(400, seed)
    clf = booster(seed, loss, leaf, alpha_steps=steps)
    predictions = in_blocks(clf, X, y, 57, weight)

    names, codes = coded(y)
    past = reference.Past(3, 2)
    forest = forest_of(clf)
    trees = twins_of(forest, past, seed)
    scale, adaptive = clf._model.chain.gather("scale").tolist(), steps == "adaptive"
    twin = reference.AdaboostOLM(trees, loss, scale, seed, clf.vote, adaptive=adaptive)
    want = [None if code is None else names[code] for code in reference.run(twin, past, plain(X), codes, weight)]

    assert n_inner(forest) >= 10
    assert predictions == want
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-9)
    np.testing.assert_allclose(clf.expert_weights_, np.array(twin.v) / sum(twin.v), rtol=1e-9)
    for root, tree in zip(forest.roots, trees, strict=True):
        assert_same_tree(forest, root, tree.root, lead=leaf != "majority")
    assert np.ptp(clf.alphas_) > 0.0

    k, known = len(names), np.array([x[:5] for x in X[-60:]], object)
    assert clf.predict(known).tolist() == [names[twin.predict(x, k)] for x in plain(X)[-60:]]


@pytest.mark.parametrize("combiner", ["hedge", "weighted", "best", "last"])
@pytest.mark.parametrize("vote", ["tempered", "cost", "argmax", "normalized"])
def test_all_ways_to_vote_with_classes_known_in_advance(combiner, vote):
    X, y, weight = mixed_stream(250, seed=6)
    clf = booster(1, combiner=combiner, vote=vote)
    predictions = in_blocks(clf, X, y, 100, weight, classes=list("abcd"))
    past = reference.Past(3, 2)
    scale = clf._model.chain.gather("scale").tolist()
    twin = reference.AdaboostOLM(twins_of(forest_of(clf), past, 1), "logistic", scale, 1, vote, combiner)
    want = reference.run(twin, past, plain(X), ["abcd".index(label) for label in y], weight, k=4)
    assert predictions == ["abcd"[code] for code in want]
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-9)


# --------------------------------------------------------------------------- what must not change a single bit


def test_a_block_longer_than_the_kernels_own_is_cut():
    X, y, weight = mixed_stream(2 * chain.BLOCK + 100, seed=1)
    whole, parts = booster(), booster()
    assert in_blocks(whole, X, y, len(y), weight) == in_blocks(parts, X, y, 100, weight)
    assert model_state(whole) == model_state(parts)


def test_a_value_never_seen_counts_the_same_in_predicting_and_in_learning():
    """Naive Bayes with a class that often lacks the column: how a new value is taken decides the prediction."""
    X = np.array([["u"], ["v"]] * 20 + [["u"]] + [[None]] * 39, object)
    y = np.array(["a"] * 40 + ["b"] * 40, object)
    clf = HoeffdingTree(leaf_prediction="nb", grace_period=1e9).partial_fit(X, y)
    new = np.array([["w"]], object)
    p, said = clf.predict_proba(new)[0], clf.predict(new)[0]
    past = reference.Past(0, 1)
    (tree,) = twins_of(forest_of(clf), past, clf._model.chain.seed)
    reference.run(reference.PlainTree(tree, 0), past, plain(X, (0,)), [0] * 40 + [1] * 40, [1.0] * 80)
    np.testing.assert_allclose(p, tree.distribution([2], 2), atol=1e-9)
    assert clf.test_then_train(new, ["a"])[0] == said


# -------------------------------------------------------------------------------------------------------- segments


def segmented(sizes, seed=0, leaf="nba", loss="logistic", n_numeric=3, nominal=(0, 0)):
    """A chain of trees cut into segments of so many learners, each planted by itself."""
    n = sum(sizes)
    u = np.array([uniform(seed, 99, i, 0) for i in range(n)])
    grace, confidence, tie, scale = 15.0 + 15.0 * u, 0.05 + 0.3 * u, 0.2 + 0.4 * u, 1.0 + 2.0 * u
    whole = new_olm(LOSSES[loss], Vote.COST, seed, scale)
    segments, at = [], 0
    for size in sizes:
        part = slice(at, at + size)
        settings = TreeSettings(LEAF_RULES[leaf], grace[part], confidence[part], tie[part], scale[part], 0.6)
        forest = plant(Columns(n_numeric, list(nominal)), settings, seed, first=at)
        segments.append(Segment(TreeLearners(forest), whole.part(at, at + size)))
        at += size
    return hedge_chain(segments, n_numeric, seed)


@pytest.mark.parametrize("sizes", [(3, 4), (1, 5, 1), (2, 2, 3)])
@pytest.mark.parametrize("loss", LOSS_NAMES)
def test_segments_that_hand_over_their_votes_are_one_chain(sizes, loss):
    encoded, y, weight, births = encoded_stream()
    results = []
    for cut in ((7,), sizes):
        whole = segmented(cut, loss=loss)
        said = []
        for a in range(0, len(y), 60):
            whole.new_values([len(born) for born in births], births)
            rows = learned_rows(whole, encoded[a : a + 60], y[a : a + 60], weight[a : a + 60], 4)
            said.append((rows.experts.tobytes(), rows.s.tobytes(), rows.lead.tobytes()))
        final = asked_rows(whole, encoded[:50], 4)
        first = [asked_rows(whole, encoded[:50], 4, n).experts[:, n - 1].tolist() for n in range(1, 8)]
        assert first == final.experts.T.tolist()  # the first n learners are enough for expert n
        results.append((said, final.s.tobytes(), first, chain_state(whole, [len(born) for born in births])))
    assert results[0] == results[1]


def encoded_stream(n=300):
    """A mixed stream as the kernels take it: X, codes of y, weights, and the rounds nominal values turned up in."""
    X, y, weight = mixed_stream(n, seed=7)
    rows = plain(X)
    births = [[], []]
    for t, x in enumerate(rows, start=1):
        for j in range(2):
            if x[3 + j] is not None and x[3 + j] == len(births[j]):
                births[j].append(t)
    encoded = np.array([[math.nan if v is None else v for v in x] for x in rows])
    return encoded, np.array(["abcd".index(label) for label in y]), weight, births


# ----------------------------------------------------------------------------------------------- smaller kernels


@given(st.lists(st.sampled_from([-1.0, 0.0, 1.0]) | st.floats(-3, 3), min_size=1, max_size=6), st.data())
def test_the_leader_is_kept_up_to_date(s, data):
    s = np.array(s)
    lead = np.int32(s.argmax())
    for _ in range(4):
        l = data.draw(st.integers(0, len(s) - 1))
        s[l] += data.draw(st.sampled_from([-1.0, 0.0, 1.0, 0.25]))
        lead = leader(s, len(s), lead, l)
        assert lead == s.argmax()


def test_only_numeric_columns_count_as_missing():
    X = np.array([[1.0, 2.0, math.nan], [math.nan, 2.0, 0.0], [1.0, math.nan, math.nan]])
    missing = np.empty(3, bool)
    chain.any_missing(X, 2, missing)
    assert missing.tolist() == [False, True, True]


# ------------------------------------------------------------------------------------------- other weak learners


class Counts(BaseEstimator):
    """A weak learner that knows the label weights on either side of zero in its first column."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if not hasattr(self, "counts"):
            self.counts = np.full((2, len(classes)), 0.1)
        self.counts[int(X[0, 0] > 0.0), y[0]] += 1.0 if sample_weight is None else sample_weight[0]
        return self

    fit = partial_fit

    def predict_proba(self, X):
        side = self.counts[int(X[0, 0] > 0.0)]
        return (side / side.sum())[None]


class Unweighted(Counts):
    """The same, but it takes no weights: the booster sends it an example with a probability instead."""

    def partial_fit(self, X, y, classes=None):
        return super().partial_fit(X, y, classes)

    fit = partial_fit


class Twin:
    """The twin's view of such a learner: everyone equally likely before it has learned."""

    def __init__(self, learner, i, scale, seed, weighted):
        self.learner, self.i, self.scale, self.seed, self.weighted = learner, i, scale, seed, weighted
        self.started = False

    def distribution(self, x, k):
        return self.learner.predict_proba(np.array([x]))[0].tolist() if self.started else [1.0 / k] * k

    def learn(self, x, y, weight, t):
        X, y, classes = np.array([x]), np.array([y]), np.arange(3)
        if self.weighted:
            self.learner.partial_fit(X, y, classes, np.array([weight]))
        elif weight / self.scale > uniform(self.seed, SAMPLE, self.i, t):
            self.learner.partial_fit(X, y, classes)
        else:
            return
        self.started = True


@pytest.mark.parametrize("loss", LOSS_NAMES)
@pytest.mark.parametrize("make", [Counts, Unweighted])
def test_any_learner_goes_through_the_same_booster(make, loss, numbers):
    X, y = numbers
    scale = [2.0, 1.0, 3.0]
    booster = new_olm(LOSSES[loss], Vote.COST, 5, np.array(scale))
    whole = hedge_chain([Segment(ExternalLearners([make() for _ in range(3)], 3), booster)], 4, 5)
    weighted = make is Counts
    twins = [Twin(make(), i, scale[i], 5, weighted) for i in range(3)]
    twin = reference.AdaboostOLM(twins, loss, scale, 5)
    for a in range(0, 200, 40):
        part = slice(a, a + 40)
        rows = learned_rows(whole, X[part], y[part], np.ones(40), 3)
        for b, (x, label) in enumerate(zip(X[part].tolist(), y[part].tolist(), strict=True)):
            _, experts = twin.walk(x, 3)
            twin.round(x, label, 3)
            assert rows.experts[b].tolist() == experts
    np.testing.assert_allclose(booster.alpha, twin.alpha, atol=1e-9)
    np.testing.assert_allclose(booster.edges(3), twin.edges, atol=1e-9)
    for mine, theirs in zip(whole.segments[0].learners.learners, twins, strict=True):
        np.testing.assert_allclose(mine.counts, theirs.learner.counts, rtol=1e-10)


def test_learners_in_two_segments_are_one_chain(numbers):
    X, y = numbers
    results = []
    for cut in ((4,), (1, 3)):
        booster, segments, at = new_olm(LOSSES["logistic"], Vote.COST, 5, np.ones(4)), [], 0
        for size in cut:
            learners = ExternalLearners([Unweighted() for _ in range(size)], 3)
            segments.append(Segment(learners, booster.part(at, at + size)))
            at += size
        whole = hedge_chain(segments, 4, 5)
        rows = learned_rows(whole, X[:100], y[:100], np.ones(100), 3)
        results.append((rows.s.tobytes(), rows.experts.tobytes(), whole.gather("alpha").tobytes()))
    assert results[0] == results[1]
