"""The tables of the report on the paper's experiments, in HTML: ours, the paper's, coloured by the difference.

Needs the extra ``onlineboost[report]``.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from onlineboost.paper import tables as paper_tables
from onlineboost.paper.summary import Summary, is_below, table_one
from onlineboost.paper.tables import OURS, SYSTEMS
from onlineboost.report.colours import shade
from onlineboost.report.page import table

POINTS = 0.10  # a difference of so much has the full colour
FACTOR = 1000.0  # so has a time that differs by this factor


def _accuracy(value: float) -> str:
    return "1.000" if value >= 0.9995 else f"{value:.3f}".lstrip("0")


def seconds_text(value: float) -> str:
    """Seconds with about three digits."""
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
    systems = [system for system in SYSTEMS if any(key[1] == system for key in found)]
    binary = [s for s in systems if s in ("OvA", "AdaOVA")]
    multi = [s for s in systems if s in paper_tables.PRINTED and s not in binary]
    new = [s for s in systems if s not in paper_tables.PRINTED]
    groups = [(multi, "multiclass trees"), (binary, "k × as many binary trees"), (new, "not in the paper")]
    head = "".join(f'<th colspan="{len(group)}">{text}</th>' for group, text in groups if group)
    lines = [f'<tr class="groups"><th></th>{head}</tr>']
    lines.append("<tr><th></th>" + "".join(f"<th>{escape(s)}</th>" for s in systems) + "</tr>")
    cell = _time_cell if measure == "seconds" else _accuracy_cell
    for name in datasets_of(summary):
        rows = [found.get((name, system)) for system in systems]
        top = max(row[measure] for row in rows if row is not None)
        cells = "".join(cell(row, measure, top) for row in rows)
        lines.append(f'<tr><th class="row">{paper_tables.LABELS[name]}</th>{cells}</tr>')
    return table(lines)


def datasets_of(summary: Summary) -> list[str]:
    """Those of the paper's data sets that are in the summary, in the paper's order."""
    there = {row["dataset"] for row in summary}
    return [name for name in paper_tables.LABELS if name in there]


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
            best = paper_tables.best(line["dataset"])
            paper = pair.get("tail_paper", best)
            difference = pair["tail"] - paper
            which = f" {escape(pair['system'])}" if "system" in pair else ""
            low = f"{_accuracy(paper)} {100 * difference:+.1f}"
            time = seconds_text(pair["seconds_paper"]) if "seconds_paper" in pair else "&nbsp;"
            cells.append(
                f"<td {shade(difference / POINTS)}><b>{_accuracy(pair['tail'])}</b>{_small(which)}"
                f"<small>{low}</small></td>"
                f'<td class="plain"><b>{seconds_text(pair["seconds"])}</b><small>{time}</small></td>'
            )
        out.append(f'<tr><th class="row">{paper_tables.LABELS[line["dataset"]]}</th>{"".join(cells)}</tr>')
    return table(out)


def _small(text: str) -> str:
    return f'<small class="inline">{text}</small>' if text else ""
