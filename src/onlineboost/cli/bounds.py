"""onlineboost bounds and onlineboost potential: what the theorems say, in tables and curves."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from onlineboost.cli.main import check_writable, err, finite, number, text_table, visible

MOST_CLASSES = 10_000
WIDTH, HEIGHT = 64, 13  # of the curve, in characters
MORE = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)  # times as many learners as are needed: then fewer examples will do
SOON, IN_THE_LONG_RUN, MBBM = "any, at any time", "any, in the long run", "OnlineMBBM"
PLAIN = str.maketrans("·○●┄┤│└─", ".ox-+|+-")  # for terminals with few characters


def _few(context: click.Context, option: click.Parameter, value: int) -> int:
    if value > MOST_CLASSES:
        raise click.BadParameter(
            f"at most {MOST_CLASSES:,}, since the time grows with it; learners grow with its logarithm. In Python, "
            f"theory.chernoff_learners({value}, gamma, error) is enough of them for any number"
        )
    return value


@click.command()
@click.option("--classes", required=True, type=click.IntRange(2), callback=_few, help="k, the number of classes.")
@click.option(
    "--gamma", required=True, type=float, callback=finite, help="Edge of the learners over random guessing, in (0, 1)."
)
@click.option("--error", required=True, type=float, callback=finite, help="Error rate to reach, in (0, 1).")
@click.option(
    "--excess",
    type=click.FloatRange(0.0),
    callback=finite,
    help="Excess loss S of the learners [default: that of random votes with twice the edge].",
)
@click.option("--delta", default=0.05, show_default=True, callback=finite, help="Probability that the bounds fail.")
@click.option("--out", help="Draw the curve to OUT.png and OUT.html instead of in characters.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def bounds(
    classes: int, gamma: float, error: float, excess: float | None, delta: float, out: str, as_json: bool
) -> None:
    """How many weak learners and examples does an error rate take?

    \b
    onlineboost bounds --classes 5 --gamma 0.1 --error 0.05
    """
    if out:
        check_writable(Path(f"{out}.png"), "--out")
    with err.status("computing the bounds ..."):
        found = plan(classes, gamma, error, excess, delta)
        most = 2 * next(row["learners"] for row in found["learners"] if row["booster"] == MBBM)
        rows = [] if as_json and not out else curves(classes, gamma, most, 160 if out else WIDTH)
    if as_json:
        click.echo(json.dumps(found, indent=2))
    else:
        _print(found)
    if out:
        from onlineboost.report.charts import draw_bounds

        for path in draw_bounds(rows, error, classes, gamma, out):
            click.echo(f"wrote {visible(str(path))}", err=as_json)
    elif not as_json:
        console, plot = Console(), text_plot(rows, error)
        console.print(plot if console.encoding.startswith("utf") else plot.translate(PLAIN), highlight=False)


def _whole(number: float | None) -> str:
    return "never" if number is None else f"{number:,.0f}"


def _print(found: dict[str, Any]) -> None:
    console = Console()
    aim = f"{found['classes']} classes, edge {found['gamma']:g}, error {found['error']:g}"
    headings = ("bound", "booster", "learners", "error", "from")
    caption = "lower: no booster does with fewer; upper: this many are enough"
    table = text_table(headings, ("bound", "booster", "from"), title=f"Learners: {aim}", caption=caption)
    for row, after in zip(found["learners"], [*found["learners"][1:], None], strict=True):
        style = "bold green" if row["booster"] == MBBM else ""
        figures = row["bound"], row["booster"], f"{row['learners']:,}", f"{row['error']:.3g}", row["from"]
        table.add_row(*figures, style=style, end_section=after is not None and after["bound"] != row["bound"])
    console.print(table)
    title = f"Examples for OnlineMBBM: excess loss S = {found['excess_loss']:.4g}"
    table = text_table(("learners", "phi_N(0)", "sum of weights", "examples"), title=title)
    best = min((row["examples"] for row in found["examples"] if row["examples"] is not None), default=None)
    for row in found["examples"]:
        cells = (f"{row['learners']:,}", f"{row['error']:.3g}", f"{row['weights']:,.0f}", _whole(row["examples"]))
        table.add_row(*cells, style="bold green" if best is not None and row["examples"] == best else "")
    console.print(table)
    if found["least_examples"]:
        text = f"With some such learners no booster gets there in fewer than {found['least_examples']:,} examples."
        console.print(text, highlight=False)
    if found["olm_examples"] is not None:
        n = 2 * found["learners"][-1]["learners"]
        console.print(
            f"Adaboost.OLM, by its bound: {found['olm_examples']:.2g} examples with {n:,} learners.", highlight=False
        )


def text_plot(rows: list[dict[str, Any]], error: float) -> str:
    """The curves in characters, errors on a log scale."""
    marks = {"no booster is below": "·", "the paper's bound": "○", "OnlineMBBM, exact": "●"}
    top, bottom = 0.0, math.log10(error) - 1.0
    most = max(row["learners"] for row in rows)
    grid = [[" "] * WIDTH for _ in range(HEIGHT)]
    for mark in marks.values():
        for row in rows:
            level = math.log10(max(row["error"], 1e-300))
            if marks[row["line"]] == mark and level >= bottom:
                y = round((top - level) / (top - bottom) * (HEIGHT - 1))
                grid[y][round((row["learners"] - 1) / max(most - 1, 1) * (WIDTH - 1))] = mark
    wanted = round((top - math.log10(error)) / (top - bottom) * (HEIGHT - 1))
    grid[wanted] = ["┄" if mark == " " else mark for mark in grid[wanted]]
    lines = []
    for y, cells in enumerate(grid):
        level = error if y == wanted else 10 ** (top - y / (HEIGHT - 1) * (top - bottom))
        label = f"{level:8.3g} ┤" if y % 3 == 0 or y == wanted else " " * 9 + "│"
        lines.append(label + "".join(cells))
    lines.append(" " * 9 + "└" + "─" * WIDTH)
    lines.append(" " * 10 + "1" + f"{most:,} learners".rjust(WIDTH - 1))
    lines.append(" " * 10 + "   ".join(f"{mark} {name}" for name, mark in reversed(marks.items())))
    return "\n".join(lines)


# -------------------------------------------------------------------------------------------------------- numbers


def plan(classes: int, gamma: float, error: float, excess: float | None, delta: float) -> dict[str, Any]:
    """All that `onlineboost bounds` prints."""
    from onlineboost import theory

    exact = theory.mbbm_learners(classes, gamma, error)
    olm = theory.olm_learners(classes, gamma, error)
    each = delta / (MORE[-1] * exact)  # so that all learners satisfy the condition, but with probability delta
    twice = min(2.0 * gamma, (1.0 + gamma) / 2.0)  # the edge, or half-way to 1
    S = theory.excess_of_votes(twice, gamma, each, classes) if excess is None else excess
    soon, least = (theory.least_learners(classes, gamma, error, loss, each) for loss in (S, math.inf))
    how_least = "exact" if least <= theory.MOST_EXACT else "closed"
    how_mbbm = "exact" if exact <= theory.MOST_EXACT else "Chernoff"
    learners = [
        ("lower", SOON, soon, _least(classes, soon, gamma, S, each), f"Theorem 2, S = {S:.4g}"),
        ("lower", IN_THE_LONG_RUN, least, _least(classes, least, gamma), f"Theorem 2, {how_least}"),
        ("upper", MBBM, exact, theory.mbbm_error(classes, exact, gamma), f"phi_N(0), {how_mbbm}"),
    ]
    for name, source, n in (
        ("OnlineMBBM, Chernoff", "(k-1)(1-(√p-√q)²)^N", theory.chernoff_learners(classes, gamma, error)),
        ("OnlineMBBM, the paper", "(k-1) exp(-γ²N/2)", theory.hoeffding_learners(classes, gamma, error)),
        ("Adaboost.OLM", "its bound, T → ∞", olm),
    ):
        learners.append(
            ("upper", name, n, theory.mbbm_error(classes, n, gamma) if "OLM" not in name else error, source)
        )
    examples = []
    for n in sorted({math.ceil(exact * factor) for factor in MORE}):
        needed = theory.mbbm_examples(classes, n, gamma, error, S)
        known = needed if math.isfinite(needed) else None
        examples.append((n, theory.mbbm_error(classes, n, gamma), theory.weight_sum(classes, n, gamma), known))
    return {
        "classes": classes,
        "gamma": gamma,
        "error": error,
        "delta": delta,
        "excess_loss": S,
        "learners": [
            dict(zip(("bound", "booster", "learners", "error", "from"), row, strict=True)) for row in learners
        ],
        "examples": [dict(zip(("learners", "error", "weights", "examples"), row, strict=True)) for row in examples],
        "least_examples": theory.least_examples(classes, gamma, error, S, each),
        "olm_examples": theory.olm_examples(classes, 2 * olm, gamma, error, delta) if olm <= 200_000 else None,
    }


def _least(k: int, n: int, gamma: float, excess: float = math.inf, delta: float = 0.05) -> float:
    from onlineboost import theory

    least = theory.least_error if n <= theory.MOST_EXACT else theory.least_error_closed
    return least(k, n, gamma, excess, delta)


def curves(classes: int, gamma: float, most: int, points: int) -> list[dict[str, Any]]:
    """phi_N(0), the paper's bound on it, and what no booster can beat, for N up to `most`."""
    import numpy as np

    from onlineboost import theory

    points = points if most <= 4000 and classes <= 1000 else points // 3  # large N and k take their time
    rows = []
    for n in np.unique(np.linspace(1, most, points).round().astype(int)).tolist():
        for line, value in (
            ("OnlineMBBM, exact", theory.mbbm_error(classes, n, gamma)),
            ("the paper's bound", min(1.0, theory.hoeffding_error(classes, n, gamma))),
            ("no booster is below", _least(classes, n, gamma)),
        ):
            rows.append({"learners": n, "error": value, "line": line})
    return rows


@click.command()
@click.option("--learners", default=20, show_default=True, type=click.IntRange(1), help="N, the number of votes.")
@click.option(
    "--gamma", "gammas", default="0.01,0.1", show_default=True, help="Comma-separated edges, a chart for each."
)
@click.option("--most-classes", default=100, show_default=True, type=click.IntRange(3), help="Draw k from 2 to this.")
@click.option("--out", default="potential", show_default=True, help="Write OUT.png and OUT.html.")
def potential(learners: int, gammas: str, most_classes: int, out: str) -> None:
    """Draw phi_N(0), the error rate of OnlineMBBM, against the number of classes: the paper's figure."""
    check_writable(Path(f"{out}.png"), "--out")
    from onlineboost.report.charts import draw_potentials

    edges = [number(text, "--gamma") for text in gammas.split(",")]
    with err.status("computing the potentials ..."):
        paths = draw_potentials(learners, edges, most_classes, out)
    for path in paths:
        click.echo(f"wrote {visible(str(path))}")
