"""`save` and `load`: labels and settings of all kinds, files of old versions, and files that are not what they say."""

from __future__ import annotations

import contextlib
import json
import mmap
import os
import subprocess
import sys
import threading
import tracemalloc
from collections import Counter
from datetime import date
from decimal import Decimal
from pathlib import Path
from zlib import crc32

import numpy as np
import pytest
from sklearn.naive_bayes import GaussianNB

import make_golden_files
import mutations
import onlineboost
from helpers import mixed_stream, model_state, number_stream
from make_golden_files import FOLDER, HALF, ROWS, digest, go_on
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier, OnlineMBBM, OzaBoost, storage
from onlineboost.contracts.booster import BOOSTER
from onlineboost.contracts.state import values
from onlineboost.data import places
from onlineboost.data.labels import object_array
from onlineboost.files.states import STATES
from onlineboost.trees.state import DETAIL, NODE, ROW
from test_golden import AGREE, machine

GOLDEN = {folder.name: json.loads((folder / "index.json").read_text()) for folder in sorted(FOLDER.glob("format-*"))}
every_golden_file = pytest.mark.parametrize(
    ("folder", "name"), [(folder, name) for folder, names in GOLDEN.items() for name in names]
)


def saved_and_loaded(clf, tmp_path, **options):
    clf.save(tmp_path / "model.olb", **options)
    return onlineboost.load(tmp_path / "model.olb", **options)


# ------------------------------------------------------------------------------------------------ files of old versions


@every_golden_file
def test_files_of_all_versions_are_loaded_and_go_on(folder, name):
    """Learning the rest of the stream leads to the predictions and to the model that it led to then."""
    known = GOLDEN[folder][name]
    clf = onlineboost.load(FOLDER / folder / f"{name}, half.olb")
    whole = onlineboost.load(FOLDER / folder / f"{name}, whole.olb")
    assert clf.n_samples_seen_ == HALF
    said = go_on(clf, HALF, ROWS, block=70)
    if machine() == known["machine"]:
        assert digest(said) == known["sha256"]
        if name in WITHOUT_LATER:
            forget_later(clf)
        assert model_state(clf) == model_state(whole)
    same = np.mean([a == b for a, b in zip(said, known["predictions"], strict=True)])
    assert same >= AGREE


WITHOUT_LATER = {"online-boost", "eager-trees", "least-squares", "nearest-neighbours", "refitted-trees"}  # older files


def forget_later(clf):
    """What files of older versions do not have of a panel: since the file was loaded it has been kept."""
    chain = clf._model.chain
    members = [member for segment in chain.segments for member in getattr(segment.learners, "members", ())]
    for state in [chain.panel.state] if chain.panel is not None else members:
        for leaf, array in values(state):
            if leaf.field.since > 1:
                array[:] = leaf.field.default


def test_golden_files_are_small_and_stay_as_they_are(capsys):
    files = {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}
    assert max(map(len, files.values())) <= make_golden_files.LARGEST_FILE
    assert sum(map(len, files.values())) <= 5_750_000
    make_golden_files.write_missing(machine())
    assert capsys.readouterr().out.count("stays as it is") == len(make_golden_files.KINDS)
    assert {path: path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()} == files


# -------------------------------------------------------------------------------------------------- labels and settings


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "ü"],
        [3, 10**30, -1],
        [1.0, 2.0, 3.0],
        [True, False],
        [b"x", b"y"],
        [Decimal("1.5"), Decimal("2")],
        [date(2024, 1, 1), date(2024, 1, 2)],
        [(1, "a"), (2, "b"), ()],
        [frozenset({1, 2}), frozenset()],
        [1, "one", 2.5e300, "none"],
        [np.datetime64("2024-01-01"), np.datetime64("2024-01-02")],
    ],
    ids=lambda labels: type(labels[0]).__name__,
)
@pytest.mark.parametrize("fixed", [False, True])
def test_labels_of_all_types(labels, fixed, tmp_path):
    X, codes = number_stream(60, n_classes=len(labels))
    y = object_array([labels[code] for code in codes])
    classes = None
    if fixed:
        classes = object_array(labels)
    clf = HoeffdingTree().partial_fit(X[:30], y[:30], classes=classes)
    loaded = saved_and_loaded(clf, tmp_path)
    assert [type(label) for label in loaded.classes_.tolist()] == [type(label) for label in clf.classes_.tolist()]
    assert loaded.classes_.dtype == clf.classes_.dtype
    for each in (clf, loaded):
        each.partial_fit(X[30:], y[30:])
    assert model_state(loaded) == model_state(clf)
    assert loaded.predict_one(X[0]) == clf.predict_one(X[0])
    assert type(loaded.predict_one(X[0])) is type(clf.predict_one(X[0]))


