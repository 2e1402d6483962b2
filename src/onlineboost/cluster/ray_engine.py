"""The engine of Ray: every part is an actor. What passes between parts goes from machine to machine."""

from __future__ import annotations

import logging
import os
import re
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from onlineboost.cluster.line import ClusterError
from onlineboost.cluster.parts import Lost, Parcel, Part, State

try:
    import ray
    from ray.exceptions import RayError, RayTaskError
except ImportError as error:
    raise ImportError("a cluster needs Ray: pip install 'onlineboost[ray]'") from error

STORE = 200 << 20  # bytes of shared memory of a cluster that is started here: some blocks on their way
QUIET: dict[str, Any] = {"logging_level": logging.ERROR, "log_to_driver": False}
LEAST = 0.01  # of a processor, for an actor: none goes to a machine that is to have none
PATIENCE = 10.0  # seconds until someone has to answer at an address: Ray itself waits for minutes
WORDS = ("auto", "local")  # that Ray takes for an address, too
LOOK_UP = 10.0  # seconds after which a driver that waits looks for Ctrl-C


_users: list[object] = []  # of the cluster that this process belongs to, if it is `joined` that has joined it


@contextmanager
def joined(address: str | None, **local: Any) -> Iterator[None]:
    """Belong to the cluster at this address, or to a new one on this machine; unless this process belongs to one.

    Several may, at a time: the last one to go leaves the cluster.
    """
    if ray.is_initialized() and not _users:
        yield
        return
    if not ray.is_initialized():
        _users.clear()
        _join(address, local)
    me = object()
    _users.append(me)
    try:
        yield
    finally:
        if me in _users:
            _users.remove(me)
            if not _users:
                ray.shutdown()


def _join(address: str | None, local: dict[str, Any]) -> None:
    os.environ.setdefault("RAY_IGNORE_UNHANDLED_ERRORS", "1")  # what was asked before a recovery is of no interest
    own = {"object_store_memory": STORE, "include_dashboard": False, **local}
    if address is not None:
        check_address(address)
    try:
        ray.init(**QUIET, **(own if address is None else {"address": address}))
    except ConnectionError as error:
        advice = "start one (ray start --head), check the address, or leave it out for a cluster on this machine"
        raise ClusterError(f"no Ray cluster to join: {advice}. Ray says: {error}") from error
    except Exception as error:  # of a machine that is too busy, say: Ray has no class of its own for these
        raise ClusterError(f"Ray could not be started here: try again. Ray says: {error}") from error


def check_address(address: str) -> None:
    """Someone answers there. (What Ray has other ways to reach, such as "ray://...", is left to it.)"""
    if address in WORDS or "://" in address:
        return
    found = re.fullmatch(r"\[?([^\[\]\s]+)\]?:(\d{1,5})", address)
    if found is None:
        raise ClusterError(f"the address of a Ray cluster is HOST:PORT, or auto; got {address!r}")
    try:
        socket.create_connection((found[1], int(found[2])), PATIENCE).close()
    except (OSError, OverflowError) as error:
        raise ClusterError(
            f"no Ray cluster answers at {address} ({error}): check the address, or start one there (ray start)"
        ) from error


class Worker:
    """A part in a process of its own."""

    part: Part

    def reset(self, epoch: int, state: State) -> None:
        self.part = Part.of_state(state, epoch)

    def learn(self, epoch: int, number: int, block: Any, threads: int) -> tuple[Any, Any]:
        """`Part.learn`, on a block, or on what the part before has put into shared memory."""
        if isinstance(block, list):
            block = ray.get(block[0])
        passed, said = self.part.learn(epoch, number, block, threads)
        return ([ray.put(passed)] if isinstance(passed, Parcel) else passed), said

    def ask(self, method: str, *args: Any) -> Any:
        return getattr(self.part, method)(*args)


class RayEngine:
    """Parts as actors of a Ray cluster, spread over its machines."""

    def __init__(self, parts: int, address: str | None = None) -> None:
        self._open = ExitStack()
        self.is_local = address is None and not ray.is_initialized()  # a cluster that is started here
        self._open.enter_context(joined(address, num_cpus=parts))
        # Next to nothing is reserved: after the loss of a machine a part must find a place on those that are left.
        kind = ray.remote(Worker)
        self._kind = kind.options(num_cpus=LEAST, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")

        self._spare = self._kind.remote()

    def start(self, index: int) -> Any:
        """The process that is kept ready, for which another is made: to start one takes seconds."""
        worker, self._spare = self._spare, self._kind.remote()
        return worker

    def reset(self, worker: Any, epoch: int, state: State) -> Any:
        return worker.reset.remote(epoch, state)

    def learn(self, worker: Any, epoch: int, number: int, block: Any, threads: int) -> tuple[Any, Any]:
        passed, said = worker.learn.options(num_returns=2).remote(epoch, number, block, threads)
        return passed, said

    def ask(self, worker: Any, method: str, *args: Any) -> Any:
        return worker.ask.remote(method, *args)

    def ready(self, answer: Any) -> bool:
        return bool(ray.wait([answer], timeout=0, fetch_local=False)[0])

    def get(self, answer: Any) -> Any:
        try:
            while not ray.wait([answer], timeout=LOOK_UP, fetch_local=True)[0]:  # to get it at once can stall
                pass
            return ray.get(answer)
        except RayTaskError as error:
            if isinstance(error.cause, RayError | Lost):
                raise Lost(str(error.cause)) from error
            raise
        except RayError as error:
            raise Lost(str(error)) from error

    def stop(self, worker: Any) -> None:
        ray.kill(worker)

    def close(self) -> None:
        self._open.close()
