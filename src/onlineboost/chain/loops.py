"""The one learning loop and the one predicting loop, over any weak learner and any booster.

Nothing flows backwards: learner i's distribution depends on its own past, its vote and weight on s^{i-1} and y. So a
*block* of examples goes through learner 1, then through learner 2, and so on. One tree's tables stay in the cache
for a whole block, and the result is the same, bit for bit, as example after example through the whole chain.

What `learner` and `booster` do is compiled into the loops by their types: see `contracts`.
"""

from __future__ import annotations

from typing import Any

from onlineboost._compile.jit import bare_kernel, entry_kernel
from onlineboost.contracts.booster import (
    BOOSTER,
    cast,
    prepare,
    prepare_block,
    settle,
    settle_block,
    update,
    vote,
    weigh,
)
from onlineboost.contracts.learner import LEARNER, ask, find, is_ready, room, teach


def _predict_block(learner, booster, rows, n_learners, scratch, work, from_i, from_b):
    """Send a block through the first `n_learners` of a segment without learning. Changes `rows` and scratch alone.

    Every row is predicted as the example of round rows.t. Returns (i, b): the learner and the row that are to be made
    ready before it can go on; i = n_learners: all done.
    """
    for i in range(from_i, n_learners):
        first = from_b if i == from_i else 0
        find(learner, i, rows, first, scratch)
        for b in range(first, rows.X.shape[0]):
            if not is_ready(learner, i, b):
                return i, b
            n, _ = ask(learner, i, rows, b, scratch, work)
            place = prepare(booster, i, rows, b, -1, work, n)
            l = vote(booster, i, rows, b, rows.t, place, work, n)
            cast(booster, i, rows, b, l, work, n)
    return n_learners, 0


def _learn_block(learner, booster, rows, y, weight, scratch, work, from_i, from_b):
    """Send a labelled block through a segment: every learner votes, then learns.

    Stops before the first (learner, row) that is not ready or has no room, and returns it with the room it needs:
    (i, b, three numbers). i = number of learners: all done.
    """
    for i in range(from_i, booster.scale.size):
        first = from_b if i == from_i else 0
        find(learner, i, rows, first, scratch)
        prepare_block(booster, i, rows, y)
        for b in range(first, rows.X.shape[0]):
            if not is_ready(learner, i, b):
                return i, b, 0, 0, 0
            t = rows.t + b
            n, what = ask(learner, i, rows, b, scratch, work)
            place = prepare(booster, i, rows, b, y[b], work, n)
            w = weigh(booster, i, rows, b, y[b], weight[b], place)
            if w > 0.0:
                fits, need_0, need_1, need_2 = room(learner, i, what, w, scratch)
                if not fits:
                    return i, b, need_0, need_1, need_2
            l = vote(booster, i, rows, b, t, place, work, n)
            update(booster, i, rows, b, y[b], weight[b], l, place, work, n)
            if w > 0.0:
                teach(learner, i, rows, b, y[b], w, t, what, scratch)
            settle(booster, learner, i, rows, b, y[b], weight[b], w, scratch, work)
        settle_block(booster, i, rows, y, weight)
    return booster.scale.size, 0, 0, 0, 0


predict_block, learn_block = entry_kernel(_predict_block), entry_kernel(_learn_block)
predict_foreign, learn_foreign = bare_kernel(_predict_block), bare_kernel(_learn_block)


def predicting_loop(learner: Any, booster: Any) -> Any:
    """`predict_block`; not kept on disk for states of another package, whose changes nobody would notice."""
    return predict_foreign if _is_foreign(learner, booster) else predict_block


def learning_loop(learner: Any, booster: Any) -> Any:
    """`learn_block`, likewise."""
    return learn_foreign if _is_foreign(learner, booster) else learn_block


def _is_foreign(learner: Any, booster: Any) -> bool:
    return type(booster) in BOOSTER.foreign or type(learner) in LEARNER.foreign
