"""What is believed of the numbers of a column, and that glitches cost next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from helpers import assert_finite, number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, load_dataset
from onlineboost.chain.clipping import LARGEST, MEMORY, clip_rows, learn_and_clip, new_numbers
from reference_numbers import Column


def learn(X, block=None):
    """(rows as they are believed, variances, what is known in the end) of a stream in blocks."""
    X = np.asarray(X, float).reshape(len(X), -1)
    numbers, parts = new_numbers(X.shape[1]), []
    for a in range(0, len(X), block or len(X)):
        parts.append(learn_and_clip(numbers, X[a : a + (block or len(X))]))
    rows, spread = (np.concatenate(part) for part in zip(*parts, strict=True))
    return rows, spread, numbers


def column(n, seed=0):
    return np.random.default_rng(seed).normal(size=n)


def assert_is_its_twin(values, every=1):
    """A column, None for missing values, through kernel and twin."""
    rows, spread, _ = learn([np.nan if x is None else x for x in values])
    twin = Column()
    for b, x in enumerate(values):
        want = np.nan if x is None else twin.meet(x)
        np.testing.assert_equal(rows[b, 0], want)
        assert (spread[b, 0] < 0.0) == (x is not None and twin.again)
        if b % every == 0:
            scale = max(map(abs, twin.believed), default=0.0)
            variance = twin.variance if x is None else twin.spread
            assert abs(spread[b, 0]) == pytest.approx(variance, rel=1e-7, abs=1e-13 * scale**2)


values = st.floats(-1e5, 1e5) | st.none() | st.sampled_from([0.0, 1.0, 1e6, -1e6, 1e30, 1e160, -1.7e308, 5e-324])


@given(st.lists(values, min_size=1, max_size=150))
def test_a_column_is_its_twin(shown):
    assert_is_its_twin(shown)


@pytest.mark.parametrize("share", [0.0, 0.001, 0.01])
@pytest.mark.parametrize("make", [np.round, np.exp, lambda x: 1.0 * (x > 2.5)], ids=["whole", "skewed", "sparse"])
def test_a_long_column_is_its_twin(make, share):
    rng = np.random.default_rng(1)
    x = np.where(rng.random(4000) < share, rng.choice([1e6, -1e30, 1e308], 4000), make(column(4000)))
    assert_is_its_twin(x.tolist()[:1200], every=300)


def test_the_variance_forgets_what_is_10_000_numbers_old():
    x = np.concatenate([column(10_000), 0.1 * column(20_000)])
    weights = (1.0 - 1e-4) ** np.minimum(20_000, np.arange(30_000)[::-1])
    want = np.cov(x, aweights=weights, ddof=0)
    assert learn(x)[1][-1, 0] == pytest.approx(want, rel=1e-9)
    assert want < 0.5 * x.var()


@pytest.mark.parametrize("block", [1, 7, 1000])
def test_blocks_change_nothing_and_the_callers_rows_stay_as_they_are(block):
    X = np.where(np.random.default_rng(2).random((2500, 3)) < 0.01, 1e9, column(7500).reshape(2500, 3))
    before = X.copy()
    want, got = learn(X), learn(X, block)
    np.testing.assert_array_equal(X, before)
    for a, b in zip((*want[:2], *want[2]), (*got[:2], *got[2]), strict=True):
        np.testing.assert_array_equal(a, b)
    assert (want[0] != X).any()


def test_a_row_is_predicted_with_the_numbers_that_it_will_be_learned_with():
    x = np.where(np.arange(300) % 50 == 49, 1e9, column(300))
    numbers = new_numbers(1)
    for b in range(300):
        rows = x[b : b + 1, None]
        np.testing.assert_array_equal(clip_rows(numbers, rows), learn_and_clip(numbers, rows)[0])


# -------------------------------------------------------------------------------------------------- what is believed


@pytest.mark.parametrize("glitch", [1e6, -1e30, 1.7e308])
@pytest.mark.parametrize("at", [30, 100, 5000])
def test_a_glitch_becomes_the_end_of_the_range(at, glitch):
    x = column(6000)
    x[at] = glitch
    rows, spread, _ = learn(x)
    assert abs(rows[at, 0]) <= 5.0
    np.testing.assert_array_equal(np.delete(rows[:, 0], at), np.delete(x, at))
    assert spread[-1, 0] == pytest.approx(1.0, abs=0.1)


def test_a_few_glitches_now_and_then_are_never_believed():
    x = np.where(np.arange(50_000) % (MEMORY // 2) == 300, 1e9, column(50_000))
    assert np.abs(learn(x)[0]).max() < 6.0


def test_a_new_unit_is_believed_after_a_few_rows():
    x = column(5000) + 5.0
    x[2500:] *= 1000.0
    rows, spread, _ = learn(x)
    np.testing.assert_array_equal(rows[2510:, 0], x[2510:])
    assert 4 <= (rows[2500:2510, 0] != x[2500:2510]).sum() <= 6
    assert spread[-1, 0] > 1e6


def test_rare_numbers_of_a_column_that_is_mostly_zero_are_believed():
    x = 500.0 * (np.arange(100_000) % 5000 == 4999)  # seldom, and always forgotten if they could be
    rows = learn(x)[0][:, 0]
    np.testing.assert_array_equal(rows[x > 0.0], [0.0] * 4 + [500.0] * 16)


def test_a_stuck_column_is_believed_again_at_once():
    x = column(40_000)
    x[5000:30_000] = x[5000]
    np.testing.assert_array_equal(learn(x)[0][:, 0], x)


def test_the_first_numbers_are_believed_but_for_the_largest_there_are():
    assert learn([5.0, -3.0, 5e5])[0][:, 0].tolist() == [5.0, -3.0, 5.0]
    assert learn([1.7e308, -1.7e308, 1e150])[0][:, 0].tolist() == [LARGEST, -LARGEST, LARGEST]


# ---------------------------------------------------------------------------------------------- what comes of it


@pytest.mark.parametrize("at", [50, 600, 1200])
@pytest.mark.parametrize("glitch", [1e6, -1e30, 1e160])
@pytest.mark.parametrize("make", [HoeffdingTree, lambda: AdaBoostOLM(20)], ids=["tree", "booster"])
def test_a_glitch_row_costs_next_to_nothing(make, glitch, at):
    X, y = number_stream(2000, d=8, n_classes=6, seed=4)
    disturbed = X.copy()
    disturbed[at] = glitch
    right = [(make().test_then_train(rows, y)[1500:] == y[1500:]).mean() for rows in (X, disturbed)]
    assert right[1] > right[0] - 0.02


def test_how_large_a_glitch_is_makes_no_difference():
    X, y = number_stream(400, seed=5)
    said = []
    for glitch in (1e6, 1e30, 1e160, 1.7e308):
        disturbed = X.copy()
        disturbed[[60, 300], 1:] = glitch
        said.append(AdaBoostOLM(5).test_then_train(disturbed, y).tolist())
    assert all(each == said[0] for each in said)


def test_isolet_forgets_a_glitch():
    """One row of 1e6 cost 16 points, for good."""
    try:
        data = load_dataset("isolet").shuffled(0)
    except ValueError:
        pytest.skip("the data set is not at hand")
    X, y = np.column_stack(data.X.columns)[:4000], np.asarray(data.y)[:4000]
    disturbed = X.copy()
    disturbed[1200] = 1e6
    right = [(AdaBoostOLM(30).test_then_train(rows, y)[3000:] == y[3000:]).mean() for rows in (X, disturbed)]
    assert right[1] > right[0] - 0.01


def test_naive_bayes_has_an_opinion_however_unlikely_a_row_is():
    """All classes were less likely by more than numbers can say: the probabilities were NaN."""
    X, y = number_stream(15, seed=1)
    clf = HoeffdingTree(leaf_prediction="nb").fit(X, y)
    p = clf.predict_proba(np.full((1, 4), 1e120))
    np.testing.assert_allclose(p.sum(), 1.0)
    assert_finite(clf)
