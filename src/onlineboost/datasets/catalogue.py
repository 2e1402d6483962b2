"""The paper's seven data sets, a few well-known streams, and synthetic ones of any length.

Balance, Car and Nursery are complete factorial designs whose class follows small tables: they are generated
here, row for row as published. The others are read from a folder, and their content is checked (see
:func:`load_dataset`). The package contains no data and touches the network in :func:`fetch_dataset` only.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import os
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from http.client import HTTPException
from os import PathLike
from pathlib import Path
from typing import Any, Literal
from urllib.request import urlopen

import numpy as np
from numpy.typing import NDArray

from onlineboost.data.stream import DataError, Table, read_blocks

Order = Literal["shuffle", "time"]
Rows = tuple[Table, NDArray[np.object_]]  # predictors and labels


@dataclass(frozen=True, eq=False)
class Dataset:
    """Predictors and labels, held in memory.

    Parameters
    ----------
    name
        As given to :func:`load_dataset`.
    X
        The predictors. The values of every nominal column are in ``X.categories``.
    y
        The labels, an object array of str.
    classes
        The distinct labels, sorted.
    order
        "shuffle" if the rows are sorted or their order is arbitrary: shuffle before an online run. "time" if
        the order carries meaning: run them as they are.
    note
        What to know before trusting a number.

    Examples
    --------
    >>> balance = load_dataset("balance")
    >>> balance.X, balance.classes, len(balance)
    (Table(625 rows; numeric: left_weight, left_distance, right_weight, right_distance), ('B', 'L', 'R'), 625)
    """

    name: str
    X: Table
    y: NDArray[np.object_]
    classes: tuple[str, ...]
    order: Order
    note: str

    def __len__(self) -> int:
        return len(self.y)

    def shuffled(self, seed: int) -> Dataset:
        """The same rows in a random order; the same seed gives the same order.

        Examples
        --------
        >>> load_dataset("car").shuffled(seed=1).y[:3]
        array(['unacc', 'unacc', 'acc'], dtype=object)
        """
        rows = np.random.default_rng(seed).permutation(len(self))
        return replace(self, X=self.X[rows], y=self.y[rows])


def dataset_names() -> tuple[str, ...]:
    """Names that :func:`load_dataset` takes: the paper's seven first.

    Examples
    --------
    >>> dataset_names()[:7]
    ('balance', 'mice', 'car', 'mushroom', 'nursery', 'isolet', 'movement')
    """
    return tuple(_SETS)


def load_dataset(name: str, *, data_home: str | PathLike[str] | None = None) -> Dataset:
    """Generate a data set, or read it from a folder and check that it is the known one.

    Parameters
    ----------
    name
        One of :func:`dataset_names`.
    data_home
        Folder with the files. By default the one named by the environment variable ONLINEBOOST_DATA, then the
        cache folder where :func:`fetch_dataset` writes.

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
    spec = _spec(name)
    if spec.file is None:
        X, y = spec.make()
    else:
        path = _find(name, spec.file, data_home)
        X, y = _read(path, spec.file)
        if (found := _fingerprint(X, y)) != spec.file.sha256:
            raise DataError(
                f"{path} is not the data known as {name!r}: the sha256 of its content is {found}, expected "
                f"{spec.file.sha256}. Replace the file (public home: {spec.file.home}), or, to use it as it "
                "is, give its path instead of the name."
            )
        X, y = spec.make(X, y)
    return Dataset(name, X, y, tuple(sorted(set(y))), spec.order, spec.note)