def test_whole_numbers_stay_whole_beside_fractions_of_them(tmp_path):
    """The array of the classes is one of floats, the labels are not."""
    X, _ = number_stream(4)
    clf = HoeffdingTree().partial_fit(X[:2], [1, 2]).partial_fit(X[2:], [3.0, 1])
    loaded = saved_and_loaded(clf, tmp_path)
    assert [type(label) for label in loaded._model.labels.names] == [int, int, float]
    assert loaded.classes_.dtype == clf.classes_.dtype


class Colour:
    def __repr__(self):
        return "<red>"


def test_a_label_that_cannot_be_saved_is_named(tmp_path):
    X, _ = number_stream(4)
    y = np.array([Colour(), "b", "b", "b"], object)
    clf = HoeffdingTree().partial_fit(X, y)
    with pytest.raises(storage.CannotSave, match=r"the label <red> is of type .*Colour.*Turn it into"):
        clf.save(tmp_path / "model.olb")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "settings",
    [
        {"random_state": np.random.RandomState(3)},
        {"random_state": None},
        {"random_state": np.int64(4)},
        {"weight_scale": [1.0, 2.0]},
        {"weight_scale": np.array([1.0, 2.0])},
        {"class_weight": {0: 2.0, 1: 1}},
        {"cost_matrix": np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [1.0, 2.0, 0.0]])},
        {"cost_matrix": {0: {1: 5}}},
        {"categorical_features": [1]},
        {"categorical_features": np.array([False, True, False, False])},
        {"learner": HoeffdingTree(grace_period=7, leaf_prediction="nb")},
        {"n_jobs": None},
    ],
    ids=lambda settings: next(iter(settings)),
)
def test_settings_of_all_kinds(settings, tmp_path):
    X, y = number_stream(80)
    X[:, 1] = np.floor(X[:, 1])
    clf = AdaBoostOLM(2, **settings).fit(X[:40], y[:40])
    loaded = saved_and_loaded(clf, tmp_path)
    assert repr(loaded.get_params()) == repr(clf.get_params()) or "random_state" in settings
    for each in (clf, loaded):
        each.partial_fit(X[40:], y[40:])
    assert model_state(loaded) == model_state(clf)
    if isinstance(settings.get("random_state"), np.random.RandomState):
        assert loaded.random_state.randint(10**9) == clf.random_state.randint(10**9)


@pytest.mark.parametrize("setting", ["random_state", "cost_matrix"])
def test_a_setting_that_cannot_be_saved_is_named(setting, tmp_path):
    with pytest.raises(storage.CannotSave, match=f"the setting {setting}: "):
        AdaBoostOLM(2, **{setting: np.random.default_rng(0)}).save(tmp_path / "model.olb")


def test_attributes_and_classes_of_your_own_are_named(tmp_path):
    clf = AdaBoostOLM(2)
    clf.note = "of mine"
    with pytest.raises(storage.CannotSave, match="attribute 'note'"):
        clf.save(tmp_path / "model.olb")

    class Mine(AdaBoostOLM):
        pass

    with pytest.raises(storage.CannotSave, match="Mine is not an estimator of onlineboost"):
        Mine(2).save(tmp_path / "model.olb")


def test_a_learner_that_is_a_setting_alone(tmp_path):
    clf = AdaBoostOLM(2, learner=GaussianNB())
    with pytest.raises(storage.CannotSave, match=r"the setting learner: .*pickled_learners=True"):
        clf.save(tmp_path / "model.olb")
    assert isinstance(saved_and_loaded(clf, tmp_path, pickled_learners=True).learner, GaussianNB)


def test_names_of_columns_are_kept(tmp_path):
    pandas = pytest.importorskip("pandas")
    X, y, _ = mixed_stream(80)
    frame = pandas.DataFrame(X, columns=["colour", "length", "size", "width", "count"])
    clf = OzaBoost(2).partial_fit(frame[:40], y[:40])
    loaded = saved_and_loaded(clf, tmp_path)
    assert loaded.feature_names_in_.tolist() == list(frame.columns)
    assert loaded.n_features_in_ == 5
    shuffled = frame[["size", "count", "colour", "width", "length"]]
    np.testing.assert_array_equal(loaded.predict_proba(shuffled), clf.predict_proba(frame))
    for each in (clf, loaded):
        each.partial_fit(frame[40:], y[40:])
    assert model_state(loaded) == model_state(clf)


