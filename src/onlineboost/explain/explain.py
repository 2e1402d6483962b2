"""Explanations of a model: which columns matter, why a row has its label, what has happened, a summary."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any

import numpy as np

from onlineboost.chain.diary import MEMORY, NEW_CLASS, NEW_COLUMN, RESTART
from onlineboost.chain.experts import Combiner
from onlineboost.chain.memory_budget import forests_of
from onlineboost.chain.model import Model
from onlineboost.chain.stacking import Stacking
from onlineboost.chain.stage import Voter
from onlineboost.data.encoder import Encoder
from onlineboost.data.errors import DataError, did_you_mean, near_names
from onlineboost.explain.shapley import shapley
from onlineboost.explain.tree_view import TreeView
from onlineboost.explain.views import Event, Explanation, by_bayes, shown, test_of
from onlineboost.panel.panel import TOLD, column_weights, said_by_panel, tellers_of
from onlineboost.panel.state import NAMES, Panel
from onlineboost.trees.paths import Moves, children, tree_of
from onlineboost.trees.state import Forest

START = "what the trees say of any row"
OF_ANY_ROW = "what the model says of one of the last rows"
LEAST = 1e-12  # of a probability, in a logit
ROUNDED = "what becomes of it as votes"
MIXED = "slow combiner, panel alone, chain alone"  # their shares of the mixture
MOST_PATHS = 3
MOST_NAMES, TOP = 12, 5  # of a summary
KINDS = {RESTART: "restart", NEW_CLASS: "new class", NEW_COLUMN: "new column", MEMORY: "memory"}


# ------------------------------------------------------------------------------------------------ which columns matter
#
# For each of the last rows that the diary has kept, each learner's path says what each column has added to the score
# of the row's label, less the mean of what it has added to the others' (`trees.paths`), times what the learner's vote
# is worth now. A column that only fits noise adds as much for the wrong classes as for the right one. Means below 0
# count as 0, and the rest is scaled to the sum 1. Behind a panel, its voices count by their coefficients: eager trees
# (as if they had not seen the row) and the linear one by paths and terms; the others in proportion to eta^2
# (`panel.column_weights`), and so do members of the panel that are weak learners.


class NotTold(DataError, AttributeError):
    """There are no importances: an AttributeError, so that `hasattr` and notebooks take the attribute as absent."""


def importances(model: Model, combiner: Combiner) -> np.ndarray:
    """The share of each column, in the order of the stream; all 0 if no column has been of use so far."""
    chain, k = model.chain, model.k
    X, y = chain.diary.kept()
    total = np.zeros(len(model.encoder.names))
    if k > 1 and len(y):
        X = chain.as_told(X, y)
        towards = np.full((len(y), k, 1), -1.0 / (k - 1))
        towards[np.arange(len(y)), y] = 1.0
        for voter in chain.voters(k, combiner, now=False):
            if (moved := _moves(voter, X, towards)) is not None:
                total += moved.columns[:, :, 0].mean(axis=0)
            elif (counted := voter.learners.column_weights(voter.place, len(total))) is not None:
                total += _worth(voter) * counted
            else:
                raise NotTold(voter.learners.no_tree)
        if chain.panel is not None:
            for panel, end, effect in chain.panel.of_classes(k, chain.end):
                own = effect.argmax(axis=0)[y]  # which class of the panel's own speaks most for the label
                total += end.newton.beta[0] * _of_panel(panel, X, own, towards[:, :, 0] @ effect.T) / len(y)
    total = np.maximum(_in_stream_order(model.encoder, total), 0.0)
    whole = total.sum()
    return total / whole if whole > 0.0 else total


def _in_stream_order(encoder: Encoder, encoded: np.ndarray) -> np.ndarray:
    """What is told of the encoded columns (first axis), numeric ones first, in the order of the stream's."""
    out = np.empty_like(encoded)
    out[[*encoder.numeric, *encoder.nominal]] = encoded
    return out


def _worth(voter: Voter) -> float:
    """What a learner's vote is worth at most."""
    return float(abs(voter.weight) * np.abs(voter.effect).max())


def _moves(voter: Voter, X: np.ndarray, directions: np.ndarray) -> Moves | None:
    """How a learner comes to what it says of rows, in directions (rows, classes, directions) of the score."""
    own = voter.weight * np.einsum("lk,rkd->rld", voter.effect, directions)
    moved: Moves | None = voter.learners.moves(voter.place, X, own)
    return moved


