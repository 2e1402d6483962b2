"""What follows from the schema of a state, and files of states that did not have all of its fields yet."""

from __future__ import annotations

import pickle
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any, NamedTuple

import numpy as np
import pytest

import onlineboost
from helpers import forests, model_state, number_stream
from make_golden_files import FOLDER, HALF, ROWS, go_on
from onlineboost import AdaBoostOLM
from onlineboost._compile.jit import bare_kernel
from onlineboost.chain.clipping import RANK, Numbers
from onlineboost.contracts.schema import SHARED, Field, Grown, array, b1, f4, f8, i4, i8, leaves, part, schema, whole
from onlineboost.contracts.state import (
    StateError,
    along,
    between,
    bits,
    bytes_with,
    check,
    check_fields,
    copied,
    cut,
    joined,
    loaded,
    made,
    nbytes,
    resized,
    sizes_of,
    up_to_date,
    values,
)
from onlineboost.data.places import CELLS
from onlineboost.files import states
from onlineboost.files.fields import States
from onlineboost.files.states import STATES
from onlineboost.panel import panel
from onlineboost.panel.combiner import PANEL_RIDGE, new_newton_work
from onlineboost.panel.member import MEMBER, Part
from onlineboost.panel.state import (
    MEMBERS,
    Panel,
    most_bytes,
    packed,
    panel_of,
    read,
    room_for_rows,
    with_classes,
)
from onlineboost.trees.state import UNLIMITED

PAIR = np.dtype([("left", np.int32), ("right", np.int32)])


class Sums(NamedTuple):
    mass: Annotated[np.ndarray, f8("columns", low=0.0)]
    mean: Annotated[np.ndarray, f8("columns")]


@dataclass
class Notes:
    y: Annotated[np.ndarray, i8("rows", low=-1)]
    later: Sums | None = None


class Whole(NamedTuple):
    seed: int
    kind: Annotated[int, whole(0, 2)]
    n: Annotated[int, Field(size="learners")]
    total: Sums
    scores: Annotated[Sums, part(per="classes", columns="scores")]
    owner: Annotated[np.ndarray, i4("columns", below="classes")]
    alpha: Annotated[np.ndarray, f4("learners", 2, default=0.5)]
    pairs: Annotated[np.ndarray, array(PAIR, "learners")]
    seen: Annotated[np.ndarray, b1("learners", since=2)]
    X: Annotated[np.ndarray, f8("rows", "columns", missing=True)]
    table: Annotated[Any, SHARED] = None
    maybe: Annotated[np.ndarray | None, f8("learners")] = None


SIZES = {"columns": 3, "classes": 2, "scores": 4, "learners": 5, "rows": 1}


def arrays(state):
    return {leaf.name: value for leaf, value in values(state) if isinstance(value, np.ndarray)}


def whole_state():
    state = made(Whole, SIZES, {"seed": 7, "n": 5})._replace(table=[1, 2])
    rng = np.random.default_rng(0)
    state.alpha[:] = rng.random(state.alpha.shape)
    state.scores.mean[:] = rng.random((2, 4))
    state.pairs["left"] = range(5)
    return state


def test_a_new_state_has_the_shapes_types_and_defaults_of_its_schema():
    state = made(Whole, SIZES, {"seed": 7})
    assert (state.seed, state.n, state.maybe) == (7, 0, None)
    assert state.scores.mass.shape == (2, 4)
    assert state.total.mass.shape == (3,)
    assert state.alpha.dtype == np.float32
    assert (state.alpha == 0.5).all()
    assert state.pairs.dtype == PAIR
    assert [leaf.name for leaf in leaves(Whole)][3:7] == ["total.mass", "total.mean", "scores.mass", "scores.mean"]


def test_copies_have_nothing_in_common_but_what_is_shared():
    state = whole_state()
    twin = copied(state)
    assert bits(twin) == bits(state)
    assert twin.table is state.table
    for name, value in arrays(twin).items():
        assert not np.shares_memory(value, arrays(state)[name]), name
    twin.scores.mean[0, 0] += 1.0
    assert bits(twin) != bits(state)
    notes = Notes(np.arange(3), Sums(np.ones(1), np.ones(1)))
    other = copied(notes)
    assert not np.shares_memory(other.later.mass, notes.later.mass)
    assert copied(Notes(np.arange(3))).later is None


