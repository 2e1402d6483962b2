"""Whatever holds the data, the same numbers come out; reading changes nothing; what is wrong is said by name."""

from __future__ import annotations

import copy
import datetime
import math
from array import array
from collections import namedtuple
from decimal import Decimal
from zlib import crc32

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import reference_places
from onlineboost import HoeffdingTree
from onlineboost.chain.memory_budget import capacity
from onlineboost.data import places
from onlineboost.data.encoder import Encoder, RowReader
from onlineboost.data.errors import DataError
from onlineboost.data.places import AT_ONCE, CELLS, EVIDENCE, FIRST_CELL, MAX_VALUES, OWN
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


# ------------------------------------------------------------------------------------------------ too many values


def column_of(values):
    return np.array([[value, 0.0] for value in values], object)


def many_values(n=1500, seed=0):
    """Some come often, most do not; a few come once; some are missing."""
    rng = np.random.default_rng(seed)
    values = [f"v{int(i)}" for i in 700 * rng.random(n) ** 2]
    return [None if i % 41 == 0 else f"once {i}" if i % 5 == 0 else value for i, value in enumerate(values)]


@pytest.fixture
def older(monkeypatch):
    """As in a model from an older file, in which the values of the columns share places."""
    monkeypatch.setattr(places.Column, "_shares_places", lambda self: True)


@pytest.fixture(params=["older", "wide"])
def either(request):
    """Both ways to go on after the first values."""
    if request.param == "older":
        request.getfixturevalue("older")
    return request.param


@pytest.mark.parametrize("size", [1500, 100, 7, 1])
def test_values_of_a_wide_column_go_by_cells_however_the_stream_is_cut(size):
    values = many_values()
    X = column_of(values)
    encoder, codes = Encoder.settle(X[:1], [0]), []
    for a in range(0, len(X), size):
        block = encoder.read(X[a : a + size]) if size > 1 else encoder.read_row(X[a])
        codes += block.X[:, 1].tolist()
        assert not block.remarks
        encoder.commit(block, 1 + a)
    texts = list(dict.fromkeys(filter(None, values)))
    own = {text: code for code, text in enumerate(texts[:AT_ONCE])}
    want = [
        math.nan if v is None else own.get(v, FIRST_CELL + CELLS * AT_ONCE + (crc32(v.encode()) or 1) % CELLS)
        for v in values
    ]
    np.testing.assert_array_equal(codes, want)
    np.testing.assert_array_equal(encoder.read(X, learning=False).X[:, 1], want)
    reader, row = RowReader(encoder), np.empty((1, 2))
    for b in range(0, len(X), 50):
        assert reader.read([values[b], 0.0], row)
        np.testing.assert_array_equal(row[0, 1], want[b])
    assert list(encoder.codes[0]) == [*own, *EVIDENCE]
    assert encoder.births[0][AT_ONCE:] == [1 + values.index(texts[AT_ONCE])] * len(EVIDENCE)


@pytest.mark.parametrize(("odd", "told"), [("12,5", True), ("shop", False)])
def test_a_column_of_numbers_with_a_text_in_it_is_named_once(odd, told):
    X = column_of([odd, *(str(i) if told or i < 20 else f"shop {i}" for i in range(80))])
    encoder = Encoder.settle(X[:1], [0])
    block = encoder.read(X)
    said = [words() for words in block.remarks.values()]
    assert ["'x0' is nominal, with more than 64 different values" in words for words in said] == [True] * told
    encoder.commit(block, 1)
    assert not encoder.read(X).remarks


@pytest.mark.usefixtures("older")
def test_values_of_a_column_of_many_have_codes_of_their_own_if_they_come_twice_and_others_share_some():
    X = column_of([f"v{i}" for i in range(400)])
    encoder = Encoder.settle(X)
    first = encoder.read(X)
    (words,) = first.remarks.values()
    assert f"'x0' has more than {OWN} different values" in words()
    encoder.commit(first, 1)
    assert first.X[: AT_ONCE + 1, 1].tolist() == list(range(AT_ONCE + 1))
    assert set(first.X[AT_ONCE : AT_ONCE + 100, 1]) == {AT_ONCE}  # values met once, all the same
    assert len(set(first.X[AT_ONCE + 200 :, 1])) > 20  # there are too many of them: by their hashes
    second = encoder.read(X)
    assert not second.remarks
    encoder.commit(second, 401)
    assert encoder.sizes == [MAX_VALUES]
    assert encoder.once == [array("I")]
    own = {key for key in encoder.codes[0] if isinstance(key, str)}
    assert own.issuperset(X[:AT_ONCE, 0])
    assert len(own) == OWN
    for learning in (True, False):
        another = encoder.read(column_of(["never met"]), learning=learning)
        assert AT_ONCE <= another.X[0, 1] < MAX_VALUES
        assert another.fresh == [{}]


