"""Could a model that was read have been learned? Kernels do not check their indices: what they go by is checked here.

What can be told of a state by itself is checked when it is made: types, shapes and ranges by its schema, trees by
`trees.compact`, panels by `panel.state`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np

from onlineboost.chain import diary as diaries
from onlineboost.chain.chain import Chain
from onlineboost.chain.clipping import COUNT, HIGH, LOW, Numbers
from onlineboost.chain.label_panels import LabelPanels
from onlineboost.chain.learners import BinaryTreeLearners, TreeLearners
from onlineboost.chain.model import Model
from onlineboost.chain.other_learners import ExternalLearners, MemberLearners
from onlineboost.chain.restarts import Plan, most_lag
from onlineboost.chain.segments import PanelStage
from onlineboost.chain.weights import MOST_WEIGHT
from onlineboost.contracts.state import check, require
from onlineboost.data.columns import COLUMNS
from onlineboost.data.encoder import Encoder
from onlineboost.data.places import AT_ONCE, EVIDENCE, MAX_VALUES, OWN, SHARED, Key, are_codes
from onlineboost.files import states
from onlineboost.files.states import STATES, Holds
from onlineboost.panel.columns import HEAVIEST
from onlineboost.panel.state import N_CLASSES, ROWS, check_newton
from onlineboost.trees.state import NOT_BORN, nominal_layout

MOST_ROUNDS = 1 << 62


def check_model(name: str, model: Model) -> None:
    """Everything in the model of the estimator of this name."""
    holds, chain, k = states.holds(name), model.chain, model.k
    require(chain.end.name in holds.chain, "the chain is of another kind")
    require(0 <= chain.t < MOST_ROUNDS, "the number of rounds")
    check_columns(model.encoder, chain.t)
    require(chain.n_numeric == len(model.encoder.numeric), "the number of numeric columns")
    check_numbers(chain.numbers, chain.n_numeric)
    check_evidence(chain.numbers, model)
    require(len(model.counts) <= k and (chain.costs is None or len(chain.costs) <= k), "the counts of the classes")
    require(model.limit is None or model.limit > 0, "the limit of the memory")
    if model.sets is not None:
        require(0 < len(model.sets.weight) <= 1 + k, "the classes of the prediction sets")
    mean = chain.mean_weight
    require(mean is None or (0.0 < mean <= MOST_WEIGHT if chain.t else mean == 0.0), "the mean of the weights")
    check_diary(chain.diary, model)
    require((chain.watch is not None) == holds.watch, "the state of the restarts")
    if chain.watch is not None:
        check(chain.watch, {"learners": chain.n_learners}, "watch.")
        check_plan(chain.watch.plan, chain)
    log_vs = chain.end.log_vs
    require(len(chain.segments) == len(log_vs) == (k if chain.end.takes_turns else 1), "the number of segments")
    require(len({len(log_v) for log_v in log_vs}) <= 1, "the lengths of the boosters")
    for segment, log_v in zip(chain.segments, log_vs, strict=True):
        require(len(log_v) == len(segment) > 0, "the weights of the experts")
        check_segment(segment, holds, model, classes=chain.end.classes_of(k))
    if chain.panel is not None:
        CHECKS[type(chain.panel)](chain, model)


def check_panelled(chain: Any, model: Model) -> None:
    """The panel, which has learned the rows since its last reset, and the combiners behind the chain."""
    panel, end = chain.panel.state, chain.end
    require(panel.shared.stats.used[ROWS] == chain.t - panel.alarm.rounds[0], "the rows of the panel")
    check_panel(panel, model, model.k, int(panel.shared.stats.used[ROWS]))
    check_combiner(end)


def check_combiner(end: Any) -> None:
    for newton in (end.newton, end.slow):
        check_newton(newton)
    for share in (end.mixture.share, end.mixture.first):
        require((share > 0.0).all() and abs(share.sum() - 1.0) < 1e-6, "the shares of the mixture")


def check_label_panels(chain: Any, model: Model) -> None:
    """Panels of two classes for the first labels; a panel has learned the rows since its label, or its last reset."""
    panels = chain.panel
    require(len(panels.labels) == min(model.k, panels.most) and len(panels.had) == 1 + model.k, "the panels of labels")
    require((panels.had[1:] <= panels.had[0]).all(), "how often there were labels")
    for own in panels.labels:
        check_combiner(own.combiner)
    for panel in (one.state for one in panels.panels):
        require(panel.shared.stats.used[ROWS] <= chain.t - panel.alarm.rounds[0], "the rows of a panel")
        check_panel(panel, model, 2, chain.t)
    require(panels.state.shared.stats.used[ROWS] == 0, "the rows of a panel")


def check_panel(panel: Any, model: Model, k: int, rows: int) -> None:
    """A panel of k classes, which has met `rows` at most."""
    counts, begun, stats = panel.alarm.counts, panel.alarm.rounds, panel.shared.stats
    require(((begun >= 0) & (begun <= model.chain.t)).all(), "the rounds of panel resets")
    require(((np.diff(begun) < 0) | (begun[1:] == 0)).all(), "the rounds of panel resets")
    require(stats.used[N_CLASSES] == k, "the classes of the panel")
    heaviest = HEAVIEST * rows * (1.0 + 1e-9)  # sums are rounded
    require(((counts >= 0.0) & (counts <= heaviest)).all(), "the labels that the panel has learned")
    check_dense(stats, model)


def check_dense(stats: Any, model: Model) -> None:
    """The columns of a panel or a member are the first of the model, which knows all values that it knows."""
    dense, sizes = stats.dense, model.encoder.sizes
    require(len(dense.origin) <= dense.offset == model.chain.n_numeric, "the columns of the panel")
    require(len(dense.place) <= len(sizes), "the columns of the panel")
    known = zip(dense.place, sizes, strict=False)
    require(not any(place[size:].any() for place, size in known), "the values of the panel")


def check_plan(plan: Plan | None, chain: Chain) -> None:
    """Learners of this chain, each once, and settings that they can have."""
    if plan is None:
        return
    n, settings = chain.n_learners, chain.segments[0].learners.settings()
    require(chain.t < plan.at <= chain.t + most_lag(), "the round of the restarts")
    require((plan.chosen < n).all(), "the learners that restart")
    require(len(plan.chosen) == len(np.unique(plan.chosen)), "the learners that restart")
    require(plan.settings.shape[1] == len(settings), "the settings of the restarts")


def check_diary(diary: diaries.Diary, model: Model) -> None:
    """Rows of these columns and classes, codes of values among them, and events that can have happened."""
    n, sizes = len(model.encoder.numeric), model.encoder.sizes
    check(diary, {"columns": n + len(sizes)}, "diary.")
    require(0 < len(diary.y) <= diaries.ROWS and ((diary.y >= -1) & (diary.y < model.k)).all(), "the rows of the diary")
    for column, size in zip(diary.X[diary.y >= 0, n:].T, sizes, strict=True):
        require(are_codes(column[~np.isnan(column)], size), "the values in the diary")
    row, kind, number = diary.events.T
    require(len(row) <= diary.most <= diaries.EVENTS, "the number of events")
    most = np.array([max(model.chain.n_learners, 1), model.k, n + len(sizes), 1 << 40])
    good = (row >= 0) & (row <= model.chain.t + 1) & (kind >= 0) & (kind <= diaries.MEMORY) & (number >= 0)
    require(good.all() and (np.diff(row) >= 0).all() and (number < most[kind]).all(), "the events")


def check_columns(encoder: Encoder, t: int) -> None:
    """Names that are text, nominal columns among them, and values in the order in which they came."""
    names = encoder.names
    require(names and all(type(name) is str for name in names) and len(set(names)) == len(names), "the column names")
    require(encoder.opens in COLUMNS, "whether new columns may turn up")
    nominal = encoder.nominal
    good = all(type(c) is int and 0 <= c < len(names) for c in nominal) and len(nominal) == len(encoder.codes)
    require(good and all(a < b for a, b in pairwise(nominal)), "the nominal columns")
    for codes, births in zip(encoder.codes, encoder.births, strict=True):
        require(len(codes) == len(births) <= MAX_VALUES, "the values of a nominal column")
        check_values(codes)
        require(all(-1 <= birth <= t for birth in births), "the rounds of the values")
        require(all(a <= b for a, b in pairwise(births)), "the rounds of the values")


def check_values(codes: dict[Key, int]) -> None:
    """Places are shared when the first values have theirs."""
    own = [type(value) is str for value in codes]
    require(all(own[:AT_ONCE]) and sum(own) <= OWN, "the values of a nominal column")
    others = [key for key in codes if type(key) is not str]
    require(all(type(key) is int and key < SHARED for key in others), "the values of a column")
    if any(cast(int, key) < 0 for key in others):
        require(others == [*codes][-len(EVIDENCE) :] == [*EVIDENCE], "the evidence of a column")


def check_evidence(numbers: Numbers, model: Model) -> None:
    """Every wide column has a table, and no other."""
    wide = [q for q, codes in enumerate(model.encoder.codes) if EVIDENCE[0] in codes]
    require(sorted(numbers.wide.tolist()) == wide, "the columns of many values")
    require(not wide or numbers.labels.shape[1] == model.k, "the evidence of the columns")
    most = numbers.cells.sum(axis=1, dtype=np.float64)
    require(np.allclose(most, numbers.labels, rtol=1e-2), "the evidence of the columns")


def check_numbers(numbers: Numbers, n_numeric: int) -> None:
    """How many numbers a column has shown is used to find its place among the smallest and largest."""
    count = numbers.moments[COUNT]
    require(numbers.moments.shape[1] == n_numeric, "the number of numeric columns")
    require(((count >= 0.0) & (count < MOST_ROUNDS) & (count == np.floor(count))).all(), "the counts of the columns")
    require((np.diff(numbers.ends[LOW], axis=0) >= 0.0).all(), "the smallest numbers of a column")
    require((np.diff(numbers.ends[HIGH], axis=0) <= 0.0).all(), "the largest numbers of a column")


def check_segment(segment: Any, holds: Holds, model: Model, classes: int) -> None:
    booster, learners = segment.booster, segment.learners
    require(holds.booster in ("", STATES.by_kind[type(booster)].name), "the booster is of another kind")
    require(STATES.by_kind[type(learners)].name in holds.learners, "the learners are of another kind")
    require(len(learners) == len(booster.scale), "the number of learners")
    if hasattr(booster, "born"):
        require((np.abs(booster.born) <= model.chain.t + (1 << 20)).all(), "the rounds in which learners started")
    if hasattr(booster, "tables"):
        require(booster.tables.n_classes == max(classes, 2), "the potentials")
        require(booster.tables.n_learners == len(booster.scale), "the potentials")
    if hasattr(booster, "psi"):
        require(booster.k == max(classes, 1), "the potentials of the labels")
    LEARNERS[type(learners)](learners, holds, model, classes)


def check_given(learners: ExternalLearners, holds: Holds, model: Model, classes: int) -> None:
    require(isinstance(learners.learners, list) and learners.k == max(classes, 1), "the learners")
    require(len(learners.started) == len(learners.learners), "the learners")


def check_members(learners: MemberLearners, holds: Holds, model: Model, classes: int) -> None:
    """Members of one kind, with the columns and classes of the model, and no more rows than it has."""
    kinds = {STATES.by_kind[type(member)].name for member in learners.members}
    require(len(kinds) == 1 and kinds <= set(holds.members or kinds), "the learners are of another kind")
    for member in learners.members:
        stats = member.shared.stats
        require(stats.used[N_CLASSES] == classes and 0 <= stats.used[ROWS] <= model.chain.t, "the rows of a member")
        check_dense(stats, model)


def check_trees(learners: TreeLearners, holds: Holds, model: Model, classes: int) -> None:
    """With the columns of the model, and leaves that know `classes` classes."""
    forest, encoder = learners.forest, model.encoder
    each = learners.trees_per_learner(classes)
    require(len(forest.roots) == len(learners) * each, "the number of trees")
    require(forest.n_numeric == len(encoder.numeric), "the number of numeric columns")
    left_out = np.diff(forest.offset) == 1
    births = [
        [] if none and len(births) > AT_ONCE and not model.chain.end.trees_see_wide else births
        for none, births in zip(left_out, encoder.births, strict=True)
    ]
    layout = nominal_layout(forest.n_numeric, [len(rounds) for rounds in births])
    require(np.array_equal(forest.offset, layout), "the places of the values")
    rounds = [birth for column in births for birth in (NOT_BORN, *column)]
    require(np.array_equal(forest.birth, rounds), "the rounds of the values")
    known = learners.labels_of_a_tree(classes)
    require(forest.rows["label"].max(initial=-1) < known, "the labels")


CHECKS: dict[type, Any] = {PanelStage: check_panelled, LabelPanels: check_label_panels}
LEARNERS: dict[type, Any] = {
    TreeLearners: check_trees,
    BinaryTreeLearners: check_trees,
    ExternalLearners: check_given,
    MemberLearners: check_members,
}
