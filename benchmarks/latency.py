"""How long a prediction takes to serve: percentiles of single rows and of blocks, from one thread and from several.

    python benchmarks/latency.py
    python benchmarks/latency.py --models OnlineMBBM --threads 4 --seconds 10
    python benchmarks/latency.py --models OnlineBoostClassifier --beside-learning --seconds 60

The model is trained on the first `--rows` rows of the 5-class, 10-column synthetic stream; requests are rows it has
not seen. "threads" is how many ask the same model at once, each waiting for its answer before it asks again. On a busy
machine the last percentiles of the wall time are those of the scheduler, so the table says how busy it was, and gives
the processor time of the same requests beside: what they take where nobody is in the way.

With `--beside-learning`, another thread learns blocks of 1,000 rows without a pause, and one thread asks that very
model. A request has to wait for the block at hand, so the table gives the time of the blocks beside. These wait, too,
for a request at hand; their processor time is without that.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from threads import machine_busy

from onlineboost import AdaBoostOLM, OnlineBoostClassifier, OnlineMBBM, load_dataset

MODELS = {"AdaBoostOLM": AdaBoostOLM, "OnlineMBBM": OnlineMBBM, "OnlineBoostClassifier": OnlineBoostClassifier}
SHARES = (50.0, 99.0, 99.9)
BLOCK = 1000  # rows that are learned at a time, beside those that ask


def ask(request: Callable[[int], Any], n_threads: int, seconds: float) -> tuple[np.ndarray, float]:
    """(requests, 2) microseconds of wall and of processor time, for so many seconds; and requests per second."""
    times: list[list[tuple[int, int]]] = [[] for _ in range(n_threads)]
    start = threading.Barrier(n_threads + 1)

    def client(number: int) -> None:
        own, i = times[number], number
        start.wait()
        until = time.perf_counter_ns() + int(seconds * 1e9)
        now = time.perf_counter_ns()
        while now < until:
            cpu = time.thread_time_ns()
            request(i)
            cpu = time.thread_time_ns() - cpu
            own.append((time.perf_counter_ns() - now, cpu))
            now, i = time.perf_counter_ns(), i + n_threads

    clients = [threading.Thread(target=client, args=(number,)) for number in range(n_threads)]
    for thread in clients:
        thread.start()
    start.wait()
    for thread in clients:
        thread.join()
    all_times = np.concatenate([np.array(own) for own in times])
    return all_times / 1e3, len(all_times) / seconds


def requests_of(
    clf: Any, served: Any, X: np.ndarray, y: np.ndarray, threads: int
) -> Iterator[tuple[str, int, Callable[[int], Any]]]:
    """(what, threads, request): request(i) makes the i-th request."""
    single = X[:5000].tolist()
    for n in (1, threads):
        yield "predict_one", n, lambda i: served.predict_one(single[i % len(single)])
    for size in (1, 10, 100, 1000):
        blocks = [X[a : a + size] for a in range(0, len(X) - size, max(size, 50))]
        for n in (1, threads):
            what = f"predict, {size} row{'s' * (size > 1)}"
            yield what, n, lambda i, blocks=blocks: served.predict(blocks[i % len(blocks)])  # type: ignore[misc]
    yield "learn_one", 1, lambda i: clf.learn_one(single[i % len(single)], y[i % len(single)])


def alone(clf: Any, X: np.ndarray, y: np.ndarray, seconds: float, threads: int) -> tuple[Table, list[dict[str, Any]]]:
    """How long requests to a snapshot take."""
    wall, cpu = ([f"{kind}p{share:g}" for share in SHARES] for kind in ("", "CPU "))
    table = Table("request (times in us)", "threads", *wall, *cpu, "requests/s", "machine")
    figures = []
    for what, n, request in requests_of(clf, clf.snapshot(), X, y, threads):
        request(0)
        before, total = machine_busy()
        times, rate = ask(request, n, seconds)
        after, total_after = machine_busy()
        percentiles = np.percentile(times, SHARES, axis=0).T.ravel().tolist()
        busy = (after - before) / max(total_after - total, 1e-9)
        figures.append({"request": what, "threads": n, "us": percentiles, "per_second": rate})
        cells = [f"{value:,.0f}" for value in (*percentiles, rate)]
        table.add_row(what, str(n), *cells, f"{busy:.0%} busy")
    return table, figures


def while_learning(
    learn: Callable[[int], Any], requests: dict[str, Callable[[int], Any]], seconds: float
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """(blocks, 2) seconds of wall and processor time of blocks that a thread learns, and seconds of requests meanwhile.

    The requests come in turns, so that what disturbs one disturbs all.
    """
    for call in (learn, *requests.values()):
        call(0)  # compiled
    blocks: list[tuple[float, float]] = []
    waits: dict[str, list[tuple[float, float]]] = {what: [] for what in requests}
    stop = threading.Event()

    def timed(call: Callable[[int], Any], times: list[tuple[float, float]]) -> None:
        began, cpu = time.perf_counter(), time.thread_time()
        call(len(times))
        times.append((time.perf_counter() - began, time.thread_time() - cpu))

    def without_a_pause() -> None:
        while not stop.is_set():
            timed(learn, blocks)

    thread = threading.Thread(target=without_a_pause)
    thread.start()
    until = time.perf_counter() + seconds
    while time.perf_counter() < until:
        for what, request in requests.items():
            timed(request, waits[what])
    stop.set()
    thread.join()
    return np.array(blocks), {what: np.array(times)[:, 0] for what, times in waits.items()}


def beside_learning(
    clf: Any, X: np.ndarray, y: np.ndarray, seconds: float, _: int = 1
) -> tuple[Table, list[dict[str, Any]]]:
    """How long requests take while another thread learns."""
    single, starts = X[:BLOCK].tolist(), range(0, len(X) - BLOCK + 1, BLOCK)

    def learn(i: int) -> None:
        rows = slice(starts[i % len(starts)], starts[i % len(starts)] + BLOCK)
        clf.partial_fit(X[rows], y[rows])

    requests = {
        "predict, 1 row": lambda i: clf.predict(X[i % len(X)][None]),
        "predict_one": lambda i: clf.predict_one(single[i % len(single)]),
        "snapshot": lambda i: clf.snapshot(),
    }
    blocks, waits = while_learning(learn, requests, seconds)
    table = Table("times in ms", "number", *(f"p{share:g}" for share in SHARES), "longest")
    figures = []
    learned = f"learning {BLOCK:,} rows"
    for what, times in {learned: blocks[:, 0], f"{learned}, CPU": blocks[:, 1], **waits}.items():
        found = np.percentile(times * 1e3, (*SHARES, 100.0)).tolist()
        table.add_row(what, f"{len(times):,}", *(f"{value:,.1f}" for value in found))
        figures.append({"request": what, "number": len(times), "ms": found})
    return table, figures


@click.command()
@click.option("--models", default="AdaBoostOLM,OnlineMBBM", show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--rows", default=20_000, show_default=True, help="Rows to train on.")
@click.option("--threads", default=2, show_default=True, help="Threads that ask at once.")
@click.option("--seconds", default=3.0, show_default=True, help="Duration of every measurement.")
@click.option(
    "--beside-learning", "learning", is_flag=True, help="Ask a model that another thread teaches without a pause."
)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(
    models: str, learners: int, rows: int, threads: int, seconds: float, learning: bool, json_path: Path | None
) -> None:
    """Measure the latency of predict_one, learn_one and predict."""
    console = Console(width=max(130, Console().width))
    data = load_dataset("synthetic")
    X, y = np.column_stack(data.X.columns), np.asarray(data.y)
    figures: list[dict[str, Any]] = []
    for name in models.split(","):
        clf = MODELS[name](learners)
        with console.status(f"{name}: training on {rows:,} rows ..."):
            clf.partial_fit(X[:rows], y[:rows], classes=data.classes)
        measure = beside_learning if learning else alone
        with console.status(f"{name}: {seconds:g} seconds for every measurement ..."):
            table, found = measure(clf, X[rows:], y[rows:], seconds, threads)
        table.title = f"{name}, {learners} learners, {len(data.classes)} classes, {X.shape[1]} columns"
        table.title += (
            f", {clf.snapshot().nbytes_ / 1e6:.0f} MB, snapshot taken in {snapshot_seconds(clf) * 1e3:.0f} ms"
        )
        console.print(table)
        figures += [{"model": name, **one} for one in found]
    if json_path:
        json_path.write_text(json.dumps(figures, indent=2))


def snapshot_seconds(clf: Any) -> float:
    times = []
    for _ in range(3):
        start = time.perf_counter()
        clf.snapshot()
        times.append(time.perf_counter() - start)
    return min(times)


if __name__ == "__main__":
    main()
