"""Labels come back as they went in; reading changes nothing; a label that cannot be is said by name and row."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal
from enum import Enum

import numpy as np
import pandas as pd
import pytest

from onlineboost import HoeffdingTree, prequential
from onlineboost.data.errors import DataError
from onlineboost.data.labels import Labels, object_array, sorted_labels
from onlineboost.estimators.checks import check_labels


class Colour(str, Enum):  # noqa: UP042  # a class of labels that are text, and more than text
    RED = "red"
    BLUE = "blue"


def test_labels_grow_in_order_of_appearance():
    labels = Labels(np.empty(0), fixed=False)
    codes, new = labels.read(np.array(["b", "a", "b", "c"]))
    assert (codes.tolist(), new) == ([0, 1, 0, 2], {"b": 0, "a": 1, "c": 3})
    assert len(labels.classes) == 0  # reading changes nothing
    labels.add(new)
    assert labels.classes.tolist() == ["b", "a", "c"]
    codes, new = labels.read(np.array(["c", "a longer one"]))
    labels.add(new)
    assert codes.tolist() == [2, 3]
    assert labels.classes.tolist() == ["b", "a", "c", "a longer one"]


@pytest.mark.parametrize(
    "y", [[3, 1, 3], [True, False, True], ["x", "y", "x"], [2.0, 1.0, 2.0]], ids=["int", "bool", "str", "float"]
)
@pytest.mark.parametrize("dtype", [None, object])
def test_labels_come_back_with_the_type_they_had(y, dtype):
    labels = Labels(np.empty(0), fixed=False)
    codes, new = labels.read(np.array(y, dtype))
    labels.add(new)
    back = labels.classes[codes].tolist()
    assert back == y
    assert [type(label) for label in back] == [type(label) for label in y]


def test_labels_of_another_type_later_do_not_change_the_type_of_the_first():
    labels = Labels(np.empty(0), fixed=False)
    for y in (np.array([1, 2]), np.array(["x"])):
        labels.add(labels.read(y)[1])
    assert labels.classes.tolist() == [1, 2, "x"]


MISSING = [None, math.nan, np.float32("nan"), pd.NA, pd.NaT, np.datetime64("NaT"), ""]


@pytest.mark.parametrize("missing", MISSING, ids=repr)
@pytest.mark.parametrize("classes", [[], ["nan", "None", "<NA>", "NaT"]], ids=["new", "named like it"])
def test_a_missing_label_is_an_error(missing, classes):
    labels = Labels(np.array(classes), fixed=False)
    with pytest.raises(DataError, match="row 1: the label is missing"):
        labels.read(np.array(["a", missing], object))
    with pytest.raises(DataError, match="the label is missing"):
        labels.read_one(missing)
    with pytest.raises(DataError, match="row 1: the label is missing"):
        sorted_labels(np.array(["a", missing], object))


def test_a_masked_label_is_missing():
    with pytest.raises(DataError, match="the label is missing"):
        Labels(np.empty(0), fixed=False).read_one(np.ma.masked)


@pytest.mark.parametrize(
    "y",
    [
        [datetime.date(2024, 5, 1), datetime.date(2024, 5, 2)],
        [(1, 2), (3,)],
        [(1, 2), (3, 4)],
        [Decimal("1.5"), Decimal("2")],
        [1, "a", (2, 3), None.__class__],
        [frozenset("a"), b"b"],
        [Colour.RED, Colour.BLUE],
        [pd.Timestamp("2024-05-01"), pd.Timestamp("2024-05-02")],
        [2**70, 1],
        ["a\0", "a"],  # which an array of text would make equal
        [2.0**53, 2**53 + 1],  # and an array of floats,
        [-1, 2**63, 2**63 + 1],  # which NumPy makes of these
    ],
    ids=repr,
)
def test_a_label_may_be_anything_that_can_be_hashed(y):
    for kind in (list, object_array, lambda y: pd.Series(y, dtype=object)):
        given = check_labels(kind([*y, y[0]]), "a test")
        labels = Labels(np.empty(0), fixed=False)
        codes, new = labels.read(given)
        labels.add(new)
        assert codes.tolist() == [*range(len(y)), 0]
        assert labels.names == y
        assert [type(label) for label in labels.classes.tolist()] == [type(label) for label in y]
        assert sorted(sorted_labels(given).tolist(), key=y.index) == y
    one_by_one = Labels(np.empty(0), fixed=False)
    for label in y:
        one_by_one.add(one_by_one.read_one(label)[1])
    assert one_by_one.names == y


@pytest.mark.parametrize("unit", ["ns", "s", "D"])
def test_dates_of_numpy_stay_dates(unit):
    y = np.array(["2024-05-02", "2024-05-01", "2024-05-02"], f"datetime64[{unit}]")
    labels = Labels(np.empty(0), fixed=False)
    codes, new = labels.read(y)
    labels.add(new)
    np.testing.assert_array_equal(labels.classes[codes], y)
    assert labels.classes.dtype == sorted_labels(y).dtype == y.dtype
    assert labels.read_one(y[1])[0].tolist() == [1]


@pytest.mark.parametrize("mixed", [[1, "1", 2], ["1", 1, 2], [2, 1.0, True], ["b", "a", "b"]], ids=str)
@pytest.mark.parametrize("kind", [list, object_array])
def test_classes_have_one_type_however_they_became_known(mixed, kind):
    X, y = np.zeros((len(mixed), 1)), kind(mixed)
    ran = HoeffdingTree()
    prequential(ran, X, y)
    models = [ran, HoeffdingTree().fit(X, y), HoeffdingTree().partial_fit(X, y)]
    assert len({clf.classes_.dtype for clf in models}) == 1
    assert len({str(sorted(clf.classes_.tolist(), key=str)) for clf in models}) == 1


def test_classes_are_sorted_where_they_can_be():
    assert sorted_labels(np.array([3, 1, 2, 1])).tolist() == [1, 2, 3]
    assert sorted_labels(np.array(["b", 1, "a"], object)).tolist() == ["b", 1, "a"]


@pytest.mark.parametrize("first", [[0, 1], ["0", "1"], [0.0, 1.0], [np.int8(0), np.int8(1)]], ids=repr)
@pytest.mark.parametrize("later", [[0, 1], ["0", "1"], [0.0, 1.0], [Decimal(0), Decimal(1)]], ids=repr)
def test_labels_that_are_written_alike_are_one_class(first, later):
    labels = Labels(np.empty(0), fixed=False)
    for y in (first, later, [*later, "B"]):
        codes, new = labels.read(check_labels(y, "a test"))
        labels.add(new)
        assert codes.tolist() == [0, 1, 2][: len(y)]
    assert labels.names == [*first, "B"]
    assert labels.read_one(later[1])[0].tolist() == [1]
    assert Labels(check_labels(first, "a test"), fixed=True).read(object_array(later))[0].tolist() == [0, 1]


def test_spaces_around_a_label_do_not_count():
    labels = Labels(np.empty(0), fixed=False)
    codes, new = labels.read(object_array([" ok", "ok", "no", "no ", " ", "o k"]))
    assert codes.tolist() == [0, 0, 1, 1, 2, 3]
    labels.add(new)
    assert labels.names == [" ok", "no", " ", "o k"]  # as they were first met
    assert labels.read_one("  ok ")[0].tolist() == [0]
    both = Labels(object_array(["a", " a"]), fixed=True)  # of an older file: two classes stay two
    assert both.read(object_array([" a", "a", "a "]))[0].tolist() == [1, 0, 0]
    assert prequential(HoeffdingTree(), np.zeros((4, 1)), object_array([" a", "a", " a", "a"])).accuracy == 1.0


def test_truth_values_are_written_as_words():
    labels = Labels(np.array([False, True]), fixed=True)
    assert labels.read(np.array(["True", "False"]))[0].tolist() == [1, 0]


@pytest.mark.parametrize("y", [[0.5, 1.0], np.array([0.5], np.float32), object_array([1, 0.5])], ids=repr)
def test_a_quantity_is_no_label(y):
    with pytest.raises(DataError, match=r"Unknown label type: continuous.*0.5"):
        Labels(np.empty(0), fixed=False).read(check_labels(y, "a test"))


def test_a_label_that_cannot_be_hashed_is_named():
    with pytest.raises(DataError, match=r"row 1: \['b'\] is not a label"):
        Labels(np.empty(0), fixed=False).read(object_array(["a", ["b"]]))
    with pytest.raises(DataError, match=r"\['b'\] is not a label"):
        Labels(np.empty(0), fixed=False).read_one(["b"])


def test_with_fixed_classes_another_label_is_an_error_that_names_it():
    labels = Labels(np.array(["a", "b"]), fixed=True)
    with pytest.raises(DataError, match=r"row 2: unknown label 'c'.*'a', 'b'"):
        labels.read(np.array(["a", "b", "c"]))


@pytest.mark.parametrize(
    "y",
    [["1", 1, True, 1], ["True", True, 1, True], [1, "True", True], [True, 1, "1"], ["0", False, 0, "False", 0.0]],
    ids=repr,
)
def test_truth_values_beside_numbers_have_the_same_codes_however_the_rows_are_cut(y):
    """True equals 1, and is written otherwise: what a label has been once it stays."""
    whole, cut = (Labels(np.empty(0), fixed=False) for _ in range(2))
    codes, new = whole.read(object_array(y))
    whole.add(new)
    said = []
    for label in y:
        code, new = cut.read_one(label)
        cut.add(new)
        said += code.tolist()
    assert said == codes.tolist()
    assert list(map(repr, cut.names)) == list(map(repr, whole.names))
    again = Labels(object_array(cut.names), fixed=True)
    assert again.read(object_array(y))[0].tolist() == said
    assert [again.read_one(label)[0][0] for label in y] == said


def test_whole_numbers_of_pandas_that_may_be_missing_stay_whole_numbers():
    y = pd.Series([1, 2, 1], dtype="Int64")
    assert check_labels(y, "a test").dtype.kind == "i"
    assert HoeffdingTree().partial_fit(np.zeros((3, 1)), y).classes_.dtype.kind == "i"
