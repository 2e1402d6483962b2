"""What moves the votes of one row: from the model to an `Explanation`."""

from __future__ import annotations

from typing import Any
from typing import cast as typed

import numpy as np

from onlineboost.chain.experts import Combiner
from onlineboost.chain.model import Model
from onlineboost.chain.stacking import Stacking
from onlineboost.chain.stage import Voter
from onlineboost.data.errors import DataError
from onlineboost.explain.columns import in_stream_order, name_of, shown, value_of
from onlineboost.explain.explanation import Explanation
from onlineboost.explain.importances import moves_of
from onlineboost.panel.paths import said_by_panel, tellers_of
from onlineboost.panel.state import Panel
from onlineboost.trees.paths import children, tree_of
from onlineboost.trees.state import LeafRule

START = "what the trees say of any row"
ROUNDED = "what becomes of it as votes"
MIXED = "slow combiner, panel alone, chain alone"  # their shares of the mixture
MOST_PATHS = 3


def explain(model: Model, x: np.ndarray, combiner: Combiner) -> Explanation:
    """Why an encoded row, (1, columns), is given its label in the coming round."""
    if not model.k:
        raise DataError("there is nothing to explain before the first class is known")
    chain, k, labels = model.chain, model.k, list(model.labels.names)
    believed = np.array(chain.new_rows(x, k, None, None).X)
    who = chain.voters(k, combiner, now=True)
    cast = chain.votes(x, k, who)
    columns, others = np.zeros((x.shape[1], k)), dict[str, np.ndarray]()
    straight = np.eye(k)[None]
    (code,), p = chain.forecast(x, k, combiner)
    for voter, vote in zip(who, cast, strict=True):
        moved = moves_of(voter, believed, straight)
        if moved is None:
            _add(others, voter.learners.untold, vote)
            continue
        columns += moved.columns[0]
        _add(others, START, moved.start[0])
        _add(others, ROUNDED, vote - moved.start[0] - moved.columns[0].sum(axis=0))
    groups: dict[str, np.ndarray] = {} if who else {"votes": np.zeros(k)}
    for voter, vote in zip(who, cast, strict=True):
        _add(groups, voter.group, vote)
    if chain.panel is not None:
        columns += _add_panel(chain.panel.state, typed(Stacking, chain.end), believed, others, groups)
        so_far = columns.sum(axis=0) + sum(others.values(), np.zeros(k))
        logits = np.log(p[0])
        groups[MIXED] = logits - so_far - (logits - so_far).mean()
        _add(others, MIXED, groups[MIXED])
    scores = columns.sum(axis=0) + sum(others.values(), np.zeros(k))
    rest = [l for l in np.argsort(-scores, kind="stable").tolist() if l != code]
    encoder = model.encoder
    values: Any = np.array([None] * x.shape[1], dtype=object)
    values[[*encoder.numeric, *encoder.nominal]] = [value_of(encoder, c, x[0, c]) for c in range(x.shape[1])]
    outward = model.labels.outward
    return Explanation(
        labels[code],
        labels[rest[0]] if rest else None,
        list(model.labels.by_name(labels)),
        outward(scores),
        list(encoder.names),
        values.tolist(),
        outward(in_stream_order(encoder, columns)),
        {name: outward(part) for name, part in others.items()},
        {name: outward(part) for name, part in groups.items()},
        _paths(model, who, cast, believed, code, rest[0] if rest else None),
    )


def _add(parts: dict[str, np.ndarray], name: str, numbers: np.ndarray) -> None:
    parts[name] = parts.get(name, 0.0) + numbers


def _add_panel(
    panel: Panel, end: Stacking, x: np.ndarray, others: dict[str, np.ndarray], groups: dict[str, np.ndarray]
) -> np.ndarray:
    """What the panel and the last labels add; of the columns, (columns, k)."""
    k, beta = end.recency.shape[1], end.newton.beta
    said = said_by_panel(panel, x, k, tellers_of(panel, k))
    for name, voice in said.undivided():
        _add(others, f"panel: {name}", beta[0] * voice)
    cut = said.cut - (said.cut + said.columns.sum(axis=0) + said.voices.sum(axis=0)).mean()
    if np.abs(cut).max() > 1e-9:
        _add(others, "panel: votes that are cut", beta[0] * cut)
    columns: np.ndarray = beta[0] * said.columns
    groups["panel"] = columns.sum(axis=0) + beta[0] * (said.voices.sum(axis=0) + cut)
    groups["last labels"] = end.recent_labels(k)
    _add(others, "last labels", groups["last labels"])
    return columns


def _paths(model: Model, who: list[Voter], cast: np.ndarray, x: np.ndarray, code: int, other: int | None) -> list[str]:
    """The ways through the trees that speak most for the label."""
    speaks = cast[:, code] - (cast[:, other] if other is not None else 0.0)
    found = []
    for at in np.argsort(-speaks, kind="stable")[:MOST_PATHS].tolist():
        voter = who[at]
        trees = voter.learners.trees_of(voter.place)
        if trees and speaks[at] > 0.0:
            tree = trees[code if len(trees) > 1 else 0]
            name = f"learner {voter.number}"
            if voter.of_class >= 0:
                name += f" of {shown(model.labels.names[voter.of_class])}"
            found.append(f"{name} ({speaks[at]:+.3g}): {' and '.join(way(model, voter, tree, x)) or 'a single leaf'}")
    return found


def way(model: Model, voter: Voter, tree: int, x: np.ndarray) -> list[str]:
    """The splits that a row meets in a tree, in words."""
    forest, encoder = voter.learners.forest, model.encoder
    nodes = tree_of(forest, tree, max(model.k, 2))
    at, out = np.zeros(1, np.int64), []
    while nodes.first[at[0]] >= 0:
        place = int(nodes.at[at[0]])
        column, threshold = int(forest.nodes["feature"][place]), float(forest.nodes["threshold"][place])
        value = x[0, column]
        at = children(forest, nodes, at, x)
        name = name_of(encoder, column)
        if np.isnan(value):
            out.append(f"{name} is missing")
        elif np.isnan(threshold):
            out.append(f"{name} = {shown(value_of(encoder, column, value))}")
        else:
            out.append(f"{name} {'<=' if value <= threshold else '>'} {threshold:.4g}")
    lead = forest.details["bayes_lead"][nodes.at[at[0]]] >= 0.0 or forest.leaf == LeafRule.BAYES
    return [*out, "naive Bayes in the leaf"] if lead and forest.leaf != LeafRule.MAJORITY else out
