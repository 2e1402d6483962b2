"""Columns that turn up later and vanish again, for every estimator: one rule, however the stream is cut."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.naive_bayes import GaussianNB

from contract.kinds import every_estimator, with_little_memory
from helpers import frozen, model_state
from onlineboost import AdaBoostOLM, HoeffdingTree
from onlineboost.data.columns import MAX_COLUMNS_OF_MODEL

every_class = pytest.mark.parametrize("kind", every_estimator() + with_little_memory(), ids=str)


def stream(n=240, seed=0):
    """Columns b and c turn up in rows 60 and 133, d (with a value now and then) in row 90; class "q" in row 90 too."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"a": rng.normal(size=n), "b": rng.normal(size=n), "c": rng.choice(list("xyz"), n)})
    X["d"] = np.where(np.arange(n) % 3 == 0, rng.normal(size=n), np.nan)
    y = np.where(X.a > 0, "o", "p").astype(object)
    y[(np.arange(n) >= 90) & (X.b > 0.5)] = "q"
    y[90] = "q"
    X.loc[:59, "b"], X.loc[:132, "c"], X.loc[:89, "d"] = np.nan, None, np.nan
    return X, y


def records(X):
    rows = X.to_dict("records")
    return [{name: value for name, value in row.items() if not pd.isna(value)} for row in rows]


def learned(kind, X, y, cuts, **settings):
    clf = kind.make(columns="open", **settings)
    for start, stop in zip([0, *cuts], [*cuts, len(y)], strict=True):
        part = X[start:stop]
        clf.partial_fit(part.loc[:, part.notna().any()], y[start:stop])  # without columns that are empty here
    return clf


@every_class
def test_a_column_begins_with_its_first_value_however_the_stream_is_cut(kind):
    X, y = stream()
    by_rows = kind.make()
    for row, label in zip(records(X), y, strict=True):
        by_rows.learn_one(row, label)
    want = model_state(by_rows)
    assert by_rows.feature_names_in_.tolist() == ["a", "b", "d", "c"]
    assert by_rows.n_features_in_ == 4
    assert by_rows.nbytes_ <= by_rows.memory_["limit"]
    for cuts in ([60], [61, 90, 133], list(range(7, 240, 7))):
        assert model_state(learned(kind, X, y, cuts)) == want
    again = deepcopy(by_rows)
    row = {"a": 0.3, "c": "y"}  # what is not there is missing, what is unknown is left out
    with pytest.warns(UserWarning, match="unknown column 'never'"):
        assert again.predict_proba_one(row) == again.predict_proba_one({"never": 4, "c": "y", "d": None, "a": 0.3})
    assert model_state(again) == want


@every_class
def test_a_null_is_as_if_it_were_left_out_in_the_first_row_too(kind):
    rows = [{"a": 1.0, "b": None, "c": None}, {"a": 2.0, "b": None, "c": "red"}, {"a": 1.5, "b": 7, "c": None}] * 3
    clf, want = kind.make(), kind.make()
    for b, row in enumerate(rows):
        clf.predict_one(row), clf.learn_one(row, "pq"[b % 2])
        want.learn_one({name: value for name, value in row.items() if value is not None}, "pq"[b % 2])
    assert clf.feature_names_in_.tolist() == ["a", "c", "b"]
    assert model_state(clf) == model_state(want)


def test_a_null_settles_a_column_where_columns_are_fixed_or_named():
    for settings in ({"columns": "fixed"}, {"categorical_features": ["c"]}):
        clf = HoeffdingTree(**settings).learn_one({"a": 1.0, "c": None}, "p")
        assert clf.feature_names_in_.tolist() == ["a", "c"]


