"""What pages share: their look, sections, tables with coloured cells, and what their words mean.

A page is one file that needs no network, and has no script: it fits a phone and a printer, and dark screens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape

from onlineboost.evaluation.metrics import METRICS

# The colours of all pictures and tables: they stay apart for the colour-blind.
OKABE_ITO = ("#0072b2", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#cc79a7", "#000000")  # strongest first
GREY = "#777777"
ABOVE, BELOW = (67, 147, 195), (224, 130, 20)  # blue and orange: the colour-blind tell them apart
POINTS = 0.10  # a difference of so much has the full colour
LIGHT, DARK = (255, 255, 255), (22, 27, 34)  # the paper of a page, by day and by night

STYLE = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --soft: #59636e; --line: #d5dae0; --grid: #eceff2;
        --plain: #f4f6f8; --blue: #0072B2; --sky: #56B4E9; }
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
summary { cursor: pointer; font-size: 14px; color: var(--soft); margin: 8px 0 2px; }
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
.chart { margin: 8px 0 4px; } .chart svg { width: 100%; height: auto; max-width: 560px; display: block; }
.panels { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 250px), 1fr)); gap: 8px 16px; }
.panels figure { margin: 0; min-width: 0; } figcaption { font-size: 13px; font-weight: 600; text-align: center; }
.key { display: flex; flex-wrap: wrap; gap: 2px 14px; font-size: 12.5px; color: var(--soft); margin: 0 0 6px; }
.key i { display: inline-block; width: 14px; height: 10px; border-radius: 2px; margin-right: 5px; }
h3 { font-size: 14px; margin: 12px 0 0; color: var(--soft); font-weight: 600; }
dt { font-weight: 600; } dd { margin-left: 0; color: var(--soft); }
@media screen and (prefers-color-scheme: dark) {
  :root { --paper: #161b22; --ink: #e8ecf0; --soft: #a3aeba; --line: #3a434e; --grid: #2a323b; --plain: #20272f;
          --blue: #3d8ef5; --sky: #a5e0ff; }
  td[style] { background: var(--dark); } .legend i { background: linear-gradient(to right, var(--dark)); } }
@media (max-width: 600px) { body { padding: 16px 14px 40px; } h1 { font-size: 22px; } h2 { font-size: 17px; } }
@media print { body { padding: 0; max-width: none; zoom: .82; } h2 { break-after: avoid; }
  section, tr, .chart { break-inside: avoid; } .scroll { overflow: visible; }
  th:first-child { position: static; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; } @page { size: A4 landscape; margin: 12mm; } }
"""

# The browser itself is told not to load anything, and to run nothing: what is not in the page is not there.
POLICY = "default-src 'none'; style-src 'unsafe-inline'"

WORDS = {
    "test, then train": "Every row is predicted before its label is learned, so each prediction is one that could have "
    "been made in earnest. Also called <em>prequential</em>.",
    "last 20 %": "Share of right predictions on the last fifth of the stream, when most has been learned.",
    "interval": "How much of the accuracy is luck: about 95 of 100 such intervals hold the true value. Neighbouring "
    "rows are alike, so it is made from stretches of the stream, not from single rows.",
    **{metric.title: metric.about for metric in METRICS.values() if metric.about},
    "learner": "A small model, here mostly a tree. Boosting makes one good model of a chain of many weak ones: each "
    "pays more attention to what those before it got wrong.",
    "edge": "How much better than guessing a learner is, where hard rows count more: 1 is never wrong, 0 is guessing, "
    "below 0 is worse than guessing. Later learners in the chain get the hard rows, so their edges are small.",
    "weight of a vote (alpha)": "How much the vote of a learner counts. Below 0, the opposite of what it says counts.",
    "expert": "Expert 10 is the vote of the first 10 learners together: a shorter chain inside the long one.",
    "Hedge": "The algorithm that decides which expert to follow: an expert loses weight with every mistake it makes.",
}

# What the parts of a page show.
CURVES = (
    "How the accuracy changes as the stream goes by: the share of right predictions in each thirtieth of the stream, "
    "smoothed with its neighbours."
)
EXPERTS = (
    "A long chain is not always the best: the vote of the first learners alone may be better than that of all. "
    "So the model keeps a weight for each such part of its chain, an <em>expert</em>, and follows those that have been "
    "right (the algorithm is called <em>Hedge</em>). From left to right the stream, from bottom to top longer and "
    "longer parts of the chain; the stronger the blue, the more weight."
)
EDGES = (
    "How much better than guessing the single learners of each model are, at the end: 1 is never wrong, 0 is guessing. "
    "The thick bar is the middle half of the learners, the mark in it the median, the thin line goes from the worst to "
    "the best."
)
ALPHAS = "How much the vote of a learner counts, along the chain, at the end; neighbours are averaged."


def page(title: str, body: str) -> str:
    """A whole page."""
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def section(title: str, text: str, *content: str) -> str:
    """A part of a page: heading, explanation (HTML), tables and charts."""
    return f"<section><h2>{escape(title)}</h2>\n<p>{text}</p>\n{''.join(content)}</section>\n"


def table(lines: Sequence[str]) -> str:
    """A table of these lines, in a box of its own that scrolls where the page is too narrow for it."""
    return f'<div class="scroll" tabindex="0"><table>{"".join(lines)}</table></div>'


def words(names: Iterable[str], meanings: Mapping[str, str] = WORDS) -> str:
    """A part of a page that says what these words mean."""
    lines = "".join(f"<dt>{name}</dt><dd>{meanings[name]}</dd>" for name in names)
    return f'<section id="words"><h2>Words</h2>\n<dl>{lines}</dl></section>\n'


def seconds_text(value: float) -> str:
    """Seconds with about three digits."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 9.95 else f"{value:.2f}"


# -------------------------------------------------------------------------------------------------------- colours


def colour(share: float, dark: bool = False) -> str:
    """The paper's colour at 0, blue towards 1, orange towards -1.

    Light enough for black text throughout, or, if the paper is dark, dark enough for white text.
    """
    share = max(-1.0, min(1.0, share))
    end = ABOVE if share > 0 else BELOW
    strength = (0.5 if dark else 0.85) * abs(share) ** 0.7
    paper = DARK if dark else LIGHT
    return "#" + "".join(f"{round(p + (c - p) * strength):02x}" for c, p in zip(end, paper, strict=True))


def shade(share: float) -> str:
    """The style of a cell of a table that has this colour, on light paper and on dark."""
    return f'style="--light:{colour(share)};--dark:{colour(share, dark=True)}"'
