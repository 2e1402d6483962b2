"""What `run` and `compare` do: models over a stream, and their figures as tables, JSON or a page."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.table import Table as TextTable

from onlineboost.cli.main import (
    BASELINES,
    address_of,
    check_writable,
    err,
    make_model,
    progress_bar,
    text_table,
    visible,
)
from onlineboost.cli.sources import Stream
from onlineboost.data.table import Block
from onlineboost.evaluation.metrics import METRICS, Metrics
from onlineboost.evaluation.prequential import Record, Recorder, observe, warm_up
from onlineboost.evaluation.results import Tally, critical_difference, mean_ranks
from onlineboost.evaluation.resumable import Checkpoints, Predictions, resumable
from onlineboost.evaluation.runner import Progress, predict_then_learn
from onlineboost.report.charts import need_drawing
from onlineboost.theory.guarantee import guarantee

SHOWN = {name: metric.heading for name, metric in METRICS.items() if metric.about} | {"cost": "cost"}  # JSON has more
WHAT = (
    "accuracy: an interval of 95 %. balanced, F1: means over the classes. kappa: 0 is guessing, 1 all right. log loss, "
    "ECE: of the probabilities, 0 is best. docs/metrics.md tells more."
)

Ran = tuple[str, Any, Tally, Record | None]  # name, model, its figures, and its record if a page is to be drawn


def run_models(
    stream: Stream,
    names: list[str],
    settings: dict[str, Any],
    as_json: bool,
    report: Path | None = None,
    verbose: bool = False,
    keep: Outputs | None = None,
) -> dict[str, float]:
    """Run the models over the stream, and print what came of it; draw it to `report`.

    With `keep`, the first of them is the one that counts, and the others are baselines, which go along on the same
    blocks. Without, they run one after the other. Returns the accuracy of each on the last 20 %.
    """
    if report is not None:
        need_drawing()
    together = keep is not None and stream.delay is None  # rows that wait for their labels wait beside one model alone
    _warm_up(names, settings)
    ran: list[Ran] = []
    rows = TextColumn("{task.fields[rows]:>12,} rows")  # of one width, as are all columns: nothing moves but the bar
    columns = (TextColumn("{task.description:<18}"), BarColumn(), rows, TimeRemainingColumn())
    with progress_bar(*columns, disable=as_json or stream.is_live) as bar:
        for group in [names] if together else [[name] for name in names]:
            task = bar.add_task(group[0], total=None, rows=0)

            def show(seen: int, share: float, task: Any = task) -> None:
                share = min(1.0, seen / stream.limit) if stream.limit else share
                bar.update(task, completed=share, total=1.0 if share else None, rows=seen)

            ran += _one_pass(stream, group, settings, keep or Outputs(), report is not None, show)
    if stream.is_live:
        stream.classes = list(getattr(ran[0][1], "classes_", []))
    figures = [_figures(name, model, tally, stream, settings) for name, model, tally, _ in ran]
    _print(stream, figures, as_json, settings, verbose, to=err if stream.is_live else None)
    if report is not None:
        drawn = [(name, tally.accuracy_interval(), record) for name, _, tally, record in ran if record is not None]
        records = [{"dataset": stream.source, "system": name, "interval": ends, **r} for name, ends, r in drawn]
        _write_page(stream, records, settings, report)
    return {row["model"]: row["tail_accuracy"] for row in figures}


def _warm_up(names: list[str], settings: dict[str, Any]) -> None:
    any_labels = {name: value for name, value in settings.items() if name not in ("class_weight", "cost_matrix")}
    for name in set(names) - set(BASELINES):
        warm_up(make_model(name, **any_labels))


def _one_pass(
    stream: Stream, names: list[str], settings: dict[str, Any], keep: Outputs, drawn: bool, progress: Progress
) -> list[Ran]:
    """Read the stream once: the first model runs over it, and the others, which are baselines, beside it."""
    name, model = names[0], make_model(names[0], **settings)
    beside = {other: Recorder(make_model(other, **settings)) for other in names[1:]}
    blocks = _passing(stream.blocks(snapshots=drawn), beside.values())
    record: Record | None = None
    if drawn or stream.delay is not None:
        run = partial(observe, snapshots=drawn, delay=stream.delay, proba=stream.proba, progress=progress)
        tally, record = run(model, blocks, stream.classes)
        if keep.save is not None:
            model.save(keep.save)
    else:
        printed = Predictions(sys.stdout) if stream.is_live and keep.out is None else None
        model, tally = keep.run(model, stream, blocks, progress, printed)
    others = [(other, one.model, one.tally, one.record(len(stream.classes))) for other, one in beside.items()]
    return [(name, model, tally, record if drawn else None), *others]


def _passing(blocks: Iterable[Block], others: Iterable[Recorder]) -> Iterator[Block]:
    """The blocks, each of which the others learn as it goes by: so a pipe is enough, and a file is read once."""
    for block in blocks:
        for other in others:
            other.add(*predict_then_learn(other.model, [block]))
        yield block


def _figures(name: str, model: Any, tally: Tally, stream: Stream, settings: dict[str, Any]) -> dict[str, Any]:
    """All figures of a model: a row of the tables, and of the JSON."""
    low, high = tally.accuracy_interval()
    out: dict[str, Any] = {
        "model": name,
        "examples": len(tally),
        "accuracy": tally.accuracy,
        "tail_accuracy": tally.tail_accuracy(0.2),
        "seconds": tally.seconds,
        "examples_per_second": tally.examples_per_second,
        "accuracy_interval": None if math.isnan(low) else [low, high],
        **{name: value for name, value in tally.metrics.as_dict().items() if name != "accuracy"},
        "metrics": tally.metrics,
    }
    if "cost_matrix" in settings:
        out["cost"] = tally.metrics.cost(settings["cost_matrix"])
    if stream.per_class:
        out |= {"per_class": tally.metrics.per_class(), "confusion": tally.metrics.confusion.tolist()}
    # The theorems are about labels that come at once.
    if stream.delay is None and (promised := guarantee(model, tally.mistakes)):
        out["guarantee"] = promised
    return out


@dataclass(frozen=True)
class Outputs:
    """What is to be kept of a run, and where it learns."""

    save: Path | None = None
    out: Path | None = None
    checkpoint: Path | None = None
    every: str = "10000"
    resume: bool = False
    ray: str | None = None  # the cluster to learn on, as `ray_option` has it
    segments: int = 2

    def __bool__(self) -> bool:
        return any((self.save, self.out, self.checkpoint, self.ray))

    @property
    def only_saves(self) -> bool:
        """Whether nothing has to be done along the way."""
        return not any((self.out, self.checkpoint, self.ray))

    def check(self, model: str) -> None:
        """What would go wrong at the end of a long run is told before it."""
        if self.resume and self.checkpoint is None:
            raise click.BadParameter("it needs --checkpoint DIR, the folder of the run", param_hint="--resume")
        if model in BASELINES and (self.save or self.checkpoint or self.ray):
            option = "--ray" if self.ray else "--save" if self.save else "--checkpoint"
            message = f"{model} is a baseline: it cannot be saved, checkpointed or run on a cluster"
            raise click.BadParameter(message, param_hint=option)
        if self.save is not None:
            check_writable(self.save, "--save")
        if self.out is not None and not self.resume:
            check_writable(self.out, "--out")
        if self.checkpoint is not None:
            found = Checkpoints(self.checkpoint, self.every, {}).paths()
            if found and not self.resume:
                raise click.BadParameter(
                    f"there are checkpoints of a run in {visible(str(self.checkpoint))}: go on with --resume, or name "
                    f"another folder",
                    param_hint="--checkpoint",
                )
            if self.resume and not found:
                err.print("There is no checkpoint yet: starting at the first row.", highlight=False)

    def run(
        self, model: Any, stream: Stream, blocks: Iterator[Block], progress: Progress, printed: Predictions | None
    ) -> tuple[Any, Tally]:
        """Run a model over the blocks of a stream, and keep of it what is asked for; or print its predictions."""
        out: Path | Predictions | None = self.out or printed
        if self.out and self.checkpoint is None and stream.is_live:
            out = Predictions(self.out)  # a pipe may never end: nothing could take the place of the file then
        model, tally = resumable(
            model,
            blocks,
            self.checkpoint,
            every=self.every,
            classes=stream.classes or None,
            out=out,
            about=stream.about(),
            proba=stream.proba,
            progress=progress,
            cluster=self._cluster(),
        )
        if self.save is not None:
            model.save(self.save)
        return model, tally

    def _cluster(self) -> Callable[[Any], Any] | None:
        """What makes a cluster of a model, if there is to be one."""
        if self.ray is None:
            return None
        from onlineboost.cluster import Cluster

        return partial(Cluster, segments=self.segments, address=address_of(self.ray))


# ------------------------------------------------------------------------------------------------------- printing


def _print(
    stream: Stream,
    rows: list[dict[str, Any]],
    as_json: bool,
    settings: dict[str, Any],
    verbose: bool,
    to: Console | None = None,
) -> None:
    """Print the figures; `to` another console, if predictions go where they would go."""
    if as_json:
        for row in rows:
            del row["metrics"]
            if "guarantee" in row:
                row["guarantee"] = row["guarantee"].as_dict()
        answer = {
            "source": stream.source,
            "target": stream.labels,
            "classes": stream.classes,
            **settings,
            "results": rows,
        }
        click.echo(json.dumps(answer, indent=2, default=str), err=to is not None)
        return
    console = to or Console()
    size = f"{rows[0]['examples']:,} examples, {len(stream.classes)} classes"
    _print_accuracy(console, rows, f"{escape(visible(stream.source))}: {size}, {stream.how}")
    _print_metrics(console, rows)
    for row in rows:
        if stream.per_class and row["model"] not in BASELINES:
            _print_classes(console, row["model"], row["metrics"])
    for row in rows:
        if "guarantee" in row and len(rows) <= 1 + len(BASELINES):  # `run`, not `compare`
            promised = row["guarantee"]
            sure = f"with probability {1 - promised.delta:.0%}" if promised.delta else "always"
            table = TextTable(title=f"{row['model']}: what its theorem guarantees, {sure}", show_header=False)
            for line in promised.lines(verbose):
                table.add_row(*line)
            console.print(table)


def _print_accuracy(console: Console, rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """Accuracy and time of every model; the best on the last fifth stands out."""
    headings = ("model", "accuracy", "last 20 %", "wall seconds", "examples/s")
    table = text_table(headings, left=("model",), title=title)
    best = max(row["tail_accuracy"] for row in rows)
    for row in rows:
        style = "bold green" if row["tail_accuracy"] == best else ""
        figures = (f"{row['accuracy']:.4f}", f"{row['tail_accuracy']:.4f}", f"{row['seconds']:.2f}")
        table.add_row(row["model"], *figures, f"{row['examples_per_second']:,.0f}", style=style)
    console.print(table)


def _print_metrics(console: Console, rows: Sequence[Mapping[str, Any]]) -> None:
    """The other metrics of every model."""
    names = [name for name in SHOWN if any(row.get(name) is not None for row in rows)]
    headings = ("model", "accuracy", *(SHOWN[name] for name in names))
    look: Any = {"title": "over all examples", "caption": WHAT, "box": SIMPLE_HEAD, "padding": (0, 1, 0, 0)}
    table = text_table(headings, left=("model",), **look)
    for column in table.columns[1:]:
        column.no_wrap = True
    for row in rows:
        ends = row["accuracy_interval"]
        accuracy = f"{ends[0]:.3f}-{ends[1]:.3f}" if ends else f"{row['accuracy']:.3f}"
        values = (row.get(name) for name in names)
        table.add_row(row["model"], accuracy, *("" if value is None else f"{value:.3f}" for value in values))
    console.print(table)


def _print_classes(console: Console, name: str, metrics: Metrics) -> None:
    """Precision, recall and F1 of each class, the most frequent first."""
    what = "recall: share of its examples that were found. precision: share of its predictions that were right"
    headings = ("class", "precision", "recall", "F1", "examples", "predicted")
    table = text_table(headings, left=("class",), title=f"{name}: each class", caption=what)
    for one in sorted(metrics.per_class(), key=lambda one: -one["rows"]):
        figures = (f"{one[rate]:.3f}" for rate in ("precision", "recall", "f1"))
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


def _write_page(stream: Stream, records: list[Record], settings: dict[str, Any], path: Path) -> None:
    from onlineboost.report.charts import comparison_page

    about = f"{records[0]['rows']:,} examples, {len(stream.classes)} classes, {stream.how}; "
    if "learners" in settings:
        about += f"{settings['learners']} learners, "
    about += f"seed {settings['seed']}"
    name = stream.source if stream.dataset is not None else Path(stream.source).name
    path.write_text(comparison_page(records, f"Models compared on {name}", about), encoding="utf-8")
    click.echo(f"wrote {visible(str(path))}", err=True)


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
