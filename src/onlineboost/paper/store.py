"""Finished cells in a file, so that a run that was interrupted, by whatever, goes on where it was."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onlineboost.data.errors import DataError
from onlineboost.evaluation.records import Record
from onlineboost.paper.cells import Cell


class Store:
    """Records of finished cells in DIR/cells.jsonl, a line each, on disk before the next one starts.

    A process that dies while it writes leaves half a line at the end; the next one drops it. Only one process may
    write: a second one is told so.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / "cells.jsonl"
        self.file = self.path.open("a+b")
        try:
            _lock(self.file)
            self.records = self._read()
        except OSError:
            self.file.close()
            raise DataError(f"another run is writing to {folder}: wait for it, or give another --out") from None
        except DataError:
            self.file.close()
            raise

    def _read(self) -> dict[str, Record]:
        self.file.seek(0)
        text = self.file.read()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            self.file.truncate(whole)
        records = {}
        for number, line in enumerate(text[:whole].splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError:
                message = f"{self.path}, line {number}: not a record. Remove the line to run its cell again"
                raise DataError(message) from None
            records[record["key"]] = record
        return records

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
        self.file.close()


def _lock(file: Any) -> None:
    """Ours alone until it is closed or we die; OSError if another process has it. Nothing where there are no locks."""
    try:
        import fcntl
    except ImportError:
        return
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
