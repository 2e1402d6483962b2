"""OnlineMBBM as its authors' code has it: the index of the potential is off by one. See docs/paper.md.

A state type of its own, with the kernels of the right booster but for the one that differs, and an estimator that puts
it in the place of the right state. The loops are compiled for such a type in every process anew, some ten seconds:
their machine code is not kept on disk, where nobody would notice an edit of this file.
"""

from __future__ import annotations

from onlineboost._compile.jit import inlined_kernel
from onlineboost.boosters import mbbm
from onlineboost.boosters.mbbm import Mbbm
from onlineboost.boosters.mbbm import prepare as right_prepare
from onlineboost.boosters.potentials import Tables, build_tables
from onlineboost.chain.chain import Chain
from onlineboost.contracts import BOOSTER
from onlineboost.estimators.online_mbbm import PaperMBBM
from onlineboost.trees.state import Columns


class LateMbbm(Mbbm):
    """OnlineMBBM that counts its learners from 0: a draw too many is left, as if there were one more learner."""


@inlined_kernel
def prepare(booster, i, rows, b, y, work, n):
    """The costs of the learner before: phi_{N-i} with i counted from 0."""
    return right_prepare(booster, i - 1, rows, b, y, work, n)


BOOSTER.implement(LateMbbm, prepare, mbbm.weigh, mbbm.vote, mbbm.cast, mbbm.update)


class LateOnlineMBBM(PaperMBBM):
    """OnlineMBBM with the index off by one. For one gamma for all learners."""

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        chain = super()._new_chain(columns, k, seed)
        for segment in chain.segments:
            segment.booster = LateMbbm(*segment.booster)
        return chain

    def _tables(self, k: int, seed: int, n: int) -> Tables:
        """For a learner more: the first one has N draws left."""
        gamma = self._gammas(n)
        return build_tables(k, n + 1, gamma, loss=self.loss, potential=self.potential, seed=seed)
