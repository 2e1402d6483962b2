"""onlineboost datasets: what can be run by name."""

from __future__ import annotations

import json

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def datasets(as_json: bool) -> None:
    """List the data sets that `run` and `compare` know by name."""
    from rich.console import Console
    from rich.table import Table

    from onlineboost.cli.common import err
    from onlineboost.datasets.catalogue import describe_datasets

    rows = describe_datasets()
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = Table(title="Data sets")
    for heading in ("name", "rows", "columns", "classes", "order", "available"):
        table.add_column(heading, justify="right" if heading in ("rows", "columns", "classes") else "left")
    for row in rows:
        here = row["where"] if row["where"] == "generated" else "yes" if row["available"] else "no"
        numbers = (f"{row['rows']:,}", str(row["columns"]), str(row["classes"]))
        table.add_row(row["name"], *numbers, row["order"], here)
    Console().print(table)
    if not all(row["available"] for row in rows):
        err.print("Set ONLINEBOOST_DATA to the folder with the others' files; `onlineboost run NAME` says which.")
