"""What one row takes: median time to predict it and then learn it, beside river, and what is not spent in trees.

    python benchmarks/single_row.py
    python benchmarks/single_row.py --rows 5000 --json out.json
    python benchmarks/single_row.py --flagship --after 2000
    python benchmarks/single_row.py --flagship --after 100000 --no-river

The stream is the 5-class, 10-column synthetic one; the first half of the rows warms the models up and is not timed. All
models take turns, 100 rows each, so that what disturbs one disturbs all, and medians are compared. River is left out
where it is not installed.

The second table is what remains of a row where the tree is a single leaf with next to nothing to do, for a mapping of
10 names and for a sequence: the *fixed cost*. The rest, divided by the number of trees, is the time of a tree.

--flagship: OnlineBoostClassifier and AdaBoostOLM, plain and with costs, calibration and late labels, beside river's
adaptive random forest, aggregated Mondrian forest and streaming random patches with 10 and 100 learners, after so many
rows have been learned. Ours are also given the same rows in a block, and `limit` is 1.3 times that, plus 15 us.
"""

from __future__ import annotations

import json
import time
from copy import deepcopy
from pathlib import Path
from typing import Any

import click
import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table
from sklearn.base import clone

from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, load_dataset

STRETCH = 100  # rows that one model takes before it is another one's turn
TRIVIAL = HoeffdingTree(grace_period=1e9, leaf_prediction="majority")


def ours() -> dict[str, Any]:
    """Our classifiers, by name."""
    boosters = {f"AdaBoostOLM, {n} tree{'s' * (n > 1)}": AdaBoostOLM(n) for n in (1, 10, 100)}
    return {"HoeffdingTree": HoeffdingTree(), **boosters}


def rivers() -> dict[str, Any]:
    """Those of river, by name; none if it is not installed."""
    try:
        from river import ensemble, tree
    except ImportError:
        return {}
    single = tree.HoeffdingTreeClassifier()
    boosted = ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(), n_models=10, seed=1)
    return {"river HoeffdingTreeClassifier": single, "river AdaBoostClassifier, 10 trees": boosted}


class Late:
    """A classifier that gets the label of a row by its ticket, right after the prediction."""

    def __init__(self, model: Any) -> None:
        self.model, self.ticket = model, ""

    def partial_fit(self, X: Any, y: Any) -> None:
        self.model.partial_fit(X, y)

    def predict_one(self, x: Any) -> Any:
        label, self.ticket = self.model.predict_pending(x)
        return label

    def learn_one(self, x: Any, y: Any) -> None:
        self.model.learn_pending(self.ticket, y)


def flagships() -> dict[str, Any]:
    """What single rows of ours are asked for, by name."""
    costs = {0: {1: 5.0}}
    return {
        "OnlineBoostClassifier": OnlineBoostClassifier(),
        "... class_weight": OnlineBoostClassifier(class_weight="balanced"),
        "... cost_matrix": OnlineBoostClassifier(cost_matrix=costs),
        "... late labels": Late(OnlineBoostClassifier()),
        "AdaBoostOLM": AdaBoostOLM(),
        "AdaBoostOLM class_weight": AdaBoostOLM(class_weight="balanced"),
        "AdaBoostOLM calibrate": AdaBoostOLM(calibrate=True),
    }


def forests() -> dict[str, Any]:
    """River's ensembles with 10 and 100 learners."""
    try:
        from river import ensemble, forest, tree
    except ImportError:
        return {}
    made: dict[str, Any] = {}
    for n in (10, 100):
        made[f"river ARF, {n}"] = forest.ARFClassifier(n_models=n, seed=1)
        made[f"river AMF, {n}"] = forest.AMFClassifier(n_estimators=n, seed=1)
        made[f"river SRP, {n}"] = ensemble.SRPClassifier(tree.HoeffdingTreeClassifier(), n_models=n, seed=1)
    return made


def one_by_one(model: Any, rows: list[Any], labels: list[Any]) -> np.ndarray:
    """Microseconds of (predict, learn) for each of the rows."""
    clock, times = time.perf_counter_ns, np.zeros((len(rows), 2))
    for b, (x, y) in enumerate(zip(rows, labels, strict=True)):
        start = clock()
        model.predict_one(x)
        between = clock()
        model.learn_one(x, y)
        times[b] = between - start, clock() - between
    return times / 1e3


