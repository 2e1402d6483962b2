"""Two versions of the package, timed in turns: what disturbs one disturbs the other.

    python benchmarks/guard.py --against FOLDER        compares this version with the checkout in FOLDER

Each version runs in a process of its own, on its own sources, with the cases of its own `benchmarks/guard.py`. The
process compiles, prints the names of its cases as JSON, and then runs the case named in each line that it is given, and
prints the CPU seconds it took. This file is that process too (`python benchmarks/turns.py FOLDER [TEXT]`), so it
imports nothing of either version before it knows which one is meant.
"""

from __future__ import annotations

import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import NamedTuple, Self

ROOT = Path(__file__).resolve().parents[1]


class Version:
    """A process that runs cases of the checkout in a folder."""

    def __init__(self, folder: Path, only: str) -> None:
        self.folder = folder
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115 (closed by __exit__)
        self.process = subprocess.Popen(
            [sys.executable, __file__, str(folder), only],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.errors,
            text=True,
            env={**os.environ, "PYTHONPATH": str(folder / "src")},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.process.kill()
        self.process.communicate()
        self.errors.close()

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            self.process.wait()
            self.errors.seek(0)
            lines = self.errors.read().strip().splitlines() or [f"exit code {self.process.returncode}"]
            raise RuntimeError(f"the version in {self.folder} stopped: {lines[-1]}")
        return line

    def names(self) -> list[str]:
        """The cases it has; it has compiled by then."""
        return list(json.loads(self.answer()))

    def seconds(self, case: str) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(case + "\n")
        self.process.stdin.flush()
        return float(self.answer())


class Comparison(NamedTuple):
    """CPU seconds of a case, round by round."""

    case: str
    old: list[float]
    new: list[float]

    @property
    def least(self) -> float:
        """The least time of the new version over that of the old one."""
        return min(self.new) / min(self.old)

    @property
    def median(self) -> float:
        """The median, over the rounds, of new over old."""
        return statistics.median(new / old for new, old in zip(self.new, self.old, strict=True))


def compare(other: Path, rounds: int, only: str, show: Callable[[int], None]) -> tuple[list[Comparison], list[str]]:
    """Every case that both versions have, and the names of those that one of them lacks.

    `show` is called with the rounds done so far.
    """
    with Version(other.resolve(), only) as old, Version(ROOT, only) as new:
        known, names = old.names(), new.names()
        results = [Comparison(name, [], []) for name in names if name in known]
        for done in range(rounds):
            show(done)
            for result in results:
                for version, times in ((old, result.old), (new, result.new))[:: 1 if done % 2 == 0 else -1]:
                    times.append(version.seconds(result.case))
    return results, [name for name in dict.fromkeys([*names, *known]) if not (name in names and name in known)]


def serve(folder: Path, only: str) -> None:
    """Compile, say which cases there are, then run those that are asked for."""
    sys.path[0] = str(folder / "benchmarks")  # in place of this file's folder
    guard = importlib.import_module("guard")
    cases = {name: case for name, case in guard.cases().items() if only in name}
    for case in cases.values():
        case()
    print(json.dumps(list(cases)), flush=True)
    for line in sys.stdin:
        print(guard.cpu_seconds(cases[line.strip()]), flush=True)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "")
