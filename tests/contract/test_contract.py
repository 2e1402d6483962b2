"""What is promised for one estimator holds for all of them: every property here runs over the whole registry.

The streams are short and nasty: nominal values and classes that turn up late, missing values, uneven weights.
"""

from __future__ import annotations

import copy
import os
import pickle
import signal
import time
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from sklearn.base import clone

from contract.kinds import (
    every_estimator,
    every_kind,
    shortened,
    with_costs,
    with_learners_of_another_make,
    with_little_memory,
)
from helpers import NOMINAL, assert_finite, frozen, in_blocks, mixed_stream, model_state, number_stream, with_glitches
from onlineboost.chain import chain as chain_module
from onlineboost.chain.segments import Segment

KINDS = every_kind()
ESTIMATORS = every_estimator() + with_little_memory()
OTHERS = with_learners_of_another_make()

every_setting = pytest.mark.parametrize("kind", KINDS, ids=str)
every_class = pytest.mark.parametrize("kind", ESTIMATORS, ids=str)
every_class_and_costs = pytest.mark.parametrize("kind", every_estimator() + with_costs(), ids=str)
other_learners = pytest.mark.parametrize("kind", OTHERS, ids=str)


@pytest.fixture(autouse=True)
def small():
    with shortened():
        yield


def stream(seed=0, n=240):
    return mixed_stream(n, seed=seed)


def learned(kind, X, y, weight=None, block=60, **settings):
    """A classifier that has learned the stream, and what it said on the way."""
    clf = kind.make(**settings)
    return clf, in_blocks(clf, X, y, block, weight)


# ------------------------------------------------------------------------------------------------- cuts and threads


@every_setting
def test_how_the_stream_is_cut_into_blocks_makes_no_difference(kind):
    X, y, weight = stream(1)
    whole, want = learned(kind, X, y, weight, block=len(y))
    for block in (1, 7, 100) if kind.thoroughly else (7,):
        clf, said = learned(kind, X, y, weight, block=block)
        assert said == want
        assert model_state(clf) == model_state(whole)


@every_setting
def test_the_number_of_threads_makes_no_difference(kind):
    """The second and the third block bring classes and nominal values that come after the chain has been cut."""
    X, y, weight = stream(0)
    one, want = learned(kind, X, y, weight, block=80)
    if "n_jobs" not in one.get_params():
        pytest.skip("a single tree has nothing to share")
    for n_jobs in (2, 3) if kind.thoroughly else (3,):
        clf, said = learned(kind, X, y, weight, block=80, n_jobs=n_jobs)
        assert said == want
        assert model_state(clf) == model_state(one)
        np.testing.assert_array_equal(clf.predict_proba(X), one.predict_proba(X))


@every_class_and_costs
def test_the_number_of_threads_may_change_on_the_way(kind):
    X, y, weight = stream(3)
    one, want = learned(kind, X, y, weight)
    if "n_jobs" not in one.get_params():
        pytest.skip("a single tree has nothing to share")
    clf, said = kind.make(), []
    for part, n_jobs in enumerate((3, 1, 2, 4)):
        rows = slice(60 * part, 60 * part + 60)
        clf.set_params(n_jobs=n_jobs)
        said += clf.test_then_train(X[rows], y[rows], sample_weight=weight[rows]).tolist()
    assert said == want
    assert model_state(clf) == model_state(one)


@every_setting
def test_the_number_of_segments_makes_no_difference(kind):
    X, y, weight = stream(8)
    one, want = learned(kind, X, y, weight)
    for n_segments, block in ((2, 1), (3, 37), (6, 100)) if kind.thoroughly else ((3, 37),):
        clf = kind.make()
        said = in_blocks(clf, X[:40], y[:40], 40, weight[:40])
        clf._model.chain.cut(n_segments)
        said += in_blocks(clf, X[40:], y[40:], block, weight[40:])
        assert said == want
        assert model_state(clf) == model_state(one)


@every_class
def test_a_bad_number_of_threads_is_named(kind):
    if "n_jobs" not in kind.make().get_params():
        pytest.skip("a single tree has nothing to share")
    X, y, _ = stream()
    for n_jobs in (0, 1.5, "two", True, [2]):
        clf = kind.make(n_jobs=n_jobs)
        with pytest.raises(ValueError, match="n_jobs must be a number of threads") as error:
            clf.partial_fit(X, y)
        assert repr(n_jobs) in str(error.value)
        assert not hasattr(clf, "_model")


