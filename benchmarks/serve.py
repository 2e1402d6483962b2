"""What the live service costs: CPU of the server per request, rows learned per second, and how long answers take.

    python benchmarks/serve.py
    python benchmarks/serve.py --models adaboost-olm:10 --seconds 3 --rate 200
    python benchmarks/serve.py --vw OTHER_VENV/bin/python    (a Python that has vowpalwabbit)

The server is `onlineboost serve` in a process of its own, and the clients are another one, over the loopback device.
CPU is that of the server's process, all threads, divided by the requests; other programs on the machine do not change
it much, but they do change all that is a time: `chrt -r 5 python benchmarks/serve.py --no-most` lets the server and its
clients go first, where the rate is fixed. Beside it in the same run: an ASGI application that says hello under
the same uvicorn, river's forest and tree under the same uvicorn (nothing is on disk), `vw --daemon`, and fdatasync of
16 kB on the same disk, at the end of a file and over what is there, as SQLite's log is written.

learned/s: what the model has learned of the rows that were acknowledged. beside: while the same server is sent 4,000
rows a second to learn, ten in a request; CPU is that of all. all at once: with --behind 1000000, so no acknowledgement
waits for the model. start: from the command to the first prediction, with a model of 4,000 rows of 40 columns.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import click
import numpy as np

from onlineboost import AdaBoostOLM
from onlineboost.datasets import synthetic_stream
from onlineboost.service.follower import BEGIN
from onlineboost.service.service import create

HELLO = """
import socket, uvicorn
async def app(scope, receive, send):
    await receive()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"5")]})
    await send({"type": "http.response.body", "body": b"hello"})