@every_class
def test_columns_that_begin_in_the_same_row_come_in_the_order_of_their_names(kind):
    """Whatever the order of the mapping or the frame is, and however the stream is cut."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=120) for name in "kdbac"}).assign(e=rng.choice(list("xyz"), 120))
    y = np.where(X.a + X.b > 0, "o", "p")
    X.loc[:29, list("adbc")], X.loc[:29, "e"] = np.nan, None
    states = []
    for order in (list("kabcde"), list("kedcba")):
        clf = kind.make()
        for row, label in zip(records(X[order]), y, strict=True):
            clf.learn_one(row, label)
        assert clf.feature_names_in_.tolist() == list("kabcde")
        states += [model_state(clf), *(model_state(learned(kind, X[order], y, cuts)) for cuts in ([], [30], [20, 50]))]
    assert all(state == states[0] for state in states)


@every_class
@pytest.mark.parametrize("values", [[1.5, 2.5], ["red", "blue"]], ids=["numbers", "text"])
def test_the_first_value_of_an_object_column_says_what_it_is_however_the_stream_is_cut(kind, values):
    """Its first 150 values are missing: no frame tells from some of its rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"a": rng.normal(size=240), "o": pd.Series([None] * 150 + values * 45, dtype=object)})
    y = np.where(rng.random(240) < 0.5, "o", "p")
    want = kind.make(columns="open")
    for row, label in zip(records(X), y, strict=True):
        want.learn_one(row, label)
    for cuts in ([], [149], [150], [100, 151], [7, 200]):
        clf = kind.make(columns="open")
        for start, stop in zip([0, *cuts], [*cuts, 240], strict=True):
            clf.partial_fit(X[start:stop], y[start:stop])
        assert model_state(clf) == model_state(want)
        assert bool(clf._model.encoder.nominal) == isinstance(values[0], str)


def test_a_mixed_object_column_is_what_its_first_value_says():
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0], "o": pd.Series([None, 5, "red"], dtype=object)})
    clf = HoeffdingTree(columns="open").partial_fit(X[:1], ["p"])
    with pytest.raises(ValueError, match="row 1, column 'o': 'red' is not a number"):
        clf.partial_fit(X[1:], ["p", "o"])
    clf.partial_fit(X[1:2], ["p"])
    assert clf._model.encoder.nominal == []
    first = X[1:].reset_index(drop=True)
    with pytest.raises(ValueError, match="row 1, column 'o': 'red' is not a number, and the column is numeric"):
        HoeffdingTree(columns="open").partial_fit(first, ["p", "o"])


def test_a_first_row_without_a_value_begins_no_open_columns():
    """As with single rows: in a larger block the next row would settle the columns, in a smaller one nothing would."""
    X = pd.DataFrame({"a": [np.nan, 1.0], "b": pd.Series([None, "red"], dtype=object)})
    for block in (X, X[:1]):
        with pytest.raises(ValueError, match="the first row has no value: it settles the columns"):
            HoeffdingTree(columns="open").partial_fit(block, ["o", "p"][: len(block)])
    with pytest.raises(ValueError, match="the first row has no value: it settles the columns"):
        HoeffdingTree(columns="open").learn_one({"a": None}, "o")


@every_class
def test_blocks_to_predict_may_lack_columns_and_have_others(kind):
    X, y = stream()
    clf = learned(kind, X, y, [50])
    X["b"] = np.nan
    want = clf.predict_proba(X)
    odd = X[["d", "a", "c"]].assign(never="?")
    with pytest.warns(UserWarning, match="unknown column 'never'"):
        assert clf.predict_proba(odd).tolist() == clf.predict_proba(pl.from_pandas(odd)).tolist() == want.tolist()


@every_class
def test_an_error_in_a_block_with_new_columns_changes_nothing(kind):
    X, y = stream()
    clf = learned(kind, X[:50], y[:50], [])
    before = frozen(clf)
    bad = X[50:].astype({"d": object})
    bad.iloc[-1, 0] = np.inf
    with pytest.raises(ValueError, match="infinity"):
        clf.partial_fit(bad, y[50:])
    with pytest.raises(ValueError, match="row 3"):
        clf.partial_fit(X[50:], [*y[50:53], None, *y[54:]])
    with pytest.raises(ValueError, match="infinity"):
        clf.learn_one({"a": float("inf"), "new": 1.0}, "o")
    with pytest.raises(ValueError, match="label"):
        clf.learn_one({"a": 1.0, "new": 1.0}, None)
    with pytest.raises((ValueError, TypeError), match="date"):
        clf.learn_one({"a": 1.0, "new": pd.Timestamp("2024-01-01")}, "o")
    assert frozen(clf) == before


