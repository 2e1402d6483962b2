"""Every class that a model is made of, with its name in files: docs/model-format.md says what the fields mean.

The fields of a state are those of its schema (`contracts.schema`), those of an object, as a chain, are declared here in
the same way. A field that is added has `since` and a default; one that is renamed or removed changes the format: read
the old one too, or files of old versions are lost (tests/golden_files). A class that a line here does not know is an
error of `save`, and of the contract suite.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np

from onlineboost.boosters.mbbm import Mbbm
from onlineboost.boosters.olm import Olm
from onlineboost.boosters.oza import Oza
from onlineboost.boosters.plain import Plain
from onlineboost.boosters.potentials.checks import LOSSES
from onlineboost.boosters.potentials.tables import Method, Tables, build_tables, recipe
from onlineboost.chain.calibration import HIGHEST, LOWEST
from onlineboost.chain.chain import Chain
from onlineboost.chain.diary import Diary
from onlineboost.chain.independent import IndependentChain
from onlineboost.chain.learners import BinaryTreeLearners, GivenLearners, TreeLearners
from onlineboost.chain.members import MemberLearners
from onlineboost.chain.numbers import Numbers
from onlineboost.chain.ova import ClassBooster, OneVsAllChain
from onlineboost.chain.panelled import PanelChain, ends_of
from onlineboost.chain.restarts import Plan, Watch
from onlineboost.chain.segments import Segment
from onlineboost.contracts.booster import BOOSTER
from onlineboost.contracts.schema import Field, array, b1, f8, leaves, schema, whole
from onlineboost.contracts.state import copied, cut, loaded, mapped, require, restore, values
from onlineboost.data.encoder import Encoder
from onlineboost.data.labels import Labels
from onlineboost.estimators.model import Model
from onlineboost.estimators.saved.data import add_columns
from onlineboost.estimators.saved.fields import States
from onlineboost.panel.members.cosines import CosinesMember
from onlineboost.panel.members.eager_trees import EagerMember
from onlineboost.panel.members.least_squares import LinearMember
from onlineboost.panel.members.nearest_neighbours import NeighboursMember
from onlineboost.panel.members.refitted_trees import RefitsMember
from onlineboost.panel.mixture import Mixture
from onlineboost.panel.newton import Newton
from onlineboost.panel.recency import FADES, RECENCY
from onlineboost.panel.state import N_CLASSES, Panel, packed, read
from onlineboost.storage.errors import DamagedModelFile
from onlineboost.trees import compact
from onlineboost.trees.state import RECORDS, Forest, tables_in_use

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
    "eager-trees": Holds(("chain",), "plain", ("members",), members=("eager-trees",)),
    "nearest-neighbours": Holds(("chain",), "plain", ("members",), members=("nearest-neighbours",)),
    "least-squares": Holds(("chain",), "plain", ("members",), members=("linear", "cosines")),
    "refitted-trees": Holds(("chain",), "plain", ("members",), members=("refitted-trees",)),
}


def holds(name: str) -> Holds:
    return HOLDS.get(name, Holds(learners=ANY))


CopyTable = Callable[[tuple[int, str], np.ndarray], np.ndarray]  # a table, by its segment and name

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


class _Members:
    members: list[EagerMember | NeighboursMember | LinearMember | CosinesMember | RefitsMember]


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
    GivenLearners,
    _Given,
    lambda own: {"learners": own.learners, "n_classes": own.k, "started": own.started},
    lambda given: GivenLearners(given["learners"], given["n_classes"], given["started"]),
)
STATES.add("members", MemberLearners, _Members)


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


add_flat("panel", Panel)
add_flat("eager-trees", EagerMember)
add_flat("nearest-neighbours", NeighboursMember)
add_flat("linear", LinearMember)
add_flat("cosines", CosinesMember)
add_flat("refitted-trees", RefitsMember)

# ----------------------------------------------------------------------------------------------------------- boosters

for kind in (Plain, Olm, Oza):
    STATES.add(kind.__name__.lower(), kind)
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
    learners: TreeLearners | BinaryTreeLearners | GivenLearners | MemberLearners
    booster: Olm | Mbbm | Oza | Plain


STATES.add("segment", Segment, _Segment, make=lambda given: Segment(given["learners"], loaded(given["booster"])))
STATES.add("class-booster", ClassBooster)
STATES.add("numbers", Numbers)
STATES.add("plan", Plan)
STATES.add("watch", Watch)
STATES.add("diary", Diary)


class _AnyChain:
    n_numeric: int
    seed: int
    t: int
    numbers: Numbers
    costs: Annotated[np.ndarray | None, f8("classes", "classes")]
    watch: Watch | None
    diary: Diary
    mean_weight: Annotated[float | None, LATER]


class _Chain(_AnyChain):
    segments: list[Segment]
    log_v: Annotated[np.ndarray, f8("learners")]
    n_learners: Annotated[int, Field(size="learners")]


class _OneVsAll(_AnyChain):
    boosters: list[ClassBooster]


class _Panelled(_Chain):
    panel: Panel
    beta: Annotated[np.ndarray, f8("voices")]
    A: Annotated[np.ndarray, f8("voices", "voices")]
    recency: Annotated[np.ndarray, RECENCY]
    slow_beta: Annotated[np.ndarray, f8("voices")]
    slow_A: Annotated[np.ndarray, f8("voices", "voices")]
    share: Annotated[np.ndarray, schema(Mixture)["share"]]
    lost: Annotated[np.ndarray, schema(Mixture)["lost"]]


def _take_chain(chain: Chain) -> dict[str, Any]:
    """The fields of a chain that is one segment."""
    one = chain if len(chain.segments) == 1 else chain.joined()  # a copy costs time, and as much memory again
    return {name: getattr(one, name) for name in schema(_Chain)}


def _make_chain(kind: type[Chain], given: dict[str, Any]) -> Chain:
    chain = kind([], 0, given["seed"])
    restore(chain, given)
    return chain


def _make_one_vs_all(given: dict[str, Any]) -> OneVsAllChain:
    chain = OneVsAllChain(0, given["seed"])
    restore(chain, given)
    chain.segments = [booster.segment for booster in chain.boosters]
    chain.n_learners = sum(map(len, chain.log_vs))
    return chain


def _take_panelled(chain: PanelChain) -> dict[str, Any]:
    own = {name: getattr(chain, name) for name in (*schema(_AnyChain), "log_v", "n_learners", "panel", "recency")}
    slow = {f"slow_{name}": part for name, part in chain.slow._asdict().items()}
    return {**own, "segments": [chain.whole()], **chain.newton._asdict(), **slow, **chain.mixture._asdict()}


def _make_panelled(given: dict[str, Any]) -> PanelChain:
    chain: PanelChain = object.__new__(PanelChain)
    chain.ends = ends_of(given["n_learners"])  # it is cut there when all is known to be good: `finish`
    Chain.__init__(chain, [], 0, given["seed"])
    voices = {"newton": Newton(given.pop("beta"), given.pop("A"))}
    voices |= {"slow": Newton(given.pop("slow_beta"), given.pop("slow_A"))}
    mixture = Mixture(given.pop("share"), given.pop("lost"))
    k = given["panel"].used[N_CLASSES]
    if len(voices["newton"].beta) != 1 + len(FADES) + len(chain.ends) or given["recency"].shape[1] != k:
        raise DamagedModelFile("the combiner is not that of the chain")
    restore(chain, {"panel": given.pop("panel"), **voices, **given, "mixture": mixture})
    return chain


STATES.add("chain", Chain, _Chain, _take_chain, partial(_make_chain, Chain))
STATES.add("independent", IndependentChain, _Chain, _take_chain, partial(_make_chain, IndependentChain))
STATES.add("one-vs-all", OneVsAllChain, _OneVsAll, make=_make_one_vs_all)
STATES.add("panelled", PanelChain, _Panelled, _take_panelled, _make_panelled)


class _Model:
    encoder: Encoder
    labels: Labels
    chain: Chain | IndependentChain | OneVsAllChain | PanelChain
    counts: Annotated[np.ndarray, f8("classes")]
    limit: int | None
    per_class: int
    warned: bool
    calibration: Annotated[np.ndarray | None, f8(3, since=2)]  # beta, its curvature, and the floor


def _take_model(model: Model) -> dict[str, Any]:
    taken = {name: getattr(model, name) for name in schema(_Model) if name != "per_class"}
    taken["per_class"] = len(model.chain.segments[0]) if isinstance(model.chain, OneVsAllChain) else 0
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
        if isinstance(segment.booster, Mbbm):
            given = recipe(segment.booster.tables)
            tables = build_tables(given.pop("n_classes"), segment.booster.n_learners, **given)
            segment.booster = segment.booster._replace(tables=tables)
        segment.booster = segment.booster.with_cache()
    if isinstance(chain, PanelChain):
        chain.cut_at_fifths()


# -------------------------------------------------------------------------------------------------------- quick copies


def quick_copy(chain: Chain, copy: CopyTable) -> Chain:
    """A copy of a chain whose trees are as they lie in their tables: to sort them takes ten times as long."""
    twin: Chain = _copy_of(chain)
    twin.numbers, twin.log_v, twin.diary = copied(chain.numbers), chain.log_v.copy(), copied(chain.diary)
    twin.watch = None if chain.watch is None else copied(chain.watch)
    twin.segments = [_segment(segment, number, copy) for number, segment in enumerate(chain.segments)]
    if isinstance(chain, OneVsAllChain):
        assert isinstance(twin, OneVsAllChain)
        pairs = zip(twin.segments, chain.boosters, strict=True)
        twin.boosters = [ClassBooster(segment, booster.log_v.copy()) for segment, booster in pairs]
    if isinstance(chain, PanelChain):
        assert isinstance(twin, PanelChain)
        twin.copy_panel(chain)
    return twin


def _copy_of(state: Any) -> Any:
    """An object of the same class and with the same fields."""
    twin = object.__new__(type(state))
    twin.__dict__ = dict(state.__dict__)
    return twin


def _segment(segment: Segment, number: int, copy: CopyTable) -> Segment:
    learners = segment.learners
    if isinstance(learners, TreeLearners):
        learners = _copy_of(learners)
        learners.forest = _forest(learners.forest, number, copy)
    else:
        learners = learners.join([])
    return Segment(learners, copied(segment.booster))


def _forest(forest: Forest, number: int, copy: CopyTable) -> Forest:
    """The part of the tables that is in use."""
    return mapped(cut(forest, tables_in_use(forest)), lambda leaf, table: copy((number, leaf.name), table))
