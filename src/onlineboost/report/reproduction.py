"""The report of `onlineboost reproduce`. Needs the extra ``onlineboost[report]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from onlineboost.evaluation.records import Record
from onlineboost.paper import tables as paper_tables
from onlineboost.paper.summary import Summary, is_below
from onlineboost.paper.tables import OURS, SYSTEMS
from onlineboost.report import charts
from onlineboost.report.charts import COLOURS, Look
from onlineboost.report.page import chart, expert_charts, legend, page, section, words
from onlineboost.report.ranking import ranking
from onlineboost.report.tables import FACTOR, POINTS, datasets_of, table_of, table_one_of
from onlineboost.report.words import ALPHAS, CURVES, EDGES, EXPERTS

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
    names = datasets_of(summary)
    look = Look(names, list(LINES), {**LINES, "MB": COLOURS[2]}, paper_tables.LABELS)
    points = [{**row, "whose": "here"} for row in summary] + [
        {"dataset": name, "system": system, "tail": paper_tables.TAIL[name][system], "whose": "the paper",
         "seconds": paper_tables.SECONDS[name][system]}
        for name in names for system in paper_tables.PRINTED
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
        section("Accuracy on all rows", how, scale, table_of(summary, "full")),
        section("Run time", "Processor seconds of one run. Large: ours, on one core; small: the paper's, on the "
                 "authors' machine, and how many times as fast we are.", speed, table_of(summary, "seconds")),
        ranking(scores),
        section("Learning curves", f"{CURVES} A mean over the orders of the rows. Each data set has its own scale.",
                 chart(charts.learning_curves(records, look))),
        section("Accuracy against time", "Every system, here and in the paper. Up and to the left is better: more "
                 "often right, in less time. Each data set has its own scale.",
                 chart(charts.accuracy_and_time(points, look, FAMILIES))),
        section("Edges of the learners", EDGES,
                 chart(charts.spread(records, look, "edges", "edge", [OURS, "AdaOLM", "MB .1", "AdaOVA"]))),
        section("Weights of the votes", f"{ALPHAS} All votes of OnlineMBBM count the same.",
                 chart(charts.along_the_chain(records, look, "alphas", "weight (alpha)", [OURS, "AdaOLM", "AdaOVA"]))),
        section("Which part of the chain is trusted", f"{EXPERTS} In the first order of the rows.",
                 *expert_charts(records, look, [OURS, "AdaOLM"])),
        section("How this was made", _how(about)),
        words("test, then train", "last 20 %", "mean rank", "critical difference", "learner", "edge",
              "weight of a vote (alpha)", "expert", "Hedge"),
    ]  # fmt: skip
    return page("Online Multiclass Boosting, reproduced", "".join(body))


def _head(summary: Summary, about: Mapping[str, Any]) -> str:
    ours = [row for row in summary if row["system"] == OURS]
    wins = sum(row["tail"] >= 0.9995 or row["tail"] > paper_tables.best(row["dataset"]) for row in ours)
    compared = [row for row in summary if row["system"] in paper_tables.PRINTED[2:] and row["tail_error"] is not None]
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
