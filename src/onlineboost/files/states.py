"""Every class that a model is made of, with its name in files: storage/FORMAT.md says what the fields mean.

The fields of a state are those of its schema (`contracts.schema`), those of an object, as a chain, are declared here in
the same way. A field that is added has `since` and a default; one that is renamed or removed changes the format: read
the old one too, or files of old versions are lost (tests/golden_files). A class that a line here does not know is an
error of `save`, and of the contract suite.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost.boosters.mbbm import Mbbm
from onlineboost.boosters.olm import Olm
from onlineboost.boosters.olmr import Olmr
from onlineboost.boosters.oza import Oza
from onlineboost.boosters.plain import Plain
from onlineboost.boosters.potentials.pairwise import LOSSES
from onlineboost.boosters.potentials.tables import Method, Tables, build_tables, recipe
from onlineboost.chain.chain import AWAITED, Chain
from onlineboost.chain.clipping import Numbers
from onlineboost.chain.diary import Diary
from onlineboost.chain.hedge import BestLearner, Hedge
from onlineboost.chain.label_panels import UNBOUNDED, LabelPanels, OfLabel
from onlineboost.chain.learners import BinaryTreeLearners, TreeLearners
from onlineboost.chain.model import HIGHEST, LOWEST, Model
from onlineboost.chain.one_vs_all import OneVsAllEnd
from onlineboost.chain.other_learners import ExternalLearners, MemberLearners
from onlineboost.chain.ranking import FIT, Ranking
from onlineboost.chain.restarts import Plan, Watch
from onlineboost.chain.segments import PanelStage, Segment
from onlineboost.chain.sets import Sets
from onlineboost.chain.stacking import BEFORE, Stacking
from onlineboost.contracts.booster import BOOSTER
from onlineboost.contracts.schema import LEAST, Field, array, b1, f8, leaves, schema, whole
from onlineboost.contracts.state import loaded, require, restore, values
from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels
from onlineboost.files.fields import States, add_columns
from onlineboost.panel.columns import N_CLASSES
from onlineboost.panel.combiner import RECENCY, Mixture, Newton
from onlineboost.panel.state import ALONE, Panel, packed, read
from onlineboost.storage import DamagedModelFile
from onlineboost.trees import compact
from onlineboost.trees.state import RECORDS, Forest

LATER = Field(since=2)


class Holds(NamedTuple):
    """What the model of an estimator is made of: names of states."""

    chain: tuple[str, ...] = ("chain",)
    booster: str = ""  # any
    learners: tuple[str, ...] = ("trees",)
    watch: bool = False
    members: tuple[str, ...] = ()  # of which kinds, where not of any


ANY = ("trees", "given", "members")
HOLDS = {  # by the name of the estimator in the registry; of others see `holds`
    "adaboost-olm": Holds(("chain", "panelled"), "olm", ANY, watch=True),
    "online-mbbm": Holds(("chain", "panelled"), "mbbm", ANY),
    "online-boost": Holds(("panelled",), "olm", ANY, watch=True),
    "oza-boost": Holds(("chain",), "oza"),
    "one-vs-all": Holds(("one-vs-all",), "olm", ANY),
    "adaboost-ova": Holds(("chain",), "olm", ("binary-trees",)),
    "best-tree": Holds(("independent",), "plain"),
    "hoeffding-tree": Holds(("chain",), "plain"),
    "multi-label": Holds(("ranking",), "olmr"),
    "eager-trees": Holds(("chain",), "plain", ("members",), members=("eager-trees",)),
    "nearest-neighbours": Holds(("chain",), "plain", ("members",), members=("nearest-neighbours",)),
    "least-squares": Holds(("chain",), "plain", ("members",), members=("linear", "cosines")),
    "refitted-trees": Holds(("chain",), "plain", ("members",), members=("refitted-trees",)),
}


def holds(name: str) -> Holds:
    return HOLDS.get(name.removesuffix(".paper"), Holds(learners=ANY))


STATES = States()


def as_bytes(name: str, since: int = 1) -> Field:
    """An array that files hold as bytes. Where it is not there, whoever makes the state knows its default."""
    return array("u1", name.replace(".", "_"), since=since, kinds=(np.ndarray,), optional=since > 1, default=None)


# ------------------------------------------------------------------------------------------------------ weak learners

FOREST = {name: as_bytes(name) if name in RECORDS else own for name, own in schema(Forest).items()}
FOREST["leaves"] = Field(kinds=(int,))


def _make_forest(given: dict[str, Any]) -> Forest:
    """What it says is checked before anything is made of it."""
    require(given["stats"].shape[1] > 0, "the width of the statistics")  # so that their number is not for nothing
    forest = compact.unpacked(given)
    compact.check_tables(forest)
    return forest


def _make_binary_trees(given: dict[str, Any]) -> BinaryTreeLearners:
    n_learners = given.pop("n_learners")
    return BinaryTreeLearners(_make_forest(given), n_learners)


class _Given:
    learners: Any
    n_classes: Annotated[int, whole(1, 1 << 20)]
    started: Annotated[np.ndarray, b1("learners")]


def _take_forest(learners: TreeLearners) -> dict[str, Any]:
    return compact.packed(learners.forest)


STATES.add("trees", TreeLearners, FOREST, _take_forest, lambda given: TreeLearners(_make_forest(given)), fresh=True)
STATES.add(
    "binary-trees",
    BinaryTreeLearners,
    FOREST | {"n_learners": Field(kinds=(int,))},
    lambda learners: {**_take_forest(learners), "n_learners": learners.n_learners},
    _make_binary_trees,
    fresh=True,
)
STATES.add(
    "given",
    ExternalLearners,
    _Given,
    lambda own: {"learners": own.learners, "n_classes": own.k, "started": own.started},
    lambda given: ExternalLearners(given["learners"], given["n_classes"], given["started"]),
)
STATES.add("members", MemberLearners, {"members": Field(kinds=tuple(ALONE.values()), many=True)})


def _flat(kind: type) -> dict[str, Field]:
    """The fields of a panel or a member, and of the states in it: numbers, then arrays as bytes."""
    saved = [leaf for leaf in leaves(kind) if leaf.field.saved]
    numbers = {leaf.name: leaf.field for leaf in saved if not leaf.field.is_array}
    return numbers | {leaf.name: as_bytes(leaf.name, leaf.field.since) for leaf in saved if leaf.field.is_array}


def _take_flat(fields: dict[str, Field], state: Any) -> dict[str, Any]:
    own = {leaf.name: value for leaf, value in values(packed(state))}
    return {name: own[name].reshape(-1).view(np.uint8) if f.is_array else own[name] for name, f in fields.items()}


def add_flat(name: str, kind: type) -> None:
    """A panel, or a kind of member."""
    fields = _flat(kind)
    STATES.add(name, kind, fields, partial(_take_flat, fields), partial(read, kind), fresh=True)


for name, kind in {"panel": Panel, **ALONE}.items():
    add_flat(name, kind)

# ----------------------------------------------------------------------------------------------------------- boosters

for kind in (Plain, Olm, Oza):
    STATES.add(kind.__name__.lower(), kind)
STATES.add("olmr", Olmr, make=lambda given: Olmr(**given, psi=None))
STATES.add("mbbm", Mbbm, make=lambda given: Mbbm(**given, cache=None))


class _Potentials:
    n_classes: Annotated[int, whole(2, 1 << 20)]
    gamma: Annotated[np.ndarray, f8("learners")]
    loss: Any
    potential: Any
    n_draws: Annotated[int, whole(1, 100_000)]
    seed: int


def _make_tables(given: dict[str, Any]) -> Tables:
    """What `finish` computes the tables from: they take up to 2 GB, and are made if all else is good."""
    few = {"n_draws": given["n_draws"], "seed": given["seed"]}
    tables = build_tables(given["n_classes"], len(given["gamma"]), given["gamma"], potential="monte_carlo", **few)
    method = Method.MONTE_CARLO if given["potential"] == "monte_carlo" else Method.DENSE
    return tables._replace(loss=LOSSES.index(given["loss"]), method=method)


STATES.add("potentials", Tables, _Potentials, recipe, _make_tables)


def add_boosters() -> None:
    """Those that have been defined since: a booster is saved as its fields say, under the name of its class."""
    for kind in BOOSTER.types:
        if kind not in STATES.by_kind and kind.__name__.lower() not in STATES.by_name:
            STATES.add(kind.__name__.lower(), kind)
    of_segment = STATES.by_name["segment"].fields
    known = dict.fromkeys([*of_segment["booster"].kinds, *BOOSTER.types])
    of_segment["booster"] = replace(
        of_segment["booster"], kinds=tuple(kind for kind in known if kind in STATES.by_kind)
    )


# ------------------------------------------------------------------------------------------------------ chain and model


class _Segment:
    learners: TreeLearners | BinaryTreeLearners | ExternalLearners | MemberLearners
    booster: Olm | Mbbm | Oza | Plain | Olmr


STATES.add("segment", Segment, _Segment, make=lambda given: Segment(given["learners"], loaded(given["booster"])))
STATES.add("numbers", Numbers)
STATES.add("plan", Plan)
STATES.add("watch", Watch)
STATES.add("diary", Diary)
STATES.add("sets", Sets)


class _AnyChain:
    n_numeric: int
    seed: int
    t: int
    numbers: Numbers
    costs: Annotated[np.ndarray | None, f8("classes", "classes")]
    watch: Watch | None
    diary: Diary
    mean_weight: Annotated[float | None, LATER]
    lightest: Annotated[float, Field(since=2, default=1.0, low=LEAST, high=1.0)]
    heaviest: Annotated[float, Field(since=2, default=1.0, low=1.0)]
    conduct: Annotated[int | None, whole(0, 2 * AWAITED - 1, since=2)]


class _Chain(_AnyChain):
    segments: list[Segment]
    log_v: Annotated[np.ndarray, f8("learners")]
    n_learners: Annotated[int, Field(size="learners")]


class _Combined:
    """A panel, and the combiner behind it."""

    panel: Panel
    beta: Annotated[np.ndarray, f8("voices")]
    A: Annotated[np.ndarray, f8("voices", "voices")]
    recency: Annotated[np.ndarray, RECENCY]
    slow_beta: Annotated[np.ndarray, f8("voices")]
    slow_A: Annotated[np.ndarray, f8("voices", "voices")]
    share: Annotated[np.ndarray, schema(Mixture)["share"]]
    lost: Annotated[np.ndarray, schema(Mixture)["lost"]]
    first: Annotated[np.ndarray, schema(Mixture)["first"]]


class _LabelPanels:
    pattern: OfLabel
    labels: list[OfLabel]
    had: Annotated[np.ndarray, f8("frequencies", low=0.0)]
    most: Annotated[int, whole(0, UNBOUNDED)]


class _Ranked(_Chain):
    fit: Annotated[np.ndarray, FIT]
    panels: Annotated[LabelPanels | None, LATER]


class _OfClass(NamedTuple):
    """What a class has, one against all."""

    segment: Segment
    log_v: Annotated[np.ndarray, f8("learners")]


class _OneVsAll(_AnyChain):
    boosters: list[_OfClass]


def _common(chain: Chain) -> dict[str, Any]:
    return {name: getattr(chain, name) for name in schema(_AnyChain)}


def _take_chain(chain: Chain) -> dict[str, Any]:
    """The fields of a chain that is one segment."""
    (log_v,) = chain.end.log_vs
    return {**_common(chain), "segments": chain.whole(), "log_v": log_v, "n_learners": chain.n_learners}


def _take_ranked(chain: Chain) -> dict[str, Any]:
    end: Any = chain.end
    return {**_take_chain(chain), "fit": end.fit, "panels": chain.panel}


def _make_ranked(given: dict[str, Any]) -> Chain:
    chain: Any = _make_chain(Ranking, given)
    chain.panel, chain.end.fit, chain.end.panelled = given["panels"], given["fit"], given["panels"] is not None
    return chain


def _take_combined(panel: PanelStage, end: Stacking) -> dict[str, Any]:
    slow = {f"slow_{name}": part for name, part in end.slow._asdict().items()}
    return {"panel": panel.state, "recency": end.recency, **end.newton._asdict(), **slow, **end.mixture._asdict()}


def _take_of_label(own: OfLabel) -> dict[str, Any]:
    return _take_combined(own.panel, own.combiner)


def _make_combined(given: dict[str, Any]) -> tuple[PanelStage, Stacking]:
    end = Stacking(given.get("n_learners", 0))
    end.newton, end.slow = Newton(given["beta"], given["A"]), Newton(given["slow_beta"], given["slow_A"])
    end.mixture, end.recency = Mixture(given["share"], given["lost"], given["first"]), given["recency"]
    k = given["panel"].shared.stats.used[N_CLASSES]
    if len(end.newton.beta) != BEFORE + len(end.ends) or end.recency.shape[1] != k:
        raise DamagedModelFile("the combiner is not that of the chain")
    return PanelStage(given["panel"]), end


def _take_one_vs_all(chain: Chain) -> dict[str, Any]:
    return {**_common(chain), "boosters": list(map(_OfClass, chain.segments, chain.end.log_vs))}


def _take_stacked(chain: Chain) -> dict[str, Any]:
    return {**_take_chain(chain), **_take_combined(chain.panel, chain.end)}  # type: ignore[arg-type]


def _made(given: dict[str, Any], segments: list[Segment], end: Any, panel: PanelStage | None = None) -> Chain:
    chain = Chain(segments, 0, given["seed"], end, panel)
    restore(chain, {name: given[name] for name in schema(_AnyChain)})
    return chain


def _make_chain(kind: type[Hedge], given: dict[str, Any]) -> Chain:
    end = kind(0, given["seed"])
    end.log_v = given["log_v"]
    return _made(given, given["segments"], end)


def _make_one_vs_all(given: dict[str, Any]) -> Chain:
    end = OneVsAllEnd([booster.log_v for booster in given["boosters"]])
    return _made(given, [booster.segment for booster in given["boosters"]], end)


def _make_stacked(given: dict[str, Any]) -> Chain:
    """It is cut at the fifths when all is known to be good: `finish`."""
    panel, end = _make_combined(given)
    return _made(given, given["segments"], end, panel)


# A chain is known by what stands at its end: `fields.kind_of`.
STATES.add("class-booster", _OfClass)
STATES.add("chain", Hedge, _Chain, _take_chain, partial(_make_chain, Hedge))
STATES.add("independent", BestLearner, _Chain, _take_chain, partial(_make_chain, BestLearner))
STATES.add("label-panel", OfLabel, _Combined, _take_of_label, lambda given: OfLabel(*_make_combined(given)))
STATES.add("label-panels", LabelPanels, _LabelPanels)
STATES.add("ranking", Ranking, _Ranked, _take_ranked, _make_ranked)
STATES.add("one-vs-all", OneVsAllEnd, _OneVsAll, _take_one_vs_all, _make_one_vs_all)
STATES.add("panelled", Stacking, schema(_Chain) | schema(_Combined), _take_stacked, _make_stacked)


class _Model:
    encoder: Encoder
    labels: Labels
    chain: Hedge | BestLearner | OneVsAllEnd | Stacking | Ranking
    counts: Annotated[np.ndarray, f8("classes")]
    limit: int | None
    per_class: int
    warned: bool
    calibration: Annotated[np.ndarray | None, f8(3, since=2)]  # beta, its curvature, and the floor
    sets: Annotated[Sets | None, LATER]
    acts: Annotated[np.ndarray | None, f8(5, since=2, low=0.0, high=1e300)]


def _take_model(model: Model) -> dict[str, Any]:
    taken = {name: getattr(model, name) for name in schema(_Model) if name != "per_class"}
    taken["per_class"] = len(model.chain.segments[0]) if model.chain.end.takes_turns else 0
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


add_columns(STATES)
STATES.add("model", Model, _Model, _take_model, _make_model)


def finish(model: Model) -> None:
    """What a model that was read, and is good, has beside what was saved: potentials, caches, segments."""
    chain = model.chain
    for segment in chain.segments:
        segment.booster = segment.booster.completed().with_cache()
    chain.segments = chain.end.parted(chain.segments)
