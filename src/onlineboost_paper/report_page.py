"""The report of `onlineboost reproduce`. Needs the extra ``onlineboost[report]``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from onlineboost.evaluation.metrics import critical_difference, mean_ranks
from onlineboost.evaluation.prequential import Record
from onlineboost.report import charts
from onlineboost.report.charts import COLOURS, Look
from onlineboost.report.page import (
    ALPHAS,
    CURVES,
    EDGES,
    EXPERTS,
    POINTS,
    WORDS,
    colour,
    page,
    seconds_text,
    section,
    shade,
    table,
    words,
)
from onlineboost_paper.tables import (
    LABELS,
    MEASURES,
    OURS,
    PRINTED,
    SECONDS,
    SYSTEMS,
    TAIL,
    Summary,
    best,
    column_of,
    distances,
    is_below,
    table_one,
)

LINES = {
    OURS: COLOURS[0],
    "AdaOLM": COLOURS[1],
    "MB .1": COLOURS[2],
    "OvA": COLOURS[3],
    "AdaOVA": COLOURS[4],
    "OLB": COLOURS[5],
    "DT": COLOURS[8],
}
FACTOR = 1000.0  # a time that differs by this factor has the full colour
FAMILIES = {system: "MB" for system in SYSTEMS if system.startswith("MB")}
FAMILIES["MB default"] = OURS
MEANINGS = {
    **WORDS,
    "mean rank": "On each data set the best system has rank 1, the next rank 2, and so on; ties share their ranks. The "
    "mean of these over the data sets.",
    "critical difference": "How far two mean ranks have to be apart before it is more than chance (Nemenyi's test at "
    "95 %, as in Demšar 2006). With few data sets it is large.",
}


def reproduction_page(records: Sequence[Record], summary: Summary, about: Mapping[str, Any]) -> str:
    """The report of `onlineboost reproduce`."""
    names, ways = datasets_of(summary), _ways(summary)
    summary = [row for row in summary if row["system"] == column_of(row["system"])]
    look = Look(names, list(LINES), {**LINES, "MB": COLOURS[2]}, LABELS)
    points = [{**row, "whose": "here"} for row in summary] + [
        {"dataset": name, "system": system, "tail": TAIL[name][system], "whose": "the paper",
         "seconds": SECONDS[name][system]}
        for name in names for system in PRINTED
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
    scores = {name: {row["system"]: row["tail"] for row in summary if row["dataset"] == name} for name in names}
    body = [
        _head(summary, about),
        section("Table 1 of the paper", "Accuracy on the last 20 % of the rows and processor seconds. "
                 "Large: ours; small: the paper's.", scale, table_one_of(summary)),
        section("Accuracy on the last 20 %", how, scale, table_of(summary, "tail")),
        ways,
        section("Accuracy on all rows", how, scale, table_of(summary, "full")),
        section("Run time", "Processor seconds of one run. Large: ours, on one core; small: the paper's, on the "
                 "authors' machine, and how many times as fast we are.", speed, table_of(summary, "seconds")),
        ranking(scores),
        section("Learning curves", f"{CURVES} A mean over the orders of the rows. Each data set has its own scale.",
                 charts.learning_curves(records, look)),
        section("Accuracy against time", "Every system, here and in the paper. Up and to the left is better: more "
                 "often right, in less time. Each data set has its own scale.",
                 charts.accuracy_and_time(points, look, FAMILIES)),
        section("Edges of the learners", EDGES,
                 charts.spread(records, look, "edges", "edge", [OURS, "AdaOLM", "MB .1", "AdaOVA"])),
        section("Weights of the votes", f"{ALPHAS} All votes of OnlineMBBM count the same.",
                 charts.along_the_chain(records, look, "alphas", "weight (alpha)", [OURS, "AdaOLM", "AdaOVA"])),
        section("Which part of the chain is trusted", f"{EXPERTS} In the first order of the rows.",
                 *(f"<h3>{escape(system)}</h3>{chart}"
                   for system, chart in charts.expert_weights(records, look, [OURS, "AdaOLM"]).items())),
        section("How this was made", _how(about)),
        words(("test, then train", "last 20 %", "mean rank", "critical difference", "learner", "edge",
               "weight of a vote (alpha)", "expert", "Hedge"), MEANINGS),
    ]  # fmt: skip
    return page("Online Multiclass Boosting, reproduced", "".join(body))


def _head(summary: Summary, about: Mapping[str, Any]) -> str:
    ours = [row for row in summary if row["system"] == OURS]
    wins = sum(row["tail"] >= 0.9995 or row["tail"] > best(row["dataset"]) for row in ours)
    compared = [row for row in summary if row["system"] in PRINTED[2:] and row["tail_error"] is not None]
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
    missing = [LABELS[name] for name in about["missing"]]
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


# --------------------------------------------------------------------------------------------------------- tables


def _accuracy(value: float) -> str:
    return "1.000" if value >= 0.9995 else f"{value:.3f}".lstrip("0")


def _error(value: float | None) -> str:
    return "" if value is None else f" ±{value:.3f}".replace("±0.", "±.")


def _accuracy_cell(row: Mapping[str, Any] | None, measure: str, top: float) -> str:
    """Ours with its standard error; below, the paper's and the difference in points."""
    if row is None:
        return "<td></td>"
    printed = MEASURES[measure][row["dataset"]]
    paper = row[f"{measure}_paper"]
    against = max(printed.values()) if paper is None else paper
    difference = row[measure] - against
    error = row[f"{measure}_error"]
    mark = "<sup>▼</sup>" if is_below(row, measure) else ""
    css = ' class="top"' if row[measure] >= top else ""
    return (
        f'<td{css} {shade(difference / POINTS)} title="{escape(row["system"])}, n = {row["n"]}">'
        f"<b>{_accuracy(row[measure])}</b>{mark}<small>{_error(error) or 'n = 1'}</small>"
        f"<small>{_accuracy(against)} {100 * difference:+.1f}</small></td>"
    )


