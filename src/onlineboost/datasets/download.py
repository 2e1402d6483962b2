"""Data sets from their public homes. The only module that touches the network."""

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
from urllib.request import urlopen

from onlineboost.data.errors import DataError
from onlineboost.datasets.catalogue import find_spec
from onlineboost.datasets.files import PublicFile, data_cache, fingerprint, read_file


def fetch_dataset(name: str, *, data_home: str | PathLike[str] | None = None) -> Path:
    """Download a data set from its public home, check its content, and keep it where it will be found.

    Parameters
    ----------
    name
        "mushroom" or "covertype", whose public files hold the same rows in the same order as ours.
    data_home
        Folder to write to; by default the cache folder, ~/.cache/onlineboost/data or its like.

    Returns
    -------
    Path
        The new file. It appears only when complete and checked.

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
    folder.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=folder, prefix=f".{file.name}-", suffix=".csv.gz")
    os.close(handle)
    try:
        with gzip.open(part, "wt", encoding="utf-8", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows(_public_rows(file.fetch))
        if (found := fingerprint(*read_file(Path(part), file))) != file.sha256:
            raise DataError(f"the sha256 of its content is {found}, expected {file.sha256}")
        os.replace(part, folder / file.name)
    except (DataError, csv.Error, OSError, EOFError, zlib.error, HTTPException, UnicodeDecodeError) as error:
        raise DataError(
            f"could not fetch {name!r} from {file.fetch.url}: {error}. Try again later; if it has changed "
            f"for good, find {file.name} elsewhere and put it in {folder}."
        ) from error
    finally:
        Path(part).unlink(missing_ok=True)
    return folder / file.name


def _public_rows(public: PublicFile) -> Iterator[list[str]]:
    """Download a public file: a header, then its rows with the columns in our order."""
    yield public.names.split()
    with urlopen(public.url, timeout=60) as response:
        lines = gzip.GzipFile(fileobj=response) if public.url.endswith(".gz") else response
        for row in csv.reader(line.decode() for line in lines):
            if len(row) != len(public.order):
                raise DataError(f"{public.url} has a row of {len(row)} values, expected {len(public.order)}")
            yield [row[j] for j in public.order]
