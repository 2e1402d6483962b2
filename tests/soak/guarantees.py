"""Random runs, none of which may exceed what `theory.guarantee` says of it: `make soak`, and a few in `make test`.

    python tests/soak/guarantees.py --runs 10000
    python tests/soak/guarantees.py --seed 17 --runs 1

A run draws a booster and its settings; weights (none, equal, random, of very different size, falling), classes that are
announced or turn up, in the first rows or late; labels that columns tell, that are noise, that change with time, or
that answer: an adversary who sees all but the coin of Hedge, and all where nothing is drawn; blocks or single rows,
combiners that change on the way, restarts, panels that begin again, labels that come late, saved files. What is then
said is compared with what was predicted, row by row. Lines that hold always must never be exceeded. Those with
probability 1 - delta are counted, with delta = 1/2, so that one that fails too often would be seen.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import onlineboost
from onlineboost import AdaBoostOLM, OnlineBoostClassifier, OnlineMBBM, theory
from onlineboost.chain.chain import AWAITED

COMBINERS = "hedge", "weighted", "best", "last"
DELTA = 0.5
EPS = 1e-6  # for rounding


class Run:
    """A stream and a model on their way, and what was predicted."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        self.k = int(rng.choice([2, 2, 3, 5]))
        self.labels = rng.choice(["columns", "noise", "runs", "swap", "answers"], p=[0.4, 0.15, 0.1, 0.15, 0.2])
        self.one_by_one = self.labels == "answers" or rng.random() < 0.2
        self.n = int(rng.integers(30, 90 if self.one_by_one else 300))
        self.X = rng.normal(size=(self.n, 2))
        self.late = bool(rng.random() < 0.3)  # classes are not announced, and some come late
        self.clf = self.new_model()
        self.weights = self.new_weights()
        self.y = np.empty(self.n, np.int64)
        self.wrong = np.zeros(self.n, bool)
        self.known = np.zeros(self.n, bool)  # whether the class of a row had been met, or announced
        self.log_loss = np.zeros(self.n)
        self.lost = 0.0  # OnlineMBBM: weight of the rows whose label is not strictly ahead

    def new_model(self) -> Any:
        rng = self.rng
        few, seed = int(rng.integers(2, 8)), int(rng.integers(1000))
        combiner, kind = str(rng.choice(COMBINERS, p=[0.5, 0.2, 0.15, 0.15])), rng.integers(6)
        if kind < 2:
            loss = str(rng.choice(["logistic", "exponential", "squared_hinge"], p=[0.7, 0.15, 0.15]))
            restart = str(rng.choice(["auto", "always", "never"]))
            return AdaBoostOLM(few, loss=loss, combiner=combiner, restart=restart, random_state=seed)
        if kind < 4:
            gamma: Any = ("auto", "adaptive", float(rng.uniform(0.0, 0.5)))[rng.integers(3)]
            loss = "pairwise" if gamma != "adaptive" and seed % 3 == 0 else "zero_one"
            return OnlineMBBM(few, gamma=gamma, loss=loss, combiner=combiner, random_state=seed)
        if kind == 4:
            panelled = AdaBoostOLM if rng.random() < 0.5 else OnlineMBBM
            return panelled(few, panel=True, calibrate=bool(rng.random() < 0.5), random_state=seed)
        return OnlineBoostClassifier(few, random_state=seed)

    def new_weights(self) -> np.ndarray | None:
        rng, n = self.rng, self.n
        kinds = [
            None,
            np.full(n, 0.02),
            rng.uniform(0.2, 2.0, n),
            rng.choice([1.0, 100.0, 1e6, 1e-6], n, p=[0.85, 0.05, 0.05, 0.05]),
            np.exp(rng.normal(0.0, 2.0, n)),
            0.99 ** np.arange(n),
        ]
        return kinds[int(rng.choice(len(kinds), p=[0.5, 0.1, 0.1, 0.1, 0.1, 0.1]))]

    def label(self, t: int) -> int:
        """Of the row of round t + 1."""
        rng, k = self.rng, self.k if not self.late or t > self.n // 2 else max(1, self.k - 2)
        if self.labels == "noise":
            return int(rng.integers(k))
        if self.labels == "runs":
            return t // 17 % k
        if self.labels == "answers":
            return self.answer(t, k)
        shift = t // 60 if self.labels == "swap" else 0
        return (int(np.clip((self.X[t, 0] + 0.5 * rng.normal() + 1.5) * k / 3.0, 0, k - 1)) + shift) % k

    def answer(self, t: int, k: int) -> int:
        """What is least expected by one who knows all but the coin; the coin too, where none is thrown."""
        if not hasattr(self.clf, "_model"):
            return int(self.rng.integers(k))
        model, combiner = self.clf._model, self.clf._combiner()
        if model.chain.panel is None and combiner == 0:  # the expert whom Hedge will draw is not known
            combiner = type(combiner)(1)
        code = model.chain.predict(model.encoder.read(self.X[t : t + 1], learning=False).X, model.k, combiner)[0]
        said = model.labels.names[code]
        return int(said + 1 + self.rng.integers(max(1, k - 1))) % k if k > 1 else 0

    def play(self) -> Any:
        """What is guaranteed, or that nothing is; `wrong` and the rest have what came."""
        rng, clf, n = self.rng, self.clf, self.n
        classes = None if self.late else list(range(self.k))
        waits = self.one_by_one and rng.random() < 0.1
        saves, changes = rng.random() < 0.1, rng.random() < 0.1 and hasattr(clf, "combiner")
        at = 0
        while at < n:
            stop = at + 1 if self.one_by_one else min(n, at + int(rng.integers(1, 120)))
            for t in range(at, stop):
                self.y[t] = self.label(t)
            self.learn(slice(at, stop), classes)
            at = stop
            if waits and at == n // 2 and hasattr(clf, "_model"):
                clf.learn_pending(clf.predict_pending(self.X[0]).ticket, int(self.y[0]))
            if saves and at >= n // 2:
                saves = False
                with tempfile.TemporaryDirectory() as folder:
                    clf.save(f"{folder}/model.olb")
                    clf = self.clf = onlineboost.load(f"{folder}/model.olb")
            if changes and at >= n // 2:
                changes = False
                clf.set_params(combiner=str(rng.choice(COMBINERS)))
        found = theory.guarantee(clf, int(self.wrong.sum()), delta=DELTA)
        assert not (waits and found), "a guarantee in spite of labels that came late"
        assert "not those of this run" not in str(found), f"{found}: {clf}"
        return found

    def learn(self, rows: slice, classes: Any) -> None:
        clf, y = self.clf, self.y[rows]
        met = set(self.y[: rows.start].tolist())
        for t in range(rows.start, rows.stop):
            self.known[t] = not self.late or self.y[t] in met
            met.add(int(self.y[t]))
        weight = None if self.weights is None else self.weights[rows]
        said, p = clf.test_then_train(self.X[rows], y, classes=classes, sample_weight=weight, proba=True)
        self.wrong[rows] = [a != b for a, b in zip(said.tolist(), y.tolist(), strict=True)]
        own = p[np.arange(len(y)), np.searchsorted(clf.classes_, y)]
        with np.errstate(divide="ignore"):
            self.log_loss[rows] = -np.log(own)

    def counted(self) -> np.ndarray:
        """The weights that the rows counted with: over their mean so far."""
        w = np.ones(self.n) if self.weights is None else self.weights
        return np.maximum(w / (np.cumsum(w) / np.arange(1, self.n + 1)), 1e-9)


