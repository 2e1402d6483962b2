"""Ranking is counted in bins of the score: exactly what sorting gives for scores that were rounded, and near enough."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from sklearn import metrics as theirs

from onlineboost import HoeffdingTree, load_dataset, prequential, tune
from onlineboost.cli.main import main
from onlineboost.data.table import Block
from onlineboost.evaluation import Metrics, Result, Tally
from onlineboost.evaluation.ranking import RANKS, Ranking, rank_of, score_of
from onlineboost.evaluation.runner import Step
from onlineboost.storage.values import Reader, Writer


def auc_by_sorting(rare, score, weight):
    """Twin: the share of the pairs in which the rare one is ahead; ties count half."""
    own, others = np.flatnonzero(rare), np.flatnonzero(~rare)
    ahead = (score[own, None] > score[others]) + 0.5 * (score[own, None] == score[others])
    return float(weight[own] @ ahead @ weight[others] / (weight[own].sum() * weight[others].sum()))


def precision_by_sorting(rare, score, weight):
    """Twin: at each of the rare ones, the precision of all rows with scores of at least its own."""
    found = 0.0
    for i in np.flatnonzero(rare):
        alarms = score >= score[i]
        found += weight[i] * weight[alarms & rare].sum() / weight[alarms].sum()
    return found / weight[rare].sum()


def scored(n=600, share=0.1, seed=0):
    """(whether rare, probability, weight): noisy, with ties, and with scores that no bin is for."""
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < share
    p = 1.0 / (1.0 + np.exp(3.0 - 2.0 * rare - 1.5 * rng.standard_normal(n)))
    p[::7] = p[::7].round(1)
    p[:4], rare[:4] = [0.0, 1.0, 1e-14, 1.0 - 1e-14], [False, True, True, False]
    return rare, p, rng.integers(1, 4, n) * 0.5


def counted(rare, p, weight, ends=(), **settings):
    metrics = Metrics(**settings)
    y = np.where(rare, "fraud", "ok")
    for a, b in zip([0, *ends], [*ends, len(y)], strict=True):
        both = np.column_stack([p[a:b], 1.0 - p[a:b]])
        metrics.add(y[a:b], y[a:b], weight=weight[a:b], probabilities=both, classes=["fraud", "ok"])
    return metrics


def test_bins_are_a_hundredth_of_a_logit_wide_and_in_the_order_of_the_scores():
    p = np.sort(np.concatenate([np.random.default_rng(0).random(2000), 10.0 ** -np.arange(1, 12), [0.0, 1.0]]))
    ranks = rank_of(p)
    assert (np.diff(ranks) >= 0).all()
    assert (ranks[0], ranks[-1]) == (0, RANKS - 1)
    assert (score_of(ranks) <= p * (1 + 1e-12)).all()
    inner = (ranks > 0) & (ranks < RANKS - 1)
    odds, least = (q[inner] / (1.0 - q[inner]) for q in (p, score_of(ranks)))
    assert (odds / least <= np.exp(0.01) * (1 + 1e-9)).all()


@pytest.mark.parametrize("ends", [(), (1, 2, 3), (17, 17, 390), tuple(range(1, 600))])
def test_area_and_average_precision_are_those_of_sorting_for_any_cut(ends):
    rare, p, weight = scored()
    found = counted(rare, p, weight, ends)
    assert found.as_dict() == counted(rare, p, weight).as_dict()  # to the last bit
    ranking, rounded = found.ranking("fraud"), score_of(rank_of(p))
    assert ranking.roc_auc == pytest.approx(auc_by_sorting(rare, rounded, weight))
    assert ranking.roc_auc == pytest.approx(theirs.roc_auc_score(rare, rounded, sample_weight=weight))
    assert ranking.average_precision == pytest.approx(precision_by_sorting(rare, rounded, weight))
    assert ranking.average_precision == pytest.approx(
        theirs.average_precision_score(rare, rounded, sample_weight=weight)
    )
    assert found.roc_auc == pytest.approx(found.ranking("fraud").roc_auc, abs=1e-4)
    assert found.average_precision == ranking.average_precision  # of two classes, the rare one
    assert ranking.share == pytest.approx(np.average(rare, weights=weight))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("coarse", [None, 1, 2])
def test_the_error_that_is_told_holds(seed, coarse):
    rare, p, weight = scored(400, 0.05 + 0.1 * seed, seed)
    p = p if coarse is None else p.round(coarse)
    ranking = counted(rare, p, weight).ranking("fraud")
    exact = auc_by_sorting(rare, p, weight), precision_by_sorting(rare, p, weight)
    assert abs(ranking.roc_auc - exact[0]) <= ranking.roc_auc_error + 1e-12
    low, high = ranking.average_precision_bounds
    assert low - 1e-12 <= exact[1] <= high + 1e-12
    assert low <= ranking.average_precision <= high
    if coarse is None:
        assert ranking.roc_auc_error < 0.02
        assert high - low < 0.1
        assert abs(ranking.roc_auc - exact[0]) < 2e-3


def test_scores_in_few_bins_have_the_error_of_their_ties():
    """All of it in one bin, and in an order that the bin does not show."""
    rare = np.array([True] * 5 + [False] * 5)
    for p, exact in ((np.linspace(0.5001, 0.5002, 10), 0.0), (np.linspace(0.5002, 0.5001, 10), 1.0)):
        ranking = counted(rare, p, np.ones(10)).ranking("fraud")
        assert (ranking.roc_auc, ranking.roc_auc_error) == (0.5, 0.5)
        assert auc_by_sorting(rare, p, np.ones(10)) == exact
        low, high = ranking.average_precision_bounds
        assert low <= precision_by_sorting(rare, p, np.ones(10)) <= high == 1.0


@pytest.mark.parametrize("settings", [{"window": 150}, {"fade": 0.99}])
def test_of_the_last_rows_and_of_rows_that_fade(settings):
    rare, p, weight = scored(seed=3)
    found = counted(rare, p, weight, (5, 77, 500), **settings)
    age = np.arange(len(p) - 1, -1, -1)
    if "window" in settings:
        weight = weight * (age < 150)
    else:
        weight = weight * 0.99**age
    rounded = score_of(rank_of(p))
    some = weight > 0.0
    assert found.ranking("fraud").roc_auc == pytest.approx(auc_by_sorting(rare[some], rounded[some], weight[some]))
    want = precision_by_sorting(rare[some], rounded[some], weight[some])
    assert found.average_precision == pytest.approx(want)


def test_several_classes_are_each_ranked_against_the_rest_and_one_that_comes_late_had_no_probability():
    rng = np.random.default_rng(1)
    y = rng.choice(4, 500, p=[0.6, 0.2, 0.12, 0.08])
    y[:200][y[:200] == 3] = 0
    p = rng.random((500, 4)) + np.eye(4)[y]
    p[:200, 3] = 0.0
    p /= p.sum(axis=1, keepdims=True)
    names = np.array(list("abcd"))
    for ends in ((200,), (50, 200, 201), tuple(range(1, 500))):
        found = Metrics()
        for a, b in zip([0, *ends], [*ends, 500], strict=True):
            k = 3 if b <= 200 else 4
            found.add(names[y[a:b]], names[y[a:b]], probabilities=p[a:b, :k], classes=names[:k])
        rounded, ones = score_of(rank_of(p)), np.ones(500)
        areas = [auc_by_sorting(y == c, rounded[:, c], ones) for c in range(4)]
        assert [one["roc_auc"] for one in found.per_class()] == pytest.approx(areas)
        assert found.roc_auc == pytest.approx(np.mean(areas))
        precisions = [precision_by_sorting(y == c, rounded[:, c], ones) for c in range(4)]
        assert [one["average_precision"] for one in found.per_class()] == pytest.approx(precisions)
        assert found.average_precision == pytest.approx(np.mean(precisions[1:]))  # without the most frequent class
        assert found.rarest == "d"


def test_what_the_highest_scores_hold():
    rare = np.array([True, False, True, False, False, False, True, False, False, False])
    p = np.linspace(0.95, 0.05, 10)
    ranking = counted(rare, p, np.ones(10)).ranking("fraud")
    top = ranking.top(3)
    assert (top.hits, top.false, top.missed, top.rows) == (2.0, 1.0, 1.0, 10.0)
    assert (top.precision, top.recall) == pytest.approx((2 / 3, 2 / 3))
    assert top.lift == pytest.approx(2 / 3 / 0.3)
    assert ranking.top(0.3) == top
    assert p[3] < top.threshold <= p[2]
    assert ranking.top(100).recall == 1.0
    assert ranking.top(2.0) == ranking.top(2)
    assert ranking.above(0.72) == ranking.above(0.72)
    assert (ranking.above(0.72).hits, ranking.above(0.72).false) == (2.0, 1.0)
    assert ranking.above(1.0).hits == 0.0
    assert ranking.above(0.0).recall == 1.0
    for wrong in (0.0, -1.0, 1.5, 5.5):
        with pytest.raises(ValueError, match="alarms must"):
            ranking.top(wrong)
    with pytest.raises(ValueError, match="threshold"):
        ranking.above(1.5)


@pytest.mark.parametrize(("miss", "false"), [(1.0, 1.0), (5.0, 1.0), (100.0, 1.0), (0.1, 3.0)])
def test_the_cheapest_threshold_is_the_cheapest_of_all(miss, false):
    rare, p, weight = scored(seed=5)
    found = counted(rare, p, weight).ranking("fraud").cheapest(miss, false)
    rounded = score_of(rank_of(p))

    def cost(threshold):
        alarm = rounded >= threshold
        return (miss * weight[rare & ~alarm].sum() + false * weight[~rare & alarm].sum()) / weight.sum()

    assert found.cost(miss, false) == pytest.approx(min(cost(t) for t in [2.0, *np.unique(rounded)]))
    assert found.cost(miss, false) == pytest.approx(cost(found.threshold if found.hits + found.false else 2.0))
    with pytest.raises(ValueError, match="costs"):
        counted(rare, p, weight).ranking("fraud").cheapest(0.0)


def test_curves_are_those_of_scikit_learn():
    rare, p, weight = scored(seed=6)
    ranking, rounded = counted(rare, p, weight).ranking("fraud"), score_of(rank_of(p))
    false, true, _ = theirs.roc_curve(rare, rounded, sample_weight=weight, drop_intermediate=False)
    own = ranking.roc_curve()
    np.testing.assert_allclose(own[0], false)
    np.testing.assert_allclose(own[1], true)
    precision, recall, thresholds = theirs.precision_recall_curve(rare, rounded, sample_weight=weight)
    for mine, want in zip(ranking.precision_recall_curve(), (precision[:-1], recall[:-1], thresholds), strict=True):
        np.testing.assert_allclose(mine, want[::-1])


def test_without_rows_of_both_kinds_there_is_no_area():
    nothing = Ranking("fraud", np.zeros(RANKS), np.zeros(RANKS))
    assert np.isnan([nothing.roc_auc, nothing.average_precision, nothing.share, nothing.top(1).precision]).all()
    assert np.isnan(nothing.average_precision_bounds).all()
    assert Metrics().as_dict()["roc_auc"] is None
    assert Metrics().rarest is None
    alone = Metrics()
    alone.add(["ok"], ["ok"], probabilities=[[1.0]], classes=["ok"])
    assert alone.as_dict()["roc_auc"] is None
    with pytest.raises(ValueError, match=r"'fraud'; labels: 'ok'"):
        alone.ranking("fraud")


def test_a_rare_class_has_some_rows_and_less_than_a_fifth_of_an_even_share():
    found = Metrics()
    found.add(["a"] * 500 + ["b"] * 460 + ["c"] * 37 + ["d"] * 3, ["a"] * 1000)
    assert (found.rarest, found.rare) == ("c", "c")  # 3 rows of d tell nothing
    even = Metrics()
    even.add(["a"] * 85 + ["b"] * 15, ["a"] * 100)
    assert (even.rarest, even.rare) == ("a", None)  # b has fewer than 20 rows
    even.add(["b"] * 10, ["a"] * 10)
    assert (even.rarest, even.rare) == ("b", None)


# ------------------------------------------------------------------------------------------------- tail and intervals


def runs(n=3000, seed=0, noise=1.0, late=False):
    """The same run as a Result, and as a Tally in blocks."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < 0.1).astype(int)
    p = 1.0 / (1.0 + np.exp(2.0 - 2.0 * y + noise * np.random.default_rng(seed + 1).standard_normal(n)))
    both = np.column_stack([1.0 - p, p])
    result = Result(y * 0, y, 1.0, None, both, np.array([0, 1]))
    tally = Tally()
    for a in range(0, n, 700):
        block = Block(np.zeros((len(y[a : a + 700]), 1)), y[a : a + 700], a, 0.0)
        tally.add_step(Step(block, block.y * 0, both[a : a + 700], np.array([0, 1]), None, None, 0.0, 0.0))
    return result, tally


