"""What comes before the first thousand rows: to import, to compile, to load a model; and one row at a time.

    python benchmarks/beginnings.py

Each start is that of a new process; the medians of three are shown, but where everything is compiled: once.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click
import numpy as np
import single_row
from rich.console import Console
from rich.table import Table

from onlineboost import AdaBoostOLM, OnlineBoostClassifier, load

FIRST = "from onlineboost import {0}; import numpy as np; {0}().partial_fit(np.eye(2), [0, 1]).predict(np.eye(2))"
IMPORTS = {
    "onlineboost": "from onlineboost import OnlineBoostClassifier",
    "river": "from river import ensemble, forest, tree",
    "scikit-learn": "from sklearn.ensemble import HistGradientBoostingClassifier",
    "LightGBM": "import lightgbm",
}
MODELS = ("OnlineBoostClassifier", "AdaBoostOLM", "OnlineMBBM", "HoeffdingTree")
HEADINGS = ("what", "whose", "CPU s", "wall s", "MB")
ROW_HEADINGS = ("model", "predict, us", "learn, us", "both, us", "p99, us")


def start(python: Path, program: str, times: int = 3, **environment: str) -> tuple[float, float]:
    """Seconds of CPU and of wall for a new process, those that it starts included; nan: the program fails."""
    figures = []
    for _ in range(times):
        before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        done = subprocess.run(
            [str(python), "-c", program], env=os.environ | environment, capture_output=True, check=False
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        figures.append((cpu, time.perf_counter() - clock) if done.returncode == 0 else (np.nan, np.nan))
    cpu, wall = np.median(figures, axis=0)
    return float(cpu), float(wall)


def starts(pythons: dict[str, Path], quick: bool) -> list[list[str]]:
    """To import, and to the first prediction with and without machine code kept."""
    rows = []
    for name, program in IMPORTS.items():
        python = pythons.get(name, Path(sys.executable))
        if python.exists() and not np.isnan((figures := start(python, program))[0]):
            rows.append(["import", name, *(f"{value:.1f}" for value in figures), ""])
    for name in MODELS[: 1 if quick else None]:
        program = FIRST.format(name)
        start(Path(sys.executable), program, 1)
        figures = start(Path(sys.executable), program)
        rows.append(["first prediction, machine code kept", name, *(f"{value:.1f}" for value in figures), ""])
    for name in () if quick else MODELS:
        with tempfile.TemporaryDirectory() as folder:
            empty = {"NUMBA_CACHE_DIR": folder, "ONLINEBOOST_PREBUILT": "0"}
            figures = start(Path(sys.executable), FIRST.format(name), 1, **empty)
        rows.append(["first prediction, everything compiled", name, *(f"{value:.1f}" for value in figures), ""])
    return rows


def files(rows: int) -> list[list[str]]:
    """What it takes to load a model of so many rows, and how large its file is."""
    X, y = single_row.stream(rows)
    table = []
    for model in (OnlineBoostClassifier(), AdaBoostOLM()):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.olb"
            model.partial_fit(X, y).save(path)
            cpu, wall = time.process_time(), time.perf_counter()
            load(path)
            figures = time.process_time() - cpu, time.perf_counter() - wall, path.stat().st_size / 1e6
        name = type(model).__name__
        table.append(
            [f"load a model of {rows:,} rows", name, *(f"{value:.2f}" for value in figures[:2]), f"{figures[2]:.0f}"]
        )
    return table


def single_rows(after: int, timed: int) -> list[list[str]]:
    """One row at a time as a mapping of 10 columns, predicted and learned, after so many rows."""
    X, y = single_row.stream(after + timed)
    rows, labels = X[after:].to_dict("records"), y[after:].tolist()
    models: dict[str, Any] = {"OnlineBoostClassifier": OnlineBoostClassifier(), "AdaBoostOLM": AdaBoostOLM()}
    models["AdaBoostOLM, 10 trees"] = AdaBoostOLM(10)
    rivals = single_row.rivers() | {name: one for name, one in single_row.forests().items() if name.endswith(" 10")}
    table = []
    for name, model in (models | rivals).items():
        own = name in models
        if own:
            model.partial_fit(X[:after], y[:after])
        else:
            for x, label in zip(X[:after].to_dict("records"), y[:after].tolist(), strict=True):
                model.learn_one(x, label)
        few = timed if own else max(100, timed // 10)
        times = single_row.one_by_one(model, rows[:few], labels[:few])
        figures = *single_row.medians(times), np.percentile(times.sum(axis=1), 99)
        table.append([name, *(f"{value:,.0f}" for value in figures)])
    return table


def measure(pythons: dict[str, Path], quick: bool) -> dict[str, list[list[str]]]:
    """Both tables, as they are shown."""
    size = 500 if quick else 2000
    return {"starts": starts(pythons, quick) + files(10 * size), "rows": single_rows(size, size)}


def show(measured: dict[str, list[list[str]]]) -> list[Table]:
    tables = []
    for key, headings in (("starts", HEADINGS), ("rows", ROW_HEADINGS)):
        table = Table(*headings)
        for row in measured[key]:
            table.add_row(*row)
        tables.append(table)
    return tables


@click.command()
@click.option("--quick", is_flag=True, help="Nothing is compiled, and few rows.")
def main(quick: bool) -> None:
    """From nothing to the first prediction, files, and single rows."""
    Console().print(*show(measure({}, quick)))


if __name__ == "__main__":
    main()
