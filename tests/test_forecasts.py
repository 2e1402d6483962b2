"""The mixture of OnlineBoostClassifier's forecasts, and what is promised for it."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

from onlineboost import AdaBoostOLM, OnlineBoostClassifier
from onlineboost._compile.jit import entry_kernel
from onlineboost.panel.combiner import (
    FIRST,
    FORECASTS,
    SLACK,
    TOO_MUCH,
    ResetTest,
    learn_mixture,
    mix,
    new_forecasts,
    new_mixture,
    should_reset,
)
from onlineboost.theory import guarantee, mixture_bound


@entry_kernel
def _ask_reset(test, p, k, y, weight):
    return should_reset(test, p, k, y, weight)


@entry_kernel
def _round(mixture, forecasts, y, weight, t):
    mix(mixture, forecasts, forecasts.shape[1])
    learn_mixture(mixture, forecasts, y, weight, t)


def _run(stream, k):
    """The mixture after a stream of (forecasts, label), and its twin: the sum of all ways to switch, by their odds."""
    mixture, forecasts = new_mixture(), new_forecasts(k)
    odds, lost = np.array(FIRST), 0.0
    for t, (p, y) in enumerate(stream, 1):
        forecasts[:FORECASTS] = p
        lost -= math.log(odds @ p[:, y])
        _round(mixture, forecasts, y, 1.0, t)
        odds = odds * p[:, y] / (odds @ p[:, y])
        odds = (odds * t + np.array(FIRST)) / (t + 1)
    np.testing.assert_allclose(mixture.share, odds, rtol=1e-9)
    assert mixture.lost[-1] == pytest.approx(lost)
    return mixture


@pytest.mark.parametrize("seed", range(4))
def test_the_mixture_loses_no_more_than_its_bound(seed):
    rng = np.random.default_rng(seed)
    k, T = 2 + seed, 400
    best = rng.integers(FORECASTS, size=2)  # one forecast is good in the first half, one in the second
    stream = []
    for t in range(T):
        y = int(rng.integers(k))
        p = rng.dirichlet(np.ones(k), FORECASTS) + 1e-3
        p[best[2 * t // T], y] += 3.0
        stream.append((p / p.sum(axis=1, keepdims=True), y))
    lost = _run(stream, k).lost
    assert lost[-1] <= mixture_bound(lost[:-1], T, shares=FIRST)
    followed = -sum(math.log(p[best[2 * t // T], y]) for t, (p, y) in enumerate(stream))
    assert lost[-1] <= mixture_bound([followed], T, switches=1, n_forecasts=FORECASTS, shares=FIRST)
    assert followed < lost[-1]


def test_an_adversary_does_not_get_above_the_bound():
    """Whoever has the largest share is wrong."""
    share, stream = np.array(FIRST), []
    for t in range(1, 301):
        p = np.full((FORECASTS, 2), 0.5)
        p[share.argmax()] = 0.05, 0.95
        stream.append((p, 0))
        share = (share * p[:, 0] / (share @ p[:, 0]) * t + np.array(FIRST)) / (t + 1)
    lost = _run(stream, 2).lost
    assert lost[-1] <= mixture_bound(lost[:-1], 300, shares=FIRST)


def test_the_guarantee_of_a_run():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    clf = OnlineBoostClassifier(5)
    said, p = clf.test_then_train(X, y, classes=[0, 1], proba=True)
    found = guarantee(clf, int((said != y).sum()))
    assert found.lost == pytest.approx(-np.log(p[np.arange(300), y]).sum())
    assert found.mistakes <= found.lost / math.log(2.0) <= found.mistake_bound
    assert found.loss_bound == mixture_bound(list(found.losses.values()), 300, shares=list(found.shares.values()))
    words = dict(found.lines(verbose=True))
    assert {"log loss", "best forecast", "other forecast", "bound on log loss", "bound on mistakes"} <= set(words)
    assert found.as_dict()["losses"]["the combiner"] > 0.0
    assert not guarantee(clf.set_params(class_weight="balanced"), 0)
    assert not guarantee(AdaBoostOLM(3).partial_fit(np.empty((0, 3)), [], classes=[0, 1]), 0)


@pytest.mark.parametrize(("wrong", "rows"), [(0.25, 5000), (0.28, 1200)])
def test_how_long_a_panel_that_is_wrong_goes_on(wrong, rows):
    """Two classes that cannot be told apart, of which the panel takes one for likelier: so wrong, in parts of log k."""
    log_k = math.log(2.0)
    d = brentq(lambda d: -0.5 * math.log(0.25 - d * d) - (1.0 + wrong) * log_k, 0.0, 0.4999)
    e = -np.log([0.5 + d, 0.5 - d]) - (1.0 + SLACK) * log_k
    test, p = ResetTest(np.zeros(1), np.zeros(1, np.int64), np.full(2, 1e12), np.zeros(16, np.int64)), np.empty(2)
    for y in (1, 1, 0, 1):  # these are its steps
        before, p[:] = test.lead[0], (0.5 + d, 0.5 - d)
        _ask_reset(test, p, 2, y, 1.0)
        assert test.lead[0] == pytest.approx(max(0.0, before + e[y]), abs=1e-9)
    theta = brentq(lambda a: np.log(np.exp(a * e).mean()), 1e-6, 100.0)
    rng, lead, first = np.random.default_rng(0), np.zeros(200), np.zeros(200)
    for t in range(1, 20_000):
        lead = np.maximum(0.0, lead + rng.choice(e, 200))
        first[(first == 0.0) & (lead > TOO_MUCH)] = t
    first[first == 0.0] = 20_000
    assert first.mean() >= math.exp(theta * TOO_MUCH)
    assert rows < first.mean() < 3 * rows  # it does begin again


def test_weights_that_know_the_label_make_a_panel_that_is_right_begin_again():
    """The theorem asks for weights that are fixed before the label is known."""
    rng, test = np.random.default_rng(0), None
    rows = {}
    for knows in (False, True):
        test = ResetTest(np.zeros(1), np.zeros(1, np.int64), np.array([5e11, 5e11]), np.zeros(16, np.int64))
        rows[knows] = 3000
        for t in range(3000):
            p = np.array([0.9, 0.1]) if rng.random() < 0.5 else np.array([0.1, 0.9])
            y = int(rng.random() > p[0])
            if _ask_reset(test, p, 2, y, 0.01 if knows and p[y] > 0.5 else 1.0):
                rows[knows] = t
                break
    assert rows[False] == 3000
    assert rows[True] < 3000
