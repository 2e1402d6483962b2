"""Model files, for every estimator: save, load, go on. What a pickle promises, and more."""

from __future__ import annotations

import copy
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import onlineboost
from contract.kinds import every_estimator, every_kind, with_costs, with_learners_of_another_make
from contract.test_contract import learned, small, stream  # noqa: F401
from helpers import frozen, in_blocks, model_state, number_stream
from onlineboost import lookup
from onlineboost.files.fields import kind_of
from onlineboost.files.files import Room, take
from onlineboost.files.files import frozen as frozen_copy
from onlineboost.files.states import HOLDS, STATES
from onlineboost.registry import BESIDE
from onlineboost.storage import CannotSave, ForeignModelFile

every_setting = pytest.mark.parametrize("kind", every_kind(), ids=str)
every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
every_class_and_costs = pytest.mark.parametrize("kind", every_estimator() + with_costs(), ids=str)


def jobs_of(kind):
    return {"n_jobs": 3} if "n_jobs" in kind.make().get_params() else {}


def assert_same_settings(a, b):
    assert type(a) is type(b)
    assert repr(a.get_params()) == repr(b.get_params())
    assert pickle.dumps(clone(a)) == pickle.dumps(clone(b)) or repr(a) == repr(b)


@every_setting
def test_a_loaded_model_goes_on_bit_for_bit(kind, tmp_path):
    """Saved in the middle of a stream, from a chain that threads have cut; classes and values still to come."""
    X, y, weight = stream(1, 160)
    path = tmp_path / "model.olb"
    clf, _ = learned(kind, X[:100], y[:100], weight[:100], **jobs_of(kind))
    before = frozen(clf)
    clf.save(path)
    assert frozen(clf) == before
    file, said, ends = path.read_bytes(), [], []
    for mapped in (False, True):
        twin = onlineboost.load(path, mapped=mapped)
        assert_same_settings(twin, clf)
        assert model_state(twin) == model_state(clf)
        np.testing.assert_array_equal(twin.predict_proba(X), clf.predict_proba(X))
        said.append(in_blocks(twin, X[100:], y[100:], 33, weight[100:]))
        ends.append(model_state(twin))
        assert path.read_bytes() == file  # a mapped model has changed as well, and not the file
        assert frozen(clf) == before
    want = in_blocks(clf, X[100:], y[100:], 70, weight[100:])
    assert said == [want, want]
    assert ends == [model_state(clf)] * 2


@every_setting
def test_equal_models_make_equal_files_and_pickles(kind, tmp_path):
    """However the stream was cut into blocks and the work spread over threads; saved and loaded on the way or not."""
    X, y, weight = stream(2, 120)
    path, jobs = tmp_path / "model.olb", jobs_of(kind)

    def by_file(clf):
        clf.save(path)
        return onlineboost.load(path)

    def by_pickle(clf):
        return pickle.loads(pickle.dumps(clf))

    def saved(clf):
        if jobs:
            clf.set_params(n_jobs=1)
        clf.save(path)
        return path.read_bytes(), pickle.dumps(clf)

    want = saved(learned(kind, X, y, weight, block=len(y))[0])
    for block, settings in ((1 if kind.thoroughly else 7, {}), (60, jobs)):
        assert saved(learned(kind, X, y, weight, block, **settings)[0]) == want
    clf = kind.make(**jobs)
    for a, on_the_way in ((0, by_file), (40, by_pickle), (80, by_file)):
        rows = slice(a, a + 40)
        clf = on_the_way(clf.partial_fit(X[rows], y[rows], sample_weight=weight[rows]))
    assert saved(clf) == want
    for copier in (copy.copy, copy.deepcopy, lambda clf: clf.snapshot(), by_file, by_pickle):
        assert saved(copier(clf)) == want


@every_class_and_costs
def test_a_quick_copy_is_saved_as_the_model_while_that_goes_on(kind, tmp_path):
    """What a checkpoint is made of: copied in the same memory again and again, from a chain that threads have cut."""
    X, y, weight = stream(5)
    clf, room = kind.make(**jobs_of(kind)), Room()
    for a in range(0, len(y), 60):
        quick = frozen_copy(clf, room)
        clf.save(tmp_path / "want.olb")
        rows = slice(a, a + 60)
        clf.partial_fit(X[rows], y[rows], sample_weight=weight[rows])
        take(quick).write(tmp_path / "copy.olb")
        assert (tmp_path / "copy.olb").read_bytes() == (tmp_path / "want.olb").read_bytes()
        room.prepare()


@every_class_and_costs
def test_models_that_have_learned_nothing(kind, tmp_path):
    X, y, weight = stream(3)
    path = tmp_path / "model.olb"
    fresh = kind.make()
    fresh.save(path)
    loaded = onlineboost.load(path)
    assert_same_settings(loaded, fresh)
    with pytest.raises(ValueError, match="not fitted"):
        loaded.predict(X)
    want, said = learned(kind, X, y, weight)
    assert in_blocks(loaded, X, y, 60, weight) == said
    assert model_state(loaded) == model_state(want)


@every_class
def test_classes_without_a_row(kind, tmp_path):
    X, y = number_stream(60)
    path = tmp_path / "model.olb"
    clf = kind.make().partial_fit(X[:0], y[:0], classes=[0, 1, 2])
    clf.save(path)
    loaded = onlineboost.load(path)
    assert model_state(loaded) == model_state(clf)
    assert in_blocks(loaded, X, y, 20) == in_blocks(clf, X, y, 20)
    assert model_state(loaded) == model_state(clf)


