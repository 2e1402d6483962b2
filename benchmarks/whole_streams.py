"""Every system on every stream at hand, whole streams, each run in a process of its own. Hours; can be stopped.

    python benchmarks/whole_streams.py                                      all that is not yet in the file
    python benchmarks/whole_streams.py --systems ours --redo                ours again, after a change to it
    python benchmarks/whole_streams.py --streams car,mice --systems river --orders 1 --seconds 60
    python benchmarks/whole_streams.py --tidy --page benchmarks/results/accuracy.md       run nothing: write the page

Order o is the stream shuffled with seed o = 10, 11, 12, run by a model with seed o; streams in the order of time run
once. Each run is a line of the file `--out`, with versions. Runs that are in it are not done again. A run that takes
longer than `--seconds` of CPU time is cut: its line says how many rows it did, and with more `--seconds` it is done
again.

Systems are those of `bench.py` and more, see `SYSTEMS`; what is not installed is left out. The streams `agrawal` and
`led` are made by `moa_streams.py`: `.bench/capymoa/bin/python benchmarks/moa_streams.py .bench/streams`.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import accuracy_page
import bench
import click
import numpy as np
from accuracy_cells import OWN, RESULTS, SEEN_80, STREAMS, SYSTEMS, Job, read, step_of
from rich.console import Console

from onlineboost import load_dataset
from onlineboost.data.errors import DataError
from onlineboost.datasets.catalogue import find_spec

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".bench" / "streams"
ENVIRONMENTS = bench.ENVIRONMENTS | {
    "simple": bench.ENVIRONMENTS["ours"],
    "onelearn": ROOT / ".bench" / "onelearn" / "bin" / "python",
    "lightgbm": ROOT / ".bench" / "batch" / "bin" / "python",
    "catboost": ROOT / ".bench" / "batch" / "bin" / "python",
    "sklearn": ROOT / ".bench" / "batch" / "bin" / "python",
}
MADE = ("agrawal", "led")  # by moa_streams.py, in the order of time
SLOW = {"sklearn-svm": 60_000}  # its time grows with the square of the rows: no run on longer streams
FIRST_ORDER = 10  # settings were chosen on others
STEPS = 5  # a run that was cut counts up to a multiple of so many steps, so that its last 20 % are whole steps


# ------------------------------------------------------------------------------------------------------ streams


def whole_length(stream: str) -> int:
    name, _, rows = stream.partition(":")
    return int(rows) if rows else 1_000_000 if name in MADE else find_spec(name).rows


def orders_of(stream: str, orders: int) -> list[int]:
    """Seeds of the orders of a stream; 0 stands for the order of time."""
    name = stream.partition(":")[0]
    timed = name in MADE or find_spec(name).order == "time"
    return [0] if timed else list(range(FIRST_ORDER, FIRST_ORDER + orders))


def stream_file(stream: str, order: int, folder: Path) -> Path:
    """The stream as the file that `peers.py` reads; made when it is first asked for."""
    name, _, rows = stream.partition(":")
    if name in MADE:
        path = folder / f"{name}.npz"
        if not path.exists():
            raise DataError(f"{path} is not there: see the head of moa_streams.py")
        return path
    path = folder / f"{name}{rows}-{order}.npz"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        bench.as_stream(load_dataset(name), int(rows) if rows else None, order).save(path)
    return path


# --------------------------------------------------------------------------------------------------------- runs


def line_of(job: Job, rows: int, result: dict[str, Any], seconds: float) -> dict[str, Any]:
    """What is kept of a run over a stream of so many rows that had to stop after so many seconds."""
    step, done, right = step_of(rows), result["rows"], result["right"]
    if done < rows:  # at least one stretch, if need be less than was done
        done = max(STEPS * step, done // (STEPS * step) * STEPS * step)
        done = min(done, result["rows"])
    right = right[:done]
    wrong = np.add.reduceat(~right, np.arange(0, done, step), dtype=np.int64)
    took, cpu = result["marks"][-1][1:]
    online = job.model not in SEEN_80
    return {
        **job._asdict(),
        "rows": rows,
        "done": done,
        "limit": seconds,
        "all": round(float(right.mean()), 6) if online else None,
        "last": round(bench.tail_of(right), 6),
        "seconds": round(took, 2),
        "cpu_seconds": round(cpu, 2),
        "us": round(1e6 * cpu / result["rows"], 1),
        "mb": round(result["peak_megabytes"]),
        "version": result["version"],
        "commit": commit() if job.model.startswith("ours") else None,
        "mistakes": wrong.tolist() if online else [],
    }


def commit() -> str:
    """The last commit that changed our sources; a plus if they have changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return git("log", "-1", "--format=%h", "--", "src") + ("+" if git("status", "--short", "--", "src") else "")


