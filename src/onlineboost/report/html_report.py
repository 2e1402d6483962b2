"""The reports of `onlineboost reproduce` and `onlineboost compare`: tables coloured by difference, and charts.

Needs the extra ``onlineboost[report]``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from onlineboost.evaluation.records import Record
from onlineboost.paper import tables as paper_tables
from onlineboost.paper.summary import Summary, is_below, table_one
from onlineboost.paper.systems import OURS, SYSTEMS
from onlineboost.report import charts
from onlineboost.report.charts import COLOURS, Look
from onlineboost.report.html_page import chart, colour, legend, page, section

# -------------------------------------------------------------------------------------------------------- tables

POINTS = 0.10  # a difference of so much has the full colour
FACTOR = 1000.0  # so has a time that differs by this factor


def _accuracy(value: float) -> str:
    return "1.000" if value >= 0.9995 else f"{value:.3f}".lstrip("0")


def _seconds(value: float) -> str:
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


def _error(value: float | None) -> str:
    return "" if value is None else f" ±{value:.3f}".replace("±0.", "±.")


def _accuracy_cell(row: Mapping[str, Any] | None, measure: str, top: float) -> str:
    """Ours with its standard error; below, the paper's and the difference in points."""
    if row is None:
        return "<td></td>"
    printed = paper_tables.MEASURES[measure][row["dataset"]]
    paper = row[f"{measure}_paper"]
    against = max(printed.values()) if paper is None else paper
    difference = row[measure] - against
    error = row[f"{measure}_error"]
    mark = "<sup>▼</sup>" if is_below(row, measure) else ""
    css = ' class="top"' if row[measure] >= top else ""
    return (
        f'<td{css} style="background:{colour(difference / POINTS)}" title="{escape(row["system"])}, n = {row["n"]}">'
        f"<b>{_accuracy(row[measure])}</b>{mark}<small>{_error(error) or 'n = 1'}</small>"
        f"<small>{_accuracy(against)} {100 * difference:+.1f}</small></td>"
    )


def _time_cell(row: Mapping[str, Any] | None, measure: str, top: float) -> str:
    if row is None:
        return "<td></td>"
    paper = row["seconds_paper"]
    if paper is None:
        return f'<td class="plain"><b>{_seconds(row["seconds"])}</b><small>&nbsp;</small></td>'
    ratio = paper / max(row["seconds"], 1e-9)
    share = math.log(ratio) / math.log(FACTOR)
    return (
        f'<td style="background:{colour(share)}"><b>{_seconds(row["seconds"])}</b>'
        f"<small>{_seconds(paper)}</small><small>× {ratio:,.0f}</small></td>"
    )


def _table(summary: Summary, measure: str) -> str:
    found = {(row["dataset"], row["system"]): row for row in summary}
    systems = [system for system in SYSTEMS if any(key[1] == system for key in found)]
    binary = [s for s in systems if s in ("OvA", "AdaOVA")]
    multi = [s for s in systems if s in paper_tables.SYSTEMS and s not in binary]
    new = [s for s in systems if s not in paper_tables.SYSTEMS]
    groups = [(multi, "multiclass trees"), (binary, "k × as many binary trees"), (new, "not in the paper")]
    head = "".join(f'<th colspan="{len(group)}">{text}</th>' for group, text in groups if group)
    lines = [f'<tr class="groups"><th></th>{head}</tr>']
    lines.append("<tr><th></th>" + "".join(f"<th>{escape(s)}</th>" for s in systems) + "</tr>")
    cell = _time_cell if measure == "seconds" else _accuracy_cell
    for name in _datasets(summary):
        rows = [found.get((name, system)) for system in systems]
        top = max(row[measure] for row in rows if row is not None)
        cells = "".join(cell(row, measure, top) for row in rows)
        lines.append(f'<tr><th class="row">{paper_tables.LABELS[name]}</th>{cells}</tr>')
    return f"<table>{''.join(lines)}</table>"


def _datasets(summary: Summary) -> list[str]:
    there = {row["dataset"] for row in summary}
    return [name for name in paper_tables.LABELS if name in there]


