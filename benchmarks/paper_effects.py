"""What each difference between the paper, its authors' code and this library is worth: docs/paper.md has the numbers.

    python benchmarks/paper_effects.py                      Balance, Car and Mice: about ten minutes
    python benchmarks/paper_effects.py --datasets car --orders 5 --variant "index off by one"

All over plain VFDTs, and no restarts. The base is the corrected algorithm with the weight scale of the authors' code;
every variant changes one thing, and the last ones are the algorithms as the paper prints them, by name. The line
printed is the accuracy on the last 20 %, and how far that is from the base, order by order, with the standard error of
that difference.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from joblib import Parallel, delayed
from paper_variants import LateOnlineMBBM
from rich.console import Console
from rich.progress import track

from onlineboost import AdaBoostOLM, HoeffdingTree, OnlineMBBM, load_dataset, prequential

ORDERS = {"balance": 27, "car": 27, "mice": 5, "mice81": 5}
FEW = {"balance": 3, "car": 3}  # orders of what is slow; with more classes it takes minutes a run: only if asked for
BASE = "corrected"


class Variant(NamedTuple):
    """A model of 100 learners, made from what is set differently from the base."""

    make: Callable[..., Any]
    settings: dict[str, Any]
    slow: bool = False


def base_tree(**settings: Any) -> HoeffdingTree:
    return HoeffdingTree.paper(**{"draws": "log"} | settings)


def olm_variants() -> dict[str, Variant]:
    def make(n: int, **settings: Any) -> AdaBoostOLM:
        return AdaBoostOLM.paper(n, **{"learner": base_tree(), "weight_scale": (5, 200)} | settings)

    return {
        BASE: Variant(make, {}),
        "gradient as printed": Variant(make, {"as_printed": True}),
        "weight scale 1": Variant(make, {"weight_scale": 1.0}),
        "weight scale 5": Variant(make, {"weight_scale": 5.0}),
        "weight scale rising": Variant(make, {"weight_scale": "rising"}),
        "vote: likeliest label": Variant(make, {"vote": "argmax"}),
        "vote: tempered costs": Variant(make, {"vote": "tempered"}),
        "confidence and tie drawn evenly": Variant(make, {"learner": base_tree(draws="even")}),
        "paper()": Variant(AdaBoostOLM.paper, {}),
        "paper(as_printed=True)": Variant(AdaBoostOLM.paper, {"as_printed": True}),
        "... with weight scale U(5, 200)": Variant(AdaBoostOLM.paper, {"as_printed": True, "weight_scale": (5, 200)}),
    }


def mbbm_variants(gamma: float) -> dict[str, Variant]:
    right = {"learner": base_tree(), "weight_scale": (5, 200), "weights": "relative", "vote": "cost"}

    def printed(n: int, **settings: Any) -> OnlineMBBM:
        return OnlineMBBM.paper(gamma, n, **settings)

    def make(n: int, **settings: Any) -> OnlineMBBM:
        return printed(n, **right | settings)

    def late(n: int, **settings: Any) -> OnlineMBBM:
        return LateOnlineMBBM(**make(n, **settings).get_params(deep=False))

    return {
        BASE: Variant(make, {}),
        "Monte Carlo, 100 draws": Variant(make, {"potential": "monte_carlo"}, slow=True),
        "index off by one": Variant(late, {}),
        "plain weights": Variant(make, {"weights": "plain"}),
        "vote: likeliest label": Variant(make, {"vote": "argmax"}),
        "vote: normalized costs": Variant(make, {"vote": "normalized"}),
        "vote: tempered costs": Variant(make, {"vote": "tempered"}),
        "follow Hedge": Variant(make, {"combiner": "hedge"}),
        "paper(gamma)": Variant(printed, {}),
        "... with weight scale U(5, 200)": Variant(printed, {"weight_scale": (5, 200)}),
    }


MODELS: dict[str, dict[str, Variant]] = {
    "AdaBoostOLM": olm_variants(),
    **{f"OnlineMBBM {gamma:g}": mbbm_variants(gamma) for gamma in (0.3, 0.1, 0.01)},
}
NAMES = list(dict.fromkeys(name for variants in MODELS.values() for name in variants if name != BASE))


def run(model: str, name: str, dataset: str, order: int, learners: int, rows: int | None) -> float:
    """Accuracy on the last 20 % in one order, which is also the seed."""
    variant = MODELS[model][name]
    data = load_dataset(dataset).shuffled(order)
    clf = variant.make(learners, random_state=order, **variant.settings)
    return prequential(clf, data.X[:rows], data.y[:rows]).tail_accuracy()


def standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.nan


def lines_of(tails: dict[str, np.ndarray]) -> Iterator[str]:
    """One line for every variant of a model on a data set, given its accuracies in all orders."""
    base = tails[BASE]
    yield f"{len(base)} orders: {base.mean():.3f} ±{standard_error(base):.3f}"
    for name, values in tails.items():
        if name != BASE:
            difference = 100.0 * (values - base[: len(values)])
            change = f"{difference.mean():+5.1f} ±{standard_error(difference):.1f} points, {len(values)} orders"
            yield f"  {name:<32} {values.mean():.3f}  {change}"


def split(text: str, known: dict[str, Any]) -> list[str]:
    """Names of a comma-separated list; an unknown one is an error."""
    names = text.split(",")
    for name in names:
        if name not in known:
            raise click.BadParameter(f"{name!r} is not one of {', '.join(known)}")
    return names


@click.command()
@click.option("--datasets", default="balance,car,mice", show_default=True)
@click.option("--models", default=",".join(MODELS), show_default=True)
@click.option("--variant", "chosen", multiple=True, type=click.Choice(NAMES), help="Repeat for several [default: all].")
@click.option("--orders", type=click.IntRange(1), help=f"[default: {ORDERS}]")
@click.option("--learners", default=100, show_default=True, type=click.IntRange(1))
@click.option("--rows", type=click.IntRange(1), help="First so many rows in each order [default: all].")
@click.option("--jobs", default=1, show_default=True, help="Processes; each compiles the wrong boosters for itself.")
@click.option("--json", "json_path", type=click.Path(path_type=Path), help="Write all accuracies to this file.")
def main(
    datasets: str,
    models: str,
    chosen: tuple[str, ...],
    orders: int | None,
    learners: int,
    rows: int | None,
    jobs: int,
    json_path: Path | None,
) -> None:
    """Print what every variant changes."""
    work = []
    for dataset in split(datasets, ORDERS):
        for model in split(models, MODELS):
            for name, variant in MODELS[model].items():
                n = orders or ORDERS[dataset]
                if variant.slow and name not in chosen:
                    n = min(n, FEW.get(dataset, 0))
                if name == BASE or name in (chosen or NAMES):
                    work += [(dataset, model, name, order) for order in range(n)]
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    tails = parallel(delayed(run)(model, name, dataset, order, learners, rows) for dataset, model, name, order in work)
    tails = track(tails, total=len(work), console=Console(stderr=True))
    results: dict[str, dict[str, list[float]]] = {}
    for (dataset, model), group in groupby(zip(work, tails, strict=True), lambda pair: pair[0][:2]):
        by_variant = results[f"{dataset}, {model}"] = {}
        for (_, _, name, _), tail in group:
            by_variant.setdefault(name, []).append(tail)
        first, *others = lines_of({name: np.array(values) for name, values in by_variant.items()})
        click.echo("\n".join([f"\n{dataset}, {model}, {first}", *others]))
    if json_path:
        json_path.write_text(json.dumps({"learners": learners, "rows": rows, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
