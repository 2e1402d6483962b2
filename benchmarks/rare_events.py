"""Who ranks rare events best, and what it costs: ours beside batch boosters that are refitted, and forests of river.

    python benchmarks/rare_events.py                                      all runs that are not yet in the file
    python benchmarks/rare_events.py --streams payments:2000 --models lightgbm,catboost
    python benchmarks/rare_events.py --models ours --redo                 ours again, after a change to it
    python benchmarks/rare_events.py --table                              run nothing: print what is there

Every row is predicted before its label is learned, and the rows from the first tenth on count. Payments are
`payments_stream(merchants=..., seed=..., drift=...)`, others are a class of a data set against the rest, shuffled with
seed 10 and on. Batch boosters are fitted 25 times to the last 20,000 rows. They are in an environment of their own:
`make .bench/batch/installed`. Each run is a line of the file, and runs that are there are not done again.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import rare_learners
from rare_learners import Stream
from rich.console import Console
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score

from onlineboost.data.files import read_blocks
from onlineboost.data.table import Table
from onlineboost.datasets import load_dataset, payments_stream
from onlineboost.evaluation.results import TAIL

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).parent / "results" / "rare_events.jsonl"
BATCH = ROOT / ".bench" / "batch" / "bin" / "python"
COUNTED = 0.1  # rows before this share of the stream do not count
MODELS = {
    "ours-online-boost": "OnlineBoostClassifier",
    "ours-adaboost-olm": "AdaBoostOLM",
    "lightgbm": "LightGBM, defaults",
    "lightgbm-tuned": "LightGBM, tuned",
    "catboost": "CatBoost",
    "river-arf": "river ARF(10)",
    "river-amf": "river AMF(10)",
}
PAYMENTS = [f"payments:{merchants}{drift}" for merchants in (200, 2000, 100_000) for drift in ("", ":drift")]
OTHERS = [
    "rare_default", "rare_flare_f", "rare_kr_vs_k_zero_vs_eight", "rare_winequality_red_4", "rare_yeast4",
    "car:good", "car:vgood", "mice:t-CS-s", "shuttle:Fpv.Open", "shuttle:Fpv.Close", "covertype:4", "covertype:5",
]  # fmt: skip
FLAGSHIP = "ours-online-boost"
LONGEST = 20_000  # rows of a data set
RARE = ("positive", "Yes")  # how the rare class is called in files of two classes
FIRST_ORDER = 10


class Job(NamedTuple):
    stream: str
    seed: int
    model: str


# -------------------------------------------------------------------------------------------------------- streams


def make_stream(name: str, seed: int) -> Stream:
    kind, *more = name.split(":")
    if kind == "payments":
        data = payments_stream(merchants=int(more[0]), seed=seed, drift="drift" in more)
        return coded(data.X, data.y == "fraud")
    if kind.startswith("rare_"):
        X, y = read_rare(kind)
        y = np.isin(y, RARE)
    else:
        data = load_dataset(kind)
        X, y = data.X, data.y == more[0]
    rows = np.random.default_rng(FIRST_ORDER + seed).permutation(len(y))[:LONGEST]
    return coded(X[rows], y[rows])


def read_rare(name: str) -> tuple[Table, np.ndarray]:
    """A file of the folder with the data sets; it is of two classes, and not in the catalogue."""
    from onlineboost.datasets.catalogue import folders

    path = next((folder / f"{name}.csv.gz" for folder in folders(None) if (folder / f"{name}.csv.gz").exists()), None)
    if path is None:
        raise click.ClickException(f"{name}.csv.gz is not in the folder of ONLINEBOOST_DATA")
    blocks = list(read_blocks(path))
    parts = zip(*(block.X.columns for block in blocks), strict=True)
    return Table(blocks[0].X.names, tuple(map(np.concatenate, parts))), np.concatenate([block.y for block in blocks])


def coded(X: Table, rare: np.ndarray) -> Stream:
    nominal = [j for j, column in enumerate(X.columns) if column.dtype == np.object_]
    columns = [codes_of(column) if j in nominal else column for j, column in enumerate(X.columns)]
    return Stream(np.column_stack(columns), rare, np.array(nominal, np.int64))


def codes_of(column: np.ndarray) -> np.ndarray:
    """Values as numbers in the order in which they turn up: what is not known yet gives nothing away."""
    codes: dict[Any, float] = {}
    return np.array([np.nan if value is None else codes.setdefault(value, float(len(codes))) for value in column])


# ----------------------------------------------------------------------------------------------------------- runs


def run(job: Job) -> dict[str, Any]:
    """One run: what is kept of it."""
    stream = make_stream(job.stream, job.seed)
    try:
        found = run_here(job, stream) if job.model.startswith("ours") else run_there(job, stream)
    except ChildError as error:
        return {**job._asdict(), "error": str(error)}
    n = len(stream.y)
    line = {**job._asdict(), "rows": n, "rare": int(stream.y.sum()), **figures(stream.y, found["p"])}
    line |= {"us": round(1e6 * float(found["seconds"]) / n, 1), "bytes": int(found["size"])}
    return line | {"version": str(found["version"]), "commit": commit() if job.model.startswith("ours") else None}


class ChildError(Exception):
    """A run that failed, in its own words."""


def run_here(job: Job, stream: Stream) -> dict[str, Any]:
    p, seconds, size = rare_learners.run(job.model, stream, job.seed)
    return {"p": p, "seconds": seconds, "size": size, "version": rare_learners.version_of(job.model)}


def run_there(job: Job, stream: Stream) -> dict[str, Any]:
    """In a process of the environment that the package is installed in."""
    with tempfile.TemporaryDirectory() as folder:
        source, out = Path(folder) / "stream.npz", Path(folder) / "out.npz"
        stream.save(source)
        words = [str(BATCH), rare_learners.__file__, job.model, str(source), str(out), "--seed", str(job.seed)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise ChildError(done.stderr.strip().splitlines()[-1][:300])
        with np.load(out) as file:
            return {name: file[name][()] for name in file.files}


def figures(rare: np.ndarray, p: np.ndarray) -> dict[str, float]:
    """Exact ones, by sorting: over the rows that count, and over the last of all."""
    out = {}
    for name, first in (("", round(COUNTED * len(p))), ("last_", len(p) - round(TAIL * len(p)))):
        y, score = rare[first:], p[first:]
        if 0 < y.sum() < len(y):
            out[f"{name}auc"] = round(float(roc_auc_score(y, score)), 5)
            out[f"{name}ap"] = round(float(average_precision_score(y, score)), 5)
            out[f"{name}log_loss"] = round(float(log_loss(y, score, labels=[False, True])), 5)
    return out


def commit() -> str:
    """The last commit that changed our sources; a plus if they have changed since."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False).stdout.strip()

    return git("log", "-1", "--format=%h", "--", "src") + ("+" if git("status", "--short", "--", "src") else "")


