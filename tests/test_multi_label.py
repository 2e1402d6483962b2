"""MultiLabelBoost is Ada.OLMR and OnlineBMR of the twin, and keeps the promises of all estimators."""

from __future__ import annotations

import copy
import pickle
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.metrics import accuracy_score, coverage_error, f1_score, hamming_loss, label_ranking_loss

import reference
from helpers import arrays_of, assert_finite, forest_of, mixed_stream, model_state, n_inner, plain, twins_of
from make_golden_files import golden_stream
from onlineboost import HoeffdingTree, MultiLabelBoost, OnlineBoostClassifier, load
from onlineboost.boosters.olmr import pair_draws, pair_losses, pair_potentials, psi_at
from onlineboost.chain.experts import Combiner
from onlineboost.chain.ranking import Ranking
from onlineboost.data.errors import DataError
from onlineboost.data.label_sets import indicator, label_sets
from onlineboost.evaluation import LabelMetrics, coverages, prequential_labels, rank_losses
from onlineboost.panel.state import packed
from onlineboost.theory import bmr_error, olmr_bound
from reference_multilabel import MultiLabel, differences, draws, hinge, pair_mean, potential, rank_loss

GOLDEN = "middle", "end"
TREE = HoeffdingTree(grace_period=(15, 30), tie_threshold=(0.2, 0.6), max_features=0.5)


def stream(n=300, seed=0):
    """(X, sets, weight) with late labels and values, rows without a label, and with all."""
    X, y, weight = mixed_stream(n, seed)
    rng, sets, known = np.random.default_rng(seed), [], []
    for b, label in enumerate(y.tolist()):
        known += [] if label in known else [label]
        own = {label} | {other for other in known if rng.random() < 0.3}
        own = set() if b and rng.random() < 0.1 else set(known) if rng.random() < 0.05 else own
        sets.append(own)
    return X, sets, weight


def boost(gamma=None, **settings):
    own = {"n_learners": 5, "learner": TREE, "weight_scale": (1.0, 3.0), "random_state": 3, "panel": False}
    settings = own | settings
    return MultiLabelBoost(gamma=gamma, **settings)


def in_blocks(clf, X, sets, weight, block):
    """What was said before each row was learned, with 0 for labels that were not known."""
    said = []
    for a in range(0, len(sets), block):
        part = slice(a, a + block)
        q = clf.test_then_train(X[part], sets[part], sample_weight=weight[part], proba=True)[1]
        said += [dict(zip(clf.classes_.tolist(), row, strict=True)) for row in q.tolist()]
    return said


def state(clf):
    return model_state(clf), clf._model.chain.end.fit.tobytes()


# --------------------------------------------------------------------------------------------------- the algorithms


@pytest.mark.parametrize(
    ("gamma", "rule"), [(None, "hedge"), (None, "best"), (None, "last"), (Fraction(1, 10), "last")]
)
def test_a_run_is_that_of_the_twin(gamma, rule):
    """What was said, alphas, edges, expert weights, every split and every mass of every tree."""
    X, sets, weight = stream(320, 3)
    clf = boost(None if gamma is None else float(gamma), combiner=rule)
    said = in_blocks(clf, X, sets, weight, 57)
    past, names = reference.Past(3, 2), clf._model.labels.names
    trees = twins_of(forest_of(clf), past, 3)
    twin = MultiLabel(trees, gamma, clf._model.chain.gather("scale").tolist(), 3, rule)
    known = 0
    for x, own, w, got in zip(plain(X), sets, reference.relative(weight.tolist()), said, strict=True):
        codes = {names.index(label) for label in own}
        late, known = known, max([known, *(code + 1 for code in codes)])
        want = twin.round(past.meet(x, twin.t), codes, known, w)
        if twin.t > 2 and late == known:
            assert [got[name] for name in names[:known]] == pytest.approx(want, abs=1e-7)
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-8)
    np.testing.assert_allclose(clf.edges_, twin.edges, atol=1e-8)
    np.testing.assert_allclose(clf._model.chain.end.log_v, -np.array(twin.lost), rtol=1e-7)
    assert n_inner(forest_of(clf)) >= 5
    assert np.abs(clf.edges_).max() > 0.05


