"""Kernels are plain Python: without the compiler they run unchanged and give the same run."""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest

import onlineboost
from onlineboost._compile import cache
from onlineboost._compile import jit as _jit
from onlineboost._compile.numba_internals import LEVELS, processor
from soak.strikes import struck_after

ROOT = Path(onlineboost.__file__).parent

SCRIPT = """
import numpy as np
from helpers import forest_of, in_blocks, mixed_stream
from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineBoostClassifier

X, y, weight = mixed_stream(60, seed=1)
clf = OnlineBoostClassifier(3)
said = in_blocks(clf, X[:40], y[:40], 20, weight[:40])
print(clf.predict_proba(X[:5]).ravel().tolist())
print(said)
for loss in ("logistic", "exponential", "squared_hinge"):
    tree = HoeffdingTree(grace_period=8, tie_threshold=0.5, max_features=0.5)
    clf = AdaBoostOLM(3, loss=loss, learner=tree, weight_scale=3.0)
    print(in_blocks(clf, X, y, 20, weight), np.round(clf.alphas_, 9).tolist(), clf.predict(X[:10]).tolist())
    print(len(forest_of(clf).nodes), forest_of(clf).used.tolist())
"""


# Every estimator learns and predicts; what had to be compiled for it is printed.
ALL = """
from numba import njit
from numba.core import event
from helpers import in_blocks, mixed_stream
from onlineboost import lookup

compiled = event.RecordingListener()
event.register("numba:compile", compiled)
X, y, weight = mixed_stream(60, seed=1)
for name in lookup.names():
    clf = lookup.make(name, n_learners=3, restart="always")
    in_blocks(clf, X, y, 20, weight)
    clf.learn_one(X[0], y[0])
    clf.predict(X), clf.predict_proba(X), clf.predict_one(X[0]), clf.snapshot().predict(X)
njit(lambda: None)()
print(sorted({each.data["dispatcher"].py_func.__name__ for _, each in compiled.buffer}))
"""

# What kernels a stream of numbers still needs after its first rows, when trees have started again.
LATE = """
import gc
import tempfile
import numpy as np
import onlineboost
from numba.core.dispatcher import Dispatcher
from onlineboost import lookup

def loaded():
    names = [(each.py_func.__module__, each) for each in gc.get_objects() if isinstance(each, Dispatcher)]
    ours = [each for module, each in names if str(module).startswith("onlineboost")]
    return {(each.py_func.__name__, s) for each in ours for s in each.signatures}

rng = np.random.default_rng(0)
X = rng.normal(size=(2_000, 2))
y = (X[:, 0] > 0.0).astype(int)
clf = lookup.make("NAME", n_learners=10, restart="always")
clf.partial_fit(X[:5], y[:5], classes=[0, 1])
before = loaded()
for start in range(5, 2_000, 95):
    clf.partial_fit(X[start : start + 95], y[start : start + 95])
assert clf.ages_.min() < 2_000
with tempfile.TemporaryDirectory() as folder:
    clf.save(folder + "/model")
    clf = onlineboost.load(folder + "/model")
clf.predict(X), clf.predict_one(X[0].tolist()), clf.learn_one(X[0].tolist(), 1)
print(sorted({name for name, _ in loaded() - before}))
"""


