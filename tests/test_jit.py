"""Kernels are plain Python: without the compiler they run unchanged and give the same run."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import onlineboost
from onlineboost._compile import jit as _jit

SCRIPT = """
import numpy as np
from helpers import in_blocks, mixed_stream
from onlineboost import AdaBoostOLM, HoeffdingTree

X, y, weight = mixed_stream(60, seed=1)
for loss in ("logistic", "exponential", "squared_hinge"):
    tree = HoeffdingTree(grace_period=8, tie_threshold=0.5, max_features=0.5)
    clf = AdaBoostOLM(3, loss=loss, learner=tree, weight_scale=3.0)
    print(in_blocks(clf, X, y, 20, weight), np.round(clf.alphas_, 9).tolist(), clf.predict(X[:10]).tolist())
    print(len(clf._model.chain.segments[0].forest.nodes), clf._model.chain.segments[0].forest.used.tolist())
"""


def run_script(**environment):
    """Standard output of SCRIPT in a fresh interpreter where warnings are errors."""
    paths = [str(Path(__file__).parent), str(Path(onlineboost.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", SCRIPT],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def test_without_the_compiler_the_run_is_the_same():
    assert run_script(NUMBA_DISABLE_JIT="1") == run_script()


def test_the_cache_folder_is_named_after_the_sources():
    """An edit in one module makes all kernels anew: Numba by itself looks at one file only."""
    assert _jit.source_hash() in str(_jit.CACHE_DIR)
    assert len(_jit.source_hash()) == 12


def test_kernels_without_reference_counts_call_no_array_methods():
    """They compile only if something else compiled the method before: a fresh process would fail."""
    bare = {"bare_kernel", "inlined_kernel", "fused_kernel", "summing_kernel"}
    types = {"int32", "int64", "uint64", "float64"}
    for path in Path(onlineboost.__file__).parent.glob("*.py"):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and bare & {ast.unparse(d) for d in function.decorator_list}:
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                for call in calls:
                    if isinstance(call, ast.Attribute):
                        allowed = ast.unparse(call.value) == "math" or call.attr in types
                        assert allowed, f"{path.name}: {function.name} calls {ast.unparse(call)}"
