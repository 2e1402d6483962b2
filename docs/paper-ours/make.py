"""Makes paper.pdf from paper.typ: python docs/paper-ours/make.py (half a minute; needs typst and matplotlib from PyPI)

Two figures and a table are computed here; the other figures and tables are read from benchmarks/results and docs/pictures,
where the commands that made them are named. All of it goes into the folder build.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import typst

from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.theory import (
    chernoff_error,
    chernoff_learners,
    hoeffding_error,
    hoeffding_learners,
    least_error,
    least_learners,
    mbbm_learners,
)
from onlineboost.theory.simulate import Simulation, draw_labels, draw_votes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BUILD = HERE / "build"
BLUE, GREEN, ORANGE, GREY = "#1f6feb", "#2da44e", "#d29922", "#8b949e"
STORED = {  # name of a table: file, how its first line begins
    "peers": (RESULTS / "accuracy.md", "| beside | streams | ours ahead, all rows"),
    "printed": (RESULTS / "paper.md", "| | | AdaOLM | MB .3 | MB .1 | MB .05 | MB .01 | MB .001 | OvA"),
    "games": (RESULTS / "adaptive.md", "| | rounds | lost | the bound"),
    "left_out": (RESULTS / "flagship.md", "| left out | all rows | last 20 %"),
    "rare": (
        RESULTS / "rare_events.md",
        "| AUC / average precision | OnlineBoost | AdaBoostOLM | LightGBM | LightGBM, tuned | CatBoost",
    ),
}


def stored(path: Path, begin: str) -> list[list[str]]:
    """The rows of a table in Markdown, without marks."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if line.startswith(begin))
    rows = []
    for line in lines[first + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([re.sub(r"[*`]", "", cell).strip() for cell in line.strip("|").split("|")])
    return rows


def learners() -> list[list[str]]:
    """How many learners an error of 0.05 takes: every booster, OnlineMBBM, and two bounds."""
    rows = []
    for k, gamma in ((2, 0.1), (5, 0.1), (26, 0.1), (100, 0.02), (100, 0.2)):
        least, enough = least_learners(k, gamma, 0.05), mbbm_learners(k, gamma, 0.05)
        bounds = chernoff_learners(k, gamma, 0.05), hoeffding_learners(k, gamma, 0.05)
        rows.append(
            [f"{k}", f"{gamma}", f"{least:,}", f"{enough:,}", f"{enough / least:.2f}", *(f"{n:,}" for n in bounds)]
        )
    return rows


def draw_bounds() -> None:
    """Error against the number of learners, five classes, edge 0.1."""
    N, ax = np.unique(np.geomspace(5, 600, 60).astype(int)), plt.figure(figsize=(4.3, 2.6)).gca()
    for error, label, colour in (
        (hoeffding_error, "the bound of Jung et al.", GREY),
        (chernoff_error, "Theorem 2", ORANGE),
        (asymptotic_error, "OnlineMBBM, exact", BLUE),
        (least_error, "no booster is below", GREEN),
    ):
        ax.plot(N, [min(1.0, error(5, int(n), 0.1)) for n in N], label=label, color=colour)
    ax.set(yscale="log", ylim=(1e-3, 1.2), xlabel="learners, N", ylabel="share of examples lost")
    ax.legend(fontsize=8, frameon=False)
    save("bounds")


def draw_gammas() -> None:
    """Where the gammas of learners of edge .05, .15 and .35 stand, along a simulated stream; none of them is told."""
    edges = np.tile([0.35, 0.15, 0.05], 10)
    y = draw_labels(60_000, 2, seed=1)
    votes = draw_votes(y, 2, len(edges), edges, seed=1)
    booster, rounds, gammas = Simulation("online-mbbm", 2, len(edges), gamma="adaptive"), [], []
    for start in range(0, len(y), 500):
        booster.play(votes[start : start + 500], y[start : start + 500])
        rounds.append(start + 500)
        gammas.append(0.5 / 1.5 ** booster.state.steps[:, 0])
    ax = plt.figure(figsize=(4.3, 2.6)).gca()
    for edge, colour in ((0.35, BLUE), (0.15, GREEN), (0.05, ORANGE)):
        mean = np.exp(np.log(gammas)[:, edges == edge].mean(axis=1))
        ax.plot(rounds, mean, color=colour, label=f"learners of edge {edge}")
        ax.axhline(edge, color=colour, linestyle=":", linewidth=1)
    ax.set(xscale="log", yscale="log", ylim=(0.01, 0.55), xlabel="rounds", ylabel="gamma in use")
    ax.set_yticks([0.02, 0.05, 0.1, 0.2, 0.5], ["0.02", "0.05", "0.1", "0.2", "0.5"])
    ax.minorticks_off()
    ax.legend(fontsize=8, frameon=False)
    save("gammas")


def save(name: str) -> None:
    plt.tight_layout()
    plt.savefig(BUILD / f"{name}.svg", metadata={"Date": None})
    plt.close()


if __name__ == "__main__":
    BUILD.mkdir(exist_ok=True)
    plt.rcParams.update({"font.size": 9, "axes.spines.top": False, "axes.spines.right": False, "svg.hashsalt": "paper"})
    tables = {name: stored(*where) for name, where in STORED.items()} | {"learners": learners()}
    (BUILD / "tables.json").write_text(json.dumps(tables), encoding="utf-8")
    draw_bounds()
    draw_gammas()
    typst.compile(HERE / "paper.typ", output=HERE / "paper.pdf", root=ROOT)
    print(HERE / "paper.pdf")
