"""Data sets from their public homes: fetched, brought into our form, checked, and kept."""

from __future__ import annotations

import csv
import gzip
import os
import tempfile
import zlib
from collections.abc import Iterator
from http.client import HTTPException
from os import PathLike
from pathlib import Path
from typing import IO, cast
from urllib.error import URLError

from onlineboost.data.errors import DataError
from onlineboost.datasets.catalogue import find_spec
from onlineboost.datasets.files import DataFile, PublicFile, data_cache, fingerprint, read_file
from onlineboost.datasets.web import OFFLINE, Progress, download, is_offline, text_lines

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
