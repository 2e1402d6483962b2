"""What a model takes of memory with and without a limit, and what the limit costs in accuracy and time.

    python benchmarks/memory.py                          # five million rows of the synthetic stream
    python benchmarks/memory.py --rows 1000000 text hashed
    python benchmarks/memory.py electricity covertype    # data sets, all their rows

Every run is a process of its own. Megabytes are resident memory beyond what the process had when learning began, with
the data there and the kernels compiled: the most in the first half of the rows, and the most of all. "us" is processor
time per example in the first 16,000 rows and in the last half; the exponent is b of cost ~ rows^b. `text` has ten
columns of text with 100,000 different values each, `hashed` the same columns as 256 codes by a hash of the values.
"""

from __future__ import annotations

import ctypes
import json
import subprocess
import sys
import time
import warnings
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table as Grid
from scaling import exponent

from onlineboost import load_dataset, lookup
from onlineboost.data.table import Table
from onlineboost.datasets import synthetic_stream

BLOCK = 4000
FIRST = 16_000  # rows: from here on costs are compared
TEXT_COLUMNS, TEXT_VALUES, CODES = 10, 100_000, 256
MADE = {"synthetic": 5_000_000, "text": 1_000_000, "hashed": 1_000_000}  # rows of streams that are made here


def stream(name: str, rows: int | None) -> tuple[Any, np.ndarray, list[Any]]:
    """X, y and the classes of a stream of at most so many rows."""
    if name in ("text", "hashed"):
        return text_stream(rows or MADE[name], name == "hashed")
    data = synthetic_stream(rows or MADE[name]) if name == "synthetic" else load_dataset(name)
    data = data if name == "synthetic" or data.order == "time" else data.shuffled(0)
    return data.X[:rows], data.y[:rows], list(data.classes)


def text_stream(rows: int, hashed: bool = False, seed: int = 0) -> tuple[Any, np.ndarray, list[Any]]:
    """Columns of text of which most values are rare. Every value of the first three speaks for some of the classes."""
    rng = np.random.default_rng(seed)
    codes = (TEXT_VALUES * rng.random((TEXT_COLUMNS, rows)) ** 4).astype(np.int64)  # some values come often
    leaning = rng.normal(size=(3, TEXT_VALUES, 3))
    y = sum(leaning[j][codes[j]] for j in range(3)).argmax(axis=1)
    values = [f"value {code}" for code in range(TEXT_VALUES)]
    if hashed:
        values = [f"code {zlib.crc32(value.encode()) % CODES}" for value in values]
    names = np.array(values, object)
    return Table(tuple(f"t{j}" for j in range(TEXT_COLUMNS)), tuple(names[column] for column in codes)), y, [0, 1, 2]


def resident(field: str) -> float:
    """Megabytes of this process: VmRSS, now, or VmHWM, the most since `forget_peak`."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024 / 1e6
    raise ValueError(f"no {field} in /proc/self/status")


def forget_peak() -> None:
    """Give back memory that was in use before, and count from here on."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")