@pytest.mark.usefixtures("older")
@pytest.mark.filterwarnings("ignore:column 'x0' has more than")
@pytest.mark.parametrize("size", [1500, 100, 7, 1])
def test_codes_of_many_values_are_those_of_the_twin_however_the_stream_is_cut(size):
    values = many_values()
    X, twin = column_of(values), reference_places.Column()
    encoder = Encoder.settle(X[:1], [0])
    for a in range(0, len(X), size):
        if a % 20 == 0:
            told = [math.nan if v is None else twin.predict(v) for v in values[a : a + 9]]
            np.testing.assert_array_equal(encoder.read(X[a : a + 9], learning=False).X[:, 1], told)
            np.testing.assert_array_equal(encoder.read_row(X[a], learning=False).X[0, 1], told[0])
        block = encoder.read(X[a : a + size]) if size > 1 else encoder.read_row(X[a])
        want = []
        for value in values[a : a + size]:
            twin.row += value is None
            want.append(math.nan if value is None else twin.learn(value))
        np.testing.assert_array_equal(block.X[:, 1], want)
        encoder.commit(block, 1 + a)
    assert list(encoder.codes[0]) == twin.codes
    assert encoder.births == [twin.births]
    assert sum(isinstance(key, str) for key in twin.codes) == OWN
    assert len(twin.codes) > OWN + 20


@pytest.mark.usefixtures("either")
@pytest.mark.filterwarnings("ignore:column 'x0' has more than")
@pytest.mark.parametrize("learned", [0, 1, 60, 150, 299, 499])
def test_what_was_not_learned_is_forgotten(learned):
    """Of 500 rows after 300 others: what is left is what the rows up to there would have left."""
    X = column_of(many_values(800, seed=1))
    encoder, want = Encoder.settle(X[:1], [0]), Encoder.settle(X[:1], [0])
    for each in (encoder, want):
        each.commit(each.read(X[:300]), 1)
    block = encoder.read(X[300:])
    encoder.commit(block, 301)
    encoder.forget(block, 301, 300 + learned)
    want.commit(want.read(X[300 : 300 + learned]), 301)
    assert encoder == want


@pytest.mark.filterwarnings("ignore:column 'x0' has more than")
def test_a_row_that_is_kept_is_coded_as_it_would_be_when_it_is_learned(either):
    rows = [[value, 0.0] for value in many_values(1300, seed=2)]
    encoder = Encoder.settle(column_of(["v0"]))
    waiting = [(row, encoder.keep(row)) for row in rows[:40]]
    for t, row in enumerate(rows[40:], 1):
        early, kept = waiting.pop(0)
        waiting.append((row, encoder.keep(row)))
        late, now = encoder.read_kept(kept), encoder.read_row(early)
        np.testing.assert_array_equal(late.X, now.X)
        twin = copy.deepcopy(encoder)
        twin.commit(now, t)
        encoder.commit(late, t)
        assert encoder == twin
    assert sum(isinstance(key, str) for key in encoder.codes[0]) == (OWN if either == "older" else AT_ONCE)
    assert not any(kept.texts for _, kept in waiting)  # from here on codes never change


@pytest.mark.usefixtures("older")
def test_a_column_of_few_enough_values_shares_no_hashes():
    """A value that comes for the first time is one of those that have come once; its place is one more."""
    X = np.array([[f"v{i}"] for i in range(OWN)] * 3, object)
    encoder, block = encoded(X)
    encoder.commit(block, 1)
    assert block.X[: AT_ONCE + 1, 0].tolist() == list(range(AT_ONCE + 1))
    assert set(block.X[:OWN, 0]) == set(range(AT_ONCE + 1))
    assert len(set(block.X[-OWN:, 0])) == OWN
    assert set(encoder.codes[0]) == {0, *X[:, 0]}


