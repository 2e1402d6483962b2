"""What comes in means the same for every estimator, whether it comes as an array, a frame, a file or a single row."""

from __future__ import annotations

import datetime
import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError

from contract.kinds import every_estimator
from helpers import frozen, in_blocks, mixed_stream, model_state, number_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, load
from onlineboost.data import DataError, Table, as_table, read_blocks
from onlineboost.data.places import AT_ONCE, EVIDENCE

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
NAMES = ("colour", "length", "size", "width", "count")


def frame(n=120, seed=0):
    X, y, _ = mixed_stream(n, seed=seed)
    return pd.DataFrame({name: column.tolist() for name, column in zip(NAMES, X.T, strict=True)}), y


def learned(kind, X, y, **settings):
    return kind.make(**settings).partial_fit(X, y)


def said(clf, X):
    return clf.predict(X).tolist(), clf.predict_proba(X).tolist()


# ------------------------------------------------------------------------------------------------------------ columns

FRAMES = {
    "pandas": lambda X: X,
    "polars": pl.from_pandas,
    "pyarrow": lambda X: pa.Table.from_pandas(X, preserve_index=False),
    "RecordBatch": lambda X: pa.RecordBatch.from_pandas(X, preserve_index=False),
    "Table": as_table,
}
every_frame = pytest.mark.parametrize("as_frame", FRAMES.values(), ids=FRAMES)


@every_class
@every_frame
def test_columns_in_another_order_are_put_in_order_by_name(kind, as_frame):
    X, y = frame()
    want = learned(kind, X, y)
    other = X[["width", "size", "colour", "count", "length"]]
    assert said(want, as_frame(other)) == said(want, X)
    clf = learned(kind, X[:60], y[:60]).partial_fit(as_frame(other[60:]), y[60:])
    assert model_state(clf) == model_state(want)


@every_class
@every_frame
def test_a_column_too_many_or_too_few_is_named_and_changes_nothing(kind, as_frame):
    X, y = frame()
    clf = learned(kind, X, y)
    before = frozen(clf)
    for bad, says in (
        (X.drop(columns="width"), "missing:\n- width"),
        (X.assign(depth=1.0), "unseen at fit time:\n- depth"),
        (X.rename(columns={"width": "depth"}), "- depth\n.*\n- width"),
    ):
        for call in (clf.predict, clf.predict_proba, lambda bad: clf.partial_fit(bad, y)):
            with pytest.raises(ValueError, match=says):
                call(as_frame(bad))
    assert frozen(clf) == before


ROWS = {
    "mapping": lambda X: X.to_dict("records"),
    "Series": lambda X: [row for _, row in X.iterrows()],
    "named tuple": lambda X: list(X.itertuples(index=False)),
}


@every_class
@pytest.mark.parametrize("as_rows", ROWS.values(), ids=ROWS)
def test_a_row_with_names_goes_by_them(kind, as_rows):
    X, y = frame()
    want = learned(kind, X, y)
    rows = as_rows(X[["size", "count", "colour", "width", "length"]])
    clf = learned(kind, X[:1], y[:1])
    for row, label in zip(rows[1:], y[1:], strict=True):
        clf.learn_one(row, label)
    assert model_state(clf) == model_state(want)
    assert [clf.predict_one(row) for row in rows[:20]] == want.predict(X[:20]).tolist()


@every_class
def test_a_key_left_out_is_missing_and_an_unknown_one_is_named(kind):
    X, y = frame()
    clf, twin = (learned(kind, X, y, columns="fixed") for _ in range(2))
    row = {"colour": "colour 1", "width": 20.0}
    full = {**dict.fromkeys(NAMES), **row}
    assert clf.predict_proba_one(row) == clf.predict_proba_one(full)
    assert model_state(clf.learn_one(row, "a")) == model_state(twin.learn_one(full, "a"))
    before = frozen(clf)
    for call in (clf.predict_one, clf.predict_proba_one, lambda row: clf.learn_one(row, "a")):
        with pytest.raises(ValueError, match=r"unknown column 'depth'.*colour, length.*new model"):
            call({**row, "depth": 2.0})
    assert frozen(clf) == before


# -------------------------------------------------------------------------------------------------- values and labels


