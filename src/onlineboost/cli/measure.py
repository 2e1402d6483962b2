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
    visible,
)
from onlineboost.cli.sources import Stream
from onlineboost.cli.tables import print_accuracy, print_classes, print_metrics, print_rare
from onlineboost.data.table import Block
from onlineboost.evaluation import ranking
from onlineboost.evaluation.bandit import BanditFeedback
from onlineboost.evaluation.prequential import Record, Recorder, observe, warm_up
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.resumable import TEXT, Checkpoints, Predictions, opened, replacing_text, resumable
from onlineboost.evaluation.runner import Progress, predict_then_learn
from onlineboost.report.charts import need_drawing
from onlineboost.theory.guarantee import guarantee

MOST_CONFUSED = 12  # classes of which a page shows which are taken for which

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
    _rank([tally for _, _, tally, _ in ran], figures)
    _print(stream, figures, as_json, settings, verbose, to=err if stream.is_live else None)
    if report is not None:
        records = [
            {
                "dataset": stream.source,
                "system": name,
                "interval": tally.accuracy_interval(),
                **record,
                **_drawn(tally, row),
            }
            for (name, _, tally, record), row in zip(ran, figures, strict=True)
            if record is not None
        ]
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
    if stream.exploration is not None and name not in BASELINES:
        model = BanditFeedback(model, stream.exploration, stream.unbiased)
    beside = {other: Recorder(make_model(other, **settings)) for other in names[1:]}
    blocks = _passing(stream.blocks(snapshots=drawn), beside.values())
    record: Record | None = None
    if drawn or stream.delay is not None:
        sets = stream.sets if hasattr(model, "sets") else None
        run = partial(observe, snapshots=drawn, delay=stream.delay, proba=stream.proba, sets=sets, progress=progress)
        with opened(keep.out, None, whole=True) as sink:
            told = None if sink is None else lambda step: sink.add(step.block.y, step.predictions)
            tally, record = run(model, blocks, stream.classes, told=told)
        if keep.save is not None:
            getattr(model, "model", model).save(keep.save)
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
    if isinstance(model, BanditFeedback):
        out["actions_right"], model = model.accuracy, model.model
    if tally.coverage is not None:
        out |= {"sets": stream.sets, "coverage": tally.coverage, "mean_set_size": tally.mean_set_size}
    if "cost_matrix" in settings:
        out["cost"] = tally.metrics.cost(settings["cost_matrix"])
    if stream.per_class:
        out |= {"per_class": tally.metrics.per_class(), "confusion": tally.metrics.confusion.tolist()}
    # The theorems are about labels that come at once.
    if stream.delay is None and (promised := guarantee(model, tally.mistakes)):
        out["guarantee"] = promised
    return out


def _rank(tallies: Sequence[Tally], rows: Sequence[dict[str, Any]]) -> None:
    """Add how each model ranks the rare class, and how far it is from the one with the best area."""
    ranked = []
    for tally, row in zip(tallies, rows, strict=True):
        if (label := ranking.class_in_front(tally.metrics)) is not None:
            row["ranking"] = ranking.figures(tally, label)
            ranked.append((tally, row["ranking"]))
    best = max(ranked, key=lambda one: one[1]["roc_auc"] or 0.0, default=(Tally(),))[0]
    for tally, found in ranked:
        if tally is not best:
            area = partial(ranking.area, label=found["label"])
            ends = tally.better_than(best, metric=area)
            found["roc_auc_to_best"] = None if math.isnan(ends[0]) else list(ends)


def _drawn(tally: Tally, row: Mapping[str, Any]) -> dict[str, Any]:
    """What a page has of single classes: which are confused, if they are few, and the ranking of a rare one."""
    metrics, out = tally.metrics, dict[str, Any]()
    if len(metrics.labels) <= MOST_CONFUSED and row["model"] not in BASELINES:
        out |= {"per_class": metrics.per_class(), "confusion": metrics.confusion.tolist()}
    if "ranking" in row and metrics.rare is not None:
        out["ranking"] = {**row["ranking"], "curves": ranking.curves(metrics.ranking(metrics.rare))}
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
            sets=stream.sets if hasattr(model, "sets") else None,
            progress=progress,
            cluster=self._cluster(),
        )
        if self.save is not None:
            getattr(model, "model", model).save(self.save)
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
    print_rare(console, [row for row in rows if "ranking" in row])
    print_accuracy(console, rows, f"{escape(visible(stream.source))}: {size}, {stream.how}")
    print_metrics(console, rows)
    for row in rows:
        if stream.per_class and row["model"] not in BASELINES:
            print_classes(console, row["model"], row["metrics"])
    for row in rows:
        if "guarantee" in row and len(rows) <= 1 + len(BASELINES):  # `run`, not `compare`
            promised = row["guarantee"]
            sure = f"with probability {1 - promised.delta:.0%}" if promised.delta else "always"
            table = TextTable(title=f"{row['model']}: what its theorem guarantees, {sure}", show_header=False)
            for line in promised.lines(verbose):
                table.add_row(*line)
            console.print(table)


def _write_page(stream: Stream, records: list[Record], settings: dict[str, Any], path: Path) -> None:
    from onlineboost.report.comparison import comparison_page

    about = f"{records[0]['rows']:,} examples, {len(stream.classes)} classes, {stream.how}; "
    if "learners" in settings:
        about += f"{settings['learners']} learners, "
    about += f"seed {settings['seed']}"
    name = stream.source if stream.dataset is not None else Path(stream.source).name
    text = comparison_page(records, f"Models compared on {name}", about)
    with replacing_text(path) if path.is_file() or not path.exists() else path.open("w", **TEXT) as page:
        page.write(text)
    click.echo(f"wrote {visible(str(path))}", err=True)
