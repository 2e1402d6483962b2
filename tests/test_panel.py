"""The panel ahead of the chain: every member is what its twin says, and nothing grows without bound."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.optimize import brentq

import reference
from helpers import arrays_of, in_blocks, learn_panel, mixed_stream, number_stream, plain, twins_of
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier
from onlineboost._compile.jit import entry_kernel
from onlineboost._compile.random import MIX, uniform
from onlineboost.contracts.state import made
from onlineboost.contracts.state import values as leaves_of
from onlineboost.panel import eager_trees as eager
from onlineboost.panel import refits
from onlineboost.panel.columns import Dense, Metric, densify
from onlineboost.panel.combiner import (
    BOUND,
    PATIENCE,
    TOO_MUCH,
    ResetTest,
    combine,
    learn_newton,
    new_newton,
    new_newton_work,
    should_reset,
)
from onlineboost.panel.cosines import N_COSINES, cosine
from onlineboost.panel.least_squares import MOST, LeastSquares, learn_squares, score
from onlineboost.panel.neighbours import nearest, new_neighbours_work, start_distances
from onlineboost.panel.panel import ask_panel, begin, new_panel_work
from onlineboost.panel.remembered import RECENT, take_place, weigh_classes
from onlineboost.panel.state import COLUMNS, ROWS, new_panel, packed, room_for_rows, with_classes, with_room
from onlineboost.trees.compact import join
from reference_panel import Memory, Newton, Panel, Panelled, frequencies

SEED = 3


def fresh(n_numeric, n_nominal, k, n_values=0, n_rows=0):
    panel = new_panel(n_numeric, n_nominal, SEED)
    begin(panel)
    panel = with_room(with_classes(panel, k), columns=min(n_numeric + n_values, panel.shared.stats.most))
    return room_for_rows(panel, n_rows)


def encoded(n, seed):
    """A mixed stream: rows for the twin, the same as an array, labels as codes in order of appearance, weights."""
    X, y, weight = mixed_stream(n, seed=seed)
    rows = plain(X)
    codes = {label: code for code, label in enumerate(dict.fromkeys(y))}
    array = np.array([[np.nan if v is None else float(v) for v in row] for row in rows])
    return rows, array, np.array([codes[label] for label in y]), weight


def learn(panel, X, y, weight, k):
    panel = room_for_rows(panel, len(y))
    work, s = new_panel_work(panel, k), np.zeros((len(y), k))
    learn_panel(panel, X, y, weight, k, work, s)
    return panel, work, s


# ----------------------------------------------------------------------------------------------------------- twins


@pytest.mark.parametrize("seed", [0, 1])
def test_all_members_are_those_of_the_twin_on_every_row(seed):
    """Numbers, nominal values that turn up, missing values, weights; from the first row on, past the rare refreshes.

    The second stream begins with a glitch, a difference that is no more than rounding, and numbers in another unit.
    """
    rows, X, y, weight = encoded(90 if seed == 0 else 40, seed)
    if seed == 1:
        X[0, 0], X[:2, 1], X[:12, 2] = 1e6, [0.3, 0.1 + 0.2], 1e9 + X[:12, 2]
        rows = [[None if v != v else v for v in row] for row in X.tolist()]
    k, n_numeric = int(y.max()) + 1, 3
    panel, twin = fresh(n_numeric, 2, k, n_values=20), Panel(n_numeric, 2, SEED)
    for b, x in enumerate(rows):
        want = twin.ask(x, k)
        work, before = new_panel_work(panel, k), np.zeros((1, k))
        ask_panel(panel, X[b : b + 1], k, work, before)
        np.testing.assert_allclose(work.newton.logits, twin.logits, atol=2e-4, err_msg=f"row {b}")
        panel, _, s = learn(panel, X[b : b + 1], y[b : b + 1], weight[b : b + 1], k)
        np.testing.assert_array_equal(s, before)
        np.testing.assert_allclose(s[0], want, atol=1e-3)
        twin.learn(int(y[b]), weight[b])
    n = panel.shared.stats.used[COLUMNS]
    np.testing.assert_allclose(panel.shared.stats.columns.weight[:n], twin.columns.weight, rtol=1e-6)
    np.testing.assert_allclose(panel.newton.beta, twin.newton.beta, atol=1e-3)


def swapped_stream(n, change, seed=0, turn=1 << 30):
    """Classes that are easy to tell, with missing values; after `change` rows each has the name of the next one.

    After `turn` more rows that of the one after the next, and so on by turns.
    """
    rng = np.random.default_rng(seed)
    X, y, weight = mixed_stream(n, seed=seed, n_classes=3)
    code = np.array(["abc".index(label) for label in y])
    X[:, 1], X[:, 3] = code + rng.normal(0.0, 0.1, n), 10.0 * (code == 1)
    after = np.arange(n) - change
    y = np.where(after < 0, y, np.array(["a", "b", "c"])[(code + 1 + after // turn % 2) % 3])
    return X, y, weight


@pytest.mark.parametrize("change", [None, 200])
def test_a_whole_run_is_that_of_the_twin(change):
    """Panel, boosted trees and the last combiner; classes turn up on the way, or the panel has to begin anew."""
    X, y, weight = mixed_stream(60, seed=5) if change is None else swapped_stream(260, change, turn=16)
    tree = HoeffdingTree(grace_period=15, tie_threshold=0.4)
    clf = OnlineBoostClassifier(5, learner=tree, weight_scale=(0.7, 3.0), restart="never", random_state=SEED)
    fresh_clf = OnlineBoostClassifier(**clf.get_params(deep=False)).partial_fit(X[:1], y[:1])
    said = in_blocks(clf, X, y, 50, weight)
    past = reference.Past(3, 2)
    forest = join([segment.learners.forest for segment in fresh_clf._model.chain.segments])
    trees = twins_of(forest, past, SEED)
    scale = clf._model.chain.gather("scale").tolist()
    twin = Panelled(Panel(3, 2, SEED), trees, scale, SEED)
    names = clf._model.labels.names
    want = reference.run(twin, past, plain(X), [names.index(label) for label in y], weight)
    assert said == [None if code is None else names[code] for code in want]
    np.testing.assert_allclose(clf.alphas_, twin.alpha, atol=1e-4)
    np.testing.assert_allclose(list(clf.voices_.values())[10:], twin.newtons[0].beta, atol=1e-3)
    np.testing.assert_allclose(clf._model.chain.end.slow.beta, twin.newtons[1].beta, atol=1e-3)
    np.testing.assert_allclose(clf._model.chain.end.mixture.share, twin.share, atol=1e-3)
    np.testing.assert_allclose(clf._model.chain.end.mixture.lost, twin.lost, rtol=1e-3)
    assert [event.row for event in clf.events_ if event.kind == "new panel"] == twin.begun
    assert len(twin.begun) == (0 if change is None else 1)


@pytest.mark.parametrize("rows", [5, 300, 900])
@pytest.mark.parametrize("alike", [False, True])
def test_the_nearest_rows_are_those_by_all_columns(rows, alike):
    """Columns that tell little are left out at first; not for long, if rows are alike in the others."""
    rng, columns = np.random.default_rng(rows), 60
    stored, values = rng.integers(0, 3, (columns, rows)).astype(np.float32), rng.integers(0, 3, columns) + 0.0
    metric = made(Metric, {"classes": 2, "columns": columns}, {})
    metric.variance[:] = 1.0
    metric.weight[:] = np.where(np.arange(columns) % 4 == 0, 2.0, 0.25)  # sums of their squares are exact
    if alike:
        stored[::4] = 1.0
    work = new_neighbours_work(rows, columns)
    start_distances(work, stored, values, metric, columns, rows)
    assert work.n_minor[0] == 45
    distance = (((stored - values[:, None]) * metric.weight[:, None]) ** 2).sum(axis=0)
    for most in (4, 12):
        found = nearest(work, stored, values, metric.weight, rows, most)
        best = np.lexsort((np.arange(rows), distance))[:most]
        assert work.rows[:found].tolist() == best.tolist()
        np.testing.assert_array_equal(work.squares[:found], distance[best])
    assert rows < 12 or work.n_minor[0] == (0 if alike else 45)


def test_the_flagship_is_adaboost_olm_with_a_panel():
    X, y, _ = mixed_stream(90, seed=2)
    own, other = OnlineBoostClassifier(6), AdaBoostOLM(6, panel=True)
    assert in_blocks(own, X, y, 40) == in_blocks(other, X, y, 40)
    assert own.voices_ == other.voices_
    with pytest.raises(AttributeError, match="panel=True"):
        AdaBoostOLM(3).partial_fit(X, y).voices_  # noqa: B018


def test_newton_is_its_twin_and_ends_near_the_best_coefficients():
    rng = np.random.default_rng(0)
    k, truth = 4, np.array([0.8, 0.0, -0.3])
    state, twin, work = new_newton([0.3] * 3), Newton([0.3] * 3), new_newton_work(3, k)
    for _ in range(3000):
        logits = rng.normal(size=(3, k))
        logits -= logits.mean(axis=1, keepdims=True)
        p = np.exp(truth @ logits)
        y, weight = rng.choice(k, p=p / p.sum()), rng.uniform(0.5, 1.5)
        work.logits[:] = logits
        combine(state, work, k)
        np.testing.assert_allclose(work.p, twin.combine(logits)[1], rtol=1e-7)
        learn_newton(state, work, k, y, weight)
        twin.learn(logits, y, weight)
    np.testing.assert_allclose(state.beta, twin.beta, atol=1e-7)
    np.testing.assert_allclose(state.beta, truth, atol=0.25)


def test_cosines_and_their_frequencies():
    turns = np.linspace(-40.0, 40.0, 4001)
    np.testing.assert_allclose([cosine(t) for t in turns], np.cos(2.0 * np.pi * turns), atol=1e-10)
    panel = fresh(3, 0, 2)
    np.testing.assert_allclose(2.0 * np.pi * panel.members.cosines.frequencies.T, frequencies(SEED, 3, 3), atol=1e-12)
    assert panel.members.cosines.frequencies.shape == (3, N_COSINES)


# ---------------------------------------------------------------------------------------------------------- promises


def test_tampering_with_the_future_changes_no_prediction_of_the_past():
    X, y, weight = mixed_stream(240, seed=2)
    honest = OnlineBoostClassifier(6).test_then_train(X, y, sample_weight=weight)
    for n in (60, 150):
        tampered_X, tampered_y = X.copy(), y.copy()
        tampered_X[n:, 1] = [float(v) for v in np.random.default_rng(n).normal(1e3, 50.0, len(y) - n)]
        tampered_X[n:, 0] = "another colour"
        tampered_y[n:] = y[n:][::-1]
        said = OnlineBoostClassifier(6).test_then_train(tampered_X, tampered_y, sample_weight=weight)
        assert said[:n].tolist() == honest[:n].tolist()


def test_a_new_class_is_as_if_it_had_been_there_without_a_row():
    """In every member; what the combiner made of them before depends on how many classes there were."""
    _, X, y, weight = encoded(200, 1)
    k = int(y.max()) + 1
    whole, _, _ = learn(fresh(3, 2, k, n_values=20), X, y, weight, k)
    grown, start = fresh(3, 2, 1, n_values=20), 0
    for b in range(len(y)):
        known = int(y[: b + 1].max()) + 1
        if b + 1 == len(y) or int(y[b + 1]) + 1 > known:
            grown, _, _ = learn(
                with_classes(grown, known), X[start : b + 1], y[start : b + 1], weight[start : b + 1], known
            )
            start = b + 1
    grown = {leaf.name: array for leaf, array in leaves_of(packed(grown))}
    for name, array in ((leaf.name, array) for leaf, array in leaves_of(packed(whole))):
        if name.split(".")[0] in ("columns", "scores", "linear", "curved", "neighbours"):
            np.testing.assert_allclose(array, grown[name], atol=1e-9, err_msg=name)
        elif name.startswith("eager."):
            np.testing.assert_array_equal(array, grown[name], err_msg=name)


def test_the_panel_begins_anew_when_it_is_of_no_use_any_more():
    """Soon after all classes have swapped their names; blocks, threads, copies and files make no difference."""
    X, y, weight = swapped_stream(6400, 6000)
    clf = OnlineBoostClassifier(5).partial_fit(X[:5950], y[:5950], sample_weight=weight[:5950])
    before, (X, y, weight) = pickle.dumps(clf), (X[5950:], y[5950:], weight[5950:])
    said = np.array(in_blocks(clf, X, y, 450, weight))
    (event,) = [event for event in clf.events_ if event.kind == "new panel"]
    assert 6000 + PATIENCE < event.row <= 6060
    assert str(event) == f"row {event.row:,}: the panel was reset, since the stream had changed"
    assert clf._model.chain.panel.state.shared.stats.used[ROWS] == 6400 - event.row
    assert np.mean(said[150:] == y[150:]) > 0.97
    for size, jobs in ((1, None), (7, None), (64, 2)):
        other = pickle.loads(before).set_params(n_jobs=jobs)
        assert in_blocks(other, X, y, size, weight) == said.tolist()
        assert other.events_ == clf.events_
    half, rest = pickle.loads(before), slice(event.row - 5950, None)
    half.partial_fit(X[: rest.start], y[: rest.start], sample_weight=weight[: rest.start])
    half = pickle.loads(pickle.dumps(half))
    assert in_blocks(half, X[rest], y[rest], 50, weight[rest]) == said[rest].tolist()


def test_a_burst_of_wrong_labels_does_not_make_the_panel_begin_anew():
    X, y, _ = swapped_stream(700, 500)
    y[530:] = swapped_stream(700, 700)[1][530:]  # after 30 rows they have their names again
    clf = OnlineBoostClassifier(5).partial_fit(X, y)
    assert all(event.kind != "new panel" for event in clf.events_)


def test_a_still_stream_never_makes_the_panel_begin_anew():
    """Not even labels at random, in any number of classes, or rare ones."""
    rng = np.random.default_rng(0)
    for k in (2, 5):
        X, y = rng.normal(size=(3000, 3)), rng.choice(k, 3000, p=rng.dirichlet(np.ones(k)))
        clf = OnlineBoostClassifier(2).partial_fit(X, y)
        assert all(event.kind != "new panel" for event in clf.events_)
        assert clf._model.chain.panel.state.alarm.lead[0] < TOO_MUCH / 2


def test_a_panel_that_is_right_is_rarely_taken_for_lost():
    """If its probabilities are right, `lead` is above h after e^h rows in the mean, or later; if not, much sooner."""
    rng, waits = np.random.default_rng(0), {True: [], False: []}
    for right, found in waits.items():
        for _ in range(100):
            alarm, t = made(ResetTest, {"classes": 3}, {}), 0
            while alarm.lead[0] <= 3.0 and t < 300:
                p = rng.dirichlet(np.ones(3))
                should_reset(alarm, p, 3, int(rng.choice(3, p=p) if right else rng.integers(3)), 1.0)
                t += 1
            found.append(t)
    assert np.mean(waits[False]) < np.exp(3.0) <= np.mean(waits[True])


def test_a_panel_that_is_a_little_wrong_begins_anew_as_seldom_as_the_theorem_says():
    """Wrong by .25 log k, less than the .3 log k of slack: once in e^(theta h) rows at most, but it does."""
    rng, wrong = np.random.default_rng(0), (1.0 + np.sqrt(1.0 - 2.0**-0.5)) / 2.0
    p, waits = np.array([wrong, 1.0 - wrong]), []  # two classes that cannot be told apart
    step = -np.log(p) - np.log(2.0) - 0.3 * np.log(2.0)
    theta = brentq(lambda x: np.log(np.exp(x * step).mean()), 0.01, 10.0)
    for _ in range(10):
        alarm = made(ResetTest, {"classes": 2}, {})
        alarm.counts[:] = 1e9
        waits.append(next(t for t in range(1, 10**6) if should_reset(alarm, p, 2, int(rng.integers(2)), 1.0)))
    assert np.exp(theta * TOO_MUCH) <= np.mean(waits) <= 30_000


@pytest.mark.parametrize("k", [2, 10, 26, 300])
def test_a_panel_of_no_use_is_lost_soon_in_any_number_of_classes(k):
    alarm, p = made(ResetTest, {"classes": k}, {}), np.full(k, 1e-6)
    alarm.counts[:] = 100.0
    lost = [should_reset(alarm, p, k, t % k, 1.0) for t in range(30 + PATIENCE)]
    assert not any(lost[:PATIENCE])
    assert lost[-1]


def test_memory_is_bounded_and_trees_start_again_at_different_times():
    """Labels at random: trees split at every other row."""
    rng = np.random.default_rng(0)
    panel, used = fresh(3, 0, 3), []
    for _ in range(30):
        X, y = rng.normal(size=(1000, 3)), rng.integers(3, size=1000)
        panel, _, _ = learn(panel, X, y, np.ones(1000), 3)
        used.append(panel.members.eager.used[:, 0].copy())
    assert panel.members.eager.nodes.shape[1] <= eager.NODES
    assert panel.members.eager.values.shape[0] == eager.MEMORY
    assert (np.diff(used, axis=0) < 0).any(axis=0).all()  # every tree has started again
    assert np.std(used[-1]) > 500.0  # and they are not of one age
    assert sum(array.nbytes for array in arrays_of(panel)) < 25e6
    assert panel.shared.stats.used[ROWS] == 30_000


def test_what_refitted_trees_say_of_remembered_rows_is_kept_up():
    """Past the oldest row that is remembered, and past a new class: votes are the sums over all trees."""
    _, X, y, weight = encoded(400, 3)
    X, y, weight = np.tile(X, (12, 1)), np.tile(y, 12), np.tile(weight, 12)
    k = int(y.max()) + 1
    panel = fresh(3, 2, k, n_values=20)
    for start in range(0, len(y), 700):
        block = slice(start, start + 700)
        panel, _, _ = learn(panel, X[block], y[block], weight[block], k)
    own, rows = panel.members.refits, panel.shared.neighbours
    assert len(rows.y) == RECENT < len(y)
    assert (own.columns >= refits.SCORES).any()
    for row in range(0, RECENT, 97):
        total = np.zeros(k)
        for tree in range(refits.TREES):
            at = 1
            while (column := own.columns[tree, at]) != refits.NONE:
                value = (
                    rows.scores[column - refits.SCORES, row] if column >= refits.SCORES else rows.values[column, row]
                )
                at = 2 * at + int(value > own.thresholds[tree, at])
            total += own.votes[tree, at, :k]
        np.testing.assert_allclose(own.said[row, :k], total, atol=1e-4)


@entry_kernel
def _place(rows, t, k, y):
    return take_place(rows, t, k, y)


@entry_kernel
def _weigh(rows, shared, k):
    weigh_classes(rows, None, shared, None, 0, k)


def test_rows_of_rare_classes_stay_longer_and_weigh_less():
    """Class 1 is rare, then frequent; class 2 comes early and never again; where each row is, and what it counts."""
    rng, k, T = np.random.default_rng(0), 3, 2 * RECENT
    y = np.where(rng.random(T) < np.where(np.arange(T) < 1.6 * RECENT, 0.01, 0.4), 1, 0)
    y[100:150] = 2
    rows = with_room(with_classes(new_panel(1, 0, SEED), k), recent=RECENT).shared.neighbours
    shared = new_panel(1, 0, SEED).shared
    twin, places, oldest = Memory(k), [], []
    for t, label in enumerate(y.tolist()):
        places.append(_place(rows, t, k, label))
        rows.y[places[-1]] = label
        twin.learn(label)
        if t in (RECENT + 700, T - 1):
            shared.stats.used[ROWS] = t + 1
            _weigh(rows, shared, k)
            np.testing.assert_allclose(1.0 - rows.less, twin.factors(), rtol=1e-6)
            assert [places[number] for number in twin.places] == list(range(RECENT))
            oldest.append([min(n for n in twin.places if y[n] == c) for c in range(k)])
            np.testing.assert_array_equal(rows.held, np.bincount(y[twin.places]))
    assert oldest[0][1] < 100
    assert oldest[0][0] > 600  # frequent ones go in order
    assert twin.held(2) == 50
    assert twin.factors()[2] < 0.9


def test_what_no_row_shows_is_not_forgotten_without_end():
    """A column that is constant for long: P would double every 1400 rows."""
    squares, rng = made(LeastSquares, {"classes": 2, "inputs": 4}, {}), np.random.default_rng(0)
    x, u, scores = np.zeros(4), np.zeros(4), np.zeros(2)
    for b in range(20_000):
        x[:] = 1.0, rng.normal(), 0.0, float(b % 5000 == 0)
        score(squares, x, 4, 2, scores)
        learn_squares(squares, x, 4, scores, 2, int(x[1] > 0.0), 1.0, u)
    assert (np.diag(squares.P) > 0.0).all()
    assert squares.P.max() <= MOST
    assert np.isfinite(squares.W).all()


def test_more_nominal_values_than_columns_share_them():
    rng = np.random.default_rng(0)
    X = np.array([[f"value {v}" for v in rng.integers(120, size=3)] for _ in range(900)], object)
    y = np.array([len(row[0]) % 3 for row in X])
    clf = OnlineBoostClassifier(3)
    said = in_blocks(clf, X, y, 200)
    panel = clf._model.chain.panel.state
    assert panel.shared.stats.used[COLUMNS] == panel.shared.stats.most == 150
    twin = OnlineBoostClassifier(3)
    assert in_blocks(twin, X, y, 37) == said
    assert np.mean(np.array(said[500:]) == y[500:]) > 0.8  # three quarters have two digits


@pytest.mark.filterwarnings("ignore:the panel tells 1,024 numeric columns apart")
def test_very_wide_rows_are_folded():
    """More numeric columns than dense ones: the same in any blocks, and still learned."""
    rng = np.random.default_rng(2)
    y = rng.integers(3, size=400)
    X = rng.normal(size=(400, 1500)) + y[:, None] * (np.arange(1500) % 50 == 0) * 1.5
    X[rng.random(X.shape) < 0.01] = np.nan
    clf = OnlineBoostClassifier(1)
    said = in_blocks(clf, X, y, 150)
    assert clf._model.chain.panel.state.shared.stats.used[COLUMNS] == 1024
    assert in_blocks(OnlineBoostClassifier(1), X, y, 64) == said
    assert np.mean(np.array(said[200:]) == y[200:]) > 0.9


def test_numeric_columns_beyond_the_widest_are_added_to_the_first():
    """Column c to column c % 4, with a sign that is drawn. Those that share with none are as ever."""
    rows = made(Dense, {"numeric": 6, "columns": 4}, {"n_numbers": 4, "offset": 6})
    rows.unit[:] = 1.0
    signs = [1.0 if uniform(7, MIX, 1, c) < 0.5 else -1.0 for c in (4, 5)]
    for x, values, there in (
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0 + 5.0 * signs[0], 2.0 + 6.0 * signs[1], 3.0, 4.0], [1, 1, 1, 1]),
        ([np.nan, 2.0, np.nan, 4.0, 5.0, np.nan], [5.0 * signs[0], 2.0, 9.0, 4.0], [1, 1, 0, 1]),
    ):
        out, found = np.empty(4), np.empty(4)
        densify(rows, 7, np.array(x), np.full(4, 9.0), 4, out, found)
        assert out.tolist() == values
        assert found.tolist() == there


def test_it_learns_what_trees_find_hard():
    """A sum of many columns: least squares see it, single cuts do not."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1500, 12))
    y = (X.sum(axis=1) > 0.0).astype(int)
    said = OnlineBoostClassifier(10).test_then_train(X, y)
    assert np.mean(said[500:] == y[500:]) > 0.95


def test_voices_are_named_and_count():
    X, y = number_stream(200)
    voices = OnlineBoostClassifier(10).fit(X, y).voices_
    assert len(voices) == 10 + 3 + 5
    assert all(abs(beta) <= BOUND for beta in voices.values())
