"""Do importances name the columns that matter, and follow when others do?

    python benchmarks/importances.py [--rows 6000] [--streams 5]

Streams of 50 columns of which 5 decide on the class; in the middle of the stream 5 others take over. Every column of
the five counts: its coefficients are of the same size. `precision` is the share of the five among the five columns of
highest importance, `share` the part of all importance that they have; both before the change and after it, as means
over the streams. Guessing gives .10 for both. `learn` is the time that learning takes, `ask` that of one look.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from onlineboost import AdaBoostOLM, AdaBoostOVA, BestTree, HoeffdingTree, OnlineBoostClassifier, OnlineMBBM, OzaBoost
from onlineboost.evaluation import warm_up

COLUMNS, MATTER, CLASSES = 50, 5, 3
AFTER = (250, 500, 1000, 2000, 6000)  # rows since the beginning, or the change, when importances are looked at

MODELS = {
    "OnlineBoostClassifier": lambda: OnlineBoostClassifier(),
    "AdaBoostOLM": lambda: AdaBoostOLM(),
    "AdaBoostOLM, restart=always": lambda: AdaBoostOLM(restart="always"),
    "OnlineMBBM": lambda: OnlineMBBM(),
    "OzaBoost": lambda: OzaBoost(),
    "AdaBoostOVA": lambda: AdaBoostOVA(30),
    "BestTree": lambda: BestTree(),
    "HoeffdingTree": lambda: HoeffdingTree(),
}


def known_truth(rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(X, y, columns): `rows` before the change and as many after it; `columns` (2, MATTER) are those that matter."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * rows, COLUMNS))
    columns = rng.permutation(COLUMNS)[: 2 * MATTER].reshape(2, MATTER)
    y = np.empty(2 * rows, np.int64)
    for half in range(2):
        turns = rng.uniform(0, 2 * np.pi, MATTER)[:, None] + 2 * np.pi * np.arange(CLASSES) / CLASSES
        part = slice(half * rows, (half + 1) * rows)
        scores = X[part][:, columns[half]] @ np.cos(turns) + 0.3 * rng.gumbel(size=(rows, CLASSES))
        y[part] = scores.argmax(axis=1)
    return X, y, columns


def precision(importances: np.ndarray, columns: np.ndarray) -> float:
    """The share of the columns that matter among as many of highest importance."""
    top = np.argsort(-importances, kind="stable")[: len(columns)]
    return len(set(top.tolist()) & set(columns.tolist())) / len(columns)


def looks(rows: int) -> list[int]:
    return [n for n in AFTER if n <= rows]


def measure(make, rows: int, seed: int) -> tuple[np.ndarray, float, float]:
    """(precision and share, before and after, at each look: (2, looks, 2); seconds to learn; seconds of a look)."""
    X, y, columns = known_truth(rows, seed)
    clf, out = make(), np.empty((2, len(looks(rows)), 2))
    learn = ask = 0.0
    for half in range(2):
        done = half * rows
        for at, n in enumerate(looks(rows)):
            start = time.process_time()
            clf.partial_fit(X[done : half * rows + n], y[done : half * rows + n])
            middle = time.process_time()
            found = clf.feature_importances_
            ask += time.process_time() - middle
            learn += middle - start
            done = half * rows + n
            out[half, at] = precision(found, columns[half]), found[columns[half]].sum()
        clf.partial_fit(X[done : (half + 1) * rows], y[done : (half + 1) * rows])
    return out, learn, ask / (2 * len(looks(rows)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=6000, help="rows before the change, and as many after it")
    parser.add_argument("--streams", type=int, default=5)
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    given = parser.parse_args()
    at = "  ".join(f"{n:>9,}" for n in looks(given.rows))
    print(f"{'precision / share, rows':<30}{'':>8}  {at}   ask, ms")
    for name in given.models:
        warm_up(MODELS[name]())
        runs = [measure(MODELS[name], given.rows, 100 + seed) for seed in range(given.streams)]
        mean, ask = np.mean([run[0] for run in runs], axis=0), np.mean([run[2] for run in runs])
        for half, when in enumerate(("before", "after")):
            cells = "  ".join(f"{p:.2f}/{share:.2f}".rjust(9) for p, share in mean[half])
            print(f"{name if not half else '':<30}{when:>8}  {cells}   {1000 * ask:.0f}", flush=True)


if __name__ == "__main__":
    main()
