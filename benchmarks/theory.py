"""The theorems against the boosters, in full.

    python benchmarks/theory.py
    python benchmarks/theory.py --edge 0.1 --classes 2,10 --learners 50

Tables: boosters on simulated learners with an edge, beside phi_N(0) and the bounds; the same against the adversary of
the lower bound; Adaboost.OLM on a stream so long that its bound says something; the regret of the alphas.
"""

import math
import time

import click
import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from onlineboost import theory
from onlineboost.boosters.losses import LOSSES
from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.theory.simulate import Simulation, alpha_regrets, draw_labels, draw_votes

console, err = Console(width=130), Console(stderr=True)
DELTA = 0.05
BOOSTERS = ("online-mbbm", "adaboost-olm", "oza")
Sizes = list[tuple[int, int]]  # classes, learners


def table_of(title: str, *headings: str) -> Table:
    table = Table(title=title)
    for heading in headings:
        table.add_column(heading, justify="right")
    return table


def theorem_bound(k: int, n: int, edge: float, T: int) -> float:
    """The least bound of Theorem 1 for learners of this edge, over the gamma < edge that OnlineMBBM may be told."""
    gammas = edge * np.linspace(0.5, 0.98, 25)
    return min(theory.mbbm_bound(k, n, g, T, theory.excess_of_votes(edge, g, DELTA / n)) for g in gammas)


def with_an_edge(T: int, edge: float, sizes: Sizes) -> None:
    table = table_of(
        f"Mistakes in {T:,} examples, learners of edge {edge}",
        *("k", "N", "best learner", "phi_N(0) T", "± sd", "MBBM, ties lost", "off by sd", "Theorem 1", "MBBM"),
        *("OLM", "best expert", "Hedge bound"),
    )
    off = []
    for k, n in track(sizes, "learners with an edge", console=err):
        y = draw_labels(T, k, seed=n)
        votes = draw_votes(y, k, n, edge, seed=n)
        mbbm, olm = Simulation("online-mbbm", k, n, gamma=edge), Simulation("adaboost-olm", k, n)
        majority, adaptive = mbbm.play(votes, y), olm.play(votes, y)
        phi = asymptotic_error(k, n, edge)
        sd = math.sqrt(phi * (1 - phi) * T)
        lost, best = int(majority.lost.sum()), int(adaptive.expert_mistakes.min())
        assert abs(phi * T + ((edge - mbbm.edges) * mbbm.weights).sum() / k - lost) < 1e-6, "the identity fails"
        bound, hedge = theorem_bound(k, n, edge, T), theory.hedge_bound(best, n, T, DELTA)
        assert lost <= bound
        assert adaptive.mistakes <= min(hedge, theory.olm_bound("logistic", olm.edges, k, T, olm.weights, DELTA))
        if sd > 2.0:
            off.append((lost - phi * T) / sd)
        single = (votes != y[:, None]).sum(axis=0).min()
        cells = (k, n, single, f"{phi * T:.1f}", f"{sd:.1f}", lost, f"{(lost - phi * T) / max(sd, 1.0):+.1f}")
        table.add_row(*map(str, (*cells, round(bound), majority.mistakes, adaptive.mistakes, best, round(hedge))))
    console.print(table)
    if off:
        rms = np.sqrt(np.mean(np.square(off)))
        console.print(f"phi_N(0): root mean square of {len(off)} deviations {rms:.2f} sd\n")


def adversary(T: int, edge: float, sizes: Sizes) -> None:
    table = table_of(
        f"Mistakes in {T:,} examples against the adversary: votes from u_{edge}",
        *("k", "N", "no booster is below", "± sd", "MBBM", "OLM", "Oza"),
    )
    for k, n in track(sizes, "adversary", console=err):
        y = draw_labels(T, k, seed=1000 + n)
        votes = draw_votes(y, k, n, edge, seed=1000 + n)
        least = theory.least_error(k, n, edge)
        sd = math.sqrt(least * (1 - least) * T)
        made = [Simulation(name, k, n, gamma=edge / 2).play(votes, y).mistakes for name in BOOSTERS]
        assert min(made) >= least * T - 4 * sd - 1
        assert made[0] == min(made), "OnlineMBBM is not the closest"
        table.add_row(*map(str, (k, n, f"{least * T:.1f}", f"{sd:.1f}", *made)))
    console.print(table)


def long_stream(longest: int) -> None:
    title = "Adaboost.OLM where its bound says something (k = 2, N = 200)"
    table = table_of(title, "edge", "T", "mistakes", "bound", "bound / T")
    lengths = [(edge, T) for edge in (0.5, 0.8) for T in (longest // 4, longest)]
    for edge, T in track(lengths, "long streams", console=err):
        y = draw_labels(T, 2)
        booster = Simulation("adaboost-olm", 2, 200)
        mistakes = sum(
            booster.play(draw_votes(part, 2, 200, edge, seed=s), part).mistakes
            for s, part in enumerate(np.array_split(y, 20))
        )
        bound = theory.olm_bound("logistic", booster.edges, 2, T, booster.weights, DELTA)
        assert mistakes <= bound
        table.add_row(str(edge), f"{T:,}", f"{mistakes:,}", f"{bound:,.0f}", f"{bound / T:.2f}")
    console.print(table)


def regrets() -> None:
    table = table_of("Largest regret of an alpha, as a share of its bound", "loss", "k", "N", "T", "edge", "share")
    for loss in track(list(LOSSES), "regrets", console=err):
        for k, n, T, edge in ((2, 5, 2000, 0.1), (2, 20, 2000, 0.5), (5, 20, 2000, 0.3), (10, 20, 2000, 0.3)):
            y = draw_labels(T, k)
            votes = draw_votes(y, k, n, edge, useless=T // 2)
            run = Simulation("adaboost-olm", k, n, loss=loss).play(votes, y, trace=True)
            share = (alpha_regrets(loss, votes, run) / theory.regret_bounds(loss, k, n, T)).max()
            assert share <= 1.0
            table.add_row(loss, str(k), str(n), f"{T:,}", str(edge), f"{share:.4f}")
    console.print(table)


def numbers(_: click.Context, __: click.Parameter, text: str) -> list[int]:
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a list of whole numbers such as 2,5") from None


@click.command()
@click.option("--examples", default=4000, show_default=True, type=click.IntRange(100))
@click.option("--edge", default=0.2, show_default=True, type=click.FloatRange(0.01, 0.9))
@click.option("--classes", default="2,3,5,10", show_default=True, callback=numbers)
@click.option("--learners", default="10,50,100,200", show_default=True, callback=numbers)
@click.option("--longest", default=400_000, show_default=True, type=click.IntRange(1000), help="Of the long streams.")
def main(examples: int, edge: float, classes: list[int], learners: list[int], longest: int) -> None:
    """Simulate, and check every bound on the way."""
    start = time.perf_counter()
    sizes = [(k, n) for k in classes for n in learners]
    with_an_edge(examples, edge, sizes)
    adversary(examples, edge, sizes)
    long_stream(longest)
    regrets()
    console.print(f"All bounds hold. {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
