"""The figures of runs as tables: accuracy and time, what else there is to know of the predictions, and each class."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onlineboost.cli.common import visible
from onlineboost.evaluation.metrics import METRICS, Metrics
from onlineboost.evaluation.records import critical_difference, mean_ranks
from onlineboost.evaluation.results import Tally

MEASURES = {name: metric.heading for name, metric in METRICS.items() if metric.about} | {"cost": "cost"}  # printed
WHAT = (
    "accuracy: an interval of 95 %. balanced, F1: means over the classes. kappa: 0 is guessing, 1 all right. log loss, "
    "ECE: of the probabilities, 0 is best. docs/metrics.md tells more."
)


def measures(result: Tally, cost_matrix: Mapping[Any, Any] | None, per_class: bool) -> dict[str, Any]:
    """What a row of JSON has besides accuracy and time."""
    low, high = result.accuracy_interval()
    told: dict[str, Any] = {"accuracy_interval": None if math.isnan(low) else [low, high]}
    told |= {name: value for name, value in result.metrics.as_dict().items() if name != "accuracy"}
    if cost_matrix is not None:
        told["cost"] = result.metrics.cost(cost_matrix)
    if per_class:
        told["per_class"] = result.metrics.per_class()
        told["confusion"] = result.metrics.confusion.tolist()
    return told


def print_accuracy(console: Console, rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Accuracy and time of every model; the best on the last fifth stands out."""
    table = Table(title=title)
    for heading in ("model", "accuracy", "last 20 %", "wall seconds", "examples/s"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    best = max(row["tail_accuracy"] for row in rows)
    for row in rows:
        style = "bold green" if row["tail_accuracy"] == best else ""
        figures = (f"{row['accuracy']:.4f}", f"{row['tail_accuracy']:.4f}", f"{row['seconds']:.2f}")
        table.add_row(row["model"], *figures, f"{row['examples_per_second']:,.0f}", style=style)
    console.print(table)


def print_ranks(scores: Mapping[str, Mapping[str, float]]) -> None:
    """The mean ranks of the models over several streams, and how far apart is more than chance."""
    ranks, n = mean_ranks(scores)
    distance = critical_difference(len(ranks), n)
    first = min(ranks.values())
    table = Table(title=f"mean rank by accuracy on the last 20 %, over {n} streams; 1 is best")
    for heading in ("model", "mean rank", "behind the first?"):
        table.add_column(heading, justify="right" if heading == "mean rank" else "left")
    for model, rank in ranks.items():
        behind = "" if rank == first else "yes" if rank - first > distance else "not clear"
        table.add_row(model, f"{rank:.2f}", behind)
    table.caption = f"Ranks closer than {distance:.2f} cannot be told apart (critical difference, Nemenyi, 95 %)."
    Console().print(table)


def print_measures(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """The other metrics of every model."""
    names = [name for name in MEASURES if any(row.get(name) is not None for row in rows)]
    table = Table(title="over all examples", caption=WHAT, box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("model")
    table.add_column("accuracy", justify="right", no_wrap=True)
    for name in names:
        table.add_column(MEASURES[name], justify="right", no_wrap=True)
    for row in rows:
        ends = row["accuracy_interval"]
        accuracy = f"{ends[0]:.3f}-{ends[1]:.3f}" if ends else f"{row['accuracy']:.3f}"
        table.add_row(row["model"], accuracy, *(_number(row.get(name)) for name in names))
    console.print(table)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def print_classes(console: Console, name: str, metrics: Metrics) -> None:
    """Precision, recall and F1 of each class, the most frequent first."""
    what = "recall: share of its examples that were found. precision: share of its predictions that were right"
    table = Table(title=f"{name}: each class", caption=what)
    for heading in ("class", "precision", "recall", "F1", "examples", "predicted"):
        table.add_column(heading, justify="left" if heading == "class" else "right")
    for one in sorted(metrics.per_class(), key=lambda one: -one["rows"]):
        figures = (f"{one[rate]:.3f}" for rate in ("precision", "recall", "f1"))
        table.add_row(escape(visible(str(one["label"]))), *figures, f"{one['rows']:,.0f}", f"{one['predicted']:,.0f}")
    console.print(table)
