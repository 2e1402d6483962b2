"""What the live service costs: CPU of the server per request, rows learned per second, and how long answers take.

    python benchmarks/serve.py
    python benchmarks/serve.py --models adaboost-olm:10 --seconds 3 --rate 200

The server is `onlineboost serve` in a process of its own, and the clients are another one, over the loopback device.
CPU is that of the server's process, all threads, divided by the requests; other programs on the machine do not change
it much, but they do change all that is a time. Beside it in the same run: an ASGI application that says hello under the
same uvicorn, and fdatasync of 16 kB on the same disk, which no durable acknowledgement can be quicker than.
"""

from __future__ import annotations

import asyncio
import json
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import numpy as np

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
COLOURS = ("red", "green", "blue", "white", "black")
TICKS = os.sysconf("SC_CLK_TCK")
CLIENTS, BLOCK = 32, 1000


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


KINDS: dict[str, Callable[[int], Iterator[bytes]]] = {
    "predict": predictions,
    "predict 100": hundreds,
    "learn": examples,
    "learn 1000": blocks,
}


async def ask(port: int, kind: str, number: int, seconds: float, rate: float, seed: int) -> list[float]:
    """Seconds that answers took, of so many connections; one after the other, or at a fixed rate over all of them.

    At a fixed rate a request counts from when it was due, so that a server that stands still is not asked less.
    """
    took: list[float] = []
    until = time.perf_counter() + seconds

    async def connection(which: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        made = KINDS[kind](seed * 1000 + which)
        ready = [next(made) for _ in range(2000 // number + 1)] if kind in ("predict", "learn") else []
        due = time.perf_counter() + which / rate if rate else 0.0
        while (now := time.perf_counter()) < until:
            if rate and due > now:
                await asyncio.sleep(due - now)
            body = ready.pop() if ready else next(made)
            began = due if rate else time.perf_counter()
            writer.write(body)
            head = await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]))
            if b" 200 " in head[:14]:
                took.append(time.perf_counter() - began)
            due += number / rate if rate else 0.0
        writer.close()

    await asyncio.gather(*(connection(which) for which in range(number)))
    return took


def client(queue: multiprocessing.Queue, *how: object) -> None:
    queue.put(asyncio.run(ask(*how)))  # type: ignore[arg-type]


def cpu(process: int) -> float:
    """Seconds of CPU that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


class Server:
    """A server in a process of its own."""

    def __init__(self, *command: str) -> None:
        self.process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().rpartition(":")[2].strip().strip("/"))

    def measure(self, kind: str, number: int, seconds: float, rate: float = 0.0, seed: int = 0) -> str:
        """A load, and what came of it."""
        queue: multiprocessing.Queue = multiprocessing.Queue()
        before = cpu(self.process.pid)
        asking = multiprocessing.Process(target=client, args=(queue, self.port, kind, number, seconds, rate, seed))
        asking.start()
        took = np.array(queue.get()) * 1e3
        asking.join()
        used = (cpu(self.process.pid) - before) * 1e6 / max(len(took), 1)
        rows = len(took) * {"learn 1000": BLOCK, "predict 100": 100}.get(kind, 1)
        p = np.percentile(took, [50, 99]) if len(took) else [np.nan, np.nan]
        how = f"{rate:,.0f}/s" if rate else f"{number} clients"
        return f"{kind:<12} {how:<11} {used:>9,.0f} {rows / seconds:>11,.0f} {p[0]:>9.2f} {p[1]:>9.2f}"

    def end(self) -> None:
        self.process.terminate()
        self.process.communicate()


def fdatasync(folder: Path) -> str:
    took = []
    with (folder / "probe").open("wb", buffering=0) as file:
        for _ in range(200):
            began = time.perf_counter()
            file.write(bytes(16384))
            os.fdatasync(file.fileno())
            took.append((time.perf_counter() - began) * 1e3)
    return f"fdatasync of 16 kB: p50 {np.percentile(took, 50):.2f} ms, p99 {np.percentile(took, 99):.2f} ms"


@click.command(help=__doc__)
@click.option("--models", default="adaboost-olm:10,online-boost:50,adaboost-olm:100", show_default=True)
@click.option("--seconds", default=5.0, show_default=True, help="Of each load.")
@click.option("--rate", default=500.0, show_default=True, help="Requests a second where the rate is fixed.")
@click.option("--folder", type=click.Path(path_type=Path), help="On the disk to measure [default: a temporary one].")
def main(models: str, seconds: float, rate: float, folder: Path | None) -> None:
    print(f"load of the machine before: {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        print(fdatasync(Path(place)))
        print(f"\n{'request':<12} {'load':<11} {'CPU us':>9} {'rows/s':>11} {'p50 ms':>9} {'p99 ms':>9}")
        hello = Server("-c", HELLO)
        print("hello under the same uvicorn")
        print(hello.measure("predict", 1, seconds), flush=True)
        hello.end()
        for named in models.split(","):
            name, _, learners = named.partition(":")
            of = ("--learners", learners) if learners else ()
            where = str(Path(place, f"live {learners} {name}"))
            served = Server("-m", "onlineboost", "serve", where, "--port", "0", "--model", name, *of)
            print(f"{name}, {learners or 'default'} learners")
            served.measure("learn", CLIENTS, seconds, seed=9)  # it has learned something before it is asked
            time.sleep(1.0)
            loads = ("predict", 1, 0.0), ("predict 100", 1, 0.0), ("predict", 8, rate), ("learn", CLIENTS, 0.0)
            for seed, (kind, number, fixed) in enumerate((*loads, ("learn", 8, rate), ("learn 1000", 4, 0.0))):
                print(served.measure(kind, number, seconds, fixed, seed), flush=True)
            served.end()


if __name__ == "__main__":
    main()