def test_a_tally_knows_the_metrics_of_the_last_part_and_a_copy_goes_on():
    result, tally = runs(2000)
    writer = Writer()
    text = writer.value(tally.as_values())
    again = Tally.of_values(Reader(writer.arrays).value(text))
    assert again.tail_metrics().as_dict() == tally.tail_metrics().as_dict()
    length = tally.stretches.length
    assert len(tally.stretches._whole) < 120
    for share in (1.0, 0.5, 0.2):
        rows = tally.tail_metrics(share).rows
        assert abs(rows - share * 2000) <= length / 2
        want = result.tail_metrics(rows / 2000).as_dict()
        assert {name: pytest.approx(value) for name, value in want.items() if "change" not in name} == {
            name: value for name, value in tally.tail_metrics(share).as_dict().items() if "change" not in name
        }
    assert tally.tail_metrics(1.0).rows == 2000


def test_an_interval_of_the_accuracy_is_the_one_that_was_there_before():
    result, tally = runs(3000)
    for run in (result, tally):
        found = run.interval_of("accuracy")
        low, high = run.accuracy_interval()
        assert found == pytest.approx((low, high), abs=2e-3)
    assert result.interval_of("roc_auc") == pytest.approx(tally.interval_of("roc_auc"), abs=1e-9)
    with pytest.raises(ValueError, match="metric must be one of"):
        tally.interval_of("auc")
    for few in (1, 3, 30):
        assert np.isnan(runs(few)[1].interval_of("roc_auc")).all()


