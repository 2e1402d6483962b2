"""However many threads: the same bits. Ctrl-C and errors leave a model that can be used, and no thread behind."""

from __future__ import annotations

import json
import os
import pickle
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import BaseEstimator

from helpers import forest_of, forests, frozen, in_blocks, model_state, number_stream, tree_state
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineMBBM, prequential
from onlineboost._compile.system import Interrupt
from onlineboost.chain import chain
from onlineboost.chain import model as online
from onlineboost.chain.segments import Segment
from onlineboost.chain.threads import flow, n_threads, spread
from onlineboost.cli.main import main
from onlineboost.data.labels import Labels, stretches
from onlineboost.trees.compact import join, select
from onlineboost.trees.state import PER_TREE
from soak.strikes import Struck, struck_after

TREE = HoeffdingTree(grace_period=(15, 30), tie_threshold=(0.2, 0.6), max_features=0.5)


@pytest.fixture
def eager(monkeypatch):
    """Threads and small blocks even where they do not pay."""
    monkeypatch.setattr(chain, "BLOCK", 32)
    monkeypatch.setattr(online, "BLOCK", 32)
    for module in (chain, online):
        monkeypatch.setattr(module, "LEAST_ROWS", 4)
        monkeypatch.setattr(module, "LEAST_VOTES", 1)


@pytest.fixture(autouse=True)
def no_thread_is_left_behind():
    before = threading.active_count()
    yield
    assert threading.active_count() == before


def olm(n=6, **settings):
    return AdaBoostOLM(n, learner=TREE, weight_scale=(1.0, 3.0), **settings)


def mbbm(n=6, **settings):
    return OnlineMBBM(n, learner=TREE, weight_scale=(1.0, 3.0), **settings)


class Counts(BaseEstimator):
    """A weak learner that knows the label weights on either side of zero in its first column, and fails at 1.25."""

    def partial_fit(self, X, y, classes=None, sample_weight=None):
        if X[0, 0] == 1.25:
            raise RuntimeError("1.25 is too much")
        if not hasattr(self, "counts"):
            self.counts = np.full((2, len(classes)), 0.1)
        self.counts[int(X[0, 0] > 0.0), y[0]] += sample_weight[0]
        return self

    fit = partial_fit

    def predict_proba(self, X):
        side = self.counts[int(X[0, 0] > 0.0)]
        return (side / side.sum())[None]


# ------------------------------------------------------------------------------------------------- the assembly line


class Log:
    """Steps that write down when they begin and end, and how many blocks are on the line."""

    def __init__(self, n_steps, sleep=lambda j, b: 0.0, fail=None):
        self.lock = threading.Lock()
        self.ends, self.on_line, self.most, self.wrong = set(), 0, 0, []
        self.steps = [lambda b, j=j: self.step(j, b) for j in range(n_steps)]
        self.sleep, self.fail = sleep, fail

    def step(self, j, b):
        with self.lock:
            if (j and (j - 1, b) not in self.ends) or (b and (j, b - 1) not in self.ends):
                self.wrong.append((j, b))
            self.on_line += j == 0
            self.most = max(self.most, self.on_line)
        time.sleep(self.sleep(j, b))
        if (j, b) == self.fail:
            raise RuntimeError(f"step {j} fails on block {b}")
        with self.lock:
            self.ends.add((j, b))
            self.on_line -= j == len(self.steps) - 1


@given(st.integers(1, 6), st.integers(1, 12), st.integers(1, 5), st.integers(0, 100))
def test_every_step_sees_the_blocks_in_order_and_every_block_the_steps(n_steps, n_blocks, threads, seed):
    log = Log(n_steps, lambda j, b: (hash((seed, j, b)) % 5) * 1e-4)
    assert flow(log.steps, n_blocks, threads) == n_blocks
    assert log.ends == {(j, b) for j in range(n_steps) for b in range(n_blocks)}
    assert not log.wrong


def test_blocks_do_not_pile_up_before_a_slow_step():
    log = Log(3, lambda j, b: 2e-3 * (j == 1))
    flow(log.steps, 40, 3)
    assert log.most <= 2 * 3 + 2


def test_threads_work_at_the_same_time():
    """Four threads on four steps: steps 0 to 3 meet, each with its own block, or nobody gets on."""
    meetings = {at: threading.Barrier(4, timeout=60.0) for at in range(3, 8)}

    def meet(b, j):
        if j + b in meetings:
            meetings[j + b].wait()

    assert flow([partial(meet, j=j) for j in range(4)], 8, 4) == 8


def test_waiting_costs_no_processor_time():
    log = Log(2, lambda j, b: 0.3)
    start = time.process_time()
    flow(log.steps, 2, 8)
    assert time.process_time() - start < 0.1


