"""What `onlineboost reproduce` does: run the cells that are missing, then write and show the tables."""

from __future__ import annotations

import csv
import json
import os
import time
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import click
from joblib import cpu_count
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from onlineboost import __version__
from onlineboost.cli.clusters import address_of
from onlineboost.cli.common import err, progress_bar, visible
from onlineboost.data.errors import DataError
from onlineboost.evaluation.records import Record
from onlineboost.paper import tables as paper_tables
from onlineboost.paper.cells import Cell
from onlineboost.paper.run import Clock, run_cells, warm_up_systems
from onlineboost.paper.store import Store
from onlineboost.paper.summary import Summary, summarise, table_one
from onlineboost.report.pictures import need_drawing


def run_missing(cells: Sequence[Cell], store: Store, jobs: int, ray: str | None = None) -> None:
    """Run the cells that the store does not have, with a bar that says how long it will take. jobs = 0: all cores.

    With `ray` (`clusters.ray_option`), on all processors of a cluster.
    """
    if ray is not None:
        from onlineboost.cluster.each import processors
        from onlineboost.cluster.ray_engine import joined

        with joined(address_of(ray)):
            _run_missing(cells, store, processors(), ray=True)
        return
    _run_missing(cells, store, jobs or cpu_count(), ray=False)


def _run_missing(cells: Sequence[Cell], store: Store, jobs: int, *, ray: bool) -> None:
    todo = [cell for cell in cells if cell not in store]
    clock = Clock(jobs)
    for cell in cells:
        if cell in store:
            clock.done(cell, store.records[cell.key]["seconds"])
    if len(todo) < len(cells):
        err.print(f"{len(cells) - len(todo):,} of {len(cells):,} cells are there already.", highlight=False)
    if not todo:
        return
    with err.status("compiling for this machine ..."):  # once, before the workers would all do it
        warm_up_systems(dict.fromkeys(cell.system for cell in todo))
    left = dict.fromkeys(todo)
    columns = (TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TextColumn("{task.fields[note]}"))
    with progress_bar(*columns) as bar:
        ahead = clock.left(left)
        task = bar.add_task("running", total=ahead, note=f"{len(todo):,} cells, about {_time(ahead)} left")
        for cell, record in run_cells(todo, jobs, ray):
            store.add(record)
            clock.done(cell, record["seconds"])
            del left[cell]
            ahead = clock.left(left)
            note = f"{len(cells) - len(left):,}/{len(cells):,} cells, {_time(ahead)} left"
            spent = bar.tasks[0].elapsed or 0.0
            bar.update(task, completed=spent, total=spent + ahead, note=note)


def _time(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def write_all(out: Path, records: Sequence[Record], cells: Sequence[Cell], asked: Mapping[str, Any]) -> None:
    """The tables of these records to files in `out`, and the last 20 % to the screen."""
    summary = summarise(records, cells)
    about = {
        "version": __version__,
        "code": sorted({record["code"] for record in records}),
        "date": time.strftime("%Y-%m-%d"),
        "learners": asked["learners"],
        "limit": asked["limit"],
        "cells": len(records),
        "cells_planned": len(cells),
        "missing": asked["missing"],
        "cpu_seconds": round(sum(record["seconds"] for record in records), 1),
    }
    _write(out, summary, about)
    _show(summary)
    for path in ("results.csv", "results.json", *_report(out, records, summary, about)):
        click.echo(f"wrote {visible(str(out / path))}")


def _write(out: Path, summary: Summary, about: Mapping[str, Any]) -> None:
    with _replacing(out / "results.csv") as path, path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(summary[0]), lineterminator="\n")
        writer.writeheader()
        for row in summary:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    with _replacing(out / "results.json") as path:
        path.write_text(json.dumps({**about, "results": summary, "table_1": table_one(summary)}, indent=1))


class _replacing:
    """A file that appears only when complete."""

    def __init__(self, path: Path) -> None:
        self.path, self.part = path, path.with_name(path.name + ".part")

    def __enter__(self) -> Path:
        return self.part

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None:
            os.replace(self.part, self.path)
        else:
            self.part.unlink(missing_ok=True)


def _show(summary: Summary) -> None:
    """The last-20 % table, ours and how far from the paper's."""
    systems = list(dict.fromkeys(row["system"] for row in summary))
    found = {(row["dataset"], row["system"]): row for row in summary}
    table = Table(title="Accuracy on the last 20 %, and how far from the paper's, in points", pad_edge=False)
    table.add_column("")
    for system in systems:
        table.add_column(system, justify="right")
    table.add_column("paper's best", justify="right")
    for name, label in paper_tables.LABELS.items():
        if any(row["dataset"] == name for row in summary):
            cells = [_text(found.get((name, system)), name) for system in systems]
            table.add_row(label, *cells, f"{paper_tables.best(name):.3f}")
    Console(width=max(Console().width, 24 + 11 * len(systems))).print(table)


def _text(row: Mapping[str, Any] | None, name: str) -> str:
    if row is None:
        return ""
    difference = row["tail_difference"]
    if difference is None:
        difference = row["tail"] - paper_tables.best(name)
    colour = "green" if difference >= 0.0 else "red"
    return f"{row['tail']:.3f}\n[{colour}]{100 * difference:+.1f}[/]"


def _report(out: Path, records: Sequence[Record], summary: Summary, about: Mapping[str, Any]) -> list[str]:
    try:
        need_drawing()
    except DataError:
        err.print("No report.html: it needs pip install 'onlineboost\\[report]'.")
        return []
    from onlineboost.report.reproduction import reproduction_page

    with _replacing(out / "report.html") as path:
        path.write_text(reproduction_page(records, summary, about), encoding="utf-8")
    return ["report.html"]
