"""What each difference between the paper, its authors' code and this library is worth: docs/paper.md has the numbers.

    python benchmarks/paper_effects.py                      Balance, Car and Mice: about ten minutes
    python benchmarks/paper_effects.py --datasets car --orders 5 --variant "index off by one"

All with the paper's weak learners, and no restarts. Every variant changes one thing; the line printed is its accuracy
on the last 20 %, and how far that is from the corrected algorithm's, order by order, with the standard error of that
difference. Some variants are errors that the library does not offer: `paper_variants.py` has them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
import paper_variants
from joblib import Parallel, delayed
from rich.console import Console
from rich.progress import track

from onlineboost import load_dataset, prequential
from onlineboost.paper.systems import TREE

ORDERS = {"balance": 27, "car": 27, "mice": 5}
FEW = {"balance": 3, "car": 3}  # orders of what is slow; with more classes it takes minutes a run: only if asked for
BASE = "corrected"


class Variant(NamedTuple):
    """A booster and its weak learner, by the names of their classes, and what is set differently from `run`."""

    booster: str
    settings: dict[str, Any]
    tree: str = "HoeffdingTree"
    slow: bool = False


def olm_variants() -> dict[str, Variant]:
    base = {"restart": "never"}
    return {
        BASE: Variant("AdaBoostOLM", base),
        "gradient as printed": Variant("PrintedAdaBoostOLM", base),
        "weight scale 1": Variant("AdaBoostOLM", {**base, "weight_scale": 1.0}),
        "weight scale 5": Variant("AdaBoostOLM", {**base, "weight_scale": 5.0}),
        "weight scale rising": Variant("AdaBoostOLM", {**base, "weight_scale": "rising"}),
        "vote: likeliest label": Variant("AdaBoostOLM", {**base, "vote": "argmax"}),
        "vote: tempered costs": Variant("AdaBoostOLM", {**base, "vote": "tempered"}),
        "confidence and tie drawn evenly": Variant("AdaBoostOLM", base, tree="EvenTree"),
    }


def mbbm_variants(gamma: float) -> dict[str, Variant]:
    base = {"gamma": gamma, "combiner": "last"}
    return {
        BASE: Variant("OnlineMBBM", base),
        "Monte Carlo, 100 draws": Variant("OnlineMBBM", {**base, "potential": "monte_carlo"}, slow=True),
        "index off by one": Variant("LateOnlineMBBM", base),
        "plain weights": Variant("PlainOnlineMBBM", base),
        "vote: likeliest label": Variant("OnlineMBBM", {**base, "vote": "argmax"}),
        "vote: tempered costs": Variant("OnlineMBBM", {**base, "vote": "tempered"}),
        "follow Hedge": Variant("OnlineMBBM", {**base, "combiner": "hedge"}),
    }


MODELS: dict[str, dict[str, Variant]] = {
    "AdaBoostOLM": olm_variants(),
    **{f"OnlineMBBM {gamma:g}": mbbm_variants(gamma) for gamma in (0.3, 0.1, 0.01)},
}
NAMES = list(dict.fromkeys(name for variants in MODELS.values() for name in variants if name != BASE))


def run(variant: Variant, dataset: str, order: int, learners: int, rows: int | None) -> float:
    """Accuracy on the last 20 % in one order, which is also the seed."""
    tree = getattr(paper_variants, variant.tree)(**TREE)
    settings = {"weight_scale": (5, 200), "vote": "cost", **variant.settings}
    model = getattr(paper_variants, variant.booster)(learners, learner=tree, random_state=order, **settings)
    data = load_dataset(dataset).shuffled(order)
    return prequential(model, data.X[:rows], data.y[:rows]).tail_accuracy()


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
@click.option("--datasets", default=",".join(ORDERS), show_default=True)
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
                    work += [(dataset, model, name, variant, order) for order in range(n)]
    parallel = Parallel(n_jobs=jobs, return_as="generator")
    tails = parallel(delayed(run)(variant, dataset, order, learners, rows) for dataset, *_, variant, order in work)
    tails = track(tails, total=len(work), console=Console(stderr=True))
    results: dict[str, dict[str, list[float]]] = {}
    for (dataset, model), group in groupby(zip(work, tails, strict=True), lambda pair: pair[0][:2]):
        by_variant = results[f"{dataset}, {model}"] = {}
        for (_, _, name, *_), tail in group:
            by_variant.setdefault(name, []).append(tail)
        first, *others = lines_of({name: np.array(values) for name, values in by_variant.items()})
        click.echo("\n".join([f"\n{dataset}, {model}, {first}", *others]))
    if json_path:
        json_path.write_text(json.dumps({"learners": learners, "rows": rows, "results": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