@pytest.mark.parametrize("threads", [1, 3])
def test_when_told_to_stop_no_block_enters_and_those_on_the_line_go_through(threads):
    log = Log(4, lambda j, b: 1e-3)
    done = flow(log.steps, 50, threads, stop=lambda: (2, 3) in log.ends)
    assert 4 <= done < 50
    assert log.ends == {(j, b) for j in range(4) for b in range(done)}


def test_a_block_that_has_to_wait_enters_once_another_has_left():
    """Block 4 waits for the end of block 1, block 5 for that of block 3."""
    log, early = Log(4, lambda j, b: 1e-3), []
    after = {4: 1, 5: 3}

    def waits():
        coming = sum((0, b) in log.ends for b in range(8))
        return coming in after and (3, after[coming]) not in log.ends

    def enter(b):
        early.extend([b] if b in after and (3, after[b]) not in log.ends else [])
        log.step(0, b)

    assert flow([enter, *log.steps[1:]], 8, 3, waits=waits) == 8
    assert not early
    assert not log.wrong


def test_the_first_block_goes_through_in_any_case():
    for threads in (1, 2):
        assert flow(Log(3).steps, 5, threads, stop=lambda: True) == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_an_error_in_a_step_stops_all_threads(threads):
    log = Log(4, lambda j, b: 1e-3, fail=(2, 3))
    with pytest.raises(RuntimeError, match="step 2 fails on block 3"):
        flow(log.steps, 1000, threads)
    assert (2, 3) not in log.ends
    assert len(log.ends) < 100


def test_an_exception_that_reaches_the_waiting_thread_lets_the_line_run_dry():
    """Such as one raised by the handler of a signal that `Interrupt` knows nothing of."""

    class Alarm(Exception):
        pass

    def ring(signum, frame):
        raise Alarm

    log = Log(4, lambda j, b: 2e-3)
    before = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Alarm):
            flow(log.steps, 10_000, 2)
    finally:
        signal.signal(signal.SIGALRM, before)
    blocks = {b for _, b in log.ends}
    assert log.ends == {(j, b) for j in range(4) for b in blocks}


@pytest.mark.parametrize("given", [0, 1])
def test_a_system_that_gives_no_more_threads_is_no_obstacle(given, monkeypatch):
    log, start = Log(3), threading.Thread.start

    def start_or_not(thread):
        if thread.name >= f"onlineboost-{given}":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", start_or_not)
    assert flow(log.steps, 5, 4) == 5
    assert len(log.ends) == 15


def test_pieces_are_put_together_in_order():
    X = np.arange(100.0).reshape(50, 2)
    for rows, threads in ((7, 3), (50, 2), (1, 1), (100, 4)):
        np.testing.assert_array_equal(spread(lambda part: part * 2.0, X, rows, threads), X * 2.0)


def test_an_error_in_a_piece_is_raised():
    def fail(part):
        raise RuntimeError(f"rows from {part[0, 0]}")

    with pytest.raises(RuntimeError, match=r"rows from 0\.0"):
        spread(fail, np.arange(100.0).reshape(50, 2), 5, 2)


def test_an_exception_at_any_moment_leaves_no_thread_behind():
    """One that strikes while a thread is being started, say: it would wait for ever, and with it the end of Python."""
    X = np.arange(12.0).reshape(6, 2)
    raised = 0
    for moment in range(1, 400, 3):
        try:
            struck_after(moment, lambda: spread(lambda part: part * 2.0, X, 1, 2))
        except Struck:
            raised += 1
        for thread in threading.enumerate():
            if thread.name.startswith("onlineboost"):
                thread.join(5.0)
                assert not thread.is_alive(), moment
    assert raised > 50


# --------------------------------------------------------------------------------------------------------- n_jobs


def test_how_many_threads():
    cores = len(os.sched_getaffinity(0))
    assert [n_threads(n) for n in (None, 1, np.int64(1), cores, -1)] == [1, 1, 1, cores, cores]
    assert n_threads(cores + 1) == n_threads(64 * cores) == cores  # more would only wake each other
    assert n_threads(-cores) == n_threads(-cores - 5) == 1


def test_the_default_sizes_with_threads():
    X, y = number_stream(3000, seed=1)
    results = [prequential(olm(20, n_jobs=n_jobs), X, y).predictions for n_jobs in (1, 2, -1)]
    np.testing.assert_array_equal(results[0], results[1])
    np.testing.assert_array_equal(results[0], results[2])


def test_few_rows_do_not_cut_the_chain(numbers):
    X, y = numbers
    clf = olm(100, n_jobs=2)
    clf.partial_fit(X[:30], y[:30])
    clf.learn_one(X[30].tolist(), y[30])
    assert len(clf._model.chain.segments) == 1
    clf.partial_fit(X[31:], y[31:])
    assert len(clf._model.chain.segments) > 1


