"""What each difference between the paper, its authors' code and this library is worth: docs/paper.md has the numbers.

    python benchmarks/paper_effects.py                      Balance, Car and Mice: some minutes
    python benchmarks/paper_effects.py --datasets car --orders 5

All with the paper's weak learners. Every variant changes one thing; the line printed is its accuracy on the last 20 %,
and how far that is from the corrected algorithm's, order by order, with the standard error of that difference.

Some variants are errors that the library does not offer. They are put in place of a booster stage's kernel before
anything is compiled, each in a process and a kernel cache of its own.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

import click
import numpy as np

ORDERS = {"balance": 27, "car": 27, "mice": 5}
FEW = 3  # orders of what is slow
CACHES = tempfile.TemporaryDirectory()
BASE = "corrected"
VARIANTS: dict[str, dict[str, dict[str, Any]]] = {  # model: variant: settings, or the kernel to change
    "AdaBoostOLM": {
        BASE: {},
        "gradient as printed": {"kernel": "printed_gradient"},
        "weight scale 1": {"weight_scale": 1.0},
        "weight scale 5": {"weight_scale": 5.0},
        "weight scale rising": {"weight_scale": "rising"},
        "vote: likeliest label": {"vote": "argmax"},
        "vote: tempered costs": {"vote": "tempered"},
        "confidence, tie drawn evenly": {"kernel": "even_draws"},
    },
    **{
        f"OnlineMBBM {gamma:g}": {
            BASE: {"gamma": gamma},
            "Monte Carlo, 100 draws": {"gamma": gamma, "potential": "monte_carlo", "slow": True},
            "index off by one": {"gamma": gamma, "kernel": "late_index"},
            "plain weights": {"gamma": gamma, "kernel": "plain_weights"},
            "vote: likeliest label": {"gamma": gamma, "vote": "argmax"},
            "vote: tempered costs": {"gamma": gamma, "vote": "tempered"},
            "follow Hedge": {"gamma": gamma, "combiner": "hedge"},
        }
        for gamma in (0.3, 0.1, 0.01)
    },
}


# --------------------------------------------------------------------------------------------- wrong on purpose


def printed_gradient() -> None:
    """f'(alpha) of a right vote as in the paper: -sum_{j != y} 1 / (1 + exp(s[j] + alpha - s[y]))."""
    from onlineboost._compile.jit import inlined_kernel
    from onlineboost.boosters import stages
    from onlineboost.boosters.losses import step_size

    right, OLM = stages.update, stages.OLM

    @inlined_kernel
    def update(stage, cache, at, i, t, s, e, k, l, y, weight, labels, p, n):
        alpha, slope = stage.alpha[i], 0.0
        for j in range(k):
            if j != y:
                slope -= 1.0 / (1.0 + math.exp(s[j] + alpha - s[y]))
        right(stage, cache, at, i, t, s, e, k, l, y, weight, labels, p, n)
        if stage.kind == OLM and l == y:
            eta = step_size(stage.loss, k, stage.n_learners, stage.offset + i + 1, t - stage.born[i])
            stage.alpha[i] = min(2.0, max(-2.0, alpha - eta * weight * slope))

    stages.update = update


def late_index() -> None:
    """phi_{N-i} with i counted from 0: one draw too many is left, as if there were one more learner."""
    from onlineboost._compile.jit import inlined_kernel
    from onlineboost.boosters import stages

    right = stages.prepare

    @inlined_kernel
    def prepare(stage, tables, cache, i, s, y, labels, p, n):
        return right(stage, tables, cache, i - 1, s, y, labels, p, n)

    stages.prepare = prepare
    from onlineboost.boosters.potentials import build_tables
    from onlineboost.estimators.online_mbbm import OnlineMBBM

    OnlineMBBM._tables = lambda self, k, seed: build_tables(
        k, self.n_learners + 1, self._gammas(), loss=self.loss, potential=self.potential, seed=seed
    )