def _of_panel(panel: Panel, X: np.ndarray, y: np.ndarray, towards: np.ndarray) -> np.ndarray:
    """What each column does for the panel's votes, summed over these rows."""
    k = towards.shape[1]
    tellers, weights = tellers_of(panel, k), column_weights(panel.shared.stats, X.shape[1])
    total = np.zeros(X.shape[1])
    for x, label, direction in zip(X, y, towards, strict=True):
        said = said_by_panel(panel, x[None, :], k, tellers, leave_out=int(label))
        whole = [voice @ direction for name, voice in said.undivided() if name not in TOLD]
        total += said.columns @ direction + weights * max(0.0, sum(whole))
    return total


# --------------------------------------------------------------------------------------------- why a row has its label


BY = ("parts", "columns")


def explain(
    model: Model, x: np.ndarray, combiner: Combiner, label: Any, by: str, texts: Sequence[str | None]
) -> Explanation:
    """Why an encoded row, (1, columns), is given its label in the coming round; or what speaks for another label.

    `texts` is what the row has in the nominal columns: of many values a model keeps no names.
    """
    if by not in BY:
        raise DataError(f"by must be one of {', '.join(map(repr, BY))}, got {by!r}")
    if not model.k:
        raise DataError("there is nothing to explain before the first class is known")
    (predicted,), p = model.chain.forecast(x, model.k, combiner)
    code = int(predicted) if label is None else _code_of(model, label)
    found = _by_columns(model, x, combiner) if by == "columns" else _by_parts(model, x, combiner, p)
    columns, others, groups, votes = found
    scores = columns.sum(axis=0) + sum(others.values(), np.zeros(model.k))
    other = next((l for l in np.argsort(-scores, kind="stable").tolist() if l != code), None)
    labels, encoder, outward = list(model.labels.names), model.encoder, model.labels.outward
    numbers = (None if np.isnan(value) else float(value) for value in x[0, : len(encoder.numeric)])
    values = np.array([*numbers, *texts], object)
    return Explanation(
        label=labels[code],
        runner_up=None if other is None else labels[other],
        predicted=labels[predicted],
        probability=float(p[0, code]),
        classes=list(model.labels.by_name(labels)),
        scores=outward(scores),
        columns=list(encoder.names),
        values=_in_stream_order(encoder, values).tolist(),
        contributions=outward(_in_stream_order(encoder, columns)),
        others={name: outward(part) for name, part in others.items()},
        groups={name: outward(part) for name, part in groups.items()},
        paths=[] if votes is None else _paths(model, *votes, code, other),
    )


def _code_of(model: Model, label: Any) -> int:
    names = [shown(name) for name in model.labels.names]
    with suppress(DataError):  # the labels were fixed, and it is none of them
        codes, new = model.labels.read_one(label)
        if not new:
            return int(codes[0])
    near = did_you_mean(near_names(str(label), names))
    raise DataError(f"no row had the label {label!r} so far.{near} Labels: {_some(names)}")


Parts = dict[str, np.ndarray]
Votes = tuple[list[Voter], np.ndarray, np.ndarray]  # who votes, what, and for which row
Found = tuple[np.ndarray, Parts, Parts, Votes | None]  # what columns (columns, k) and others add; the same by groups


def _by_columns(model: Model, x: np.ndarray, combiner: Combiner) -> Found:
    """The logits of the probabilities, all of them shared out among the columns."""

    def logits(rows: np.ndarray) -> np.ndarray:
        logs = np.log(np.maximum(model.chain.forecast(rows, model.k, combiner)[1], LEAST))
        return np.asarray(logs - logs.mean(axis=1, keepdims=True))

    starts, _ = model.chain.diary.kept()
    columns, base = shapley(logits, x[0], starts if len(starts) else np.full_like(x, np.nan))
    return columns, {OF_ANY_ROW: base}, {}, None


def _by_parts(model: Model, x: np.ndarray, combiner: Combiner, p: np.ndarray) -> Found:
    """The score, shared out among columns where a part of the model can tell, and among parts where not."""
    chain, k = model.chain, model.k
    believed = np.array(chain.new_rows(x, k, None, None).X)
    who = chain.voters(k, combiner, now=True)
    cast = chain.votes(x, k, who)
    columns, others = np.zeros((x.shape[1], k)), Parts()
    groups: Parts = {} if who else {"votes": np.zeros(k)}
    straight = np.eye(k)[None]
    for voter, vote in zip(who, cast, strict=True):
        _add(groups, voter.group, vote)
        moved = _moves(voter, believed, straight)
        if moved is None:
            _add(others, voter.learners.untold, vote)
            continue
        columns += moved.columns[0]
        _add(others, START, moved.start[0])
        _add(others, ROUNDED, vote - moved.start[0] - moved.columns[0].sum(axis=0))
    if chain.panel is not None:
        for panel, end, effect in chain.panel.of_classes(k, chain.end):
            columns += _add_panel(panel, end, effect, believed, others, groups)
        so_far = columns.sum(axis=0) + sum(others.values(), np.zeros(k))
        groups[MIXED] = chain.end.scores(chain.head(x, k, combiner).rows.s[0] + sum(cast), p[0]) - so_far
        _add(others, MIXED, groups[MIXED])
    return columns, others, groups, (who, cast, believed)


