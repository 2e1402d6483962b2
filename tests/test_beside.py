"""Two processes compile the default model, where there are two cores."""

from __future__ import annotations

import ast
import os
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest
from numba import config

from onlineboost._compile.cache import CACHE_DIR, before_compiling
from onlineboost.estimators import beside

LOOKED_FOR = """
from onlineboost._compile.cache import KeptKernel
kernels, find = set(), KeptKernel._load
KeptKernel._load = lambda self, sig, *args: kernels.add((self.function.__name__, str(sig))) or find(self, sig, *args)
"""
ALL = """
import numpy as np
from onlineboost import OnlineBoostClassifier
OnlineBoostClassifier(20).partial_fit(np.eye(2), [0, 1])
"""


def kernels_of(program):
    """The kernels that a program in a new process looks for on disk, or compiles, with their types."""
    call = [sys.executable, "-c", f"{LOOKED_FOR}{program}\nprint(kernels)"]
    env = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    done = subprocess.run(call, env=env, check=True, capture_output=True, text=True)
    return ast.literal_eval(done.stdout)


@pytest.mark.compiled
def test_the_second_process_compiles_all_but_the_panels_own_kernels():
    kernels_of(ALL)  # from now on all is on disk, and no kernel is looked for while another one is compiled
    left = kernels_of(ALL) - kernels_of(beside.PROGRAM.format(20).removeprefix(beside.WATCH))
    assert sorted(name for name, _ in left) == ["_written", "send_rows", "will_stay"]


@pytest.fixture
def started(monkeypatch):
    """The calls that would start another process, each with its environment; here it ends at once."""
    calls = []
    other = SimpleNamespace(wait=lambda seconds=None: None, kill=lambda: None, stdin=None)
    monkeypatch.setattr(subprocess, "Popen", lambda call, env, **_: calls.append((call, env)) or other)
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", 2)
    before_compiling.clear()
    yield calls
    assert not before_compiling
    assert not beside.one.locked()


def new_model(rehearse):
    panel = SimpleNamespace(rehearse=lambda n_columns, k: rehearse())
    return SimpleNamespace(chain=SimpleNamespace(panel=panel, n_learners=2), encoder=SimpleNamespace(names=["a"]), k=2)


def look_for_a_kernel():
    """What the kernel store does for a kernel that it does not have."""
    while before_compiling:
        before_compiling.pop()()


@pytest.mark.parametrize(("cores", "missing", "n"), [(2, True, 1), (2, False, 0), (1, True, 0)])
def test_it_is_started_if_something_is_missing_and_there_is_a_core_for_it(monkeypatch, started, cores, missing, n):
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", cores)
    beside.compile_panel(new_model(look_for_a_kernel if missing else lambda: None))
    assert len(started) == n


def test_it_keeps_machine_code_where_this_process_does(monkeypatch, started):
    monkeypatch.setenv("NUMBA_CACHE_DIR", "kept-here")  # relative, and this process may have gone elsewhere since
    beside.compile_panel(new_model(look_for_a_kernel))
    assert [env["NUMBA_CACHE_DIR"] for _, env in started] == [str(CACHE_DIR.parent)]


@pytest.mark.parametrize("program", ["", None, "/opt/server/bin/uwsgi", "/opt/app/app", "/usr/bin/python3 (frozen)"])
def test_no_other_program_is_started_instead_of_python(monkeypatch, started, program):
    monkeypatch.setattr(sys, "executable", program)
    monkeypatch.setattr(sys, "frozen", "frozen" in (program or ""), raising=False)
    beside.compile_panel(new_model(look_for_a_kernel))
    assert not started


def test_an_error_of_the_system_or_of_an_audit_hook_costs_nothing_but_time(monkeypatch, started):
    def refuse(*_, **__):
        raise RuntimeError("no processes here")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    beside.compile_panel(new_model(look_for_a_kernel))
    assert not before_compiling
    assert not beside.one.locked()  # another model may try


def test_threads_that_make_their_first_models_at_once_start_one(started):
    def another_model():
        beside.compile_panel(new_model(look_for_a_kernel))

    def rehearse():
        look_for_a_kernel()
        thread = threading.Thread(target=another_model)
        thread.start()
        thread.join()

    beside.compile_panel(new_model(rehearse))
    assert len(started) == 1


def test_none_is_started_for_a_thread_that_does_not_wait_for_it(started):
    def rehearse():
        thread = threading.Thread(target=look_for_a_kernel)
        thread.start()
        thread.join()

    beside.compile_panel(new_model(rehearse))
    assert not started


KILLED = """
import subprocess, time
from types import SimpleNamespace
from onlineboost._compile.cache import before_compiling
from onlineboost.estimators import beside

class Told(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        print(self.pid, flush=True)

def rehearse(n_columns, k):
    while before_compiling:
        before_compiling.pop()()
    time.sleep(100)

subprocess.Popen = Told
beside.PROGRAM = f"{beside.WATCH}import time; time.sleep(100)"
chain = SimpleNamespace(panel=SimpleNamespace(rehearse=rehearse), n_learners=2)
beside.compile_panel(SimpleNamespace(chain=chain, encoder=SimpleNamespace(names=["a"]), k=2))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="asks for a process in the way of Unix")
def test_it_ends_when_this_process_is_killed():
    env = {**os.environ, "NUMBA_NUM_THREADS": "2"}
    first = subprocess.Popen([sys.executable, "-c", KILLED], env=env, stdout=subprocess.PIPE, text=True)
    with first:
        second = int(first.stdout.readline())
        os.kill(second, 0)  # it runs
        first.kill()
    for _ in range(300):
        try:
            os.kill(second, 0)
        except ProcessLookupError:
            return
        if is_zombie(second):
            return
        time.sleep(0.1)
    os.kill(second, signal.SIGKILL)
    pytest.fail("it went on")


def is_zombie(pid):
    """Whether it has ended and nobody has asked how: in a container there may be no process that does."""
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True).stdout
    return state.strip().startswith("Z")
