"""The command line: onlineboost run | compare | datasets | potential | bounds | reproduce."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table as TextTable

from onlineboost import __version__
from onlineboost.boosters.losses import LOSSES
from onlineboost.chain.experts import EXPERT_RULES
from onlineboost.cli.bounds import bounds
from onlineboost.cli.reproduce import reproduce
from onlineboost.data.stream import DataError, read_blocks, scan_labels
from onlineboost.datasets.catalogue import dataset_names, describe_datasets, load_dataset
from onlineboost.estimators.baselines import AdaBoostOVA, BestTree, OneVsAll, OzaBoost
from onlineboost.estimators.boosters import RESTARTS, AdaBoostOLM, HoeffdingTree, OnlineMBBM
from onlineboost.evaluation.prequential import LastClass, MajorityClass, Result, prequential
from onlineboost.evaluation.records import Record, cut, observe
from onlineboost.report.pictures import need_drawing

if TYPE_CHECKING:
    from onlineboost.theory import Guarantee

MODELS: dict[str, Callable[..., Any]] = {
    "adaboost-olm": AdaBoostOLM,
    "online-mbbm": OnlineMBBM,
    "oza-boost": OzaBoost,
    "one-vs-all": OneVsAll,
    "adaboost-ova": AdaBoostOVA,
    "best-tree": BestTree,
    "hoeffding-tree": HoeffdingTree,
    "majority": MajorityClass,
    "last-class": LastClass,
}
BASELINES = ("majority", "last-class")

err = Console(stderr=True)


@contextlib.contextmanager
def _friendly_errors() -> Iterator[None]:
    """Errors of data and settings: the message and exit code 2, no traceback."""
    try:
        yield
    except (DataError, ValueError) as error:
        err.print("[bold red]Error:[/]", escape(str(error)), soft_wrap=True, highlight=False)
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("Stopped.")
        raise SystemExit(130) from None


class Stream:
    """A named data set or a file, as blocks that can be read again for every model."""

    def __init__(
        self,
        source: str,
        target: str | None,
        seed: int,
        limit: int | None,
        nominal: tuple[str, ...],
        numeric: tuple[str, ...],
    ) -> None:
        self.source, self.target, self.limit = source, target, limit
        self.nominal, self.numeric = nominal, numeric
        self.dataset = None
        if source in dataset_names():
            dataset = load_dataset(source)
            self.dataset = dataset.shuffled(seed) if dataset.order == "shuffle" else dataset
            self.classes = list(self.dataset.classes)
            self.how = f"shuffled with seed {seed}" if dataset.order == "shuffle" else "in its own order"
        elif "." not in source and "/" not in source:
            raise DataError(
                f"{source!r} is neither a data set nor a file. Data sets: {', '.join(dataset_names())}. "
                f"A file ends in .csv, .csv.gz or .parquet"
            )
        else:
            self.classes = scan_labels(source, target)
            self.how = "in the order of the file"

    def run(self, model: Any, progress: Callable[[int, float], None], snapshots: bool = False) -> tuple[Result, Record]:
        blocks = self._blocks()
        if self.dataset is not None:
            n = self.limit or len(self.dataset)
            blocks = cut(self.dataset.X[:n], self.dataset.y[:n], snapshots=snapshots)
        return observe(model, blocks, self.classes, snapshots=snapshots, progress=progress)

    def _blocks(self) -> Iterator[Any]:
        left = self.limit
        for block in read_blocks(self.source, self.target, nominal=self.nominal, numeric=self.numeric):
            if left is not None and left < len(block):
                yield type(block)(block.X[:left], block.y[:left], block.first_row, 1.0)
                return
            yield block
            left = None if left is None else left - len(block)
            if left == 0:
                return


def _make(
    name: str, learners: int, seed: int, loss: str, combiner: str, restart: str, gamma: float | str, jobs: int
) -> Any:
    if name == "adaboost-olm":
        return AdaBoostOLM(learners, loss=loss, combiner=combiner, restart=restart, random_state=seed, n_jobs=jobs)
    if name == "online-mbbm":
        return OnlineMBBM(learners, gamma=gamma, random_state=seed, n_jobs=jobs)
    if name == "adaboost-ova":
        return AdaBoostOVA(learners, loss=loss, combiner=combiner, random_state=seed, n_jobs=jobs)
    if name == "one-vs-all":
        return OneVsAll(learners, loss=loss, random_state=seed, n_jobs=jobs)
    if name in ("oza-boost", "best-tree"):
        return MODELS[name](learners, random_state=seed, n_jobs=jobs)
    if name == "hoeffding-tree":
        return HoeffdingTree(random_state=seed)
    return MODELS[name]()


def _measure(
    stream: Stream, names: list[str], quiet: bool, records: list[Record] | None = None, **settings: Any
) -> list[dict[str, Any]]:
    """Run every model over the stream, with a progress bar, and return the rows of the table. Fills `records`."""
    from onlineboost.theory import guarantee

    _warm_up(names, settings)  # so that compiling is not counted as learning
    out = []
    columns = (TextColumn("{task.description:<16}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=err, disable=quiet) as bar:
        for name in names:
            total = len(stream.dataset) if stream.dataset is not None else None
            task = bar.add_task(name, total=stream.limit or total)

            def show(seen: int, share: float, task: Any = task) -> None:
                bar.update(task, completed=seen, total=max(seen, round(seen / share)) if share else None)

            model = _make(name, **settings)
            result, record = stream.run(model, show, snapshots=records is not None)
            if records is not None:
                records.append({"dataset": stream.source, "system": name, **record})
            promised = guarantee(model, int((~result.right).sum()))
            out.append(
                {
                    "model": name,
                    "examples": len(result.y),
                    "accuracy": result.accuracy,
                    "tail_accuracy": result.tail_accuracy(0.2),
                    "seconds": result.seconds,
                    "examples_per_second": result.examples_per_second,
                    **({"guarantee": promised} if promised else {}),
                }
            )
    return out


def _warm_up(names: list[str], settings: dict[str, Any]) -> None:
    for name in set(names) - set(BASELINES):
        prequential(_make(name, **settings), np.zeros((2, 1)), np.array(["a", "b"]))


def _report(stream: Stream, rows: list[dict[str, Any]], as_json: bool, settings: dict[str, Any]) -> None:
    if as_json:
        for row in rows:
            if "guarantee" in row:
                row["guarantee"] = row["guarantee"].as_dict()
        click.echo(
            json.dumps({"source": stream.source, "classes": stream.classes, **settings, "results": rows}, indent=2)
        )
        return
    table = TextTable(
        title=f"{escape(stream.source)}: {rows[0]['examples']:,} examples, {len(stream.classes)} classes, {stream.how}"
    )
    for heading in ("model", "accuracy", "last 20 %", "seconds", "examples/s"):
        table.add_column(heading, justify="left" if heading == "model" else "right")
    best = max(row["tail_accuracy"] for row in rows)
    for row in rows:
        style = "bold green" if row["tail_accuracy"] == best else ""
        cells = (
            row["model"],
            f"{row['accuracy']:.4f}",
            f"{row['tail_accuracy']:.4f}",
            f"{row['seconds']:.2f}",
        )
        table.add_row(*cells, f"{row['examples_per_second']:,.0f}", style=style)
    Console().print(table)
    for row in rows:
        if "guarantee" in row and len(rows) <= 1 + len(BASELINES):  # `run`, not `compare`
            _print_guarantee(row["model"], row["guarantee"])


def _print_guarantee(name: str, promised: Guarantee) -> None:
    table = TextTable(title=f"{name}: what its theorem guarantees, with probability {1 - promised.delta:.0%}")
    table.show_header = False
    for line in promised.lines():
        table.add_row(*line)
    Console().print(table)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that `run` and `compare` share."""
    for option in reversed(
        (
            click.argument("source"),
            click.option("--target", help="Column with the labels [default: the last one]."),
            click.option(
                "--learners",
                default=100,
                show_default=True,
                type=click.IntRange(1),
                help="Number of weak learners.",
            ),
            click.option(
                "--loss",
                default="logistic",
                show_default=True,
                type=click.Choice(list(LOSSES)),
                help="Of adaboost-olm, one-vs-all and adaboost-ova.",
            ),
            click.option(
                "--combiner",
                default="hedge",
                show_default=True,
                type=click.Choice(list(EXPERT_RULES)),
                help="Which expert adaboost-olm and adaboost-ova follow.",
            ),
            click.option(
                "--restart",
                default="auto",
                show_default=True,
                type=click.Choice(RESTARTS),
                help="When the worst trees of adaboost-olm start again: while the stream changes, always or never.",
            ),
            click.option("--gamma", default="auto", show_default=True, help="Edge of online-mbbm: a number or auto."),
            click.option(
                "--seed",
                default=0,
                show_default=True,
                help="Seed of the model, and of the shuffling of a data set.",
            ),
            click.option("--jobs", default=1, show_default=True, help="Threads; -1: all cores. Same result."),
            click.option("--limit", type=click.IntRange(1), help="Stop after so many examples."),
            click.option("--nominal", multiple=True, help="A column of a file to take as categories; can be repeated."),
            click.option("--numeric", multiple=True, help="A column of a file to take as numbers; can be repeated."),
            click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
        )
    ):
        command = option(command)
    return command


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Online multiclass boosting: learn from a stream, one pass, one example at a time."""


def _run(
    source,
    target,
    seed,
    limit,
    nominal,
    numeric,
    as_json,
    names: list[str],
    report: Path | None = None,
    **settings: Any,
) -> None:
    with _friendly_errors():
        stream = Stream(source, target, seed, limit, nominal, numeric)
        gamma = settings["gamma"]
        settings |= {"gamma": gamma if gamma == "auto" else _number(gamma, "--gamma"), "seed": seed}
        if report is not None:
            need_drawing()
        records: list[Record] | None = None if report is None else []
        _report(stream, _measure(stream, names, as_json, records, **settings), as_json, settings)
        if report is not None:
            _write_page(stream, records or [], settings, report)


def _write_page(stream: Stream, records: list[Record], settings: dict[str, Any], path: Path) -> None:
    from onlineboost.report.html_report import comparison_page

    about = f"{records[0]['rows']:,} examples, {len(stream.classes)} classes, {stream.how}; "
    about += f"{settings['learners']} learners, seed {settings['seed']}"
    path.write_text(comparison_page(records, f"Models compared on {stream.source}", about), encoding="utf-8")
    click.echo(f"wrote {path}", err=True)


def _number(text: str, option: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{option} takes a number or auto, got {text!r}") from None


@main.command()
@_options
@click.option("--model", default="adaboost-olm", show_default=True, type=click.Choice(list(MODELS)))
def run(model: str, **options: Any) -> None:
    """Test-then-train one model on SOURCE: the name of a data set, or a .csv, .csv.gz or .parquet file.

    \b
    onlineboost run nursery
    onlineboost run events.csv --target label --learners 50
    """
    _run(**options, names=[model, *(name for name in BASELINES if name != model)])


@main.command()
@_options
@click.option("--models", default=",".join(MODELS), show_default=True, help="Comma-separated names.")
@click.option("--report", type=click.Path(path_type=Path, dir_okay=False), help="Draw it all to this HTML page.")
def compare(models: str, **options: Any) -> None:
    """Test-then-train several models on the same SOURCE, in the same order."""
    names = [name.strip() for name in models.split(",") if name.strip()]
    if not names:
        raise click.BadParameter(f"name at least one of {', '.join(MODELS)}", param_hint="--models")
    for name in names:
        if name not in MODELS:
            raise click.BadParameter(f"{name!r} is not a model. Models: {', '.join(MODELS)}", param_hint="--models")
    _run(**options, names=names)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def datasets(as_json: bool) -> None:
    """List the data sets that `run` and `compare` know by name."""
    rows = describe_datasets()
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    table = TextTable(title="Data sets")
    for heading in ("name", "rows", "columns", "classes", "order", "available"):
        table.add_column(heading, justify="right" if heading in ("rows", "columns", "classes") else "left")
    for row in rows:
        here = row["where"] if row["where"] == "generated" else "yes" if row["available"] else "no"
        numbers = (f"{row['rows']:,}", str(row["columns"]), str(row["classes"]))
        table.add_row(row["name"], *numbers, row["order"], here)
    Console().print(table)
    if not all(row["available"] for row in rows):
        err.print("Set ONLINEBOOST_DATA to the folder with the others' files; `onlineboost run NAME` says which.")


@main.command()
@click.option("--learners", default=20, show_default=True, type=click.IntRange(1), help="N, the number of votes.")
@click.option("--gamma", "gammas", default="0.01,0.1", show_default=True, help="Edges, comma-separated: a panel each.")
@click.option("--most-classes", default=100, show_default=True, type=click.IntRange(3), help="Draw k from 2 to this.")
@click.option("--out", default="potential", show_default=True, help="Write OUT.png and OUT.html.")
def potential(learners: int, gammas: str, most_classes: int, out: str) -> None:
    """Draw phi_N(0), the error rate of OnlineMBBM, against the number of classes: the paper's figure."""
    with _friendly_errors():
        from onlineboost.report.pictures import draw_potentials

        edges = [_number(text, "--gamma") for text in gammas.split(",")]
        for path in draw_potentials(learners, edges, most_classes, out):
            click.echo(f"wrote {path}")


main.add_command(bounds)
main.add_command(reproduce)