def plain_weights() -> None:
    """w = sum_l (C[y, l] - C[y, y]) times the scale, and not over its mean so far."""
    from onlineboost._compile.jit import inlined_kernel
    from onlineboost.boosters import stages
    from onlineboost.boosters.potentials import label_weight

    right = stages.weigh

    @inlined_kernel
    def weigh(stage, cache, at, i, s, e, k, y):
        if cache is not None:
            return stage.scale[i] * label_weight(cache, at, y)
        return right(stage, cache, at, i, s, e, k, y)

    stages.weigh = weigh


def even_draws() -> None:
    """Split confidence and tie threshold drawn evenly from .01 to .9, not so in their logarithm."""
    from onlineboost.estimators import boosters as estimators

    right = estimators._draw
    estimators._draw = lambda given, n, seed, which, name, log=False: right(given, n, seed, which, name)


KERNELS: dict[str, Callable[[], None]] = {
    f.__name__: f for f in (printed_gradient, late_index, plain_weights, even_draws)
}

# -------------------------------------------------------------------------------------------------------- running


def run(model: str, settings: dict[str, Any], dataset: str, orders: int, learners: int) -> list[float]:
    """Accuracy on the last 20 % in every order; in a process of its own if a kernel is to be changed."""
    kernel = settings.get("kernel")
    if kernel and os.environ.get("CHANGED_KERNEL") != kernel:
        job = json.dumps([model, settings, dataset, orders, learners])
        env = {**os.environ, "CHANGED_KERNEL": kernel, "NUMBA_CACHE_DIR": f"{CACHES.name}/{kernel}"}
        done = subprocess.run([sys.executable, __file__, "--job", job], env=env, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return json.loads(done.stdout)
    if kernel:
        KERNELS[kernel]()
    from onlineboost import AdaBoostOLM, OnlineMBBM, load_dataset, prequential
    from onlineboost.paper.systems import paper_tree

    how = {"weight_scale": (5, 200), "vote": "cost", "learner": paper_tree(), **settings}
    how = {key: value for key, value in how.items() if key not in ("kernel", "slow")}
    booster = AdaBoostOLM if model == "AdaBoostOLM" else OnlineMBBM
    if booster is OnlineMBBM:
        how = {"combiner": "last", **how}
    out = []
    data = load_dataset(dataset)
    for order in range(orders):
        shuffled = data.shuffled(order)
        result = prequential(booster(learners, random_state=order, **how), shuffled.X, shuffled.y)
        out.append(result.tail_accuracy())
    return out


@click.command()
@click.option("--datasets", default=",".join(ORDERS), show_default=True)
@click.option("--orders", type=int, help=f"[default: {ORDERS}]")
@click.option("--models", default=",".join(VARIANTS), show_default=True)
@click.option("--learners", default=100, show_default=True)
@click.option("--job", hidden=True)
def main(datasets: str, orders: int | None, models: str, learners: int, job: str | None) -> None:
    if job:
        click.echo(json.dumps(run(*json.loads(job))))
        return
    for dataset in datasets.split(","):
        n = orders or ORDERS[dataset]
        for model in models.split(","):
            variants = VARIANTS[model]
            base = np.array(run(model, variants[BASE], dataset, n, learners))
            error = base.std(ddof=1) / math.sqrt(n) if n > 1 else math.nan
            click.echo(f"\n{dataset}, {model}, {n} orders: {base.mean():.3f} ±{error:.3f}")
            for name, settings in variants.items():
                if name == BASE:
                    continue
                m = min(n, FEW) if settings.get("slow") else n
                tails = np.array(run(model, settings, dataset, m, learners))
                difference = tails - base[:m]
                error = difference.std(ddof=1) / math.sqrt(m) if m > 1 else math.nan
                change = f"{100 * difference.mean():+5.1f} ±{100 * error:.1f} points, {m} orders"
                click.echo(f"  {name:<30} {tails.mean():.3f}  {change}")


if __name__ == "__main__":
    main()
