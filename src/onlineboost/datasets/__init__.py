"""Something to learn from and to measure on: the paper's data sets, well-known streams, synthetic ones.

In the order of the data: `factorial` and `synthetic` generate, `web` and `download` fetch, `files` finds and reads,
`derive` makes columns of what was read, `catalogue` lists all, `load` gives one, `dataset` is what comes out. Public
are the names below. It may import `data` and `_compile` only; `paper`, `report` and `cli` may import it.
"""

from onlineboost.datasets.catalogue import dataset_names, describe_datasets
from onlineboost.datasets.dataset import Dataset
from onlineboost.datasets.download import fetch_dataset
from onlineboost.datasets.load import load_dataset
from onlineboost.datasets.synthetic import synthetic_stream

__all__ = ["Dataset", "dataset_names", "describe_datasets", "fetch_dataset", "load_dataset", "synthetic_stream"]
