"""The page and the pictures of a benchmark, from its JSON."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import scaling

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
COLOURS = {"onlineboost": "#1f6feb", "Vowpal Wabbit": "#d29922", "CapyMOA": "#8250df", "river": "#57606a"}
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
    except ImportError:
        altair, note = None, "\nThere are no pictures: drawing needs `pip install 'onlineboost[report]'`.\n"
    for name, draw, needed in (("systems", draw_systems, "systems"), ("scaling", draw_scaling, "scaling")):
        if altair is not None and results[needed]:
            pictures.mkdir(exist_ok=True)
            chart = draw(altair, results)
            for path in (pictures / f"benchmark_{name}.png", pictures / f"benchmark_{name}.svg"):
                chart.save(path, **({"scale_factor": 2} if path.suffix == ".png" else {}))
                written.append(path)
    text = page_text(results, with_pictures=altair is not None)
    page.write_text(text if altair is not None else text + note)
    return written


# ------------------------------------------------------------------------------------------------------ words


def page_text(results: dict[str, Any], with_pictures: bool = True) -> str:
    settings = results["settings"]
    parts = [
        "# How fast is it, and beside what?",
        "<!-- Written by `make bench-docs` from results/bench.json. Change benchmarks/bench_page.py, not this page. -->",
        "```sh\n"
        "make bench          # everything below, on your machine; writes results/bench.json and results/benchmarks.md\n"
        "make bench-quick    # small prefixes, about two minutes\n"
        "make bench-guard    # is ours slower than it was? About a minute\n"
        "```",
    ]
    if settings["quick"]:
        parts.append("**A quick run on small prefixes: it shows that all works, and little more.**")
    parts += [f"**{warning}**" for warning in warnings_of(results)]
    if results["systems"]:
        parts += [systems_text(results), systems_tables(results)]
        if with_pictures:
            parts.append(picture("systems", "Speed and accuracy of every system on every stream"))
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


def systems_text(results: dict[str, Any]) -> str:
    settings = results["settings"]
    lines = [
        "## Beside other libraries\n",
        f"The same rows in the same order, each predicted, then learned; {settings['learners']} learners each, other "
        "settings as they come. Every model runs in a process of its own, one after the other. Reading the data, turning "
        "rows into dicts, Java instances or parsed text, and compiling are not timed; the Java machine is warmed up by "
        f"another model for {settings['warm']:g} s first. Models that are slow stop after {settings['seconds']:g} s: "
        "`rows` says how far they came.\n",
        "* `right, all` and `last 20 %`: share of right predictions on the rows done, and on their last 20 %. `ours there`: "
        "AdaBoostOLM on the same last 20 %.",
        "* `us/(ex·learner)`: microseconds for one example and one learner, predicting and learning. `ours is faster`: how "
        "many times AdaBoostOLM is faster by that measure, on the same rows.",
        "* `peak MB`: most resident memory of the process, with Python, the package, the data and, for CapyMOA, the Java "
        "machine and its heap.",
        "* Vowpal Wabbit boosts binary linear learners. With k > 2 classes it trains k boosters, one against all, so k "
        "times as many learners; time is divided by all of them.",
    ]
    same = [row for row in results["systems"] if ":" in row["model"]]
    if same and not any(w.startswith("BUG") for w in warnings_of(results)):
        lines.append("* With `n_jobs=2` every prediction was the same as with one thread, on every stream.")
    return "\n".join(lines)


def systems_tables(results: dict[str, Any]) -> str:
    parts = []
    for stream in results["streams"]:
        title = (
            f"### {stream['name']}: {stream['rows']:,} rows, {stream['columns']} columns, {stream['classes']} classes"
        )
        rows = [cells(row) for row in results["systems"] if row["stream"] == stream["name"]]
        parts.append(f"{title}\n\n{table_text(HEADINGS, rows)}")
    return "\n\n".join(parts)


def scaling_text(results: dict[str, Any]) -> str:
    learners = results["settings"]["learners"]
    rows = [scaling.cells(fit) for fit in scaling.fits(results["scaling"])]
    return (
        "## How the cost grows\n\n"
        f"Microseconds for one example on synthetic streams: 10 columns, 5 classes and {learners} learners but for the size "
        "that is varied. CPU time, and wall time for threads. The exponent b is that of cost ~ size^b: 1 is linear, 0 is no "
        "growth; `at the end`: from the last two sizes alone. For examples, the cost is that of the rows since the size "
        f"before.\n\n{table_text(scaling.HEADINGS, rows)}"
    )


def table_text(headings: tuple[str, ...], rows: list[list[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


GUARD = """## The guard

