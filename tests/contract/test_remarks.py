"""What a model warns of, for every estimator: once for each cause, and at the line of whoever called it."""

from __future__ import annotations

import pickle
import warnings
from copy import deepcopy
from itertools import pairwise

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from contract.kinds import every_estimator
from helpers import frozen, model_state
from onlineboost import HoeffdingTree, OnlineBoostClassifier
from onlineboost.data import read_blocks
from onlineboost.estimators import learning

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
LARGE = 2**60


def told(call):
    """The warnings of a call, all of them."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call()
    return caught


def two_columns(n=40):
    rng = np.random.default_rng(0)
    return pd.DataFrame({"amount": rng.normal(size=n), "length": rng.normal(size=n)}), np.array(["a", "b"] * (n // 2))


# ------------------------------------------------------------------------------------------------- unknown columns


@every_class
def test_names_that_were_never_learned_are_told_once_when_predicting(kind):
    X, y = two_columns()
    clf = kind.make().partial_fit(X, y)
    for _ in range(2):  # by way of a block of one row, then by itself
        clf.predict_one({"amount": 1.0, "length": 1.0})
    before = frozen(clf)
    caught = told(
        lambda: [clf.predict_one({"amuont": 1.0, "length": 1.0}), clf.predict_one({"other": 1.0, "length": 1})]
    )
    assert [str(each.message).partition(":")[0] for each in caught] == ["unknown column 'amuont'"]
    assert "'amuont': did you mean 'amount'?" in str(caught[0].message)
    assert caught[0].filename == __file__
    assert told(lambda: deepcopy(clf).predict_proba_one({"amuont": 1.0, "length": 1.0})) == []
    assert frozen(clf) == before
    assert clf.predict_one({"amuont": 1.0, "length": 1.0}) == clf.predict_one({"length": 1.0})


@every_class
def test_a_name_beside_all_that_are_known_is_told_when_it_comes_again(kind):
    """It may be new: then it is learned in between."""
    X, y = two_columns()
    clf = kind.make().partial_fit(X, y)
    row = {"amount": 1.0, "length": 1.0}
    for name in ("height", "width"):
        row = {**row, name: 2.0}
        clf.predict_one(row)
        clf.learn_one(row, "a")
    clf.predict_one({**row, "depth": 2.0})
    with pytest.warns(UserWarning, match="unknown column 'depth'"):
        clf.predict_proba_one({**row, "depth": 2.0})
    assert told(lambda: [clf.predict_one({**row, "mass": 2.0}) for _ in range(2)]) == []


@every_class
@pytest.mark.parametrize("row", [{}, {"amuont": 1.0, "lenght": 2.0}], ids=str)
def test_a_row_without_a_known_name_is_told_when_predicting(kind, row):
    X, y = two_columns()
    for method in ("predict_one", "predict_proba_one", "predict_pending", "explain"):
        clf = kind.make().partial_fit(X, y).learn_one({"amount": 1.0, "length": 2.0}, "a")
        with pytest.warns(
            UserWarning, match="none of this model's columns has a value here.*'amount', 'length'"
        ) as caught:
            getattr(clf, method)(row)
        assert [each.filename for each in caught] == [__file__]
        assert told(lambda clf=clf, method=method: getattr(clf, method)(row)) == []


@every_class
def test_a_new_name_in_place_of_one_that_is_nearly_the_same_is_told_when_learning(kind):
    """Once. Not of the first rows, where columns turn up one by one, nor of names that differ in digits alone."""
    clf = kind.make().learn_one({"hedge": 1.0, "x1": 2.0}, "a").learn_one({"vedge": 1.0, "x1": 2.0}, "b")
    for _ in range(50):
        clf.learn_one({"amount": 1.0, "length": 2.0}, "a")
    row = {"length": 1.0, "hedge": 1.0, "vedge": 1.0, "amounts": 3.0}
    clf.learn_one({**row, "amount": 1.0, "x2": 2.0}, "a")
    with pytest.warns(UserWarning, match="'ammount' is a new column .* without 'amount'"):
        clf.learn_one({**row, "ammount": 1.0, "x1": 1.0, "x2": 2.0}, "b")
    assert "ammount" in clf.feature_names_in_
    clf.learn_one({**row, "amnount": 1.0, "ammount": 1.0, "x1": 1.0, "x2": 2.0}, "b")


@pytest.mark.parametrize(
    ("row", "near"),
    [
        ({"amuont": 1.0, "length": 1.0}, "amount"),  # another one is absent, too
        ({"amuont": 1.0, "lenght": 1.0, "device": 1.0}, "amount"),
        ({"Amount": 1.0, "length": 1.0, "device": 1.0}, "amount"),
        ({"amuont": 1.0}, None),  # most are absent: words of a text, say
    ],
    ids=str,
)
def test_a_mistaken_name_is_told_where_other_columns_are_absent_too(row, near):
    clf = HoeffdingTree()
    for b in range(60):
        clf.learn_one({"amount": 1.0, "length": 2.0, "device": float(b)}, "ab"[b % 2])
    caught = told(lambda: [clf.learn_one(row, "a") for _ in range(2)])
    assert [f"Did you mean {near!r}?" in str(each.message) for each in caught] == [True] * (near is not None)
    assert all(each.filename == __file__ for each in caught)


@every_class
def test_fixed_columns_refuse_what_others_warn_of(kind):
    X, y = two_columns()
    clf = kind.make(columns="fixed").partial_fit(X, y)
    before = frozen(clf)
    for use in (clf.predict_one, clf.predict_proba_one, clf.predict_pending, lambda row: clf.learn_one(row, "a")):
        for row, says in (({}, "none of this model's columns"), ({"amuont": 1.0}, "unknown column 'amuont'")):
            with pytest.raises(ValueError, match=says):
                use(row)
    with pytest.raises(ValueError, match="unseen at fit time"):
        clf.predict(X.assign(other=1.0))
    assert frozen(clf) == before


@every_class
def test_a_block_with_unknown_columns_is_told_once_where_columns_are_open(kind):
    X, y = two_columns()
    clf = kind.make(columns="open").partial_fit(X, y)
    more = X.assign(amuont=1.0)
    with pytest.warns(UserWarning, match="unknown column 'amuont'.*did you mean 'amount'") as caught:
        assert clf.predict(more).tolist() == clf.predict(X).tolist()
    assert [each.filename for each in caught] == [__file__]
    assert told(lambda: clf.predict_proba(pl.from_pandas(more))) == []
    with pytest.warns(UserWarning, match="none of this model's columns"):
        clf.predict(more[["amuont"]])
    with pytest.raises(ValueError, match="unseen at fit time"):
        kind.make().partial_fit(X, y).predict(more)


def test_a_column_too_many_is_told_once_for_a_model():
    clf = HoeffdingTree().learn_one({"a": 1.0}, "o")
    rows = [{f"user_{i}": 1.0 for i in range(first, first + 700)} for first in (0, 700, 1400)]
    caught = told(lambda: [clf.learn_one(row, "p") for row in rows])
    assert ["more than 1000 different columns" in str(each.message) for each in caught] == [True]
    assert caught[0].filename == __file__


# ------------------------------------------------------------------------------------------------------ dates as text


@every_class
def test_dates_as_text_are_told_once_for_a_column(kind, tmp_path):
    times = [f"2026-11-{1 + b % 28:02d}T12:{b:02d}" for b in range(40)]
    X, y = pd.DataFrame({"when": [times[0], None, *times[2:]], "hue": ["red", "12:1"] * 20}), ["a", "b"] * 20
    X.assign(label=y).to_json(tmp_path / "events.ndjson", orient="records", lines=True)
    (block,) = read_blocks(tmp_path / "events.ndjson", nominal="when")
    for given in (X, X.astype("string"), pl.from_pandas(X), X.to_numpy(object), block.X):
        for cuts in ([0, 40], [0, 1, 7, 40]):
            clf = kind.make()
            parts = list(pairwise(cuts))
            caught = told(
                lambda clf=clf, given=given, parts=parts: [
                    clf.partial_fit(given[a:b], y[a:b], classes=["a", "b"]) for a, b in parts
                ]
            )
            words = [str(each.message) for each in caught]
            assert [f"has dates or times as text, such as {times[0]!r}" in text for text in words] == [True], words
            assert caught[0].filename == __file__
    clf = kind.make()
    caught = told(lambda: [clf.learn_one(dict(row), "a") for _, row in X.iterrows()])
    assert ["dates or times" in str(each.message) for each in caught] == [True]
    assert told(lambda: kind.make().partial_fit(X.astype("category"), y)) == []


# --------------------------------------------------------------------------------------------- numbers without digits


def rows_of_large_numbers(form=int):
    return [[form(LARGE + b), b % 3] for b in range(40)], ["a", "b"] * 20


def frames_of_large_numbers():
    rows, y = rows_of_large_numbers()
    X = pd.DataFrame(rows, columns=["id", "day"])
    return {
        "int64 array": (X.to_numpy(), "x0"),
        "uint64 array": (X.to_numpy().astype(np.uint64), "x0"),
        "list": (rows, "x0"),
        "list of mixed numbers": ([[a, b + 0.5] for a, b in rows], "x0"),
        "objects": (X.to_numpy(object), "x0"),
        "pandas": (X, "id"),
        "pandas objects": (X.astype(object), "id"),
        "polars": (pl.from_pandas(X), "id"),
        "pyarrow": (pa.Table.from_pandas(X), "id"),
    }, y


@every_class
def test_whole_numbers_that_are_rounded_are_told_once(kind):
    frames, y = frames_of_large_numbers()
    for X, name in frames.values():
        clf = kind.make()
        caught = told(lambda clf=clf, X=X: [clf.partial_fit(X, y), clf.partial_fit(X, y), clf.fit(X, y)])
        assert [str(each.message).partition(" has whole")[0] for each in caught] == [f"column {name!r}"]
        assert caught[0].filename == __file__


@every_class
def test_so_are_those_of_single_rows(kind):
    clf = kind.make()
    caught = told(lambda: [clf.learn_one({"day": b, "id": LARGE + b}, "ab"[b % 2]) for b in range(40)])
    assert ["column 'id' has whole numbers beyond 2**53" in str(each.message) for each in caught] == [True]


@pytest.mark.parametrize("ending", ["csv", "parquet", "ndjson"])
def test_so_are_those_of_files(ending, tmp_path):
    rows, y = rows_of_large_numbers()
    X = pd.DataFrame(rows, columns=["id", "day"]).assign(label=y)
    path = tmp_path / f"events.{ending}"
    {"csv": lambda: X.to_csv(path, index=False), "parquet": lambda: X.to_parquet(path)}.get(
        ending, lambda: X.to_json(path, orient="records", lines=True)
    )()
    clf = HoeffdingTree()
    caught = told(lambda: [clf.partial_fit(block.X, block.y) for block in read_blocks(path, block_rows=10)])
    assert [str(each.message).partition(" has whole")[0] for each in caught] == ["column 'id'"]


def test_numbers_that_lose_no_digit_are_not_told():
    for values in (np.arange(40) * 2**50, 1e20 * np.arange(40), np.arange(40.0) + 2**60, np.arange(40) - 2**53):
        HoeffdingTree().partial_fit(values.reshape(-1, 1), ["a", "b"] * 20)  # in tests a warning is an error
    clf = HoeffdingTree().learn_one({"id": LARGE}, "a")
    assert clf.learn_one({"id": 1e20}, "b").n_samples_seen_ == 2


def test_large_ids_as_text_or_objects_of_a_nominal_column_are_told_apart():
    rows, y = rows_of_large_numbers(str)
    clf = HoeffdingTree().partial_fit(rows[:20], y[:20])
    clf.learn_one([LARGE + 20, 0], "a")
    assert clf._model.encoder.sizes == [21]


# ------------------------------------------------------------------------------------------------------ slow models


def test_a_model_that_becomes_slow_says_so_once(monkeypatch):
    monkeypatch.setattr(learning, "SLOW", 100)
    X, y = two_columns()
    clf = HoeffdingTree().partial_fit(X, y)  # 1 learner x 2 classes x (2 classes + 2 columns)
    caught = told(lambda: [clf.partial_fit(X, np.arange(40)), clf.partial_fit(X, y)])
    assert ["some milliseconds, with 1 learners, 42 classes and 2 columns" in str(w.message) for w in caught] == [True]


def test_columns_that_share_one_in_the_panel_are_told_once():
    X, y = np.arange(4 * 1030.0).reshape(4, 1030) % 7.0, ["a", "b"] * 2
    clf = OnlineBoostClassifier(1)
    caught = told(lambda: [clf.partial_fit(X, y), clf.partial_fit(X, y)])
    assert ["the other 6 are added to the first ones" in str(w.message) for w in caught] == [True]
    OnlineBoostClassifier(1).partial_fit(X[:, :1024], y)  # in tests a warning is an error


# ------------------------------------------------------------------------------------------------------ where and when


def test_a_warning_that_is_an_error_comes_after_the_rows_were_learned():
    frames, y = frames_of_large_numbers()
    X = frames["pandas"][0]
    clf, want = HoeffdingTree(), HoeffdingTree()
    with pytest.raises(UserWarning, match="column 'id'"):
        clf.partial_fit(X, y)
    told(lambda: want.partial_fit(X, y))
    assert model_state(clf.partial_fit(X, y)) == model_state(want.partial_fit(X, y))


def test_what_was_told_is_no_part_of_pickles():
    X, y = two_columns()
    clf, twin = (HoeffdingTree().partial_fit(X, y) for _ in range(2))
    with pytest.warns(UserWarning, match="none of"):
        clf.predict_one({})
    assert pickle.dumps(clf) == pickle.dumps(twin)


def test_sparse_data_are_refused_with_the_way_out_of_a_pipeline():
    X = pd.DataFrame({"colour": list("abcdefgh") * 5, "size": np.arange(40.0)})
    encoder = make_column_transformer((OneHotEncoder(), ["colour"]), remainder="passthrough", sparse_threshold=1)
    with pytest.raises(TypeError, match=r"X.toarray\(\).*sparse_threshold=0.*OneHotEncoder\(sparse_output=False\)"):
        make_pipeline(encoder, HoeffdingTree()).fit(X, ["a", "b"] * 20)
