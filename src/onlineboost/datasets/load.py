"""A data set by its name: generated, or read from a file and checked."""

from __future__ import annotations

from os import PathLike

from onlineboost.data.errors import DataError
from onlineboost.datasets.catalogue import find_spec
from onlineboost.datasets.dataset import Dataset
from onlineboost.datasets.download import fetch_dataset
from onlineboost.datasets.files import find_file, fingerprint, first_file, read_file


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
