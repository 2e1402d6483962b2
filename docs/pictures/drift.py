"""Draws drift.png, the picture of the README: python docs/pictures/drift.py (two minutes; needs river and matplotlib)

A stream of 20,000 rows, ten columns and five classes, whose clusters all move at row 10,000. Every row is predicted,
then learned; the batch learner is fitted to the last 5,000 rows, every 1,000 rows. Figures are without the first 1,000.
"""

from collections.abc import Callable
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from river import forest
from sklearn.ensemble import HistGradientBoostingClassifier

from onlineboost import HoeffdingTree, OnlineBoostClassifier, prequential
from onlineboost.datasets import synthetic_stream

ROWS, KEPT, EVERY, SMOOTH = 20_000, 5_000, 1_000, 500
DATA = synthetic_stream(ROWS, seed=7, drift="abrupt")


def ours() -> np.ndarray:
    return prequential(OnlineBoostClassifier(), DATA.X, DATA.y).predictions == DATA.y


def tree() -> np.ndarray:
    return prequential(HoeffdingTree(), DATA.X, DATA.y).predictions == DATA.y


def river_forest() -> np.ndarray:
    model, right = forest.ARFClassifier(n_models=10, seed=0), np.zeros(ROWS, bool)
    for i, row in enumerate(zip(*DATA.X.columns, strict=True)):
        x = dict(zip(DATA.X.names, row, strict=True))
        right[i] = model.predict_one(x) == DATA.y[i]
        model.learn_one(x, DATA.y[i])
    return right


def refitted() -> np.ndarray:
    X, right = np.column_stack(DATA.X.columns), np.zeros(ROWS, bool)
    for start in range(EVERY, ROWS, EVERY):
        seen = slice(max(0, start - KEPT), start)
        model = HistGradientBoostingClassifier(random_state=0).fit(X[seen], DATA.y[seen])
        right[start : start + EVERY] = model.predict(X[start : start + EVERY]) == DATA.y[start : start + EVERY]
    return right


SYSTEMS: tuple[tuple[str, Callable[[], np.ndarray], str, float], ...] = (
    ("OnlineBoostClassifier", ours, "#1f6feb", 2.4),
    ("gradient boosting, refitted every 1,000 rows", refitted, "#d29922", 1.6),
    ("river's adaptive random forest, 10 trees", river_forest, "#2da44e", 1.6),
    ("one Hoeffding tree", tree, "#8b949e", 1.6),
)


def main() -> None:
    figure, ax = plt.subplots(figsize=(9, 3.4), constrained_layout=True)
    for label, run, colour, width in SYSTEMS:
        right = run()
        ends = np.arange(EVERY + SMOOTH if run is refitted else SMOOTH, ROWS + 1, SMOOTH // 5)
        shares = [right[end - SMOOTH : end].mean() for end in ends]
        share = right[EVERY:].mean()  # the batch learner says nothing before
        print(f"{label}: {share:.4f}")
        ax.plot(ends, shares, color=colour, linewidth=width, label=f"{label}: {share:.3f}")
    ax.axvline(ROWS // 2, color="#d0d7de", linestyle="--", zorder=0)
    ax.annotate("everything changes", (ROWS // 2, 0.95), xytext=(6, 0), textcoords="offset points", color="#8b949e")
    ax.set(xlabel="rows", ylabel=f"right, last {SMOOTH} rows", ylim=(0.1, 1), xlim=(0, ROWS))
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis="y", alpha=0.3)
    ax.legend(frameon=False, loc="lower left", fontsize=9)
    figure.savefig(Path(__file__).with_name("drift.png"), dpi=150)


if __name__ == "__main__":
    main()
