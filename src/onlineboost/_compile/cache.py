"""Where the machine code of the kernels is kept.

Numba's disk cache looks only at the file a kernel stands in: edit ``losses.py``, and a kernel of ``loops.py`` that has
it built in goes on running the old code. So the cache folder is named after a hash of all sources with kernels in them.
The folders of other versions are kept for as long as they are in use, and removed after that.

A folder to keep it in is no condition for anything: without one, every process compiles for itself.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Collection, Iterator
from pathlib import Path

from onlineboost._compile.folders import cache_folder, ignoring_the_system, make_private, temporary_folders

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
    sources = source_hash(WITH_KERNELS)
    name = f"kernels-{sources}"
    homes = list(_homes())
    if not sources:  # in an archive, or compiled files alone: there is no telling when machine code is out of date
        return homes[0] / name, "the package has no source files"
    reasons = []
    for home in homes:
        if not (wrong := claim(home, name)):
            return home / name, ""
        reasons.append(wrong)
    return homes[0] / name, reasons[0]


CACHE_DIR, WHY_NOT = _settle()
USABLE = not WHY_NOT


def is_known(what: str) -> bool:
    """Whether this has been compiled before, by a process that could keep it."""
    return USABLE and os.path.exists(CACHE_DIR / f"{what}.known")


def note_known(what: str) -> None:
    """This has been compiled."""
    if USABLE:
        with ignoring_the_system():  # it will be announced again, no more
            (CACHE_DIR / f"{what}.known").touch()
