"""What glitches cost: accuracy on the last 20 % of a stream with disturbed rows, less that of the stream as it is.

    python benchmarks/glitches.py                     # about ten minutes
    python benchmarks/glitches.py --quick --streams segment
    python benchmarks/glitches.py --models hoeffding-tree --streams electricity --orders 10
    python benchmarks/glitches.py --first-rows --models all --learners 20 --rows 3000   # a quarter of an hour

* glitch: in one row, all numeric columns or one of them are 1e6 or -1e160; mean over these, and over three places: row
  50, after 30 % and after 60 % of the stream.
* row left out: the rows of these glitches are not there at all. Any change of a row makes another run of it: what a
  glitch changes beyond this is its own.
* stuck: one column keeps its number for 5 % of the stream, from 40 % on.
* unit: one column is multiplied by 1,000 from the middle of the stream on.

With `--first-rows` the stream begins with odd rows instead: `odd_beginnings` lists twelve kinds. A line of the table
is a model, a column a stream, each figure the mean over the twelve, and the last columns say which kind costs most. Any
change of the first rows is luck, too: they are compared with the mean over the stream without its first 0, 1, ... rows.

The column is the middle one. Short streams are run in several orders; if their order is time, with several seeds and
without so many of their first rows. Means, and their standard errors over the orders.
"""

from __future__ import annotations

from collections.abc import Callable

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import load_dataset, lookup
from onlineboost.data.errors import DataError
from onlineboost.data.table import Table as Columns
from onlineboost.datasets import Dataset
from onlineboost.registry import ENTRIES

NAMES = ("segment", "keystroke", "waveform", "isolet", "electricity", "movement")
ROWS = {"movement": 30_000}  # the first so many; all rows of the others
BENIGN = 6  # streams without their first 0, 1, ... rows that odd beginnings are compared with
VALUES = 1e6, -1e160
HEADINGS = ("as it is", "row left out", "glitch, all columns", "glitch, one column", "stuck", "unit")
Change = Callable[[np.ndarray], np.ndarray]
Stream = tuple[Columns, np.ndarray]


def numeric_columns(X: Columns) -> list[int]:
    return [c for c, column in enumerate(X.columns) if np.asarray(column).dtype.kind in "fiu"]


def disturbed(X: Columns, which: list[int], change: Change) -> Columns:
    """X with these columns changed."""
    columns = [np.array(column, float) if c in which else column for c, column in enumerate(X.columns)]
    for c in which:
        columns[c] = change(columns[c])
    return Columns(X.names, tuple(columns))


def glitch(row: int, value: float) -> Change:
    return lambda column: np.where(np.arange(len(column)) == row, value, column)


def stuck(first: int, last: int) -> Change:
    return lambda column: np.concatenate([column[:first], np.full(last - first, column[first]), column[last:]])


def other_unit(first: int) -> Change:
    return lambda column: np.where(np.arange(len(column)) >= first, 1000.0 * column, column)


def without(X: Columns, y: np.ndarray, row: int) -> Stream:
    keep = np.arange(len(y)) != row
    return X[keep], y[keep]


