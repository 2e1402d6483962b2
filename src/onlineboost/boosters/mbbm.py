"""OnlineMBBM (Algorithm 1): costs from potentials, the loss to expect if the votes to come were random with an edge.

    C^i[r, l] = phi^r_{N-i}(s^{i-1} + e_l)                 what a vote l costs if the label is r; i counted from 1;
                                                           votes to come are drawn with the gammas of learners i+1..N
    w_t^i = sum_l (C[y, l] - C[y, y])                      weight of the learner's example
    s^i = s^{i-1} + e_l                                    its vote

The weights that the learners get are w over its mean so far, times TYPICAL, and at most MOST. The weak learning
condition asks for w / max w, but how large w can get depends much on gamma and on i, and a Hoeffding tree's speed on
the size of its weights: this keeps them alike. With `plain` they get w itself, as the paper has it.

Theorem 1 is an identity (docs/theory.md), and `Sums` has both sides of it, also for gammas and numbers of classes that
change on the way:

    examples lost in all N votes = sum_t phi_t(0) + sum_i sum_t w (D[y, l] - (1 - gamma_i) / k)
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.jit import inlined_kernel
from onlineboost.boosters.adaptive import (
    HOME,
    N_STEPS,
    NEXT,
    STEP,
    Sums,
    account_bounds,
    first_steps,
    largest_weights,
    next_steps,
)
from onlineboost.boosters.potentials import (
    Cache,
    Method,
    Tables,
    build_cache,
    excess_cost,
    expected_costs,
    find_costs,
    label_weight,
    make_costs,
    make_rows,
    want_rows,
)
from onlineboost.boosters.potentials.dense import DENSE_LIMIT
from onlineboost.boosters.potentials.tables import build_tables, recipe
from onlineboost.boosters.votes import Vote, cheapest, no_costs, only_choice
from onlineboost.contracts.booster import BOOSTER, FIRST, WHOLE_CHAIN, booster
from onlineboost.contracts.rows import Rows, leader
from onlineboost.contracts.schema import LEAST, SHARED, Field, f8, i8, whole

TYPICAL, MOST = 0.3, 3.0  # weights before scaling: of an example of mean weight, and the largest
CACHE_MEGABYTES = 64.0  # for costs met before, unless there is less memory
EXCESS, EXAMPLES = int(Sums.EXCESS), int(Sums.EXAMPLES)  # Numba 0.61 takes no members of an enum for places


class Gammas(IntEnum):
    """What is done with the learners' gammas."""

    UNKNOWN = 0  # they stay as they are, and no sums were kept from the start: a model of an older version
    FIXED = 1
    ADAPTIVE = 2


class MbbmNotes(NamedTuple):
    """What OnlineMBBM keeps of a block beside the votes."""

    own: np.ndarray  # float64 (rows,) w at the learner at work