def read(path: Path) -> dict[Job, dict[str, Any]]:
    """The runs of a file; of the same twice, the later one."""
    lines = map(json.loads, path.read_text().splitlines()) if path.exists() else ()
    return {Job(*(line[name] for name in Job._fields)): line for line in lines}


# ---------------------------------------------------------------------------------------------------------- tables


def tables(found: dict[Job, dict[str, Any]], streams: Iterable[str], models: list[str]) -> str:
    """In Markdown, a line for each stream and model: means over the seeds that ours has run, too, and their spread.

    Where models have run other seeds, each is compared with ours on its own.
    """
    head = ("stream", "model", "seeds", "AUC", "average precision", "log loss", "AUC, AP, last 20 %", "us a row", "kB",
            "ours ahead in AUC, AP")  # fmt: skip
    lines = [" | ".join(head), " | ".join(["---"] * len(head))]
    for stream in streams:
        ours = _runs(found, stream, FLAGSHIP)
        for model in models:
            runs = _runs(found, stream, model)
            seeds = sorted(set(runs) & set(ours)) if ours else sorted(runs)
            if not seeds:
                continue
            spread = {name: _spread([runs[seed][name] for seed in seeds]) for name in ("auc", "ap", "log_loss")}
            mean = {
                name: np.mean([runs[seed][name] for seed in seeds]) for name in ("last_auc", "last_ap", "us", "bytes")
            }
            last = f"{_short(mean['last_auc'])}, {_short(mean['last_ap'])}"
            size, ahead = mean["bytes"] / 1000, ""
            if ours and model != FLAGSHIP:
                wins = [sum(ours[seed][name] >= runs[seed][name] for seed in seeds) for name in ("auc", "ap")]
                ahead = ", ".join(map(str, wins))
            figures = (*spread.values(), last, f"{mean['us']:,.0f}", f"{size:,.0f}", ahead)
            lines.append(" | ".join((stream, MODELS[model], str(len(seeds)), *figures)))
    return "\n".join(f"| {line} |" for line in lines)


def _runs(found: dict[Job, dict[str, Any]], stream: str, model: str) -> dict[int, dict[str, Any]]:
    return {
        job.seed: line for job, line in found.items() if (job.stream, job.model) == (stream, model) and "auc" in line
    }


def _spread(values: list[float]) -> str:
    """Mean and standard deviation over the seeds."""
    more = f" ± {_short(np.std(values, ddof=1))}" if len(values) > 1 else ""
    return f"{_short(np.mean(values))}{more}"


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


@click.command()
@click.option("--streams", default="", help="Those that begin so, comma-separated [default: all].")
@click.option("--models", default="", help="Those that begin so, comma-separated [default: all but river].")
@click.option("--seeds", default=10, show_default=True, help="Seeds of payments; 3 orders of the others at most.")
@click.option("--redo", is_flag=True, help="Run what is in the file again.")
@click.option("--table", "only_table", is_flag=True, help="Run nothing.")
@click.option("--out", default=RESULTS, show_default=True, type=click.Path(path_type=Path, dir_okay=False))
def main(streams: str, models: str, seeds: int, redo: bool, only_table: bool, out: Path) -> None:
    """Run what is missing, and print the table."""
    every = [*PAYMENTS, *OTHERS]
    chosen = [name for name in every if name.startswith(tuple(streams.split(",")))]
    ran = [m for m in MODELS if (m.startswith(tuple(models.split(","))) if models else not m.startswith("river"))]
    found = read(out)
    out.parent.mkdir(parents=True, exist_ok=True)
    for seed in range(seeds):  # all streams with one seed first: a table of few seeds is a table
        for stream in chosen:
            for job in (Job(stream, seed, model) for model in ran):
                if only_table or (seed >= 3 and stream in OTHERS) or (job in found and not redo):
                    continue
                found[job] = run(job)
                with out.open("a") as file:
                    file.write(json.dumps(found[job]) + "\n")
                Console(stderr=True).print(found[job], highlight=False)
    click.echo(tables(found, chosen, list(MODELS) if only_table and not models else ran))


if __name__ == "__main__":
    main()
