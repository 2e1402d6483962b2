"""All that the package uses of Numba and llvmlite and that they do not promise to keep.

`numba` itself and `numba.extending` are documented, and any module may import them. What is private there, and all of
`numba.core` and llvmlite, is here and nowhere else: where a new version of Numba breaks something, it breaks it here.
What speed alone depends on is left out if Numba lacks it (`known`). If anything else is gone, the error names the
versions that were tried (`make matrix`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import njit

SUPPORTED = "numba>=0.61,<0.69"  # as in pyproject.toml


def unsupported(what: object) -> ImportError:
    """The error for something that this version of Numba lacks."""
    text = f"onlineboost does not work with Numba {numba.__version__}, which has changed inside ({what})"
    return ImportError(f"{text}: pip install '{SUPPORTED}'")


try:
    import llvmlite
    from llvmlite import ir as ir  # instructions that Numba has no function for: `fastmath`, `handle`
    from numba.core import cgutils as cgutils  # parts of arrays and tuples in such instructions: `fastmath`, `handle`
    from numba.core import config as _config
    from numba.core.caching import FunctionCache
    from numba.core.compiler import CompileResult
    from numba.core.compiler_lock import global_compiler_lock as global_compiler_lock  # a fork waits for it: `jit`
    from numba.core.cpu import CPUTargetOptions
    from numba.core.errors import NumbaError as NumbaError  # a kernel does not compile: `chain/model.py` says which
    from numba.core.imputils import impl_ret_borrowed as impl_ret_borrowed  # of an attribute of a handle: `handle`
    from numba.core.registry import CPUDispatcher
    from numba.core.serialize import dumps
    from numba.core.typing.templates import AttributeTemplate as AttributeTemplate  # of a handle: `handle`

    for _owner, _names in (
        (CompileResult, ("_rebuild", "_reduce", "codegen", "entry_point", "library", "lifted")),
        (FunctionCache, ("_index_key",)),
        (_config, ("DISABLE_JIT",)),
    ):
        for _name in _names:
            getattr(_owner, _name)
except (ImportError, AttributeError) as error:
    raise unsupported(error) from error

config: Any = _config  # DISABLE_JIT and BOUNDSCHECK, by which machine code differs; its attributes are made at run time
VERSIONS = (numba.__version__, llvmlite.__version__)  # machine code of one is none for another


def known(**options: Any) -> dict[str, Any]:
    """Those of these options that this Numba has: without the others kernels are slower, or take longer to compile.

    `_nrt=False`: references are not counted. `forceinline`: LLVM builds the kernel into its callers.
    `no_cpython_wrapper`, `no_cfunc_wrapper`: nothing is made that only Python or C would call.
    """
    return {name: value for name, value in options.items() if hasattr(CPUTargetOptions, name)}


class InnerKernel(CPUDispatcher):
    """A kernel for other kernels to call: it is compiled without what Python needs to call it, which takes time.

    If Python calls it all the same, as tests do, it is compiled once more with that. (Numba itself would crash.)
    """

    _entry: Any = None

    def __call__(self, *args: Any) -> Any:
        if self._entry is None:
            dropped = ("no_cpython_wrapper", "nopython")
            options = {name: value for name, value in self.targetoptions.items() if name not in dropped}
            self._entry = njit(**options)(self.py_func)
        return self._entry(*args)


def make_inner(kernel: Any) -> None:
    """Turn what `njit` has made into an inner kernel."""
    if type(kernel) is not CPUDispatcher:
        raise unsupported(f"njit makes {type(kernel).__name__}")
    kernel.__class__ = InnerKernel


def keep_in(kernel: Any, cache: MachineCode) -> None:
    """Have Numba ask this cache before it compiles the kernel, and hand over what it has compiled."""
    if not hasattr(kernel, "_cache"):
        raise unsupported("a kernel has no _cache")
    kernel._cache = cache


def entry_point(kernel: Any, signature: tuple[Any, ...]) -> Any:
    """The machine code for these types, compiled or loaded now: to call it saves Numba's choice in every call."""
    kernel.compile(signature)
    try:
        return kernel.overloads[signature].entry_point
    except (AttributeError, KeyError) as error:
        raise unsupported(f"overloads: {error}") from error


class MachineCode(FunctionCache):
    """The cache of one kernel, as Numba calls it; `kept` derives from it and says where and how things are kept."""

    def __init__(self, function: Callable[..., Any], folder: str) -> None:
        self._py_func = function
        self._cache_path = folder
        self._enabled = True

    def key_of(self, sig: Any, codegen: Any) -> Any:
        """What the machine code depends on: types, processor, the function's own code and what it closes over."""
        return self._index_key(sig, codegen)

    def pack(self, sig: Any, compiled: Any) -> tuple[Any, bytes] | None:
        """The key of what was compiled, and both as bytes. None: there are addresses of this process in it."""
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return None
        key = self.key_of(sig, compiled.codegen)
        return key, dumps((key, compiled._reduce()))

    def unpack(self, target_context: Any, payload: Any) -> Any:
        """Machine code that can be called, of what `pack` made."""
        return CompileResult._rebuild(target_context, *payload)
