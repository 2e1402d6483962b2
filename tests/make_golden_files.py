"""Model files that every later version must load and go on with: tests/golden_files/format-<n>.

    python tests/make_golden_files.py

For every estimator and a few settings there is a model in the middle of a stream, the same model at its end, and what
it predicted in between (index.json). A later version loads the first, learns the rest, and must arrive at the second.
Files that are there are never written again: a new format gets a new folder, a new kind of model a new name.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

import numpy as np

from onlineboost import HoeffdingTree, load, lookup
from onlineboost.storage.container import FORMAT

FOLDER = Path(__file__).parent / "golden_files"
HALF, ROWS = 420, 820
LARGEST_FILE = 1_100_000  # the panel of online-boost takes most of it

TREE = HoeffdingTree(grace_period=(15, 40), tie_threshold=(0.1, 0.5), max_features=0.6)
COMMON = {"n_learners": 3, "learner": TREE, "weight_scale": (0.7, 3.0)}
ALONE = {"grace_period": 20, "tie_threshold": 0.3}  # of a single tree
COSTS = {"class_weight": "balanced", "cost_matrix": {"a": {"b": 5.0}, "d": {"a": 9.0}}}
KINDS = {entry: (entry, {}) for entry in lookup.names()} | {
    "adaboost-olm costs": ("adaboost-olm", COSTS),
    "adaboost-olm exponential, restarts": ("adaboost-olm", {"loss": "exponential", "restart": "always"}),
    "online-mbbm monte carlo": ("online-mbbm.paper", {"potential": "monte_carlo", "gamma": 0.1}),
    "online-mbbm hinge": ("online-mbbm", {"loss": "hinge", "combiner": "weighted"}),
    "online-mbbm calibrated": ("online-mbbm", {"calibrate": True}),
    "adaboost-olm limited": ("adaboost-olm", {"memory_limit": 24_000}),
    "oza-boost costs": ("oza-boost", COSTS),
    "one-vs-all squared hinge": ("one-vs-all", {"loss": "squared_hinge", "vote": "argmax", "n_learners": 2}),
    "hoeffding-tree majority": ("hoeffding-tree", {"leaf_prediction": "majority", "class_weight": {"a": 2.0}}),
    "hoeffding-tree relative weights": ("hoeffding-tree", {}),  # files before it have no mean of the weights
    "hoeffding-tree sets": ("hoeffding-tree", {"sets": True}),
    "least-squares ranges": ("least-squares", {}),  # files before it have no ranges of the columns
}


def numbers(n, seed):
    """n whole numbers below 2**32, the same on every machine and with every version of NumPy."""
    state, out = seed, []
    for _ in range(n):
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        out.append(state >> 32)
    return out


def golden_stream(n=ROWS, seed=14):
    """(X, y, weight): numeric, nominal and missing values; nominal values and classes that turn up as time goes on.

    All numbers are fractions with a power of two below: no function of the machine is needed to make them.
    """
    draws = iter(numbers(12 * n, seed))
    X, y, weight = np.empty((n, 4), object), np.empty(n, object), np.empty(n)
    for b in range(n):
        label = next(draws) % min(4, 2 + b // 150)
        noise = [(next(draws) + next(draws) - 2**32) / 2**33 for _ in range(2)]
        colour = next(draws) % (2 + b // 120) if next(draws) % 5 < 3 else label
        size = (label + (next(draws) % 5 < 2) * (next(draws) % 3)) % 3
        X[b] = [
            f"colour {colour}",
            label % 2 + 2 * noise[0],
            ("small", "middle", "large")[size],
            3 * (label // 2) + noise[1],
        ]
        missing = next(draws) % 50
        if b and missing < 4:
            X[b, missing] = None
        y[b], weight[b] = "abcd"[label], 0.5 + next(draws) % 1024 / 512
    return X, y, weight


def made(name):
    """A new model of this kind."""
    estimator, settings = KINDS[name]
    return lookup.make(estimator, **((ALONE if estimator == "hoeffding-tree" else COMMON) | settings))


def go_on(clf, first, last, block=50):
    """Learn the rows from first to last; the predictions, as one text."""
    X, y, weight = golden_stream()
    said = []
    for a in range(first, last, block):
        rows = slice(a, min(a + block, last))
        said += clf.test_then_train(X[rows], y[rows], sample_weight=weight[rows]).tolist()
    return "".join(label or "-" for label in said)


def digest(text):
    return hashlib.sha256(text.encode()).hexdigest()


def write_missing(machine):
    folder = FOLDER / f"format-{FORMAT}"
    folder.mkdir(parents=True, exist_ok=True)
    index = folder / "index.json"
    listed = json.loads(index.read_text()) if index.exists() else {}
    for name in KINDS:
        half, whole = (folder / f"{name}, {part}.olb" for part in ("half", "whole"))
        if name in listed or half.exists() or whole.exists():
            print(f"{name}: is there, and stays as it is")
            continue
        clf = made(name)
        go_on(clf, 0, HALF)
        clf.save(half)
        loaded = load(half)
        said = go_on(clf, HALF, ROWS)
        assert go_on(loaded, HALF, ROWS) == said, name
        clf.save(whole)
        assert max(half.stat().st_size, whole.stat().st_size) <= LARGEST_FILE, name
        listed[name] = {"machine": machine, "predictions": said, "sha256": digest(said)}
        index.write_text(json.dumps(listed, indent=1) + "\n")
        print(f"{name}: {half.stat().st_size:,} and {whole.stat().st_size:,} bytes")


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    from test_golden import machine

    write_missing(machine())
