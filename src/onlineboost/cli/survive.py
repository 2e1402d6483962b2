"""What `run` does if it is to be kept: checkpoints, predictions to a file, the model to a file, rows from a pipe."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from onlineboost.cli.clusters import address_of
from onlineboost.cli.common import check_writable, err, visible
from onlineboost.cli.models import BASELINES
from onlineboost.data.live import STDIN
from onlineboost.evaluation.checkpoints import Checkpoints, Predictions, Printed
from onlineboost.evaluation.results import Tally
from onlineboost.evaluation.resumable import resumable

HEAD = 1 << 20  # bytes at the beginning of a file by which it is known again


@dataclass(frozen=True)
class Keep:
    """What is to be kept of a run."""

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
        """Whether the model is all that is kept: nothing has to be done along the way."""
        return self.save is not None and not any((self.out, self.checkpoint, self.ray))

    def cluster(self) -> Callable[[Any], Any] | None:
        """What makes a cluster of a model, if there is to be one."""
        if self.ray is None:
            return None
        from onlineboost.cluster import Cluster

        return partial(Cluster, segments=self.segments, address=address_of(self.ray))

    def check(self, model: str) -> None:
        """What would go wrong at the end of a long run is told before it."""
        if self.resume and self.checkpoint is None:
            raise click.BadParameter("it needs --checkpoint DIR, the folder of the run", param_hint="--resume")
        if model in BASELINES and (self.save or self.checkpoint or self.ray):
            option = "--ray" if self.ray else "--save" if self.save else "--checkpoint"
            raise click.BadParameter(f"{model} is no model that can be saved, or cut into segments", param_hint=option)
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


def run_kept(
    model: Any,
    stream: Any,
    keep: Keep,
    progress: Callable[[int, float], None],
    printed: Printed | None = None,
    watch: Callable[[Any], None] | None = None,
) -> tuple[Any, Tally]:
    """Run a model over a stream, and keep of it what is asked for."""
    out: Path | Predictions | Printed | None = keep.out or printed
    if keep.out and keep.checkpoint is None and stream.source == STDIN:
        out = Predictions(keep.out)  # a pipe may never end: nothing could take the place of the file then
    model, tally = resumable(
        model,
        stream.blocks(),
        keep.checkpoint,
        every=keep.every,
        classes=stream.classes or None,
        out=out,
        about=about(stream),
        proba=stream.proba,
        progress=progress,
        watch=watch,
        cluster=keep.cluster(),
    )
    if keep.save is not None:
        model.save(keep.save)
    return model, tally


def about(stream: Any) -> dict[str, Any]:
    """What a stream is known again by."""
    told = {"source": stream.source, "target": stream.target, "limit": stream.limit, "seed": stream.seed}
    told |= {name: sorted(value) for name, value in stream.columns.items()}
    if stream.is_file:
        path = Path(stream.source)
        with path.open("rb") as file:
            head = file.read(HEAD)
        told |= {"bytes of the file": path.stat().st_size, "checksum of its beginning": zlib.crc32(head)}
    return told
