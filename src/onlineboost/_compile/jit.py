"""How kernels are compiled. `cache` keeps their machine code."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import partial
from typing import Any, Literal, TypeVar

from numba import njit

from onlineboost._compile.cache import USABLE, WAY_OUT, WHY_NOT, KeptKernel, before_compiling
from onlineboost._compile.numba_internals import config, global_compiler_lock, keep_in, known, make_entry, make_inner
from onlineboost._compile.progress import Progress

F = TypeVar("F", bound=Callable[..., Any])

if hasattr(os, "register_at_fork"):  # a fork waits for a thread that compiles: in the child that would never end
    unlock = global_compiler_lock.release
    os.register_at_fork(before=global_compiler_lock.acquire, after_in_parent=unlock, after_in_child=unlock)


def announce_compilation(what: str, about: int = 0) -> None:
    """Should the coming call find that something has to be compiled, it says so, once, since that takes a while.

    In a terminal it shows how many of `about` kernels are done, until `done_compiling`. 0: not known, not shown.
    """
    if what not in _announced:
        before_compiling[:] = [partial(_announce, what, about)]


def done_compiling() -> None:
    before_compiling.clear()  # what is compiled later, by a rare setting, takes a moment
    while _shown:
        _shown.pop().stop()


def _announce(what: str, about: int = 0) -> None:
    _announced.add(what)
    log = logging.getLogger("onlineboost")
    if USABLE:
        log.warning("compiling what %s needs, once for this machine: 15 to 40 s the first time ...", what)
    else:
        text = "compiling %s in every process, 15 to 40 s, since machine code cannot be kept: %s; %s"
        log.warning(text, what, WHY_NOT, WAY_OUT)
    if about and log.isEnabledFor(logging.WARNING) and not log.filters:  # whoever filters this says it in another way
        _shown.append(Progress(about))


_announced: set[str] = set()
_shown: list[Progress] = []


def _compile(
    function: F,
    *,
    fastmath: set[str] | bool = False,
    inline: Literal["never", "always"] = "never",
    counted: bool = False,
    small: bool = False,
    entry: bool = False,
    kept: bool = True,
) -> F:
    if config.DISABLE_JIT:
        return function
    options: dict[str, Any] = {
        "nogil": True,
        "error_model": "numpy",
        "fastmath": fastmath,
        "inline": inline,
        # never handed over as a C function: saves a tenth of the time to compile
        **known(_nrt=counted, forceinline=small, no_cfunc_wrapper=True),
    }
    if not entry:
        options |= known(no_cpython_wrapper=True)
    made: Any = njit(**options)(function)  # type: ignore[call-overload]
    made = make_entry(made) if entry else make_inner(made)
    if entry and kept:
        keep_in(made, KeptKernel(function))
    return made  # type: ignore[no-any-return]


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, and keep the machine code on disk.

    ``error_model="numpy"``: a division by zero gives inf or nan as in NumPy, and loops with divisions vectorise.
    """
    return _compile(function, counted=True, entry=True)


def bare_kernel(function: F) -> F:
    """A kernel that makes no arrays and counts no references, for other kernels to call.

    Numba counts the references to every array and to every slice of one, with atomic instructions: in a loop that
    takes a few slices per turn they were a third of the time. The caller holds all arrays while the kernel runs.

    It becomes part of its callers' machine code and has none of its own on disk.
    """
    return _compile(function)


def entry_kernel(function: F) -> F:
    """A bare kernel that Python calls: its machine code is kept on disk."""
    return _compile(function, entry=True)


def unkept_kernel(function: F) -> F:
    """An entry kernel whose machine code is not kept, for types of other packages: their changes go unnoticed."""
    return _compile(function, entry=True, kept=False)


def small_kernel(function: F) -> F:
    """A bare kernel that is always inlined into its callers.

    Handing over an array means to write seven numbers to memory and read them back: as much as a short loop takes.
    """
    return _compile(function, small=True)


def fused_kernel(function: F) -> F:
    """A small kernel that may multiply and add in one step, rounding once instead of twice: faster polynomials."""
    return _compile(function, fastmath={"contract"}, small=True)


def summing_kernel(function: F) -> F:
    """A small kernel whose sums may be added up in any order, so that they vectorise.

    The order is fixed for one kind of processor (`numba_internals.processor`) and one length; between kinds the last
    bits may differ. Never a flag that assumes there is no NaN: NaN is data here (a missing value).
    """
    return _compile(function, fastmath={"reassoc", "contract"}, small=True)


def inlined_kernel(function: F) -> F:
    """A kernel that becomes part of its callers. A forest is some twenty arrays, and handing it over costs 0.1 us."""
    return _compile(function, inline="always")
