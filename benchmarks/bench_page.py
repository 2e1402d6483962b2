"""The page and the pictures of a benchmark, from its JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import beginnings
import scaling
from accuracy_cells import RESULTS, added_text, cells_of, read

HEADINGS = (
    "system",
    "learners",
    "rows",
    "right, all",
    "last 20 %",
    "ours there",
    "examples/s",
    "us/(ex·learner)",
    "ours is faster",
    "peak MB",
)
PACKAGES = {"ours": "onlineboost", "vw": "Vowpal Wabbit", "capymoa": "CapyMOA", "river": "river"}
PACKAGES |= {"onelearn": "onelearn", "lightgbm": "LightGBM"}
COLOURS = {"onlineboost": "#1f6feb", "Vowpal Wabbit": "#d29922", "CapyMOA": "#8250df", "river": "#57606a"}
COLOURS |= {"onelearn": "#1a7f37", "LightGBM": "#cf222e"}
BUSY = 0.9  # a single thread that had less of its core than this was disturbed
AXES = {
    "learners": "number of learners N",
    "classes": "number of classes k",
    "columns": "number of columns",
    "examples": "examples seen",
    "threads": "threads (n_jobs)",
}


def number(value: float) -> str:
    """Three digits that count, no more.

    >>> number(0.71234), number(12.34), number(1234.5)
    ('0.71', '12.3', '1,234')
    """
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:,.0f}"


def cells(row: dict[str, Any]) -> list[str]:
    """One system on one stream, as the table shows it."""
    ours = row.get("ours")
    return [
        row["label"],
        f"{row['learners']:,}",
        f"{row['rows']:,}",
        f"{row['accuracy']:.4f}",
        f"{row['tail']:.4f}",
        f"{ours['tail']:.4f}" if ours else "",
        f"{row['examples_per_second']:,.0f}",
        number(row["us"]),
        f"{number(ours['times_per_learner'])} ×" if ours else "",
        f"{row['peak_megabytes']:,.0f}",
    ]


def warnings_of(results: dict[str, Any]) -> list[str]:
    """What makes the figures less than they seem: a busy machine, predictions that differ between threads."""
    warnings = []
    # a Java machine has threads of its own, so its CPU seconds say nothing here
    single = [row for row in results["systems"] if ":" not in row["model"] and not row["model"].startswith("capymoa")]
    if single:
        share = sum(row["cpu_seconds"] for row in single) / sum(row["seconds"] for row in single)
        if share < BUSY:
            what = f"The machine was busy: single-threaded runs had {100 * share:.0f} % of a core"
            warnings.append(f"{what}. Speeds are too low, and their ratios rough. Run again on an idle machine.")
    predictions = {(row["stream"], row["model"]): row["predicted_sha256"] for row in results["systems"]}
    for (stream, model), digest in predictions.items():
        alone = predictions.get((stream, model.partition(":")[0]))
        if ":" in model and alone is not None and alone != digest:
            warnings.append(f"BUG: {model} predicted differently from one thread on {stream}.")
    return warnings


def write(results: dict[str, Any], page: Path) -> list[Path]:
    """Write the page, and its pictures to the folder pictures/ beside it."""
    page.parent.mkdir(parents=True, exist_ok=True)
    pictures = page.parent / "pictures"
    written = [page]
    try:
        import altair
    except ImportError:  # it comes with onlineboost[report]; the page does without
        altair = None
    for name, draw, needed in (("systems", draw_systems, "systems"), ("scaling", draw_scaling, "scaling")):
        if altair is not None and results[needed]:
            pictures.mkdir(exist_ok=True)
            chart = draw(altair, results)
            for path in (pictures / f"benchmark_{name}.png", pictures / f"benchmark_{name}.svg"):
                chart.save(path, **({"scale_factor": 2} if path.suffix == ".png" else {}))
                written.append(path)
    page.write_text(page_text(results, with_pictures=altair is not None))
    return written


# ------------------------------------------------------------------------------------------------------ words


def page_text(results: dict[str, Any], with_pictures: bool = True) -> str:
    parts = [INTRODUCTION]
    if results["settings"]["quick"]:
        parts.append("**A quick run on small prefixes: it shows that all works, and little more.**")
    parts += [f"**{warning}**" for warning in warnings_of(results)]
    if added := added_text(cells_of(list(read(RESULTS).values()))):
        parts.append(f"## What boosting adds to a single leaf\n\n{added} Stream by stream: [accuracy.md](accuracy.md).")
    if results["systems"]:
        parts += [summary_text(results), systems_text(results["settings"]), systems_tables(results)]
        if with_pictures:
            parts.append(picture("systems", "Speed and accuracy of every system on every stream"))
        if any(":" in row["model"] for row in results["systems"]):
            parts.append(threads_text(results))
    if measured := results.get("beginnings"):
        parts.append(f"{BEGINNINGS}\n\n{table_text(beginnings.HEADINGS, measured['starts'])}")
        parts.append(f"{SINGLE_ROWS}\n\n{table_text(beginnings.ROW_HEADINGS, measured['rows'])}")
    if results["scaling"]:
        parts.append(scaling_text(results))
        if with_pictures:
            parts.append(picture("scaling", "Cost of an example against learners, classes, columns, examples, threads"))
    parts.append("## The machine\n\n" + table_text(("", ""), [list(pair) for pair in results["machine"].items()]))
    if results["left_out"]:
        rows = "\n".join(f"* {row['what']}: {row['why']}" for row in results["left_out"])
        parts.append("Left out of this run:\n\n" + rows)
    parts.append(GUARD)
    return "\n\n".join(parts) + "\n"


def picture(name: str, alt: str) -> str:
    return f"![{alt}](pictures/benchmark_{name}.png)\n\n[As SVG](pictures/benchmark_{name}.svg)"


def summary_text(results: dict[str, Any]) -> str:
    """For each other system: how many times ours is faster, from and to, and on how many streams more accurate."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in results["systems"]:
        if "ours" in row and not row["model"].startswith("ours"):
            groups.setdefault(row["label"], []).append(row)
    rows = []
    for label, group in groups.items():
        cells = [label]
        for key in ("times_per_learner", "times_per_example"):
            times = [row["ours"][key] for row in group]
            cells.append(f"{number(min(times))} to {number(max(times))}")
        for key in ("tail", "accuracy"):
            better = sum(row["ours"][key] > row[key] for row in group)
            cells.append(f"{better} of {len(group)}")
        rows.append(cells)
    headings = ("beside", "times as fast, per learner", "per example", "more right, last 20 %", "more right, all rows")
    note = (
        "AdaBoostOLM beside each, on the rows that the other did: how many times as fast, and on how many streams it is"
    )
    return f"## In short\n\n{note}\nright more often.\n\n{table_text(headings, rows)}" if rows else ""


