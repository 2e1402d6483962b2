"""Machine code is never stale, and a folder to keep it in is not a condition for anything."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from typing import NamedTuple

import pytest

from onlineboost._compile import cache
from onlineboost._compile.dispatch import Contract
from onlineboost._compile.numba_internals import processor

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


SHIPPED = """
from numba.core import event
compiled = event.RecordingListener()
event.register("numba:compile", compiled)
from onlineboost._compile.random import uniform
uniform(1, 2, 3, 4)
print(any(each.data["dispatcher"].py_func.__name__ == "uniform" for _, each in compiled.buffer))
"""


def test_machine_code_in_the_package_is_used_if_this_machine_would_make_the_same(tmp_path):
    package = tmp_path / "onlineboost"
    shutil.copytree(cache.ROOT, package, ignore=shutil.ignore_patterns("__pycache__"))
    source = package / "_compile" / "random.py"

    def compiles(code=SHIPPED, **environment):
        nowhere = os.path.join(os.devnull, "below")
        env = {**os.environ, "PYTHONPATH": str(tmp_path), "NUMBA_CACHE_DIR": nowhere, **environment}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip() == "True", done.stderr

    assert compiles(NUMBA_CACHE_DIR=str(tmp_path / "store")) == (True, "")
    shutil.copytree(tmp_path / "store", package / "_machine_code")
    assert compiles() == (False, "")
    assert compiles(ONLINEBOOST_PREBUILT="0")[0]
    assert compiles(NUMBA_OPT="1")[0]
    assert compiles("import numba; numba.__version__ = '0.0'" + SHIPPED)[0]
    if processor():  # a processor without AVX2
        assert compiles(NUMBA_CPU_FEATURES="+sse4.2")[0]
    (file,) = (package / "_machine_code").rglob("*.nbc")
    good = file.read_bytes()
    file.write_bytes(good[:-100])
    compiled, said = compiles()
    assert compiled
    assert "is damaged" in said
    assert "replaced" not in said
    file.write_bytes(good)
    source.write_text(source.read_text() + "# an edit\n")
    assert compiles() == (True, "")


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
