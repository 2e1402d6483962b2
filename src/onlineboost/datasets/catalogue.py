"""The data sets there are: the paper's seven, a few well-known streams, and synthetic ones.

The package contains no data. Balance, Car and Nursery and the synthetic streams are generated, the others are read from
a file that is known by the sha256 of its content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

from onlineboost._compile.system import cache_folder
from onlineboost.data.errors import DataError, did_you_mean
from onlineboost.datasets.dataset import (
    PAYMENTS_NOTE,
    SYNTHETIC_NOTE,
    Order,
    Rows,
    as_read,
    balance,
    car,
    nursery,
    nursery5,
    payments_rows,
    principal_components,
    proteins,
    synthetic_rows,
    zeros_for_missing,
)


@dataclass(frozen=True)
class PublicFile:
    """A public file: our columns' names, and where in its rows they are.

    Its name says what it is: comma-separated without a header, or .arff; .gz if it is compressed.
    """

    url: str
    names: str  # separated by spaces
    order: Sequence[int]
    most: int = 16 << 20  # bytes, compressed or not: more than it has, less than would do harm


@dataclass(frozen=True)
class DataFile:
    """A file in the data folder.

    ``sha256`` is that of the parsed content (see ``fingerprint``), so that a file compressed or formatted
    in another way is still the same data.
    """

    name: str
    sha256: str
    home: str
    layout: str
    nominal: tuple[str, ...] = ()
    fetch: PublicFile | None = None


@dataclass(frozen=True)
class Spec:
    """A line of the catalogue."""

    rows: int
    columns: int
    classes: int
    order: Order
    make: Callable[..., Rows]
    file: DataFile | None = None  # without one, make() generates
    note: str = ""


def dataset_names() -> tuple[str, ...]:
    """Names that :func:`load_dataset` takes: the paper's seven first.

    Examples
    --------
    >>> dataset_names()[:7]
    ('balance', 'mice', 'car', 'mushroom', 'nursery', 'isolet', 'movement')
    """
    return tuple(SETS)


def describe_datasets(*, data_home: str | PathLike[str] | None = None) -> list[dict[str, Any]]:
    """What there is: for each data set its name, rows, columns, classes, order, available, where and note.

    ``available`` says whether the file is there (its content is checked by :func:`load_dataset`); ``where``
    is "generated", the file, or, if there is none, the public home of the data. ``fetch`` is the address that
    :func:`fetch_dataset` takes it from, or None.

    Examples
    --------
    >>> car = describe_datasets()[2]
    >>> car["name"], car["rows"], car["columns"], car["classes"], car["available"], car["where"]
    ('car', 1728, 6, 4, True, 'generated')
    """
    lines = []
    for name, spec in SETS.items():
        line = {"name": name, **{what: getattr(spec, what) for what in ("rows", "columns", "classes", "order")}}
        line |= {"available": True, "where": "generated", "note": spec.note, "fetch": None}
        if spec.file is not None:
            path, public = first_file(spec.file, data_home), spec.file.fetch
            line |= {"available": path is not None, "where": str(path or spec.file.home)}
            line["fetch"] = None if public is None else public.url
        lines.append(line)
    return lines


def data_cache() -> Path:
    """The folder that downloads are written to, and that is searched last."""
    return cache_folder() / "data"


def folders(data_home: str | PathLike[str] | None) -> list[Path]:
    if data_home is not None:
        return [Path(data_home).expanduser()]
    named = os.environ.get("ONLINEBOOST_DATA")
    return [*([Path(named).expanduser()] if named else []), data_cache()]


def first_file(file: DataFile, data_home: str | PathLike[str] | None) -> Path | None:
    return next((f / file.name for f in folders(data_home) if (f / file.name).is_file()), None)


def find_spec(name: str) -> Spec:
    """The data set of this name; an error with the near names if there is none."""
    if name not in SETS:
        near = did_you_mean(get_close_matches(name.lower(), SETS))
        raise DataError(f"no data set is named {name!r}.{near} There are: {', '.join(SETS)}.")
    return SETS[name]


# --------------------------------------------------------------------------------------------------- the sets

_UCI = "UCI Machine Learning Repository, archive.ics.uci.edu, "
_UCI_FILES = "https://archive.ics.uci.edu/ml/machine-learning-databases"
_OPENML_FILES = "https://openml.org/data/v1/download"

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
_ELECTRICITY_NAMES = "date day period nswprice nswdemand vicprice vicdemand transfer class"
_SEGMENT_NAMES = (
    "region-centroid-col region-centroid-row region-pixel-count short-line-density-5 short-line-density-2 "
    "vedge-mean vegde-sd hedge-mean hedge-sd intensity-mean rawred-mean rawblue-mean rawgreen-mean exred-mean "
    "exblue-mean exgreen-mean value-mean saturation-mean hue-mean class"
)
_WAVEFORM_NAMES = f"{' '.join(f'x{i}' for i in range(1, 41))} class"

_MICE = DataFile(
    "mice.csv.gz",
    "52dd05b32148965ad875cff9ac30647861bc1fe12e2caf3dc8352061ff9a0bc3",
    _UCI + "'Mice Protein Expression'",
    "MouseID, the 77 proteins (DYRK1A_N ... CaNA_N), Genotype, Treatment, Behavior",
)
_MUSHROOM = DataFile(
    "mushroom.csv.gz",
    "6c50d054677fbcd95771de0db0c17065384ae39bf0ed3713d425460edc0de174",
    _UCI + "'Mushroom'",
    "cap-shape ... habitat",
    # the class comes first in the public file
    fetch=PublicFile(f"{_UCI_FILES}/mushroom/agaricus-lepiota.data", _MUSHROOM_NAMES, (*range(1, 23), 0)),
)
_ISOLET = DataFile(
    "isolet.csv.gz",
    "9bb6f6405e05abf203f2d2bccedcf07f8b375a68da08ac6e6caaffbabef7230a",
    _UCI + "'ISOLET'",
    "f1 ... f617",
)
_MOVEMENT = DataFile(
    "movement.csv.gz",
    "e5090a1176b02c61c71f390aad395b4217af587cac8cc6319509a783f949ef41",
    _UCI + "'Wearable Computing: Classification of Body Postures and Movements (PUC-Rio)'",
    "x1, y1, z1 ... x4, y4, z4",
)
_ELECTRICITY = DataFile(
    "electricity.csv.gz",
    "95573067a3c1c27f36fb39ea335214288dd3571dbdc8124586926a6690a613b0",
    "MOA data sets (moa.cms.waikato.ac.nz), elecNormNew.arff",
    "date, day, period, nswprice, nswdemand, vicprice, vicdemand, transfer",
    nominal=("day",),
    fetch=PublicFile(f"{_OPENML_FILES}/2419/electricity.arff", _ELECTRICITY_NAMES, range(9)),
)
_COVERTYPE = DataFile(
    "covertype.csv.gz",
    "a471dea63e829bbb8f2389398590f3d8e54f85669d11f64503cb6a33bffabd52",
    _UCI + "'Covertype'",
    "Elevation ... Horizontal_Distance_To_Fire_Points, Wilderness_Area1 ... 4, Soil_Type1 ... 40",
    fetch=PublicFile(f"{_UCI_FILES}/covtype/covtype.data.gz", _COVERTYPE_NAMES, range(55), most=128 << 20),
)
_KEYSTROKE = DataFile(
    "keystroke.csv.gz",
    "dbeb472807af4fa2fc595881eebd37707078d4351be497ffafb89bf10a5b249e",
    "github.com/vlosing/driftDatasets, artificial/souza/keystroke",
    "k1 ... k10",
)
_SHUTTLE = DataFile(
    "shuttle.csv.gz",
    "731133fed6c1e5792cf78b7d773ccc2972643ce694502e0cdc14d2cd0e112b5f",
    _UCI + "'Statlog (Shuttle)'; R package mlbench, Shuttle",
    "V1 ... V9",
)
_SEGMENT = DataFile(
    "segment.csv.gz",
    "78941e96a0c4700304d97e7febf28d3f5151481ecb7caecf619b1df039820374",
    _UCI + "'Image Segmentation'; as segment.arff among the Weka data sets",
    "region-centroid-col ... hue-mean",
    fetch=PublicFile(f"{_OPENML_FILES}/36/dataset_36_segment.arff", _SEGMENT_NAMES, range(20)),
)
_WAVEFORM = DataFile(
    "waveform.csv.gz",
    "60f58a3ce02f0e7b430d8239c809e2904c88c325af5cc673be8ba94b2a47079f",
    _UCI + "'Waveform Database Generator (Version 2)'; as waveform-5000.arff among the Weka data sets",
    "x1 ... x40",
    fetch=PublicFile(f"{_OPENML_FILES}/60/dataset_60_waveform-5000.arff", _WAVEFORM_NAMES, range(41)),
)

SETS: dict[str, Spec] = {
    "balance": Spec(625, 4, 3, "shuffle", balance),
    "mice": Spec(
        1080, 77, 8, "shuffle", proteins, _MICE,
        "Sorted by class. 1396 values missing (the paper puts 0). Left out: columns that tell the class.",
    ),
    "car": Spec(1728, 6, 4, "shuffle", car),
    "mushroom": Spec(
        8124, 22, 2, "shuffle", as_read, _MUSHROOM,
        "'?' in stalk-root is a value of its own; veil-type is constant.",
    ),
    "nursery": Spec(
        12958, 8, 4, "shuffle", nursery,
        note="As in the paper, without the 2 rows of class recommend; nursery5 has them.",
    ),
    "isolet": Spec(
        7797, 50, 26, "shuffle", principal_components, _ISOLET,
        "The first 50 principal components of all rows, as in the paper: the projection has seen the future.",
    ),
    "movement": Spec(165632, 12, 5, "shuffle", as_read, _MOVEMENT, "Sorted by class, then by person."),
    "mice81": Spec(
        1080, 81, 8, "shuffle", zeros_for_missing, _MICE,
        "As in the paper: all columns but the class (its 82 counts that too), 0 for missing. Three tell the class.",
    ),
    "nursery5": Spec(12960, 8, 5, "shuffle", nursery5, note="The raw set; class recommend has 2 rows."),
    "isolet617": Spec(7797, 617, 26, "shuffle", as_read, _ISOLET, "The raw columns of isolet."),
    "electricity": Spec(
        45312, 8, 2, "time", as_read, _ELECTRICITY,
        "Half-hours in time order, normalised. Repeating the last label is right 85 % of the time.",
    ),
    "covertype": Spec(
        581012, 54, 7, "time", as_read, _COVERTYPE,
        "In file order, as stream benchmarks run it. Repeating the last label is right 95 % of the time.",
    ),
    "keystroke": Spec(1600, 10, 4, "time", as_read, _KEYSTROKE, "In time order; the typists drift."),
    "shuttle": Spec(
        58000, 9, 7, "shuffle", as_read, _SHUTTLE,
        "79 % of the rows are Rad.Flow; the rarest classes have 10 and 13 rows.",
    ),
    "segment": Spec(2310, 19, 7, "shuffle", as_read, _SEGMENT),
    "waveform": Spec(5000, 40, 3, "shuffle", as_read, _WAVEFORM, "The last 19 columns are noise."),
    "synthetic": Spec(50_000, 10, 5, "shuffle", synthetic_rows(None), note=SYNTHETIC_NOTE),
    "synthetic-abrupt": Spec(50_000, 10, 5, "time", synthetic_rows("abrupt"), note=SYNTHETIC_NOTE),
    "synthetic-gradual": Spec(50_000, 10, 5, "time", synthetic_rows("gradual"), note=SYNTHETIC_NOTE),
    "payments": Spec(50_000, 5, 2, "time", payments_rows(drift=False), note=PAYMENTS_NOTE),
    "payments-drift": Spec(50_000, 5, 2, "time", payments_rows(drift=True), note=PAYMENTS_NOTE),
}  # fmt: skip