def test_room_is_added_and_taken_along_axes():
    state = whole_state()
    wide = resized(state, {"columns": 6, "learners": 7})
    assert sizes_of(wide, ("columns", "scores", "learners", "nothing")) == {"columns": 6, "scores": 4, "learners": 7}
    assert wide.X.shape == (1, 6)
    assert (wide.alpha[5:] == 0.0).all()
    assert bits(resized(wide, SIZES)) == bits(state)
    assert bits(cut(wide, SIZES)) == bits(state)
    assert np.shares_memory(cut(wide, SIZES).alpha, wide.alpha)
    assert bytes_with(state, {"columns": 6, "learners": 7}) == nbytes(wide)


def test_parts_along_an_axis_are_joined_again():
    state = whole_state()._replace(maybe=np.arange(5.0))
    parts = [between(state, "learners", a, b) for a, b in ((0, 2), (2, 2), (2, 5))]
    assert [len(each.pairs) for each in parts] == [2, 0, 3]
    assert bits(joined(parts, "learners")) == bits(state)
    assert list(along(state, "learners")) == ["alpha", "pairs", "seen", "maybe"]
    assert joined([state, state], "scores").scores.mean.shape == (2, 8)


def test_after_a_pickle_arrays_can_be_written_to_and_have_types_of_their_own():
    sums = pickle.loads(pickle.dumps(Sums(np.ones(2), np.zeros(2))))
    sums.mass.flags.writeable = False
    again = loaded(sums)
    assert again.mass.flags.writeable
    assert pickle.dumps(again) == pickle.dumps(Sums(np.ones(2), np.zeros(2)))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"owner": np.array([0, 1, 2], np.int32)}, "owner"),
        ({"owner": np.array([0, -1, 0], np.int32)}, "owner"),
        ({"owner": np.array([0, 1, 1])}, "owner"),
        ({"alpha": np.full((5, 2), np.nan, np.float32)}, "alpha"),
        ({"alpha": np.full((5, 2), np.inf, np.float32)}, "alpha"),
        ({"alpha": np.zeros((4, 2), np.float32)}, "pairs|alpha"),
        ({"alpha": np.zeros((5, 3), np.float32)}, "alpha"),
        ({"alpha": None}, "alpha"),
        ({"X": np.full((1, 3), np.inf)}, "X"),
        ({"X": np.zeros(3)}, "X"),
        ({"X": np.zeros((1, 3), np.float32)}, "X"),
        ({"total": Sums(np.array([0.0, -1e-300, 0.0]), np.zeros(3))}, "total.mass"),
        ({"maybe": np.zeros(4)}, "maybe"),
        ({"kind": 3}, "kind"),
        ({"kind": -1}, "kind"),
        ({"kind": True}, "kind"),
        ({"kind": 1.0}, "kind"),
        ({"seed": 1 << 63}, "seed"),
        ({"n": 4}, "n is 4"),
    ],
    ids=str,
)
def test_what_is_not_as_the_schema_says_is_named(change, what):
    state = whole_state()
    state.X[:] = np.nan
    assert check(state)["learners"] == 5
    with pytest.raises(StateError, match=f"state.({what})"):
        check(state._replace(**change), name="state.")


def test_sizes_that_are_known_are_checked():
    with pytest.raises(StateError, match="shape"):
        check(whole_state(), {"classes": 3})


def test_what_is_new_in_an_array_that_has_grown_has_its_default():
    field = f8("learners", Grown(2, 3, 5), default=0.5, kinds=(np.ndarray,))
    for width in (2, 3, 5):
        now = up_to_date(field, np.zeros((4, width)))
        assert now.tolist() == [[0.0] * width + [0.5] * (5 - width)] * 4
    with pytest.raises(StateError, match="shape"):
        check_fields([("odd", field, up_to_date(field, np.zeros((4, 4))))], {})


