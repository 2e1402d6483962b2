"""Accuracy of the boosters on every data set at hand, over several orders of the rows, on all cores.

    python benchmarks/accuracy.py                          default settings
    python benchmarks/accuracy.py --settings paper         the paper's weak learners and weight scale
    python benchmarks/accuracy.py --datasets balance,car --orders 27 --model online-mbbm --model online-mbbm:0.1

Order o is the data set shuffled with seed o, run by a model with seed o. Streams with an order of their own run once.
"""

from __future__ import annotations

import json
from pathlib import Path

import click
import numpy as np
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlineboost import load_dataset, prequential
from onlineboost.datasets.catalogue import describe_datasets
from onlineboost_paper.tables import make_model

ONCE = ("isolet", "movement", "covertype", "shuttle")  # large: one order unless asked for
LEFT_OUT = ("nursery5", "isolet617")


def one(name: str, order: int, model: str, settings: str, learners: int) -> dict[str, float]:
    data = load_dataset(name)
    data = data.shuffled(order) if data.order == "shuffle" else data
    result = prequential(make_model(model, settings, learners, order), data.X, data.y)
    return {"tail": result.tail_accuracy(), "full": result.accuracy, "seconds": result.seconds}


@click.command()
@click.option(
    "--model", "models", multiple=True, default=["adaboost-olm"], help="Repeat for several; see `make_model`."
)
@click.option("--settings", default="default", type=click.Choice(["default", "paper"]), show_default=True)
@click.option("--datasets", default="", help="Comma-separated [default: all at hand].")
@click.option("--orders", default=9, show_default=True)
@click.option("--large-orders", default=1, show_default=True, help=f"Orders for {', '.join(ONCE)}.")
@click.option("--first-order", default=0, show_default=True, help="Seed of the first order; choose others for tuning.")
@click.option("--learners", default=100, show_default=True)
@click.option("--jobs", default=-1, show_default=True)
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write the figures to this file.")
def main(
    models: tuple[str, ...],
    settings: str,
    datasets: str,
    orders: int,
    large_orders: int,
    first_order: int,
    learners: int,
    jobs: int,
    json_path: Path | None,
) -> None:
    """Print mean and standard error of the accuracy for every data set."""
    known = {row["name"]: row for row in describe_datasets() if row["available"] and row["name"] not in LEFT_OUT}
    names = datasets.split(",") if datasets else list(known)
    work = []
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not at hand; set ONLINEBOOST_DATA. At hand: {', '.join(known)}")
        repeats = 1 if known[name]["order"] == "time" else large_orders if name in ONCE else orders
        work += [(name, model, order) for model in models for order in range(first_order, first_order + repeats)]
    for model in models:  # compile before the workers start
        one("balance", 0, model, settings, 1)
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    runs = parallel(delayed(one)(name, order, model, settings, learners) for name, model, order in work)
    console = Console(stderr=True)
    results: dict[str, list[dict[str, float]]] = {}
    for (name, model, _), result in zip(work, track(runs, total=len(work), console=console), strict=True):
        results.setdefault(f"{name} {model}", []).append(result)
    table = Table("data set", "model", "orders", "last 20 %", "±", "all", "seconds", title=f"{settings} settings")
    for name, rows in results.items():
        tail = np.array([row["tail"] for row in rows])
        error = f"{tail.std(ddof=1) / np.sqrt(len(tail)):.4f}" if len(tail) > 1 else ""
        full = np.mean([row["full"] for row in rows])
        seconds = np.mean([row["seconds"] for row in rows])
        table.add_row(*name.split(), str(len(rows)), f"{tail.mean():.4f}", error, f"{full:.4f}", f"{seconds:.1f}")
    Console(width=max(100, Console().width)).print(table)
    if json_path:
        json_path.write_text(json.dumps({"settings": settings, "learners": learners, "results": results}, indent=2))


if __name__ == "__main__":
    main()
