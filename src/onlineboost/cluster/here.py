"""An engine without a cluster: all parts in this process, one call after the other. For tests, and to look into."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from onlineboost.cluster.errors import Lost
from onlineboost.cluster.parts import Part, State
from onlineboost.cluster.travel import Parcel


class Here:
    """Parts that are called directly. What passes between them is copied, as it would be between processes."""

    def __init__(self, fault: Callable[[str, int], bool] = lambda method, index: False) -> None:
        self.fault = fault  # asked before every call: whether the process of this part dies now
        self.bytes_by_hop: dict[int, int] = {}  # that each part has sent to the next

    def start(self, index: int) -> dict[str, Any]:
        return {"index": index, "part": Part}

    def reset(self, worker: dict[str, Any], epoch: int, state: State) -> Any:
        part = self.ask(worker, "of_state", state, epoch)
        if not isinstance(part, Lost):
            worker["part"] = part
        return part

    def learn(self, worker: dict[str, Any], epoch: int, number: int, block: Any, threads: int) -> tuple[Any, Any]:
        if isinstance(block, Lost):
            return block, block
        block = pickle.loads(block) if isinstance(block, bytes) else block
        answer = self.ask(worker, "learn", epoch, number, block, threads)
        if isinstance(answer, Lost):
            return answer, answer
        passed, said = answer
        if isinstance(passed, Parcel):
            passed = pickle.dumps(passed, protocol=5)
            self.bytes_by_hop[worker["index"]] = self.bytes_by_hop.get(worker["index"], 0) + len(passed)
        return passed, said

    def ask(self, worker: dict[str, Any], method: str, *args: Any) -> Any:
        if self.fault(method, worker["index"]):
            worker["part"] = None
        if worker["part"] is None:
            return Lost(f"part {worker['index']} is dead")
        try:
            return getattr(worker["part"], method)(*args)
        except Lost as lost:
            return lost

    def ready(self, answer: Any) -> bool:
        return True

    def get(self, answer: Any) -> Any:
        if isinstance(answer, Lost):
            raise answer
        return answer

    def stop(self, worker: dict[str, Any]) -> None:
        worker["part"] = None

    def close(self) -> None:
        """There is nothing to close."""
