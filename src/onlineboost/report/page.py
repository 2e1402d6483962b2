"""What the HTML reports share: a page that needs no network, and charts in it.

Needs the extra ``onlineboost[report]``.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape

import altair as alt
import vl_convert

from onlineboost.evaluation.records import Record
from onlineboost.report import charts
from onlineboost.report.charts import Look
from onlineboost.report.colours import colour

STYLE = """
:root { color-scheme: light; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; }
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: var(--ink); background: #fff;
       max-width: 1220px; margin: 0 auto; padding: 24px 28px 60px; }
h1 { font-size: 27px; margin: 0 0 4px; } h2 { font-size: 19px; margin: 30px 0 4px; }
p { margin: 4px 0 12px; max-width: 118ch; } .soft { color: var(--soft); } code { font-size: 13px; }
.tiles { display: flex; flex-wrap: wrap; gap: 14px; margin: 18px 0 4px; }
.tile { border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px; flex: 1 1 200px; }
.tile b { display: block; font-size: 25px; line-height: 1.25; } .tile span { color: var(--soft); font-size: 13px; }
table { border-collapse: separate; border-spacing: 2px; width: 100%; table-layout: fixed;
        font-variant-numeric: tabular-nums; }
th { font-size: 12.5px; font-weight: 600; padding: 2px 4px; text-align: center; } th.row { text-align: left; }
tr.groups th { font-weight: 400; color: var(--soft); border-bottom: 1px solid var(--line); }
td { text-align: center; padding: 3px 2px 4px; font-size: 15px; line-height: 1.2; border-radius: 4px; min-width: 56px; }
td, th { vertical-align: middle; }
td small { display: block; font-size: 11px; color: #2f363d; white-space: nowrap; } td.top b { font-weight: 800; }
td b { font-weight: 600; } td sup { font-size: 10px; }
td.plain { background: #f4f6f8; }
.legend { display: flex; align-items: center; gap: 10px; font-size: 12.5px; color: var(--soft); margin: 6px 0 10px; }
.legend i { width: 260px; height: 13px; border-radius: 3px; border: 1px solid var(--line); }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: 0 24px; }
.chart { margin: 8px 0 4px; overflow-x: auto; }
h3 { font-size: 14px; margin: 12px 0 0; color: var(--soft); font-weight: 600; }
@media print { body { padding: 0; max-width: none; } h2 { break-after: avoid; }
  section, tr, .chart { break-inside: avoid; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } @page { size: A4 landscape; margin: 12mm; }
  body { zoom: .82; } }
"""

SCRIPT = """
const charts = [...document.querySelectorAll("script[type='application/json']")];
Promise.all(charts.map(source => vegaEmbed(source.previousElementSibling, JSON.parse(source.textContent),
  {renderer: "svg", actions: false})))
  .then(() => document.body.dataset.ready = charts.length)
  .catch(error => { document.body.dataset.error = error;
    document.body.prepend("The charts could not be drawn: " + error); });
"""

# The browser itself is told not to load anything: what is not in the page is not there.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, body: str) -> str:
    """A whole page, with the library that draws its charts."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body>\n{body}\n'
        f"<script>{_javascript()}</script>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _javascript() -> str:
    return vl_convert.javascript_bundle()  # type: ignore[call-arg]


def chart(drawn: alt.TopLevelMixin | None) -> str:
    """A chart as part of a page."""
    if drawn is None:
        return ""
    axis = {"labelColor": "#59636e", "titleColor": "#59636e", "titleFontWeight": "normal", "gridColor": "#eceff2"}
    font = "system-ui, Segoe UI, Helvetica, Arial, sans-serif"
    drawn = drawn.configure(
        font=font, view={"stroke": "#d5dae0"}, axis=axis, facet={"spacing": 14}, legend={"labelFontSize": 12}
    )  # type: ignore[attr-defined]
    spec = drawn.to_dict()
    spec.pop("$schema", None)
    text = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")  # no tag and no comment begins in it
    return f'<div class="chart"></div><script type="application/json">{text}</script>\n'


def section(title: str, text: str, *content: str) -> str:
    """A part of a page: heading, explanation (HTML), tables and charts."""
    return f"<section><h2>{escape(title)}</h2>\n<p>{text}</p>\n{''.join(content)}</section>\n"


def expert_charts(records: Sequence[Record], look: Look, systems: Sequence[str]) -> list[str]:
    """Whom Hedge follows, a chart for each of the systems that have experts."""
    out = []
    for system in systems:
        if drawn := chart(charts.expert_weights(records, look, system)):
            out.append(f"<h3>{escape(system)}</h3>{drawn}")
    return out


def legend(low: str, middle: str, high: str, note: str) -> str:
    """The scale of the colours of a table."""
    stops = ", ".join(colour(i / 10) for i in range(-10, 11))
    bar = f'<i style="background: linear-gradient(to right, {stops})" title="{middle}"></i>'
    return f'<div class="legend"><span>{low}</span>{bar}<span>{high}</span><span>{note}</span></div>'
