"""Several labels: rank loss, F1 and cost of MultiLabelBoost beside one binary model per label, chains and base rates.

    python benchmarks/multilabel.py                         streams that are made here, or of sets at hand
    python benchmarks/multilabel.py --mulan FOLDER          sets of MULAN: FOLDER/scene/scene-train.arff, ...
    python benchmarks/multilabel.py --streams topics-8,segment --systems adaptive,binary

Made here: "topics-k", documents by `make_multilabel_classification` of scikit-learn with k labels; and data sets whose
classes have attributes, drawn once, each of which is a label: 3 % of the entries of the indicator are turned round. All
rows are predicted, then learned; the figures are of all rows but the first 20. Of MULAN's sets the file "train" is
learned first, and the figures are of the file "test", each row predicted, then learned: as in the paper, but for the
order of the rows, which is drawn in each file.

"binary" models are one for each label, ranked by their probabilities; `chain` is river's ClassifierChain of its
HoeffdingTreeClassifier, `per output` its PerOutputClassifier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.datasets import make_multilabel_classification

from onlineboost import AdaBoostOLM, HoeffdingTree, MultiLabelBoost, OnlineBoostClassifier, load_dataset
from onlineboost.data.errors import DataError
from onlineboost.evaluation import LabelMetrics, warm_up

MADE = {
    "topics-5": {"n_samples": 10_000, "n_features": 12, "n_classes": 5, "n_labels": 2},
    "topics-8": {"n_samples": 6_000, "n_features": 25, "n_classes": 8, "n_labels": 3},
    "topics-20": {"n_samples": 5_000, "n_features": 50, "n_classes": 20, "n_labels": 3},
    "topics-30": {"n_samples": 5_000, "n_features": 40, "n_classes": 30, "n_labels": 2, "allow_unlabeled": False},
}
ATTRIBUTES = {"segment": 10, "mice": 10}
MULAN = {"emotions": 6, "scene": 6, "yeast": 14, "birds": 19, "flags": 7, "mediamill": 101}  # labels
FIRST = 20  # rows that are not measured
Learn = Callable[[np.ndarray, np.ndarray], np.ndarray]  # rows and their indicator to what was said before learning them


class Stream(NamedTuple):
    """Rows, and how many come before those that are measured."""

    X: np.ndarray
    Y: np.ndarray
    first: int


def made(name: str, seed: int) -> Stream:
    if name in MADE:
        return Stream(*make_multilabel_classification(**MADE[name], random_state=1_000 + seed), FIRST)
    data, rng = load_dataset(name).shuffled(seed), np.random.default_rng(1_000 + seed)
    X = np.column_stack([column for column in data.X.columns if column.dtype != np.object_])
    codes = np.unique(data.y.astype(str), return_inverse=True)[1]
    Y = (rng.random((codes.max() + 1, ATTRIBUTES[name])) < 0.35)[codes]
    return Stream(X, (Y ^ (rng.random(Y.shape) < 0.03)).astype(int), FIRST)


def read_arff(path: Path, n_labels: int) -> tuple[np.ndarray, np.ndarray]:
    """Numbers alone, the last columns are labels; sparse rows too."""
    rows: list[np.ndarray] = []
    n = 0
    for line in map(str.strip, path.read_text(encoding="utf-8").splitlines()):
        n += line.lower().startswith("@attribute")
        if not line or line[0] in "%@":
            continue
        if line[0] == "{":
            pairs = np.array([entry.split() for entry in line.strip("{}").split(",")], float).reshape(-1, 2)
            rows.append(np.zeros(n))
            rows[-1][pairs[:, 0].astype(int)] = pairs[:, 1]
        else:
            rows.append(np.array(line.split(","), float))
    table = np.array(rows)
    return table[:, :-n_labels], table[:, -n_labels:].astype(int)


def of_mulan(folder: Path, name: str, seed: int) -> Stream:
    """Its files in orders of their own, since the rows of `scene` are sorted by their labels."""
    rng, parts = np.random.default_rng(1_000 + seed), []
    for part in ("train", "test"):
        X, Y = read_arff(next(folder.glob(f"{name}*/{name}-{part}.arff")), MULAN[name])
        order = rng.permutation(len(X))
        parts.append((X[order], Y[order]))
    (X, Y), (X_test, Y_test) = parts
    return Stream(np.concatenate([X, X_test]), np.concatenate([Y, Y_test]), len(X))


# ------------------------------------------------------------------------------------------------------------- systems


def boost(seed: int, **settings: Any) -> Learn:
    return lambda X, Y: MultiLabelBoost(random_state=seed, **settings).test_then_train(X, Y, proba=True)[1]  # type: ignore


def per_label(make: Callable[[], Any]) -> Learn:
    """One model for each label: is it relevant or not?"""

    def learn(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        said = [make().test_then_train(X, own, classes=[0, 1], proba=True)[1][:, 1] for own in Y.T]
        return np.column_stack(said)

    return learn


def base_rates(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    before = np.arange(1, len(Y) + 1)[:, None]
    rates: np.ndarray = (np.cumsum(Y, axis=0) - Y + 0.5) / before
    return rates


def of_river(kind: str) -> Learn:
    from river import multioutput, tree

    def learn(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        model = getattr(multioutput, kind)(tree.HoeffdingTreeClassifier())
        out = np.full(Y.shape, 0.5)
        for b, (x, y) in enumerate(zip(X.tolist(), Y.tolist(), strict=True)):
            row, labels = dict(enumerate(x)), {l: bool(own) for l, own in enumerate(y)}
            if b:
                for l, p in model.predict_proba_one(row).items():
                    out[b, l] = p.get(True, 0.0)
            model.learn_one(row, labels)
        return out

    return learn


def systems(seed: int) -> dict[str, Learn]:
    return {
        "panels": boost(seed),
        "panels, 1 learner": boost(seed, n_learners=1),
        "panels, 50 learners": boost(seed, n_learners=50),
        "adaptive": boost(seed, n_learners=100, panel=False),
        "gamma .02": boost(seed, n_learners=100, gamma=0.02),
        "binary OnlineBoostClassifier": per_label(lambda: OnlineBoostClassifier(random_state=seed)),
        "binary AdaBoostOLM, 100": per_label(lambda: AdaBoostOLM(random_state=seed)),
        "binary HoeffdingTree": per_label(lambda: HoeffdingTree(random_state=seed)),
        "river chain": of_river("ClassifierChain"),
        "river per output": of_river("PerOutputClassifier"),
        "base rates": base_rates,
    }


def measured(learn: Learn, stream: Stream) -> tuple[LabelMetrics, float]:
    """What a system reaches, and processor microseconds a row."""
    begun = time.process_time()
    q = learn(stream.X, stream.Y)
    seconds = time.process_time() - begun
    q, Y = q[stream.first :], stream.Y[stream.first :]
    return LabelMetrics().update(Y, q, q > 0.5), 1e6 * seconds / len(stream.X)


def rounds(names: list[str], mulan: Path | None, seeds: int) -> Iterator[tuple[str, int, Stream]]:
    for name in names:
        for seed in range(seeds):
            try:
                yield name, seed, of_mulan(mulan, name, seed) if mulan is not None else made(name, seed)
            except DataError as error:
                print(f"{name} is left out: {error}")
                break


@click.command(help=__doc__)
@click.option("--mulan", type=click.Path(exists=True, path_type=Path), help="Folder of MULAN's sets.")
@click.option("--streams", help="Some of them.")
@click.option("--systems", "chosen", help="Some of them: the beginnings of their names.")
@click.option("--seeds", default=3, help="Seeds, and orders or draws of the streams.")
def main(mulan: Path | None, streams: str | None, chosen: str | None, seeds: int) -> None:
    names = streams.split(",") if streams else [*(MULAN if mulan is not None else MADE | ATTRIBUTES)]
    for model in (AdaBoostOLM(2), HoeffdingTree(), OnlineBoostClassifier(2)):
        if chosen is None or "binary" in chosen:
            warm_up(model)
    for settings in ({}, {"panel": False}):
        boost(0, **settings)(np.zeros((2, 1)), np.eye(2, dtype=int))
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for name, seed, stream in rounds(names, mulan, seeds):
        for system, learn in systems(seed).items():
            if chosen and not system.startswith(tuple(chosen.split(","))):
                continue
            if seed and system.startswith("river"):
                continue  # once is enough: they are slow
            metrics, cost = measured(learn, stream)
            row = metrics.rank_loss, metrics.hamming, metrics.micro_f1, metrics.macro_f1, metrics.coverage, cost
            found.setdefault((name, system), []).append(row)
            print(name, seed, system, *(f"{value:.4f}" for value in row[:5]), f"{cost:.0f} us", flush=True)
    table = Table("stream", "system", "rank loss", "+-", "hamming", "micro F1", "macro F1", "coverage", "us a row")
    for (name, system), rows in found.items():
        mean, spread = np.mean(rows, axis=0), np.std(rows, axis=0)[0] / np.sqrt(max(len(rows) - 1, 1))
        shown = [f"{mean[0]:.4f}", f"{spread:.4f}", *(f"{value:.3f}" for value in mean[1:4]), f"{mean[4]:.2f}"]
        table.add_row(name, system, *shown, f"{mean[5]:.0f}")
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
