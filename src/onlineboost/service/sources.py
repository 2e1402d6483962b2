"""Streams that a service reads by itself: a pipe, a growing CSV file, a demonstration.

What has been read is written in the same transaction as how far that is. So each row is taken once, without ids too,
whatever dies when (a pipe cannot be read again, so there it takes ids). A row that cannot be read is a dead letter.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import csv
import itertools
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from onlineboost.data.errors import DataError
from onlineboost.service.log import CannotWrite
from onlineboost.service.messages import Event, Example, Late, Read, encode
from onlineboost.service.service import Busy, Service, Tell

AT_ONCE = 256  # rows
PAUSE = 0.2  # seconds after which a file is looked at again
NO_ROOM = 1.0  # seconds after which it is tried again to write
DEMO_RATE, DEMO_ROWS = 200, 10_000  # events a second; rows after which the stream changes


class Source(Protocol):
    """Something that a service reads until it ends or is cancelled. After an error it is run again: it goes on."""

    name: str

    async def run(self, service: Service) -> None: ...


async def take(service: Service, read: list[Read], name: str, place: int, tell: Tell | None = None) -> list[Any]:
    """Have what was read on disk, with the place in the source; wait as long as there is no room on disk or in time."""
    while True:
        try:
            return await service.take(read, name, place, tell)
        except Busy:
            continue
        except CannotWrite:  # /health tells
            await asyncio.sleep(NO_ROOM)


class Pipe:
    """Lines of stdin: {"row", "label", "id", "weight"}. Those without a label are predicted, on stdout."""

    name = "stdin"

    async def run(self, service: Service) -> None:
        loop, at, rest = asyncio.get_running_loop(), 0, b""
        came: asyncio.Queue[bytes] = asyncio.Queue(1)
        threading.Thread(target=self._read, args=(loop, came), daemon=True).start()
        while chunk := await came.get():
            *lines, rest = (rest + chunk).split(b"\n")
            for first in range(0, len(lines), AT_ONCE):
                part = lines[first : first + AT_ONCE]
                read = [Read(f"{service.prefix} stdin {at + i}", line) for i, line in enumerate(part) if line.strip()]
                at += len(part)
                for said in await take(service, read, self.name, at):
                    sys.stdout.write(encode(said).decode() + "\n")
                sys.stdout.flush()

    @staticmethod
    def _read(loop: asyncio.AbstractEventLoop, came: asyncio.Queue[bytes]) -> None:
        """In a thread of its own: a read that waits cannot be called off."""
        with suppress(RuntimeError, concurrent.futures.CancelledError):  # the service has ended
            while chunk := os.read(0, 1 << 16):
                asyncio.run_coroutine_threadsafe(came.put(chunk), loop).result()
            asyncio.run_coroutine_threadsafe(came.put(b"\n"), loop).result()  # the end of a last line
            asyncio.run_coroutine_threadsafe(came.put(b""), loop).result()


class GrowingFile:
    """A CSV file with a header that grows. The column `target` has the labels; where it is empty they come later."""

    def __init__(self, path: Path, target: str) -> None:
        self.path, self.target, self.name = path, target, f"file {path.absolute()}"
        with path.open(newline="", encoding="utf-8-sig") as file:
            self.names = next(csv.reader(file), [])
        if len({*self.names}) < len(self.names):
            raise DataError(f"{path}: two columns have the same name: give each one of its own")
        if target not in self.names:
            raise DataError(f"{path}: no column is named {target!r}: --target names the one with the labels")

    async def run(self, service: Service) -> None:
        place = service.log.number(self.name)
        with self.path.open("rb") as file:
            if place == 0:
                place = len(file.readline())
            while True:
                file.seek(place)
                read: list[Read] = []
                for line in self._whole_lines(file):
                    read.append(self._read(f"{self.name} {place}", line))
                    place += len(line)
                if read:
                    await take(service, read, self.name, place)
                elif self.path.stat().st_size < place:
                    raise DataError(f"{self.path} is shorter than what was read of it: give a new file another name")
                else:
                    await asyncio.sleep(PAUSE)

    @staticmethod
    def _whole_lines(file: Any) -> Iterator[bytes]:
        """Up to the last line that has an end: the one that is being written waits."""
        for _ in range(AT_ONCE):
            line = file.readline()
            if not line.endswith(b"\n"):
                return
            yield line

    def _read(self, key: str, line: bytes) -> Read:
        try:
            fields = next(csv.reader([line.decode()], strict=True), [])  # strict: not half of a value in quotes
        except (UnicodeDecodeError, csv.Error) as error:
            return Read(key, line, str(error))
        if len(fields) != len(self.names):
            return Read(key, line, f"{len(fields)} fields, and the header has {len(self.names)}")
        row = {name: _value(field) for name, field in zip(self.names, fields, strict=True) if name != self.target}
        label = fields[self.names.index(self.target)].strip()
        return Read(key, encode({"row": row, "id": key, **({"label": label} if label else {})}))


def _value(field: str) -> float | str | None:
    field = field.strip()
    with suppress(ValueError):
        number = float(field)
        return number if abs(number) < float("inf") else None  # nan: missing
    return field or None


class Demo:
    """A made-up stream that changes now and then: some labels come at once, some late, some never.

    After a restart other rows come: the model would know those of the first start by heart, and be right on all.
    """

    name = "the demonstration"

    async def run(self, service: Service) -> None:
        from onlineboost.datasets import synthetic_stream

        late: list[Late] = []
        for seed in itertools.count(service.log.last_place):
            stream = synthetic_stream(DEMO_ROWS, n_columns=8, n_classes=3, seed=seed)
            for at, row in enumerate(zip(*(column.tolist() for column in stream.X.columns), strict=True)):
                x = {name: round(value, 4) for name, value in zip(stream.X.names, row, strict=True)}
                label = str(stream.y[at])
                with suppress(Busy):
                    if at % 3:
                        await service.learn([Example(x, label)])
                    else:
                        (said,) = await service.observe([Event(x)])
                        late.append(Late(said.id or "", label))
                        if len(late) > 300:
                            await service.label([late.pop(0)])
                            del late[:: 50 if at % 150 == 0 else 10**9]  # never
                await asyncio.sleep(1.0 / DEMO_RATE)
