"""The forest in tables is the VFDT of the twin, split by split and mass by mass; its tables leak nothing."""

from __future__ import annotations

import math
from copy import deepcopy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference
from helpers import (
    assert_same_tree,
    by_code,
    forest_of,
    in_blocks,
    leaf_masses,
    leaf_rows,
    leaves,
    mixed_stream,
    model_state,
    n_inner,
    number_stream,
    plain,
    twins_of,
    with_glitches,
)
from onlineboost import AdaBoostOLM, HoeffdingTree
from onlineboost.trees import split as splits
from onlineboost.trees import state as forest_tables
from onlineboost.trees.learn import add_numeric
from onlineboost.trees.shrink import widen
from onlineboost.trees.state import (
    FREE_ROW,
    HIGH,
    INVERSE,
    LEAF_RULES,
    LOW,
    MEAN,
    N_FREE_STATS,
    N_LEAVES,
    N_NODES,
    N_ROWS,
    N_STATS,
    SQUARES,
    WEIGHT,
)

LEAVES = sorted(LEAF_RULES)
QUICK = {"grace_period": 12, "split_confidence": 0.1, "tie_threshold": 0.3, "max_features": 0.6}


def twin_of(clf, X, y, weight, nominal):
    """(twin, its past, its predictions) after the stream that `clf` has learned."""
    names = list(dict.fromkeys(y.tolist()))
    X = np.asarray(X, object)
    past = reference.Past(X.shape[1] - len(nominal), len(nominal))
    (tree,) = twins_of(forest_of(clf), past, clf._model.chain.seed)
    twin = reference.PlainTree(tree, clf._model.chain.seed)
    predictions = reference.run(twin, past, plain(X, nominal), [names.index(label) for label in y], weight)
    return twin, past, [None if code is None else names[code] for code in predictions]


def with_odd_first_rows(X, y, weight):
    X[0, 1], X[1, 3], X[:3, 4] = 1e6, -1e9, 1e5
    return X, y, weight


STREAMS = {
    "mixed": (lambda seed: mixed_stream(400, seed), (0, 2)),
    "numeric": (lambda seed: (*number_stream(300, seed=seed), np.random.default_rng(seed).uniform(0.3, 2.0, 300)), ()),
    "glitches": (lambda seed: with_glitches(*mixed_stream(400, seed), seed, first=60), (0, 2)),
    "odd first rows": (lambda seed: with_odd_first_rows(*mixed_stream(400, seed)), (0, 2)),
    "nominal": (lambda seed: (lambda X, y, w: (X[:, [0, 2]], y, w))(*mixed_stream(400, seed)), (0, 1)),
}


@pytest.mark.parametrize("seed", [1, 2, 36])
@pytest.mark.parametrize("leaf", LEAVES)
@pytest.mark.parametrize("stream", STREAMS)
def test_a_tree_is_its_twin(stream, leaf, seed):
    make, nominal = STREAMS[stream]
    X, y, weight = make(seed)
    clf = HoeffdingTree(leaf_prediction=leaf, random_state=seed, **QUICK)
    predictions = in_blocks(clf, X, y, 64, weight)
    twin, past, want = twin_of(clf, X, y, weight, nominal)
    assert n_inner(forest_of(clf)) >= 5  # or the comparison would say little
    assert_same_tree(forest_of(clf), 0, twin.tree.root, lead=leaf != "majority")
    assert predictions == want
    k = len(clf.classes_)
    p = [twin.tree.distribution(past.believe(x), k) for x in plain(X, nominal)[:100]]
    np.testing.assert_allclose(by_code(clf, clf.predict_proba(X[:100])), p, rtol=1e-6, atol=1e-9)


# ------------------------------------------------------------------------------------------ one leaf, looked at closely


@pytest.fixture(scope="module")
def leaf_and_twin():
    """A tree that is one leaf with 200 examples in it, and its twin."""
    X, y, weight = mixed_stream(200, seed=4)
    clf = HoeffdingTree(grace_period=1e9, max_features=1.0)
    in_blocks(clf, X, y, 200, weight)
    twin, past, _ = twin_of(clf, X, y, weight, (0, 2))
    return forest_of(clf), twin.tree, past