def test_a_run_behind_panels_is_that_of_the_twin_from_their_log_odds(monkeypatch):
    """And the panel of a label is that of a classifier which is taught the label alone."""
    X, sets, weight = stream(200, 3)
    names, starts, begin = list("abcd"), [], Ranking.start
    monkeypatch.setattr(Ranking, "start", lambda end, block: (starts.extend(block.rows.s.tolist()), begin(end, block)))
    clf = boost(panel=True)
    said = clf.test_then_train(X, sets, names, weight, proba=True)[1]
    past = reference.Past(3, 2)
    twin = MultiLabel(twins_of(forest_of(clf), past, 3), None, clf._model.chain.gather("scale").tolist(), 3, "best")
    for x, own, w, start, got in zip(plain(X), sets, reference.relative(weight.tolist()), starts, said, strict=True):
        want = twin.round(past.meet(x, twin.t), {names.index(label) for label in own}, 4, w, start)
        if twin.t > 2:
            assert got == pytest.approx(want, abs=1e-7)
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-8)
    np.testing.assert_allclose(clf._model.chain.end.log_v, -np.array(twin.lost), rtol=1e-7)
    for label, own in zip(names, clf._model.chain.panel.labels, strict=True):
        alone = OnlineBoostClassifier(1, random_state=3)
        alone.partial_fit(X, [label in row for row in sets], [False, True], weight)
        assert state_of_panel(own.panel) == state_of_panel(alone._model.chain.panel)


def state_of_panel(stage):
    return [array.tobytes() for array in arrays_of(packed(stage.state))]


@pytest.mark.parametrize("kind", ["hinge", "rank"])
def test_potentials_are_those_of_exact_rationals(kind):
    k, n_learners, gamma = 5, 9, Fraction(1, 7)
    psi = pair_potentials(k, n_learners, float(gamma), kind == "hinge")
    g = hinge if kind == "hinge" else lambda d: Fraction(1 if d < 0 else 0) + (Fraction(1, 2) if d == 0 else 0)
    for relevant in range(1, k):
        p, q = draws(k, relevant, gamma)
        assert pair_draws(k, relevant, float(gamma)) == pytest.approx((float(p), float(q)))
        for m in range(n_learners + 1):
            for d in range(m - n_learners, n_learners - m + 1):
                assert psi[relevant, m, n_learners + d] == pytest.approx(float(potential(g, d, m, p, q)), abs=1e-14)


def test_the_chances_of_a_pair_add_up():
    assert sum(differences(6, Fraction(1, 3), Fraction(1, 5)).values()) == 1


def test_potentials_of_the_hinge_are_linear_between_whole_numbers():
    p, q = draws(4, 2, Fraction(1, 5))
    psi = pair_potentials(4, 8, 0.2)[2, 3]
    for d in (-4.75, -0.3, 0.0, 0.49, 3.2):
        assert psi_at(psi, d) == pytest.approx(float(potential(hinge, Fraction(d), 3, p, q)), abs=1e-12)
    assert pair_losses(2).tolist() == [3.0, 2.0, 1.0, 0.0, 0.0]


def test_the_theorem_of_online_bmr_holds_on_the_rows_of_a_run():
    """Rank loss <= hinge <= sum of phi(0) + sum over learners of (c . h - c . u^Y)."""
    X, sets, _ = stream(250, 5)
    gamma, n = Fraction(1, 10), 5
    clf = boost(float(gamma), n_learners=n)
    clf.partial_fit(X, sets, classes=list("abcd"))
    booster, k = clf._model.chain.booster, 4
    sizes = [len(own) for own in sets if 0 < len(own) < k]
    phi = sum(float(potential(hinge, 0, n, *draws(k, size, gamma))) for size in sizes)
    # with gamma below all 1 / |Y|, c . u^Y = mean of c - gamma (|Y| mean of c - sum of c over Y)
    excess = (booster.vote_cost + float(gamma) * booster.weights).sum()
    lost = -clf._model.chain.end.log_v[-1]
    assert lost <= phi + excess + 1e-9
    assert lost > 0.0


# ------------------------------------------------------------------------------------------------------ the promises

KINDS = pytest.mark.parametrize(
    "kind",
    [
        {},
        {"gamma": 0.1},
        {"panel": True},
        pytest.param(
            {"panel": True, "memory_limit": "60MB"},
            marks=pytest.mark.filterwarnings("ignore:. of . labels have no panel"),
        ),
    ],
    ids=["adaptive", "gamma", "panels", "two panels"],
)