@every_class
def test_a_category_is_the_same_as_text_and_as_a_number(kind):
    rng = np.random.default_rng(0)
    codes = rng.integers(6, size=200)
    y = codes % 2
    text, numbers = ([[form(code), 0.5] for code in codes] for form in (str, float))
    want = learned(kind, text, y)
    clf = learned(kind, text[:50], y[:50]).partial_fit(numbers[50:100], y[50:100])
    for x, label in zip(numbers[100:150], y[100:150], strict=True):
        clf.learn_one(x, label)
    clf.partial_fit(np.array(numbers[150:]), y[150:])
    assert model_state(clf) == model_state(want)
    assert said(clf, np.array(numbers)) == said(want, text)


OBJECTS = {
    "pandas": lambda values: pd.DataFrame({"a": 1.0, "o": pd.Series(values, dtype=object)}),
    "polars": lambda values: pl.DataFrame({"a": [1.0] * len(values), "o": pl.Series(values, dtype=pl.Object)}),
    "array": lambda values: np.array([[1.0, value] for value in values], object),
    "list": lambda values: [[1.0, value] for value in values],
}


@every_class
@pytest.mark.parametrize("as_frame", OBJECTS.values(), ids=OBJECTS)
def test_all_values_of_an_object_column_say_what_it_is(kind, as_frame):
    """Whether the first 100 are missing or not; a column without a value is numeric."""
    y = np.arange(300) % 2
    late = [None] * 150 + [float(label) for label in y[150:]]
    want = kind.make().partial_fit(np.column_stack([np.ones(300), np.array(late, float)]), y)
    for blocks in ([as_frame(late)], [as_frame(late[:120]), as_frame(late[120:])]):
        clf, start = kind.make(), 0
        for block in blocks:
            clf.partial_fit(block, y[start : start + len(block)])
            start += len(block)
        assert model_state(clf)["chain"] == model_state(want)["chain"]
    text = kind.make().partial_fit(as_frame([None] * 150 + ["red", "blue"] * 75), y)
    assert text._model.encoder.nominal == [1]


def test_typed_columns_without_a_value_are_what_their_type_says():
    """And a type that says nothing is numeric."""
    for typed, nominal in (
        (pd.DataFrame({"o": pd.Series([None, None], dtype="string")}), True),
        (pl.DataFrame({"o": pl.Series([None, None], dtype=pl.String)}), True),
        (pa.table({"o": pa.array([None, None], pa.string())}), True),
        (pl.DataFrame({"o": [None, None]}), False),
        (pa.table({"o": pa.nulls(2)}), False),
        (pd.DataFrame({"o": [None, None]}), False),
    ):
        assert (as_table(typed).columns[0].dtype == object) == nominal


@every_class
@pytest.mark.parametrize(
    "labels",
    [
        [7, 3, 12],
        [2.0, 1.0],
        ["left", "right", "up"],
        [True, False],
        [datetime.date(2024, 5, 1), datetime.date(2024, 5, 2)],
        [Decimal("1.5"), Decimal("2")],
        [(1, 2), (3, 4)],
        [1, "a", (2, 3)],
    ],
    ids=str,
)
def test_labels_come_back_as_they_were_given(kind, labels):
    X, codes = number_stream(120, n_classes=len(labels))
    y = [labels[code] for code in codes]
    clf, fixed, by_row = learned(kind, X, y), kind.make().fit(X, y), kind.make()
    for x, label in zip(X, y, strict=True):
        by_row.learn_one(x, label)
    assert model_state(by_row)["chain"] == model_state(clf)["chain"]
    plain = {type(label) for label in labels} <= {int, float, bool}
    for each in (clf, fixed, by_row):
        assert set(each.predict(X).tolist()) <= set(labels)
        assert not plain or each.predict(X).dtype == np.array(labels).dtype
        assert sorted(each.classes_.tolist(), key=labels.index) == labels
        assert list(each.predict_proba_one(X[0])) == each.classes_.tolist()
        assert each.predict_one(X[0]) == each.predict(X[:1]).tolist()[0]


@every_class
def test_dates_as_labels_stay_dates(kind):
    X, codes = number_stream(60, n_classes=2)
    y = np.array(["2024-05-01", "2024-05-02"], "datetime64[ns]")[codes]
    for clf in (kind.make().fit(X, y), learned(kind, X, y)):
        assert clf.predict(X).dtype == y.dtype
        assert isinstance(clf.predict_one(X[0]), np.datetime64)


