"""Ours beside other libraries: accuracy, speed and memory on the same rows in the same order, in one run.

    make bench                               everything at hand: the table, results/bench.json, results/benchmarks.md
    python benchmarks/bench.py --quick       small prefixes, in about two minutes
    python benchmarks/bench.py --streams electricity --models ours,vw --no-scaling

Every model runs in a process of its own (`peers.py`), one after the other. What cannot be installed is left out, with a
note. Slow models stop after `--seconds`, and ours is compared with them on the rows they did. The numbers belong to the
machine: compare ratios, and leave the machine alone while it runs.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import beginnings
import bench_page
import click
import machine
import numpy as np
import scaling
from peers import Stream
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from onlineboost import OnlineBoostClassifier, load_dataset
from onlineboost.data.errors import DataError
from onlineboost.datasets.dataset import Dataset

HERE = Path(__file__).parent
STREAMS = ("synthetic", "movement", "electricity", "isolet")
QUICK_STREAMS = ("synthetic", "electricity")
OURS = "ours-olm"  # what the others are compared with
MODELS = {
    "ours-olm": "AdaBoostOLM",
    "ours-boost": "OnlineBoostClassifier",
    "ours-plain": "AdaBoostOLM, restart='never'",
    "ours-mbbm": "OnlineMBBM",
    "ours-olm:2": "AdaBoostOLM, n_jobs=2",
    "ours-plain:2": "AdaBoostOLM, restart='never', n_jobs=2",
    "ours-mbbm:2": "OnlineMBBM, n_jobs=2",
    "ours-boost:2": "OnlineBoostClassifier, n_jobs=2",
    "lightgbm-refitted": "LightGBM, refitted",
    "vw-bbm": "VW boosting, BBM",
    "vw-ada": "VW boosting, adaptive",
    "capymoa-oza": "CapyMOA OzaBoost",
    "capymoa-arf": "CapyMOA ARF",
    "capymoa-srp": "CapyMOA SRP",
    "river-ada": "river AdaBoost",
    "river-bole": "river BOLE",
    "river-arf": "river ARF",
    "river-amf": "river AMF",
    "onelearn-amf": "onelearn AMF",
}
WHOLE = ("ours", "lightgbm")  # they learn all rows, however long it takes
FEW = 10  # classes: a batch booster has a tree for each in every round, and takes hours to be refitted with many
ENVIRONMENTS = {
    "ours": Path(sys.executable),
    "river": Path(sys.executable),
    "capymoa": Path(".bench/capymoa/bin/python"),
    "vw": Path(".bench/vw/bin/python"),
    "onelearn": Path(".bench/onelearn/bin/python"),
    "lightgbm": Path(".bench/batch/bin/python"),
}
IMPORTS = {name: name for name in ENVIRONMENTS} | {"ours": "onlineboost", "vw": "vowpalwabbit"}


# ------------------------------------------------------------------------------------------------ one process


class ChildError(RuntimeError):
    """A model's process failed; the message is the last line it wrote."""


