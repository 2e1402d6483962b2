"""Machine code on disk: a file for each kernel and the types it was compiled for.

Numba's own cache has an index for each kernel, and numbers its files. Two processes that compile at once can then take
each other's file for theirs, and a file that was damaged is an error in every process from then on. Here a file is
named after what is in it and begins with a checksum. If that is wrong, the kernel is compiled again and the file is
replaced.

What the handlers of signals raise is held back for as long as one kernel takes to read or write: if it strikes while
Numba learns what there is to compile with, Numba can load and compile nothing any more in this process.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

from onlineboost._compile.cache import CACHE_DIR, WAY_OUT
from onlineboost._compile.interrupt import Interrupt
from onlineboost._compile.numba_internals import VERSIONS, MachineCode, config

SUM = 32  # bytes of the checksum


class KeptKernel(MachineCode):
    """What Numba asks for the machine code of one kernel, and hands it to."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function, str(CACHE_DIR))
        self.function = function

    def flush(self) -> None:
        """Nothing is kept back."""

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """The machine code for these types, or None."""
        with Interrupt():
            return self._load(sig, target_context)

    def _load(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        key = self.key_of(sig, target_context.codegen())
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(data[SUM:]).digest() != data[:SUM]:
            _warn_once("%s is damaged (the checksum is wrong): it is compiled again and replaced", path)
            return None
        found, payload = pickle.loads(data[SUM:])
        return self.unpack(target_context, payload) if found == key else None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for these types. If that cannot be done, nothing is lost but time."""
        with Interrupt():
            if packed := self.pack(sig, data):
                self._save(*packed)

    def _save(self, key: Any, text: bytes) -> None:
        path = self._path(key)
        part = path.with_name(f"{path.name}.{uuid.uuid4().hex[:12]}")
        try:
            try:
                with open(part, "xb") as file:
                    file.write(hashlib.sha256(text).digest() + text)
                os.replace(part, path)
            finally:
                part.unlink(missing_ok=True)
        except OSError as error:
            why = error.strerror or error
            _warn_once("machine code cannot be kept in %s (%s): make room there, or %s", CACHE_DIR, why, WAY_OUT)

    def _path(self, key: Any) -> Path:
        function = self.function
        made_by = (*VERSIONS, sys.implementation.cache_tag, getattr(config, "BOUNDSCHECK", None))
        what = repr((made_by, function.__module__, function.__qualname__, key))
        digest = hashlib.sha256(what.encode()).hexdigest()[:20]
        return CACHE_DIR / f"{function.__module__}.{function.__name__}-{digest}.nbc"


def _warn_once(text: str, *args: Any) -> None:
    if text not in _warned:
        _warned.add(text)
        logging.getLogger("onlineboost").warning(text, *args)


_warned: set[str] = set()