@every_class
def test_fixed_columns_are_fixed(kind):
    X, y = stream()
    clf = kind.make(columns="fixed").partial_fit(X[["a"]], y)
    for use in (clf.predict_one, lambda row: clf.learn_one(row, "o")):
        with pytest.raises(ValueError, match="unknown column 'b'"):
            use({"a": 1.0, "b": 2.0})
    with pytest.raises(ValueError, match="unseen at fit time"):
        kind.make().partial_fit(X[["a"]], y).partial_fit(X[["a", "b"]], y)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_make_no_difference(threads):
    X, y = stream(1500)
    clf = AdaBoostOLM(20, columns="open", n_jobs=threads).partial_fit(X[["a"]][:50], y[:50]).partial_fit(X[50:], y[50:])
    want = AdaBoostOLM(20)
    for row, label in zip(records(X), y, strict=True):
        want.learn_one(row, label)
    assert model_state(clf) == model_state(want)


def test_a_new_column_is_as_one_that_was_always_missing():
    """With all columns looked at in every split: the trees are the same, and numbers but for rounding."""
    X, y = stream(600, seed=3)
    clf = HoeffdingTree(columns="open", max_features=1.0, grace_period=20, split_confidence=0.1)
    whole = deepcopy(clf).partial_fit(X[["a", "b", "d", "c"]], y)
    clf.partial_fit(X[["a"]][:50], y[:50]).partial_fit(X[50:], y[50:])
    trees = [model._model.chain.segments[0].learners.forest for model in (whole, clf)]
    assert trees[0].used[0] == trees[1].used[0] > 5
    np.testing.assert_array_equal(*(tree.nodes["feature"][: tree.used[0]] for tree in trees))
    np.testing.assert_allclose(whole.predict_proba(X), clf.predict_proba(X), atol=1e-9)


def test_learners_of_another_make_keep_their_columns():
    X, y = stream()
    clf = AdaBoostOLM(2, learner=GaussianNB(), columns="open")
    clf.partial_fit(X[["a"]], y, classes=["o", "p", "q"])
    before = frozen(clf)
    with pytest.raises(ValueError, match="weak learners of other libraries"):
        clf.learn_one({"a": 1.0, "b": 2.0}, "o")
    assert frozen(clf) == before


def test_there_is_an_end_to_columns():
    clf = HoeffdingTree().learn_one({"a": 1.0}, "o")
    with pytest.warns(UserWarning, match="more than 1000 different columns"):
        clf.learn_one({f"user_{i}": 1.0 for i in range(MAX_COLUMNS_OF_MODEL + 5)}, "p")
    assert clf.n_features_in_ == MAX_COLUMNS_OF_MODEL
    assert clf.predict_one({"a": 1.0}) == "o"


def test_a_model_that_began_without_names_takes_none():
    clf = HoeffdingTree().partial_fit([[1.0], [2.0]], ["o", "p"])
    with pytest.raises(ValueError, match="unknown column 'b'"):
        clf.learn_one({"x0": 1.0, "b": 2.0}, "o")


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_a_class_that_comes_after_a_column_has_become_wide(kind):
    rng = np.random.default_rng(0)
    shops, y = rng.permutation(200), np.arange(200)
    X = np.array([[f"shop {s}", x] for s, x in zip(shops, rng.normal(size=200), strict=True)], object)
    y = np.array(list("abcde"))[np.minimum(y % 5, 1 + y // 50)]
    block, single = kind.make().partial_fit(X, y), kind.make()
    for x, label in zip(X, y, strict=True):
        single.learn_one(list(x), label)
    for clf in (block, single):
        assert clf._model.chain.numbers.labels.shape == (1, 5)
    np.testing.assert_array_equal(block.predict_proba(X), single.predict_proba(X))
