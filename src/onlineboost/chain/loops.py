"""The one learning loop and the one predicting loop, over any weak learner and any booster.

Nothing flows backwards: learner i's distribution depends on its own past, its vote and weight on s^{i-1} and y. So a
*block* of examples goes through learner 1, then through learner 2, and so on. One tree's tables stay in the cache
for a whole block, and the result is the same, bit for bit, as example after example through the whole chain.

What `learner` and `booster` do is compiled into the loops by their types: see `contracts`. Python hands all of it over
as a *handle* of a `Pass` (`_compile.handle`), and calls what `learning_loop` and `predicting_loop` give for it.
"""

from __future__ import annotations

from typing import Any

from onlineboost._compile.handle import compiled, hold
from onlineboost._compile.jit import entry_kernel, unkept_kernel
from onlineboost.contracts.booster import (
    BOOSTER,
    cast,
    lesson,
    more,
    prepare,
    prepare_block,
    recalls,
    settle,
    settle_block,
    update,
    vote,
    weigh,
)
from onlineboost.contracts.learner import (
    LEARNER,
    ask,
    find,
    find_all,
    find_more,
    forget,
    is_ready,
    recall,
    remember,
    room,
    teach,
)
from onlineboost.contracts.rows import Pass, in_round, keep_votes


def _predict_block(handle, n_learners, from_i, from_b, t):
    """Send a block through the first `n_learners` of a segment without learning. Changes `rows` and scratch alone.

    Every row is predicted as the example of round t. Returns (i, b): the learner and the row that are to be made
    ready before it can go on; i = n_learners: all done.
    """
    learner, booster, rows, y, _, scratch, work = handle.parts
    rows = in_round(rows, t)
    find_all(learner, scratch, n_learners, from_i, rows, y[:0])
    while find_more(learner, scratch, rows):
        pass
    for i in range(from_i, n_learners):
        first = from_b if i == from_i else 0
        find(learner, i, rows, first, scratch)
        for b in range(first, rows.X.shape[0]):
            if not is_ready(learner, i, b):
                return i, b
            n, what = ask(learner, i, rows, b, scratch, work)
            place = prepare(booster, i, rows, b, -1, work, n)
            l = recall(learner, i, scratch) if recalls(booster) else -1
            if l < 0:
                l = vote(booster, i, rows, b, t, place, work, n)
            if recalls(booster):
                remember(learner, i, what, l, scratch)
            cast(booster, i, rows, b, l, work, n)
    return n_learners, 0


def _learn_block(handle, from_i, from_b, first_round):
    """Send a labelled block, whose first row is that of round `first_round`, through a segment.

    Every learner votes, then learns. Stops before the first (learner, row) that is not ready or has no room, and
    returns it with the room it needs: (i, b, three numbers). i = number of learners: all done.
    """
    learner, booster, rows, y, weight, scratch, work = handle.parts
    rows = in_round(rows, first_round)
    find_all(learner, scratch, booster.scale.size, from_i, rows, y)
    while find_more(learner, scratch, rows):
        pass
    for i in range(from_i, booster.scale.size):
        b = from_b if i == from_i else 0
        find(learner, i, rows, b, scratch)
        prepare_block(booster, i, rows, y)
        while b < rows.X.shape[0]:
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
            l = recall(learner, i, scratch) if recalls(booster) else -1
            if l < 0:
                l = vote(booster, i, rows, b, t, place, work, n)
            update(booster, i, rows, b, y[b], weight[b], l, place, work, n)
            if w > 0.0:
                teach(learner, i, rows, b, lesson(booster, i, rows, b, y[b]), w, t, what, scratch)
            if more(booster, i, rows, b):
                continue
            settle(booster, learner, i, rows, b, y[b], weight[b], w, scratch, work)
            if rows.again[b]:
                forget(learner, i, rows, b)
            b += 1
        settle_block(booster, i, rows, y, weight)
        if rows.trace.shape[0] > 0:
            keep_votes(rows, booster.offset + i)
    return booster.scale.size, 0, 0, 0, 0


predict_kept, learn_kept = entry_kernel(_predict_block), entry_kernel(_learn_block)
predict_foreign, learn_foreign = unkept_kernel(_predict_block), unkept_kernel(_learn_block)


def hold_pass(parts: Pass) -> Any:
    """A handle for the loops. For states of another package nothing is kept on disk: nobody would notice changes."""
    return hold(parts, foreign=is_foreign(parts))


def predicting_loop(handle: Any) -> Any:
    """`_predict_block`, compiled for such a pass: called with the handle and the other arguments."""
    return compiled(predict_foreign if is_foreign(handle.parts) else predict_kept, handle, 0, 0, 0, 0)


def learning_loop(handle: Any) -> Any:
    """`_learn_block`, likewise."""
    return compiled(learn_foreign if is_foreign(handle.parts) else learn_kept, handle, 0, 0, 0)


def is_foreign(parts: Pass) -> bool:
    """Whether a state of another package is in it."""
    return type(parts.booster) in BOOSTER.foreign or type(parts.learner) in LEARNER.foreign


def learn_block(parts: Pass) -> None:
    """Send a labelled block through learners that lack nothing."""
    handle = hold_pass(parts)
    learning_loop(handle)(handle, 0, 0, parts.rows.t)
