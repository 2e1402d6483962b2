"""What values of wide columns have shown: the codes are those of a twin, and what they are worth."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, load
from onlineboost.chain.clipping import new_numbers
from onlineboost.chain.evidence import FADE, LEVELS, LIMITS, SLOTS, with_evidence, with_tables
from onlineboost.data.places import AT_ONCE, CELLS, EVIDENCE, FIRST_CELL


def code_of(rows, cell, k, own=None):
    """By all rows before, (cell, label, weight), the oldest first; one of them, of label `own`, left out."""
    counts = {c: [0.0] * k for c in (cell, None)}
    for age, (at, label, weight) in enumerate(reversed(rows)):
        for key in {cell, None} if at == cell else {None}:
            counts[key][label] += weight * FADE ** (age + 1)
    here, everywhere = counts[cell], counts[None]
    if own is not None and here[own] >= 0.5:
        here[own] -= 1.0
    if sum(here) <= 0.0:
        return 0
    shares = [(count + 1.0 / k) / (sum(everywhere) + 1.0) for count in everywhere]
    p = [(count + 10.0 * share) / (sum(here) + 10.0) for count, share in zip(here, shares, strict=True)]
    lead = [math.log(a / (1.0 - a)) - math.log(b / (1.0 - b)) for a, b in zip(p, shares, strict=True)]
    best = max(range(k), key=lead.__getitem__)
    return best % SLOTS * LEVELS + sum(lead[best] > limit for limit in LIMITS)


@pytest.mark.parametrize("k", [2, 3, 11])
def test_codes_are_those_of_the_twin_however_the_stream_is_cut(k):
    rng, n, first = np.random.default_rng(k), 600, 70
    cells = rng.integers(0, 40, (n, 2))
    y = np.where(rng.random(n) < 0.7, cells[:, 0] % k, rng.integers(0, k, n))
    weight = rng.choice([1.0, 0.4], n)
    X = np.column_stack([rng.normal(size=n), FIRST_CELL + CELLS * first + cells[:, 0], rng.integers(0, 5, n)])
    X[::9, 1], X[1::9, 1] = np.nan, 3.0  # missing, or a value with a code of its own
    numbers, whole = new_numbers(1), new_numbers(1)
    whole = with_tables(whole, X, k)
    at_once = with_evidence(whole, X, y, weight)
    rows, told = [], []
    for b in range(n):
        x, cell = X[b : b + 1], cells[b, 0] if X[b, 1] >= FIRST_CELL else None
        want = X[b].copy()
        if cell is not None:
            want[1] = first + code_of(rows, cell, k)
        numbers = with_tables(numbers, x, k)
        if b % 10 == 0:
            np.testing.assert_array_equal(with_evidence(numbers, x)[0], want)
        told.append(with_evidence(numbers, x, y[b : b + 1], weight[b : b + 1])[0])
        np.testing.assert_array_equal(told[-1], want)
        if cell is not None:
            rows.append((cell, y[b], weight[b]))
    np.testing.assert_array_equal(at_once, told)
    for one, other in zip(numbers, whole, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    left_out = with_evidence(numbers, X[-50:], own=y[-50:])
    for x, cell, label, code in zip(X[-50:, 1], cells[-50:, 0], y[-50:], left_out[:, 1], strict=True):
        if x >= FIRST_CELL:
            assert code == first + code_of(rows, cell, k, label)
    assert len({row[1] for row in told if row[1] >= first}) > 5


@pytest.mark.parametrize("kind", [AdaBoostOLM, OnlineBoostClassifier])
def test_values_that_tell_the_class_are_of_use_and_their_own_labels_are_not(kind):
    """3,000 shops, which come 4 times each in the mean; there is no other way to know. Or they tell nothing."""
    rng, n = np.random.default_rng(0), 6000
    shop = rng.integers(0, 1500, n)
    for bad, least, most in ((rng.random(1500) < 0.3, 0.75, 1.0), (None, 0.0, 0.62)):
        y = np.where(rng.random(n) < 0.9, bad[shop], rng.random(n) < 0.3) if bad is not None else rng.random(n) < 0.3
        X = np.array([[f"shop {s}", x] for s, x in zip(shop, rng.normal(size=n), strict=True)], object)
        clf = kind(5, random_state=0) if kind is AdaBoostOLM else kind(random_state=0)
        p = clf.test_then_train(X, y, classes=[False, True], proba=True)[1][n // 2 :, 1]
        truth = y[n // 2 :]
        order = np.argsort(np.argsort(p))
        auc = (order[truth].sum() - truth.sum() * (truth.sum() - 1) / 2) / (truth.sum() * (~truth).sum())
        assert least < auc < most
        if bad is None:
            assert clf.feature_importances_[0] < 0.9
    assert len(clf._model.encoder.codes[0]) == AT_ONCE + len(EVIDENCE)


def shops(n, seed=0, known=40):
    """A column that has its 65th value somewhere in the middle, and another one."""
    rng = np.random.default_rng(seed)
    shop = rng.integers(0, np.where(np.arange(n) < n // 2, known, 300))
    y = np.where((shop % 7 == 0) ^ (rng.random(n) < 0.1), "bad", "good").astype(object)
    rows = zip(shop, rng.normal(size=n), rng.integers(0, 3, n), strict=True)
    return np.array([[f"s{s}", x, f"c{c}"] for s, x, c in rows], object), y


def room(clf):
    """For values of each nominal column, in the statistics of trees."""
    forests = [segment.learners.forest for segment in clf._model.chain.segments]
    return [np.diff(forest.offset) - 1 for forest in forests]


def test_behind_a_panel_trees_do_without_wide_columns_however_the_stream_is_cut(tmp_path):
    X, y = shops(1500)
    tree = HoeffdingTree(grace_period=20, tie_threshold=0.3)
    said, models = [], []
    for block in (1500, 97):
        clf = OnlineBoostClassifier(10, learner=tree, random_state=0)
        p = [clf.test_then_train(X[a : a + block], y[a : a + block], classes=["bad", "good"], proba=True)[1]
             for a in range(0, 1500, block)]  # fmt: skip
        said.append(np.concatenate(p))
        models.append(clf)
    np.testing.assert_array_equal(*said)
    assert {tuple(own) for own in room(models[0])} == {(0, 3)}
    clf.save(tmp_path / "model.olb")
    back = load(tmp_path / "model.olb")
    for model in (clf, back):
        model.partial_fit(*shops(200, seed=1, known=300))
    np.testing.assert_array_equal(back.predict_proba(X[:50]), clf.predict_proba(X[:50]))
    assert {tuple(own) for own in room(back)} == {(0, 3)}
    alone = AdaBoostOLM(5, learner=tree, random_state=0).fit(X, y)  # nothing else learns what the values mean
    assert all(own[0] > AT_ONCE for own in room(alone))


def test_trees_that_had_room_for_wide_columns_keep_it():
    """As those of older files."""
    X, y = shops(1200)
    clf = OnlineBoostClassifier(5, random_state=0)
    stacking = type(clf.partial_fit(X[:1], y[:1], classes=["bad", "good"])._model.chain.end)
    stacking.trees_see_wide = True
    try:
        clf.partial_fit(X[1:], y[1:])
    finally:
        stacking.trees_see_wide = False
    clf.partial_fit(*shops(300, seed=2, known=300))
    assert all(own[0] > AT_ONCE for own in room(clf))
