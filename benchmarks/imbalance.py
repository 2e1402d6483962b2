"""A rare class whose misses cost more than false alarms: class_weight and cost_matrix beside nothing at all.

python benchmarks/imbalance.py              two generated streams, three of real data
python benchmarks/imbalance.py --quick      one short stream, in less than a minute
python benchmarks/imbalance.py --matrices   several classes, and random costs for every pair of them
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import click
import numpy as np
from drift import mixed
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score

from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineMBBM
from onlineboost.data.errors import DataError

Stream = tuple[Any, np.ndarray]
RARE, OTHER = "rare", "other"
MISS = 20.0  # what it costs to miss the rare class; a false alarm costs 1
START = 0.2  # of the rows are not counted
BLOCK = 100  # rows that are predicted, for the AUC, with what was learned before them

MODELS: dict[str, Callable[..., Any]] = {
    "AdaBoostOLM": lambda n, **settings: AdaBoostOLM(n, **settings),
    "OnlineMBBM": lambda n, **settings: OnlineMBBM(n, **settings),
    "HoeffdingTree": lambda n, **settings: HoeffdingTree(**settings),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "sample_weight": {},
    "cost_matrix": {"cost_matrix": {RARE: {OTHER: MISS}}},
    "balanced": {"class_weight": "balanced"},
}

# ---------------------------------------------------------------------------------------------------------- streams


def hidden(n: int, seed: int, share: float) -> Stream:
    """A rare class of three clusters within a cloud of everything else."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 12)), rng.random(n) < share
    centres = rng.normal(size=(3, 12))
    X[y] = centres[rng.integers(3, size=y.sum())] + 0.7 * rng.normal(size=(y.sum(), 12))
    return X, np.where(y, RARE, OTHER)


def against_the_rest(name: str, rare: tuple[str, ...], n: int, seed: int) -> Stream:
    """Some classes of a data set against all others, in random order."""
    X, y = mixed(name, seed, n)
    return X, np.where(np.isin(y, rare), RARE, OTHER)


VALVES = ("Fpv.Close", "Fpv.Open", "Bpv.Close", "Bpv.Open")
STREAMS: dict[str, Callable[[int], Stream]] = {
    "generated, 1 %": lambda seed: hidden(15_000, 301 + seed, 0.01),
    "generated, 3 %": lambda seed: hidden(15_000, 401 + seed, 0.03),
    "shuttle, valves": lambda seed: against_the_rest("shuttle", VALVES, 20_000, 301 + seed),
    "covertype, aspen": lambda seed: against_the_rest("covertype", ("5",), 10_000, 301 + seed),
    "car, very good": lambda seed: against_the_rest("car", ("vgood",), 1728, 301 + seed),
}
SEVERAL: dict[str, Callable[[int], Stream]] = {
    "car": lambda seed: mixed("car", 301 + seed),
    "shuttle": lambda seed: mixed("shuttle", 301 + seed, 6000),
    "movement": lambda seed: mixed("movement", 301 + seed, 6000),
}

# -------------------------------------------------------------------------------------------------------- measuring


def measure(clf: Any, X: Any, y: np.ndarray, weight: np.ndarray | None) -> np.ndarray:
    """Cost of 1000 examples, recall, precision and AUC of the rare class, and accuracy."""
    said, score = [], np.zeros(len(y))
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        if start:
            score[rows] = clf.predict_proba(X[rows])[:, 1]  # classes_ are OTHER, RARE
        own = None if weight is None else weight[rows]
        said += clf.test_then_train(X[rows], y[rows], classes=[OTHER, RARE], sample_weight=own).tolist()
    counted = slice(max(BLOCK, int(START * len(y))), None)
    is_rare, alarm = (y == RARE)[counted], (np.array(said) == RARE)[counted]
    hits = (is_rare & alarm).sum()
    cost = MISS * (is_rare & ~alarm).sum() + (~is_rare & alarm).sum()
    auc = roc_auc_score(is_rare, score[counted])
    rates = hits / max(is_rare.sum(), 1), hits / max(alarm.sum(), 1), auc, (is_rare == alarm).mean()
    return np.array([1000.0 * cost / len(is_rare), *rates])


def random_costs(k: int, seed: int) -> np.ndarray:
    """Costs that are log-normal: a factor of 3 up or down is common."""
    matrix = np.exp(np.random.default_rng(seed).normal(0.0, 1.2, (k, k)))
    np.fill_diagonal(matrix, 0.0)
    return matrix


