"""Figures that are counted as the stream goes by are those of all its rows, and take no more memory for more rows."""

from __future__ import annotations

import numpy as np
import pytest

from onlineboost.evaluation import Result, Tally, results


def both(right, trees, blocks):
    """A Result and a Tally of the same run."""
    found, at = Tally(), 0
    for n in blocks:
        found.add(right[at : at + n], 0.5, trees[at : at + n])
        at += n
    assert at == len(right)
    return Result(right, np.ones(len(right), bool), 0.5 * len(blocks), trees), found


def stream(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random(n) < np.linspace(0.2, 0.9, n), rng.random((n, 3)) < (0.3, 0.5, 0.7)


@pytest.mark.parametrize("n", [1, 2, 7, 100, 5000])
def test_as_long_as_rows_are_few_all_figures_are_exact(n):
    right, trees = stream(n)
    want, found = both(right, trees, [*np.diff([0, n // 3, n // 3, n // 2, n])])
    assert len(found) == n
    assert found.accuracy == want.accuracy
    assert found.mistakes == int((~right).sum())
    assert found.examples_per_second == want.examples_per_second
    for share in (0.01, 0.2, 0.5, 1.0):
        assert found.tail_accuracy(share) == want.tail_accuracy(share)
        assert found.best_tree_accuracy(share) == want.best_tree_accuracy(share)
    for points in (1, 30, 200):
        for one, other in zip(found.curve(points), want.curve(points), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("block", [1, 37, 4096])
def test_of_many_rows_the_figures_are_as_good_as_exact(monkeypatch, block):
    monkeypatch.setattr(results, "MAX_STRETCHES", 2048)
    n = 20_011
    right, trees = stream(n, 3)
    want, found = both(right, trees, [*np.diff([*range(0, n, block), n])])
    assert found.counts.length == 16
    assert found.counts._counts.nbytes <= 2048 * 2
    assert found.accuracy == want.accuracy
    assert found.mistakes == int((~right).sum())
    assert found.tail_accuracy() == pytest.approx(want.tail_accuracy(), abs=2e-3)
    assert found.best_tree_accuracy(0.2) == pytest.approx(want.best_tree_accuracy(0.2), abs=2e-3)
    examples, shares = found.curve(30)
    assert examples[-1] == n
    np.testing.assert_allclose(examples, want.curve(30)[0], atol=8)
    np.testing.assert_allclose(shares, want.curve(30)[1], atol=0.03)


def test_counts_of_long_stretches_do_not_overflow(monkeypatch):
    monkeypatch.setattr(results, "MAX_STRETCHES", 2)
    found = Tally()
    for _ in range(40):
        found.add(np.ones(5000, bool), 0.0)
    assert len(found) == 200_000
    assert found.accuracy == found.tail_accuracy() == 1.0


def test_many_classes_take_memory_for_what_was_met_alone():
    """A stretch of few rows has few pairs of labels, whatever the number of classes."""
    k, n, tally = 1_000, 64, Tally()
    y = np.arange(n)
    step = {"y": y, "predictions": y[::-1], "weight": None, "probabilities": None, "classes": None}
    for _ in range(20):
        tally.stretches.add(tally.metrics.take(**step), k)
    assert sum(len(one.pairs) + one.sums.confusion.size for one in tally.stretches._whole) <= 20 * n
    total, rows = tally.stretches.since(0)
    assert (rows, total.confusion.shape, total.confusion.sum()) == (20 * n, (k, k), 20 * n)
