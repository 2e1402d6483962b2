"""The paper's tables: the numbers it prints, the systems they are about, to run again, and our numbers beside them.

Table 1 is taken from the three tables of its appendix.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from onlineboost import lookup

if TYPE_CHECKING:
    from onlineboost.evaluation.prequential import Record
    from onlineboost_paper.cells import Cell

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


def read_table(text: str, systems: Iterable[str] = PRINTED) -> dict[str, dict[str, float]]:
    """{data set: {system: number}} of lines with a data set and its numbers, in the order of the systems."""
    rows = [line.split() for line in text.split("\n") if line]
    return {name: dict(zip(systems, map(float, numbers), strict=True)) for name, *numbers in rows}


TAIL, FULL, SECONDS = map(read_table, (_TAIL, _FULL, _SECONDS))
MEASURES = {"tail": TAIL, "full": FULL, "seconds": SECONDS}  # by the names that our own cells use


def best(name: str) -> float:
    """The best accuracy on the last 20 % that any system of the paper has on this data set."""
    return max(TAIL[name].values())


# ---------------------------------------------------------------------------------------------------------- what is run


N_LEARNERS = 100

FORMS = ("as printed", "as programmed")
RESTARTS = {"restart": "always", "no-restart": "never"}


def make_model(model: str, settings: str, n_learners: int, seed: int) -> Any:
    """A model by its name in the registry, if need be with an option: adaboost-olm:restart, adaboost-olm:no-restart or
    online-mbbm:GAMMA.

    `settings` is "default"; "paper": our algorithms, with all corrections (docs/paper.md), over the paper's weak
    learners, with the weight scale of its authors' program, and no restarts unless the name asks for them; or one of
    FORMS: the algorithm as it is printed or programmed.
    """
    name, _, option = model.partition(":")
    chosen: dict[str, Any] = {"n_learners": n_learners, "random_state": seed}
    if settings in FORMS:
        if name == "online-mbbm":
            chosen["gamma"] = _number(option, model)
        if name != "online-mbbm" or settings == "as programmed":
            chosen[settings.replace(" ", "_")] = True
        return lookup.load(name).paper(**chosen)
    if settings == "paper":
        tree = lookup.load("hoeffding-tree").paper(as_programmed=True)
        chosen |= {"learner": tree, "weight_scale": (5, 200), "restart": "never"}
        if name == "hoeffding-tree":
            return tree.set_params(random_state=seed)
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
BOTH_WAYS = PRINTED[2:]  # systems that the paper prints and its authors' program has
SYSTEMS |= {f"{system} {form}": (SYSTEMS[system][0], form) for system in BOTH_WAYS for form in FORMS}


def column_of(system: str) -> str:
    """The column of the paper that a system is set against: AdaOLM of "AdaOLM as printed"."""
    return system.partition(" as ")[0]


def find_system(name: str) -> str:
    """The heading meant by what a user typed: case, blanks and dashes do not matter."""
    plain = {_plain(heading): heading for heading in SYSTEMS}
    if _plain(name) not in plain:
        raise ValueError(f"{name!r} is not a system. Systems: {', '.join(SYSTEMS)}")
    return plain[_plain(name)]


def _plain(name: str) -> str:
    return "".join(name.lower().replace("0.", ".").replace("-", "").replace("_", "").split())


# ------------------------------------------------------------------------------------------------- ours beside it


Summary = Sequence[Mapping[str, Any]]


def summarise(records: Iterable[Record], cells: Iterable[Cell]) -> Summary:
    """A row for every data set and system: mean and standard error of each measure, and how far from the paper's."""
    order = {cell.key: (list(LABELS).index(cell.dataset), list(SYSTEMS).index(cell.system), cell.order)
             for cell in cells}  # fmt: skip
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in sorted((r for r in records if r["key"] in order), key=lambda r: order[r["key"]]):
        groups.setdefault((record["dataset"], record["system"]), []).append(record)
    return [
        {"dataset": name, "system": system, "n": len(group), **_measures(name, system, group)}
        for (name, system), group in groups.items()
    ]


def _measures(name: str, system: str, group: list[Record]) -> dict[str, float | None]:
    import numpy as np  # here: the help of the command does not wait for it

    out: dict[str, float | None] = {}
    for measure, printed in MEASURES.items():
        values = np.array([record[measure] for record in group])
        mean, paper = float(values.mean()), printed[name].get(column_of(system))
        out[measure] = mean
        out[f"{measure}_error"] = float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else None
        out[f"{measure}_paper"] = paper
        out[f"{measure}_difference"] = None if paper is None else mean - paper
    return out


def is_below(row: Mapping[str, Any], measure: str = "tail") -> bool:
    """Whether ours is more than two standard errors, and more than rounding, below what the paper prints."""
    difference, error = row[f"{measure}_difference"], row[f"{measure}_error"]
    return None not in (difference, error) and difference < -2.0 * error and difference < -0.0005


def distances(summary: Summary) -> dict[str, dict[str, float]]:
    """{"as printed", "as programmed" and "ours": {system: distance}}: how far from the paper's last 20 %.

    The mean absolute difference over the data sets that are there in all three ways.
    """
    found = {(row["dataset"], row["system"]): abs(row["tail_difference"] or 0.0) for row in summary}
    out: dict[str, dict[str, float]] = {}
    for form, suffix in (*((form, f" {form}") for form in FORMS), ("ours", "")):
        for system in BOTH_WAYS:
            names = [n for n in LABELS if all((n, f"{system}{s}") in found for s in ("", *(f" {f}" for f in FORMS)))]
            if names:
                mean = sum(found[name, f"{system}{suffix}"] for name in names) / len(names)
                out.setdefault(form, {})[system] = mean
    return out


def table_one(summary: Summary) -> list[dict[str, Any]]:
    """Table 1 of the paper beside ours: best tree, online boosting, Adaboost.OLM, and the best OnlineMBBM."""
    found = {(row["dataset"], row["system"]): row for row in summary}
    gammas = [system for system in PRINTED if system.startswith("MB")]
    lines = []
    for name in LABELS:
        columns = {s: _pair(found.get((name, s)), name, s) for s in ("DT", "OLB", "AdaOLM")}
        if ours := [system for system in gammas if (name, system) in found]:
            best = max(ours, key=lambda system: found[name, system]["tail"])
            printed = max(gammas, key=TAIL[name].__getitem__)
            columns["Best MB"] = {**_pair(found[name, best], name, printed), "system": best, "paper_system": printed}
        columns[OURS] = _pair(found.get((name, OURS)), name, None)
        if any(columns.values()):
            lines.append({"dataset": name, **columns})
    return lines


def _pair(row: Mapping[str, Any] | None, name: str, system: str | None) -> dict[str, Any]:
    if row is None:
        return {}
    printed = {} if system is None else {f"{m}_paper": MEASURES[m][name][system] for m in ("tail", "seconds")}
    return {"tail": row["tail"], "tail_error": row["tail_error"], "seconds": row["seconds"], **printed}
