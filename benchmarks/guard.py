"""Has ours become slower? The time of small runs, divided by that of a fixed piece of work, beside stored ratios.

    make bench-guard                                  exit code 1 if a ratio is more than 25 % above the stored one
    python benchmarks/guard.py --update               store the ratios of this version
    python benchmarks/guard.py --against FOLDER       compare with another checkout of the project, the two in turns

The work is compiled by Numba and does what our kernels do: random reads from a table, exponentials, sums. Times are CPU
times, work and runs take turns, and the least of several counts, so a busy machine disturbs little. Two versions in
turns (`turns.py`) are disturbed alike: small changes show.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import machine
import numpy as np
import turns
from numba import njit
from rich.console import Console
from rich.progress import Progress, track
from rich.table import Table

from onlineboost import AdaBoostOLM, OnlineBoostClassifier, OnlineMBBM, load_dataset, prequential
from onlineboost.datasets import synthetic_stream

STORED = Path(__file__).parent / "stored.json"
ALLOWED = 1.25
Case = Callable[[], object]


@njit(nogil=True)
def fixed_work(table: np.ndarray, steps: int) -> float:
    """Reads of 8 neighbours at random places in a table of 8 MB, and an exponential for each. Never change it."""
    at, total = np.uint64(1), 0.0
    for _ in range(steps):
        at = at * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
        row = (at >> np.uint64(33)) % np.uint64(table.shape[0])
        highest = table[row, 0]
        for j in range(1, table.shape[1]):
            highest = max(highest, table[row, j])
        for j in range(table.shape[1]):
            total += np.exp(table[row, j] - highest)
    return total


def work_case() -> Case:
    table = np.random.default_rng(0).normal(size=(131_072, 8))
    return lambda: fixed_work(table, 1_000_000)


def model_case(make: Callable[[], Any], X: Any, y: Any) -> Case:
    return lambda: prequential(make(), X, y)


def cases() -> dict[str, Case]:
    """Small runs of every kind: few and many classes, numbers and names, both boosters, with a panel and without."""
    few, many = synthetic_stream(4000, 10, 5), synthetic_stream(1000, 50, 26)
    nominal = load_dataset("nursery").shuffled(0)
    return {
        "AdaBoostOLM, 10 columns, 5 classes": model_case(AdaBoostOLM, few.X, few.y),
        "AdaBoostOLM, 50 columns, 26 classes": model_case(AdaBoostOLM, many.X, many.y),
        "AdaBoostOLM, nominal columns": model_case(AdaBoostOLM, nominal.X[:4000], nominal.y[:4000]),
        "OnlineMBBM, 10 columns, 5 classes": model_case(OnlineMBBM, few.X, few.y),
        "OnlineMBBM, 50 columns, 26 classes": model_case(OnlineMBBM, many.X, many.y),
        "OnlineBoostClassifier, 10 columns, 5 classes": model_case(OnlineBoostClassifier, few.X, few.y),
        "OnlineBoostClassifier, 50 columns, 26 classes": model_case(OnlineBoostClassifier, many.X, many.y),
        "OnlineBoostClassifier, nursery": model_case(OnlineBoostClassifier, nominal.X[:4000], nominal.y[:4000]),
    }


def cpu_seconds(case: Case) -> float:
    start = time.process_time()
    case()
    return time.process_time() - start


def measure(named: dict[str, Case], work: Case, repeats: int, console: Console) -> dict[str, float]:
    """The least time of every case, divided by the least time of the work between them."""
    for case in (work, *named.values()):
        case()  # compile
    least = dict.fromkeys(named, np.inf)
    least_work = np.inf
    for _ in track(range(repeats), "runs", console=console, transient=True):
        for name, case in named.items():
            least_work = min(least_work, cpu_seconds(work))
            least[name] = min(least[name], cpu_seconds(case))
    return {name: float(seconds / least_work) for name, seconds in least.items()}


def judge(ratios: dict[str, float], stored: dict[str, float]) -> list[tuple[str, float, float | None, str]]:
    """(case, ratio, stored ratio, verdict) for each; the verdict starts with "slower" where ours is too slow."""
    rows: list[tuple[str, float, float | None, str]] = []
    for name, ratio in ratios.items():
        before = stored.get(name)
        if before is None:
            verdict = "not stored yet"
        elif ratio > ALLOWED * before:
            verdict = f"slower: {100 * (ratio / before - 1):+.0f} %"
        else:
            verdict = f"{100 * (ratio / before - 1):+.0f} %"
        rows.append((name, ratio, before, verdict))
    return rows


def show_table(console: Console, title: str, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="left" if heading == "case" else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def milliseconds(times: list[float]) -> str:
    return f"{1e3 * min(times):,.0f} ms"


def against(other: Path, rounds: int, only: str, console: Console) -> list[str]:
    """Compare with the version in another folder; the cases in which this one is slower, by both measures."""
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("compiling both, then rounds", total=rounds)
        results, unshared = turns.compare(other, rounds, only, lambda done: progress.update(task, completed=done))
    rows = [
        (result.case, *map(milliseconds, (result.old, result.new)), f"{result.least:.3f}", f"{result.median:.3f}")
        for result in results
    ]
    headings = ("case", "there", "here", "here/there, least", "median of rounds")
    show_table(console, f"CPU time here and in the other version, {rounds} rounds in turns", headings, rows)
    if unshared:
        console.print(f"Only one version has: {'; '.join(unshared)}.", highlight=False)
    return [result.case for result in results if min(result.least, result.median) > ALLOWED]


def against_stored(named: dict[str, Case], repeats: int, console: Console) -> tuple[dict[str, float], list[str]]:
    """The ratios, and the cases that are slower than stored."""
    ratios = measure(named, work_case(), repeats, console)
    stored = json.loads(STORED.read_text())["ratios"] if STORED.exists() else {}
    judged = judge(ratios, stored)
    rows = [
        (name, f"{ratio:.3f}", "" if before is None else f"{before:.3f}", verdict)
        for name, ratio, before, verdict in judged
    ]
    show_table(console, "Time, as a multiple of the fixed work", ("case", "ratio", "stored", "change"), rows)
    return ratios, [name for name, *_, verdict in judged if verdict.startswith("slower")]


def store(ratios: dict[str, float]) -> None:
    described = machine.describe({"capymoa": Path(), "vw": Path()})
    kept = {name: described[name] for name in ("processor", "Python", "numba") if name in described}
    rounded = {name: round(ratio, 4) for name, ratio in ratios.items()}
    STORED.write_text(json.dumps({"machine": kept, "ratios": rounded}, indent=2) + "\n")


@click.command()
@click.option("--update", is_flag=True, help="Store the ratios of this run.")
@click.option("--against", "other", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="FOLDER")
@click.option("--repeats", default=5, show_default=True, type=click.IntRange(1), help="Rounds over all cases.")
@click.option("--only", default="", metavar="TEXT", help="Only cases with this in their names.")
def main(update: bool, other: Path | None, repeats: int, only: str) -> None:
    """Compare our speed, relative to a fixed piece of work, with what is stored; or with another version of ours."""
    console = Console(width=max(100, Console().width))
    if update and (other or only):
        raise click.UsageError("--update stores all cases of this version: leave --against and --only out")
    if other is not None:
        if not (other / "benchmarks" / "guard.py").exists():
            raise click.BadParameter(f"{other} is no checkout of this project: it has no benchmarks/guard.py")
        slow = against(other, repeats, only, console)
        advice = "Run again with more --repeats."
    else:
        named = {name: case for name, case in cases().items() if only in name}
        ratios, slow = against_stored(named, repeats, console)
        advice = "Run again on an idle machine. If it stays, find the change that made it so; if it is meant, store it:"
        advice += " python benchmarks/guard.py --update"
        if update:
            store(ratios)
            console.print(f"Stored in {STORED.name}.")
            return
    if slow:
        percent = 100 * (ALLOWED - 1)
        console.print(
            f"[red]Slower than it was, by more than {percent:.0f} %:[/] {'; '.join(slow)}. {advice}", highlight=False
        )
        sys.exit(1)
    console.print("No slower than it was.")


if __name__ == "__main__":
    main()
