"""onlineboost run, compare and tune: test-then-train one model, several, or one with many settings, on a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from onlineboost import lookup
from onlineboost.cli.main import (
    BASELINES,
    COMPARED,
    MODELS,
    address_of,
    check_apart,
    check_writable,
    comma_separated,
    err,
    number,
    ray_option,
    settings_of,
)
from onlineboost.cli.sources import COLUMN_KINDS, COLUMN_OPTIONS, Stream, column_options
from onlineboost.registry import ALPHA_STEPS, COMBINERS, POTENTIAL_LOSSES, RESTARTS, VOTES

if TYPE_CHECKING:
    from onlineboost.cli.measure import Outputs

WEIGHTS = "balanced or LABEL=WEIGHT,LABEL=WEIGHT"
FILE = click.Path(path_type=Path, dir_okay=False)
MODEL_SETTINGS = ("loss", "combiner", "vote", "weight_scale", "restart", "alpha_steps", "gamma", "class_weight",
                  "cost_matrix", "panel", "calibrate")  # fmt: skip
TUNED: dict[str, list[Any]] = {
    "n_learners": [25, 50, 100],
    "weight_scale": ["rising", 10],
    "restart": ["auto", "never"],
}  # unless others are given
SEEDS = click.IntRange(0, 2**63 - 1)
OPTIONS = (  # that both commands have
    click.argument("source"),
    click.option("--target", help="Column with the labels [default: the last one]."),
    click.option(
        "--learners", type=click.IntRange(1), help="Number of weak learners [default: 50 for online-boost, else 100]."
    ),
    # Settings of the models: each goes to those that have it, and what is not given is as the model wants it.
    click.option("--loss", type=click.Choice(POTENTIAL_LOSSES), help="The loss that boosting minimises."),
    click.option("--combiner", type=click.Choice(COMBINERS), help="Which expert (the first i learners) to follow."),
    click.option(
        "--vote",
        type=click.Choice(VOTES),
        help="What a learner votes for: the label of least cost, the likeliest label, or in between.",
    ),
    click.option("--weight-scale", help="Factor of the learners' weights: a number, LOW,HIGH or rising."),
    click.option(
        "--restart",
        type=click.Choice(RESTARTS),
        help="When the worst trees restart: while the stream changes, always or never.",
    ),
    click.option(
        "--alpha-steps", type=click.Choice(ALPHA_STEPS), help="Learning-rate schedule of alpha, the weight of a vote."
    ),
    click.option("--gamma", help="Edge over guessing that learners are assumed to have: a number, auto or adaptive."),
    click.option("--class-weight", help="Weights of the classes: balanced, or LABEL=WEIGHT,LABEL=WEIGHT."),
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
    click.option("--jobs", default=1, show_default=True, help="Threads; -1: all cores. They do not change the result."),
    click.option("--limit", type=click.IntRange(1), help="Stop after this number of examples."),
    click.option("--delay", type=click.IntRange(1), help="Labels come this number of examples after the prediction."),
    click.option(
        "--feedback",
        type=click.Choice(("label", "bandit", "unbiased-bandit")),
        default="label",
        help="bandit: the model learns only whether its action was right; unbiased-bandit: the same, with the "
        "action's probability.",
    ),
    click.option("--exploration", default="auto", help="Share of actions drawn at random, with --feedback bandit."),
    *COLUMN_OPTIONS,
    click.option("--panel", is_flag=True, default=None, help="Put a panel of other learners before the trees."),
    click.option("--calibrate", is_flag=True, default=None, help="Calibrate the probabilities."),
    click.option(
        "--sets",
        type=click.FloatRange(0.0, 1.0, min_open=True, max_open=True),
        help="Measure prediction sets of this coverage, such as .9.",
    ),
    click.option("--per-class", is_flag=True, help="Print precision, recall and F1 of every class, too."),
    click.option("--no-proba", is_flag=True, help="Leave out log loss, Brier score and calibration: up to 5 % faster."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON."),
    click.option("--report", type=FILE, help="Write an HTML page with figures and charts."),
)


def _options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(OPTIONS):
        command = option(command)
    return command


@click.command()
@_options
@click.option("--model", default="online-boost", show_default=True, type=click.Choice(MODELS))
@click.option("--save", type=FILE, help="Save the model to this file at the end.")
@click.option("--out", type=FILE, help="Write labels and predictions to this CSV file.")
@click.option(
    "--checkpoint", type=click.Path(path_type=Path, file_okay=False), help="Folder for checkpoints of this run only."
)
@click.option("--every", default="10000", show_default=True, help="Rows between checkpoints, or a time: 30s, 5m, 1h.")
@click.option("--resume", is_flag=True, help="Continue the run whose checkpoints are in the folder.")
@ray_option("Learn on this Ray cluster, with the same result")
@click.option("--segments", type=click.IntRange(1), default=2, show_default=True, help="Processes on the cluster.")
@click.option("--verbose", is_flag=True, help="Print bounds that exceed the number of examples, too.")
def run(model: str, **options: Any) -> None:
    """Test-then-train one model on SOURCE: the name of a data set, a .csv, .parquet or .ndjson file, or - (a pipe).

    Every row is predicted, then learned. Text files may be compressed (.csv.gz). From a pipe, predictions are printed
    as rows arrive.

    \b
    onlineboost run nursery
    onlineboost run nursery --report page.html
    onlineboost run events.csv --target label --learners 50 --save model.olb
    onlineboost run events.csv --checkpoint kept --every 30s --resume --out predictions.csv
    onlineboost run events.csv --learners 1000 --ray auto --segments 16
    tail -n +1 -f events.ndjson | onlineboost run - --target label
    """
    from onlineboost.cli.measure import Outputs

    keep = Outputs(**{name: options.pop(name) for name in Outputs.__dataclass_fields__})
    check_apart(source=options["source"], cost_matrix=options["cost_matrix"], save=keep.save, out=keep.out)
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

    With OTHERS, the same on each of these sources; models are then ranked over all sources.

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
        from onlineboost.cli.tables import print_ranks

        print_ranks(scores)


def _exploration(feedback: str, exploration: str) -> float | str | None:
    """--exploration, if it is asked for."""
    if feedback == "label":
        if exploration != "auto":
            raise click.BadParameter("it needs --feedback bandit", param_hint="--exploration")
        return None
    return exploration if exploration == "auto" else number(exploration, "--exploration", "a share or auto")


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

    if report is not None:
        check_writable(report, "--report")
        check_apart(source=source, **({} if keep is None else {"save": keep.save, "out": keep.out}), report=report)
        if source == "-" or (keep and (keep.checkpoint or keep.ray)):
            what = "not with --checkpoint, --ray or a pipe: run it twice, once with --report"
            raise click.BadParameter(what, param_hint="--report")
    columns = {kind: settings.pop(kind) for kind in COLUMN_KINDS}
    delay = settings.pop("delay")
    if delay and (keep or source == "-"):
        raise click.BadParameter("not with --save, --out, --checkpoint, --ray or a pipe", param_hint="--delay")
    measured = {"proba": not settings.pop("no_proba"), "per_class": settings.pop("per_class")}
    measured["sets"] = settings.pop("sets")
    feedback = settings.pop("feedback")
    measured |= {"exploration": _exploration(feedback, settings.pop("exploration")), "unbiased": feedback != "bandit"}
    if measured["exploration"] is not None and (delay or measured["sets"] or (keep and not keep.only_saves)):
        raise click.BadParameter("not with --delay, --sets, --out, --checkpoint or --ray", param_hint="--feedback")
    stream = Stream(source, target, seed, limit, columns, delay, **measured)
    settings = {name: value for name, value in settings.items() if value is not None} | {"seed": seed}
    if settings.get("gamma", "auto") not in ("auto", "adaptive"):
        settings["gamma"] = number(settings["gamma"], "--gamma", "a number, auto or adaptive")
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
    if len(given) < len(pairs):
        raise ValueError(f"--class-weight gives a label twice: {text!r}")
    return _by_label(given, classes, "--class-weight")


def cost_matrix(path: Path, classes: Iterable[Hashable]) -> dict[Hashable, dict[Hashable, float]]:
    """The setting from a JSON file, {label: {prediction: cost}}."""
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
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
        raise ValueError(f"{option} has {unknown[0]!r}, which is not a label; labels: {', '.join(labels)}")
    return {labels[name]: value for name, value in given.items()}


# ------------------------------------------------------------------------------------------------------------- tune


@click.command()
@click.argument("source")
@click.option("--target", help="Column with the labels [default: the last one].")
@click.option("--model", default="online-boost", show_default=True, type=click.Choice(lookup.names()))
@column_options
@click.option("--set", "sets", multiple=True, metavar="NAME=VALUE,VALUE", help="Values of a setting; can be repeated.")
@click.option(
    "--score", default="log_loss", show_default=True, help="Metric to compare: accuracy, kappa, macro_f1, ..."
)
@click.option("--seed", default=0, show_default=True, help="Seed of the models, and of the shuffling of a data set.")
@click.option("--limit", type=click.IntRange(1), help="Use only this number of examples, the first ones.")
@ray_option("Run the models on this Ray cluster, with the same result")
@click.option("--save", type=click.Path(path_type=Path, dir_okay=False), help="Save the chosen model to this file.")
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
    **columns: tuple[str, ...],
) -> None:
    """Tune a model's settings on SOURCE by successive halving.

    All combinations of the values start together. After each round the worse half stops. Every row is predicted, then
    learned, so no model sees rows in advance. SOURCE is read into memory.

    \b
    onlineboost tune nursery --model adaboost-olm --set n_learners=20,50 --set combiner=hedge,weighted
    """
    from onlineboost.cli.tables import print_tuned
    from onlineboost.data.table import joined
    from onlineboost.evaluation.prequential import tune as halve

    check_apart(source=source, save=save)
    if save is not None:
        check_writable(save, "--save")
    grid = _grid(model, sets)
    stream = Stream(source, target, seed, limit, columns)
    X, y = joined(stream.blocks())
    told = None if as_json else _tell_tuning
    new = lookup.make(model, random_state=seed)
    with _spreading(ray) as how, err.status("tuning ..."):
        found = halve(new, grid, X, y, score=score, classes=stream.classes or None, progress=told, **how)
    if save is not None:
        found.model.save(save)
    if as_json:
        rounds = [vars(one) for one in found.rounds]
        own = found.own.as_dict()
        answer = {"source": source, "model": model, "score": score, "settings": found.settings, "rounds": rounds}
        click.echo(json.dumps({**answer, "followed": own}, indent=2))
        return
    print_tuned(found, f"{source}: settings of {model}, by {score}")


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
        return {name: values for name, values in TUNED.items() if name in own}
    for part in sets:
        name, sign, values = part.partition("=")
        name = name.strip().replace("-", "_")
        if not sign or not comma_separated(values):
            raise click.BadParameter(f"give NAME=VALUE,VALUE, got {part!r}", param_hint="--set")
        if name not in own:
            raise click.BadParameter(f"{model} has no setting {name!r}; it has {', '.join(own)}", param_hint="--set")
        if name in grid:
            raise click.BadParameter(f"{name} comes twice: name all of its values at once", param_hint="--set")
        grid[name] = [_value(value) for value in comma_separated(values)]
    return grid


def _value(text: str) -> Any:
    words = {"none": None, "true": True, "false": False}
    try:
        return words[text.lower()] if text.lower() in words else json.loads(text)
    except ValueError:
        return text


def _tell_tuning(rows: int, total: int, left: int) -> None:
    err.print(f"{rows:,} of {total:,} rows: {left} left", highlight=False)