def test_learners_of_another_make_in_threads(eager, numbers):
    X, y = numbers
    runs = []
    for n_jobs in (1, 3):
        clf = AdaBoostOLM(5, learner=Counts(), n_jobs=n_jobs)
        runs.append((in_blocks(clf, X, y, 150, classes=[0, 1, 2]), model_state(clf)))
    assert len(clf._model.chain.segments) == 5
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("codes", "known", "want"),
    [
        ([0, 1, 0, 2, 2], 0, [(0, 1, 1), (1, 3, 2), (3, 5, 3)]),
        ([0, 1, 0, 2, 2], 2, [(0, 3, 2), (3, 5, 3)]),
        ([0, 1, 0, 2, 2], 3, [(0, 5, 3)]),  # the line need not run dry for labels that are known
        ([3, 0], 3, [(0, 2, 4)]),
    ],
)
def test_rows_are_cut_where_a_label_is_new(codes, known, want):
    assert list(stretches(np.array(codes), known)) == want


# ---------------------------------------------------------------------------------------------- from forest to forest


def test_trees_are_the_same_in_any_forest(mixed):
    X, y, weight = mixed
    clf = olm(7)
    in_blocks(clf, X, y, 50, weight)
    forest, sizes = forest_of(clf), clf._model.encoder.sizes
    want = [tree_state(forest, root, sizes) for root in forest.roots]
    assert sum(len(state) == 5 for state in want) >= 5  # most have split
    parts = [select(forest, a, b) for a, b in ((0, 2), (2, 3), (3, 7))]
    for trees in (parts, [join(parts)], [join([forest])]):
        assert [tree_state(part, root, sizes) for part in trees for root in part.roots] == want
        assert sum(part.used[5] for part in trees) == forest.used[5]
        assert all(len(part.free_stats) == len(part.stats) for part in trees)
        for name in PER_TREE:
            got = np.concatenate([getattr(part, name) for part in trees])
            np.testing.assert_array_equal(got, getattr(forest, name))
    assert len(join(parts).nodes) < len(forest.nodes)  # no room that is not used
    parts[0].details["mass"] = -1.0
    assert [tree_state(forest, root, sizes) for root in forest.roots] == want  # nothing is shared


# ------------------------------------------------------------------------------------------------ Ctrl-C and errors


def press_at(monkeypatch, call):
    """Ctrl-C in the middle of the call-th block through a segment; no other begins before it is noted."""
    calls, learn, note = [], Segment.learn, Interrupt._note
    noted, one_at_a_time = threading.Event(), threading.Lock()

    def note_and_tell(interrupt, signum, frame):
        try:
            note(interrupt, signum, frame)
        finally:
            noted.set()

    def learn_and_press(segment, rows, y, weight):
        with one_at_a_time:
            calls.append(1)
            if len(calls) == call:
                os.kill(os.getpid(), signal.SIGINT)
                assert noted.wait(60.0)
        learn(segment, rows, y, weight)

    monkeypatch.setattr(Interrupt, "_note", note_and_tell)
    monkeypatch.setattr(Segment, "learn", learn_and_press)


def test_ctrl_c_in_fit_and_in_a_first_row(eager, monkeypatch, numbers):
    X, y = numbers
    clf = olm().partial_fit(X, y)
    with monkeypatch.context() as patch:
        press_at(patch, 3)
        with pytest.raises(KeyboardInterrupt):
            clf.fit(X, y)
    assert 0 < clf.n_samples_seen_ < len(y)
    fresh = olm()
    with monkeypatch.context() as patch:
        press_at(patch, 1)
        with pytest.raises(KeyboardInterrupt):
            fresh.learn_one(X[0].tolist(), y[0])
    assert fresh.n_samples_seen_ == 1


def test_ctrl_c_before_anything_was_learned_changes_nothing(monkeypatch, numbers):
    X, y = numbers
    clf = olm().partial_fit(X, y)
    before = frozen(clf)
    read = Labels.read

    def read_and_press(labels, y):
        os.kill(os.getpid(), signal.SIGINT)
        return read(labels, y)

    monkeypatch.setattr(Labels, "read", read_and_press)
    with pytest.raises(KeyboardInterrupt):
        clf.fit(X, y)
    assert frozen(clf) == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_ctrl_c_with_learners_of_another_make(n_jobs, eager, monkeypatch, numbers):
    X, y = numbers
    clf = AdaBoostOLM(3, learner=Counts(), n_jobs=n_jobs).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    with monkeypatch.context() as patch:
        press_at(patch, 5)
        with pytest.raises(KeyboardInterrupt):
            clf.partial_fit(X[50:], y[50:])
    assert 50 < clf.n_samples_seen_ < 300
    twin = AdaBoostOLM(3, learner=Counts()).partial_fit(
        X[: clf.n_samples_seen_], y[: clf.n_samples_seen_], classes=[0, 1, 2]
    )
    assert model_state(clf) == model_state(twin)


