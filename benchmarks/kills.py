"""kill -9 at random moments of checkpointed runs: does the run that goes on end where an undisturbed one does?

    python benchmarks/kills.py --kills 100

Every estimator runs over a CSV, a gzip and a Parquet file. Each run is killed again and again, at a moment drawn anew,
and started again with --resume until it gets to its end. Then the saved model, the file of predictions and the figures
must be those of a run that was never disturbed, byte for byte. Runs are forks of this process, in which all is
compiled: otherwise most would be killed before they begin.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import os
import random
import signal
import sys
import tempfile
import time
from pathlib import Path

import click

from onlineboost import lookup
from onlineboost.cli.main import main as command_line

ROWS, EVERY = 6000, 300
FORMATS = ("csv", "csv.gz", "parquet")
LEAST_KILLS = 5  # of each estimator


def write_stream(folder: Path, rows: int = ROWS, seed: int = 0) -> dict[str, Path]:
    """The same rows in each format: numbers, a nominal column whose values turn up late, missing values, 4 classes."""
    draw = random.Random(seed)
    lines = ["length,colour,width,label"]
    for row in range(rows):
        label = draw.randrange(4)
        colour = draw.randrange(3 + row // 1000) if draw.random() < 0.6 else label
        width = "" if draw.random() < 0.05 else f"{draw.gauss(label // 2, 0.8):.4f}"
        lines.append(f"{draw.gauss(label % 2, 0.8):.4f},colour {colour},{width},class {label}")
    text = "\n".join(lines) + "\n"
    paths = {name: folder / f"events.{name}" for name in FORMATS}
    paths["csv"].write_text(text)
    paths["csv.gz"].write_bytes(gzip.compress(text.encode()))
    try:
        from pyarrow import csv, parquet
    except ImportError:
        del paths["parquet"]
    else:
        parquet.write_table(csv.read_csv(paths["csv"]), paths["parquet"])
    return paths


def command(name: str, source: Path, folder: Path, *more: str) -> list[str]:
    """A run that keeps all there is to keep, in this folder."""
    kept = ["--save", str(folder / "model.olb"), "--out", str(folder / "predictions.csv")]
    return ["run", str(source), "--model", name, "--learners", "3", "--json", *kept, *more]


def run(arguments: list[str], out: Path) -> None:
    """The command line, in this process, with its output in a file."""
    with out.open("w") as file, contextlib.redirect_stdout(file), contextlib.redirect_stderr(io.StringIO()):
        command_line(arguments, standalone_mode=False)


def start(arguments: list[str], out: Path) -> int:
    """`run` in a fork; its process number."""
    process = os.fork()
    if process == 0:
        code = 1
        try:
            run(arguments, out)
            code = 0
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.__stderr__, flush=True)
        finally:
            os._exit(code)
    return process


def result(folder: Path) -> tuple[bytes, bytes, list[dict]]:
    """All that a run leaves behind, but for its times."""
    rows = json.loads((folder / "printed.json").read_text())["results"]
    figures = [{key: value for key, value in row.items() if "second" not in key} for row in rows]
    return (folder / "model.olb").read_bytes(), (folder / "predictions.csv").read_bytes(), figures


def survives(name: str, source: Path, folder: Path, kills: int, draw: random.Random) -> tuple[bool, int]:
    """Whether a run that is killed so often ends as one that is not; and how often it was killed in fact."""
    undisturbed, disturbed = folder / "undisturbed", folder / "disturbed"
    for each in (undisturbed, disturbed):
        each.mkdir(parents=True)
    began = time.perf_counter()
    process = start(command(name, source, undisturbed), undisturbed / "printed.json")
    assert os.waitpid(process, 0)[1] == 0
    takes = time.perf_counter() - began
    checkpoints = ["--checkpoint", str(disturbed / "kept"), "--every", str(EVERY), "--resume"]
    arguments, done = command(name, source, disturbed, *checkpoints), 0
    while done < kills:
        process = start(arguments, disturbed / "printed.json")
        time.sleep(draw.uniform(0.02, 1.1) * takes)
        os.kill(process, signal.SIGKILL)
        status = os.waitpid(process, 0)[1]
        if os.WIFSIGNALED(status):
            done += 1
        elif status:
            return False, done
    process = start(arguments, disturbed / "printed.json")
    if os.waitpid(process, 0)[1]:
        return False, done
    return result(disturbed) == result(undisturbed), done


@click.command(help=__doc__)
@click.option("--kills", default=100, show_default=True)
@click.option("--models", default=",".join(lookup.names()), show_default=True, help="Comma-separated names.")
@click.option("--seed", default=0, show_default=True)
def main(kills: int, models: str, seed: int) -> None:
    draw, names = random.Random(seed), models.split(",")
    each = max(LEAST_KILLS, -(-kills // len(names)))
    total, good = 0, 0
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        sources = write_stream(folder)
        short = write_stream(Path(tempfile.mkdtemp(dir=place)), rows=200)["csv"]
        for name in names:  # everything is compiled here, once
            (folder / "warm").mkdir(exist_ok=True)
            run(command(name, short, folder / "warm"), folder / "warm" / "printed.json")
        for name in names:
            killed = 0
            for number, (kind, source) in enumerate(sources.items()):
                share = each // len(sources) + (number < each % len(sources))
                same, done = survives(name, source, folder / name / kind, share, draw)
                killed, total, good = killed + done, total + done, good + same * done
                if not same:
                    print(f"{name}, {kind}: ANOTHER END", flush=True)
            print(f"{name:<16} killed {killed} times", flush=True)
    print(f"{good} of {total} kills left no trace")
    raise SystemExit(good < total)


if __name__ == "__main__":
    main()
