"""What a file holds is what comes out, block by block; what is wrong with it is said with its place."""

from __future__ import annotations

import gzip
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from onlineboost.data import text_files
from onlineboost.data.errors import DataError
from onlineboost.data.files import read_blocks, scan_labels
from onlineboost.data.table import Block


@pytest.fixture
def write(tmp_path: Path):
    """Write text or bytes to a file of that name (compressed if it ends in .gz) and return its path."""

    def write(content: str | bytes, name: str = "events.csv") -> Path:
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


def joined(blocks: list[Block]) -> tuple[dict[str, list], list]:
    """All rows: columns by name (NaN as None), and labels."""
    columns: dict[str, list] = {name: [] for name in blocks[0].X.names}
    for block in blocks:
        for name, column in zip(block.X.names, block.X.columns, strict=True):
            columns[name] += [None if v != v else v for v in column.tolist()]
    return columns, [label for block in blocks for label in block.y]


def failure(path: Path, *args, **kwargs) -> str:
    """The message of the DataError that reading the whole file ends in."""
    with pytest.raises(DataError) as caught:
        list(read_blocks(path, *args, **kwargs))
    return str(caught.value)


# ------------------------------------------------------------------------------------------- values and kinds


def test_numbers_are_numeric_and_everything_else_nominal(write):
    path = write("n,m,t,c\n1,-2.5e3,x,yes\n 2 , 0, 7 ,no\n")
    (block,) = read_blocks(path)
    assert joined([block]) == ({"n": [1, 2], "m": [-2500, 0], "t": ["x", "7"]}, ["yes", "no"])
    assert [column.dtype.kind for column in block.X.columns] == ["f", "f", "O"]


def test_the_target_is_the_last_column_unless_named_and_always_text(write):
    path = write("a,b,c\n1,2,3\n4,5,6\n")
    assert joined(list(read_blocks(path))) == ({"a": [1, 4], "b": [2, 5]}, ["3", "6"])
    assert joined(list(read_blocks(path, "a"))) == ({"b": [2, 5], "c": [3, 6]}, ["1", "4"])


@pytest.mark.parametrize("token", ["", " ", "?", "NA", "nan", "NaN", "NULL", "null", "None", "N/A", " ? "])
def test_missing_numbers(write, token):
    (block,) = read_blocks(write(f"a,c\n1,x\n{token},x\n3,x\n"))
    assert joined([block])[0] == {"a": [1, None, 3]}
    assert block.X.columns[0].dtype == np.float64


def test_only_an_empty_value_is_missing_in_a_nominal_column(write):
    (block,) = read_blocks(write("a,c\nred,x\n,x\n?,x\nNA,x\n"))
    assert joined([block])[0] == {"a": ["red", None, "?", "NA"]}


def test_a_column_without_any_number_is_numeric_only_if_it_is_empty(write):
    (block,) = read_blocks(write("empty,marks,c\n,?,x\n,?,x\n"))
    assert joined([block])[0] == {"empty": [None, None], "marks": ["?", "?"]}


def test_a_name_with_an_underscore_is_not_a_number(write):
    """Python's float() reads 309_1 as 3091."""
    (block,) = read_blocks(write("mouse,c\n309_1,x\n309_2,x\n"))
    assert joined([block])[0] == {"mouse": ["309_1", "309_2"]}


def test_kinds_can_be_forced(write):
    path = write("day,code,c\n1,7,x\n2,?,x\n")
    for nominal in ("day", ["day"]):
        (block,) = read_blocks(path, nominal=nominal)
        assert joined([block])[0] == {"day": ["1", "2"], "code": [7, None]}
    path = write("a,c\n?,x\n?,x\n5,x\n")
    assert joined(list(read_blocks(path, block_rows=2, numeric=["a"])))[0] == {"a": [None, None, 5]}


def test_the_first_block_settles_the_kind_of_a_column(write):
    path = write("a,c\nlow,x\n7,x\n8,x\n")
    assert joined(list(read_blocks(path, block_rows=1)))[0] == {"a": ["low", "7", "8"]}


