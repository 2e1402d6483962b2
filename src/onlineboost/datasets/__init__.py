"""Something to learn from and to measure on: the paper's data sets, well-known streams, synthetic ones.

In the order of the data: `catalogue` lists all, `load` gives one, and reads or fetches its file, `dataset` is what
comes out, and makes those that need no file. Public are the names below. It may import `data` and `_compile` only;
`paper`, `report` and `cli` may import it.
"""

from onlineboost.datasets.catalogue import dataset_names, describe_datasets
from onlineboost.datasets.dataset import Dataset, payments_stream, synthetic_stream
from onlineboost.datasets.load import fetch_dataset, load_dataset

__all__ = [
    "Dataset",
    "dataset_names",
    "describe_datasets",
    "fetch_dataset",
    "load_dataset",
    "payments_stream",
    "synthetic_stream",
]