def test_categories_known_in_advance_are_not_kept_if_they_are_too_many():
    """Their order says nothing about which of them come."""
    column = pd.Categorical(["c900", "c901"], categories=[f"c{i}" for i in range(1000)])
    encoder = Encoder.settle(pd.DataFrame({"c": column}))
    assert encoder.codes == [{}]


def test_no_room_is_kept_for_values_that_cannot_come():
    X = np.array([[f"v{i}", f"w{i}"] for i in range(400)] * 2, object)
    clf = HoeffdingTree().partial_fit(X, ["a", "b"] * 400)
    (segment,) = clf._model.chain.segments
    assert np.diff(segment.learners.forest.offset).tolist() == [1 + capacity(AT_ONCE + len(EVIDENCE))] * 2


# ------------------------------------------------------------------------------------------------ one value, many forms


@pytest.mark.parametrize(
    "other",
    [[[1], [2], [0.5]], [[1.0], [2.0], [0.5]], [["1"], ["2"], ["0.5"]], [[" 1 "], [np.int64(2)], [Decimal("0.5")]]],
    ids=["numbers", "floats", "text", "mixed"],
)
@pytest.mark.parametrize("first", [[["1"], ["2"], ["0.5"]], [[1.0], [2.0], [0.5]]], ids=["text", "numbers"])
def test_a_category_is_the_same_as_text_and_as_a_number(first, other):
    encoder = Encoder.settle(np.array(first, object), [0])
    encoder.commit(encoder.read(np.array(first, object)), 1)
    for X in (np.array(other, object), pd.DataFrame(other, columns=["x0"]), other):
        block = encoder.read(X)
        assert block.X[:, 0].tolist() == [0.0, 1.0, 2.0]
        assert block.fresh == [{}]
    assert [encoder.read_row(x).X[0, 0] for x in other] == [0.0, 1.0, 2.0]


def test_a_number_is_not_taken_for_a_shared_code():
    """Shared codes are kept under numbers, values under text."""
    encoder = Encoder.settle(np.array([["a"]], object))
    encoder.codes = [{5: 0, "a": 1}]
    for X in ([[5]], [["5"]], [[5.0]]):
        assert encoder.read(np.array(X, object)).fresh == [{"5": 0}]
        assert encoder.read_row(X[0]).fresh == [{"5": 0}]


def test_empty_text_is_missing_in_columns_of_both_kinds():
    encoder, block = encoded(np.array([["red", 1.0], ["", 2.0], ["  ", 3.0]], object))
    np.testing.assert_array_equal(block.X[:, 1], [0.0, math.nan, math.nan])
    for word in ("", "?", "NA", "nan"):
        np.testing.assert_array_equal(encoder.read_row(["red", word]).X[0], [math.nan, 0.0])


def test_masked_values_are_missing():
    numbers = np.ma.masked_array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    encoder, block = encoded(numbers)
    np.testing.assert_array_equal(block.X, [[1.0, math.nan], [3.0, 4.0]])
    np.testing.assert_array_equal(encoder.read_row(numbers[0]).X, [[1.0, math.nan]])
    integers = np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])
    np.testing.assert_array_equal(encoder.read(integers).X, block.X)
    mixed = np.ma.masked_array(np.array([["red", 1.0], ["blue", 2.0]], object), mask=[[0, 1], [1, 0]])
    _, block = encoded(mixed)
    np.testing.assert_array_equal(block.X, [[math.nan, 0.0], [2.0, math.nan]])


# ------------------------------------------------------------------------------------------------- names and order


NAMED = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "polars": lambda columns: pl.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
    "RecordBatch": lambda columns: pa.RecordBatch.from_pydict(columns),
    "Table": lambda columns: Table(tuple(columns), tuple(_table_column(column) for column in columns.values())),
}


def _table_column(column):
    return np.array(column, object if isinstance(column[0], str) else float)


