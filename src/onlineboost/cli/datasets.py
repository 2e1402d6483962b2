"""onlineboost datasets: what can be run by name; also fetched, or written to a file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from onlineboost.cli.common import check_writable, err, progress_bar, text_table, visible

if TYPE_CHECKING:
    from onlineboost.datasets.dataset import Dataset


@click.command()
@click.argument("name", required=False)
@click.option("--fetch", is_flag=True, help="Download NAME from its public home, now and not when it is first run.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write NAME to this file, as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def datasets(name: str | None, fetch: bool, out: Path | None, as_json: bool) -> None:
    """List the data sets that `run` and `compare` know by name.

    With NAME, tell of this one alone.

    \b
    onlineboost datasets
    onlineboost datasets electricity --fetch
    onlineboost datasets car --out events.csv
    """
    from onlineboost.datasets.catalogue import describe_datasets, find_spec

    if name is None and (fetch or out):
        raise click.BadParameter("it wants the NAME of a data set", param_hint="--fetch" if fetch else "--out")
    if name is not None:
        find_spec(name)
    if out is not None:
        check_writable(out, "--out")
    if fetch:
        click.echo(f"wrote {visible(str(_fetch(str(name))))}", err=True)
    if out is not None:
        dataset = at_hand(str(name))
        _write(dataset.shuffled(0) if dataset.order == "shuffle" else dataset, out)
        click.echo(f"wrote {visible(str(out))}", err=True)
    if fetch or out is not None:
        return
    rows = [row for row in describe_datasets() if name in (None, row["name"])]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        _show(rows)


def at_hand(name: str) -> Dataset:
    """The data set of this name, fetched if it is not there and can be."""
    from onlineboost.datasets.catalogue import describe_datasets
    from onlineboost.datasets.load import load_dataset

    row = next(row for row in describe_datasets() if row["name"] == name)
    if not row["available"] and row["fetch"]:
        _fetch(name)
    return load_dataset(name)


def _fetch(name: str) -> Path:
    """`fetch_dataset`, with a bar."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn

    from onlineboost.datasets.catalogue import find_spec
    from onlineboost.datasets.load import fetch_dataset

    file = find_spec(name).file
    home = file.fetch.url.split("/")[2] if file is not None and file.fetch is not None else ""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with progress_bar(*columns, transient=True) as bar:
        task = bar.add_task(f"downloading {name} from {home}", total=None)
        path = fetch_dataset(name, progress=lambda got, total: bar.update(task, completed=got, total=total))
    err.print(f"Downloaded {name} from {home}; it is kept in {visible(str(path))}.", highlight=False, soft_wrap=True)
    return path


def _write(dataset: Dataset, out: Path) -> None:
    """Header and rows, the class last."""
    columns = [column.tolist() for column in dataset.X.columns]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*dataset.X.names, "class"])
        for row in zip(*columns, dataset.y, strict=True):
            writer.writerow([_text(value) for value in row])


def _text(value: Any) -> str:
    """A value of a file: numbers in the shortest way that gives them again, nothing for what is missing."""
    if value is None or value != value:
        return ""
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else repr(value)
    return str(value)


def _show(rows: list[dict[str, Any]]) -> None:
    headings = ("name", "rows", "columns", "classes", "order", "at hand")
    table = text_table(headings, left=("name", "order", "at hand"), title="Data sets")
    for row in rows:
        absent = "fetched when run" if row["fetch"] else "no"
        here = row["where"] if row["where"] == "generated" else "yes" if row["available"] else absent
        numbers = (f"{row['rows']:,}", str(row["columns"]), str(row["classes"]))
        table.add_row(row["name"], *numbers, row["order"], here)
    console = Console()
    console.print(table)
    if len(rows) == 1:
        for line in (rows[0]["note"], rows[0]["where"]):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    elif not all(row["available"] or row["fetch"] for row in rows):
        err.print("Set ONLINEBOOST_DATA to the folder with the others' files; `onlineboost run NAME` says which.")
