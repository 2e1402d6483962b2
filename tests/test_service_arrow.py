"""Tables of Arrow as bodies: they say and learn the same as JSON, and bad ones are told."""

from __future__ import annotations

import random

import numpy as np
import pytest

pytest.importorskip("fcntl")  # not on Windows
pytest.importorskip("msgspec")
pytest.importorskip("uvicorn")
pytest.importorskip("pyarrow")

import pyarrow as pa

from onlineboost import AdaBoostOLM
from test_service import example, row, serving

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A service that has learned 300 events."""
    with serving(tmp_path_factory.mktemp("live") / "folder", AdaBoostOLM(3)) as client:
        client.ask("/learn", [example(at) for at in range(300)])
        client.learned(300)
        yield client


def arrow(table, **how):
    table = table if isinstance(table, pa.Table) else pa.table(table)
    with pa.BufferOutputStream() as sink:
        with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(**how)) as stream:
            stream.write_table(table)
        return sink.getvalue().to_pybytes()


def columns_of(rows):
    return {name: [each[name] for each in rows] for name in rows[0]}


def ask_arrow(client, path, body, kind="application/vnd.apache.arrow.stream"):
    status, said = client.ask(path, body, **{"content-type": kind})
    return (status, pa.ipc.open_stream(said).read_all().to_pylist()) if status == 200 else (status, said)


def test_a_table_of_arrow_says_the_same_as_json(client):
    rows = [row(at) for at in range(30)]
    _, as_json = client.ask("/predict", [{"row": each} for each in rows])
    tables = pa.table(columns_of(rows)), pa.table({"row": rows})
    coded = tables[0].set_column(1, "colour", tables[0]["colour"].dictionary_encode())
    viewed = tables[0].set_column(1, "colour", tables[0]["colour"].cast(pa.string_view()))
    for table in (*tables, coded, viewed):
        status, said = ask_arrow(client, "/predict", arrow(table))
        assert status == 200
        assert [each["label"] for each in said] == [each["label"] for each in as_json]
        assert [each["probabilities"] for each in said] == [each["probabilities"] for each in as_json]
    frame = pytest.importorskip("polars").DataFrame(columns_of(rows)).write_ipc_stream(None).getvalue()
    assert [each["label"] for each in ask_arrow(client, "/predict", frame)[1]] == [each["label"] for each in as_json]


def test_tables_are_learned_and_their_events_get_labels(tmp_path):
    with serving(tmp_path / "arrow", AdaBoostOLM(3)) as client, serving(tmp_path / "json", AdaBoostOLM(3)) as other:
        several = [example(at) for at in range(100)]
        table = columns_of([each["row"] | {"label": each["label"], "id": each["id"]} for each in several])
        status, said = ask_arrow(client, "/learn", arrow(table))
        assert (status, said[0]) == (200, {"status": "accepted", "place": 1, "id": "e0"})
        assert ask_arrow(client, "/learn", arrow(table))[1][0]["status"] == "repeated"
        other.ask("/learn", several)
        status, said = ask_arrow(client, "/events", arrow(columns_of([row(at) for at in range(3)])))
        assert status == 200
        late = {"id": [each["id"] for each in said], "label": ["ok"] * 3}
        assert [each["place"] for each in ask_arrow(client, "/labels", arrow(late))[1]] == [101, 102, 103]
        other.ask("/learn", [{"row": row(at), "label": "ok"} for at in range(3)])
        client.learned(103), other.learned(103)
        assert client.ask("/predict", {"row": row(7)}) == other.ask("/predict", {"row": row(7)})


def bad_tables():
    one = {"length": [1.0], "colour": ["red"], "width": [1]}
    good, long = arrow(one), "x" * 100_000
    words = pa.DictionaryArray.from_arrays(pa.array(np.zeros(10_000, np.int8)), [long])
    views = pa.array([long] * 20, pa.string_view())
    same = views.buffers()[1].to_pybytes()[:16] * 10_000  # all of them the same bytes
    views = pa.Array.from_buffers(pa.string_view(), 10_000, [None, pa.py_buffer(same), *views.buffers()[2:3]])
    dates = pa.struct({"length": pa.float64(), "at": pa.date64()})
    nested = pa.table({"row": pa.array([{"length": 1.0, "at": 0}]).cast(dates)})
    return {
        "no Arrow": ("/predict", b"hello", 400, "not a stream of Arrow IPC"),
        "cut off": ("/predict", good[: len(good) // 2], 400, "not a stream of Arrow IPC"),
        "zstd": ("/predict", arrow(one, compression="zstd"), 415, "compressed"),
        "a compressed dictionary": (
            "/predict",
            arrow(pa.table({"colour": pa.array(["red"]).dictionary_encode()}), compression="lz4"),
            415,
            "compressed",
        ),
        "a date": ("/predict", arrow({"at": pa.array([0]).cast(pa.date64())}), 422, "date64"),
        "a date in a struct": ("/predict", arrow(nested), 422, "date64"),
        "two of a name": ("/predict", arrow(pa.table([[1], [2]], names=["a", "a"])), 422, "two columns"),
        "nothing but rows": ("/predict", arrow({"a": pa.nulls(100_000)}), 413, "too large"),
        "a long text many times": ("/predict", arrow({"colour": words}), 413, "too large"),
        "views of a long text": ("/predict", arrow({"colour": views}), 413, "too large"),
        "no label": ("/learn", good, 422, "label"),
        "a label that is missing": ("/learn", arrow(one | {"label": [None]}), 422, "label"),
        "a label to be predicted": ("/predict", arrow(one | {"label": ["ok"]}), 422, "label"),
        "text for a number": ("/predict", arrow(one | {"length": ["long"]}), 422, "length"),
    }


@pytest.mark.parametrize("what", bad_tables())
def test_a_bad_table_is_told_what_is_wrong(client, what):
    path, body, status, told = bad_tables()[what]
    assert len(body) < 1_000_000
    found, said = ask_arrow(client, path, body)
    assert (found, told in said["error"] + str(said.get("column"))) == (status, True), said


@pytest.mark.filterwarnings("ignore:unknown column", "ignore:.*left out")
def test_bytes_of_a_table_that_were_changed_are_a_bad_request(client):
    draw = random.Random(0)
    table = pa.table(columns_of([row(at) for at in range(20)]))
    good = bytearray(arrow(table.set_column(1, "colour", table["colour"].dictionary_encode())))
    for _ in range(300):
        changed = bytearray(good)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        assert ask_arrow(client, "/predict", bytes(changed))[0] < 500


def test_without_pyarrow_it_says_what_to_do(client, monkeypatch):
    body = arrow({"length": [1.0]})
    monkeypatch.setattr("onlineboost.service.arrow.find_spec", lambda name: None)
    status, said = ask_arrow(client, "/predict", body)
    assert (status, "send JSON" in said["error"]) == (415, True)
