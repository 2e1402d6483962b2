"""A kernel of a contract is chosen by the type of its first argument: compiled, not compiled, and from the disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

import onlineboost
from onlineboost._compile.dispatch import Contract
from onlineboost._compile.jit import inlined_kernel
from onlineboost._compile.numba_internals import config
from onlineboost.boosters.mbbm import Mbbm
from onlineboost.boosters.olm import Olm
from onlineboost.boosters.oza import Oza
from onlineboost.boosters.plain import Plain
from onlineboost.chain.other_learners import External
from onlineboost.contracts.booster import BOOSTER
from onlineboost.contracts.learner import LEARNER
from onlineboost.theory.simulate import Told
from onlineboost.trees.learner import (
    BinaryTrees,
    Forest,  # with its kernels; trees.state has the type alone
)

# ------------------------------------------------------------------------------------------------- a contract to try
# Its loop is compiled without a disk cache: that knows an edit of the package's sources, but not of this file.

SHAPE = Contract("shape")


@SHAPE.kernel
def area(shape, i):
    """The area of shape i."""


@SHAPE.kernel
def grow(shape, i, factor):
    """Make shape i longer by a factor; returns its area before."""


@SHAPE.optional
def corners(shape, i):
    """How many corners shape i has."""
    return 4


class Squares(NamedTuple):
    side: np.ndarray


class Triangles(NamedTuple):
    base: np.ndarray
    height: float


class Points(NamedTuple):
    """No shape."""

    x: np.ndarray


def _square_area(shape, i):
    return shape.side[i] ** 2


def _square_grow(shape, i, factor):
    before = area(shape, i)  # a kernel of the contract in another one
    shape.side[i] *= factor
    return before


def _triangle_area(shape, i):
    return 0.5 * shape.base[i] * shape.height


def _triangle_grow(shape, i, factor):
    before = area(shape, i)
    shape.base[i] *= factor
    return before


def _three(shape, i):
    return 3


def named(name, function):
    function.__name__ = name
    return function


SHAPE.implement(Squares, named("area", _square_area), named("grow", _square_grow))  # plain functions, and the default
SHAPE.implement(
    Triangles,
    inlined_kernel(named("area", _triangle_area)),
    inlined_kernel(named("grow", _triangle_grow)),
    inlined_kernel(named("corners", _three)),
)


@njit
def measure(shape, n):
    """(areas before, areas after growing, corners), each summed: every kernel, `area` twice with a change between."""
    before = after = 0.0
    total = 0
    for i in range(n):
        first = area(shape, i)
        said = grow(shape, i, 2.0)
        before += first if first == said else -1e9
        after += area(shape, i)
        total += corners(shape, i)
    return before, after, total


FULL = SHAPE.each(area, counted=True)


@njit
def count_full(shapes, i):
    """How many of these shapes have an area."""
    return FULL(shapes, i)


def measured():
    """What `measure` says of squares and of triangles, and what a call from Python says."""
    squares, triangles = Squares(np.array([1.0, 3.0])), Triangles(np.array([2.0, 4.0, 6.0]), 5.0)
    direct = [float(area(squares, 1)), float(area(triangles, 1)), corners(squares, 0), corners(triangles, 0)]
    full = [count_full((squares, triangles, Triangles(np.zeros(2), 1.0)), 1)]
    return [list(measure(squares, 2)), list(measure(triangles, 3)), direct, full]


SQUARES, TRIANGLES, DIRECT, TWO_OF_THREE = [10.0, 40.0, 8], [30.0, 60.0, 9], [9.0, 10.0, 4, 3], [2]


def run(script, **environment):
    """What a script prints as JSON, in a fresh interpreter where warnings are errors."""
    paths = [str(Path(__file__).parent), str(Path(onlineboost.__file__).parents[1])]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", script],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


# ------------------------------------------------------------------------------------------------------- which kernel


def test_a_kernel_is_chosen_by_the_type_of_its_first_argument():
    """In one compiled loop for two types, with a default and without, from plain functions and from kernels."""
    assert measured() == [SQUARES, TRIANGLES, DIRECT, TWO_OF_THREE]
    if not config.DISABLE_JIT:
        assert len(measure.signatures) == 2  # one for each type, compiled once


def test_without_the_compiler_the_same_kernels_are_chosen():
    script = "import json, test_dispatch; print(json.dumps(test_dispatch.measured()))"
    assert run(script, NUMBA_DISABLE_JIT="1") == [SQUARES, TRIANGLES, DIRECT, TWO_OF_THREE]


def test_a_kernel_keeps_its_name_and_says_what_it_is_for():
    assert (area.__name__, area.__doc__) == ("area", "The area of shape i.")
    assert (corners.__name__, corners.__doc__) == ("corners", "How many corners shape i has.")


def test_a_type_that_implements_nothing_has_no_kernels_but_the_defaults():
    points = Points(np.zeros(2))
    assert corners(points, 0) == 4
    with pytest.raises(TypeError):
        area(points, 0)
    if not config.DISABLE_JIT:
        with pytest.raises(TypingError, match="area"):
            measure(points, 2)


# --------------------------------------------------------------------------------------------------- what is refused


def test_a_kernel_that_the_contract_does_not_know_is_named():
    def volume(shape, i):
        return 0.0

    with pytest.raises(TypeError, match=r"volume: not a kernel of a shape; there are area, grow, corners"):
        SHAPE.implement(Points, named("area", _three), named("grow", _three), volume)
    assert_nothing_is_left()


def test_kernels_that_a_type_lacks_are_named():
    with pytest.raises(TypeError, match=r"Points lacks area, grow of a shape; there are area, grow, corners"):
        SHAPE.implement(Points, named("corners", lambda shape, i: 0))
    assert_nothing_is_left()


def assert_nothing_is_left():
    """Of what was refused."""
    assert SHAPE.types == [Squares, Triangles]
    assert corners(Points(np.zeros(2)), 0) == 4


# ---------------------------------------------------------------------------------------- the contracts there are


def test_the_contracts_of_the_package_know_their_types():
    assert set(BOOSTER.types) >= {Olm, Mbbm, Oza, Plain}
    assert set(LEARNER.types) >= {Forest, BinaryTrees, External, Told}


TWICE = """
import json
import numpy as np
from onlineboost.boosters.oza import new_oza
from onlineboost.boosters.plain import Plain
from onlineboost.chain.loops import hold_pass, learn_kept, learning_loop, predict_kept, predicting_loop
from onlineboost.contracts.rows import Pass, new_rows, new_work
from onlineboost.theory.simulate import Told, draw_labels, draw_votes

