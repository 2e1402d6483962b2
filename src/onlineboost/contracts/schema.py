"""The schema of a state: what each of its fields holds, said once, where the field is. All else follows from it.

A state is a NamedTuple, or a dataclass, of arrays, numbers and other states:

    class Metric(NamedTuple):
        total: Moments                                               # a state
        by_class: Annotated[Moments, part(per="classes")]            # the same, with one more axis in front
        weight: Annotated[np.ndarray, f8("columns", low=0.0)]        # an array, its axes, the least number in it
        owner: Annotated[np.ndarray, i4("columns", below="nominal")] # indices of what there are `nominal` of
        kind: Annotated[int, whole(0, 3)]
        shown: Annotated[np.ndarray, i8("columns", since=2)]         # which older files do not have: it is 0 there

An axis is a number, or a name: what has the same name is as long. What follows from it is in `contracts.state`.

A field that is added to a state says `since` which version of the state it is there, and its `default`. Then files of
all versions before can be read (`files`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property, partial
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import numpy as np

Axis = str | int
LARGEST = float(np.finfo(np.float64).max)
LEAST = 5e-324  # above 0
WHOLE = 1 << 63  # whole numbers are from -WHOLE to WHOLE - 1


class Grown(int):
    """The length of an axis that was shorter in older versions: Grown(7, 8). What is new has the field's default."""

    before: tuple[int, ...]

    def __new__(cls, *lengths: int) -> Grown:
        self = super().__new__(cls, lengths[-1])
        self.before = lengths[:-1]
        return self


@dataclass(frozen=True)
class Field:
    """What a field of a state holds."""

    kinds: tuple[Any, ...] = ()  # int, float, bool, np.ndarray, Any (labels and settings), or classes of states
    many: bool = False  # a list of them
    optional: bool = False  # or None
    dtype: np.dtype | None = None  # of an array; None: any
    axes: tuple[Axis, ...] | None = None  # None: an entry for each learner of a booster, and any others
    low: float = -LARGEST
    high: float | str = LARGEST  # of whole numbers, this may be how many there are of something
    below: str = ""  # whole numbers are less than how many there are of this, or 0
    size: str = ""  # a number that is how many there are of this
    missing: bool = False  # whether NaN is allowed
    anything: bool = False  # whether all is: what it may hold is checked elsewhere
    since: int = 1  # version of the state that has it
    default: Any = 0  # of a state that is new, or of an older version; a function is given the shape
    saved: bool = True  # whether files have it; otherwise it follows from the rest
    shared: bool = False  # never copied: it does not change, or can be made again
    name: str = ""  # in files, where it is not that of the field; of a state "/": its fields are as if outside
    per: tuple[Axis, ...] = ()  # of a state: axes in front of those of its arrays,
    called: tuple[tuple[str, Axis], ...] = ()  # and other names, or numbers, for its own

    @cached_property
    def is_array(self) -> bool:
        return np.ndarray in self.kinds

    @cached_property
    def state(self) -> Any:
        """The class of the state that it holds, if it is always one."""
        one = len(self.kinds) == 1 and not (self.many or self.optional or self.shared)
        return self.kinds[0] if one and is_state(self.kinds[0]) else None

    def shape(self, sizes: Mapping[str, int], have: Sequence[int] = ()) -> tuple[int, ...]:
        """With so much along its axes; as much as there is along others."""
        axes = self.axes if self.axes is not None and self.dtype is not None else tuple(have)
        known = zip(axes, have or (0,) * len(axes), strict=True)
        return tuple(axis if isinstance(axis, int) else sizes.get(axis, size) for axis, size in known)

    def older_shapes(self, sizes: Mapping[str, int]) -> list[tuple[int, ...]]:
        """Those that it had in older versions, the last one first."""
        lengths = [len(axis.before) for axis in self.axes or () if isinstance(axis, Grown)]
        shapes = []
        for back in range(1, max(lengths, default=0) + 1):
            axes = [axis.before[-back:][0] if isinstance(axis, Grown) else axis for axis in self.axes or ()]
            shapes.append(replace(self, axes=tuple(axes)).shape(sizes))
        return shapes

    def new(self, sizes: Mapping[str, int]) -> Any:
        """What a state that knows nothing has here."""
        if not self.is_array or self.optional:
            return self.default
        shape = self.shape(sizes)
        return self.default(shape) if callable(self.default) else np.full(shape, self.default, self.dtype)

    def place(self, axis: str) -> int | None:
        """Where it has this axis."""
        axes = ("learners",) if self.axes is None else self.axes
        return axes.index(axis) if self.is_array and axis in axes else None

    def inside(self, outer: Field) -> Field:
        """The field of a state that is itself a field of another."""
        called: dict[Any, Axis] = dict(outer.called)
        axes = (*outer.per, *(called.get(axis, axis) for axis in self.axes or ()))
        return replace(self, axes=axes, since=max(self.since, outer.since))

    def told(self, names: Mapping[Any, str]) -> str:
        """As storage/FORMAT.md has it; the names of states in files are given."""
        if self.is_array and self.dtype is not None:
            code = "u1" if self.dtype.names else self.dtype.str.lstrip("<|")
            told = f"{code}[{','.join(map(str, self.axes or ()))}]"
        elif self.size:
            told = f"={self.size}"
        elif (self.low, self.high) not in ((-LARGEST, LARGEST), (-WHOLE, WHOLE - 1)) and self.kinds == (int,):
            told = f"{self.low}..{self.high}"
        else:
            told = "|".join(names.get(kind) or ("value" if kind is Any else kind.__name__) for kind in self.kinds)
        return (f"[{told}]" if self.many else told) + ("??" if self.since > 1 else "?" if self.optional else "")


