"""The paper's tables (Jung, Goetz, Tewari 2017): the numbers it prints, and the systems they are about, to run again.

Table 1 is taken from the three tables of its appendix.
"""

from __future__ import annotations

from typing import Any

from onlineboost import lookup

# ------------------------------------------------------------------------------------------------------- what it prints


PRINTED = ("DT", "OLB", "AdaOLM", "MB .3", "MB .1", "MB .05", "MB .01", "MB .001", "OvA", "AdaOVA")
LABELS = {
    "balance": "Balance",
    "mice": "Mice",
    "car": "Cars",
    "mushroom": "Mushroom",
    "nursery": "Nursery",
    "isolet": "ISOLET",
    "movement": "Movement",
}
ORDERS = {name: {"isolet": 1, "movement": 9}.get(name, 27) for name in LABELS}

_TAIL = """
balance  .768 .772  .754 .788  .821  .819  .805 .752  .786  .795
mice     .608 .399  .561 .572  .695  .663  .502 .467  .742  .667
car      .924 .914  .930 .914  .885  .870  .836 .830  .946  .919
mushroom .999 1.000 1.000 .997 1.000 1.000 .999 .998 1.000 1.000
nursery  .953 .941  .966 .965  .969  .964  .948 .940  .974  .965
isolet   .515 .149  .521 .453  .626  .635  .226 .165  .579  .570
movement .915 .870  .962 .975  .987  .988  .984 .981  .947  .970
"""
_FULL = """
balance  .734 .747 .698 .751 .769 .759 .736 .677 .724 .730
mice     .499 .315 .454 .457 .507 .449 .356 .343 .586 .530
car      .848 .839 .865 .842 .829 .814 .767 .762 .881 .853
mushroom .996 .997 .995 .991 .995 .994 .993 .992 .996 .995
nursery  .921 .909 .928 .932 .936 .932 .918 .912 .939 .932
isolet   .395 .104 .456 .333 .486 .461 .152 .111 .507 .472
movement .898 .864 .942 .954 .972 .973 .959 .957 .927 .952
"""
_SECONDS = """
balance  8    19   20   26    42    47    50    51    66    43
mice     105  263  416  783   2173  3539  3579  3310  3092  3013
car      39   27   59   56    105   146   165   152   195   143
mushroom 241  169  355  318   325   326   324   321   718   519
nursery  526  302  735  840   1510  2028  2181  1984  2995  1732
isolet   470  1497 2422 18732 38907 64707 62492 50700 37300 33328
movement 1960 3437 5072 13018 17608 18676 16739 16023 30080 21389
"""


def _read(text: str) -> dict[str, dict[str, float]]:
    rows = [line.split() for line in text.split("\n") if line]
    return {name: dict(zip(PRINTED, map(float, numbers), strict=True)) for name, *numbers in rows}


TAIL, FULL, SECONDS = _read(_TAIL), _read(_FULL), _read(_SECONDS)  # [data set][system]
MEASURES = {"tail": TAIL, "full": FULL, "seconds": SECONDS}  # by the names that our own cells use


def best(name: str) -> float:
    """The best accuracy on the last 20 % that any system of the paper has on this data set."""
    return max(TAIL[name].values())


# ---------------------------------------------------------------------------------------------------------- what is run


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
        raise ValueError(f"{name!r} is not a system. Systems: {', '.join(SYSTEMS)}")
    return plain[_plain(name)]


def _plain(name: str) -> str:
    return "".join(name.lower().replace("0.", ".").replace("-", "").replace("_", "").split())