def test_quotes_blank_lines_line_ends_and_a_byte_order_mark(write):
    content = '\ufeffa,text,c\r\n1,"one, ""two""\nthree",x\r\n\r\n  \r\n2, "b",x'
    assert joined(list(read_blocks(write(content)))) == (
        {"a": [1, 2], "text": ['one, "two"\nthree', "b"]},
        ["x", "x"],
    )


cell = st.one_of(st.floats(allow_nan=False, allow_infinity=False).map(repr), st.just(""), st.sampled_from("ab?"))


@settings(deadline=None, max_examples=60)
@given(rows=st.lists(st.tuples(cell, cell), min_size=1, max_size=40), block_rows=st.integers(1, 45))
def test_blocks_of_any_size_give_the_same_rows(tmp_path_factory, rows, block_rows):
    path = tmp_path_factory.mktemp("any") / "rows.csv"
    path.write_text("a,b,c\n" + "".join(f"{a},{b},y{i}\n" for i, (a, b) in enumerate(rows)))
    kinds = {"nominal": ["a", "b"]}
    whole, blocks = (
        list(read_blocks(path, block_rows=1000, **kinds)),
        list(read_blocks(path, block_rows=block_rows, **kinds)),
    )
    assert joined(blocks) == joined(whole)
    assert joined(blocks) == (
        {"a": [a or None for a, _ in rows], "b": [b or None for _, b in rows]},
        [f"y{i}" for i in range(len(rows))],
    )
    assert [block.first_row for block in blocks] == list(range(0, len(rows), block_rows))
    assert all(len(block) == block_rows for block in blocks[:-1])


@settings(deadline=None, max_examples=60)
@given(numbers=st.lists(st.floats(allow_infinity=False), min_size=1, max_size=300))
def test_numbers_are_read_to_the_last_bit(tmp_path_factory, numbers):
    path = tmp_path_factory.mktemp("bits") / "numbers.csv"
    path.write_text("a,c\n" + "".join(f"{number!r},x\n" for number in numbers))
    blocks = list(read_blocks(path, block_rows=100, numeric=["a"]))
    assert np.array_equal(np.concatenate([b.X.columns[0] for b in blocks]), np.array(numbers), equal_nan=True)


def test_compressed_and_plain_are_the_same(write):
    text = "a,t,c\n" + "".join(f"{i},v{i % 3},{i % 2}\n" for i in range(1000))
    plain, packed = write(text), write(text, "EVENTS.CSV.gz")
    assert joined(list(read_blocks(plain, block_rows=64))) == joined(list(read_blocks(packed, block_rows=64)))


def test_scan_labels_gives_each_label_once_and_sorted(write):
    path = write("b,a\n" + "".join(f"{i % 7},{'zyx'[i % 3]}\n" for i in range(10_000)))
    assert scan_labels(path) == ["x", "y", "z"]
    assert scan_labels(path, "b") == list("0123456")


# -------------------------------------------------------------------------------------------------- streaming


@pytest.mark.parametrize("name", ["long.csv", "long.csv.gz"])
def test_the_first_block_comes_before_the_rest_is_read(write, name):
    rows = np.random.default_rng(0).random((30_000, 3)).tolist()
    path = write("a,b,c,label\n" + "".join(f"{a},{b},{c},x\n" for a, b, c in rows) + "this row is wrong\n", name)
    blocks = read_blocks(path, block_rows=100)
    first = next(blocks)
    assert first.fraction < 0.15
    fractions = [first.fraction]
    with pytest.raises(DataError, match=r"row 30001 \(line 30002\)"):
        fractions += [block.fraction for block in blocks]
    blocks = read_blocks(path, block_rows=1000)
    fractions = [next(blocks).fraction for _ in range(30)]
    assert fractions == sorted(fractions)
    assert fractions[-1] > 0.95


def test_memory_does_not_grow_with_the_file(write):
    def peak(n_rows: int) -> int:
        path = write("a,b,label\n" + "0.12345,some text,x\n" * n_rows, f"{n_rows}.csv")
        tracemalloc.start()
        try:
            assert sum(len(block) for block in read_blocks(path, block_rows=500)) == n_rows
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(100)  # imports and caches
    assert peak(40_000) < 1.5 * peak(2_000)


