"""What panels are made of (`MEMBERS`), their state, and room in its arrays.

A new member is a file that ends in its `Part`, and its name in the list here. The classes of states follow from that,
and so do names in files, scratch, room and bytes, and what the rest of the library knows of it.

Arrays grow along axes that have names (`contracts.schema`). What is added is 0, and means: nothing learned yet. How
much room there is makes no difference to what is learned; copies and pickles have none to spare.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar, cast

import numpy as np

from onlineboost.contracts.schema import Field, Grown, f8, i8, leaves, part
from onlineboost.contracts.state import bytes_with, check, made, require, resized, sizes_of, values
from onlineboost.panel.additive import ADDITIVE
from onlineboost.panel.bayes import BAYES, NAIVE_BAYES
from onlineboost.panel.columns import COLUMNS, N_CLASSES, ROWS, VALUES, WIDE, ColumnStats
from onlineboost.panel.combiner import PANEL_RIDGE, Newton, ResetTest, new_newton
from onlineboost.panel.cosines import COSINES
from onlineboost.panel.eager import EAGER
from onlineboost.panel.least_squares import LINEAR, SCALE, SCORES
from onlineboost.panel.member import MEMBER, OUTSIDE, Part, Room, start_member
from onlineboost.panel.neighbours import NEAREST, NEIGHBOURS
from onlineboost.panel.refits import REFITS
from onlineboost.panel.remembered import LAST_ROWS

# In the order in which they are asked and learn. Eager trees last: their leaves are then at hand when they learn.
MEMBERS = (BAYES, ADDITIVE, LINEAR, COSINES, NEIGHBOURS, REFITS, EAGER)

STATS = Part("stats", ColumnStats, field=OUTSIDE)
SHARED = (STATS, SCALE, SCORES, LAST_ROWS)

MOST_COLUMNS = 150  # dense columns
FEWEST_NOMINAL = 22  # of them for nominal values, whatever the number of numeric columns
NUMBERS_OF_ROWS = 1 << 31  # that trees tell apart
RULES = 5  # which members speak, and how: panels of older files have fewer, and go on as they did
FIRST_COEFFICIENTS = 1.3  # of the seven oldest voices, in all: few rows are enough to see that they are not too sure

State = TypeVar("State", bound=tuple[Any, ...])  # a panel, or a member by itself


# -------------------------------------------------------------------------------------------------- classes of states


class Parts(NamedTuple):
    """What a panel is made of."""

    shared: tuple[Part, ...]
    members: tuple[Part, ...]
    rooms: dict[str, Room]  # of all parts, by axis

    @classmethod
    def of(cls, shared: Sequence[Part], members: Sequence[Part]) -> Parts:
        rooms = {room.axis: room for own in (*shared, *members) for room in own.rooms}
        return cls(tuple(shared), tuple(members), rooms)

    def both(self, state: Any) -> list[tuple[Part, Any]]:
        """All parts, each with its state."""
        return [*zip(self.shared, state.shared, strict=True), *zip(self.members, state.members, strict=True)]


PARTS: dict[type, Parts] = {}  # by the class of the panel


def parts_of(state: Any) -> Parts:
    return PARTS[type(state)]


def _named(name: str, fields: Mapping[str, Any]) -> Any:
    """A NamedTuple of this module, which pickles find here."""
    kind = globals()[name] = cast(Any, NamedTuple)(name, list(fields.items()))
    return kind


def _of(name: str, parts: Sequence[Part]) -> Any:
    return Annotated[_named(name, {own.name: Annotated[own.kind, own.field] for own in parts}), OUTSIDE]


def panel_of(name: str, members: Sequence[Part]) -> Any:
    """The class of a panel with these members."""
    for member in members:
        if not MEMBER.implements(member.kind, "say"):
            raise TypeError(f"{member.name} has voices and says nothing: its state must implement `say`")
    versions = sorted({member.field.since for member in members})
    by_version = [sum(len(one.voices) for one in members if one.field.since == since) for since in versions]
    voices = Grown(*accumulate(by_version))  # files of older versions have those of their members
    own = {"shared": _of(f"{name}Shared", SHARED), "members": _of(f"{name}Members", members)}
    combiners = {
        "newton": Annotated[Newton, part(voices=voices)],
        "slow": Annotated[Newton, part(voices=voices, since=2)],
        "shares": Annotated[np.ndarray, f8(2, low=0.0, high=1.0, default=(1.0, 0.0), since=2)],  # of both,
        "trust": Annotated[np.ndarray, f8(voices, low=0.0, high=1.0, since=4)],  # and of each voice by itself
        "rules": Annotated[np.ndarray, i8(1, low=1, high=RULES, default=1, since=2)],
    }
    kind = _named(name, {**own, **combiners, "alarm": ResetTest})
    PARTS[kind] = Parts.of(SHARED, members)
    return kind


def alone(name: str, member: Part, *shared: Part) -> Any:
    """The class of a panel of this member, which needs these shared parts: its voice is what it says."""
    own = {"shared": _of(f"{name}Shared", (STATS, *shared)), "number": Annotated[int, Field(saved=False)]}
    kind = _named(name, {**own, "members": _of(f"{name}Members", [member])})
    (voice,) = member.voices.values()
    PARTS[kind] = Parts.of((STATS, *shared), (member._replace(voices={0: voice}),))
    return kind


if TYPE_CHECKING:
    Panel = Any
else:
    Panel = panel_of("Panel", MEMBERS)

NAMES = tuple(name for _, name in sorted(voice for member in MEMBERS for voice in member.voices.items()))

ROWS_ALONE = LAST_ROWS._replace(field=part(scores=0))  # there are no scores beside them
ALONE: dict[str, Any] = {  # by their names in files
    "eager-trees": alone("EagerAlone", EAGER),
    "nearest-neighbours": alone("NearestAlone", NEAREST, ROWS_ALONE),
    "linear": alone("LinearAlone", LINEAR, SCALE),
    "cosines": alone("CosinesAlone", COSINES, SCALE),
    "refitted-trees": alone("RefitsAlone", REFITS, ROWS_ALONE),
}


# ----------------------------------------------------------------------------------------------------------- new ones


def new_panel(n_numeric: int, n_nominal: int, seed: int, kind: Any = Panel) -> Panel:
    """A panel that knows nothing, of no class."""
    panel = new_state(kind, n_numeric, n_nominal, seed, {})
    parts = parts_of(panel)
    first = np.zeros(len(panel.newton.beta))
    before = [voice for member in parts.members if member.field.since == 1 for voice in member.voices]
    first[before] = FIRST_COEFFICIENTS / len(before)
    first[NAIVE_BAYES] = 0.1 * FIRST_COEFFICIENTS
    panel.shares[:] = panel.trust[:] = 1.0 / (len(panel.shares) + len(first))
    panel.rules[0] = RULES
    return panel._replace(newton=new_newton(first.tolist(), PANEL_RIDGE), slow=new_newton(first.tolist(), PANEL_RIDGE))


def new_state(kind: Any, n_numeric: int, n_nominal: int, seed: int, settings: Mapping[str, int]) -> Any:
    """A member of this kind by itself that has learned nothing, of no class."""
    n = min(n_numeric, WIDE)
    most = max(MOST_COLUMNS, n + FEWEST_NOMINAL) if n_nominal else n
    own = {"seed": seed, "width": n_numeric + n_nominal, "most": most, "dense.n_numbers": n, "offset": n_numeric}
    sizes = {"numeric": n_numeric, "nominal": n_nominal, "columns": n, "classes": 0}
    rooms = {room.axis: room.start for room in PARTS[kind].rooms.values()}
    state = made(kind, all_sizes(PARTS[kind], {**sizes, **rooms}), {**own, **settings})
    state.shared.stats.used[COLUMNS] = n
    for one, own_state in PARTS[kind].both(state):
        if one.fresh is not None:
            one.fresh(own_state)
    return state


def settings_of(member: Any) -> dict[str, int]:
    """What `new_state` was given."""
    own = ((leaf, value) for leaf, value in values(member) if leaf.path.startswith("members."))
    return {leaf.name: value for leaf, value in own if leaf.field.saved and not leaf.field.is_array}


def begun_anew(panel: Panel, t: int) -> Panel:
    """A panel for the same columns and classes that has learned nothing. Round t was the last one of the old one."""
    old = panel.shared.stats
    fresh = new_panel(len(old.dense.origin), len(old.dense.place), old.seed, type(panel))
    stats = fresh.shared.stats._replace(width=old.width, most=old.most, dense=old.dense)
    fresh = with_sizes(fresh._replace(shared=fresh.shared._replace(stats=stats)), own_sizes(panel))
    fresh.shared.stats.used[:] = old.used
    fresh.shared.stats.used[ROWS] = 0
    fresh.alarm.rounds[:] = [t, *panel.alarm.rounds[:-1]]
    return fresh


def with_offset(state: State, more: int) -> State:
    """Rows have so many more numeric columns from here on, which a panel does without."""
    stats = cast(Any, state).shared.stats
    stats = stats._replace(dense=stats.dense._replace(offset=stats.dense.offset + more))
    shared = cast(Any, state).shared._replace(stats=stats)
    return cast(State, cast(Any, state)._replace(shared=shared))


# --------------------------------------------------------------------------------------------------------------- room


def own_sizes(state: State) -> dict[str, int]:
    """Room along every axis that a state has, but for those that follow from others."""
    return sizes_of(state, ("classes", "columns", *parts_of(state).rooms))


def all_sizes(parts: Parts, sizes: Mapping[str, int]) -> dict[str, int]:
    """With those of the axes that follow from others."""
    every = [*parts.shared, *parts.members]
    return {**sizes, **{axis: size(sizes) for own in every for axis, size in own.sizes.items()}}


def with_sizes(state: State, sizes: Mapping[str, int]) -> State:
    """A copy with exactly so much room."""
    return resized(state, all_sizes(parts_of(state), sizes))


def with_room(state: State, **wanted: int) -> State:
    """With room for so much along these axes at least: twice of what there was, if it has to grow."""
    have = own_sizes(state)
    short = {axis for axis in have.keys() & wanted.keys() if wanted[axis] > have[axis]}
    if not short:
        return state
    most, rooms, sizes = _most(state), parts_of(state).rooms, dict(have)
    for axis in short:
        first = rooms[axis].first if axis in rooms else 0
        sizes[axis] = min(most.get(axis, 1 << 60), max(wanted[axis], 2 * have[axis], first))
    return with_sizes(state, sizes)


def room_for_rows(state: State, n: int) -> State:
    """Room for n more rows."""
    used = _used(state)
    wanted = {axis: min(used[axis] + room.per_row * n, room.most) for axis, room in parts_of(state).rooms.items()}
    return with_room(state, **wanted)


def rows_left(state: Any) -> int:
    """Rows for which there is room, at least."""
    have, used, rooms = own_sizes(state), _used(state), parts_of(state).rooms
    grows = [room for axis, room in rooms.items() if have[axis] < room.most]
    return min(((have[room.axis] - used[room.axis]) // room.per_row for room in grows), default=1 << 60)


def _used(state: Any) -> dict[str, int]:
    """How much is in use along the axes that grow with the rows; of those for rows, as if all were remembered."""
    rows = int(state.shared.stats.used[ROWS])
    every = [(room, own) for one, own in parts_of(state).both(state) for room in one.rooms]
    return {room.axis: rows if room.used is None else room.used(own) for room, own in every}


def _most(state: Any) -> dict[str, int]:
    rooms = {axis: room.most for axis, room in parts_of(state).rooms.items()}
    return {"columns": state.shared.stats.most, **rooms}


def packed(state: State) -> State:
    """A copy with no room to spare."""
    _, columns, classes = map(int, cast(Any, state).shared.stats.used)
    used, rooms = _used(state), parts_of(state).rooms
    rest = {axis: min(used[axis], room.most) for axis, room in rooms.items()}
    return with_sizes(state, {"classes": classes, "columns": columns, **rest})


def most_bytes(state: Any, k: int) -> int:
    """What it takes at most with k classes: what has not been met yet included."""
    sizes = {"classes": 2 * max(k, 1), **_most(state)}  # there may be room for as many again
    return bytes_with(state, all_sizes(parts_of(state), sizes))


def with_classes(state: State, k: int) -> State:
    """From here on there are k classes: a new one is as if it had been there all the time, without a row."""
    old = int(cast(Any, state).shared.stats.used[N_CLASSES])
    if k <= old:
        return state
    state = with_room(state, classes=k)
    cast(Any, state).shared.stats.used[N_CLASSES] = k
    for one, own in parts_of(state).both(state):
        if old and one.new_classes is not None:
            one.new_classes(own, old, k)
    return state


# ----------------------------------------------------------------------------------------------------------- from files


def read(kind: Any, given: dict[str, Any]) -> Any:
    """A state of arrays as bytes, whose shapes follow from a few numbers; it is checked.

    A member that was not there yet when the file was written knows nothing, and the combiner does not listen to it yet.
    """
    n_numeric, n_nominal = given["dense.origin"].size // 8, given["dense.place"].size // (4 * VALUES)
    require(given["used"].size == 24, "the rows of the panel")
    rows, columns, classes = map(int, given["used"].view(np.int64))
    good = rows >= 0 and 0 <= classes <= given["class_seen"].size // 8
    good = good and given["width"] == n_numeric + n_nominal
    require(good and min(n_numeric, WIDE) <= columns <= given["most"] <= WIDE + 1024, "the columns of the panel")
    sizes = {"numeric": n_numeric, "nominal": n_nominal, "columns": columns, "classes": classes}
    for room in PARTS[kind].rooms.values():
        sizes[room.axis] = min(rows, room.most) if room.used is None else _size_of(room, kind, given)
    sizes = all_sizes(PARTS[kind], sizes)
    state = made(kind, sizes, {**given, "dense.n_numbers": min(n_numeric, WIDE)})
    for i, member in enumerate(PARTS[kind].members):
        saved = _saved(kind, f"members.{member.name}.")
        if saved and member.field.since > 1 and all(given[leaf.name] is None for leaf in saved):
            start_member(state.members[i], state.shared, columns)
    check(state, {**sizes, "rows": min(rows, NUMBERS_OF_ROWS)}, "panel.")
    check_links(state)
    return state


def _saved(kind: Any, path: str) -> list[Any]:
    return [leaf for leaf in leaves(kind) if leaf.path.startswith(path) and leaf.field.saved]


def _size_of(room: Room, kind: Any, given: dict[str, Any]) -> int:
    """By the bytes of an array that has this axis, and no other that is not known."""
    for leaf in leaves(kind):
        axes = leaf.field.axes or ()
        if room.axis in axes and all(isinstance(axis, int) or axis == room.axis for axis in axes):
            if given[leaf.name] is None:
                return room.start
            each = cast(Any, leaf.field.dtype).itemsize * math.prod(axis for axis in axes if isinstance(axis, int))
            size = int(given[leaf.name].size // each)
            require(room.start <= size <= room.most, leaf.name)
            return size
    raise TypeError(f"{kind.__name__} has no array whose bytes tell how long {room.axis} is")


def check_newton(newton: Newton) -> None:
    """A is positive definite, by far: a step would have no end otherwise."""
    check(newton, name="newton.")
    require(np.linalg.eigvalsh(newton.A).min() > 1e-3, "the combiner of the panel")


def check_links(state: Any) -> None:
    """What the numbers of a panel or a member refer to is there."""
    stats = state.shared.stats
    met = min(np.count_nonzero(stats.dense.place), stats.most - stats.dense.n_numbers)
    require(stats.used[COLUMNS] == stats.dense.n_numbers + met, "the values of the panel")
    if hasattr(state, "newton"):
        check_newton(state.newton)
        check_newton(state.slow)
        require(abs(state.shares.sum() + state.trust.sum() - 1.0) < 1e-6, "the shares of the combiners of the panel")
    for one, own in parts_of(state).both(state):
        if one.check is not None:
            one.check(own, state.shared)