def _table_one(summary: Summary) -> str:
    columns = {
        "DT": "Best decision tree",
        "OLB": "Online Boosting",
        "AdaOLM": "Adaboost.OLM",
        "Best MB": "Best MBBM",
        OURS: "default, paper's best",
    }
    lines = table_one(summary)
    shown = [column for column in columns if any(line.get(column) for line in lines)]
    head = "".join(f'<th colspan="2">{columns[c]}</th>' for c in shown)
    out = [
        f'<tr class="groups"><th></th>{head}</tr>',
        "<tr><th></th>" + "<th>accuracy</th><th>seconds</th>" * len(shown) + "</tr>",
    ]
    for line in lines:
        cells = []
        for column in shown:
            pair = line.get(column)
            if not pair:
                cells.append("<td></td><td></td>")
                continue
            best = paper_tables.best(line["dataset"])
            paper = pair.get("tail_paper", best)
            difference = pair["tail"] - paper
            which = f" {escape(pair['system'])}" if "system" in pair else ""
            low = f"{_accuracy(paper)} {100 * difference:+.1f}"
            time = _seconds(pair["seconds_paper"]) if "seconds_paper" in pair else "&nbsp;"
            cells.append(
                f'<td style="background:{colour(difference / POINTS)}"><b>{_accuracy(pair["tail"])}</b>{_small(which)}'
                f"<small>{low}</small></td>"
                f'<td class="plain"><b>{_seconds(pair["seconds"])}</b><small>{time}</small></td>'
            )
        out.append(f'<tr><th class="row">{paper_tables.LABELS[line["dataset"]]}</th>{"".join(cells)}</tr>')
    return f"<table>{''.join(out)}</table>"


def _small(text: str) -> str:
    return f'<small style="display:inline">{text}</small>' if text else ""


# ------------------------------------------------------------------------------------------- the paper, reproduced

LINES = {
    OURS: COLOURS[0],
    "AdaOLM": COLOURS[1],
    "MB .1": COLOURS[2],
    "OvA": COLOURS[3],
    "AdaOVA": COLOURS[4],
    "OLB": COLOURS[5],
    "DT": COLOURS[8],
}
FAMILIES = {system: "MB" for system in SYSTEMS if system.startswith("MB")}
FAMILIES["MB default"] = OURS


def reproduction_page(records: Sequence[Record], summary: Summary, about: Mapping[str, Any]) -> str:
    """The report of `onlineboost reproduce`."""
    names = _datasets(summary)
    look = Look(names, list(LINES), {**LINES, "MB": COLOURS[2]}, paper_tables.LABELS)
    points = [{**row, "whose": "here"} for row in summary] + [
        {"dataset": name, "system": system, "tail": paper_tables.TAIL[name][system], "whose": "the paper",
         "seconds": paper_tables.SECONDS[name][system]}
        for name in names for system in paper_tables.SYSTEMS
    ]  # fmt: skip
    scale = legend(
        f"−{100 * POINTS:.0f} points", "as in the paper", f"+{100 * POINTS:.0f} points", "ours minus the paper's"
    )
    speed = legend(f"{FACTOR:,.0f} × slower", "as fast", f"{FACTOR:,.0f} × faster", "than the paper says")
    how = (
        "Large: ours, and its standard error over the orders of the rows. Small: the paper's, and the difference in "
        "points. ▼ more than two standard errors below the paper. The systems that are not in the paper are set "
        "against the best of its ten."
    )
    body = [
        _head(summary, about),
        section("Table 1 of the paper", "Accuracy on the last 20 % of the rows and processor seconds. "
                 "Large: ours; small: the paper's.", scale, _table_one(summary)),
        section("Accuracy on the last 20 %", how, scale, _table(summary, "tail")),
        section("Accuracy on all rows", how, scale, _table(summary, "full")),
        section("Run time", "Processor seconds of one run. Large: ours, on one core; small: the paper's, on the "
                 "authors' machine, and how many times as fast we are.", speed, _table(summary, "seconds")),
        section("Learning curves", "Accuracy since the point before, a mean over the orders, smoothed over three "
                 "points.", chart(charts.learning_curves(records, look))),
        section("Accuracy against time", "Every system, here and in the paper. Up and to the left is better; "
                 "the time axis is logarithmic.", chart(charts.accuracy_and_time(points, look, FAMILIES))),
        section("Edges of the learners", "The empirical edge of each learner of the chain over random guessing, at "
                 "the end: what it gets right of what the booster asked of it.",
                 chart(charts.per_learner(records, look, "edges", "edge", [OURS, "AdaOLM", "MB .1", "AdaOVA"]))),
        section("Weights of the votes", "alpha of each learner at the end. All votes of OnlineMBBM count the same.",
                 chart(charts.per_learner(records, look, "alphas", "alpha", [OURS, "AdaOLM", "AdaOVA"]))),
        section("Whom Hedge follows", "Expert i is the vote of the first i learners. The weights of the experts over "
                 "time, added up over stretches of the chain, in the first order of the rows.",
                 *_experts(records, look, [OURS, "AdaOLM"])),
        section("How this was made", _how(about)),
    ]  # fmt: skip
    return page("Online Multiclass Boosting, reproduced", "".join(body))


def _experts(records: Sequence[Record], look: Look, systems: Sequence[str]) -> list[str]:
    out = []
    for system in systems:
        if drawn := chart(charts.expert_weights(records, look, system)):
            out.append(f"<h3>{escape(system)}</h3>{drawn}")
    return out


