"""Draws learning_curves.png, the picture of the README: python docs/pictures/learning_curves.py"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from onlineboost import AdaBoostOLM, HoeffdingTree, load_dataset, prequential
from onlineboost.evaluation import MajorityClass

HERE = Path(__file__).parent
SYSTEMS = (
    ("AdaBoostOLM, 100 trees", lambda: AdaBoostOLM(100), "#1f6feb", 2.2),
    ("one Hoeffding tree", lambda: HoeffdingTree(max_features=1.0), "#8b949e", 1.6),
    ("majority class", MajorityClass, "#d0d7de", 1.6),
)


def main() -> None:
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.4), constrained_layout=True)
    for ax, name in zip(axes, ("nursery", "synthetic"), strict=True):
        data = load_dataset(name).shuffled(0)
        for label, make, colour, width in SYSTEMS:
            seen, right = prequential(make(), data.X, data.y).curve(60)
            smooth = np.convolve(np.pad(right, 2, mode="edge"), np.ones(5) / 5, mode="valid")
            ax.plot(seen, smooth, color=colour, linewidth=width, label=label)
            ax.annotate(f"{right[-12:].mean():.3f}", (seen[-1], smooth[-1]), xytext=(4, -3),
                        textcoords="offset points", color=colour if colour != "#d0d7de" else "#8b949e", fontsize=9)  # fmt: skip
        ax.set(
            title=f"{name}: {len(data.X.names)} columns, {len(data.classes)} classes", xlabel="examples", ylim=(0, 1.02)
        )
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel("right predictions")
    axes[0].legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 0.36))
    figure.savefig(HERE / "learning_curves.png", dpi=150)


if __name__ == "__main__":
    main()
