"""The live service: what it answers and refuses, and that what it acknowledged is learned once, whatever happens."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import closing, contextmanager, suppress
from importlib.util import find_spec

import numpy as np
import pytest
from click.testing import CliRunner

from onlineboost import AdaBoostOLM, HoeffdingTree, load
from onlineboost.cli import serve as command
from onlineboost.cli.main import main
from onlineboost.estimators.checks import check_row

pytest.importorskip("fcntl")  # not on Windows
pytest.importorskip("msgspec")
pytest.importorskip("uvicorn")

from onlineboost.service import follower
from onlineboost.service.access import LOCAL, Access
from onlineboost.service.brokers import source
from onlineboost.service.http import Application
from onlineboost.service.log import Entry, Learnable, Log, connect, oldest
from onlineboost.service.messages import Ask
from onlineboost.service.replay import Replay
from onlineboost.service.service import Options, Service, create
from onlineboost.service.sources import Demo, GrowingFile

pytestmark = pytest.mark.compiled


def row(at):
    return {
        "length": at % 7 + at / 1000,
        "colour": ("red", "blue", "green")[at % 3],
        "width": None if at % 5 == 0 else -at % 11,
    }


def label(at):
    return "fraud" if (at % 7 > 3) != (at % 3 == 0) else "ok"


def example(at):
    return {"row": row(at), "label": label(at), "id": f"e{at}"}


class Client:
    """Asks an application in this process."""

    def __init__(self, service, **options):
        self.service = service
        access = {"token": None, "hosts": LOCAL} | options
        self.app = Application(service, Access(**access), 1_000_000)

    def ask(self, path, given=None, method=None, **headers):
        """(status, what came back)."""
        body = given if isinstance(given, bytes) else b"" if given is None else json.dumps(given).encode()
        status, text = asyncio.run(self.call(path, body, method or ("GET" if given is None else "POST"), headers))
        return status, json.loads(text) if text.startswith((b"{", b"[")) and text.count(b"\n") == 0 else text

    async def call(self, path, body, method, headers):
        path, _, query = path.partition("?")
        headers = {"host": "localhost:1", **headers}
        listed = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": path, "query_string": query.encode(), "headers": listed}
        sent = []

        async def receive():
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        self.headers = dict(sent[0]["headers"])
        return sent[0]["status"], b"".join(message.get("body", b"") for message in sent[1:])

    def learned(self, place, seconds=60.0):
        """Wait until this place has been learned."""
        until = time.monotonic() + seconds
        while self.service.answering.place < place:
            assert time.monotonic() < until
            assert not self.service.problems()
            time.sleep(0.005)


@contextmanager
def serving(folder, clf=None, **options):
    if clf is not None:
        create(folder, clf)
    service = Service(folder, Options(**options))
    service.start()
    try:
        yield Client(service, **({"token": "secret", "hosts": ()} if "token" in options else {}))
    finally:
        service.stop()


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A service that has learned 300 events."""
    with serving(tmp_path_factory.mktemp("live") / "folder", AdaBoostOLM(3)) as client:
        client.ask("/learn", [example(at) for at in range(300)])
        client.learned(300)
        yield client


# -------------------------------------------------------------------------------------------------------- what it says


def test_no_probability_of_an_answer_is_above_one(monkeypatch):
    above = 1.0000000000000002
    clf = AdaBoostOLM(2).learn_one({"size": 0.0}, "ok").learn_one({"size": 1.0}, "fraud")
    monkeypatch.setattr(AdaBoostOLM, "predict_proba_one", lambda *_: {"ok": above, "fraud": 0.0})
    monkeypatch.setattr(AdaBoostOLM, "predict_proba", lambda *_: np.array([[0.0, above]]))
    assert follower.predict(clf, {"size": 1.0}).probabilities == {"ok": 1.0, "fraud": 0.0}
    (said,) = follower.predict_block(clf, [{"size": 1.0}])
    assert (said.label, said.probabilities) == ("ok", {"fraud": 0.0, "ok": 1.0})


def test_predictions_are_those_of_the_model(client):
    clf = AdaBoostOLM(3)
    for at in range(300):
        clf.learn_one(row(at), label(at))
    status, said = client.ask("/predict", {"row": row(7)})
    assert (status, said) == (200, {"label": clf.predict_one(row(7)), "probabilities": clf.predict_proba_one(row(7))})


def test_one_row_many_and_lines_say_the_same(client):
    asked = [{"row": row(at)} for at in range(400, 430)]
    one_by_one = [client.ask("/predict", each)[1] for each in asked]
    assert client.ask("/predict", asked) == (200, one_by_one)  # as a block
    lines = "".join(json.dumps(each) + "\n" for each in asked).encode()
    status, text = client.ask("/predict", lines, content_type="application/x-ndjson")
    assert (status, [json.loads(line) for line in text.splitlines()]) == (200, one_by_one)


def test_a_block_that_is_out_of_the_ordinary_says_the_same(client):
    odd = [{"row": row(at) | {"colour": at}} for at in range(10)]  # numbers in a nominal column
    assert client.ask("/predict", odd) == (200, [client.ask("/predict", each)[1] for each in odd])


def test_an_explanation_on_request(client):
    why = client.ask("/predict", {"row": row(3), "explain": True})[1]["explanation"]
    assert {"length", "colour", "width"} <= set(why["margins"])
    assert why["runner_up"] in ("fraud", "ok")