def test_a_leaf_knows_weight_mean_squares_and_range_of_every_class(leaf_and_twin):
    forest, tree, past = leaf_and_twin
    n = past.n_numeric
    for row in leaf_rows(forest, 0):
        stat = forest.stats[forest.rows[row]["stat"]]
        learned = tree.root.learned[int(forest.rows[row]["label"])]
        for c in range(n):
            values = [value for value, _ in learned.shown[c]]
            got = [stat[stretch * n + c] for stretch in (WEIGHT, MEAN, SQUARES, INVERSE)]
            np.testing.assert_allclose(got, [*learned.moments[c], 1.0 / learned.variance[c]], rtol=1e-10)
            assert stat[LOW * n + c] == min(values)
            assert stat[HIGH * n + c] == max(values)
        logs = sum(math.log(variance) for variance in learned.variance[:n])
        mass = tree.root.masses[int(forest.rows[row]["label"])]
        assert forest.rows[row]["prior"] == pytest.approx(math.log(mass) - 0.5 * logs, abs=1e-11)
        for j in range(2):
            at = forest.offset[j]
            counts = [learned.weight(n + j, v) for v in range(len(past.met[j]))]
            assert stat[at] == pytest.approx(learned.weight(n + j), rel=1e-12)
            np.testing.assert_allclose(stat[at + 1 : at + 1 + len(counts)], counts, rtol=1e-12)


def test_merits_and_thresholds_of_all_columns(leaf_and_twin):
    forest, tree, past = leaf_and_twin
    first = forest.nodes[0]["first"]
    stats = np.empty(splits.learned_classes(forest.rows, first, np.empty(0, np.int64)), np.int64)
    splits.learned_classes(forest.rows, first, stats)
    for c in range(past.n_numeric):
        want = tree.merit(tree.root, c, 200)
        work = np.empty((splits.N_WORK, splits.LANES))
        merit, threshold = splits.numeric_merit(forest.stats, forest.n_numeric, stats, c, work)
        assert merit == pytest.approx(want[0], abs=1e-10)
        assert threshold == pytest.approx(want[1], rel=1e-13)
    for j in range(2):
        merit, _ = tree.merit(tree.root, past.n_numeric + j, 200)
        assert splits.nominal_merit(forest.stats, *forest.offset[j : j + 2], stats) == pytest.approx(merit, abs=1e-12)


def test_the_columns_looked_at_are_drawn_evenly_and_anew():
    clf = HoeffdingTree(max_features=0.4).partial_fit(*number_stream(3, d=10))
    forest = forest_of(clf)
    tries = []
    for t in range(1, 2001):
        columns = np.empty(math.ceil(forest.share * 10), np.int64)
        splits.candidates(12345, t, 10, columns)
        tries.append(tuple(columns.tolist()))
    assert {len(columns) for columns in tries} == {4}
    assert all(list(columns) == sorted(set(columns)) for columns in tries)
    counts = np.bincount(np.concatenate(tries), minlength=10)
    assert counts.min() > 800 - 4 * 22  # 4 standard deviations of a binomial (2000, 0.4)
    assert counts.max() < 800 + 4 * 22
    assert len(set(tries)) > 190  # of 210


@given(
    st.lists(
        st.tuples(st.floats(-1e6, 1e6) | st.none(), st.floats(1e-3, 1e3)),
        min_size=1,
        max_size=30,
    )
)
def test_weighted_moments_are_those_of_two_passes(shown):
    stat = np.zeros(6)
    stat[LOW], stat[HIGH] = math.inf, -math.inf
    for value, weight in shown:
        add_numeric(stat, np.array([math.nan if value is None else value]), weight, 1)
    known = [(value, weight) for value, weight in shown if value is not None]
    weight, mean, squares = reference.moments(known)
    size = max((abs(value) for value, _ in known), default=1.0)
    assert stat[WEIGHT] == pytest.approx(weight, rel=1e-12)
    assert stat[MEAN] == pytest.approx(mean, abs=1e-12 * size)
    assert stat[SQUARES] == pytest.approx(squares, rel=1e-8, abs=1e-12 * weight * size**2)
    assert (stat[LOW], stat[HIGH]) == (
        min((value for value, _ in known), default=math.inf),
        max((value for value, _ in known), default=-math.inf),
    )


