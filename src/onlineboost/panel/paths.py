"""Which columns move what the panel says of a row; in NumPy, for explanations.

A member that can tell has a function for it in its `Part`: for a panel's state, and k classes, what each dense column
adds to the logits of its voice, for any row. Others, as the neighbours and the cosines, weigh all columns up at once:
what they say stays in one piece.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.panel.columns import COLUMNS, CONSTANT, ColumnStats
from onlineboost.panel.panel import ask_panel, new_panel_work
from onlineboost.panel.state import MEMBERS, NAMES, Panel, parts_of

TOLD = {name for member in MEMBERS if member.tell is not None for name in member.voices.values()}


class Said(NamedTuple):
    """What the panel says of one row: numbers per class that add up to its votes."""

    voices: np.ndarray  # float64 (voices, k) with their coefficients
    cut: np.ndarray  # float64 (k,) what is lost where votes are cut at their limit
    columns: np.ndarray  # float64 (encoded columns, k) of the voices of which it can be told

    def undivided(self) -> list[tuple[str, np.ndarray]]:
        """The voices, by name, less what is told of columns."""
        return list(zip(NAMES, self.voices, strict=True))


def tellers_of(panel: Panel, k: int) -> dict[int, Any]:
    """What tells of columns, for each member that can, by its place."""
    own = zip(parts_of(panel).members, panel.members, strict=True)
    return {i: member.tell(state, panel.shared, k) for i, (member, state) in enumerate(own) if member.tell is not None}


def said_by_panel(panel: Panel, x: np.ndarray, k: int, tellers: dict[int, Any], *, leave_out: int = -1) -> Said:
    """What the panel says of a row x (1, columns), and why.

    `tellers` are those of `tellers_of`. With `leave_out`, the row is one that was learned with this label, and trees
    are asked as if they had not.
    """
    work, s = new_panel_work(panel, k), np.empty((1, k))
    ask_panel(panel, x, k, work, s)
    beta, logits = panel.newton.beta, work.newton.logits
    voices = beta[:, None] * logits
    columns = np.zeros((x.shape[1], k))
    owner = owners(panel.shared.stats)
    if owner is not None:
        for i, told in tellers.items():
            (voice,) = parts_of(panel).members[i].voices
            parts = beta[voice] * told(work.members[i], work.row, len(owner), leave_out)
            np.add.at(columns, owner, parts)
            voices[voice] -= parts.sum(axis=0)
    return Said(voices, s[0] - work.newton.total, columns)


def owners(stats: ColumnStats) -> np.ndarray | None:
    """The column of the stream that each dense column in use belongs to; None: several share one."""
    dense, n = stats.dense, int(stats.used[COLUMNS])
    if len(dense.origin) > dense.n_numbers:
        return None
    return np.where(np.arange(n) < dense.n_numbers, np.arange(n), dense.offset + dense.owner[:n])


def column_weights(stats: ColumnStats, n_columns: int) -> np.ndarray:
    """What each column counts in distances and cosines: eta^2, of all values together."""
    out, owner = np.zeros(n_columns), owners(stats)
    if owner is not None:
        n = len(owner)
        eta = stats.columns.pull[:n] * np.sqrt(np.maximum(stats.columns.variance[:n], CONSTANT))
        np.add.at(out, owner, eta)
    return out / max(out.sum(), 1e-300)
