"""Labels come back as they went in; reading changes nothing; a label that cannot be is said by name and row."""

from __future__ import annotations

import math

import numpy as np
import pytest

from onlineboost.data.errors import DataError
from onlineboost.data.labels import Labels


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
    "y", [[3, 1, 3], [True, False, True], ["x", "y", "x"], [2.5, 1.5, 2.5]], ids=["int", "bool", "str", "float"]
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


@pytest.mark.parametrize("missing", [None, math.nan])
def test_a_missing_label_is_an_error(missing):
    with pytest.raises(DataError, match="row 1: the label is missing"):
        Labels(np.empty(0), fixed=False).read(np.array(["a", missing], object))


def test_with_fixed_classes_another_label_is_an_error_that_names_it():
    labels = Labels(np.array(["a", "b"]), fixed=True)
    with pytest.raises(DataError, match=r"row 2: unknown label 'c'.*'a', 'b'"):
        labels.read(np.array(["a", "b", "c"]))
