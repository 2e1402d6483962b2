"""onlineboost warm: machine code for every model is made now, so that nobody waits for it later."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from onlineboost import lookup
from onlineboost.cli.main import err

ROWS = 200
MODELS = (*lookup.names(), "multi-label")


@click.command()
@click.option("--model", "models", multiple=True, type=click.Choice(MODELS), help="Only this one; may be repeated.")
def warm(models: tuple[str, ...]) -> None:
    """Compile the inner loops of all models now, so that no later run has to.

    Use it when you build a container image. Every model runs once on a few rows. What is already compiled is skipped.
    """
    from onlineboost._compile.cache import CACHE_DIR, USABLE, WHY_NOT
    from onlineboost.trees.compact import rehearse

    def kept() -> int:
        return sum(1 for _ in CACHE_DIR.glob("*.nbc"))

    if not USABLE:
        raise click.ClickException(f"machine code cannot be kept: {WHY_NOT}")
    models = models or MODELS
    rehearse(rare=True)
    for i, name in enumerate(models, 1):
        before, start = kept(), time.perf_counter()
        for clf in variants(name):
            use(clf)
        new = kept() - before
        made = f"{new} kernels compiled" if new else "nothing to compile"
        err.print(f"{i}/{len(models)} {name}: {made}, {time.perf_counter() - start:.0f} s", highlight=False)


def variants(name: str) -> Iterator[Any]:
    """The estimator with the settings that have kernels of their own and are not rare."""
    yield lookup.make(name, n_learners=2)
    if "restart" in lookup.settings_of(name):
        yield lookup.make(name, n_learners=2, restart="always", n_jobs=2)
    costs = {"class_weight": "balanced", "cost_matrix": {0: {1: 2.0}}}
    yield lookup.make(name, n_learners=2, calibrate=True, sets=True, memory_limit=10**9, **costs)


def use(clf: Any) -> None:
    """Learn, predict and explain in all ways: blocks, single rows, labels that come later, threads, copies, files."""
    import numpy as np

    import onlineboost

    rng = np.random.default_rng(0)
    numbers, words = rng.normal(size=(ROWS, 2)), rng.integers(5, size=ROWS)
    X = [[a, b if i % 7 else None, f"word {w}"] for i, ((a, b), w) in enumerate(zip(numbers, words, strict=True))]
    y = (numbers[:, 0] > 0.0) + (words > 2).astype(int)
    half, row = ROWS // 2, X[0]
    if isinstance(clf, onlineboost.MultiLabelBoost):
        clf.partial_fit(X, np.eye(3, dtype=int)[y]), clf.predict(X), clf.learn_one(row, {0}), clf.predict_one(row)
        return
    clf.partial_fit(X[:half], y[:half], classes=[0, 1, 2])
    clf.partial_fit(X[half:], y[half:], sample_weight=rng.uniform(0.5, 2.0, ROWS - half))
    clf.predict(X), clf.predict_proba(X), clf.test_then_train(X, y), clf.test_then_train(X, y, proba=True)
    clf.predict_one(row), clf.predict_proba_one(row), clf.learn_one(row, y[0])
    ticket = clf.predict_pending(row).ticket
    clf.learn_pending(ticket, y[0]), clf.explain(row)
    clf.learn_one(row, action=clf.act_one(row).action, correct=True)
    if clf.sets:
        clf.predict_set(X)
    with tempfile.TemporaryDirectory() as folder:
        clf.save(Path(folder) / "model.olb")
        onlineboost.load(Path(folder) / "model.olb").learn_one(row, y[0])
