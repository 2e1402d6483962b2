"""onlineboost reproduce: the paper's tables again, beside the paper's."""

from __future__ import annotations

from pathlib import Path

import click

from onlineboost.cli.clusters import ray_option
from onlineboost.cli.common import comma_separated, err
from onlineboost.paper import tables as paper_tables

QUICK_ORDERS = 3
QUICK_WITHOUT = ("movement",)


@click.command()
@click.option("--datasets", default="", help="Comma-separated [default: the paper's seven].")
@click.option("--systems", default="", help="Comma-separated columns, such as dt,adaolm,mb.1,default [default: all].")
@click.option(
    "--orders",
    default="27",
    show_default=True,
    help="Orders of the rows. At most 9 for movement and 1 for isolet, as in the paper, unless said: 27,movement=3.",
)
@click.option("--learners", default=100, show_default=True, type=click.IntRange(1), help="Weak learners, N.")
@click.option("--limit", type=click.IntRange(2), help="Stop every run after so many examples.")
@click.option("--jobs", default=0, help="Processes [default: one for each core].", type=click.IntRange(0))
@ray_option("Run on this Ray cluster, whose machines have the data")
@click.option("--out", default="reproduction", show_default=True, type=click.Path(path_type=Path, file_okay=False))
@click.option("--quick", is_flag=True, help=f"{QUICK_ORDERS} orders, without {', '.join(QUICK_WITHOUT)}.")
@click.option(
    "--report-only", is_flag=True, help="Run nothing: tables and report of the cells that OUT has, of whatever version."
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

    Every finished run is kept in OUT: stop whenever you like, and the same command goes on where it was. Writes
    OUT/results.csv, OUT/results.json and OUT/report.html, a page that needs no network.

    \b
    onlineboost reproduce --quick
    onlineboost reproduce --datasets balance,car --systems adaolm,default --orders 9
    """
    from onlineboost.cli.reproduction import run_missing, write_all
    from onlineboost.paper.cells import plan
    from onlineboost.paper.store import Store
    from onlineboost.paper.systems import SYSTEMS, find_system

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
            run_missing(cells, store, jobs, ray)
        done = store.select(cells, any_version=report_only)
    if not done:
        raise ValueError(f"{out} has no finished cells of this kind: run without --report-only")
    missing = [name for name in missing if not any(record["dataset"] == name for record in done)]
    write_all(out, done, cells, {"learners": learners, "limit": limit, "missing": missing})


def _names(datasets: str, quick: bool) -> list[str]:
    names = [name.lower() for name in comma_separated(datasets)]
    for name in names:
        if name not in paper_tables.LABELS:
            raise ValueError(f"{name!r} is not one of the paper's data sets: {', '.join(paper_tables.LABELS)}")
    return [name for name in paper_tables.LABELS if name in names or not (names or (quick and name in QUICK_WITHOUT))]


def orders_of(text: str) -> dict[str, int]:
    """Orders for each data set, from "27" or "27,movement=3,isolet=5"."""
    orders = dict(paper_tables.ORDERS)
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
            most = {name: n if n < 27 else int(number) for name, n in paper_tables.ORDERS.items()}
            orders = {name: min(int(number), n) for name, n in most.items()}
    return orders
