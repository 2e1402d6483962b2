"""Whatever is raised, whenever, and whoever calls at once: no estimator is left in a state that harms."""

from __future__ import annotations

import pickle
import signal
import threading
import time
from contextlib import contextmanager
from copy import deepcopy

import numpy as np
import pytest

from contract.kinds import every_estimator
from helpers import asked_meanwhile, frozen, in_blocks, mixed_stream, model_state
from onlineboost import AdaBoostOLM, lookup
from onlineboost.chain import chain as chain_module
from onlineboost.chain.segments import Segment

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)


class Timeout(Exception):
    pass


@contextmanager
def alarm():
    """SIGALRM raises `Timeout`."""

    def ring(signum, frame):
        raise Timeout

    before = signal.signal(signal.SIGALRM, ring)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def striking(monkeypatch, call, strike):
    """`strike` is called in the middle of the call-th block through a segment that has rows."""
    calls, learn = [], Segment.learn

    def learn_and_strike(segment, rows, *labels):
        if len(rows.X):
            calls.append(1)
        if len(calls) == call:
            strike()
        learn(segment, rows, *labels)

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "learn", learn_and_strike)
        yield


def ring():
    signal.raise_signal(signal.SIGALRM)


@every_class
@pytest.mark.parametrize("call", [1, 3])
def test_a_timeout_leaves_a_model_of_the_rows_up_to_there(kind, call, monkeypatch):
    """As Ctrl-C does, though classes and values arrive in the same block."""
    monkeypatch.setattr(chain_module, "BLOCK", 30)
    X, y, weight = mixed_stream(260, seed=3)
    want = kind.make().partial_fit(X, y, sample_weight=weight)
    clf = kind.make()
    with alarm(), striking(monkeypatch, call, ring), pytest.raises(Timeout):
        clf.partial_fit(X, y, sample_weight=weight)
    n = clf.n_samples_seen_
    assert 0 < n < len(y)
    assert model_state(clf) == model_state(kind.make().partial_fit(X[:n], y[:n], sample_weight=weight[:n]))
    clf.partial_fit(X[n:], y[n:], sample_weight=weight[n:])
    assert model_state(clf) == model_state(want)


@every_class
def test_timeouts_at_any_moment_do_no_harm(kind):
    """Nor to the handlers of other signals."""
    X, y, weight = mixed_stream(400, seed=5)
    clf, n, tries = kind.make(), 0, 0
    kind.make().partial_fit(X, y)  # compiled
    rng = np.random.default_rng(0)
    with alarm():
        while n < len(y):
            tries += 1  # the longer it takes, the more time there is: to begin may take a slow machine milliseconds
            try:
                signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-6, 1e-3 * (1 + tries / 100)))
                clf.partial_fit(X[n : n + 37], y[n : n + 37], sample_weight=weight[n : n + 37])
                signal.setitimer(signal.ITIMER_REAL, 0.0)
            except Timeout:
                pass
            n = clf.n_samples_seen_ if hasattr(clf, "_model") else 0
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    assert model_state(clf) == model_state(kind.make().partial_fit(X, y, sample_weight=weight))


@every_class
def test_an_error_in_the_middle_of_a_row_is_remembered(kind, monkeypatch):
    """Such as having no memory: nothing can be said of the model any more, and nothing is read or written."""
    monkeypatch.setattr(chain_module, "BLOCK", 30)
    X, y, _ = mixed_stream(260, seed=3)
    clf = kind.make().partial_fit(X[:20], y[:20])

    def no_memory():
        raise MemoryError("no room for a table")

    with striking(monkeypatch, 2, no_memory), pytest.raises(MemoryError):
        clf.partial_fit(X[20:], y[20:])
    for use in (
        lambda: clf.predict(X[:3]),
        lambda: clf.predict_proba(X[:3]),
        lambda: clf.predict_one(list(X[0])),
        lambda: clf.learn_one(list(X[0]), y[0]),
        lambda: clf.partial_fit(X, y),
        lambda: clf.snapshot(),
    ):
        with pytest.raises(RuntimeError, match=r"half way \(MemoryError: no room for a table\). Go back to a copy"):
            use()
    assert model_state(clf.fit(X, y)) == model_state(kind.make().fit(X, y))


