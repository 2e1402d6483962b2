"""The driver's side of a line of parts: messages in order, each exactly once, whatever becomes of the processes.

Every message has a number. A block goes from part to part; a change goes to all of them, in order with the blocks; a
part does each number once. Now and then, between two messages, all parts hand over their state: a checkpoint. Messages
since the last one that is complete are kept here. When a process is lost, all parts go back to that checkpoint, in new
processes where there is none, and the messages are sent again. Every step gives the same result each time, so the
outcome is that of a line that was never disturbed, bit for bit.
"""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from onlineboost.cluster.parts import Change, Lost, Parcel, Part, State

TRIES = 10  # to put the line together again, before it gets further than it was
SHARE = 0.015  # of the time that parts may spend on checkpoints; to send them takes as long again
SOONEST = 5.0  # seconds after which there may be one
MOST_KEPT = 256 << 20  # bytes of messages that are kept at most; then there is a checkpoint

Sink = Callable[[list[Any]], None]  # gets what the parts say of a message: of a block, the last part alone


class ClusterError(RuntimeError):
    """There is no cluster, or the line could not be put together again."""


class Engine(Protocol):
    """Processes, one for every part, that do what they are asked in the order in which they were asked."""

    def start(self, index: int) -> Any:
        """A process for a part."""

    def reset(self, worker: Any, epoch: int, state: State) -> Any:
        """Have it be the part that was once saved; an answer that says nothing."""

    def learn(self, worker: Any, epoch: int, number: int, block: Any, threads: int) -> tuple[Any, Any]:
        """Have a block learned: what the next part gets, and what is said. `block` may be what a part hands on."""

    def ask(self, worker: Any, method: str, *args: Any) -> Any:
        """Have a method of `Part` called; what comes of it, once it is there."""

    def ready(self, answer: Any) -> bool: ...

    def get(self, answer: Any) -> Any:
        """What came of it, waited for. `Lost`: nothing will."""

    def stop(self, worker: Any) -> None: ...

    def close(self) -> None: ...


@dataclass
class Message:
    """A block or a change, and who wants to know what is said of it."""

    number: int
    content: Parcel | Change
    sink: Sink | None = None

    @property
    def nbytes(self) -> int:
        return self.content.X.nbytes if isinstance(self.content, Parcel) else 0


@dataclass
class Figures:
    """What a line has done so far."""

    checkpoints: int = 0
    checkpoint_seconds: float = 0.0  # of the part that took longest, summed up
    recoveries: list[float] = field(default_factory=list)  # seconds until all parts were there again


