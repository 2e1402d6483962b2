"""A second process that compiles half of the default model, where there is a second core.

The panel's kernels take as long to compile as all others together. So this process begins with them. The other one
compiles the rest, which is then found on disk. It ends with this process, however that ends. It is started once
something has to be compiled, and never by a process of several that share the cores (joblib gives each of those its
part of `NUMBA_NUM_THREADS`).
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
from onlineboost.chain.model import Model
from onlineboost.chain.segments import PanelStage

WATCH = "import os, threading; threading.Thread(target=lambda: os.read(0, 1) or os._exit(1), daemon=True).start(); "
PROGRAM = f"{WATCH}from onlineboost.estimators.beside import compile_the_rest; compile_the_rest({{}})"
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
        quiet: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)
        quiet["stdin"] = subprocess.PIPE  # which the system closes when this process ends: see `WATCH`
        # it looks for this folder even if this process has gone to another current one, and its variable is relative
        env = {**os.environ, "NUMBA_NUM_THREADS": "1", "NUMBA_CACHE_DIR": str(CACHE_DIR.parent)}
        try:
            program = PROGRAM.format(model.chain.n_learners)
            others.append(subprocess.Popen([sys.executable, "-P", "-c", program], env=env, **quiet))
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
            if other.stdin:
                other.stdin.close()
            one.release()


def is_python() -> bool:
    """Whether `sys.executable` is Python. In a frozen program, and where Python is built in, it is all that program."""
    name = Path(sys.executable or "").name.lower()
    return name.startswith("python") and not getattr(sys, "frozen", False)


def compile_the_rest(n_learners: int) -> None:
    """Compile all that the default model with this number of learners needs, except for the panel's own kernels."""
    for step in ("rehearse", "learn", "predict", "learning_steps", "asking_step"):
        setattr(PanelStage, step, lambda *_: (None, None))
    clf = lookup.make("online-boost", n_learners=n_learners)
    clf.partial_fit(np.eye(2), ["a", "b"])
    clf.predict_proba(np.eye(2))
