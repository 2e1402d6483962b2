"""Log loss, Brier score and calibration error of every estimator, as it is and calibrated, and of others beside them.

    python benchmarks/probabilities.py                              three sets, all models
    python benchmarks/probabilities.py --datasets segment --rows 500
    python benchmarks/probabilities.py --picture reliability.png    reliability diagrams of what has been run

Every row is predicted before it is learned. Our models have their default settings, but for those in the name. Others:
river's adaptive random forest (10 trees) and Hoeffding adaptive tree; scikit-learn's GaussianNB and SGDClassifier with
log loss, nominal columns as 0/1 columns, numbers scaled by what has come so far. Each run is a line of the file
`--out`. Runs that are in it already are not done again, so it can be stopped at any time.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.table import Table as TextTable

from onlineboost import load_dataset, lookup, prequential
from onlineboost.data.frames import as_table
from onlineboost.evaluation import Metrics

SETS = ("nursery", "segment", "electricity")
OURS = (*lookup.names(), "adaboost-olm combiner=weighted")
OTHERS = ("river ARF", "river HAT", "GaussianNB", "SGDClassifier")
NAMES = (*OURS, *(f"{name} calibrated" for name in OURS if name != "online-boost"), *OTHERS)

# ----------------------------------------------------------------------------------------------------------- models


def ours(name: str, data: Any) -> Metrics:
    """A model of this package: its name, and settings behind it."""
    kind, *more = name.split()
    settings: dict[str, Any] = {"calibrate": True} if "calibrated" in more else {}
    settings |= dict(part.split("=") for part in more if "=" in part)
    model = lookup.make(kind, random_state=0, **settings)
    return prequential(model, data.X, data.y, classes=list(data.classes)).metrics


def rivers(name: str, data: Any) -> Metrics:
    """A classifier of river, row by row."""
    from river import forest, tree

    model = (
        forest.ARFClassifier(n_models=10, seed=0)
        if name.endswith("ARF")
        else tree.HoeffdingAdaptiveTreeClassifier(seed=0)
    )
    table, classes = as_table(data.X), list(data.classes)
    said, p = np.empty(len(data.y), object), np.zeros((len(data.y), len(classes)))
    columns = [column.tolist() for column in table.columns]
    for b, (values, label) in enumerate(zip(zip(*columns, strict=True), data.y.tolist(), strict=True)):
        x = dict(zip(table.names, values, strict=True))
        shares = model.predict_proba_one(x)
        p[b] = [shares.get(name, 0.0) for name in classes]
        said[b] = max(shares, key=shares.__getitem__) if shares else None
        model.learn_one(x, label)
    return counted(data, said, normalised(p))


def scikit(name: str, data: Any) -> Metrics:
    """A classifier of scikit-learn over numbers. GaussianNB learns 50 rows at a time: of one, a variance is nothing."""
    from sklearn.linear_model import SGDClassifier
    from sklearn.naive_bayes import GaussianNB

    model = GaussianNB() if name == "GaussianNB" else SGDClassifier(loss="log_loss", random_state=0)
    X, classes = as_numbers(data), np.array(sorted(data.classes))
    said, p = np.empty(len(data.y), object), np.zeros((len(data.y), len(classes)))
    mean, squares = np.zeros(X.shape[1]), np.zeros(X.shape[1])
    rows, block = np.empty_like(X), 50 if name == "GaussianNB" else 1
    for b in range(len(X)):
        step = X[b] - mean
        mean += step / (b + 1)
        squares += step * (X[b] - mean)
        rows[b] = (X[b] - mean) / np.sqrt(squares / (b + 1) + 1e-9)
        if b >= block:
            with np.errstate(all="ignore"):
                p[b] = np.nan_to_num(model.predict_proba(rows[b : b + 1])[0])
            said[b] = classes[p[b].argmax()]
        if (b + 1) % block == 0:
            learned = slice(b + 1 - block, b + 1)
            model.partial_fit(rows[learned], data.y[learned], classes=classes)
    return counted(data, said, normalised(p), classes)


def as_numbers(data: Any) -> np.ndarray:
    """Nominal columns as 0/1 columns, one for each value; missing numbers as 0."""
    out = []
    for column in as_table(data.X).columns:
        if column.dtype == object:
            out += [(column == value).astype(float) for value in sorted(set(column.tolist()), key=str)]
        else:
            out.append(np.nan_to_num(column.astype(float)))
    return np.column_stack(out)


def normalised(p: np.ndarray) -> np.ndarray:
    """Probabilities that add up to 1, or a row of zeros: there are none."""
    total = p.sum(axis=1, keepdims=True)
    return np.divide(p, total, out=np.zeros_like(p), where=total > 0.0)


def counted(data: Any, said: np.ndarray, p: np.ndarray, classes: Any = None) -> Metrics:
    metrics = Metrics()
    metrics.add(data.y, said, probabilities=p, classes=list(data.classes) if classes is None else classes)
    return metrics


def runner(name: str) -> Callable[[str, Any], Metrics]:
    return rivers if name.startswith("river") else scikit if name in OTHERS else ours


# ------------------------------------------------------------------------------------------------------------ tables


def one(dataset: str, name: str, rows: int | None) -> dict[str, Any]:
    """A line of the file."""
    data = load_dataset(dataset)
    data = data.shuffled(0) if data.order == "shuffle" else data
    data = replace(data, X=data.X[:rows], y=data.y[:rows])
    start = time.process_time()
    metrics = runner(name)(name, data)
    told = {part: np.round(values, 6).tolist() for part, values in metrics.reliability().items()}
    seconds = round(time.process_time() - start, 2)
    return {"dataset": dataset, "model": name, "rows": rows, "seconds": seconds, **metrics.as_dict(), "bins": told}


def show(records: list[dict[str, Any]], datasets: list[str]) -> None:
    """The table: log loss, Brier score and calibration error, each before and after."""
    table = TextTable(title="log loss / Brier / ECE")
    for heading in ("model", *datasets):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    found = {(record["dataset"], record["model"]): record for record in records}
    for name in NAMES:
        cells = [found.get((dataset, name)) for dataset in datasets]
        if any(cells):
            figures = ("" if r is None else f"{r['log_loss']:.3f} {r['brier']:.3f} {r['ece']:.3f}" for r in cells)
            table.add_row(name, *figures)
    Console(width=140).print(table)


def draw(records: list[dict[str, Any]], datasets: list[str], path: Path) -> None:
    """Reliability diagrams: how often predictions of a probability are right, for a few models."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    shown = {
        "online-boost": "#0072b2",
        "adaboost-olm combiner=weighted": "#d55e00",
        "adaboost-olm combiner=weighted calibrated": "#e69f00",
        "online-mbbm": "#7b3294",
        "online-mbbm calibrated": "#c2a5cf",
        "river ARF": "#777777",
    }
    figure, axes = pyplot.subplots(1, len(datasets), figsize=(4.2 * len(datasets), 5.2), sharey=True, squeeze=False)
    found = {(record["dataset"], record["model"]): record for record in records}
    for axis, dataset in zip(axes[0], datasets, strict=True):
        axis.plot([0, 1], [0, 1], color="#bbbbbb", linewidth=1)
        for name, colour in shown.items():
            if (record := found.get((dataset, name))) is not None:
                bins = {part: np.array(values, float) for part, values in record["bins"].items()}
                enough = bins["rows"] >= max(20.0, 0.002 * bins["rows"].sum())
                style = "--" if name.endswith("calibrated") else "-"
                axis.plot(bins["confidence"][enough], bins["right"][enough], style, color=colour, marker="o",
                          markersize=3, label=name)  # fmt: skip
        axis.set(
            title=dataset, xlabel="probability of what was predicted", xlim=(0, 1.02), ylim=(0, 1.02), aspect="equal"
        )
    axes[0][0].set_ylabel("share that was right")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, frameon=False)
    figure.tight_layout(rect=(0, 0.12, 1, 1))
    figure.savefig(path, dpi=110)


@click.command()
@click.option("--datasets", default=",".join(SETS), show_default=True)
@click.option("--models", default=",".join(NAMES), help="Comma-separated names [default: all].")
@click.option("--rows", type=int, help="Only the first so many rows.")
@click.option("--out", default="probabilities.jsonl", show_default=True, type=click.Path(path_type=Path))
@click.option("--picture", type=click.Path(path_type=Path), help="Draw reliability diagrams to this file.")
def main(datasets: str, models: str, rows: int | None, out: Path, picture: Path | None) -> None:
    """Measure, print a table, and draw."""
    sets = datasets.split(",")
    lines = out.read_text().splitlines() if out.exists() else []
    records = [record for record in map(json.loads, lines) if record["rows"] == rows]
    done = {(record["dataset"], record["model"]) for record in records}
    for dataset in sets:
        for name in models.split(","):
            if (dataset, name) not in done:
                records.append(one(dataset, name, rows))
                with out.open("a") as file:
                    file.write(json.dumps(records[-1]) + "\n")
    show(records, sets)
    if picture is not None:
        draw(records, sets, picture)


if __name__ == "__main__":
    main()
