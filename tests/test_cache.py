"""Machine code is never stale, and a folder to keep it in is no condition for anything."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import NamedTuple

import pytest

from onlineboost._compile.dispatch import Contract

ASK = "from onlineboost._compile import cache, random; print(cache.USABLE, cache.CACHE_DIR, random.uniform(1, 2, 3, 4))"


def ask(**environment):
    env = {**os.environ, "NUMBA_CACHE_DIR": "", **environment}
    done = subprocess.run([sys.executable, "-c", ASK], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    usable, folder, value = done.stdout.split()
    return usable == "True", folder, float(value)


def test_a_folder_of_the_users_own_is_cut_by_versions_too(tmp_path):
    usable, folder, _ = ask(NUMBA_CACHE_DIR=str(tmp_path))
    assert usable
    assert folder.startswith(f"{tmp_path}{os.sep}kernels-")
    assert any(tmp_path.rglob("*.nbc"))
    assert {path.name for path in tmp_path.iterdir()} == {os.path.basename(folder)}


@pytest.mark.parametrize("where", [os.path.join(os.devnull, "below")])
def test_without_a_folder_to_write_to_all_works_the_same(where, tmp_path):
    usable, _, value = ask(NUMBA_CACHE_DIR=where)
    assert not usable
    assert value == ask(XDG_CACHE_HOME=str(tmp_path))[2]


def test_two_states_of_one_name_keep_their_own_kernels():
    """Numba tells types apart by their names."""
    code = """
from typing import NamedTuple
from onlineboost._compile.dispatch import Contract
from onlineboost._compile.jit import bare_kernel
SHAPE = Contract("shape")
@SHAPE.kernel
def area(shape): ...
@bare_kernel
def ask(shape): return area(shape)
def make(factor):
    class Square(NamedTuple):
        side: float
    def area(shape): return factor * shape.side
    SHAPE.implement(Square, area)
    return Square
print([ask(make(factor)(1.0)) for factor in (1.0, 2.0, 3.0)])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "[1.0, 2.0, 3.0]\n", done.stderr


def test_a_kernel_with_other_arguments_than_the_contract_wants_is_named():
    class Square(NamedTuple):
        side: float

    contract = Contract("shape")
    contract.kernel(lambda shape, scale: 0.0)
    with pytest.raises(TypeError, match=r"<lambda> of Square takes \(shape\), not \(shape, scale\)"):
        contract.implement(Square, lambda shape: 1.0)


BEYOND = """
import numpy as np
from onlineboost._compile.cache import CACHE_DIR
from onlineboost._compile.jit import bare_kernel, entry_kernel
from onlineboost._compile.random import uniform
@bare_kernel
def beyond(values, at): values[at] = 1.0
@entry_kernel
def call(values, at): beyond(values[:2], at)
uniform(1, 2, 3, 4)
try:
    call(np.zeros(8), 5)
    print("written")
except IndexError:
    print("refused")
print(len(list(CACHE_DIR.glob("onlineboost._compile.random*.nbc"))))
"""


def test_kernels_with_checked_indices_are_kept_apart(tmp_path):
    """Otherwise a run that is to check them would take machine code that does not, or a later one the slow code."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    said = []
    for check in ("0", "1", "0"):
        done = subprocess.run(
            [sys.executable, "-c", BEYOND],
            env={**environment, "NUMBA_BOUNDSCHECK": check},
            capture_output=True,
            text=True,
        )
        said.append(done.stdout.split() or done.stderr)
    assert said == [["written", "1"], ["refused", "2"], ["written", "2"]]


SWITCHES = ("NUMBA_OPT", "1"), ("NUMBA_OPT", "max"), ("NUMBA_LOOP_VECTORIZE", "0"), ("NUMBA_SLP_VECTORIZE", "1")


def test_kernels_that_were_compiled_in_another_way_are_kept_apart(tmp_path):
    """A switch of the compiler changes the machine code, and with it speed or the last bits of sums."""
    count = BEYOND.partition("@bare_kernel")[0] + "uniform(1, 2, 3, 4)\n" + BEYOND.splitlines()[-1]
    default = {name: value for name, value in os.environ.items() if name not in dict(SWITCHES)}
    default |= {"NUMBA_CACHE_DIR": str(tmp_path), "NUMBA_DISABLE_JIT": "0"}
    said = []
    for switch in ((), *SWITCHES, ()):
        environment = default | dict([switch] if switch else [])
        done = subprocess.run([sys.executable, "-c", count], env=environment, capture_output=True, text=True)
        said.append(done.stdout.strip() or done.stderr)
    assert said == ["1", "2", "3", "4", "5", "5"]