def test_more_than_256_values_of_a_column(tmp_path):
    X = np.array([[f"value {i}"] for i in range(400)], object)
    y = np.arange(400) % 3
    clf = HoeffdingTree().partial_fit(X, y)
    assert model_state(saved_and_loaded(clf, tmp_path)) == model_state(clf)


def test_the_evidence_of_wide_columns_is_checked(tmp_path):
    X, y = np.array([[f"value {i % 90}"] for i in range(200)], object), np.arange(200) % 3
    HoeffdingTree().partial_fit(X, y).save(tmp_path / "model.olb")
    header, arrays = mutations.parts((tmp_path / "model.olb").read_bytes())
    own = header["content"]["estimator"]["model"]["model"]["chain"]["chain"]["numbers"]["numbers"]
    for name, value in {"wide": 1, "cells": -1.0, "labels": 1e9, "step": 0.5}.items():
        forged = list(arrays)
        forged[own[name]] = bytearray(forged[own[name]])
        forged[own[name]][:8] = np.array([value], np.int64 if name == "wide" else np.float64).tobytes()
        (tmp_path / "forged.olb").write_bytes(mutations.joined(header, forged))
        with pytest.raises(storage.DamagedModelFile, match=r"wide|many values|evidence|cells|step"):
            onlineboost.load(tmp_path / "forged.olb")


def test_potentials_are_computed_again_not_saved(tmp_path):
    X, y = number_stream(60, n_classes=5)
    clf = OnlineMBBM(60).fit(X, y)
    tables = clf._model.chain.segments[0].booster.tables
    loaded = saved_and_loaded(clf, tmp_path)
    again = loaded._model.chain.segments[0].booster.tables
    assert (tmp_path / "model.olb").stat().st_size < 300_000 < tables.dense.phi.nbytes
    for name, value in tables._asdict().items():
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(getattr(again, name), value, err_msg=name)
    np.testing.assert_array_equal(again.dense.phi, tables.dense.phi)
    clf.set_params(gamma=0.3)  # of a model that has begun, it says what new classes get; the tables stay
    assert model_state(saved_and_loaded(clf, tmp_path)) == model_state(clf)


def test_saving_while_another_thread_learns(tmp_path):
    """A file is of a moment between two calls: it is that of a model which has learned so many whole blocks."""
    X, y = number_stream(400)
    twins = {0: None}
    twin = AdaBoostOLM(3)
    for a in range(0, 400, 20):
        twin.partial_fit(X[a : a + 20], y[a : a + 20])
        twins[a + 20] = model_state(twin)
    clf = AdaBoostOLM(3).partial_fit(X[:20], y[:20])

    def learn():
        for a in range(20, 400, 20):
            clf.partial_fit(X[a : a + 20], y[a : a + 20])

    learner = threading.Thread(target=learn)
    learner.start()
    for _ in range(5):
        loaded = saved_and_loaded(clf, tmp_path)
        assert model_state(loaded) == twins[loaded.n_samples_seen_]
    learner.join()


# -------------------------------------------------------------------------------------------- files that are not good