def test_a_handler_that_does_not_raise_does_not_stop_the_learning(eager, monkeypatch, numbers):
    presses = []
    before = signal.signal(signal.SIGINT, lambda signum, frame: presses.append(signum))
    try:
        press_at(monkeypatch, 2)
        assert olm().partial_fit(*numbers).n_samples_seen_ == 300
    finally:
        signal.signal(signal.SIGINT, before)
    assert presses == [signal.SIGINT]


def test_outside_the_main_thread_there_is_nothing_to_hold_back(numbers):
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(olm().partial_fit, *numbers).result().n_samples_seen_ == 300


def test_one_within_another_leaves_it_in_charge():
    pressed = []

    def press():
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.01)

    def both():
        with Interrupt() as outer:
            with Interrupt():
                press()
            press()
            pressed.append(outer.pressed())
            with outer.let_through():
                pressed.append("let through")

    with pytest.raises(KeyboardInterrupt):
        both()
    assert pressed == [True]

    def inner_alone():
        with Interrupt() as outer:
            with outer.let_through(), Interrupt():
                press()
                pressed.append("held back")
            pressed.append("too late")

    with pytest.raises(KeyboardInterrupt):
        inner_alone()
    assert pressed == [True, "held back"]
    with Interrupt() as outer:
        with outer.let_through(), Interrupt():
            pass
        press()
        held = outer.pending
        outer.pending = None
    assert isinstance(held, KeyboardInterrupt)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_goes_before_ctrl_c():
    def press_and_fail():
        with Interrupt():
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(0.01)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        press_and_fail()


@pytest.mark.parametrize("n_jobs", [1, 2, 4])
def test_an_error_in_a_segment_leaves_the_classifier_as_it_was(n_jobs, eager, numbers):
    X, y = numbers[0].copy(), numbers[1]
    clf = AdaBoostOLM(4, learner=Counts(), n_jobs=n_jobs).partial_fit(X[:50], y[:50], classes=[0, 1, 2])
    before = frozen(clf)
    X[200, 0] = 1.25
    with pytest.raises(RuntimeError, match=r"1\.25 is too much"):
        clf.partial_fit(X[50:], y[50:])
    assert frozen(clf) == before
    assert clf.partial_fit(X[50:150], y[50:150]).n_samples_seen_ == 150


# ----------------------------------------------------------------------------------------------------------- size


@pytest.mark.parametrize("make", [olm, mbbm])
def test_the_size_is_that_of_all_arrays(make, mixed, eager):
    X, y, weight = mixed
    clf = make(n_jobs=2)
    in_blocks(clf, X[:100], y[:100], 100, weight[:100])
    small = clf.nbytes_
    in_blocks(clf, X[100:], y[100:], 100, weight[100:])
    parts = clf.nbytes_by_part_
    assert clf.nbytes_ == sum(parts.values()) > small
    tables = forests(clf._model.chain)
    assert len(tables) == len(clf._model.chain.segments) > 1
    assert parts["nodes"] == sum(forest.nodes.nbytes + forest.details.nbytes for forest in tables)
    assert parts["statistics"] == sum(forest.stats.nbytes + forest.free_stats.nbytes for forest in tables)
    assert ("potentials" in parts) == (make is mbbm)
    compact = clf.snapshot()
    assert compact.nbytes_ < clf.nbytes_
    assert compact.nbytes_ == pytest.approx(len(pickle.dumps(compact)), rel=0.25)
    assert AdaBoostOLM(2, learner=Counts()).fit(*number_stream(50)).nbytes_by_part_["learners"] > 0


# --------------------------------------------------------------------------------------------------- command line


@pytest.mark.parametrize("model", ["adaboost-olm", "online-mbbm"])
def test_jobs_of_the_command_line(model):
    accuracy = []
    for jobs in ("1", "2"):
        settings = ["--model", model, "--learners", "20", "--limit", "1500", "--jobs", jobs, "--json"]
        result = CliRunner().invoke(main, ["run", "nursery", *settings])
        assert result.exit_code == 0, result.output
        accuracy.append(json.loads(result.stdout)["results"][0]["accuracy"])
    assert accuracy[0] == accuracy[1]


def test_a_bad_number_of_jobs_is_an_error_without_a_traceback():
    result = CliRunner().invoke(main, ["run", "balance", "--jobs", "0"])
    assert result.exit_code == 2
    assert "n_jobs must be a number of threads" in result.stderr
