"""Who votes in a chain, and what each vote is worth now: for importances and explanations.

A *score* is a number per class, and the votes add up to it. With a chain of boosters it is the votes of the expert that
is followed (or, where all experts are, the mean of theirs by Hedge's weights), with one booster per class the votes for
yes less those for no, behind a panel the logits of the last combiner, with learners that know nothing of each other the
distribution of the best.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.chain.chain import Chain
from onlineboost.chain.experts import Combiner
from onlineboost.chain.independent import IndependentChain
from onlineboost.chain.learners import BinaryTreeLearners, TreeLearners
from onlineboost.chain.members import MemberLearners
from onlineboost.chain.ova import OneVsAllChain
from onlineboost.chain.panelled import PanelChain
from onlineboost.panel.paths import column_weights
from onlineboost.panel.recency import FADES
from onlineboost.trees.binary import MINE
from onlineboost.trees.paths import Moves, moves


class Voter(NamedTuple):
    """A weak learner of a chain."""

    number: int  # in the chain; in that of its class
    learners: Any  # those of its segment,
    place: int  # and its place among them
    weight: float  # of its vote
    effect: np.ndarray  # float64 (labels of its own, classes) what a vote of weight 1 adds to the score
    of_class: int = -1  # whose booster it belongs to, where each class has one


def voters(chain: Chain, k: int, combiner: Combiner, *, now: bool) -> list[Voter]:
    """All learners that have a say, in order.

    `now`: in the coming round, in which Hedge follows one expert; otherwise every expert counts by its weight.
    """
    if isinstance(chain, OneVsAllChain):
        return _for_and_against(chain, k)
    worth = np.ones(chain.n_learners) if isinstance(chain, PanelChain) else _worth(chain, combiner, now)
    centred = np.eye(k) - (1.0 / k if isinstance(chain, PanelChain) else 0.0)
    found, number = [], 0
    for segment in chain.segments:
        for place, weight in enumerate(_weights(segment.booster)):
            factor = worth[number] * (_of_fifth(chain, number) if isinstance(chain, PanelChain) else 1.0)
            if factor:
                found.append(Voter(number, segment.learners, place, weight, factor * centred))
            number += 1
    return found


def _weights(booster: Any) -> list[float]:
    """What each learner's vote counts: alpha, or 1 where votes are counted."""
    alpha: np.ndarray = getattr(booster, "alpha", np.ones(len(booster.scale)))
    return alpha.tolist()


def _worth(chain: Chain, combiner: Combiner, now: bool) -> np.ndarray:
    """The share of the experts who listen to each learner."""
    if isinstance(chain, IndependentChain):
        return (np.arange(chain.n_learners) == chain.best).astype(float)
    if combiner is Combiner.WEIGHTED or (combiner is Combiner.HEDGE and not now):
        return np.cumsum(chain.expert_weights()[::-1])[::-1]
    return (np.arange(chain.n_learners) < chain.walk(combiner)).astype(float)


def _of_fifth(chain: PanelChain, number: int) -> float:
    """Coefficient of the fifth of the chain that a learner is in."""
    return float(chain.newton.beta[1 + len(FADES) + int(np.searchsorted(chain.ends, number, side="right"))])


def _for_and_against(chain: OneVsAllChain, k: int) -> list[Voter]:
    found = []
    for j, booster in enumerate(chain.boosters[:k]):
        effect = np.zeros((2, k))
        effect[MINE, j], effect[1 - MINE, j] = 1.0, -1.0
        segment = booster.segment
        found += [Voter(i, segment.learners, i, w, effect, j) for i, w in enumerate(_weights(segment.booster))]
    return found


def votes(chain: Chain, x: np.ndarray, k: int, who: list[Voter]) -> np.ndarray:
    """What these voters add to the score of one row, (voters, k): exactly what they add when it is predicted."""
    rows = chain.new_rows(x, k, None, None)
    if isinstance(chain, OneVsAllChain):
        each = [booster.segment.votes_of_each(booster.head(rows, None))[:, 0] for booster in chain.boosters]
        return np.array([each[voter.of_class][voter.number] @ voter.effect for voter in who])
    if isinstance(chain, PanelChain):
        chain.votes_of_panel(rows, k)
        chain.set_out(rows)
    of_all = np.concatenate([segment.votes_of_each(rows)[:, 0] for segment in chain.segments])
    return np.array([of_all[voter.number] @ voter.effect for voter in who]).reshape(-1, k)


def is_tree(voter: Voter) -> bool:
    return isinstance(voter.learners, TreeLearners)


def is_member(voter: Voter) -> bool:
    """Whether it is a member of the panel, which weighs up all columns at once."""
    return isinstance(voter.learners, MemberLearners)


def columns_of_member(voter: Voter, n_columns: int) -> np.ndarray:
    """What a member's vote owes to each column: in proportion to what columns count in its metric."""
    ground = voter.learners.members[voter.place].ground
    return abs(voter.weight) * np.abs(voter.effect).max() * column_weights(ground, n_columns)


def trees_of_voter(voter: Voter) -> list[int]:
    """Numbers of a learner's trees in its forest: one, or one per class."""
    if isinstance(voter.learners, BinaryTreeLearners):
        k = voter.learners.n_classes
        return list(range(voter.place * k, (voter.place + 1) * k))
    return [voter.place]


def moves_of(voter: Voter, X: np.ndarray, directions: np.ndarray) -> Moves:
    """How a learner comes to what it says of rows, in directions (rows, classes, directions) of the score."""
    own = voter.weight * np.einsum("lk,rkd->rld", voter.effect, directions)
    forest = voter.learners.forest
    if not isinstance(voter.learners, BinaryTreeLearners):
        return moves(forest, voter.place, X, own)
    # p_j = q_j / sum q: what moves q_j moves p_j, with the sum as it is in the end
    trees = trees_of_voter(voter)
    mine = np.zeros((len(X), 2, 1))
    mine[:, MINE] = 1.0
    total = sum(moves(forest, tree, X, mine).end for tree in trees)
    total = np.where(total > 0.0, total, 1.0)
    parts = [moves(forest, tree, X, mine * (own[:, j] / total)[:, None, :]) for j, tree in enumerate(trees)]
    return Moves(*(np.sum(part, axis=0) for part in zip(*parts, strict=True)))
