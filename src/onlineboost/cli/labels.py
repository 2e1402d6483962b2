"""onlineboost labels: test-then-train several labels a row."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from onlineboost.cli.main import check_apart, check_writable, comma_separated, err
from onlineboost.cli.sources import Stream, column_options


@click.command()
@click.argument("source")
@click.option("--target", required=True, help="Columns with the labels, comma-separated: 1 if a row has it, else 0.")
@column_options
@click.option("--learners", type=click.IntRange(1), help="Number of weak learners [default: 20].")
@click.option("--seed", default=0, show_default=True, help="Seed of the model.")
@click.option("--limit", type=click.IntRange(1), help="Stop after this number of examples.")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Save the model to this file at the end.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
def labels(
    source: str,
    target: str,
    learners: int | None,
    seed: int,
    limit: int | None,
    save: Path | None,
    as_json: bool,
    **columns: tuple[str, ...],
) -> None:
    """Test-then-train MultiLabelBoost on SOURCE, a file in which each label has a column.

    \b
    onlineboost labels films.csv --target drama,comedy,crime --save films.olb
    """
    from onlineboost.estimators.multi_label import MultiLabelBoost
    from onlineboost.evaluation.multi_label import prequential_labels

    check_apart(source=source, save=save)
    if save is not None:
        check_writable(save, "--save")
    X, Y = _read(source, comma_separated(target), seed, limit, columns)
    own: dict[str, Any] = {} if learners is None else {"n_learners": learners}
    clf = MultiLabelBoost(random_state=seed, **own)
    MultiLabelBoost(1).partial_fit([[0.0], [1.0]], [{"a"}, {"b"}])  # to compile does not count
    with err.status("learning ..."):
        run = prequential_labels(clf, X, Y)
    if save is not None:
        clf.save(save)
    if as_json:
        parts = {"metrics": run.metrics.as_dict(), "tail": run.tail.as_dict(), "seconds": run.seconds}
        click.echo(json.dumps({"source": source, "rows": int(run.metrics.rows), **parts}, indent=2))
    else:
        click.echo(run)


def _read(
    source: str, names: list[str], seed: int, limit: int | None, columns: dict[str, tuple[str, ...]]
) -> tuple[Any, Any]:
    """The rows, and their labels."""
    import numpy as np

    from onlineboost.data.label_sets import of_indicator
    from onlineboost.data.table import Table, joined

    if len(names) < 2:
        raise click.BadParameter("name two columns at least; for one, use run", param_hint="--target")
    first, *others = names
    X, y = joined(Stream(source, first, seed, limit, columns).blocks())
    if unknown := [name for name in others if name not in X.names]:
        raise click.BadParameter(f"{source} has no column {unknown[0]!r}", param_hint="--target")
    given = dict(zip(X.names, X.columns, strict=True))
    own = [name for name in X.names if name not in names]
    rounded = tuple(name for name in X.rounded if name in own)
    rows = Table(tuple(own), tuple(given[name] for name in own), named=X.named, rounded=rounded)
    return rows, of_indicator(np.column_stack([y, *(given[name] for name in others)]).astype(object), names)
