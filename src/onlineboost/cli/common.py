"""What the commands share: messages, errors that a person can read, models by name, and options."""

from __future__ import annotations

import contextlib
import errno
import io
import math
import os
import sys
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from onlineboost import lookup
from onlineboost.registry import ENTRIES

err = Console(stderr=True)

BASELINES = {"majority": "MajorityClass", "last-class": "LastClass"}  # classes of `onlineboost.evaluation`
MODELS = (*lookup.names(), *BASELINES)
COMPARED = (*(entry.name for entry in ENTRIES if not entry.is_member), *BASELINES)  # unless others are named
LOCAL = "local"  # a Ray cluster that is started on this machine, for this command

WAY_OUT = {  # what to do about an error of the system
    errno.ENOENT: "Check the path.",
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


@contextlib.contextmanager
def friendly_errors() -> Iterator[None]:
    """Errors of data, settings and files: a sentence that says what to do, and exit code 2, no traceback."""
    _print_what_can_be_printed()
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()  # whoever read it has had enough, such as `head`
        raise SystemExit(1) from None
    except OSError as error:
        where = f"{error.filename}: " if error.filename is not None else "cannot write the output: "
        advice = WAY_OUT.get(error.errno or 0, "Try again, or name another place.")
        _tell(f"{where}{error.strerror or error}. {advice}")
        _drop_output()
        raise SystemExit(2) from None
    except MemoryError:
        _tell("there is not enough memory. Take fewer --learners, or a file with fewer columns or classes.")
        raise SystemExit(2) from None
    except (ValueError, OverflowError) as error:
        _tell(str(error))
        raise SystemExit(2) from None
    except click.exceptions.Exit:  # a RuntimeError: this is how --help ends
        raise
    except RuntimeError as error:
        from onlineboost.cluster import ClusterError

        if not isinstance(error, ClusterError):
            raise
        _tell(str(error))
        raise SystemExit(2) from None
    except KeyboardInterrupt:
        err.print("Stopped.")
        raise SystemExit(130) from None


@contextlib.contextmanager
def progress_bar(*columns: Any, **more: Any) -> Iterator[Any]:
    """A bar of rich's on the console for messages; if there is an error it goes, and leaves no half of itself."""
    from rich.progress import Progress

    with Progress(*columns, console=err, **more) as bar:
        try:
            yield bar
        except BaseException:
            bar.live.transient = True
            raise


@contextlib.contextmanager
def friendly_warnings() -> Iterator[None]:
    """A sentence each, once: where in a program they arose says nothing here."""
    told: set[str] = set()

    def show(message: Warning | str, *_: Any, **__: Any) -> None:
        if str(message) not in told:
            told.add(str(message))
            _tell(str(message), "[bold yellow]Warning:[/]")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _tell(text: str, what: str = "[bold red]Error:[/]") -> None:
    err.print(what, escape(visible(text)), soft_wrap=True, highlight=False)


def visible(text: str) -> str:
    """Text as it may be shown: characters that would move the cursor or change colours are spelt out."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def _print_what_can_be_printed() -> None:
    """A character that the terminal's encoding does not have becomes a question mark, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _drop_output() -> None:
    """What could not be written is not tried again at exit."""
    with contextlib.suppress(OSError, ValueError):
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def text_table(headings: Iterable[str], left: Collection[str] = (), **look: Any) -> Table:
    """A table for the terminal; columns of words, `left`, begin on the left, and numbers end on the right."""
    table = Table(**look)
    for heading in headings:
        table.add_column(heading, justify="left" if heading in left else "right")
    return table


def check_writable(path: Path, option: str) -> None:
    """Before a long run: can this file be written?"""
    there = path.exists()
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


# --------------------------------------------------------------------------------------------------------- clusters


def ray_option(what: str) -> Callable[[Any], Any]:
    """--ray [ADDRESS], with what the command does then."""
    return click.option(
        "--ray",
        is_flag=False,
        flag_value=LOCAL,
        metavar="[ADDRESS]",
        callback=_check_ray,
        help=f"{what}; without ADDRESS, on one that is started here.",
    )


def _check_ray(context: click.Context, option: click.Parameter, ray: str | None) -> str | None:
    if ray is not None and find_spec("ray") is None:
        raise click.BadParameter("it needs Ray: pip install 'onlineboost[ray]'", param_hint="--ray")
    return ray


def address_of(ray: str) -> str | None:
    """The address that such an option names; None: a cluster is to be started."""
    return None if ray == LOCAL else ray