@KINDS
def test_how_the_stream_is_cut_makes_no_difference(kind):
    X, sets, weight = stream()
    whole = boost(**kind)
    want = in_blocks(whole, X, sets, weight, len(sets))
    for block in (1, 7, 100):
        clf = boost(**kind)
        got = in_blocks(clf, X, sets, weight, block)
        assert [{**dict.fromkeys(want[0], 0.0), **row} for row in got] == want
        assert state(clf) == state(whole)


@KINDS
def test_single_rows_and_threads_make_no_difference(kind):
    X, sets, weight = stream(160)
    blocks, rows, threads = boost(**kind), boost(**kind), boost(**kind, n_jobs=2)
    blocks.partial_fit(X, sets, sample_weight=weight)
    for x, own, w in zip(X.tolist(), sets, weight.tolist(), strict=True):
        rows.learn_one(x, own, w)
    for part in (slice(0, 70), slice(70, None)):
        threads.partial_fit(X[part], sets[part], sample_weight=weight[part])
    assert state(rows) == state(blocks) == state(threads)
    q = blocks.predict_proba(X[:20])
    assert [list(rows.predict_proba_one(x).values()) for x in X[:20].tolist()] == q.tolist()
    said = [set(blocks.classes_[own].tolist()) for own in blocks.predict(X[:20]) == 1]
    assert [rows.predict_one(x) for x in X[:20].tolist()] == said
    np.testing.assert_array_equal(threads.decision_function(X), blocks.decision_function(X))


@KINDS
def test_copies_pickles_and_files_go_on_bit_for_bit(kind, tmp_path):
    X, sets, weight = stream()
    clf = boost(**kind).partial_fit(X[:150], sets[:150], sample_weight=weight[:150])
    clf.save(tmp_path / "model.olb")
    others = [copy.deepcopy(clf), pickle.loads(pickle.dumps(clf)), load(tmp_path / "model.olb"), clf.snapshot()]
    clf.partial_fit(X[150:], sets[150:], sample_weight=weight[150:])
    for other in others:
        other.partial_fit(X[150:], sets[150:], sample_weight=weight[150:])
        assert state(other) == state(clf)
        np.testing.assert_array_equal(other.decision_function(X), clf.decision_function(X))
        assert repr(other) == repr(clf)


@KINDS
def test_predicting_changes_nothing_and_nothing_is_infinite(kind):
    X, sets, weight = stream(120)
    clf = boost(**kind).partial_fit(X, sets, sample_weight=weight)
    before = state(clf)
    q, s = clf.predict_proba(X), clf.decision_function(X)
    clf.rank(X), clf.predict_one(X[0].tolist())
    assert state(clf) == before
    assert ((q > 0.0) & (q < 1.0)).all()
    assert np.isfinite(s).all()
    assert (np.diff(np.take_along_axis(q, s.argsort(axis=1), axis=1), axis=1) >= 0.0).all()  # one order
    assert_finite(clf)


def test_weights_that_are_all_alike_and_rows_of_weight_0():
    X, sets, _ = stream(120)
    plainly, heavy = boost().partial_fit(X, sets), boost().partial_fit(X, sets, sample_weight=np.full(120, 7.0))
    np.testing.assert_array_equal(plainly.decision_function(X), heavy.decision_function(X))
    weight = np.ones(120)
    weight[40:60] = 0.0
    left_out = boost().partial_fit(X, sets, sample_weight=weight)
    keep = weight > 0.0
    kept = boost().partial_fit(X[keep], [own for own, there in zip(sets, keep, strict=True) if there])
    assert state(left_out) == state(kept)


