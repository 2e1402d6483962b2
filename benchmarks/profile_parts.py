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
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlineboost import AdaBoostOLM, load_dataset
from onlineboost._compile.jit import bare_kernel
from onlineboost.chain.chain import BLOCK, Chain
from onlineboost.chain.clipping import learn_and_clip
from onlineboost.contracts.learner import ask, find
from onlineboost.contracts.rows import Rows, new_work
from onlineboost.data.errors import DataError
from onlineboost.trees.state import N_LEAVES, nbytes

REPEATS = 5
Run = Callable[[Any, Rows], object]  # does one part more than the one before, on a segment and a block


@bare_kernel
def walk(learner, rows, n_learners, scratch):
    """All rows to their leaves, in all trees."""
    for i in range(n_learners):
        find(learner, i, rows, 0, scratch)


@bare_kernel
def walk_and_ask(learner, rows, n_learners, scratch, work):
    """The same, and the distribution of every leaf."""
    for i in range(n_learners):
        find(learner, i, rows, 0, scratch)
        for b in range(rows.X.shape[0]):
            ask(learner, i, rows, b, scratch, work)


def seconds(chain: Chain, X: np.ndarray, k: int, run: Run, grace: float | None) -> float:
    """CPU seconds of one pass of these rows; the chain stays as it is."""
    (segment,) = copy.deepcopy(chain).segments
    learners = segment.learners
    if grace is not None:
        learners.forest = learners.forest._replace(grace=np.full_like(learners.forest.grace, grace))
    _, spread = learn_and_clip(copy.deepcopy(chain.numbers), X)
    rows = chain.new_rows(X, k, spread, np.ones(len(X)))
    start = time.process_time()
    run(segment, rows)
    return time.process_time() - start


def parts(name: str, learners: int, console: Console, repeats: int = REPEATS) -> dict[str, float]:
    """Microseconds per example and learner of every part."""
    data = load_dataset(name)
    data = data.shuffled(0) if data.order == "shuffle" else data
    clf = AdaBoostOLM(learners).partial_fit(data.X[:-BLOCK], data.y[:-BLOCK], classes=list(data.classes))
    model = clf._model
    X, k = model.encoder.read(data.X[-BLOCK:], learning=False).X, model.k
    y, _ = model.labels.read(data.y[-BLOCK:])
    weight = np.ones(len(y))

    def learn(segment: Any, rows: Rows) -> None:
        segment.learn(rows, y, weight)

    def find_leaves(segment: Any, rows: Rows) -> None:
        state, scratch = segment.learners.open(rows)
        walk(state, rows, learners, scratch)

    def find_and_ask(segment: Any, rows: Rows) -> None:
        state, scratch = segment.learners.open(rows)
        walk_and_ask(state, rows, learners, scratch, new_work(k))

    runs: dict[str, tuple[Run, float | None]] = {
        "find the leaf": (find_leaves, None),
        "distribution (naive Bayes)": (find_and_ask, None),
        "vote": (lambda segment, rows: segment.predict(rows, learners), None),
        "weigh, step, statistics": (learn, 1e300),
        "split tries and splits": (learn, None),
    }
    best = dict.fromkeys(runs, np.inf)
    for repeat in track(range(repeats + 1), name, console=console):
        for part, (run, grace) in runs.items():
            took = seconds(model.chain, X, k, run, grace)
            best[part] = min(best[part], took) if repeat else np.inf  # the first time it may be compiled
    scaled = [1e6 * value / len(y) / learners for value in best.values()]
    forest = model.chain.segments[0].learners.forest
    leaves = int(forest.used[N_LEAVES])
    size = {"leaves per tree": leaves / learners, "bytes per leaf": nbytes(forest)["used"] / leaves}
    return {**dict(zip(runs, np.diff(scaled, prepend=0.0), strict=True)), "all": scaled[-1], **size}


@click.command()
@click.option("--streams", default="synthetic,electricity,movement,isolet", show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--repeats", default=REPEATS, show_default=True, type=click.IntRange(1), help="The least time counts.")
def main(streams: str, learners: int, repeats: int) -> None:
    """Print what each part of learning costs."""
    console = Console(stderr=True)
    columns = {}
    for name in streams.split(","):
        try:
            columns[name] = parts(name, learners, console, repeats)
        except DataError as error:
            console.print(f"[yellow]{name} left out:[/] {error}", highlight=False)
    table = Table("us per example and learner", *columns, title=f"the last {BLOCK} examples, {learners} learners")
    for part in next(iter(columns.values()), {}):
        digits = 0 if "per" in part else 3
        table.add_row(part, *(f"{column[part]:,.{digits}f}" for column in columns.values()))
    Console(width=max(100, Console().width)).print(table)


if __name__ == "__main__":
    main()
