"""The engine of Ray: every part is an actor. What passes between parts goes from machine to machine, past the driver."""

from __future__ import annotations

import logging
import os
from typing import Any

from onlineboost.cluster.errors import Lost
from onlineboost.cluster.parts import Part
from onlineboost.cluster.travel import Block

try:
    import ray
    from ray.exceptions import GetTimeoutError, RayError, RayTaskError
except ImportError as error:
    raise ImportError("a cluster needs Ray: pip install 'onlineboost[ray]'") from error

STORE = 200 << 20  # bytes of shared memory of a cluster that is started here: some blocks on their way
PATIENCE = 60.0  # seconds to wait for a new process


class Worker:
    """A part in a process of its own."""

    def __init__(self, state: bytes) -> None:
        self.part = Part.of_state(state)

    def learn(self, epoch: int, number: int, block: Any, threads: int) -> tuple[Any, Any]:
        """`Part.learn`, on a block, or on what the part before has put into shared memory: that is fetched from there."""
        if isinstance(block, list):
            block = ray.get(block[0])
        passed, said = self.part.learn(epoch, number, block, threads)
        return ([ray.put(passed)] if isinstance(passed, Block) else passed), said

    def ask(self, method: str, *args: Any) -> Any:
        return getattr(self.part, method)(*args)


class RayEngine:
    """Parts as actors of a Ray cluster, spread over its machines."""

    def __init__(self, parts: int, address: str | None = None) -> None:
        self._started = not ray.is_initialized()
        if self._started and address is None:
            os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
            ray.init(
                num_cpus=parts,
                object_store_memory=STORE,
                include_dashboard=False,
                configure_logging=True,
                logging_level=logging.ERROR,
                log_to_driver=False,
            )
        elif self._started:
            ray.init(address=address, logging_level=logging.ERROR, log_to_driver=False)
        # No CPU is reserved: after the loss of a machine a part must find a place on those that are left.
        kind = ray.remote(Worker)
        self._kind = kind.options(num_cpus=0, max_restarts=0, max_task_retries=0, scheduling_strategy="SPREAD")

    def start(self, index: int, state: bytes) -> Any:
        return self._kind.remote(state)

    def learn(self, worker: Any, epoch: int, number: int, block: Any, threads: int) -> tuple[Any, Any]:
        passed, said = worker.learn.options(num_returns=2).remote(epoch, number, block, threads)
        return passed, said

    def ask(self, worker: Any, method: str, *args: Any) -> Any:
        return worker.ask.remote(method, *args)

    def ready(self, answer: Any) -> bool:
        return bool(ray.wait([answer], timeout=0, fetch_local=False)[0])

    def get(self, answer: Any) -> Any:
        try:
            while not ray.wait([answer], timeout=PATIENCE, fetch_local=True)[0]:  # to get it at once can stall
                pass
            return ray.get(answer)
        except RayTaskError as error:
            if isinstance(error.cause, RayError | Lost):
                raise Lost(str(error.cause)) from error
            raise
        except (RayError, GetTimeoutError) as error:
            raise Lost(str(error)) from error

    def stop(self, worker: Any) -> None:
        ray.kill(worker)

    def close(self) -> None:
        if self._started:
            ray.shutdown()
