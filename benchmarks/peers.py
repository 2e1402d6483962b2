"""One model on one stream, in a process of its own, so that time and memory are its own too.

    python benchmarks/peers.py river-ada stream.npz out.json --rows 2000 --learners 100 --seconds 20

`bench.py` calls this once per model, with the Python of the environment the model is installed in: nothing but NumPy
and the model's own package is imported here. Every example is predicted, then learned. Turning rows into what a package
wants (dicts, Java instances, parsed text) is not timed. Nor is a first run by another model of the kind: over a few
rows, which compiles our kernels, or for some seconds (`--warm`) where a Java machine compiles as it goes.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.metadata
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import references

WARM_ROWS = 300
CHUNK_SECONDS = 0.5  # about how often progress is shown and the clock looked at


@dataclass(frozen=True)
class Stream:
    """Rows as numbers: nominal columns and labels are codes 0, 1, ...; NaN is missing."""

    X: np.ndarray
    y: np.ndarray
    nominal: dict[int, int]  # column: how many values
    n_classes: int

    @classmethod
    def load(cls, path: Path, rows: int | None) -> Stream:
        with np.load(path) as file:
            nominal = {int(column): int(values) for column, values in file["nominal"]}
            return cls(file["X"][:rows], file["y"][:rows], nominal, int(file["n_classes"]))

    def save(self, path: Path) -> None:
        pairs = np.array(list(self.nominal.items()), np.int64).reshape(-1, 2)
        np.savez(path, X=self.X, y=self.y, nominal=pairs, n_classes=self.n_classes)

    def head(self, rows: int) -> Stream:
        return Stream(self.X[:rows], self.y[:rows], self.nominal, self.n_classes)


def only_numbers(X: np.ndarray, nominal: dict[int, int]) -> np.ndarray:
    """Rows with a column of 0 and 1 for each value of the nominal columns, for learners that know numbers only."""
    columns = range(X.shape[1])
    return np.hstack([X[:, [j]] == np.arange(nominal[j]) if j in nominal else X[:, [j]] for j in columns])


@dataclass
class Run:
    """What a run has shown so far. A mark is (rows, seconds, CPU seconds) since the start."""

    predicted: list[np.ndarray] = field(default_factory=list)
    marks: list[tuple[int, float, float]] = field(default_factory=list)


Show = Callable[[int], None]
Prepare = Callable[[np.ndarray, np.ndarray], Sequence[Any]]  # rows and labels as the package wants them
Step = Callable[[Any], Any]  # one example: predict, learn, return the predicted code


# ------------------------------------------------------------------------------------------------------- ours


OURS: dict[str, tuple[str, dict[str, Any]]] = {  # an estimator by its name, and what is not its default
    "boost": ("online-boost", {"n_learners": None}),  # None: as many as it has by default
    "olm": ("adaboost-olm", {}),
    "plain": ("adaboost-olm", {"restart": "never"}),
    "mbbm": ("online-mbbm", {}),
    "tree": ("hoeffding-tree", {}),
    "leaf": ("hoeffding-tree", {"grace_period": 1e18, "leaf_prediction": "nb"}),  # it never tries to split
}


def run_ours(name: str, stream: Stream, learners: int, show: Show, n_jobs: int = 1, seed: int = 0) -> Run:
    """Default settings but the number of learners, and what `OURS` says; `prequential`, as a user would."""
    from onlineboost import prequential
    from onlineboost.lookup import make

    estimator, more = OURS[name]
    settings: dict[str, Any] = {"categorical_features": list(stream.nominal) or None, "n_jobs": n_jobs}
    settings |= {"n_learners": learners, "random_state": seed, **more}
    classes = np.arange(stream.n_classes)
    warm = stream.head(WARM_ROWS)
    prequential(make(estimator, **settings | {"n_learners": min(4, learners)}), warm.X, warm.y, classes=classes)

    run = Run()
    start, cpu = time.perf_counter(), time.process_time()

    def progress(seen: int, _: float) -> None:
        run.marks.append((seen, time.perf_counter() - start, time.process_time() - cpu))
        show(seen)

    model = make(estimator, **settings)
    result = prequential(model, stream.X, stream.y, classes=classes, progress=progress)
    run.predicted.append(np.asarray(result.predictions, np.int64))
    return run


# ------------------------------------------------------------------------------------------------------ river


def make_river(name: str, stream: Stream, learners: int, seed: int) -> tuple[Prepare, Step]:
    from river import drift, ensemble, forest, tree

    def restarting() -> Any:
        return drift.DriftRetrainingClassifier(tree.HoeffdingTreeClassifier(), drift_detector=drift.binary.DDM())

    models = {
        "ada": lambda: ensemble.AdaBoostClassifier(tree.HoeffdingTreeClassifier(), n_models=learners, seed=seed),
        "bole": lambda: ensemble.BOLEClassifier(tree.HoeffdingTreeClassifier(), n_models=learners, seed=seed),
        "bole-ddm": lambda: ensemble.BOLEClassifier(restarting(), n_models=learners, seed=seed),  # as in its manual
        "srp": lambda: ensemble.SRPClassifier(n_models=learners, seed=seed),
        "arf": lambda: forest.ARFClassifier(n_models=learners, seed=seed),
        "amf": lambda: forest.AMFClassifier(n_estimators=learners, seed=seed),
    }
    model = models[name]()
    as_text = () if name == "amf" else tuple(stream.nominal)  # AMF cuts numbers only

    def prepare(X: np.ndarray, y: np.ndarray) -> list[tuple[dict[str, Any], int]]:
        X = only_numbers(X, stream.nominal) if name == "amf" else X
        names = [f"x{j}" for j in range(X.shape[1])]
        rows = []
        for values, label in zip(X.tolist(), y.tolist(), strict=True):
            for j in as_text:
                values[j] = str(values[j])
            rows.append((dict(zip(names, values, strict=True)), label))
        return rows

    def step(row: tuple[dict[str, Any], int]) -> Any:
        x, y = row
        predicted = model.predict_one(x)
        model.learn_one(x, y)
        return predicted

    return prepare, step


# ---------------------------------------------------------------------------------------------------- CapyMOA


def make_capymoa(name: str, stream: Stream, learners: int, seed: int) -> tuple[Prepare, Step]:
    from capymoa import classifier
    from capymoa.base import MOAClassifier
    from capymoa.core import LabeledInstance
    from capymoa.stream import Schema
    from moa.classifiers.meta import BOLE

    names = [f"x{j}" for j in range(stream.X.shape[1])]
    categories = {names[j]: [str(v) for v in range(values)] for j, values in stream.nominal.items()}
    categories["class"] = [str(label) for label in range(stream.n_classes)]
    schema = Schema.from_custom([*names, "class"], target="class", categories=categories, name="stream")
    models = {
        "oza": lambda: classifier.OzaBoost(schema, seed, boosting_iterations=learners),
        "bole": lambda: MOAClassifier(BOLE, schema, f"-s {learners}", seed),
        "sgbt": lambda: classifier.StreamingGradientBoostedTrees(schema, seed, boosting_iterations=learners),
        "arf": lambda: classifier.AdaptiveRandomForestClassifier(schema, random_seed=seed, ensemble_size=learners),
        "srp": lambda: classifier.StreamingRandomPatches(schema, seed, ensemble_size=learners),
        "dems": lambda: classifier.DynamicEnsembleMemberSelection(schema, seed, ensemble_size=learners),
        "levbag": lambda: classifier.LeveragingBagging(schema, random_seed=seed, ensemble_size=learners),
    }
    model = models[name]()

    def prepare(X: np.ndarray, y: np.ndarray) -> list[Any]:
        rows = [LabeledInstance.from_array(schema, x, int(label)) for x, label in zip(X, y, strict=True)]
        for row in rows:
            _ = row.java_instance  # made on first use
        return rows

    def step(instance: Any) -> Any:
        predicted = model.predict(instance)
        model.train(instance)
        return predicted

    return prepare, step


# ---------------------------------------------------------------------------------------------- Vowpal Wabbit


def make_vw(name: str, stream: Stream, learners: int, seed: int) -> tuple[Prepare, Step]:
    """Boosted linear learners. Boosting is binary there, so k > 2 classes take k boosters, one against all."""
    from vowpalwabbit import pyvw

    k = stream.n_classes
    algorithm = {"bbm": "BBM", "ada": "adaptive"}[name]
    model = pyvw.Workspace(f"--quiet --boosting {learners} --alg {algorithm}" + (f" --oaa {k}" if k > 2 else ""))
    n_columns = stream.X.shape[1]
    first = dict(zip(stream.nominal, n_columns + np.cumsum([0, *stream.nominal.values()]), strict=False))

    def text(values: list[float], label: int) -> str:
        """Numbers as they are, a value of a nominal column as a feature of its own."""
        words = [f"{first[j] + int(v)}" if j in first else f"{j}:{v:.9g}" for j, v in enumerate(values) if v == v]
        return f"{label + 1 if k > 2 else 2 * label - 1} | {' '.join(words)}"

    def prepare(X: np.ndarray, y: np.ndarray) -> list[Any]:
        return [model.parse(text(x, label)) for x, label in zip(X.tolist(), y.tolist(), strict=True)]

    def step(example: Any) -> int:
        model.learn(example)  # predicts with what it was before this example, then learns
        if k > 2:
            predicted = example.get_multiclass_prediction() - 1
        else:
            predicted = int(example.get_simplelabel_prediction() > 0.0)
        model.finish_example(example)
        return predicted

    return prepare, step


# --------------------------------------------------------------------------------------------------- onelearn


def make_onelearn(name: str, stream: Stream, learners: int, seed: int) -> tuple[Prepare, Step]:
    """AMF by its authors. It takes numbers only, and no missing ones: these are the mean of their column so far.

    Its kernels are called by themselves. `partial_fit` would seed them anew for every row, so that all rows met the
    same random numbers, and take most of the time for that.
    """
    from onelearn import AMFClassifier
    from onelearn.forest import forest_classifier_partial_fit, forest_classifier_predict_proba

    model = AMFClassifier(stream.n_classes, n_estimators=learners, random_state=seed, verbose=False)
    scores = np.zeros((1, stream.n_classes), np.float32)
    width = only_numbers(stream.X[:1], stream.nominal).shape[1]
    sums, counts = np.zeros(width), np.zeros(width)

    def prepare(X: np.ndarray, y: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        rows = []
        for values, label in zip(only_numbers(X, stream.nominal), y):  # noqa: B905 (this runs on Python 3.9)
            there = ~np.isnan(values)
            filled = np.where(there, values, sums / np.maximum(counts, 1))
            sums[there] += values[there]
            counts[there] += 1
            rows.append((filled.astype(np.float32)[None, :], np.array([label], np.float32)))
        return rows

    def step(row: tuple[np.ndarray, np.ndarray]) -> int:
        x, y = row
        if model.no_python is None:  # the first row seeds the kernels, once
            model.partial_fit(x, y)
            return -1
        forest_classifier_predict_proba(model.no_python, x, scores)
        forest_classifier_partial_fit(model.no_python, x, y)
        return int(scores[0].argmax())

    return prepare, step


# --------------------------------------------------------------------------------------------------- any peer


def run_rows(peer: tuple[Prepare, Step], stream: Stream, seconds: float, show: Show) -> Run:
    """Row after row, until the stream or the CPU time is over. The clocks stop while rows are prepared."""
    prepare, step = peer
    run, done, size, wall, cpu = Run(), 0, 100, 0.0, 0.0
    while done < len(stream.y) and cpu < seconds:
        rows = prepare(stream.X[done : done + size], stream.y[done : done + size])
        start, start_cpu = time.perf_counter(), time.process_time()
        predicted = [step(row) for row in rows]
        took = time.perf_counter() - start
        wall, cpu, done = wall + took, cpu + time.process_time() - start_cpu, done + len(rows)
        run.predicted.append(np.array([-1 if p is None else int(p) for p in predicted]))
        run.marks.append((done, wall, cpu))
        show(done)
        size = int(np.clip(len(rows) * CHUNK_SECONDS / max(took, 1e-9), 50, 5000)) // 50 * 50
    return run


def run_reference(model: str, stream: Stream, seed: int) -> Run:
    """All rows in one go."""
    start, cpu = time.perf_counter(), time.process_time()
    predicted = references.MODELS[model](stream, seed)
    return Run([predicted], [(len(predicted), time.perf_counter() - start, time.process_time() - cpu)])


# the package that a model's version is that of, where it has another name
PACKAGES = {"ours": "onlineboost", "vw": "vowpalwabbit", "simple": "numpy", "sklearn": "scikit-learn"}
MAKERS = {"river": make_river, "capymoa": make_capymoa, "vw": make_vw, "onelearn": make_onelearn}


# arguments: a command has one for every option
def run_model(model: str, stream: Stream, learners: int, seconds: float, warm: float, show: Show, seed: int = 0) -> Run:
    """`model` is a package and a name, as in "river-ada"; "ours-olm:2" runs with n_jobs=2."""
    package, _, name = model.partition("-")
    if package == "ours":
        name, _, n_jobs = name.partition(":")
        return run_ours(name, stream, learners, show, int(n_jobs or 1), seed)
    if model in references.MODELS:
        return run_reference(model, stream, seed)
    if package == "capymoa":
        run_rows(make_capymoa(name, stream, learners, seed), stream, warm, lambda seen: None)
    return run_rows(MAKERS[package](name, stream, learners, seed), stream, seconds, show)


def peak_megabytes() -> float:
    """The most memory this process has had resident."""
    status = Path("/proc/self/status")
    if status.exists():  # ru_maxrss of a child starts at what its parent had, on Linux
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("stream", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--learners", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--warm", type=float, default=8.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    stream = Stream.load(asked.stream, asked.rows)
    model, learners, seconds = asked.model, asked.learners, asked.seconds
    run = run_model(model, stream, learners, seconds, asked.warm, lambda seen: print(seen, flush=True), asked.seed)
    predicted = np.concatenate(run.predicted)
    right = predicted == stream.y[: len(predicted)]
    package = asked.model.partition("-")[0]
    result = {
        "model": asked.model,
        "version": importlib.metadata.version(PACKAGES.get(package, package)),
        "learners": asked.learners,
        "rows": len(predicted),
        "marks": run.marks,
        "peak_megabytes": peak_megabytes(),
        "right": np.packbits(right).tobytes().hex(),
        "predicted_sha256": hashlib.sha256(predicted.tobytes()).hexdigest(),
    }
    asked.out.write_text(json.dumps(result))


if __name__ == "__main__":
    main()
