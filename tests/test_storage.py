"""The bytes of model files, values as JSON, and files that are replaced as a whole or not at all."""

from __future__ import annotations

import json
import os
import resource
import stat
import subprocess
import sys
import uuid
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from fractions import Fraction
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from onlineboost import storage
from onlineboost.storage import container
from onlineboost.storage.container import ALIGN, FORMAT, MAGIC, MAX_HEADER_BYTES, PART, PREAMBLE, read, replacing, write
from onlineboost.storage.values import Reader, Writer
from soak.strikes import struck_after

ARRAYS = [np.arange(5.0), np.array([[1, -2], [3, 2**40]]), np.array([True, False]), np.zeros((0, 3), np.int32)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "some.olb"
    with replacing(path) as file:
        write(file, {"a": [1, "two", None]}, ARRAYS)
    return path


def with_right_head(data, version=FORMAT, header=None):
    """The same bytes with a preamble that fits them."""
    length = int.from_bytes(data[12:16], "little") if header is None else header
    head = PREAMBLE.pack(MAGIC, version, length, len(data), container.crc32(data[32 : 32 + length]), 0)[:-4]
    return head + container.crc32(head).to_bytes(4, "little") + data[32:]


# --------------------------------------------------------------------------------------------------------- container


@pytest.mark.parametrize("mapped", [False, True])
def test_what_is_written_is_read(path, mapped, monkeypatch):
    monkeypatch.setattr(container, "MAPPED", 8)
    found = read(path, mapped=mapped)
    assert found.content == {"a": [1, "two", None]}
    assert found.size == path.stat().st_size
    for got, want in zip(found.arrays, ARRAYS, strict=True):
        np.testing.assert_array_equal(got, want)
        assert got.dtype == want.dtype
        assert got.flags.writeable
        assert got.flags.aligned
    found.arrays[0][:] = -1.0  # in a copy of the page
    np.testing.assert_array_equal(read(path).arrays[0], ARRAYS[0])


def test_every_byte_is_accounted_for(path):
    """Whichever byte is changed, by whatever bit: an error."""
    data = path.read_bytes()
    for at in range(len(data)):
        path.write_bytes(data[:at] + bytes([data[at] ^ (1 << at % 8)]) + data[at + 1 :])
        with pytest.raises(storage.ModelFileError, match=r"some\.olb"):
            read(path)


def test_every_cut_is_told(path):
    data = path.read_bytes()
    for length in range(1, len(data)):
        path.write_bytes(data[:length])
        with pytest.raises(storage.TruncatedModelFile, match="cut off"):
            read(path)
    path.write_bytes(data + b"\0")
    with pytest.raises(storage.DamagedModelFile, match="1 bytes too many"):
        read(path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "it is empty"),
        (b"size,label\n1,a\n", "its first bytes are not those of one"),
        (b"\x80\x05\x95....", "looks like a pickle"),
    ],
)
def test_a_file_of_another_kind(path, content, says):
    path.write_bytes(content)
    with pytest.raises(storage.NotAModelFile, match=says):
        read(path)


def test_a_copy_as_text(path):
    path.write_bytes(path.read_bytes().replace(b"\r\n", b"\n"))
    with pytest.raises(storage.DamagedModelFile, match="line ends"):
        read(path)


def test_a_newer_file(path):
    path.write_bytes(with_right_head(path.read_bytes(), version=7))
    with pytest.raises(storage.NewerModelFile, match=r"is 7.*reads up to 1.*pip install -U"):
        read(path)


def test_a_header_that_is_too_large(path):
    path.write_bytes(with_right_head(path.read_bytes(), header=MAX_HEADER_BYTES + 1))
    with pytest.raises(storage.TooLargeHeader, match="do not trust"):
        read(path)


