"""A file that is replaced as a whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from onlineboost._compile.system import ignoring_the_system

PART = ".onlineboost-*.part"  # files that a program left behind which was killed while it wrote


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write to that takes the place of `path` at the end.

    Whatever happens meanwhile (an error, a full disk, a program killed, a machine switched off), `path` is the old file
    or the new one. A link is followed; who may read the old file may read the new one.
    """
    target = Path(os.path.realpath(path))
    mode = _mode(target)
    part = target.parent / f".onlineboost-{secrets.token_hex(8)}.part"
    try:
        # Made by os.open, so that the system applies the user's mask: Python can only ask for it by changing it.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
        with open(os.open(part, flags, 0o666), "wb") as file:
            yield file
            file.flush()
            if mode is not None and hasattr(os, "fchmod"):
                with ignoring_the_system():
                    os.fchmod(file.fileno(), mode)
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException as error:
        with contextlib.suppress(OSError):
            part.unlink()
        if isinstance(error, OSError) and error.errno is not None and error.filename in (None, str(part), part):
            raise type(error)(error.errno, error.strerror, str(path)) from None  # the name that the user knows
        raise
    with ignoring_the_system():  # have the names in the folder on disk, where a system can do that
        handle = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _mode(target: Path) -> int | None:
    """Who may do what with the file that is there; None: there is none."""
    try:
        found = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(found):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    if not stat.S_ISREG(found):  # os.replace would put a file in place of /dev/null
        raise OSError(errno.EINVAL, "it is a device or a pipe, not a file", str(target))
    return stat.S_IMODE(found)
