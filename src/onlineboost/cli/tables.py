"""The figures of models as tables in the terminal: a rare class first, then accuracy and time, then other metrics."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape

from onlineboost.cli.main import text_table, visible
from onlineboost.evaluation.metrics import METRICS, Metrics, critical_difference, mean_ranks

SHOWN = {name: metric.heading for name, metric in METRICS.items() if metric.about}  # JSON has more
SHOWN |= {"cost": "cost", "coverage": "coverage", "mean_set_size": "set size"}
WHAT = (
    "balanced, F1, AUC: means over the classes; AP: without the most frequent. kappa: 0 is guessing, 1 all right. "
    "AUC: 0.5 is guessing. log loss, ECE: of the probabilities, 0 is best. docs/measure.md tells more."
)

COMPACT: Any = {"box": SIMPLE_HEAD, "padding": (0, 1, 0, 0)}


def print_accuracy(console: Console, rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Accuracy and time of every model; the best on the last fifth stands out."""
    acts = any("actions_right" in row for row in rows)
    headings = ("model", "accuracy", "actions" if acts else "95 %", "last 20 %", "wall seconds", "per second")
    table = text_table(headings, left=("model",), title=title)
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    best = max(row["tail_accuracy"] for row in rows)
    for row in rows:
        style = "bold green" if row["tail_accuracy"] == best else ""
        acted = f"{row['actions_right']:.4f}" if "actions_right" in row else ""
        beside = acted if acts else _ends(row["accuracy_interval"])
        figures = (f"{row['accuracy']:.4f}", beside, f"{row['tail_accuracy']:.4f}",
                   f"{row['seconds']:.2f}")  # fmt: skip
        table.add_row(row["model"], *figures, f"{row['examples_per_second']:,.0f}", style=style)
    console.print(table)


def _ends(interval: Sequence[float] | None, style: str = ".3f") -> str:
    return (", " if "+" in style else "-").join(f"{end:{style}}" for end in interval or ())


def print_rare(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """Who finds the rare class: of all, this comes first."""
    if not rows or rows[0]["metrics"].rare is None:
        return
    label, share = escape(visible(str(rows[0]["ranking"]["label"]))), rows[0]["ranking"]["share"]
    caption = (
        f"AUC: how often a row of {label} gets a higher score than another; 0.5 is guessing. AP, average precision: "
        f"{share:.3f} is guessing. right, found: precision and recall of {label} in the 1 % of the rows with the "
        f"highest scores. ≈: to within 1 % of the rows."
    )
    several = any("roc_auc_to_best" in row["ranking"] for row in rows)
    headings = ("model", "\nAUC", "to the\nbest" if several else "\n95 %", "\nAP", "≈ last 20 %\nAUC", "\nAP",
                "top 1 %\nright", "\nfound")  # fmt: skip
    title = f"the rare class {label}: {share:.2%} of the examples"
    table = text_table(headings, left=("model",), title=title, caption=caption, **COMPACT)
    table.columns[0].no_wrap = table.columns[2].no_wrap = True
    for row in rows:
        found, top = row["ranking"], row["ranking"]["top"]["0.01"]
        values = (found["roc_auc"], found["average_precision"], found["tail"]["roc_auc"],
                  found["tail"]["average_precision"], top["precision"], top["recall"])  # fmt: skip
        auc, *others = ("" if value is None else f"{value:.3f}" for value in values)
        to_best = found.get("roc_auc_to_best")
        ends = _ends(to_best, "+.3f") if several else _ends(found["roc_auc_interval"])
        table.add_row(row["model"], auc, ends, *others)
    console.print(table)


def print_metrics(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """The other metrics of every model."""
    names = [name for name in SHOWN if any(row.get(name) is not None for row in rows)]
    headings = ("model", *(SHOWN[name] for name in names))
    table = text_table(headings, left=("model",), title="over all examples", caption=WHAT, **COMPACT)
    for column in table.columns[1:]:
        column.no_wrap = True
    for row in rows:
        values = (row.get(name) for name in names)
        table.add_row(row["model"], *("" if value is None else f"{value:.3f}" for value in values))
    console.print(table)


def print_classes(console: Console, name: str, metrics: Metrics) -> None:
    """Precision, recall and F1 of each class, the most frequent first."""
    what = "recall: share of its examples that were found. precision: share of its predictions that were right"
    headings = ("class", "precision", "recall", "F1", "AUC", "AP", "examples", "predicted")
    table = text_table(headings, left=("class",), title=f"{name}: each class", caption=what)
    for one in sorted(metrics.per_class(), key=lambda one: -one["rows"]):
        rates = (one[rate] for rate in ("precision", "recall", "f1", "roc_auc", "average_precision"))
        figures = ("" if rate is None else f"{rate:.3f}" for rate in rates)
        table.add_row(escape(visible(str(one["label"]))), *figures, f"{one['rows']:,.0f}", f"{one['predicted']:,.0f}")
    console.print(table)


def print_ranks(scores: Mapping[str, Mapping[str, float]]) -> None:
    """The mean ranks of the models over several streams, and how far apart is more than chance."""
    ranks, n = mean_ranks(scores)
    distance = critical_difference(len(ranks), n)
    first = min(ranks.values())
    title = f"mean rank by accuracy on the last 20 %, over {n} streams; 1 is best"
    table = text_table(("model", "mean rank", "behind the first?"), left=("model", "behind the first?"), title=title)
    for model, rank in ranks.items():
        behind = "" if rank == first else "yes" if rank - first > distance else "not clear"
        table.add_row(model, f"{rank:.2f}", behind)
    table.caption = f"Ranks closer than {distance:.2f} cannot be told apart (critical difference, Nemenyi, 95 %)."
    Console().print(table)


def print_tuned(found: Any, title: str) -> None:
    """The models in the order in which they dropped out, the last one first, and what each was judged by."""
    names = list(found.settings)
    table = text_table((*names, found.score, "rows"), title=escape(visible(title)))
    shown: list[Any] = []
    for look in reversed(found.rounds):
        for settings, value in look.scores:
            if settings not in shown:
                shown.append(settings)
                style = "bold green" if settings == found.settings else ""
                cells = (str(settings[name]) for name in names)
                table.add_row(*cells, f"{value:.4f}", f"{look.rows:,}", style=style)
    console = Console()
    console.print(table)
    told = ", ".join(f"{name}={found.settings[name]!r}" for name in names)
    line = f"Chosen: {told}. Following the current leader would have given an accuracy of {found.own.accuracy:.4f}."
    console.print(line, highlight=False)