def stream(rows: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Normal numbers in 10 columns, and which of 5 noisy sums of them is the largest."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 10))
    y = (X @ rng.normal(size=(10, 5)) + rng.normal(size=(rows, 5))).argmax(axis=1)
    return pd.DataFrame(X, columns=[f"x{c}" for c in range(10)]), y


def measure_flagship(after: int, timed: int, river: bool, console: Console) -> None:
    """The table of --flagship."""
    block, y = stream(after + timed)
    rows, labels = block[after:].to_dict("records"), y[after:].tolist()
    table = Table(f"after {after:,} rows (us)", "predict", "learn", "both", "p99", "mean", "in a block", "limit")
    for name, model in flagships().items():
        beside = deepcopy(model)
        for one in (model, beside):
            one.partial_fit(block[:after], y[:after])
        times = one_by_one(model, rows, labels)
        start = time.process_time()
        beside.partial_fit(block[after:], y[after:])
        cost = 1e6 * (time.process_time() - start) / timed
        both = times.sum(axis=1)
        figures = *medians(times), np.percentile(both, 99), both.mean(), cost, 1.3 * cost + 15.0
        table.add_row(name, *(f"{value:.1f}" for value in figures))
    for name, model in (forests() if river else {}).items():
        console.print(f"{name} ...", style="dim")
        before = block[:after].to_dict("records")
        for x, label in zip(before, y[:after].tolist(), strict=True):
            model.learn_one(x, label)
        few = one_by_one(model, rows[: max(200, timed // 10)], labels[: max(200, timed // 10)])
        figures = *medians(few), np.percentile(few.sum(axis=1), 99), few.sum(axis=1).mean()
        table.add_row(name, *(f"{value:.0f}" for value in figures), "", "")
    console.print(table)


def in_turns(models: dict[str, Any], rows: list[Any], labels: list[Any]) -> dict[str, np.ndarray]:
    """Microseconds of (predict, learn) for each of the rows after the first half, (rows, 2) by model."""
    half, clock = len(rows) // 2, time.perf_counter_ns
    times: dict[str, np.ndarray] = {name: np.zeros((len(rows), 2)) for name in models}
    for first in range(0, len(rows), STRETCH):
        for name, model in models.items():
            own = times[name]
            for b in range(first, min(first + STRETCH, len(rows))):
                start = clock()
                model.predict_one(rows[b])
                between = clock()
                model.learn_one(rows[b], labels[b])
                own[b] = between - start, clock() - between
    return {name: own[half:] / 1e3 for name, own in times.items()}


def medians(times: np.ndarray) -> tuple[float, float, float]:
    """Of predicting, learning, and both."""
    both = np.column_stack([times, times.sum(axis=1)])
    predict, learn, sum_of_both = np.median(both, axis=0)
    return float(predict), float(learn), float(sum_of_both)


def per_tree(both: dict[str, float], fixed: float) -> dict[str, float]:
    """Microseconds per tree, by name, from the medians of both."""
    trees = {"HoeffdingTree": 1} | {f"AdaBoostOLM, {n} tree{'s' * (n > 1)}": n for n in (1, 10, 100)}
    return {name: (both[name] - fixed) / n for name, n in trees.items() if name in both}


@click.command()
@click.option("--rows", default=6_000, show_default=True, type=click.IntRange(10), help="Rows, half of them timed.")
@click.option("--flagship", is_flag=True, help="The flagship beside river's ensembles.")
@click.option("--after", default=2_000, show_default=True, help="With --flagship: rows learned before.")
@click.option("--timed", default=3_000, show_default=True, help="With --flagship: rows timed.")
@click.option("--river/--no-river", default=True, help="With --flagship: river too.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(rows: int, flagship: bool, after: int, timed: int, river: bool, json_path: Path | None) -> None:
    """Measure what one row takes."""
    console = Console(width=max(110, Console().width))
    if flagship:
        measure_flagship(after, timed, river, console)
        return
    data = load_dataset("synthetic")
    matrix, labels = np.column_stack(data.X.columns)[:rows].tolist(), list(data.y[:rows])
    mappings = [dict(zip(data.X.names, row, strict=True)) for row in matrix]
    others = rivers()
    if not others:
        console.print("river is not installed: it is left out (pip install river)")
    models = {"trivial": clone(TRIVIAL), **ours(), **others}
    with console.status("models in turns ..."):
        figures = {name: medians(own) for name, own in in_turns(models, mappings, labels).items()}
        sequence = medians(in_turns({"trivial": clone(TRIVIAL)}, matrix, labels)["trivial"])
    fixed = {"mapping": figures.pop("trivial"), "sequence": sequence}
    trees = per_tree({name: own[2] for name, own in figures.items()}, fixed["mapping"][2])
    table = Table("model (medians in us)", "predict_one", "learn_one", "both", "fixed", "per tree")
    for name, own in figures.items():
        split = [f"{fixed['mapping'][2]:.1f}", f"{trees[name]:.1f}"] if name in trees else ["", ""]
        table.add_row(name, *(f"{value:.1f}" for value in own), *split)
    console.print(table)
    table = Table("fixed cost, one trivial tree (us)", "predict_one", "learn_one", "both")
    for what, own in fixed.items():
        table.add_row(what, *(f"{value:.1f}" for value in own))
    console.print(table)
    if json_path:
        json_path.write_text(json.dumps({"models": figures, "fixed": fixed, "per tree": trees}, indent=2))


if __name__ == "__main__":
    main()
