"""Learning from actions of which only the outcome is known, beside learning from labels, and Vowpal Wabbit.

    python benchmarks/bandit.py --streams balance,nursery --models boost,olm
    python benchmarks/bandit.py --vw .bench/vw/bin/python      # `make .bench/vw/installed` makes it
    python benchmarks/bandit.py --ways --streams balance,car,segment,movement --orders 20,21,22,23

Every system has the same rows in the same order. Its exploration is the one of RHOS with the most right actions over
the first fifth of the rows. Figures are shares of right rows: of what is predicted over the last 20 % and over all, and
of the actions over all. "full" learns from labels, "bandit" from outcomes, "unbiased" from outcomes and probabilities;
"auto" is "bandit" with the exploration that `act_one` chooses by itself.
VW is `--cb_explore` (MTR), with and without pairs of columns, which are chosen by the first fifth as well.
"BanditBoost" is Chen, Lin and Lu (2014) as their paper describes it: for each class a smooth booster of binary trees.

With --ways, how outcomes may be turned into rows for OnlineBoostClassifier, all by the exploration that falls: how the
one in `chain/acting.py` was chosen. Figures are means over the orders.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import click
import numpy as np

from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, OnlineMBBM, load_dataset, prequential
from onlineboost.chain.acting import rho_of
from onlineboost.data.errors import DataError
from onlineboost.evaluation import BanditFeedback

STREAMS = ("balance", "car", "mice", "nursery", "segment", "waveform", "electricity", "covertype", "synthetic-gradual")
MODELS = {"boost": OnlineBoostClassifier, "olm": AdaBoostOLM, "mbbm": OnlineMBBM}
RHOS = (0.02, 0.05, 0.1)
Figures = tuple[float, float, float]  # predicted right over the last 20 %, over all; actions right over all
Rho = float | str
Run = Callable[[Rho, int], Figures]  # exploration, rows


def of_right(right: np.ndarray, acted: float) -> Figures:
    return float(right[-(len(right) // 5) :].mean()), float(right.mean()), acted


def best(run: Run, rows: int, rhos: tuple[Rho, ...] = RHOS) -> tuple[Figures, Rho]:
    """The figures with the exploration that was best over the first fifth, and that exploration."""
    rho = max(rhos, key=lambda one: run(one, rows // 5)[2])
    return run(rho, rows), rho


def ours(model: str, data: tuple, unbiased: bool, seed: int) -> Run:
    X, y, classes = data

    def run(rho: Rho, rows: int) -> Figures:
        told = BanditFeedback(MODELS[model](random_state=seed), rho, unbiased)
        right = prequential(told, X[:rows], y[:rows], classes=classes, proba=False).right
        return of_right(right, told.accuracy)

    return run


def vw(python: str, data: tuple, pairs: bool, seed: int) -> Run:
    """The same by Vowpal Wabbit, in an environment of its own: numbers as they are, values of columns as features."""
    X, y, classes = data
    codes = {label: code for code, label in enumerate(classes)}
    lines = []
    for label, *row in zip(y.tolist(), *(column.tolist() for column in X.columns), strict=True):
        words = [
            f"{c}:{value:.9g}" if isinstance(value, float | int) else f"{c}={str(value).replace(' ', '_')}"
            for c, value in enumerate(row)
            if value is not None and value == value
        ]
        lines.append(f"{codes[label]}\t{' '.join(words).replace('|', '_')}")

    def run(rho: Rho, rows: int) -> Figures:
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("\n".join(lines[:rows]))
            file.flush()
            script = Path(__file__).with_name("bandit_vw.py")
            asked = [python, script, file.name, str(len(classes)), str(rho), str(int(pairs)), str(seed)]
            done = subprocess.run(asked, capture_output=True, text=True, check=True, timeout=3000)
        right = np.array([[int(mark) for mark in line.split()] for line in done.stdout.split("\n") if line], bool)
        return of_right(right[:, 0], float(right[:, 1].mean()))

    return run


class BanditBoost:
    """K x N binary trees; w = min(1, (1 - gamma)^(z / 2)), z <- z + y h - theta along each booster (smooth boosting).

    The action tells whether the row is of its class, with weight w / p. A right one tells the same of all classes.
    """

    def __init__(self, k: int, seed: int, n: int = 10, gamma: float = 0.1) -> None:
        self.trees = [[HoeffdingTree(random_state=seed + 100 * c + i) for i in range(n)] for c in range(k)]
        self.gamma, self.theta = gamma, gamma / (2.0 + gamma)
        self.rng = np.random.default_rng(seed)

    def act(self, x: list, rho: float) -> tuple[int, int, float]:
        """The class predicted, the action, and its probability."""
        k = len(self.trees)
        self.votes = [[1 if tree.predict_one(x) else -1 for tree in trees] for trees in self.trees]
        said = int(np.argmax([sum(votes) for votes in self.votes]))
        action = int(self.rng.integers(k)) if self.rng.random() < rho else said
        return said, action, rho / k + (1.0 - rho) * (action == said)

    def learn(self, x: list, action: int, right: bool, p: float) -> None:
        for c in range(len(self.trees)) if right else [action]:
            y, z = 1 if right and c == action else -1, 0.0
            for tree, h in zip(self.trees[c], self.votes[c], strict=True):
                tree.learn_one(x, y > 0, min(1.0, (1.0 - self.gamma) ** (z / 2.0)) / p)
                z += y * h - self.theta


def bandit_boost(data: tuple, seed: int) -> Run:
    X, y, classes = data
    codes = {label: code for code, label in enumerate(classes)}
    rows = [*zip(*(column.tolist() for column in X.columns), strict=True)]

    def run(rho: Rho, n: int) -> Figures:
        model, right, acted = BanditBoost(len(classes), seed), [], 0
        for x, label in zip(map(list, rows[:n]), y[:n].tolist(), strict=True):
            said, action, p = model.act(x, rho)
            model.learn(x, action, action == codes[label], p)
            right.append(said == codes[label])
            acted += action == codes[label]
        return of_right(np.array(right), acted / n)

    return run


# An outcome as a row to learn: the code of a label, and its weight; by the action, whether it was right, its
# probability, what the model says of the row, and a generator of random numbers.
Way = Callable[[int, bool, float, np.ndarray, np.random.Generator], tuple[int, float]]


def not_this(action: int, right: bool, p: float, said: np.ndarray, rng: np.random.Generator) -> tuple[int, float]:
    """One of the others, drawn, with weight 1 / (k - 1): what `chain/acting.py` does."""
    other = int(rng.integers(len(said) - 1))
    return (action, 1.0) if right else (other + (other >= action), 1.0 / (len(said) - 1.0))


def not_this_heavy(action: int, right: bool, p: float, said: np.ndarray, rng: np.random.Generator) -> tuple[int, float]:
    """The same with weight 1."""
    return not_this(action, right, p, said, rng)[0], 1.0


def likely(action: int, right: bool, p: float, said: np.ndarray, rng: np.random.Generator) -> tuple[int, float]:
    """One of the others, drawn as likely as the model says."""
    others = np.where(np.arange(len(said)) == action, 0.0, said + 1e-9)
    return (action, 1.0) if right else (int(rng.choice(len(said), p=others / others.sum())), 1.0)


def weighted(action: int, right: bool, p: float, said: np.ndarray, rng: np.random.Generator) -> tuple[int, float]:
    """Importance weights: unbiased."""
    return action, right / p


def right_alone(action: int, right: bool, p: float, said: np.ndarray, rng: np.random.Generator) -> tuple[int, float]:
    """Wrong actions teach nothing."""
    return action, float(right)


WAYS: dict[str, Way] = {
    "negative evidence": not_this,
    "the same, weight 1": not_this_heavy,
    "likely others": likely,
    "importance weights": weighted,
    "right ones alone": right_alone,
}


def by_way(way: Way, data: tuple, order: int) -> Figures:
    """What it reaches."""
    X, y, classes = data
    k, rng, model = len(classes), np.random.default_rng(order), OnlineBoostClassifier(random_state=order)
    model.partial_fit(X[:1], y[:1], classes=classes)
    labels, right, acted = model.classes_.tolist(), [], 0
    rows = zip(*(column.tolist() for column in X[1:].columns), y[1:].tolist(), strict=True)
    for t, (*x, label) in enumerate(rows, start=2):
        said = np.array([*model.predict_proba_one(x).values()])
        rho = rho_of("auto", k, t)
        action = int(rng.integers(k)) if rng.random() < rho else int(said.argmax())
        hit, p = labels[action] == label, rho / k + (1.0 - rho) * (action == said.argmax())
        code, weight = way(action, hit, p, said, rng)
        right.append(labels[int(said.argmax())] == label)
        acted += hit
        if weight:
            model.learn_one(x, labels[code], weight)
    return of_right(np.array(right), acted / len(right))


def report(stream: str, rows: int, k: int, system: str, figures: Figures, rho: Rho | None, out: Path | None) -> None:
    tail, whole, acted = figures
    line = {"stream": stream, "rows": rows, "classes": k, "system": system, "tail": tail, "all": whole}
    line |= {"actions": acted, "exploration": rho}
    click.echo(f"{stream:18s} {rows:6,} {k:2d} {system:18s} {tail:.4f} {whole:.4f} {acted:.4f} {rho or ''}")
    if out is not None:
        with out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")


@click.command()
@click.option("--streams", default=",".join(STREAMS), show_default=True)
@click.option("--models", default="boost,olm,mbbm", show_default=True)
@click.option("--rows", default=20_000, show_default=True, help="Of a stream, at most.")
@click.option("--orders", default="5", show_default=True, help="Seeds of the orders of the rows, and of the models.")
@click.option("--boost", is_flag=True, help="BanditBoost, too: slow.")
@click.option("--ways", is_flag=True, help="Ways to learn outcomes, and nothing else.")
@click.option("--vw", "python", help="A Python with vowpalwabbit.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Add the figures to this file, as JSON.")
def main(
    streams: str, models: str, rows: int, orders: str, boost: bool, ways: bool, python: str | None, out: Path | None
) -> None:
    click.echo(f"{'stream':18s} {'rows':>6s}  k {'system':18s} last20 all    actions exploration")
    for name in streams.split(","):
        try:
            data = load_dataset(name)
        except DataError:
            click.echo(f"{name}: not at hand")
            continue
        cuts = []
        for order in map(int, orders.split(",")):
            own = data.shuffled(order) if data.order == "shuffle" else data
            cuts.append((order, (own.X[:rows], own.y[:rows], own.classes)))
        n, k = len(cuts[0][1][1]), len(data.classes)
        if ways:
            for way, learn in WAYS.items():
                figures = np.mean([by_way(learn, cut, order) for order, cut in cuts], axis=0)
                report(name, n, k, way, tuple(figures), None, out)
            continue
        for order, cut in cuts:
            for system, run in systems(models, cut, order, boost, python).items():
                if run is None:
                    right = prequential(
                        MODELS[system.split()[0]](random_state=order), *cut[:2], classes=cut[2], proba=False
                    )
                    report(name, n, k, system, of_right(right.right, right.accuracy), None, out)
                    continue
                found, rho = best(run, n, ("auto",) if system.endswith("auto") else RHOS)
                report(name, n, k, system, found, rho, out)


def systems(models: str, cut: tuple, order: int, boost: bool, python: str | None) -> dict[str, Run | None]:
    """Runs by the name of the system; None: learned from labels."""
    found: dict[str, Run | None] = {}
    for model in filter(None, models.split(",")):
        found[f"{model} full"] = None
        found[f"{model} bandit"] = ours(model, cut, False, order)
        found[f"{model} unbiased"] = ours(model, cut, True, order)
        found[f"{model} auto"] = ours(model, cut, False, order)
    if boost:
        found["BanditBoost"] = bandit_boost(cut, order)
    if python:
        runs = [vw(python, cut, pairs, order) for pairs in (False, True)]
        n = len(cut[1])
        found["vw cb"] = max(runs, key=lambda one: max(one(rho, n // 5)[2] for rho in RHOS))
    return found


if __name__ == "__main__":
    main()