def test_an_event_is_predicted_now_and_learned_when_its_label_is_there(tmp_path):
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        assert client.ask("/events", {"row": row(1)})[1]["label"] is None  # nothing has been learned
        client.ask("/learn", [example(at) for at in range(20)])
        client.learned(20)
        status, event = client.ask("/events", {"row": row(20), "id": "order 20"})
        assert (status, event["id"], event["status"]) == (200, "order 20", "accepted")
        assert client.ask("/events", {"row": row(20), "id": "order 20"}) == (200, event | {"status": "repeated"})
        assert client.ask("/events", {"row": row(21), "id": "order 20"})[0] == 409
        late = {"id": "order 20", "label": "ok"}
        assert client.ask("/labels", late) == (200, {"status": "accepted", "place": 21, "id": "order 20"})
        assert client.ask("/labels", late) == (200, {"status": "repeated", "place": 21, "id": "order 20"})
        assert client.ask("/labels", late | {"label": "fraud"})[0] == 409
        assert client.ask("/labels", {"id": "nobody's", "label": "ok"})[0] == 404
        several = [{"id": "nobody's", "label": "ok"}, late]
        assert [each["status"] for each in client.ask("/labels", several)[1]] == ["unknown", "repeated"]
        client.learned(21)
        assert client.service.log.waiting == 1
        until = time.monotonic() + 30.0
        while client.service.answering.monitor.figures()["answered"]["rows"] != 1:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_what_is_sent_again_is_learned_once(client):
    before = client.service.log.last_place
    given = [example(1000), example(1000), {"row": row(1001), "label": "ok"}]
    for _ in range(2):
        status, receipts = client.ask("/learn", given, idempotency_key="request 7")
        assert status == 200
        assert {receipt["place"] for receipt in receipts} == {before + 1, before + 2}
    assert client.service.log.last_place == before + 2


# ----------------------------------------------------------------------------------------------------- what it refuses

BAD = {  # what is sent: (status, words of the error, row, column)
    "no JSON": ("/predict", b'[{"row":', 400, "not JSON", None, None),
    "no text": ("/predict", b"\xff\xfe", 400, "not JSON", None, None),
    "nothing": ("/predict", b"", 400, "not JSON", None, None),
    "no row": ("/predict", [{"row": row(1)}, {}], 422, "missing required field `row`", 1, None),
    "a row that is text": ("/predict", {"row": "red"}, 422, "Expected `object", None, None),
    "an unknown name": ("/predict", {"row": row(1), "lable": "ok"}, 422, "`lable`: GET /openapi.json", None, None),
    "text for a number": ("/predict", [{"row": row(1)}, {"row": {"length": "x"}}], 422, "'x' is not", 1, "length"),
    "a list for a value": ("/predict", {"row": {"length": [1]}}, 422, "[1] is not a number", None, "length"),
    "an object for a value": ("/learn", {"row": {"colour": {}}, "label": "ok"}, 422, "{}", None, "colour"),
    "a huge number": ("/learn", {"row": {"length": 10**400}, "label": "ok"}, 422, "infinity", None, "length"),
    "too few values": ("/predict", {"row": [1.0]}, 422, "expecting 3 features", None, None),
    "no label": ("/learn", {"row": row(1)}, 422, "missing required field `label`", None, None),
    "null for a label": ("/learn", {"row": row(1), "label": None}, 422, "label: ", None, None),
    "an empty label": ("/learn", {"row": row(1), "label": ""}, 422, "label: ", None, None),
    "a weight below 0": ("/learn", {"row": row(1), "label": "ok", "weight": -1}, 422, "weight: ", None, None),
    "text that is not UTF-8": ("/events", b'{"row": {"colour": "\xed\xa0\x80"}}', 400, "utf-8", None, None),
    "an empty id": ("/events", {"row": row(1), "id": ""}, 422, "id: ", None, None),
    "a label without an id": ("/labels", {"label": "ok"}, 422, "missing required field `id`", None, None),
}  # fmt: skip


@pytest.mark.parametrize("what", BAD)
def test_a_bad_request_is_told_what_is_wrong_and_where(client, what):
    path, given, status, words, at, column = BAD[what]
    before = client.service.log.last_place
    got, problem = client.ask(path, given)
    assert got == status, problem
    assert words in problem["error"]
    assert (problem.get("row"), problem.get("column")) == (at, column)
    assert client.service.log.last_place == before  # none of several


def test_values_nested_so_deeply_that_python_cannot_follow(client):
    for depth in (*range(700, 1000, 10), 100_000):
        for path in ("/predict", "/learn"):
            body = f'{{"row": {{"length": {"[" * depth}{"]" * depth}}}, "label": "ok"}}'.encode()
            assert client.ask(path, body if path == "/learn" else body.replace(b', "label": "ok"', b""))[0] in (
                400,
                422,
            )


def test_requests_that_are_not_for_it(client):
    assert client.ask("/nowhere", {})[0] == 404
    assert client.ask("/predict")[0] == 405
    assert client.ask("/health", {})[0] == 405
    assert client.ask("/predict", b" " * 1_000_001)[0] == 413
    assert client.ask("/predict", {"row": row(1)}, host="elsewhere.org")[0] == 403
    assert client.ask("/learn", example(1), origin="http://elsewhere.org")[0] == 403
    assert client.ask("/predict", {"row": row(1)}, origin="http://localhost:1")[0] == 200


def test_a_token_is_asked_for(client):
    asked = Client(client.service, token="secret", hosts=())
    assert asked.ask("/predict", {"row": row(1)})[0] == 401
    assert asked.ask("/predict", {"row": row(1)}, authorization="Bearer wrong")[0] == 401
    assert asked.ask("/predict", {"row": row(1)}, authorization="Bearer secret")[0] == 200
    assert asked.ask("/predict", {"row": row(1)}, cookie="onlineboost=secret")[0] == 200
    assert asked.ask("/?token=wrong")[0] == 401
    assert asked.ask("/?token=secret")[0] == 303
    assert b"HttpOnly" in asked.headers[b"set-cookie"]
    assert asked.ask("/health")[0] == 200  # for those that watch whether it lives