def describe_datasets(*, data_home: str | PathLike[str] | None = None) -> list[dict[str, Any]]:
    """What there is: for each data set its name, rows, columns, classes, order, available, where and note.

    ``available`` says whether the file is there (its content is checked by :func:`load_dataset`); ``where``
    is "generated", the file, or, if there is none, the public home of the data.

    Examples
    --------
    >>> car = describe_datasets()[2]
    >>> car["name"], car["rows"], car["columns"], car["classes"], car["available"], car["where"]
    ('car', 1728, 6, 4, True, 'generated')
    """
    lines = []
    for name, spec in _SETS.items():
        path = None if spec.file is None else _first_file(spec.file, data_home)
        lines.append(
            {
                "name": name,
                "rows": spec.rows,
                "columns": spec.columns,
                "classes": spec.classes,
                "order": spec.order,
                "available": spec.file is None or path is not None,
                "where": "generated" if spec.file is None else str(path or spec.file.home),
                "note": spec.note,
            }
        )
    return lines


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
    file = _spec(name).file
    if file is None:
        raise DataError(f"data set {name!r} is generated: load_dataset({name!r}) needs no file")
    if file.fetch is None:
        raise DataError(f"data set {name!r} cannot be fetched automatically. It is described at {file.home}.")
    folder = _cache_folder() if data_home is None else Path(data_home).expanduser()
    folder.mkdir(parents=True, exist_ok=True)
    handle, part = tempfile.mkstemp(dir=folder, prefix=f".{file.name}-", suffix=".csv.gz")
    os.close(handle)
    try:
        with gzip.open(part, "wt", encoding="utf-8", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows(file.fetch.rows())
        if (found := _fingerprint(*_read(Path(part), file))) != file.sha256:
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


# -------------------------------------------------------------------------------------------------- synthetic


def synthetic_stream(
    n: int,
    n_columns: int = 10,
    n_classes: int = 5,
    seed: int = 0,
    drift: Literal["abrupt", "gradual"] | None = None,
) -> Dataset:
    """Gaussian clusters, four to a class, with noise: easy to learn something from, hard to learn fully.

    The first 60 % of the columns place the clusters, the rest are irrelevant; 5 % of the labels are drawn at
    random. A class is a union of round clusters, which the straight cuts of one small tree fit badly, so that
    many trees gain. Without drift, the first rows do not depend on ``n``.

    Parameters
    ----------
    n, n_columns, n_classes
        Size of the stream.
    seed
        The same seed gives the same stream.
    drift
        "abrupt": all clusters move at the middle of the stream. "gradual": over the middle third, more and
        more rows come from the moved clusters.

    Examples
    --------
    >>> stream = synthetic_stream(1000, n_columns=3, n_classes=2, drift="abrupt")
    >>> stream.X, stream.classes
    (Table(1000 rows; numeric: x1, x2, x3), ('c1', 'c2'))
    """
    if n < 1 or n_columns < 1 or n_classes < 2:
        raise ValueError(f"need n >= 1, n_columns >= 1, n_classes >= 2, got {n}, {n_columns}, {n_classes}")
    if drift not in (None, "abrupt", "gradual"):
        raise ValueError(f"drift must be None, 'abrupt' or 'gradual', got {drift!r}")
    generators = np.random.default_rng(seed).spawn(6)  # one per purpose: longer streams continue shorter ones
    for_centres, for_clusters, for_values, for_labels, for_noise, for_drift = generators
    n_clusters, n_relevant = 4 * n_classes, -(-6 * n_columns // 10)
    centres = for_centres.normal(0, 2, size=(2, n_clusters, n_relevant))  # before and after the drift

    position = (np.arange(n) + 0.5) / n
    if drift is None:
        after = np.zeros(n, dtype=np.intp)
    elif drift == "abrupt":
        after = (position > 1 / 2).astype(np.intp)
    else:
        after = (for_drift.random(n) < 3 * position - 1).astype(np.intp)

    cluster = for_clusters.integers(n_clusters, size=n)
    values = for_values.normal(size=(n, n_columns))
    values[:, :n_relevant] += centres[after, cluster]
    label = np.where(for_noise.random(n) < 0.05, for_labels.integers(n_classes, size=n), cluster % n_classes)

    width = len(str(n_classes))  # c01 ... c10 sort as they count
    names = np.array([f"c{i + 1:0{width}}" for i in range(n_classes)], dtype=object)
    table = Table(tuple(f"x{j + 1}" for j in range(n_columns)), tuple(np.ascontiguousarray(values.T)))
    name = "synthetic" if drift is None else f"synthetic-{drift}"
    y = names[label]
    order: Order = "shuffle" if drift is None else "time"
    return Dataset(name, table, y, tuple(sorted(set(y))), order, _SYNTHETIC_NOTE)


# ------------------------------------------------------------------------------ factorial designs (generated)


def _grid(text: str, *shape: int) -> NDArray[Any]:
    """A table of one-character entries."""
    return np.array(list(text.replace(" ", ""))).reshape(shape)


def _levels(text: str, *shape: int) -> NDArray[np.intp]:
    return _grid(text, *shape).astype(np.intp)


def _design(domains: dict[str, str]) -> tuple[Table, NDArray[np.intp]]:
    """Every combination of values, first column slowest, and the same as value numbers, a row per column."""
    values = {name: tuple(words.split()) for name, words in domains.items()}
    codes = np.indices([len(v) for v in values.values()]).reshape(len(values), -1)
    columns = tuple(np.array(v, dtype=object)[code] for v, code in zip(values.values(), codes, strict=True))
    return Table(tuple(values), columns, values), codes


def _words(letters: NDArray[Any], **word: str) -> NDArray[np.object_]:
    return np.array([word[letter] for letter in letters], dtype=object)


def _balance() -> Rows:
    """The scale tips to the side where weight x distance is larger."""
    levels = np.indices((5, 5, 5, 5)).reshape(4, -1) + 1.0
    left_weight, left_distance, right_weight, right_distance = levels
    tips = np.sign(left_weight * left_distance - right_weight * right_distance).astype(np.intp)
    names = ("left_weight", "left_distance", "right_weight", "right_distance")
    return Table(names, tuple(levels)), np.array(["B", "L", "R"], dtype=object)[tips]  # -1 is the last: R


def _car() -> Rows:
    table, (buying, maint, doors, persons, lug_boot, safety) = _design(
        {
            "buying": "vhigh high med low",
            "maint": "vhigh high med low",
            "doors": "2 3 4 5more",
            "persons": "2 4 more",
            "lug_boot": "small med big",
            "safety": "low med high",
        }
    )
    price = _levels("0011 0111 1123 1233", 4, 4)[buying, maint]
    comfort = _levels("000112012 000112122 000122122 000122122", 4, 3, 3)[doors, persons, lug_boot]
    tech = _levels("000 012 023", 3, 3)[comfort, safety]
    car = _grid("uuuu uuaa uaav uagv", 4, 4)[price, tech]
    return table, _words(car, u="unacc", a="acc", g="good", v="vgood")


def _nursery5() -> Rows:
    table, (parents, has_nurs, form, children, housing, finance, social, health) = _design(
        {
            "parents": "usual pretentious great_pret",
            "has_nurs": "proper less_proper improper critical very_crit",
            "form": "complete completed incomplete foster",
            "children": "1 2 3 more",
            "housing": "convenient less_conv critical",
            "finance": "convenient inconv",
            "social": "nonprob slightly_prob problematic",
            "health": "recommended priority not_recom",
        }
    )
    employ = _levels("01123 11233 22333", 3, 5)[parents, has_nurs]
    structure = _levels("0122 1122 1222 2222", 4, 4)[form, children]
    housing_finance = _levels("01 11 22", 3, 2)[housing, finance]
    struct_finan = _levels("011 112 122", 3, 3)[structure, housing_finance]
    soc_health = _levels("012 012 112", 3, 3)[social, health]
    nursery = _grid("rpnvpnppn vpnvpnppn ppnppnpsn ppnpsnssn", 4, 3, 3)[employ, struct_finan, soc_health]
    words = {"r": "recommend", "v": "very_recom", "p": "priority", "s": "spec_prior", "n": "not_recom"}
    return table, _words(nursery, **words)


def _nursery() -> Rows:
    table, y = _nursery5()
    kept = y != "recommend"
    return table[kept], y[kept]


# ------------------------------------------------------------------------------------- what is made of a file


def _as_read(X: Table, y: NDArray[np.object_]) -> Rows:
    return X, y


def _proteins(X: Table, y: NDArray[np.object_]) -> Rows:
    """Without the animal's number and its treatment, which together give the class away."""
    kept = [j for j, name in enumerate(X.names) if name.endswith("_N")]
    return Table(tuple(X.names[j] for j in kept), tuple(X.columns[j] for j in kept)), y


def _principal_components(X: Table, y: NDArray[np.object_], n_components: int = 50) -> Rows:
    """Projection on the leading eigenvectors of the covariance, the largest entry of each being positive."""
    values = np.stack(X.columns, axis=1)
    values -= values.mean(axis=0)
    _, vectors = np.linalg.eigh(values.T @ values)
    axes = vectors[:, ::-1][:, :n_components]
    axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), np.arange(n_components)])
    names = tuple(f"pc{j + 1}" for j in range(n_components))
    return Table(names, tuple(np.ascontiguousarray((values @ axes).T))), y


