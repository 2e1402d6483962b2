"""A second process that compiles half of the default model, where there is a second core.

The panel's kernels take as long to compile as all others together. So this process begins with them. The other one
compiles the rest, which is then found on disk. It is started once something has to be compiled, and never by a process
of several that share the cores (joblib gives each of those its part of `NUMBA_NUM_THREADS`).
"""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost import lookup
from onlineboost._compile.cache import CACHE_DIR, USABLE, before_compiling
from onlineboost._compile.numba_internals import config
from onlineboost.chain import segments
from onlineboost.chain.model import Model

PROGRAM = "from onlineboost.estimators.beside import compile_the_rest; compile_the_rest()"
LONGEST = 120.0  # seconds to wait for it
BEGAN = os.getpid()  # forks of a server may be as many as there are cores
one = threading.Lock()  # held while there is one: several threads may make their first models at once


def compile_panel(model: Model) -> None:
    """Have the panel's kernels compiled, and all others meanwhile, if there is a second core."""
    others: list[subprocess.Popen[bytes]] = []
    asked = threading.get_ident()

    def start() -> None:
        here = threading.get_ident() == asked and os.getpid() == BEGAN  # nobody would wait for that of another thread
        alone = multiprocessing.parent_process() is None and config.NUMBA_NUM_THREADS > 1
        if not (here and alone and USABLE and is_python()) or not one.acquire(blocking=False):
            return
        quiet: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        # it looks for this folder even if this process has gone to another current one, and its variable is relative
        env = {**os.environ, "NUMBA_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(CACHE_DIR.parent)}
        try:
            others.append(subprocess.Popen([sys.executable, "-P", "-c", PROGRAM], env=env, **quiet))
        except Exception:  # nothing is lost but time
            one.release()

    before_compiling.append(start)
    try:
        model.chain.panel.rehearse(len(model.encoder.names), max(model.k, 2))
        with suppress(subprocess.TimeoutExpired):
            for other in others:
                other.wait(LONGEST)
    finally:
        with suppress(ValueError):
            before_compiling.remove(start)  # nothing had to be compiled
        for other in others:
            other.kill()
            other.wait()
            one.release()


def is_python() -> bool:
    """Whether `sys.executable` is Python. In a frozen program, and where Python is built in, it is all that program."""
    name = Path(sys.executable or "").name.lower()
    return name.startswith("python") and not getattr(sys, "frozen", False)


def compile_the_rest() -> None:
    """Compile what the default model needs beside the panel's own kernels."""
    segments.learn_rows = segments.ask_rows = segments.will_stay  # which is called in the same way, and is small
    clf = lookup.make("online-boost", n_learners=2)
    clf.partial_fit(np.eye(2), ["a", "b"])
    clf.predict_proba(np.eye(2))