`make bench-guard` runs our models on a few small streams, and between them a fixed piece of work: random reads from a table
and exponentials, compiled by Numba. It compares the ratios of the times with those in benchmarks/stored.json, and fails if
ours has become more than 25 % slower. Ratios depend less on the machine than times do. After a change that is meant to change
the speed: `python benchmarks/guard.py --update`, on an idle machine."""


# --------------------------------------------------------------------------------------------------- pictures


def draw_systems(altair: Any, results: dict[str, Any]) -> Any:
    """A row of two panels for each stream: microseconds per example and learner, and accuracy on the last 20 %."""
    order = list(dict.fromkeys(row["label"] for row in results["systems"]))
    colour = altair.Color(
        "package:N", title=None, scale=altair.Scale(domain=list(COLOURS), range=list(COLOURS.values()))
    )
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
        base = altair.Chart(altair.Data(values=rows)).encode(
            y=altair.Y("system:N", title=None, sort=order, axis=altair.Axis(grid=True, labelLimit=220)), color=colour
        )
        speed = base.mark_point(filled=True, size=70).encode(
            x=altair.X(
                "us:Q",
                title="µs per example and learner",
                scale=altair.Scale(type="log"),
                axis=altair.Axis(tickCount=5),
            )
        )
        accuracy = base.mark_point(filled=True, size=70).encode(
            x=altair.X("tail:Q", title="right on the last 20 % of its rows", scale=altair.Scale(zero=False))
        )
        tick = base.mark_tick(thickness=2, size=14).encode(x="ours:Q", color=altair.value("#1f6feb"))
        size = {"width": 330, "height": 17 * len(rows)}
        right = (accuracy + tick).encode(y=altair.Y("system:N", title=None, sort=order, axis=altair.Axis(grid=True)))
        title = f"{stream['name']}: {stream['columns']} columns, {stream['classes']} classes"
        panels.append(
            altair.hconcat(
                speed.properties(**size, title=title),
                right.properties(**size, title="a tick: AdaBoostOLM on the same rows"),
            )
        )
    return altair.vconcat(*panels).configure_title(anchor="start").configure_legend(orient="bottom")


def draw_scaling(altair: Any, results: dict[str, Any]) -> Any:
    """A panel for each size, both scales logarithmic: a straight line is a power."""
    panels = []
    slopes = {(fit["axis"], fit["model"]): fit["all"] for fit in scaling.fits(results["scaling"])}
    for axis, title in AXES.items():
        rows = [row for row in results["scaling"] if row["axis"] == axis]
        if not rows:
            continue
        named = [f"{model} {b:.2f}" for (a, model), b in slopes.items() if a == axis and b is not None]
        line = (
            altair.Chart(altair.Data(values=rows))
            .mark_line(point={"size": 40}, strokeWidth=2)
            .encode(
                x=altair.X("size:Q", title=title, scale=altair.Scale(type="log"), axis=altair.Axis(tickCount=5)),
                y=altair.Y(
                    "us:Q", title="µs per example", scale=altair.Scale(type="log"), axis=altair.Axis(tickCount=5)
                ),
                color=altair.Color(
                    "model:N",
                    title=None,
                    scale=altair.Scale(domain=["AdaBoostOLM", "OnlineMBBM"], range=["#1f6feb", "#d29922"]),
                ),
            )
            .properties(width=270, height=210, title=f"exponent: {', '.join(named)}" if named else title)
        )
        panels.append(line)
    chart = altair.concat(*panels, columns=3)
    return chart.configure_title(anchor="start", fontSize=12).configure_legend(orient="bottom")