def test_others_are_let_in_with_a_token_alone(tmp_path):
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live"), "--host", "0.0.0.0"])
    assert done.exit_code == 2
    assert "give a --token" in done.output
    assert not (tmp_path / "live").exists()


def test_without_the_extra_it_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(command, "find_spec", lambda name: None if name == "uvicorn" else find_spec(name))
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live")])
    assert done.exit_code == 2
    assert "needs uvicorn: pip install 'onlineboost[serve]'" in done.output.replace("\n", " ")


def test_top_says_when_nothing_answers():
    done = CliRunner().invoke(main, ["top", "http://127.0.0.1:9"])
    assert done.exit_code == 2
    assert "no service answers there" in done.output


def test_a_model_that_is_too_far_behind_asks_to_wait(client, monkeypatch):
    monkeypatch.setattr("onlineboost.service.service.PATIENCE", 0.05)
    monkeypatch.setattr(client.service.options, "behind", -1)
    assert client.ask("/learn", example(5000))[0] == 429
    assert client.headers[b"retry-after"] == b"1"
    assert client.ask("/predict", {"row": row(1)})[0] == 200


def test_a_row_like_those_before_is_checked_while_the_model_learns(client):
    """Otherwise all requests would wait for the block that is learned: checks are done where requests are read."""
    clf, begun, ended = client.service.answering.clf, threading.Event(), threading.Event()

    def learn():
        with clf._lock().writing():
            begun.set()
            ended.wait(20.0)

    thread = threading.Thread(target=learn)
    thread.start()
    assert begun.wait(20.0)
    began = time.monotonic()
    check_row(clf, row(7), label(7))
    took = time.monotonic() - began
    ended.set()
    thread.join()
    assert took < 10.0


def test_events_come_together_before_they_are_learned_unless_few_may_wait(tmp_path, monkeypatch):
    monkeypatch.setattr(follower, "GATHER", 0.3)
    sizes = []
    monkeypatch.setattr(follower, "learn", lambda clf, events, keyed: sizes.append(len(events)) or [])
    for behind in (10_000, 100):
        sizes.clear()
        with serving(tmp_path / str(behind), HoeffdingTree(), behind=behind) as client:
            for at in range(30):
                client.ask("/learn", example(at))
                time.sleep(0.02)
            client.learned(30)
            assert sum(sizes) == 30
            assert (len(sizes) <= 6) == (behind == 10_000), sizes


@pytest.mark.parametrize(("block", "each"), [(65e-6, 230e-6), (1e-6, 30e-6), (300e-6, 800e-6), (3e-3, 3e-3)])
def test_blocks_stay_long_enough_to_pay_and_no_longer(tmp_path, monkeypatch, block, each):
    """Rows one by one take longer each: were blocks made shorter for that, they would be one by one for ever."""
    create(tmp_path, HoeffdingTree())
    events = [Learnable(at, b"", b"", 1.0, None) for at in range(256)]
    with Service(tmp_path, Options()) as service:
        one, sizes, clock = service.followers["main"], [], [0.0]

        def learn(clf, events, keyed):
            sizes.append(len(events))
            clock[0] += len(events) * each if len(events) < follower.LEAST_BLOCK else 6e-4 + len(events) * block
            return []

        monkeypatch.setattr(follower, "learn", learn)
        monkeypatch.setattr(time, "thread_time", lambda: clock[0])
        one.asked_at = float("inf")  # predictions are asked for all the time
        for at in range(2000):
            one._learn(events[: 5 if at % 10 == 0 else 256])
            if at == 1000:
                one._seconds = 0.1  # a table grew, say
        few, last = follower.LEAST_BLOCK, sizes[-200:]
        if block < 1e-3:
            assert min(size for size in last if size != 5) >= few
            assert max(last) * block < follower.LONGER
        else:
            assert max(last) < 5


def test_the_learner_waits_for_predictions_that_are_asked_for(tmp_path, monkeypatch):
    """Requests are read one after the other: each would wait for a block of its own."""
    create(tmp_path, HoeffdingTree())
    waited = []
    with Service(tmp_path, Options()) as service:
        one = service.followers["main"]
        monkeypatch.setattr(time, "sleep", waited.append)
        for rows in (3, 0, 1, 100):
            asyncio.run(service.predict([Ask(row(at)) for at in range(rows)]))
            one._let_predict()
            one._let_predict()
    assert waited == pytest.approx([3 * follower.TURN, follower.TURN, follower.LONGEST])


def test_a_folder_is_served_once(client, tmp_path):
    with pytest.raises(ValueError, match="is being served by another process"):
        Service(client.service.folder, Options())
    done = CliRunner().invoke(main, ["serve", str(client.service.folder), "--shadow", "hoeffding-tree"])
    assert "is being served by another process" in done.output.replace("\n", " ")
    assert not (client.service.folder / "hoeffding-tree").exists()
    (tmp_path / "mine.txt").touch()
    done = CliRunner().invoke(main, ["serve", str(tmp_path)])
    assert "is neither empty nor was it made by" in done.output.replace("\n", " ")
    done = CliRunner().invoke(main, ["serve", str(client.service.folder), "--learners", "5"])
    assert "has a model already" in done.output.replace("\n", " ")