@pytest.mark.parametrize("kind", NAMED)
def test_names_decide_where_there_are_names(kind):
    columns = {"size": [1.5, 2.0], "colour": ["red", "blue"], "count": [3.0, 4.0]}
    encoder, want = encoded(NAMED["pandas"](columns))
    for order in (("count", "size", "colour"), ("colour", "count", "size")):
        block = encoder.read(NAMED[kind]({name: columns[name] for name in order}))
        np.testing.assert_array_equal(block.X, want.X)
    less = {name: columns[name] for name in ("size", "colour")}
    with pytest.raises(DataError, match=r"now missing:\n- count\n.*NaN"):
        encoder.read(NAMED[kind](less))
    with pytest.raises(DataError, match=r"unseen at fit time:\n- amount\n.*\n- count\n.*Leave out what"):
        encoder.read(NAMED[kind](less | {"amount": [1.0, 2.0]}))


Row = namedtuple("Row", ["count", "colour", "size"])  # a row of no types


class Record:
    """A row as databases give it: keys and values, but no mapping."""

    def __init__(self, **values):
        self.values = values

    def keys(self):
        return self.values.keys()

    def __getitem__(self, name):
        return self.values[name]


@pytest.mark.parametrize(
    "row",
    [
        {"count": 3.0, "colour": "blue", "size": 1.5},
        pd.Series({"count": 3.0, "colour": "blue", "size": 1.5}),
        Row(3.0, "blue", 1.5),
        Record(count=np.int64(3), colour=np.str_("blue"), size=np.float32(1.5)),
        [1.5, "blue", 3.0],
        (1.5, "blue", 3.0),
        pd.Series([1.5, "blue", 3.0]),  # its index is not names
        np.array([1.5, "blue", 3.0], object),
    ],
    ids=["mapping", "Series", "named tuple", "record", "list", "tuple", "Series without names", "array"],
)
def test_a_row_goes_by_name_if_it_has_names_and_by_position_if_not(row):
    encoder, block = encoded(pd.DataFrame({"size": [1.0, 1.0], "colour": ["red", "blue"], "count": [2, 2]}))
    encoder.commit(block, 1)
    assert encoder.read_row(row).X.tolist() == [[1.5, 3.0, 1.0]]


def test_a_row_of_numbers_is_a_mapping_too():
    encoder = Encoder.settle(pd.DataFrame({"a": [1.0], "b": [2.0]}))
    for row in ({"b": 2.0, "a": 1.0}, pd.Series({"b": 2.0, "a": 1.0})):
        assert encoder.read_row(row).X.tolist() == [[1.0, 2.0]]
    np.testing.assert_array_equal(encoder.read_row({"b": 2.0}).X, [[math.nan, 2.0]])
    assert Encoder.settle(pd.DataFrame([[1.0, 2.0]])).read_row({1: 2.0, 0: 1.0}).X.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize("empty", [[], np.empty((0, 2)), pd.DataFrame({"b": [], "a": []}), np.empty((0, 2), object)])
def test_no_rows_are_no_rows(empty):
    for nominal in (None, ["a"]):
        encoder = Encoder.settle(pd.DataFrame({"a": [1.0], "b": [2.0]}), nominal)
        assert encoder.read(empty).X.shape == (0, 2)


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


DAY = datetime.datetime(2024, 5, 1)
DATES = {
    "pandas": pd.DataFrame({"when": [DAY]}),
    "polars": pl.DataFrame({"when": [DAY]}),
    "pyarrow": pa.table({"when": [DAY]}),
    "date": pl.DataFrame({"when": [DAY.date()]}),
    "time": pl.DataFrame({"when": [DAY.time()]}),
    "duration": pd.DataFrame({"when": [DAY - DAY]}),
    "objects": pd.DataFrame({"when": pd.Series([DAY.date()], dtype=object)}),
    "array": np.array([["2024-05-01"]], "datetime64[ns]"),
    "object array": np.array([[pd.Timestamp(DAY)]], object),
    "list": [[np.datetime64("2024-05-01")]],
}


@pytest.mark.parametrize("kind", DATES)
def test_dates_are_refused_wherever_they_come_from(kind):
    with pytest.raises(DataError, match=r"a date or time is neither a number nor a category.*the hour, the day"):
        Encoder.settle(DATES[kind])


