"""A public file to a local one: https alone, so many bytes at most, so long at most, and whole or not at all.

The only module that touches the network.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from typing import IO, Any
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

from onlineboost.data.errors import DataError

SCHEMES = ("https",)
QUIET, LONGEST = 30.0, 900.0  # seconds without a byte, and in all, after which a download is given up
PIECE = 1 << 16
OFFLINE = "ONLINEBOOST_OFFLINE"

Progress = Callable[[int, int | None], None]  # bytes so far, and in all if the server has said so


def is_offline() -> bool:
    """Whether the user has said that nothing is to be downloaded."""
    return os.environ.get(OFFLINE, "") not in ("", "0")


def download(url: str, into: IO[bytes], most: int, progress: Progress | None = None) -> None:
    """Write what is at this address to a file, and go to its start. Errors are OSErrors and DataErrors."""
    _check(url)
    begun, got = time.monotonic(), 0
    request = Request(url, headers={"User-Agent": "onlineboost"})
    with build_opener(_CheckedRedirects).open(request, timeout=QUIET) as response:
        said = response.headers.get("Content-Length")
        total = int(said) if said is not None and re.fullmatch(r"[0-9]{1,15}", said) else None
        while piece := response.read1(PIECE):  # what is there: a server may send it byte by byte
            got += len(piece)
            if got > most:
                raise DataError(f"it has more than the {most:,} bytes that the file should have at most")
            if time.monotonic() - begun > LONGEST:
                raise DataError(f"it took longer than {LONGEST:.0f} seconds")
            into.write(piece)
            if progress is not None:
                progress(got, total)
    if total is not None and got != total:
        raise DataError(f"the connection was lost after {got:,} of {total:,} bytes")
    into.seek(0)


def text_lines(file: IO[bytes], most: int) -> Iterator[str]:
    """The lines of a file that may be compressed: of so many bytes at most when it is not."""
    got = 0
    while line := file.readline(PIECE):
        got += len(line)
        if got > most:
            raise DataError(f"it has more than the {most:,} bytes that the file should have at most")
        yield line.decode()


def _check(url: str) -> None:
    try:
        scheme = urlsplit(url).scheme
    except ValueError:
        scheme = ""
    if scheme not in SCHEMES:
        raise DataError(f"{url} is not a {' or '.join(SCHEMES)} address")


class _CheckedRedirects(HTTPRedirectHandler):
    """Follows no server to where it would not have gone by itself."""

    def redirect_request(self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: str) -> Any:
        _check(newurl)
        return super().redirect_request(req, fp, code, msg, headers, newurl)
