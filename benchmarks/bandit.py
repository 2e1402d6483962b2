"""Learning from actions of which only the outcome is known, beside learning from labels, and Vowpal Wabbit.

    python benchmarks/bandit.py --streams balance,nursery --models boost,olm
    python benchmarks/bandit.py --vw .bench/vw/bin/python      # `make .bench/vw/installed` makes it

Every system has the same rows in the same order. Its exploration is the one of RHOS with the most right actions over
the first fifth of the rows. Figures are shares of right rows: of what is predicted over the last 20 % and over all, and
of the actions over all. "full" learns from labels, "bandit" from outcomes, "unbiased" from outcomes and probabilities.
VW is `--cb_explore` (MTR), with and without pairs of columns, which are chosen by the first fifth as well.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from onlineboost import AdaBoostOLM, OnlineBoostClassifier, OnlineMBBM, load_dataset, prequential
from onlineboost.data.errors import DataError
from onlineboost.evaluation import BanditFeedback

STREAMS = ("balance", "car", "mice", "nursery", "segment", "waveform", "electricity", "covertype", "synthetic-gradual")
MODELS = {"boost": OnlineBoostClassifier, "olm": AdaBoostOLM, "mbbm": OnlineMBBM}
RHOS = (0.02, 0.05, 0.1)
Figures = tuple[float, float, float]  # predicted right over the last 20 %, over all; actions right over all
Run = Callable[[float, int], Figures]  # exploration, rows


def of_right(right: np.ndarray, acted: float) -> Figures:
    return float(right[-(len(right) // 5) :].mean()), float(right.mean()), acted


def best(run: Run, rows: int, rhos: tuple[float, ...] = RHOS) -> tuple[Figures, float]:
    """The figures with the exploration that was best over the first fifth, and that exploration."""
    rho = max(rhos, key=lambda one: run(one, rows // 5)[2])
    return run(rho, rows), rho


def ours(model: str, data: tuple, unbiased: bool, seed: int) -> Run:
    X, y, classes = data

    def run(rho: float, rows: int) -> Figures:
        told = BanditFeedback(MODELS[model](random_state=seed), rho, unbiased)
        right = prequential(told, X[:rows], y[:rows], classes=classes, proba=False).right
        return of_right(right, told.accuracy)

    return run


def vw(python: str, data: tuple, pairs: bool, seed: int) -> Run:
    """The same by Vowpal Wabbit, in an environment of its own: numbers as they are, values of columns as features."""
    X, y, classes = data
    codes = {label: code for code, label in enumerate(classes)}
    lines = []
    for label, *row in zip(y.tolist(), *(column.tolist() for column in X.columns), strict=True):
        words = [
            f"{c}:{value:.9g}" if isinstance(value, float | int) else f"{c}={str(value).replace(' ', '_')}"
            for c, value in enumerate(row)
            if value is not None and value == value
        ]
        lines.append(f"{codes[label]}\t{' '.join(words).replace('|', '_')}")

    def run(rho: float, rows: int) -> Figures:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(lines[:rows]))
            file.flush()
            script = Path(__file__).with_name("bandit_vw.py")
            asked = [python, script, file.name, str(len(classes)), str(rho), str(int(pairs)), str(seed)]
            done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=3000)
        right = np.array([[int(mark) for mark in line.split()] for line in done.stdout.split("\n") if line], bool)
        return of_right(right[:, 0], float(right[:, 1].mean()))

    return run


def report(stream: str, rows: int, k: int, system: str, figures: Figures, rho: float | None, out: Path | None) -> None:
    tail, whole, acted = figures
    line = {"stream": stream, "rows": rows, "classes": k, "system": system, "tail": tail, "all": whole}
    line |= {"actions": acted, "exploration": rho}
    click.echo(f"{stream:18s} {rows:6,} {k:2d} {system:16s} {tail:.4f} {whole:.4f} {acted:.4f} {rho or ''}")
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@click.command()
@click.option("--streams", default=",".join(STREAMS), show_default=True)
@click.option("--models", default="boost,olm,mbbm", show_default=True)
@click.option("--rows", default=20_000, show_default=True, help="Of a stream, at most.")
@click.option("--order", default=5, show_default=True, help="Seed of the order of the rows, and of the models.")
@click.option("--vw", "python", help="A Python with vowpalwabbit.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Add the figures to this file, as JSON.")
def main(streams: str, models: str, rows: int, order: int, python: str | None, out: Path | None) -> None:
    click.echo(f"{'stream':18s} {'rows':>6s}  k {'system':16s} last20 all    actions exploration")
    for name in streams.split(","):
        try:
            data = load_dataset(name)
        except DataError:
            click.echo(f"{name}: not at hand")
            continue
        data = data.shuffled(order) if data.order == "shuffle" else data
        rows_and_labels = data.X[:rows], data.y[:rows], data.classes
        n, k = len(rows_and_labels[1]), len(data.classes)
        for model in filter(None, models.split(",")):
            X, y, classes = rows_and_labels
            right = prequential(MODELS[model](random_state=order), X, y, classes=classes, proba=False).right
            report(name, n, k, f"{model} full", of_right(right, float(right.mean())), None, out)
            for unbiased in (False, True):
                found, rho = best(ours(model, rows_and_labels, unbiased, order), n)
                report(name, n, k, f"{model} {'unbiased' if unbiased else 'bandit'}", found, rho, out)
        if python:
            runs = [vw(python, rows_and_labels, pairs, order) for pairs in (False, True)]
            run = max(runs, key=lambda one: max(one(rho, n // 5)[2] for rho in RHOS))
            found, rho = best(run, n)
            report(name, n, k, "vw cb", found, rho, out)


if __name__ == "__main__":
    main()