def _head(summary: Summary, about: Mapping[str, Any]) -> str:
    ours = [row for row in summary if row["system"] == OURS]
    wins = sum(row["tail"] >= 0.9995 or row["tail"] > paper_tables.best(row["dataset"]) for row in ours)
    compared = [row for row in summary if row["system"] in paper_tables.SYSTEMS[2:] and row["tail_error"] is not None]
    below = sum(is_below(row) for row in compared)
    theirs = sum(row["seconds_paper"] * row["n"] for row in summary if row["seconds_paper"])
    spent = sum(row["seconds"] * row["n"] for row in summary if row["seconds_paper"])
    tiles = []
    if ours:
        text = "data sets where our default settings are above all ten systems of the paper, or always right"
        tiles.append((f"{wins} of {len(ours)}", text))
    if compared:
        text = "cells of Adaboost.OLM, MB, OvA and AdaOVA, last 20 %, where ours is over two standard errors below"
        tiles.append((f"{below} of {len(compared)}", text))
    if spent:
        text = f"of processor time for the paper's ten systems; by its own table {_duration(theirs)}, "
        tiles.append((_duration(spent), f"{text}{theirs / spent:,.0f} times as long"))
    boxes = "".join(f'<div class="tile"><b>{a}</b><span>{escape(b)}</span></div>' for a, b in tiles)
    unfinished = about["cells_planned"] - about["cells"]
    note = f" <b>Unfinished: {unfinished:,} cells are still to run.</b>" if unfinished else ""
    return (
        "<h1>Online Multiclass Boosting, reproduced</h1>"
        '<p class="soft">The experiments of Jung, Goetz and Tewari (NIPS 2017), run again with the corrected '
        f"algorithms of onlineboost {about['version']}, {about['learners']} learners, {about['date']}.{note}</p>"
        f'<div class="tiles">{boxes}</div>'
    )


def _duration(seconds: float) -> str:
    for unit, size in (("days", 86400.0), ("hours", 3600.0), ("minutes", 60.0)):
        if seconds >= 2.0 * size:
            return f"{seconds / size:,.1f} {unit}"
    return f"{seconds:,.1f} seconds"


def _how(about: Mapping[str, Any]) -> str:
    missing = [paper_tables.LABELS[name] for name in about["missing"]]
    left_out = f" Not at hand, so left out: {', '.join(missing)}." if missing else ""
    limit = f" Every run stopped after {about['limit']:,} rows." if about["limit"] else ""
    return (
        f"Every cell is one pass over the data set in a random order: each row is predicted, then learned. "
        f"{about['cells']:,} runs, {_duration(about['cpu_seconds'])} of processor time.{limit}{left_out} "
        "DT is the best of the trees in hindsight. The paper's systems use its weak learners: Hoeffding trees with "
        "leaves that predict by majority, grace period from 5 to 20, split confidence and tie threshold from .01 to "
        ".9, weights times a factor from 5 to 200. The column <b>default</b> is <code>AdaBoostOLM()</code>, <b>MB "
        "default</b> is <code>OnlineMBBM()</code>, and <b>MB auto</b> is OnlineMBBM with the paper's weak learners and "
        "no gamma to choose."
    )


# ------------------------------------------------------------------------------------------------------- compare


def comparison_page(records: Sequence[Record], title: str, subtitle: str) -> str:
    """The report of `onlineboost compare`: the same picture for any stream and any models."""
    source = records[0]["dataset"]
    systems = [record["system"] for record in records]
    colours = {system: COLOURS[i % len(COLOURS)] for i, system in enumerate(systems)}
    look = Look([source], systems, colours, {})
    points = [{**record, "whose": "here"} for record in records]
    best = max(record["tail"] for record in records)
    lines = ["<tr><th></th><th>last 20 %</th><th>all</th><th>seconds</th><th>examples/s</th></tr>"]
    for record in sorted(records, key=lambda r: -r["tail"]):
        rate = record["rows"] / max(record["seconds"], 1e-9)
        shade = colour((record["tail"] - best) / (2 * POINTS)) if record["tail"] < best else colour(1.0)
        lines.append(
            f'<tr><th class="row">{escape(record["system"])}</th><td style="background:{shade}">'
            f"<b>{record['tail']:.4f}</b></td><td>{record['full']:.4f}</td><td>{_seconds(record['seconds'])}</td>"
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
    if experts := _experts(records, look, boosters):
        text = "Expert i is the vote of the first i learners. Weights over time, added up over stretches of the chain."
        pairs = "".join(f"<div>{one}</div>" for one in experts)
        body.append(section("Whom Hedge follows", text, f'<div class="pair">{pairs}</div>'))
    return page(title, "".join(body))