def test_intervals_of_areas_hold_what_they_promise():
    """Normal scores: the area is known. A difference of two models on the same rows is surer than either."""
    truth = {
        noise: float(0.5 * (1.0 + np.vectorize(__import__("math").erf)(2.0 / noise / 2.0))) for noise in (1.0, 1.5)
    }
    held = ahead = 0
    for seed in range(20):
        good, poor = runs(2000, 10 * seed)[0], runs(2000, 10 * seed, 1.5)[0]
        low, high = good.interval_of("roc_auc", 0.9)
        held += low <= truth[1.0] <= high
        low, high = good.better_than(poor, 0.9, metric="roc_auc")
        ahead += low <= truth[1.0] - truth[1.5] <= high
    assert held >= 15
    assert ahead >= 15
    low, high = good.better_than(poor, metric="log_loss")
    assert low < good.metrics.log_loss - poor.metrics.log_loss < high < 0.0


# -------------------------------------------------------------------------------------------------------- what is shown


WIDE = pytest.mark.filterwarnings("ignore:column 'merchant' has more than")


def said(*words):
    done = CliRunner().invoke(main, ["run", "payments", "--limit", "1500", "--model", "hoeffding-tree", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


@WIDE
def test_a_run_puts_the_rare_class_in_front():
    text = said("--per-class")
    assert text.index("the rare class fraud: 2.") < text.index("1,500 examples")
    assert "last-class" not in text[: text.index("1,500 examples")]  # it has no scores


@WIDE
def test_json_has_the_ranking_and_so_has_a_page(tmp_path):
    found = json.loads(said("--json", "--report", str(tmp_path / "page.html")))["results"]
    assert [("ranking" in row) for row in found] == [True, False, False]
    data = load_dataset("payments")
    result = prequential(HoeffdingTree(), data.X[:1500], data.y[:1500], classes=data.classes)
    ranking = result.metrics.ranking("fraud")
    told = found[0]["ranking"]
    assert (told["label"], told["share"]) == ("fraud", ranking.share)
    assert told["roc_auc"] == ranking.roc_auc == pytest.approx(found[0]["roc_auc"], abs=1e-3)
    assert told["average_precision"] == ranking.average_precision == found[0]["average_precision"]
    assert told["top"]["0.01"] == ranking.top(0.01).as_dict()
    low, high = told["roc_auc_interval"]
    assert low < told["roc_auc"] < high
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.index("The rare class: fraud") < page.index("How good, how fast")
    assert f"<b>{ranking.average_precision:.3f}</b>" in page
    assert "NaN" not in page


@WIDE
def test_models_are_compared_with_the_one_that_ranks_best():
    words = ["compare", "payments", "--limit", "1500", "--models", "hoeffding-tree,hoeffding-tree", "--json"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.output
    first, second = (row["ranking"] for row in json.loads(done.stdout)["results"])
    assert "roc_auc_to_best" not in first
    assert second["roc_auc_to_best"] == pytest.approx([0.0, 0.0])


@WIDE
def test_settings_can_be_chosen_by_ranking():
    data = load_dataset("payments")
    grid = {"grace_period": [50, 100_000]}
    found = tune(HoeffdingTree(), grid, data.X[:1000], data.y[:1000], score="average_precision")
    first = found.rounds[0].scores
    assert first[0][1] >= first[1][1]
