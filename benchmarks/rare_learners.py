"""One learner over one stream with a rare class, in a process of its own; `rare_events.py` calls it.

    python benchmarks/rare_learners.py lightgbm stream.npz out.npz --seed 0

It writes the probability of the rare class that each row had before its label was learned, the processor time of all
that learning and predicting took, refits included, and the bytes of the model at the end. Nothing but NumPy and the
learner's own package is imported.
"""

from __future__ import annotations

import argparse
import io
import os
import pickle
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    import peers

REFITS = 25  # of a batch learner over a stream: every 2,000 rows of 50,000
MEMORY = 20_000  # last rows that it is fitted to
NUMBERS_ABOVE = 64  # AMF cuts numbers only: nominal columns of more values are given as codes, others as 0 and 1


@dataclass(frozen=True)
class Stream:
    """Rows as numbers: values of nominal columns are codes in the order in which they turn up; NaN is missing."""

    X: np.ndarray  # float64 (rows, columns)
    y: np.ndarray  # bool (rows,) whether it is of the rare class
    nominal: np.ndarray  # int64 numbers of the nominal columns

    @classmethod
    def load(cls, path: Path) -> Stream:
        with np.load(path) as file:
            return cls(file["X"], file["y"], file["nominal"])

    def save(self, path: Path) -> None:
        np.savez(path, X=self.X, y=self.y, nominal=self.nominal)


Ran = tuple[np.ndarray, float, int]  # probability of the rare class for each row, CPU seconds, bytes of the model


def run(name: str, stream: Stream, seed: int) -> Ran:
    package, _, kind = name.partition("-")
    return {"ours": ours, "river": river}.get(package, refitted)(kind or package, stream, seed)


# ------------------------------------------------------------------------------------------------------------ ours


def ours(kind: str, stream: Stream, seed: int) -> Ran:
    """At its defaults, as a user would: `prequential`."""
    from onlineboost import prequential
    from onlineboost.data.table import Table
    from onlineboost.evaluation import warm_up
    from onlineboost.lookup import make

    names = tuple(f"x{j}" for j in range(stream.X.shape[1]))
    table = Table(names, tuple(_column(stream, j) for j in range(stream.X.shape[1])))
    warm_up(make(kind, random_state=seed))
    model = make(kind, random_state=seed)
    start = time.process_time()
    result = prequential(model, table, np.where(stream.y, "rare", "other").astype(object))
    seconds = time.process_time() - start
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.olb"
        model.save(path)
        return result.probabilities[:, 1], seconds, path.stat().st_size


def _column(stream: Stream, j: int) -> np.ndarray:
    values = np.ascontiguousarray(stream.X[:, j])
    if j not in stream.nominal:
        return values
    return np.array([None if np.isnan(v) else f"v{int(v)}" for v in values], object)


# ------------------------------------------------------------------------------------------------- batch, refitted


class Fitted(NamedTuple):
    """A batch learner that has learned some rows."""

    probabilities: Callable[[np.ndarray], np.ndarray]  # of its classes (rows, classes)
    classes: np.ndarray  # those among the rows it was fitted to
    size: Callable[[], int]  # bytes


def refitted(kind: str, stream: Stream, seed: int) -> Ran:
    """Fitted 25 times to the last 20,000 rows; until there are two classes, the share of the rare one."""
    n = len(stream.y)
    p, start = np.full(n, 0.0), time.process_time()
    model = None
    for memory, rows in stretches(n, REFITS):
        if 2 <= stream.y[memory].sum() < len(stream.y[memory]) - 1:
            model = BATCH[kind](stream, memory, seed)
        if model is None:
            p[rows] = (stream.y[: rows.start].sum() + 0.5) / (rows.start + 1.0)
        else:
            p[rows] = model.probabilities(stream.X[rows])[:, 1]
    return p, time.process_time() - start, model.size() if model else 0


