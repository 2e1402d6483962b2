"""How the cost of an example grows with the number of learners, of classes, of columns, of examples, and with threads.

Synthetic streams, one size varied at a time. The exponent b of cost ~ size^b is fitted twice: over all sizes, and from
the last two alone, where what does not grow no longer hides what does.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import machine
import numpy as np
from peers import Stream
from rich.table import Table

from onlineboost import AdaBoostOLM
from onlineboost.datasets import synthetic_stream

if TYPE_CHECKING:
    from bench import Bench

SIZES = {
    "learners": (10, 25, 50, 100, 200, 400),
    "classes": (2, 5, 10, 20, 50, 100),
    "columns": (5, 10, 20, 50, 100, 200),
}
MODELS = {"ours-boost": "OnlineBoostClassifier", "ours-olm": "AdaBoostOLM", "ours-mbbm": "OnlineMBBM"}
ROWS = 5_000
GROWTH = 2.0  # of the spans that a long run is cut into


def has_threads() -> bool:
    return "n_jobs" in inspect.signature(AdaBoostOLM).parameters and machine.cores() > 1


def make_stream(rows: int, columns: int = 10, classes: int = 5) -> Stream:
    data = synthetic_stream(rows, columns, classes)
    names = np.array(sorted(set(data.y)), object)
    return Stream(np.column_stack(data.X.columns), np.searchsorted(names, data.y), {}, len(names))


def measure(bench: Bench, quick: bool, length: int, axes: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each point: axis, model, size, microseconds per example, and peak memory."""
    rows = 1000 if quick else ROWS
    sizes = {axis: values[1:5:3] if quick else values for axis, values in SIZES.items() if axis in axes}
    models = ["ours-olm"] if quick else list(MODELS)
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= machine.cores()] if "threads" in axes else []
    lengths = [length] if "examples" in axes else []
    plan = [(axis, size, model) for axis, values in sizes.items() for size in values for model in models]
    plan = [point for point in plan if (point[0], point[2]) != ("learners", "ours-boost")]  # it has its own number
    points: list[dict[str, Any]] = []
    with bench.bars(len(plan) + len(models) * (len(lengths) + len(counts)), "scaling"):
        for axis, size, model in plan:
            columns = size if axis == "columns" else 10
            classes = size if axis == "classes" else 5
            learners = size if axis == "learners" else bench.learners
            path = bench.save(make_stream(rows, columns, classes), f"scaling-{rows}-{columns}-{classes}")
            result = bench.run(model, path, rows, f"{axis} = {size}: {MODELS[model]}", learners)
            cpu = result["marks"][-1][2]  # one thread: not disturbed by others on the machine
            points.append(_point(axis, model, size, 1e6 * cpu / rows, result))
        for n in lengths:
            path = bench.save(make_stream(n), f"scaling-{n}")
            for model in models:
                result = bench.run(model, path, n, f"{n:,} examples: {MODELS[model]}", bench.learners)
                points += [_point("examples", model, at, us, result) for at, us in spans(result["marks"])]
        for n in counts:
            path = bench.save(make_stream(10 * rows), f"scaling-{10 * rows}")
            for model in models:
                result = bench.run(f"{model}:{n}", path, 10 * rows, f"{n} threads: {MODELS[model]}", bench.learners)
                points.append(_point("threads", model, n, 1e6 * result["marks"][-1][1] / (10 * rows), result))
    return points


def _point(axis: str, model: str, size: float, us: float, result: dict[str, Any]) -> dict[str, Any]:
    peak = result["peak_megabytes"]
    return {"axis": axis, "model": MODELS[model], "size": size, "us": us, "peak_megabytes": peak}


def spans(marks: list[tuple[int, float, float]]) -> list[tuple[int, float]]:
    """(examples so far, CPU microseconds per example since the span before), spans growing by GROWTH."""
    chosen = [marks[-1]]
    for mark in reversed(marks):
        if mark[0] * GROWTH <= chosen[0][0]:
            chosen.insert(0, mark)
    before = [(0, 0.0, 0.0), *chosen[:-1]]
    return [(b[0], 1e6 * (b[2] - a[2]) / (b[0] - a[0])) for a, b in zip(before, chosen, strict=True)]


def exponent(sizes: list[float], costs: list[float]) -> float:
    """b of the best fit of cost = a size^b, by least squares on logarithms.

    >>> round(exponent([1.0, 2.0, 4.0], [3.0, 6.0, 12.0]), 6)
    1.0
    """
    return float(np.polyfit(np.log(sizes), np.log(costs), 1)[0])


def fits(points: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each axis and model: sizes, costs, the exponent over all, and that of the last two sizes."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for point in points:
        groups.setdefault((point["axis"], point["model"]), []).append(point)
    rows = []
    for (axis, model), group in groups.items():
        sizes, costs = [p["size"] for p in group], [p["us"] for p in group]
        several = len(group) > 1
        rows.append(
            {
                "axis": axis,
                "model": model,
                "sizes": (sizes[0], sizes[-1]),
                "costs": (costs[0], costs[-1]),
                "all": exponent(sizes, costs) if several else None,
                "end": exponent(sizes[-2:], costs[-2:]) if several else None,
                "peak_megabytes": max(p["peak_megabytes"] for p in group),
            }
        )
    return rows


HEADINGS = ("against", "model", "from", "to", "us/example from", "to", "exponent", "at the end", "peak MB")


def cells(fit: dict[str, Any]) -> list[str]:
    exponents = ["" if fit[key] is None else f"{fit[key]:.2f}" for key in ("all", "end")]
    sizes = [f"{size:,}" for size in fit["sizes"]]
    costs = [f"{cost:,.1f}" for cost in fit["costs"]]
    return [fit["axis"], fit["model"], *sizes, *costs, *exponents, f"{fit['peak_megabytes']:,.0f}"]


def show(points: list[dict[str, Any]]) -> Table:
    table = Table(title="Cost of an example against size")
    for heading in HEADINGS:
        table.add_column(heading, justify="left" if heading in ("against", "model") else "right")
    for fit in fits(points):
        table.add_row(*cells(fit))
    return table
