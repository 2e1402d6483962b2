"""Metrics are those of scikit-learn, however the rows are cut into blocks, and take no more memory for more rows."""

from __future__ import annotations

from statistics import NormalDist

import numpy as np
import pytest
from sklearn import metrics as theirs

from onlineboost import HoeffdingTree
from onlineboost.cli import tables
from onlineboost.evaluation import Metrics, Result, Tally, interval, prequential
from onlineboost.evaluation.metrics import METRICS
from onlineboost.evaluation.prequential import SCORES
from onlineboost.evaluation.sums import BINS
from onlineboost.report import comparison, page
from onlineboost.storage.values import Reader, Writer

RATES = ("precision", "recall", "f1")


def run(n=400, k=4, seed=0, late=True):
    """(y, predictions, weight, probabilities) of a model of middling quality; the last class comes late."""
    rng = np.random.default_rng(seed)
    y = rng.integers(k - late, size=n)
    if late:
        y[n // 2 :][rng.random(n - n // 2) < 0.2] = k - 1
    p = rng.random((n, k)) + 1.5 * np.eye(k)[y] * (rng.random(n) < 0.6)[:, None]
    p /= p.sum(axis=1, keepdims=True)
    return np.array(list("abcdefgh"))[y], np.array(list("abcdefgh"))[p.argmax(axis=1)], rng.random(n) + 0.1, p


def counted(rows, ends=(), labels="abcd", **settings):
    found = Metrics(**settings)
    y, said, weight, p = rows
    for a, b in zip([0, *ends], [*ends, len(y)], strict=True):
        found.add(y[a:b], said[a:b], weight=weight[a:b], probabilities=p[a:b], classes=list(labels))
    return found


def test_a_metric_is_known_everywhere_by_its_line_in_the_list():
    assert list(Metrics().as_dict()) == list(METRICS)
    shown = {name for name, metric in METRICS.items() if metric.about}
    assert {"balanced_accuracy", "kappa", "macro_f1", "roc_auc", "average_precision", "log_loss", "ece"} == shown
    assert tables.SHOWN.keys() - {"cost", "coverage", "mean_set_size"} == comparison.SHOWN.keys() == shown
    assert all(page.WORDS[METRICS[name].title] for name in shown)
    assert METRICS.keys() - SCORES.keys() == {"no_change_accuracy"}
    assert all(getattr(Metrics, name).__doc__ for name in METRICS)


@pytest.mark.parametrize("ends", [(), (1, 2, 3), (17, 17, 390), tuple(range(1, 400))])
def test_they_are_those_of_scikit_learn_for_any_cut(ends):
    y, said, weight, p = rows = run()
    found = counted(rows, ends)
    assert found.as_dict() == counted(rows).as_dict()  # to the last bit
    labels = found.labels
    assert sorted(labels) == list("abcd")
    of = {"sample_weight": weight}
    np.testing.assert_allclose(found.confusion, theirs.confusion_matrix(y, said, labels=labels, **of))
    assert found.accuracy == pytest.approx(theirs.accuracy_score(y, said, **of))
    assert found.balanced_accuracy == pytest.approx(theirs.balanced_accuracy_score(y, said, **of))
    assert found.kappa == pytest.approx(theirs.cohen_kappa_score(y, said, **of))
    want = theirs.precision_recall_fscore_support(y, said, labels=labels, zero_division=0, **of)
    for name, values in zip(RATES, want, strict=False):
        np.testing.assert_allclose([one[name] for one in found.per_class()], values)
        assert found.macro(name) == pytest.approx(values.mean())
    assert found.log_loss == pytest.approx(theirs.log_loss(y, p, labels=list("abcd"), **of))
    right = np.eye(4)[[ord(label) - ord("a") for label in y]]
    assert found.brier == pytest.approx(np.average(((p - right) ** 2).sum(axis=1), weights=weight))
    before = np.concatenate([[""], y[:-1]])
    no_change = np.average(before == y, weights=weight)
    assert found.no_change_accuracy == pytest.approx(no_change)
    assert found.kappa_temporal == pytest.approx((found.accuracy - no_change) / (1 - no_change))


def test_the_calibration_error_is_the_distance_in_bins():
    y, said, weight, p = rows = run(seed=1)
    top, right = p.max(axis=1), y == said
    bins = np.minimum((top * BINS).astype(int), BINS - 1)
    want = sum(abs((weight * (right - top))[bins == i].sum()) for i in range(BINS)) / weight.sum()
    found = counted(rows, (100,))
    assert found.ece == pytest.approx(want)
    shown = found.reliability()
    some = shown["rows"] > 0
    assert (shown["rows"] * np.abs(shown["confidence"] - shown["right"]))[some].sum() / weight.sum() == pytest.approx(
        want
    )
    assert np.isnan(shown["right"][~some]).all()


@pytest.mark.parametrize("ends", [(), (3, 250, 399), tuple(range(7, 400, 7))])
def test_a_window_is_its_rows_alone(ends):
    rows = run(seed=2)
    found, want = counted(rows, ends, window=120), counted([part[-120:] for part in rows])
    known, same = found.as_dict(), want.as_dict()
    for name in set(same) - {"kappa_temporal", "no_change_accuracy"}:  # the row before the window's first is known
        assert known[name] == pytest.approx(same[name]), name
    assert len(found._last.y) == 120


@pytest.mark.parametrize("ends", [(), (3, 250, 399), tuple(range(1, 400))])
def test_fading_is_a_weight_that_falls_with_age(ends):
    y, said, weight, p = run(seed=3)
    faded = weight * 0.98 ** np.arange(len(y) - 1, -1, -1)
    found, want = counted((y, said, weight, p), ends, fade=0.98).as_dict(), counted((y, said, faded, p)).as_dict()
    assert {name: pytest.approx(value, rel=1e-9) for name, value in want.items()} == found


def test_rows_without_a_prediction_are_misses_and_have_no_probabilities():
    found = Metrics()
    y, said = np.array(["a", "b", "a"], object), np.array([None, "b", "a"], object)
    found.add(y, said, probabilities=np.array([[0.0, 0.0], [0.2, 0.8], [1.0, 0.0]]), classes=["a", "b"])
    assert found.accuracy == pytest.approx(2 / 3)
    assert found.balanced_accuracy == pytest.approx(0.75)
    assert found.log_loss == pytest.approx(-np.log(0.8) / 2)
    assert found.labels == ["a", "b"]
    assert found.cost({"a": {"b": 5.0}}) == pytest.approx(1 / 3)


def test_a_label_that_no_column_is_for_has_probability_0():
    found = Metrics()
    found.add(np.array([7]), np.array([3]), probabilities=np.array([[1.0]]), classes=[3])
    assert found.log_loss == pytest.approx(-np.log(np.finfo(float).eps))
    assert found.brier == pytest.approx(2.0)
    assert found.as_dict()["balanced_accuracy"] == 0.0


def test_what_was_counted_can_be_saved():
    rows = run(100, seed=4)
    for settings in ({}, {"window": 30}, {"fade": 0.9}):
        found = counted([part[:60] for part in rows], **settings)
        writer = Writer()
        text = writer.value(found.as_values())
        again = Metrics.of_values(Reader(writer.arrays).value(text))
        y, said, weight, p = (part[60:] for part in rows)
        again.add(y, said, weight=weight, probabilities=p, classes=list("abcd"))
        assert again.as_dict() == counted(rows, (60,), **settings).as_dict()


def test_settings_that_cannot_be_are_named():
    for settings in ({"window": 0}, {"window": 5, "fade": 0.9}, {"fade": 0.0}, {"fade": 1.1}):
        with pytest.raises(ValueError, match=r"window|fade"):
            Metrics(**settings)
    with pytest.raises(ValueError, match="classes"):
        Metrics().add([1], [1], probabilities=np.ones((1, 1)))


# -------------------------------------------------------------------------------------------------------- intervals


def test_intervals_hold_what_they_promise_where_rows_are_alike_and_models_learn():
    """Neighbouring rows share their luck (runs of 20), and accuracy rises from .6 to .9."""
    held, width = 0, []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        luck = np.repeat([NormalDist().cdf(v) for v in rng.standard_normal(300)], 20)
        right = luck < np.linspace(0.6, 0.9, 6000)
        low, high = Result(right, np.ones(6000, bool), 1.0).accuracy_interval(0.9)
        held += low <= 0.75 <= high
        width.append(high - low)
    assert 165 <= held <= 195
    by_rows = 2 * 1.645 * np.sqrt(0.75 * 0.25 / 6000)
    assert np.mean(width) > 3 * by_rows  # rows are not independent


def test_intervals_of_a_tally_and_of_differences():
    rng = np.random.default_rng(0)
    y, good = rng.integers(2, size=3000), rng.random(3000)
    better, worse = (Result(np.where(good < share, y, 1 - y), y, 1.0) for share in (0.9, 0.85))
    tally = Tally()
    for a in range(0, 3000, 700):
        tally.add(better.right[a : a + 700], 0.0)
    assert tally.accuracy_interval() == pytest.approx(better.accuracy_interval())
    low, high = better.better_than(worse)
    assert 0.0 < low < better.accuracy - worse.accuracy < high
    assert np.isnan(interval(np.ones(2), np.ones(2))).all()


# ------------------------------------------------------------------------------------------------------------- runs


class Shares:
    """A classifier of another library, that believes in what came most often."""

    def __init__(self):
        self.counts, self.weights = {}, []

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        for label, weight in zip(y.tolist(), np.ones(len(y)) if sample_weight is None else sample_weight, strict=True):
            self.counts[label] = self.counts.get(label, 0.0) + weight
        return self

    @property
    def classes_(self):
        return np.array(list(self.counts))

    def predict(self, X):
        return np.repeat(max(self.counts, key=self.counts.get), len(X))

    def predict_proba(self, X):
        shares = np.array(list(self.counts.values()))
        return np.tile(shares / shares.sum(), (len(X), 1))


@pytest.mark.parametrize("delay", [None, 3])
def test_a_run_has_probabilities_weights_and_late_classes(delay):
    y, weight = np.array(list("aabacbca")), np.array([1.0, 2.0, 1.0, 0.0, 1.0, 1.0, 3.0, 1.0])
    result = prequential(Shares(), np.zeros((8, 1)), y, weight=weight, delay=delay)
    assert len(result.y) == 7
    assert result.probabilities.shape == (7, 3)
    assert result.classes.tolist() == ["a", "b", "c"]
    if delay is None:
        np.testing.assert_allclose(result.probabilities[:4], [[0, 0, 0], [1, 0, 0], [1, 0, 0], [0.75, 0.25, 0]])
    assert result.metrics.accuracy == pytest.approx(np.average(result.right, weights=weight[weight > 0]))
    frame = result.to_frame()
    assert list(frame.columns) == ["label", "prediction", "right", "weight", "p(a)", "p(b)", "p(c)"]
    assert len(frame) == 7
    assert result.metrics_of(window=2).rows == 7


def test_rows_that_are_refused_are_not_counted():
    metrics, p = Metrics(), np.array([[0.2, 0.8]] * 2)
    metrics.add([1, 1], [1, 1])
    told = {"probabilities": p, "classes": [1, 2]}
    for bad in (
        {"weight": [1.0]},
        {"weight": [np.nan, 1.0]},
        {"weight": [-1.0, 1.0]},
        {**told, "probabilities": p[:1]},
        {**told, "probabilities": 2.0 * p},
        {**told, "probabilities": np.nan * p},
        {**told, "classes": [1, 1]},
    ):
        with pytest.raises(ValueError, match=r"weight|probabilities|classes must"):
            metrics.add([2, 2], [1, 1], **bad)
        assert (metrics.rows, metrics.labels, metrics.accuracy) == (2, [1], 1.0)
    metrics.add([2, 2], [1, 1], probabilities=p.tolist(), classes=[1, 2])
    assert metrics.rows == 4


def test_labels_in_one_column_and_of_several_kinds():
    X = np.tile([[0.0], [1.0]], (50, 1))
    y = np.tile([0, 1], 50)
    want = prequential(HoeffdingTree(), X, y)
    for column in (y[:, None], y[:, None].tolist()):
        assert prequential(HoeffdingTree(), X, column).accuracy == want.accuracy
    with pytest.raises(ValueError, match="one label per row"):
        prequential(HoeffdingTree(), X, np.column_stack([y, y]))
    mixed = np.array(["a", 1] * 50, object)
    assert prequential(HoeffdingTree(), X, mixed).accuracy == want.accuracy


def test_rows_of_weight_0_take_their_delays_with_them():
    X, y, weight = np.tile([[0.0], [1.0]], (50, 1)), np.tile([0, 1], 50), np.tile([1.0, 1.0, 0.0, 1.0], 25)
    delay, keep = np.arange(100) % 5, weight > 0.0
    for late in ({"delay": delay}, {"delay": 3.0, "times": np.arange(100.0)}):
        want = prequential(
            HoeffdingTree(), X[keep], y[keep], **{n: v if np.ndim(v) == 0 else v[keep] for n, v in late.items()}
        )
        assert (
            prequential(HoeffdingTree(), X, y, weight=weight, **late).predictions.tolist() == want.predictions.tolist()
        )