def test_an_error_leaves_it_as_it_was():
    X, sets, _ = stream(100)
    clf = boost().partial_fit(X, sets)
    before = state(clf)
    for bad in ([{"a"}] * 5, ["a"] * 100, np.full((100, 3), 2), [{"a", None}] * 100, None):
        with pytest.raises((DataError, ValueError)):
            clf.partial_fit(X, bad)
        assert state(clf) == before
    with pytest.raises(DataError, match="is not a set of labels: give a set"):
        clf.learn_one(X[0].tolist(), "a")
    assert state(clf) == before


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.array([["a", "b"]]), "row 0: an indicator holds 0 and 1, got .*'a'"),
        (np.array([[1, None]], object), "row 0: an indicator holds 0 and 1, got None for 1"),
        (np.ma.array([[1, 0]], mask=[[False, True]]), "row 0: an indicator holds 0 and 1, got masked for 1"),
        (pd.DataFrame({"a": pd.array([None], "boolean")}), "row 0: an indicator holds 0 and 1, got <NA> for 'a'"),
        ([[0, 1, 0]], "row 0: .* is a row of an indicator: give the rows as one matrix"),
        ([np.array([0, 1, 0])], "row 0: .* is a row of an indicator"),
        ([np.array([True, False])], "row 0: .* is a row of an indicator"),
        ([[0, 1]], "row 0: .* may be the labels 0 and 1, or a row of an indicator: give the set"),
        ([(1.0, 0.0)], "row 0: .* may be the labels 0 and 1"),
        (np.zeros((1, 2, 2)), "(?s)row 0: .* is not a set of labels: labels are text, numbers or tuples"),
        ([[["a"]]], "row 0: .* is not a set of labels: labels are text, numbers or tuples"),
        ([{"a": "no"}], "row 0: a mapping holds True and False, got 'no' for 'a'"),
        ([{"a": np.nan}], "row 0: a mapping holds True and False, got nan for 'a'"),
    ],
    ids=range(13),
)
def test_labels_that_cannot_be_meant_are_refused(bad, words):
    X, sets, _ = stream(50)
    clf = boost().partial_fit(X, sets)
    before = state(clf)
    with pytest.raises(DataError, match=words):
        clf.partial_fit(X[:1], bad)
    if isinstance(bad, list):
        with pytest.raises(DataError, match=words.replace("row 0:", "the row:")):
            clf.learn_one(X[0].tolist(), bad[0])
    assert state(clf) == before
    with pytest.raises(DataError, match="in the sets of labels: row 2: the label is missing"):
        clf.partial_fit(X[:3], [{"a", "b"}, {"c"}, {None}])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("gamma", 0.0),
        ("gamma", "auto"),
        ("threshold", 1.0),
        ("threshold", "F1"),
        ("combiner", "weighted"),
        ("learner", 3),
    ],
)
def test_a_bad_setting_is_named(name, value):
    X, sets, _ = stream(40)
    with pytest.raises(ValueError, match=name) as error:
        boost(**{name: value}).partial_fit(X, sets)
    assert repr(value) in str(error.value)


# ------------------------------------------------------------------------------------------------- labels of all kinds


def test_an_indicator_a_sparse_matrix_a_frame_sets_and_mappings_are_the_same():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(120, 3)), (rng.random((120, 4)) < 0.4).astype(int)
    Y[0] = 1
    names = list("pqrs")
    frame = pd.DataFrame(Y, columns=names)
    ways = [
        frame,
        [[name for name, own in zip(names, row, strict=True) if own] for row in Y],
        [{name for name, own in zip(names, row, strict=True) if own} for row in Y],
        [dict(zip(names, map(bool, row), strict=True)) for row in Y],
    ]
    said = [boost().partial_fit(X, way).predict_proba(X) for way in ways]
    numbered = [boost().partial_fit(X, way).predict_proba(X) for way in (Y, sparse.csr_matrix(Y), Y.astype(bool))]
    for q in said + numbered:
        np.testing.assert_array_equal(q, said[0])


def test_lists_of_0_and_1_among_others_are_labels():
    X = np.random.default_rng(0).normal(size=(4, 2))
    clf = boost().partial_fit(X, [[0, 1], [0, 2], [1], [1, 0]])
    assert clf.classes_.tolist() == [0, 1, 2]
    same = boost().partial_fit(X, [{0, 1}, {0, 2}, {1}, {0, 1}])
    assert state(clf) == state(same)
    for both in ([[0, 1], [1, 0]], np.array([0, 1, 1, 0], object).reshape(2, 2).tolist()):
        with pytest.raises(DataError, match="may be the labels 0 and 1"):
            boost().partial_fit(X[:2], both)


def test_the_order_of_the_columns_of_an_indicator_makes_no_difference():
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(100, 3)), pd.DataFrame((rng.random((100, 4)) < 0.4).astype(int), columns=list("pqrs"))
    one, other = boost().partial_fit(X, Y), boost().partial_fit(X, Y[list("srqp")])
    assert state(one) == state(other)


def test_columns_of_an_indicator_are_known_and_later_ones_are_late_labels():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(90, 2)), (rng.random((90, 4)) < 0.5).astype(int)
    Y[:, 2] = 0
    clf = boost().partial_fit(X[:40], Y[:40, :3])
    assert clf.classes_.tolist() == [0, 1, 2]
    assert clf.predict(X).shape == (90, 3)
    clf.partial_fit(X[40:], Y[40:])
    assert clf.classes_.tolist() == [0, 1, 2, 3]
    assert clf.predict_proba(X).shape == (90, 4)


