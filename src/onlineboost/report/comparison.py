"""The report of `onlineboost run` and `onlineboost compare`. Needs the extra ``onlineboost[report]``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from onlineboost.evaluation.metrics import METRICS
from onlineboost.evaluation.prequential import Record
from onlineboost.report import charts
from onlineboost.report.charts import COLOURS, Look
from onlineboost.report.page import (
    ALPHAS,
    CURVES,
    EDGES,
    EXPERTS,
    POINTS,
    page,
    seconds_text,
    section,
    shade,
    table,
    words,
)

SHOWN = {name: metric.title for name, metric in METRICS.items() if metric.about}


def comparison_page(records: Sequence[Record], title: str, subtitle: str) -> str:
    """The report of `onlineboost compare`: the same picture for any stream and any models."""
    source = records[0]["dataset"]
    systems = [record["system"] for record in records]
    colours = {system: COLOURS[i % len(COLOURS)] for i, system in enumerate(systems)}
    look = Look([source], systems, colours, {})
    points = [{**record, "whose": "here"} for record in records]
    charts_of = {
        "Learning curves": (CURVES, charts.learning_curves(records, look)),
        "Accuracy against time": ("Up and to the left is better: more often right, in less time. Each step of the time "
                                  "axis is ten times as long as the one before.",
                                  charts.accuracy_and_time(points, look, {})),
        "Edges of the learners": (EDGES, charts.spread(records, look, "edges", "edge", systems)),
        "Weights of the votes": (ALPHAS, charts.along_the_chain(records, look, "alphas", "weight (alpha)", systems)),
    }  # fmt: skip
    drawn = [section(heading, text, chart) for heading, (text, chart) in charts_of.items() if chart]
    body = [
        f'<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>',
        section("How good, how fast", "Every row was predicted before its label was learned. Blue: the best on the "
                "last 20 % of the rows; orange: the further behind, the stronger. Small: where the accuracy lies with "
                "95 % confidence. Of log loss and ECE less is better, of all others more. The words are explained "
                "<a href='#words'>below</a>.", _table(records)),
        f'<div class="pair">{"".join(drawn)}</div>',
    ]  # fmt: skip
    boosters = [record["system"] for record in records if "expert_weights" in record]
    if experts := charts.expert_weights(records, look, boosters):
        pairs = "".join(f"<div><h3>{escape(system)}</h3>{chart}</div>" for system, chart in experts.items())
        body.append(section("Which part of the chain is trusted", EXPERTS, f'<div class="pair">{pairs}</div>'))
    return page(title, "".join(body) + words(_words(records)))


def _table(records: Sequence[Record]) -> str:
    """A line for each model, the best first; a column of measures only where some model has them."""
    shown = _shown(records)
    headings = ["", "last 20 %", "all rows", *shown.values(), "CPU seconds", "rows per CPU second"]
    best = max(record["tail"] for record in records)
    lines = ["<tr>" + "".join(f"<th>{heading}</th>" for heading in headings) + "</tr>"]
    for record in sorted(records, key=lambda r: -r["tail"]):
        share = (record["tail"] - best) / (2 * POINTS) if record["tail"] < best else 1.0
        rate = record["rows"] / max(record["seconds"], 1e-9)
        values = (_measure(record, name) for name in shown)
        measures = "".join("<td>–</td>" if value is None else f"<td>{value:.3f}</td>" for value in values)
        lines.append(
            f'<tr><th class="row">{escape(record["system"])}</th><td {shade(share)}><b>{record["tail"]:.3f}</b></td>'
            f"<td>{record['full']:.3f}{_interval(record)}</td>{measures}<td>{seconds_text(record['seconds'])}</td>"
            f"<td>{rate:,.0f}</td></tr>"
        )
    return table(lines)


def _shown(records: Sequence[Record]) -> dict[str, str]:
    """The metrics that some model has, and their titles."""
    return {name: text for name, text in SHOWN.items() if any(_measure(r, name) is not None for r in records)}


def _measure(record: Record, name: str) -> float | None:
    value: float | None = record.get("metrics", {}).get(name)
    return value


def _interval(record: Record) -> str:
    low, high = record.get("interval", (math.nan, math.nan))
    return "" if math.isnan(low) else f"<small>{low:.3f} to {high:.3f}</small>"


def _words(records: Sequence[Record]) -> list[str]:
    """The words that are used on the page."""
    out = ["test, then train", "last 20 %"]
    if any(_interval(record) for record in records):
        out.append("interval")
    out += _shown(records).values()
    if any("edges" in record for record in records):
        out += ["learner", "edge"]
    if any("alphas" in record for record in records):
        out.append("weight of a vote (alpha)")
    if any("snapshots" in record for record in records):
        out += ["expert", "Hedge"]
    return out
