"""Where the machine code of the kernels is kept.

Numba's disk cache looks only at the file a kernel stands in: edit ``losses.py``, and a kernel of ``loops.py`` that has
it built in goes on running the old code. So the cache folder is named after a hash of all sources with kernels in them.
The folders of other versions are kept for as long as they are in use, and removed after that.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Collection
from pathlib import Path

from onlineboost._compile.folders import cache_folder

ROOT = Path(__file__).parents[1]  # of the package
WITH_KERNELS = ("_compile", "boosters", "chain", "contracts", "theory", "trees")  # sub-packages
KEPT = 3  # versions whose machine code is kept in any case: this one, and those used last
UNUSED = 24 * 3600.0  # seconds after which others are removed: by then no process is about to write to them


def source_hash(packages: Collection[str]) -> str:
    """A hash of the sources of these sub-packages, those in folders below them too."""
    digest = hashlib.sha256()
    for path in sorted(ROOT.rglob("*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name.partition("/")[0] in packages:
            digest.update(name.encode() + path.read_bytes())
    return digest.hexdigest()[:12]


def claim(home: Path, name: str) -> bool:
    """Make the folder `name` in `home`, mark it as used now, and remove the versions used longest ago.

    False: it cannot be written to.
    """
    folder = home / name
    try:
        fresh = not folder.exists()
        folder.mkdir(parents=True, exist_ok=True)
        os.utime(folder)
        if fresh:
            used = {path: path.stat().st_mtime for path in home.glob("kernels-*") if path != folder}
            for old in sorted(used, key=used.__getitem__, reverse=True)[KEPT - 1 :]:
                if used[old] < time.time() - UNUSED:
                    shutil.rmtree(old, ignore_errors=True)
        return os.access(folder, os.W_OK)
    except OSError:
        return False


def _home() -> Path:
    """Numba's own folder if the user has chosen one, else the package's."""
    try:
        return Path(os.environ.get("NUMBA_CACHE_DIR") or cache_folder())
    except RuntimeError:  # nobody knows where this user's home is
        return Path(os.devnull)


CACHE_DIR = _home() / f"kernels-{source_hash(WITH_KERNELS)}"
USABLE = claim(CACHE_DIR.parent, CACHE_DIR.name)


def is_known(what: str) -> bool:
    """Whether this has been asked before: then its machine code is on disk, or about to be."""
    mark = CACHE_DIR / f"{what}.known"
    try:
        known = mark.exists()
        mark.touch()
    except OSError:
        return False
    return known
