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
from onlineboost.report.words import WORDS

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --grid: #eceff2;
        --plain: #f4f6f8; --blue: #0072B2;
        --sky: #56B4E9; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", Helvetica, Arial, sans-serif; color: var(--ink);
       background: var(--paper); max-width: 1220px; margin: 0 auto; padding: 24px 28px 60px; overflow-wrap: anywhere; }
h1 { font-size: 27px; line-height: 1.25; margin: 0 0 4px; } h2 { font-size: 19px; margin: 30px 0 4px; }
p, dd { margin: 4px 0 12px; max-width: 90ch; } .soft { color: var(--soft); } code { font-size: 13px; }
.tiles { display: flex; flex-wrap: wrap; gap: 14px; margin: 18px 0 4px; }
.tile { border: 1px solid var(--line); border-radius: 8px; padding: 10px 16px; flex: 1 1 200px; }
.tile b { display: block; font-size: 25px; line-height: 1.25; } .tile span { color: var(--soft); font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: separate; border-spacing: 2px; width: 100%; font-variant-numeric: tabular-nums;
        overflow-wrap: normal; }
th { font-size: 12.5px; font-weight: 600; padding: 2px 4px; text-align: center; }
th.row { text-align: left; white-space: nowrap; }
th:first-child { position: sticky; left: 0; background: var(--paper); }
tr.groups th { font-weight: 400; color: var(--soft); border-bottom: 1px solid var(--line); }
td { text-align: center; padding: 3px 4px 4px; font-size: 15px; line-height: 1.2; border-radius: 4px; min-width: 56px;
     white-space: nowrap; }
td, th { vertical-align: middle; } td[style] { background: var(--light); }
td small { display: block; font-size: 11px; color: var(--ink); opacity: .85; white-space: nowrap; }
td small.inline { display: inline; }
td.top b { font-weight: 800; } td b { font-weight: 600; } td sup { font-size: 10px; }
td.plain { background: var(--plain); }
a { color: var(--blue); }
.track { display: block; position: relative; height: 14px; min-width: 110px; margin: 0 8px; }
.track i { position: absolute; top: 0; height: 14px; border-radius: 3px; background: var(--line); }
.track b { position: absolute; top: 2px; width: 10px; height: 10px; margin-left: -5px; border-radius: 5px;
           background: var(--blue); }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 2px 8px; font-size: 12.5px; color: var(--soft);
          margin: 6px 0 10px; }
.legend i { flex: 0 1 260px; min-width: 90px; height: 13px; border-radius: 3px; border: 1px solid var(--line);
            background: linear-gradient(to right, var(--light)); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 440px), 1fr)); gap: 0 24px; }
.pair > * { min-width: 0; }
.chart { margin: 8px 0 4px; width: 100%; overflow-x: auto; } .chart svg { max-width: 100%; height: auto; }
h3 { font-size: 14px; margin: 12px 0 0; color: var(--soft); font-weight: 600; }
dt { font-weight: 600; } dd { margin-left: 0; color: var(--soft); }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #161b22; --ink: #e8ecf0; --soft: #a3aeba; --line: #3a434e; --grid: #2a323b; --plain: #20272f;
          --blue: #3d8ef5; --sky: #a5e0ff; }
  td[style] { background: var(--dark); } .legend i { background: linear-gradient(to right, var(--dark)); } }
@media (max-width: 600px) { body { padding: 16px 14px 40px; } h1 { font-size: 22px; } h2 { font-size: 17px; } }
@media print { body { padding: 0; max-width: none; zoom: .82; } h2 { break-after: avoid; }
  section, tr, .chart { break-inside: avoid; } .scroll, .chart { overflow: visible; }
  th:first-child { position: static; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } @page { size: A4 landscape; margin: 12mm; } }