def test_rows_without_a_label_before_the_first_are_left_out():
    X, sets, _ = stream(60)
    whole = boost().partial_fit(X, [set(), set(), *sets[2:]])
    rows = boost()
    for x, own in zip(X.tolist(), [set(), set(), *sets[2:]], strict=True):
        rows.learn_one(x, own)
    assert state(whole) == state(rows)
    assert whole.n_samples_seen_ == 58
    assert boost().predict_one([1.0]) == set()


def test_rows_before_the_first_label_are_left_out_late_in_iterators_and_by_weight():
    late, clf = boost(), boost()
    tickets = [late.predict_pending([float(b)]) for b in range(3)]
    assert tickets[0].label == set()
    for ticket, own in zip(tickets, [set(), {"a"}, {"b"}], strict=True):
        late.learn_pending(ticket.ticket, own)
    clf.partial_fit([[0.0], [1.0], [2.0]], iter([set(), {"a"}, {"b"}]))
    assert state(late) == state(clf)
    assert late.n_samples_seen_ == 2
    assert late.predict_pending([1.0]).label == late.predict_one([1.0])
    assert boost().learn_one([0.0], iter("ab")).classes_.tolist() == ["a", "b"]
    weighted = boost().partial_fit([[3.0], [0.0], [1.0], [2.0]], [{"z"}, [], {"a"}, {"b"}], sample_weight=[0, 1, 1, 1])
    assert state(weighted) == state(clf)


def test_an_indicator_cut_into_blocks_makes_no_difference():
    rng = np.random.default_rng(4)
    X, Y = rng.normal(size=(80, 3)), (rng.random((80, 5)) < 0.3).astype(int)
    Y[:, 4] = 0
    whole, cut = boost().partial_fit(X, Y), boost()
    for b in range(0, 80, 8):
        cut.partial_fit(X[b : b + 8], Y[b : b + 8])
    assert state(whole) == state(cut)
    np.testing.assert_array_equal(whole.feature_importances_, cut.feature_importances_)


def test_rows_without_a_pair_teach_how_many_labels_there_are():
    X = np.random.default_rng(0).normal(size=(400, 2))
    nothing = boost().partial_fit(X, [["a", "b"], *[[]] * 399])
    everything = boost().partial_fit(X, [["a", "b"]] * 400)
    assert nothing.predict_proba(X).max() < 0.05
    assert everything.predict_proba(X).min() > 0.95
    assert (nothing.edges_ == 0.0).all()


def test_fixed_labels_and_fit():
    X, sets, _ = stream(100)
    clf = boost().partial_fit(X[:50], sets[:50], classes=list("abcdz"))
    assert clf.classes_.tolist() == list("abcdz")
    with pytest.raises(DataError, match="unknown label 'y'"):
        clf.partial_fit(X[:1], [{"y"}])
    again = clf.fit(X, sets)
    assert again is clf
    assert state(clf) == state(clone(clf).partial_fit(X, sets))
    before = state(clf)
    with pytest.raises(DataError, match="no row that counts has a label"):
        clf.fit(X, [[]] * 100)
    assert state(clf) == before
    assert boost().partial_fit(X[:1], [{"a"}], classes={"b", "a"}).classes_.tolist() == ["a", "b"]
    frame = pa.table({"q": [1, 0], "p": [1, 1]})
    assert boost().partial_fit(X[:2], frame).classes_.tolist() == ["p", "q"]


def test_the_threshold_follows_f1():
    X, sets, _ = stream(300, 2)
    half, f1 = boost().partial_fit(X, sets), boost(threshold="f1").partial_fit(X, sets)
    assert half.threshold_ == 0.5
    assert 0.05 < f1.threshold_ < 0.5
    assert (f1.predict(X) >= half.predict(X)).all()
    assert half.score(X[-50:], indicator(sets[-50:], half.classes_)) > 0.1


def test_ranks_are_places():
    X, sets, _ = stream(200)
    clf = boost().partial_fit(X, sets)
    s, places = clf.decision_function(X), clf.rank(X)
    assert places.sum(axis=1) == pytest.approx(s.shape[1] * (s.shape[1] + 1) / 2)
    assert (places.argmin(axis=1) == s.argmax(axis=1)).all()
    own = indicator(sets, clf.classes_)
    by_scores = np.mean(
        [rank_loss(row.tolist(), set(np.flatnonzero(y))) for row, y in zip(s[-80:], own[-80:], strict=True)]
    )
    assert by_scores < 0.4