@pytest.mark.parametrize(
    "value", [DAY, DAY.date(), np.datetime64("2024-05-01"), pd.Timestamp(DAY), DAY - DAY], ids=repr
)
def test_dates_in_single_rows_are_refused_too(value):
    for first in ([1.0], ["red"]):
        encoder = Encoder.settle(np.array([first], object))
        with pytest.raises(DataError, match=r"column 'x0'.*a date or time is neither.*the hour"):
            encoder.read_row([value])
        with pytest.raises(DataError, match=r"row 0, column 'x0'.*a date or time is neither.*the hour"):
            encoder.read(np.array([[value]], object))


def test_a_frame_that_has_no_rows_yet_is_named():
    with pytest.raises(DataError, match=r"a LazyFrame has no rows yet: use X.collect\(\)"):
        Encoder.settle(pl.DataFrame({"a": [1.0]}).lazy())


@pytest.mark.parametrize("X", [{"a": [1.0]}, [{"a": 1.0}]], ids=["mapping", "list of mappings"])
def test_mappings_in_place_of_a_table_are_named(X):
    with pytest.raises(DataError, match=r"learn_one.*data frame"):
        Encoder.settle(X)


def test_intervals_and_their_like_are_categories_if_their_column_says_so():
    encoder, block = encoded(pd.DataFrame({"c": pd.cut([1.0, 5.0, 9.0, 1.0], [0, 3, 6, 10])}))
    assert block.X[:, 0].tolist() == [0.0, 1.0, 2.0, 0.0]
    assert list(encoder.codes[0]) == ["(0, 3]", "(3, 6]", "(6, 10]"]


def test_a_number_too_large_is_as_good_as_infinite():
    encoder = Encoder.settle(np.zeros((1, 2)))
    for x in ([10**400, 1.0], [10**400, None], np.array([10**400, 1.0], object)):
        with pytest.raises(DataError, match="column 'x0': infinity"):
            encoder.read_row(x)
        with pytest.raises(DataError, match="row 0, column 'x0': infinity"):
            encoder.read(np.array([x], object))


def test_a_thing_that_is_no_value_is_refused_with_its_place():
    X = np.empty((2, 1), object)
    X[0, 0], X[1, 0] = 1.0, {"a": 1}
    with pytest.raises((DataError, TypeError), match="row 1, column 'x0'"):
        Encoder.settle(X)


def test_whole_numbers_are_names_in_a_mapping():
    """As they are when such a row is learned; a Series without names goes by position."""
    encoder = Encoder.settle([[1.5, 2.5]], None)
    encoder.named, encoder.opens = True, "auto"
    assert np.isnan(encoder.read_row({0: 1.0, 1: 2.0}, learning=False).X).all()
    assert encoder.read_row(pd.Series([1.0, 2.0])).X.tolist() == [[1.0, 2.0]]


@pytest.mark.parametrize(
    "row",
    [
        [np.float64(1.5), "red"],
        [True, "red"],
        [np.int64(3), math.nan],
        [np.float32(0.5), np.float64("nan")],
        [1, 7],
        [None, 7.0],
        [np.True_, None],
        {"x1": "red"},
    ],
)
def test_plain_numbers_of_any_type_and_missing_text_are_read_without_a_detour(row):
    encoder = Encoder.settle(Table(("x0", "x1"), (np.zeros(2), np.array(["red", "7"], object))))
    encoder.commit(encoder.read([[0.0, "red"], [0.0, "7"]]), 0)
    found = np.empty((1, 2))
    assert RowReader(encoder).read(row, found)
    np.testing.assert_array_equal(found, encoder.read_row(row).X)


def test_lists_in_a_column_are_refused_with_their_place():
    for values in ([[1], [2]], [(1, 2), (3, 4)]):
        with pytest.raises((DataError, TypeError), match=r"row 0, column 'a'.*a string or a number"):
            Encoder.settle(pd.DataFrame({"a": values}))


def test_a_dictionary_of_arrow_in_pandas_is_a_category():
    pa = pytest.importorskip("pyarrow")
    kind = pd.ArrowDtype(pa.dictionary(pa.int8(), pa.string()))
    X = pd.DataFrame({"a": pd.array(["u", None, "v"], dtype=kind)})
    encoder = Encoder.settle(X)
    assert list(encoder.nominal) == [0]
    np.testing.assert_array_equal(encoder.read(X).X, [[0.0], [np.nan], [1.0]])
