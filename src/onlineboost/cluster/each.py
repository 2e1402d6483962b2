"""The same function on many things at once: settings to try, cells of a table, one model per key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any


def each(function: Callable[[Any], Any], items: Iterable[Any], *, address: str | None = None) -> list[Any]:
    """[function(item) for item in items], spread over the processors of a Ray cluster.

    For sweeps: runs that know nothing of each other. A call whose process is lost is made again, up to three times, so
    the function should do no harm when it is called twice. An error of the function is raised here.

    Parameters
    ----------
    function, items
        Both go to other processes: a function of a module that all machines have, or one that can be pickled.
    address : str, optional
        Of a running Ray cluster; without it, the one that this process belongs to (`ray.init`), or one that is started
        on this machine for as long as this takes.

    Examples
    --------
    >>> from onlineboost.cluster import each
    >>> each(abs, [-1, 2, -3])  # doctest: +SKIP
    [1, 2, 3]
    """
    found = dict(as_done(function, items, address=address))
    return [found[i] for i in range(len(found))]


def as_done(
    function: Callable[[Any], Any], items: Iterable[Any], *, address: str | None = None
) -> Iterator[tuple[int, Any]]:
    """The same, one by one as they are ready: the place of an item, and what came of it."""
    from onlineboost.cluster.ray_engine import LOOK_UP, joined, ray

    with joined(address):
        call = ray.remote(_call).options(max_retries=3)
        most = (
            2 * processors()
        )  # one in hand for each; what is not sent yet need not be taken back when this is stopped
        waiting: dict[Any, int] = {}
        left = enumerate(items)
        try:
            while True:
                while len(waiting) < most and (following := next(left, None)) is not None:
                    i, item = following
                    waiting[call.remote(function, item)] = i
                if not waiting:
                    return
                for answer in ray.wait(list(waiting), timeout=LOOK_UP)[0]:
                    yield waiting.pop(answer), ray.get(answer)
        finally:
            for answer in waiting:
                ray.cancel(answer, force=True)


def processors() -> int:
    """Processors of the cluster that this process belongs to."""
    from onlineboost.cluster.ray_engine import ray

    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def _call(function: Callable[[Any], Any], item: Any) -> Any:
    return function(item)