@every_class
def test_columns_that_turn_up_later(kind, tmp_path):
    """Saved before and after a column has turned up, in rows that are mappings."""
    X, y, _ = stream(6, 90)
    names = ("colour", "length", "size", "width", "count")
    rows = [{name: value for name, value in zip(names, x, strict=True) if value is not None} for x in X]
    for b, row in enumerate(rows):
        row.pop("width" if b < 30 else None, None)
        row.pop("size" if b < 60 else None, None)
    clf, path = kind.make(), tmp_path / "model.olb"
    twin = kind.make()
    for b, (row, label) in enumerate(zip(rows, y, strict=True)):
        clf.learn_one(row, label)
        twin.learn_one(row, label)
        if b in (20, 30, 45, 60, 75):
            twin.save(path)
            twin = onlineboost.load(path)
            assert model_state(twin) == model_state(clf)
    assert len(clf._model.encoder.names) == 5
    assert model_state(twin) == model_state(clf)


@every_class
def test_columns_of_a_first_block_that_have_no_value_yet(kind, tmp_path):
    """Nor where the only values are in rows of weight 0, which are as if absent."""
    X, y, path = pd.DataFrame({"a": [1.0, 2.0, 3.0] * 20, "b": np.nan, "c": np.nan}), [0, 1, 0] * 20, tmp_path / "m.olb"
    X.loc[0, "c"] = 5.0
    weight = np.ones(60)
    weight[0] = 0.0
    by_block = kind.make(columns="open").partial_fit(X, y, sample_weight=weight)
    by_row = kind.make(columns="open").learn_one({"a": 1.0, "b": None}, 0)
    for clf in (by_block, by_row):
        clf.save(path)
        loaded = onlineboost.load(path)
        assert model_state(loaded) == model_state(clf)
        for each in (clf, loaded):
            assert (each.n_features_in_, each.feature_names_in_.tolist()) == (1, ["a"])
            each.partial_fit(X.fillna(2.0), y)
            assert (each.n_features_in_, each.feature_names_in_.tolist()) == (3, ["a", "b", "c"])
        assert model_state(loaded) == model_state(clf)


@every_class
def test_loading_takes_little_more_memory_than_the_file_has_bytes(kind, tmp_path):
    X, y, weight = stream(7, 600)
    learned(kind, X, y, weight)[0].save(tmp_path / "model.olb")
    data = (tmp_path / "model.olb").read_bytes()
    onlineboost.load(tmp_path / "model.olb")
    tracemalloc.start()
    try:
        onlineboost.load(tmp_path / "model.olb")
        taken = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    computed = 70_000_000 if b'"mbbm"' in data else 0  # potentials, and room for costs
    assert taken <= 3 * len(data) + 1_000_000 + computed


@every_class
def test_what_load_would_refuse_is_not_saved(kind, tmp_path):
    X, y = number_stream(30)
    clf, path = kind.make().partial_fit(X, y), tmp_path / "model.olb"
    clf.save(path)
    file = path.read_bytes()
    clf._model.chain.numbers.moments[0, 0] = np.nan
    with pytest.raises(CannotSave, match=r"load.*would refuse.*the file of before is as it was"):
        clf.save(path)
    assert path.read_bytes() == file
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


@every_class
def test_a_damaged_model_is_not_saved(kind, tmp_path):
    X, y = number_stream(30)
    clf = kind.make().partial_fit(X, y)
    clf._model.damage = "MemoryError: no more"
    with pytest.raises(RuntimeError, match="half way"):
        clf.save(tmp_path / "model.olb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # GaussianNB, before it has seen two values
@pytest.mark.parametrize("kind", with_learners_of_another_make(), ids=str)
def test_learners_of_another_make_by_request_alone(kind, tmp_path):
    X, y = number_stream(90)
    path = tmp_path / "model.olb"
    clf = kind.make(n_learners=2)
    try:
        clf.partial_fit(X[:45], y[:45], classes=[0, 1, 2])
    except ValueError:
        pytest.skip("takes trees alone")
    with pytest.raises(CannotSave, match=r"GaussianNB\(\) is from another library.*pickled_learners=True"):
        clf.save(path)
    assert not path.exists()
    clf.save(path, pickled_learners=True)
    with pytest.raises(ForeignModelFile, match="pickled_learners=True"):
        onlineboost.load(path)
    loaded = onlineboost.load(path, pickled_learners=True)
    assert model_state(loaded) == model_state(clf)
    assert in_blocks(loaded, X[45:], y[45:], 20) == in_blocks(clf, X[45:], y[45:], 45)
    assert model_state(loaded) == model_state(clf)


@every_class
def test_what_a_model_holds_is_listed(kind):
    """A state that has no line in states.py is found here, by its class, before a user meets it in `save`."""
    X, y, weight = stream(4)
    clf, _ = learned(kind, X, y, weight)
    met, todo = set(), [clf._model]
    while todo:
        state = todo.pop()
        if isinstance(state, list | tuple) and not hasattr(state, "_fields"):
            todo += state
        elif type(state).__module__.startswith("onlineboost") and (known := kind_of(state)) not in met:
            met.add(known)
            assert known in STATES.by_kind, f"{known} is not in files/states.py"
            todo += STATES.by_kind[known].take(state).values()
    assert len(met) >= 7
    assert {*lookup.names(), *(entry.name for entry in BESIDE)} == set(HOLDS)