# ------------------------------------------------------------------------------------------------------ files


@dataclass(frozen=True)
class _Fetch:
    """A public file, comma-separated without a header: our columns' names, and where in its rows they are."""

    url: str
    names: str  # separated by spaces
    order: Sequence[int]

    def rows(self) -> Iterator[list[str]]:
        yield self.names.split()
        with urlopen(self.url, timeout=60) as response:
            lines = gzip.GzipFile(fileobj=response) if self.url.endswith(".gz") else response
            for row in csv.reader(line.decode() for line in lines):
                if len(row) != len(self.order):
                    raise DataError(f"{self.url} has a row of {len(row)} values, expected {len(self.order)}")
                yield [row[j] for j in self.order]


@dataclass(frozen=True)
class _File:
    """A file in the data folder.

    ``sha256`` is that of the parsed content (see ``_fingerprint``), so that a file compressed or formatted
    in another way is still the same data.
    """

    name: str
    sha256: str
    home: str
    layout: str
    nominal: tuple[str, ...] = ()
    fetch: _Fetch | None = None


@dataclass(frozen=True)
class _Spec:
    rows: int
    columns: int
    classes: int
    order: Order
    make: Callable[..., Rows]
    file: _File | None = None  # without one, make() generates
    note: str = ""


def _spec(name: str) -> _Spec:
    if name not in _SETS:
        near = get_close_matches(name.lower(), _SETS)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise DataError(f"no data set is named {name!r}.{hint} There are: {', '.join(_SETS)}.")
    return _SETS[name]


