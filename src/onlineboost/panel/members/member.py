"""A member of the panel by itself, as a weak learner.

A member is a NamedTuple with two fields that all have, `ground` (what it knows of the columns) and `number` (its number
among the learners of its segment), and its own. `MEMBER` is what each kind has to say for itself; from that, `ask` and
`teach` of the contract of a weak learner are made here, for all of them. A row that is not taught leaves no trace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.dispatch import Contract
from onlineboost._compile.jit import bare_kernel, entry_kernel, inlined_kernel
from onlineboost.contracts import learner as contract
from onlineboost.panel.dense import HEAVIEST, LIGHTEST, densify
from onlineboost.panel.ground import (
    learn_columns,
    meet_columns,
    misfit_number,
    start_column_again,
)
from onlineboost.panel.state import COLUMNS

MEMBER = Contract("member of a panel")
Member = Any  # one of the NamedTuples of this package


class MemberWork(NamedTuple):
    """Scratch for one row."""

    values: np.ndarray  # float64 (columns,) the dense row
    there: np.ndarray  # float64 (columns,) 0 where a value is missing
    sums: np.ndarray  # float64 (3, columns)
    p: np.ndarray  # float64 (k,)
    own: Any  # of this kind of member


def new_member_work(member: Member, k: int) -> MemberWork:
    n = len(member.ground.columns.centre)
    return MemberWork(np.zeros(n), np.zeros(n), np.zeros((3, n)), np.empty(k), member.new_work(k))


# ------------------------------------------------------------------------------------------- what each has to say


@MEMBER.optional
def start(member, first, stop):
    """Dense columns first, ..., stop - 1 are in use from here on."""
    return


@MEMBER.optional
def move(member, j, n, k, factor, shift):
    """What was v in dense column j, of n, is v * factor + shift from here on, and nothing else is known of it."""
    return


@MEMBER.kernel
def say(member, n, k, work, p):
    """p[:k] of the row in work.values, of n columns."""


@MEMBER.kernel
def learn(member, n, k, y, weight, work):
    """Learn the row that `say` was last asked about, before the columns do."""


@MEMBER.optional
def refreshed(member, n, work):
    """The weights of the columns have been taken anew."""
    return


# ---------------------------------------------------------------------------------------------------- what all do


@entry_kernel
def start_numbers(member):
    """Of a new member: its numeric columns."""
    start(member, 0, member.ground.used[COLUMNS])


@bare_kernel
def ask_member(member, x, k, work, p):
    """p[:k] of a row. Changes nothing else."""
    ground = member.ground
    n = ground.used[COLUMNS]
    densify(ground.dense, ground.seed, x, ground.columns.total.mean, n, work.values, work.there)
    say(member, n, k, work, p)


@bare_kernel
def teach_member(member, x, k, y, weight, work):
    """Learn the row that `ask_member` was last asked about; asked again where it brings something new."""
    ground = member.ground
    before = ground.used[COLUMNS]
    new = meet_columns(ground, x, k)
    n, weight = ground.used[COLUMNS], min(max(weight, LIGHTEST), HEAVIEST)
    if new:
        start(member, before, n)
    c = misfit_number(ground, x, 0)
    while c >= 0:
        j, factor, shift = start_column_again(ground, c, x[c], k)
        move(member, j, n, k, factor, shift)
        c = misfit_number(ground, x, c + 1)
        new = True
    if new:
        ask_member(member, x, k, work, work.p)
    learn(member, n, k, y, weight, work)
    if learn_columns(ground, work.values, work.there, n, k, y, weight, work.sums):
        refreshed(member, n, work)


@inlined_kernel
def is_ready(member, i, b):
    return member.number == i


@inlined_kernel
def ask(member, i, rows, b, scratch, work):
    ask_member(member, rows.X[b], rows.k, scratch, work.p)
    for l in range(rows.k):
        work.labels[l] = l
    return rows.k, 0


@inlined_kernel
def teach(member, i, rows, b, y, weight, t, what, scratch):
    teach_member(member, rows.X[b], rows.k, y, weight, scratch)


def implement(kind: type, *functions: Any) -> None:
    """A kind of member, by its functions of `MEMBER`: it is a weak learner then."""
    MEMBER.implement(kind, *functions)
    contract.LEARNER.implement(kind, is_ready, ask, teach)