def marks(rows: int) -> list[int]:
    """Numbers of rows at which costs are taken: all, half of them, a quarter, and so on down to FIRST."""
    found = [rows]
    while found[0] // 2 >= FIRST:
        found.insert(0, found[0] // 2)
    return found


def costs(seconds: list[tuple[int, float]]) -> tuple[list[float], list[float]]:
    """Rows and microseconds per example since the mark before, from marks of (rows, seconds in all).

    >>> costs([(10, 1e-5), (20, 3e-5)])
    ([10, 20], [1.0, 2.0])
    """
    before = [(0, 0.0), *seconds[:-1]]
    us = [1e6 * (b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(before, seconds, strict=True)]
    return [rows for rows, _ in seconds], [round(each, 6) for each in us]


def blocks(rows: int) -> Iterator[slice]:
    """BLOCK rows at a time, cut at the marks."""
    start = 0
    for mark in marks(rows):
        while start < mark:
            stop = min(start + BLOCK, mark)
            yield slice(start, stop)
            start = stop


def run(name: str, rows: int | None, limit: str | None, model: str, learners: int) -> dict[str, Any]:
    """Learn a stream in this process, and say what that took."""
    X, y, classes = stream(name, rows)
    n, at = len(y), set(marks(len(y)))
    warnings.simplefilter("ignore")
    settings: dict[str, Any] = {"n_learners": learners} if model != "hoeffding-tree" else {}
    lookup.make(model, **settings).partial_fit(X[:300], y[:300], classes=classes)  # compiles
    clf = lookup.make(model, **settings).set_params(memory_limit=limit)
    forget_peak()
    before = resident("VmRSS")
    right, late, seconds, half = 0, 0, 0.0, 0.0
    taken: list[tuple[int, float]] = []
    for block in blocks(n):
        start = time.process_time()
        said = clf.test_then_train(X[block], y[block], classes=classes)
        seconds += time.process_time() - start
        hits = said == y[block]
        right += int(hits.sum())
        late += int(hits[max(0, n - n // 5 - block.start) :].sum())
        if block.stop <= n // 2:
            half = resident("VmHWM") - before
        if block.stop in at:
            taken.append((block.stop, seconds))
            now = f"{resident('VmRSS') - before:,.1f} MB, the most {resident('VmHWM') - before:,.1f} MB"
            done = f"{block.stop:,} rows, accuracy {right / block.stop:.4f}, {1e6 * seconds / block.stop:.1f} us"
            print(f"{name}, {limit}: {done}, {now}", file=sys.stderr, flush=True)
    peak = resident("VmHWM") - before
    memory, (sizes, us) = clf.memory_, costs(taken)
    return {
        "stream": name,
        "rows": n,
        "limit": "none" if limit is None else limit,
        "accuracy": right / n,
        "late": late / max(1, n // 5),
        "us": (us[0], us[-1]),
        "exponent": exponent(sizes, us) if len(us) > 1 else 0.0,
        "half": half,
        "peak": peak,
        "model": sum(memory["bytes"].values()) / 1e6,
        "leaves": memory["leaves without statistics"],
        "full": memory["trees without room to split"],
    }


COLUMNS = ("stream", "rows", "limit", "accuracy", "last fifth", "us first", "us last", "exponent")
COLUMNS += ("MB in the first half", "MB at most", "nbytes_ MB", "leaves without statistics", "full trees")


def cells(result: dict[str, Any]) -> list[str]:
    first = [result["stream"], f"{result['rows']:,}", result["limit"]]
    first += [f"{result['accuracy']:.4f}", f"{result['late']:.4f}"]
    times = [f"{us:.1f}" for us in result["us"]] + [f"{result['exponent']:.3f}"]
    sizes = [f"{result[key]:,.1f}" for key in ("half", "peak", "model")]
    return [*first, *times, *sizes, f"{result['leaves']:,}", str(result["full"])]


@click.command()
@click.argument("streams", nargs=-1)
@click.option("--rows", type=int, help="The most rows of a stream; by default all of them.")
@click.option("--limit", "limits", multiple=True, default=("64MB", "1GB", "none"), show_default=True)
@click.option("--model", default="adaboost-olm", show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--one", is_flag=True, hidden=True, help="One run in this process, as JSON.")
def main(
    streams: tuple[str, ...], rows: int | None, limits: tuple[str, ...], model: str, learners: int, one: bool
) -> None:
    """Memory, accuracy and time with these limits, on these streams."""
    if one:
        limit = None if limits[0] == "none" else limits[0]
        click.echo(json.dumps(run(streams[0], rows, limit, model, learners)))
        return
    grid = Grid(*COLUMNS)
    _one(streams[0] if streams else "synthetic", 400, "64MB", model, learners)  # compiles, in a process of its own
    for name, limit in [(name, limit) for name in streams or ("synthetic",) for limit in limits]:
        grid.add_row(*cells(_one(name, rows, limit, model, learners)))
    Console(width=None if sys.stdout.isatty() else 200).print(grid)


def _one(name: str, rows: int | None, limit: str, model: str, learners: int) -> dict[str, Any]:
    """A run in a process of its own."""
    options = ["--limit", limit, "--model", model, "--learners", str(learners), "--one"]
    options += ["--rows", str(rows)] if rows else []
    done = subprocess.run([sys.executable, __file__, name, *options], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise click.ClickException(f"the run of {name} with limit {limit} failed")
    result: dict[str, Any] = json.loads(done.stdout)
    return result


if __name__ == "__main__":
    main()
