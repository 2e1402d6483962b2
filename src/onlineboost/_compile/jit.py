"""How kernels are compiled and where their machine code is kept.

Numba's disk cache looks only at the file a kernel stands in: edit ``losses.py`` and a kernel of ``chain.py``
that inlined it goes on running the old code. So the cache folder is named after a hash of all our sources.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, Literal, TypeVar

from numba import njit
from numba.core import config as _config
from numba.core.cpu import CPUTargetOptions

from onlineboost._compile.folders import cache_folder

config: Any = _config  # its attributes are made at run time
CAN_STOP_COUNTING = hasattr(CPUTargetOptions, "_nrt")  # Numba does not promise this option; without it all is slower
F = TypeVar("F", bound=Callable[..., Any])


ROOT = Path(__file__).parents[1]  # of the package


def source_hash(packages: Collection[str] = ()) -> str:
    """A hash of the sources of these sub-packages; of all if none is named."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if not packages or name.partition("/")[0] in packages:
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


CACHE_DIR = cache_folder() / f"kernels-{source_hash()}"
try:
    CACHE_DIR.mkdir(parents=True, exist_ok=True)
    _usable = os.access(CACHE_DIR, os.W_OK)
except OSError:
    _usable = False


def announce_compilation() -> None:
    """Say, once, that the coming call will take a while, unless machine code of exactly these sources is on disk."""
    global _announced
    if not _announced and not config.DISABLE_JIT and not (_usable and any(CACHE_DIR.rglob("*.nbc"))):
        logging.getLogger("onlineboost").warning("compiling for this machine, once after installation: about 20 s ...")
    _announced = True


_announced = False


def _compile(
    function: F,
    fastmath: set[str] | bool = False,
    inline: Literal["never", "always"] = "never",
    counted: bool = False,
    small: bool = False,
) -> F:
    options: dict[str, Any] = {
        "cache": True,
        "nogil": True,
        "error_model": "numpy",
        "fastmath": fastmath,
        "inline": inline,
        "forceinline": small,
    }
    before = config.CACHE_DIR
    if _usable and not before:  # a user's own NUMBA_CACHE_DIR goes first
        config.CACHE_DIR = str(CACHE_DIR)
    try:
        if CAN_STOP_COUNTING:
            options["_nrt"] = counted
        return njit(**options)(function)  # type: ignore[call-overload, no-any-return]
    finally:
        config.CACHE_DIR = before


def kernel(function: F) -> F:
    """Compile on first call, without the GIL, and keep the machine code on disk.

    ``error_model="numpy"``: a division by zero gives inf or nan as in NumPy, and loops with divisions vectorise.
    """
    return _compile(function, counted=True)


def bare_kernel(function: F) -> F:
    """A kernel that makes no arrays and counts no references.

    Numba counts the references to every array and to every slice of one, with atomic instructions: in a loop that
    takes a few slices per turn they were a third of the time. The caller holds all arrays while the kernel runs.
    """
    return _compile(function)


def small_kernel(function: F) -> F:
    """A bare kernel that always becomes part of its callers' machine code.

    Handing over an array means to write seven numbers to memory and read them back: as much as a short loop takes.
    """
    return _compile(function, small=True)


def fused_kernel(function: F) -> F:
    """A small kernel that may multiply and add in one step, rounding once instead of twice: faster polynomials."""
    return _compile(function, {"contract"}, small=True)


def summing_kernel(function: F) -> F:
    """A small kernel whose sums may be added up in any order, so that they vectorise.

    The order is fixed for one machine and one length, so a run is repeatable there; between kinds of processors the
    last bits may differ. Never a flag that assumes there is no NaN: NaN is data here (a missing value).
    """
    return _compile(function, {"reassoc", "contract"}, small=True)


def inlined_kernel(function: F) -> F:
    """A kernel that becomes part of its callers. A forest is some twenty arrays, and handing it over costs 0.1 us."""
    return _compile(function, inline="always")