def test_the_port_of_another_is_told(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        done = CliRunner().invoke(main, ["serve", str(tmp_path / "live"), "--port", port])
    assert done.exit_code == 2
    assert f"127.0.0.1:{port}: Address already in use. Name another --port" in " ".join(done.output.split())
    assert not (tmp_path / "live").exists()


def test_the_demonstration_sends_other_rows_after_a_restart(tmp_path):
    folder, seen = tmp_path / "live", []
    create(folder, AdaBoostOLM(2))

    async def serve():
        service = Service(folder, Options())
        service.start()
        learn = service.learn

        async def kept(examples):
            seen[-1] += [tuple(example.row.values()) for example in examples]
            return await learn(examples)

        service.learn = kept
        with suppress(asyncio.TimeoutError):
            await asyncio.wait_for(Demo().run(service), 0.5)
        service.stop()

    for _ in range(2):
        seen.append([])
        asyncio.run(serve())
    assert min(map(len, seen)) > 1
    assert not set(seen[0]) & set(seen[1])


# ------------------------------------------------------------------------------------------------------------- the log


@pytest.fixture
def log(tmp_path):
    log = Log(tmp_path / "events.db", most_waiting=5)
    yield log
    if log._thread.is_alive():
        log.close()


def waiting(at):
    return Entry(f"w{at}", b"{}", None)


def test_the_oldest_events_without_labels_are_dropped(log):
    log.call(log.add, [waiting(at) for at in range(8)])
    assert (log.waiting, log.dropped) == (5, 3)
    receipts = log.call(log.label, [(f"w{at}", b'"ok"', 1.0) for at in range(8)])
    assert [receipt.status for receipt in receipts] == ["unknown"] * 3 + ["accepted"] * 5
    assert [receipt.place for receipt in receipts[3:]] == [1, 2, 3, 4, 5]  # in the order of the labels
    assert log.waiting == 0


def test_what_is_old_is_forgotten_but_not_before_it_is_learned(log, tmp_path):
    log.call(log.add, [Entry(None, b"{}", b'"ok"') for _ in range(4)] + [waiting(0)])
    assert log.call(log.forget, time.time() - 60.0, 4) == 0  # nothing is so old
    assert log.call(log.forget, time.time() + 60.0, 3) == 4
    assert (log.waiting, log.dropped) == (0, 1)
    assert [event.place for event in follower.after(connect(log.path), 0)] == [4]
    assert log.call(log.forget, time.time() + 60.0, 4) == 1
    assert oldest(log.path) is None
    log.close()
    again = Log(log.path, 5)  # places go on where they were
    assert again.call(again.add, [Entry(None, b"{}", b'"ok"')])[0][0].place == 5
    again.close()


def test_a_full_disk_is_told_and_nothing_is_half(tmp_path):
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        log = client.service.log
        client.ask("/learn", [example(at) for at in range(50)])
        client.learned(50)
        log._db.execute(f"PRAGMA max_page_count = {log._one('PRAGMA page_count') + 2}")
        statuses = [
            client.ask("/learn", [example(at) for at in range(first, first + 20)])[0] for first in range(50, 950, 20)
        ]
        assert set(statuses) == {200, 507}
        assert client.ask("/health")[0] == 503
        assert "full" in client.ask("/health")[1]["problems"][0]
        assert client.ask("/predict", {"row": row(1)})[0] == 200
        log._db.execute("PRAGMA max_page_count = 1000000")
        assert client.ask("/learn", [example(at) for at in range(950)])[0] == 200  # the client sends all again
        client.learned(950)
        assert client.ask("/health")[0] == 200
        assert client.service.answering.clf.n_samples_seen_ == 950


# ------------------------------------------------------------------------------------------------- learned once, always


def test_after_a_start_the_model_is_that_of_a_replay(tmp_path, monkeypatch):
    monkeypatch.setattr(follower, "MOST_REPLAY", 0.0)  # a snapshot whenever there can be one
    for first in range(0, 600, 100):
        with serving(tmp_path / "live", AdaBoostOLM(3) if first == 0 else None) as client:
            for at in range(first, first + 100, 10):
                client.ask("/learn", [example(at) for at in range(at, at + 10)])
            client.learned(first + 100)
    replayed = Replay(tmp_path / "live", "main")
    figures = replayed.run(to_snapshot=True)
    assert figures["events"] == 600
    assert replayed.is_snapshot()
    straight = AdaBoostOLM(3)
    for at in range(600):
        straight.learn_one(row(at), label(at))
    straight.save(tmp_path / "straight.olb")
    replayed.clf.save(tmp_path / "replayed.olb")
    assert (tmp_path / "straight.olb").read_bytes() == (tmp_path / "replayed.olb").read_bytes()


def test_a_damaged_snapshot_is_learned_again_from_the_log(tmp_path, caplog):
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        client.ask("/learn", [example(at) for at in range(50)])
        client.learned(50)
    path = tmp_path / "live" / "main" / "model.olb"
    path.write_bytes(path.read_bytes()[:-20])
    with serving(tmp_path / "live") as client:
        client.learned(50)
        assert client.service.answering.clf.n_samples_seen_ == 50
    assert "learned again" in caplog.text
    assert load(path).n_samples_seen_ == 50


def test_a_log_that_is_older_than_the_models_is_not_served(tmp_path):
    """Its new events would have places that the models take for learned."""
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        client.ask("/learn", [example(at) for at in range(20)])
        client.learned(20)
    for path in (tmp_path / "live").glob("events.db*"):
        path.unlink()
    with pytest.raises(ValueError, match="has learned 20 events, and the log has 0"):
        Service(tmp_path / "live", Options())


def test_a_row_that_cannot_be_learned_is_a_dead_letter(tmp_path):
    """It looked good before the first row settled the columns."""
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        log = client.service.log
        rows = b'{"length": 1.0}', b'{"length": "long"}', b'{"length": 2.0}'
        log.call(log.add, [Entry(None, row, b'"ok"') for row in rows])
        client.learned(3)
        log.call(log.mark, "so that all before is written", 1)
        with closing(connect(log.path)) as db:
            ((what, body, reason),) = db.execute("SELECT what, body, reason FROM dead_letters").fetchall()
        assert (what, body) == ("main: place 2", rows[1])
        assert "'long' is not a number" in reason
        assert client.service.answering.clf.n_samples_seen_ == 2
    figures = Replay(tmp_path / "live", "main").run()
    assert (figures["events"], figures["refused"]) == (2, 1)


def test_events_are_forgotten_and_a_replay_begins_after_them(tmp_path):
    with serving(tmp_path / "live", HoeffdingTree(), keep=1e-9) as client:
        client.ask("/learn", [example(at) for at in range(100)])
        client.learned(100)
        client.service.forget()  # asks for a snapshot to begin with
        until = time.monotonic() + 30.0
        while client.service.answering.begun < 100:
            assert time.monotonic() < until
            time.sleep(0.01)
        client.service.forget()
        assert oldest(client.service.log.path) is None
        client.service.options.keep = 90.0
        client.ask("/learn", [example(at) for at in range(100, 130)])
        client.learned(130)
    replayed = Replay(tmp_path / "live", "main")
    assert replayed.run(to_snapshot=True)["events"] == 30
    assert replayed.is_snapshot()


def test_replay_tells_how_another_model_would_have_done(client):
    folder = str(client.service.folder)
    done = CliRunner().invoke(main, ["replay", folder, "--model", "hoeffding-tree", "--json"])
    assert done.exit_code == 0, done.output
    figures = json.loads(done.output)
    assert figures["events"] >= 300
    assert 0.6 < figures["accuracy"] <= 1.0
    done = CliRunner().invoke(main, ["replay", folder, "--check", "--model", "hoeffding-tree"])
    assert done.exit_code == 2


# --------------------------------------------------------------------------------------- to look at, and for programs


def test_prometheus_can_read_the_metrics(client):
    status, text = client.ask("/metrics")
    assert status == 200
    metrics = {}
    for line in text.decode().splitlines():
        if not line.startswith("#"):
            name, value = re.fullmatch(r'(onlineboost_\w+(?:\{\w+="[^"]*"(?:,\w+="[^"]*")*\})?) (\S+)', line).groups()
            assert name not in metrics
            metrics[name] = float(value)
    assert metrics["onlineboost_up"] == 1.0
    assert metrics["onlineboost_events_total"] == client.service.log.last_place
    assert metrics['onlineboost_learned_events{model="main"}'] >= 300
    count = metrics['onlineboost_request_seconds_count{path="/learn"}']
    assert metrics['onlineboost_request_seconds_bucket{path="/learn",le="+Inf"}'] == count > 0


def test_the_openapi_page_names_all_there_is(client):
    page = client.ask("/openapi.json")[1]
    there = client.app.many.keys() | client.app.gets.keys() | client.app.posts.keys() | {"/live"}
    told = {path for path in page["paths"] if not path.startswith("/v2")}
    assert told == there - {"/page.js"}
    for path in page["paths"].keys() - told:
        found = {method for method in ("GET", "POST") if client.ask(path.format(model="main"), method=method)[0] != 405}
        assert {method.lower() for method in found} >= page["paths"][path].keys() - {"parameters"}, path
    named = set(re.findall(r'"#/components/schemas/(\w+)"', json.dumps(page)))
    assert named == page["components"]["schemas"].keys()
    assert page["components"]["schemas"]["Example"]["required"] == ["row", "label"]


def test_the_page_asks_no_other_host(client):
    status, page = client.ask("/")
    script = client.ask("/page.js")[1]
    assert status == 200
    assert b"default-src 'none'" in client.headers[b"content-security-policy"]
    assert not re.findall(rb"https?://(?!www\.w3\.org/)", page + script)
    ids = set(re.findall(rb'id="([\w-]+)"', page))
    assert set(re.findall(rb'(?:put|\$)\("([\w-]+)"', script)) <= ids


def test_clients_of_the_open_inference_protocol_are_answered(client):
    rows = [row(at) for at in range(3)]
    said = client.ask("/predict", [{"row": each} for each in rows])[1]
    kinds = {"length": "FP64", "colour": "BYTES", "width": "FP64"}
    inputs = [
        {"name": name, "shape": [3, 1], "datatype": kind, "data": [[each[name]] for each in rows]}
        for name, kind in kinds.items()
    ]
    status, answer = client.ask("/v2/models/main/infer", {"id": "7", "inputs": inputs})
    assert (status, answer["id"], answer["model_name"]) == (200, "7", "main")
    outputs = {output["name"]: output for output in answer["outputs"]}
    assert outputs["label"]["data"] == [each["label"] for each in said]
    assert outputs["classes"]["data"] == ["fraud", "ok"]
    assert outputs["probabilities"]["shape"] == [3, 2]
    assert outputs["probabilities"]["data"] == [p for each in said for p in each["probabilities"].values()]
    about = client.ask("/v2/models/main")[1]
    assert {each["name"]: each["datatype"] for each in about["inputs"]} == kinds
    for path in ("/v2", "/v2/health/live", "/v2/health/ready", "/v2/models/main/ready", "/v2/models/main/versions/1"):
        assert client.ask(path)[0] == 200, path
    assert client.ask("/v2/models/nobody/ready")[0] == 404
    assert client.ask("/v2/models/main/infer")[0] == 405
    assert client.ask("/v2/models/main/infer", {"inputs": []})[0] == 400
    short = [{"name": "length", "shape": [3], "datatype": "FP64", "data": [1.0]}]
    status, problem = client.ask("/v2/models/main/infer", {"inputs": short})
    assert status == 400
    assert "1 values, and its shape is [3]" in problem["error"]


def test_the_stream_for_the_page_is_for_get_alone(client):
    """It has no end: who asks for the head of it would wait for ever."""
    for method in ("HEAD", "POST", "OPTIONS"):
        assert client.ask("/live", method=method)[0] == 405


def test_binary_tensors_say_the_same(client):
    """As clients of Triton send them: numbers as they are, texts after their lengths, behind the JSON."""
    lengths = np.array([1.5, 2.5]).tobytes()
    words = b"".join(len(word).to_bytes(4, "little") + word for word in (b"red", b"blue"))
    inputs = [
        {"name": "length", "shape": [2], "datatype": "FP64", "parameters": {"binary_data_size": len(lengths)}},
        {"name": "colour", "shape": [2], "datatype": "BYTES", "parameters": {"binary_data_size": len(words)}},
    ]
    head = json.dumps({"inputs": inputs}).encode()
    length = str(len(head))
    status, answer = client.ask("/v2/models/main/infer", head + lengths + words, inference_header_content_length=length)
    said = client.ask("/predict", [{"row": {"length": x, "colour": y}} for x, y in ((1.5, "red"), (2.5, "blue"))])[1]
    assert (status, answer["outputs"][0]["data"]) == (200, [each["label"] for each in said])
    status, _ = client.ask("/v2/models/main/infer", head + lengths, inference_header_content_length=length)
    assert status == 400


def test_challengers_learn_the_same_and_one_call_lets_one_answer(tmp_path):
    folder = tmp_path / "live"
    with serving(folder, AdaBoostOLM(3)) as client:
        client.ask("/learn", [example(at) for at in range(400)])
        client.learned(400)
    create(folder, HoeffdingTree(), "challenger")  # it learns what is in the log, too
    with serving(folder) as client:
        assert client.ask("/promote", {"model": "nobody"})[0] == 404
        assert client.ask("/promote", {})[0] == 422
        until = time.monotonic() + 60.0
        while client.service.followers["challenger"].behind:
            assert time.monotonic() < until
        client.service.followers["challenger"].monitor.count(400)
        better = client.ask("/model")[1]["better"]["challenger"]
        assert better["events"] == 400
        assert better["low"] <= better["more"] <= better["high"]
        assert client.ask("/promote", {"model": "challenger"}) == (200, {"answering": "challenger"})
        alone = HoeffdingTree()
        for at in range(400):
            alone.learn_one(row(at), label(at))
        said = {"label": alone.predict_one(row(7)), "probabilities": alone.predict_proba_one(row(7))}
        assert client.ask("/predict", {"row": row(7)}) == (200, said)
    with serving(folder) as client:  # it still does
        assert client.service.answering.name == "challenger"
    for name in ("main", "challenger"):
        replayed = Replay(folder, name)
        replayed.run(to_snapshot=True)
        assert replayed.is_snapshot()
    shutil.rmtree(folder / "main")  # to end it
    asked = ["serve", str(folder), "--model", "adaboost-olm"]
    assert "has a model already, which is HoeffdingTree" in " ".join(CliRunner().invoke(main, asked).output.split())
    asked = ["serve", str(folder), "--start-from", str(folder / "challenger" / "begin.olb")]
    assert "and --start-from out" in " ".join(CliRunner().invoke(main, asked).output.split())
    with serving(folder) as client:
        assert client.ask("/predict", {"row": row(7)}) == (200, said)
    (folder / "challenger").rename(folder / "another")
    with pytest.raises(ValueError, match=r"'challenger' is to answer, and there is no such model.* which are another"):
        Service(folder, Options())


def test_a_file_that_is_no_log_is_told(tmp_path):
    create(tmp_path, HoeffdingTree())
    (tmp_path / "events.db").write_text("these are not events, and nothing else that SQLite can read")
    with pytest.raises(ValueError, match="cannot be opened as a log: file is not a database"):
        Service(tmp_path, Options())


def lines_of(rows):
    return "".join(f"{x['length']},{x['colour']},{x['width'] or ''},{y}\n" for x, y in rows)


async def read_until(read, client, place):
    """Read a source until the log is at this place, then end it."""
    task = asyncio.create_task(read.run(client.service))
    until = time.monotonic() + 30.0
    while client.service.log.last_place < place:
        assert time.monotonic() < until
        assert not task.done(), task.result()
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.3)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


