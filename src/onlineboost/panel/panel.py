"""The panel: unlike learners side by side, ahead of the chain. Each row is first predicted, then learned.

A row is made of numbers (`columns`), all members say what they make of it, and two combiners by Newton's steps add
that up, one whose coefficients change fast and one slowly. A mixture (`combiner`) of both and, at first, of every voice
by itself, in logits, clipped, is what the chain starts from. Which members there are is written in `state` alone: here
they are called by their contract (`member`). How a stream is cut into blocks makes no difference.

A panel of one member, without a combiner, is that member by itself: a weak learner by the contract of all of them. A
row that is not taught leaves no trace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost._compile.fastmath import log
from onlineboost._compile.jit import bare_kernel, entry_kernel, inlined_kernel, small_kernel
from onlineboost.contracts.learner import LEARNER
from onlineboost.panel.columns import (
    COLUMNS,
    CONSTANT,
    HEAVIEST,
    LIGHTEST,
    ROWS,
    ColumnStats,
    densify,
    learn_columns,
    meet_columns,
    misfit_number,
    start_column_again,
)
from onlineboost.panel.combiner import (
    EXPECTED,
    FADE,
    LEAST,
    PANEL_RIDGE,
    SLOW_FADE,
    SLOWEST_FADE,
    TINY,
    NewtonWork,
    add_voices,
    centre,
    combine,
    learn_newton,
    logits_of,
    new_newton_work,
    raised,
    share_out,
    should_reset,
    softmax,
    weigh_voices,
)
from onlineboost.panel.least_squares import FOLD
from onlineboost.panel.member import Row, learn_each, move_each, prepare_each, refreshed_each, say_each, start_each
from onlineboost.panel.remembered import RECENT
from onlineboost.panel.state import ALONE, MEMBERS, NAMES, own_sizes, parts_of

REACH = 8.0  # of the votes that the chain starts from
SLOWEST = 4  # rules of a panel whose slow combiner is that of today


class PanelWork(NamedTuple):
    """Scratch for one row."""

    row: Row
    shared: tuple[Any, ...]  # of each shared part,
    members: tuple[Any, ...]  # and of each member
    said: tuple[np.ndarray, ...]  # float64 (its voices, k) what it says: rows of newton.logits
    floors: np.ndarray  # float64 (voices,) what is added to probabilities before the logarithm; 0: it says logits
    again: np.ndarray  # float64 (k,) votes for a row that is asked about twice
    newton: NewtonWork  # its p is what the panel says
    fast: np.ndarray  # float64 (k,) probabilities by the fast combiner,
    slow: np.ndarray  # float64 (k,) and by the slow one,
    single: np.ndarray  # float64 (voices, k) and by each voice that has a share of its own
    votes: np.ndarray  # float64 (k,)


def new_panel_work(panel: Any, k: int) -> PanelWork:
    """For a panel, or for members by themselves of one kind that have room for no more columns."""
    parts = parts_of(panel)
    n, width = len(panel.shared.stats.columns.centre), panel.shared.stats.width
    recent = own_sizes(panel).get("recent", 0) if hasattr(panel, "newton") else RECENT
    sizes = {"columns": n, "classes": k, "width": width, "recent": recent}
    voices = sum(len(member.voices) for member in parts.members)
    rules = panel.rules.copy() if hasattr(panel, "newton") else np.array([1])
    newton, floors = new_newton_work(voices, k), np.zeros(voices)
    for member in parts.members:
        if not member.logits:
            floors[list(member.voices)] = LEAST if rules[0] < 2 else member.floor
    row = Row(
        np.zeros(n),
        np.zeros(n),
        np.zeros(len(panel.shared.stats.dense.place)),
        np.zeros(n),
        np.zeros(2 * FOLD),
        np.zeros((3, max(n, 2 * FOLD))),
        np.full(k, 1.0 / max(k, 1)),
        rules,
    )
    return PanelWork(
        row,
        tuple(part.new_work(own, sizes) for part, own in zip(parts.shared, panel.shared, strict=True)),
        tuple(part.new_work(own, sizes) for part, own in zip(parts.members, panel.members, strict=True)),
        tuple(newton.logits[min(part.voices) : max(part.voices) + 1] for part in parts.members),
        floors,
        np.zeros(k),
        newton,
        np.zeros(k),
        np.zeros(k),
        np.zeros((voices, k)),
        np.zeros(k),
    )


# ---------------------------------------------------------------------------------------------------------- all panels


@entry_kernel
def start_columns(panel, first, stop):
    """Dense columns first, ..., stop - 1 are in use from here on."""
    start_each(panel.shared, panel.shared, first, stop)
    start_each(panel.members, panel.shared, first, stop)


def begin(panel: Any) -> None:
    """What a panel that has learned nothing draws for the columns that are in use."""
    start_columns(panel, 0, int(panel.shared.stats.used[COLUMNS]))


@bare_kernel
def ask_members(panel, x, k, work):
    """What each member says of a row, in work.newton.logits."""
    shared, row, stats = panel.shared, work.row, panel.shared.stats
    n = stats.used[COLUMNS]
    densify(stats.dense, stats.seed, x, stats.columns.total.mean, n, row.values, row.there)
    for q in range(row.codes.size):
        row.codes[q] = x[stats.dense.offset + q]
    prepare_each(shared, work.shared, shared, row, n, k)
    say_each(panel.members, work.members, work.said, shared, row, n, k)


@small_kernel
def meet_row(panel, x, k):
    """Origins, units and new nominal values of a row that is to be learned; whether there was anything new."""
    stats = panel.shared.stats
    before = stats.used[COLUMNS]
    new = meet_columns(stats, x, k)
    n = stats.used[COLUMNS]
    if n > before:
        start_columns(panel, before, n)
    c = misfit_number(stats, x, 0)
    while c >= 0:
        j, factor, shift = start_column_again(stats, c, x[c], k)
        move_each(panel.shared, panel.shared, j, n, k, factor, shift)
        move_each(panel.members, panel.shared, j, n, k, factor, shift)
        c = misfit_number(stats, x, c + 1)
        new = True
    return new


@small_kernel
def learn_members(panel, k, y, weight, work):
    """The members learn the row that they were last asked about."""
    shared, row, stats = panel.shared, work.row, panel.shared.stats
    n = stats.used[COLUMNS]
    learn_each(shared, work.shared, shared, row, n, k, y, weight)
    learn_each(panel.members, work.members, shared, row, n, k, y, weight)
    if learn_columns(stats, row.values, row.there, n, k, y, weight, row.sums):
        refreshed_each(shared, work.shared, shared, row, n, k)
        refreshed_each(panel.members, work.members, shared, row, n, k)


# ----------------------------------------------------------------------------------------------------- with a combiner


@entry_kernel
def ask_panel(panel, X, k, work, s):
    """s[b] for every row, as if it came next. Changes nothing else."""
    for b in range(X.shape[0]):
        ask_row(panel, X[b], k, work, s[b])


@small_kernel
def learn_asked(panel, x, y, weight, k, work):
    """Learn the row that `ask_row` was last asked about; True: not so, for the panel must begin anew after it."""
    w = min(max(weight, LIGHTEST), HEAVIEST)
    if should_reset(panel.alarm, work.newton.p, k, y, w):
        return True
    learn_combiners(panel, work, k, y, w)
    if meet_row(panel, x, k):
        combine_members(panel, x, k, work, work.again)
    learn_members(panel, k, y, w, work)
    return False


@bare_kernel
def ask_row(panel, x, k, work, s):
    """What the panel says of a row: s[:k]."""
    take_prior(panel.alarm.counts, k, work.row.prior)
    combine_members(panel, x, k, work, s)


@bare_kernel
def combine_members(panel, x, k, work, s):
    """What the panel says of a row, with the frequencies of the classes as they are in `work`."""
    ask_members(panel, x, k, work)
    logits = work.newton.logits
    for voice in range(work.floors.size):
        if work.floors[voice] > 0.0:
            logits_of(logits[voice], k, logits[voice], work.floors[voice])
    if panel.rules[0] >= 2:
        combine(panel.slow, work.newton, k)
        for c in range(k):
            work.slow[c] = work.newton.p[c]
    combine(panel.newton, work.newton, k)
    mix_combiners(panel, work, k)
    clipped_votes(work, k, s)


@bare_kernel
def take_prior(counts, k, prior):
    """The frequencies of the classes so far."""
    total = 1.0
    for c in range(k):
        total += counts[c]
    for c in range(k):
        prior[c] = (counts[c] + 1.0 / k) / total


@bare_kernel
def mix_combiners(panel, work, k):
    """What the panel says: probabilities, and votes."""
    p, votes = work.newton.p, work.votes
    if panel.rules[0] < 2:
        for c in range(k):
            votes[c] = work.newton.total[c]
        return
    for c in range(k):
        work.fast[c] = p[c]
        p[c] = panel.shares[0] * work.fast[c] + panel.shares[1] * work.slow[c]
    add_voices(panel.trust, work.newton.logits, k, work.single, p)
    for c in range(k):
        votes[c] = log(p[c] + TINY)
    centre(votes, k)


@bare_kernel
def learn_combiners(panel, work, k, y, weight):
    """Both learn by what each of them has said; shares of the mixture move as in `combiner.learn_mixture`.

    But what is given back, so that no share is ever lost, goes to the combiners: single voices are for the first rows.
    """
    p, shares, trust = work.newton.p, panel.shares, panel.trust
    if panel.rules[0] >= 2:
        power, a = min(weight, 1.0), 1.0 / (panel.shared.stats.used[ROWS] + 2.0)
        fast = shares[0] * raised(max(work.fast[y], TINY), power)
        slow = shares[1] * raised(max(work.slow[y], TINY), power)
        whole = fast + slow + weigh_voices(trust, work.single, y, power)
        shares[0] = (1.0 - a) * fast / whole + 0.5 * a
        shares[1] = 1.0 - share_out(trust, (1.0 - a) / whole) - shares[0]
        for c in range(k):
            p[c] = work.slow[c]
        new = panel.rules[0] >= SLOWEST
        fade, expected = SLOWEST_FADE if new else SLOW_FADE, EXPECTED if new else 0.0
        learn_newton(panel.slow, work.newton, k, y, weight, fade, PANEL_RIDGE, expected)
        for c in range(k):
            p[c] = work.fast[c]
    learn_newton(panel.newton, work.newton, k, y, weight, FADE, PANEL_RIDGE)


@bare_kernel
def clipped_votes(work, k, s):
    """s[:k] by what the members have said together."""
    for c in range(k):
        s[c] = min(max(work.votes[c], -REACH), REACH)


# ------------------------------------------------------------------------------------------------ a member by itself


@bare_kernel
def ask_alone(member, x, k, work, p):
    """p[:k] of a row. Changes nothing else."""
    ask_members(member, x, k, work)
    said = work.newton.logits[0]
    if work.floors[0] > 0.0:
        for c in range(k):
            p[c] = said[c]
    else:
        softmax(said, k, p)


@bare_kernel
def teach_alone(member, x, k, y, weight, work):
    """Learn the row that `ask_alone` was last asked about; asked again where it brings something new."""
    if meet_row(member, x, k):
        ask_alone(member, x, k, work, work.again)
    learn_members(member, k, y, min(max(weight, LIGHTEST), HEAVIEST), work)


@inlined_kernel
def is_ready(member, i, b):
    return member.number == i


@inlined_kernel
def ask(member, i, rows, b, scratch, work):
    ask_alone(member, rows.X[b], rows.k, scratch, work.p)
    for l in range(rows.k):
        work.labels[l] = l
    return rows.k, 0


@inlined_kernel
def teach(member, i, rows, b, y, weight, t, what, scratch):
    teach_alone(member, rows.X[b], rows.k, y, weight, scratch)


for alone in ALONE.values():
    LEARNER.implement(alone, is_ready, ask, teach)


# -------------------------------------------------------------------------------- which columns move what it says
# In NumPy, for explanations. A member that can tell has a function for it in its `Part`: for a panel's state, and k
# classes, what each dense column adds to the logits of its voice, for any row. Others, as the neighbours and the
# cosines, weigh all columns up at once: what they say stays in one piece.

TOLD = {name for member in MEMBERS if member.tell is not None for name in member.voices.values()}


class Said(NamedTuple):
    """What the panel says of one row: numbers per class that add up to its votes."""

    voices: np.ndarray  # float64 (voices, k) with their coefficients
    cut: np.ndarray  # float64 (k,) what is lost where votes are cut at their limit, and where combiners are mixed
    columns: np.ndarray  # float64 (encoded columns, k) of the voices of which it can be told

    def undivided(self) -> list[tuple[str, np.ndarray]]:
        """The voices, by name, less what is told of columns."""
        return list(zip(NAMES, self.voices, strict=True))


def tellers_of(panel: Any, k: int) -> dict[int, Any]:
    """What tells of columns, for each member that can, by its place."""
    own = zip(parts_of(panel).members, panel.members, strict=True)
    return {i: member.tell(state, panel.shared, k) for i, (member, state) in enumerate(own) if member.tell is not None}


def said_by_panel(panel: Any, x: np.ndarray, k: int, tellers: dict[int, Any], *, leave_out: int = -1) -> Said:
    """What the panel says of a row x (1, columns), and why.

    `tellers` are those of `tellers_of`. With `leave_out`, the row is one that was learned with this label, and trees
    are asked as if they had not.
    """
    work, s = new_panel_work(panel, k), np.empty((1, k))
    ask_panel(panel, x, k, work, s)
    beta = panel.shares[0] * panel.newton.beta + panel.shares[1] * panel.slow.beta + panel.trust
    logits = work.newton.logits
    voices = beta[:, None] * logits
    columns = np.zeros((x.shape[1], k))
    owner = owners(panel.shared.stats)
    if owner is not None:
        for i, told in tellers.items():
            (voice,) = parts_of(panel).members[i].voices
            parts = beta[voice] * told(work.members[i], work.row, len(owner), leave_out)
            np.add.at(columns, owner, parts)
            voices[voice] -= parts.sum(axis=0)
    return Said(voices, s[0] - beta @ logits, columns)


def owners(stats: ColumnStats) -> np.ndarray | None:
    """The column of the stream that each dense column in use belongs to; None: several share one."""
    dense, n = stats.dense, int(stats.used[COLUMNS])
    if len(dense.origin) > dense.n_numbers:
        return None
    return np.where(np.arange(n) < dense.n_numbers, np.arange(n), dense.offset + dense.owner[:n])


def column_weights(stats: ColumnStats, n_columns: int) -> np.ndarray:
    """What each column tells of the classes, beside the others: eta^2, of all values of a nominal one together."""
    out, spread, owner = np.zeros(n_columns), np.zeros(n_columns), owners(stats)
    if owner is not None:
        variance = np.maximum(stats.columns.variance[: len(owner)], CONSTANT)
        np.add.at(spread, owner, variance)
        np.add.at(out, owner, stats.columns.pull[: len(owner)] * np.sqrt(variance) * variance)
        out /= np.maximum(spread, CONSTANT)
    return out / max(out.sum(), 1e-300)