def test_a_file_without_line_ends_is_not_read_whole(write, monkeypatch):
    monkeypatch.setattr(text_files, "LONGEST_LINE", 1000)
    message = failure(write("a,c\n1,x\n" + "2" * 5000))
    assert "row 2 (line 3)" in message
    assert "Is this a CSV file?" in message


# ----------------------------------------------------------------------------------------------------- errors

GOOD = "amount,country,label\n" + "3.5,CH,ok\n" * 5

SIXTH = "row 6 (line 7)"

WRONG = {
    # what is wrong: (content, what the message must say)
    "text among numbers": (
        GOOD + "abc,CH,ok\n",
        [SIXTH, "column 'amount'", "'abc' is not a number", "run --nominal amount"],
    ),
    "text among numbers and missing values": (
        GOOD + "?,CH,ok\n,CH,ok\nabc,CH,ok\n",
        ["row 8 (line 9)", "column 'amount'", "'abc'"],
    ),
    "infinite": (GOOD + "-inf,CH,ok\n", [SIXTH, "column 'amount'", "'-inf' is not a finite number"]),
    "too large": (GOOD + "1e999,CH,ok\n", [SIXTH, "column 'amount'", "'1e999'", "leave it empty"]),
    "empty label": (GOOD + "1,CH,\n1,CH,ok\n", [SIXTH, "column 'label'", "''", "every row needs one"]),
    "too many values": (
        GOOD + "1,CH,ok,extra\n1,CH,ok\n",
        [SIXTH, "4 values for 3 columns", "'extra'", "quotes"],
    ),
    "too few values": (GOOD + "1,CH\n1,CH,ok\n", [SIXTH, "column 'label'", "2 values for 3 columns"]),
    "cut off": (GOOD + "1,C", [SIXTH, "column 'label'", "2 values", "last row", "seems cut off"]),
    "cut off in quotes": (GOOD + '1,"C', [SIXTH, "seems cut off"]),
    "open quote": (GOOD + '1,"CH,ok\n' + "1,CH,ok\n" * 20_000, ["row 6", "Check the quotes"]),
    "lines counted with line breaks in quotes": (
        GOOD + '1,"two\nlines",ok\n\nabc,CH,ok\n',
        ["row 7 (line 10)", "column 'amount'", "'abc'"],
    ),
    "not UTF-8": (
        GOOD.encode() + b"1,Z\xfcrich,ok\n",
        [SIXTH, "column 'country'", r"b'\xfc'", "UTF-8"],
    ),
    "header not UTF-8": (b"amount,Stra\xdfe,label\n1,x,y\n", ["line 1", r"b'\xdf'", "UTF-8"]),
    "NUL": (GOOD + "1,C\0H,ok\n", [SIXTH, "column 'country'", "NUL", "damaged"]),
    "UTF-16": (GOOD.encode("utf-16"), ["line 1", "UTF-8"]),
    "empty": ("", ["the file is empty", "header row"]),
    "header only": ("amount,country,label\n", ["no row of data"]),
    "duplicate names": ("amount,label,amount\n1,x,2\n", ["column 'amount'", "two columns have this name"]),
    "no header": ("5,5,a\n5,6,b\n", ["column '5'", "add a header row"]),
    "unnamed column": (",amount,label\n0,1,x\n", ["header", "column 1 has no name", "index=False"]),
    "wrong separator": ("amount;country;label\n1;CH;x\n", ["one column", "commas, not by ';'"]),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", ["events.csv", "events.csv.gz"])
def test_an_error_names_its_place_and_the_way_out(write, wrong, name):
    content, says = WRONG[wrong]
    path = write(content, name)
    message = failure(path, block_rows=5)  # the wrong row comes in the second block
    assert message.startswith(str(path))
    for words in says:
        assert words in message


def test_errors_in_the_first_block(write):
    assert "row 2 (line 3), column 'a': 'inf' is not a finite number" in failure(write("a,c\n1,x\ninf,x\n"))
    message = failure(write("a,c\n1,x\n2_0,x\n"), numeric=["a"])
    assert "row 2 (line 3), column 'a': '2_0' is not a number" in message


def test_a_wrong_row_does_not_spoil_the_blocks_before_it(write):
    blocks = read_blocks(write(GOOD + "abc,CH,ok\n"), block_rows=5)
    assert len(next(blocks)) == 5
    with pytest.raises(DataError):
        next(blocks)


def test_scan_labels_names_the_row_without_a_label(write):
    with pytest.raises(DataError, match=r"row 2 \(line 3\), column 'c'"):
        scan_labels(write("a,c\n1,x\n2,\n"))
    with pytest.raises(DataError, match="no row of data"):
        scan_labels(write("a,c\n"))


def test_a_cut_off_gzip_file_gives_its_whole_blocks_and_then_says_so(write):
    rows = np.random.default_rng(0).random(20_000).tolist()
    path = write("a,c\n" + "".join(f"{a},x\n" for a in rows), "cut.csv.gz")
    path.write_bytes(path.read_bytes()[:-5000])
    blocks = read_blocks(path, block_rows=1000)
    assert len(next(blocks)) == 1000
    with pytest.raises(DataError, match=r"row 1\d{4} \(line 1\d{4}\): the compressed file ends too early"):
        list(blocks)


def test_a_damaged_or_false_gzip_file(tmp_path, write):
    path = tmp_path / "false.csv.gz"
    path.write_bytes(GOOD.encode())
    assert "not gzip" in failure(path)
    path = write(GOOD * 50, "damaged.csv.gz")
    path.write_bytes(path.read_bytes()[:-8] + b"\0" * 8)  # the checksum
    assert "damaged" in failure(path)


def test_wrong_names_are_answered_with_near_ones(write):
    path = write("Amount,country,label\n1,CH,x\n")
    assert "no column is named 'lable'. Did you mean 'label'?" in failure(path, "lable")
    assert "no column is named 'zzz'. The columns are Amount, country, label." in failure(path, "zzz")
    assert "no predictor is named 'amount'. Did you mean 'Amount'?" in failure(path, nominal=["amount"])
    assert "no predictor is named 'label'" in failure(path, numeric=["label"])
    assert "column 'Amount': asked to be both" in failure(path, nominal=["Amount"], numeric=["Amount"])


def test_paths_are_checked_at_the_call_not_at_the_first_block(write, tmp_path):
    write("a,c\n1,x\n", "events.csv")
    with pytest.raises(DataError, match=r"event\.csv: no such file\. Did you mean 'events\.csv'\?"):
        read_blocks(tmp_path / "event.csv")
    (tmp_path / "event.csv").mkdir()
    with pytest.raises(DataError, match=r"event\.csv: it is a folder: name a file in it"):
        read_blocks(tmp_path / "event.csv")
    with pytest.raises(DataError, match=r"it is a folder: name a file in it"):
        read_blocks(tmp_path)
    write("", "events.tx")  # nearer, but no data
    missing = r"events\.txt: no such file, and a name must end in .*\. Did you mean 'events\.csv'\?"
    with pytest.raises(DataError, match=missing):
        read_blocks(tmp_path / "events.txt")
    write("a,c\n1,x\n", "events.xlsx")
    with pytest.raises(DataError, match=r"events\.xlsx: .* must end in \.csv, \.csv\.gz, \.parquet"):
        read_blocks(tmp_path / "events.xlsx")
    with pytest.raises(ValueError, match="block_rows must be at least 1, got 0"):
        read_blocks(tmp_path / "events.csv", block_rows=0)


# ---------------------------------------------------------------------------------------------------- Parquet


@pytest.fixture
def parquet(tmp_path: Path):
    pyarrow = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")

    def write(columns: dict[str, list], **kwargs) -> Path:
        path = tmp_path / "events.parquet"
        pq.write_table(pyarrow.table(columns), path, **kwargs)
        return path

    return write


def test_parquet_kinds_come_from_the_file(parquet):
    path = parquet(
        {
            "whole": [1, None, 3],
            "real": [0.5, float("nan"), None],
            "flag": [True, None, False],
            "digits": ["1", "2", ""],
            "label": [7, 8, 7],
        }
    )
    assert joined(list(read_blocks(path))) == (
        {"whole": [1, None, 3], "real": [0.5, None, None], "flag": [1, None, 0], "digits": ["1", "2", None]},
        ["7", "8", "7"],
    )
    forced = joined(list(read_blocks(path, nominal=["whole", "real"], numeric=["digits"])))[0]
    assert forced["whole"] == ["1", None, "3"]
    assert forced["real"] == ["0.5", None, None]
    assert forced["digits"] == [1, 2, None]
    assert scan_labels(path, "label") == ["7", "8"]


@pytest.mark.parametrize("block_rows", [1, 7, 100, 5000])
def test_parquet_blocks_of_any_size_give_the_same_rows(parquet, block_rows):
    columns = {"a": list(range(1000)), "t": [f"v{i % 5}" for i in range(1000)], "c": ["x", "y"] * 500}
    path = parquet(columns, row_group_size=300)
    blocks = list(read_blocks(path, block_rows=block_rows))
    X, y = joined(blocks)
    assert {**X, "c": y} == columns
    assert max(map(len, blocks)) <= block_rows
    assert [block.first_row for block in blocks] == np.cumsum([0, *map(len, blocks)])[:-1].tolist()
    assert blocks[-1].fraction == 1


def test_parquet_errors_name_row_and_column(parquet):
    path = parquet({"a": [1.0, float("inf")], "t": ["1", "abc"], "c": ["x", None]})
    assert "row 2, column 'a': 'inf' is not a finite number" in failure(path)
    assert "row 2, column 'c': '' is not a label" in failure(path, nominal=["a"])
    assert "row 2, column 't': 'abc' is not a number" in failure(path, nominal=["a"], numeric=["t"])
    assert "no column is named 'd'" in failure(path, "d")
    assert "no row of data" in failure(parquet({"a": [], "c": []}))
    assert "column 'a': values of type list" in failure(parquet({"a": [[1]], "c": ["x"]}))


def test_a_damaged_parquet_file(parquet):
    path = parquet({"a": [1.0], "c": ["x"]})
    path.write_bytes(path.read_bytes()[:-10])
    assert "not a readable Parquet file" in failure(path)


def test_without_pyarrow_the_message_says_what_to_install(write, monkeypatch):
    path = write("", "events.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'onlineboost[frames]'" in failure(path)


# ----------------------------------------------------------------------------------------------- dates, and leaving out

LOOKS_LIKE_DATES = [
    "2024-05-01",
    "2024-05-01 12:30",
    "2024-05-01T12:30:15.25Z",
    "2024-05-01 12:30:15+02:00",
    "1.5.2024",
    "05/01/2024",
    "12:30",
    "12:30:15",
]


@pytest.mark.parametrize("value", LOOKS_LIKE_DATES)
def test_a_column_of_dates_is_refused_with_what_to_do(write, value):
    path = write(f"size,when,label\n1,{value},a\n2,,b\n3,NA,b\n")
    said = failure(path)
    for part in ("column 'when'", repr(value), "the hour", "--drop when", "nominal=['when']"):
        assert part in said
    (block,) = read_blocks(path, nominal="when")
    assert block.X.columns[1].tolist() == [value, None, "NA"]
    (block,) = read_blocks(path, drop="when")
    assert block.X.names == ("size",)


@pytest.mark.parametrize("value", ["2024-05", "1.2.3", "12:30 Uhr", "Mon 2024-05-01", "10.0.0.1", "a"])
def test_what_does_not_look_like_a_date_is_a_category(write, value):
    (block,) = read_blocks(write(f"when,label\n{value},a\n2024-05-01,b\n"))
    assert block.X.columns[0].tolist() == [value, "2024-05-01"]


def test_columns_to_leave_out_are_there_and_not_all(write):
    path = write("size,colour,label\n1,red,a\n")
    assert "no predictor is named 'clour'. Did you mean 'colour'?" in failure(path, drop=["clour"])
    assert "no predictor is named 'label'" in failure(path, drop="label")
    assert "all predictors are left out" in failure(path, drop=["size", "colour"])
    assert "no predictor is named 'size'" in failure(path, drop="size", numeric="size")


def test_names_with_commas_between_them_are_several_unless_a_column_is_called_that(write):
    path = write('size,"hue, tone",day,label\n1,red,2,a\n')
    (block,) = read_blocks(path, drop="size, day")
    assert block.X.names == ("hue, tone",)
    (block,) = read_blocks(path, drop="hue, tone", nominal=["size,day"])
    assert [column.dtype.kind for column in block.X.columns] == ["O", "O"]
    assert "no predictor is named 'sizes'. Did you mean 'size'?" in failure(path, drop="day,sizes")


@pytest.mark.parametrize("kind", ["timestamp", "date", "time", "duration"])
def test_dates_in_parquet_are_refused_with_what_to_do(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    types = {
        "timestamp": pa.timestamp("us"),
        "date": pa.date32(),
        "time": pa.time64("us"),
        "duration": pa.duration("us"),
    }
    numbers = pa.array([1, 2], pa.int32() if kind == "date" else pa.int64())
    pq.write_table(
        pa.table({"when": numbers.cast(types[kind]), "size": [1, 2], "label": ["a", "b"]}), tmp_path / "e.parquet"
    )
    said = failure(tmp_path / "e.parquet")
    for part in ("column 'when'", "the hour", "--drop when", "nominal=['when']"):
        assert part in said
    (block,) = read_blocks(tmp_path / "e.parquet", drop="when")
    assert block.X.names == ("size",)
    (block,) = read_blocks(tmp_path / "e.parquet", nominal="when")
    assert len(set(block.X.columns[0])) == 2


def test_numbers_in_parquet_that_are_categories_or_labels_are_written_as_in_csv(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"day": [1.0, 2.5], "label": [1.0, 0.0]}), tmp_path / "e.parquet")
    (block,) = read_blocks(tmp_path / "e.parquet", nominal="day")
    assert block.X.columns[0].tolist() == ["1", "2.5"]
    assert block.y.tolist() == ["1", "0"]
    assert scan_labels(tmp_path / "e.parquet") == ["0", "1"]


def test_a_name_that_comes_twice_in_an_object_is_named_with_its_line(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('{"size": 1, "label": "a"}\n{"size": 1, "size": 2, "label": "b"}\n')
    with pytest.raises(DataError, match=r"events.ndjson, line 2: the name 'size' comes twice in this object"):
        list(read_blocks(path))


def test_a_null_in_the_first_object_does_not_make_text_a_number(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('{"size": null, "colour": null, "y": "a"}\n{"size": 1, "colour": "red", "y": "b"}\n')
    (block,) = read_blocks(path)
    assert [column.dtype for column in block.X.columns] == [np.float64, object]


def test_a_file_without_a_column_is_named(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('{}\n{"size": 1, "label": "a"}\n')
    assert "there is no column" in failure(path)


def test_truth_values_beside_numbers_as_text_are_numbers_in_ndjson(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('{"size": true, "label": "a"}\n{"size": "3", "label": "b"}\n')
    for block_rows in (1, 2):
        blocks = list(read_blocks(path, block_rows=block_rows))
        assert np.concatenate([block.X.columns[0] for block in blocks]).tolist() == [1.0, 3.0]
    path.write_text('{"size": true, "label": "a"}\n{"size": "red", "label": "b"}\n')
    assert "row 2 (line 2), column 'size': 'red' is not a number" in failure(path)


@pytest.mark.parametrize("kind", ["list", "struct", "binary", "fixed"])
def test_values_in_parquet_that_are_neither_numbers_nor_text_are_refused_everywhere(tmp_path, kind):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    odd = {"list": [[1], [2]], "struct": [{"a": 1}, {"a": 2}], "binary": [b"a", b"b"]}
    odd["fixed"] = pa.array([b"a", b"b"], pa.binary(1))
    pq.write_table(pa.table({"odd": odd[kind], "size": [1, 2]}), tmp_path / "e.parquet")
    for asked in ({"target": "odd"}, {"target": "size"}, {"target": "size", "nominal": "odd"}):
        with pytest.raises(DataError, match=r"column 'odd': values of type .* are neither numbers nor text"):
            list(read_blocks(tmp_path / "e.parquet", **asked))
