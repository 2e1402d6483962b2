"""Where the time of the panel goes, part by part: microseconds per row, after the first rows of a data set.

    python benchmarks/profile_panel.py
    python benchmarks/profile_panel.py --datasets waveform,isolet --rows 6000

Each part is run many times on the last row in a loop of its own, in processor time.
"""

from __future__ import annotations

import time
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import OnlineBoostClassifier, load_dataset
from onlineboost._compile.jit import bare_kernel
from onlineboost.data.errors import DataError
from onlineboost.panel.columns import COLUMNS, PERIOD, ROWS, densify, learn_metric, refresh
from onlineboost.panel.combiner import combine, learn_newton
from onlineboost.panel.member import learn, say
from onlineboost.panel.panel import ask_panel, new_panel_work
from onlineboost.panel.refits import DUE, refit
from onlineboost.panel.refits import PARTS as REFIT_PARTS
from onlineboost.panel.remembered import RECENT
from onlineboost.panel.state import MEMBERS, packed, room_for_rows


@bare_kernel
def dense_part(panel, x, k, y, work):
    stats, row = panel.shared.stats, work.row
    densify(stats.dense, stats.seed, x, stats.columns.total.mean, stats.used[COLUMNS], row.values, row.there)


@bare_kernel
def metric_part(panel, x, k, y, work):
    stats, row = panel.shared.stats, work.row
    learn_metric(stats.columns, row.values, row.there, stats.used[COLUMNS], y, 1.0)


@bare_kernel
def refresh_part(panel, x, k, y, work):
    stats, sums = panel.shared.stats, work.row.sums
    refresh(stats.columns, stats.used[COLUMNS], k, sums[0], sums[1], sums[2])


@bare_kernel
def combiner_part(panel, x, k, y, work):
    combine(panel.newton, work.newton, k)
    learn_newton(panel.newton, work.newton, k, y, 1.0)


REFITS = next(i for i, member in enumerate(MEMBERS) if member.name == "refits")


@bare_kernel
def refit_part(panel, x, k, y, work):
    stats, rows = panel.shared.stats, panel.shared.neighbours
    panel.members.refits.plan[DUE] = 0
    refit(
        panel.members.refits,
        work.members[REFITS],
        rows,
        stats.used[COLUMNS],
        rows.scores.shape[0],
        k,
        stats.used[ROWS] - 1,
        stats.seed,
    )


def said_by(i: int) -> Any:
    @bare_kernel
    def part(panel, x, k, y, work):
        n = panel.shared.stats.used[COLUMNS]
        say(panel.members[i], work.members[i], work.said[i], panel.shared, work.row, n, k)

    return part


def learned_by(i: int) -> Any:
    @bare_kernel
    def part(panel, x, k, y, work):
        n = panel.shared.stats.used[COLUMNS]
        learn(panel.members[i], work.members[i], panel.shared, work.row, n, k, y, 1.0)

    return part


PARTS = {
    "dense row": dense_part,
    **{f"{member.name} predicts": said_by(i) for i, member in enumerate(MEMBERS)},
    **{f"{member.name} learns": learned_by(i) for i, member in enumerate(MEMBERS)},
    f"a tree is fitted anew (every {RECENT // REFIT_PARTS} in the end)": refit_part,
    "metric learns": metric_part,
    f"metric is refreshed (every {PERIOD})": refresh_part,
    "combiner": combiner_part,
}


def looped(part: Any) -> Any:
    @bare_kernel
    def loop(panel, x, k, y, work, times):
        for _ in range(times):
            part(panel, x, k, y, work)

    return loop


LOOPS = {part: looped(kernel) for part, kernel in PARTS.items()}


def measure(name: str, rows: int, times: int, parts: list[str]) -> dict[str, float]:
    """Microseconds of every part, on a panel that has learned these rows."""
    data = load_dataset(name)
    data = data.shuffled(0) if data.order == "shuffle" else data
    rows = min(rows, len(data.y) - 1)
    clf = OnlineBoostClassifier(5).partial_fit(data.X[:rows], data.y[:rows])
    model = clf._fitted()
    row, k = model.encoder.read(data.X[rows : rows + 1], learning=False).X[0], model.k
    work = new_panel_work(room_for_rows(model.chain.panel.state, times + 2), k)
    ask_panel(model.chain.panel.state, row[None], k, work, np.zeros((1, k)))
    out = {}
    for part in parts:
        loop = LOOPS[part]
        panel = room_for_rows(packed(model.chain.panel.state), times + 2)
        loop(panel, row, k, 0, work, 1)
        began = time.process_time()
        loop(panel, row, k, 0, work, times)
        out[part] = 1e6 * (time.process_time() - began) / times
    return out


@click.command()
@click.option("--datasets", default="segment,waveform,isolet,nursery,covertype", show_default=True)
@click.option("--rows", default=5000, show_default=True)
@click.option("--parts", default="", help="Comma-separated words; only parts with one of them in their names.")
@click.option("--times", default=2000, show_default=True)
def main(datasets: str, rows: int, times: int, parts: str) -> None:
    """Print a table."""
    chosen = [part for part in PARTS if any(word in part for word in parts.split(","))]
    found = {}
    for name in datasets.split(","):
        try:
            found[name] = measure(name, rows, times, chosen)
        except DataError as error:
            Console(stderr=True).print(f"[yellow]{name} left out:[/] {error}", highlight=False)
    table = Table("part", *found)
    for part in chosen:
        table.add_row(part, *(f"{column[part]:.1f}" for column in found.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