@every_class_and_costs
@pytest.mark.parametrize(("n_jobs", "call"), [(1, 5), (3, 1), (3, 12)])
def test_ctrl_c_leaves_a_model_of_the_rows_up_to_there(kind, n_jobs, call, monkeypatch):
    """Nominal values and classes that would have turned up later are not known to it, and it goes on as ever."""
    if n_jobs > 1 and "n_jobs" not in kind.make().get_params():
        pytest.skip("a single tree has nothing to share")
    monkeypatch.setattr(chain_module, "BLOCK", 30)
    X, y, weight = stream(3)
    want, said = learned(kind, X, y, weight, block=len(y))
    clf = kind.make(**({"n_jobs": n_jobs} if n_jobs > 1 else {}))
    calls, learn = [], Segment.learn

    def learn_and_press(segment, *block):
        calls.append(1)
        if len(calls) == call:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
        learn(segment, *block)

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "learn", learn_and_press)
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X, y, sample_weight=weight)
    n = clf.n_samples_seen_
    assert 0 < n < len(y)
    twin, _ = learned(kind, X[:n], y[:n], weight[:n])
    assert model_state(clf) == model_state(twin)
    assert in_blocks(clf, X[n:], y[n:], 70, weight[n:]) == said[n:]
    assert model_state(clf) == model_state(want)


@every_class_and_costs
def test_rows_one_by_one_are_the_same_as_a_block(kind):
    X, y, weight = stream(5, 120)
    want, _ = learned(kind, X, y, weight)
    names = tuple(f"x{c}" for c in range(X.shape[1]))
    for as_row in (list, lambda x: dict(zip(names, x, strict=True))):
        clf = kind.make()
        clf.partial_fit(X[:3], y[:3], sample_weight=weight[:3])
        for x, label, w in zip(X[3:], y[3:], weight[3:], strict=True):
            clf.learn_one(as_row(x), label, float(w))
        assert model_state(clf) == model_state(want)
        labels, shares = clf.predict(X), clf.predict_proba(X)
        for b in (0, 7, 50):
            assert clf.predict_one(as_row(X[b])) == labels[b]
            assert list(clf.predict_proba_one(as_row(X[b])).values()) == shares[b].tolist()


# -------------------------------------------------------------------------------------------------------- predicting


@every_setting
def test_predicting_changes_nothing_and_says_what_learning_would_have_said(kind):
    X, y, weight = stream(2)
    clf, _ = learned(kind, X[:150], y[:150], weight[:150])
    for b in range(150, 160):
        before = frozen(clf)
        said = clf.predict(X[b : b + 1])[0]
        clf.predict_proba(X)
        assert frozen(clf) == before
        assert clf.test_then_train(X[b : b + 1], y[b : b + 1], sample_weight=weight[b : b + 1])[0] == said


@every_setting
def test_a_row_is_predicted_alike_whatever_is_beside_it(kind):
    X, y, weight = stream(4)
    clf, _ = learned(kind, X, y, weight)
    labels, shares = clf.predict(X), clf.predict_proba(X)
    for rows in (slice(0, 1), slice(17, 18), slice(100, 160)):
        np.testing.assert_array_equal(clf.predict(X[rows]), labels[rows])
        np.testing.assert_array_equal(clf.predict_proba(X[rows]), shares[rows])


@every_setting
def test_probabilities_are_probabilities(kind):
    X, y, weight = stream(6)
    clf, _ = learned(kind, X, y, weight)
    p = clf.predict_proba(X)
    assert p.shape == (len(X), len(clf.classes_))
    assert (p >= 0.0).all()
    np.testing.assert_allclose(p.sum(axis=1), 1.0)


@every_class
def test_threads_that_predict_at_once_agree(kind):
    X, y, weight = stream(7)
    clf, _ = learned(kind, X, y, weight)
    want, before = clf.predict_proba(X), frozen(clf)
    with ThreadPoolExecutor(4) as pool:
        for p in pool.map(lambda _: clf.predict_proba(X), range(12)):
            np.testing.assert_array_equal(p, want)
    assert frozen(clf) == before


# ------------------------------------------------------------------------------------------------------------ copies

COPIERS = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "pickle": lambda clf: pickle.loads(pickle.dumps(clf)),
    "snapshot": lambda clf: clf.snapshot(),
}


