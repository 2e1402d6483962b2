"""The same function on many things at once: settings to try, streams, one model per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any


def each(function: Callable[[Any], Any], items: Iterable[Any], *, address: str | None = None) -> list[Any]:
    """[function(item) for item in items], spread over the processors of a Ray cluster.

    For sweeps: runs that know nothing of each other. A call whose process is lost is made again, up to three times, so
    the function should do no harm when it is called twice.

    Parameters
    ----------
    function, items
        Both go to other processes: a function of a module that all machines have, or one that can be pickled.
    address : str, optional
        Of a running Ray cluster; without it, one is started on this machine for as long as this takes.

    Examples
    --------
    >>> from onlineboost.cluster import each
    >>> each(abs, [-1, 2, -3])  # doctest: +SKIP
    [1, 2, 3]
    """
    from onlineboost.cluster.ray_engine import joined, ray

    with joined(address):
        task = ray.remote(function if hasattr(function, "__code__") else lambda item: function(item))
        return list(ray.get([task.options(max_retries=3).remote(item) for item in items]))
