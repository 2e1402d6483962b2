"""The command line: onlineboost run | serve | predict | show | compare | tune | ...

The group of commands, which loads a command's module when it is called; then what the commands share: messages, errors
that a person can read, models by name, and options.
"""

from __future__ import annotations

import contextlib
import errno
import io
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from difflib import get_close_matches
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onlineboost import __version__, lookup
from onlineboost.registry import ENTRIES

err = Console(stderr=True)

BASELINES = {"majority": "MajorityClass", "last-class": "LastClass"}  # classes of `onlineboost.evaluation`
MODELS = (*lookup.names(), *BASELINES)
COMPARED = (*(entry.name for entry in ENTRIES if not entry.is_member), *BASELINES)  # unless others are named
LOCAL = "local"  # a Ray cluster that is started on this machine, for this command

WAY_OUT = {  # what to do about an error of the system
    errno.ENOENT: "Check the path.",
    errno.EADDRINUSE: "Name another --port; 0 takes any that is free.",
    errno.EACCES: "Change who may use it, or name another place.",
    errno.EPERM: "Change who may use it, or name another place.",
    errno.EROFS: "Name a place that can be written to.",
    errno.ENOSPC: "Make room, or name another place.",
    errno.EDQUOT: "Make room, or name another place.",
    errno.EISDIR: "It is a folder: name a file.",
    errno.ENOTDIR: "A part of the path is a file: name a folder.",
    errno.EEXIST: "There is a file of that name: name another place.",
    errno.ENAMETOOLONG: "Take a shorter name.",
    errno.EMFILE: "Too many files are open: raise the limit (ulimit -n), or use fewer --jobs.",
}

# Name: (module, what `onlineboost --help` says, which is the first sentence of the command's own help).
COMMANDS = {
    "bounds": (".bounds", "How many weak learners and examples does an error rate take?"),
    "compare": (".run", "Test-then-train several models on the same SOURCE, in the same order."),
    "datasets": (".sources", "List the data sets that `run` and `compare` know by name."),
    "labels": (".labels", "Test-then-train MultiLabelBoost on SOURCE, a file in which each label has a column."),
    "potential": (
        ".bounds",
        "Draw phi_N(0), the error rate of OnlineMBBM, against the number of classes: the paper's figure.",
    ),
    "predict": (".saved_model", "Predict the rows of SOURCE, a file or - for a pipe, with a saved MODEL."),
    "replay": (
        ".serve",
        "Learn the events of FOLDER again, in the same order, and report how well they were predicted.",
    ),
    "reproduce": ("onlineboost_paper.command", "Run the paper's experiments and put our tables beside its own."),
    "run": (
        ".run",
        "Test-then-train one model on SOURCE: the name of a data set, a .csv, .parquet or .ndjson file, or - (a pipe).",
    ),
    "serve": (
        ".serve",
        "Serve the model in FOLDER over HTTP: predict, learn each event exactly once, show metrics.",
    ),
    "show": (".saved_model", "Describe a saved MODEL: its kind, settings, columns, classes and size."),
    "top": (".serve", "Watch a live service in the terminal."),
    "tune": (".run", "Tune a model's settings on SOURCE by successive halving."),
    "warm": (".warm", "Compile the inner loops of all models now, so that no later run has to."),
}


class LazyGroup(click.Group):
    """The commands of the table above. A command's module is imported when the command is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        command = getattr(import_module(COMMANDS[name][0], "onlineboost.cli"), name)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in COMMANDS and (near := get_close_matches(args[0].lower(), COMMANDS)):
            ctx.fail(f"there is no command {args[0]!r}. Did you mean {' or '.join(map(repr, near))}?")
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        with friendly_messages():
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        listed = [click.Command(name, help=text) for name, (_, text) in COMMANDS.items()]
        click.Group(commands=listed).format_commands(ctx, formatter)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__)
def main() -> None:
    """Online multiclass boosting: learn from a stream, one pass, one example at a time."""


@contextlib.contextmanager
def friendly_messages() -> Iterator[None]:
    """Errors of data, settings and files: a sentence that says what to do, and exit code 2, no traceback.

    A warning is a sentence too, once: where in a program it arose says nothing here.
    """
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            _tell(str(message), "[bold yellow]Warning:[/]")

    for name, mode in (("stdin", "r"), ("stdout", "w")):
        if getattr(sys, name) is None:  # it is closed
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what the terminal's encoding does not have becomes a question mark
            stream.reconfigure(errors="replace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = show
            yield
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()  # whoever read it has had enough, such as `head`
        raise SystemExit(1) from None
    except click.exceptions.Exit:  # a RuntimeError: this is how --help ends
        raise
    except KeyboardInterrupt:
        err.print("Stopped.")
        raise SystemExit(130) from None
    except (OSError, MemoryError, ValueError, OverflowError, RuntimeError) as error:
        if (text := _sentence(error)) is None:
            raise
        _tell(text)
        if isinstance(error, OSError):
            _drop_output()
        raise SystemExit(2) from None


def _sentence(error: Exception) -> str | None:
    """What happened and what to do; None: it is nobody's mistake but ours, and the traceback is wanted."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename is not None else "cannot write the output: "
        advice = WAY_OUT.get(error.errno or 0, "Try again, or name another place.")
        return f"{where}{error.strerror or error}. {advice}"
    if isinstance(error, MemoryError):
        return "there is not enough memory. Take fewer --learners, or a file with fewer columns or classes."
    if isinstance(error, RuntimeError):
        from onlineboost.cluster import ClusterError

        return str(error) if isinstance(error, ClusterError) else None
    return str(error)


