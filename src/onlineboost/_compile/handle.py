"""State that Python hands to kernels by one pointer.

To hand over a model as it is, Numba looks at some fifty arrays in every call: 5 to 10 us, which is more than a single
row takes otherwise. A *handle* is the same state written down once, as kernels see it: a kernel that takes a handle
reads it from there (`handle.parts`). It stays good for as long as the arrays are those it was made of; their contents
may change.

    handle = hold(parts)                       # parts: a NamedTuple of arrays, numbers and NamedTuples
    compiled(loop, handle, 0, 0)(handle, 0, 0)

Numba would choose the machine code anew in every call too, so `compiled` does that once for every type of state.
Without the JIT a handle is an object that has `parts`, and kernels are called as they are.
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import (
    NativeValue,
    infer_getattr,
    intrinsic,
    lower_getattr,
    models,
    register_model,
    typeof_impl,
    unbox,
)

from onlineboost._compile.jit import entry_kernel, unkept_kernel
from onlineboost._compile.numba_internals import (
    AttributeTemplate,
    cgutils,
    config,
    entry_point,
    impl_ret_borrowed,
    ir,
)

ROOM = 8192  # bytes for the state; more are taken if it needs more


class Handle:
    """State written down for kernels. Python never looks into `memory`, but keeps it and the arrays alive."""

    __slots__ = ("address", "kind", "memory", "parts")

    def __init__(self, parts: Any, memory: np.ndarray, kind: int) -> None:
        self.parts = parts
        self.memory = memory
        self.address = memory.__array_interface__["data"][0]  # `memory.ctypes.data` takes 5 us
        self.kind = kind  # a number for its type


class Unwritten(NamedTuple):
    """A handle without the JIT."""

    parts: Any


class HandleType(types.Type):
    """A handle's type: that of what it holds."""

    def __init__(self, parts: Any) -> None:
        self.parts = parts
        super().__init__(f"Handle({parts})")


register_model(HandleType)(models.OpaqueModel)  # a pointer
_types: dict[int, HandleType] = {}  # by number, those met in this process
_chosen: dict[tuple[Any, int], Any] = {}  # machine code by kernel and number of the type


@unbox(HandleType)
def _unbox(kind: HandleType, handle: Any, c: Any) -> NativeValue:
    address = c.pyapi.object_getattr_string(handle, "address")
    pointer = c.pyapi.long_as_voidptr(address)
    c.pyapi.decref(address)
    return NativeValue(pointer)


@infer_getattr
class _Attributes(AttributeTemplate):
    key = HandleType

    def resolve_parts(self, handle: HandleType) -> Any:
        return handle.parts


@lower_getattr(HandleType, "parts")
def _parts(context: Any, builder: Any, kind: HandleType, pointer: Any) -> Any:
    written = builder.bitcast(pointer, context.get_value_type(kind.parts).as_pointer())
    return impl_ret_borrowed(context, builder, kind.parts, builder.load(written, align=8))


@intrinsic
def _write(typing_context: Any, parts: Any, memory: Any) -> Any:
    """Write `parts` down, and return the number of their type; if there is not enough room, -1 - (bytes needed)."""
    number = int.from_bytes(hashlib.sha256(str(parts).encode()).digest()[:7], "big")

    def write(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        value = _borrowed(context, builder, parts, arguments[0])
        array = context.make_array(memory)(context, builder, arguments[1])
        size = context.get_constant(types.int64, context.get_abi_sizeof(value.type))
        fits = builder.icmp_signed(">=", array.nitems, size)
        with builder.if_then(fits):
            builder.store(value, builder.bitcast(array.data, value.type.as_pointer()), align=8)
        return builder.select(fits, ir.Constant(size.type, number), builder.not_(size))

    return types.int64(parts, memory), write


def _borrowed(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """The value with arrays that say nothing of who counts their references: those who count would find nobody."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo = cgutils.get_null_value(array.meminfo.type)
        return array._getvalue()
    if isinstance(kind, types.BaseTuple):
        kinds: Any = kind
        parts = cgutils.unpack_tuple(builder, value, len(kinds))
        parts = [_borrowed(context, builder, part, one) for part, one in zip(kinds, parts, strict=True)]
        return context.make_tuple(builder, kind, parts)
    return value


def _written(parts, memory):  # type: ignore[no-untyped-def]
    return _write(parts, memory)  # type: ignore[call-arg]


written, written_foreign = entry_kernel(_written), unkept_kernel(_written)


def hold(parts: Any, *, foreign: bool = False) -> Any:
    """A handle of this state. `foreign`: there are types of another package in it, so nothing is kept on disk."""
    if config.DISABLE_JIT:
        return Unwritten(parts)
    write = written_foreign if foreign else written
    memory = np.empty(ROOM, np.uint8)
    kind = write(parts, memory)
    if kind < 0:
        memory = np.empty(-kind - 1, np.uint8)
        kind = write(parts, memory)
    return Handle(parts, memory, kind)


def compiled(kernel: Any, handle: Any, *args: Any) -> Any:
    """The machine code of a kernel for handles of this type and such numbers: called with a handle and numbers."""
    if isinstance(handle, Unwritten):
        return kernel
    chosen = _chosen.get((kernel, handle.kind))
    if chosen is None:
        if handle.kind not in _types:
            _types[handle.kind] = HandleType(typeof_impl(handle.parts, None))
        signature = (_types[handle.kind], *(types.int64 for _ in args))
        chosen = _chosen[kernel, handle.kind] = entry_point(kernel, signature)
    return chosen
