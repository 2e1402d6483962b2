"""Every class that a model is made of, with its name and its fields in files: docs/model-format.md says what they mean.

A field that is added, renamed or removed changes the format: read the old one too, or files of old versions are lost
(tests/golden_files). A state that a line here does not know is an error of `save`, and of the contract suite.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from onlineboost.boosters.mbbm import CACHE_MEGABYTES, Mbbm
from onlineboost.boosters.olm import Olm
from onlineboost.boosters.oza import Oza
from onlineboost.boosters.plain import Plain
from onlineboost.boosters.potentials.checks import LOSSES
from onlineboost.boosters.potentials.tables import Method, Tables, build_tables, recipe
from onlineboost.chain.calibration import HIGHEST, LOWEST
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import Diary
from onlineboost.chain.hedge import BestLearner, Hedge
from onlineboost.chain.learners import BinaryTreeLearners, GivenLearners, TreeLearners
from onlineboost.chain.numbers import Numbers
from onlineboost.chain.one_vs_all import OneVsAllEnd
from onlineboost.chain.panel_stage import PanelStage
from onlineboost.chain.restarts import Plan, Watch
from onlineboost.chain.segments import Segment
from onlineboost.chain.stacking import BEFORE, Stacking
from onlineboost.estimators.model import Model
from onlineboost.estimators.saved.columns import add_columns
from onlineboost.estimators.saved.fields import States, check
from onlineboost.estimators.saved.forests import check_tables
from onlineboost.estimators.saved.members import add_members
from onlineboost.estimators.saved.panels import PANEL, make_panel, take
from onlineboost.panel.mixture import FORECASTS, Mixture
from onlineboost.panel.newton import Newton
from onlineboost.panel.state import N_CLASSES, Panel
from onlineboost.storage.errors import DamagedModelFile
from onlineboost.trees.compact import loaded, packed, restore, unpacked
from onlineboost.trees.state import Forest

STATES = States()


class ClassBooster(NamedTuple):
    """What a class has in `OneVsAllEnd`."""

    segment: Segment
    log_v: np.ndarray


class Holds(NamedTuple):
    """What the model of an estimator is made of: names of states."""

    chain: tuple[str, ...]
    booster: str
    learners: tuple[str, ...] = ("trees",)
    watch: bool = False
    members: tuple[str, ...] = ()  # of which kinds, where not of any


ANY = ("trees", "given", "members")
HOLDS = {  # by the name of the estimator in the registry
    "adaboost-olm": Holds(("chain", "panelled"), "olm", ANY, watch=True),
    "online-mbbm": Holds(("chain", "panelled"), "mbbm", ANY),
    "online-boost": Holds(("panelled",), "olm", ANY, watch=True),
    "oza-boost": Holds(("chain",), "oza"),
    "one-vs-all": Holds(("one-vs-all",), "olm", ANY),
    "adaboost-ova": Holds(("chain",), "olm", ("binary-trees",)),
    "best-tree": Holds(("independent",), "plain"),
    "hoeffding-tree": Holds(("chain",), "plain"),
    "eager-trees": Holds(("chain",), "plain", ("members",), members=("eager-trees",)),
    "nearest-neighbours": Holds(("chain",), "plain", ("members",), members=("nearest-neighbours",)),
    "least-squares": Holds(("chain",), "plain", ("members",), members=("linear", "cosines")),
    "refitted-trees": Holds(("chain",), "plain", ("members",), members=("refitted-trees",)),
}

# ------------------------------------------------------------------------------------------------------ weak learners

FOREST = {
    "nodes": "u1[nodes]",
    "details": "u1[details]",
    "rows": "u1[rows]",
    "stats": "f8[stats,width]",
    "roots": "i4[trees]",
    "grace": "f8[trees]",
    "log_delta": "f8[trees]",
    "tie": "f8[trees]",
    "unit": "f8[trees]",
    "budget": "u1[budgets]",
    "n_numeric": "int",
    "offset": "i8[offsets]",
    "birth": "i8[places]",
    "share": "float",
    "leaf": "0..2",
    "leaves": "int",
}


def _make_forest(given: dict[str, Any]) -> Forest:
    """What it says is checked before anything is made of it."""
    check(given["stats"].shape[1] > 0, "the width of the statistics")  # so that their number is not for nothing
    forest = unpacked(given)
    check_tables(forest)
    return forest


def _make_binary_trees(given: dict[str, Any]) -> BinaryTreeLearners:
    n_learners = given.pop("n_learners")
    return BinaryTreeLearners(_make_forest(given), n_learners)


STATES.add(
    "trees",
    TreeLearners,
    FOREST,
    lambda learners: packed(learners.forest),
    lambda given: TreeLearners(_make_forest(given)),
    fresh=True,
)
STATES.add(
    "binary-trees",
    BinaryTreeLearners,
    FOREST | {"n_learners": "int"},
    lambda learners: {**packed(learners.forest), "n_learners": learners.n_learners},
    _make_binary_trees,
    fresh=True,
)
STATES.add(
    "given",
    GivenLearners,
    {"learners": "value", "n_classes": "1..1048576", "started": "b1[n]"},
    lambda given: {"learners": given.learners, "n_classes": given.k, "started": given.started},
    lambda given: GivenLearners(given["learners"], given["n_classes"], given["started"]),
)
add_members(STATES)
add_columns(STATES)

# ----------------------------------------------------------------------------------------------------------- boosters

EVERY = {"seed": "int", "n_learners": "=n", "offset": "0..0", "scale": "f8[n]"}
STATES.add("plain", Plain, EVERY)
STATES.add(
    "olm",
    Olm,
    EVERY
    | {"loss": "0..2", "vote": "0..3", "printed": "bool", "alpha": "f8[n]", "vote_cost": "f8[n]"}
    | {"right_cost": "f8[n]", "seen": "f8[n]", "born": "i8[n]", "squares": "f8[n]?"},
)
STATES.add(
    "oza", Oza, EVERY | {"draws": "bool", "alpha": "f8[n]", "correct": "f8[n]", "wrong": "f8[n]", "total": "f8[n]"}
)


def _make_mbbm(given: dict[str, Any]) -> Mbbm:
    if not 0.0 < given["megabytes"] <= CACHE_MEGABYTES:
        raise DamagedModelFile(f"no model keeps {given['megabytes']} MB of costs")
    return Mbbm(**given, cache=None)


STATES.add(
    "mbbm",
    Mbbm,
    EVERY
    | {"vote": "0..3", "plain": "bool", "megabytes": "float", "vote_cost": "f8[n]", "weights": "f8[n]", "seen": "f8[n]"}
    | {"tables": "potentials"},
    lambda mbbm: {name: value for name, value in mbbm._asdict().items() if name != "cache"},
    _make_mbbm,
)


def _make_tables(given: dict[str, Any]) -> Tables:
    """What `finish` computes the tables from: they take up to 2 GB, and are made if all else is good."""
    few = {"n_draws": given["n_draws"], "seed": given["seed"]}
    tables = build_tables(given["n_classes"], len(given["gamma"]), given["gamma"], potential="monte_carlo", **few)
    method = Method.MONTE_CARLO if given["potential"] == "monte_carlo" else Method.DENSE
    return tables._replace(loss=LOSSES.index(given["loss"]), method=method)


STATES.add(
    "potentials",
    Tables,
    {"n_classes": "2..1048576", "gamma": "f8[n]", "loss": "value", "potential": "value"}
    | {"n_draws": "1..100000", "seed": "int"},
    recipe,
    _make_tables,
)

# ------------------------------------------------------------------------------------------------------ chain and model

BOOSTERS, LEARNERS = "olm|mbbm|oza|plain", "trees|binary-trees|given|members"
STATES.add(
    "segment",
    Segment,
    {"learners": LEARNERS, "booster": BOOSTERS},
    lambda segment: {"learners": segment.learners, "booster": segment.booster},
    lambda given: Segment(given["learners"], loaded(given["booster"])),
)
STATES.add("class-booster", ClassBooster, {"segment": "segment", "log_v": "f8[n]"})
STATES.add("numbers", Numbers, {"moments": "f8[3,c]", "ends": "f8[2,4,c]"})
STATES.add("plan", Plan, {"at": "int", "chosen": "i8[m]", "settings": "f8[m,s]"}, lambda plan: dict(plan.__dict__))
STATES.add(
    "watch",
    Watch,
    {"vote_cost": "f8[n]", "right_cost": "f8[n]", "lead": "float", "compared": "float", "changing": "bool"}
    | {"plan": "plan??"},
    lambda watch: dict(watch.__dict__),
)
STATES.add(
    "diary",
    Diary,
    {"X": "f8[r,c]", "y": "i8[r]", "events": "i8[e,3]", "most": "0..1048576", "limited": "bool"},
    lambda diary: dict(diary.__dict__),
)
CHAIN = {
    "n_numeric": "int",
    "seed": "int",
    "t": "int",
    "numbers": "numbers",
    "costs": "f8[k,k]?",
    "watch": "watch?",
    "diary": "diary",
    "mean_weight": "float??",
}


def _common(chain: Chain) -> dict[str, Any]:
    return {name: getattr(chain, name) for name in CHAIN}


def _take_chain(chain: Chain) -> dict[str, Any]:
    """The fields of a chain that is one segment."""
    (log_v,) = chain.end.log_vs
    return {**_common(chain), "segments": chain.whole(), "log_v": log_v, "n_learners": chain.n_learners}


def _take_one_vs_all(chain: Chain) -> dict[str, Any]:
    return {**_common(chain), "boosters": list(map(ClassBooster, chain.segments, chain.end.log_vs))}


def _take_stacked(chain: Chain) -> dict[str, Any]:
    assert chain.panel is not None
    end: Any = chain.end
    slow = {f"slow_{name}": part for name, part in end.slow._asdict().items()}
    own = {"panel": chain.panel.state, "recency": end.recency, **end.newton._asdict(), **slow, **end.mixture._asdict()}
    return {**_take_chain(chain), **own}


def _made(given: dict[str, Any], segments: list[Segment], end: Any, panel: PanelStage | None = None) -> Chain:
    chain = Chain(segments, 0, given["seed"], end, panel)
    restore(chain, {name: given[name] for name in CHAIN})
    return chain


def _make_chain(kind: type[Hedge]) -> Any:
    def make(given: dict[str, Any]) -> Chain:
        end = kind(0, given["seed"])
        end.log_v = given["log_v"]
        return _made(given, given["segments"], end)

    return make


def _make_one_vs_all(given: dict[str, Any]) -> Chain:
    end = OneVsAllEnd()
    end._log_vs = [booster.log_v for booster in given["boosters"]]
    return _made(given, [booster.segment for booster in given["boosters"]], end)


def _make_stacked(given: dict[str, Any]) -> Chain:
    """It is cut at the fifths when all is known to be good: `finish`."""
    end = Stacking(given["n_learners"])
    end.newton, end.slow = Newton(given["beta"], given["A"]), Newton(given["slow_beta"], given["slow_A"])
    end.mixture, end.recency = Mixture(given["share"], given["lost"]), given["recency"]
    k = given["panel"].used[N_CLASSES]
    if len(end.newton.beta) != BEFORE + len(end.ends) or end.recency.shape[1] != k:
        raise DamagedModelFile("the combiner is not that of the chain")
    return _made(given, given["segments"], end, PanelStage(given["panel"]))


SEGMENTED = CHAIN | {"segments": "[segment]", "log_v": "f8[n]", "n_learners": "=n"}
STATES.add("chain", Hedge, SEGMENTED, _take_chain, _make_chain(Hedge))
STATES.add("independent", BestLearner, SEGMENTED, _take_chain, _make_chain(BestLearner))
STATES.add("one-vs-all", OneVsAllEnd, CHAIN | {"boosters": "[class-booster]"}, _take_one_vs_all, _make_one_vs_all)
PANELLED = SEGMENTED | {"panel": "panel", "beta": "f8[h]", "A": "f8[h,h]", "recency": "f8[2,k]"}
PANELLED |= {"slow_beta": "f8[h]", "slow_A": "f8[h,h]"}
PANELLED |= {"share": f"f8[{FORECASTS}]", "lost": f"f8[{FORECASTS + 1}]"}
STATES.add("panel", Panel, PANEL, take, make_panel, fresh=True)
STATES.add("panelled", Stacking, PANELLED, _take_stacked, _make_stacked)
MODEL = {"encoder": "columns", "labels": "labels", "chain": "chain|independent|one-vs-all|panelled", "counts": "f8[k]"}
MODEL |= {"limit": "int?", "per_class": "int", "warned": "bool", "calibration": "f8[3]??"}


def _take_model(model: Model) -> dict[str, Any]:
    taken = {name: getattr(model, name) for name in MODEL if name != "per_class"}
    taken["per_class"] = len(model.chain.segments[0]) if model.chain.end.takes_turns and model.chain.segments else 0
    if model.calibration is not None:
        taken["calibration"] = np.append(model.calibration, model.floor)
    return taken


def _make_model(given: dict[str, Any]) -> Model:
    saved, _ = given.pop("calibration"), given.pop("per_class")  # which follows from the chain
    if saved is None:
        return Model(**given)
    beta, curvature, floor = saved.tolist()
    if not (LOWEST <= beta <= HIGHEST and 0.0 < curvature < np.inf and 0.0 < floor <= 1.0):
        raise DamagedModelFile("no model is calibrated like this")
    return Model(**given, calibration=saved[:2].copy(), floor=floor)


STATES.add("model", Model, MODEL, _take_model, _make_model)


def finish(model: Model) -> None:
    """What a model that was read, and is good, has beside what was saved: potentials, caches, segments."""
    chain = model.chain
    for segment in chain.segments:
        if isinstance(segment.booster, Mbbm):
            given = recipe(segment.booster.tables)
            tables = build_tables(given.pop("n_classes"), segment.booster.n_learners, **given)
            segment.booster = segment.booster._replace(tables=tables)
        segment.booster = segment.booster.with_cache()
    chain.segments = chain.end.parted(chain.segments)
