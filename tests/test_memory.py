"""A model keeps to its memory limit at every moment, and does without what promises least: the twin's rule."""

from __future__ import annotations

import pickle
import re
import warnings
from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import onlineboost
import reference
from contract.kinds import MEMBERS, every_estimator, with_little_memory
from helpers import (
    assert_same_tree,
    forest_of,
    forests,
    frozen,
    in_blocks,
    leaf_rows,
    leaves,
    mixed_stream,
    model_state,
    n_inner,
    number_stream,
    plain,
    twins_of,
)
from onlineboost import (
    AdaBoostOLM,
    AdaBoostOVA,
    EagerTrees,
    HoeffdingTree,
    LeastSquares,
    NearestNeighbours,
    OneVsAll,
    OnlineBoostClassifier,
    OnlineMBBM,
    RefittedTrees,
)
from onlineboost.chain.memory_budget import capacity
from onlineboost.estimators.memory import bytes_of
from onlineboost.trees import shrink
from onlineboost.trees import state as tables
from onlineboost.trees.compact import join, select
from onlineboost.trees.state import GAVE_UP, N_FREE_ROWS, N_FREE_STATS, N_LOST, N_NODES, N_ROWS, N_STATS, with_room

QUICK = {"grace_period": 12, "split_confidence": 0.1, "tie_threshold": 0.3, "max_features": 0.6}


def accounts(forest):
    """What each tree has, counted by walking: nodes, class rows, rows of statistics."""
    counted = []
    for root in forest.roots:
        nodes, rows, stats = [int(root)], 0, 0
        for at in nodes:
            record = forest.nodes[at]
            if record["feature"] >= 0:
                nodes += range(record["first"], record["first"] + forest.details[at]["n_children"])
            else:
                own = leaf_rows(forest, at)
                rows += len(own)
                stats += sum(int(forest.rows[row]["stat"] >= 0) for row in own)
        counted.append((len(nodes), rows, stats))
    return counted


def assert_accounts(forest):
    """The budgets say what there is, no tree has more than it may, and nothing is lost in the tables."""
    own = forest.budget
    assert accounts(forest) == list(zip(own["nodes"], own["rows"], own["stats"], strict=True))
    for part in ("nodes", "rows", "stats"):
        assert (own[part] <= own["most_" + part]).all(), part
    used = forest.used
    assert used[N_NODES] - used[N_LOST] == own["nodes"].sum()
    assert used[N_ROWS] - used[N_FREE_ROWS] == own["rows"].sum()
    assert used[N_STATS] - used[N_FREE_STATS] == own["stats"].sum()


# ------------------------------------------------------------------------------------------------------- the twin


def numeric(seed):
    X, y = number_stream(500, seed=seed)
    return X, y, np.random.default_rng(seed).uniform(0.3, 2.0, len(y)), ()


def nominal(seed):
    """All values and classes come early: from then on a tree's share is what it is at the end."""
    rng = np.random.default_rng(seed)
    X = rng.integers(3, size=(400, 3)).astype(str).astype(object)
    y = np.array(["a", "b", "c"])[(X[:, 0].astype(int) * X[:, 1].astype(int) + (rng.random(400) < 0.2)) % 3]
    return X, y, rng.uniform(0.3, 2.0, 400), (0, 1, 2)