# ---------------------------------------------------------------------------------------------------- when to split


def test_one_class_never_splits(numbers):
    X, _ = numbers
    clf = HoeffdingTree(**QUICK).partial_fit(X, np.zeros(len(X), int), classes=[0, 1])
    assert n_inner(forest_of(clf)) == 0


def test_columns_that_say_nothing_are_not_split_on():
    """Both classes see the same constant and the same value: no split gains, not even with a generous tie threshold."""
    X = np.array([[3.0, "v"], [3.0, "v"]] * 100, object)
    clf = HoeffdingTree(grace_period=5, tie_threshold=10.0, max_features=1.0)
    clf.partial_fit(X, ["a", "b"] * 100)
    assert n_inner(forest_of(clf)) == 0
    assert leaf_masses(forest_of(clf), 0) == {0: 100.0, 1: 100.0}


def test_the_hoeffding_bound_decides_exactly_when():
    """A perfect column gains 1 bit: the split comes with the first try at which sqrt(ln(1/delta) / 2W) < 1."""
    delta = 1e-9
    needed = math.log(1.0 / delta) / 2.0  # W > 10.36
    X, y = np.array([[0.0], [1.0]] * 10), np.array([0, 1] * 10)
    clf = HoeffdingTree(grace_period=0.5, split_confidence=delta, tie_threshold=0.0)
    for b in range(20):
        clf.partial_fit(X[b : b + 1], y[b : b + 1])
        assert (n_inner(forest_of(clf)) == 1) == (b + 1 > needed)


def test_a_branch_with_one_percent_of_the_weight_is_no_branch():
    for rare, n_splits in ((1.0, 0), (1.1, 1)):
        X = np.array([["x"]] * 99 + [["y"]], object)
        weight = np.array([1.0] * 99 + [rare])
        clf = HoeffdingTree(grace_period=99.5, tie_threshold=10.0)
        clf.partial_fit(X, [0] * 99 + [1], sample_weight=weight)
        assert n_inner(forest_of(clf)) == n_splits