def systems_text(settings: dict[str, Any]) -> str:
    return f"""## Beside other libraries

The same rows in the same order, each predicted, then learned; {settings["learners"]} learners each, other settings as
they come. Every model runs in a process of its own, one after the other. Reading the data, turning rows into dicts,
Java instances or parsed text, and compiling are not timed; the Java machine is warmed up by another model for
{settings["warm"]:g} s first. Models that are slow stop after {settings["seconds"]:g} s: `rows` says how far they came.

* `right, all` and `last 20 %`: share of right predictions on the rows done, and on their last 20 %. `ours there`:
  AdaBoostOLM on the same last 20 %.
* `us/(ex·learner)`: microseconds for one example and one learner, predicting and learning. `ours is faster`: how many
  times AdaBoostOLM with one thread is faster by that measure, on the same rows.
* `peak MB`: most resident memory of the process, with Python, the package, the data and, for CapyMOA, the Java machine
  and its heap.
* Vowpal Wabbit boosts binary linear learners. With k > 2 classes it trains k boosters, one against all, so k times as
  many learners; time is divided by all of them."""


def systems_tables(results: dict[str, Any]) -> str:
    parts = []
    for stream in results["streams"]:
        size = f"{stream['rows']:,} rows, {stream['columns']} columns, {stream['classes']} classes"
        rows = [cells(row) for row in results["systems"] if row["stream"] == stream["name"]]
        parts.append(f"### {stream['name']}: {size}\n\n{table_text(HEADINGS, rows)}")
    return "\n\n".join(parts)


def threads_text(results: dict[str, Any]) -> str:
    runs = {(row["stream"], row["model"]): row for row in results["systems"]}
    rows = []
    for (stream, model), row in runs.items():
        alone = runs.get((stream, model.partition(":")[0]))
        if ":" in model and alone is not None:
            same = "yes" if row["predicted_sha256"] == alone["predicted_sha256"] else "**no**"
            rows.append([stream, row["label"], f"{alone['seconds'] / row['seconds']:.2f} ×", same])
    headings = ("stream", "model", "as fast as one thread", "all predictions the same")
    return f"### Two threads\n\n{table_text(headings, rows)}"


def scaling_text(results: dict[str, Any]) -> str:
    learners = results["settings"]["learners"]
    rows = [scaling.cells(fit) for fit in scaling.fits(results["scaling"])]
    return f"""## How the cost grows

Microseconds for one example on synthetic streams: 10 columns, 5 classes and {learners} learners but for the size that
is varied. CPU time, and wall time for threads. The exponent b is that of cost ~ size^b: 1 is linear, 0 is no growth;
`at the end`: from the last two sizes alone. For examples, the cost is that of the rows since the size before.

{table_text(scaling.HEADINGS, rows)}"""


