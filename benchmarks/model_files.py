"""What it costs to save and load a large model, beside pickle and joblib; and what checkpoints cost a run.

    python benchmarks/model_files.py --megabytes 500
    python benchmarks/model_files.py --rows 100000 --turns 3        # checkpoints alone: --megabytes 0

The model is an AdaBoostOLM that has learned a synthetic stream until it is as large as asked for. All ways save and
load the same model in turn, to the same disk; the best of the turns counts, since a busy machine only ever adds.
"Checked" is a model file as it is; "mapped" leaves its large tables in the file.

Checkpoints are measured on the first rows of the data set movement, every 10,000 rows, in turn with the same run
without. Wall time is what a user waits; processor time is what both threads take. What a checkpoint keeps the run
waiting for is measured apart, and is the figure that hardly depends on how busy the machine is.
"""

from __future__ import annotations

import pickle
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import joblib
import numpy as np
from threads import machine_busy

import onlineboost
from onlineboost import AdaBoostOLM, load_dataset
from onlineboost.evaluation import cut, resumable
from onlineboost.evaluation.resumable import Checkpoints

COLUMNS, CLASSES, BLOCK = 40, 12, 2000
EVERY = 10_000


def large_model(megabytes: float) -> AdaBoostOLM:
    """A model of about this size without the room that it keeps for growth."""
    rng = np.random.default_rng(0)
    clf = AdaBoostOLM(50)
    while not hasattr(clf, "_model") or clf.snapshot().nbytes_ < megabytes * 1e6:
        y = rng.integers(CLASSES, size=BLOCK)
        X = rng.normal(size=(BLOCK, COLUMNS)) + (y % 5)[:, None] * 0.3
        clf.partial_fit(X, y)
    return clf.snapshot()


def _pickled(clf: Any, path: Path) -> None:
    with path.open("wb") as file:
        pickle.dump(clf, file, protocol=5)


def _unpickled(path: Path) -> Any:
    with path.open("rb") as file:
        return pickle.load(file)


WAYS: dict[str, tuple[Callable[[Any, Path], Any], Callable[[Path], Any]]] = {
    "model file, checked": (lambda clf, path: clf.save(path), onlineboost.load),
    "model file, mapped": (lambda clf, path: clf.save(path), lambda path: onlineboost.load(path, mapped=True)),
    "pickle": (_pickled, _unpickled),
    "joblib": (lambda clf, path: joblib.dump(clf, path), joblib.load),
}


def seconds(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def compare(clf: AdaBoostOLM, folder: Path, turns: int) -> dict[str, tuple[float, float, int]]:
    """(seconds to save, seconds to load, bytes) of every way, the best of so many turns."""
    best: dict[str, tuple[float, float, int]] = {}
    for _ in range(turns):
        for name, (save, load) in WAYS.items():
            path = folder / "model"
            wrote, _ = seconds(lambda save=save, path=path: save(clf, path))
            read, loaded = seconds(lambda load=load, path=path: load(path))
            assert loaded.n_samples_seen_ == clf.n_samples_seen_
            before = best.get(name, (np.inf, np.inf, 0))
            best[name] = min(before[0], wrote), min(before[1], read), path.stat().st_size
            del loaded
            path.unlink()
    return best


def checkpoint_cost(rows: int, turns: int, folder: Path) -> dict[str, float]:
    """Seconds of a run over movement with and without checkpoints, and those that it waited for them."""
    data = load_dataset("movement").shuffled(0)
    waited = 0.0
    write = Checkpoints.write

    def timed(method: Callable[..., None]) -> Callable[..., None]:
        def call(*given: Any) -> None:
            nonlocal waited
            start = time.thread_time()
            method(*given)
            waited += time.thread_time() - start

        return call

    Checkpoints.write = timed(write)  # type: ignore[method-assign]
    found: dict[str, float] = {}
    for turn in range(turns):
        for kept in (False, True):
            blocks = cut(data.X[:rows], data.y[:rows], pieces=rows // 4096)
            place, waited = folder / f"{turn}" if kept else None, 0.0
            wall, processor = time.perf_counter(), time.process_time()
            resumable(AdaBoostOLM(100), blocks, place, every=EVERY, classes=list(data.classes))
            for name, value in (("wall", time.perf_counter() - wall), ("processor", time.process_time() - processor)):
                key = f"{name}, {'with' if kept else 'without'}"
                found[key] = min(found.get(key, np.inf), value)
            if kept:
                found["waited"] = min(found.get("waited", np.inf), waited)
                found["bytes"] = float(sum(path.stat().st_size for path in place.iterdir()) if place else 0)
    Checkpoints.write = write  # type: ignore[method-assign]
    return found


@click.command(help=__doc__)
@click.option("--megabytes", default=500.0, show_default=True)
@click.option("--rows", default=100_000, show_default=True, help="Of movement; 0: no checkpoints.")
@click.option("--turns", default=3, show_default=True)
def main(megabytes: float, rows: int, turns: int) -> None:
    busy, total = machine_busy()
    with tempfile.TemporaryDirectory() as folder:
        if megabytes:
            clf = large_model(megabytes)
            print(f"AdaBoostOLM, {clf.n_samples_seen_:,} rows, {clf.nbytes_ / 1e6:.0f} MB in memory")
            print(f"{'':<22}{'save, s':>9}{'load, s':>9}{'MB':>9}")
            for name, (wrote, read, size) in compare(clf, Path(folder), turns).items():
                print(f"{name:<22}{wrote:>9.2f}{read:>9.2f}{size / 1e6:>9.1f}")
            del clf
        if rows:
            cost = checkpoint_cost(rows, turns, Path(folder))
            for name in ("wall", "processor"):
                kept, plain = cost[f"{name}, with"], cost[f"{name}, without"]
                print(f"{name:<10} {plain:8.2f} s without, {kept:8.2f} s with checkpoints: {kept / plain - 1:+.1%}")
            print(f"the run waited {cost['waited']:.2f} s for them: {cost['waited'] / cost['processor, without']:.1%}")
    busy, total = (after - before for after, before in zip(machine_busy(), (busy, total), strict=True))
    print(f"all cores were busy {busy / total:.0%} of the time")


if __name__ == "__main__":
    main()