@every_setting
def test_a_copy_goes_on_as_the_original_and_leaves_it_alone(kind):
    """Copied in the middle of the stream, from a chain that threads have cut; classes and values still to come."""
    X, y, weight = stream(1, 160)
    settings = {"n_jobs": 3} if "n_jobs" in kind.make().get_params() else {}
    clf, _ = learned(kind, X[:100], y[:100], weight[:100], **settings)
    original, shares = model_state(clf), clf.predict_proba(X)
    said, ends = {}, {}
    for name, copier in COPIERS.items():
        twin = copier(clf)
        np.testing.assert_array_equal(twin.predict_proba(X), shares)
        said[name] = in_blocks(twin, X[100:], y[100:], 33, weight[100:])
        ends[name] = model_state(twin)
        assert model_state(clf) == original, name
    want = in_blocks(clf, X[100:], y[100:], 70, weight[100:])
    assert said == dict.fromkeys(COPIERS, want)
    assert ends == dict.fromkeys(COPIERS, model_state(clf))


@every_class_and_costs
def test_a_clone_has_the_settings_and_nothing_else(kind):
    X, y, weight = stream()
    clf, _ = learned(kind, X, y, weight)
    fresh = clone(clf)
    assert repr(fresh.get_params()) == repr(clf.get_params())
    with pytest.raises(ValueError, match="not fitted"):
        fresh.predict(X)
    in_blocks(fresh, X, y, 60, weight)
    assert model_state(fresh) == model_state(clf)


