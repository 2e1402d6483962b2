"""Finished cells in a file, so that a run that was interrupted, by whatever, goes on where it was."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onlineboost.data.errors import DataError
from onlineboost.evaluation.records import Record
from onlineboost.paper.cells import Cell


class Store:
    """Records of finished cells in DIR/cells.jsonl, a line each, on disk before the next one starts.

    A process that dies while it writes leaves half a line at the end. The next one that writes moves it to
    cells.jsonl.rest: nothing is ever deleted. Only one process may write: a second one is told so.
    """

    def __init__(self, folder: Path, *, writing: bool = True) -> None:
        self.path = folder / "cells.jsonl"
        self.rest: Path | None = None  # where half a line has been moved to
        if not writing:
            text = self.path.read_bytes() if self.path.exists() else b""
            self.records = self._parse(text)[0]
            return
        folder.mkdir(parents=True, exist_ok=True)
        self.file = self.path.open("a+b")
        try:
            if not _lock(self.file):
                raise DataError(f"another run is writing to {folder}: wait for it, or give another --out")
            self.file.seek(0)
            self.records, whole, text = self._parse(self.file.read())
            self._tidy(whole, text)
        except BaseException:
            self.file.close()
            raise

    def _parse(self, text: bytes) -> tuple[dict[str, Record], int, bytes]:
        """The records, where the last whole one ends, and what comes after that."""
        whole = text.rfind(b"\n") + 1
        records, last = {}, text[whole:]
        for number, line in enumerate(text[:whole].split(b"\n")[:-1], 1):
            record = _record(line)
            if record is None:
                message = f"{self.path}, line {number}: not a record. Remove the line to run its cell again"
                raise DataError(message)
            records[record["key"]] = record
        if (record := _record(last)) is not None:  # all of it but the line's end
            records[record["key"]] = record
        return records, whole, last

    def _tidy(self, whole: int, last: bytes) -> None:
        """The next record begins a line."""
        if not last:
            return
        if _record(last) is None:
            rest = self.path.with_name(f"{self.path.name}.rest")
            with rest.open("ab") as file:
                file.write(last + b"\n")
                file.flush()
                os.fsync(file.fileno())
            self.file.truncate(whole)
            self.rest = rest
        else:
            self.file.write(b"\n")
            self.file.flush()

    def __contains__(self, cell: Cell) -> bool:
        return cell.key in self.records

    def select(self, cells: Iterable[Cell], *, any_version: bool = False) -> list[Record]:
        """Records of these cells, as far as they are there; on request those of another version of the code too."""
        found = [self.records[cell.key] for cell in cells if cell in self]
        if not any_version:
            return found
        of = {Cell.of(record): record for record in self.records.values()}
        return [{**record, "key": cell.key} for cell in cells if (record := of.get(cell)) is not None]

    def add(self, record: Record) -> None:
        self.records[record["key"]] = record
        self.file.write(json.dumps(record, separators=(",", ":")).encode() + b"\n")
        self.file.flush()
        os.fsync(self.file.fileno())

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        if hasattr(self, "file"):
            self.file.close()


NUMBERS = ("order", "n_learners", "tail", "full", "seconds")  # that every record has
WORDS = ("key", "code", "dataset", "system")


def _record(line: bytes) -> Record | None:
    """The record in a line, or None if there is none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or "limit" not in record:
        return None
    words = all(isinstance(record.get(name), str) for name in WORDS)
    numbers = (record.get(name) for name in NUMBERS)
    return record if words and all(isinstance(n, int | float) and math.isfinite(n) for n in numbers) else None


def _lock(file: Any) -> bool:
    """Ours alone until it is closed or we die; False: another process has it. True where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # this file system has none
    return True