def array(code: Any, *axes: Axis, **more: Any) -> Field:
    """An array of this type with these axes. Its numbers are finite, and in the range that is given."""
    return Field(dtype=np.dtype(code), axes=axes, **more)


f8, f4, i8, i4, i1, b1 = (partial(array, code) for code in ("f8", "f4", "i8", "i4", "i1", "?"))


def whole(low: int = -WHOLE, high: int = WHOLE - 1, **more: Any) -> Field:
    """A number from `low` to `high`."""
    return Field(low=low, high=high, **more)


def part(per: Axis | None = None, since: int = 1, **called: Axis) -> Field:
    """A state of whose arrays each has another axis in front, or whose axes have other names, or are numbers."""
    return Field(per=() if per is None else (per,), since=since, called=tuple(called.items()))


SHARED = Field(shared=True)


# ------------------------------------------------------------------------------------------------------- the schema


def is_state(kind: Any) -> bool:
    return hasattr(kind, "_fields") or (isinstance(kind, type) and is_dataclass(kind))


@cache
def schema(kind: type) -> dict[str, Field]:
    """The fields of a class, by its annotations."""
    names = getattr(kind, "_fields", None) or ([f.name for f in fields(kind)] if is_dataclass(kind) else None)
    try:
        hints = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise TypeError(
            f"the annotations of {kind.__name__} name {error.name!r}, which {kind.__module__} does not know: define "
            f"the class, and what its fields are annotated with, at the top level of a module"
        ) from None
    return {name: _field(hints[name]) for name in names or hints}


def _field(hint: Any) -> Field:
    hint, *more = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    own = next((one for one in more if isinstance(one, Field)), Field())
    many = get_origin(hint) is list
    (hint,) = get_args(hint) if many else (hint,)
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    known = tuple(kind for kind in kinds if kind is not NoneType)
    default = None if len(known) < len(kinds) else own.default
    return replace(own, kinds=known, many=many, optional=len(known) < len(kinds), default=default)


class Leaf(NamedTuple):
    """A field of a state, or of a state in it, that is not a state itself."""

    name: str  # in files
    path: str
    field: Field


@cache
def leaves(kind: type) -> tuple[Leaf, ...]:
    """All there are, in order, but for what is shared."""
    found: list[Leaf] = []
    for name, field in schema(kind).items():
        if field.state is not None:
            outside = "" if field.name == "/" else f"{name}."
            for leaf in leaves(field.state):
                known = leaf.name if leaf.field.name else outside + leaf.name
                found.append(Leaf(known, f"{name}.{leaf.path}", leaf.field.inside(field)))
        elif not field.shared:
            found.append(Leaf(field.name or name, name, field))
    return tuple(found)
