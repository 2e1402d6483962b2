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

Reviews fall into rounds that depend on the stream alone, and all draws are counter-based: how the stream is cut into
blocks makes no difference.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from onlineboost._compile.random import RESTART, child_key, uniform
from onlineboost.boosters.olm import edges_from
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import RESTART as RESTARTED
from onlineboost.trees.compact import restore

PERIOD = 256  # rounds between reviews
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
class Watch:
    """What reviews remember."""

    vote_cost: np.ndarray  # float64 (learners,) the two sums of the edges (boosters.olm) at the last review
    right_cost: np.ndarray
    lead: float = 0.0  # of young learners over older neighbours, summed over comparisons that fade
    compared: float = 0.0  # number of these comparisons
    changing: bool = False  # whether the stream is taken to change

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)

    @property
    def nbytes(self) -> int:
        return self.vote_cost.nbytes + self.right_cost.nbytes


def rounds_to_review(watch: Watch, t: int, auto: bool) -> int:
    """Rounds after round t until the next review."""
    period = PERIOD
    if auto and not watch.changing:
        while RARELY * period <= t and period < LONGEST:
            period *= 2
    return period - t % period


def review(chain: Chain, auto: bool) -> np.ndarray:
    """Restart the learners whose turn it is, by their edges since the last review; returns their numbers."""
    watch: Watch = chain.watch
    age = chain.t - chain.gather("born")
    vote_cost, right_cost = chain.gather("vote_cost"), chain.gather("right_cost")
    edges = edges_from(vote_cost - watch.vote_cost, right_cost - watch.right_cost)
    order = np.argsort(edges, kind="stable")
    if auto:
        _compare(watch, age, order, chain.t)
    if watch.changing or not auto:
        chosen = order[age[order] >= LEAST_AGE][: _how_many(age[order], chain.t)]
    else:
        chosen = _probes(age)
    _restart(chain, chosen, order)
    chain.diary.note(chain.t, RESTARTED, sorted(chosen.tolist()))
    watch.vote_cost, watch.right_cost = chain.gather("vote_cost"), chain.gather("right_cost")
    return chosen


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
    place[order] = np.linspace(0.0, 1.0, n)
    watch.lead *= FADE
    watch.compared *= FADE
    for i in np.flatnonzero((age < t) & (age - HEAD_START >= PERIOD) & (age - HEAD_START < GROWN)):
        near = slice(max(0, i - NEAR), i + NEAR + 1)
        old = age[near] >= age[i] + GAP
        if old.any():
            watch.lead += float(place[i] - place[near][old].mean())
            watch.compared += 1.0
    watch.changing = watch.lead / (watch.compared + DOUBT) > (SHUT if watch.changing else OPEN)


def _probes(age: np.ndarray) -> np.ndarray:
    """The probes that are old enough to restart, if there are learners that they could be compared with."""
    n = len(age)
    probes = n - 1 - 2 * np.arange(max(1, round(PROBES * n)))
    return probes[age[probes] >= LEAST_AGE] if n >= FEWEST and age.max() >= GAP else probes[:0]


def _restart(chain: Chain, chosen: np.ndarray, order: np.ndarray) -> None:
    """Start these learners again, with settings like those of the best; `order` is of all, worst first."""
    t, seed = chain.t, chain.seed
    good = np.setdiff1d(order[-max(1, chain.n_learners // 4) :], chosen)
    first = 0
    for segment in chain.segments:
        own = chosen[(chosen >= first) & (chosen < first + len(segment))]
        for learner in own:
            segment.booster.restart(learner - first, t - HEAD_START)
            settings = {}
            if len(good):
                donor = good[int(uniform(seed, RESTART, learner, t) * len(good))]
                settings = _settings_like(chain, donor, seed, learner)
            segment.learners.restart(learner - first, t, settings)
        if len(own):
            segment.learners.tidy()
        first += len(segment)


def _settings_like(chain: Chain, donor: int, seed: int, learner: int) -> dict[str, float]:
    """Settings near those of learner `donor`, for a learner that restarts now."""
    found = {}
    parts = [segment.learners.settings() for segment in chain.segments]
    for which, name in enumerate(parts[0]):
        values = np.concatenate([part[name] for part in parts])
        if np.ptp(values) > 0.0:
            u = uniform(child_key(seed, which), RESTART, learner, chain.t)
            found[name] = values[donor] * 2.0 ** (u - 0.5)
    return found
