"""A model in a few lines: what it is, what it has met, what it takes, and which columns matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from onlineboost.chain.experts import Combiner
from onlineboost.chain.memory_budget import forests_of
from onlineboost.chain.model import Model
from onlineboost.data.errors import DataError
from onlineboost.explain.columns import shown
from onlineboost.explain.events import events
from onlineboost.explain.importances import importances
from onlineboost.panel.state import NAMES

MOST_NAMES, TOP = 12, 5


def lines(clf: Any, model: Model, combiner: Combiner) -> list[tuple[str, str]]:
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
        found.append(("panel began anew", f"{times}, the last time after row {begun[-1]:,}"))
    others = [str(event) for event in happened if event.kind not in ("restart", "new panel")][-3:]
    if others:
        found.append(("last events", "; ".join(others)))
    limit = "no limit" if model.limit is None else f"limit {_size(model.limit)}"
    found.append(("memory", f"{_size(clf.nbytes_)}, {limit}"))
    return found


def text(clf: Any, model: Model, combiner: Combiner) -> str:
    pairs = lines(clf, model, combiner)
    width = max(len(name) for name, _ in pairs)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in pairs)


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
    worth = np.array([abs(voter.weight) * np.abs(voter.effect).max() for voter in who])
    found = []
    for at in np.argsort(-worth, kind="stable")[:TOP].tolist():
        of_class = f" of {shown(model.labels.names[who[at].of_class])}" if who[at].of_class >= 0 else ""
        found.append(f"{who[at].number}{of_class} ({worth[at]:.3g})")
    return ", ".join(found)


def _top(model: Model, combiner: Combiner) -> str:
    try:
        share = importances(model, combiner)
    except DataError:
        return "learners of another make do not tell"
    order = [c for c in np.argsort(-share, kind="stable")[:TOP].tolist() if share[c] > 0.0]
    return ", ".join(f"{shown(model.encoder.names[c])} {share[c]:.0%}" for c in order) or "none so far"
