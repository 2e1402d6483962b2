"""What glitches cost: accuracy on the last 20 % of a stream with disturbed rows, less that of the stream as it is.

    python benchmarks/glitches.py                     # about five minutes
    python benchmarks/glitches.py --quick --streams segment

* glitch: in one row, all numeric columns or one of them are 1e6 or -1e160; mean over these, and over three places: row
  50, after 30 % and after 60 % of the stream.
* stuck: one column keeps its number for 5 % of the stream, from 40 % on.
* unit: one column is multiplied by 1,000 from the middle of the stream on.

The column is the middle one. Short streams are run in several orders (with several seeds, if their order is time).
"""

from __future__ import annotations

from collections.abc import Callable

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import load_dataset
from onlineboost.data.errors import DataError
from onlineboost.data.table import Table as Columns
from onlineboost.estimators import lookup

NAMES = ("segment", "keystroke", "waveform", "isolet", "electricity", "movement")
ROWS = {"movement": 30_000}  # the first so many; all rows of the others
VALUES = 1e6, -1e160
Change = Callable[[np.ndarray], np.ndarray]


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


def disturbances(X: Columns, n: int, *, quick: bool) -> dict[str, list[Columns]]:
    """All disturbed streams, by what is done to them."""
    numeric = numeric_columns(X)
    middle = [numeric[len(numeric) // 2]]
    places = [50, int(0.3 * n), int(0.6 * n)][: 1 if quick else 3]
    glitches = [glitch(place, value) for place in places for value in VALUES[: 1 if quick else 2]]
    return {
        "glitch, all columns": [disturbed(X, numeric, change) for change in glitches],
        "glitch, one column": [disturbed(X, middle, change) for change in glitches],
        "stuck": [disturbed(X, middle, stuck(int(0.4 * n), int(0.45 * n)))],
        "unit": [disturbed(X, middle, other_unit(n // 2))],
    }


def tail(model: str, learners: int, seed: int, X: Columns, y: np.ndarray) -> float:
    """Accuracy on the last 20 %."""
    clf = lookup.make(model, n_learners=learners, random_state=seed)
    right = clf.test_then_train(X, y, classes=np.unique(y)) == y
    return float(right[int(0.8 * len(y)) :].mean())


def measure(model: str, learners: int, name: str, rows: int | None, *, quick: bool) -> dict[str, float]:
    """Mean accuracy of the stream as it is, and of each kind of disturbance."""
    data = load_dataset(name)
    found: dict[str, list[float]] = {}
    n = len(data.y[:rows])
    for order in range(1 if quick else min(3, 1 + 6000 // n)):
        shuffled = data.shuffled(order) if data.order == "shuffle" else data
        X, y = shuffled.X[:rows], np.asarray(shuffled.y[:rows])
        for what, streams in {"as it is": [X], **disturbances(X, n, quick=quick)}.items():
            found.setdefault(what, []).append(np.mean([tail(model, learners, order, each, y) for each in streams]))
    return {what: float(np.mean(values)) for what, values in found.items()}


@click.command()
@click.option("--streams", default=",".join(NAMES), show_default=True)
@click.option("--models", default="adaboost-olm", show_default=True, help="Comma-separated, by their short names.")
@click.option("--learners", default=100, show_default=True)
@click.option("--quick", is_flag=True, help="One glitch instead of six, the first 1,500 rows, one order.")
def main(streams: str, models: str, learners: int, quick: bool) -> None:
    """Print accuracy on the last 20 %, and what each disturbance changes."""
    for model in models.split(","):
        table = Table("stream", "as it is", "glitch, all columns", "glitch, one column", "stuck", "unit", title=model)
        for name in streams.split(","):
            try:
                found = measure(model, learners, name, 1500 if quick else ROWS.get(name), quick=quick)
            except DataError as error:
                Console(stderr=True).print(f"[yellow]{name} left out:[/] {error}", highlight=False)
                continue
            base = found.pop("as it is")
            table.add_row(name, f"{base:.4f}", *(f"{value - base:+.4f}" for value in found.values()))
        Console(width=110).print(table)


if __name__ == "__main__":
    main()