def test_a_topic_of_kafka_is_read_once(tmp_path):
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    read = f"kafka://{broker.host}:{broker.port}/events"

    def produce(first, last):
        for at in range(first, last):
            producer.produce("events", json.dumps(example(at) | {"id": None}).encode(), key=str(at))
        producer.flush(10)

    produce(0, 40)
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        asyncio.run(read_until(source(read, ""), client, 40))
        producer.produce("events", b"no JSON")
        produce(40, 50)
    with serving(tmp_path / "live") as client:  # it goes on where it was
        asyncio.run(read_until(source(read, ""), client, 50))
        assert (client.service.log.last_place, client.service.log.dead) == (50, 1)
        with pytest.raises(ValueError, match="no topic 'others'"):
            asyncio.run(source(read.replace("events", "others"), "").run(client.service))


@pytest.fixture
def nats_server(tmp_path):
    """The address of a server with JetStream."""
    pytest.importorskip("nats")
    program = shutil.which("nats-server", path=os.path.dirname(sys.executable)) or shutil.which("nats-server")
    if program is None:
        pytest.skip("there is no nats-server here")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [program, "-js", "-sd", str(tmp_path / "jetstream"), "-a", "127.0.0.1", "-p", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    yield f"nats://127.0.0.1:{port}"
    process.terminate()
    process.wait()


def test_a_stream_of_nats_is_read_once(tmp_path, nats_server):
    import nats

    async def publish(first, last):
        connection = await nats.connect(nats_server, max_reconnect_attempts=100, reconnect_time_wait=0.1)
        stream = connection.jetstream()
        await stream.add_stream(name="live", subjects=["events"])
        for at in range(first, last):
            await stream.publish("events", json.dumps(example(at) | {"id": None}).encode())
        await connection.close()

    for first, last in ((0, 40), (40, 50)):
        asyncio.run(publish(first, last))
        with serving(tmp_path / "live", HoeffdingTree() if first == 0 else None) as client:
            asyncio.run(read_until(source(nats_server + "/events", ""), client, last))
            assert client.service.log.last_place == last


def test_a_file_that_grows_is_read_once(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text("length,colour,width,label\n" + lines_of([(row(at), label(at)) for at in range(30)]))

    def read(client, place):
        asyncio.run(read_until(GrowingFile(path, "label"), client, place))

    with serving(tmp_path / "live", HoeffdingTree()) as client:
        read(client, 30)
        with path.open("a") as file:  # a row that is cut off, one that is half there, one without a label
            file.write(f"1.0,red\n{lines_of([(row(30), label(30)), (row(31), '')])}1.0,re")
        read(client, 31)
    with serving(tmp_path / "live") as client, path.open("a") as file:
        file.write("d,2.0,ok\n")
        file.flush()
        read(client, 32)
        log = client.service.log
        assert (log.last_place, log.waiting, log.dead) == (32, 1, 1)
        with closing(connect(log.path)) as db:
            assert "2 fields, and the header has 4" in db.execute("SELECT reason FROM dead_letters").fetchone()[0]
        path.write_text("length,colour,width,label\n")
        with pytest.raises(ValueError, match="is shorter than what was read"):
            asyncio.run(GrowingFile(path, "label").run(client.service))
    with pytest.raises(ValueError, match="no column is named 'lable'"):
        source(str(path), "lable")
    with pytest.raises(ValueError, match="is not a source"):
        source("events.xlsx", "label")
    path.write_text("length,length,label\n")
    with pytest.raises(ValueError, match="two columns have the same name"):
        source(str(path), "label")


def test_a_file_with_a_byte_order_mark_and_a_value_of_two_lines(tmp_path):
    path = tmp_path / "events.csv"
    path.write_text('\ufefflabel,length,colour\nok,1.0,red\nok,2.0,"bl\nue"\nok,3.0,red\n', encoding="utf-8")
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        asyncio.run(read_until(GrowingFile(path, "label"), client, 2))
        assert (client.service.log.last_place, client.service.log.dead) == (2, 2)


# ------------------------------------------------------------------------------------------------- a process of its own


class Process:
    """The command, on a port that is free."""

    def __init__(self, folder, *options, **more):
        self.command = [
            sys.executable,
            "-W",
            "error",
            "-m",
            "onlineboost",
            "serve",
            str(folder),
            "--port",
            "0",
            *options,
        ]
        self.more, self.host = more, "127.0.0.1"
        if "--host" in options:
            self.host = options[options.index("--host") + 1]
        self.start()

    def start(self):
        self.process = subprocess.Popen(
            self.command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **self.more
        )
        to = self.process.stderr if "-" in self.command else self.process.stdout  # stdout is for predictions
        line = to.readline()
        assert line.startswith("Serving"), self.process.stderr.read()
        self.port = int(line.split(":")[-1].split("/")[0])

    def ask(self, path, given, timeout=20.0):
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=timeout)) as connection:
            connection.request("POST" if given is not None else "GET", path, given and json.dumps(given))
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def end(self, signal_=signal.SIGTERM):
        self.process.send_signal(signal_)
        _, told = self.process.communicate(timeout=60)
        return told


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_kill_9_under_load_loses_nothing_and_learns_nothing_twice(tmp_path):
    """Clients send each event until it is acknowledged; the process is killed while they do."""
    folder, draw = tmp_path / "live", random.Random(0)
    host = f"127.0.0.{2 + os.getpid() % 200}" if sys.platform == "linux" else "127.0.0.1"  # nobody else gets its port
    served = Process(folder, "--model", "adaboost-olm", "--learners", "3", "--host", host)
    todo, acknowledged, turn, given_up = iter(range(600)), [], threading.Lock(), threading.Event()

    def send():
        while True:
            with turn:
                at = next(todo, None)
            if at is None or given_up.is_set():
                return
            requests = [("/learn", example(at))]
            if at % 3 == 0:  # a label that comes later
                requests = [
                    ("/events", {"row": row(at), "id": f"e{at}"}),
                    ("/labels", {"id": f"e{at}", "label": label(at)}),
                ]
            for path, given in requests:
                while not given_up.is_set():
                    try:
                        status, answer = served.ask(path, given)
                    except (OSError, http.client.HTTPException):
                        time.sleep(0.05)
                        continue
                    assert status == 200, answer
                    break
            acknowledged.append(at)

    clients = [threading.Thread(target=send) for _ in range(8)]
    for each in clients:
        each.start()
    try:
        for _ in range(2):
            time.sleep(draw.uniform(0.1, 0.6))
            served.end(signal.SIGKILL)
            served.start()
        for each in clients:
            each.join()
    finally:
        given_up.set()
    assert served.end() == ""
    assert sorted(acknowledged) == list(range(600))
    with closing(sqlite3.connect(folder / "events.db")) as db:
        found = db.execute("SELECT id, row, label, place FROM events ORDER BY place").fetchall()
    assert {id for id, *_ in found} == {f"e{at}" for at in range(600)}
    assert [place for *_, place in found] == list(range(1, 601))
    for id, own, said, _ in found:
        assert (json.loads(own), json.loads(said)) == (row(int(id[1:])), label(int(id[1:])))
    assert load(folder / "main" / "model.olb").n_samples_seen_ == 600
    replayed = Replay(folder, "main")
    replayed.run(to_snapshot=True)
    assert replayed.is_snapshot()