def test_a_header_that_is_too_large_to_be_written(tmp_path, monkeypatch):
    monkeypatch.setattr(container, "MAX_HEADER_BYTES", 1000)
    with pytest.raises(storage.CannotSave, match="Use fewer"), replacing(tmp_path / "model.olb") as file:
        write(file, ["label"] * 1000, [])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "text",
    [
        '{"arrays":[],"arrays":[],"content":1}',
        '{"arrays":[],"content":NaN}',
        '{"arrays":[],"content":1e999}',
        '{"arrays":[],"content":1,"more":2}',
        '{"arrays":[["f8",[-1],0]],"content":1}',
        '{"arrays":[["O",[1],0]],"content":1}',
        '{"arrays":[["f8",[1.0],0]],"content":1}',
        '{"arrays":[["f8",[4611686018427387904,4],0]],"content":1}',
        '{"arrays":[["f8",[1152921504606846976],0]],"content":1}',
        '{"arrays":[["i4",[0,4611686018427387903],0]],"content":1}',
        '{"arrays":7,"content":1}',
        "[]",
        "",
        "[" * 100_000,
        '{"content":' + "9" * 5000 + ',"arrays":[]}',
        '{"content":1,"arrays":[]',
        "\ufffd".encode().decode("latin-1"),
    ],
)
def test_odd_headers(path, text):
    body = text.encode("latin-1")
    path.write_bytes(with_right_head(bytes(32) + body, header=len(body)))
    with pytest.raises(storage.ModelFileError):
        read(path)


def test_nothing_is_between_the_arrays(path):
    data = bytearray(path.read_bytes())
    length = int.from_bytes(data[12:16], "little")
    assert (32 + length) % ALIGN
    data[32 + length] = 1
    path.write_bytes(data)
    with pytest.raises(storage.DamagedModelFile, match="between the arrays"):
        read(path)


# ------------------------------------------------------------------------------------------------------------- values

VALUES = [
    *("", "text", "\ud800 half a pair", 0, -1, 2**63 - 1, -(2**63), 2**63, -(10**1000), True, None),
    *(0.1, -0.0, 5e-324, 1.7976931348623157e308, float("inf"), float("-inf"), 1j, complex("inf")),
    *(b"", b"\0\xff", Decimal("1.10"), Decimal("NaN"), Decimal("-Infinity"), Fraction(1, 3), uuid.UUID(int=7)),
    *(date(2024, 2, 29), time(1, 2, 3, 4), datetime(2024, 1, 2, 3, 4, 5, 6), timedelta(-1, 2, 3)),
    datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Zurich")),
    datetime(2024, 1, 1, tzinfo=UTC),
    datetime(2024, 1, 1, tzinfo=timezone(timedelta(hours=2), "here")),
    *((), (1, ("a", None)), frozenset({1, "a", (2,)}), [1, [2.5]], {"a": {1: 2.0}, (1, 2): None}),
    *(np.int8(-3), np.float32(0.1), np.float64("nan"), np.bool_(True), np.str_("é"), np.bytes_(b"x")),
    *(np.datetime64("2024-01-02"), np.datetime64("2024-01-02T03:04:05.123", "ms"), np.timedelta64(3, "D")),
]


def round_trip(value):
    writer = Writer()
    text = json.dumps(writer.value(value), allow_nan=False)
    reader = Reader(writer.arrays)
    out = reader.value(json.loads(text))
    reader.check_all_taken()
    return out


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_values_come_back(value):
    back = round_trip(value)
    assert type(back) is type(value)
    assert back == value if isinstance(value, frozenset) else repr(back) == repr(value)
    if isinstance(value, np.generic):
        assert back.dtype == value.dtype
        assert back.tobytes() == value.tobytes()
    elif isinstance(value, datetime):
        assert (back.fold, back.utcoffset(), back.tzname()) == (value.fold, value.utcoffset(), value.tzname())


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.array(["a", "long text"]),
        np.array([1, 2], np.int16),
        np.array([1.5], ">f8"),
        np.array(["2024-01-01"], "M8[D]"),
        np.array([None, "x", (1, 2)], object),
        np.array([], "<U1"),
        np.asfortranarray(np.arange(6).reshape(2, 3)),
    ],
    ids=lambda array: str(array.dtype),
)
def test_arrays_come_back(array):
    back = round_trip(array)
    assert back.dtype == array.dtype.newbyteorder("<")
    assert back.tolist() == array.tolist()


def test_a_timestamp_comes_back():
    pandas = pytest.importorskip("pandas")
    for stamp in (
        pandas.Timestamp("2024-01-02 03:04:05.123456789"),
        pandas.Timestamp("2024-10-27 04:30", tz="Europe/Zurich"),
        pandas.Timestamp("2024-01-02", tz="UTC").as_unit("s"),
    ):
        back = round_trip(stamp)
        assert back == stamp
        assert (back.unit, str(back.tz), type(back)) == (stamp.unit, str(stamp.tz), type(stamp))


def test_a_random_state_goes_on():
    state = np.random.RandomState(3)
    state.normal(size=3)
    back = round_trip(state)
    assert back.randint(10**9) == state.randint(10**9)
    assert back.normal() == state.normal()