@pytest.mark.parametrize("seed", [1, 3])
@pytest.mark.parametrize("leaf", ["majority", "nb", "nba"])
@pytest.mark.parametrize(("make", "limit"), [(numeric, 7_000), (numeric, 12_000), (nominal, 8_000), (nominal, 16_000)])
def test_a_tree_at_its_limit_is_its_twin(make, limit, leaf, seed):
    X, y, weight, columns = make(seed)
    names = list(dict.fromkeys(y.tolist()))
    clf = HoeffdingTree(leaf_prediction=leaf, random_state=seed, memory_limit=limit, **QUICK)
    said = in_blocks(clf, X, y, 64, weight)
    past = reference.Past(X.shape[1] - len(columns), len(columns))
    (tree,) = twins_of(forest_of(clf), past, clf._model.chain.seed)
    twin = reference.PlainTree(tree, clf._model.chain.seed)
    want = reference.run(twin, past, plain(X, columns), [names.index(label) for label in y], weight)
    forest = forest_of(clf)
    assert n_inner(forest) >= 2
    assert tree.bar >= 0.0 or tree.refused  # or the comparison would say little
    assert_same_tree(forest, 0, tree.root, lead=leaf != "majority")
    assert said == [None if code is None else names[code] for code in want]
    assert forest.budget["refused"][0] == tree.refused
    np.testing.assert_allclose(forest.budget["bar"][0], tree.bar, rtol=1e-8)
    assert clf.memory_["leaves without statistics"] == sum(leaf.gave_up for leaf in tree.leaves())
    assert_accounts(forest)


# ------------------------------------------------------------------------------------------------- kept at all times


WEAK = EagerTrees(), NearestNeighbours(), LeastSquares(cosines=False), RefittedTrees(), HoeffdingTree()
BOOSTERS = AdaBoostOLM, OnlineMBBM, OneVsAll, OnlineBoostClassifier
QUICK_PAIRS = (AdaBoostOLM, WEAK[2]), (OneVsAll, WEAK[0]), (OnlineMBBM, WEAK[4])  # others compile kernels of their own
PAIRS = [
    pytest.param(booster, member, marks=() if (booster, member) in QUICK_PAIRS else pytest.mark.slow)
    for booster in BOOSTERS
    for member in WEAK
]


