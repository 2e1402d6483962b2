"""How far is OnlineMBBM from what no booster can beat: in learners, and in examples?

    python benchmarks/optimality.py
    python benchmarks/optimality.py --classes 2,10 --gammas 0.05 --error 0.01

Two tables in Markdown, as benchmarks/results/optimality.md has them. "Before" are the bounds from below of votes with
edge 2 gamma, the paper's. S_2 is the excess loss of such votes, of all learners at once but with probability delta.
"""

import math
from collections.abc import Callable

import click

from onlineboost import theory
from onlineboost.theory.planning import first_where

DELTA = 0.05
MORE = (1.1, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0)  # times the learners needed


def show(headings: str, rows: list[tuple[str, ...]]) -> None:
    click.echo(f"| {headings} |\n|{'---|' * (headings.count('|') + 1)}")
    for row in rows:
        click.echo(f"| {' | '.join(row)} |")
    click.echo()


def excess_for_a_ratio(k: int, gamma: float, error: float, enough: int, delta: float, ratio: float = 2.0) -> float:
    """The least S from which on the learners that OnlineMBBM needs are at most `ratio` times those that all need."""

    def good(tenths: int) -> bool:
        return ratio * theory.least_learners(k, gamma, error, tenths / 10.0, delta) >= enough

    return first_where(good, 0, 10_000_000) / 10.0


def learners_row(k: int, gamma: float, error: float) -> tuple[str, ...]:
    enough, least = theory.mbbm_learners(k, gamma, error), theory.least_learners(k, gamma, error)
    before, each = theory.least_learners(k, 2.0 * gamma, error), DELTA / enough
    S = theory.excess_of_votes(2.0 * gamma, gamma, each, k)
    cells = [str(k), f"{gamma:g}", f"{enough:,}", f"{before:,} ({enough / before:.2f})", f"{S:.1f}"]
    for times in (3, 10):
        now = theory.least_learners(k, gamma, error, times * S, each)
        cells.append(f"{now:,} ({enough / now:.2f})")
    cells += [f"{least:,} ({enough / least:.2f})", f"{excess_for_a_ratio(k, gamma, error, enough, each):,.1f}"]
    return tuple(cells)


def examples_row(k: int, gamma: float, error: float) -> tuple[str, ...]:
    enough = theory.mbbm_learners(k, gamma, error)
    each = DELTA / (MORE[-1] * enough)
    S = theory.excess_of_votes(2.0 * gamma, gamma, each, k)
    tried = [math.ceil(enough * more) for more in MORE]
    n = min(tried, key=lambda n: theory.mbbm_examples(k, n, gamma, error, S))
    cells = [str(k), f"{gamma:g}", f"{n:,}", f"{theory.weight_sum(k, n, gamma):,.0f}", f"{S:.1f}"]
    for loss in (S, 10 * S, 1000 * S):
        upper, lower = (
            theory.mbbm_examples(k, n, gamma, error, loss),
            theory.least_examples(k, gamma, error, loss, each),
        )
        cells.append(f"{upper:.2g} / {lower:.2g} = {upper / lower:.1f}")
    return tuple(cells)


def numbers(kind: Callable[[str], float]) -> Callable[[click.Context, click.Parameter, str], list[float]]:
    def parse(_: click.Context, __: click.Parameter, text: str) -> list[float]:
        try:
            return [kind(part) for part in text.split(",")]
        except ValueError:
            raise click.BadParameter(f"{text!r} is not a list of numbers such as 2,5") from None

    return parse


@click.command()
@click.option("--classes", default="2,5,26,100", show_default=True, callback=numbers(int))
@click.option("--gammas", default="0.02,0.1,0.2", show_default=True, callback=numbers(float))
@click.option("--error", default=0.05, show_default=True, type=click.FloatRange(1e-6, 0.5))
def main(classes: list[int], gammas: list[float], error: float) -> None:
    """Print the two tables."""
    plans = [(k, gamma) for k in classes for gamma in gammas]
    headings = (
        "k | gamma | OnlineMBBM | before | S_2 | S = 3 S_2 | S = 10 S_2 | in the long run, any S | ratio 2 from S ="
    )
    show(headings, [learners_row(k, gamma, error) for k, gamma in plans])
    headings = "k | gamma | N | sum of weights | S_2 | S = S_2 | S = 10 S_2 | S = 1000 S_2"
    show(headings, [examples_row(k, gamma, error) for k, gamma in plans])


if __name__ == "__main__":
    main()