def _time_cell(row: Mapping[str, Any] | None, measure: str, top: float) -> str:
    if row is None:
        return "<td></td>"
    paper = row["seconds_paper"]
    if paper is None:
        return f'<td class="plain"><b>{seconds_text(row["seconds"])}</b><small>&nbsp;</small></td>'
    ratio = paper / max(row["seconds"], 1e-9)
    share = math.log(ratio) / math.log(FACTOR)
    return (
        f"<td {shade(share)}><b>{seconds_text(row['seconds'])}</b>"
        f"<small>{seconds_text(paper)}</small><small>× {ratio:,.0f}</small></td>"
    )


def table_of(summary: Summary, measure: str) -> str:
    """A measure of all data sets and systems, ours beside the paper's."""
    found = {(row["dataset"], row["system"]): row for row in summary}
    systems = [s for s in SYSTEMS if s == column_of(s) and any(key[1] == s for key in found)]
    binary = [s for s in systems if s in ("OvA", "AdaOVA")]
    multi = [s for s in systems if s in PRINTED and s not in binary]
    new = [s for s in systems if s not in PRINTED]
    groups = [(multi, "multiclass trees"), (binary, "k × as many binary trees"), (new, "not in the paper")]
    head = "".join(f'<th colspan="{len(group)}">{text}</th>' for group, text in groups if group)
    lines = [f'<tr class="groups"><th></th>{head}</tr>']
    lines.append("<tr><th></th>" + "".join(f"<th>{escape(s)}</th>" for s in systems) + "</tr>")
    cell = _time_cell if measure == "seconds" else _accuracy_cell
    for name in datasets_of(summary):
        rows = [found.get((name, system)) for system in systems]
        top = max(row[measure] for row in rows if row is not None)
        cells = "".join(cell(row, measure, top) for row in rows)
        lines.append(f'<tr><th class="row">{LABELS[name]}</th>{cells}</tr>')
    return table(lines)


