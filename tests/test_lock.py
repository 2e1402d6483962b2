"""Threads and handlers of signals at the lock of a model: nobody waits for ever, and nobody gets in who must not."""

from __future__ import annotations

import signal
import threading
import time
from contextlib import contextmanager

import pytest

from onlineboost.estimators.lock import ReadWriteLock
from soak.strikes import Struck, struck_after

MOMENTS = range(1, 60)  # calls and returns after which a signal comes: more than an empty ``with`` has
LONG = 60.0  # seconds: a machine may be busy; who is locked out never ends


def in_a_thread(work):
    """Whether a thread that does this ends."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(LONG)
    return not thread.is_alive()


def learn(lock):
    with lock.writing():
        pass


def predict(lock):
    with lock.reading():
        pass


def predict_at_once(lock):
    lock.predict_at_once(lambda: predict(lock))


def learn_at_once(lock):
    lock.learn_at_once(lambda: True)


every_use = pytest.mark.parametrize("use", [predict, learn, predict_at_once, learn_at_once])


@every_use
def test_an_exception_at_any_moment_locks_nobody_out(use):
    """Though the traceback is kept, and with it all that was going on."""

    def struck(lock, moment, kept):
        try:
            struck_after(moment, lambda: use(lock))
        except Struck as error:
            kept.append(error)

    for moment in MOMENTS:
        lock, kept = ReadWriteLock(), []
        struck(lock, moment, kept)
        assert in_a_thread(lambda lock=lock: predict(lock)), moment
        assert in_a_thread(lambda lock=lock: learn(lock)), moment
        learn(lock)
        predict(lock)


@every_use
def test_a_handler_may_ask_at_any_moment_or_is_told_that_it_cannot(use):
    told = []

    def ask(other, lock):
        try:
            other(lock)
        except RuntimeError as error:
            told.append(str(error))

    for moment in MOMENTS:
        lock = ReadWriteLock()
        for other in (predict, learn):
            struck_after(moment, lambda lock=lock: use(lock), lambda lock=lock, other=other: ask(other, lock))
        assert in_a_thread(lambda lock=lock: learn(lock)), moment
    assert all("cannot" in text for text in told)


def waiting(lock, n):
    """Until so many calls wait."""
    until = time.monotonic() + LONG
    while len(lock._waiting) < n:
        assert time.monotonic() < until
        time.sleep(0.001)


@contextmanager
def held(use):
    """Another thread is in the middle of a call; at the end it goes on."""
    began, end = threading.Event(), threading.Event()

    def work():
        with use():
            began.set()
            end.wait(LONG)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    assert began.wait(LONG)
    try:
        yield end
    finally:
        end.set()
        thread.join(LONG)
    assert not thread.is_alive()


@pytest.mark.parametrize("inner", [predict, learn])
@pytest.mark.parametrize("outer", [predict, learn])
def test_a_handler_may_ask_while_its_thread_waits(outer, inner):
    """It does not wait for its own thread, which waits for it."""
    lock, done = ReadWriteLock(), []

    def ring(signum, frame):
        waiting(lock, 1)  # its own thread
        threading.Timer(0.05, end.set).start()
        inner(lock)
        done.append(inner)

    before = signal.signal(signal.SIGALRM, ring)
    try:
        with held(lock.writing) as end:
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            outer(lock)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert done == [inner]
    assert not lock._waiting
    assert in_a_thread(lambda: learn(lock))


def test_a_thread_that_predicts_may_predict_again_before_one_that_waits_to_learn():
    lock = ReadWriteLock()
    with lock.reading():
        thread = threading.Thread(target=lambda: learn(lock), daemon=True)
        thread.start()
        waiting(lock, 1)
        predict(lock)
        lock.predict_at_once(lambda: True)
    thread.join(LONG)
    assert not thread.is_alive()


def test_who_predicts_cannot_learn_from_within():
    lock = ReadWriteLock()

    def both():
        with lock.reading(), pytest.raises(RuntimeError, match="this model is predicting"):
            learn(lock)

    both()
    learn(lock)


def test_those_that_wait_are_told_at_once():
    lock, order = ReadWriteLock(), []
    began = time.perf_counter()

    def work(use):
        for _ in range(50):
            use(lock)
            order.append(use)

    threads = [threading.Thread(target=work, args=(use,)) for use in (predict, learn, learn, predict)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)
    assert len(order) == 200
    assert time.perf_counter() - began < 5.0  # waiting for LOOK_UP every time would take 30 s


# ------------------------------------------------------------------------------------------------------ fairness


def in_order(lock, uses):
    """The order in which calls that came one after the other, while another thread was learning, go in."""
    order, threads = [], []

    def call(name, use):
        with use():
            order.append(name)
            time.sleep(0.02)

    with held(lock.writing) as end:
        for n, use in enumerate(uses, start=1):
            threads.append(threading.Thread(target=call, args=(use.__name__, use), daemon=True))
            threads[-1].start()
            waiting(lock, n)
        end.set()
        for thread in threads:
            thread.join(LONG)
    return order


def test_readers_that_wait_go_before_the_next_writer():
    lock = ReadWriteLock()
    write, read = lock.writing, lock.reading
    assert in_order(lock, [write, read, write, read]) == ["reading", "reading", "writing", "writing"]


def test_a_writer_that_waits_goes_before_readers_that_come_later():
    lock, order = ReadWriteLock(), []

    def note(use):
        with use():
            order.append(use.__name__)

    with held(lock.reading) as end:
        threads = [threading.Thread(target=note, args=(use,), daemon=True) for use in (lock.writing, lock.reading)]
        for n, thread in enumerate(threads, start=1):
            thread.start()
            waiting(lock, n)
        assert lock.predict_at_once(lambda: True) is None
        assert not order
        end.set()
        for thread in threads:
            thread.join(LONG)
    assert order == ["writing", "reading"]


def busy(seconds):
    """Python's own lock is free meanwhile, as it is in a kernel."""
    time.sleep(seconds)
    return True


def often(lock, seconds):
    """Ways to use the lock again and again."""

    def within(use):
        with use():
            busy(seconds)

    return {
        "learn": lambda: within(lock.writing),
        "predict": lambda: within(lock.reading),
        "learn_at_once": lambda: lock.learn_at_once(busy, seconds) or within(lock.writing),
        "predict_at_once": lambda: lock.predict_at_once(busy, seconds) or within(lock.reading),
    }


@pytest.mark.parametrize(
    ("one", "other"), [("learn", "predict"), ("learn_at_once", "predict_at_once"), ("learn", "learn")]
)
def test_nobody_starves(one, other):
    """Two threads that never pause take turns."""
    lock, stop = ReadWriteLock(), threading.Event()
    times = [0, 0]

    def loop(who, name):
        while not stop.is_set():
            often(lock, 0.001)[name]()
            times[who] += 1

    threads = [threading.Thread(target=loop, args=it, daemon=True) for it in enumerate((one, other))]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    stop.set()
    for thread in threads:
        thread.join(LONG)
    few, many = sorted(times)
    assert few > many / 3
