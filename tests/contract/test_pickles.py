"""A pickle holds what was learned and nothing else: equal models, equal bytes, and none that were lying about."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import onlineboost
from contract.kinds import every_estimator, with_learners_of_another_make
from contract.test_contract import learned, small, stream  # noqa: F401
from helpers import in_blocks, number_stream, panel_arrays
from onlineboost import HoeffdingTree
from onlineboost.data.labels import object_array
from onlineboost.estimators.panel_members import PanelMember
from onlineboost.trees import compact, state

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
MARK = np.frombuffer(b"password", np.uint8)


def saved(clf):
    """The pickle of a model, but for the number of threads."""
    if "n_jobs" in clf.get_params():
        clf.set_params(n_jobs=1)
    return pickle.dumps(clf)


def of_a_file(clf, path):
    """The same model, by way of a file."""
    clf.save(path)
    return onlineboost.load(path)


@every_class
def test_equal_models_with_rows_that_wait_make_equal_pickles(kind, tmp_path):
    X, y, weight = stream(1)
    clf, _ = learned(kind, X[:60], y[:60], weight[:60])
    clf.learn_pending(clf.predict_pending(X[60].tolist()).ticket, y[60])
    clf.predict_pending(["a new colour", *X[61, 1:].tolist()])
    assert saved(pickle.loads(pickle.dumps(clf))) == saved(of_a_file(clf, tmp_path / "model.olb")) == saved(clf)


@pytest.mark.parametrize("labels", [(0, 1), (2.0, 3.0), (True, False), ("a", "b"), (1, "auto"), (b"x", b"y")], ids=str)
def test_models_of_all_kinds_of_labels_make_equal_pickles(labels, tmp_path):
    clf = HoeffdingTree().partial_fit(np.arange(8.0).reshape(-1, 1), object_array(labels * 4))
    want = pickle.dumps(clf)
    assert pickle.dumps(pickle.loads(want)) == pickle.dumps(of_a_file(clf, tmp_path / "model.olb")) == want


def test_texts_that_are_equal_but_not_one_object_make_equal_pickles():
    frame = pd.DataFrame({"a": np.arange(8.0), "b": list("xy") * 4})
    made = [HoeffdingTree(columns=columns).fit(frame, ["a", "b"] * 4) for columns in ("auto", "".join(["au", "to"]))]
    assert pickle.dumps(made[0]) == pickle.dumps(made[1])


@every_class
def test_memory_that_was_used_before_is_not_saved(kind, monkeypatch):
    """NumPy gives room as it finds it: here all of it has a password in it."""

    def with_a_password(shape, dtype=float):
        room = np.zeros(shape, dtype)
        flat = room.reshape(-1).view(np.uint8)
        flat[:] = np.resize(MARK, flat.size)
        return room

    class Numpy:
        empty = staticmethod(with_a_password)

        def __getattr__(self, name):
            return getattr(np, name)

    X, y, weight = stream(1)
    want = saved(learned(kind, X, y, weight)[0])
    monkeypatch.setattr(state, "np", Numpy())
    monkeypatch.setattr(compact, "np", Numpy())
    clf, _ = learned(kind, X, y, weight)
    forests = [getattr(segment.learners, "forest", ()) for segment in clf._model.chain.segments]
    marked = any(MARK.tobytes() in table.tobytes() for forest in forests for table in forest[:5])
    assert marked != isinstance(clf, PanelMember)  # whose room is empty
    for text in (saved(clf), saved(copy.deepcopy(clf)), saved(clf.snapshot())):
        assert MARK.tobytes() not in text
        assert text == want


@every_class
def test_a_pickle_is_no_larger_than_what_was_learned(kind):
    X, y, weight = stream(1, 1000)
    clf, _ = learned(kind, X, y, weight, block=250)
    used = sum(array.nbytes for array in panel_arrays(clf._model.chain))
    for segment in clf._model.chain.segments:
        own = segment.learners
        used += state.nbytes(own.forest)["used"] if hasattr(own, "forest") else own.join([]).nbytes()["members"]
        used += sum(part.nbytes for part in segment.booster if isinstance(part, np.ndarray))
        used += sum(part.nbytes for part in getattr(segment.booster, "tables", ()) if isinstance(part, np.ndarray))
    assert len(saved(clf)) < 1.1 * used + 40_000


@every_class
def test_arrays_that_cannot_be_written_to_are_copied(kind):
    """joblib hands large arrays to its workers as files that can only be read."""
    X, y, weight = stream(1)
    clf, _ = learned(kind, X[:100], y[:100], weight[:100])
    buffers = []
    text = pickle.dumps(clf, protocol=5, buffer_callback=buffers.append)
    loaded = pickle.loads(text, buffers=[bytes(buffer.raw()) for buffer in buffers])
    said = in_blocks(loaded, X[100:], y[100:], 50, weight[100:])
    assert said == in_blocks(clf, X[100:], y[100:], 50, weight[100:])
    assert saved(loaded) == saved(clf)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # GaussianNB, before it has seen two values
@pytest.mark.parametrize("kind", with_learners_of_another_make(), ids=str)
def test_a_copy_shares_no_learner_of_another_make(kind):
    X, y = number_stream(60)
    clf = kind.make(n_learners=2)
    try:
        clf.partial_fit(X[:30], y[:30], classes=[0, 1, 2])
    except ValueError:
        pytest.skip("takes trees alone")
    before = pickle.dumps(clf)
    copy.copy(clf).partial_fit(X[30:], y[30:])
    assert pickle.dumps(clf) == before


def test_pickles_are_equal_in_every_process():
    """The order of a set of names depends on a number that Python draws when it starts."""
    code = (
        "import hashlib, pickle, numpy as np, pandas as pd; from onlineboost import HoeffdingTree;"
        "X = pd.DataFrame(np.arange(40.0).reshape(10, 4), columns=['amount', 'country', 'hour', 'merchant']);"
        "print(hashlib.md5(pickle.dumps(HoeffdingTree().fit(X, [0, 1] * 5))).hexdigest())"
    )
    made = set()
    for seed in ("0", "1"):
        env = {**os.environ, "PYTHONHASHSEED": seed}
        made.add(subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True).stdout)
    assert len(made) == 1
    assert made != {""}
