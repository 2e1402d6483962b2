"""Vowpal Wabbit's part of `bandit.py`, for a Python that has vowpalwabbit and NumPy, and nothing of ours.

    python bandit_vw.py FILE CLASSES EXPLORATION PAIRS SEED

FILE has a label, as a number from 0 on, and features in each line. Writes of each row whether the likeliest action was
right, and whether the one that was drawn was.
"""

from __future__ import annotations

import sys

import numpy as np


def main() -> None:
    from vowpalwabbit import pyvw

    path, k, rho, pairs, seed = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4]), int(sys.argv[5])
    model = pyvw.Workspace(f"--quiet --cb_explore {k} --epsilon {rho}" + (" --interactions xx" if pairs else ""))
    rng = np.random.default_rng(seed)
    with open(path, encoding="utf-8") as file:
        for line in file:
            label, words = line.rstrip("\n").split("\t")
            p = np.array(model.predict(f"|x {words}"))
            action = int(rng.choice(k, p=p / p.sum()))
            model.learn(f"{action + 1}:{int(action != int(label))}:{p[action]:.6f} |x {words}")
            print(int(p.argmax() == int(label)), int(action == int(label)))


if __name__ == "__main__":
    main()
