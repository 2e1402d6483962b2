"""onlineboost serve, which starts the live service, and onlineboost replay, which learns its log again."""

from __future__ import annotations

import ipaddress
import json
import logging
import socket
import sys
import time
import urllib.request
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onlineboost import lookup
from onlineboost.cli.main import ModelFile, err, make_model, text_table, visible

if TYPE_CHECKING:
    from onlineboost.service.server import Listen

FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
FOLDER = click.argument("folder", type=click.Path(path_type=Path, file_okay=False))
NEEDED = ("msgspec", "uvicorn", "httptools")
MB = 1_000_000


def _check_installed() -> None:
    if sys.platform == "win32":
        raise ValueError("the service runs on Linux and macOS: on Windows, in a container or in WSL")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        raise ValueError(f"the service needs {', '.join(missing)}: pip install 'onlineboost[serve]'")


@click.command()
@FOLDER
@click.option("--model", type=click.Choice(lookup.names()), help="Model of a new FOLDER [default: online-boost].")
@click.option("--learners", type=click.IntRange(1), help="Number of weak learners of a new FOLDER's model.")
@click.option(
    "--start-from",
    type=ModelFile(),
    help="A saved model to start a new FOLDER with.",
)
@click.option("--sets", is_flag=True, help="Let a new FOLDER's model return prediction sets (docs/sets.md).")
@click.option("--key", metavar="COLUMN", help="Also keep a model for each value of this column (new FOLDER only).")
@click.option(
    "--most-keys",
    default=100,
    show_default=True,
    type=click.IntRange(1),
    help="Largest number of models for --key; together they take at most 1 GB.",
)
@click.option(
    "--shadow",
    "shadows",
    multiple=True,
    metavar="MODEL[:LEARNERS]",
    help="A challenger: a model that learns but does not answer; can be repeated.",
)
@click.option(
    "--source",
    "sources",
    multiple=True,
    help="A stream to read: - for NDJSON on stdin, a .csv file that grows, kafka://SERVER:PORT/TOPIC, "
    "nats://SERVER:PORT/SUBJECT; can be repeated.",
)
@click.option("--target", default="label", show_default=True, help="Column of a .csv --source with the labels.")
@click.option("--demo", is_flag=True, help="Send it a generated stream that changes now and then.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0: any free one.")
@click.option("--token", envvar="ONLINEBOOST_TOKEN", help="Token that clients must send; or set ONLINEBOOST_TOKEN.")
@click.option("--tls-certificate", type=FILE, help="PEM certificate, for HTTPS; needs --tls-key.")
@click.option("--tls-key", type=FILE, help="PEM key of the certificate.")
@click.option(
    "--most-rate", type=click.FloatRange(0, min_open=True), help="Most requests per second from one client address."
)
@click.option(
    "--webhook", metavar="URL", help="Post JSON here when accuracy falls, the stream changes, or something is wrong."
)
@click.option("--json-logs", is_flag=True, help="Log lines of JSON, on stderr.")
@click.option(
    "--ask",
    default=0.0,
    show_default=True,
    type=click.FloatRange(0, 1, max_open=True),
    help="Share of the events to ask labels for (active learning).",
)
@click.option("--most-body", default=16, show_default=True, type=click.IntRange(1), help="Largest request, in MB.")
@click.option(
    "--most-waiting",
    default=10_000_000,
    show_default=True,
    type=click.IntRange(1),
    help="Most events that wait for labels; then the oldest are dropped.",
)
@click.option(
    "--behind",
    default=10_000,
    show_default=True,
    type=click.IntRange(1),
    help="Most accepted examples that are not yet learned; further ones wait.",
)
@click.option(
    "--keep",
    default=90.0,
    show_default=True,
    type=click.FloatRange(0, min_open=True),
    help="Days that events are kept.",
)
def serve(
    folder: Path,
    shadows: tuple[str, ...],
    sources: tuple[str, ...],
    target: str,
    demo: bool,
    json_logs: bool,
    **given: Any,
) -> None:
    """Serve the model in FOLDER over HTTP: predict, learn each event exactly once, show metrics.

    If FOLDER does not exist, it is made, with a new model. More: docs/live.md.

    \b
    onlineboost serve live
    onlineboost serve live --model adaboost-olm --learners 10 --port 8000
    """
    _check_installed()
    from onlineboost.service.brokers import source
    from onlineboost.service.server import Listen, listening_at, run
    from onlineboost.service.service import Options, lock
    from onlineboost.service.sources import Demo, Source

    options = Options(**{name: given.pop(name) for name in Options.__dataclass_fields__})
    listen = Listen(**{name: given.pop(name) for name in Listen.__dataclass_fields__})
    _check(listen)
    _log(json_logs)
    listening_at(listen.host, listen.port).close()  # before a folder is made
    _open(folder, **given)
    lock(folder).close()  # an error if another process serves it
    for shadow in shadows:
        _add_shadow(folder, shadow, given["sets"])
    read: list[Source] = [source(name, target) for name in sources]
    run(
        folder,
        options,
        listen,
        [*read, Demo()] if demo else read,
        ready=lambda url: click.echo(f"Serving {visible(str(folder))} on {url}", err="-" in sources),
    )