@pytest.mark.skipif(sys.platform != "linux", reason="limits of a process")
def test_a_disk_that_is_full_in_earnest(tmp_path):
    """No file of the process may become larger: it says so, goes on predicting, and loses nothing."""
    import resource

    limit, options = 300_000, ("--model", "hoeffding-tree")
    env = {**os.environ, "ONLINEBOOST_OFFLINE": "1"}
    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)), "env": env}
    served = Process(tmp_path / "live", *options, **few)
    accepted = []
    for first in range(0, 8000, 100):
        status, answer = served.ask("/learn", [example(at) for at in range(first, first + 100)])
        if status != 200:
            break
        accepted.append(first + 100)
    assert status == 507, answer
    assert served.ask("/predict", {"row": row(1)})[0] == 200
    assert served.ask("/health", None)[0] == 503
    served.end(signal.SIGKILL)
    served = Process(tmp_path / "live", env=env)
    assert served.ask("/learn", [example(at) for at in range(accepted[-1] + 100)])[0] == 200
    served.end()
    assert load(tmp_path / "live" / "main" / "model.olb").n_samples_seen_ == accepted[-1] + 100


@pytest.mark.skipif(sys.platform == "win32", reason="no such signals")
def test_lines_of_a_pipe_and_a_page_that_is_open(tmp_path):
    """Predictions of events without labels go to stdout; the page is told every second; both end without a word."""
    served = Process(tmp_path / "live", "--model", "hoeffding-tree", "--source", "-", stdin=subprocess.PIPE)
    lines = [json.dumps(example(at)) for at in range(40)] + ["no JSON", json.dumps({"row": row(40), "id": "later"})]
    served.process.stdin.write("\n".join(lines) + "\n")
    served.process.stdin.flush()
    said = json.loads(served.process.stdout.readline())
    assert said["id"] == "later"
    with closing(http.client.HTTPConnection("127.0.0.1", served.port, timeout=20)) as connection:
        connection.request("GET", "/live")
        answer = connection.getresponse()
        assert answer.headers["content-type"] == "text/event-stream"
        told = json.loads(answer.readline().removeprefix(b"data: "))
        assert (told["log"]["place"], told["log"]["waiting"], told["log"]["dead"]) == (40, 1, 1)
        done = CliRunner().invoke(main, ["top", f"http://127.0.0.1:{served.port}", "--once"])
        assert "1 events wait for labels" in done.output
        assert served.end() == ""