def test_columns_may_turn_up_and_labels_come_late():
    clf = boost(columns="open")
    for b in range(40):
        clf.learn_one({"x": float(b % 3)}, ["a"] if b % 3 else [])
        ticket = clf.predict_pending({"x": 1.0, "z": 2.0}).ticket
        clf.learn_pending(ticket, {"a": False, "b": True})
    assert clf.classes_.tolist() == ["a", "b"]
    assert clf.feature_names_in_.tolist() == ["x", "z"]
    with pytest.raises(NotImplementedError, match="gives a set of labels"):
        clf.predict_set([[1.0, 2.0]])


def test_fit_drops_the_rows_that_wait():
    X, sets, _ = stream(60)
    clf = boost().partial_fit(X, sets).limit_pending(2)
    tickets = [clf.predict_pending(x).ticket for x in X[:3].tolist()]
    clf.fit(X, sets)
    assert (clf.n_pending_, clf.n_dropped_) == (0, 3)
    with pytest.raises(DataError, match="was dropped"):
        clf.learn_pending(tickets[2], {"a"})


def test_potentials_are_within_the_limit():
    X = np.random.default_rng(0).normal(size=(4, 2))
    clf = MultiLabelBoost(100, gamma=0.1).partial_fit(X, [{1}, {2}, {3}, {4}])
    assert clf.nbytes_by_part_["potentials"] == clf._model.chain.booster.psi.nbytes > 600_000
    for many in ({"classes": range(300)}, {}):
        clf = MultiLabelBoost(100, gamma=0.1, memory_limit="40MB")
        with pytest.raises(ValueError, match="memory_limit of 40,000,000 bytes is too small"):
            clf.partial_fit(X, [range(300), {1}, {2}, {3}], **many)
        assert not hasattr(clf, "_model")
    with pytest.raises(ValueError, match="300 classes"):
        MultiLabelBoost(2000, gamma=0.1).partial_fit(X, [range(300), {1}, {2}, {3}])


def test_labels_read_from_sets_are_in_one_order():
    assert label_sets([{"b", "a", 2, 10}]).rows[0] == [2, 10, "a", "b"]


# ------------------------------------------------------------------------------------------------------------ theorems


def test_bounds_of_label_ranking():
    gamma, k, relevant, n = Fraction(1, 8), 6, 2, 12
    p, q = draws(k, relevant, gamma)
    assert bmr_error(n, 0.125, k, relevant) == pytest.approx(float(potential(hinge, 0, n, p, q)), abs=1e-14)
    ranked = differences(n, p, q)
    lost = sum(share for d, share in ranked.items() if d < 0) + ranked[0] / 2
    assert bmr_error(n, 0.125, k, relevant, "rank") == pytest.approx(float(lost), abs=1e-14)
    assert lost <= bmr_error(n, 0.125, k, relevant) <= (n + 1) * np.exp(-(float(gamma) ** 2) * n / 2)
    for bad in ((n, 0.1, 6, 6), (n, 1.0, 6, 2), (n, 0.1, 6, 2, "log")):
        with pytest.raises(ValueError, match=r"relevant|gamma|loss"):
            bmr_error(*bad)


def test_the_bound_of_ada_olmr_holds_and_says_something():
    rng = np.random.default_rng(0)
    X = rng.integers(2, size=(3000, 3))
    sets = [np.flatnonzero(x).tolist() for x in X]
    clf = MultiLabelBoost(30, panel=False, combiner="hedge", weight_scale=20.0)
    run = prequential_labels(clf, X.astype(float), sets)
    assert run.metrics.rank_loss * 3000 <= olmr_bound(clf.edges_, 3000)
    assert olmr_bound([1.0] * 400, 1_000_000) < 30_000
    assert olmr_bound([0.0] * 5, 1000) >= 1000