def _ways(summary: Summary) -> str:
    """A part of the page: the paper's numbers, and ours as it is printed, as it is programmed, and corrected."""
    far = distances(summary)
    if not far:
        return ""
    found = {(row["dataset"], row["system"]): row["tail"] for row in summary}
    systems = list(far["ours"])
    lines = ["<tr><th></th><th></th>" + "".join(f"<th>{escape(s)}</th>" for s in systems) + "</tr>"]
    for name in datasets_of(summary):
        papers = "".join(f'<td class="plain"><b>{_accuracy(TAIL[name][s])}</b></td>' for s in systems)
        lines.append(f'<tr><th class="row">{LABELS[name]}</th><th class="row">the paper</th>{papers}</tr>')
        for form in far:
            cells = []
            for system in systems:
                tail = found.get((name, system if form == "ours" else f"{system} {form}"))
                share = 0.0 if tail is None else (tail - TAIL[name][system]) / POINTS
                cells.append("<td></td>" if tail is None else f"<td {shade(share)}>{_accuracy(tail)}</td>")
            lines.append(f'<tr><th></th><th class="row">{form}</th>{"".join(cells)}</tr>')
    for form, by_system in far.items():
        cells = [f"<td>{100 * distance:.1f}</td>" for distance in by_system.values()]
        lines.append(f'<tr><th class="row">distance</th><th class="row">{form}</th>{"".join(cells)}</tr>')
    text = (
        "The same systems as the paper prints them, as its authors' program has them, and ours: corrected, and with "
        "votes of our own. Last 20 %. The distance is the mean absolute difference over the data sets, in points."
    )
    return section("As printed, as programmed, ours", text, table(lines))


def datasets_of(summary: Summary) -> list[str]:
    """Those of the paper's data sets that are in the summary, in the paper's order."""
    there = {row["dataset"] for row in summary}
    return [name for name in LABELS if name in there]


def table_one_of(summary: Summary) -> str:
    """The paper's Table 1, with our numbers."""
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
            paper = pair.get("tail_paper", best(line["dataset"]))
            difference = pair["tail"] - paper
            which = f" {escape(pair['system'])}" if "system" in pair else ""
            low = f"{_accuracy(paper)} {100 * difference:+.1f}"
            time = seconds_text(pair["seconds_paper"]) if "seconds_paper" in pair else "&nbsp;"
            cells.append(
                f"<td {shade(difference / POINTS)}><b>{_accuracy(pair['tail'])}</b>{_small(which)}"
                f"<small>{low}</small></td>"
                f'<td class="plain"><b>{seconds_text(pair["seconds"])}</b><small>{time}</small></td>'
            )
        out.append(f'<tr><th class="row">{LABELS[line["dataset"]]}</th>{"".join(cells)}</tr>')
    return table(out)


def _small(text: str) -> str:
    return f'<small class="inline">{text}</small>' if text else ""


def legend(low: str, middle: str, high: str, note: str) -> str:
    """The scale of the colours of a table."""
    stops = [", ".join(colour(i / 10, dark) for i in range(-10, 11)) for dark in (False, True)]
    bar = f'<i style="--light:{stops[0]};--dark:{stops[1]}" title="{middle}"></i>'
    return f'<div class="legend"><span>{low}</span>{bar}<span>{high}</span><span>{note}</span></div>'


def ranking(scores: Mapping[str, Mapping[str, float]]) -> str:
    """A part of a page that ranks the systems over the data sets; empty if there are too few of either."""
    if len(scores) < 2:
        return ""
    ranks, n = mean_ranks(scores)
    if len(ranks) < 2:
        return ""
    distance = critical_difference(len(ranks), n)
    first = next(iter(ranks.values()))
    lines = ["<tr><th></th><th>mean rank</th><th></th><th>behind the first?</th></tr>"]
    place = 100.0 / len(ranks)  # per cent of the line that a rank takes
    band = (
        f'<i style="left:{place * (first - 1):.1f}%;width:{min(place * distance, 100 - place * (first - 1)):.1f}%"></i>'
    )
    for system, rank in ranks.items():
        behind = "" if rank == first else "yes" if rank - first > distance else "not clear"
        lines.append(
            f'<tr><th class="row">{escape(system)}</th><td><b>{rank:.2f}</b></td><td><span class="track">{band}'
            f'<b style="left:{place * (rank - 1):.1f}%"></b></span></td><td>{behind}</td></tr>'
        )
    text = (
        f"Mean ranks by accuracy on the last 20 %, over {n} data sets; 1 would be the best on every one. The critical "
        f"difference is <b>{distance:.2f}</b>: two systems whose mean ranks are closer than that cannot be told apart "
        "by these data sets. The grey band is as wide as that, from the first on."
    )
    return section("Ranking over the data sets", text, table(lines))
