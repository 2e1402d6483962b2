"""The systems of the paper's tables, and ours beside them: which model, with which settings."""

from __future__ import annotations

from typing import Any

from onlineboost.data.errors import DataError
from onlineboost.estimators import lookup

N_LEARNERS = 100

RESTARTS = {"restart": "always", "no-restart": "never"}


def make_model(model: str, settings: str, n_learners: int, seed: int) -> Any:
    """A model by its name in the registry, if need be with an option: adaboost-olm:restart, adaboost-olm:no-restart or
    online-mbbm:GAMMA.

    `settings` is "default", or "paper": the paper's weak learners, the weight scale of its authors' code, and no
    restarts unless the name asks for them. The algorithms are ours either way, with all corrections (docs/paper.md).
    """
    name, _, option = model.partition(":")
    chosen: dict[str, Any] = {"n_learners": n_learners, "random_state": seed}
    if settings == "paper":
        tree = lookup.load("hoeffding-tree").paper(draws="log")  # the one setting in which it differs: docs/paper.md
        chosen |= {"learner": tree, "weight_scale": (5, 200), "restart": "never"}
        if name == "hoeffding-tree":
            chosen = tree.get_params() | chosen
    if option:
        asked = {"restart": RESTARTS[option]} if option in RESTARTS else {"gamma": _number(option, model)}
        if not asked.keys() <= set(lookup.settings_of(name)):
            raise ValueError(f"{model!r}: {name} has no setting {', '.join(asked)}")
        chosen |= asked
    return lookup.make(name, **chosen)


def _number(option: str, model: str) -> float:
    try:
        return float(option)
    except ValueError:
        raise ValueError(f"{model!r}: {option!r} is neither a gamma nor one of {', '.join(RESTARTS)}") from None


OURS = "default"  # the column that is to beat the paper's best
SYSTEMS = {  # heading: model and settings
    "DT": ("best-tree", "paper"),
    "OLB": ("oza-boost", "paper"),
    "AdaOLM": ("adaboost-olm", "paper"),
    "MB .3": ("online-mbbm:0.3", "paper"),
    "MB .1": ("online-mbbm:0.1", "paper"),
    "MB .05": ("online-mbbm:0.05", "paper"),
    "MB .01": ("online-mbbm:0.01", "paper"),
    "MB .001": ("online-mbbm:0.001", "paper"),
    "OvA": ("one-vs-all", "paper"),
    "AdaOVA": ("adaboost-ova", "paper"),
    "MB auto": ("online-mbbm", "paper"),
    "MB default": ("online-mbbm", "default"),
    OURS: ("adaboost-olm", "default"),
}


def find_system(name: str) -> str:
    """The heading meant by what a user typed: case, blanks and dashes do not matter."""
    plain = {_plain(heading): heading for heading in SYSTEMS}
    if _plain(name) not in plain:
        raise DataError(f"{name!r} is not a system. Systems: {', '.join(SYSTEMS)}")
    return plain[_plain(name)]


def _plain(name: str) -> str:
    return "".join(name.lower().replace("0.", ".").replace("-", "").replace("_", "").split())
