"""onlineboost predict and onlineboost show: what to do with a saved model."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, TextIO

import click

from onlineboost.cli.main import check_apart, check_writable, visible

MODEL = click.argument("model", type=click.Path(path_type=Path, exists=True, dir_okay=False))


@click.command()
@MODEL
@click.argument("source")
@click.option("--proba", is_flag=True, help="Print the probability of every class, too.")
@click.option("--keep", multiple=True, help="A column of SOURCE to copy to the output, such as a key; can be repeated.")
@click.option("--target", help="Column of SOURCE with the labels: tells how many predictions are right.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this CSV file.")
def predict(model: Path, source: str, proba: bool, keep: tuple[str, ...], target: str | None, out: Path | None) -> None:
    """Predict the rows of SOURCE, a file or - for a pipe, with a saved MODEL.

    Columns are found by their names, and others are left out: the label may be there or not. The output has the number
    of each row, from 1 on, and its prediction.

    \b
    onlineboost predict model.olb events.csv --proba --out predictions.csv
    onlineboost predict model.olb events.csv --keep id --target label --out predictions.csv
    """
    from onlineboost.evaluation.resumable import replacing_text

    check_apart(model=model, source=source, out=out)
    clf = _load(model)
    if "_model" not in clf.__dict__:
        raise ValueError(f"{model}: this model has learned nothing yet: there is nothing to predict with")
    if out is None:
        told = _predict(clf, source, proba, keep, target, sys.stdout)
    else:
        check_writable(out, "--out")
        with replacing_text(out) as text:
            told = _predict(clf, source, proba, keep, target, text)
        told += f" Wrote {visible(str(out))}."
    if out is not None or target is not None:
        click.echo(told, err=True)


def _predict(clf: Any, source: str, proba: bool, keep: tuple[str, ...], target: str | None, out: TextIO) -> str:
    """Write the predictions; what came of it in a sentence."""
    from onlineboost.data.files import read_columns
    from onlineboost.data.labels import written_as
    from onlineboost.evaluation.resumable import lines

    encoder, rows, right = clf._model.encoder, 0, 0
    classes = [str(label) for label in clf.classes_.tolist()] if proba else []
    out.write(lines(*([name] for name in ["row", *keep, "prediction", *(f"p({label})" for label in classes)])))
    texts = keep if target is None else (*keep, target)
    for table, copied in read_columns(source, encoder.names, [encoder.names[c] for c in encoder.nominal], texts):
        said = clf.predict(table)
        shares = list(clf.predict_proba(table).T) if proba else []
        out.write(lines(range(rows + 1, rows + 1 + len(said)), *copied[: len(keep)], said, *shares))
        out.flush()
        rows += len(said)
        if target is not None:
            right += sum(written_as(label) == text for label, text in zip(said.tolist(), copied[-1], strict=True))
    told = f"{rows:,} rows predicted" + (f", {right / rows:.4f} of them right" if target is not None and rows else "")
    return told + "."


@click.command()
@MODEL
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(model: Path, as_json: bool) -> None:
    """Tell what is in a saved MODEL: its kind, settings, columns, classes and size."""
    told = _told(model)
    if as_json:
        click.echo(json.dumps(told, indent=2, default=str))
        return
    width = max(map(len, told))
    for name, value in told.items():
        text = ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if type(value) is int else value
        on_one_line = visible(str(text)).replace("\n", "\\n")  # no name can look like a line of its own
        click.echo(f"{name:<{width}}  {on_one_line}")


def _told(path: Path) -> dict[str, Any]:
    from onlineboost.storage.container import FORMAT, read

    found = read(path)
    pickles = found.content.get("pickles") if isinstance(found.content, dict) else 0
    told: dict[str, Any] = {"file": str(path), "bytes": found.size, "format": FORMAT}
    if pickles:  # nobody has asked to run what is in them
        estimator = found.content["estimator"]
        told |= {"model": estimator["kind"], "written by": f"onlineboost {found.content['onlineboost']}"}
        return told | {"pickled learners": f"{pickles}: load it in Python with pickled_learners=True if you trust it"}
    clf = _load(path)
    told |= {"written by": f"onlineboost {found.content['onlineboost']}", "model": repr(clf)}
    for name, value in clf.get_params(deep=False).items():
        told[f"  {name}"] = repr(value)
    if "_model" not in clf.__dict__:
        return told | {"rows learned": 0}
    encoder = clf._model.encoder
    kinds = {c: f" ({len(codes)} values)" for c, codes in zip(encoder.nominal, encoder.codes, strict=True)}
    return told | {
        "rows learned": clf.n_samples_seen_,
        "columns": [name + kinds.get(c, "") for c, name in enumerate(encoder.names)],
        "classes": [str(label) for label in clf.classes_.tolist()],
        "bytes in memory": clf.nbytes_,
        **_why(clf),
    }


def _why(clf: Any) -> dict[str, Any]:
    """Which learners and columns count most, and what has happened."""
    from onlineboost.explain.explain import summary_lines

    known = dict(summary_lines(clf, clf._model, clf._combiner()))
    asked = "learners that count most", "columns that matter", "restarts", "panel began anew"
    told = {name: known[name] for name in asked if name in known}
    happened = [str(event) for event in clf.events_]
    return told | ({"last events": happened[-5:]} if happened else {})


def _load(path: Path) -> Any:
    from onlineboost.files.files import load

    return load(path)