def disturbances(X: Columns, y: np.ndarray, *, quick: bool) -> dict[str, list[Stream]]:
    """All disturbed streams, by what is done to them."""
    n, numeric = len(y), numeric_columns(X)
    middle = [numeric[len(numeric) // 2]]
    places = [50, int(0.3 * n), int(0.6 * n)][: 1 if quick else 3]
    glitches = [glitch(place, value) for place in places for value in VALUES[: 1 if quick else 2]]
    return {
        "row left out": [without(X, y, place) for place in places],
        "glitch, all columns": [(disturbed(X, numeric, change), y) for change in glitches],
        "glitch, one column": [(disturbed(X, middle, change), y) for change in glitches],
        "stuck": [(disturbed(X, middle, stuck(int(0.4 * n), int(0.45 * n))), y)],
        "unit": [(disturbed(X, middle, other_unit(n // 2)), y)],
    }


def odd_beginnings(X: Columns, y: np.ndarray) -> dict[str, Stream]:
    """Twelve streams that begin with something odd."""
    numeric = numeric_columns(X)
    middle = [numeric[len(numeric) // 2]]

    def first(values: list[float] | Callable[[np.ndarray], np.ndarray], n: int = 1) -> Change:
        def change(column: np.ndarray) -> np.ndarray:
            own = values(column[:n]) if callable(values) else np.array(values)
            return np.concatenate([own, column[len(own) :]])

        return change

    zeros = [0.0] * 50
    changes = {
        "huge": (numeric, first([-1e160])),
        "huge, one column": (middle, first([-1e160])),
        "large": (numeric, first([1e6])),
        "large, second row": (numeric, lambda column: glitch(1, 1e6)(column)),
        "large, twice": (numeric, first([1e6, -1e6])),
        "tiny": (numeric, first([1e-300])),
        "rounding": (numeric, first([0.3, 0.1 + 0.2])),
        "equal": (numeric, first(lambda part: np.full(len(part), part[0]), 20)),
        "zeros, then a speck": (middle, first([*zeros, 1e-14])),
        "missing": (numeric, first([np.nan])),
        "another unit": (numeric, first(lambda part: 1000.0 * part)),
        "whole numbers": (numeric, first(np.round)),
    }
    return {name: (disturbed(X, which, change), y) for name, (which, change) in changes.items()}


def first_rows(models: list[str], streams: list[str], learners: int, orders: int, rows: int | None) -> Table:
    """What odd first rows cost each model on each stream, in the mean, and the kind that costs most."""
    table = Table("model", *streams, "all", "costs most", "", title="odd first rows")
    for model in models:
        losses = np.zeros((len(streams), orders, 12))
        for s, name in enumerate(streams):
            for order in range(orders):
                X, y = in_order(load_dataset(name), order, rows)
                odd = odd_beginnings(X, y)
                base = np.mean([tail(model, learners, order, X[i:], y[i:]) for i in range(BENIGN)])
                losses[s, order] = [tail(model, learners, order, *stream) - base for stream in odd.values()]
        kinds = losses.mean(axis=(0, 1))
        worst = list(odd)[int(kinds.argmin())]
        by_stream = [cell(own.mean(axis=1)) for own in losses]
        of_worst = losses[:, :, kinds.argmin()].ravel()
        table.add_row(model, *by_stream, cell(losses.mean(axis=2).ravel()), worst, cell(of_worst))
        Console(stderr=True).print(model, table.columns[-3]._cells[-1], highlight=False)
    return table


def tail(model: str, learners: int, seed: int, X: Columns, y: np.ndarray) -> float:
    """Accuracy on the last 20 %."""
    clf = lookup.make(model, n_learners=learners, random_state=seed)
    right = clf.test_then_train(X, y, classes=np.unique(y)) == y
    return float(right[int(0.8 * len(y)) :].mean())


def in_order(data: Dataset, order: int, rows: int | None) -> Stream:
    """The first rows of a data set, in one of its orders."""
    if data.order == "shuffle":
        data, order = data.shuffled(order), 0
    return data.X[order:rows], np.asarray(data.y[order:rows])


def measure(
    model: str, learners: int, name: str, rows: int | None, *, orders: int | None = None, quick: bool
) -> dict[str, np.ndarray]:
    """In each order: accuracy of the stream as it is, and what each kind of disturbance changes."""
    data = load_dataset(name)
    found: dict[str, list[float]] = {}
    for order in range(orders or min(3, 1 + 6000 // len(data.y[:rows]))):
        X, y = in_order(data, order, rows)
        base = tail(model, learners, order, X, y)
        found.setdefault("as it is", []).append(base)
        for what, streams in disturbances(X, y, quick=quick).items():
            changed = np.mean([tail(model, learners, order, *stream) for stream in streams])
            found.setdefault(what, []).append(float(changed) - base)
    return {what: np.array(values) for what, values in found.items()}


def cell(values: np.ndarray) -> str:
    """The mean, and its standard error if there are several."""
    error = f" ({values.std(ddof=1) / np.sqrt(len(values)):.4f})" if len(values) > 1 else ""
    return f"{values.mean():+.4f}{error}"


@click.command()
@click.option("--streams", default=",".join(NAMES), show_default=True)
@click.option("--models", default="adaboost-olm", show_default=True, help="Comma-separated, by their short names.")
@click.option("--learners", default=100, show_default=True)
@click.option("--orders", type=int, help="Of each stream; without it, one to three, by its length.")
@click.option("--rows", type=int, help="The first so many rows of each stream.")
@click.option("--first-rows", "beginnings", is_flag=True, help="Odd first rows instead. --models all: every model.")
@click.option("--quick", is_flag=True, help="One glitch instead of six, the first 1,500 rows, one order.")
# arguments: the options
def main(
    streams: str, models: str, learners: int, orders: int | None, rows: int | None, beginnings: bool, quick: bool
) -> None:
    """Print accuracy on the last 20 %, and what each disturbance changes."""
    if beginnings:
        named = [entry.name for entry in ENTRIES] if models == "all" else models.split(",")
        Console(width=180).print(first_rows(named, streams.split(","), learners, orders or 2, rows))
        return
    for model in models.split(","):
        table = Table("stream", *HEADINGS, title=model)
        for name in streams.split(","):
            try:
                n = 1500 if quick else rows or ROWS.get(name)
                found = measure(model, learners, name, n, orders=1 if quick else orders, quick=quick)
            except DataError as error:
                Console(stderr=True).print(f"[yellow]{name} left out:[/] {error}", highlight=False)
                continue
            base = found.pop("as it is")
            table.add_row(name, f"{base.mean():.4f}", *map(cell, found.values()))
        Console(width=130).print(table)


if __name__ == "__main__":
    main()
