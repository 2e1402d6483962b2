"""Where the package keeps what it can make or fetch again."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

OTHERS = stat.S_IWGRP | stat.S_IWOTH  # may write


def cache_folder() -> Path:
    """The user's cache folder for this package: ~/.cache/onlineboost or its like. It may not exist yet.

    Where nobody knows what this user's home is, it is a folder of the user's own among the temporary files. It is never
    below the current folder, which may hold files of strangers: a variable with a relative path counts as not set.
    """
    if sys.platform == "win32":
        bases = [os.environ.get("LOCALAPPDATA"), "~/AppData/Local"]
    else:
        bases = [os.environ.get("XDG_CACHE_HOME"), "~/.cache"]
    for base in bases:
        path = os.path.expanduser(base or "")
        if os.path.isabs(path):
            return Path(path) / "onlineboost"
    return next(temporary_folders(), Path(os.devnull)) / "cache"


def temporary_folders() -> Iterator[Path]:
    """Folders for this user alone among the temporary files; they may not exist yet."""
    if hasattr(os, "getuid"):
        for base in (os.environ.get("TMPDIR", ""), "/tmp", "/var/tmp"):
            if os.path.isabs(base) and os.path.isdir(base):
                yield Path(base) / f"onlineboost-{os.getuid()}"


def reraise_if_from_handler(error: OSError) -> None:
    """The system's errors have a number. The handler of a signal may raise TimeoutError, an OSError without one."""
    if error.errno is None:
        raise error


@contextmanager
def ignoring_the_system() -> Iterator[None]:
    """Errors of the system are passed over, but not what the handler of a signal raises."""
    try:
        yield
    except OSError as error:
        reraise_if_from_handler(error)


def make_private(folder: Path) -> str:
    """Make a folder that nobody but its owner can write to; what is wrong with it, in words ("": nothing).

    What is kept there is run, so whoever can write to it could run what he likes.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            if folder.stat().st_uid == os.getuid() and folder.stat().st_mode & OTHERS:
                folder.chmod(0o700)
            real = folder.resolve()
            for path in dict.fromkeys((folder, *folder.parents, real, *real.parents)):
                if wrong := _open_to_others(path, above=path not in (folder, real)):
                    return f"{path} {wrong}"
        if not os.access(folder, os.W_OK | os.X_OK):
            return f"{folder} cannot be written to"
    except OSError as error:
        return f"{folder} cannot be made ({error.strerror or error})"
    return ""


def _open_to_others(path: Path, above: bool) -> str:
    """How others could put files here. In folders `above`, the sticky bit keeps them from moving what is not theirs."""
    found = path.lstat()
    if found.st_uid not in (0, os.getuid()):
        return "belongs to another user"
    if stat.S_ISLNK(found.st_mode):
        return ""  # where it leads is looked at by itself
    if found.st_mode & (stat.S_IWOTH if above else OTHERS) and not (above and found.st_mode & stat.S_ISVTX):
        return "can be written to by other users"
    return ""
