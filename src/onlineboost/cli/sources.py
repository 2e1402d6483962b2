"""SOURCE of the commands: a data set by its name, a file or a pipe; and onlineboost datasets, which lists the names."""

from __future__ import annotations

import csv
import json
import warnings
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.markup import escape

from onlineboost.cli.main import check_writable, err, progress_bar, text_table, visible

if TYPE_CHECKING:
    from onlineboost.data.table import Block
    from onlineboost.datasets.dataset import Dataset

MAX_KEPT = 1 << 24  # bytes of a file that is read once, and kept; of a larger one the labels are read before the rows
MOST_QUANTITIES = 90  # labels of a file that may be numbers with a fraction
PACKED = 10  # times as large as its file are rows that are compressed, about
HEAD = 1 << 20  # bytes at the beginning of a file by which it is known again


COLUMN_KINDS = {"nominal": "take as categories", "numeric": "take as numbers", "drop": "leave out"}
COLUMN_OPTIONS = tuple(
    click.option(f"--{kind}", multiple=True, help=f"A column of a file to {what}; or several, comma-separated.")
    for kind, what in COLUMN_KINDS.items()
)


def column_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options that say how columns of a file are taken."""
    for option in reversed(COLUMN_OPTIONS):
        command = option(command)
    return command


@click.command()
@click.argument("name", required=False)
@click.option("--fetch", is_flag=True, help="Download NAME now, not when it is first used.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write NAME to this file, as CSV.")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def datasets(name: str | None, fetch: bool, out: Path | None, as_json: bool) -> None:
    """List the data sets that `run` and `compare` know by name.

    With NAME, describe this one.

    \b
    onlineboost datasets
    onlineboost datasets electricity --fetch
    onlineboost datasets car --out events.csv
    """
    from onlineboost.datasets.catalogue import describe_datasets, find_spec

    if name is None and (fetch or out):
        raise click.BadParameter("it wants the NAME of a data set", param_hint="--fetch" if fetch else "--out")
    if name is not None:
        find_spec(name)
    if out is not None:
        check_writable(out, "--out")
    if fetch:
        click.echo(f"wrote {visible(str(_fetch(str(name))))}", err=True)
    if out is not None:
        dataset = _load(str(name))
        _write(dataset.shuffled(0) if dataset.order == "shuffle" else dataset, out)
        click.echo(f"wrote {visible(str(out))}", err=True)
    if fetch or out is not None:
        return
    rows = [row for row in describe_datasets() if name in (None, row["name"])]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    else:
        _show(rows)


def _load(name: str) -> Dataset:
    """The data set of this name, fetched if it is not there and can be."""
    from onlineboost.datasets.catalogue import describe_datasets
    from onlineboost.datasets.load import load_dataset

    row = next(row for row in describe_datasets() if row["name"] == name)
    if not row["available"] and row["fetch"]:
        _fetch(name)
    return load_dataset(name)


def _fetch(name: str) -> Path:
    """`fetch_dataset`, with a bar."""
    from rich.progress import BarColumn, DownloadColumn, TextColumn

    from onlineboost.datasets.catalogue import find_spec
    from onlineboost.datasets.load import fetch_dataset

    file = find_spec(name).file
    home = file.fetch.url.split("/")[2] if file is not None and file.fetch is not None else ""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    with progress_bar(*columns) as bar:
        task = bar.add_task(f"downloading {name} from {home}", total=None)
        path = fetch_dataset(name, progress=lambda got, total: bar.update(task, completed=got, total=total))
    err.print(f"Downloaded {name} from {home}; it is kept in {visible(str(path))}.", highlight=False, soft_wrap=True)
    return path


def _write(dataset: Dataset, out: Path) -> None:
    """Header and rows, the class last."""
    columns = [column.tolist() for column in dataset.X.columns]
    with out.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*dataset.X.names, "class"])
        for row in zip(*columns, dataset.y, strict=True):
            writer.writerow([_text(value) for value in row])


def _text(value: Any) -> str:
    """A value of a file: numbers in the shortest way that gives them again, nothing for what is missing."""
    if value is None or value != value:
        return ""
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _show(rows: list[dict[str, Any]]) -> None:
    headings = ("name", "rows", "columns", "classes", "order", "at hand")
    table = text_table(headings, left=("name", "order", "at hand"), title="Data sets")
    for row in rows:
        absent = "fetched when run" if row["fetch"] else "no"
        here = row["where"] if row["where"] == "generated" else "yes" if row["available"] else absent
        numbers = (f"{row['rows']:,}", str(row["columns"]), str(row["classes"]))
        table.add_row(row["name"], *numbers, row["order"], here)
    console = Console()
    console.print(table)
    if len(rows) == 1:
        for line in (rows[0]["note"], rows[0]["where"]):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
    elif not all(row["available"] or row["fetch"] for row in rows):
        err.print("Set ONLINEBOOST_DATA to the folder with the others' files; `onlineboost run NAME` says which.")


def _is_quantity(label: str) -> bool:
    """A number with a fraction."""
    try:
        return not float(label).is_integer()
    except (ValueError, OverflowError):
        return False


@dataclass
class Stream:
    """A named data set, a file or a pipe, as blocks; those of a data set and a file can be read again."""

    source: str
    target: str | None = None
    seed: int = 0  # of the shuffling of a data set
    limit: int | None = None  # rows
    columns: dict[str, Any] = field(default_factory=dict)  # of a file: nominal, numeric, drop
    delay: int | None = None  # rows that labels are late
    proba: bool = True  # whether probabilities are measured
    per_class: bool = False  # whether each class is
    sets: float | None = None  # coverage of the prediction sets that are
    exploration: float | str | None = None  # of actions, if only their outcomes are shown to the models
    unbiased: bool = False  # whether their probabilities are, too

    def __post_init__(self) -> None:
        from onlineboost.data.errors import DataError, did_you_mean
        from onlineboost.datasets.catalogue import dataset_names

        self.dataset: Any = None
        self._kept: list[Block] | None = None  # all blocks of a small file
        self.labels = self.target  # the column that they are in
        self.is_live, self.is_file = self.source == "-", False
        if self.is_live:
            self.classes: list[Any] = []  # they grow with the labels that are met
            self.how = "as they came"
        elif self.source in dataset_names():
            if self.target is not None or any(self.columns.values()):
                warnings.warn(
                    f"{self.source} is a data set: --target, --nominal, --numeric and --drop are for files, and change "
                    f"nothing here. `onlineboost datasets {self.source} --out {self.source}.csv` makes a file of it",
                    stacklevel=2,
                )
            dataset = _load(self.source)
            self.dataset = dataset.shuffled(self.seed) if dataset.order == "shuffle" else dataset
            self.classes = list(self.dataset.classes)
            self.how = f"shuffled with seed {self.seed}" if dataset.order == "shuffle" else "in its own order"
        elif "." not in self.source and "/" not in self.source and not Path(self.source).is_dir():
            near = did_you_mean(get_close_matches(self.source.lower(), dataset_names()))
            raise DataError(
                f"{self.source!r} is neither a data set nor a file.{near} Data sets: {', '.join(dataset_names())}. "
                f"A file ends in .csv, .csv.gz, .parquet, .ndjson or .jsonl; - is what is piped in"
            )
        else:
            self.is_file = True
            with err.status(f"reading {escape(visible(self.source))} ..."):
                self.classes = self._labels_of_file()
            self.how = "in the order of the file"
            self._check_labels()

    def _labels_of_file(self) -> list[str]:
        """All labels: models know them from the first row on."""
        from onlineboost.data.files import scan_labels

        path = Path(self.source)
        size = path.stat().st_size * (PACKED if path.suffix in (".gz", ".parquet") else 1) if path.is_file() else 0
        if self.limit is not None or size > MAX_KEPT:
            return scan_labels(self.source, self.target)
        self._kept = list(self._read())
        return sorted({label for block in self._kept for label in block.y.tolist()})

    def _check_labels(self) -> None:
        """Labels of files are text: a column of measurements would be thousands of classes."""
        from onlineboost.data.errors import DataError

        odd = [label for label in self.classes if _is_quantity(label)]
        if len(odd) > MOST_QUANTITIES and 2 * len(odd) > len(self.classes):
            which = "the last one" if self.labels is None else repr(self.labels)
            raise DataError(
                f"{self.source}: the column of the labels, {which}, has {len(self.classes):,} different values such as "
                f"{odd[0]!r}: numbers with a fraction are quantities, not labels. --target names another column; "
                f"if they are names of classes, write them as text, such as v1.5"
            )

    def _read(self) -> Iterator[Block]:
        """The blocks of a file or a pipe; if nobody has said which column has the labels, which one was taken."""
        from onlineboost.data.files import read_blocks

        for block in read_blocks(self.source, self.target, **self.columns):
            if self.labels is None:
                self.labels = block.target
                told = f"Labels: column {visible(repr(block.target))}, the last one. --target names another."
                err.print(told, markup=False, highlight=False, soft_wrap=True)
            yield block

    def blocks(self, snapshots: bool = False) -> Iterator[Block]:
        """The rows, in blocks; those of a data set in more of them if a snapshot is taken after each."""
        from onlineboost.data.table import Block
        from onlineboost.evaluation.prequential import SNAPSHOTS
        from onlineboost.evaluation.runner import cut

        if self.dataset is not None:
            n = self.limit or len(self.dataset)
            yield from cut(self.dataset.X[:n], self.dataset.y[:n], pieces=SNAPSHOTS if snapshots else 1)
            return
        left = self.limit
        for block in self._kept or self._read():
            if left is not None and left < len(block):
                yield Block(block.X[:left], block.y[:left], block.first_row, 1.0)
                return
            yield block
            left = None if left is None else left - len(block)
            if left == 0:
                return

    def about(self) -> dict[str, Any]:
        """What it is known again by, when a run goes on."""
        known: dict[str, Any] = {name: getattr(self, name) for name in ("source", "target", "limit", "seed", "sets")}
        known |= {name: sorted(value) for name, value in self.columns.items()}
        if self.is_file:
            path = Path(self.source)
            with path.open("rb") as file:
                head = file.read(HEAD)
            known |= {"bytes of the file": path.stat().st_size, "checksum of its beginning": zlib.crc32(head)}
        return known
