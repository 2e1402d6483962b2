"""What follows from the schema of a state (`contracts.schema`), for all states: nothing else walks over their fields.

Copies, with more room or less (`copied`, `resized`, `cut`); parts along an axis, and several as one (`between`,
`joined`); bytes (`nbytes`, `bytes_with`); a new one, or one from a file (`made`); after a pickle (`loaded`); what is
wrong with one (`check`); and every bit of it (`bits`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from types import NoneType
from typing import Any, TypeVar

import numpy as np

from onlineboost.contracts.schema import LARGEST, WHOLE, Field, Leaf, is_state, leaves, schema

State = TypeVar("State")
NUMBERS = int, float, NoneType  # and truth values: what else a leaf holds, mostly


class StateError(ValueError):
    """A state that no learning leads to."""


# ----------------------------------------------------------------------------------------------------------- one walk


@cache
def _getter(kind: type) -> Callable[[Any], Any]:
    paths = [leaf.path for leaf in leaves(kind)]
    return attrgetter(*paths) if len(paths) > 1 else lambda state: [attrgetter(path)(state) for path in paths]


def values(state: Any) -> Iterable[tuple[Leaf, Any]]:
    """All leaves, and what they hold."""
    kind: Any = type(state)
    return zip(leaves(kind), _getter(kind)(state), strict=True)


@cache
def _plan(kind: type) -> tuple[tuple[str, Any], ...]:
    """The fields that are not shared, each with the class of the state that it holds, if it does."""
    return tuple((name, field.state) for name, field in schema(kind).items() if not field.shared)


def _rebuilt(kind: type, own: Iterator[Any], old: Any = None) -> Any:
    """A state of these leaves; with what is shared of the old one."""
    new = {
        name: next(own) if state is None else _rebuilt(state, own, old and getattr(old, name))
        for name, state in _plan(kind)
    }
    if old is None:
        return kind(**new)
    return old._replace(**new) if hasattr(old, "_replace") else replace(old, **new)


def mapped(state: State, change: Callable[[Leaf, np.ndarray], np.ndarray]) -> State:
    """The same state with another array in place of each."""

    def new(leaf: Leaf, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return change(leaf, value)
        return value if isinstance(value, NUMBERS) or not is_state(type(value)) else mapped(value, change)

    made: State = _rebuilt(type(state), iter([new(leaf, value) for leaf, value in values(state)]), state)
    return made


def copied(state: State) -> State:
    """A copy that has no array in common with it, but for what is shared."""
    return mapped(state, lambda leaf, value: value.copy())


def resized(state: State, sizes: Mapping[str, int]) -> State:
    """A copy with exactly so much along these axes. What is new is 0."""

    def fit(leaf: Leaf, value: np.ndarray) -> np.ndarray:
        shape = leaf.field.shape(sizes, value.shape)
        if shape == value.shape:
            return value.copy()
        out = np.zeros(shape, value.dtype)
        both = tuple(slice(min(a, b)) for a, b in zip(shape, value.shape, strict=True))
        out[both] = value[both]
        return out

    return mapped(state, fit)


def cut(state: State, sizes: Mapping[str, int]) -> State:
    """The first ones along these axes, in the same arrays."""
    return mapped(state, lambda leaf, value: value[tuple(map(slice, leaf.field.shape(sizes, value.shape)))])


def between(state: State, axis: str, start: int, stop: int) -> State:
    """Entries start, ..., stop - 1 along this axis, as copies; arrays that do not have it are the same."""

    def some(leaf: Leaf, value: np.ndarray) -> np.ndarray:
        at = leaf.field.place(axis)
        return value if at is None else value[(*[slice(None)] * at, slice(start, stop))].copy()

    return mapped(state, some)


def joined(states: Sequence[State], *axes: str) -> State:
    """One state of several, one after the other along these axes; what has none of them is that of the first."""

    def one(leaf: Leaf, *parts: Any) -> Any:
        places = [leaf.field.place(axis) for axis in axes] if isinstance(parts[0], np.ndarray) else []
        return next((np.concatenate(parts, axis=at) for at in places if at is not None), parts[0])

    kind: Any = type(states[0])
    made: State = _rebuilt(kind, map(one, leaves(kind), *map(_getter(kind), states)), states[0])
    return made


def along(state: Any, axis: str) -> dict[str, np.ndarray]:
    """The arrays that have this axis first, by name."""
    kind: Any = type(state)
    own = ((name, getattr(state, name)) for name in _along(kind, axis))
    return {name: value for name, value in own if value is not None}


@cache
def _along(kind: Any, axis: str) -> list[str]:
    return [name for name, field in schema(kind).items() if field.place(axis) == 0]


@cache
def _first(kind: type) -> dict[str, tuple[Callable[[Any], np.ndarray], int]]:
    """For each axis, an array that has it, and where."""
    found: dict[str, tuple[Callable[[Any], np.ndarray], int]] = {}
    for leaf in leaves(kind):
        for at, axis in enumerate(leaf.field.axes or ()):
            if isinstance(axis, str):
                found.setdefault(axis, (attrgetter(leaf.path), at))
    return found


def sizes_of(state: Any, axes: Iterable[str]) -> dict[str, int]:
    """How much there is along those of these axes that the state has."""
    kind: Any = type(state)
    known = _first(kind)
    return {axis: known[axis][0](state).shape[known[axis][1]] for axis in axes if axis in known}


# ----------------------------------------------------------------------------------------------------------- bytes


def nbytes(group: Any) -> int:
    """Bytes of all arrays in a NamedTuple, or of one array."""
    if isinstance(group, tuple):
        return sum(map(nbytes, group))
    return int(group.nbytes) if isinstance(group, np.ndarray) else 0


def bytes_with(state: Any, sizes: Mapping[str, int]) -> int:
    """Bytes of all arrays with so much along these axes."""
    own = ((leaf.field, value) for leaf, value in values(state) if isinstance(value, np.ndarray))
    return sum(math.prod(field.shape(sizes, value.shape)) * value.itemsize for field, value in own)


def bits(state: Any) -> dict[str, Any]:
    """Every bit that there is, by name: two states are equal if these are."""

    def seen(value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return value.dtype.str, value.shape, value.tobytes()
        return bits(value) if is_state(type(value)) else value

    return {leaf.name: seen(value) for leaf, value in values(state)}


# -------------------------------------------------------------------------------------------------- to and from others


def restore(target: Any, state: Mapping[str, Any]) -> None:
    """Give an object the state that was pickled, its arrays `loaded`."""
    for name, value in state.items():
        setattr(target, name, loaded(value))


def loaded(group: Any) -> Any:
    """An array that was unpickled, or the arrays of a named tuple, as they were before.

    Their types are objects of their own then, which would be pickled with each array; and joblib hands large arrays to
    its workers as files that can only be read.
    """
    if isinstance(group, tuple) and hasattr(group, "_fields"):
        return type(group)(*map(loaded, group))
    if not isinstance(group, np.ndarray):
        return group
    return np.asarray(group if group.flags.writeable else group.copy()).view(np.dtype(group.dtype.str))


class Restored:
    """An object whose arrays are as they were when it has been unpickled."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore(self, state)


