"""A data set by its name: generated, read from a file and checked, or fetched from its public home and kept.

The only module that touches the network: https alone, limited in bytes and time, whole or not at all.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import re
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from http.client import HTTPException
from os import PathLike
from pathlib import Path
from typing import IO, Any, cast
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.errors import DataError
from onlineboost.data.files import read_blocks
from onlineboost.data.table import Table, joined
from onlineboost.datasets.catalogue import DataFile, PublicFile, data_cache, find_spec, first_file, folders
from onlineboost.datasets.dataset import Dataset, Rows


def load_dataset(name: str, *, data_home: str | PathLike[str] | None = None, fetch: bool = False) -> Dataset:
    """Generate a data set, or read it from a folder and check that it is the known one.

    Parameters
    ----------
    name
        One of :func:`dataset_names`.
    data_home
        Folder with the files. By default the one named by the environment variable ONLINEBOOST_DATA, then the
        cache folder where :func:`fetch_dataset` writes.
    fetch
        Whether a file that is not there may be downloaded with :func:`fetch_dataset`. If not, no network is used.

    Raises
    ------
    DataError
        If the name is unknown, the file is not there, or its content is not the expected one.

    Examples
    --------
    >>> nursery = load_dataset("nursery")
    >>> len(nursery), nursery.classes
    (12958, ('not_recom', 'priority', 'spec_prior', 'very_recom'))
    """
    spec = find_spec(name)
    if spec.file is None:
        X, y = spec.make()
    else:
        if fetch and spec.file.fetch is not None and first_file(spec.file, data_home) is None:
            fetch_dataset(name, data_home=data_home)
        path = find_file(name, spec.file, data_home)
        X, y = read_file(path, spec.file)
        if (found := fingerprint(X, y)) != spec.file.sha256:
            raise DataError(
                f"{path} is not the data known as {name!r}: the sha256 of its content is {found}, expected "
                f"{spec.file.sha256}. Replace the file (public home: {spec.file.home}), or, to use it as it "
                "is, give its path instead of the name."
            )
        X, y = spec.make(X, y)
    return Dataset(name, X, y, tuple(sorted(set(y))), spec.order, spec.note)


def find_file(name: str, file: DataFile, data_home: str | PathLike[str] | None) -> Path:
    """Where the file is; an error that says where it could come from if it is nowhere."""
    path = first_file(file, data_home)
    if path is not None:
        return path
    searched = " nor in ".join(map(str, folders(data_home)))
    fetch = f"fetch_dataset({name!r}) or `onlineboost datasets {name} --fetch` downloads it; or set"
    download = fetch if file.fetch else "Set"
    raise DataError(
        f"data set {name!r}: {file.name} is not in {searched}. {download} "
        "the environment variable ONLINEBOOST_DATA to the folder that has it. Expected: gzip-compressed CSV "
        f"with a header row, columns {file.layout}, class. Public home: {file.home}."
    )


def read_file(path: Path, file: DataFile) -> Rows:
    """All rows of a file, in memory."""
    X, y = joined(read_blocks(path, "class", nominal=file.nominal))
    categories = {
        name: tuple(sorted({value for value in column if value is not None}))
        for name, column in zip(X.names, X.columns, strict=True)
        if column.dtype == np.object_
    }
    return replace(X, categories=categories), y


def fingerprint(X: Table, y: NDArray[np.object_]) -> str:
    """The sha256 of names and values: numbers as little-endian doubles (one NaN, one zero), text as lines."""
    digest = hashlib.sha256()
    for name, column in zip([*X.names, "class"], [*X.columns, y], strict=True):
        digest.update(f"{name}\n".encode())
        if column.dtype == np.object_:
            digest.update("\n".join(value or "" for value in column).encode())
        else:
            digest.update(np.where(np.isnan(column), np.nan, column + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


# ------------------------------------------------------------------------------------------------------------- fetching


NO_FILE_NEEDED = "balance, car, nursery and the synthetic ones need no file"


def fetch_dataset(name: str, *, data_home: str | PathLike[str] | None = None, progress: Progress | None = None) -> Path:
    """Download a data set from its public home, check its content, and keep it where it will be found.

    Parameters
    ----------
    name
        "mushroom", "covertype" (UCI), "electricity", "segment" or "waveform" (OpenML), whose public files hold the same
        rows in the same order as ours.
    data_home
        Folder to write to; by default the cache folder, ~/.cache/onlineboost/data or its like.
    progress
        Called with the bytes that have come, and with how many there will be or None.

    Returns
    -------
    Path
        The new file. It appears only when complete and checked.

    Raises
    ------
    DataError
        If there is no network, the environment variable ONLINEBOOST_OFFLINE is set, or what comes is not the known
        data; the message says what to do.

    Examples
    --------
    >>> fetch_dataset("mushroom")  # doctest: +SKIP
    PosixPath('/home/me/.cache/onlineboost/data/mushroom.csv.gz')
    """
    file = find_spec(name).file
    if file is None:
        raise DataError(f"data set {name!r} is generated: load_dataset({name!r}) needs no file")
    if file.fetch is None:
        raise DataError(f"data set {name!r} cannot be fetched automatically. It is described at {file.home}.")
    folder = data_cache() if data_home is None else Path(data_home).expanduser()
    by_hand = f"put {file.name} from elsewhere in {folder}, or set ONLINEBOOST_DATA to the folder that has it"
    if is_offline():
        raise DataError(f"data set {name!r} is not fetched, since {OFFLINE} is set: unset it, or {by_hand}.")
    try:
        _fetch(file, file.fetch, folder, progress)
    except (DataError, csv.Error, OSError, EOFError, zlib.error, HTTPException, UnicodeDecodeError) as error:
        reason = str(error.reason if type(error) is URLError else error).rstrip(".")
        raise DataError(
            f"could not fetch {name!r} from {file.fetch.url}: {reason}. Try again later; without a network, or if "
            f"the file has changed for good, {by_hand}. Of the data sets, {NO_FILE_NEEDED}."
        ) from error
    return folder / file.name


def _fetch(file: DataFile, public: PublicFile, folder: Path, progress: Progress | None) -> None:
    """Everything into files without a name, or with a name that nobody looks for, until it has been checked."""
    folder.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=folder, prefix=f".{file.name}-", suffix=".csv.gz")
    os.close(handle)
    try:
        with tempfile.TemporaryFile(dir=folder) as raw:
            download(public.url, raw, public.most, progress)
            with gzip.open(part, "wt", encoding="utf-8", newline="") as out:
                csv.writer(out, lineterminator="\n").writerows(_public_rows(public, raw))
        if (found := fingerprint(*read_file(Path(part), file))) != file.sha256:
            raise DataError(f"the sha256 of its content is {found}, expected {file.sha256}")
        os.replace(part, folder / file.name)
    finally:
        Path(part).unlink(missing_ok=True)


def _public_rows(public: PublicFile, raw: IO[bytes]) -> Iterator[list[str]]:
    """A header, then the rows of a public file with the columns in our order."""
    yield public.names.split()
    unpacked = cast(IO[bytes], gzip.GzipFile(fileobj=raw)) if public.url.endswith(".gz") else raw
    lines = text_lines(unpacked, public.most)
    if public.url.endswith(".arff"):
        lines = _data_of_arff(lines)
    for row in csv.reader(lines, quotechar="'" if public.url.endswith(".arff") else '"', skipinitialspace=True):
        if len(row) != len(public.order):
            raise DataError(f"it has a row of {len(row)} values, expected {len(public.order)}")
        yield [row[j] for j in public.order]


def _data_of_arff(lines: Iterator[str]) -> Iterator[str]:
    """The rows of a file in Weka's format: what comes after @data, without comments and blank lines."""
    for line in lines:
        if line.strip().lower() == "@data":
            break
    else:
        raise DataError("it is not an ARFF file: it has no line @data")
    for line in lines:
        if line.strip() and not line.startswith("%"):
            yield line


# ---------------------------------------------------------------------------------------------------------- the network


SCHEMES = ("https",)
MAX_QUIET_SECONDS, MAX_SECONDS = 30.0, 900.0  # seconds without a byte, and in all, after which a download is given up
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
    with build_opener(_CheckedRedirects).open(request, timeout=MAX_QUIET_SECONDS) as response:
        said = response.headers.get("Content-Length")
        total = int(said) if said is not None and re.fullmatch(r"[0-9]{1,15}", said) else None
        while piece := response.read1(PIECE):  # what is there: a server may send it byte by byte
            got += len(piece)
            if got > most:
                raise DataError(f"it has more than the {most:,} bytes that the file should have at most")
            if time.monotonic() - begun > MAX_SECONDS:
                raise DataError(f"it took longer than {MAX_SECONDS:.0f} seconds")
            into.write(piece)
            if progress is not None:
                progress(got, total)
    if total is not None and got != total:
        raise DataError(f"the connection was lost after {got:,} of {total:,} bytes")
    into.seek(0)


def text_lines(file: IO[bytes], most: int) -> Iterator[str]:
    """The lines of a file that may be compressed: of limited size when it is not."""
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