def _add(parts: dict[str, np.ndarray], name: str, numbers: np.ndarray) -> None:
    parts[name] = parts.get(name, 0.0) + numbers


# arguments: a panel, its combiner, what its votes add to the scores of the classes, the row, and where it is noted
def _add_panel(
    panel: Panel, end: Stacking, effect: np.ndarray, x: np.ndarray, others: Parts, groups: Parts
) -> np.ndarray:
    """What the panel and the last labels add; of the columns, (columns, classes)."""
    k, beta = end.recency.shape[1], end.newton.beta
    said = said_by_panel(panel, x, k, tellers_of(panel, k))
    for name, voice in said.undivided():
        _add(others, f"panel: {name}", beta[0] * voice @ effect)
    cut = said.cut - (said.cut + said.columns.sum(axis=0) + said.voices.sum(axis=0)).mean()
    if np.abs(cut).max() > 1e-9:
        _add(others, "panel: votes that are cut", beta[0] * cut @ effect)
    columns: np.ndarray = beta[0] * said.columns @ effect
    _add(groups, "panel", columns.sum(axis=0) + beta[0] * (said.voices.sum(axis=0) + cut) @ effect)
    for parts in (groups, others):
        _add(parts, "last labels", end.recent_labels(k) @ effect)
    return columns


def _paths(model: Model, who: list[Voter], cast: np.ndarray, x: np.ndarray, code: int, other: int | None) -> list[str]:
    """The ways through the trees that speak most for the label."""
    speaks = cast[:, code] - (cast[:, other] if other is not None else 0.0)
    found = []
    for at in np.argsort(-speaks, kind="stable")[:MOST_PATHS].tolist():
        voter = who[at]
        trees = voter.learners.trees_of(voter.place)
        if trees and speaks[at] > 0.0:
            way = _way(model, voter.learners.forest, trees[code if len(trees) > 1 else 0], x)
            name = f"learner {voter.number}{_of_class(model, voter)}"
            found.append(f"{name} ({speaks[at]:+.3g}): {' and '.join(way) or 'a single leaf'}")
    return found


def _of_class(model: Model, voter: Voter) -> str:
    return f" of {shown(model.labels.names[voter.of_class])}" if voter.of_class >= 0 else ""


def _way(model: Model, forest: Forest, tree: int, x: np.ndarray) -> list[str]:
    """The splits that a row meets in a tree, in words."""
    nodes = tree_of(forest, tree, max(model.k, 2))
    at, out = np.zeros(1, np.int64), []
    while nodes.first[at[0]] >= 0:
        place = int(nodes.at[at[0]])
        value, threshold = x[0, forest.nodes["feature"][place]], forest.nodes["threshold"][place]
        is_code = np.isnan(value) or np.isnan(threshold)
        out.append(test_of(model.encoder, forest, place, value if is_code else value > threshold))
        at = children(forest, nodes, at, x)
    return [*out, "naive Bayes in the leaf"] if by_bayes(forest, nodes.at[at[0]]) else out


def tree_view(model: Model, i: int, of_class: Any) -> TreeView:
    """Learner i's tree; `of_class` says whose, where each class has trees of its own."""
    chain, names = model.chain, list(model.labels.names)
    labels, title, order = [shown(label) for label in names], f"tree of learner {i}", model.labels.order
    segments = chain.segments
    if chain.end.takes_turns or segments[0].learners.trees_per_learner(2) > 1:
        if of_class not in names:
            raise DataError(f"each class has trees of its own: say whose with of_class, one of {names}")
        labels, title, order = ["another class", shown(of_class)], f"{title} for {shown(of_class)}", None
        if chain.end.takes_turns:
            segments = [segments[names.index(of_class)]]
    elif of_class is not None:
        raise DataError("of_class is for models with trees for each class; here one tree knows all classes")
    places: list[tuple[Any, int]] = [(segment.learners, place) for segment in segments for place in range(len(segment))]
    if not isinstance(i, int | np.integer) or isinstance(i, bool):
        raise DataError(f"i is the number of a learner, from 0 to {len(places) - 1}, got {i!r}")
    if not 0 <= i < len(places):
        raise DataError(f"there is no learner {i}: they are 0 to {len(places) - 1}")
    learners, place = places[i]
    trees = learners.trees_of(place)
    if not trees:
        raise DataError(learners.no_tree)
    tree = trees[names.index(of_class) if len(trees) > 1 else 0]
    return TreeView(learners.forest, tree, model.encoder, labels, title, order)