def _check(listen: Listen) -> None:
    """Before anything is made: may it listen there, and to whom?"""
    if listen.token is None and not _is_loopback(listen.host):
        raise click.BadParameter(
            f"{listen.host} can be reached by others: give a --token, which they have to send", param_hint="--host"
        )
    if (listen.tls_certificate is None) != (listen.tls_key is None):
        raise click.BadParameter("it takes both --tls-certificate and --tls-key", param_hint="--tls-certificate")
    if listen.webhook is not None and not listen.webhook.startswith(("http://", "https://")):
        raise click.BadParameter(f"{listen.webhook!r} is not an address of the web", param_hint="--webhook")


def _log(as_json: bool) -> None:
    from onlineboost.service.watch import JsonLines

    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines() if as_json else logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    logging.basicConfig(handlers=[handler])
    logging.getLogger("onlineboost.service").setLevel(logging.INFO if as_json else logging.NOTSET)


def _add_shadow(folder: Path, given: str, sets: bool) -> None:
    """A challenger, unless it is there."""
    from onlineboost.service.service import create

    name, _, learners = given.partition(":")
    if name not in lookup.names() or (learners and not learners.isdecimal()):
        raise click.BadParameter(
            f"{given!r} is not a model: they are {', '.join(lookup.names())}", param_hint="--shadow"
        )
    of = int(learners) if learners else None
    create(folder, make_model(name, seed=0, jobs=1, learners=of, sets=sets or None), given.replace(":", "-"))


def _is_loopback(host: str) -> bool:
    try:
        return all(ipaddress.ip_address(found[4][0]).is_loopback for found in socket.getaddrinfo(host, None))
    except (OSError, ValueError):
        return False