def test_every_array_of_every_state_is_declared():
    """A booster of somebody's own need not; what the package saves has a type, axes, and so its checks."""
    for state in STATES.by_name.values():
        for name, field in state.fields.items():
            assert not field.is_array or (field.dtype is not None and field.axes is not None), (state.name, name)
    for kind in (Panel, *(kind for kind in STATES.by_kind if hasattr(kind, "_fields") and kind.__name__ != "Tables")):
        for leaf in leaves(kind):
            assert not leaf.field.is_array or leaf.field.dtype is not None, leaf.name


# --------------------------------------------------------------------------------------------- states that have changed


class Counted(NamedTuple):
    """`Numbers` with fields that were added after its files had been written."""

    moments: Annotated[np.ndarray, f8(3, "columns")]
    ends: Annotated[np.ndarray, f8(2, RANK, "columns")]
    wide: Annotated[np.ndarray, i8("wide", low=0, since=2)]
    cells: Annotated[np.ndarray, f8("wide", CELLS, "classes", low=0.0, since=2)]
    labels: Annotated[np.ndarray, f8("wide", "classes", low=0.0, since=2)]
    step: Annotated[np.ndarray, f8("wide", low=1.0, high=2e6, default=1.0, since=2)]
    odd: Annotated[np.ndarray, i8("columns", low=0, since=3)]
    base: Annotated[float, Field(since=4, default=0.25)] = 0.25


@pytest.fixture
def changed(monkeypatch):
    """All states as they are, to be changed."""
    own = States()
    own.by_name, own.by_kind = dict(STATES.by_name), dict(STATES.by_kind)
    for module in (states, onlineboost.files.files, onlineboost.files.checks):
        monkeypatch.setattr(module, "STATES", own)
    for name, entry in own.by_name.items():
        assert own.by_kind[entry.kind].name == name
    return own


@pytest.mark.parametrize("name", ["adaboost-olm", "online-boost"])
def test_a_field_that_is_added_has_its_default_in_older_files_and_the_model_goes_on_bit_for_bit(
    name, changed, tmp_path
):
    path = FOLDER / "format-1" / f"{name}, half.olb"
    old = onlineboost.load(path)
    changed.add("numbers", Counted)
    new = onlineboost.load(path)
    numbers = new._model.chain.numbers
    assert type(numbers) is Counted
    assert numbers.odd.tolist() == [0] * numbers.moments.shape[1]
    assert numbers.base == 0.25
    want = go_on(old, HALF, ROWS, block=70)
    assert go_on(new, HALF, ROWS, block=70) == want
    new._model.chain.numbers.odd[:] = 3
    new.save(tmp_path / "new.olb")
    again = onlineboost.load(tmp_path / "new.olb")
    assert again._model.chain.numbers.odd.tolist() == [3] * numbers.moments.shape[1]
    again._model.chain.numbers = new._model.chain.numbers = Numbers(*new._model.chain.numbers[:6])
    for forest in (forest for clf in (old, new, again) for forest in forests(clf._model.chain)):
        for table in ("nodes", "rows", "stats"):
            forest.budget[f"most_{table}"] = UNLIMITED  # there is less memory for trees beside a larger state
    assert model_state(new) == model_state(again) == model_state(old)


def test_a_field_that_is_missing_and_has_always_been_there_is_a_damage(changed, tmp_path):
    class Strict(NamedTuple):
        moments: Annotated[np.ndarray, f8(3, "columns")]
        ends: Annotated[np.ndarray, f8(2, RANK, "columns")]
        odd: Annotated[np.ndarray, i8("columns", low=0)]

    X, y = number_stream(20)
    AdaBoostOLM(2).fit(X, y).save(tmp_path / "model.olb")
    changed.add("numbers", Strict)
    with pytest.raises(onlineboost.storage.DamagedModelFile, match="fields of numbers"):
        onlineboost.load(tmp_path / "model.olb")


class Drift(NamedTuple):
    """What a voice that is added to the panel learns."""

    level: Annotated[np.ndarray, f8("classes", low=0.0, default=1.0)]
    rows: Annotated[np.ndarray, f4("recent", "columns")]