@booster
class Mbbm(NamedTuple):
    """OnlineMBBM's part of a segment."""

    seed: int
    n_learners: Annotated[int, WHOLE_CHAIN]
    offset: Annotated[int, FIRST]
    scale: Annotated[np.ndarray, f8("learners")]
    vote: Annotated[int, whole(0, 3)]  # a Vote
    plain: bool  # whether learners get w itself, times their scale, as in the paper
    megabytes: Annotated[float, Field(low=LEAST, high=CACHE_MEGABYTES)]  # the most that a chain keeps of costs met
    # before; a thread that predicts keeps half of it at most
    vote_cost: Annotated[np.ndarray, f8("learners")]  # sum_t (C[y, l] - C[y, y]), times the example's weight
    weights: Annotated[np.ndarray, f8("learners")]  # sum_t w_t, times the same
    seen: Annotated[np.ndarray, f8("learners")]  # weight of all examples
    tables: Annotated[Tables, SHARED]  # the potentials, for as many classes as there are (two at least)
    cache: Annotated[Cache | None, Field(shared=True, saved=False)]  # costs met before; for one thread at a time
    gammas: Annotated[int, whole(0, 2, since=2)]  # a Gammas
    sums: Annotated[np.ndarray, f8("learners", len(Sums), since=2)]  # what each has lost and was given: Sums
    steps: Annotated[np.ndarray, i8("learners", 3, low=0, high=N_STEPS - 1, since=2)]  # of the ladder: STEP, NEXT, HOME

    def new_notes(self, n: int, k: int, weight: np.ndarray | None) -> MbbmNotes:
        return MbbmNotes(np.empty(n))

    def hand_on(self, rows: Rows) -> dict[str, np.ndarray]:
        return {}  # w is of the learner at work alone

    def edges(self, k: int) -> np.ndarray:
        """The gamma for which the weak learning condition holds with equality and S = 0.

        sum_t w_t D_t[y, l] = (1 - gamma) / k sum_t w_t
        """
        nothing = np.full(len(self.scale), 1.0 / k)
        return 1.0 - k * np.divide(self.vote_cost, self.weights, out=nothing, where=self.weights != 0.0)

    def probabilities(self, rows: Rows, n_votes: int) -> np.ndarray:
        return rows.s / n_votes  # shares of the votes

    def with_tables(self, tables: Tables) -> Mbbm:
        """From here on costs come from these tables. A cache may be kept for as long as k is the same."""
        sums, state = self.sums, self._replace(tables=tables)
        sums[:, Sums.PROMISED] += self.tables.start * sums[:, Sums.EXAMPLES]
        sums[:, Sums.EXAMPLES] = 0.0
        if tables.n_classes == self.tables.n_classes:
            return state
        sums[:, Sums.BEFORE] += sums[:, Sums.ACCOUNT] + sums[:, Sums.EXCESS]
        sums[:, [Sums.ACCOUNT, Sums.EXCESS, Sums.MOST]] = 0.0
        sums[:, Sums.BEGUN] = sums[:, Sums.REVIEWED] = self.weights
        self.steps[:, NEXT] = self.steps[:, HOME] = self.steps[:, STEP]
        return state.with_cache()

    def adapts(self) -> bool:
        return self.gammas == Gammas.ADAPTIVE

    def reviewed(self, tables: Tables) -> Mbbm:
        """In the round of a review: do what the last one has decided, with tables of these gammas, and decide again."""
        sums, steps, k = self.sums, self.steps, tables.n_classes
        moves = steps[:, NEXT] != steps[:, STEP]
        sums[moves, Sums.ACCOUNT] += sums[moves, Sums.EXCESS]
        sums[moves, Sums.EXCESS] = 0.0
        sums[moves, Sums.BEGUN] = self.weights[moves]
        sums[:, Sums.MOST] = np.maximum(sums[:, Sums.MOST], self.weights - sums[:, Sums.REVIEWED])
        sums[:, Sums.REVIEWED] = self.weights
        steps[:, STEP] = steps[:, NEXT]
        excess = sums[:, Sums.EXCESS]
        given = self.weights - sums[:, Sums.BEGUN]
        unit = self.largest_weights()
        steps[:, NEXT] = next_steps(steps[:, STEP], steps[:, HOME], excess, self.account(), given, unit, k)
        return self if tables is self.tables else self.with_tables(tables)

    def account(self) -> np.ndarray:
        """A_i, since there are as many classes as there are."""
        return self.sums[:, Sums.ACCOUNT] + self.sums[:, Sums.EXCESS]

    def account_bounds(self) -> np.ndarray:
        """What it can be at most, if gammas are adaptive."""
        most = np.maximum(self.sums[:, Sums.MOST], self.weights - self.sums[:, Sums.REVIEWED])
        return account_bounds(self.steps[:, STEP], self.steps[:, HOME], self.account(), self.largest_weights(), most)

    def largest_weights(self) -> np.ndarray:
        """w*_i."""
        left = self.n_learners - 1 - self.offset - np.arange(len(self.scale))
        return largest_weights(self.tables.n_classes, left)

    def tables_of(self, k: int, spare: float) -> Tables:
        most = DENSE_LIMIT + self.n_learners * (250.0 * self.n_learners + 700.0 * k)  # as measured, and some more
        if k == self.tables.n_classes or most <= spare:
            return self.tables
        return build_tables(**{**recipe(self.tables), "n_classes": k}, n_learners=self.n_learners)

    def with_cache(self, cache: Cache | None = None) -> Mbbm:
        if cache is None:
            share = len(self.scale) / self.n_learners
            cache = build_cache(self.tables, self.megabytes * min(1.0, 2.0 * share))  # those in the middle need most
        return self._replace(cache=cache)

    def completed(self) -> Mbbm:
        """The tables take up to 2 GB, and are computed from a few numbers."""
        given = recipe(self.tables)
        return self._replace(tables=build_tables(given.pop("n_classes"), self.n_learners, **given))

    def without_cache(self) -> Mbbm:
        return self._replace(cache=None)

    def new_cache(self) -> Cache:
        return build_cache(self.tables, self.megabytes / 2.0)

    def cache_bytes(self) -> int:
        return int(1.5e6 * self.megabytes)


class Ledger(NamedTuple):
    """Both sides of the identity, and the bound of theory/PROOFS.md: the loss of all N votes, by weight of examples."""

    promised: float  # sum_t phi_t(0)
    excess: float  # sum_i sum_t w (D[y, l] - (1 - gamma_i) / k); with `promised`, what was lost
    bound: float | None  # on both together, whatever the learners do, given what their weights were; adaptive gammas


