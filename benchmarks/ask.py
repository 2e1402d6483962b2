"""Which labels to ask for (`onlineboost serve --ask`): accuracy when a share of the labels is all that is learned from.

    python benchmarks/ask.py
    python benchmarks/ask.py --shares .1 --model adaboost-olm --streams car,clusters

Every row is predicted; it is learned if its label was asked for. `random` asks at random, `margin` as the service did
without novelty, `novelty` as it does. clusters: a made-up stream of two classes of ten columns, to which a cluster far
from the others comes every 1,000 rows, of either class. The first 500 rows of all are learned.
"""

from __future__ import annotations

import click
import numpy as np

from onlineboost import load_dataset, lookup
from onlineboost.cli.main import make_model
from onlineboost.service import query
from onlineboost.service.query import Query

STREAMS = "clusters,balance,car,nursery,segment,waveform,keystroke,electricity,mushroom,shuttle,covertype"
MOST_ROWS, FIRST = 5_000, 500
WAYS = {"random": (1.0, 0.0), "margin": (0.2, 0.0), "novelty": (0.2, 0.2)}  # parts at random, and for novelty


def clusters(order: int) -> tuple[list[dict[str, float]], list[str]]:
    rng, known = np.random.default_rng(order), 2
    centres, labels = rng.normal(0.0, 3.0, (99, 10)), rng.integers(0, 2, 99)
    rows, y = [], []
    for at in range(MOST_ROWS):
        known += at % 1000 == 999
        of = rng.integers(known)
        rows.append({f"x{c}": float(v) for c, v in enumerate(rng.normal(centres[of], 1.0))})
        y.append(str(labels[of]))
    return rows, y


def stream(name: str, order: int) -> tuple[list[dict[str, object]], list[str]]:
    if name == "clusters":
        return clusters(order)  # type: ignore[return-value]
    data = load_dataset(name)
    n = len(data.y)
    time = name in ("keystroke", "electricity", "covertype")  # these are in the order of time
    places = np.arange(n) if time else np.random.default_rng(order).permutation(n)
    first = (n - MOST_ROWS) * order // 10 if time and n > MOST_ROWS else 0
    places = places[first : first + MOST_ROWS]
    columns = [np.asarray(column)[places].tolist() for column in data.X.columns]
    return [dict(zip(data.X.names, row, strict=True)) for row in zip(*columns, strict=True)], data.y[places].tolist()


def accuracy(rows: list[dict[str, object]], y: list[str], model: str, way: str, share: float) -> tuple[float, float]:
    """Of the rows after the first, and which part of their labels was asked for."""
    query.AT_RANDOM, query.NOVEL = WAYS[way]
    clf, asks, right, asked = make_model(model, seed=0, jobs=1), Query(share), 0, 0
    for at, (row, label) in enumerate(zip(rows, y, strict=True)):
        shares = clf.predict_proba_one(row)
        wanted = asks.wants({str(name): p for name, p in shares.items()}, row) or at < FIRST
        if at >= FIRST:
            right += bool(shares) and max(shares, key=shares.__getitem__) == label
            asked += wanted
        if wanted:
            clf.learn_one(row, label)
    return right / (len(y) - FIRST), asked / (len(y) - FIRST)


@click.command(help=__doc__)
@click.option("--streams", default=STREAMS, show_default=True)
@click.option("--shares", default="0.05,0.2", show_default=True)
@click.option("--model", default="adaboost-olm", show_default=True, type=click.Choice(lookup.names()))
@click.option("--orders", default=2, show_default=True)
def main(streams: str, shares: str, model: str, orders: int) -> None:
    print(f"{'stream':<14} share " + "".join(f"{way:>18}" for way in WAYS))
    for share in map(float, shares.split(",")):
        means = []
        for name in streams.split(","):
            made = [stream(name, order) for order in range(orders)]
            found = np.array([[accuracy(*each, model, way, share) for way in WAYS] for each in made]).mean(axis=0)
            means.append(found)
            print(f"{name:<14} {share:>5} " + "".join(f"{a:>11.4f} ({b:.3f})" for a, b in found), flush=True)
        print(f"{'mean':<14} {share:>5} " + "".join(f"{a:>11.4f} ({b:.3f})" for a, b in np.mean(means, axis=0)))


if __name__ == "__main__":
    main()
