"""A child that is forked has the model as it was, or says that another thread was changing it; it never hangs."""

from __future__ import annotations

import os
import pickle
import threading
from contextlib import contextmanager

import joblib
import pytest
from numba.core.compiler_lock import global_compiler_lock

from contract.kinds import every_estimator
from helpers import forked, mixed_stream, model_state
from onlineboost import AdaBoostOLM, HoeffdingTree
from onlineboost._compile.jit import kernel
from onlineboost.chain.segments import Segment

every_class = pytest.mark.parametrize("kind", every_estimator(), ids=str)
pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks"),
    pytest.mark.filterwarnings("ignore:This process:DeprecationWarning"),  # that it has several threads: it is told
]
X, Y, _ = mixed_stream(120, seed=3)


@contextmanager
def stopped_half_way(monkeypatch, clf, learn):
    """Another thread is in the middle of a block."""
    began, go_on, real = threading.Event(), threading.Event(), Segment.learn

    def stop(segment, *block):
        if threading.current_thread() is thread:
            began.set()
            assert go_on.wait(60.0)
        real(segment, *block)

    with monkeypatch.context() as patch:
        patch.setattr(Segment, "learn", stop)
        thread = threading.Thread(target=learn, args=(clf,))
        thread.start()
        assert began.wait(60.0)
        try:
            yield
        finally:
            go_on.set()
            thread.join()


@every_class
def test_a_fork_while_another_thread_learns_is_told(kind, monkeypatch, tmp_path):
    clf = kind.make().partial_fit(X[:60], Y[:60])
    before = clf.snapshot()
    uses = (
        lambda: clf.predict(X[:2]),
        lambda: clf.predict_one(list(X[0])),
        lambda: clf.learn_one(list(X[0]), Y[0]),
        lambda: clf.partial_fit(X, Y),
        lambda: clf.fit(X, Y),
        lambda: clf.snapshot(),
        lambda: pickle.dumps(clf),
        lambda: clf.save(tmp_path / "model"),
    )

    def child():
        for use in uses:
            with pytest.raises(RuntimeError, match="another thread was learning with this model when the process was "):
                use()
        return joblib.hash(model_state(before.partial_fit(X[60:], Y[60:])))

    with stopped_half_way(monkeypatch, clf, lambda clf: clf.partial_fit(X[60:], Y[60:])):
        said = forked(child)
    assert said == joblib.hash(model_state(clf))


@every_class
def test_a_fork_while_others_predict_or_wait_changes_nothing(kind):
    clf, came, go_on = kind.make().partial_fit(X[:60], Y[:60]), threading.Event(), threading.Event()

    def read():
        with clf._lock().reading():
            came.set()
            assert go_on.wait(60.0)

    def child():
        clf.predict(X[:5])
        clf.predict_one(list(X[0]))
        return joblib.hash(model_state(clf.partial_fit(X[60:], Y[60:]).learn_one(list(X[0]), Y[0])))

    threads = [threading.Thread(target=read), threading.Thread(target=lambda: clf.partial_fit(X[60:], Y[60:]))]
    threads[0].start()
    assert came.wait(60.0)
    threads[1].start()
    while not clf._lock()._waiting:
        threads[1].join(0.001)
    said = forked(child)
    go_on.set()
    for thread in threads:
        thread.join()
    assert said == joblib.hash(model_state(clf.learn_one(list(X[0]), Y[0])))


def test_a_fork_from_within_a_call_goes_on_with_it(monkeypatch):
    """By a handler, say: its thread is there in the child, too."""
    clf, said = AdaBoostOLM(3).partial_fit(X[:60], Y[:60]), []
    with clf._lock().reading():
        said.append(forked(lambda: str(clf.predict(X[:3]).tolist())))
    assert said == [str(clf.predict(X[:3]).tolist())]
    real = Segment.learn

    def learn_and_fork(segment, *block):
        with pytest.raises(RuntimeError, match="this model is learning"):
            clf.predict(X)
        if not said[1:]:
            said.append(forked(lambda: real(segment, *block) or "learned"))
        real(segment, *block)

    monkeypatch.setattr(Segment, "learn", learn_and_fork)
    clf.partial_fit(X[60:], Y[60:])
    assert said[1] == "learned"


def test_a_fork_waits_for_a_thread_that_compiles():
    came = threading.Event()

    def compile_for_a_while():
        with global_compiler_lock:
            came.set()
            threading.Event().wait(0.2)

    @kernel
    def twice(x):
        return x + x

    def child():
        return str(twice(2)) + str(HoeffdingTree().fit([[0.0], [1.0]] * 10, [0, 1] * 10).predict([[1.0]]))

    thread = threading.Thread(target=compile_for_a_while)
    thread.start()
    assert came.wait(60.0)
    assert forked(child) == "4[1]"
    thread.join()
    assert twice(3) == 6


def test_what_is_learned_and_forked_all_the_time_never_hangs():
    """Each child predicts, or says that it cannot."""
    clf, stop = AdaBoostOLM(3).partial_fit(X, Y), threading.Event()
    clf.predict_one(list(X[0]))

    def learn():
        while not stop.is_set():
            clf.partial_fit(X[:5], Y[:5]).learn_one(list(X[0]), Y[0])

    def child():
        try:
            return str(len(clf.predict(X[:3]))) + str(clf.predict_one(list(X[0])) is not None)
        except RuntimeError as error:
            return str(error)[:14]

    threads = [threading.Thread(target=learn) for _ in range(2)]
    for thread in threads:
        thread.start()
    said = {forked(child) for _ in range(10)}
    stop.set()
    for thread in threads:
        thread.join()
    assert said <= {"3True", "another thread"}
