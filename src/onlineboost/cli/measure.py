"""What `run` and `compare` do: models over a stream, and their figures as a table, JSON or a page."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.table import Table as TextTable

from onlineboost.cli.common import err, progress_bar, visible
from onlineboost.cli.datasets import at_hand
from onlineboost.cli.figures import measures, print_accuracy, print_classes, print_measures
from onlineboost.cli.models import BASELINES, make_model
from onlineboost.cli.survive import Keep, run_kept
from onlineboost.data.errors import DataError, did_you_mean
from onlineboost.data.files import read_blocks, scan_labels
from onlineboost.data.live import STDIN
from onlineboost.datasets.catalogue import dataset_names
from onlineboost.evaluation.checkpoints import Printed
from onlineboost.evaluation.prequential import warm_up
from onlineboost.evaluation.records import SNAPSHOTS, Record, observe
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.runner import Step, cut, predict_then_learn
from onlineboost.report.pictures import need_drawing
from onlineboost.theory.forecasts import LossGuarantee
from onlineboost.theory.guarantee import Guarantee, guarantee


class Stream:
    """A named data set or a file, as blocks that can be read again for every model."""

    def __init__(
        self,
        source: str,
        target: str | None,
        seed: int,
        limit: int | None,
        columns: dict[str, Any],
        delay: int | None = None,
        proba: bool = True,
        per_class: bool = False,
    ) -> None:
        self.source, self.target, self.limit, self.seed = source, target, limit, seed
        self.delay = delay  # rows that labels are late
        self.proba, self.per_class = proba, per_class  # whether probabilities, and each class, are measured
        self.columns = columns  # of a file: nominal, numeric, drop
        self.dataset = None
        self.is_file = False
        if source == STDIN:
            self.classes = []  # they grow with the labels that are met
            self.how = "as they came"
        elif source in dataset_names():
            dataset = at_hand(source)
            self.dataset = dataset.shuffled(seed) if dataset.order == "shuffle" else dataset
            self.classes = list(self.dataset.classes)
            self.how = f"shuffled with seed {seed}" if dataset.order == "shuffle" else "in its own order"
        elif "." not in source and "/" not in source:
            near = did_you_mean(get_close_matches(source.lower(), dataset_names()))
            raise DataError(
                f"{source!r} is neither a data set nor a file.{near} Data sets: {', '.join(dataset_names())}. "
                f"A file ends in .csv, .csv.gz, .parquet, .ndjson or .jsonl; - is what is piped in"
            )
        else:
            self.is_file = True
            self.classes = scan_labels(source, target)
            self.how = "in the order of the file"

    def run(self, model: Any, progress: Callable[[int, float], None], snapshots: bool = False) -> tuple[Tally, Record]:
        blocks = self.blocks(snapshots)
        run = partial(observe, snapshots=snapshots, delay=self.delay, proba=self.proba, progress=progress)
        return run(model, blocks, self.classes)

    def blocks(self, snapshots: bool = False) -> Iterator[Any]:
        """The rows, in blocks; those of a data set in more of them if a snapshot is taken after each."""
        if self.dataset is not None:
            n = self.limit or len(self.dataset)
            yield from cut(self.dataset.X[:n], self.dataset.y[:n], pieces=SNAPSHOTS if snapshots else 1)
            return
        left = self.limit
        for block in read_blocks(self.source, self.target, **self.columns):
            if left is not None and left < len(block):
                yield type(block)(block.X[:left], block.y[:left], block.first_row, 1.0)
                return
            yield block
            left = None if left is None else left - len(block)
            if left == 0:
                return


def run_models(
    stream: Stream,
    names: list[str],
    settings: dict[str, Any],
    as_json: bool,
    report: Path | None = None,
    verbose: bool = False,
    keep: Keep | None = None,
) -> dict[str, float]:
    """Run the models over the stream, one after the other, and print what came of it; draw it to `report`.

    Returns the accuracy of each on the last 20 %.
    """
    if report is not None:
        need_drawing()
    records: list[Record] | None = None if report is None else []
    if stream.source == STDIN:
        rows = _measure_once(stream, names, settings, keep or Keep())
    else:
        rows = _measure(stream, names, as_json, records, settings, keep)
    _print(stream, rows, as_json, settings, verbose, to=err if stream.source == STDIN else None)
    if report is not None:
        _write_page(stream, records or [], settings, report)
    return {row["model"]: row["tail_accuracy"] for row in rows}


def _warm_up(names: list[str], settings: dict[str, Any]) -> None:
    any_labels = {name: value for name, value in settings.items() if name not in ("class_weight", "cost_matrix")}
    for name in set(names) - set(BASELINES):
        warm_up(make_model(name, **any_labels))


def _measure(
    stream: Stream,
    names: list[str],
    quiet: bool,
    records: list[Record] | None,
    settings: dict[str, Any],
    keep: Keep | None,
) -> list[dict[str, Any]]:
    """Run every model over the stream, with a progress bar, and return the rows of the table. Fills `records`.

    If something is to be kept, it is of the first model.
    """
    _warm_up(names, settings)
    out = []
    rows = TextColumn("{task.fields[rows]:>12,} rows")  # of one width, as are all columns: nothing moves but the bar
    columns = (TextColumn("{task.description:<18}"), BarColumn(), rows, TimeRemainingColumn())
    with progress_bar(*columns, disable=quiet) as bar:
        for name in names:
            task = bar.add_task(name, total=None, rows=0)

            def show(seen: int, share: float, task: Any = task) -> None:
                share = min(1.0, seen / stream.limit) if stream.limit else share
                bar.update(task, completed=share, total=1.0 if share else None, rows=seen)

            model = make_model(name, **settings)
            kept = keep if keep and name == names[0] else None
            if kept and records is None:
                model, result = run_kept(model, stream, kept, show)
            else:
                result, record = stream.run(model, show, snapshots=records is not None)
                if kept and kept.save is not None:
                    model.save(kept.save)
                if records is not None:
                    interval = result.accuracy_interval()
                    records.append({"dataset": stream.source, "system": name, "interval": interval, **record})
            out.append(_row(name, model, result, stream, settings))
    return out


def _measure_once(stream: Stream, names: list[str], settings: dict[str, Any], keep: Keep) -> list[dict[str, Any]]:
    """`_measure` of a stream that can be read once: predictions are printed as they come, and no bar is drawn."""
    _warm_up(names[:1], settings)
    others = {name: (make_model(name, **settings), Tally()) for name in names[1:]}

    def watch(step: Step) -> None:
        for other, tally in others.values():
            tally.add_step(*predict_then_learn(other, [step.block]))

    printed = Printed(sys.stdout) if keep.out is None else None
    model, result = run_kept(make_model(names[0], **settings), stream, keep, lambda *seen: None, printed, watch)
    stream.classes = list(getattr(model, "classes_", [])) or stream.classes
    rows = [_row(names[0], model, result, stream, settings)]
    same = {name: pair for name, pair in others.items() if len(pair[1]) == len(result)}
    return rows + [_row(name, *pair, stream, settings) for name, pair in same.items()]


def _row(name: str, model: Any, result: Tally, stream: Stream, settings: dict[str, Any]) -> dict[str, Any]:
    """A row of the table."""
    late = stream.delay is not None
    promised = None if late else guarantee(model, result.mistakes)  # the theorems are about labels that come at once
    return {
        "model": name,
        "examples": len(result),
        "accuracy": result.accuracy,
        "tail_accuracy": result.tail_accuracy(0.2),
        "seconds": result.seconds,
        "examples_per_second": result.examples_per_second,
        **measures(result, settings.get("cost_matrix"), stream.per_class),
        "metrics": result.metrics,
        **({"guarantee": promised} if promised else {}),
    }


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
        answer = {"source": stream.source, "classes": stream.classes, **settings, "results": rows}
        click.echo(json.dumps(answer, indent=2, default=str), err=to is not None)
        return
    console = to or Console()
    size = f"{rows[0]['examples']:,} examples, {len(stream.classes)} classes"
    print_accuracy(console, rows, f"{escape(visible(stream.source))}: {size}, {stream.how}")
    print_measures(console, rows)
    for row in rows:
        if stream.per_class and row["model"] not in BASELINES:
            print_classes(console, row["model"], row["metrics"])
    for row in rows:
        if "guarantee" in row and len(rows) <= 1 + len(BASELINES):  # `run`, not `compare`
            _print_guarantee(row["model"], row["guarantee"], verbose, console)


def _print_guarantee(name: str, promised: Guarantee | LossGuarantee, verbose: bool, console: Console) -> None:
    table = TextTable(title=f"{name}: what its theorem guarantees, {_how_sure(promised.delta)}")
    table.show_header = False
    for line in promised.lines(verbose):
        table.add_row(*line)
    console.print(table)


def _how_sure(delta: float) -> str:
    return f"with probability {1 - delta:.0%}" if delta else "always"


def _write_page(stream: Stream, records: list[Record], settings: dict[str, Any], path: Path) -> None:
    from onlineboost.report.comparison import comparison_page

    about = f"{records[0]['rows']:,} examples, {len(stream.classes)} classes, {stream.how}; "
    if "learners" in settings:
        about += f"{settings['learners']} learners, "
    about += f"seed {settings['seed']}"
    name = stream.source if stream.dataset is not None else Path(stream.source).name
    path.write_text(comparison_page(records, f"Models compared on {name}", about), encoding="utf-8")
    click.echo(f"wrote {visible(str(path))}", err=True)