@every_class
def test_an_error_while_compiling_changes_nothing(kind, monkeypatch):
    """The first block of a model, and of one that was loaded: kernels are compiled before anything is learned."""
    X, y, _ = mixed_stream(120, seed=3)
    clf = kind.make().partial_fit(X[:60], y[:60])
    clf._model.compiled = False
    before = frozen(clf)

    def full(*block):
        raise OSError(28, "No space left on device")

    for each in (clf, kind.make()):
        with monkeypatch.context() as patch:
            patch.setattr(Segment, "learn", full)
            with pytest.raises(OSError, match="No space left"):
                each.partial_fit(X[60:], y[60:])
    assert frozen(clf) == before
    assert not hasattr(each, "_model")
    want = kind.make().partial_fit(X[:60], y[:60])
    assert in_blocks(clf, X[60:], y[60:], 30) == in_blocks(want, X[60:], y[60:], 30)


@every_class
def test_a_rehearsal_changes_nothing(kind):
    X, y, _ = mixed_stream(120, seed=3)
    clf = kind.make().partial_fit(X, y)
    before = frozen(clf)
    clf._rehearse(clf._model)
    assert frozen(clf) == before


@every_class
def test_learning_and_predicting_at_once_wait_for_each_other(kind):
    X, y, weight = mixed_stream(400, seed=5)
    clf, want = kind.make(), kind.make().partial_fit(X, y, sample_weight=weight)
    clf.partial_fit(X[:40], y[:40], sample_weight=weight[:40])
    with asked_meanwhile(clf, X[:20], 3):
        for n in range(40, 400, 20):
            clf.partial_fit(X[n : n + 20], y[n : n + 20], sample_weight=weight[n : n + 20])
    assert model_state(clf) == model_state(want)


@every_class
def test_copies_and_pickles_are_of_a_model_between_two_blocks(kind):
    X, y, _ = mixed_stream(400, seed=5)
    clf, one_by_one = kind.make(), kind.make()
    clf.partial_fit(X[:40], y[:40])
    copies, stop = [], threading.Event()

    def copy():
        while not stop.is_set():
            copies.extend([pickle.dumps(clf), deepcopy(clf)])

    thread = threading.Thread(target=copy)
    thread.start()
    for n in range(40, 400, 40):
        clf.partial_fit(X[n : n + 40], y[n : n + 40])
    stop.set()
    thread.join()
    states = {}
    for n in range(40, 401, 40):
        states[n] = model_state(deepcopy(one_by_one.partial_fit(X[n - 40 : n], y[n - 40 : n])))
    for copy in copies:
        copy = copy if not isinstance(copy, bytes) else pickle.loads(copy)
        assert model_state(copy) == states[copy.n_samples_seen_]