def _cache_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "onlineboost" / "data"


def _folders(data_home: str | PathLike[str] | None) -> list[Path]:
    if data_home is not None:
        return [Path(data_home).expanduser()]
    named = os.environ.get("ONLINEBOOST_DATA")
    return [*([Path(named).expanduser()] if named else []), _cache_folder()]


def _first_file(file: _File, data_home: str | PathLike[str] | None) -> Path | None:
    return next((f / file.name for f in _folders(data_home) if (f / file.name).is_file()), None)


def _find(name: str, file: _File, data_home: str | PathLike[str] | None) -> Path:
    path = _first_file(file, data_home)
    if path is not None:
        return path
    folders = " nor in ".join(map(str, _folders(data_home)))
    download = f"fetch_dataset({name!r}) downloads it; or set" if file.fetch else "Set"
    raise DataError(
        f"data set {name!r}: {file.name} is not in {folders}. {download} "
        "the environment variable ONLINEBOOST_DATA to the folder that has it. Expected: gzip-compressed CSV "
        f"with a header row, columns {file.layout}, class. Public home: {file.home}."
    )


def _read(path: Path, file: _File) -> Rows:
    blocks = list(read_blocks(path, "class", nominal=file.nominal))
    names = blocks[0].X.names
    columns = [np.concatenate([block.X.columns[j] for block in blocks]) for j in range(len(names))]
    categories = {
        name: tuple(sorted({value for value in column if value is not None}))
        for name, column in zip(names, columns, strict=True)
        if column.dtype == np.object_
    }
    return Table(names, tuple(columns), categories), np.concatenate([block.y for block in blocks])