@pytest.mark.parametrize("seed", range(12))
def test_of_columns_that_are_equally_good_the_first_is_taken(seed):
    """x and -x and x again are the same column to a split; which one wins must not hang on the last bit of a sum."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=60)
    x = rng.normal(size=60) + y
    clf = HoeffdingTree(grace_period=59.5, tie_threshold=10.0, max_features=1.0, leaf_prediction="majority")
    clf.partial_fit(np.column_stack([-x, x, -x, x]), y)
    assert forest_of(clf).nodes[0]["feature"] == 0


def test_children_of_values_not_seen_at_the_leaf_start_from_the_parents_classes():
    first = np.array([["x", "p"], ["y", "r"], ["x", "q"], ["y", "p"]] * 6, object)
    second = np.array([["x", "p"], ["x", "q"]] * 12, object)  # at the leaf of x, r has never been seen
    clf = HoeffdingTree(grace_period=20.5, tie_threshold=10.0, leaf_prediction="majority", max_features=1.0)
    clf.partial_fit(first[:21], (["a", "b"] * 12)[:21])
    forest = forest_of(clf)
    assert (n_inner(forest), forest.nodes[0]["feature"]) == (1, 0)
    clf.partial_fit(second, ["a", "b"] * 12)
    forest = forest_of(clf)
    x = int(forest.nodes[0]["first"])
    p, r, q = range(forest.nodes[x]["first"], forest.nodes[x]["first"] + 3)
    assert (forest.nodes[x]["feature"], forest.details[x]["n_children"]) == (1, 3)
    assert list(leaf_masses(forest, p)) == [0]
    assert list(leaf_masses(forest, q)) == [1]
    inherited = leaf_masses(forest, r)
    assert list(inherited) == [0, 1]
    assert sum(inherited.values()) == pytest.approx(1e-6 * forest.details[x]["mass"])
    assert forest.details[r]["mass"] == pytest.approx(sum(inherited.values()))
    assert clf.predict(np.array([["x", "r"], ["x", "p"], ["x", "q"]], object)).tolist() == ["a", "a", "b"]


def test_an_unknown_or_missing_value_takes_the_heavier_branch():
    X = np.array([["x"]] * 10 + [["y"]] * 20, object)
    clf = HoeffdingTree(grace_period=29.5, tie_threshold=10.0, leaf_prediction="majority").partial_fit(
        X, [0] * 10 + [1] * 20
    )
    assert n_inner(forest_of(clf)) == 1
    assert clf.predict(np.array([["x"], ["y"], ["never seen"], [None]], object)).tolist() == [0, 1, 1, 1]


def test_of_branches_that_are_equally_heavy_the_first_takes_what_is_missing():
    X = np.array([["x"], ["y"]] * 10, object)
    clf = HoeffdingTree(grace_period=19.5, tie_threshold=10.0, leaf_prediction="majority").partial_fit(
        X, ["a", "b"] * 10
    )
    assert n_inner(forest_of(clf)) == 1
    assert clf.predict(np.array([[None], ["never seen"]], object)).tolist() == ["a", "a"]


def test_of_classes_that_are_equally_heavy_the_first_met_is_the_majority():
    """So the last two examples are ones that naive Bayes had right, and the majority rule had not."""
    clf = HoeffdingTree(leaf_prediction="nba", grace_period=100.0)
    clf.partial_fit([[0.0], [1.0], [10.0], [11.0], [10.0]], ["a", "a", "b", "b", "b"])
    assert forest_of(clf).details[0]["bayes_lead"] == 2.0


# --------------------------------------------------------------------------------------------------------- tables


def accounts(forest):
    """(class rows in use, free class rows, rows of stats in use, free ones), each row counted by walking."""
    rows = [row for leaf in leaves(forest) for row in leaf_rows(forest, leaf)]
    stats = [int(forest.rows[row]["stat"]) for row in rows if forest.rows[row]["stat"] >= 0]
    free, at = [], int(forest.used[FREE_ROW])
    while at >= 0:
        free.append(at)
        at = int(forest.rows[at]["next"])
    free_stats = forest.free_stats[: forest.used[N_FREE_STATS]].tolist()
    assert len(set(rows) | set(free)) == len(rows) + len(free)  # no row is used twice
    assert len(set(stats) | set(free_stats)) == len(stats) + len(free_stats)
    return len(rows), len(free), len(stats), len(free_stats)


@pytest.fixture(scope="module")
def grown():
    """A booster whose trees have split many times."""
    X, y, weight = mixed_stream(500, seed=9)
    clf = AdaBoostOLM(6, weight_scale=5.0, learner=HoeffdingTree(grace_period=8, tie_threshold=0.5))
    return clf.partial_fit(X, y, sample_weight=weight)


def test_every_row_of_the_tables_is_in_use_or_free(grown):
    forest = forest_of(grown)
    rows, free, stats, free_stats = accounts(forest)
    assert rows + free == forest.used[N_ROWS]
    assert stats + free_stats == forest.used[N_STATS]
    assert len(leaves(forest)) == forest.used[N_LEAVES]
    assert n_inner(forest) + len(leaves(forest)) == forest.used[N_NODES]
    assert n_inner(forest) > 100


def test_bytes_in_use_are_those_of_nodes_class_rows_and_statistics(grown):
    forest = forest_of(grown)
    rows, _, stats, _ = accounts(forest)
    size = forest_tables.nbytes(forest)
    assert size["used"] == 56 * int(forest.used[N_NODES]) + 32 * rows + 8 * forest.stats.shape[1] * stats
    assert size["allocated"] >= forest.nodes.nbytes + forest.rows.nbytes + forest.stats.nbytes


def test_a_class_that_is_merely_inherited_takes_no_row_of_stats():
    X, y = number_stream(120, seed=3)
    clf = HoeffdingTree(grace_period=119.5, tie_threshold=10.0, max_features=1.0).partial_fit(X, y)
    forest = forest_of(clf)
    rows, _, stats, free_stats = accounts(forest)
    assert n_inner(forest) == 1
    assert rows >= 4  # the children have inherited classes
    assert (stats, free_stats) == (0, 3)  # and have learned nothing


def test_rows_of_split_leaves_are_used_again():
    X, y = number_stream(123, seed=3)
    clf = HoeffdingTree(grace_period=119.5, tie_threshold=10.0, max_features=1.0).partial_fit(X[:120], y[:120])
    rows, stats = forest_of(clf).used[[N_ROWS, N_STATS]]
    clf.partial_fit(X[120:], y[120:])
    assert accounts(forest_of(clf))[2] >= 2  # children have learned
    assert forest_of(clf).used[[N_ROWS, N_STATS]].tolist() == [rows, stats]  # in rows that were there


@pytest.mark.parametrize("block", [1, 500])
def test_tables_that_start_full_give_the_same_trees(block):
    X, y, weight = mixed_stream(300, seed=5)
    roomy, tight = (AdaBoostOLM(4, weight_scale=4.0, learner=HoeffdingTree(**QUICK)) for _ in range(2))
    for clf in (roomy, tight):
        clf.partial_fit(X[:1], y[:1])
    (segment,) = tight._model.chain.segments
    forest = segment.learners.forest
    segment.learners.forest = forest._replace(
        nodes=forest.nodes[: forest.used[N_NODES]].copy(),
        details=forest.details[: forest.used[N_NODES]].copy(),
        rows=forest.rows[: forest.used[N_ROWS]].copy(),
        stats=forest.stats[: forest.used[N_STATS]].copy(),
        free_stats=forest.free_stats[: forest.used[N_STATS]].copy(),
    )
    for clf in (roomy, tight):
        in_blocks(clf, X[1:], y[1:], block, weight[1:])
    assert n_inner(forest_of(roomy)) > 10
    assert model_state(roomy) == model_state(tight)


def test_more_room_changes_nothing(grown):
    forest = forest_of(grown)
    bigger = forest_tables.make_room(forest, 10_000, 10_000, 10_000)
    assert len(bigger.nodes) >= forest.used[N_NODES] + 10_000
    assert len(bigger.stats) >= forest.used[N_STATS] - forest.used[N_FREE_STATS] + 10_000
    used = forest.used
    assert bigger.nodes[: used[N_NODES]].tobytes() == forest.nodes[: used[N_NODES]].tobytes()
    assert bigger.rows[: used[N_ROWS]].tobytes() == forest.rows[: used[N_ROWS]].tobytes()
    assert bigger.stats[: used[N_STATS]].tobytes() == forest.stats[: used[N_STATS]].tobytes()
    assert forest_tables.make_room(bigger, 1, 1, 1).nodes is bigger.nodes  # there is room: nothing is copied


def test_wider_nominal_columns_keep_their_counts(leaf_and_twin):
    forest, _, past = leaf_and_twin
    sizes = [len(met) for met in past.met]
    wider = widen(deepcopy(forest), [size + 7 for size in np.diff(forest.offset) - 1], [[1] * size for size in sizes])
    for row in leaf_rows(forest, 0):
        stat = int(forest.rows[row]["stat"])
        for j, size in enumerate(sizes):
            old, new = forest.offset[j], wider.offset[j]
            assert (wider.stats[stat, new : new + 1 + size] == forest.stats[stat, old : old + 1 + size]).all()
            assert not wider.stats[stat, new + 1 + size : wider.offset[j + 1]].any()
    assert [int((wider.birth == 1).sum())] == [sum(sizes)]
