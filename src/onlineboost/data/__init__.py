"""Data as it comes to data as the kernels take it.

In the order of the data: `files` reads a file or a pipe block by block (`text_files`: CSV and NDJSON), `table` is what
comes out, and what a file format offers, `frames` makes the same of arrays and data frames, `values` says what a single
value means, `encoder` and `labels` turn it into numbers (`label_sets`: several labels per row, `places`: which nominal
values are told apart, `columns`: which columns are meant, and those that turn up later), `errors` are the words for
what is wrong, and warnings that point at the caller. Public are the names below. It may import `storage` and `_compile`
only; all packages above it may import it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from onlineboost.data.errors import DataError
from onlineboost.data.files import read_blocks, scan_labels
from onlineboost.data.table import Block, Table
from onlineboost.data.values import MISSING_NUMBERS

if TYPE_CHECKING:
    from onlineboost.data.frames import as_table

__all__ = ["MISSING_NUMBERS", "Block", "DataError", "Table", "as_table", "read_blocks", "scan_labels"]


def __getattr__(name: str) -> Any:
    if name == "as_table":  # loaded when first asked for: with it come SciPy and narwhals, which files do not need
        return import_module("onlineboost.data.frames").as_table
    raise AttributeError(f"module 'onlineboost.data' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