def test_the_bound_of_ada_olmr_behind_panels_starts_from_what_they_lose(monkeypatch):
    """And without panels from log 2 a row."""
    rng, starts, begin = np.random.default_rng(0), [], Ranking.start
    X = rng.integers(2, size=(2000, 3))
    sets = [np.flatnonzero(x).tolist() for x in X]
    monkeypatch.setattr(Ranking, "start", lambda end, block: (starts.extend(block.rows.s.tolist()), begin(end, block)))
    clf = MultiLabelBoost(30, combiner="hedge", weight_scale=20.0).partial_fit(X.astype(float), sets, classes=range(3))
    losses = [pair_mean(lambda d: np.log1p(np.exp(-d)), s, set(own)) for s, own in zip(starts, sets, strict=True)]
    best = -clf._model.chain.end.log_v.max()
    assert len(losses) == 2000
    assert best <= olmr_bound(clf.edges_, 2000, start=sum(losses))
    assert sum(losses) < 0.1 * 2000 * np.log(2.0)
    assert olmr_bound([0.9] * 3000, 10**6, start=1e5) < olmr_bound([0.9] * 3000, 10**6)
    assert olmr_bound([0.9] * 30, 2000, start=2000 * np.log(2.0)) == olmr_bound([0.9] * 30, 2000)


# ------------------------------------------------------------------------------------------------- panels of the labels


def test_a_label_that_comes_late_was_on_no_row_before():
    X = np.random.default_rng(0).normal(size=(400, 2))
    sets = [{"a"} if b % 2 else {"b"} for b in range(400)]
    clf = boost(panel=True).partial_fit(X[:300], sets[:300]).learn_one(X[0].tolist(), {"c"})
    clf.partial_fit(X[300:320], sets[300:320])
    assert clf.predict_proba(X)[:, 2].mean() < 0.2
    assert [own.panel.state.alarm.counts.sum() for own in clf._model.chain.panel.labels] == [321.0] * 3
    assert [len(panel.resets()) for panel in clf._model.chain.panel.panels] == [0, 0, 0, 0]


def test_labels_without_room_for_a_panel_start_from_how_often_they_came():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2))
    Y = np.column_stack([X > 0.0, rng.random((300, 3)) < (0.9, 0.5, 0.02)]).astype(int)
    clf = boost(panel=True, memory_limit="60MB")
    with pytest.warns(UserWarning, match="3 of 5 labels have no panel.*memory_limit"):
        clf.partial_fit(X, Y)
    starts = clf._model.chain.head(X, 5, Combiner.LAST).rows.s
    had = Y.sum(axis=0)
    np.testing.assert_allclose(starts[:, 2:], np.tile(np.log((had + 0.5) / (300 - had + 0.5))[2:], (300, 1)))
    assert clf.nbytes_ < 60e6
    assert (clf.predict(X)[:, :2] == Y[:, :2]).mean() > 0.9
    with pytest.warns(UserWarning, match="2 of 2 labels have no panel"):
        boost(panel=True, memory_limit="8MB").partial_fit(X, Y[:, :2])


def test_rows_without_a_pair_teach_the_panels():
    X = np.random.default_rng(0).normal(size=(600, 2))
    sets = [{"a", "b"} if x[0] > 0.0 else set() for x in X]
    said = boost(panel=True).partial_fit(X[:500], sets[:500], classes=["a", "b"]).predict(X[500:])
    assert (said == indicator(sets[500:], ["a", "b"])).mean() > 0.9


def test_explanations_add_up_and_importances_find_the_columns():
    X = np.random.default_rng(1).normal(size=(400, 4))
    sets = [{name for name, value in zip("ab", x, strict=False) if value > 0.0} for x in X]
    clf = boost(panel=True).partial_fit(X, sets)
    found = clf.explain(X[0].tolist())
    np.testing.assert_allclose(found.scores, clf.decision_function(X[:1])[0], atol=1e-9)
    np.testing.assert_allclose(found.contributions.sum(axis=0) + sum(found.others.values()), found.scores, atol=1e-9)
    np.testing.assert_allclose(sum(found.groups.values()), found.scores, atol=1e-9)
    assert clf.feature_importances_[:2].sum() > 0.8
    assert len(clf.voices_) == 10
    assert "panel" in clf.nbytes_by_part_


# ------------------------------------------------------------------------------------------------------------- metrics