@pytest.mark.parametrize(("booster", "member"), PAIRS, ids=lambda part: getattr(part, "__name__", repr(part)))
def test_members_of_late_classes_are_counted_however_the_stream_is_cut(booster, member):
    """Classes come every five rows. The limit is enough for all of them, for the first three, or for none."""
    X, _ = number_stream(40)
    y = np.minimum(np.random.default_rng(0).integers(6, size=40), np.arange(40) // 5)
    y[::5] = np.minimum(np.arange(8), 5)

    def made(limit):
        return booster(2, learner=member, memory_limit=limit)

    def needed(k):
        with pytest.raises(ValueError, match="too small") as error:
            made(1_000).partial_fit(X[:1], y[:1], classes=range(k))
        return int(re.search(r"needs ([\d,]+) at least", str(error.value))[1].replace(",", ""))

    assert needed(3) < needed(4) < needed(6)
    for limit, fails_at in ((needed(2) - 1, 0), (needed(3), 15), (needed(6), None)):
        for block in (1, 7, 40):
            clf, a = made(limit), 0
            for a in range(0, 40, block):
                rows = slice(a, a + block)
                if fails_at is not None and rows.stop > fails_at:
                    with pytest.raises(ValueError, match="too small"):
                        clf.partial_fit(X[rows], y[rows])
                    break
                clf.partial_fit(X[rows], y[rows])
                assert clf.nbytes_ <= limit
            assert getattr(clf, "n_samples_seen_", 0) == (40 if fails_at is None else a)


@pytest.mark.parametrize("kind", with_little_memory(), ids=str)
@pytest.mark.parametrize("seed", [0])
def test_no_model_ever_takes_more_than_its_limit(kind, seed):
    """Late classes and values widen the tables on the way."""
    X, y, weight = mixed_stream(300, seed=seed)
    clf = kind.make()
    for b in range(len(y)):
        clf.learn_one(list(X[b]), y[b], weight[b])
        assert clf.nbytes_ <= clf.memory_limit
    for forest in forests(clf._model.chain):
        assert_accounts(forest)
    memory = clf.memory_
    assert memory["limit"] == clf.memory_limit
    if not kind.name.startswith(("online-boost", *MEMBERS)):  # the most that a panel takes is not yet needed
        assert memory["leaves without statistics"] + memory["trees without room to split"] > 0
    assert sum(memory["bytes"].values()) == clf.nbytes_


def test_a_class_and_a_column_without_memory_leave_the_model_as_it_was():
    """For the column alone there would be memory."""

    def made(limit):
        return OneVsAll(3, memory_limit=limit, columns="open")

    X = pd.DataFrame({"a": [0.0, 1.0] * 3, "b": [np.nan] * 2 + [1.0] * 4})
    y = ["x", "y", "x", "y", "x", "z"]
    with pytest.raises(ValueError, match="too small") as error:
        made(1_000).partial_fit(X[2:4], y[2:4], classes=["x", "y"])
    clf = made(int(re.search(r"needs ([\d,]+) at least", str(error.value))[1].replace(",", "")) + 100)
    clf.partial_fit(X[["a"]], ["x", "y"] * 3)
    before = frozen(clf)
    with pytest.raises(ValueError, match="3 classes"):
        clf.learn_one({"a": 0.0, "b": 1.0}, "z")
    assert frozen(clf) == before
    with pytest.raises(ValueError, match="3 classes"):
        clf.partial_fit(X, y)
    assert frozen(clf) == before
    assert clf.partial_fit(X[:5], y[:5]).n_features_in_ == 2


@given(st.data())
@settings(max_examples=15, deadline=None)
def test_random_streams_keep_within_random_limits(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    n, k = data.draw(st.integers(50, 400)), data.draw(st.integers(2, 6))
    X, y = number_stream(n, n_classes=k, seed=int(rng.integers(100)))
    limit = data.draw(st.integers(60_000, 200_000))
    clf = AdaBoostOLM(5, weight_scale=5.0, learner=HoeffdingTree(**QUICK), memory_limit=limit)
    for a in range(0, n, 37):
        clf.partial_fit(X[a : a + 37], y[a : a + 37])
        assert clf.nbytes_ <= limit
    assert_accounts(forest_of(clf))


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_a_limit_that_is_not_reached_changes_nothing(kind):
    X, y, weight = mixed_stream(240, seed=3)
    free, bound = kind.make(memory_limit=None), kind.make(memory_limit="2GB")
    free = free.set_params(memory_limit=None)
    assert in_blocks(free, X, y, 50, weight) == in_blocks(bound, X, y, 50, weight)
    np.testing.assert_array_equal(free.predict_proba(X), bound.predict_proba(X))
    assert free.memory_["limit"] is None
    assert free.memory_["leaves without statistics"] == bound.memory_["leaves without statistics"] == 0


@pytest.mark.parametrize("make", [AdaBoostOVA, OneVsAll])
def test_a_class_that_comes_late_has_trees_that_others_make_room_for(make):
    """Two classes fill the memory; the third one takes a third of it, and leaves are put together again."""
    X, y = number_stream(900, seed=5)
    early = y != y.max()
    X, y = np.concatenate([X[early], X[~early]]), np.concatenate([y[early], y[~early]])
    clf = make(4, weight_scale=5.0, learner=HoeffdingTree(**QUICK), memory_limit=75_000)
    before = None
    for a in range(0, len(y), 10):
        clf.partial_fit(X[a : a + 10], y[a : a + 10])
        assert clf.nbytes_ <= 75_000
        for forest in forests(clf._model.chain):
            assert_accounts(forest)
        if len(clf.classes_) == 2:
            before = [accounts(forest) for forest in forests(clf._model.chain)]
    assert len(clf.classes_) == 3
    assert before is not None
    assert clf.predict(X).tolist()


# -------------------------------------------------------------------------------------------------- parts of the rule


@pytest.fixture(scope="module")
def grown():
    X, y, weight = mixed_stream(500, seed=9)
    clf = AdaBoostOLM(6, weight_scale=5.0, learner=HoeffdingTree(grace_period=8, tie_threshold=0.5))
    return clf.partial_fit(X, y, sample_weight=weight)


def test_packing_changes_no_tree(grown):
    clf = deepcopy(grown)
    (segment,) = clf._model.chain.segments
    segment.learners.restart(2, clf._model.chain.t, {})  # leaves nodes behind, and free rows
    want = model_state(clf)
    forest = segment.learners.forest
    shrink.pack_nodes(forest)
    shrink.pack_rows(forest)
    assert forest.used[[N_LOST, N_FREE_ROWS, N_FREE_STATS]].tolist() == [0, 0, 0]
    assert model_state(clf) == want
    assert_accounts(forest)


def test_cutting_back_keeps_the_masses(grown):
    forest = deepcopy(forest_of(grown))

    def mass_of(i):
        alone = select(forest, i, i + 1)
        return sum(float(alone.details[at]["mass"]) for at in leaves(alone))

    before = [mass_of(i) for i in range(len(forest.roots))]
    smaller = shrink.allotted(forest, 8_000.0, int(forest.offset[-1]))
    assert_accounts(smaller)
    forest = smaller
    np.testing.assert_allclose([mass_of(i) for i in range(len(forest.roots))], before)
    assert (smaller.budget["nodes"] <= 8_000 * shrink.NODES / 56).all()
    assert len(smaller.nodes) == smaller.budget["most_nodes"].sum()


def test_leaves_put_together_have_all_their_classes_and_no_statistics(grown):
    forest = deepcopy(forest_of(grown))
    tree = int(forest.budget["nodes"].argmax())
    parents = shrink.last_parents(forest.nodes, forest.details, forest.roots[tree], forest.budget[tree]["nodes"])
    at = int(parents[0])
    children = range(forest.nodes[at]["first"], forest.nodes[at]["first"] + forest.details[at]["n_children"])
    want: dict[int, float] = {}
    for child in children:
        for row in leaf_rows(forest, child):
            label = int(forest.rows[row]["label"])
            want[label] = want.get(label, 0.0) + float(forest.rows[row]["mass"])
    shrink.put_together(forest, tree, at)
    own = leaf_rows(forest, at)
    assert {int(forest.rows[row]["label"]): pytest.approx(float(forest.rows[row]["mass"])) for row in own} == want
    assert (forest.rows["stat"][own] == -1).all()
    assert forest.details[at]["heavy"] == GAVE_UP
    assert_accounts(forest)


def test_budgets_go_with_the_trees(grown):
    forest = forest_of(grown)
    parts = [select(forest, 0, 2), select(forest, 2, 6)]
    for part in parts:
        assert_accounts(part)
    assert_accounts(join(parts))


# --------------------------------------------------------------------------------------------------- what users meet


def test_limits_are_bytes_or_text():
    assert bytes_of("64MB") == 64_000_000
    assert bytes_of("1.5 gib") == int(1.5 * 2**30)
    assert bytes_of("2000") == bytes_of(2000) == bytes_of(np.int64(2000)) == 2000
    assert bytes_of(None) is None
    for bad in ("much", "", "64XB", 0, -1, True, 1.5, []):
        with pytest.raises(ValueError, match="memory_limit"):
            bytes_of(bad)


@pytest.mark.parametrize("limit", [2**63 - 1, 10**30, "9999999999TB", "9" * 400], ids=lambda limit: str(limit)[:12])
def test_a_limit_beyond_all_memory_is_none(limit, numbers, tmp_path):
    X, y = numbers
    for clf in (AdaBoostOLM(3, memory_limit=limit), HoeffdingTree(memory_limit=limit)):
        clf.partial_fit(X, y).partial_fit(X, y)
        clf.save(tmp_path / "model.olb")
        again = onlineboost.load(tmp_path / "model.olb").partial_fit(X, y)
        np.testing.assert_array_equal(again.predict_proba(X), clf.partial_fit(X, y).predict_proba(X))


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_too_small_a_limit_is_an_error_that_says_what_the_least_is(kind):
    X, y, _ = mixed_stream(100, seed=2)
    clf = kind.make(memory_limit=1_000)
    with pytest.raises(ValueError, match="memory_limit of 1,000 bytes is too small") as error:
        clf.partial_fit(X, y, classes=sorted(set(y)))
    assert not hasattr(clf, "_model")
    least = int(str(error.value).split("needs ")[1].split(" at least")[0].replace(",", ""))
    clf = kind.make(memory_limit=least).partial_fit(X, y, classes=sorted(set(y)))
    assert clf.nbytes_ <= least


def test_more_classes_than_there_is_memory_for_are_an_error_before_anything_is_learned():
    X, y = number_stream(400, seed=2)
    clf = AdaBoostOVA(4, memory_limit=60_000).partial_fit(X[:50], y[:50])
    before = pickle.dumps(clf)
    with pytest.raises(ValueError, match="too small"):
        clf.partial_fit(X, [f"class {b % 40}" for b in range(400)])
    assert pickle.dumps(clf) == before


def test_a_limit_is_mentioned_once():
    X, y = number_stream(1200, seed=1)
    clf = HoeffdingTree(memory_limit=9_000, **QUICK)
    with pytest.warns(UserWarning, match="memory_limit of 9,000 bytes"):
        clf.partial_fit(X[:900], y[:900])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pickle.loads(pickle.dumps(clf)).partial_fit(X[900:], y[900:])


def test_trees_behind_a_panel_pay_for_no_wide_columns():
    """The panel alone tells the values of a wide column apart: trees have no room for them, so none is reckoned."""
    rng = np.random.default_rng(0)
    y = np.where(rng.random(900) < 0.5, "a", "b")
    most = {}
    for n_values in (8, 600):
        clf = OnlineBoostClassifier(5, memory_limit="64MB")
        clf.partial_fit(pd.DataFrame({"x": rng.random(900), "shop": [f"s{i % n_values}" for i in range(900)]}), y)
        most[n_values] = sum(int(forest.budget["most_stats"].sum()) for forest in forests(clf._model.chain))
    assert most[600] > most[8]


# ---------------------------------------------------------------------------------------------------------- tables


@pytest.mark.parametrize("rows", [10, 100_000])
def test_a_table_in_another_shape_begins_as_before(rows):
    table = tables.empty((rows, 4), np.float64, spare=1.5)
    table[:] = np.arange(4 * rows).reshape(rows, 4)
    room = tables.all_memory(table)
    assert room.size >= 4 * rows
    np.testing.assert_array_equal(room[: 4 * rows], np.arange(4 * rows))
    narrow = tables.reshaped(table, (rows // 2, 3))
    np.testing.assert_array_equal(narrow.reshape(-1), np.arange(3 * (rows // 2)))
    assert tables.alike(narrow, np.int32).shape == (rows // 2,)


def test_a_table_at_its_limit_gets_wider_where_it_is():
    """No copy: while there is one, a model takes twice as much."""
    most, width = 1000, 300
    table = with_room(2 * most, 0, most, (width,), np.float64)
    assert table.shape == (most, width)
    memory = table.base
    assert memory is not None
    wider = tables.reshaped(table, (most, width * 5 // 4))
    assert wider.base is memory


def test_room_for_values_is_never_much_more_than_is_needed():
    found = [capacity(n) for n in range(257)]
    assert sorted(found) == found
    assert all(n <= room <= max(8, 1.5 * n) for n, room in enumerate(found))
    assert len(set(found[1:])) < 20  # steps


def test_more_learners_than_the_limit_holds_are_refused_before_they_are_made():
    for kind in (AdaBoostOLM, OnlineMBBM):
        with pytest.raises(ValueError, match=r"1,000,000,000 learners need more than .* or take fewer learners"):
            kind(10**9).partial_fit([[0.0], [1.0]], ["a", "b"])
