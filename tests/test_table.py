"""A table is columns of one length with different names, and any choice of its rows is a table again."""

from __future__ import annotations

import numpy as np
import pytest

from onlineboost.data.errors import DataError
from onlineboost.data.table import Table


def test_a_table_takes_rows_by_slice_index_and_mask():
    table = Table(("a", "b"), (np.arange(4.0), np.array(list("wxyz"), dtype=object)), {"b": tuple("wxyz")})
    by_slice, by_index, by_mask = (
        table[1:3],
        table[np.array([1, 2])],
        table[np.array([False, True, True, False])],
    )
    for part in (by_slice, by_index, by_mask):
        assert part.columns[0].tolist() == [1, 2]
        assert part.columns[1].tolist() == ["x", "y"]
        assert part.categories == table.categories
        assert len(part) == 2


def test_a_table_with_ill_fitting_columns_cannot_be_made():
    with pytest.raises(DataError, match=r"column 'b' has shape \(3,\), expected \(2,\)"):
        Table(("a", "b"), (np.zeros(2), np.zeros(3)))
    with pytest.raises(DataError, match="different names"):
        Table(("a", "a"), (np.zeros(2), np.zeros(2)))
    with pytest.raises(DataError, match="column 'a' has dtype int64"):
        Table(("a",), (np.zeros(2, dtype=np.int64),))