@every_class
def test_labels_that_are_written_alike_are_one_class(kind):
    X, y = number_stream(150)
    want = learned(kind, X, y)
    clf = learned(kind, X[:50], y[:50]).partial_fit(X[50:80], y[50:80].astype(str))
    for x, label in zip(X[80:], y[80:], strict=True):
        clf.learn_one(x, float(label) if label % 2 else np.int32(label))
    assert model_state(clf) == model_state(want)


@every_class
@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, np.ma.masked], ids=repr)
def test_a_missing_label_is_an_error_with_its_row(kind, missing):
    X, y = frame(60)
    clf = learned(kind, X, y)
    before = frozen(clf)
    bad = np.ma.masked_array(y, mask=np.arange(60) == 7)
    if missing is not np.ma.masked:
        bad = y.copy()
        bad[7] = missing
    for call in (clf.partial_fit, clf.fit, clf.test_then_train):
        with pytest.raises(ValueError, match="row 7: the label is missing"):
            call(X, bad)
    with pytest.raises(ValueError, match="the label is missing"):
        clf.learn_one(X.iloc[0], missing)
    assert frozen(clf) == before


@every_class
def test_masked_values_are_missing(kind):
    X, y = number_stream(80)
    mask = np.random.default_rng(0).random(X.shape) < 0.2
    masked, with_nan = np.ma.masked_array(X, mask), np.where(mask, np.nan, X)
    clf, twin = learned(kind, masked, y), learned(kind, with_nan, y)
    assert model_state(clf) == model_state(twin)
    assert said(clf, masked) == said(twin, with_nan)
    assert clf.predict_proba_one(masked[3]) == twin.predict_proba_one(with_nan[3])


@every_class
def test_columns_of_many_values_make_no_difference_to_cuts_files_and_single_rows(kind, tmp_path):
    rng = np.random.default_rng(0)
    values = rng.permutation(np.arange(420) % 300)
    X, y = pd.DataFrame({"shop": [f"shop {value}" for value in values]}), values % 2
    want = learned(kind, X, y, n_learners=2)
    clf = kind.make(n_learners=2)
    in_blocks(clf, X[:290], y[:290], 250)
    clf.save(tmp_path / "model.olb")
    clf = pickle.loads(pickle.dumps(load(tmp_path / "model.olb")))
    before = model_state(clf)
    clf.predict(X)
    assert clf.predict_one(X.iloc[295]) == clf.predict(X[295:296])[0]
    assert model_state(clf) == before
    for row in range(290, 320):
        clf.learn_one(X.iloc[row], y[row])
    in_blocks(clf, X[320:], y[320:], 70)
    assert model_state(clf) == model_state(want)
    assert clf._model.encoder.sizes == [AT_ONCE + len(EVIDENCE)]
    assert clf._model.chain.numbers.labels.sum() > 300.0


# --------------------------------------------------------------------------------------------------------------- dates


@every_class
def test_dates_are_refused_everywhere_in_the_same_words(kind, tmp_path):
    day = datetime.datetime(2024, 5, 1, 12, 30)
    dates = [day + datetime.timedelta(hours=h) for h in range(10)]
    X, y = pd.DataFrame({"size": np.arange(10.0), "when": dates}), ["a", "b"] * 5
    X.assign(label=y).to_csv(tmp_path / "events.csv", index=False)
    X.assign(label=y).to_parquet(tmp_path / "events.parquet")
    says = "a date or time is neither a number nor a category.*the hour, the day of the week"
    rows = X.to_numpy(object)
    for given in (*(as_frame(X) for name, as_frame in FRAMES.items() if name != "Table"), rows, rows.tolist()):
        with pytest.raises(ValueError, match=says):
            learned(kind, given, y)
    for row in (X.iloc[0], {"size": 1.0, "when": np.datetime64("2024-05-01")}, [1.0, day]):
        with pytest.raises(ValueError, match=says):
            kind.make().learn_one(row, "a")
    for name in ("events.csv", "events.parquet"):
        with pytest.raises(ValueError, match=f"'when'.*{says}.*--drop when"):
            next(read_blocks(tmp_path / name))
        for block in read_blocks(tmp_path / name, drop="when"):
            assert learned(kind, block.X, block.y).feature_names_in_.tolist() == ["size"]


# ------------------------------------------------------------------------------------------------ nothing, and not yet