def ledger(boosters: Sequence[Mbbm]) -> Ledger | None:
    """That of a whole chain, in segments; None: it is not known, or potentials are not those of the identity."""
    last = boosters[-1]
    if last.gammas == Gammas.UNKNOWN or last.tables.method == Method.MONTE_CARLO:
        return None
    promised = float(last.sums[-1, Sums.PROMISED] + last.tables.start * last.sums[-1, Sums.EXAMPLES])
    before = math.fsum(x for one in boosters for x in one.sums[:, Sums.BEFORE])
    excess = math.fsum([before, *(x for one in boosters for x in one.account())])
    if not last.adapts():
        return Ledger(promised, excess, None)
    bounds = math.fsum(x for one in boosters for x in one.account_bounds())
    return Ledger(promised, excess, promised + before + bounds)


def new_mbbm(
    vote: Vote,
    seed: int,
    scale: np.ndarray,
    tables: Tables,
    plain: bool = False,
    megabytes: float = CACHE_MEGABYTES,
    adaptive: bool = False,
) -> Mbbm:
    """A whole chain at t = 1; with `adaptive` the tables are those of `adaptive.first_steps`."""
    n = len(scale)
    return Mbbm(
        vote=int(vote),
        plain=plain,
        seed=seed,
        n_learners=n,
        offset=0,
        scale=np.array(scale, np.float64),
        vote_cost=np.zeros(n),
        weights=np.zeros(n),
        seen=np.zeros(n),
        megabytes=megabytes,
        tables=tables,
        cache=None,
        gammas=int(Gammas.ADAPTIVE if adaptive else Gammas.FIXED),
        sums=np.zeros((n, len(Sums))),
        steps=np.repeat(first_steps(n)[:, None] * adaptive, 3, axis=1),
    ).with_cache()


@inlined_kernel
def start(booster, rows, weight):
    return  # nothing of a block matters to the next one


@inlined_kernel
def prepare(booster, i, rows, b, y, work, n):
    """Look up the costs at the votes s; `place` is where in the cache they are.

    Only the rows r of C that will be asked for: that of y, and those of the labels that p has.
    """
    if rows.k < 2:
        return 0
    m = booster.n_learners - (booster.offset + i + 1)
    place = find_costs(booster.cache, rows.s[b], booster.tables.reach[m], booster.tables.key[m])
    if place < 0:
        place = make_costs(booster.cache)
    if want_rows(booster.cache, place, y, work.labels, work.p, n):
        make_rows(booster.tables, booster.cache, place, m)
    return place


@inlined_kernel
def weigh(booster, i, rows, b, y, weight, place):
    if rows.k < 2:
        rows.notes.own[b] = 0.0
        return 0.0
    own = label_weight(booster.cache, place, y)
    rows.notes.own[b] = own
    if booster.plain:
        return weight * booster.scale[i] * own
    mean = booster.weights[i] / max(booster.seen[i], 1.0)
    return weight * (booster.scale[i] * min(TYPICAL * own / mean, MOST) if mean > 0.0 else booster.scale[i] * TYPICAL)


@inlined_kernel
def vote(booster, i, rows, b, t, place, work, n):
    k = rows.k
    label, _ = only_choice(work, n)
    if label >= 0:
        return label
    size = no_costs(work, k)
    if booster.vote != Vote.ARGMAX and k > 1:
        expected_costs(booster.cache, place, work.labels, work.p, n, booster.vote, work.cost)
        for l in range(k):
            size = max(size, work.cost[l])
    return cheapest(booster, i, t, k, work, n, size)


@inlined_kernel
def cast(booster, i, rows, b, l, work, n):
    """s^i = s^{i-1} + e_l."""
    rows.s[b, l] += 1.0
    rows.lead[b] = leader(rows.s[b], rows.k, rows.lead[b], l)
    rows.experts[b, booster.offset + i] = rows.lead[b]


@inlined_kernel
def update(booster, i, rows, b, y, weight, l, place, work, n):
    booster.seen[i] += weight
    if rows.k > 1:
        cost, own = excess_cost(booster.cache, place, y, l), rows.notes.own[b]
        booster.vote_cost[i] += weight * cost
        booster.weights[i] += weight * own
        fair = booster.tables.q[booster.n_learners - (booster.offset + i + 1)]  # (1 - gamma) / k
        booster.sums[i, EXCESS] += weight * (cost - fair * own)
        booster.sums[i, EXAMPLES] += weight
    cast(booster, i, rows, b, l, work, n)


BOOSTER.implement(Mbbm, start, prepare, weigh, vote, cast, update)