@pytest.mark.skipif(sys.platform != "linux", reason="it reads /proc")
@pytest.mark.slow
def test_labels_that_come_200_000_events_late(tmp_path):
    """Memory and open files stay as they are, and a label finds its event as quickly as at the beginning."""
    late, events, block = 200_000, 400_000, 1000
    page = os.sysconf("SC_PAGE_SIZE")
    seen = []
    with serving(tmp_path / "live", HoeffdingTree(memory_limit="1MB")) as client:
        log = client.service.log
        client.ask("/learn", [example(at) | {"id": f"first {at}"} for at in range(200)])
        for first in range(0, events, block):
            said = json.dumps([None, {}]).encode()
            rows = [json.dumps(row(at)).encode() for at in range(first, first + block)]
            log.call(log.add, [Entry(f"e{first + i}", x, None, 1.0, said) for i, x in enumerate(rows)])
            if first >= late:
                began = time.process_time()
                ids = range(first - late, first - late + block)
                receipts = log.call(log.label, [(f"e{at}", json.dumps(label(at)).encode(), 1.0) for at in ids])
                seconds = (time.process_time() - began) / block
                assert {receipt.status for receipt in receipts} == {"accepted"}
                client.learned(receipts[-1].place)
                with open("/proc/self/statm") as file:
                    memory = int(file.read().split()[1]) * page
                seen.append((memory, len(os.listdir("/proc/self/fd")), seconds))
        assert log.waiting == late
    memory, files, seconds = np.array(seen).T
    assert memory[-50:].mean() < 1.05 * memory[10:60].mean()
    assert files[-50:].max() <= files[:50].max()
    assert np.median(seconds[-50:]) < 2.0 * np.median(seconds[:50]) + 2e-5
    print(memory[[10, -1]] / 1e6, files[[10, -1]], 1e6 * np.median(seconds))


