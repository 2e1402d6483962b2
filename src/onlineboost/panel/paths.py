"""Which columns move what the panel says of a row; in NumPy, for explanations.

Least squares on the columns are a sum over them. Eager trees move along paths, as in `trees.paths`: the mean
distribution of the trees goes from that of the roots to that of the leaves, and the logits follow in proportion. The
neighbours and the cosines weigh all columns up at once; what they say stays in one piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.panel.eager import CLASSES, COLUMN_BITS, LINK, N_NODES, N_TREES, PRIOR, SPLIT
from onlineboost.panel.least_squares import SHARPNESS
from onlineboost.panel.metric import CONSTANT
from onlineboost.panel.newton import LEAST
from onlineboost.panel.panel import LINEAR, NAMES, TREES, ask_panel, new_panel_work
from onlineboost.panel.state import COLUMNS, Ground, Panel


class Said(NamedTuple):
    """What the panel says of one row: numbers per class that add up to its votes."""

    voices: np.ndarray  # float64 (voices, k) with their coefficients
    cut: np.ndarray  # float64 (k,) what is lost where votes are cut at their limit
    columns: np.ndarray  # float64 (encoded columns, k) of the voices of which it can be told

    def undivided(self) -> list[tuple[str, np.ndarray]]:
        """The voices, by name, less what is told of columns."""
        return list(zip(NAMES, self.voices, strict=True))


def said_by_panel(panel: Panel, x: np.ndarray, k: int, masses: list[np.ndarray], *, leave_out: int = -1) -> Said:
    """What the panel says of a row x (1, columns), and why.

    `masses` are those of `eager_masses`. With `leave_out`, the row is one that was learned with this label, and the
    trees are asked as if they had not.
    """
    work, s = new_panel_work(panel, k), np.empty((1, k))
    ask_panel(panel, x, k, work, s)
    beta, logits = panel.newton.beta, work.newton.logits
    voices = beta[:, None] * logits
    columns = np.zeros((x.shape[1], k))
    owner = owners(panel)
    if owner is not None:
        n = len(owner)
        parts = SHARPNESS * panel.linear.W[:k, 1 : 1 + n] * work.linear[None, 1 : 1 + n]
        parts = beta[LINEAR] * (parts - parts.mean(axis=0))
        np.add.at(columns, owner, parts.T)
        voices[LINEAR] -= parts.sum(axis=1)
        by_tree = beta[TREES] * _eager_columns(panel, work.values, k, masses, leave_out)
        np.add.at(columns, owner, by_tree)
        voices[TREES] -= by_tree.sum(axis=0)
    return Said(voices, s[0] - work.newton.total, columns)


def owners(panel: Panel | Ground) -> np.ndarray | None:
    """The column of the stream that each dense column in use belongs to; None: several share one."""
    dense, n = panel.dense, int(panel.used[COLUMNS])
    if len(dense.origin) > dense.n_numbers:
        return None
    return np.where(np.arange(n) < dense.n_numbers, np.arange(n), dense.offset + dense.owner[:n])


def column_weights(panel: Panel | Ground, n_columns: int) -> np.ndarray:
    """What each column counts in distances and cosines: eta^2, of all values together."""
    out, owner = np.zeros(n_columns), owners(panel)
    if owner is not None:
        n = len(owner)
        eta = panel.columns.pull[:n] * np.sqrt(np.maximum(panel.columns.variance[:n], CONSTANT))
        np.add.at(out, owner, eta)
    return out / max(out.sum(), 1e-300)


def eager_masses(panel: Panel, k: int) -> list[np.ndarray]:
    """Weights of the classes below every node of the eager trees, (nodes, k) for each tree."""
    eager, out = panel.eager, []
    for tree in range(N_TREES):
        nodes = eager.nodes[tree, : eager.used[tree, N_NODES]]
        column, first = split_of(nodes)
        mass = np.zeros((len(nodes), k))
        leaf = np.flatnonzero(column < 0)
        for c in range(CLASSES):
            np.add.at(mass, (leaf, eager.labels[tree, first[leaf], c]), eager.weights[tree, first[leaf], c])
        levels, level = [], np.zeros(1, np.int64)
        while (level := level[column[level] >= 0]).size:
            levels.append(level)
            level = np.concatenate([first[level], first[level] + 1])
        for level in reversed(levels):
            mass[level] = mass[first[level]] + mass[first[level] + 1]
        out.append(mass)
    return out


def split_of(nodes: np.ndarray) -> tuple[Any, Any]:
    """The column that nodes split on, -1 for a leaf, and the first child or the leaf's place: `eager.link` undone."""
    link = nodes[..., LINK]
    return (link & ((1 << COLUMN_BITS) - 1)) - 1, link >> COLUMN_BITS


def _eager_columns(panel: Panel, values: np.ndarray, k: int, masses: list[np.ndarray], leave_out: int) -> np.ndarray:
    """What each dense column adds to the logits of the trees' mean distribution, (dense columns, k)."""
    eager, n = panel.eager, int(panel.used[COLUMNS])
    moved, start = np.zeros((n, k)), np.zeros(k)
    for tree, mass in enumerate(masses):
        nodes, at = eager.nodes[tree], 0
        p = _distribution(mass[0], None, k, leave_out)
        start += p
        while (split := split_of(nodes[at]))[0] >= 0:
            column, threshold = int(split[0]), nodes[at, SPLIT : SPLIT + 1].view(np.float64)[0]
            at = int(split[1]) + int(values[column] > threshold)
            after = _distribution(mass[at], p, k, leave_out)
            moved[column] += after - p
            p = after
    start, moved = start / N_TREES, moved / N_TREES
    end = start + moved.sum(axis=0)
    far = np.abs(end - start) > 1e-9
    slope = np.where(
        far, np.log((end + LEAST) / (start + LEAST)) / np.where(far, end - start, 1.0), 1.0 / (end + LEAST)
    )
    logits = slope * moved
    centred: np.ndarray = logits - logits.mean(axis=1, keepdims=True)
    return centred


def _distribution(mass: np.ndarray, before: np.ndarray | None, k: int, leave_out: int) -> np.ndarray:
    """The distribution of a node; without the row's own weight it may know nothing, and says what its parent does."""
    if leave_out >= 0:
        mass = mass.copy()
        mass[leave_out] = max(0.0, mass[leave_out] - 1.0)
        if mass.sum() <= 0.0 and before is not None:
            return before
    shares: np.ndarray = (mass + PRIOR) / (mass.sum() + PRIOR * k)
    return shares