def made(kind: type, sizes: Mapping[str, int], given: Mapping[str, Any]) -> Any:
    """A state of what is given, by names in files, arrays as bytes; what is not has its default.

    Nothing is made of a size before the bytes that there should be are known to be there.
    """
    known = {name: value for name, value in given.items() if value is not None}
    for leaf in leaves(kind):
        if leaf.field.is_array and leaf.name in known:
            known[leaf.name] = _typed(leaf.name, leaf.field, known[leaf.name], sizes)
    own = (known[leaf.name] if leaf.name in known else leaf.field.new(sizes) for leaf in leaves(kind))
    return _rebuilt(kind, own)


def _typed(name: str, field: Field, data: np.ndarray, sizes: Mapping[str, int]) -> np.ndarray:
    """Bytes as numbers of the right type, in the right shape."""
    assert field.dtype is not None
    shapes = [field.shape(sizes), *field.older_shapes(sizes)]
    shape = next((one for one in shapes if data.size == math.prod(one) * field.dtype.itemsize), None)
    require(data.dtype == np.uint8 and shape is not None, f"the size of {name}")
    require(field.dtype.kind != "b" or data.max(initial=0) <= 1, name)
    return up_to_date(field, data.reshape(-1).view(field.dtype).reshape(shape))


def up_to_date(field: Field, value: np.ndarray) -> np.ndarray:
    """An array as it is now, where it was shorter in an older version."""
    sizes = {axis: size for axis, size in zip(field.axes or (), value.shape, strict=False) if isinstance(axis, str)}
    if value.shape not in field.older_shapes(sizes):
        return value
    out: np.ndarray = field.new(sizes)
    out[tuple(map(slice, value.shape))] = value
    return out


