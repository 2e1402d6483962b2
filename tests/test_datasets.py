"""Generated sets are the published ones, loaded ones are checked."""

from __future__ import annotations

import csv
import gzip
import os
import subprocess
import sys
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import onlineboost
from onlineboost.data.errors import DataError
from onlineboost.datasets.catalogue import SETS, dataset_names, describe_datasets
from onlineboost.datasets.dataset import Dataset
from onlineboost.datasets.load import load_dataset

OPEN = {"merchant"}  # new values turn up as the stream goes by
GENERATED = {"balance", "car", "nursery", "nursery5", "synthetic", "synthetic-abrupt", "synthetic-gradual",
             "payments", "payments-drift"}  # fmt: skip


def data_home(file_name: str) -> Path:
    """The folder that has this file; the test is skipped if there is none."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    folders = [Path(os.environ["ONLINEBOOST_DATA"])] if "ONLINEBOOST_DATA" in os.environ else []
    for folder in [*folders, beside]:
        if (folder / file_name).is_file():
            return folder
    pytest.skip(f"{file_name} is neither in ONLINEBOOST_DATA nor in ../shared/data")


@cache
def loaded(name: str) -> Dataset:
    file = SETS[name].file
    return load_dataset(name, data_home=None if file is None else data_home(file.name))


def published(file_name: str) -> list[list[str]]:
    """Header and rows of a published file, as text."""
    with gzip.open(data_home(file_name) / file_name, "rt", newline="") as file:
        return list(csv.reader(file))


def as_text(data: Dataset) -> list[list[str]]:
    columns = [c if c.dtype == object else [f"{v:g}" for v in c] for c in data.X.columns]
    rows = [list(row) for row in zip(*columns, data.y, strict=True)]
    return [[*data.X.names, "class"], *rows]


def column(data: Dataset, name: str) -> np.ndarray:
    return data.X.columns[data.X.names.index(name)]


def test_importing_the_package_is_quick():
    """It loads none of the large libraries: a program may want the data alone."""
    heavy = "{'numba', 'scipy', 'sklearn', 'narwhals', 'pandas', 'pyarrow'}"
    script = f"import sys, onlineboost.datasets; print({heavy} & set(sys.modules))"
    environment = {**os.environ, "PYTHONPATH": str(Path(onlineboost.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


# -------------------------------------------------------------------------------------------------- generated


@pytest.mark.parametrize(
    ("name", "file_name"),
    [("balance", "balance.csv.gz"), ("car", "car.csv.gz"), ("nursery5", "nursery.csv.gz")],
)
def test_generated_sets_equal_the_published_files_row_by_row(name, file_name):
    assert as_text(load_dataset(name)) == published(file_name)


def test_nursery_is_nursery5_without_its_two_recommend_rows():
    raw, paper = as_text(load_dataset("nursery5")), as_text(load_dataset("nursery"))
    assert paper == [row for row in raw if row[-1] != "recommend"]
    assert len(raw) - len(paper) == 2


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("balance", {"R": 288, "L": 288, "B": 49}),
        ("car", {"unacc": 1210, "acc": 384, "good": 69, "vgood": 65}),
        ("nursery", {"not_recom": 4320, "priority": 4266, "spec_prior": 4044, "very_recom": 328}),
    ],
)
def test_class_counts_are_the_published_ones(name, counts):
    """Holds without any file."""
    assert Counter(load_dataset(name).y) == counts


# ----------------------------------------------------------------------------------------------------- loaded


LARGE = ("isolet", "isolet617", "movement")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=pytest.mark.slow if name in LARGE else ())
        for name in dataset_names()
        if name != "covertype"
    ],
)
def test_every_set_is_as_described(name):
    check_description(loaded(name))


@pytest.mark.slow
def test_covertype_is_as_described():
    """On its own: 300 MB that should not stay in the cache of `loaded`."""
    data = load_dataset("covertype", data_home=data_home("covertype.csv.gz"))
    check_description(data)
    assert Counter(data.y)["2"] == 283301
    assert not any(np.isnan(values).any() for values in data.X.columns)


def check_description(data: Dataset) -> None:
    line = next(line for line in describe_datasets() if line["name"] == data.name)
    assert (len(data), len(data.X.names), len(data.classes)) == (
        line["rows"],
        line["columns"],
        line["classes"],
    )
    assert len(data.X) == len(data.y)
    assert data.classes == tuple(sorted(set(data.y)))
    assert (data.order, data.note) == (line["order"], line["note"])
    values = {n: set(c) for n, c in zip(data.X.names, data.X.columns, strict=True) if c.dtype == object}
    assert {n: set(known) for n, known in data.X.categories.items()} == {n: values[n] for n in values if n not in OPEN}


def test_mice_has_only_proteins_and_keeps_its_missing_values():
    mice = loaded("mice")
    assert all(name.endswith("_N") for name in mice.X.names)
    assert sum(int(np.isnan(values).sum()) for values in mice.X.columns) == 1396


def test_mushroom_keeps_the_question_mark_as_a_value():
    assert Counter(column(loaded("mushroom"), "stalk-root"))["?"] == 2480


def test_the_day_of_electricity_is_nominal():
    electricity = loaded("electricity")
    assert electricity.X.categories == {"day": tuple("1234567")}
    assert electricity.order == "time"


def test_isolet_is_the_first_fifty_principal_components():
    raw, projected = loaded("isolet617"), loaded("isolet")
    values = np.stack(raw.X.columns, axis=1)
    values -= values.mean(axis=0)
    scores = np.stack(projected.X.columns, axis=1)
    # Principal components: centred, uncorrelated, of falling variance, with orthonormal axes.
    covariance = scores.T @ scores / len(scores)
    variances = np.diag(covariance)
    assert np.allclose(scores.mean(axis=0), 0)
    assert np.allclose(covariance, np.diag(variances), atol=1e-9)
    assert (np.diff(variances) <= 0).all()
    assert variances.sum() / (values**2).sum() * len(values) == pytest.approx(0.835, abs=5e-4)
    axes = scores.T @ values / (len(scores) * variances)[:, None]  # least squares: values from scores
    assert np.allclose(axes @ axes.T, np.eye(50), atol=1e-9)
    assert (axes[np.arange(50), np.abs(axes).argmax(axis=1)] > 0).all()
    assert (raw.y == projected.y).all()


def test_shuffled_is_a_permutation_that_the_seed_decides():
    data = load_dataset("car")
    once, again, other = data.shuffled(3), data.shuffled(3), data.shuffled(4)
    assert as_text(once) == as_text(again)
    assert as_text(once) != as_text(other) != as_text(data)
    assert sorted(as_text(once)[1:]) == sorted(as_text(data)[1:])
    assert (once.classes, once.X.categories) == (data.classes, data.X.categories)


# ---------------------------------------------------------------------------------------------- finding files


def test_an_absent_file_is_explained(tmp_path, monkeypatch):
    monkeypatch.setenv("ONLINEBOOST_DATA", str(tmp_path / "mine"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with pytest.raises(DataError) as caught:
        load_dataset("movement")
    for words in (
        f"movement.csv.gz is not in {tmp_path / 'mine'} nor in {tmp_path / 'cache' / 'onlineboost' / 'data'}",
        "ONLINEBOOST_DATA",
        "x1, y1, z1 ... x4, y4, z4, class",
        "Wearable Computing",
    ):
        assert words in str(caught.value)
    with pytest.raises(DataError, match=r"fetch_dataset\('mushroom'\)"):
        load_dataset("mushroom")
    assert {line["name"] for line in describe_datasets() if line["available"]} == GENERATED


def test_folders_are_searched_in_the_order_argument_variable_cache(tmp_path, monkeypatch):
    argument, variable, cache = (tmp_path / name for name in ("argument", "variable", "cache/onlineboost/data"))
    monkeypatch.setenv("ONLINEBOOST_DATA", str(variable))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def where(**kwargs) -> str:
        return next(line["where"] for line in describe_datasets(**kwargs) if line["name"] == "mice")

    assert "Mice Protein Expression" in where()
    for folder in (cache, variable, argument):
        folder.mkdir(parents=True)
        (folder / "mice.csv.gz").touch()
        assert where(data_home=folder) == str(folder / "mice.csv.gz")
    assert where() == str(variable / "mice.csv.gz")
    (variable / "mice.csv.gz").unlink()
    assert where() == str(cache / "mice.csv.gz")


def test_a_changed_file_is_refused(tmp_path):
    rows = published("segment.csv.gz")
    rows[5][3] = "0.5"
    write_gz(tmp_path / "segment.csv.gz", rows)
    with pytest.raises(DataError, match=r"segment\.csv\.gz is not the data known as 'segment'.*Replace the file"):
        load_dataset("segment", data_home=tmp_path)


def test_the_same_values_written_differently_are_the_same_data(tmp_path):
    header, *rows = published("segment.csv.gz")
    numbers = [[f"{float(value):.9e}" for value in row[:-1]] + row[-1:] for row in rows]
    write_gz(tmp_path / "segment.csv.gz", [header, *numbers])
    assert len(load_dataset("segment", data_home=tmp_path)) == 2310


def test_an_unknown_name_is_answered_with_near_ones():
    with pytest.raises(DataError, match=r"no data set is named 'Nursary'\. Did you mean 'nursery'"):
        load_dataset("Nursary")


def write_gz(path: Path, rows: list[list[str]]) -> None:
    with gzip.open(path, "wt", newline="") as file:
        csv.writer(file).writerows(rows)
