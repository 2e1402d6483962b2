"""What `run`, `compare` and `tune` learn from, SOURCE as blocks of rows, and what `run` leaves behind."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import click

from onlineboost.cli.common import BASELINES, address_of, check_writable, err, visible
from onlineboost.cli.datasets import at_hand
from onlineboost.data.errors import DataError, did_you_mean
from onlineboost.data.files import read_blocks, scan_labels
from onlineboost.data.source import STDIN
from onlineboost.data.table import Block
from onlineboost.datasets.catalogue import dataset_names
from onlineboost.evaluation.prequential import SNAPSHOTS
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.resumable import Checkpoints, Predictions, resumable
from onlineboost.evaluation.runner import Progress, cut

MAX_KEPT = 1 << 24  # bytes of a file that is read once, and kept; of a larger one the labels are read before the rows
PACKED = 10  # times as large as its file are rows that are compressed, about
HEAD = 1 << 20  # bytes at the beginning of a file by which it is known again


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

    def __post_init__(self) -> None:
        self.dataset: Any = None
        self._kept: list[Block] | None = None  # all blocks of a small file
        self.is_live, self.is_file = self.source == STDIN, False
        if self.is_live:
            self.classes: list[Any] = []  # they grow with the labels that are met
            self.how = "as they came"
        elif self.source in dataset_names():
            dataset = at_hand(self.source)
            self.dataset = dataset.shuffled(self.seed) if dataset.order == "shuffle" else dataset
            self.classes = list(self.dataset.classes)
            self.how = f"shuffled with seed {self.seed}" if dataset.order == "shuffle" else "in its own order"
        elif "." not in self.source and "/" not in self.source:
            near = did_you_mean(get_close_matches(self.source.lower(), dataset_names()))
            raise DataError(
                f"{self.source!r} is neither a data set nor a file.{near} Data sets: {', '.join(dataset_names())}. "
                f"A file ends in .csv, .csv.gz, .parquet, .ndjson or .jsonl; - is what is piped in"
            )
        else:
            self.is_file = True
            self.classes = self._labels_of_file()
            self.how = "in the order of the file"

    def _labels_of_file(self) -> list[str]:
        """All labels: models know them from the first row on."""
        path = Path(self.source)
        size = path.stat().st_size * (PACKED if path.suffix in (".gz", ".parquet") else 1) if path.is_file() else 0
        if self.limit is not None or size > MAX_KEPT:
            return scan_labels(self.source, self.target)
        self._kept = list(read_blocks(self.source, self.target, **self.columns))
        return sorted({label for block in self._kept for label in block.y.tolist()})

    def blocks(self, snapshots: bool = False) -> Iterator[Block]:
        """The rows, in blocks; those of a data set in more of them if a snapshot is taken after each."""
        if self.dataset is not None:
            n = self.limit or len(self.dataset)
            yield from cut(self.dataset.X[:n], self.dataset.y[:n], pieces=SNAPSHOTS if snapshots else 1)
            return
        left = self.limit
        for block in self._kept or read_blocks(self.source, self.target, **self.columns):
            if left is not None and left < len(block):
                yield Block(block.X[:left], block.y[:left], block.first_row, 1.0)
                return
            yield block
            left = None if left is None else left - len(block)
            if left == 0:
                return

    def about(self) -> dict[str, Any]:
        """What it is known again by, when a run goes on."""
        known: dict[str, Any] = {name: getattr(self, name) for name in ("source", "target", "limit", "seed")}
        known |= {name: sorted(value) for name, value in self.columns.items()}
        if self.is_file:
            path = Path(self.source)
            with path.open("rb") as file:
                head = file.read(HEAD)
            known |= {"bytes of the file": path.stat().st_size, "checksum of its beginning": zlib.crc32(head)}
        return known


@dataclass(frozen=True)
class Outputs:
    """What is to be kept of a run, and where it learns."""

    save: Path | None = None
    out: Path | None = None
    checkpoint: Path | None = None
    every: str = "10000"
    resume: bool = False
    ray: str | None = None  # the cluster to learn on, as `ray_option` has it
    segments: int = 2

    def __bool__(self) -> bool:
        return any((self.save, self.out, self.checkpoint, self.ray))

    @property
    def only_saves(self) -> bool:
        """Whether nothing has to be done along the way."""
        return not any((self.out, self.checkpoint, self.ray))

    def check(self, model: str) -> None:
        """What would go wrong at the end of a long run is told before it."""
        if self.resume and self.checkpoint is None:
            raise click.BadParameter("it needs --checkpoint DIR, the folder of the run", param_hint="--resume")
        if model in BASELINES and (self.save or self.checkpoint or self.ray):
            option = "--ray" if self.ray else "--save" if self.save else "--checkpoint"
            message = f"{model} is a baseline: it cannot be saved, checkpointed or run on a cluster"
            raise click.BadParameter(message, param_hint=option)
        if self.save is not None:
            check_writable(self.save, "--save")
        if self.out is not None and not self.resume:
            check_writable(self.out, "--out")
        if self.checkpoint is not None:
            found = Checkpoints(self.checkpoint, self.every, {}).paths()
            if found and not self.resume:
                raise click.BadParameter(
                    f"there are checkpoints of a run in {visible(str(self.checkpoint))}: go on with --resume, or name "
                    f"another folder",
                    param_hint="--checkpoint",
                )
            if self.resume and not found:
                err.print("There is no checkpoint yet: starting at the first row.", highlight=False)

    def run(
        self, model: Any, stream: Stream, blocks: Iterator[Block], progress: Progress, printed: Predictions | None
    ) -> tuple[Any, Tally]:
        """Run a model over the blocks of a stream, and keep of it what is asked for; or print its predictions."""
        out: Path | Predictions | None = self.out or printed
        if self.out and self.checkpoint is None and stream.is_live:
            out = Predictions(self.out)  # a pipe may never end: nothing could take the place of the file then
        model, tally = resumable(
            model,
            blocks,
            self.checkpoint,
            every=self.every,
            classes=stream.classes or None,
            out=out,
            about=stream.about(),
            proba=stream.proba,
            progress=progress,
            cluster=self._cluster(),
        )
        if self.save is not None:
            model.save(self.save)
        return model, tally

    def _cluster(self) -> Callable[[Any], Any] | None:
        """What makes a cluster of a model, if there is to be one."""
        if self.ray is None:
            return None
        from onlineboost.cluster import Cluster

        return partial(Cluster, segments=self.segments, address=address_of(self.ray))
