"""While kernels are compiled a terminal shows how far it is; everywhere else one line says so, once."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from onlineboost._compile.numba_internals import config

COMPILES = """
import time
from onlineboost._compile import jit, progress
from onlineboost._compile.cache import before_compiling
progress.FIRST = progress.EVERY = 0.05

@jit.entry_kernel
def double(x): return x + x

for _ in range(2):
    jit.announce_compilation("it", 3)
    while before_compiling:
        before_compiling.pop()()
    double(1.0)
    time.sleep(0.5)
    jit.done_compiling()
"""
LINE = "compiling what it needs, once for this machine: 15 to 40 s the first time ..."


def run(folder, stderr, code=COMPILES):
    env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    return subprocess.run([sys.executable, "-c", code], env=env, stderr=stderr, stdout=subprocess.DEVNULL, check=True)


def test_a_pipe_gets_one_line_once(tmp_path):
    assert run(tmp_path, subprocess.PIPE).stderr.decode().splitlines() == [LINE]


@pytest.fixture
def terminal():
    pty = pytest.importorskip("pty", reason="no such terminals")
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    yield ours, theirs
    os.close(ours), os.close(theirs)


@pytest.mark.skipif(config.DISABLE_JIT, reason="nothing is compiled")
def test_a_terminal_shows_how_many_kernels_are_done_and_wipes_it_away(tmp_path, terminal):
    ours, theirs = terminal
    run(tmp_path, theirs)
    said, _, shown = os.read(ours, 1 << 16).decode().partition("\r\n")
    assert said == LINE
    *_, last, wiped, end = shown.split("\r")
    assert last.startswith("1 of about 3 kernels, ")
    assert wiped == " " * len(last)
    assert not end
    assert LINE not in shown


def test_a_system_that_gives_no_more_threads_is_no_obstacle(tmp_path, terminal):
    ours, theirs = terminal
    refuse = 'import threading\ndef start(self): raise RuntimeError("can\'t start new thread")\n'
    run(tmp_path, theirs, f"{refuse}threading.Thread.start = start\n{COMPILES}")
    assert os.read(ours, 1 << 16).decode().splitlines() == [LINE]


@pytest.mark.parametrize("silence", ["addFilter(lambda record: False)", "setLevel('ERROR')"])
def test_whoever_silences_the_line_or_says_it_in_another_way_sees_no_progress_either(tmp_path, terminal, silence):
    ours, theirs = terminal
    run(tmp_path, theirs, f"import logging\nlogging.getLogger('onlineboost').{silence}\n{COMPILES}")
    with pytest.raises(BlockingIOError):
        os.read(ours, 1)