def test_nothing_is_unpickled_or_imported(tmp_path):
    """A model is loaded in a process in which pickle cannot load, and no module outside of the package is named."""
    X, y = number_stream(40)
    AdaBoostOLM(2).fit(X, y).save(tmp_path / "model.olb")
    code = f"""
import pickle
def no(*args, **more):
    raise SystemExit("unpickled")
pickle.loads = pickle.load = no
import onlineboost
print(onlineboost.load({str(tmp_path / "model.olb")!r}).n_samples_seen_)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "40\n"


def test_changed_files_are_refused_or_loaded_as_they_were(tmp_path):
    """300 of the 10,000 of `make fuzz`: bytes flipped, inserted, deleted, doubled; contents forged."""
    models, rows = mutations.golden_models(), mutations.rows_to_learn()
    found = Counter(mutations.trial(seed, models, tmp_path, rows)[1] for seed in range(300))
    assert set(found) <= {"refused", "as it was", "another model", "another model, refused later"}
    assert found["refused"] > 150


def test_forged_files_of_the_panel_are_refused_or_predict_and_learn_with_finite_numbers(tmp_path):
    """120 of the 10,000 of `make fuzz`: the panel, and each of its members, by itself."""
    models, rows = mutations.panel_models(tmp_path), mutations.rows_to_learn()
    trials = [mutations.trial(seed, models, tmp_path, rows, (mutations.FORGED,)) for seed in range(120)]
    found = Counter(result for _, result in trials)
    assert found["refused"] > 60
    assert found["another model"] > 10


@pytest.mark.parametrize("field", ["first", "feature", "n_children", "heavy", "label", "next", "stat", "root"])
@pytest.mark.parametrize("value", [-2, -(2**31), 2**31 - 1, 10**6])
def test_no_index_out_of_range_is_let_in(field, value, tmp_path):
    """In every place of the tables of trees that a kernel goes by."""
    X, y, weight = mixed_stream(200)
    clf = AdaBoostOLM(3, learner=HoeffdingTree(grace_period=10, tie_threshold=0.5))
    clf.partial_fit(X, y, sample_weight=weight).save(tmp_path / "model.olb")
    header, arrays = mutations.parts((tmp_path / "model.olb").read_bytes())
    trees = header["content"]["estimator"]["model"]["model"]["chain"]["chain"]["segments"][0]["segment"]["learners"][
        "trees"
    ]
    tables = {"nodes": NODE, "details": DETAIL, "rows": ROW}
    for table, kind in tables.items():
        if field not in kind.names:
            continue
        good = bytes(arrays[trees[table]])
        for at in (0, len(good) // kind.itemsize // 2):
            changed = np.frombuffer(good, kind).copy()
            inner = np.flatnonzero(np.frombuffer(arrays[trees["nodes"]], NODE)["feature"] >= 0)
            at = int(inner[0]) if field in ("n_children", "heavy") else at
            changed[field][at] = value
            arrays[trees[table]] = bytearray(changed.tobytes())
            (tmp_path / "forged.olb").write_bytes(mutations.joined(header, arrays))
            with pytest.raises(storage.DamagedModelFile, match="corrupt model"):
                onlineboost.load(tmp_path / "forged.olb")
        arrays[trees[table]] = bytearray(good)
    if field == "root":
        arrays[trees["roots"]][:4] = (value % 2**32).to_bytes(4, "little")
        (tmp_path / "forged.olb").write_bytes(mutations.joined(header, arrays))
        with pytest.raises(storage.DamagedModelFile, match="roots"):
            onlineboost.load(tmp_path / "forged.olb")


@pytest.fixture
def older(monkeypatch):
    """As in a model from an older file, in which the values of the columns share places."""
    monkeypatch.setattr(places.Column, "_shares_places", lambda self: True)


@pytest.mark.usefixtures("older")
def test_a_value_whose_hash_is_0_is_met_once_like_others(tmp_path):
    values = [*(f"v{i}" for i in range(64)), *["ay0qaacl"] * 3]
    assert crc32(b"ay0qaacl") == 0
    clf = HoeffdingTree().partial_fit(np.array(values, object)[:, None], [i % 2 for i in range(67)])
    assert "ay0qaacl" in clf._model.encoder.codes[0]
    clf.save(tmp_path / "model.olb")
    assert model_state(onlineboost.load(tmp_path / "model.olb")) == model_state(clf)


@pytest.mark.usefixtures("older")
def test_values_met_once_are_checked(tmp_path):
    X = [[f"shop {i}"] for i in range(150)]
    HoeffdingTree().partial_fit(X, ["a", "b"] * 75).save(tmp_path / "model.olb")
    header, arrays = mutations.parts((tmp_path / "model.olb").read_bytes())
    number = header["content"]["estimator"]["model"]["model"]["encoder"]["columns"]["once"]
    good = np.frombuffer(bytes(arrays[number]), np.int64).reshape(-1, 2)
    assert len(good) == 150 - 64
    at_fault = {(0, 0): 1, (3, 0): -1, (5, 1): 0, (7, 1): 1 << 32, (9, 1): good[8, 1], (11, 1): good[10, 1] - 1}
    for place, value in at_fault.items():
        forged = good.copy()
        forged[place] = value
        arrays[number] = bytearray(forged.tobytes())
        (tmp_path / "forged.olb").write_bytes(mutations.joined(header, arrays))
        with pytest.raises(storage.DamagedModelFile, match="values met once"):
            onlineboost.load(tmp_path / "forged.olb")


@pytest.mark.parametrize("forged", [{"compared": -10.0}, {"compared": float("inf")}, {"lead": float("nan")}], ids=str)
def test_the_watch_of_the_restarts_is_checked(forged, tmp_path):
    X, y = number_stream(40)
    AdaBoostOLM(2).fit(X, y).save(tmp_path / "model.olb")
    header, arrays = mutations.parts((tmp_path / "model.olb").read_bytes())
    header["content"]["estimator"]["model"]["model"]["chain"]["chain"]["watch"]["watch"].update(forged)
    (tmp_path / "forged.olb").write_bytes(mutations.joined(header, arrays))
    with pytest.raises(storage.DamagedModelFile):
        onlineboost.load(tmp_path / "forged.olb")


ALARMS = {
    "lead": [np.nan, -1.0, 25.5, 1e300],
    "counts": [np.nan, -1.0, 1e308],  # of the first class
    "rounds": [-1, 39, 41],  # the last one: the panel has learned 40 rows
}


@pytest.mark.parametrize("name", ALARMS)
def test_when_a_panel_begins_anew_is_checked(name, tmp_path):
    X, y = number_stream(40)
    OnlineBoostClassifier(2).fit(X, y).save(tmp_path / "model.olb")
    header, arrays = mutations.parts((tmp_path / "model.olb").read_bytes())
    number = header["content"]["estimator"]["model"]["model"]["chain"]["panelled"]["panel"]["panel"][f"alarm.{name}"]
    good = np.frombuffer(bytes(arrays[number]), np.int64 if name == "rounds" else np.float64)
    changed = [np.append(value, good[1:]) for value in ALARMS[name]]
    if name == "rounds":
        changed.append(np.append(good[:-1], 7))  # the one 16 times ago alone
    for forged in changed:
        arrays[number] = bytearray(forged.astype(good.dtype).tobytes())
        (tmp_path / "forged.olb").write_bytes(mutations.joined(header, arrays))
        with pytest.raises(storage.DamagedModelFile, match="panel"):
            onlineboost.load(tmp_path / "forged.olb")


def trees_of(header):
    """Where the tables of the trees of a model with a panel are."""
    chain = header["content"]["estimator"]["model"]["model"]["chain"]["panelled"]
    return chain["segments"][0]["segment"]["learners"]["trees"]


def forged_sizes(path):
    """Files of a model with a panel in which a number speaks of much more than is there."""
    header, arrays = mutations.parts(path.read_bytes())
    panel = header["content"]["estimator"]["model"]["model"]["chain"]["panelled"]["panel"]["panel"]

    def changed(number, content, shape=None):
        other, own = json.loads(json.dumps(header)), list(arrays)
        own[number] = bytearray(content)
        other["arrays"][number][1] = shape or [len(content)]
        return mutations.joined(other, own)

    details = np.frombuffer(bytes(arrays[trees_of(header)["details"]]), DETAIL).copy()
    details["n_children"] = 2**31 - 1
    yield changed(trees_of(header)["details"], details.tobytes())
    yield changed(trees_of(header)["stats"], b"", [1 << 20, 0])
    yield changed(trees_of(header)["stats"], b"", [1 << 40, 0])
    for at, value in ((0, 2**40), (1, 1000), (2, 2**40), (2, 5000)):
        used = np.frombuffer(bytes(arrays[panel["used"]]), np.int64).copy()
        used[at] = value
        yield changed(panel["used"], used.tobytes())
    used = np.frombuffer(bytes(arrays[panel["used"]]), np.int64).copy()
    used[2] = 100_000  # classes, and one of their arrays is as long
    other, own = mutations.parts(changed(panel["used"], used.tobytes()))
    own[panel["class_seen"]], other["arrays"][panel["class_seen"]][1] = bytearray(800_000), [800_000]
    yield mutations.joined(other, own)


def test_no_number_of_a_file_makes_load_ask_for_memory(tmp_path):
    X, y, weight = mixed_stream(200)
    tree = HoeffdingTree(grace_period=10, tie_threshold=0.5)
    OnlineBoostClassifier(3, learner=tree).partial_fit(X, y, sample_weight=weight).save(tmp_path / "model.olb")
    for data in forged_sizes(tmp_path / "model.olb"):
        assert takes(data, tmp_path) <= 3 * len(data) + 2_000_000


def test_potentials_of_a_forged_file_are_not_computed(tmp_path, monkeypatch):
    X, y = number_stream(40)
    OnlineMBBM(2).fit(X, y).save(tmp_path / "model.olb")
    header, arrays = mutations.parts((tmp_path / "model.olb").read_bytes())
    booster = header["content"]["estimator"]["model"]["model"]["chain"]["chain"]["segments"][0]["segment"]["booster"]
    booster["mbbm"]["tables"]["potentials"]["n_classes"] = 1 << 20
    data = mutations.joined(header, arrays)
    assert takes(data, tmp_path) <= 3 * len(data) + 2_000_000


def takes(data, folder):
    """Bytes that loading a file takes at most, or trying to."""
    (folder / "odd.olb").write_bytes(data)
    tracemalloc.start()
    try:
        with contextlib.suppress(storage.ModelFileError):
            onlineboost.load(folder / "odd.olb")
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_memory_for_a_header_is_bounded(tmp_path):
    """Headers that speak of more than is there, and lists of little: no more than 60 times the header."""
    path = tmp_path / "model.olb"
    X, y = number_stream(40)
    AdaBoostOLM(2).fit(X, y).save(path)
    header, arrays = mutations.parts(path.read_bytes())
    odd = []
    for shape in ([10**9], [10**6, 10**6]):
        changed = json.loads(json.dumps(header))
        changed["arrays"][2][1] = shape
        odd.append(mutations.joined(changed, arrays))
    for change in ({"objects": [[0], [[]] * 20_000]}, {"ndarray": ["<U99999999", [1], 0]}, [{}] * 20_000, "x" * 10**6):
        changed = json.loads(json.dumps(header))
        changed["content"]["estimator"]["settings"]["learner"] = change
        odd.append(mutations.joined(changed, arrays))
    changed = json.loads(json.dumps(header))
    changed["arrays"] += [["u1", [0], 0]] * 20_000
    odd.append(mutations.joined(changed, arrays + [bytearray()] * 20_000))
    columns = changed["content"]["estimator"]["model"]["model"]["encoder"]["columns"]  # tables of values met once
    columns |= {"names": [f"{j:x}" for j in range(5_000)], "nominal": list(range(5_000)), "values": [[]] * 5_000}
    columns["once"] = len(header["arrays"])
    changed["arrays"] = [*header["arrays"], ["i8", [5_000, 2], 0]]
    once = np.array([[j, 5] for j in range(5_000)], np.int64)
    odd.append(mutations.joined(changed, [*arrays, bytearray(once.tobytes())]))
    for data in odd:
        length = int.from_bytes(data[12:16], "little")
        assert takes(data, tmp_path) < 3 * len(data) + 60 * length + 2_000_000


def test_a_mapped_model_is_not_read_whole(tmp_path, monkeypatch):
    from onlineboost.storage import container

    monkeypatch.setattr(container, "MAPPED", 1000)
    X, y = number_stream(400)
    clf = HoeffdingTree(grace_period=5, tie_threshold=0.9).fit(X, y)
    clf.save(tmp_path / "model.olb")
    mapped, whole = onlineboost.load(tmp_path / "model.olb", mapped=True), onlineboost.load(tmp_path / "model.olb")
    forest = mapped._model.chain.segments[0].learners.forest
    root = forest.stats
    while isinstance(root, np.ndarray):
        root = root.base
    assert isinstance(root.obj if isinstance(root, memoryview) else root, mmap.mmap)
    np.testing.assert_array_equal(mapped.predict_proba(X), whole.predict_proba(X))
    os.unlink(tmp_path / "model.olb")  # the pages stay for as long as the model lives
    np.testing.assert_array_equal(mapped.predict_proba(X), whole.predict_proba(X))


# ------------------------------------------------------------------------------------------------------------- the page


def test_the_page_tells_of_every_state_and_field():
    page = (Path(__file__).parents[1] / "src" / "onlineboost" / "storage" / "FORMAT.md").read_text(encoding="utf-8")
    for state in STATES.by_name.values():
        if state.kind in BOOSTER.foreign:
            continue  # of another test
        assert f"`{state.name}`" in page, state.name
        for field, kind in STATES.told(state).items():
            if (state.name, field) == ("segment", "booster"):
                kind = "|".join(name for name in kind.split("|") if STATES.by_name[name].kind not in BOOSTER.foreign)
            told = f"`{field}: {kind}`".replace("|", "\\|")  # in a table
            assert told in page, f"{state.name}: {told}"