def _drop_output() -> None:
    """What could not be written is not tried again at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def _tell(text: str, what: str = "[bold red]Error:[/]") -> None:
    err.print(what, escape(visible(text)), soft_wrap=True, highlight=False)


def visible(text: str) -> str:
    """Text as it may be shown: characters that would move the cursor or change colours are spelt out."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def progress_bar(*columns: Any, disable: bool = False) -> Any:
    """A bar of rich's on the console for messages, which goes in the end; none where that is no terminal."""
    from rich.progress import Progress

    return Progress(*columns, console=err, transient=True, disable=disable or not err.is_terminal)


def text_table(headings: Iterable[str], left: Collection[str] = (), **look: Any) -> Table:
    """A table for the terminal; columns of words, `left`, begin on the left, and numbers end on the right."""
    table = Table(**look)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def check_writable(path: Path, option: str) -> None:
    """Before a long run: can this file be written?"""
    there = path.exists()
    if path.is_fifo():
        return  # to close it would tell its reader that this was all
    try:
        path.open("ab").close()
    except OSError as error:
        advice = WAY_OUT.get(error.errno or 0, "Name another place.")
        message = f"{visible(str(path.absolute()))} cannot be written: {error.strerror or error}. {advice}"
        raise click.BadParameter(message, param_hint=option) from None
    if not there:
        path.unlink()


def check_apart(**files: str | Path | None) -> None:
    """Before anything is written: what is to be written (`save`, `out`, `report`) is none of the other files."""
    met: dict[str, str] = {}
    for option, path in files.items():
        name = option.upper() if option in ("source", "model") else f"--{option.replace('_', '-')}"
        place = os.path.realpath(path or "")
        if path is not None and place in met and option in ("save", "out", "report"):
            message = f"{visible(str(path))} is {met[place]} too, and would be written over. Name another file"
            raise click.BadParameter(message, param_hint=name)
        if path is not None:
            met[place] = name


def finite(context: click.Context, option: click.Parameter, value: float | None) -> float | None:
    """For options that take a number: nan and inf are none."""
    if value is not None and not math.isfinite(value):
        raise click.BadParameter(f"it must be a finite number, got {value}")
    return value


def number(text: str, option: str, takes: str = "a number or auto") -> float:
    """The number that an option was given."""
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{option} takes {takes}, got {text!r}") from None


def comma_separated(text: str) -> list[str]:
    """The words of an option, without blanks around them, and without empty ones."""
    return [part.strip() for part in text.split(",") if part.strip()]


# ---------------------------------------------------------------------------------------------------------- models


def settings_of(name: str) -> tuple[str, ...]:
    """The settings that a model has."""
    return () if name in BASELINES else lookup.settings_of(name)


def make_model(name: str, *, seed: int, jobs: int, learners: int | None = None, **settings: Any) -> Any:
    """A model by its name, with those of the settings that it has."""
    if name in BASELINES:
        from onlineboost import evaluation

        return getattr(evaluation, BASELINES[name])()
    return lookup.make(name, n_learners=learners, random_state=seed, n_jobs=jobs, **settings)


class ModelFile(click.Path):
    """A saved model; if there is no such file, a sentence says which is near."""

    def __init__(self) -> None:
        super().__init__(path_type=Path, exists=True, dir_okay=False)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from onlineboost.data.errors import file_error, near_files

        path = Path(value)
        if path.is_dir():
            raise file_error(path, "it is a folder: name a model file in it")
        if not path.exists():
            raise file_error(path, f"no such file.{near_files(path)}")
        return super().convert(value, param, ctx)


# --------------------------------------------------------------------------------------------------------- clusters


def ray_option(what: str) -> Callable[[Any], Any]:
    """--ray [ADDRESS], with what the command does then."""
    return click.option(
        "--ray",
        is_flag=False,
        flag_value=LOCAL,
        metavar="[ADDRESS]",
        callback=_check_ray,
        help=f"{what}; without ADDRESS, start one on this machine.",
    )


def _check_ray(context: click.Context, option: click.Parameter, ray: str | None) -> str | None:
    if ray is not None and find_spec("ray") is None:
        raise click.BadParameter("it needs Ray: pip install 'onlineboost[ray]'", param_hint="--ray")
    return ray


def address_of(ray: str) -> str | None:
    """The address that such an option names; None: a cluster is to be started."""
    return None if ray == LOCAL else ray


if __name__ == "__main__":
    main()