y = draw_labels(50, 3)
told, weight, none = Told(draw_votes(y, 3, 4, 0.4)), np.ones(50), np.empty((50, 0))
votes = []
for booster in (Plain(0, 4, 0, np.ones(4)), new_oza(False, 0, 4)):
    for learning in (True, False):
        rows = new_rows(none, np.zeros(50, bool), none, 1, 3, 4, booster.new_notes(50, 3, weight))
        handle = hold_pass(Pass(told, booster, rows, y, weight, None, new_work(3)))
        if learning:
            learning_loop(handle)(handle, 0, 0, 1)
        else:
            predicting_loop(handle)(handle, 4, 0, 0, 1)
        votes.append(rows.s.tobytes().hex())
loops = [learn_kept.stats, predict_kept.stats]
print(json.dumps({
    "votes": votes,
    "hits": [sum(stats.cache_hits.values()) for stats in loops],
    "misses": [sum(stats.cache_misses.values()) for stats in loops],
}))
"""


@pytest.mark.slow
def test_compiled_loops_come_from_the_disk_in_a_second_process(tmp_path):
    """For every type that a loop has been compiled for, and with that type's kernels in it."""
    first, second = (
        run(TWICE, XDG_CACHE_HOME=str(tmp_path), NUMBA_CACHE_DIR="", NUMBA_DISABLE_JIT="0") for _ in range(2)
    )
    assert (first["hits"], first["misses"]) == ([0, 0], [2, 2])
    assert (second["hits"], second["misses"]) == ([2, 2], [0, 0])
    assert second["votes"] == first["votes"]
    learned, predicted = second["votes"][::2], second["votes"][1::2]
    assert len(set(learned)) == len(set(predicted)) == 2  # each booster has its own kernels
    assert not set(learned) & set(predicted)  # to learn is another loop than to predict
