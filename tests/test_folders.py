"""Kernels and data sets share one cache folder, which the user can move."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from onlineboost._compile.cache import CACHE_DIR
from onlineboost._compile.system import cache_folder
from onlineboost.datasets.catalogue import data_cache

VARIABLE, DEFAULT = ("LOCALAPPDATA", "AppData/Local") if sys.platform == "win32" else ("XDG_CACHE_HOME", ".cache")


def test_the_cache_folder_follows_the_variable(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert cache_folder() == tmp_path / "onlineboost"
    assert data_cache() == tmp_path / "onlineboost" / "data"


@pytest.mark.parametrize("value", [None, "", "here", "./here"])
def test_an_unset_empty_or_relative_variable_means_the_home_folder(monkeypatch, value):
    if value is None:
        monkeypatch.delenv(VARIABLE, raising=False)
    else:
        monkeypatch.setenv(VARIABLE, value)
    assert cache_folder() == Path.home() / DEFAULT / "onlineboost"


def test_kernels_are_kept_in_it():
    assert CACHE_DIR.parent == cache_folder()
