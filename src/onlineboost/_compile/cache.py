"""Where the machine code of the kernels is kept.

Numba's disk cache looks only at the file a kernel stands in: edit ``losses.py``, and a kernel of ``loops.py`` that has
it built in goes on running the old code. So the cache folder is named after a hash of all sources with kernels in them.
The folders of other versions are kept for as long as they are in use, and removed after that.

A folder to keep it in is not a condition for anything: without one, every process compiles for itself.

A wheel can bring machine code along (`hatch_build.py`), in a folder of the same name within the package, which is
looked at first. It was made as this machine would make it, or its name differs (`_file_name`) and it is not found.

There is a file for each kernel and the types it was compiled for. Numba's own cache has an index for each kernel, and
numbers its files. Two processes that compile at once can then take each other's file for theirs, and a file that was
damaged is an error in every process from then on. Here a file is named after what is in it and begins with a checksum.
If that is wrong, the kernel is compiled again and the file is replaced.

What the handlers of signals raise is held back for as long as one kernel takes to read or write: if it strikes while
Numba learns what there is to compile with, Numba can load and compile nothing any more in this process.
"""

from __future__ import annotations

import hashlib
import logging
import os
import pickle
import shutil
import sys
import time
import uuid
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from onlineboost._compile.numba_internals import VERSIONS, MachineCode, config
from onlineboost._compile.system import Interrupt, cache_folder, make_private, temporary_folders

ROOT = Path(__file__).parents[1]  # of the package
WITH_KERNELS = ("_compile", "boosters", "chain", "contracts", "panel", "theory", "trees")  # sub-packages
KEPT = 3  # versions whose machine code is kept in any case: this one, and those used last
UNUSED = 24 * 3600.0  # seconds after which others are removed: by then no process is about to write to them
WAY_OUT = "set NUMBA_CACHE_DIR to a folder of your own that nobody else can write to"


def source_hash(packages: Collection[str]) -> str:
    """A hash of the sources of these sub-packages, those in folders below them too. "": there are none at hand."""
    digest, found = hashlib.sha256(), False
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.partition("/")[0] in packages:
            digest.update(name.encode() + path.read_bytes())
            found = True
    return digest.hexdigest()[:12] if found else ""


def claim(home: Path, name: str) -> str:
    """Make the folder `name` in `home`, mark it as used now, and remove the versions used longest ago.

    Returns what is wrong with it, in words; "": it can be used.
    """
    folder = home / name
    fresh = not os.path.exists(folder)
    if wrong := make_private(folder):
        return wrong
    try:
        os.utime(folder)
        if fresh:
            used = {path: path.stat().st_mtime for path in home.glob("kernels-*") if path != folder}
            for old in sorted(used, key=used.__getitem__, reverse=True)[KEPT - 1 :]:
                if used[old] < time.time() - UNUSED:
                    shutil.rmtree(old, ignore_errors=True)
    except OSError:
        pass  # another process was faster
    return ""


def _homes() -> Iterator[Path]:
    """Folders to try: Numba's own if the user has chosen one, else the package's, else one for temporary files."""
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen).absolute()
    else:
        yield cache_folder()
        yield from temporary_folders()


def _settle() -> tuple[Path, str]:
    """The folder for machine code, and why it cannot be used ("": it can)."""
    homes = list(_homes())
    if not SOURCES:  # in an archive, or compiled files alone: there is no telling when machine code is out of date
        return homes[0] / NAME, "the package has no source files"
    reasons = []
    for home in homes:
        if not (wrong := claim(home, NAME)):
            return home / NAME, ""
        reasons.append(wrong)
    return homes[0] / NAME, reasons[0]


SOURCES = source_hash(WITH_KERNELS)
NAME = f"kernels-{SOURCES}"
CACHE_DIR, WHY_NOT = _settle()
USABLE = not WHY_NOT
SHIPPED = ROOT / "_machine_code" / NAME
before_compiling: list[Callable[[], None]] = []  # called when a kernel is found nowhere, and then forgotten


def _next_call() -> Callable[[], None] | None:
    """One of `before_compiling`, taken out; another thread may just have taken the last."""
    try:
        return before_compiling.pop()
    except IndexError:
        return None


def _folders() -> Iterator[Path]:
    """Where machine code is looked for."""
    if SOURCES and os.environ.get("ONLINEBOOST_PREBUILT") != "0":
        yield SHIPPED
    if USABLE:
        yield CACHE_DIR


SUM = 32  # bytes of the checksum
SWITCHES = (
    "BOUNDSCHECK",
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "USING_SVML",
    "DEBUGINFO_DEFAULT",
)  # of the compiler


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
        for folder in _folders():
            path = folder / self._file_name(key)
            try:
                data = path.read_bytes()
            except OSError:
                continue
            if hashlib.sha256(data[SUM:]).digest() != data[:SUM]:
                replaced = " and replaced" if folder == CACHE_DIR else ""
                _warn_once("%s is damaged (the checksum is wrong): it is compiled again%s", path, replaced)
                continue
            found, payload = pickle.loads(data[SUM:])
            if found == key:
                return self.unpack(target_context, payload)
        for call in iter(_next_call, None):
            call()
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep the machine code for these types. If that cannot be done, nothing is lost but time."""
        with Interrupt():
            if USABLE and (packed := self.pack(sig, data)):
                self._save(*packed)

    def _save(self, key: Any, text: bytes) -> None:
        path = CACHE_DIR / self._file_name(key)
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

    def _file_name(self, key: Any) -> str:
        function = self.function
        made_by = (*VERSIONS, sys.implementation.cache_tag, *(getattr(config, name, None) for name in SWITCHES))
        what = repr((made_by, function.__module__, function.__qualname__, key))
        digest = hashlib.sha256(what.encode()).hexdigest()[:20]
        return f"{function.__module__}.{function.__name__}-{digest}.nbc"


def _warn_once(text: str, *args: Any) -> None:
    if text not in _warned:
        _warned.add(text)
        logging.getLogger("onlineboost").warning(text, *args)


_warned: set[str] = set()