@every_class
def test_two_that_learn_take_turns(kind):
    """Which row comes first is theirs to know, but every row is learned once, and whole."""
    X, y, _ = mixed_stream(300, seed=5)
    clf = kind.make().partial_fit(X[:100], y[:100])

    def learn(rows):
        for b in rows:
            clf.partial_fit(X[b : b + 10], y[b : b + 10])

    threads = [threading.Thread(target=learn, args=(range(start, 300, 20),)) for start in (100, 110)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert clf.n_samples_seen_ == 300
    assert np.isfinite(clf.predict_proba(X)).all()


@every_class
def test_one_that_learns_without_a_pause_keeps_nobody_waiting(kind):
    """Whoever asks waits for the block at hand."""
    X, y, _ = mixed_stream(100, seed=5)
    clf, blocks, waited, stop = kind.make().partial_fit(X, y), 0, [], threading.Event()

    def learn():
        nonlocal blocks
        while not stop.is_set() and blocks < 200:
            clf.partial_fit(X, y)
            blocks += 1

    thread = threading.Thread(target=learn)
    thread.start()
    for use in (lambda: clf.predict(X[:1]), lambda: clf.predict_one(list(X[0])), clf.snapshot):
        began = blocks
        use()
        waited.append(blocks - began)
    stop.set()
    thread.join()
    assert max(waited) < 50  # mostly 1; but a machine may keep a thread from asking


def test_a_model_cannot_be_asked_from_within_its_own_learning(monkeypatch):
    X, y, _ = mixed_stream(100, seed=5)
    clf = AdaBoostOLM(3).partial_fit(X[:50], y[:50])
    told = []

    def ask():
        for use in (lambda: clf.predict(X), lambda: clf.partial_fit(X, y)):
            with pytest.raises(RuntimeError, match="this model is learning") as error:
                use()
            told.append(error)

    with striking(monkeypatch, 1, ask):
        clf.partial_fit(X[50:], y[50:])
    assert len(told) == 2
    assert clf.n_samples_seen_ == 100


# ------------------------------------------------------------------------------------- learners of other libraries


class Odd:
    """A learner whose probabilities can be made wrong, and that writes to its rows."""

    def __init__(self, p=None, scribbles=False):
        self.p, self.scribbles = p, scribbles

    def get_params(self, deep=True):
        return {"p": self.p, "scribbles": self.scribbles}

    def partial_fit(self, X, y, classes=None):
        self.k = len(classes)
        if self.scribbles:
            X[:] = -1.0
        return self

    def predict_proba(self, X):
        if self.scribbles:
            X[:] = -1.0
        return np.full((1, self.k), 1.0 / self.k) if self.p is None else np.array(self.p)


ODD = {
    "narrow": ([[0.5, 0.5]], r"shape \(1, 2\) for one row and 4 classes; it must be \(1, 4\)"),
    "wide": ([[0.2] * 5], r"shape \(1, 5\)"),
    "flat": ([0.25] * 4, r"shape \(4,\)"),
    "two rows": ([[0.25] * 4] * 2, r"shape \(2, 4\)"),
    "negative": ([[1.5, -0.5, 0.0, 0.0]], "must not be negative"),
    "unnormalised": ([[1.0] * 4], "add up to 1"),
}
ASKED = ("adaboost-olm", "online-mbbm")  # for all four classes; one-vs-all asks for two, by the same code


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("odd", ODD)
def test_probabilities_of_a_wrong_kind_are_refused(name, odd):
    p, told = ODD[odd]
    X, y, _ = mixed_stream(40, seed=3)
    clf = lookup.make(name, learner=Odd(p), n_learners=3)
    with pytest.raises(ValueError, match=told):
        clf.partial_fit(X, y, classes=list("abcd"))
    assert not hasattr(clf, "_model")


def test_a_learner_may_write_to_its_rows():
    X = np.random.default_rng(0).normal(size=(50, 3))
    before = X.copy()
    AdaBoostOLM(3, learner=Odd(scribbles=True)).partial_fit(X, [0, 1] * 25, classes=[0, 1]).predict(X)
    np.testing.assert_array_equal(X, before)


@pytest.mark.parametrize("seconds", [0.0, 0.02])
def test_who_waits_to_learn_is_not_kept_out_by_those_who_predict(seconds):
    X, y, _ = mixed_stream(100, seed=5)
    clf = AdaBoostOLM(3).partial_fit(X, y)
    stop = threading.Event()

    def ask():
        while not stop.is_set():
            with clf._lock().reading():
                time.sleep(seconds)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    began = time.perf_counter()
    for _ in range(5):
        clf.partial_fit(X, y)
    stop.set()
    for thread in threads:
        thread.join()
    assert time.perf_counter() - began < 5.0