"""

# Charts fit the page, and are drawn again when its width changes. Their colours are the page's own.
SCRIPT = """
const sources = [...document.querySelectorAll("script[type='application/json']")];
const [ink, soft, line, grid] = ["ink", "soft", "line", "grid"].map(name => `var(--${name})`);
const besides = 62;  // an axis and its title
function fitted(spec, room) {
  if (spec.facet) {
    const panel = Math.min(spec.spec.width, 240);
    spec.columns = Math.max(1, Math.min(spec.columns, Math.floor(room / (panel + besides / 2))));
    spec.spec.width = Math.min(460, Math.floor((room - 8) / spec.columns - besides));
  } else {
    spec.width = Math.min(640, room - 4);
    spec.autosize = {type: "fit-x", contains: "padding"};
  }
  return spec;
}
function draw(source) {
  const place = source.previousElementSibling, room = place.clientWidth;
  const text = {labelColor: soft, titleColor: soft, titleFontWeight: "normal"};
  const config = {
    background: "transparent", font: "system-ui, Segoe UI, Helvetica, Arial, sans-serif", view: {stroke: line},
    axis: {...text, gridColor: grid, domainColor: line, tickColor: line}, facet: {spacing: 14},
    header: {labelColor: ink, titleColor: ink}, title: {color: ink},
    legend: {...text, labelFontSize: 12, labelLimit: 200, columns: Math.max(1, Math.floor(room / 150))}};
  return vegaEmbed(place, fitted(JSON.parse(source.textContent), room), {renderer: "svg", actions: false, config});
}
function drawAll() {
  Promise.all(sources.map(draw)).then(() => document.body.dataset.ready = sources.length)
    .catch(error => { document.body.dataset.error = error;
      document.body.prepend("The charts could not be drawn: " + error); });
}
let width = window.innerWidth, later;
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return;
  width = window.innerWidth;
  clearTimeout(later);
  later = setTimeout(drawAll, 200);
});
drawAll();
"""

# The browser itself is told not to load anything: what is not in the page is not there.
POLICY = "default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval'; style-src 'unsafe-inline'; img-src data:"


def page(title: str, body: str) -> str:
    """A whole page, with the library that draws its charts."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n"
        f"<script>{_javascript()}</script>\n<script>{SCRIPT}</script>\n</body></html>\n"
    )


def _javascript() -> str:
    return vl_convert.javascript_bundle()  # type: ignore[call-arg]


def chart(drawn: alt.TopLevelMixin | None) -> str:
    """A chart as part of a page; the page gives it its colours and its width."""
    if drawn is None:
        return ""
    spec = drawn.to_dict()
    spec.pop("$schema", None)
    spec.pop("config", None)
    text = json.dumps(spec, separators=(",", ":")).replace("<", "\\u003c")  # no tag and no comment begins in it
    return f'<div class="chart"></div><script type="application/json">{text}</script>\n'


def section(title: str, text: str, *content: str) -> str:
    """A part of a page: heading, explanation (HTML), tables and charts."""
    return f"<section><h2>{escape(title)}</h2>\n<p>{text}</p>\n{''.join(content)}</section>\n"


def table(lines: Sequence[str]) -> str:
    """A table of these lines, in a box of its own that scrolls where the page is too narrow for it."""
    return f'<div class="scroll" tabindex="0"><table>{"".join(lines)}</table></div>'


def words(*names: str) -> str:
    """A part of a page that says what these words mean."""
    lines = "".join(f"<dt>{name}</dt><dd>{WORDS[name]}</dd>" for name in names)
    return f'<section id="words"><h2>Words</h2>\n<dl>{lines}</dl></section>\n'


def expert_charts(records: Sequence[Record], look: Look, systems: Sequence[str]) -> list[str]:
    """Which experts are trusted, a chart for each of the systems that have experts."""
    out = []
    for system in systems:
        if drawn := chart(charts.expert_weights(records, look, system)):
            out.append(f"<h3>{escape(system)}</h3>{drawn}")
    return out


def legend(low: str, middle: str, high: str, note: str) -> str:
    """The scale of the colours of a table."""
    stops = [", ".join(colour(i / 10, dark) for i in range(-10, 11)) for dark in (False, True)]
    bar = f'<i style="--light:{stops[0]};--dark:{stops[1]}" title="{middle}"></i>'
    return f'<div class="legend"><span>{low}</span>{bar}<span>{high}</span><span>{note}</span></div>'