VOICES = Grown(7, 8, 10, 11)


@bare_kernel
def start_drift(drift, shared, first, stop):
    for j in range(first, stop):
        drift.rows[0, j] = 1.0 + j


@bare_kernel
def say_drift(drift, own, said, shared, row, n, k):
    for c in range(k):
        said[0, c] = drift.level[c]


def test_a_voice_that_is_added_to_the_panel_is_new_in_older_files(changed, tmp_path):
    """Its state is as that of a new one, the combiner does not hear it yet, and what others have learned is there."""
    MEMBER.implement(Drift, say=say_drift, start=start_drift)
    drift = Part("drift", Drift, {10: "drift"}, field=part(since=5))
    wider = panel_of("WiderPanel", [*MEMBERS, drift])
    path = FOLDER / "format-1" / "online-boost, half.olb"
    then = onlineboost.load(path)._model.chain.panel.state
    changed.by_name["panel"] = changed.by_name["panel"]._replace(
        fields=states._flat(wider), take=partial(states._take_flat, states._flat(wider)), make=partial(read, wider)
    )
    changed.by_kind[wider] = changed.by_name["panel"]
    new = onlineboost.load(path)
    now = new._model.chain.panel.state
    assert type(now) is wider
    assert now.members.drift.level.tolist() == [1.0] * len(then.shared.stats.class_seen)
    assert now.members.drift.rows[0].tolist() == [1.0 + j for j in range(len(then.shared.scale.scale))]
    np.testing.assert_array_equal(now.newton.beta, np.append(then.newton.beta, 0.0))
    np.testing.assert_array_equal(now.newton.A[:10, :10], then.newton.A)
    assert now.newton.A[10].tolist() == [0.0] * 10 + [PANEL_RIDGE]  # as in a panel that is new
    learned = bits(now)
    assert all(
        learned[name] == value
        for name, value in bits(then).items()
        if not name.startswith(("newton.", "slow.", "trust"))
    )
    file = states._flat(wider)
    assert [name for name in file if name not in states._flat(Panel)] == ["drift.level", "drift.rows"]
    new.save(tmp_path / "new.olb")
    assert bits(onlineboost.load(tmp_path / "new.olb")._model.chain.panel.state) == learned
    given = {name: value.reshape(-1).view(np.uint8) for name, value in arrays(packed(then)).items()}
    with pytest.raises(StateError, match=r"the size of newton\.beta"):
        made(wider, {}, {"newton.beta": given["newton.beta"][:48]})
    assert most_bytes(now, 4) > most_bytes(then, 4)
    assert type(with_classes(room_for_rows(now, 5000), 9)) is wider


def test_an_older_panel_goes_on_bit_for_bit_beside_a_voice_more_that_says_nothing(monkeypatch, tmp_path):
    path = FOLDER / "format-1" / "online-boost, half.olb"
    old = onlineboost.load(path)
    want = go_on(old, HALF, ROWS, block=70)
    for name in ("newton", "slow"):
        own = schema(Panel)[name]
        monkeypatch.setitem(schema(Panel), name, replace(own, called=(("voices", VOICES),)))
    monkeypatch.setattr(panel, "new_newton_work", lambda voices, k: copied_as_zeros(new_newton_work(VOICES, k)))
    leaves.cache_clear()
    try:
        new = onlineboost.load(path)
        assert new._model.chain.panel.state.newton.beta[7:].tolist() == [0.0] * 4
        assert go_on(new, HALF, ROWS, block=70) == want
        new.save(tmp_path / "new.olb")
        again = onlineboost.load(tmp_path / "new.olb")
        assert bits(again._model.chain.panel.state.newton) == bits(new._model.chain.panel.state.newton)
        then, now = old._model.chain.panel.state.newton, new._model.chain.panel.state.newton
        assert now.beta.tolist() == [*then.beta.tolist(), 0.0]
        np.testing.assert_array_equal(now.A[:10, :10], then.A)
    finally:
        monkeypatch.undo()
        leaves.cache_clear()


def copied_as_zeros(work):
    return type(work)(*map(np.zeros_like, work))
