"""All that the package uses of Numba and llvmlite and that they do not promise to keep.

`numba` itself and `numba.extending` are documented, and any module may import them. What is private there, and all of
`numba.core` and llvmlite, is here and nowhere else: where a new version of Numba breaks something, it breaks it here.
What speed alone depends on is left out if Numba lacks it (`known`). If anything else is gone, the error names the
versions that were tried (`make matrix`).
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import numba
from numba import njit

from onlineboost._compile.system import Interrupt

SUPPORTED = "numba>=0.61,<0.69"  # as in pyproject.toml


def unsupported(what: object) -> ImportError:
    """The error for something that this version of Numba lacks."""
    text = f"onlineboost does not work with Numba {numba.__version__}, which has changed inside ({what})"
    return ImportError(f"{text}: pip install '{SUPPORTED}'")


try:
    import llvmlite
    from llvmlite import binding as llvm
    from llvmlite import ir as ir  # instructions that Numba has no function for: `fastmath`, `handle`
    from numba.core import cgutils as cgutils  # parts of arrays and tuples in such instructions: `fastmath`, `handle`
    from numba.core import config as _config
    from numba.core.caching import FunctionCache
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler import CompileResult
    from numba.core.compiler_lock import global_compiler_lock as global_compiler_lock  # a fork waits for it: `jit`
    from numba.core.cpu import CPUTargetOptions
    from numba.core.environment import lookup_environment
    from numba.core.errors import NumbaError as NumbaError  # a kernel does not compile: `chain/model.py` says which
    from numba.core.imputils import impl_ret_borrowed as impl_ret_borrowed  # of an attribute of a handle: `handle`
    from numba.core.registry import CPUDispatcher
    from numba.core.serialize import dumps
    from numba.core.typing.templates import AttributeTemplate as AttributeTemplate  # of a handle: `handle`

    for _owner, _names in (
        (CompileResult, ("_rebuild", "_reduce", "codegen", "entry_point", "library", "lifted")),
        (FunctionCache, ("_index_key",)),
        (JITCodeLibrary, ("_optimize_functions", "_get_module_for_linking", "_finalize_final_module")),
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


@cache
def _defaults(kind: Any) -> dict[str, Any]:
    return {name: option.default for name, option in kind.options.items()}


def _all_options(options: Any) -> dict[str, Any]:
    """`TargetConfig.values`, by one step instead of a call for each of its thirty options."""
    return _defaults(options.__class__) | options._values


@contextmanager
def _options_read_at_once() -> Iterator[None]:
    """Numba compares the options of two kernels whenever it looks one up: that took a tenth of the time to compile.

    Numba's own way is back at the end. In a version where this would say something else, it stays all the time.
    """
    kind: Any = None
    try:
        from numba.core.compiler import Flags
        from numba.core.targetconfig import TargetConfig

        flags: Any = Flags()
        flags.nrt = True
        if _all_options(flags) == flags.values():
            kind = TargetConfig
    except (ImportError, AttributeError, TypeError):
        pass  # it takes longer
    values = getattr(kind, "values", None)
    if kind is not None:
        kind.values = _all_options
    try:
        yield
    finally:
        if kind is not None:
            kind.values = values


def _with_room(call: Callable[..., Any], *args: Any) -> Any:
    """call(*args) with room for the frames of all calls within, 0.5 MB.

    Python keeps frames in pieces of 16 kB, and takes one from the system and gives it back with every call that crosses
    the end of another: half of all page faults. A frame as large as this one comes with a piece of 1 MB.
    """
    return call(*args)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=70_000)

V3 = set("avx avx2 bmi bmi2 cx16 f16c fma lzcnt movbe popcnt sahf sse3 sse4.1 sse4.2 ssse3 xsave".split())  # noqa: SIM905
LEVELS = {  # the processors that all kernels are compiled for, where this one has these instruction sets
    "x86_64": ("x86-64-v3", V3),
    "aarch64": ("generic", set[str]()),
    "arm64": ("apple-m1", set[str]()),
}


@cache
def processor() -> tuple[str, str, str] | None:
    """What kernels are compiled for: system, processor and instruction sets beyond its own. None: as Numba decides.

    Sums are added up in as many parts as a vector has places, so code for wider vectors rounds in another way. Code for
    a level that most processors have gives the same bits on all of them, and takes less time to compile.
    """
    triple = llvm.get_process_triple()
    level, needed = LEVELS.get(triple.partition("-")[0], ("", V3))
    if config.CPU_NAME is not None or not level:
        return None
    if config.CPU_FEATURES is None:
        has = {name for name, there in llvm.get_host_cpu_features().items() if there}
    else:
        has = {name[1:] for name in config.CPU_FEATURES.split(",") if name.startswith("+")}
    return (triple, level, "") if has >= needed else None


@cache
def _machine(codegen: Any) -> Any:
    """What makes machine code for `processor`."""
    if not (made_for := processor()):
        return codegen._tm
    options: dict[str, Any] = {"opt": config.OPT}
    codegen._customize_tm_options(options)
    options |= {"cpu": made_for[1], "features": made_for[2]}
    return llvm.Target.from_triple(made_for[0]).create_target_machine(**options)


class LateLibrary(JITCodeLibrary):
    """A kernel with all that it calls, which is optimised and made machine code of as a whole, once it is called.

    Numba does both for every function by itself, then links it to its callers and does both again for those: that took
    twice as long. Here a function waits as it is until one is called from outside: by Python, or by a kernel that is
    none of ours.
    """

    @property
    def codegen(self) -> Any:
        return self._codegen if self._finalized else self

    def set_env(self, name: str, env: Any) -> None:
        """There is no code yet that could use it: `finalize` sets it."""

    def _optimize_functions(self, ll_module: Any) -> None:
        """Not one by one."""
        ll_module.data_layout = self._codegen._data_layout

    def add_linking_library(self, library: Any) -> None:
        if not isinstance(library, LateLibrary):
            library._ensure_finalized()
        self._linking_libraries.append(library)

    def get_pointer_to_function(self, name: str) -> int:
        if not self._finalized and not any(function.name == name for function in self.get_defined_functions()):
            return 0  # nothing for Python to call
        address: int = super().get_pointer_to_function(name)
        return address

    def _get_module_for_linking(self) -> Any:
        """A module that others can have as their part: as it is, if no machine code of it was asked for yet."""
        finalized, self._finalized = self._finalized, True
        try:
            return super()._get_module_for_linking()
        finally:
            self._finalized = finalized

    def finalize(self) -> None:
        """Link, optimise and compile."""
        self._codegen._check_llvm_bugs()
        self._raise_if_finalized()
        parts, waiting = {self: None}, list(self._linking_libraries)
        while waiting:
            if (library := waiting.pop()) not in parts:
                parts[library] = None
                if hasattr(self, "_reload_init"):  # Numba 0.61 has none
                    self._reload_init.update(library._reload_init)
                self._final_module.link_in(library._get_module_for_linking(), preserve=True)
                if not library._finalized:
                    waiting += library._linking_libraries
        self._shared_module = None
        self._optimize_final_module()
        self._final_module.verify()
        if self._object_caching_enabled:
            code = self._codegen._tm.emit_object(self._final_module)
            self._set_compiled_object(code)  # taken instead of compiling,
            self._finalize_final_module()
            self._compiled_object = code  # and kept on disk
        else:
            self._finalize_final_module()
        for variable in self._final_module.global_variables:
            if (env := lookup_environment(variable.name)) is not None:
                codegen: Any = self._codegen
                codegen.set_env(variable.name, env)


_held: list[Interrupt] = []  # of the entry kernels that are being compiled
_made_here = [0]  # kernels that were compiled, or loaded


def _counted(kernel: Any, compile: Callable[[Any], Any], sig: Any) -> Any:
    before = len(kernel.overloads)
    try:
        return compile(sig)
    finally:
        _made_here[0] += len(kernel.overloads) - before


def kernels_made() -> int:
    """How many kernels this process has compiled or loaded so far."""
    return _made_here[0]


class EntryKernel(CPUDispatcher):
    """A kernel that Python calls: it is compiled by `LateLibrary`, for `processor`.

    What handlers of signals raise waits until the compiler comes to the next kernel. Anywhere else it could strike
    between two steps of llvmlite, of which the first has given a module away and the second says so: it would be freed
    twice.
    """

    def compile(self, sig: Any) -> Any:
        context: Any = self.targetctx
        with Interrupt() as interrupt, global_compiler_lock:  # nothing strikes while it takes the lock
            codegen, collects = context.codegen(), gc.isenabled()
            library, machine = codegen._library_class, codegen._tm
            _held.append(interrupt)
            try:
                gc.disable()  # to go through all that the compiler makes, again and again, took a tenth of the time
                codegen._library_class, codegen._tm = LateLibrary, _machine(codegen)
                with _options_read_at_once():
                    return _with_room(_counted, self, super().compile, sig)
            finally:
                _held.remove(interrupt)
                if collects:
                    gc.enable()
                codegen._library_class, codegen._tm = library, machine


class InnerKernel(CPUDispatcher):
    """A kernel for other kernels to call: it is compiled without what Python needs to call it, which takes time.

    If Python calls it all the same, as tests do, it is compiled once more with that. (Numba itself would crash.)
    """

    _entry: Any = None

    def compile(self, sig: Any) -> Any:
        for interrupt in _held:
            with interrupt.let_through():
                pass
        return _counted(self, super().compile, sig)

    def __call__(self, *args: Any) -> Any:
        if self._entry is None:
            dropped = ("no_cpython_wrapper", "nopython")
            options = {name: value for name, value in self.targetoptions.items() if name not in dropped}
            self._entry = make_entry(njit(**options)(self.py_func))
        return self._entry(*args)


def make_inner(kernel: Any) -> Any:
    """Turn what `njit` has made into an inner kernel."""
    return _made(kernel, InnerKernel)


def make_entry(kernel: Any) -> Any:
    """Turn what `njit` has made into a kernel that Python calls."""
    return _made(kernel, EntryKernel)


def _made(kernel: Any, kind: type) -> Any:
    if type(kernel) is not CPUDispatcher:
        raise unsupported(f"njit makes {type(kernel).__name__}")
    kernel.__class__ = kind
    return kernel


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
        types, made_for, code = self._index_key(sig, codegen)
        return types, processor() or made_for, code

    def pack(self, sig: Any, compiled: Any) -> tuple[Any, bytes] | None:
        """The key of what was compiled, and both as bytes. None: there are addresses of this process in it."""
        if compiled.lifted or compiled.library.has_dynamic_globals:
            return None
        key = self.key_of(sig, compiled.codegen)
        compiled = compiled._replace(type_annotation="")  # a listing for people, with the paths of sources
        return key, dumps((key, compiled._reduce()))

    def unpack(self, target_context: Any, payload: Any) -> Any:
        """Machine code that can be called, of what `pack` made."""
        return CompileResult._rebuild(target_context, *payload)
