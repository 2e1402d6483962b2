"""Members of the panel by themselves in model files: a state for each kind, and the list of them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from onlineboost.chain.members import MemberLearners
from onlineboost.estimators.saved.fields import States
from onlineboost.estimators.saved.panels import fields_of, make_member, take
from onlineboost.panel.members.cosines import new_cosines
from onlineboost.panel.members.eager_trees import new_eager_trees
from onlineboost.panel.members.least_squares import new_linear
from onlineboost.panel.members.nearest_neighbours import new_nearest_neighbours
from onlineboost.panel.members.refitted_trees import new_refitted_trees
from onlineboost.panel.state import new_ground

KINDS: dict[str, Callable[..., Any]] = {
    "eager-trees": new_eager_trees,
    "nearest-neighbours": partial(new_nearest_neighbours, many=1),
    "linear": new_linear,
    "cosines": new_cosines,
    "refitted-trees": new_refitted_trees,
}


def add_members(states: States) -> None:
    for name, new in KINDS.items():
        example = new(new_ground(1, 1, 0))
        states.add(name, type(example), fields_of(example), take, partial(make_member, new), fresh=True)
    kinds = f"[{'|'.join(KINDS)}]"
    states.add("members", MemberLearners, {"members": kinds}, lambda own: {"members": own.members})