def test_metrics_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    Y, scores = rng.random((300, 5)) < 0.4, rng.integers(6, size=(300, 5)) / 6.0
    Y[:5], Y[5:9] = False, True
    said, weight = scores > 0.5, rng.uniform(0.5, 2.0, 300)
    found = LabelMetrics().update(Y[:100], scores[:100], said[:100], weight[:100])
    found.update(Y[100:], scores[100:], said[100:], weight[100:])
    assert found.rank_loss * weight.sum() == pytest.approx(
        sum(w * rank_loss(s, set(np.flatnonzero(y))) for w, s, y in zip(weight, scores.tolist(), Y, strict=True))
    )
    strict = rng.random((300, 5))
    assert rank_losses(Y, strict).mean() == pytest.approx(label_ranking_loss(Y, strict))
    assert found.coverage == pytest.approx(coverage_error(Y, scores, sample_weight=weight))
    assert coverages(Y, scores).mean() == pytest.approx(coverage_error(Y, scores))
    assert found.hamming == pytest.approx(hamming_loss(Y, said, sample_weight=weight))
    assert found.exact == pytest.approx(accuracy_score(Y, said, sample_weight=weight))
    assert found.micro_f1 == pytest.approx(f1_score(Y, said, average="micro", sample_weight=weight))
    assert found.macro_f1 == pytest.approx(f1_score(Y, said, average="macro", sample_weight=weight))


@pytest.mark.parametrize(
    ("Y", "scores", "said", "weight", "words"),
    [
        ([1, 0], [0.5, 0.1], [1, 0], None, "of one shape"),
        ([[1, 0]], [[0.5]], [[1, 0]], None, "of one shape"),
        ([[1, 0]], [[0.5, 0.1]], [[1]], None, "of one shape"),
        ([[1, 0]], [[np.nan, 0.1]], [[1, 0]], None, "no score NaN"),
        ([[1]], [[0.1]], [[1]], None, "2 labels before, and now 1"),
        ([[1, 0]], [[0.5, 0.1]], [[1, 0]], [-1.0], "not negative"),
    ],
)
def test_bad_rows_are_not_measured(Y, scores, said, weight, words):
    found = LabelMetrics().update([[1, 0]], [[0.5, 0.1]], [[1, 1]])
    before = str(found)
    with pytest.raises(DataError, match=words):
        found.update(Y, scores, said, weight)
    assert str(found) == before


def test_a_run_predicts_then_learns_in_blocks_of_any_size():
    X, sets, _ = stream(230)
    runs = [prequential_labels(boost(), X, sets, block=block) for block in (1, 50, 1000)]
    assert len({str(run.metrics) for run in runs}) == len({str(run.tail) for run in runs}) == 1
    assert runs[0].metrics.rows == 230
    assert runs[0].tail.rows == 46
    assert "rank_loss" in str(runs[0])
    assert prequential_labels(boost(), X, sets, tail=0.0).tail.rows == 0
    for bad, words in (
        ({"tail": 2}, "tail must be"),
        ({"block": 0}, "block must be"),
        ({"block": -5}, "block must be"),
    ):
        with pytest.raises(ValueError, match=words):
            prequential_labels(boost(), X, sets, **bad)
    for rows in (sets[:200], [*sets, {"a"}]):
        with pytest.raises(DataError, match="X has 230 rows and Y has"):
            prequential_labels(boost(), X, rows)


def test_rivers_labels_are_mappings():
    river = pytest.importorskip("onlineboost.river")
    from river.base import MultiLabelClassifier

    model = river.MultiLabelBoost(n_learners=5, seed=1)
    assert isinstance(model, MultiLabelClassifier)
    assert model.predict_one({"x": 1.0}) == {}
    for b in range(60):
        model.learn_one({"x": float(b % 2)}, {"a": b % 2 == 0, "b": b % 2 == 1})
    assert model.predict_one({"x": 0.0}) == {"a": True, "b": False}
    assert model.predict_proba_one({"x": 1.0})["a"][True] < 0.5
    frame = pd.DataFrame({"x": [0.0, 1.0]})
    assert model.predict_many(frame).to_dict("records") == [model.predict_one({"x": x}) for x in (0.0, 1.0)]
    assert model.clone().predict_one({"x": 1.0}) == {}


@pytest.mark.parametrize("name", ["adaptive", "gamma"])
def test_files_from_before_there_were_panels_go_on_as_they_did(name):
    X, y, weight = golden_stream()
    sets = [{label, *("e" * (b % 3 == 0))} for b, label in enumerate(y)]
    clf, end = (load(Path(__file__).parent / "golden_files" / "several-labels" / f"{name}-{at}.olb") for at in GOLDEN)
    assert clf.panel is False
    clf.partial_fit(X[420:], sets[420:], sample_weight=weight[420:])
    assert state(clf) == state(end)
    np.testing.assert_array_equal(clf.predict_proba(X), end.predict_proba(X))
