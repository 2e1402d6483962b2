"""What each voice of the panel of OnlineBoostClassifier is worth: the same runs with one left out.

    python benchmarks/voices.py --out voices.jsonl                  all sets, three orders each: 25 minutes
    python benchmarks/voices.py --sets car,mice --without trees

A variant is a copy of the package whose sources differ in a line or two, compiled and run in a process of its own. In
some a member is not there at all: that tells what it costs, too. Least squares are also left out as voices alone: their
scores are then still columns for the nearest twelve and the refitted trees. The variants take turns, set by set and
order by order, so that what else the machine does slows all of them down. Order o is the set shuffled with seed o, run
by a model with seed o; of streams in the order of time the model's seed alone differs. Long streams are cut at 20,000
rows. Each run is a line of the file `--out`. Runs that are in it already are not done again.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

import onlineboost
from onlineboost import OnlineBoostClassifier, load_dataset, prequential
from onlineboost.evaluation import warm_up

SETS = (
    *("segment", "waveform", "balance", "car", "nursery", "mice", "isolet", "keystroke", "electricity", "covertype"),
    *("synthetic", "synthetic-abrupt", "mushroom", "shuttle", "movement"),
)
MOST_ROWS = 20_000
WHOLE = "nothing left out"
MEMBERS = {  # not there at all, by their names in the list of panel/state.py
    "trees": ("EAGER",),
    "refitted trees": ("REFITS",),
    "all neighbours": ("NEIGHBOURS",),
    "linear": ("LINEAR",),
    "cosines": ("COSINES",),
    "least squares": ("LINEAR", "COSINES"),
    "columns and groups": ("ADDITIVE",),
}
VOICES = {"nearest": 1, "nearest 10": 2, "nearest 12": 3, "linear as a voice": 4, "cosines as a voice": 5}  # silent
VARIANTS = (WHOLE, *MEMBERS, *VOICES)
FIGURES = "all", "last", "log_loss", "us"

FEWER = """{list}
_order = sorted(voice for _one in MEMBERS for voice in _one.voices)
MEMBERS = tuple(
    _one._replace(voices={{_order.index(voice): name for voice, name in _one.voices.items()}}) for _one in MEMBERS
)
"""
SILENCE = """    for c in range(k):
        logits[{voice}, c] = 0.0
    combine(panel.newton, work.newton, k)
"""


def replaced(source: str, pattern: str, text: str) -> str:
    """A source with this pattern, which it must have once, replaced."""
    out, n = re.subn(pattern, lambda _: text, source, flags=re.MULTILINE)
    if n != 1:
        raise ValueError(f"the source has {pattern!r} {n} times: benchmarks/voices.py has to follow it")
    return out


def changed(variant: str, sources: dict[str, str]) -> dict[str, str]:
    """The sources of a variant that are not as in the package, given by their names in panel/."""
    if variant in MEMBERS:
        (old,) = re.findall(r"^MEMBERS = \(([^()]*)\)$", sources["state.py"], re.MULTILINE)
        rest = [name for name in old.split(", ") if name not in MEMBERS[variant]]
        fewer = FEWER.format(list=f"MEMBERS = ({', '.join(rest)},)")
        return {"state.py": replaced(sources["state.py"], r"^MEMBERS = \(.*\)\n", fewer)}
    if variant in VOICES:
        silence = SILENCE.format(voice=VOICES[variant])
        out = {"panel.py": replaced(sources["panel.py"], r"^    combine\(panel\.newton, work\.newton, k\)\n", silence)}
        if variant == "nearest 12":  # nor are they looked for
            out["neighbours.py"] = replaced(
                sources["neighbours.py"], r"^    add_scores\(", "    return\n    add_scores("
            )
        return out
    return {}


def build(variant: str, folder: Path) -> Path:
    """A copy of the package without this member or voice: the folder to import it from."""
    package = Path(onlineboost.__file__).parent
    copy = folder / variant.replace(" ", "-") / "onlineboost"
    shutil.copytree(package, copy, ignore=shutil.ignore_patterns("__pycache__"))
    sources = {path.name: path.read_text() for path in (copy / "panel").glob("*.py")}
    for name, text in changed(variant, sources).items():
        (copy / "panel" / name).write_text(text)
    return copy.parent


def run(name: str, order: int) -> dict[str, Any]:
    """Figures of one run, by the package that is imported."""
    data = load_dataset(name)
    data = data.shuffled(order) if data.order == "shuffle" else data
    X, y = data.X[:MOST_ROWS], data.y[:MOST_ROWS]
    clf = OnlineBoostClassifier(random_state=order)
    began = time.process_time()
    result = prequential(clf, X, y)
    us = 1e6 * (time.process_time() - began) / len(y)
    return {"all": result.accuracy, "last": result.tail_accuracy(), "log_loss": result.metrics.log_loss, "us": us}


def work() -> None:
    """A variant's process: a run for every line that comes, a line with its figures for every run."""
    warm_up(OnlineBoostClassifier())
    for line in sys.stdin:
        print(json.dumps(run(*json.loads(line))), flush=True)


