"""onlineboost run and onlineboost compare: test-then-train one model, or several, on a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onlineboost.cli.common import (
    BASELINES,
    COMPARED,
    MODELS,
    check_apart,
    check_writable,
    comma_separated,
    number,
    ray_option,
    settings_of,
)
from onlineboost.estimators.words import ALPHA_STEPS, COMBINERS, POTENTIAL_LOSSES, RESTARTS, VOTES

if TYPE_CHECKING:
    from onlineboost.cli.stream import Outputs

WEIGHTS = "balanced or LABEL=WEIGHT,LABEL=WEIGHT"
FILE = click.Path(path_type=Path, dir_okay=False)
MODEL_SETTINGS = ("loss", "combiner", "vote", "weight_scale", "restart", "alpha_steps", "gamma", "class_weight",
                  "cost_matrix", "panel", "calibrate")  # fmt: skip
SEEDS = click.IntRange(0, 2**63 - 1)
OPTIONS = (  # that both commands have
    click.argument("source"),
    click.option("--target", help="Column with the labels [default: the last one]."),
    click.option(
        "--learners", type=click.IntRange(1), help="Number of weak learners [default: 50 for online-boost, else 100]."
    ),
    # Settings of the models: each goes to those that have it, and what is not given is as the model wants it.
    click.option("--loss", type=click.Choice(POTENTIAL_LOSSES), help="The loss that boosting minimises."),
    click.option("--combiner", type=click.Choice(COMBINERS), help="Which expert to follow."),
    click.option(
        "--vote", type=click.Choice(VOTES), help="What a learner votes for: least cost, or the likeliest label."
    ),
    click.option("--weight-scale", help="Factor of the learners' weights: a number, LOW,HIGH or rising."),
    click.option(
        "--restart",
        type=click.Choice(RESTARTS),
        help="When the worst trees start again: while the stream changes, always or never.",
    ),
    click.option(
        "--alpha-steps", type=click.Choice(ALPHA_STEPS), help="Step-size schedule of the weights of the votes (alpha)."
    ),
    click.option("--gamma", help="Edge over guessing that the learners are assumed to have: a number or auto."),
    click.option("--class-weight", help="What the examples of a class count: balanced, or LABEL=WEIGHT,LABEL=WEIGHT."),
    click.option(
        "--cost-matrix",
        type=click.Path(path_type=Path, exists=True, dir_okay=False),
        help='What mistakes cost, a JSON file: {"label": {"prediction": cost}}.',
    ),
    click.option(
        "--seed",
        default=0,
        show_default=True,
        type=SEEDS,
        help="Seed of the model, and of the shuffling of a data set.",
    ),
    click.option("--jobs", default=1, show_default=True, help="Threads; -1: all cores. Same result."),
    click.option("--limit", type=click.IntRange(1), help="Stop after so many examples."),
    click.option("--delay", type=click.IntRange(1), help="Labels come after so many more examples were predicted."),
    click.option("--nominal", multiple=True, help="A column of a file to take as categories; can be repeated."),
    click.option("--numeric", multiple=True, help="A column of a file to take as numbers; can be repeated."),
    click.option("--drop", multiple=True, help="A column of a file to leave out; can be repeated."),
    click.option("--panel", is_flag=True, default=None, help="Put a panel of unlike learners ahead of the chain."),
    click.option("--calibrate", is_flag=True, default=None, help="Calibrate the probabilities as it learns."),
    click.option("--per-class", is_flag=True, help="Print precision, recall and F1 of every class, too."),
    click.option("--no-proba", is_flag=True, help="Leave out what is measured of probabilities: up to 5 % faster."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("--report", type=FILE, help="Draw it all to this HTML page."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@_options
@click.option("--model", default="online-boost", show_default=True, type=click.Choice(MODELS))
@click.option("--save", type=FILE, help="Put the model into this file at the end.")
@click.option("--out", type=FILE, help="Write labels and predictions to this CSV file.")
@click.option(
    "--checkpoint", type=click.Path(path_type=Path, file_okay=False), help="Folder for checkpoints of this run alone."
)
@click.option("--every", default="10000", show_default=True, help="Rows between checkpoints, or time: 30s, 5m, 1h.")
@click.option("--resume", is_flag=True, help="Go on with the run whose checkpoints are in the folder.")
@ray_option("Learn on this Ray cluster, with the same result")
@click.option("--segments", type=click.IntRange(1), default=2, show_default=True, help="Processes on the cluster.")
@click.option("--verbose", is_flag=True, help="Print bounds on the mistakes that exceed the number of examples, too.")
def run(
    model: str,
    save: Path | None,
    out: Path | None,
    checkpoint: Path | None,
    every: str,
    resume: bool,
    ray: str | None,
    segments: int,
    **options: Any,
) -> None:
    """Test-then-train one model on SOURCE: the name of a data set, a .csv, .parquet or .ndjson file, or - (a pipe).

    Files of text may be compressed (.csv.gz). When it reads a pipe, predictions are printed as rows arrive.

    \b
    onlineboost run nursery
    onlineboost run nursery --report page.html
    onlineboost run events.csv --target label --learners 50 --save model.olb
    onlineboost run events.csv --checkpoint kept --every 30s --resume --out predictions.csv
    onlineboost run events.csv --learners 1000 --ray auto --segments 16
    tail -n +1 -f events.ndjson | onlineboost run - --target label
    """
    from onlineboost.cli.stream import Outputs

    check_apart(source=options["source"], cost_matrix=options["cost_matrix"], save=save, out=out)
    keep = Outputs(save, out, checkpoint, every, resume, ray, segments)
    keep.check(model)
    for name in MODEL_SETTINGS:
        if options[name] is not None and name not in settings_of(model):
            others = ", ".join(other for other in MODELS if name in settings_of(other))
            hint = f"--{name.replace('_', '-')}"
            raise click.BadParameter(f"{model} has no such setting; name a --model that has: {others}", param_hint=hint)
    _run([model, *(name for name in BASELINES if name != model)], keep=keep, **options)


@click.command()
@_options
@click.option("--models", default=",".join(COMPARED), show_default=True, help="Comma-separated names.")
@click.argument("others", nargs=-1)
def compare(models: str, others: tuple[str, ...], **options: Any) -> None:
    """Test-then-train several models on the same SOURCE, in the same order.

    With OTHERS, on each of them too; then the models are ranked over all.

    \b
    onlineboost compare car
    onlineboost compare balance car segment --models online-boost,adaboost-olm,hoeffding-tree
    """
    if "-" in (options["source"], *others):
        raise click.BadParameter("a pipe can be read once: use run, or put the rows into a file", param_hint="SOURCE")
    if others and (options["as_json"] or options["report"]):
        raise click.BadParameter("one SOURCE at a time with --json and --report", param_hint="OTHERS")
    names = comma_separated(models)
    if not names:
        raise click.BadParameter(f"name at least one of {', '.join(MODELS)}", param_hint="--models")
    for name in names:
        if name not in MODELS:
            raise click.BadParameter(f"{name!r} is not a model. Models: {', '.join(MODELS)}", param_hint="--models")
    scores = {source: _run(names, **{**options, "source": source}) for source in (options["source"], *others)}
    if len(scores) > 1 and len(set(names)) > 1:
        from onlineboost.cli.measure import print_ranks

        print_ranks(scores)


def _range(text: str) -> float | tuple[float, ...]:
    """--weight-scale as a number or a range."""
    ends = [number(part, "--weight-scale", "a number, LOW,HIGH or rising") for part in comma_separated(text)]
    return ends[0] if len(ends) == 1 else tuple(ends)


def _run(
    names: list[str],
    source: str,
    target: str | None,
    seed: int,
    limit: int | None,
    as_json: bool,
    report: Path | None = None,
    verbose: bool = False,
    keep: Outputs | None = None,
    **settings: Any,
) -> dict[str, float]:
    """The accuracy of each model on the last 20 %."""
    from onlineboost.cli.measure import run_models
    from onlineboost.cli.stream import Stream

    if report is not None:
        check_writable(report, "--report")
        check_apart(source=source, save=keep.save if keep else None, report=report)
        if source == "-" or (keep and not keep.only_saves):
            raise click.BadParameter("not with --out, --checkpoint, --ray or a pipe", param_hint="--report")
    columns = {kind: settings.pop(kind) for kind in ("nominal", "numeric", "drop")}
    delay = settings.pop("delay")
    if delay and (keep or source == "-"):
        raise click.BadParameter("not with --save, --out, --checkpoint, --ray or a pipe", param_hint="--delay")
    measured = {"proba": not settings.pop("no_proba"), "per_class": settings.pop("per_class")}
    stream = Stream(source, target, seed, limit, columns, delay, **measured)
    settings = {name: value for name, value in settings.items() if value is not None} | {"seed": seed}
    if settings.get("gamma", "auto") != "auto":
        settings["gamma"] = number(settings["gamma"], "--gamma")
    if settings.get("weight_scale", "rising") != "rising":
        settings["weight_scale"] = _range(settings["weight_scale"])
    if "class_weight" in settings:
        settings["class_weight"] = class_weights(settings["class_weight"], stream.classes)
    if "cost_matrix" in settings:
        settings["cost_matrix"] = cost_matrix(settings["cost_matrix"], stream.classes)
    return run_models(stream, names, settings, as_json, report, verbose, keep)


def class_weights(text: str, classes: Iterable[Hashable]) -> Any:
    """The setting from the option: a word, or weights of labels."""
    if text == "balanced":
        return text
    pairs = [part.rpartition("=") for part in comma_separated(text)]
    if not pairs or not all(sign for _, sign, _ in pairs):
        raise ValueError(f"--class-weight takes {WEIGHTS}, got {text!r}")
    given = {label.strip(): number(weight, "--class-weight", WEIGHTS) for label, _, weight in pairs}
    return _by_label(given, classes, "--class-weight")


def cost_matrix(path: Path, classes: Iterable[Hashable]) -> dict[Hashable, dict[Hashable, float]]:
    """The setting from a JSON file, {label: {prediction: cost}}."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"--cost-matrix: {path} is not JSON: {error}") from None
    if not isinstance(given, dict) or not all(isinstance(row, dict) for row in given.values()):
        raise ValueError(f'--cost-matrix: {path} must hold {{"label": {{"prediction": cost}}}}')
    classes = list(classes)
    rows = {label: _by_label(row, classes, "--cost-matrix") for label, row in given.items()}
    return _by_label(rows, classes, "--cost-matrix")


def _by_label(given: Mapping[str, Any], classes: Iterable[Hashable], option: str) -> dict[Hashable, Any]:
    """The same with the labels themselves in place of how they are written; of a pipe none are known beforehand."""
    if not classes:
        return {name: value for name, value in given.items()}
    labels = {str(label): label for label in classes}
    if unknown := [name for name in given if name not in labels]:
        raise ValueError(f"{option} has {unknown[0]!r}, which is no label; labels: {', '.join(labels)}")
    return {labels[name]: value for name, value in given.items()}
