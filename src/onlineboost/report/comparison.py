"""The report of `onlineboost compare`. Needs the extra ``onlineboost[report]``."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from onlineboost.evaluation.records import Record
from onlineboost.report import charts
from onlineboost.report.charts import COLOURS, Look
from onlineboost.report.colours import colour
from onlineboost.report.page import chart, expert_charts, page, section
from onlineboost.report.tables import POINTS, seconds_text

MEASURES = {"balanced_accuracy": "balanced", "kappa": "kappa", "macro_f1": "F1", "log_loss": "log loss", "ece": "ECE"}


def _measures(record: Record) -> str:
    """Cells of a row: the metrics over all rows, where there are any."""
    values = (record.get("metrics", {}).get(name) for name in MEASURES)
    return "".join("<td></td>" if value is None else f"<td>{value:.3f}</td>" for value in values)


def comparison_page(records: Sequence[Record], title: str, subtitle: str) -> str:
    """The report of `onlineboost compare`: the same picture for any stream and any models."""
    source = records[0]["dataset"]
    systems = [record["system"] for record in records]
    colours = {system: COLOURS[i % len(COLOURS)] for i, system in enumerate(systems)}
    look = Look([source], systems, colours, {})
    points = [{**record, "whose": "here"} for record in records]
    best = max(record["tail"] for record in records)
    headings = "".join(f"<th>{heading}</th>" for heading in MEASURES.values())
    headings += "<th>CPU seconds</th><th>examples per CPU second</th>"
    lines = [f"<tr><th></th><th>last 20 %</th><th>all</th>{headings}</tr>"]
    for record in sorted(records, key=lambda r: -r["tail"]):
        rate = record["rows"] / max(record["seconds"], 1e-9)
        shade = colour((record["tail"] - best) / (2 * POINTS)) if record["tail"] < best else colour(1.0)
        lines.append(
            f'<tr><th class="row">{escape(record["system"])}</th><td style="background:{shade}">'
            f"<b>{record['tail']:.4f}</b></td><td>{record['full']:.4f}</td>{_measures(record)}<td>{seconds_text(record['seconds'])}</td>"
            f"<td>{rate:,.0f}</td></tr>"
        )
    boosters = [record["system"] for record in records if "expert_weights" in record]
    charts_of = {
        "Learning curves": ("Accuracy since the point before, smoothed over three points.",
                            charts.learning_curves(records, look)),
        "Accuracy against time": ("Last 20 %. Up and to the left is better; the time axis is logarithmic.",
                                  charts.accuracy_and_time(points, look, {})),
        "Edges of the learners": ("The empirical edge of each learner over random guessing, at the end.",
                                  charts.per_learner(records, look, "edges", "edge", systems)),
        "Weights of the votes": ("alpha of each learner at the end.",
                                 charts.per_learner(records, look, "alphas", "alpha", systems)),
    }  # fmt: skip
    drawn = [section(heading, text, chart(what)) for heading, (text, what) in charts_of.items() if what is not None]
    body = [
        f'<h1>{escape(title)}</h1><p class="soft">{escape(subtitle)}</p>',
        section("Accuracy and time", "Every row was predicted before it was learned. Blue: the best on the last 20 %; "
                 "orange: how far behind.", f'<table style="max-width:760px">{"".join(lines)}</table>'),
        f'<div class="pair">{"".join(drawn)}</div>',
    ]  # fmt: skip
    if experts := expert_charts(records, look, boosters):
        text = "Expert i is the vote of the first i learners. Weights over time, added up over stretches of the chain."
        pairs = "".join(f"<div>{one}</div>" for one in experts)
        body.append(section("Whom Hedge follows", text, f'<div class="pair">{pairs}</div>'))
    return page(title, "".join(body))