def table_text(headings: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


INTRODUCTION = """# How fast and how good is it beside other libraries?

<!-- Written by `make bench-docs` from results/bench.json. Change benchmarks/bench_page.py, not this page. -->

```sh
make bench          # everything below, on your machine; writes results/bench.json and results/benchmarks.md
make bench-quick    # small prefixes of two streams
make bench-guard    # is ours slower than it was?
```

Accuracy on whole streams, beside more systems and the simplest guesses: [accuracy.md](accuracy.md)."""

BEGINNINGS = """## From nothing

Seconds of CPU and of wall for a new process that imports a package, or makes a model, has it learn two rows and predict
them. *Machine code kept*: on disk by an earlier process, or in the wheel. *Everything compiled*: the first
time on a machine, from source; the default model is compiled by two processes where there are two cores."""

SINGLE_ROWS = """## One row at a time

Medians of `predict_one` and then `learn_one` with a mapping of 10 columns, 5 classes, after 2,000 rows."""

GUARD = """## The guard

`make bench-guard` runs our models on a few small streams, and between them a fixed piece of work: random reads from a
table and exponentials, compiled by Numba. It compares the ratios of the times with those in benchmarks/stored.json, and
fails if ours has become more than 25 % slower. Ratios depend less on the machine than times do. After a change that is
meant to change the speed: `python benchmarks/guard.py --update`, on an idle machine."""


# --------------------------------------------------------------------------------------------------- pictures


def log_axis(altair: Any, values: list[float], steps: tuple[float, ...] = (1.0,)) -> dict[str, Any]:
    """A logarithmic scale just wide enough, with ticks at `steps` times powers of ten."""
    low, high = 0.85 * min(values), 1.18 * max(values)
    ticks = [step * 10.0**power for power in range(-3, 8) for step in steps]
    return {
        "scale": altair.Scale(type="log", domain=[low, high], nice=False),
        "axis": altair.Axis(values=[tick for tick in ticks if low <= tick <= high], format=",~r"),
    }


def draw_systems(altair: Any, results: dict[str, Any]) -> Any:
    """A row of two panels for each stream: microseconds per example and learner, and accuracy on the last 20 %."""
    order = list(dict.fromkeys(row["label"] for row in results["systems"]))
    speeds = log_axis(altair, [row["us"] for row in results["systems"]], (1.0, 3.0))
    present = {row["model"].partition("-")[0] for row in results["systems"]}
    packages = [name for key, name in PACKAGES.items() if key in present]
    colours = altair.Scale(domain=packages, range=[COLOURS[name] for name in packages])
    panels = []
    for stream in results["streams"]:
        rows = [
            {
                "system": row["label"],
                "package": PACKAGES[row["model"].partition("-")[0]],
                "us": row["us"],
                "tail": row["tail"],
                "ours": row.get("ours", row)["tail"],
            }
            for row in results["systems"]
            if row["stream"] == stream["name"]
        ]
        base = altair.Chart(altair.Data(values=rows), width=330, height=17 * len(rows)).encode(
            y=altair.Y("system:N", title=None, sort=order, axis=altair.Axis(grid=True, labelLimit=220))
        )
        colour = altair.Color("package:N", title=None, scale=colours)
        dots = base.mark_point(filled=True, size=70, opacity=1.0).encode(color=colour)
        speed = dots.encode(x=altair.X("us:Q", title="µs per example and learner", **speeds))
        share = altair.Scale(zero=False, nice=False, padding=12)
        accuracy = dots.encode(x=altair.X("tail:Q", title="right on the last 20 % of its rows", scale=share))
        tick = base.mark_tick(thickness=2, size=15, color=COLOURS["onlineboost"]).encode(x="ours:Q")
        title = f"{stream['name']}: {stream['columns']} columns, {stream['classes']} classes"
        panels.append(
            altair.hconcat(
                speed.properties(title=title),
                (tick + accuracy).properties(title="a tick: AdaBoostOLM on the same rows"),
            )
        )
    return altair.vconcat(*panels).configure_title(anchor="start").configure_legend(orient="bottom")


def draw_scaling(altair: Any, results: dict[str, Any]) -> Any:
    """A panel for each size, both scales logarithmic: a straight line is a power. All have the same scale of cost."""
    slopes = scaling.fits(results["scaling"])
    costs = log_axis(altair, [row["us"] for row in results["scaling"]], (1.0, 3.0))
    colours = altair.Scale(domain=["AdaBoostOLM", "OnlineMBBM"], range=["#1f6feb", "#d29922"])
    panels = []
    for axis, title in AXES.items():
        rows = [row for row in results["scaling"] if row["axis"] == axis]
        if not rows:
            continue
        named = [f"{fit['model']} {fit['all']:.2f}" for fit in slopes if fit["axis"] == axis and fit["all"] is not None]
        sizes = [row["size"] for row in rows]
        line = (
            altair.Chart(altair.Data(values=rows), width=270, height=210)
            .mark_line(point={"size": 40}, strokeWidth=2)
            .encode(
                x=altair.X("size:Q", title=title, **log_axis(altair, sizes, (1.0, 2.0, 5.0))),
                y=altair.Y("us:Q", title="µs per example", **costs),
                color=altair.Color("model:N", title=None, scale=colours),
            )
        )
        panels.append(line.properties(title=f"exponent: {', '.join(named)}") if named else line)
    chart = altair.concat(*panels, columns=3)
    return chart.configure_title(anchor="start", fontSize=12).configure_legend(orient="bottom")
