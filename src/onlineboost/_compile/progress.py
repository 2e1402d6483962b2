"""A line in the terminal while kernels are compiled, which is gone when they are."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import suppress
from typing import Any

from onlineboost._compile.numba_internals import kernels_made

FIRST, EVERY = 1.0, 0.5  # seconds before it shows, and between two of it


class Progress:
    """How many kernels are done, of about how many, and for how long it has been going on; nothing without a terminal.

    Kernels of the second process (`beside`) count once they are loaded.
    """

    def __init__(self, about: int) -> None:
        self.about, self.before, self.began = about, kernels_made(), time.monotonic()
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._show, args=(sys.stderr,), daemon=True)
        with suppress(AttributeError, ValueError, RuntimeError):  # there is none, it is closed, or no thread is left
            if sys.stderr.isatty():
                self._thread.start()

    def _show(self, terminal: Any) -> None:
        length, pause = 0, FIRST
        with suppress(OSError, ValueError):  # the terminal has gone
            while not self._done.wait(pause):
                made, pause = kernels_made() - self.before, EVERY
                text = f"{made} of about {max(self.about, made)} kernels, {time.monotonic() - self.began:.0f} s"
                length = max(length, len(text))
                terminal.write(f"\r{text:{length}}")
                terminal.flush()
            terminal.write(f"\r{'':{length}}\r" if length else "")
            terminal.flush()

    def stop(self) -> None:
        """Wipe it away."""
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()
