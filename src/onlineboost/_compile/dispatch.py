"""Kernels that are chosen by the type of their first argument, while the kernel that calls them is compiled.

A :class:`Contract` names some kernels. A state type (a NamedTuple of arrays) *implements* the contract with functions
of the same names, and a loop that calls a kernel of the contract is compiled once for every state type it is given,
with that type's function built in: no branch, no pointer, no integer that says which one is meant.

    LEARNER = Contract("weak learner")

    @LEARNER.kernel
    def ask(learner, x): ...             # the contract: a signature and a docstring

    @LEARNER.optional
    def is_ready(learner):               # what holds for all that do not say otherwise
        return True

    LEARNER.implement(Forest, ask)       # by the function's name

Without the JIT the same call looks the function up in a dictionary.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, cast

from numba.extending import overload

from onlineboost._compile.numba_internals import known

# Machine code is inlined, not Numba's own representation of it (inline="always" for overloads): that took 1.5 times as
# long to compile, was no faster, and where a kernel is called twice (`ask`, by Oza's booster) it gave wrong results.
FOR_KERNELS_ALONE = known(_nrt=False, no_cpython_wrapper=True, no_cfunc_wrapper=True)
BUILT_IN: dict[str, Any] = {"nogil": True, "error_model": "numpy", **FOR_KERNELS_ALONE}
Function = Callable[..., Any]


class Contract:
    """Named kernels, and the types that implement them."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.types: list[type] = []  # that implement it
        self.foreign: set[type] = set()  # those from outside of the package
        self._chosen: dict[str, dict[type, Function]] = {}  # kernel -> state type -> function
        self._defaults: dict[str, Function] = {}
        self._arguments: dict[str, list[str]] = {}

    def kernel(self, stub: Function, *, loops: bool = False) -> Function:
        """A kernel that every type must implement. The stub is its signature and its docstring.

        `loops`: it goes through many rows in one call, so that it need not be inlined.
        """
        table = self._chosen[stub.__name__] = {}
        self._arguments[stub.__name__] = _arguments(stub)
        default = self._defaults.get(stub.__name__)

        def call(state: Any, *args: Any) -> Any:
            function = table.get(type(state), default)
            if function is None:
                raise TypeError(f"{type(state).__name__} is not a {self.name}: it has no {stub.__name__}")
            return function(state, *args)

        def choose(state: Any, *args: Any) -> Function | None:
            function = table.get(getattr(state, "instance_class", None), default)  # type: ignore[arg-type]
            return getattr(function, "py_func", function)

        call.__name__, call.__doc__ = stub.__name__, stub.__doc__
        overload(call, strict=False, jit_options=cast(Any, BUILT_IN | known(forceinline=not loops)))(choose)
        return call

    def optional(self, stub: Function, *, loops: bool = False) -> Function:
        """A kernel that a type may leave out: the stub is what holds then."""
        self._defaults[stub.__name__] = stub
        return self.kernel(stub, loops=loops)

    def optional_loop(self, stub: Function) -> Function:
        """An optional kernel that goes through a block in one call."""
        return self.optional(stub, loops=True)

    def each(self, kernel: Function, together: int = 1, *, counted: bool = False) -> Function:
        """A kernel that calls this one for every state of a tuple, in order; types that leave it out are skipped.

        The first `together` arguments are tuples: each call gets one entry of theirs, and all of the others. It is
        written out for every type of tuple, so that a tuple may hold states of different types. If it is `counted`, the
        kernel says yes or no, and it returns how often it was yes.
        """
        name = kernel.__name__

        def call(states: Any, *args: Any) -> Any:
            own = zip(states, *args[: together - 1], strict=True)
            said = [kernel(*one, *args[together - 1 :]) for one in own]
            return sum(map(bool, said)) if counted else None

        def choose(states: Any, *args: Any) -> Function:
            names = [f"a{i}" for i in range(1 + len(args))]
            own, rest = names[:together], names[together:]
            kinds = [getattr(one, "instance_class", None) for one in states.types]
            calls = [
                f"kernel({', '.join([f'{one}[{i}]' for one in own] + rest)})"
                for i, kind in enumerate(kinds)
                if kind is not None and self.implements(kind, name)
            ]
            if counted:
                calls = [f"return {' + '.join(f'int(bool({one}))' for one in calls) or 0}"]
            made: dict[str, Any] = {"kernel": kernel}
            exec(f"def each_{name}({', '.join(names)}):\n    " + "\n    ".join(calls or ["return"]), made)
            return cast(Function, made[f"each_{name}"])

        call.__name__ = f"each_{name}"
        overload(call, strict=False, jit_options=cast(Any, BUILT_IN | {"forceinline": True}))(choose)
        return call

    def implement(self, kind: type, *functions: Function, **named: Function) -> None:
        """State type `kind` does it with these functions, each named after the kernel it implements, or given by it."""
        given = {function.__name__: function for function in functions} | named
        if unknown := given.keys() - self._chosen.keys():
            raise TypeError(f"{', '.join(sorted(unknown))}: not a kernel of a {self.name}; {self._names()}")
        if missing := self._chosen.keys() - self._defaults.keys() - given.keys():
            raise TypeError(f"{kind.__name__} lacks {', '.join(sorted(missing))} of a {self.name}; {self._names()}")
        for name, function in given.items():
            takes, wanted = _arguments(function), self._arguments[name]
            if len(takes) != len(wanted):
                raise TypeError(f"{name} of {kind.__name__} takes ({', '.join(takes)}), not ({', '.join(wanted)})")
        name = kind.__name__
        same = sum(other is not kind and other.__name__.partition("#")[0] == name for other in self.types)
        if same:  # Numba tells types apart by their names: the second would run the kernels of the first
            kind.__name__ = f"{name}#{same + 1}"
        self.types.append(kind)
        if not kind.__module__.startswith("onlineboost."):
            self.foreign.add(kind)
        for name, function in given.items():
            self._chosen[name][kind] = function

    def implements(self, kind: type, name: str) -> bool:
        """Whether this type has a function of its own for the kernel."""
        return kind in self._chosen[name]

    def _names(self) -> str:
        return f"there are {', '.join(self._chosen)}"


def _arguments(function: Function) -> list[str]:
    return list(signature(getattr(function, "py_func", function)).parameters)