def _open(
    folder: Path,
    model: str | None,
    learners: int | None,
    start_from: Path | None,
    sets: bool,
    key: str | None,
    most_keys: int,
) -> None:
    """Make the folder, unless it is there; then it says which model it has."""
    from onlineboost.files.files import load, load_with_more
    from onlineboost.service.follower import BEGIN
    from onlineboost.service.keyed import Keyed
    from onlineboost.service.service import MAIN, create
    from onlineboost.storage.container import PART

    made = make_model(model or "online-boost", seed=0, jobs=1, learners=learners, sets=sets or None)
    if key is not None:
        made.set_params(memory_limit=1000 * MB // (most_keys + 1))
    models = sorted(folder.glob(f"*/{BEGIN}"), key=lambda path: path.parent.name != MAIN)
    if models:
        found, more = load_with_more(models[0])
        by = more.get("keyed", {}).get("column")
        other = start_from is not None or ((model or learners or sets) and repr(found) != repr(made))
        if other or (key is not None and key != by):
            raise ValueError(
                f"{folder} has a model already, which is {found!r}{f' for each {by}' if by else ''}: leave --model, "
                f"--learners, --sets, --key and --start-from out, or name a new folder. `onlineboost replay {folder} "
                f"--model ...` tells how another model would do on the same events"
            )
    elif folder.exists() and any(path.is_file() for path in folder.rglob("*") if not path.match(PART)):
        raise ValueError(f"{folder} is neither empty nor was it made by `onlineboost serve`: name another folder")
    else:
        keyed = None if key is None else Keyed(key, most_keys, made)
        create(folder, load(start_from) if start_from is not None else made, keyed=keyed)


@click.command()
@FOLDER
@click.option("--name", default="main", show_default=True, help="Model of FOLDER to start from.")
@click.option("--model", type=click.Choice(lookup.names()), help="A new model of this kind instead.")
@click.option("--learners", type=click.IntRange(1), help="Its number of weak learners.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Save the model to this file at the end.")
@click.option("--check", is_flag=True, help="Compare the result with the saved model, bit for bit.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as JSON.")
def replay(
    folder: Path, name: str, model: str | None, learners: int | None, save: Path | None, check: bool, as_json: bool
) -> None:
    """Learn the events of FOLDER again, in the same order, and report how well they were predicted.

    Without --model the result is the served model, bit for bit. The service may run at the same time. --check needs
    the saved model of FOLDER: a new service saves it after three seconds of learning, and when it stops.

    \b
    onlineboost replay live --check
    onlineboost replay live --model adaboost-olm --learners 50
    """
    _check_installed()
    from onlineboost.service.replay import Replay

    if check and (model or learners):
        raise click.BadParameter("it is for the model of FOLDER, without --model and --learners", param_hint="--check")
    other = make_model(model or "online-boost", seed=0, jobs=1, learners=learners) if model or learners else None
    done = Replay(folder, name, other)
    with err.status("replaying ..."):
        figures: dict[str, Any] = done.run(to_snapshot=check)
    if check:
        figures["same as the snapshot"] = done.is_snapshot()
    if save is not None:
        done.clf.save(save)
    if as_json:
        click.echo(json.dumps(figures, indent=2))
    else:
        for key, value in figures.items():
            click.echo(f"{key:<22} {f'{value:.4f}' if isinstance(value, float) else value}")
    if check and not figures["same as the snapshot"]:
        raise SystemExit(1)


@click.command()
@click.argument("url", default="http://127.0.0.1:8000")
@click.option("--token", envvar="ONLINEBOOST_TOKEN", help="Token of the service; or set ONLINEBOOST_TOKEN.")
@click.option("--once", is_flag=True, help="Print once and exit.")
def top(url: str, token: str | None, once: bool) -> None:
    """Watch a live service in the terminal.

    \b
    onlineboost top
    onlineboost top http://127.0.0.1:8000 --once
    """
    from rich.console import Console, Group
    from rich.live import Live

    def ask() -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(url.rstrip("/") + "/model", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return json.load(answer)
        except (OSError, ValueError) as error:
            raise ValueError(f"{url}: no service answers there ({error}). Start one with onlineboost serve") from None

    now = ask()
    if once:
        Console().print(*_tables(now, now))
        return
    with Live(Group(*_tables(now, now)), auto_refresh=False) as live:
        while True:
            time.sleep(1.0)
            before, now = now, ask()
            live.update(Group(*_tables(now, before)), refresh=True)


def _tables(now: Any, before: Any) -> list[Any]:
    """Models, requests, and the log; rates since `before`."""
    seconds, log = max(now["now"] - before["now"], 1e-9), now["log"]
    models = text_table(("model", "right", "balanced", "log loss", "learned", "behind", "memory"), left=("model",))
    for model in now["models"]:
        figures = [model["last"][name] for name in ("accuracy", "balanced_accuracy", "log_loss")]
        shown = ["-" if value is None else f"{value:.4f}" for value in figures]
        memory = f"{model.get('memory', {}).get('bytes', 0) / MB:,.1f} MB"
        models.add_row(model["name"], *shown, f"{model['place']:,}", f"{model['behind']:,}", memory)
    requests = text_table(("request", "how many", "a second", "p50 ms", "p99 ms"), left=("request",))
    for path, took in now["requests"].items():
        rate = (took["count"] - before["requests"].get(path, {"count": 0})["count"]) / seconds
        requests.add_row(path, f"{took['count']:,}", f"{rate:,.0f}", *(f"{1e3 * took[p]:,.2f}" for p in ("p50", "p99")))
    waiting = f"{log['waiting']:,} events wait for labels, the oldest for {log['oldest']:,.0f} s"
    size = f"log {log['bytes'] / MB:,.1f} MB, {log['dead']:,} dead letters"
    return [models, requests, waiting, size, *(f"problem: {problem}" for problem in now["problems"])]
