"""onlineboost predict and onlineboost show: what to do with a saved model."""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Any, TextIO

import click
from rich.status import Status

from onlineboost.cli.main import ModelFile, check_apart, check_writable, err, visible

ROWS_WITH_REASONS = 16
MOST_REASONS = 3  # columns that `--why` names
MODEL = click.argument("model", type=ModelFile())


@click.command()
@MODEL
@click.argument("source")
@click.option("--proba", is_flag=True, help="Print the probability of every class, too.")
@click.option("--keep", multiple=True, help="A column of SOURCE to copy to the output, such as a key; can be repeated.")
@click.option("--target", help="Column of SOURCE with the labels, to report how many predictions are right.")
@click.option("--why", is_flag=True, help="Name the columns that contribute most for and against the label.")
@click.option("--label", help="With --why: explain this label instead of the predicted one.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write to this CSV file.")
def predict(model: Path, source: str, out: Path | None, **options: Any) -> None:
    """Predict the rows of SOURCE, a file or - for a pipe, with a saved MODEL.

    Columns are matched by name. Columns that the model does not know, such as the label, are ignored. The output has
    the number of each row, counted from 1, and its prediction.

    \b
    onlineboost predict model.olb events.csv --proba --out predictions.csv
    onlineboost predict model.olb events.csv --keep id --target label --out predictions.csv
    onlineboost predict model.olb events.csv --why --label fraud
    """
    from onlineboost.estimators.checks import check_one_label
    from onlineboost.evaluation.resumable import replacing_text

    check_apart(model=model, source=source, out=out)
    if options["label"] is not None and not options["why"]:
        raise click.BadParameter("it goes with --why", param_hint="--label")
    clf = _load(model)
    check_one_label(clf)
    if "_model" not in clf.__dict__:
        raise ValueError(f"{model}: this model has learned nothing yet: there is nothing to predict with")
    if out is not None:
        check_writable(out, "--out")
    stdout = sys.stdout  # rich puts another one in its place while it shows a status
    silent = out is not None or not stdout.isatty()  # otherwise the predictions show how far it is
    shown = err.status("predicting ...") if silent else nullcontext()
    with shown as status, nullcontext(stdout) if out is None else replacing_text(out) as to:
        told = _predict(clf, source, to, status, **options)
    if out is not None:
        told += f" Wrote {visible(str(out))}."
    if out is not None or options["target"] is not None:
        click.echo(told, err=True)


def _predict(
    clf: Any,
    source: str,
    out: TextIO,
    status: Status | None,
    *,
    proba: bool,
    keep: tuple[str, ...],
    target: str | None,
    why: bool,
    label: str | None,
) -> str:
    """Write the predictions; what came of it in a sentence."""
    from onlineboost.data.errors import did_you_mean, near_names
    from onlineboost.data.files import read_columns
    from onlineboost.data.labels import written_as
    from onlineboost.evaluation.resumable import lines

    encoder, rows, right, unknown = clf._model.encoder, 0, 0, Counter[str | None]()
    known = set(map(written_as, clf._model.labels.names))
    labels = {str(one): one for one in clf.classes_.tolist()}
    if label is not None and label not in labels:
        near = did_you_mean(near_names(label, list(labels)))
        raise ValueError(f"--label {label!r} is not a label of this model.{near} Labels: {', '.join(labels)}")
    classes = list(labels) if proba else []
    names = ["row", *keep, "prediction", *(f"p({name})" for name in classes), *["why"] * why]
    head = lines(*([name] for name in names))  # written once the source is known to be good
    texts = keep if target is None else (*keep, target)
    nominal = [encoder.names[c] for c in encoder.nominal]
    at_once = ROWS_WITH_REASONS if why else 4096  # reasons take long: they are shown as they come
    for table, copied in read_columns(source, encoder.names, nominal, texts, block_rows=at_once):
        said = clf.predict(table)
        shares = list(clf.predict_proba(table).T) if proba else []
        reasons = [_reasons(clf, table, None if label is None else labels[label])] if why else []
        out.write(head + lines(range(rows + 1, rows + 1 + len(said)), *copied[: len(keep)], said, *shares, *reasons))
        out.flush()
        head = ""
        rows += len(said)
        if status is not None:
            status.update(f"{rows:,} rows predicted")
        if target is not None:
            right += sum(written_as(one) == text for one, text in zip(said.tolist(), copied[-1], strict=True))
            unknown.update(text for text in copied[-1] if text not in known)
    out.write(head)
    told = f"{rows:,} rows predicted" + (f", {right / rows:.4f} of them right" if target is not None and rows else "")
    return told + _with_unknown_labels(unknown) + "."


def _with_unknown_labels(unknown: Counter[str | None]) -> str:
    """That rows counted as wrong since no prediction could have been right: their labels, the most frequent first."""
    if not unknown:
        return ""
    names = ["none at all" if text is None else visible(repr(text)) for text, _ in unknown.most_common()]
    shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
    return f"; {unknown.total():,} of them have a label that the model has never met ({shown}), and count as wrong"


def _reasons(clf: Any, table: Any, label: Any) -> list[str]:
    """For each row: the label that is explained, its probability, and which columns count most, each with its sign."""
    from onlineboost.explain.views import shown

    reasons = []
    for values in zip(*(column.tolist() for column in table.columns), strict=True):
        told = clf.explain(dict(zip(table.names, values, strict=True)), label=label, by="columns")
        value = dict(zip(told.columns, told.values, strict=True))
        counted = [(name, margin) for name, margin in told.margins.items() if margin][:MOST_REASONS]
        text = "; ".join(f"{margin:+.2f} {shown(name)} = {shown(value[name])}" for name, margin in counted)
        reasons.append(f"{shown(told.label)} {told.probability:.3f}: {text}")
    return reasons


@click.command()
@MODEL
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
def show(model: Path, as_json: bool) -> None:
    """Describe a saved MODEL: its kind, settings, columns, classes and size."""
    told = _told(model)
    if as_json:
        click.echo(json.dumps(told, indent=2, default=str))
        return
    lines: list[tuple[str, str]] = []
    for name, value in told.items():
        if name == "settings":
            lines += [(f"  {setting}", repr(own)) for setting, own in value.items()]
        else:
            lines.append((name, _in_words(value)))
    width = max(len(name) for name, _ in lines)
    for name, text in lines:
        on_one_line = visible(text).replace("\n", "\\n")  # no name can look like a line of its own
        click.echo(f"{name:<{width}}  {on_one_line}")


def _in_words(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {number:+.3f}" for name, number in value.items())
    return ", ".join(map(str, value)) if isinstance(value, list) else f"{value:,}" if type(value) is int else str(value)


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
    told["settings"] = clf.get_params(deep=False)
    if "_model" not in clf.__dict__:
        return told | {"rows learned": 0}
    from onlineboost.data.places import EVIDENCE

    encoder = clf._model.encoder
    kinds = {
        c: " (many values)" if EVIDENCE[0] in codes else f" ({len(codes)} values)"
        for c, codes in zip(encoder.nominal, encoder.codes, strict=True)
    }
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
    asked = "learners that count most", "columns that matter", "restarts", "panel was reset"
    told: dict[str, Any] = {name: known[name] for name in asked if name in known}
    if voices := getattr(clf, "voices_", None):
        told["voices, coefficients"] = dict(sorted(voices.items(), key=lambda voice: -abs(voice[1])))
    happened = [str(event) for event in clf.events_]
    return told | ({"last events": happened[-5:]} if happened else {})


def _load(path: Path) -> Any:
    from onlineboost.files.files import load

    return load(path)
