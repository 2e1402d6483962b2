"""onlineboost tune: settings chosen on a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from onlineboost import lookup
from onlineboost.cli.common import (
    address_of,
    check_apart,
    check_writable,
    comma_separated,
    err,
    ray_option,
    settings_of,
    text_table,
    visible,
)

DEFAULT = {"n_learners": ["25", "50", "100"], "weight_scale": ["rising", "10"], "restart": ["auto", "never"]}


@click.command()
@click.argument("source")
@click.option("--target", help="Column with the labels [default: the last one].")
@click.option("--model", default="online-boost", show_default=True, type=click.Choice(lookup.names()))
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE,VALUE", help="Values of a setting; can be repeated.")
@click.option("--score", default="log_loss", show_default=True, help="What is compared: accuracy, kappa, macro_f1, ...")
@click.option("--seed", default=0, show_default=True, help="Seed of the models, and of the shuffling of a data set.")
@click.option("--limit", type=click.IntRange(1), help="Only the first so many examples.")
@ray_option("Run the models on this Ray cluster, with the same result")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Put the model that is left into a file.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def tune(
    source: str,
    target: str | None,
    model: str,
    sets: tuple[str, ...],
    score: str,
    seed: int,
    limit: int | None,
    ray: str | None,
    save: Path | None,
    as_json: bool,
) -> None:
    """Tune a model's settings on SOURCE by successive halving.

    All settings run side by side, and the worse half drops out again and again. Every model predicts a row before it
    learns it, and nothing looks ahead. SOURCE is read into memory.

    \b
    onlineboost tune nursery --model adaboost-olm --set n_learners=20,50 --set vote=tempered,cost
    """
    from onlineboost.cli.stream import Stream
    from onlineboost.evaluation.prequential import tune as halve

    check_apart(source=source, save=save)
    if save is not None:
        check_writable(save, "--save")
    grid = _grid(model, sets)
    stream = Stream(source, target, seed, limit)
    X, y = _in_memory(stream)
    told = None if as_json else _tell
    new = lookup.make(model, random_state=seed)
    with _spreading(ray) as how:
        found = halve(new, grid, X, y, score=score, classes=stream.classes or None, progress=told, **how)
    if save is not None:
        found.model.save(save)
    if as_json:
        rounds = [vars(one) for one in found.rounds]
        own = found.own.as_dict()
        answer = {"source": source, "model": model, "score": score, "settings": found.settings, "rounds": rounds}
        click.echo(json.dumps({**answer, "followed": own}, indent=2))
        return
    _print(found, f"{visible(source)}: settings of {model}, by {score}")


@contextmanager
def _spreading(ray: str | None) -> Iterator[dict[str, Any]]:
    """How the models are run: here, or on a cluster."""
    if ray is None:
        yield {}
        return
    from onlineboost.cluster import each
    from onlineboost.cluster.ray_engine import joined

    with joined(address_of(ray)):
        yield {"spread": each}


def _grid(model: str, sets: tuple[str, ...]) -> dict[str, list[Any]]:
    """The values to try, as JSON would read them; words are words."""
    own, grid = settings_of(model), {}
    if not sets:
        return {name: [_value(text) for text in values] for name, values in DEFAULT.items() if name in own}
    for part in sets:
        name, sign, values = part.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or not comma_separated(values):
            raise click.BadParameter(f"give NAME=VALUE,VALUE, got {part!r}", param_hint="--set")
        if name not in own:
            raise click.BadParameter(f"{model} has no setting {name!r}; it has {', '.join(own)}", param_hint="--set")
        grid[name] = [_value(value) for value in comma_separated(values)]
    return grid


def _value(text: str) -> Any:
    words = {"none": None, "true": True, "false": False}
    try:
        return words[text.lower()] if text.lower() in words else json.loads(text)
    except ValueError:
        return text


def _in_memory(stream: Any) -> tuple[Any, Any]:
    """All rows of a stream."""
    import numpy as np

    from onlineboost.data.table import Table

    blocks = list(stream.blocks())
    tables = [block.X for block in blocks]
    columns = tuple(np.concatenate(parts) for parts in zip(*(table.columns for table in tables), strict=True))
    X = Table(tables[0].names, columns, tables[0].categories, tables[0].named)
    return X, np.concatenate([block.y for block in blocks])


def _tell(rows: int, total: int, left: int) -> None:
    err.print(f"{rows:,} of {total:,} rows: {left} left", highlight=False)


def _print(found: Any, title: str) -> None:
    """The models in the order in which they dropped out, the last one first, and what each was judged by."""
    names = list(found.settings)
    table = text_table((*names, found.score, "rows"), title=escape(title))
    shown: list[Any] = []
    for look in reversed(found.rounds):
        for settings, value in look.scores:
            if settings not in shown:
                shown.append(settings)
                style = "bold green" if settings == found.settings else ""
                cells = (str(settings[name]) for name in names)
                table.add_row(*cells, f"{value:.4f}", f"{look.rows:,}", style=style)
    console = Console()
    console.print(table)
    told = ", ".join(f"{name}={found.settings[name]!r}" for name in names)
    line = f"Chosen: {told}. Following the current leader would have given an accuracy of {found.own.accuracy:.4f}."
    console.print(line, highlight=False)
