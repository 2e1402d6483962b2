"""Restarts off, always on and "auto", on streams that change and streams that do not: accuracy and time.

python benchmarks/drift.py                             every stream at hand
python benchmarks/drift.py --streams "sea,fraud,nursery, 20 % noise"
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import AdaBoostOLM, load_dataset
from onlineboost.data.errors import DataError
from onlineboost.datasets import synthetic_stream

Stream = tuple[Any, np.ndarray]
SETTINGS = ("never", "always", "auto")

# ------------------------------------------------------------------------------------------------ simulated streams


def noisy(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """y with this share of the labels drawn anew."""
    y, classes = np.array(y), np.unique(y)
    drawn = rng.random(len(y)) < share
    y[drawn] = rng.choice(classes, drawn.sum())
    return y


def swap(n: int, every: int, seed: int, noise: float = 0.0) -> Stream:
    """Four classes that swap places."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 5))
    y = ((X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0) + np.arange(n) // every) % 4
    return X, noisy(y, noise, rng)


def late_swap(n: int, quiet: int, every: int, seed: int) -> Stream:
    """`swap` that begins after a long time without a change."""
    X, y = swap(n, n, seed, 0.05)
    t = np.arange(n)
    return X, (y + np.where(t < quiet, 0, (t - quiet) // every + 1)) % 4


def hyperplane(n: int, seed: int, speed: float, noise: float) -> Stream:
    """Two classes on the sides of a plane that turns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 1, size=(n, 10))
    w, sign, y = rng.uniform(0, 1, 10), rng.choice([-1, 1], 10), np.empty(n, int)
    for t in range(n):
        y[t] = X[t] @ w > 0.5 * w.sum()
        w[:5] += sign[:5] * speed
        if rng.random() < 0.001:
            sign[rng.integers(10)] *= -1
    return X, noisy(y, 2 * noise, rng)


def sea(n: int, every: int, seed: int, noise: float) -> Stream:
    """SEA concepts (Street and Kim 2001): the threshold of a sum of two columns jumps."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0, 10, size=(n, 3))
    threshold = np.array([8, 9, 7, 9.5])[np.arange(n) // every % 4]
    return X, noisy((X[:, 0] + X[:, 1] <= threshold).astype(int), 2 * noise, rng)


def moving_clusters(n: int, seed: int, speed: float, noise: float = 0.0) -> Stream:
    """Four classes of five round clusters each; all clusters move."""
    rng = np.random.default_rng(seed)
    centre, velocity = rng.uniform(0, 1, (20, 8)), rng.normal(size=(20, 8))
    velocity /= np.linalg.norm(velocity, axis=1)[:, None]
    X, y, width = np.empty((n, 8)), np.empty(n, int), rng.uniform(0.03, 0.12, 20)
    for t in range(n):
        j = rng.integers(20)
        X[t], y[t] = centre[j] + width[j] * rng.normal(size=8), j % 4
        centre += speed * velocity
        velocity[(centre < 0) | (centre > 1)] *= -1
    return X, noisy(y, noise, rng)


def recurring(n: int, every: int, seed: int) -> Stream:
    """Two concepts in turn."""
    one, two = (synthetic_stream(n, n_columns=8, n_classes=3, seed=seed + i) for i in (0, 100))
    first = np.arange(n) // every % 2 == 0
    X = np.where(first[:, None], np.column_stack(one.X.columns), np.column_stack(two.X.columns))
    return X, np.where(first, one.y, two.y)


def fraud(n: int, seed: int, every: int, rate: float) -> Stream:
    """A rare class of three clusters that are somewhere else every now and then."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 12)), (rng.random(n) < rate).astype(int)
    centre = rng.normal(0, 2.0, size=(n // every + 1, 3, 12))
    for t in np.flatnonzero(y):
        X[t] = centre[t // every, rng.integers(3)] * 0.8 + rng.normal(size=12) * 0.7
    return X, noisy(y, 0.01, rng)


def synthetic_noise(n: int, seed: int, share: float) -> Stream:
    stream = synthetic_stream(n, seed=seed)
    return stream.X, noisy(stream.y, share, np.random.default_rng(1))


# -------------------------------------------------------------------------------------------------------- data sets


def data(name: str, order: int = 0) -> Stream:
    """A data set, in an order of its own or shuffled."""
    found = load_dataset(name)
    found = found.shuffled(order) if found.order == "shuffle" else found
    return found.X, found.y


def part(name: str, start: int, stop: int) -> Stream:
    found = load_dataset(name)
    return found.X[start:stop], found.y[start:stop]


def mixed(name: str, seed: int, n: int | None = None, noise: float = 0.0) -> Stream:
    """Rows of a data set in random order, whatever its own: nothing changes with time."""
    found = load_dataset(name)
    rows = np.random.default_rng(seed).permutation(len(found.y))[:n]
    y = np.asarray(found.y)[rows]
    return found.X[rows], noisy(y, noise, np.random.default_rng(seed + 7)) if noise else y


CHANGING: dict[str, list[Callable[[], Stream]]] = {
    "electricity": [lambda: data("electricity")],
    "covertype": [lambda: part("covertype", 12_000, 62_000)],
    "keystroke": [lambda: data("keystroke")],
    "swap-1000": [lambda: swap(8000, 1000, 0)],
    "swap-2000": [lambda: swap(8000, 2000, 0)],
    "late-swap": [lambda: late_swap(50_000, 30_000, 2500, 531)],
    "synthetic-abrupt": [lambda: data("synthetic-abrupt")],
    "synthetic-gradual": [lambda: data("synthetic-gradual")],
    "sea": [lambda s=s: sea(20_000, 5000, s, 0.1) for s in (515, 615)],
    "recurring": [lambda s=s: recurring(24_000, 4000, s) for s in (518, 5180)],
    "hyperplane-slow": [lambda s=s: hyperplane(20_000, s, 0.0003, 0.05) for s in (513, 613)],
    "hyperplane-fast": [lambda s=s: hyperplane(20_000, s, 0.002, 0.05) for s in (514, 614)],
    "clusters-slow": [lambda s=s: moving_clusters(20_000, s, 0.0001) for s in (516, 616)],
    "clusters-fast": [lambda s=s: moving_clusters(20_000, s, 0.0005, 0.05) for s in (517, 617)],
    "fraud": [lambda s=s: fraud(30_000, s, 3000, 0.03) for s in (519, 619)],
}
STEADY: dict[str, list[Callable[[], Stream]]] = {
    **{
        name: [lambda name=name, order=order: data(name, order) for order in range(3)]
        for name in ("balance", "mice", "car", "segment", "waveform", "nursery")
    },
    **{name: [lambda name=name: data(name)] for name in ("mushroom", "isolet", "shuttle", "synthetic", "movement")},
    "synthetic, 30 % noise": [lambda: synthetic_noise(30_000, 503, 0.3)],
    "nursery, 20 % noise": [lambda o=o: mixed("nursery", o, noise=0.2) for o in (501, 502)],
    "clusters, 20 % noise": [lambda s=s: moving_clusters(30_000, s, 0.0, 0.2) for s in (538, 638)],
    "hyperplane, 20 % noise": [lambda: hyperplane(30_000, 539, 0.0, 0.2)],
    "swap never, 20 % noise": [lambda s=s: swap(30_000, 10**9, s, 0.2) for s in (540, 640)],
    "fraud that stays": [lambda: fraud(30_000, 524, 10**6, 0.03)],
    "covertype, mixed": [lambda: mixed("covertype", 502, 40_000)],
    "covertype, mixed, 10 % noise": [lambda: mixed("covertype", 503, 30_000, 0.1)],
    "electricity, mixed": [lambda: mixed("electricity", 502)],
}


def measure(streams: list[Callable[[], Stream]], restart: Any, learners: int, limit: int | None = None) -> np.ndarray:
    """Right on the last 20 %, right on all rows, CPU us per example; the mean over the streams."""
    rows = []
    for seed, make in enumerate(streams):
        X, y = (part[:limit] for part in make())
        clf = AdaBoostOLM(learners, restart=restart, random_state=seed)
        start = time.process_time()
        right = clf.test_then_train(X, y, classes=np.unique(y)) == y
        seconds = time.process_time() - start
        rows.append((right[int(0.8 * len(y)) :].mean(), right.mean(), 1e6 * seconds / len(y)))
    return np.mean(rows, axis=0)


@click.command()
@click.option("--streams", default="", help="Comma-separated [default: all].")
@click.option("--learners", default=100, show_default=True)
@click.option("--rows", type=click.IntRange(10), help="First so many rows of each stream [default: all].")
def main(streams: str, learners: int, rows: int | None) -> None:
    """Print a table of the changing streams and one of the steady ones."""
    known = [*CHANGING, *STEADY]
    wanted = re.split(r",(?! )", streams) if streams else known  # a comma with a blank after it is part of a name
    if unknown := [name for name in wanted if name not in known]:
        raise click.BadParameter(f"{unknown[0]!r} is not a stream; there are {'; '.join(known)}")
    for setting in SETTINGS:  # compile
        measure([lambda: swap(3000, 1000, 3)], setting, 2)
    for title, group in (("changing", CHANGING), ("steady", STEADY)):
        table = Table("stream", *(f"restart={setting}" for setting in SETTINGS), "time of auto", title=title)
        gains = []
        for name in (name for name in group if name in wanted):
            try:
                off, on, auto = (measure(group[name], setting, learners, rows) for setting in SETTINGS)
            except DataError as error:
                Console(stderr=True).print(f"[yellow]{name} left out:[/] {error}", highlight=False)
                continue
            texts = (f"{tail:.4f} | {full:.4f}" for tail, full, _ in (off, on, auto))
            table.add_row(name, *texts, f"{auto[2] / off[2]:.2f} x")
            gains.append((on - off, auto - off))
        if gains:
            texts = (f"{tail:+.4f} | {full:+.4f}" for tail, full, _ in np.mean(gains, axis=0))
            table.add_row("mean gain", "", *texts, end_section=True)
            Console(width=110).print(table)


if __name__ == "__main__":
    main()