def is_done(line: dict[str, Any] | None, seconds: float) -> bool:
    """Whether a run need not be done again: it is whole, or was cut after at least as many seconds."""
    return line is not None and ("error" in line or line["done"] == line["rows"] or line["limit"] >= seconds)


def run(job: Job, seconds: float, folder: Path, pythons: dict[str, Path]) -> dict[str, Any]:
    path, rows = stream_file(job.stream, job.order, folder), whole_length(job.stream)
    python = pythons[job.model.partition("-")[0]]
    options = {"rows": rows, "learners": max(1, job.learners), "seconds": seconds, "warm": 0, "seed": job.order}
    try:
        result = bench.run_child(python, job.model, path, lambda seen: None, **options)
    except bench.ChildError as error:
        return {**job._asdict(), "rows": rows, "error": str(error)}
    return line_of(job, rows, result, seconds)


def tidy(path: Path) -> None:
    """Leave out lines that later ones replace, and sort."""
    lines = [json.dumps(line) for _, line in sorted(read(path).items())]
    path.write_text("".join(line + "\n" for line in lines))


# --------------------------------------------------------------------------------------------------- the command


def choose(asked: str | None, pythons: dict[str, Path], console: Console) -> list[str]:
    """The systems asked for, by name or by package, that are installed."""
    words = asked.split(",") if asked else list(pythons)
    chosen = [model for model in SYSTEMS if model in words or model.partition("-")[0] in words]
    missing = {}
    for package in {model.partition("-")[0] for model in chosen}:
        imported = {"ours": "onlineboost", "simple": "numpy"}.get(package, package)
        if (why := bench.missing(pythons[package], imported)) is not None:
            missing[package] = why
            console.print(f"[yellow]{package} left out:[/] {why}", highlight=False)
    return [model for model in chosen if model.partition("-")[0] not in missing]


def jobs_of(streams: list[str], systems: list[str], orders: int, learners: int) -> list[Job]:
    """The first order of all streams comes first."""
    return [
        Job(stream, orders_of(stream, orders)[number], model, 0 if model in OWN else learners)
        for number in range(orders)
        for stream in streams
        for model in systems
        if number < len(orders_of(stream, orders)) and whole_length(stream) <= SLOW.get(model, 10**9)
    ]


# arguments: a command has one for every option
@click.command()
@click.option("--streams", default=",".join(STREAMS), help="Comma-separated; name:rows for the first rows of one.")
@click.option("--systems", help="Comma-separated names, or packages for all of theirs, as in ours,river-amf.")
@click.option("--orders", default=3, show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--seconds", default=720.0, show_default=True, help="CPU time after which others are cut.")
@click.option("--redo", is_flag=True, help="Do again what is in the file.")
@click.option("--out", default=RESULTS, type=click.Path(path_type=Path), show_default=True)
@click.option("--folder", default=FOLDER, type=click.Path(path_type=Path), help="Where streams are kept.")
@click.option("--tidy", "tidies", is_flag=True, help="Run nothing: sort the file, without lines done again since.")
@click.option("--page", type=click.Path(path_type=Path), help="Run nothing: write this page from the file.")
def main(
    streams: str,
    systems: str | None,
    orders: int,
    learners: int,
    seconds: float,
    redo: bool,
    out: Path,
    folder: Path,
    tidies: bool,
    page: Path | None,
) -> None:
    """Run what is not in the file yet, or write the page."""
    console = Console(highlight=False)
    if tidies:
        tidy(out)
    if page is not None:
        accuracy_page.write([line for _, line in sorted(read(out).items())], page)
        console.print(f"Written: {page}")
    if tidies or page is not None:
        return
    out.parent.mkdir(parents=True, exist_ok=True)
    jobs = jobs_of(streams.split(","), choose(systems, ENVIRONMENTS, console), orders, learners)
    for number, job in enumerate(jobs, 1):
        if not redo and is_done(read(out).get(job), seconds):
            continue
        try:
            line = run(job, seconds, folder, ENVIRONMENTS)
        except DataError as error:
            console.print(f"[yellow]{job.stream} left out:[/] {error}")
            continue
        with out.open("a") as file:
            file.write(json.dumps(line) + "\n")
        shown = (
            line.get("error") or f"{line['all']} {line['last']}  {line['done']} of {line['rows']}  {line['seconds']} s"
        )
        console.print(f"{number}/{len(jobs)} {job.stream} {job.order} {job.model}:{job.learners}  {shown}")


if __name__ == "__main__":
    main()
