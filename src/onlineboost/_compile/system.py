"""What is asked of the operating system: folders that are the user's own, and signals.

`cache_folder` and the functions after it say where the package keeps what it can make or fetch again. `Interrupt` holds
back what the handlers of signals raise, while it would leave something half done.
"""

from __future__ import annotations

import _signal  # the functions of `signal` itself: those there take microseconds to make enums
import os
import signal
import stat
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

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


# Signals that a program may have a handler for. (Real-time signals, and faults of the program itself, are left out.)
NAMES = "HUP INT QUIT USR1 USR2 PIPE ALRM TERM CHLD CONT TSTP URG VTALRM PROF WINCH IO BREAK"
SIGNALS = [int(getattr(signal, f"SIG{name}")) for name in NAMES.split() if hasattr(signal, f"SIG{name}")]


class Interrupt:
    """Hold back what the handlers of signals raise (Ctrl-C, a timeout) where it would leave something half done.

    The handlers are called as ever. The first exception that one of them raises is kept in `pending` and raised at the
    end of the ``with``. Signals reach the main thread alone, so in other threads there is nothing to hold back.

    A handler can raise in the middle of `__enter__` and `__exit__` too, and leave `_note` in the place of another one.
    That does no harm: outside of the ``with``, `_note` holds nothing back.

    One ``with`` may be within another: the outer one then holds back what the inner one would raise at its end, unless
    it lets everything through.
    """

    def __init__(self) -> None:
        self.pending: BaseException | None = None
        self._handlers: dict[int, Any] = {}
        self._holds = False
        self._entered = False  # and not left

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                handler = _signal.getsignal(number)
                while getattr(handler, "__func__", None) is Interrupt._note and not handler.__self__._entered:
                    handler = handler.__self__._handlers[number]  # it was left behind: see above
                if callable(handler):  # it may also be ignored, left to the system, or not Python's
                    self._handlers[number] = handler
                    try:
                        _signal.signal(number, self._note)
                    except ValueError:  # the main thread of another interpreter in this process
                        del self._handlers[number]
            self._entered = self._holds = True  # nothing can strike between this and the body of the ``with``
        return self

    def _note(self, signum: int, frame: Any) -> None:
        try:
            self._handlers[signum](signum, frame)
        except BaseException as error:
            if not self._holds:
                raise
            self.pending = self.pending or error

    def pressed(self) -> bool:
        return self.pending is not None

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """For a while nothing is changed: what is raised, or was before, has its effect at once."""
        held, self._holds = self._holds, False
        try:
            if self.pending is not None:
                raise self.pending
            yield
        finally:
            self._holds = held

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._entered = self._holds = False
        for number, handler in self._handlers.items():
            if _signal.getsignal(number) == self._note:  # a handler may have put another one in its place
                _signal.signal(number, handler)
        if self.pending is not None and kind is None:
            raise self.pending.with_traceback(None)