def stretches(rows: int, refits: int) -> Iterator[tuple[slice, slice]]:
    """The rows that each of so many models is fitted to, none at first, and the rows that it predicts."""
    every = max(1, rows // refits)
    for first in range(0, rows, every):
        yield slice(max(0, first - MEMORY), first), slice(first, first + every)


def lightgbm(stream: Stream | peers.Stream, memory: slice, seed: int, **settings: Any) -> Fitted:
    from lightgbm import LGBMClassifier

    model = LGBMClassifier(**settings, random_state=seed, n_jobs=1, verbose=-1)
    model.fit(stream.X[memory], stream.y[memory], categorical_feature=list(map(int, stream.nominal)) or "auto")
    return Fitted(model.predict_proba, model.classes_, lambda: len(model.booster_.model_to_string()))


def catboost(stream: Stream | peers.Stream, memory: slice, seed: int, **settings: Any) -> Fitted:
    from catboost import CatBoostClassifier, Pool

    def pool(X: np.ndarray, y: np.ndarray | None = None) -> Any:
        rows = X.astype(object)
        for j in stream.nominal:
            rows[:, j] = ["" if np.isnan(v) else f"v{int(v)}" for v in X[:, j]]
        return Pool(rows, y, cat_features=list(map(int, stream.nominal)))

    quiet = {"random_seed": seed, "thread_count": 1, "verbose": False, "allow_writing_files": False}
    model = CatBoostClassifier(**settings, **quiet)
    model.fit(pool(stream.X[memory], stream.y[memory].astype(int)))

    def size() -> int:
        with tempfile.TemporaryDirectory() as folder:
            model.save_model(f"{folder}/model")
            return os.path.getsize(f"{folder}/model")

    return Fitted(lambda X: model.predict_proba(pool(X)), model.classes_, size)


# Tuned on payments of seeds 100 and 101, which are not among those that are reported; so is CatBoost's number of trees:
# its 1,000 by default take ten times as long, and rank no better.
TUNED = {"n_estimators": 200, "num_leaves": 7, "learning_rate": 0.05, "cat_smooth": 30, "min_data_per_group": 20}
BATCH: dict[str, Callable[..., Fitted]] = {
    "lightgbm": lightgbm,
    "tuned": partial(lightgbm, **TUNED),
    "catboost": partial(catboost, iterations=100, learning_rate=0.1),
}

# ----------------------------------------------------------------------------------------------------------- river


def river(kind: str, stream: Stream, seed: int) -> Ran:
    from river import forest

    model = {"arf": lambda: forest.ARFClassifier(10, seed=seed), "amf": lambda: forest.AMFClassifier(10, seed=seed)}[
        kind
    ]()
    p, start = np.zeros(len(stream.y)), time.process_time()
    spent = 0.0
    for i, (x, label) in enumerate(zip(_dicts(stream, numbers=kind == "amf"), stream.y.tolist(), strict=True)):
        start = time.process_time()
        p[i] = model.predict_proba_one(x).get(True, 0.0)
        model.learn_one(x, label)
        spent += time.process_time() - start
    kept = io.BytesIO()
    pickle.dump(model, kept)
    return p, spent, len(kept.getvalue())


def _dicts(stream: Stream, *, numbers: bool) -> list[dict[str, Any]]:
    names, columns = [], []
    for j in range(stream.X.shape[1]):
        values, nominal = stream.X[:, j], j in stream.nominal
        some = np.unique(values[~np.isnan(values)])
        if nominal and numbers and len(some) <= NUMBERS_ABOVE:
            names += [f"x{j}={int(v)}" for v in some]
            columns += [(values == v).astype(float).tolist() for v in some]
        elif nominal and not numbers:
            names.append(f"x{j}")
            columns.append([None if np.isnan(v) else f"v{int(v)}" for v in values])
        else:
            names.append(f"x{j}")
            columns.append(np.nan_to_num(values).tolist())
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def version_of(name: str) -> str:
    package = name.partition("-")[0].replace("ours", "onlineboost")
    return f"{package} {version(package)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("model")
    parser.add_argument("stream", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    p, seconds, size = run(given.model, Stream.load(given.stream), given.seed)
    np.savez(given.out, p=p, seconds=seconds, size=size, version=version_of(given.model))


if __name__ == "__main__":
    sys.exit(main())
