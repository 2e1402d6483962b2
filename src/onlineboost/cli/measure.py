"""What `run` and `compare` do: models over a stream, and their figures as a table, JSON or a page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as TextTable

from onlineboost.cli.common import err, visible
from onlineboost.cli.models import BASELINES, make_model
from onlineboost.data.errors import DataError, did_you_mean
from onlineboost.data.files import read_blocks, scan_labels
from onlineboost.datasets.catalogue import dataset_names
from onlineboost.datasets.load import load_dataset
from onlineboost.evaluation.blocks import cut
from onlineboost.evaluation.records import SNAPSHOTS, Record, observe
from onlineboost.evaluation.run import warm_up
from onlineboost.evaluation.tally import Tally
from onlineboost.report.pictures import need_drawing
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
    ) -> None:
        self.source, self.target, self.limit = source, target, limit
        self.columns = columns  # of a file: nominal, numeric, drop
        self.dataset = None
        if source in dataset_names():
            dataset = load_dataset(source)
            self.dataset = dataset.shuffled(seed) if dataset.order == "shuffle" else dataset
            self.classes = list(self.dataset.classes)
            self.how = f"shuffled with seed {seed}" if dataset.order == "shuffle" else "in its own order"
        elif "." not in source and "/" not in source:
            near = did_you_mean(get_close_matches(source.lower(), dataset_names()))
            raise DataError(
                f"{source!r} is neither a data set nor a file.{near} Data sets: {', '.join(dataset_names())}. "
                f"A file ends in .csv, .csv.gz or .parquet"
            )
        else:
            self.classes = scan_labels(source, target)
            self.how = "in the order of the file"

    def run(self, model: Any, progress: Callable[[int, float], None], snapshots: bool = False) -> tuple[Tally, Record]:
        blocks = self._blocks()
        if self.dataset is not None:
            n = self.limit or len(self.dataset)
            blocks = cut(self.dataset.X[:n], self.dataset.y[:n], pieces=SNAPSHOTS if snapshots else 1)
        return observe(model, blocks, self.classes, snapshots=snapshots, progress=progress)

    def _blocks(self) -> Iterator[Any]:
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
) -> None:
    """Run the models over the stream, one after the other, and print what came of it; draw it to `report`."""
    if report is not None:
        need_drawing()
    records: list[Record] | None = None if report is None else []
    _print(stream, _measure(stream, names, as_json, records, settings), as_json, settings, verbose)
    if report is not None:
        _write_page(stream, records or [], settings, report)


def _measure(
    stream: Stream, names: list[str], quiet: bool, records: list[Record] | None, settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """Run every model over the stream, with a progress bar, and return the rows of the table. Fills `records`."""
    any_labels = {name: value for name, value in settings.items() if name not in ("class_weight", "cost_matrix")}
    for name in set(names) - set(BASELINES):
        warm_up(make_model(name, **any_labels))
    out = []
    columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet) as bar:
        for name in names:
            total = len(stream.dataset) if stream.dataset is not None else None
            task = bar.add_task(name, total=stream.limit or total)

            def show(seen: int, share: float, task: Any = task) -> None:
                bar.update(task, completed=seen, total=max(seen, round(seen / share)) if share else None)

            model = make_model(name, **settings)
            result, record = stream.run(model, show, snapshots=records is not None)
            if records is not None:
                records.append({"dataset": stream.source, "system": name, **record})
            promised = guarantee(model, result.mistakes)
            out.append(
                {
                    "model": name,
                    "examples": len(result),
                    "accuracy": result.accuracy,
                    "tail_accuracy": result.tail_accuracy(0.2),
                    "seconds": result.seconds,
                    "examples_per_second": result.examples_per_second,
                    **({"guarantee": promised} if promised else {}),
                }
            )
    return out


def _print(stream: Stream, rows: list[dict[str, Any]], as_json: bool, settings: dict[str, Any], verbose: bool) -> None:
    if as_json:
        for row in rows:
            if "guarantee" in row:
                row["guarantee"] = row["guarantee"].as_dict()
        click.echo(
            json.dumps({"source": stream.source, "classes": stream.classes, **settings, "results": rows}, indent=2)
        )
        return
    table = TextTable(
        title=f"{escape(visible(stream.source))}: {rows[0]['examples']:,} examples, {len(stream.classes)} classes, "
        f"{stream.how}"
    )
    for heading in ("model", "accuracy", "last 20 %", "seconds", "examples/s"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    best = max(row["tail_accuracy"] for row in rows)
    for row in rows:
        style = "bold green" if row["tail_accuracy"] == best else ""
        cells = (
            row["model"],
            f"{row['accuracy']:.4f}",
            f"{row['tail_accuracy']:.4f}",
            f"{row['seconds']:.2f}",
        )
        table.add_row(*cells, f"{row['examples_per_second']:,.0f}", style=style)
    Console().print(table)
    for row in rows:
        if "guarantee" in row and len(rows) <= 1 + len(BASELINES):  # `run`, not `compare`
            _print_guarantee(row["model"], row["guarantee"], verbose)


def _print_guarantee(name: str, promised: Guarantee, verbose: bool) -> None:
    table = TextTable(title=f"{name}: what its theorem guarantees, with probability {1 - promised.delta:.0%}")
    table.show_header = False
    for line in promised.lines(verbose):
        table.add_row(*line)
    Console().print(table)


def _write_page(stream: Stream, records: list[Record], settings: dict[str, Any], path: Path) -> None:
    from onlineboost.report.comparison import comparison_page

    about = f"{records[0]['rows']:,} examples, {len(stream.classes)} classes, {stream.how}; "
    about += f"{settings['learners']} learners, seed {settings['seed']}"
    path.write_text(comparison_page(records, f"Models compared on {stream.source}", about), encoding="utf-8")
    click.echo(f"wrote {visible(str(path))}", err=True)