def run_script(script=SCRIPT, **environment):
    """Standard output of a script in a fresh interpreter where warnings are errors."""
    paths = [str(Path(__file__).parent), str(Path(onlineboost.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_without_the_compiler_the_run_is_the_same():
    """Sums may be rounded in another way: probabilities of the panel are the same up to that."""
    (plain, *others), (compiled, *same) = (run_script(NUMBA_DISABLE_JIT=off).splitlines() for off in "10")
    np.testing.assert_allclose(ast.literal_eval(plain), ast.literal_eval(compiled), atol=1e-5)
    assert others == same


WHOLE = """
import hashlib
import numpy as np
from numba import njit
from onlineboost._compile.jit import bare_kernel, entry_kernel, summing_kernel
from onlineboost._compile.numba_internals import processor

@bare_kernel
def squared(x):
    return x * x

@summing_kernel
def total(values):
    out = 0.0
    for value in values:
        out += squared(value)
    return out

@entry_kernel
def both(values):
    return total(values) + squared(values[0])

values = np.random.default_rng(0).normal(size=1001)
here = both(values)
made = [kernel.overloads[kernel.signatures[0]].library for kernel in (both, total, squared)]
print([library._finalized for library in made])
assert njit(lambda x: squared(x) + 1.0)(3.0) == 10.0  # a kernel of somebody else calls what has no code yet
assert squared(3.0) == 9.0  # and so does Python
print(here.hex(), hashlib.sha256(made[0]._get_compiled_object()).hexdigest(), processor())
"""


def test_a_kernel_is_compiled_with_all_that_it_calls(tmp_path):
    said = run_script(WHOLE, NUMBA_DISABLE_JIT="0", NUMBA_CACHE_DIR=str(tmp_path))
    assert said.splitlines()[0] == "[True, False, False]"


@pytest.mark.parametrize("family", LEVELS)
def test_llvm_knows_the_processors_that_kernels_are_compiled_for(family, capfd):
    llvmlite.binding.initialize_all_targets()
    system = "apple-darwin" if family == "arm64" else "unknown-linux-gnu"
    llvmlite.binding.Target.from_triple(f"{family}-{system}").create_target_machine(cpu=LEVELS[family][0])
    assert capfd.readouterr().err == ""


@pytest.mark.skipif(processor() is None, reason="kernels are compiled for this very processor")
def test_processors_of_one_level_run_the_same_machine_code(tmp_path):
    """With AVX-512 vectors are twice as long, and sums would be added up in another order."""
    has = {name for name, there in llvmlite.binding.get_host_cpu_features().items() if there}
    few = {name for name in has if not name.startswith("avx512")}
    said = []
    for names in (has, few, few - {"avx2"}):
        setting = {"NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in sorted(names)), "PYTHONHASHSEED": "0"}
        folder = str(tmp_path / str(len(said)))
        said.append(run_script(WHOLE, NUMBA_DISABLE_JIT="0", NUMBA_CACHE_DIR=folder, **setting))
    assert said[0] == said[1]
    assert said[2].endswith(" None\n")  # below the level: for this very processor


def test_in_a_second_process_nothing_is_compiled():
    """Kernels that Python calls are on disk, and those that they call are part of them."""
    run_script(ALL, NUMBA_DISABLE_JIT="0")
    assert run_script(ALL, NUMBA_DISABLE_JIT="0").strip() == "['<lambda>']"  # the script's own


@pytest.mark.parametrize("name", ["adaboost-olm", "online-boost"])
def test_no_kernel_is_met_for_the_first_time_when_trees_start_again_or_a_file_is_read(name):
    assert run_script(LATE.replace("NAME", name), NUMBA_DISABLE_JIT="0").strip() == "[]"


def test_the_cache_folder_is_named_after_the_sources(tmp_path, monkeypatch):
    """An edit in one module makes all kernels anew: Numba by itself looks at one file only."""
    now = cache.source_hash(cache.WITH_KERNELS)
    assert cache.CACHE_DIR.name == f"kernels-{now}"
    assert len(now) == 12
    monkeypatch.setattr(cache, "ROOT", tmp_path / "onlineboost")
    shutil.copytree(ROOT, cache.ROOT, ignore=shutil.ignore_patterns("__pycache__"))
    assert cache.source_hash(cache.WITH_KERNELS) == now
    for module in sorted(cache.ROOT.rglob("*.py")):
        source = module.read_text()
        module.write_text(source + "# an edit\n")
        package = module.relative_to(cache.ROOT).parts[0]
        assert (cache.source_hash(cache.WITH_KERNELS) != now) == (package in cache.WITH_KERNELS), module
        module.write_text(source)


def test_machine_code_of_versions_used_long_ago_is_removed(tmp_path):
    for age in range(5):
        (tmp_path / f"kernels-{age}").mkdir()
        os.utime(tmp_path / f"kernels-{age}", (1e9 - age, 1e9 - age))
    (tmp_path / "data").mkdir()
    os.utime(tmp_path / "data", (1.0, 1.0))
    assert not cache.claim(tmp_path, "kernels-4")  # it is there: nothing is removed, and now it is the one used last
    assert len(list(tmp_path.iterdir())) == 6
    assert not cache.claim(tmp_path, "kernels-new")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "kernels-0", "kernels-4", "kernels-new"]


def decorated(*decorators):
    """(file, function) of all functions of the package with one of these decorators."""
    for path in sorted(ROOT.rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef):
                names = {ast.unparse(decorator).rpartition(".")[2] for decorator in function.decorator_list}
                if names & set(decorators):
                    yield path.relative_to(ROOT).as_posix(), function


def test_kernels_without_reference_counts_call_no_array_methods():
    """They compile only if something else compiled the method before: a fresh process would fail."""
    bare = {name for name in vars(_jit) if name.endswith("_kernel")}
    assert bare == {f"{kind}_kernel" for kind in ("bare", "entry", "unkept", "small", "fused", "summing", "inlined")}
    types = {"int32", "int64", "uint64", "float32", "float64"}
    seen = set()
    for path, function in decorated(*bare, "optional"):  # `optional`: what holds for a type that does not say otherwise
        seen.add(path.partition("/")[0])
        calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
        for call in calls:
            if isinstance(call, ast.Attribute):
                allowed = ast.unparse(call.value) == "math" or call.attr in types
                assert allowed, f"{path}: {function.name} calls {ast.unparse(call)}"
    assert seen >= {"_compile", "boosters", "chain", "contracts", "trees"}


def test_every_kernel_is_compiled_by_a_decorator_of_one_module():
    """Numba's own decorators know nothing of the cache folder or of the GIL."""
    own = {"njit", "jit", "vectorize", "guvectorize", "cfunc"}
    assert [(path, function.name) for path, function in decorated(*own)] == []


# ------------------------------------------------------------------------------------------------- another Numba


@pytest.mark.parametrize(
    "gone",
    [
        "del numba.core.compiler.CompileResult._rebuild",
        "del numba.core.caching.Cache._index_key",
        "del numba.core.imputils.impl_ret_borrowed",
    ],
)
def test_a_numba_that_has_changed_inside_is_an_error_with_the_versions_that_work(gone):
    told = run_script(
        f"import numba.core.caching\n{gone}\n"
        "try:\n    import onlineboost._compile.jit\nexcept ImportError as error:\n    print(error)"
    )
    assert re.fullmatch(r"onlineboost does not work with Numba .*: pip install 'numba>=[\d.]+,<[\d.]+'\n", told)


def test_without_the_options_that_numba_does_not_promise_kernels_are_the_same_if_slower(tmp_path):
    ask = "from onlineboost._compile import random\nprint(random.uniform(1, 2, 3, 4), random.child_key(5, 6))"
    lacking = "from onlineboost._compile import numba_internals\nnumba_internals.CPUTargetOptions = object\n"
    lacking += "numba_internals._all_options = lambda options: {}\n"
    assert run_script(lacking + ask, NUMBA_CACHE_DIR=str(tmp_path)) == run_script(ask)


OPTIONS = """
from numba.core import targetconfig
from onlineboost._compile.jit import entry_kernel

def noted(self, values=targetconfig.TargetConfig.values):
    calls.append(self)
    return values(self)

calls, targetconfig.TargetConfig.values = [], noted
entry_kernel(lambda x: max(x, 2.0))(3.0)
quick = len(calls)
from numba import njit
njit(lambda x: max(x, 2.0))(3.0)
print(quick, len(calls) > 10, targetconfig.TargetConfig.values is noted)
"""


@pytest.mark.skipif(_jit.config.DISABLE_JIT, reason="nothing is compiled")
def test_numba_reads_its_options_in_its_own_way_for_kernels_of_others(tmp_path):
    quick, own, back = run_script(OPTIONS, NUMBA_CACHE_DIR=str(tmp_path)).split()
    assert int(quick) < 5  # that it gives the same is tried before each kernel
    assert (own, back) == ("True", "True")


@pytest.mark.skipif(not cache.USABLE or _jit.config.DISABLE_JIT, reason="no machine code is kept")
def test_what_a_handler_raises_while_a_kernel_is_loaded_goes_on_and_spoils_nothing(tmp_path, monkeypatch, caplog):
    """Nor is the machine code thrown away. TimeoutError is an OSError, as those of the system are."""
    monkeypatch.setattr(cache, "CACHE_DIR", tmp_path)
    cache.before_compiling.clear()  # what another test would have said

    def twice(x):
        return x + x

    def too_late():
        struck.append(moment)
        raise TimeoutError("too late")

    _jit.kernel(twice)(2)
    (file,) = tmp_path.glob("*.nbc")
    before, struck, raised = file.stat(), [], []
    for moment in (*range(1, 40), *range(40, 4000, 79)):
        kernel = _jit.kernel(twice)  # nothing of it is loaded
        try:
            struck_after(moment, lambda kernel=kernel: kernel(2), too_late)
        except TimeoutError:
            raised.append(moment)
        assert kernel(2) == 4
    assert raised == struck
    assert len(raised) > 60
    assert not caplog.text
    other = threading.Thread(target=_jit.kernel(twice), args=(2,), daemon=True)
    other.start()
    other.join(60)
    assert not other.is_alive(), "the compiler's lock was not given back: no other thread can compile"
    assert (file.stat().st_mtime_ns, file.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


STRUCK = """
import os, signal
from llvmlite.binding.ffi import ObjectRef
from onlineboost._compile.jit import bare_kernel, entry_kernel

@bare_kernel
def squared(x):
    return x * x

@entry_kernel
def more(x):
    return squared(x) + squared(x + 1.0)

def detach(thing, detach=ObjectRef.detach):  # the linker has taken the module, and `thing` does not know yet
    if type(thing).__name__ == "ModuleRef" and not struck:
        struck.append(thing)
        os.kill(os.getpid(), signal.SIGINT)
        struck.append("went on")
    detach(thing)

entry_kernel(lambda x: x)(2.0)  # what there is to compile with is read in now
struck, ObjectRef.detach = [], detach
try:
    more(2.0)
except KeyboardInterrupt:
    print(*struck[1:], more(2.0))
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no signals to oneself")
def test_ctrl_c_between_two_steps_of_the_compiler_waits(tmp_path):
    """It had modules freed twice, and now and then that ended the process."""
    assert run_script(STRUCK, NUMBA_DISABLE_JIT="0", NUMBA_CACHE_DIR=str(tmp_path)) == "went on 13.0\n"
