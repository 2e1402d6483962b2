"""How the cost of OnlineMBBM grows with the number of learners, on data sets, beside AdaBoostOLM.

    python benchmarks/learners.py
    python benchmarks/learners.py --streams isolet --learners 50,100,200 --rows 3000

Processor time of learning the first rows of a stream, tables of potentials and growth of trees included, compiling not.
"exponent" is b of cost ~ N^b between one N and the next, "over all" that of all N; "x OLM" is the time over that of
AdaBoostOLM with as many learners; "new" is the share of (example, learner) pairs whose votes had not been met before,
so that their costs had to be computed.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from scaling import exponent

from onlineboost import AdaBoostOLM, OnlineMBBM, load_dataset
from onlineboost.boosters.potentials.cache import MISSES
from onlineboost.data.errors import DataError
from onlineboost.evaluation import warm_up

MODELS: dict[str, Callable[[int], Any]] = {
    "AdaBoostOLM": AdaBoostOLM,
    "OnlineMBBM, gamma=.1": partial(OnlineMBBM, gamma=0.1),
    'OnlineMBBM, gamma="auto"': partial(OnlineMBBM, gamma="auto"),
    'OnlineMBBM, loss="pairwise"': partial(OnlineMBBM, loss="pairwise"),
}
FIRST = "AdaBoostOLM"


def measure(name: str, learners: list[int], rows: int, console: Console) -> list[dict[str, Any]]:
    """A point for each model and N: microseconds per example, and the share of pairs that were new."""
    data = load_dataset(name)
    data = data.shuffled(0) if data.order == "shuffle" else data
    X, y, classes = data.X[:rows], data.y[:rows], list(data.classes)
    points = []
    for n in learners:
        for model, make in MODELS.items():
            warm_up(make(2))
            clf = make(n)
            start = time.process_time()
            clf.partial_fit(X, y, classes=classes)
            us = 1e6 * (time.process_time() - start) / len(y)
            points.append({"model": model, "learners": n, "us": us, "new": _new(clf, n * len(y))})
            console.print(f"{name}, N = {n}: {model} {us:,.0f} us", highlight=False)
    return points


def _new(clf: Any, pairs: int) -> float | None:
    segments = [segment.booster for segment in clf._model.chain.segments]
    if not hasattr(segments[0], "cache"):
        return None
    return sum(int(booster.cache.used[MISSES]) for booster in segments) / pairs


def growth(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same points with the exponent since the N before, that over all N so far, and the ratio to AdaBoostOLM."""
    first = {point["learners"]: point["us"] for point in points if point["model"] == FIRST}
    rows = []
    for model in dict.fromkeys(point["model"] for point in points):
        own = [point for point in points if point["model"] == model]
        for i, point in enumerate(own):
            sizes, costs = [p["learners"] for p in own[: i + 1]], [p["us"] for p in own[: i + 1]]
            step = exponent(sizes[-2:], costs[-2:]) if i else None
            overall = exponent(sizes, costs) if i else None
            rows.append(point | {"step": step, "overall": overall, "ratio": point["us"] / first[point["learners"]]})
    return rows


def show(name: str, rows: list[dict[str, Any]]) -> Table:
    table = Table("model", "N", "us per example", "exponent", "over all", "x OLM", "new", title=name)
    for row in rows:
        exponents = ["" if row[key] is None else f"{row[key]:.2f}" for key in ("step", "overall")]
        new = "" if row["new"] is None else f"{row['new']:.0%}"
        table.add_row(row["model"], str(row["learners"]), f"{row['us']:,.1f}", *exponents, f"{row['ratio']:.2f}", new)
    return table


@click.command()
@click.option("--streams", default="movement,car,nursery,isolet", show_default=True)
@click.option("--learners", default="10,25,50,100,200,400", show_default=True)
@click.option("--rows", default=5000, show_default=True, type=click.IntRange(1), help="The first rows of each stream.")
def main(streams: str, learners: str, rows: int) -> None:
    """Print the cost of OnlineMBBM against the number of learners."""
    console = Console(stderr=True)
    for name in streams.split(","):
        try:
            points = measure(name, [int(n) for n in learners.split(",")], rows, console)
        except DataError as error:
            console.print(f"[yellow]{name} left out:[/] {error}", highlight=False)
            continue
        Console(width=max(100, Console().width)).print(show(f"{name}, {rows:,} rows at most", growth(points)))


if __name__ == "__main__":
    main()