@every_class
def test_an_empty_block_does_nothing_once_the_columns_are_known(kind):
    X, y = frame(60)
    clf = kind.make()
    for empty in (X[:0], X[:0].to_numpy()):
        with pytest.raises(ValueError, match=r"0 sample.*first block"):
            clf.partial_fit(empty, [])
    with pytest.raises(ValueError, match="0 sample"):
        clf.fit(X[:0], y[:0])
    clf.partial_fit(X, y)
    before = model_state(clf)
    for empty in (X[:0], as_table(X)[:0], pl.from_pandas(X)[:0], []):
        assert clf.partial_fit(empty, []) is clf
        assert clf.test_then_train(empty, y[:0], sample_weight=[]).tolist() == []
        assert clf.predict(empty).tolist() == []
        assert clf.predict_proba(empty).shape == (0, len(clf.classes_))
    with pytest.raises(ValueError, match="missing"):
        clf.predict(X[:0].drop(columns="width"))
    assert model_state(clf) == before


@every_class
def test_rows_of_weight_zero_are_as_if_absent_even_before_all_others(kind):
    X, y = frame(60)
    want = learned(kind, X[10:], y[10:])
    clf = kind.make()
    fresh = frozen(clf)
    for b in range(5):
        assert clf.learn_one(X.iloc[b], y[b], weight=0) is clf
    assert clf.test_then_train(X[5:10], y[5:10], sample_weight=np.zeros(5)).tolist() == []
    assert frozen(clf) == fresh
    clf.partial_fit(X[10:], y[10:])
    clf.learn_one({"what": "ever"}, None, weight=0.0)
    clf.partial_fit(X[:5], y[:5], sample_weight=np.zeros(5))
    assert model_state(clf) == model_state(want)


@every_class
def test_before_anything_was_learned_single_rows_get_no_answer_and_blocks_an_error(kind):
    X, _ = frame(5)
    clf = kind.make()
    assert clf.predict_one(X.iloc[0]) is None
    assert clf.predict_proba_one({"anything": 1.0}) == {}
    for method in (clf.predict, clf.predict_proba):
        with pytest.raises(NotFittedError):
            method(X)


@every_class
def test_classes_known_and_nothing_learned_are_all_as_likely(kind):
    X, y = frame(60)
    want = kind.make()
    want.partial_fit(X, y, classes=list("abcd"))
    for first in (X[:0], pl.from_pandas(X)[:0], as_table(X)[:0]):
        clf = kind.make().partial_fit(first, [], classes=list("abcd"))
        np.testing.assert_array_equal(clf.predict_proba(X), 0.25)
        assert clf.predict_proba_one(X.iloc[0]) == dict.fromkeys("abcd", 0.25)
        assert clf.predict_one(X.iloc[0]) in set("abcd")
        assert clf.n_samples_seen_ == 0
        assert model_state(clf.partial_fit(X, y)) == model_state(want)
    with pytest.raises(ValueError, match="0 sample"):  # nothing says which of these columns are nominal
        kind.make().partial_fit(X[:0].to_numpy(object), [], classes=list("abcd"))


@every_class
def test_numbers_of_numpy_are_numbers(kind):
    X, y = number_stream(60)
    want = learned(kind, X, y)
    clf = kind.make()
    for x, label in zip(X, y, strict=True):
        clf.learn_one([np.float64(x[0]), *x[1:]], np.int64(label), np.float32(1.0))
    assert model_state(clf) == model_state(want)
    assert clf.classes_.dtype == want.classes_.dtype


# --------------------------------------------------------------------------------------------------------------- files


@every_class
def test_a_file_a_frame_a_table_and_single_rows_teach_the_same(kind, tmp_path):
    """Once the first block has settled the columns, the rest may come from anywhere, in any order of the columns."""
    X, y = frame(240)
    want = learned(kind, X, y)
    clf = learned(kind, X[:60], y[:60])
    part = X[60:120].assign(label=y[60:120])
    part[["label", "count", "size", "colour", "width", "length"]].to_csv(tmp_path / "part.csv", index=False)
    X[120:180].assign(label=y[120:180]).to_parquet(tmp_path / "part.parquet")
    for name in ("part.csv", "part.parquet"):
        for block in read_blocks(tmp_path / name, "label", block_rows=17):
            clf.partial_fit(block.X, block.y)
    for x, label in zip(X[180:210].to_dict("records"), y[180:210], strict=True):
        clf.learn_one(x, label)
    columns = (X[210:][name].to_numpy(object if name in ("colour", "size") else float) for name in NAMES)
    clf.partial_fit(Table(NAMES, tuple(columns)), y[210:])
    assert model_state(clf) == model_state(want)


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
@pytest.mark.parametrize("far", [1e6, 1e9, 1e10, 1e12, 1e20, 1e75])
def test_a_value_far_from_all_others_has_probabilities_too(kind, far):
    """Log likelihoods are so large there that what makes a class hopeless is lost in their rounding."""
    X, y = number_stream(120, seed=3)
    clf = kind.make().fit(X, y)
    away = X[:10].copy()
    away[:5, 1], away[5:, 2] = far, -far
    p = clf.predict_proba(away)
    assert np.isfinite(p).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


