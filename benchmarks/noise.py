"""What wrong labels cost: models learn from labels some of which are wrong, and are judged by the right ones.

    python benchmarks/noise.py                                  # some minutes
    python benchmarks/noise.py --streams segment --kinds uniform --rates 0,.2 --models online-boost,oza-boost
    python benchmarks/noise.py --river                          # the adaptive random forest of river, 10 trees, too

* uniform: a share of the rows has one of the other labels, each as likely.
* class: the next label in their order, so that every class is confused with one other.
* near: as uniform in number, but rows are taken for another class the more often, the more of their 10 nearest rows
  are of other classes, and get the label that is most frequent among those.

Every row is predicted, then learned with its possibly wrong label. Shown is the share of right predictions over all
rows, in the mean over streams and orders, and for rates above 0 how much less it is than without wrong labels.
"""

from __future__ import annotations

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.neighbors import NearestNeighbors

from onlineboost import AdaBoostOLM, load_dataset, lookup
from onlineboost.data.errors import DataError
from onlineboost.data.table import Table as Columns

STREAMS = "balance,car,mice,nursery,segment,waveform,keystroke,electricity"
MODELS = "online-boost,adaboost-olm,online-mbbm,oza-boost,one-vs-all,best-tree,hoeffding-tree"
RIVER = "river ARF"
KINDS = ("uniform", "class", "near")
MOST_ROWS = 5_000


def numbers_of(X: Columns) -> np.ndarray:
    """All columns as numbers of mean 0 and variance 1, values of text as columns of 0 and 1."""
    out = []
    for column in map(np.asarray, X.columns):
        if column.dtype.kind in "fiub":
            out.append(np.nan_to_num(column.astype(float)))
        else:
            out += [(column == value).astype(float) for value in sorted({str(each) for each in column})[:30]]
    found = np.column_stack(out)
    return (found - found.mean(axis=0)) / np.maximum(found.std(axis=0), 1e-9)


def wrong_labels(kind: str, rate: float, X: Columns, y: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Codes of the labels, of which about this share is wrong."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    chance, other = np.full(len(y), rate), (y + 1) % k
    if kind == "uniform":
        other = (y + rng.integers(1, k, len(y))) % k
    if kind == "near":
        near = NearestNeighbors(n_neighbors=11).fit(numbers_of(X)).kneighbors(return_distance=False)
        counts = np.stack([(y[near] == label).sum(axis=1) for label in range(k)], axis=1).astype(float)
        counts[np.arange(len(y)), y] = -1.0
        order = np.argsort(np.argsort(counts.max(axis=1) + rng.random(len(y))))
        chance, other = 2.0 * rate * order / len(y), counts.argmax(axis=1)
    return np.where(rng.random(len(y)) < chance, other, y)


def accuracy(model: str, X: Columns, noisy: np.ndarray, y: np.ndarray, k: int, seed: int) -> float:
    """Share of right predictions over all rows, each before the row is learned."""
    if model == RIVER:
        from river.forest import ARFClassifier

        forest, right = ARFClassifier(10, seed=seed), 0
        for i, values in enumerate(zip(*(column.tolist() for column in map(np.asarray, X.columns)), strict=True)):
            row = dict(enumerate(values))
            right += forest.predict_one(row) == y[i]
            forest.learn_one(row, int(noisy[i]))
        return float(right / len(y))
    clf = AdaBoostOLM(combiner="last") if model == "adaboost-olm-last" else lookup.make(model)
    return float((clf.set_params(random_state=seed).test_then_train(X, noisy, classes=range(k)) == y).mean())


def measure(model: str, stream: str, kind: str, rates: list[float], orders: int, rows: int) -> np.ndarray:
    """Accuracy, (orders, rates)."""
    found = np.empty((orders, len(rates)))
    for order in range(orders):
        data = load_dataset(stream)
        data = data.shuffled(order) if data.order == "shuffle" else data
        labels = {label: code for code, label in enumerate(data.classes)}
        X, y = data.X[:rows], np.array([labels[label] for label in data.y[:rows].tolist()])
        for at, rate in enumerate(rates):
            noisy = wrong_labels(kind, rate, X, y, len(labels), order)
            found[order, at] = accuracy(model, X, noisy, y, len(labels), order)
    return found


@click.command()
@click.option("--streams", default=STREAMS, show_default=True)
@click.option("--models", default=MODELS, show_default=True, help="Short names; adaboost-olm-last: without Hedge.")
@click.option("--kinds", default=",".join(KINDS), show_default=True)
@click.option("--rates", default="0,.1,.2,.4", show_default=True)
@click.option(
    "--orders", default=2, show_default=True, help="Of each stream, or seeds where the order is that of time."
)
@click.option("--rows", default=MOST_ROWS, show_default=True, help="The first rows of each stream.")
@click.option("--river", is_flag=True, help="River's random forest of 10 trees too: slow.")
# arguments: the options
def main(streams: str, models: str, kinds: str, rates: str, orders: int, rows: int, river: bool) -> None:
    """Print what wrong labels cost each model."""
    shares, at_hand = [float(rate) for rate in rates.split(",")], []
    for stream in streams.split(","):
        try:
            load_dataset(stream)
            at_hand.append(stream)
        except DataError as error:
            Console(stderr=True).print(f"[yellow]{stream} left out:[/] {error}", highlight=False)
    named = models.split(",") + [RIVER] * river
    for kind in kinds.split(","):
        table = Table("model", *(f"{rate:.0%} wrong" for rate in shares), title=f"{kind}: {', '.join(at_hand)}")
        for model in named:
            found = np.concatenate([measure(model, stream, kind, shares, orders, rows) for stream in at_hand])
            table.add_row(model, f"{found[:, 0].mean():.4f}", *(cell(found[:, 0], each) for each in found.T[1:]))
            Console(stderr=True).print(kind, model, *np.round(found.mean(axis=0), 4), highlight=False)
        Console(width=110).print(table)


def cell(base: np.ndarray, found: np.ndarray) -> str:
    return f"{found.mean():.4f} ({(found - base).mean():+.4f})"


if __name__ == "__main__":
    main()
