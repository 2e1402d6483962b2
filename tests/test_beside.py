"""Two processes compile the default model, where there are two cores."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from numba import config

from onlineboost._compile.cache import before_compiling
from onlineboost.estimators import beside

LOOKED_FOR = """
from onlineboost._compile.cache import KeptKernel
names, find = set(), KeptKernel._load
KeptKernel._load = lambda self, *args: names.add(self.function.__name__) or find(self, *args)
"""
ALL = """
import numpy as np
from onlineboost import OnlineBoostClassifier
OnlineBoostClassifier(2).partial_fit(np.eye(2), [0, 1])
"""


def names_of(program):
    """The kernels that a program in a new process looks for on disk, or compiles."""
    call = [sys.executable, "-c", f"{LOOKED_FOR}{program}\nprint(*names)"]
    env = {**os.environ, "NUMBA_NUM_THREADS": "1"}
    return set(subprocess.run(call, env=env, check=True, capture_output=True, text=True).stdout.split())


@pytest.mark.compiled
def test_the_second_process_compiles_all_but_the_panels_own_kernels():
    names_of(ALL)  # from now on all is on disk, and no kernel is looked for while another one is compiled
    assert names_of(ALL) - names_of(beside.PROGRAM) == {"learn_rows", "ask_rows"}


@pytest.mark.parametrize(("cores", "missing", "started"), [(2, True, 1), (2, False, 0), (1, True, 0)])
def test_it_is_started_if_something_is_missing_and_there_is_a_core_for_it(monkeypatch, cores, missing, started):
    calls, ended = [], []
    other = SimpleNamespace(wait=lambda seconds=None: ended.append(seconds), kill=lambda: None)
    monkeypatch.setattr(subprocess, "Popen", lambda call, **_: calls.append(call) or other)
    monkeypatch.setattr(config, "NUMBA_NUM_THREADS", cores)

    def rehearse(n_columns, k):  # what the kernel store does for a kernel that it does not have
        while missing and before_compiling:
            before_compiling.pop()()

    panel = SimpleNamespace(rehearse=rehearse)
    model = SimpleNamespace(chain=SimpleNamespace(panel=panel), encoder=SimpleNamespace(names=["a"]), k=2)
    before_compiling.clear()
    beside.compile_panel(model)
    assert len(calls) == started
    assert (beside.LONGEST in ended) == bool(started)  # waited for
    assert not before_compiling
