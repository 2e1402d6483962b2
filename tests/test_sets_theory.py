"""The theorem of prediction sets, and what the evaluation and the command line make of them."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import onlineboost
from helpers import number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, prequential
from onlineboost.chain.sets import LEVELS
from onlineboost.cli.main import main
from onlineboost.cluster import Cluster, Here
from onlineboost.evaluation import Tally
from onlineboost.theory import coverage_bounds, guarantee

sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))

import sets as benchmark


@pytest.mark.parametrize("level", LEVELS.tolist())
@pytest.mark.parametrize("W", [1.0, 7.0])
def test_the_bounds_are_where_the_threshold_leaves_the_ranks(level, W):
    """And within those of Gibbs and Candes."""
    a = 1.0 - level
    eta = 0.2 * min(a, level)
    least, most = coverage_bounds(level, 1e6, W)
    for room, moved, step in ((level - least, a, (1.0 - a) * W), (most - level, 1.0 - a, a * W)):
        E = room * 1e6 - step
        assert math.isclose(eta * E * (1.0 + (E / 4.0) ** 2), moved, rel_tol=1e-6)
        assert room <= (1.0 + eta * W) / (eta * 1e6)
    assert coverage_bounds(level, 10.0, 1e9) == coverage_bounds(level, 10.0, 10.0)


def test_between_two_levels_the_bounds_are_between_theirs():
    (low, high), middle = (coverage_bounds(level, 5_000) for level in (0.9, 0.95)), coverage_bounds(0.92, 5_000)
    np.testing.assert_allclose(middle, [0.6 * a + 0.4 * b for a, b in zip(low, high, strict=True)])
    with pytest.raises(ValueError, match="coverage must be a number from 0 to 1"):
        coverage_bounds(2.0, 10)


def test_no_adversary_gets_out_of_the_bounds():
    """It sees each set before it chooses the label: every level, and every class, after every row."""
    nearest = [benchmark.game(seed, 400) for seed in range(6)]
    assert 0.5 < max(nearest) <= 1.0 + 1e-9


def test_a_coverage_between_two_levels_is_met_on_the_average():
    X, y = number_stream(6_000, seed=7)
    said = prequential(HoeffdingTree(), X, y, sets=0.92)
    assert abs(said.coverage - 0.92) < 0.01
    assert said.mean_set_size == pytest.approx(said.sets.sum(axis=1).mean())


def test_results_count_sets_with_weights_delays_and_as_a_tally():
    X, y = number_stream(300, seed=8)
    weight = np.random.default_rng(0).exponential(size=300)
    said = prequential(HoeffdingTree(), X, y, sets=0.8, weight=weight)
    own = said.sets[np.arange(300), y]
    assert said.coverage == pytest.approx(weight @ own / weight.sum())
    assert "sets cover" in repr(said)
    again = Tally.of_values({**Tally().as_values(), "in_sets": said.in_sets.tolist()})
    assert (again.coverage, again.mean_set_size) == (said.coverage, said.mean_set_size)
    older = {name: value for name, value in Tally().as_values().items() if name != "in_sets"}
    assert Tally.of_values(older).coverage is None
    late = prequential(HoeffdingTree(), X, y, sets=0.8, delay=10, proba=False)
    assert late.probabilities is None
    assert not late.sets[:11].any()
    assert 0.6 < late.coverage < 0.95
    with pytest.raises(TypeError, match="has no prediction sets"):
        prequential(onlineboost.evaluation.MajorityClass(), X, y, sets=0.8)


def test_the_guarantee_shows_what_was_covered():
    X, y = number_stream(1_000, seed=9)
    for clf in (AdaBoostOLM(4), OnlineBoostClassifier(4)):
        said = prequential(clf, X, y, sets=0.9)
        share, least, most = guarantee(clf, int((~said.right).sum())).covered["0.9"]
        assert share == pytest.approx(said.coverage)
        assert least <= share <= most
        assert "sets of 0.9" in str(guarantee(clf, int((~said.right).sum())))
        plain = type(clf)(4).fit(X, y)
        assert guarantee(plain, 10).covered is None


def test_a_cluster_gives_the_same_sets():
    X, y = number_stream(120, seed=3)
    want = AdaBoostOLM(4, sets=True).test_then_train(X, y, sets=0.9)[1]
    with Cluster(AdaBoostOLM(4, sets=True), segments=2, engine=Here()) as run:
        found = run.test_then_train(X, y, sets=0.9)[1]
        clf = run.result()
    np.testing.assert_array_equal(found, want)
    assert clf.predict_set(X).shape == (120, 3)


def test_the_command_line_measures_sets(tmp_path):
    how = ["run", "balance", "--model", "hoeffding-tree", "--sets", ".9"]
    told = CliRunner().invoke(main, [*how, "--json"], catch_exceptions=False)
    row, *baselines = json.loads(told.stdout)["results"]
    assert 0.85 < row["coverage"] < 0.95
    assert row["mean_set_size"] > 0.5
    assert all("coverage" not in other for other in baselines)
    checkpointed = [*how, "--checkpoint", str(tmp_path), "--save", str(tmp_path / "model.olb"), "--json"]
    again = CliRunner().invoke(main, checkpointed, catch_exceptions=False)
    assert json.loads(again.stdout)["results"][0]["coverage"] == row["coverage"]
    assert onlineboost.load(tmp_path / "model.olb").sets
    assert "set size" in CliRunner().invoke(main, how, catch_exceptions=False).stdout
