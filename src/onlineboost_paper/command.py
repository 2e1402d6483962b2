"""onlineboost reproduce: the paper's tables again, beside the paper's."""

from __future__ import annotations

import csv
import json
import logging
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from onlineboost import __version__
from onlineboost.cli.main import address_of, comma_separated, err, progress_bar, ray_option, text_table, visible
from onlineboost_paper.tables import (
    LABELS,
    ORDERS,
    SYSTEMS,
    Summary,
    best,
    column_of,
    distances,
    find_system,
    summarise,
    table_one,
)

if TYPE_CHECKING:
    from onlineboost.evaluation.prequential import Record
    from onlineboost_paper.cells import Cell, Store

QUICK_ORDERS = 3
QUICK_WITHOUT = ("movement",)


@click.command()
@click.option("--datasets", default="", help="Comma-separated [default: the paper's seven].")
@click.option("--systems", default="", help="Comma-separated columns, such as dt,adaolm,mb.1,default [default: all].")
@click.option(
    "--orders",
    default="27",
    show_default=True,
    help="Orders of the rows; as in the paper, at most 9 for movement and 1 for isolet, unless given: 27,movement=3.",
)
@click.option("--learners", default=100, show_default=True, type=click.IntRange(1), help="Weak learners, N.")
@click.option("--limit", type=click.IntRange(2), help="Stop every run after this number of examples.")
@click.option("--jobs", default=0, help="Processes [default: one for each core].", type=click.IntRange(0))
@ray_option("Run on this Ray cluster, whose machines have the data")
@click.option("--out", default="reproduction", show_default=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--quick", is_flag=True, help=f"{QUICK_ORDERS} orders, without {', '.join(QUICK_WITHOUT)}.")
@click.option(
    "--report-only", is_flag=True, help="Run nothing; write tables and report from the runs in OUT, of any version."
)
def reproduce(
    datasets: str,
    systems: str,
    orders: str,
    learners: int,
    limit: int | None,
    jobs: int,
    ray: str | None,
    out: Path,
    quick: bool,
    report_only: bool,
) -> None:
    """Run the paper's experiments and put our tables beside its own.

    Writes OUT/results.csv, OUT/results.json and OUT/report.html. Finished runs are kept in OUT: after an
    interruption, the same command continues.

    \b
    onlineboost reproduce --quick
    onlineboost reproduce --datasets balance,car --systems adaolm,default --orders 9
    """
    from onlineboost_paper.cells import Store, plan

    names = _names(datasets, quick)
    chosen = [find_system(s) for s in comma_separated(systems)] or list(SYSTEMS)
    chosen = [system for system in SYSTEMS if system in chosen]
    repeats = orders_of(str(QUICK_ORDERS) if quick and orders == "27" else orders)
    cells, missing = plan(names, chosen, repeats, learners, limit, absent=report_only)
    for name in () if report_only else missing:
        err.print(
            f"Skipping {name}: its file is not at hand. `onlineboost datasets {name} --fetch` gets it or says how."
        )
    if not cells:
        raise ValueError("nothing to run: none of the data sets is at hand. Set ONLINEBOOST_DATA to their folder")
    with Store(out, writing=not report_only) as store:
        if not report_only:
            if store.rest:
                err.print(f"The last line of {store.path} was cut off: it is in {store.rest} now.", highlight=False)
            _run_missing(cells, store, jobs, ray)
        done = store.select(cells, any_version=report_only)
    if not done:
        raise ValueError(f"{out} has no finished cells of this kind: run without --report-only")
    missing = [name for name in missing if not any(record["dataset"] == name for record in done)]
    _write_all(out, done, cells, {"learners": learners, "limit": limit, "missing": missing})


def _names(datasets: str, quick: bool) -> list[str]:
    names = [name.lower() for name in comma_separated(datasets)]
    for name in names:
        if name not in LABELS:
            raise ValueError(f"{name!r} is not one of the paper's data sets: {', '.join(LABELS)}")
    return [name for name in LABELS if name in names or not (names or (quick and name in QUICK_WITHOUT))]


def orders_of(text: str) -> dict[str, int]:
    """Orders for each data set, from "27" or "27,movement=3,isolet=5"."""
    orders = dict(ORDERS)
    for part in comma_separated(text):
        name, equals, number = part.partition("=")
        number, name = (number, name.strip()) if equals else (name, "")
        if not number.strip().isdigit() or int(number) < 1:
            raise ValueError(f"--orders takes a number >= 1, and name=number for a data set, got {part!r}")
        if name and name not in orders:
            raise ValueError(f"--orders: {name!r} is not one of {', '.join(orders)}")
        if name:
            orders[name] = int(number)
        else:
            most = {name: n if n < 27 else int(number) for name, n in ORDERS.items()}
            orders = {name: min(int(number), n) for name, n in most.items()}
    return orders


def _run_missing(cells: Sequence[Cell], store: Store, jobs: int, ray: str | None) -> None:
    """Run the cells that the store does not have, with a bar that says how long it will take.

    jobs = 0: as many at a time as there are cores. With `ray` (`ray_option`), on all processors of a cluster.
    """
    from joblib import cpu_count

    from onlineboost_paper.cells import expected_cost, run_cells, warm_up_systems

    todo = [cell for cell in cells if cell not in store]
    if len(todo) < len(cells):
        err.print(f"{len(cells) - len(todo):,} of {len(cells):,} cells are there already.", highlight=False)
    if not todo:
        return
    with nullcontext(jobs or cpu_count()) if ray is None else _on_cluster(ray) as jobs:
        with err.status("compiling for this machine ..."), _compiling():  # once, before the workers would all do it
            warm_up_systems(dict.fromkeys(cell.system for cell in todo))
        columns = (BarColumn(), TimeElapsedColumn(), TimeRemainingColumn(), TextColumn("{task.description}"))
        with progress_bar(*columns) as bar:
            task = bar.add_task(f"{len(todo):,} cells", total=sum(map(expected_cost, todo)))
            for done, (cell, record) in enumerate(run_cells(todo, jobs, ray is not None), len(cells) - len(todo) + 1):
                for text in record.pop("warnings"):
                    warnings.warn(text, stacklevel=1)
                store.add(record)
                bar.update(task, advance=expected_cost(cell), description=f"{done:,}/{len(cells):,} cells")


@contextmanager
def _compiling() -> Iterator[None]:
    """Say once for all systems what is said of each."""
    told: set[str] = set()

    def is_told(record: logging.LogRecord) -> bool:
        if not told:
            told.add(record.getMessage())
            text = "Compiling for this machine, once after installation: some minutes for all systems ..."
            err.print(text, soft_wrap=True)
        return False

    log = logging.getLogger("onlineboost")
    log.addFilter(is_told)
    try:
        yield
    finally:
        log.removeFilter(is_told)


@contextmanager
def _on_cluster(ray: str) -> Iterator[int]:
    """Join a cluster, or start one; the number of its processors."""
    from onlineboost.cluster.cluster import processors
    from onlineboost.cluster.ray_engine import joined

    with joined(address_of(ray)):
        yield processors()


def _write_all(out: Path, records: Sequence[Record], cells: Sequence[Cell], asked: Mapping[str, Any]) -> None:
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
    _show_distances(distances(summary))
    for path in ("results.csv", "results.json", *_draw(out, records, summary, about)):
        click.echo(f"wrote {visible(str(out / path))}")


def _write(out: Path, summary: Summary, about: Mapping[str, Any]) -> None:
    from onlineboost.evaluation.resumable import replacing_text

    with replacing_text(out / "results.csv") as file:
        writer = csv.DictWriter(file, list(summary[0]), lineterminator="\n")
        writer.writeheader()
        for row in summary:
            writer.writerow({k: f"{v:.6g}" if isinstance(v, float) else v for k, v in row.items()})
    with replacing_text(out / "results.json") as file:
        tables = {"results": summary, "table_1": table_one(summary), "distances": distances(summary)}
        file.write(json.dumps({**about, **tables}, indent=1))


def _show(summary: Summary) -> None:
    """The last-20 % table, ours and how far from the paper's."""
    systems = [s for s in dict.fromkeys(row["system"] for row in summary) if s == column_of(s)]
    if not systems:
        return
    found = {(row["dataset"], row["system"]): row for row in summary}
    title = "Accuracy on the last 20 %, and how far from the paper's, in points"
    table = text_table(("", *systems, "paper's best"), left=("",), title=title, pad_edge=False)
    for name, label in LABELS.items():
        if any(row["dataset"] == name for row in summary):
            cells = [_text(found.get((name, system)), name) for system in systems]
            table.add_row(label, *cells, f"{best(name):.3f}")
    Console(width=max(Console().width, 24 + 11 * len(systems))).print(table)


def _show_distances(far: Mapping[str, Mapping[str, float]]) -> None:
    """The distance from the paper's numbers in each way."""
    if not far:
        return
    systems = list(far["ours"])
    title = "Last 20 %: mean absolute difference from the paper's, in points"
    table = text_table(("", *systems, "mean"), left=("",), title=title, pad_edge=False)
    for form, by_system in far.items():
        values = [*by_system.values(), sum(by_system.values()) / len(by_system)]
        table.add_row(form, *(f"{100 * value:.1f}" for value in values))
    Console(width=max(Console().width, 24 + 11 * len(systems))).print(table)


def _text(row: Mapping[str, Any] | None, name: str) -> str:
    if row is None:
        return ""
    difference = row["tail_difference"]
    if difference is None:
        difference = row["tail"] - best(name)
    colour = "green" if difference >= 0.0 else "red"
    return f"{row['tail']:.3f}\n[{colour}]{100 * difference:+.1f}[/]"


def _draw(out: Path, records: Sequence[Record], summary: Summary, about: Mapping[str, Any]) -> list[str]:
    from onlineboost.data.errors import DataError
    from onlineboost.evaluation.resumable import replacing_text
    from onlineboost.report.charts import need_drawing

    try:
        need_drawing()
    except DataError:
        err.print("No report.html: it needs pip install 'onlineboost\\[report]'.")
        return []
    from onlineboost_paper.report_page import reproduction_page

    with replacing_text(out / "report.html") as file:
        file.write(reproduction_page(records, summary, about))
    return ["report.html"]
