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


@pytest.mark.skipif(sys.platform == "win32" or config.DISABLE_JIT, reason="no such terminals, or nothing is compiled")
@pytest.mark.parametrize("filtered", [False, True])
def test_a_terminal_shows_how_many_kernels_are_done_and_wipes_it_away(tmp_path, filtered):
    import pty

    alone = "import logging\nlogging.getLogger('onlineboost').addFilter(lambda record: False)\n"
    ours, theirs = pty.openpty()
    run(tmp_path, theirs, alone + COMPILES if filtered else COMPILES)
    os.set_blocking(ours, False)
    said = os.read(ours, 1 << 16).decode() if not filtered else read_nothing(ours)
    os.close(theirs), os.close(ours)
    if filtered:  # by a program that shows progress of its own
        assert not said
        return
    line, _, rest = said.partition("\r\n")
    assert line == LINE
    *_, last, wiped, end = rest.split("\r")
    assert last.startswith("1 of about 3 kernels, ")
    assert wiped == " " * len(last)
    assert not end
    assert LINE not in rest


def read_nothing(terminal):
    with pytest.raises(BlockingIOError):
        os.read(terminal, 1)
    return ""
