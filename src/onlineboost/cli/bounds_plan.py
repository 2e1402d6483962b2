"""The numbers of `onlineboost bounds`: how many learners and examples an error takes, and the curves."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from onlineboost import theory

MORE = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0)  # times as many learners as are needed: then fewer examples will do
SOON, LEAST, MBBM = "any, at any time", "any, in the long run", "OnlineMBBM"


def plan(classes: int, gamma: float, error: float, excess: float | None, delta: float) -> dict[str, Any]:
    """All that `onlineboost bounds` prints."""
    exact = theory.mbbm_learners(classes, gamma, error)
    olm = theory.olm_learners(classes, gamma, error)
    each = delta / (MORE[-1] * exact)  # so that all learners satisfy the condition, but with probability delta
    twice = min(2.0 * gamma, (1.0 + gamma) / 2.0)  # the edge, or half-way to 1
    S = theory.excess_of_votes(twice, gamma, each, classes) if excess is None else excess
    soon, least = (theory.least_learners(classes, gamma, error, loss, each) for loss in (S, math.inf))
    learners = [
        (SOON, soon, _least(classes, soon, gamma, S, each), f"Theorem 2, S = {S:.4g}"),
        (LEAST, least, _least(classes, least, gamma), _how(least, "Theorem 2", "closed form")),
        (MBBM, exact, theory.mbbm_error(classes, exact, gamma), _how(exact, "phi_N(0)", "Chernoff")),
    ]
    for name, source, n in (
        ("OnlineMBBM, Chernoff", "(k-1) (1 - (√p-√q)²)^N", theory.chernoff_learners(classes, gamma, error)),
        ("OnlineMBBM, the paper", "(k-1) exp(-γ²N/2)", theory.hoeffding_learners(classes, gamma, error)),
        ("Adaboost.OLM", "its bound, T → ∞", olm),
    ):
        learners.append((name, n, theory.mbbm_error(classes, n, gamma) if "OLM" not in name else error, source))
    examples = []
    for n in sorted({math.ceil(exact * factor) for factor in MORE}):
        needed = theory.mbbm_examples(classes, n, gamma, error, S)
        known = needed if math.isfinite(needed) else None
        examples.append((n, theory.mbbm_error(classes, n, gamma), theory.weight_sum(classes, n, gamma), known))
    return {
        "classes": classes,
        "gamma": gamma,
        "error": error,
        "delta": delta,
        "excess_loss": S,
        "learners": [dict(zip(("booster", "learners", "error", "from"), row, strict=True)) for row in learners],
        "examples": [dict(zip(("learners", "error", "weights", "examples"), row, strict=True)) for row in examples],
        "least_examples": theory.least_examples(classes, gamma, error, S, each),
        "olm_examples": theory.olm_examples(classes, 2 * olm, gamma, error, delta) if olm <= 200_000 else None,
    }


def _how(n: int, what: str, otherwise: str) -> str:
    return f"{what}, exact" if n <= theory.MOST_EXACT else f"{what}, {otherwise}"


def _least(k: int, n: int, gamma: float, excess: float = math.inf, delta: float = 0.05) -> float:
    least = theory.least_error if n <= theory.MOST_EXACT else theory.least_error_closed
    return least(k, n, gamma, excess, delta)


def curves(classes: int, gamma: float, most: int, points: int) -> list[dict[str, Any]]:
    """phi_N(0), the paper's bound on it, and what no booster can beat, for N up to `most`."""
    points = points if most <= 4000 else points // 3  # large N take their time
    rows = []
    for n in np.unique(np.linspace(1, most, points).round().astype(int)).tolist():
        for line, value in (
            ("OnlineMBBM, exact", theory.mbbm_error(classes, n, gamma)),
            ("the paper's bound", min(1.0, theory.hoeffding_error(classes, n, gamma))),
            ("no booster is below", _least(classes, n, gamma)),
        ):
            rows.append({"learners": n, "error": value, "line": line})
    return rows
