"""gamma="adaptive" in games against adversaries: is the identity exact, and is the bound ever exceeded? And on data.

    python benchmarks/adaptive.py --games 1000
    python benchmarks/adaptive.py --data --json adaptive.json          accuracy and time beside others
    python benchmarks/adaptive.py --data --sets balance,car --rows 500 --learners 10 --orders 20,21

Learners are of five kinds: with edges of their own; good, and then never right; never right; greedy, which know label
and costs and spend at once all that an edge of their own allows; greedy ones that may spend more than that in every
period. theory/PROOFS.md has the theorem, benchmarks/results/adaptive.md what this prints.

With --data every row is predicted, then learned. Sets without an order of their own are shuffled; of streams in time an
order is a stretch that begins at a random row, or the whole stream, once, if it is not longer than that.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from onlineboost import AdaBoostOLM, OnlineMBBM, load_dataset, prequential
from onlineboost.boosters.mbbm import ledger
from onlineboost.chain.gammas import rounds_to_review
from onlineboost.evaluation import warm_up
from onlineboost.theory import draw_labels, draw_votes, greedy_votes
from onlineboost.theory.simulate import Simulation

KINDS = "edges", "turning", "never right", "greedy", "greedy with slack"
PAPER = "balance", "mice", "car", "nursery", "mushroom", "movement", "isolet"
STREAMS = "segment", "waveform", "shuttle", "electricity", "covertype", "keystroke"
FEWER = {"isolet": 2000}  # rows of sets that take long
MODELS: dict[str, Callable[[int], Any]] = {
    "adaptive": partial(OnlineMBBM, gamma="adaptive"),
    "auto": partial(OnlineMBBM, gamma="auto"),
    ".1": partial(OnlineMBBM, gamma=0.1),
    ".3": partial(OnlineMBBM, gamma=0.3),
    "pairwise": partial(OnlineMBBM, loss="pairwise"),
    "AdaBoostOLM": AdaBoostOLM,
}


def votes_of(kind: str, booster: Simulation, y: np.ndarray, edges: np.ndarray, turned: bool, seed: int) -> np.ndarray:
    """What the learners of one kind vote for in the rounds up to the next review."""
    if kind == "never right" or (kind == "turning" and turned):
        return np.repeat((y[:, None] + 1) % booster.k, len(edges), axis=1)
    if kind.startswith("greedy"):
        return greedy_votes(y, booster.state.tables, edges, 1.0 if kind == "greedy with slack" else 0.0)
    return draw_votes(y, booster.k, len(edges), edges, seed=seed)


def game(number: int) -> dict[str, float]:
    """A game: what was lost, by how much the identity is off, and how much of the bound that is."""
    rng = np.random.default_rng(number)
    k, n, T = int(rng.integers(2, 6)), int(rng.integers(5, 61)), int(rng.integers(500, 4000))
    kind, edges = KINDS[number % len(KINDS)], rng.uniform(0.0, rng.choice([0.1, 0.4, 0.9]), n)
    booster, y, lost, wrong, share = (
        Simulation("online-mbbm", k, n, gamma="adaptive"),
        draw_labels(T, k, number),
        0,
        0.0,
        0.0,
    )
    while booster.t < T:
        part = slice(booster.t, booster.t + rounds_to_review(booster.t))
        votes = votes_of(kind, booster, y[part], edges, booster.t > T // 2, seed=number + booster.t)
        lost += int(booster.play(votes, y[part]).lost.sum())
        found = ledger([booster.state])
        wrong = max(wrong, abs(found.promised + found.excess - lost))
        share = max(share, lost / found.bound)
    moved = len(np.unique(booster.state.steps[:, 0]))
    return {"lost": lost, "rounds": T, "wrong": wrong, "share": share, "steps": moved, "below": found.bound < T}


def on_data(name: str, learners: int, rows: int, orders: list[int]) -> list[dict[str, Any]]:
    """A record for each order and model: accuracy over all rows, over the last 20 %, and processor seconds."""
    data, rows, found = load_dataset(name), min(rows, FEWER.get(name, rows)), []
    in_time = data.order == "time"
    for order in orders[:1] if in_time and len(data) <= rows else orders:
        own = data if in_time else data.shuffled(order)
        first = int(np.random.default_rng(order).integers(0, max(1, len(data) - rows + 1))) if in_time else 0
        X, y = own.X[first : first + rows], own.y[first : first + rows]
        for model, make in MODELS.items():
            start = time.process_time()
            result = prequential(make(learners), X, y, classes=list(data.classes), proba=False)
            seconds = time.process_time() - start
            measured = {"all": result.accuracy, "last": result.tail_accuracy(), "seconds": seconds}
            found.append({"set": name, "order": order, "model": model, "rows": len(y), **measured})
        click.echo(f"{name}, order {order}: {sum(one['seconds'] for one in found[-len(MODELS) :]):.1f} s", err=True)
    return found


def with_error(values: np.ndarray, digits: int = 3) -> str:
    """Mean, and its standard error if there are two values or more."""
    mean = f"{values.mean():.{digits}f}"
    return mean if len(values) < 2 else f"{mean} ± {values.std(ddof=1) / len(values) ** 0.5:.{digits}f}"


def data_table(found: list[dict[str, Any]], key: str) -> list[str]:
    """Lines of a table: a row for each set, the mean of all sets, and the difference from "auto" in points."""
    sets, orders = list(dict.fromkeys(one["set"] for one in found)), sorted({one["order"] for one in found})
    runs = {(one["set"], one["model"], one["order"]): one for one in found}
    lines = ["| rows | " + " | ".join(MODELS) + " | seconds, adaptive / auto |", "|---" * (len(MODELS) + 2) + "|"]

    def values(name: str, model: str, what: str) -> np.ndarray:
        return np.array([runs[name, model, order][what] for order in orders if (name, model, order) in runs])

    for name in sets:
        cells = [with_error(values(name, model, key)) for model in MODELS]
        times = " / ".join(f"{values(name, model, 'seconds').mean():.1f}" for model in ("adaptive", "auto"))
        rows = next(one["rows"] for one in found if one["set"] == name)
        lines.append(f"| {name}, {rows:,} | " + " | ".join(cells) + f" | {times} |")
    # (sets, orders) of each model; what was run once stands in every order
    grid = {m: np.array([np.resize(values(name, m, key), len(orders)) for name in sets]) for m in MODELS}
    lines.append("| mean | " + " | ".join(with_error(grid[m].mean(axis=0), 4) for m in MODELS) + " | |")
    less = {m: 100.0 * (grid[m] - grid["auto"]) for m in MODELS}
    for title, axis in (("orders", 0), ("sets", 1)):
        cells = ["" if m == "auto" else with_error(less[m].mean(axis=axis), 2) for m in MODELS]
        lines.append(f"| points above auto, error over {title} | " + " | ".join(cells) + " | |")
    return lines


def measure(sets: list[str], learners: int, rows: int, orders: list[int], path: Path | None) -> None:
    for make in MODELS.values():
        warm_up(make(2))
    found: list[dict[str, Any]] = []
    for name in sets:
        found += on_data(name, learners, rows, orders)
        if path is not None:
            path.write_text(json.dumps({"learners": learners, "orders": orders, "runs": found}, indent=1) + "\n")
    for key, title in (("all", "all rows"), ("last", "the last 20 %")):
        click.echo("\n".join([f"Accuracy over {title}, {learners} learners", "", *data_table(found, key), ""]))


def play(n_games: int) -> None:
    games = [game(number) for number in range(n_games)]
    rounds, most = sum(one["rounds"] for one in games), max(one["lost"] for one in games)
    click.echo(f"{len(games)} games, {rounds:,.0f} rounds")
    click.echo(
        f"largest error of the identity: {max(one['wrong'] for one in games):.1e}, where up to {most:,} are lost"
    )
    click.echo(f"games in which the bound is exceeded: {sum(one['share'] > 1.0 + 1e-9 for one in games)}")
    for at, kind in enumerate(KINDS):
        own = games[at :: len(KINDS)]
        share, steps = np.median([one["share"] for one in own]), np.mean([one["steps"] for one in own])
        click.echo(
            f"{kind:20} lost / bound: median {share:.2f}, largest {max(one['share'] for one in own):.2f}; different "
            f"gammas in the end {steps:.1f}; bound below T in {sum(one['below'] for one in own)} of {len(own)}"
        )


@click.command()
@click.option("--games", "n_games", default=100, help="Number of games.")
@click.option("--data", "data", is_flag=True, help="Accuracy and time on data sets in place of games.")
@click.option("--sets", default=",".join((*PAPER, *STREAMS)), show_default=True)
@click.option("--learners", default=100, show_default=True, type=click.IntRange(1))
@click.option("--rows", default=5000, show_default=True, type=click.IntRange(5), help="Rows of a set; isolet 2,000.")
@click.option("--orders", default="20,21,22", show_default=True)
@click.option("--json", "path", type=click.Path(path_type=Path), help="A file for all runs.")
def main(n_games: int, data: bool, sets: str, learners: int, rows: int, orders: str, path: Path | None) -> None:
    """Play games, or measure on data sets."""
    if data:
        measure(sets.split(","), learners, rows, [int(order) for order in orders.split(",")], path)
    else:
        play(n_games)


if __name__ == "__main__":
    main()
