"""Synthetic streams are decided by their seed, and are what they say: relevant columns, noise, drift."""

from __future__ import annotations

import numpy as np
import pytest

from onlineboost.datasets.dataset import Dataset, payments_stream, synthetic_stream


def values(data: Dataset) -> np.ndarray:
    return np.stack(data.X.columns, axis=1)


def test_a_synthetic_stream_is_decided_by_its_seed_and_a_longer_one_continues_it():
    short, again, long = synthetic_stream(500), synthetic_stream(500), synthetic_stream(800)
    assert np.array_equal(values(short), values(again))
    assert np.array_equal(values(short), values(long)[:500])
    assert (short.y == long.y[:500]).all()
    assert not np.array_equal(values(short), values(synthetic_stream(500, seed=1)))


@pytest.mark.parametrize(("n_columns", "n_classes"), [(1, 2), (7, 3), (10, 12)])
def test_a_synthetic_stream_has_the_size_asked_for(n_columns, n_classes):
    stream = synthetic_stream(2000, n_columns, n_classes)
    assert values(stream).shape == (2000, n_columns)
    assert len(stream.classes) == n_classes
    assert list(stream.classes) == sorted(stream.classes, key=lambda label: int(label[1:]))


def class_means(stream: Dataset, rows: slice) -> np.ndarray:
    X, y = values(stream)[rows], stream.y[rows]
    return np.array([X[y == label].mean(axis=0) for label in stream.classes])


def test_only_the_first_columns_of_a_synthetic_stream_matter():
    spread = class_means(synthetic_stream(50_000), slice(None)).std(axis=0)
    assert (spread[:6] > 0.2).all()
    assert (spread[6:] < 0.03).all()


def test_abrupt_drift_changes_everything_at_the_middle_and_nothing_before():
    still, abrupt = synthetic_stream(10_000), synthetic_stream(10_000, drift="abrupt")
    assert np.array_equal(values(still)[:5000], values(abrupt)[:5000])
    assert (values(still)[5000:, :6] != values(abrupt)[5000:, :6]).all()
    assert np.array_equal(values(still)[:, 6:], values(abrupt)[:, 6:])
    assert (still.y == abrupt.y).all()
    assert (still.order, abrupt.order) == ("shuffle", "time")


def test_gradual_drift_mixes_the_two_concepts_over_the_middle_third():
    n = 9000
    still, gradual = synthetic_stream(n), synthetic_stream(n, drift="gradual")
    moved = (values(still) != values(gradual)).any(axis=1)
    assert not moved[: n // 3].any()
    assert moved[2 * n // 3 :].all()
    thirds = moved[n // 3 : 2 * n // 3].reshape(3, -1).mean(axis=1)
    assert thirds == pytest.approx([1 / 6, 1 / 2, 5 / 6], abs=0.05)


def test_impossible_synthetic_streams_are_refused():
    with pytest.raises(ValueError, match="n_classes >= 2, got 10, 10, 1"):
        synthetic_stream(10, n_classes=1)
    with pytest.raises(ValueError, match="drift must be None, 'abrupt' or 'gradual', got 'slow'"):
        synthetic_stream(10, drift="slow")  # type: ignore[arg-type]


def test_payments_are_decided_by_their_seed_and_a_longer_stream_continues_a_shorter_one():
    short, again, long = payments_stream(500), payments_stream(500), payments_stream(800)
    for a, b, c in zip(short.X.columns, again.X.columns, long.X.columns, strict=True):
        assert (a == b).all()
        assert (a == c[:500]).all()
    assert (short.y == long.y[:500]).all()
    assert (short.y != payments_stream(500, seed=1).y).any()


@pytest.mark.parametrize("merchants", [200, 2000, 100_000])
def test_fraud_is_rare_and_bad_merchants_tell_it_until_others_are_bad(merchants):
    still, moved = (payments_stream(40_000, merchants, seed=3, drift=drift) for drift in (False, True))
    assert 0.015 < (still.y == "fraud").mean() < 0.05
    assert (still.y[:20_000] == moved.y[:20_000]).all()
    merchant = still.X.columns[still.X.names.index("merchant")]
    known = set(merchant[:20_000][still.y[:20_000] == "fraud"])
    again = np.array([one in known for one in merchant[20_000:]])
    shares = [(stream.y[20_000:][again] == "fraud").mean() for stream in (still, moved)]
    assert shares[0] > 1.2 * shares[1]


def test_impossible_payments_are_refused():
    with pytest.raises(ValueError, match="merchants >= 34"):
        payments_stream(10, merchants=33)
