"""OnlineBoostClassifier beside AdaBoostOLM: accuracy over all rows and the last fifth, processor time, memory.

    python benchmarks/flagship.py                                   all sets, three orders each
    python benchmarks/flagship.py --datasets car,mice --orders 10
    python benchmarks/flagship.py --model online-boost:25 --model adaboost-olm:100 --out runs.jsonl
    python benchmarks/flagship.py --model "least-squares cosines=False" --model adaboost-olm:5/eager-trees

`name:n` is a model with n learners, to which settings may be added; the weak learner comes after a slash. Order o is
the data set shuffled with seed o, run by a model with seed o; of streams in the order of time the model's seed alone
differs. Each run is a line of the file `--out`. Runs that are in it already are not done again, so it can be stopped at
any time.
"""

from __future__ import annotations

import ast
import json
import math
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlineboost import load_dataset, lookup, prequential
from onlineboost.data.errors import DataError
from onlineboost.evaluation import warm_up

# How many rows of each set; None: all.
SETS: dict[str, int | None] = {
    "segment": None,
    "waveform": None,
    "balance": None,
    "car": None,
    "nursery": None,
    "mice": None,
    "isolet": None,
    "keystroke": None,
    "electricity": None,
    "covertype": 20_000,
    "synthetic": 20_000,
    "synthetic-abrupt": None,
}
MODELS = ("online-boost", "adaboost-olm")


def one(name: str, rows: int | None, order: int, model: str) -> dict[str, Any]:
    """One run: a line of the file."""
    data = load_dataset(name)
    data = data.shuffled(order) if data.order == "shuffle" else data
    rows = min(rows or len(data.y), len(data.y))
    X, y = data.X[:rows], data.y[:rows]
    warm_up(make(model, order))
    clf = make(model, order)
    began = time.process_time()
    result = prequential(clf, X, y)
    seconds = time.process_time() - began
    return {
        "set": name,
        "rows": rows,
        "order": order,
        "model": model,
        "all": result.accuracy,
        "last": result.tail_accuracy(),
        "us": 1e6 * seconds / rows,
        "mb": clf.nbytes_ / 1e6,
    }


def make(model: str, seed: int) -> Any:
    own, _, learner = model.partition("/")
    name, *given = own.split()
    name, _, n_learners = name.partition(":")
    settings = {key: ast.literal_eval(value) for key, value in (pair.split("=") for pair in given)}
    if learner:
        settings["learner"] = make(learner, seed)
    return lookup.make(name, n_learners=int(n_learners) if n_learners else None, random_state=seed, **settings)


def key(line: dict[str, Any]) -> tuple[str, int | None, int, str]:
    return line["set"], line["rows"], line["order"], line["model"]


def summary(lines: Iterable[dict[str, Any]]) -> dict[tuple[str, str], dict[str, float]]:
    """Means over the orders (of times, medians) and the standard errors of the accuracies, by set and model."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for line in lines:
        groups.setdefault((line["set"], line["model"]), []).append(line)
    out = {}
    for group, members in groups.items():
        means = {name: float(np.mean([line[name] for line in members])) for name in ("all", "last", "mb")}
        means["us"] = float(np.median([line["us"] for line in members]))
        for name, of in (("error", "all"), ("last error", "last")):
            values = [line[of] for line in members]
            means[name] = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
        out[group] = {**means, "orders": len(members)}
    return out


def show(found: dict[tuple[str, str], dict[str, float]], models: Iterable[str]) -> None:
    table = Table("set", "model", "orders", "all rows", "±", "last 20 %", "±", "us per row", "MB")
    for (name, model), row in found.items():
        shares = [f"{row[of]:.4f}" for of in ("all", "error", "last", "last error")]
        table.add_row(name, model, f"{row['orders']:.0f}", *shares, f"{row['us']:.0f}", f"{row['mb']:.1f}")
    for model in models:
        rows = [row for (_, own), row in found.items() if own == model]
        if rows:
            mean = [f"{np.mean([row[name] for row in rows]):.4f}" for name in ("all", "last")]
            us = f"{np.median([row['us'] for row in rows]):.0f}"
            table.add_row("mean (us: median)", model, "", mean[0], "", mean[1], "", us, "")
    Console(width=max(100, Console().width)).print(table)


@click.command()
@click.option("--model", "models", multiple=True, default=MODELS, help="Repeat for several.", show_default=True)
@click.option("--datasets", default=",".join(SETS), help="Comma-separated; name:rows for the first rows of one.")
@click.option("--orders", default=3, show_default=True)
@click.option("--first-order", default=0, show_default=True, help="Seed of the first order; others for tuning.")
@click.option("--out", default="flagship.jsonl", type=click.Path(path_type=Path), show_default=True)
def main(models: tuple[str, ...], datasets: str, orders: int, first_order: int, out: Path) -> None:
    """Run what is not yet in the file, then print a table of all that is."""
    done = {key(line): line for line in map(json.loads, out.read_text().splitlines())} if out.exists() else {}
    work = []
    for given in datasets.split(","):
        name, _, rows = given.partition(":")
        try:
            data = load_dataset(name)
        except DataError as error:
            Console(stderr=True).print(f"[yellow]{name} left out:[/] {error}", highlight=False)
            continue
        most = min(int(rows) if rows else SETS.get(name) or len(data.y), len(data.y))
        work += [(name, most, order, model) for order in range(first_order, first_order + orders) for model in models]
    for run in track(work, console=Console(stderr=True)):
        if run not in done:
            done[run] = one(*run)
            with out.open("a") as file:
                file.write(json.dumps(done[run]) + "\n")
    show(summary(done[run] for run in work), models)


if __name__ == "__main__":
    main()