# ------------------------------------------------------------------------------------------------ what has happened


def events(model: Model) -> list[Event]:
    """The last events, the oldest first."""
    names = {NEW_CLASS: model.labels.names, NEW_COLUMN: model.encoder.names}
    found = []
    for (row, kind), group in groupby(model.chain.diary.events.tolist(), key=lambda event: (event[0], event[1])):
        what = [names[kind][number] if kind in names else number for _, _, number in group]
        found.append(Event(row, KINDS[kind], tuple(what)))
    if model.chain.panel is not None:
        found += [Event(row, "new panel", ()) for row in model.chain.panel.resets()]
    return sorted(found, key=lambda event: event.row)


# ---------------------------------------------------------------------------------------------------- a summary


def summary_lines(clf: Any, model: Model, combiner: Combiner) -> list[tuple[str, str]]:
    """What there is to know, as pairs of a name and a text."""
    chain, encoder = model.chain, model.encoder
    nominal = f", {len(encoder.nominal)} of them nominal" if encoder.nominal else ""
    found = [
        ("model", type(clf).__name__),
        ("rows learned", f"{chain.t:,}"),
        ("classes", f"{model.k}: {_some([shown(label) for label in model.labels.by_name(model.labels.names)])}"),
        ("columns", f"{len(encoder.names)}{nominal}: {_some([shown(name) for name in encoder.names])}"),
        ("learners", _learners(model)),
    ]
    if chain.t and model.k:
        if chain.n_learners > 1:
            found.append(("learners that count most", _best(model, combiner)))
        found.append(("columns that matter", _top(model, combiner)))
    happened = events(model)
    restarts = [event for event in happened if event.kind == "restart"]
    if chain.watch is not None:
        last = f", the last in row {restarts[-1].row:,}" if restarts else ""
        found.append(("restarts", f"{sum(len(event.what) for event in restarts)} kept in events_{last}"))
    begun = [event.row for event in happened if event.kind == "new panel"]
    if begun:
        times = "once" if len(begun) == 1 else f"{len(begun)} times"
        found.append(("panel was reset", f"{times}, the last time after row {begun[-1]:,}"))
    others = [str(event) for event in happened if event.kind not in ("restart", "new panel")][-3:]
    if others:
        found.append(("last events", "; ".join(others)))
    limit = "no limit" if model.limit is None else f"limit {_size(model.limit)}"
    found.append(("memory", f"{_size(clf.nbytes_)}, {limit}"))
    return found


def _some(names: list[str]) -> str:
    more = f", ... and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return ", ".join(names[:MOST_NAMES]) + more


def _size(n: int) -> str:
    return f"{n / 1e6:,.1f} MB" if n >= 10**6 else f"{n / 1e3:,.1f} kB"


def _learners(model: Model) -> str:
    chain = model.chain
    what = "" if chain.panel is None else f"a panel of {len(NAMES)} voices, then "
    each = f" ({chain.n_learners // max(model.k, 1)} for each class)" if chain.end.takes_turns else ""
    forests = forests_of(chain)
    leaves = sum(int(np.sum(forest.budget["nodes"])) for forest in forests)
    trees = f"; {leaves:,} nodes in their trees" if forests else ""
    return f"{what}{chain.n_learners}{each}{trees}"


def _best(model: Model, combiner: Combiner) -> str:
    """The learners whose votes are worth most now."""
    who = model.chain.voters(model.k, combiner, now=False)
    worth = np.array(list(map(_worth, who)))
    found = []
    for at in np.argsort(-worth, kind="stable")[:TOP].tolist():
        found.append(f"{who[at].number}{_of_class(model, who[at])} ({worth[at]:.3g})")
    return ", ".join(found)


def _top(model: Model, combiner: Combiner) -> str:
    try:
        share = importances(model, combiner)
    except DataError:
        return "learners of other libraries do not tell"
    order = [c for c in np.argsort(-share, kind="stable")[:TOP].tolist() if share[c] > 0.0]
    return ", ".join(f"{shown(model.encoder.names[c])} {share[c]:.0%}" for c in order) or "none so far"
