"""gamma="adaptive" in games against adversaries: is the identity exact, and is the bound ever exceeded?

    python benchmarks/adaptive.py --games 1000

Learners are of five kinds: with edges of their own; good, and then never right; never right; greedy, which know label
and costs and spend at once all that an edge of their own allows; greedy ones that may spend more than that in every
period. docs/adaptive.md has the theorem, and what this prints.
"""

from __future__ import annotations

import click
import numpy as np

from onlineboost.boosters.mbbm import ledger
from onlineboost.chain.gammas import rounds_to_review
from onlineboost.theory import draw_labels, draw_votes, greedy_votes
from onlineboost.theory.simulate import Simulation

KINDS = "edges", "turning", "never right", "greedy", "greedy with slack"


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


@click.command()
@click.option("--games", "n_games", default=100, help="Number of games.")
def main(n_games: int) -> None:
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


if __name__ == "__main__":
    main()
