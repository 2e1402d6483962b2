"""Which columns matter now: how far each moves the votes towards the label, on the rows that came last.

For each of the last rows that the diary has kept, each learner's path says what each column has added to the score of
the row's label, less the mean of what it has added to the others' (`trees.paths`), times what the learner's vote is
worth now. A column that only fits noise adds as much for the wrong classes as for the right one; a column that mattered
once does so from the moment the labels follow another one. Means below 0 count as 0, and the rest is scaled to the sum
1. Behind a panel, its voices count by their coefficients: eager trees (as if they had not seen the row) and the linear
one by paths and terms; the others in proportion to eta^2, which is what columns count in distances, and so do members
of the panel that are weak learners.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from onlineboost.chain.experts import Combiner
from onlineboost.chain.model import Model
from onlineboost.chain.stacking import Stacking
from onlineboost.chain.stage import Voter
from onlineboost.data.errors import DataError
from onlineboost.explain.columns import in_stream_order
from onlineboost.panel.paths import TOLD, column_weights, said_by_panel, tellers_of
from onlineboost.panel.state import Panel
from onlineboost.trees.paths import Moves


class NotTold(DataError, AttributeError):
    """There are no importances: an AttributeError, so that `hasattr` and notebooks take the attribute as absent."""


def importances(model: Model, combiner: Combiner) -> np.ndarray:
    """The share of each column, in the order of the stream; all 0 if no column has been of use so far."""
    chain, k = model.chain, model.k
    X, y = chain.diary.kept()
    total = np.zeros(len(model.encoder.names))
    if k > 1 and len(y):
        X = np.array(chain.new_rows(X, k, None, None).X)
        towards = np.full((len(y), k, 1), -1.0 / (k - 1))
        towards[np.arange(len(y)), y] = 1.0
        for voter in chain.voters(k, combiner, now=False):
            moved = moves_of(voter, X, towards)
            counted = None if moved is not None else voter.learners.column_weights(voter.place, len(total))
            if moved is not None:
                total += moved.columns[:, :, 0].mean(axis=0)
            elif counted is not None:
                total += abs(voter.weight) * np.abs(voter.effect).max() * counted
            else:
                raise NotTold(voter.learners.no_tree)
        if chain.panel is not None:
            beta = cast(Stacking, chain.end).newton.beta[0]
            total += beta * _of_panel(chain.panel.state, X, y, towards[:, :, 0]) / len(y)
    total = np.maximum(in_stream_order(model.encoder, total), 0.0)
    whole = total.sum()
    return total / whole if whole > 0.0 else total


def moves_of(voter: Voter, X: np.ndarray, directions: np.ndarray) -> Moves | None:
    """How a learner comes to what it says of rows, in directions (rows, classes, directions) of the score."""
    own = voter.weight * np.einsum("lk,rkd->rld", voter.effect, directions)
    moved: Moves | None = voter.learners.moves(voter.place, X, own)
    return moved


def _of_panel(panel: Panel, X: np.ndarray, y: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """What each column does for the panel's votes, summed over these rows."""
    k = towards.shape[1]
    tellers, weights = tellers_of(panel, k), column_weights(panel.shared.stats, X.shape[1])
    total = np.zeros(X.shape[1])
    for x, label, direction in zip(X, y, towards, strict=True):
        said = said_by_panel(panel, x[None, :], k, tellers, leave_out=int(label))
        whole = [voice @ direction for name, voice in said.undivided() if name not in TOLD]
        total += said.columns @ direction + weights * max(0.0, sum(whole))
    return total