@pytest.mark.parametrize("kind", every_estimator(), ids=str)
def test_odd_first_rows_are_got_over(kind):
    """A glitch, a difference that is no more than rounding, zeros, another unit: a column is not measured by them."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=900)
    X = rng.normal(size=(900, 4)) + 3.0 * np.eye(3, 4)[y]
    odd = {
        "as it is": X[:0],
        "glitch": [[-1e160] * 4],
        "large": [[1e6] * 4, [-1e6] * 4],
        "rounding": [[0.3] * 4, [0.1 + 0.2] * 4],
        "zeros": [[0.0] * 4] * 50 + [[1e-14] * 4],
        "unit": 1000.0 * X[:1],
    }
    right = {}
    for name, first in odd.items():
        Z = X.copy()
        Z[: len(first)] = first
        clf = kind.make(n_learners=3) if "n_learners" in kind.make().get_params() else kind.make()
        right[name] = np.mean((clf.test_then_train(Z, y) == y)[300:])
    assert min(right.values()) > right["as it is"] - 0.07, right  # standard errors are .01 to .02


@every_class
def test_the_seed_decides_everything(kind):
    X, y, weight = stream()
    a, b, other = (learned(kind, X, y, weight, random_state=seed)[0] for seed in (5, 5, 6))
    assert model_state(a) == model_state(b)
    assert model_state(a) != model_state(other)


# --------------------------------------------------------------------------------------- classes, values and weights


@every_setting
def test_a_label_is_never_predicted_before_it_was_met(kind):
    X, y, weight = stream(8)
    _, said = learned(kind, X, y, weight)
    assert said[0] is None
    for b in range(1, len(y)):
        assert said[b] in set(y[:b])


@every_setting
def test_classes_given_in_advance_are_kept_and_no_other_is_let_in(kind):
    X, y, weight = stream(9)
    clf = kind.make()
    said = in_blocks(clf, X, y, 60, weight, classes=["d", "b", "a", "c"])
    assert clf.classes_.tolist() == ["a", "b", "c", "d"]
    assert set(said) <= set("abcd")
    before = frozen(clf)
    with pytest.raises(ValueError, match=r"unknown label 'z'"):
        clf.partial_fit(X[:1], ["z"])
    assert frozen(clf) == before


@every_setting
def test_rows_of_weight_zero_are_as_if_absent(kind):
    """Even where a nominal value or a class turns up in one first."""
    X, y, weight = stream(10)
    weight = np.where(np.arange(len(y)) % 3 == 0, 0.0, weight)
    for column in (*X[:, NOMINAL].T, y):
        weight[[column.tolist().index(value) for value in set(column) - {None}]] = 0.0
    kept = weight > 0.0
    a, said = learned(kind, X, y, weight, block=50)
    b, want = learned(kind, X[kept], y[kept], weight[kept], block=37)
    assert said == want
    assert model_state(a) == model_state(b)


@every_class_and_costs
def test_no_weights_are_weights_of_one(kind):
    X, y, _ = stream(11)
    assert model_state(learned(kind, X, y)[0]) == model_state(learned(kind, X, y, np.ones(len(y)))[0])


def but_for_the_mean(clf):
    """All a classifier has learned but for the mean of the weights."""
    state = model_state(clf)
    return {**state, "chain": {**state["chain"], "mean weight": None}}


@pytest.mark.parametrize("kind", every_estimator() + with_costs(), ids=str)
def test_the_size_of_weights_makes_no_difference(kind):
    """Of equal weights, and of powers of two, not by a bit; another factor changes the last digits of sums."""
    X, y, weight = stream(21, 120)
    want, said = learned(kind, X, y)
    for size in (1.0 / len(y), 1e-300, 1e12):
        clf, heard = learned(kind, X, y, np.full(len(y), size), block=31)
        assert heard == said
        assert but_for_the_mean(clf) == but_for_the_mean(want)
    want, said = learned(kind, X, y, weight)
    for factor in (2.0**-40, 2.0**30):
        clf, heard = learned(kind, X, y, factor * weight, block=31)
        assert heard == said
        assert but_for_the_mean(clf) == but_for_the_mean(want)
    for factor in (1e-6, 1e6):
        clf, heard = learned(kind, X, y, factor * weight)
        assert heard == said
        np.testing.assert_allclose(clf.predict_proba(X), want.predict_proba(X), atol=1e-6)


@every_setting
def test_a_value_never_seen_is_no_error_and_leaves_no_trace(kind):
    X, y, weight = stream(12)
    clf, _ = learned(kind, X, y, weight)
    strange = X[:5].copy()
    strange[:, 0] = [f"colour of row {b}" for b in range(5)]
    strange[2] = None
    before = frozen(clf)
    assert set(clf.predict(strange)) <= set(y)
    assert np.isfinite(clf.predict_proba(strange)).all()
    assert frozen(clf) == before


@every_setting
def test_one_class_alone_is_predicted(kind):
    X, _, _ = stream(13, 30)
    clf = kind.make()
    said = in_blocks(clf, X, np.array(["only"] * 30, object), 8)
    assert said == [None] + ["only"] * 29
    assert clf.predict_proba(X).tolist() == [[1.0]] * 30


@every_class_and_costs
def test_everything_learned_is_finite(kind):
    X, y, weight = stream(14)
    clf, _ = learned(kind, X, y, 1e4 * weight)
    for name in ("alphas_", "edges_", "expert_weights_", "errors_", "mistakes_", "ages_", "gammas_"):
        if hasattr(clf, name):
            assert np.isfinite(getattr(clf, name)).all(), name
    assert clf.n_samples_seen_ == len(y)
    assert clf.nbytes_ == sum(clf.nbytes_by_part_.values()) > 0


WEIGHTS = {
    "even": lambda rng, n: rng.uniform(0.3, 2.0, n),
    "of all sizes": lambda rng, n: 10.0 ** rng.uniform(-300, 12, n),
    "tiny": lambda rng, n: 10.0 ** rng.uniform(-323, -290, n),
    "as large as they may be": lambda rng, n: np.full(n, 1e12),
}


@every_class
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_no_number_and_no_weight_leaves_nan_or_infinity(kind, share):
    X, y, _ = with_glitches(*stream(18), seed=1, share=share)
    for weights in WEIGHTS.values():
        clf, _ = learned(kind, X, y, weights(np.random.default_rng(3), len(y)))
        assert_finite(clf)
        p = clf.predict_proba(X)
        assert np.isfinite(p).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)


@every_class
def test_glitches_are_the_same_in_any_blocks_and_threads(kind):
    X, y, weight = with_glitches(*stream(19), seed=2, share=0.05)
    whole, want = learned(kind, X, y, weight, block=len(y))
    clf, said = learned(kind, X, y, weight, block=7)
    assert said == want
    assert model_state(clf) == model_state(whole)
    if "n_jobs" in clf.get_params():
        clf, said = learned(kind, X, y, weight, block=80, n_jobs=3)
        assert said == want
        assert model_state(clf) == model_state(whole)
    clf = learned(kind, X[:150], y[:150], weight[:150])[0]
    for b in range(150, 200):
        said = clf.predict(X[b : b + 1])[0]
        assert clf.test_then_train(X[b : b + 1], y[b : b + 1], sample_weight=weight[b : b + 1])[0] == said


# ------------------------------------------------------------------------------------------------------------ frames


@every_class
@pytest.mark.parametrize("kind_of_frame", ["pandas", "polars", "pyarrow"])
def test_all_kinds_of_frames_learn_the_same(kind, kind_of_frame):
    library = pytest.importorskip(kind_of_frame)
    X, y, weight = stream(15, 120)
    columns = {f"x{c}": X[:, c].tolist() for c in range(X.shape[1])}
    frame = library.table(columns) if kind_of_frame == "pyarrow" else library.DataFrame(columns)
    a, b = kind.make(), kind.make()
    said = a.test_then_train(frame, y, sample_weight=weight)
    assert said.tolist() == b.test_then_train(X, y, sample_weight=weight).tolist()
    assert model_state(a)["chain"] == model_state(b)["chain"]
    assert a.feature_names_in_.tolist() == list(columns)


# ------------------------------------------------------------------------------------------------------------ errors

BAD = {
    "infinity": (lambda X: _with(X, 1, np.inf), None, None, "infinity"),
    "text in a numeric column": (lambda X: _with(X, 1, "tall"), None, None, "'tall'"),
    "a column too many": (lambda X: np.column_stack([X, X[:, :1]]), None, None, "features"),
    "a label too many": (None, lambda y: np.append(y, "a"), None, "rows"),
    "a missing label": (None, lambda y: np.append(y[:-1], None), None, "missing|label"),
    "a negative weight": (None, None, lambda w: np.append(w[:-1], -1.0), "sample_weight"),
    "a weight that is too large": (None, None, lambda w: np.append(w[:-1], 1e13), "divide all weights"),
    "a weight that is not a number": (None, None, lambda w: np.append(w[:-1], np.nan), "sample_weight"),
}


def _with(X, column, value):
    X = X.copy()
    X[-1, column] = value
    return X


@every_setting
def test_an_error_leaves_the_model_as_it_was(kind):
    """The bad row comes last: new classes and nominal values have come before it in the block."""
    X, y, weight = stream(16)
    clf, twin = kind.make(), kind.make()
    for each in (clf, twin):
        each.partial_fit(X[:50], y[:50], sample_weight=weight[:50])
    before = frozen(clf)
    for what, (change_X, change_y, change_weight, says) in BAD.items():
        bad_X = change_X(X[50:]) if change_X else X[50:]
        bad_y = change_y(y[50:]) if change_y else y[50:]
        bad_weight = change_weight(weight[50:]) if change_weight else weight[50:]
        with pytest.raises(ValueError, match=says):
            clf.partial_fit(bad_X, bad_y, sample_weight=bad_weight)
        assert frozen(clf) == before, what
    said = [each.test_then_train(X[50:], y[50:], sample_weight=weight[50:]).tolist() for each in (clf, twin)]
    assert said[0] == said[1]
    assert model_state(clf) == model_state(twin)


@every_class
def test_a_bad_number_of_learners_is_named(kind):
    clf = kind.make()
    if "n_learners" not in clf.get_params():
        pytest.skip("a single tree")
    for n_learners in (0, -1, 1.5, "many", None, True):
        clf.set_params(n_learners=n_learners)
        before = frozen(clf)
        with pytest.raises(ValueError, match="n_learners"):
            clf.fit([[0.0], [1.0]], [0, 1])
        assert frozen(clf) == before, n_learners


@every_class
def test_a_word_that_is_none_is_named_with_those_that_are(kind):
    clf = kind.make()
    for name, value in clf.get_params(deep=False).items():
        if isinstance(value, str) and name not in ("weight_scale", "gamma"):
            for bad in ("nonesuch", None)[: 1 if name == "memory_limit" else 2]:
                spoilt = clone(clf).set_params(**{name: bad})
                with pytest.raises(ValueError, match=rf"{name}.*{value}.*{bad}"):
                    spoilt.fit([[0.0], [1.0]], [0, 1])


# ------------------------------------------------------------------------------------- weak learners of other libraries


@other_learners
@pytest.mark.parametrize("restart", ["never", "always"])
def test_learners_of_another_make_keep_the_promises_too(kind, restart):
    """Blocks, threads, copies and errors, with learners that live in Python."""
    X, y = number_stream(60, seed=3)
    more = {"restart": restart} if "restart" in kind.make().get_params() else {}
    if restart == "always" and not more:
        pytest.skip("has no such setting")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # GaussianNB, before it has seen two values
        want = kind.make(**more)
        try:
            said = in_blocks(want, X, y, 60, classes=[0, 1, 2])
        except ValueError:
            with pytest.raises(ValueError, match="must be a HoeffdingTree"):
                want.fit(X, y)
            pytest.skip("takes trees alone, and says so")
        for block, n_jobs in ((1, 1), (30, 3)):
            clf = kind.make(n_jobs=n_jobs, **more)
            assert in_blocks(clf, X[:40], y[:40], block, classes=[0, 1, 2]) == said[:40]
            before = frozen(clf)
            with pytest.raises(ValueError, match="unknown label"):
                clf.partial_fit(X[:9], [0, 1, 2, 0, 1, 2, 0, 1, 7])
            clf.predict_proba(X)
            assert frozen(clf) == before
            for copier in COPIERS.values():
                twin = copier(clf)
                assert in_blocks(twin, X[40:], y[40:], 15) == said[40:]
                assert model_state(twin) == model_state(want)
            assert in_blocks(clf, X[40:], y[40:], 25) == said[40:]
            assert model_state(clf) == model_state(want)
