"""Speed beside river: examples per second, and microseconds per example and learner, in one run on one core.

    make bench                                       all streams at hand
    python benchmarks/speed.py --streams synthetic --learners 50 --json results.json

Ours is timed on the whole stream, river on its first rows (`--river-rows`): it is that much slower, and its cost per
example only grows as its trees do. Compare ratios: the machine is part of every number.
"""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import AdaBoostOLM, HoeffdingTree, load_dataset, prequential
from onlineboost.datasets import Dataset
from onlineboost.stream import DataError

PAPER_TREE = HoeffdingTree(max_features=1.0, leaf="majority", grace_period=(5, 20))


def time_default(data: Dataset, learners: int) -> tuple[float, float]:
    """(seconds, accuracy on the last 20 %) of Adaboost.OLM by default."""
    result = prequential(AdaBoostOLM(learners), data.X, data.y)
    return result.seconds, result.tail_accuracy()


def time_paper(data: Dataset, learners: int) -> tuple[float, float]:
    """The same with the paper's learners."""
    result = prequential(AdaBoostOLM(learners, learner=PAPER_TREE, weight_scale=(5, 200)), data.X, data.y)
    return result.seconds, result.tail_accuracy()


def time_river(data: Dataset, n_models: int) -> tuple[float, float]:
    """The same for river's AdaBoostClassifier over Hoeffding trees."""
    from river import ensemble, tree

    model = ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(), n_models=n_models, seed=0)
    columns = [column.tolist() for column in data.X.columns]
    rows = [dict(zip(data.X.names, values, strict=True)) for values in zip(*columns, strict=True)]
    right = np.zeros(len(rows), bool)
    start = time.perf_counter()
    for b, (x, y) in enumerate(zip(rows, data.y, strict=True)):
        right[b] = model.predict_one(x) == y
        model.learn_one(x, y)
    return time.perf_counter() - start, float(right[-len(rows) // 5 :].mean())


def part(data: Dataset, n: int) -> Dataset:
    return Dataset(data.name, data.X[:n], data.y[:n], data.classes, data.order, data.note)


@click.command()
@click.option("--streams", default="synthetic,movement", show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--river-learners", default=10, show_default=True)
@click.option("--river-rows", default=5_000, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(streams: str, learners: int, river_learners: int, river_rows: int, json_path: Path | None) -> None:
    """Time Adaboost.OLM beside river's AdaBoost on the same streams."""
    console = Console(width=max(110, Console().width))
    warm = load_dataset("balance")
    time_default(warm, 2)
    time_paper(warm, 2)
    figures = []
    for name in streams.split(","):
        try:
            data = load_dataset(name)
        except DataError as error:
            console.print(f"[yellow]{name} left out:[/] {error}", highlight=False)
            continue
        data = data.shuffled(0) if data.order == "shuffle" else data
        short = part(data, river_rows)
        ours, theirs = "onlineboost", "river AdaBoostClassifier"
        runs: list[tuple[str, int, Dataset, Callable[[Dataset, int], tuple[float, float]]]] = [
            (f"{ours}, default", learners, data, time_default),
            (f"{ours}, paper's settings", learners, data, time_paper),
            (f"{ours}, default, river's rows", learners, short, time_default),
            (theirs, river_learners, short, time_river),
        ]
        rows = []
        for system, n, stream, run in runs:
            with console.status(f"{name}: {system} ..."):
                seconds, accuracy = run(stream, n)
            examples = len(stream)
            rows.append(
                {
                    "stream": name,
                    "system": system,
                    "learners": n,
                    "examples": examples,
                    "seconds": seconds,
                    "examples_per_second": examples / seconds,
                    "us_per_example_and_learner": 1e6 * seconds / examples / n,
                    "tail_accuracy": accuracy,
                }
            )
        river = rows[-1]["us_per_example_and_learner"]
        title = f"{name}: {len(data.X.names)} columns, {len(data.classes)} classes"
        table = Table(
            "system", "learners", "examples", "examples/s", "us/(ex·learner)", "last 20 %", "× river", title=title
        )
        for row in rows:
            row["times_river"] = river / row["us_per_example_and_learner"]
            table.add_row(
                row["system"],
                str(row["learners"]),
                f"{row['examples']:,}",
                f"{row['examples_per_second']:,.0f}",
                f"{row['us_per_example_and_learner']:.3f}",
                f"{row['tail_accuracy']:.4f}",
                f"{row['times_river']:.0f}",
            )
        console.print(table)
        figures.extend(rows)
    if json_path:
        json_path.write_text(
            json.dumps({"machine": platform.processor() or platform.machine(), "runs": figures}, indent=2)
        )


if __name__ == "__main__":
    main()