def _fingerprint(X: Table, y: NDArray[np.object_]) -> str:
    """The sha256 of names and values: numbers as little-endian doubles (one NaN, one zero), text as lines."""
    digest = hashlib.sha256()
    for name, column in zip([*X.names, "class"], [*X.columns, y], strict=True):
        digest.update(f"{name}\n".encode())
        if column.dtype == np.object_:
            digest.update("\n".join(value or "" for value in column).encode())
        else:
            digest.update(np.where(np.isnan(column), np.nan, column + 0.0).astype("<f8").tobytes())
    return digest.hexdigest()


# --------------------------------------------------------------------------------------------------- the sets

_UCI = "UCI Machine Learning Repository, archive.ics.uci.edu, "
_UCI_FILES = "https://archive.ics.uci.edu/ml/machine-learning-databases"

_MUSHROOM_NAMES = (
    "cap-shape cap-surface cap-color bruises odor gill-attachment gill-spacing gill-size gill-color "
    "stalk-shape stalk-root stalk-surface-above-ring stalk-surface-below-ring stalk-color-above-ring "
    "stalk-color-below-ring veil-type veil-color ring-number ring-type spore-print-color population habitat "
    "class"
)
_COVERTYPE_NAMES = (
    "Elevation Aspect Slope Horizontal_Distance_To_Hydrology Vertical_Distance_To_Hydrology "
    "Horizontal_Distance_To_Roadways Hillshade_9am Hillshade_Noon Hillshade_3pm "
    f"Horizontal_Distance_To_Fire_Points {' '.join(f'Wilderness_Area{i}' for i in range(1, 5))} "
    f"{' '.join(f'Soil_Type{i}' for i in range(1, 41))} class"
)

_MICE = _File(
    "mice.csv.gz",
    "52dd05b32148965ad875cff9ac30647861bc1fe12e2caf3dc8352061ff9a0bc3",
    _UCI + "'Mice Protein Expression'",
    "MouseID, the 77 proteins (DYRK1A_N ... CaNA_N), Genotype, Treatment, Behavior",
)
_MUSHROOM = _File(
    "mushroom.csv.gz",
    "6c50d054677fbcd95771de0db0c17065384ae39bf0ed3713d425460edc0de174",
    _UCI + "'Mushroom'",
    "cap-shape ... habitat",
    # the class comes first in the public file
    fetch=_Fetch(f"{_UCI_FILES}/mushroom/agaricus-lepiota.data", _MUSHROOM_NAMES, (*range(1, 23), 0)),
)
_ISOLET = _File(
    "isolet.csv.gz",
    "9bb6f6405e05abf203f2d2bccedcf07f8b375a68da08ac6e6caaffbabef7230a",
    _UCI + "'ISOLET'",
    "f1 ... f617",
)
_MOVEMENT = _File(
    "movement.csv.gz",
    "e5090a1176b02c61c71f390aad395b4217af587cac8cc6319509a783f949ef41",
    _UCI + "'Wearable Computing: Classification of Body Postures and Movements (PUC-Rio)'",
    "x1, y1, z1 ... x4, y4, z4",
)
_ELECTRICITY = _File(
    "electricity.csv.gz",
    "95573067a3c1c27f36fb39ea335214288dd3571dbdc8124586926a6690a613b0",
    "MOA data sets (moa.cms.waikato.ac.nz), elecNormNew.arff",
    "date, day, period, nswprice, nswdemand, vicprice, vicdemand, transfer",
    nominal=("day",),
)
_COVERTYPE = _File(
    "covertype.csv.gz",
    "a471dea63e829bbb8f2389398590f3d8e54f85669d11f64503cb6a33bffabd52",
    _UCI + "'Covertype'",
    "Elevation ... Horizontal_Distance_To_Fire_Points, Wilderness_Area1 ... 4, Soil_Type1 ... 40",
    fetch=_Fetch(f"{_UCI_FILES}/covtype/covtype.data.gz", _COVERTYPE_NAMES, range(55)),
)
_KEYSTROKE = _File(
    "keystroke.csv.gz",
    "dbeb472807af4fa2fc595881eebd37707078d4351be497ffafb89bf10a5b249e",
    "github.com/vlosing/driftDatasets, artificial/souza/keystroke",
    "k1 ... k10",
)
_SHUTTLE = _File(
    "shuttle.csv.gz",
    "731133fed6c1e5792cf78b7d773ccc2972643ce694502e0cdc14d2cd0e112b5f",
    _UCI + "'Statlog (Shuttle)'; R package mlbench, Shuttle",
    "V1 ... V9",
)
_SEGMENT = _File(
    "segment.csv.gz",
    "78941e96a0c4700304d97e7febf28d3f5151481ecb7caecf619b1df039820374",
    _UCI + "'Image Segmentation'; as segment.arff among the Weka data sets",
    "region-centroid-col ... hue-mean",
)
_WAVEFORM = _File(
    "waveform.csv.gz",
    "60f58a3ce02f0e7b430d8239c809e2904c88c325af5cc673be8ba94b2a47079f",
    _UCI + "'Waveform Database Generator (Version 2)'; as waveform-5000.arff among the Weka data sets",
    "x1 ... x40",
)

