"""Whatever holds the data, the same numbers come out; reading changes nothing; what is wrong is said by name."""

from __future__ import annotations

import copy
import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from onlineboost.data.encoder import MAX_VALUES, Encoder
from onlineboost.data.errors import DataError
from onlineboost.data.table import Table

SIZE = [1.5, None, -2.0, 4.0]
COLOUR = ["red", "blue", None, "red"]
FLAG = [True, False, True, True]
COUNT = [3, 4, 5, 6]
CODES = [[1.5, 1.0, 3.0, 0.0], [math.nan, 0.0, 4.0, 1.0], [-2.0, 1.0, 5.0, math.nan], [4.0, 1.0, 6.0, 0.0]]
COLUMNS = {"size": SIZE, "colour": COLOUR, "flag": FLAG, "count": COUNT}
ROWS = [list(row) for row in zip(*COLUMNS.values(), strict=True)]

FRAMES = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "pandas object": lambda: pd.DataFrame({name: pd.Series(v, dtype=object) for name, v in COLUMNS.items()}),
    "pandas nullable": lambda: pd.DataFrame(COLUMNS).convert_dtypes(),
    "pandas arrow": lambda: pa.table(COLUMNS).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "pyarrow": lambda: pa.table(COLUMNS),
    "numpy object": lambda: np.array(ROWS, object),
    "list of rows": lambda: ROWS,
    "Table": lambda: Table(
        tuple(COLUMNS),
        (*(np.array(column, object if column is COLOUR else float) for column in COLUMNS.values()),),
    ),
}


def encoded(X, categorical=None):
    encoder = Encoder.settle(X, categorical)
    return encoder, encoder.read(X)


@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_gives_the_same_numbers(kind):
    """Numeric columns first (a flag counts as a number), then nominal ones as codes by appearance, NaN for missing."""
    encoder, block = encoded(FRAMES[kind]())
    np.testing.assert_array_equal(block.X, CODES)
    assert (encoder.numeric, encoder.nominal) == ([0, 2, 3], [1])
    assert block.fresh == [{"red": 0, "blue": 1}]
    if kind not in ("numpy object", "list of rows"):
        assert encoder.names == tuple(COLUMNS)


def test_frames_can_be_read_by_an_encoder_that_another_kind_settled():
    encoder = Encoder.settle(FRAMES["pandas"]())
    for make in FRAMES.values():
        np.testing.assert_array_equal(encoder.read(make()).X, CODES)


def test_a_list_of_rows_keeps_its_numbers_beside_its_text():
    """np.asarray would turn all of them into text."""
    encoder, block = encoded([[1.5, "red"], [10.0, "blue"]])
    assert (encoder.numeric, encoder.nominal) == ([0], [1])
    assert block.X.tolist() == [[1.5, 0.0], [10.0, 1.0]]


def test_columns_named_by_numbers_are_columns():
    _, block = encoded(pd.DataFrame({1: [1.0, 2.0], 0: ["x", "y"], 7: [5, 6]}))
    assert block.X.tolist() == [[1.0, 5.0, 0.0], [2.0, 6.0, 1.0]]


@pytest.mark.parametrize("missing", [None, math.nan, np.float32("nan"), pd.NA], ids=repr)
def test_missing_is_missing_however_it_is_written(missing):
    for values in (["x", missing, "y"], [1.0, missing, 2.0]):
        nominal = isinstance(values[0], str)
        for X in (pd.DataFrame({"a": pd.Series(values, dtype=object)}), np.array([[v] for v in values], object)):
            _, block = encoded(X)
            want = [0.0, math.nan, 1.0] if nominal else [1.0, math.nan, 2.0]
            np.testing.assert_array_equal(block.X[:, 0], want)


CATEGORICAL = {
    "pandas": lambda: pd.DataFrame({"c": pd.Categorical(["b", None, "a"], categories=["z", "a", "b"])}),
    "polars Enum": lambda: pl.DataFrame({"c": pl.Series(["b", None, "a"], dtype=pl.Enum(["z", "a", "b"]))}),
    "pyarrow dictionary": lambda: pa.table(
        {"c": pa.DictionaryArray.from_arrays(pa.array([2, None, 1], pa.int8()), pa.array(["z", "a", "b"]))}
    ),
}


@pytest.mark.parametrize("kind", CATEGORICAL)
def test_categories_known_in_advance_get_their_codes_in_advance(kind):
    encoder, block = encoded(CATEGORICAL[kind]())
    assert encoder.codes == [{"z": 0, "a": 1, "b": 2}]
    assert encoder.births == [[-1, -1, -1]]  # there from the start
    assert block.fresh == [{}]
    np.testing.assert_array_equal(block.X, [[2.0], [math.nan], [1.0]])


