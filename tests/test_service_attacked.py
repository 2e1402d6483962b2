"""The live service when clients, brokers, disks, clocks and people do what they should not."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import threading
import time
import urllib.request
from contextlib import closing, suppress

import pytest
from click.testing import CliRunner

pytest.importorskip("fcntl")  # not on Windows
pytest.importorskip("msgspec")
pytest.importorskip("uvicorn")

from onlineboost import HoeffdingTree
from onlineboost.cli.main import main
from onlineboost.service import follower, server, sources
from onlineboost.service import monitor as monitors
from onlineboost.service.access import LOCAL, Access
from onlineboost.service.brokers import source
from onlineboost.service.http import Application
from onlineboost.service.log import CannotWrite, Entry, Log, connect
from onlineboost.service.messages import Read
from onlineboost.service.service import Options, Service, create
from test_service import Client, Process, example, label, row, serving

pytestmark = pytest.mark.compiled


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """A service that has learned 50 events."""
    with serving(tmp_path_factory.mktemp("live") / "folder", HoeffdingTree()) as client:
        client.ask("/learn", [example(at) for at in range(50)])
        client.learned(50)
        yield client


# ------------------------------------------------------------------------------------------------------------ requests


def test_a_host_that_is_no_host(client):
    for host in ("[", "[::1", "]:80", "a b", ":", "\x00"):
        assert client.ask("/predict", {"row": row(1)}, host=host)[0] == 403


def test_lengths_and_shapes_beyond_all_measure(client):
    url, long = "/v2/models/main/infer", "9" * 5000
    assert client.ask(url, b"{}", inference_header_content_length=long)[0] in (400, 422)
    tensor = {"name": "length", "shape": [2**62] * 20_000, "datatype": "FP64", "data": [1.0]}
    assert client.ask(url, {"inputs": [tensor]})[0] == 422


def test_lines_of_which_a_part_came_are_not_taken(client):
    """The connection ends between two lines: what is there could be read, but the client has not sent all."""
    before = client.service.log.last_place
    line = json.dumps({"row": row(1), "label": "ok"}).encode() + b"\n"
    messages = [{"type": "http.request", "body": line, "more_body": True}, {"type": "http.disconnect"}]
    sent = []

    async def ask():
        async def receive():
            return messages.pop(0)

        async def send(message):
            sent.append(message)

        headers = [(b"host", b"localhost"), (b"content-type", b"application/x-ndjson"), (b"content-length", b"999")]
        scope = {"type": "http", "method": "POST", "path": "/learn", "query_string": b"", "headers": headers}
        await client.app(scope, receive, send)

    asyncio.run(ask())
    assert sent[0]["status"] == 400
    assert client.service.log.last_place == before


def test_a_key_that_is_too_long_is_refused(client):
    """Cut off, it would be that of another request."""
    given = {"row": row(1), "label": "ok"}
    assert client.ask("/learn", given, idempotency_key="k" * 181)[0] == 400
    assert client.ask("/learn", given, idempotency_key="k" * 180)[0] == 200


def test_a_body_that_is_compressed_is_refused(client):
    assert client.ask("/predict", {"row": row(1)}, content_encoding="gzip")[0] == 415
    assert client.ask("/predict", {"row": row(1)}, content_encoding="identity")[0] == 200


def test_more_requests_than_an_address_may_send(client):
    app = Application(client.service, Access(None, LOCAL, 5.0), 1000)
    limited = Client(client.service)
    limited.app = app
    statuses = [limited.ask("/predict", {"row": row(1)})[0] for _ in range(8)]
    assert statuses[:5] == [200] * 5
    assert statuses[-1] == 429
    assert limited.headers[b"retry-after"] == b"1"
    time.sleep(0.25)
    assert limited.ask("/predict", {"row": row(1)})[0] == 200


def test_many_events_in_a_request_leave_the_others_room(client):
    """They are predicted beside, so that other requests are answered meanwhile."""
    threads = set()
    predict = client.service._predict

    def kept(*args):
        threads.add(threading.current_thread())
        return predict(*args)

    client.service._predict = kept
    said = client.ask("/events", [{"row": row(at)} for at in range(60)])[1]
    del client.service._predict
    assert threading.current_thread() not in threads
    assert [each["label"] for each in said] == [
        each["label"] for each in client.ask("/predict", [{"row": row(at)} for at in range(60)])[1]
    ]


def test_an_example_under_the_id_of_an_event_is_its_label(client):
    event = {"row": row(7), "id": "twice"}
    assert client.ask("/events", event)[0] == 200
    got, receipt = client.ask("/learn", event | {"label": "ok"})
    assert (got, receipt["status"]) == (200, "accepted")
    assert client.ask("/learn", event | {"label": "ok"})[1] == receipt | {"status": "repeated"}
    assert client.ask("/learn", event | {"label": "fraud"})[0] == 409


# ------------------------------------------------------------------------------------------------------------- sources


def read(*lines):
    return [Read(f"line {at}", json.dumps(line).encode()) for at, line in enumerate(lines)]


def test_a_source_brings_events_and_later_their_labels(tmp_path):
    lines = read(
        {"row": row(1), "id": "a"},
        {"id": "a", "label": "ok"},
        {"id": "a", "label": "fraud"},  # a conflict
        {"id": "nobody's", "label": "ok"},
        {"label": "ok"},
    )
    told = []

    async def tell(said):
        told.extend(each.id for each in said)

    with serving(tmp_path / "live", HoeffdingTree()) as client:
        asyncio.run(client.service.take(lines, "a source", 5, tell))
        client.learned(1)
        with closing(connect(client.service.log.path)) as db:
            letters = dict(db.execute("SELECT what, reason FROM dead_letters").fetchall())
        assert client.service.log.number("a source") == 5
    assert told == ["a"]
    assert letters.keys() == {"line 2", "line 3", "line 4"}
    assert letters["line 3"] == "no event has this id"


def test_what_a_source_has_waits_for_room_on_the_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "NO_ROOM", 0.01)
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        write, failed = client.service.log.write, []

        async def full(*args):
            if len(failed) < 3:
                failed.append(1)
                raise CannotWrite("disk full")
            return await write(*args)

        client.service.log.write = full
        asyncio.run(sources.take(client.service, read(example(1)), "a source", 1))
        assert (len(failed), client.service.log.last_place) == (3, 1)


def test_a_source_that_cannot_be_read_is_tried_again(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "AGAIN", 0.05)

    class Broker:
        name, tried = "a broker", 0

        async def run(self, service):
            self.tried += 1
            if self.tried < 3:
                raise OSError("nobody answers")
            await asyncio.sleep(60.0)

    async def serve(client):
        broker, made = Broker(), object.__new__(server.Server)
        made.app = client.app
        task = asyncio.create_task(made._read(broker))
        await asyncio.sleep(0.02)
        assert "a broker cannot be read: nobody answers" in client.service.problems()
        until = time.monotonic() + 20.0
        while client.service.problems():
            assert time.monotonic() < until
            await asyncio.sleep(0.01)
        task.cancel()
        return broker.tried

    with serving(tmp_path / "live", HoeffdingTree()) as client:
        assert asyncio.run(serve(client)) == 3


def test_predictions_of_a_topic_go_to_another(tmp_path):
    kafka = pytest.importorskip("confluent_kafka")
    producer = kafka.Producer({"test.mock.num.brokers": 1})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    servers = f"{broker.host}:{broker.port}"
    for at in range(30):
        producer.produce("events", json.dumps({"row": row(at), "id": f"e{at}"}).encode())
    producer.flush(10)

    async def until_waiting(client):
        task = asyncio.create_task(source(f"kafka://{servers}/events?to=said", "").run(client.service))
        until = time.monotonic() + 30.0
        while client.service.log.waiting < 30:
            assert time.monotonic() < until
            assert not task.done(), task.result()
            await asyncio.sleep(0.01)
        task.cancel()

    with serving(tmp_path / "live", HoeffdingTree()) as client:
        asyncio.run(until_waiting(client))
    consumer = kafka.Consumer({"bootstrap.servers": servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe(["said"])
    found, until = {}, time.monotonic() + 30.0
    while len(found) < 30:
        assert time.monotonic() < until
        for message in consumer.consume(30, 0.5):
            if message.error() is None:
                found[message.key().decode()] = json.loads(message.value())
    consumer.close()
    assert found.keys() == {f"e{at}" for at in range(30)}
    assert found["e7"]["id"] == "e7"
    with pytest.raises(ValueError, match="only be to=TOPIC"):
        source(f"kafka://{servers}/events?too=said", "")


# --------------------------------------------------------------------------------------------- disks, clocks, and files


def test_a_log_that_cannot_be_read_for_a_while_is_read_later(tmp_path, monkeypatch):
    failed = threading.Event()
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        read_next = client.service.log.next

        def sometimes(db, place):
            if not failed.is_set():
                raise sqlite3.OperationalError("unable to open database file")
            return read_next(db, place)

        monkeypatch.setattr(client.service.log, "next", sometimes)
        client.ask("/learn", [example(at) for at in range(10)])
        until = time.monotonic() + 20.0
        while not client.service.problems():
            assert time.monotonic() < until
            time.sleep(0.01)
        assert "main cannot read the log: unable to open" in client.service.problems()[0]
        failed.set()
        until = time.monotonic() + 20.0
        while client.service.problems() or client.service.answering.place < 10:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_nothing_is_asked_of_the_log_while_the_disk_takes_its_time(tmp_path):
    """A follower that asked again and again meanwhile would cost more than what it learns."""
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        log, asked = client.service.log, []
        read_next = log.next
        log.next = lambda db, place: asked.append(place) or read_next(db, place)

        def slowly():
            log.add([Entry(None, b'{"length": 1.0}', b'"ok"')])
            time.sleep(0.3)

        log.call(log.add, [Entry(None, b'{"length": 1.0}', b'"ok"')])
        log.call(slowly)  # the follower is awake, since it has learned the first
        client.learned(2)
    assert len(asked) <= 4


def test_what_is_learned_from_memory_is_what_is_in_the_file(tmp_path, monkeypatch):
    """Small and large rows, events whose labels come later, transactions that fail, few of them in memory."""
    monkeypatch.setattr("onlineboost.service.log.TAIL", 20)
    log = Log(tmp_path / "events.db", 100)
    db = connect(log.path)
    for at in range(120):
        body = b'"' + b"x" * (20_000 if at % 17 == 0 else at) + b'"'
        if at % 3:
            log.call(log.add, [Entry(f"e{at}", body, b'"ok"', 1.0 + at)])
        else:
            log.call(log.add, [Entry(f"e{at}", body, None, 1.0, b"said")])
            log.call(log.label, [(f"e{max(0, at - 9)}", b'"late"', 2.0)])
        if at % 13 == 0:
            with pytest.raises(CannotWrite):
                log.call(lambda at=at: (log.add([Entry(f"f{at}", b"{}", b"1")]), log._db.execute("no SQL")))
        for place in range(max(0, log.last_place - 25), log.last_place):
            found = log.next(db, place)
            assert [e._replace(said=e.said) for e in found] == follower.after(db, place, len(found))
            assert found
    db.close()
    log.close()


def test_dead_letters_are_forgotten_as_events_are(tmp_path):
    log = Log(tmp_path / "events.db", 5)
    log.call(log.bury, "a line", b"no JSON", "it is not JSON")
    assert log.call(log.forget, time.time() - 60.0, 0) == 0
    assert log.call(log.forget, time.time() + 60.0, 0) == 1
    assert log.dead == 0
    with pytest.raises(CannotWrite):  # what was counted in a transaction that failed
        log.call(lambda: (log.bury("another", b"", ""), log._db.execute("no SQL")))
    assert log.dead == 0
    log.close()


def test_a_clock_that_jumps_back_does_not_stop_the_curve(monkeypatch):
    watched, now = monitors.Monitor(), [1e9]
    monkeypatch.setattr(monitors.time, "time", lambda: now[0])
    for place in range(1, 6):
        now[0] = 1e9 + 10.0 * place if place < 3 else 5e8 + 10.0 * place
        watched.add(follower.Learnable(place, b"{}", b'"ok"', 1.0, None), "ok", {"ok": 1.0})
        watched.count(place)
    assert [point[1] for point in watched.curve] == [1, 2, 3, 4, 5]


def test_a_model_of_someone_else_in_the_folder(tmp_path):
    with serving(tmp_path / "live", HoeffdingTree()) as client:
        client.ask("/learn", [example(at) for at in range(20)])
        client.learned(20)
    other = HoeffdingTree()
    other.learn_one(row(1), "ok")
    other.save(tmp_path / "live" / "main" / "model.olb")
    with serving(tmp_path / "live") as client:  # learned again from the log
        client.learned(20)
        assert client.service.answering.clf.n_samples_seen_ == 20
    other.save(tmp_path / "live" / "main" / "begin.olb")
    other.save(tmp_path / "live" / "main" / "model.olb")
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live")])
    assert done.exit_code == 2
    assert "was not written by the service" in " ".join(done.output.split())


def test_a_folder_whose_making_was_interrupted_is_made(tmp_path):
    (tmp_path / "live" / "main").mkdir(parents=True)
    (tmp_path / "live" / "main" / ".onlineboost-0123456789abcdef.part").write_bytes(b"half a model")
    served = Process(tmp_path / "live", "--model", "hoeffding-tree")
    assert served.ask("/learn", example(1))[0] == 200
    assert served.end() == ""


def test_a_replay_is_compared_with_a_snapshot_that_is_not_there_yet(tmp_path):
    create(tmp_path / "live", HoeffdingTree())
    Log(tmp_path / "live" / "events.db", 5).close()
    done = CliRunner().invoke(main, ["replay", str(tmp_path / "live"), "--check"])
    assert done.exit_code == 2
    assert "there is no snapshot yet" in " ".join(done.output.split())
    assert "leave --check out" in " ".join(done.output.split())


def test_a_folder_that_cannot_be_written(tmp_path, monkeypatch):
    create(tmp_path / "live", HoeffdingTree())

    def no(*args, **more):
        raise PermissionError(13, "Permission denied", str(tmp_path / "live" / "lock"))

    monkeypatch.setattr("onlineboost.service.service.Path.open", no)
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live")])
    assert done.exit_code == 2
    assert "Permission denied" in done.output


# ------------------------------------------------------------------------------------------------ a process of its own


def test_sigterm_under_load_loses_nothing(tmp_path):
    served, acknowledged, over = Process(tmp_path / "live", "--model", "hoeffding-tree"), [], threading.Event()

    def send(first):
        for at in range(first, 10**6, 4):
            try:
                if served.ask("/learn", example(at))[0] == 200:
                    acknowledged.append(at)
            except OSError:
                return
            if over.is_set():
                return

    clients = [threading.Thread(target=send, args=(first,)) for first in range(4)]
    for each in clients:
        each.start()
    time.sleep(0.7)
    assert served.end() == ""
    assert served.process.returncode == 0
    over.set()
    for each in clients:
        each.join()
    with closing(sqlite3.connect(tmp_path / "live" / "events.db")) as db:
        there = {id for (id,) in db.execute("SELECT id FROM events")}
    assert acknowledged
    assert {f"e{at}" for at in acknowledged} <= there


def test_connections_that_send_nothing_or_too_slowly_are_closed(tmp_path, monkeypatch):
    monkeypatch.setattr(server, "SLOWEST", 0.3)

    async def serve():
        create(tmp_path / "live", HoeffdingTree())
        service = Service(tmp_path / "live", Options())
        service.start()
        config = server.uvicorn.Config(
            Application(service, Access(None, LOCAL), 1000), http=server.Protocol, lifespan="off", log_config=None
        )
        listening = socket.create_server(("127.0.0.1", 0))
        running = server.uvicorn.Server(config)
        running.capture_signals = threading.Lock  # a context manager that does nothing here
        task = asyncio.create_task(running.serve([listening]))
        took = []
        for sent in (b"", b"GET /health HTTP/1.1\r\nhost: local"):
            reader, writer = await asyncio.open_connection(*listening.getsockname())
            began = time.monotonic()
            writer.write(sent)
            assert await asyncio.wait_for(reader.read(), 10.0) == b""
            took.append(time.monotonic() - began)
            writer.close()
        reader, writer = await asyncio.open_connection(*listening.getsockname())
        for _ in range(2):  # a good one stays
            writer.write(b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n")
            assert b" 200 " in await reader.readuntil(b"\r\n\r\n")
            await asyncio.sleep(0.4)
        writer.close()
        running.should_exit = True
        await task
        service.stop()
        return took

    assert max(asyncio.run(serve())) < 5.0


def test_few_files_that_may_be_open(tmp_path):
    """More connections than files: it answers, and goes on learning."""
    import resource

    few = {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))}
    served = Process(tmp_path / "live", "--model", "hoeffding-tree", **few)
    open_ones = [socket.create_connection(("127.0.0.1", served.port)) for _ in range(300)]
    time.sleep(0.3)
    for each in open_ones:
        each.close()
    until = time.monotonic() + 20.0
    while True:
        with suppress(OSError):  # some are still to be closed
            if served.ask("/learn", [example(at) for at in range(50)])[0] == 200:
                break
        assert time.monotonic() < until
        time.sleep(0.05)
    assert served.ask("/health", None)[1]["status"] == "ok"
    served.end()


def test_tls(tmp_path):
    program = shutil.which("openssl")
    if program is None:
        pytest.skip("there is no openssl here")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        f"{program} req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost "
        f"-keyout {key} -out {cert}".split(),
        check=True,
        capture_output=True,
    )
    options = "--model", "hoeffding-tree", "--tls-certificate", str(cert), "--tls-key", str(key)
    served = Process(tmp_path / "live", *options)
    context = ssl.create_default_context(cafile=str(cert))
    with urllib.request.urlopen(f"https://localhost:{served.port}/health", context=context, timeout=20) as answer:
        assert json.load(answer)["status"] == "ok"
    assert served.end(signal.SIGTERM) == ""
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "other"), "--tls-key", str(key)])
    assert done.exit_code == 2
    key.write_text("no key")
    done = CliRunner().invoke(main, ["serve", str(tmp_path / "live"), *options, "--port", "0"])
    assert done.exit_code == 2
    assert "cannot be used for TLS" in " ".join(done.output.split())


def test_labels_of_all_kinds(client):
    kinds = [0, -5, True, False, 2**63, "0", "\x00", "a" * 10_000, "💶"]
    for at, given in enumerate(kinds):
        got, answer = client.ask("/learn", {"row": row(at), "label": given})
        assert got in (200, 422), (given, answer)
    client.learned(client.service.log.last_place)
    got, said = client.ask("/predict", {"row": row(1)})
    assert got == 200
    assert client.ask("/model")[0] == client.ask("/metrics")[0] == 200
    assert label(1) in said["probabilities"]


def test_entries_may_have_ids_of_any_characters(tmp_path):
    log = Log(tmp_path / "events.db", 5)
    ids = ["\x00", "\n", "a'b", '"', "\x1b[2J", "💶", " "]
    log.call(log.add, [Entry(id, b"{}", b'"ok"') for id in ids])
    with closing(connect(log.path)) as db:
        assert [id for (id,) in db.execute("SELECT id FROM events ORDER BY place")] == ids
    log.close()