class Own:
    def __repr__(self):
        return "<my own>"


@pytest.mark.parametrize("value", [Own(), {1}, np.random.default_rng(0), object, print, np.longdouble(1)])
def test_other_types_are_named(value):
    with pytest.raises(storage.CannotSave, match=r"is of type .*Turn it into one of these, or use pickle"):
        Writer().value([1, value])


@pytest.mark.parametrize(
    "data",
    [
        {"nonesuch": 1},
        {"tuple": [1], "list": [2]},
        {},
        {"array": 0},
        {"array": -1},
        {"float": "1.0"},
        {"ndarray": ["O", [1], 0]},
        {"ndarray": ["<U0", [1], 0]},
        {"ndarray": ["<U999999999", [1], 0]},
        {"numpy": ["<f8", "AAAA"]},
        {"numpy": ["|b1", "Ag=="]},
        {"objects": [[3], [1, 2]]},
        {"datetime": [2024, 13, 1, 0, 0, 0, 0, 0, None]},
        {"dict": [[[1], 2]]},
        {"timestamp": [0, "fortnight", None]},
        {"random_state": [0, 1]},
        {"__class__": 1},
    ],
)
def test_odd_values(data):
    with pytest.raises((ValueError, TypeError, KeyError, IndexError)):
        Reader([]).value(data)


# ------------------------------------------------------------------------------------------------------------- atomic


def test_an_error_leaves_the_old_file(tmp_path):
    path = tmp_path / "model.olb"
    path.write_text("old")

    def fail(file):
        file.write(b"new")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), replacing(path) as file:
        fail(file)
    assert path.read_text() == "old"
    assert [other.name for other in tmp_path.iterdir()] == ["model.olb"]


@pytest.mark.skipif(not hasattr(os, "fchmod"), reason="no modes")
def test_who_may_read_it(tmp_path):
    path = tmp_path / "model.olb"
    before = os.umask(0o027)
    try:
        with replacing(path) as file:
            file.write(b"1")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o604)
        with replacing(path) as file:
            file.write(b"2")
        assert stat.S_IMODE(path.stat().st_mode) == 0o604
    finally:
        os.umask(before)


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "there").mkdir()
    link = tmp_path / "model.olb"
    link.symlink_to(tmp_path / "there" / "model.olb")
    for text in (b"1", b"2"):
        with replacing(link) as file:
            file.write(text)
        assert link.is_symlink()
        assert (tmp_path / "there" / "model.olb").read_bytes() == text


def test_what_is_no_file_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError, match="it is a folder: name a file"), replacing(tmp_path):
        pass
    with pytest.raises(IsADirectoryError, match="it is a folder: name a file"):
        read(tmp_path)
    with pytest.raises(OSError, match="not a file"), replacing("/dev/null"):
        pass
    with pytest.raises(FileNotFoundError, match="nowhere"), replacing(tmp_path / "nowhere" / "model.olb"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_what_a_handler_raises_while_saving_goes_on_as_it_is(tmp_path):
    """TimeoutError is an OSError, but not one of the system that has to do with the file."""
    path, told = tmp_path / "model.olb", []

    def save():
        with replacing(path) as file:
            file.write(b"new")

    def too_late():
        raise TimeoutError("too late")

    for moment in range(1, 80):
        path.write_bytes(b"old")
        try:
            struck_after(moment, save, too_late)
        except TimeoutError as error:
            told.append(error.args)
        assert path.read_bytes() in (b"old", b"new")
    assert len(told) > 20
    assert set(told) == {("too late",)}


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limits")
def test_a_full_disk_leaves_the_old_file(tmp_path):
    code = f"""
import resource, numpy as np
from onlineboost.storage.container import replacing
from onlineboost.storage.container import write
path = {str(tmp_path / "model.olb")!r}
with replacing(path) as file:
    write(file, 1, [np.zeros(10)])
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    with replacing(path) as file:
        write(file, 2, [np.zeros(100_000)])
except OSError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "File too large" in done.stdout
    assert str(tmp_path / "model.olb") in done.stdout
    assert read(tmp_path / "model.olb").content == 1
    assert not list(tmp_path.glob(PART))
    assert len(list(tmp_path.iterdir())) == 1


def test_a_whole_number_of_any_size():
    assert round_trip(-(10**9000)) == -(10**9000)