NO_ROWS = [3, None, "ab", b"ab", {1.0, 2.0}, np.array(3.0), np.ones((1, 2)), pd.Series([1.0, 2.0], ["x0", "x0"])]


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_what_is_no_row_is_refused_in_a_sentence(kind):
    """By a model that has learned rows of two values, and as a first row."""
    X, y = number_stream(20, seed=1)
    clf, new = kind.make().partial_fit(X[:, :2], y), kind.make()
    before = frozen(clf), frozen(new)
    for row in NO_ROWS:
        for call in (
            lambda row=row: clf.learn_one(row, y[0]),
            lambda row=row: clf.predict_one(row),
            lambda row=row: clf.predict_proba_one(row),
            lambda row=row: new.learn_one(row, y[0]),
        ):
            with pytest.raises(DataError, match=r"a row is a mapping|names must differ"):
                call()
    assert (frozen(clf), frozen(new)) == before


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_columns_need_names_that_differ(kind):
    twice = pd.DataFrame(np.ones((2, 2)), columns=["size", "size"])
    clf = kind.make().partial_fit(pd.DataFrame({"size": [1.0, 2.0], "x": [1.0, 2.0]}), ["a", "b"])
    arrow = pa.table([pa.array([1.0, 2.0])] * 2, names=["size", "size"])
    for call in (
        lambda: kind.make().partial_fit(twice, ["a", "b"]),
        lambda: clf.partial_fit(twice, ["a", "b"]),
        lambda: clf.predict(arrow),
    ):
        with pytest.raises(DataError, match="names must differ, and 'size' comes 2 times: rename"):
            call()


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_a_first_row_without_a_value_is_refused(kind):
    """Later it is one whose values are all missing."""
    for row in ({}, []):
        with pytest.raises(DataError, match="the first row has no value: it settles the columns"):
            kind.make().learn_one(row, "a")
    clf = kind.make().learn_one({"size": 1.0}, "a").learn_one({}, "b")
    assert clf.n_samples_seen_ == 2


def test_text_that_utf_8_does_not_know_is_text_in_rows_and_frames(tmp_path):
    """Half of a pair of surrogates, as broken names of files have it; `str` columns of pandas refuse it themselves."""
    rows, y = [[1.0, "\udc80"], [2.0, "b"]] * 5, ["\udc80", "b"] * 5
    frame = pd.DataFrame({"x0": [1.0, 2.0] * 5, "x1": pd.Series(["\udc80", "b"] * 5, dtype=object)})
    by_rows, by_frame = (AdaBoostOLM(2).partial_fit(X, y) for X in (rows, frame))
    assert model_state(by_rows) == model_state(by_frame)
    by_rows.save(tmp_path / "model.olb")
    assert load(tmp_path / "model.olb").predict_one(rows[0]) == by_rows.predict_one(rows[0]) == "\udc80"


@pytest.mark.parametrize("make", [lambda X: X[:1], lambda X: X[:3], pl.DataFrame, pa.Table.from_pandas], ids=range(4))
def test_a_frame_is_no_row_even_if_it_has_one(make):
    """It would be a mapping from names to columns."""
    X = pd.DataFrame({"a": [0.0, 1.0] * 10, "b": [1.0, 2.0] * 10})
    clf = HoeffdingTree().fit(X, ["low", "high"] * 10)
    before = frozen(clf)
    for call in (clf.predict_one, clf.predict_proba_one, lambda x: clf.learn_one(x, "low"), clf.predict_pending):
        with pytest.raises(DataError, match="a row is a mapping"):
            call(make(X))
    assert frozen(clf) == before
