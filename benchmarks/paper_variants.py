"""Boosters that are wrong on purpose, as the paper prints them or its authors' code has them: see docs/paper.md.

Each is a state type of its own, with the kernels of the right booster but for the one that differs, and an estimator
that puts it in the place of the right state. The loops are compiled for such types in every process anew, some ten
seconds each: their machine code is not kept on disk, where nobody would notice an edit of this file.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineMBBM
from onlineboost._compile.jit import bare_kernel, inlined_kernel
from onlineboost.boosters import mbbm, olm
from onlineboost.boosters.losses import alpha_bound, pair_cost, step_size
from onlineboost.boosters.mbbm import Mbbm
from onlineboost.boosters.mbbm import prepare as right_prepare
from onlineboost.boosters.olm import Olm, count_vote, votes_in_reach
from onlineboost.boosters.potentials import Tables, build_tables, label_weight
from onlineboost.chain.chain import Chain
from onlineboost.contracts import BOOSTER
from onlineboost.estimators.settings import CONFIDENCE, TIE, draw
from onlineboost.trees.state import Columns, Forest


def with_state(chain: Chain, kind: type) -> Chain:
    """The chain with its booster's state made one of this type, of the same fields."""
    for segment in chain.segments:
        segment.booster = kind(*segment.booster)
    return chain


# ------------------------------------------------------------------------------------------ gradient as printed


class PrintedOlm(Olm):
    """Adaboost.OLM whose alphas follow the gradient that the paper prints. For the logistic loss."""


@bare_kernel
def settle_block(booster, i, rows, y, weight):
    """`olm.settle_block`, but for the slope of a right vote: -sum_{j != y} 1 / (1 + exp(s[j] + alpha - s[y]))."""
    loss, k = booster.loss, rows.k
    bound = alpha_bound(loss, booster.n_learners)
    for b in range(y.size):
        s, e, l, own = rows.s[b], rows.notes.e[b], rows.notes.votes[b], rows.notes.own[b]
        slope = 0.0
        for j in range(k):
            if j != y[b]:
                slope -= 1.0 / (1.0 + math.exp(s[j] + booster.alpha[i] - s[y[b]]))
        near = votes_in_reach(booster, s, k)
        booster.seen[i] += weight[b]
        booster.vote_cost[i] += weight[b] * (-own if l == y[b] else pair_cost(loss, near, s, e, y[b], l))
        booster.right_cost[i] -= weight[b] * own
        count_vote(booster, i, rows, b, l)
        if l != y[b]:
            slope = pair_cost(loss, votes_in_reach(booster, s, k), s, e, y[b], l)
        eta = step_size(loss, k, booster.n_learners, booster.offset + i + 1, rows.t + b - booster.born[i])
        booster.alpha[i] = min(bound, max(-bound, booster.alpha[i] - eta * weight[b] * slope))


BOOSTER.implement(PrintedOlm, olm.prepare_block, olm.weigh, olm.vote, olm.cast, olm.update, settle_block)


class PrintedAdaBoostOLM(AdaBoostOLM):
    """Adaboost.OLM with the gradient as printed."""

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        return with_state(super()._new_chain(columns, k, seed), PrintedOlm)


# --------------------------------------------------------------------------------------------- index off by one


class LateMbbm(Mbbm):
    """OnlineMBBM that counts its learners from 0: a draw too many is left, as if there were one more learner."""


@inlined_kernel
def prepare(booster, i, rows, b, y, work, n):
    """The costs of the learner before: phi_{N-i} with i counted from 0."""
    return right_prepare(booster, i - 1, rows, b, y, work, n)


BOOSTER.implement(LateMbbm, prepare, mbbm.weigh, mbbm.vote, mbbm.cast, mbbm.update)


class LateOnlineMBBM(OnlineMBBM):
    """OnlineMBBM with the index off by one. For one gamma for all learners."""

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        return with_state(super()._new_chain(columns, k, seed), LateMbbm)

    def _tables(self, k: int, seed: int, n: int) -> Tables:
        """For a learner more: the first one has N draws left."""
        gamma = self._gammas(n)
        return build_tables(k, n + 1, gamma, loss=self.loss, potential=self.potential, seed=seed)


# ------------------------------------------------------------------------------------------------ plain weights


class PlainMbbm(Mbbm):
    """OnlineMBBM whose learners get w itself, times the scale."""


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    """w = sum_l (C[y, l] - C[y, y]), and not over its mean so far."""
    own = label_weight(booster.cache, place, y) if rows.k > 1 else 0.0
    rows.notes.own[b] = own
    return weight * booster.scale[i] * own


BOOSTER.implement(PlainMbbm, mbbm.prepare, weigh, mbbm.vote, mbbm.cast, mbbm.update)


class PlainOnlineMBBM(OnlineMBBM):
    """OnlineMBBM with plain weights."""

    def _new_chain(self, columns: Columns, k: int, seed: int) -> Chain:
        return with_state(super()._new_chain(columns, k, seed), PlainMbbm)


# -------------------------------------------------------------------------------------------------- even draws


class EvenTree(HoeffdingTree):
    """A tree whose confidence and tie threshold are drawn evenly from their ranges, not so in their logarithm."""

    def _trees(self, columns: Columns, unit: np.ndarray, seed: int, first: int = 0) -> Forest:
        forest = super()._trees(columns, unit, seed, first)

        def evenly(name: str, which: int) -> Any:
            return draw(getattr(self, name), len(unit), seed, which, name, first=first)

        log_delta = np.log(1.0 / evenly("split_confidence", CONFIDENCE))
        return forest._replace(log_delta=log_delta, tie=evenly("tie_threshold", TIE))
