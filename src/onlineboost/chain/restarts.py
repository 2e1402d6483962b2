"""Learners that start again: every so often, the worst ones are replaced by fresh ones with settings like the best.

The paper's appendix: "it is possible to restart poorly performing trees using parameters similar to better performing
trees in an automated and online (although ad hoc) fashion". The rule here, after every PERIOD rounds:

* of the learners that are at least LEAST_AGE rounds old, those with the smallest edges in these rounds restart;
* how many depends on how the restarted ones are doing. Sort all learners by their edges; the mean place of the young,
  from 0 (worst) to 1 (best), is about .25 where nothing changes, since those who restart are in the weaker places of
  the chain, and about .5 where the past is of little use. LEAST_SHARE of the learners restart while it is below LOW,
  MOST_SHARE from HIGH on, and in between in proportion;
* a fresh tree has its grace period, split confidence and tie threshold from a tree drawn among the best quarter, each
  times a factor drawn between 0.7 and 1.4 (a setting that all trees share stays as it is);
* its alpha and its edge start at 0. Alpha's steps are those of a learner of age HEAD_START: the very first steps
  would be as large as alpha can get, and the chain would stumble over them.

That costs a little where nothing changes. With restart="auto" it is done only while the stream seems to change, and an
experiment that costs next to nothing finds out: a few *probes* at the very end of the chain restart in every review. No
learners come after them but their neighbours, and Hedge can do without the last experts. Where the past is of use, a
young learner is behind neighbours that are GAP rounds older; where it gets ahead of them, old learners are a burden.
Its *lead* is its place less the mean place of such neighbours; leads are averaged over the reviews, recent ones
counting most. Once the mean is above OPEN the stream is taken to change, until it is below SHUT: then all restarted
learners are compared, and most of them stand where the weakest have stood, so that SHUT is below 0.

A review looks at the learners as they are after some round T. What it decides is done some rounds later: LAG, or half
as many as there are between two reviews. So threads need not wait for it: the segments hand in what a review has to
know of their learners as each passes round T, and are told what to do in time (`reviews.py`). The lag is part of the
rule, on one thread too. No review is held until what the last one has decided is done.

Reviews fall into rounds that depend on the stream alone, and all draws are counter-based: how the stream is cut into
blocks makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, NamedTuple

import numpy as np

from onlineboost._compile.random import RESTART, child_key, uniform
from onlineboost.boosters.olm import edges_from
from onlineboost.chain.segments import Segment
from onlineboost.contracts.schema import Field, f8, i8
from onlineboost.contracts.state import Restored

PERIOD = 256  # rounds between reviews
LAG = 256  # rounds from a review to what it has decided, at least
LEAST_SHARE, MOST_SHARE = 0.01, 0.08  # of the learners restart in a review (one at least)
LOW, HIGH = 0.3, 0.6  # mean place of the young learners that these go with
LEAST_AGE = 600  # rounds a learner is safe from restarts, its head start included
HEAD_START = 100  # rounds that a fresh learner's alpha counts as its age from the start
YOUNG = 1, 6  # a learner is young from one to six periods after its restart

# Of restart="auto":
RARELY, LONGEST = 16, 2048  # while nothing seems to change, PERIOD grows with the stream to t / RARELY, or to this
PROBES = 0.03  # of the learners are probes (one at least): the last one, the one before its neighbour, and so on
FEWEST = 10  # learners that are needed for probes
GAP = 1024  # rounds by which neighbours must be older to be compared with
GROWN = 4096  # rounds after its restart up to which a learner is compared
NEAR = 6  # places in the chain up to which a learner is a neighbour
FADE = 0.9  # what a comparison still counts one review later
DOUBT = 10.0  # comparisons with no lead at all that are taken to have been made: few comparisons are no evidence
OPEN, SHUT = 0.05, -0.07  # mean lead from which on the stream is taken to change, and down to which


@dataclass
class Plan(Restored):
    """What a review has decided."""

    at: int  # the round after which it is to be done
    chosen: Annotated[np.ndarray, i8("restarts", low=0)]  # the learners that start again
    # which they start with; NaN: those that they had
    settings: Annotated[np.ndarray, f8("restarts", "settings", low=0.0, missing=True)]

    def carry_out(self, segment: Segment) -> None:
        """Start the learners of this segment again whose turn it is."""
        place, learners = segment.place, segment.learners
        own = (self.chosen >= place.start) & (self.chosen < place.stop)
        if not own.any():
            return
        for learner, settings in zip(self.chosen[own] - place.start, self.settings[own], strict=True):
            given = {name: value for name, value in zip(learners.settings(), settings, strict=True) if value == value}
            segment.booster.restart(learner, self.at - HEAD_START)
            learners.restart(learner, self.at, given)
        learners.tidy()


@dataclass
class Watch(Restored):
    """What reviews remember."""

    vote_cost: Annotated[np.ndarray, f8("learners")]  # the two sums of the edges (boosters.olm) at the last review; of
    right_cost: Annotated[np.ndarray, f8("learners")]  # learners that it has chosen to start again, 0
    lead: float = 0.0  # of young learners over older neighbours, summed over comparisons that fade
    compared: Annotated[float, Field(low=0.0)] = 0.0  # number of these comparisons
    changing: bool = False  # whether the stream is taken to change
    plan: Annotated[Plan | None, Field(since=2)] = None  # what is still to be done

    @property
    def nbytes(self) -> int:
        return self.vote_cost.nbytes + self.right_cost.nbytes


class Told(NamedTuple):
    """What a census is told of the learners of a segment."""

    place: slice  # of its learners in the chain
    sums: dict[str, np.ndarray]  # (learners,) of the booster
    settings: dict[str, np.ndarray]  # (learners,)


def told_by(segment: Segment) -> Told:
    """The learners of a segment as they are now."""
    booster = segment.booster
    sums = {name: getattr(booster, name) for name in ("vote_cost", "right_cost", "born")}
    return Told(segment.place, sums, segment.learners.settings())


class Census:
    """What a review has to know of all learners, as they are after round t; segments hand it in one by one."""

    def __init__(self, t: int, n_learners: int) -> None:
        self.t = t
        self.vote_cost, self.right_cost = np.zeros(n_learners), np.zeros(n_learners)
        self.born = np.zeros(n_learners, np.int64)
        self.settings: dict[str, np.ndarray] = {}

    def put(self, told: Told) -> None:
        """The learners of a segment that has passed round t."""
        for name, values in told.sums.items():
            getattr(self, name)[told.place] = values
        for name, values in told.settings.items():
            self.settings.setdefault(name, np.zeros(len(self.born)))[told.place] = values

    def foresee(self, plan: Plan) -> None:
        """Let it be as if this plan, which is for this very round, had been carried out before the census."""
        self.vote_cost[plan.chosen] = self.right_cost[plan.chosen] = 0.0
        self.born[plan.chosen] = plan.at - HEAD_START
        for values, new in zip(self.settings.values(), plan.settings.T, strict=True):
            values[plan.chosen] = np.where(np.isnan(new), values[plan.chosen], new)


def lag_of(watch: Watch, t: int, auto: bool) -> int:
    """Rounds from the review of round t to what it decides."""
    return max(LAG, period_of(watch, t - 1, auto) // 2)


def most_lag() -> int:
    """The longest that there can be."""
    return max(LAG, PERIOD // 2, LONGEST // 2)


def period_of(watch: Watch, t: int, auto: bool) -> int:
    """Rounds between reviews, after round t."""
    return growing_period(t, PERIOD, RARELY, LONGEST if auto and not watch.changing else PERIOD)


def growing_period(t: int, period: int, rarely: int, longest: int) -> int:
    """A number of rounds that doubles up to t / rarely, or to the longest."""
    while rarely * period <= t and period < longest:
        period *= 2
    return period


def decide(watch: Watch, census: Census, seed: int, auto: bool) -> Plan:
    """The learners whose turn it is to restart, by their edges since the last review."""
    t = census.t
    at = t + lag_of(watch, t, auto)
    age = t - census.born
    edges = edges_from(census.vote_cost - watch.vote_cost, census.right_cost - watch.right_cost)
    order = np.argsort(edges, kind="stable")
    if auto:
        _compare(watch, age, order, t)
    if watch.changing or not auto:
        chosen = order[age[order] >= LEAST_AGE][: _how_many(age[order], t)]
    else:
        chosen = _probes(age)
    is_good = np.zeros(len(order), bool)
    is_good[order[-max(1, len(order) // 4) :]] = True
    is_good[chosen] = False
    good = np.flatnonzero(is_good)
    settings = np.full((len(chosen), len(census.settings)), np.nan)
    for which, values in enumerate(census.settings.values()):
        if len(good) and np.ptp(values) > 0.0:
            for row, learner in zip(settings, chosen, strict=True):
                donor = good[int(uniform(seed, RESTART, learner, t) * len(good))]
                u = uniform(child_key(seed, which), RESTART, learner, t)
                row[which] = values[donor] * 2.0 ** (u - 0.5)
    watch.vote_cost, watch.right_cost = census.vote_cost.copy(), census.right_cost.copy()
    watch.vote_cost[chosen] = watch.right_cost[chosen] = 0.0
    return Plan(at, chosen.astype(np.int64), settings)


def rehearse(segments: list[Segment]) -> None:
    """Have all kernels compiled that a restart needs."""
    uniform(child_key(0, 0), RESTART, 0, 0)
    for segment in segments[:1]:
        segment.learners.rehearse_restart()


def _how_many(age: np.ndarray, t: int) -> int:
    """How many learners are to restart, from the ages of all, worst learner first."""
    n = len(age)
    since = age - HEAD_START
    young = (age < t) & (since >= YOUNG[0] * PERIOD) & (since < YOUNG[1] * PERIOD)
    place = float(np.flatnonzero(young).mean()) / max(n - 1, 1) if young.any() else LOW
    share = LEAST_SHARE + (MOST_SHARE - LEAST_SHARE) * min(1.0, max(0.0, (place - LOW) / (HIGH - LOW)))
    return max(1, round(share * n))


def _compare(watch: Watch, age: np.ndarray, order: np.ndarray, t: int) -> None:
    """Compare young learners with older neighbours, and judge whether the stream changes; `order`: worst first."""
    n = len(age)
    place = np.empty(n)
    place[order] = _places(n)
    watch.lead *= FADE
    watch.compared *= FADE
    young = np.flatnonzero((age < t) & (age - HEAD_START >= PERIOD) & (age - HEAD_START < GROWN))
    near = young[:, None] + np.arange(-NEAR, NEAR + 1)
    inside = (near >= 0) & (near < n)
    near[~inside] = 0
    old = inside & (age[near] >= age[young, None] + GAP)
    number = old.sum(axis=1)
    mean = np.where(old, place[near], 0.0).sum(axis=1) / np.maximum(number, 1)
    watch.lead += float((place[young] - mean)[number > 0].sum())
    watch.compared += float((number > 0).sum())
    watch.changing = watch.lead / (watch.compared + DOUBT) > (SHUT if watch.changing else OPEN)


@lru_cache(1)
def _places(n: int) -> np.ndarray:
    return np.linspace(0.0, 1.0, n)


def _probes(age: np.ndarray) -> np.ndarray:
    """The probes that are old enough to restart, if there are learners that they could be compared with."""
    n = len(age)
    probes = n - 1 - 2 * np.arange(max(1, round(PROBES * n)))
    return probes[age[probes] >= LEAST_AGE] if n >= FEWEST and age.max() >= GAP else probes[:0]