def run_child(python: Path, model: str, stream: Path, show: Callable[[int], None], **options: float) -> dict[str, Any]:
    """Run `peers.py` and return what it measured; `show` is called with the rows done so far."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryFile("w+") as errors:
        out = Path(folder) / "out.json"
        command = [str(python), str(HERE / "peers.py"), model, str(stream), str(out)]
        for name, value in options.items():
            command += [f"--{name}", str(value)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=errors, text=True) as child:
            try:
                assert child.stdout is not None
                for line in child.stdout:
                    if line.strip().isdigit():
                        show(int(line))
            except BaseException:
                child.kill()
                raise
        if child.returncode != 0 or not out.exists():
            errors.seek(0)
            lines = errors.read().strip().splitlines()
            raise ChildError(lines[-1] if lines else f"exit code {child.returncode}")
        result: dict[str, Any] = json.loads(out.read_text())
    right = np.frombuffer(bytes.fromhex(result["right"]), np.uint8)
    result["right"] = np.unpackbits(right)[: result["rows"]].astype(bool)
    return result


def missing(python: Path, package: str) -> str | None:
    """Why a package cannot be used; None if it can."""
    if not python.exists():
        return "not installed; make bench installs it where it can"
    found = subprocess.run([str(python), "-c", f"import {package}"], capture_output=True, text=True, check=False)
    return None if found.returncode == 0 else (found.stderr.strip().splitlines() or ["import fails"])[-1]


# ----------------------------------------------------------------------------------------------------- streams


def as_stream(data: Dataset, rows: int | None, order: int = 0) -> Stream:
    """A data set as numbers, in the order it is learned in: shuffled with the seed `order`, or that of time."""
    data = data.shuffled(order) if data.order == "shuffle" else data
    nominal, columns = {}, []
    for j, (name, column) in enumerate(zip(data.X.names, data.X.columns, strict=True)):
        if column.dtype == np.object_:
            values = list(data.X.categories[name])
            code = {value: float(i) for i, value in enumerate(values)}
            column = np.array([code.get(value, np.nan) for value in column])
            nominal[j] = len(values)
        columns.append(column[:rows])
    y = np.searchsorted(np.array(data.classes, object), data.y[:rows])
    return Stream(np.column_stack(columns), y, nominal, len(data.classes))


# ------------------------------------------------------------------------------------------------- the figures


def tail_of(right: np.ndarray) -> float:
    """Share of right predictions on the last 20 %."""
    return float(right[-max(1, round(0.2 * len(right))) :].mean())


def seconds_at(result: dict[str, Any], rows: int) -> float:
    """Seconds a run took for its first rows, between its marks by a straight line."""
    marks = np.array([(0, 0.0, 0.0), *result["marks"]])
    return float(np.interp(rows, marks[:, 0], marks[:, 1]))


def figures(result: dict[str, Any], learners: int, ours: dict[str, Any] | None) -> dict[str, Any]:
    """What is reported of one run, and of ours on the same rows. `learners` is how many it trained."""
    rows, right = result["rows"], result["right"]
    seconds, cpu = result["marks"][-1][1:]
    row = {
        "rows": rows,
        "learners": learners,
        "accuracy": float(right.mean()),
        "tail": tail_of(right),
        "seconds": seconds,
        "cpu_seconds": cpu,
        "examples_per_second": rows / seconds,
        "us": 1e6 * seconds / rows / learners,
        "peak_megabytes": result["peak_megabytes"],
        "version": result["version"],
        "predicted_sha256": result["predicted_sha256"],
    }
    if ours is not None:
        mine = seconds_at(ours, rows)
        row["ours"] = {
            "accuracy": float(ours["right"][:rows].mean()),
            "tail": tail_of(ours["right"][:rows]),
            "us": 1e6 * mine / rows / ours["learners"],
            "times_per_learner": row["us"] / (1e6 * mine / rows / ours["learners"]),
            "times_per_example": seconds / mine,
        }
    return row


# ---------------------------------------------------------------------------------------------------- the runs


class Bench:
    """Where models are installed, what is asked of them, and the bars that show how far they are."""

    def __init__(self, console: Console, folder: Path, environments: dict[str, Path], learners: int) -> None:
        self.console, self.folder, self.environments, self.learners = console, folder, environments, learners
        self.left_out: list[dict[str, str]] = []
        self._progress: Progress | None = None

    @contextmanager
    def bars(self, total: int, what: str) -> Iterator[None]:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self.console, transient=True) as progress:
            self._progress, self._all = progress, progress.add_task(what, total=total)
            yield

    def leave_out(self, what: str, why: str) -> None:
        self.left_out.append({"what": what, "why": why})
        self.console.print(f"[yellow]{what} left out:[/] {why}", highlight=False)

    def run(self, model: str, stream: Path, rows: int, name: str, learners: int, **options: float) -> dict[str, Any]:
        """One model on one stream, with a bar of its own."""
        progress, python = self._progress, self.environments[model.partition("-")[0]]
        assert progress is not None
        task = progress.add_task(name, total=rows)
        if not self.console.is_terminal:
            self.console.print(f"{name} ...", highlight=False)
        try:
            return run_child(
                python,
                model,
                stream,
                lambda seen: progress.update(task, completed=seen),
                rows=rows,
                learners=learners,
                **options,
            )
        finally:
            progress.remove_task(task)
            progress.advance(self._all)

    def compile(self, models: list[str]) -> None:
        """Let our kernels be compiled and kept on disk, so that no measured process compiles: it takes memory."""
        path = self.save(scaling.make_stream(300), "compile")
        with self.bars(len(models), "compiling"):
            for model in models:
                self.run(model, path, 300, model, 4)

    def save(self, stream: Stream, name: str) -> Path:
        path = self.folder / f"{name}.npz"
        if not path.exists():
            stream.save(path)
        return path


def compare(
    bench: Bench, streams: list[str], models: list[str], rows: int | None, seconds: float, warm: float
) -> dict[str, Any]:
    """Every model on every stream."""
    described, table = [], []
    with bench.bars(len(streams) * len(models), "systems"):
        for name in streams:
            try:
                stream = as_stream(load_dataset(name), rows)
            except DataError:
                bench.leave_out(name, "its file is not at hand: set ONLINEBOOST_DATA, see docs/api/data.md")
                continue
            n, k = len(stream.y), stream.n_classes
            described.append({"name": name, "rows": n, "columns": stream.X.shape[1], "classes": k})
            path = bench.save(stream, name)
            ours: dict[str, Any] | None = None
            for model in models:
                if model.endswith("refitted") and k > FEW:
                    bench.leave_out(f"{MODELS[model]} on {name}", f"it would take too long with {k} classes")
                    continue
                limit = {} if model.startswith(WHOLE) else {"seconds": seconds, "warm": warm}
                try:
                    result = bench.run(model, path, n, f"{name}: {MODELS[model]}", bench.learners, **limit)
                except ChildError as error:
                    bench.leave_out(f"{MODELS[model]} on {name}", str(error))
                    continue
                ours = result if model == OURS else ours
                trained = bench.learners * (k if model.startswith("vw") and k > 2 else 1)
                trained = OnlineBoostClassifier().n_learners if model.startswith("ours-boost") else trained
                row = figures(result, trained, ours if model != OURS else None)
                table.append({"stream": name, "model": model, "label": MODELS[model], **row})
            bench.console.print(show_stream(described[-1], table))
    return {"streams": described, "systems": table}


def show_stream(stream: dict[str, Any], table: list[dict[str, Any]]) -> Table:
    title = f"{stream['name']}: {stream['rows']:,} rows, {stream['columns']} columns, {stream['classes']} classes"
    shown = Table(title=title, caption="ours: AdaBoostOLM on the same rows")
    for heading in bench_page.HEADINGS:
        shown.add_column(heading, justify="left" if heading == "system" else "right")
    for row in table:
        if row["stream"] == stream["name"]:
            shown.add_row(*bench_page.cells(row))
    return shown


# arguments: a command has one for every option
@click.command()
@click.option("--quick", is_flag=True, help="Small prefixes of two streams: about two minutes.")
@click.option("--streams", help=f"Comma-separated [default: {','.join(STREAMS)}].")
@click.option("--models", help="Comma-separated names, or packages for all of theirs, as in ours,vw,river-ada.")
@click.option("--learners", default=100, show_default=True, type=click.IntRange(1))
@click.option("--rows", type=click.IntRange(100), help="At most so many rows of each stream [default: all].")
@click.option("--seconds", type=float, help="Other libraries stop after this long [default: 15; quick 1.5].")
@click.option("--length", type=click.IntRange(1000), help="Rows of the longest stream of scaling [default: 200,000].")
@click.option("--scaling/--no-scaling", "with_scaling", default=True, help="Also measure cost against size.")
@click.option("--axes", default=",".join(bench_page.AXES), show_default=True, help="Sizes that scaling varies.")
@click.option("--systems/--no-systems", "with_systems", default=True, help="Compare systems.")
@click.option("--env", "envs", multiple=True, metavar="PACKAGE=PYTHON", help="Python of capymoa, vw or river.")
@click.option("--out", default="results", show_default=True, type=click.Path(path_type=Path), help="Folder.")
@click.option("--page", type=click.Path(path_type=Path), help="Measure nothing: write OUT/bench.json to this page.")
def main(
    quick: bool,
    streams: str | None,
    models: str | None,
    learners: int,
    rows: int | None,
    seconds: float | None,
    length: int | None,
    with_scaling: bool,
    axes: str,
    with_systems: bool,
    envs: tuple[str, ...],
    out: Path,
    page: Path | None,
) -> None:
    """Measure ours beside river, CapyMOA and Vowpal Wabbit, and how our cost grows."""
    console = Console(width=max(140, Console().width))
    if page is not None:
        written = bench_page.write(json.loads((out / "bench.json").read_text()), page)
        console.print(f"Written: {', '.join(map(str, written))}")
        return
    seconds = seconds or (1.5 if quick else 15.0)
    warm = 1.0 if quick else 8.0
    rows = rows or (3000 if quick else None)
    environments = ENVIRONMENTS | {name: Path(path) for name, _, path in (env.partition("=") for env in envs)}
    asked_streams = streams.split(",") if streams else list(QUICK_STREAMS if quick else STREAMS)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(console, Path(folder), environments, learners)
        at_hand = choose_models(bench, models)
        bench.compile([model for model in at_hand if model.startswith("ours")])
        results: dict[str, Any] = {
            "settings": {"quick": quick, "learners": learners, "seconds": seconds, "warm": warm},
            "machine": machine.describe(environments),
            "streams": [],
            "systems": [],
            "scaling": [],
            "beginnings": {},
        }
        if with_systems:
            results |= compare(bench, asked_streams, at_hand, rows, seconds, warm)
        if with_scaling:
            length = length or (16_000 if quick else 200_000)
            asked_axes = [axis for axis in axes.split(",") if axis != "threads" or "ours-olm:2" in at_hand]
            results["scaling"] = scaling.measure(bench, quick, length, asked_axes)
            console.print(scaling.show(results["scaling"]))
        if with_systems:
            with bench.console.status("starts, files, single rows ..."):
                results["beginnings"] = beginnings.measure({"LightGBM": environments["lightgbm"]}, quick)
            console.print(*beginnings.show(results["beginnings"]))
        results["left_out"] = bench.left_out
    out.mkdir(parents=True, exist_ok=True)
    (out / "bench.json").write_text(json.dumps(results, indent=1) + "\n")
    written = bench_page.write(results, out / "benchmarks.md")
    for warning in bench_page.warnings_of(results):
        console.print(f"[yellow]{warning}[/]", highlight=False)
    console.print(f"Written: {out / 'bench.json'}, {', '.join(map(str, written))}")


def choose_models(bench: Bench, asked: str | None) -> list[str]:
    """The models asked for that can run here."""
    wanted = list(MODELS)
    if asked is not None:
        words = asked.split(",")
        for word in words:
            if word not in MODELS and word not in bench.environments:
                known = ", ".join([*bench.environments, *MODELS])
                raise click.BadParameter(f"{word!r} is not a model or package; there are {known}")
        wanted = [m for m in MODELS if m in words or m.partition("-")[0] in words]
    for package, python in bench.environments.items():
        mine = [m for m in wanted if m.partition("-")[0] == package]
        if mine and (why := missing(python, IMPORTS[package])) is not None:
            bench.leave_out(IMPORTS[package], why)
            wanted = [m for m in wanted if m not in mine]
    if not scaling.has_threads() and any(":" in m for m in wanted):
        bench.leave_out("n_jobs=2", "one core, or a version without n_jobs")
        wanted = [m for m in wanted if ":" not in m]
    return wanted


if __name__ == "__main__":
    main()
