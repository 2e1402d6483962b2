"""Where the time goes: microseconds per example and learner, part by part, on one core.

    python benchmarks/profile_parts.py
    python benchmarks/profile_parts.py --streams synthetic,isolet --learners 100

A booster learns all of a stream but its last rows. These are then sent through the grown trees by kernels that each do
one part more than the one before; a part's time is the difference. Every repeat starts from a copy of the same booster.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import click
import numpy as np
from onlineboost.trees.trees import fetch_leaf, find_leaves, leaf_distribution
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlineboost import AdaBoostOLM, load_dataset
from onlineboost._compile.jit import bare_kernel
from onlineboost.chain.chain import BLOCK, Chain, new_rows
from onlineboost.data.errors import DataError
from onlineboost.trees.state import N_LEAVES, nbytes

REPEATS = 5


@bare_kernel
def walk(forest, rows, leaves, walking):
    """All rows to their leaves, in all trees."""
    for i in range(forest.roots.size):
        find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, 0, leaves, walking)


@bare_kernel
def walk_and_ask(forest, rows, leaves, walking, labels, p):
    """The same, and the distribution of every leaf."""
    last = rows.X.shape[0] - 1
    for i in range(forest.roots.size):
        find_leaves(forest.nodes, forest.details, forest.roots[i], rows.X, 0, leaves, walking)
        for b in range(last + 1):
            fetch_leaf(forest, leaves[min(b + 8, last)], leaves[min(b + 4, last)])
            leaf_distribution(forest, i, leaves[b], rows.X[b], rows.missing[b], labels, p)


def seconds(chain: Chain, X: np.ndarray, k: int, run: Callable[[Any, Any], Any], grace: float | None) -> float:
    """CPU seconds of one pass of these rows; the chain stays as it is."""
    (segment,) = copy.deepcopy(chain).segments
    if grace is not None:
        segment.forest = segment.forest._replace(grace=np.full_like(segment.forest.grace, grace))
    missing = np.isnan(X[:, : chain.n_numeric]).any(axis=1)
    spread = np.tile(chain.moments[2] / np.maximum(chain.moments[0], 1.0), (len(X), 1))
    rows = new_rows(X, missing, spread, chain.t + 1, k, chain.n_learners)
    start = time.process_time()
    run(segment, rows)
    return time.process_time() - start


def parts(name: str, learners: int, console: Console) -> dict[str, float]:
    """Microseconds per example and learner of every part."""
    data = load_dataset(name)
    data = data.shuffled(0) if data.order == "shuffle" else data
    clf = AdaBoostOLM(learners).partial_fit(data.X[:-BLOCK], data.y[:-BLOCK], classes=list(data.classes))
    model = clf._model
    X, k = model.encoder.read(data.X[-BLOCK:], learning=False).X, model.k
    y, _ = model.labels.read(data.y[-BLOCK:])
    weight = np.ones(len(y))
    scratch = np.empty(len(y), np.int64), np.empty(len(y), np.uint64), np.empty(k, np.int64), np.empty(2 * k)

    def learn(segment: Any, rows: Any) -> None:
        segment.learn(rows, y, weight)

    runs = {
        "find the leaf": (lambda segment, rows: walk(segment.forest, rows, *scratch[:2]), None),
        "distribution (naive Bayes)": (lambda segment, rows: walk_and_ask(segment.forest, rows, *scratch), None),
        "vote": (lambda segment, rows: segment.predict(rows, learners, None), None),
        "weigh, step, statistics": (learn, 1e300),
        "split tries and splits": (learn, None),
    }
    best = dict.fromkeys(runs, np.inf)
    for _ in track(range(REPEATS), name, console=console):
        for part, (run, grace) in runs.items():
            best[part] = min(best[part], seconds(model.chain, X, k, run, grace))
    scaled = [1e6 * value / len(y) / learners for value in best.values()]
    forest = model.chain.segments[0].forest
    leaves = int(forest.used[N_LEAVES])
    size = {"leaves per tree": leaves / learners, "bytes per leaf": nbytes(forest)["used"] / leaves}
    return {**dict(zip(runs, np.diff(scaled, prepend=0.0), strict=True)), "all": scaled[-1], **size}


@click.command()
@click.option("--streams", default="synthetic,electricity,movement,isolet", show_default=True)
@click.option("--learners", default=100, show_default=True)
def main(streams: str, learners: int) -> None:
    """Print what each part of learning costs."""
    console = Console(stderr=True)
    columns = {}
    for name in streams.split(","):
        try:
            columns[name] = parts(name, learners, console)
        except DataError as error:
            console.print(f"[yellow]{name} left out:[/] {error}", highlight=False)
    table = Table("us per example and learner", *columns, title=f"the last {BLOCK} examples, {learners} learners")
    for part in next(iter(columns.values()), {}):
        digits = 0 if "per" in part else 3
        table.add_row(part, *(f"{column[part]:,.{digits}f}" for column in columns.values()))
    Console(width=max(100, Console().width)).print(table)


if __name__ == "__main__":
    main()