class Line:
    """Parts in order, each in a process of its own."""

    def __init__(
        self, engine: Engine, states: Sequence[State], window: int, threads: int = 1, folder: str | None = None
    ) -> None:
        self.engine, self.window, self.threads = engine, window, threads
        self.parts = len(states)
        self.folder = folder  # for checkpoints, of this line alone; None: they are kept in memory, here
        self.figures = Figures()
        self._states = states  # of the last complete checkpoint
        self._log: list[Message] = []  # since then
        self._sent = 0  # of these
        self._on_line: deque[tuple[Message, list[Any]]] = deque()  # messages that were sent, and what will come of them
        self._saving: tuple[int, list[Any]] | None = None  # a checkpoint that is being made: after which message
        self._saved_at = time.monotonic()
        self._number = self._epoch = self._failures = 0
        self._reached = 0  # the last message of which something has come
        self._workers: list[Any] = [None] * len(states)
        self._put_together(Lost("it was never there"))

    # ----------------------------------------------------------------------------------------------- what users do

    def send(self, content: Parcel | Change, sink: Sink | None = None) -> None:
        """Send a message, once there is room on the line. `sink` gets what is said of it, in time."""
        self._number += 1
        self._log.append(Message(self._number, content, sink))
        self._push()

    def drain(self) -> None:
        """Until all that was sent is done."""
        self.wait(lambda: False)

    def wait(self, enough: Callable[[], bool]) -> None:
        """Until `enough`, which what is said may change, or until all that was sent is done."""
        self._push()
        while self._on_line and not enough():
            self._receive()
            self._push()

    def ask(self, method: str, *args: Any) -> list[Any]:
        """Ask all parts something, after all that was sent."""
        while True:
            self.drain()
            answers = [self.engine.ask(worker, method, *args) for worker in self._workers]
            try:
                found = [self.engine.get(answer) for answer in answers]
            except Lost as lost:
                self._put_together(lost)
                continue
            self._failures = 0
            return found

    def checkpoint(self) -> None:
        """Make a checkpoint now, and wait for it."""
        while self._saving is not None or self._log:
            self.drain()
            if self._saving is None and self._log:
                self._save()
            self._finish_saving()

    def close(self) -> None:
        for worker in self._workers:
            if worker is not None:
                self.engine.stop(worker)
        self._workers = [None] * len(self._workers)

    # ---------------------------------------------------------------------------------------------------- messages

    def _push(self) -> None:
        """Send what was not sent yet. More blocks than `window` are never on the line: the caller waits here."""
        while self._sent < len(self._log):
            if len(self._on_line) >= self.window:
                self._receive()
            else:
                message = self._log[self._sent]
                self._on_line.append((message, self._submit(message)))
                self._sent += 1
                self._save_if_due()

    def _submit(self, message: Message) -> list[Any]:
        number, content = message.number, message.content
        if isinstance(content, Change):
            return [self.engine.ask(worker, "change", self._epoch, number, content) for worker in self._workers]
        passed: Any = content
        for worker in self._workers:
            passed, said = self.engine.learn(worker, self._epoch, number, passed, self.threads)
        return [said]

    def _receive(self) -> None:
        """Wait for the oldest message on the line."""
        message, answers = self._on_line[0]
        try:
            found = [self.engine.get(answer) for answer in answers]
        except Lost as lost:
            self._put_together(lost)
            return
        self._on_line.popleft()
        if message.number > self._reached:
            self._reached, self._failures = message.number, 0
        if message.sink is not None:
            sink, message.sink = message.sink, None  # it may be sent again, but is not told again
            sink(found)
        if self._saving is not None and all(map(self.engine.ready, self._saving[1])):
            self._finish_saving()

    # ------------------------------------------------------------------------------------------------- checkpoints

    def _save_if_due(self) -> None:
        """Checkpoints may take SHARE of the time; but the messages that are kept may not take too much memory."""
        if self._saving is not None:
            return
        figures = self.figures
        last = figures.checkpoint_seconds / max(figures.checkpoints, 1)
        due = time.monotonic() - self._saved_at > max(SOONEST, last / SHARE)
        if due or sum(message.nbytes for message in self._log) > MOST_KEPT:
            self._save()

    def _save(self) -> None:
        """Between two messages, every part hands over its state; the line goes on meanwhile."""
        number = self._log[self._sent - 1].number
        self._saving = number, [self.engine.ask(worker, "checkpoint", self.folder) for worker in self._workers]

    def _finish_saving(self) -> None:
        if self._saving is None:
            return
        number, answers = self._saving
        try:
            states = [self.engine.get(answer) for answer in answers]
        except Lost as lost:
            self._put_together(lost)
            return
        self._states = [state for state, _ in states]
        self._sweep()
        kept = [message for message in self._log if message.number > number]
        self._sent -= len(self._log) - len(kept)
        self._log, self._saving, self._saved_at = kept, None, time.monotonic()
        self._failures = 0  # it will not have to go back as far as before
        self.figures.checkpoints += 1
        self.figures.checkpoint_seconds += max(seconds for _, seconds in states)

    def _sweep(self) -> None:
        """Files of older checkpoints go, and those that nobody has asked for since a process was lost."""
        if self.folder is None:
            return
        with suppress(OSError):
            for path in Path(self.folder).iterdir():
                if str(path) not in self._states:
                    path.unlink()

    # ---------------------------------------------------------------------------------------------------- recovery

    def _put_together(self, lost: Lost) -> None:
        """All parts as they were at the last checkpoint. What was sent since then is not sent yet, as it were."""
        start = time.monotonic()
        self._on_line.clear()
        self._saving, self._sent = None, 0
        while True:
            if self._failures == TRIES:
                raise ClusterError(
                    f"the line broke {TRIES} times in a row: {lost}. Look at the machines' memory; a run with "
                    f"checkpoints goes on with --resume"
                ) from lost
            if self._failures:
                time.sleep(min(5.0, 0.1 * 2**self._failures))
            self._failures += 1
            self._epoch += 1
            try:
                self._reset()
                break
            except Lost as again:
                lost = again
        if self._epoch > 1:
            self.figures.recoveries.append(time.monotonic() - start)

    def _reset(self) -> None:
        """New processes for parts that have none; the others go back to the checkpoint where they are."""
        self._workers = [self.engine.start(i) if one is None else one for i, one in enumerate(self._workers)]
        pairs = zip(self._workers, self._states, strict=True)
        answers = [self.engine.reset(worker, self._epoch, state) for worker, state in pairs]
        lost = None
        for i, answer in enumerate(answers):
            try:
                self.engine.get(answer)
            except Lost as error:
                self.engine.stop(self._workers[i])
                self._workers[i], lost = None, error
        if lost is not None:
            raise lost


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
