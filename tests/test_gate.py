"""Threads and handlers of signals at the gate of a model: nobody waits for ever, and nobody gets in who must not."""

from __future__ import annotations

import threading
import time

import pytest

from onlineboost.estimators.gate import Gate
from soak.strikes import Struck, struck_after

MOMENTS = range(1, 60)  # calls and returns after which a signal comes: more than an empty ``with`` has


def in_a_thread(work):
    """Whether a thread that does this ends."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60.0)  # a machine may be busy; who is locked out never ends
    return not thread.is_alive()


def learn(gate):
    with gate.writing():
        pass


def predict(gate):
    with gate.reading():
        pass


def predict_at_once(gate):
    gate.predict_at_once(lambda: predict(gate))


def learn_at_once(gate):
    gate.learn_at_once(lambda: True)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("use", [predict, predict_at_once, learn_at_once])
def test_an_exception_at_any_moment_of_predicting_locks_nobody_out(use, moment):
    """Though the traceback is kept, and with it all that was going on."""
    gate, kept = Gate(), []

    def struck():
        try:
            struck_after(moment, lambda: use(gate))
        except Struck as error:
            kept.append(error)

    struck()
    assert in_a_thread(lambda: predict(gate))
    assert in_a_thread(lambda: learn(gate))
    learn(gate)
    predict(gate)


@pytest.mark.parametrize("moment", MOMENTS)
@pytest.mark.parametrize("use", [predict, learn, predict_at_once, learn_at_once])
def test_a_handler_may_ask_at_any_moment_or_is_told_that_it_cannot(moment, use):
    gate, told = Gate(), []

    def ask(other):
        try:
            other(gate)
        except RuntimeError as error:
            told.append(str(error))

    def calls():
        for other in (predict, learn):
            struck_after(moment, lambda: use(gate), lambda other=other: ask(other))

    calls()
    assert all("cannot" in text for text in told)
    assert in_a_thread(lambda: learn(gate))


def test_a_thread_that_predicts_may_predict_again_before_one_that_waits_to_learn():
    gate = Gate()
    with gate.reading():
        thread = threading.Thread(target=lambda: learn(gate), daemon=True)
        thread.start()
        while gate._next is None:
            time.sleep(0.001)
        predict(gate)
    thread.join(10.0)
    assert not thread.is_alive()


def test_who_predicts_cannot_learn_from_within():
    gate = Gate()

    def both():
        with gate.reading(), pytest.raises(RuntimeError, match="this model is predicting"):
            learn(gate)

    both()
    learn(gate)


def test_those_that_wait_are_told_at_once():
    gate, order = Gate(), []
    began = time.perf_counter()

    def work(use):
        for _ in range(50):
            use(gate)
            order.append(use)

    threads = [threading.Thread(target=work, args=(use,)) for use in (predict, learn, learn, predict)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert len(order) == 200
    assert time.perf_counter() - began < 5.0  # waiting for LOOK_UP every time would take 30 s
