"""Prediction sets: coverage and size on streams, right after drift, and against adversaries.

    python benchmarks/sets.py                        all streams at hand, and those whose labels change places
    python benchmarks/sets.py --streams nursery,car --order 1
    python benchmarks/sets.py --games 300            adversaries alone: the bound at every row of every game

Each stream is learned by OnlineBoostClassifier, every row after its set was asked for. Beside it, on the same
probabilities: the fixed threshold (the probability that 90 % of the labels of the first half reach: split conformal),
and RAPS (Angelopoulos and others 2021; randomised, lambda .05 from the second label on, its threshold from the first
half too). Coverage and mean size are of the second half, of which neither has learned anything. In the second table the
labels change places at the middle of the stream (label i becomes i + 1; in synthetic-abrupt all clusters move), and the
rows right after it are looked at.
"""

from __future__ import annotations

import click
import numpy as np
from rich.console import Console
from rich.table import Table

from onlineboost import OnlineBoostClassifier, load_dataset, prequential
from onlineboost.chain.sets import LEVELS, Sets, bits_of, find_sets, learn_sets, new_sets
from onlineboost.data.errors import DataError
from onlineboost.theory import coverage_bounds

STREAMS = (
    "balance", "car", "mice", "mushroom", "nursery", "isolet", "movement", "electricity", "covertype", "keystroke",
    "shuttle", "segment", "waveform", "synthetic", "synthetic-gradual",
)  # fmt: skip
CHANGED = (
    "nursery",
    "isolet",
    "movement",
    "electricity",
    "covertype",
    "shuttle",
    "waveform",
    "synthetic",
    "synthetic-abrupt",
)
BLOCK = 1_000  # rows right after the labels have changed places
PENALTY = 0.05  # of RAPS
Run = tuple[np.ndarray, np.ndarray, np.ndarray, float]  # sets, probabilities, codes of the labels, accuracy