_SYNTHETIC_NOTE = "Clusters in the first 60 % of the columns, the rest irrelevant; 5 % of the labels random."


def _synthetic(drift: Literal["abrupt", "gradual"] | None) -> Callable[[], Rows]:
    def make() -> Rows:
        stream = synthetic_stream(50_000, drift=drift)
        return stream.X, stream.y

    return make


_SETS: dict[str, _Spec] = {
    "balance": _Spec(625, 4, 3, "shuffle", _balance),
    "mice": _Spec(
        1080, 77, 8, "shuffle", _proteins, _MICE,
        "Sorted by class. 1396 values missing (the paper puts 0). Left out: columns that tell the class.",
    ),
    "car": _Spec(1728, 6, 4, "shuffle", _car),
    "mushroom": _Spec(
        8124, 22, 2, "shuffle", _as_read, _MUSHROOM,
        "'?' in stalk-root is a value of its own; veil-type is constant.",
    ),
    "nursery": _Spec(
        12958, 8, 4, "shuffle", _nursery,
        note="As in the paper, without the 2 rows of class recommend; nursery5 has them.",
    ),
    "isolet": _Spec(
        7797, 50, 26, "shuffle", _principal_components, _ISOLET,
        "The first 50 principal components of all rows, as in the paper: the projection has seen the future.",
    ),
    "movement": _Spec(165632, 12, 5, "shuffle", _as_read, _MOVEMENT, "Sorted by class, then by person."),
    "nursery5": _Spec(12960, 8, 5, "shuffle", _nursery5, note="The raw set; class recommend has 2 rows."),
    "isolet617": _Spec(7797, 617, 26, "shuffle", _as_read, _ISOLET, "The raw columns of isolet."),
    "electricity": _Spec(
        45312, 8, 2, "time", _as_read, _ELECTRICITY,
        "Half-hours in time order, normalised. Repeating the last label is right 85 % of the time.",
    ),
    "covertype": _Spec(
        581012, 54, 7, "time", _as_read, _COVERTYPE,
        "In file order, as stream benchmarks run it. Repeating the last label is right 95 % of the time.",
    ),
    "keystroke": _Spec(1600, 10, 4, "time", _as_read, _KEYSTROKE, "In time order; the typists drift."),
    "shuttle": _Spec(
        58000, 9, 7, "shuffle", _as_read, _SHUTTLE,
        "79 % of the rows are Rad.Flow; the rarest classes have 10 and 13 rows.",
    ),
    "segment": _Spec(2310, 19, 7, "shuffle", _as_read, _SEGMENT),
    "waveform": _Spec(5000, 40, 3, "shuffle", _as_read, _WAVEFORM, "The last 19 columns are noise."),
    "synthetic": _Spec(50_000, 10, 5, "shuffle", _synthetic(None), note=_SYNTHETIC_NOTE),
    "synthetic-abrupt": _Spec(50_000, 10, 5, "time", _synthetic("abrupt"), note=_SYNTHETIC_NOTE),
    "synthetic-gradual": _Spec(50_000, 10, 5, "time", _synthetic("gradual"), note=_SYNTHETIC_NOTE),
}  # fmt: skip
