"""Could a model that was read have been learned? Kernels do not check their indices: what they go by is checked here.

What can be told of a state by itself is checked when it is made (`states`): trees in `forests`, members in `panels`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from onlineboost.chain import diary as diaries
from onlineboost.chain.chain import Chain
from onlineboost.chain.learners import BinaryTreeLearners, GivenLearners, TreeLearners
from onlineboost.chain.members import MemberLearners
from onlineboost.chain.numbers import COUNT, HIGH, LOW, Numbers
from onlineboost.chain.restarts import Plan, most_lag
from onlineboost.data.encoder import Encoder
from onlineboost.data.open_columns import COLUMNS
from onlineboost.data.places import AT_ONCE, MAX_VALUES, OWN, SHARED, Key
from onlineboost.estimators.checks import MOST_WEIGHT
from onlineboost.estimators.model import Model
from onlineboost.estimators.panel_members import MOST as MOST_NEIGHBOURS
from onlineboost.estimators.saved.fields import check, check_finite
from onlineboost.estimators.saved.forests import check_forest
from onlineboost.estimators.saved.panels import check_inside, check_newton
from onlineboost.estimators.saved.states import HOLDS, STATES, Holds
from onlineboost.panel.ground import HEAVIEST
from onlineboost.panel.state import N_CLASSES, ROWS

MOST_ROUNDS = 1 << 62


def check_model(name: str, model: Model) -> None:
    """Everything in the model of the estimator of this name."""
    holds, chain, k = HOLDS[name], model.chain, model.k
    check(chain.end.name in holds.chain, "the chain is of another kind")
    check(0 <= chain.t < MOST_ROUNDS and -(1 << 63) <= chain.seed < 1 << 63, "the rounds or the seed are out of range")
    check_columns(model.encoder, chain.t)
    check(chain.n_numeric == len(model.encoder.numeric), "the number of numeric columns")
    check_numbers(chain.numbers, chain.n_numeric)
    check(len(model.counts) <= k and (chain.costs is None or len(chain.costs) <= k), "the counts of the classes")
    check(model.limit is None or model.limit > 0, "the limit of the memory")
    mean = chain.mean_weight
    check(mean is None or (0.0 < mean <= MOST_WEIGHT if chain.t else mean == 0.0), "the mean of the weights")
    check_diary(chain.diary, model)
    check((chain.watch is not None) == holds.watch, "the watch of the restarts")
    if chain.watch is not None:
        check(len(chain.watch.vote_cost) == chain.n_learners, "the watch of the restarts")
        check_finite(chain.watch.vote_cost, chain.watch.right_cost, np.array([chain.watch.lead]))
        check(0.0 <= chain.watch.compared < np.inf, "the watch of the restarts")
        check_plan(chain.watch.plan, chain)
    log_vs = chain.end.log_vs
    check(len(chain.segments) == len(log_vs) == (k if chain.end.takes_turns else 1), "the number of segments")
    check(len({len(log_v) for log_v in log_vs}) <= 1, "the lengths of the boosters")
    for segment, log_v in zip(chain.segments, log_vs, strict=True):
        check(len(log_v) == len(segment) > 0, "the weights of the experts")
        check_segment(segment, holds, model, classes=chain.end.classes_of(k))
    if chain.panel is not None:
        check_panelled(chain, model)
    check_finite(*log_vs)


def check_panelled(chain: Any, model: Model) -> None:
    """The panel, which has learned the rows since it last began anew, and the combiners behind the chain."""
    panel, end = chain.panel.state, chain.end
    counts, begun = panel.alarm.counts, panel.alarm.rounds
    check(((begun >= 0) & (begun <= chain.t)).all(), "when the panel has begun anew")
    check(((np.diff(begun) < 0) | (begun[1:] == 0)).all(), "when the panel has begun anew")
    check(panel.used[N_CLASSES] == model.k, "the classes of the panel")
    check(panel.used[ROWS] == chain.t - begun[0], "the rows of the panel")
    heaviest = HEAVIEST * int(panel.used[ROWS]) * (1.0 + 1e-9)  # sums are rounded
    check(((counts >= 0.0) & (counts <= heaviest)).all(), "the labels that the panel has learned")
    check_dense(panel, model)
    for newton in (end.newton, end.slow):
        check_newton(newton)
    check_inside("recency", end.recency)
    check_finite(end.mixture.lost)
    share = end.mixture.share
    check((share > 0.0).all() and abs(share.sum() - 1.0) < 1e-6, "the shares of the mixture")


def check_dense(ground: Any, model: Model) -> None:
    """The columns of a panel or a member are the first of the model, which knows all values that it knows."""
    dense, sizes = ground.dense, model.encoder.sizes
    check(len(dense.origin) <= dense.offset == model.chain.n_numeric, "the columns of the panel")
    check(len(dense.place) <= len(sizes), "the columns of the panel")
    known = zip(dense.place, sizes, strict=False)
    check(not any(place[size:].any() for place, size in known), "the values of the panel")


def check_plan(plan: Plan | None, chain: Chain) -> None:
    """Learners of this chain, each once, and settings that they can have."""
    if plan is None:
        return
    n, settings = chain.n_learners, chain.segments[0].learners.settings()
    check(chain.t < plan.at <= chain.t + most_lag(), "the round of the restarts")
    check(((plan.chosen >= 0) & (plan.chosen < n)).all(), "the learners that restart")
    check(len(plan.chosen) == len(np.unique(plan.chosen)), "the learners that restart")
    given = plan.settings[~np.isnan(plan.settings)]
    check(plan.settings.shape[1] == len(settings) and np.isfinite(given).all(), "the settings of the restarts")
    check((given >= 0.0).all(), "the settings of the restarts")


def check_diary(diary: diaries.Diary, model: Model) -> None:
    """Rows of these columns and classes, codes of values among them, and events that can have happened."""
    n, sizes = len(model.encoder.numeric), model.encoder.sizes
    check(diary.X.shape == (len(diary.y), n + len(sizes)) and 0 < len(diary.y) <= diaries.ROWS, "the rows of the diary")
    check(not np.isinf(diary.X).any() and ((diary.y >= -1) & (diary.y < model.k)).all(), "the rows of the diary")
    for column, size in zip(diary.X[diary.y >= 0, n:].T, sizes, strict=True):
        codes = column[~np.isnan(column)]
        check(((codes >= 0) & (codes < size) & (codes == np.floor(codes))).all(), "the values in the diary")
    row, kind, number = diary.events.T
    check(len(row) <= diary.most <= diaries.EVENTS, "the number of events")
    most = np.array([max(model.chain.n_learners, 1), model.k, n + len(sizes), 1 << 40])
    good = (row >= 0) & (row <= model.chain.t + 1) & (kind >= 0) & (kind <= diaries.MEMORY) & (number >= 0)
    check(good.all() and (np.diff(row) >= 0).all() and (number < most[kind]).all(), "the events")


def check_columns(encoder: Encoder, t: int) -> None:
    """Names that are text, nominal columns among them, and values in the order in which they came."""
    names = encoder.names
    check(names and all(type(name) is str for name in names) and len(set(names)) == len(names), "the column names")
    check(encoder.opens in COLUMNS, "whether new columns may turn up")
    nominal = encoder.nominal
    good = all(type(c) is int and 0 <= c < len(names) for c in nominal) and len(nominal) == len(encoder.codes)
    check(good and all(a < b for a, b in pairwise(nominal)), "the nominal columns")
    for codes, births in zip(encoder.codes, encoder.births, strict=True):
        check(len(codes) == len(births) <= MAX_VALUES, "the values of a nominal column")
        check_values(codes)
        check(all(-1 <= birth <= t for birth in births), "the rounds of the values")
        check(all(a <= b for a, b in pairwise(births)), "the rounds of the values")


def check_values(codes: dict[Key, int]) -> None:
    """Places are shared when the first values have theirs."""
    own = [type(value) is str for value in codes]
    check(all(own[:AT_ONCE]) and sum(own) <= OWN, "the values of a nominal column")
    check(all(type(v) is str or (type(v) is int and 0 <= v < SHARED) for v in codes), "the values of a column")


def check_numbers(numbers: Numbers, n_numeric: int) -> None:
    """How many numbers a column has shown is used to find its place among the smallest and largest."""
    count = numbers.moments[COUNT]
    check(numbers.moments.shape[1] == n_numeric, "the number of numeric columns")
    check_finite(numbers.moments, numbers.ends)
    check(((count >= 0.0) & (count < MOST_ROUNDS) & (count == np.floor(count))).all(), "the counts of the columns")
    check((np.diff(numbers.ends[LOW], axis=0) >= 0.0).all(), "the smallest numbers of a column")
    check((np.diff(numbers.ends[HIGH], axis=0) <= 0.0).all(), "the largest numbers of a column")


def check_segment(segment: Any, holds: Holds, model: Model, classes: int) -> None:
    booster, learners = segment.booster, segment.learners
    check(STATES.by_kind[type(booster)].name == holds.booster, "the booster is of another kind")
    check(STATES.by_kind[type(learners)].name in holds.learners, "the learners are of another kind")
    check(len(learners) == len(booster.scale), "the number of learners")
    check_finite(*(getattr(booster, name) for name in booster.per_learner()))
    if hasattr(booster, "born"):
        check((np.abs(booster.born) <= model.chain.t + (1 << 20)).all(), "the rounds in which learners started")
    if hasattr(booster, "tables"):
        check(booster.tables.n_classes == max(classes, 2), "the potentials")
        check(booster.tables.n_learners == len(booster.scale), "the potentials")
    if isinstance(learners, GivenLearners):
        check(isinstance(learners.learners, list) and learners.k == max(classes, 1), "the learners")
        check(len(learners.started) == len(learners.learners), "the learners")
        return
    if isinstance(learners, MemberLearners):
        check_members(learners, holds, model, classes)
        return
    assert isinstance(learners, TreeLearners)
    trees = len(booster.scale)
    if isinstance(learners, BinaryTreeLearners):
        trees, classes = trees * classes, 2
    check_forest(learners.forest, trees, classes, model.encoder)


def check_members(learners: MemberLearners, holds: Holds, model: Model, classes: int) -> None:
    """Members of one kind, with the columns and classes of the model, and no more rows than it has."""
    kinds = {STATES.by_kind[type(member)].name for member in learners.members}
    check(len(kinds) == 1 and kinds <= set(holds.members or kinds), "the learners are of another kind")
    for member in learners.members:
        ground = member.ground
        check(ground.used[N_CLASSES] == classes and 0 <= ground.used[ROWS] <= model.chain.t, "the rows of a member")
        check_dense(ground, model)
        check(1 <= getattr(member, "many", 1) <= MOST_NEIGHBOURS, "the neighbours of a member")