def mean_cost(clf: Any, X: Any, y: np.ndarray, matrix: np.ndarray, *, decide: bool = False) -> float:
    """Of the labels that it predicts, or of those that are cheapest by its probabilities."""
    labels = np.unique(y)
    said = np.empty(len(y), y.dtype)
    for start in range(0, len(y), BLOCK):
        rows = slice(start, start + BLOCK)
        if decide and start:
            said[rows] = labels[(clf.predict_proba(X[rows]) @ matrix).argmin(axis=1)]
            clf.partial_fit(X[rows], y[rows])
        else:
            said[rows] = clf.test_then_train(X[rows], y[rows], classes=labels)
    counted = slice(max(BLOCK, int(START * len(y))), None)
    return float(matrix[np.searchsorted(labels, y[counted]), np.searchsorted(labels, said[counted])].mean())


def drawn_streams(
    streams: dict[str, Callable[[int], Stream]], orders: int, rows: int | None
) -> Iterator[tuple[str, list[Stream]]]:
    """Every stream that is at hand, in all orders."""
    for name, make in streams.items():
        try:
            yield name, [tuple(part[:rows] for part in make(order)) for order in range(orders)]
        except DataError as error:
            Console(stderr=True).print(f"[yellow]{name} left out:[/] {error}", highlight=False)


def rare_classes(streams: dict[str, Callable[[int], Stream]], learners: int, orders: int, rows: int | None) -> None:
    """A table for each stream."""
    for name, drawn in drawn_streams(streams, orders, rows):
        share = np.mean([(y == RARE).mean() for _, y in drawn])
        title = f"{name}: {100 * share:.1f} % rare, {len(drawn[0][1])} rows; a miss costs {MISS:g}, a false alarm 1"
        table = Table("model and setting", "cost of 1000", "recall", "precision", "AUC", "accuracy", title=title)
        for model, new in MODELS.items():
            for setting, given in SETTINGS.items():
                figures = []
                for order, (X, y) in enumerate(drawn):
                    weight = np.where(y == RARE, MISS, 1.0) if setting == "sample_weight" else None
                    figures.append(measure(new(learners, random_state=order, **given), X, y, weight))
                cost, *rates = np.mean(figures, axis=0)
                table.add_row(f"{model}, {setting}", f"{cost:.1f}", *(f"{rate:.3f}" for rate in rates))
        Console(width=110).print(table)


def random_matrices(streams: dict[str, Callable[[int], Stream]], learners: int, orders: int, rows: int | None) -> None:
    """What mistakes cost beside a model that knows nothing of costs: the geometric mean over matrices and orders."""
    title = f"cost / cost without, {orders} random matrices: with cost_matrix | decided by probabilities"
    table = Table("stream", *MODELS, title=title)
    for name, drawn in drawn_streams(streams, orders, rows):
        cells = []
        for new in MODELS.values():
            gains = []
            for order, (X, y) in enumerate(drawn):
                matrix = random_costs(len(np.unique(y)), order)
                plain = mean_cost(new(learners), X, y, matrix)
                told = mean_cost(new(learners, cost_matrix=matrix), X, y, matrix)
                gains.append(np.log([told / plain, mean_cost(new(learners), X, y, matrix, decide=True) / plain]))
            cells.append(" | ".join(f"{ratio:.2f}" for ratio in np.exp(np.mean(gains, axis=0))))
        table.add_row(name, *cells)
    Console(width=110).print(table)


@click.command()
@click.option("--quick", is_flag=True, help="One stream, short, with few learners.")
@click.option("--matrices", is_flag=True, help="Several classes and random costs instead.")
@click.option("--streams", default="", help="Those that begin so [default: all].")
@click.option("--learners", default=50, show_default=True, type=click.IntRange(1))
@click.option(
    "--orders", default=2, show_default=True, type=click.IntRange(1), help="Orders, or seeds, of each stream."
)
@click.option("--rows", type=click.IntRange(500), help="First so many rows of each stream [default: all].")
def main(quick: bool, matrices: bool, streams: str, learners: int, orders: int, rows: int | None) -> None:
    """Print what mistakes cost, and who finds the rare class."""
    if quick:
        matrices, streams, learners, orders, rows = False, "generated, 3", min(learners, 10), 1, rows or 2000
    known = SEVERAL if matrices else STREAMS
    chosen = {name: make for name, make in known.items() if name.startswith(streams)}
    if not chosen:
        raise click.BadParameter(f"no stream begins with {streams!r}; there are {'; '.join(known)}")
    if matrices:
        random_matrices(chosen, learners, 4 * orders, rows)
    else:
        rare_classes(chosen, learners, orders, rows)


if __name__ == "__main__":
    main()