class Worker:
    """A variant in a process of its own."""

    def __init__(self, variant: str, folder: Path) -> None:
        env = {**os.environ, "PYTHONPATH": str(build(variant, folder))}
        command = [sys.executable, __file__, "--worker"]
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, name: str, order: int) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        print(json.dumps([name, order]), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())  # type: ignore[no-any-return]


def summary(lines: Iterable[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By variant: means over the sets of the means over the orders, and how these differ from those of all voices.

    Of the time, how the median over the orders differs, on the mean of the sets. `error` is the standard error of the
    difference in accuracy over all rows, by the spread between orders; `worse` and `better` count the sets that differ
    by more than two of their own.
    """
    runs: dict[tuple[str, str], dict[int, dict[str, Any]]] = {}
    for line in lines:
        runs.setdefault((line["variant"], line["set"]), {})[line["order"]] = line
    sets = sorted({name for variant, name in runs if variant == WHOLE})
    out: dict[str, dict[str, float]] = {}
    for variant in dict.fromkeys(variant for variant, _ in runs):
        names = [name for name in sets if (variant, name) in runs]
        rows: dict[str, list[float]] = {figure: [] for figure in FIGURES}
        apart: dict[str, list[float]] = {figure: [] for figure in FIGURES}
        errors = []
        for name in names:
            own, whole = runs[variant, name], runs[WHOLE, name]
            orders = sorted(own.keys() & whole.keys())
            for figure in FIGURES:
                centre = np.median if figure == "us" else np.mean
                rows[figure].append(float(centre([own[order][figure] for order in orders])))
                differences = [own[order][figure] - whole[order][figure] for order in orders]
                apart[figure].append(float(centre(differences)))
                if figure == "all":
                    spread = np.std(differences, ddof=1) if len(orders) > 1 else 0.0
                    errors.append(float(spread) / len(orders) ** 0.5)
        far = np.array(apart["all"]) / np.maximum(2.0 * np.array(errors), 5e-4)
        means = {figure: float(np.mean(rows[figure])) for figure in FIGURES}
        changes = {f"{figure} change": float(np.mean(apart[figure])) for figure in FIGURES}
        error = float(np.sqrt(np.sum(np.square(errors)))) / len(names)
        counts = {"worse": int((far < -1.0).sum()), "better": int((far > 1.0).sum())}
        out[variant] = {**means, **changes, "error": error, **counts, "sets": len(names)}
    return out


def show(found: dict[str, dict[str, float]], console: Console) -> None:
    """A table with a line for each variant, the figures of all voices first."""
    table = Table("left out", "sets", "all rows", "change", "±", "last 20 %", "change", "log loss", "change")
    for column in ("worse / better on", "us a row", "change"):
        table.add_column(column)
    for variant, row in found.items():
        accuracy = f"{row['all']:.4f}", f"{row['all change']:+.4f}", f"{row['error']:.4f}"
        last = f"{row['last']:.4f}", f"{row['last change']:+.4f}"
        loss = f"{row['log_loss']:.4f}", f"{row['log_loss change']:+.4f}", f"{row['worse']:.0f} / {row['better']:.0f}"
        table.add_row(
            variant, f"{row['sets']:.0f}", *accuracy, *last, *loss, f"{row['us']:.0f}", f"{row['us change']:+.1f}"
        )
    console.print(table)


@click.command()
@click.option("--sets", default=",".join(SETS), help="Comma-separated.")
@click.option("--without", default=",".join(VARIANTS[1:]), help="What to leave out in turn; comma-separated.")
@click.option("--orders", default=3, show_default=True)
@click.option("--first-order", default=50, show_default=True, help="Seed of the first order.")
@click.option("--out", default="voices.jsonl", type=click.Path(path_type=Path), show_default=True)
@click.option("--worker", is_flag=True, hidden=True)
def main(sets: str, without: str, orders: int, first_order: int, out: Path, worker: bool) -> None:
    """Run what is not yet in the file, then print a table of all that is."""
    if worker:
        work()
        return
    console = Console(width=150)
    lines = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    done = {(line["variant"], line["set"], line["order"]) for line in lines}
    variants = [WHOLE, *without.split(",")]
    seeds = range(first_order, first_order + orders)
    todo = [(v, s, o) for s in sets.split(",") for o in seeds for v in variants if (v, s, o) not in done]
    with tempfile.TemporaryDirectory() as folder:
        workers: dict[str, Worker] = {}
        for variant, name, order in track(todo, console=Console(stderr=True)):
            if variant not in workers:
                workers[variant] = Worker(variant, Path(folder))
            found = workers[variant].run(name, order)
            lines.append({"variant": variant, "set": name, "order": order, **found})
            with out.open("a") as file:
                file.write(json.dumps(lines[-1]) + "\n")
        for one in workers.values():
            one.process.communicate()
    show(summary(lines), console)


if __name__ == "__main__":
    main()