def learned(name: str, order: int, rows: int, coverage: float, *, change: bool = False) -> Run | None:
    """A stream, test then train; None: it is not at hand."""
    try:
        data = load_dataset(name)
    except DataError:
        return None
    data = data.shuffled(order) if data.order == "shuffle" else data
    X, y, labels = data.X[:rows], data.y[:rows], list(data.classes)
    codes = np.array([labels.index(label) for label in y.tolist()])
    if change and not name.endswith("abrupt"):  # which changes there by itself
        codes = np.where(np.arange(len(codes)) < len(codes) // 2, codes, (codes + 1) % len(labels))
    run = prequential(OnlineBoostClassifier(random_state=order), X, codes, classes=range(len(labels)), sets=coverage)
    assert run.sets is not None
    assert run.probabilities is not None
    return run.sets, run.probabilities, codes, float(run.accuracy)


# --------------------------------------------------------------------------------------------------- beside it


def fixed_sets(p: np.ndarray, y: np.ndarray, known: int, coverage: float) -> np.ndarray:
    """All labels at least as likely as this share of the labels of the first `known` rows were."""
    own = p[np.arange(known), y[:known]]
    return p >= np.quantile(own, 1.0 - coverage, method="lower")


def raps_scores(p: np.ndarray, u: np.ndarray) -> np.ndarray:
    """RAPS: the mass of likelier labels, u times its own, and a penalty for every label after the first."""
    order = np.argsort(-p, axis=1, kind="stable")
    ranked = np.take_along_axis(p, order, axis=1)
    scores = np.cumsum(ranked, axis=1) - ranked + u[:, None] * ranked + PENALTY * np.arange(p.shape[1])
    out = np.empty_like(scores)
    np.put_along_axis(out, order, scores, axis=1)
    return out


def raps_sets(p: np.ndarray, y: np.ndarray, known: int, coverage: float) -> np.ndarray:
    """The labels whose score is at most what this share of the labels of the first `known` rows had."""
    scores = raps_scores(p, np.random.default_rng(0).random(len(p)))
    return scores <= np.quantile(scores[np.arange(known), y[:known]], coverage, method="higher")


def of_second_half(sets: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Coverage and mean size."""
    half = slice(len(y) // 2, None)
    return float(sets[np.arange(len(y)), y][half].mean()), float(sets[half].sum(axis=1).mean())


# ------------------------------------------------------------------------------------------------- adversaries


def game(seed: int, rows: int) -> float:
    """An adversary with a plan against the thresholds: how near it came to a bound, as a share of it, at any row.

    It knows the set of each row before it chooses the label. Plans change at random: outside of the set, if it can;
    inside; the least likely label; at random. So do weights, and what the probabilities are like.
    """
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 7))
    sets, nearest, at = new_sets(k), 0.0, int(rng.integers(len(LEVELS)))
    above, total, weighted = np.empty((1 + k, sets.mass.shape[1])), np.empty(1 + k), rng.random() < 0.5
    plan, sharp, lost = "random", 1.0, 0.0
    for t in range(1, rows + 1):
        if rng.random() < 0.02:
            plan, sharp = rng.choice(["outside", "inside", "unlikely", "random"]), 10.0 ** rng.uniform(-2, 1)
        p = rng.dirichlet(np.full((1, k), 1.0 / sharp)[0])[None] + 0.0
        X, out = rng.random((1, 2)), np.empty((1, k), np.bool_)
        find_sets(sets, p, X, bits_of(X), seed, t, float(LEVELS[at]), False, above, total, out)
        y, weight = chosen(plan, p[0], out[0], rng), np.array([rng.exponential() if weighted else 1.0])
        lost += min(float(weight[0]), 10.0) * (not out[0, y])
        learn_sets(sets, p, X, bits_of(X), np.array([y]), weight, seed, t, 0.5, above[0], out[:0])
        nearest = max(nearest, nearness(sets))
    promised = (1.0 - float(LEVELS[at])) * float(sets.weight[0])
    if abs(lost - promised - float(sets.excess[0, at])) > 1e-6:
        raise AssertionError(f"game {seed}: {lost} missed, {promised} promised, excess {sets.excess[0, at]}")
    return nearest


def chosen(plan: str, p: np.ndarray, inside: np.ndarray, rng: np.random.Generator) -> int:
    """The label that this plan wants."""
    wanted = {"outside": ~inside, "inside": inside, "unlikely": p == p.min(), "random": np.ones(len(p), bool)}[plan]
    return int(rng.choice(np.flatnonzero(wanted if wanted.any() else ~wanted)))


FAR = 1e6  # rows: bounds on the share that is covered, times this, are bounds on the excess
ROOM = np.array([np.abs(level - np.array(coverage_bounds(level, FAR, 0.0))) * FAR for level in LEVELS.tolist()])


def nearness(sets: Sets) -> float:
    """Of all levels, and of the rows of each class, the largest share of what the bounds leave that was used."""
    W, level = sets.heaviest[:, None], LEVELS[None]
    more, fewer = ROOM[:, 0] + level * W, ROOM[:, 1] + (1.0 - level) * W
    return float(np.maximum(sets.excess / more, -sets.excess / fewer).max())


# ------------------------------------------------------------------------------------------------------ tables


def print_streams(names: tuple[str, ...], order: int, rows: int, coverage: float, console: Console) -> None:
    title = f"coverage and mean size of sets of {coverage:g} over the second half"
    table = Table("stream", "rows", "k", "accuracy", "sets", "empty", "fixed", "RAPS", title=title)
    for name in names:
        if (run := learned(name, order, rows, coverage)) is None:
            table.add_row(name, "not at hand")
            continue
        sets, p, y, accuracy = run
        known = len(y) // 2
        others = (fixed_sets(p, y, known, coverage), raps_sets(p, y, known, coverage))
        cells = [f"{c:.4f} {size:.3f}" for c, size in (of_second_half(one, y) for one in (sets, *others))]
        empty = f"{(sets[known:].sum(axis=1) == 0).mean():.3f}"
        table.add_row(name, f"{len(y):,}", str(p.shape[1]), f"{accuracy:.4f}", cells[0], empty, *cells[1:])
    console.print(table)


def print_changes(names: tuple[str, ...], order: int, rows: int, coverage: float, console: Console) -> None:
    title = f"coverage and mean size in blocks of {BLOCK:,} rows after the labels change places"
    table = Table("stream", "accuracy of the first", "first", "second", "fixed, first", "RAPS, first", title=title)
    for name in names:
        if (run := learned(name, order, rows, coverage, change=True)) is None:
            table.add_row(name, "not at hand")
            continue
        sets, p, y, _ = run
        known = len(y) // 2
        blocks = [slice(known + b * BLOCK, known + (b + 1) * BLOCK) for b in range(2)]
        others = (fixed_sets(p, y, known, coverage), raps_sets(p, y, known, coverage))
        cells = [of_block(sets, y, block) for block in blocks] + [of_block(one, y, blocks[0]) for one in others]
        table.add_row(name, f"{(p.argmax(axis=1) == y)[blocks[0]].mean():.3f}", *cells)
    console.print(table)


def of_block(sets: np.ndarray, y: np.ndarray, block: slice) -> str:
    inside = sets[np.arange(len(y)), y][block]
    return f"{inside.mean():.4f} {sets[block].sum(axis=1).mean():.3f}"


@click.command()
@click.option("--streams", default=",".join(STREAMS), show_default=True)
@click.option("--changed", default=",".join(CHANGED), show_default=True, help="Those whose labels change places.")
@click.option("--order", default=0, show_default=True, help="Seed of the model and of the order of the rows.")
@click.option("--rows", default=60_000, show_default=True, help="Of a stream, at most.")
@click.option("--coverage", default=0.9, show_default=True)
@click.option("--games", default=0, help="How many games to play against adversaries, and nothing else.")
def main(streams: str, changed: str, order: int, rows: int, coverage: float, games: int) -> None:
    console = Console(width=130)
    if games:
        nearest = [game(seed, 2_000) for seed in range(games)]
        over = sum(near > 1.0 + 1e-9 for near in nearest)
        told = f"{games} games of 2,000 rows, {len(LEVELS)} levels: bounds exceeded {over} times"
        console.print(f"{told}, nearest {max(nearest):.4f}", highlight=False)
        return
    print_streams(tuple(filter(None, streams.split(","))), order, rows, coverage, console)
    print_changes(tuple(filter(None, changed.split(","))), order, rows, coverage, console)


if __name__ == "__main__":
    main()
