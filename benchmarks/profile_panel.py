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
from onlineboost.panel import panel as members
from onlineboost.panel.dense import densify
from onlineboost.panel.eager import ask_eager, learn_eager
from onlineboost.panel.least_squares import N_COSINES, curve, learn_squares
from onlineboost.panel.metric import PERIOD, learn_metric, refresh
from onlineboost.panel.neighbours import RECENT
from onlineboost.panel.newton import combine, learn_newton
from onlineboost.panel.refits import DUE, ask_refits, learn_refits
from onlineboost.panel.refits import PARTS as REFIT_PARTS
from onlineboost.panel.state import COLUMNS, ROWS, packed, room_for_rows


@bare_kernel
def dense_part(panel, x, k, y, work):
    densify(panel.dense, panel.seed, x, panel.columns.total.mean, panel.used[COLUMNS], work.values, work.there)


@bare_kernel
def cosines_part(panel, x, k, y, work):
    curve(panel.frequencies, panel.phases, panel.tilt, work.linear[1:], panel.used[COLUMNS], work.curved)


@bare_kernel
def scores_part(panel, x, k, y, work):
    members.ask_least_squares(panel, panel.used[COLUMNS], k, work)


@bare_kernel
def linear_part(panel, x, k, y, work):
    learn_squares(panel.linear, work.linear, 1 + panel.used[COLUMNS], work.said[0], k, y, 1.0, work.u)


@bare_kernel
def curved_part(panel, x, k, y, work):
    n = 1 + N_COSINES + panel.used[COLUMNS]
    learn_squares(panel.curved, work.curved, n, work.said[1], k, y, 1.0, work.u)


@bare_kernel
def ask_trees_part(panel, x, k, y, work):
    ask_eager(panel.eager, work.eager, work.values, k, work.p)


@bare_kernel
def teach_trees_part(panel, x, k, y, work):
    learn_eager(panel.eager, work.eager, panel.columns.pull, panel.used[COLUMNS], y, 1.0, panel.used[ROWS], panel.seed)


@bare_kernel
def neighbours_part(panel, x, k, y, work):
    members.ask_neighbours(panel, panel.used[COLUMNS], k, work)


@bare_kernel
def metric_part(panel, x, k, y, work):
    learn_metric(panel.columns, work.values, work.there, panel.used[COLUMNS], y, 1.0)


@bare_kernel
def refresh_part(panel, x, k, y, work):
    refresh(panel.columns, panel.used[COLUMNS], k, work.sums[0], work.sums[1], work.sums[2])


@bare_kernel
def combiner_part(panel, x, k, y, work):
    combine(panel.newton, work.newton, k)
    learn_newton(panel.newton, work.newton, k, y, 1.0)


@bare_kernel
def ask_refits_part(panel, x, k, y, work):
    ask_refits(panel.refits, work.refits, work.values, work.folded, k, work.p)


@bare_kernel
def refit_part(panel, x, k, y, work):
    panel.refits.plan[DUE] = 0
    scores, rows = panel.neighbours.scores.shape[0], panel.used[ROWS] - 1
    learn_refits(panel.refits, work.refits, panel.neighbours, panel.used[COLUMNS], scores, k, rows, panel.seed)


PARTS = {
    "dense row": dense_part,
    "cosines": cosines_part,
    "cosines and scores": scores_part,
    "linear learns": linear_part,
    "cosines learn": curved_part,
    "trees predict": ask_trees_part,
    "trees learn, no split": teach_trees_part,
    "refitted trees predict": ask_refits_part,
    f"a tree is fitted anew (every {RECENT // REFIT_PARTS} in the end)": refit_part,
    "neighbours": neighbours_part,
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
    work = members.new_panel_work(room_for_rows(model.chain.panel.state, times + 2), k)
    members.ask_panel(model.chain.panel.state, row[None], k, work, np.zeros((1, k)))
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