@pytest.mark.slow
def test_the_page_in_a_browser(tmp_path):
    """While a stream runs, narrow and wide, light and dark, by keyboard alone: no error, nothing beyond the edge."""
    browsers = pytest.importorskip("playwright.sync_api")
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no Chromium here")
    options = "--model", "adaboost-olm", "--learners", "3", "--demo", "--shadow", "hoeffding-tree"
    served = Process(tmp_path / "live", *options)
    with browsers.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        for width, scheme in ((1280, "light"), (390, "dark")):
            page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
            said = []
            page.on("pageerror", lambda error, said=said: said.append(str(error)))
            page.on("console", lambda message, said=said: said.append(message.text))
            page.on("request", lambda asked, said=said: "127.0.0.1" in asked.url or said.append(asked.url))
            page.goto(f"http://127.0.0.1:{served.port}/")
            page.wait_for_selector("#state.ok")
            page.locator('[data-key^="why"]').first.focus()
            page.keyboard.press("Enter")
            page.wait_for_selector("#why table")
            page.wait_for_selector("#accuracy svg path")
            assert page.evaluate("document.documentElement.scrollWidth") == width
            assert not [line for line in said if line]
        page.locator('[data-key^="promote"]').first.focus()
        page.keyboard.press("Enter")
        page.wait_for_selector("#kind:has-text('hoeffding-tree:')")
        browser.close()
    assert served.end() == ""