listening = socket.create_server(("127.0.0.1", 0))
print(f"Serving on http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listening])
"""
RIVER = """
import socket, sys, msgspec, uvicorn
from river import forest, tree
model = forest.ARFClassifier(n_models=10, seed=0) if sys.argv[1] == "forest" else tree.HoeffdingTreeClassifier()
async def app(scope, receive, send):
    asked = msgspec.json.decode((await receive())["body"])
    if scope["path"] == "/learn":
        model.learn_one(asked["row"], asked["label"])
    body = b"{}" if scope["path"] == "/learn" else msgspec.json.encode(model.predict_proba_one(asked["row"]))
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})
listening = socket.create_server(("127.0.0.1", 0))
print(f"Serving on http://127.0.0.1:{listening.getsockname()[1]}/", flush=True)
config = uvicorn.Config(app, http="httptools", ws="none", lifespan="off", log_level="warning", access_log=False)
uvicorn.Server(config).run(sockets=[listening])
"""
VW = """
import sys, vowpalwabbit
how = "--daemon --foreground --num_children 1 --oaa 5 --probabilities --quiet --port".split()
print(f"Serving on http://127.0.0.1:{sys.argv[1]}/", flush=True)
vowpalwabbit.Workspace(arg_list=[*how, sys.argv[1]]).run_parser()
"""
COLOURS = ("red", "green", "blue", "white", "black")
TICKS = os.sysconf("SC_CLK_TCK")
CLIENTS, BLOCK, TEN = 32, 1000, 10
BESIDE = 4000.0  # rows a second


def row(draw: random.Random) -> tuple[dict[str, object], str]:
    """10 columns, 5 classes."""
    label = draw.randrange(5)
    numbers = {f"x{c}": round(draw.gauss(label * (c % 3), 2.0), 4) for c in range(8)}
    words = {f"w{c}": COLOURS[label if draw.random() < 0.4 else draw.randrange(5)] for c in range(2)}
    return {**numbers, **words}, f"class {label}"


def request(path: str, body: object) -> bytes:
    data = json.dumps(body).encode()
    return f"POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data


def predictions(seed: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    while True:
        yield request("/predict", {"row": row(draw)[0]})


def hundreds(seed: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    while True:
        yield request("/predict", [{"row": row(draw)[0]} for _ in range(100)])


def examples(seed: int) -> Iterator[bytes]:
    draw, at = random.Random(seed), 0
    while True:
        x, y = row(draw)
        at += 1
        yield request("/learn", {"row": x, "label": y, "id": f"{seed}-{at}"})


def blocks(seed: int) -> Iterator[bytes]:
    draw, at = random.Random(seed), 0
    while True:
        at += 1
        rows = [row(draw) for _ in range(BLOCK)]
        yield request("/learn", [{"row": x, "label": y, "id": f"b{seed}-{at}-{i}"} for i, (x, y) in enumerate(rows)])


def tens(seed: int) -> Iterator[bytes]:
    draw = random.Random(seed)
    while True:
        yield request("/learn", [{"row": x, "label": y} for x, y in (row(draw) for _ in range(TEN))])


def vw_lines(label: bool) -> Callable[[int], Iterator[bytes]]:
    """Lines for Vowpal Wabbit: numbers by name, words as indicators."""

    def make(seed: int) -> Iterator[bytes]:
        draw = random.Random(seed)
        while True:
            x, y = row(draw)
            features = " ".join(f"{n}={v}" if isinstance(v, str) else f"{n}:{v}" for n, v in x.items())
            yield f"{int(y[-1]) + 1 if label else ''} | {features}\n".encode()

    return make


KINDS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "predict": predictions,
    "predict 100": hundreds,
    "learn": examples,
    "learn 1000": blocks,
    "learn 10": tens,
    "vw predict": vw_lines(False),
    "vw learn": vw_lines(True),
}
ROWS = {"learn 1000": BLOCK, "learn 10": TEN, "predict 100": 100}


async def answered(reader: asyncio.StreamReader, kind: str) -> bool:
    """Read an answer; whether it is a good one."""
    if kind.startswith("vw"):
        return bool(await reader.readline())
    head = await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
    return b" 200 " in head[:14]


async def ask(port: int, kind: str, number: int, seconds: float, rate: float, seed: int) -> list[float]:
    """Seconds that answers took, of so many connections; one after the other, or at a fixed rate over all of them.

    At a fixed rate a request counts from when it was due, so that a server that stands still is not asked less.
    """
    took: list[float] = []
    until = time.perf_counter() + seconds

    async def connection(which: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        made = KINDS[kind](seed * 1000 + which)
        ready = [next(made) for _ in range(2000 // number + 1)] if kind not in ("predict 100", "learn 1000") else []
        due = time.perf_counter() + which / rate if rate else 0.0
        while (now := time.perf_counter()) < until:
            if rate and due > now:
                await asyncio.sleep(due - now)
            body = ready.pop() if ready else next(made)
            began = due if rate else time.perf_counter()
            writer.write(body)
            if await answered(reader, kind):
                took.append(time.perf_counter() - began)
            due += number / rate if rate else 0.0
        writer.close()

    await asyncio.gather(*(connection(which) for which in range(number)))
    return took


def client(queue: multiprocessing.Queue, *how: object) -> None:
    queue.put(asyncio.run(ask(*how)))  # type: ignore[arg-type]


def cpu(process: int) -> float:
    """Seconds of CPU that a process and its children have used."""
    used = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12]) if process in (int(path.parent.name), int(fields[1])) else 0
    return used / TICKS


class Server:
    """A server in a process of its own."""

    def __init__(self, *command: str, python: str = sys.executable) -> None:
        self.process = subprocess.Popen([python, *command], stdout=subprocess.PIPE, text=True, start_new_session=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2].strip().strip("/"))

    def begin(self, *how: object) -> tuple[multiprocessing.Process, multiprocessing.Queue]:
        queue: multiprocessing.Queue = multiprocessing.Queue()
        asking = multiprocessing.Process(target=client, args=(queue, self.port, *how))
        asking.start()
        return asking, queue

    def behind(self) -> int:
        with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/health", timeout=30) as answer:
            return int(json.load(answer)["behind"])

    def measure(
        self, kind: str, number: int, seconds: float, rate: float = 0.0, seed: int = 0, ours: bool = True
    ) -> str:
        """A load, and what came of it."""
        learning = ours and kind.startswith("learn")
        before, behind = cpu(self.process.pid), self.behind() if learning else 0
        asking, queue = self.begin(kind, number, seconds, rate, seed)
        took = np.array(queue.get()) * 1e3
        rows = len(took) * ROWS.get(kind, 1)
        learned = f"{(rows + behind - self.behind()) / seconds:>10,.0f}" if learning else f"{'':>10}"
        asking.join()
        used = (cpu(self.process.pid) - before) * 1e6 / max(len(took), 1)
        p = np.percentile(took, [50, 99]) if len(took) else [np.nan, np.nan]
        how = f"{rate:,.0f}/s" if rate else f"{number} clients"
        figures = f"{used:>9,.0f} {rows / seconds:>9,.0f} {learned} {p[0]:>8.2f} {p[1]:>8.2f}"
        return f"{kind:<12} {how:<11} {figures}"

    def beside(self, seconds: float, rate: float) -> str:
        """Predictions at a fixed rate while it learns at another one."""
        asking, queue = self.begin("learn 10", 16, seconds + 2.0, BESIDE / TEN, 77)
        time.sleep(1.0)
        told = self.measure("predict", 8, seconds, rate, 78)
        acknowledged = len(queue.get()) * TEN / (seconds + 2.0)
        asking.join()
        return f"{told}  beside {acknowledged:,.0f} rows/s, {self.behind():,} behind at the end"

    def end(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGTERM)
        self.process.communicate()


def fdatasync(folder: Path) -> str:
    told = []
    for how in ("wb", "r+b"):
        took = []
        with (folder / "probe").open(how, buffering=0) as file:
            for _ in range(200):
                began = time.perf_counter()
                file.write(bytes(16384))
                os.fdatasync(file.fileno())
                took.append((time.perf_counter() - began) * 1e3)
        told.append("p50 {:.2f} ms, p99 {:.2f} ms".format(*np.percentile(took, [50, 99])))
    return f"fdatasync of 16 kB at the end of a file: {told[0]}; over what is there: {told[1]}"


def start(folder: Path) -> str:
    """How long a service with a large model takes to its first prediction."""
    clf, stream = AdaBoostOLM(400), synthetic_stream(4000, n_columns=40, n_classes=10, seed=1)
    clf.partial_fit(stream.X, stream.y)
    create(folder, clf)
    size, began = (folder / "main" / BEGIN).stat().st_size, time.perf_counter()
    served = Server("-m", "onlineboost", "serve", str(folder), "--port", "0")
    asked = request("/predict", {"row": {name: 0.0 for name in stream.X.names}})
    with socket.create_connection(("127.0.0.1", served.port)) as to:
        to.sendall(asked)
        good, took = b" 200 " in to.recv(1 << 16)[:14], time.perf_counter() - began
    served.end()
    memory = f"{clf.nbytes_ / 1e6:,.0f} MB of memory, {size / 1e6:,.0f} MB in a file"
    return f"start with a model of {memory}: {took:.1f} s{'' if good else ', and no prediction'}"


def peers(seconds: float, vw: str | None) -> Iterator[str]:
    """What others take, in memory alone."""
    servers = {f"river's {name} under the same uvicorn": ("-c", RIVER, name) for name in ("forest", "tree")}
    for named, command in servers.items() if find_spec("river") else ():
        yield named
        served = Server(*command)
        for kind, number in (("learn", CLIENTS), ("predict", 1), ("predict", 4)):
            yield served.measure(kind, number, seconds, ours=False)
        served.end()
    if vw:
        yield "vw --daemon --oaa 5 --probabilities"
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = str(free.getsockname()[1])
        served = Server("-c", VW, port, python=vw)
        time.sleep(2.0)
        for kind in ("vw learn", "vw predict"):
            yield served.measure(kind, 1, seconds, ours=False)
        served.end()


@click.command(help=__doc__)
@click.option("--models", default="adaboost-olm:10,online-boost:50,adaboost-olm:100", show_default=True)
@click.option("--seconds", default=5.0, show_default=True, help="Of each load.")
@click.option("--rate", default=500.0, show_default=True, help="Requests a second where the rate is fixed.")
@click.option("--folder", type=click.Path(path_type=Path), help="On the disk to measure [default: a temporary one].")
@click.option("--vw", help="A Python with vowpalwabbit.")
@click.option("--most/--no-most", default=True, help="Also as much as it can take, peers and a start.")
def main(models: str, seconds: float, rate: float, folder: Path | None, vw: str | None, most: bool) -> None:
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        print(fdatasync(Path(place)))
        columns = f"{'CPU us':>9} {'rows/s':>9} {'learned/s':>10} {'p50 ms':>8} {'p99 ms':>8}"
        print(f"\n{'request':<12} {'load':<11} {columns}")
        hello = Server("-c", HELLO)
        print("hello under the same uvicorn")
        for number, fixed in ((1, 0.0), (4, 0.0), (8, rate)) if most else ((8, rate),):
            print(hello.measure("predict", number, seconds, fixed), flush=True)
        hello.end()
        for each in models.split(","):
            name, _, learners = each.partition(":")
            serve = ("-m", "onlineboost", "serve", "--port", "0", "--model", name)
            serve += ("--learners", learners) if learners else ()
            served = Server(*serve, str(Path(place, f"live {learners} {name}")))
            print(f"{name}, {learners or 'default'} learners")
            served.measure("learn 10", 8, seconds, 1000.0, seed=9)  # it has learned something before it is asked
            time.sleep(1.0)
            loads = (("predict", 8, rate), ("learn", 8, rate))
            if most:
                full = ("predict", 1, 0.0), ("predict", 4, 0.0), ("predict 100", 1, 0.0), ("learn", CLIENTS, 0.0)
                loads = (*full, ("learn 1000", 4, 0.0), *loads)
            for seed, (kind, number, fixed) in enumerate(loads):
                print(served.measure(kind, number, seconds, fixed, seed), flush=True)
                while served.behind():
                    time.sleep(0.1)
            print(served.beside(seconds, rate), flush=True)
            served.end()
            if most:
                served = Server(*serve, str(Path(place, f"far {learners} {name}")), "--behind", "1000000")
                print(served.measure("learn 1000", 4, seconds) + "  all at once", flush=True)
                served.end()
        if most:
            for line in peers(seconds, vw):
                print(line, flush=True)
            print(start(Path(place, "large")))


if __name__ == "__main__":
    main()