def broken(run: Run, found: Any) -> dict[str, bool]:
    """The lines that are printed, and whether each of them is false."""
    if not found:
        return {}
    n, mistakes, late = run.n, int(run.wrong.sum()), int((~run.known).sum())
    out = {"classes not met before": found.late != late, "examples": found.examples != n}
    counts = run.counted()
    out["weighted"] = found.weighted != bool(np.abs(counts - 1.0).max() > 1e-9)
    assert not run.clf._model.chain.conduct & AWAITED
    if isinstance(found, theory.LossGuarantee):
        own = (np.minimum(counts, 1.0) * run.log_loss)[run.known]
        out["bound on log loss"] = found.lost > found.loss_bound + EPS
        if not found.calibrated:
            first = own[0] if run.known[0] else 0.0  # as the forecasts have it: OnlineMBBM has votes from the start
            out["log loss"] = own.sum() - first > found.lost * (1.0 + EPS) + EPS  # all rows whose class was known
            if not late and not isinstance(run.clf, OnlineMBBM):
                out["log loss is that of what was predicted"] = not math.isclose(own.sum(), found.lost, rel_tol=1e-6)
        out["bound on mistakes"] = mistakes > found.mistake_bound + EPS
        return out
    if found.vote_bound is not None:
        chance = " (1 - delta)" if found.combiner == "hedge" else ""
        out[f"bound from experts{chance}"] = mistakes > found.vote_bound + EPS
    if found.edge_bound is not None:
        out["bound from edges (1 - delta)"] = mistakes > found.edge_bound + EPS
        out["best expert by edges"] = found.best_expert_mistakes > found.expert_bound + EPS
    if found.adaptive_bound is not None:
        out["bound from gammas"] = found.lost > found.adaptive_bound + EPS
    if found.lost is not None and found.combiner == "last":  # a mistake is a row that is lost
        out["majority of all votes"] = float(counts[run.wrong].sum()) > found.lost * (1.0 + EPS) + EPS
    return out


def runs(n: int, seed: int = 0, told: float = math.inf) -> tuple[Counter[str], Counter[str], list[str]]:
    """How often each line was printed, how often it was false, and what is false that must never be."""
    printed: Counter[str] = Counter()
    false: Counter[str] = Counter()
    errors, last = [], time.perf_counter()
    for at in range(seed, seed + n):
        run = Run(at)
        for line, bad in broken(run, run.play()).items():
            printed[line] += 1
            false[line] += bad
            if bad and "delta" not in line:
                errors.append(f"seed {at}: {line}, {run.clf}, labels {run.labels}, late {run.late}")
        if time.perf_counter() - last > told:
            last = time.perf_counter()
            print(f"{at - seed + 1:,} of {n:,} runs, {len(errors)} errors", flush=True)
    return printed, false, errors


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    printed, false, errors = runs(given.runs, given.seed, told=20.0)
    for line, times in sorted(printed.items()):
        print(f"{line:45} {times:7,} printed, {false[line]:5,} false ({false[line] / times:.2%})")
    for error in errors[:20]:
        print(error)
    too_often = [line for line in printed if "delta" in line and false[line] > DELTA * printed[line]]
    return int(bool(errors or too_often))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    sys.exit(main())