def test_categories_that_are_numbers():
    _, block = encoded(pd.DataFrame({"c": pd.Categorical([10, None, 20, 10])}))
    np.testing.assert_array_equal(block.X[:, 0], [0.0, math.nan, 1.0, 0.0])


@pytest.mark.parametrize(
    "categorical", [[1], ["b"], [-2], np.array([1]), ("b",), [False, True, False], np.array([False, True, False])]
)
def test_categorical_features_by_position_name_and_mask(categorical):
    frame = pd.DataFrame({"a": [1.0, 2.0], "b": [7.0, 5.0], "c": [3.0, 4.0]})
    encoder, block = encoded(frame, categorical)
    assert encoder.nominal == [1]
    assert block.X.tolist() == [[1.0, 3.0, 0.0], [2.0, 4.0, 1.0]]


@pytest.mark.parametrize(
    ("categorical", "says"),
    [
        (["nope"], "'nope'.*a, b"),
        ([5], "column 5.*2 columns"),
        ([-3], "column -3"),
        ([True], "length 1 for 2 columns"),
        ("size", "categorical_features"),  # a name alone is not a list of names
        ([0.5], "categorical_features.*0.5"),
    ],
)
def test_categorical_features_that_are_none_are_named(categorical, says):
    with pytest.raises(DataError, match=says):
        Encoder.settle(pd.DataFrame({"a": [1.0], "b": [2.0]}), categorical)


# -------------------------------------------------------------------------------------------------- block by block


def test_reading_changes_nothing_and_committing_takes_the_new_values_over():
    encoder = Encoder.settle(np.array([["x", 1.0]], object))
    before = copy.deepcopy(encoder)
    block = encoder.read(np.array([["x", 1.0], ["y", 2.0], ["x", 3.0], ["z", 4.0]], object))
    assert encoder == before
    assert encoder.commit(block, first_round=10)
    assert encoder.codes == [{"x": 0, "y": 1, "z": 2}]
    assert encoder.births == [[10, 11, 13]]
    assert encoder.sizes == [3]
    again = encoder.read(np.array([["z", 1.0], ["x", 1.0]], object))
    assert not encoder.commit(again, first_round=14)
    assert again.X[:, 1].tolist() == [2.0, 0.0]


@given(st.lists(st.sampled_from("abcdef") | st.none(), min_size=1, max_size=30), st.integers(1, 30))
def test_codes_and_rounds_do_not_depend_on_how_the_stream_is_cut(values, cut):
    X = np.array([["a", 0.0]] + [[value, 1.0] for value in values], object)
    results = []
    for size in (len(X), cut):
        encoder = Encoder.settle(X[:1])
        out = []
        for a in range(0, len(X), size):
            block = encoder.read(X[a : a + size])
            encoder.commit(block, 1 + a)
            out += block.X[:, 1].tolist()
        results.append((str(out), encoder.codes, encoder.births))
    assert results[0] == results[1]


def test_predicting_spends_no_code_on_values_never_seen_and_takes_them_all_alike():
    encoder, block = encoded(np.array([["x", 1.0], ["y", 2.0]], object))
    encoder.commit(block, 1)
    before = copy.deepcopy(encoder)
    X = np.array([["new", 1.0], ["y", 2.0], ["newer", 3.0]], object)
    read = encoder.read(X, learning=False)
    assert encoder == before
    assert read.X[:, 1].tolist() == [2.0, 1.0, 2.0]  # neither x nor y; the code that the next new value would get
    for b in range(3):
        np.testing.assert_array_equal(encoder.read(X[b : b + 1], learning=False).X, read.X[b : b + 1])
        np.testing.assert_array_equal(encoder.read_row(X[b], learning=False).X, read.X[b : b + 1])


def test_a_nominal_column_keeps_its_first_values_and_takes_later_ones_as_missing():
    X = np.array([[f"v{i}", 0.0] for i in range(MAX_VALUES + 20)], object)
    encoder, block = encoded(X)
    encoder.commit(block, 1)
    assert encoder.sizes == [MAX_VALUES]
    np.testing.assert_array_equal(block.X[:MAX_VALUES, 1], np.arange(MAX_VALUES))
    assert np.isnan(block.X[MAX_VALUES:, 1]).all()
    later = encoder.read(np.array([["v3", 0.0], ["another", 0.0]], object))
    np.testing.assert_array_equal(later.X[:, 1], [3.0, math.nan])