# ----------------------------------------------------------------------------------------------------------- checks


def require(good: Any, what: str) -> None:
    if not good:
        raise StateError(f"corrupt model: {what}")


def check(state: Any, sizes: Mapping[str, int] | None = None, name: str = "") -> dict[str, int]:
    """Whether all is as the schema says, where there is so much of these; how much there is along all axes."""
    every, known = list(values(state)), {} if sizes is None else dict(sizes)
    return check_fields([(f"{name}{leaf.name}", leaf.field, value) for leaf, value in every], known)


def check_fields(every: Iterable[tuple[str, Field, Any]], sizes: dict[str, int]) -> dict[str, int]:
    """The same for any fields: their names, what they should hold, and what they do. Sizes are added to those known."""
    every = [(name, field, value) for name, field, value in every if not (field.optional and value is None)]
    for name, field, value in every:
        if field.is_array:
            _check_shape(name, field, value, sizes)
    for name, field, value in every:
        if field.is_array and value.size and value.dtype.names is None and not field.anything:
            _check_numbers(name, field, value, sizes)
        elif set(field.kinds) <= {int, float, bool}:
            _check_number(name, field, value, sizes)
    return sizes


def _check_shape(name: str, field: Field, value: Any, sizes: dict[str, int]) -> None:
    axes = ("learners",) if field.axes is None else field.axes
    typed = isinstance(value, np.ndarray) and (field.dtype is None or field.dtype == value.dtype)
    if not typed or (field.dtype is not None and value.ndim != len(axes)):
        raise StateError(f"{name} is not an array {field.told({})}")
    for axis, size in zip(axes, value.shape, strict=False):
        if size != (axis if isinstance(axis, int) else sizes.setdefault(axis, size)):
            raise StateError(f"{name} has the shape {value.shape}, which does not fit the rest")


def _check_numbers(name: str, field: Field, value: np.ndarray, sizes: Mapping[str, int]) -> None:
    if field.missing:
        value = value[~np.isnan(value)]
    if value.dtype.kind == "f" or field.below or (field.low, field.high) != (-LARGEST, LARGEST):
        low, high = field.low, sizes[field.high] if isinstance(field.high, str) else field.high
        low, high = (0, max(sizes[field.below], 1) - 1) if field.below else (low, high)
        good = not value.size or (low <= value.min().item() and value.max().item() <= high)
        require(good, f"{name}: a number is out of range, infinite or none")  # nothing is above or below NaN


def _check_number(name: str, field: Field, value: Any, sizes: Mapping[str, int]) -> None:
    kind = field.kinds[0]
    whole_one = kind is not int or -WHOLE <= value < WHOLE if type(value) is kind else False
    high = sizes[field.high] if isinstance(field.high, str) else field.high
    if not (whole_one and (kind is bool or field.low <= value <= high)):
        raise StateError(f"{name} is {value!r}, where {field.told({})} should be")
    require(not field.size or value == sizes.get(field.size), f"{name} is {value!r}")