@pytest.mark.parametrize("names", [True, False])
def test_a_row_by_itself_is_encoded_as_in_a_block(names):
    frame = FRAMES["pandas object"]()
    encoder, block = encoded(frame)
    encoder.commit(block, 1)
    for b, row in enumerate(ROWS):
        x = dict(zip(COLUMNS, row, strict=True)) if names else row
        np.testing.assert_array_equal(encoder.read_row(x).X, block.X[b : b + 1])
    left_out = encoder.read_row({"count": 3})
    np.testing.assert_array_equal(left_out.X, [[math.nan, math.nan, 3.0, math.nan]])
    fresh = encoder.read_row([1.0, "green", 1.0, 1.0])
    assert (fresh.X[0, 3], fresh.fresh) == (2.0, [{"green": 0}])


def test_a_row_of_numbers_alone():
    encoder = Encoder.settle(np.zeros((1, 3)))
    np.testing.assert_array_equal(encoder.read_row([1, None, 2.5]).X, [[1.0, math.nan, 2.5]])
    np.testing.assert_array_equal(encoder.read_row((1, math.nan, True)).X, [[1.0, math.nan, 1.0]])


def test_numbers_written_as_text_are_numbers_in_a_numeric_column():
    encoder = Encoder.settle(np.zeros((1, 2)))
    for X in (np.array([["1.5", "2"]]), np.array([["1.5", "2"]], object)):
        assert encoder.read(X).X.tolist() == [[1.5, 2.0]]
    assert encoder.read_row(["1.5", "2"]).X.tolist() == [[1.5, 2.0]]


# ---------------------------------------------------------------------------------------------------- what is wrong


@pytest.fixture
def two_columns():
    return Encoder.settle(pd.DataFrame({"size": [1.0], "colour": ["red"]}))


@pytest.mark.parametrize(
    ("X", "says"),
    [
        (pd.DataFrame({"size": ["1.0", "tall"], "colour": ["red", "red"]}), r"row 1, column 'size': 'tall'"),
        (np.array([["tall", "red"]], object), r"row 0, column 'size': 'tall'"),
        (pd.DataFrame({"size": [1.0, -np.inf], "colour": ["red", "red"]}), "row 1, column 'size'.*NaN"),
        (np.array([[1.0, "red", 3.0]], object), "X has 3 features, but .* expecting 2 features"),
        (np.array([1.0, 2.0]), "Expected 2D array, got 1D array"),
        (np.array([[1.0 + 2.0j, 0.0]]), "Complex data not supported"),
    ],
    ids=["text", "text in an object array", "infinity", "width", "one dimension", "complex"],
)
def test_an_error_names_row_column_and_value(two_columns, X, says):
    before = copy.deepcopy(two_columns)
    with pytest.raises(DataError, match=says):
        two_columns.read(X)
    assert two_columns == before


def test_text_in_an_array_of_text_is_named_too():
    """A NumPy array of strings takes another way in when all columns are numeric."""
    encoder = Encoder.settle(np.zeros((1, 2)))
    with pytest.raises(DataError, match="row 1, column 'x1': 'tall'"):
        encoder.read(np.array([["1", "2"], ["3", "tall"]]))


def test_infinities_of_both_signs_are_found_and_huge_numbers_are_not_infinite():
    encoder = Encoder.settle(np.zeros((1, 2)))
    with pytest.raises(DataError, match=r"row 0, column 'x0': infinity"):
        encoder.read(np.array([[np.inf, -np.inf]]))
    assert encoder.read(np.full((3, 2), 1.7e308)).X.max() == 1.7e308


@pytest.mark.parametrize(
    ("x", "says"),
    [
        (["tall", "red"], "column 'size': 'tall'"),
        ([np.inf, "red"], "column 'size': infinity"),
        ([1.0], "X has 1 features"),
        ({"size": 1.0, "weight": 2.0}, r"unknown column 'weight'.*size, colour"),
    ],
)
def test_an_error_in_a_single_row_names_column_and_value(two_columns, x, says):
    with pytest.raises(DataError, match=says):
        two_columns.read_row(x)


def test_a_column_of_a_type_that_is_neither_number_nor_category_is_named():
    for module in (pd, pl):
        frame = module.DataFrame({"a": [1.0], "when": [datetime.datetime(2024, 5, 1)]})
        with pytest.raises(DataError, match=r"column 'when' has type.*the hour or the day"):
            Encoder.settle(frame)


def test_two_columns_of_one_name_are_refused():
    with pytest.raises(ValueError, match=r"(different names|unique column names)"):
        Encoder.settle(pd.DataFrame([[1.0, 2.0]], columns=["a", "a"]))


def test_a_thing_that_is_no_value_is_refused_with_its_place():
    X = np.empty((2, 1), object)
    X[0, 0], X[1, 0] = 1.0, {"a": 1}
    with pytest.raises((DataError, TypeError), match="row 1, column 'x0'"):
        Encoder.settle(X)
