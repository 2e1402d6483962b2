"""Charts of runs, and the paper's figures: drawn by matplotlib, as SVG in the page.

A chart is a panel for each data set. Panels stand side by side where the page is wide enough, and take its colours,
which are others on dark paper than on light. What a mark stands for is told where the mouse rests on it. All charts
take records (see `evaluation.prequential.Recorder`), each with a "dataset" and a "system" besides. Needs the extra
``onlineboost[report]``.
"""

from __future__ import annotations

import io
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.data.errors import DataError
from onlineboost.evaluation.prequential import Record, smoothed
from onlineboost.report import page

INK, SOFT, LINE, GRID = "#1b1f24", "#59636e", "#d5dae0", "#eceff2"
BLUE, SKY = page.OKABE_ITO[0], page.OKABE_ITO[4]
OF_THE_PAGE = {INK: "var(--ink)", SOFT: "var(--soft)", LINE: "var(--line)", GRID: "var(--grid)",
               BLUE: "var(--blue)", SKY: "var(--sky)"}  # fmt: skip
COLOURS = (*page.OKABE_ITO[:6], INK, "#8c7a00", page.GREY, "#bbbbbb")
BINS = 20  # stretches that the chain is cut into
FAINT = 0.01  # weights of experts below are not drawn
FONT = "system-ui, 'Segoe UI', Helvetica, Arial, sans-serif"
STYLE = {
    "svg.fonttype": "none", "svg.hashsalt": "onlineboost", "font.family": "DejaVu Sans", "font.size": 8,
    "text.color": INK, "axes.labelcolor": SOFT, "axes.edgecolor": LINE, "xtick.color": LINE, "ytick.color": LINE,
    "xtick.labelcolor": SOFT, "ytick.labelcolor": SOFT, "axes.grid": True, "grid.color": GRID, "axes.axisbelow": True,
    "axes.spines.top": False, "axes.spines.right": False, "lines.linewidth": 1.4, "text.parse_math": False,
}  # fmt: skip

Draw = Callable[[Any], None]  # into axes


@dataclass(frozen=True)
class Look:
    """What is drawn, in which order and colour, and how it is called."""

    datasets: Sequence[str]
    systems: Sequence[str]  # with a line of their own
    colours: Mapping[str, str]
    labels: Mapping[str, str]  # of the data sets

    def panels(self, drawn: Mapping[str, Draw], key: str = "", wide: float = 3.1, high: float = 2.1) -> str:
        """A panel for each data set that there is something to draw of; a single one is larger, and has no heading."""
        one = len(self.datasets) == 1
        size = (4.7, high + 0.4) if one else (wide, high)
        titles = {name: "" if one else self.labels.get(name, name) for name in self.datasets}
        return panels({titles[name]: draw for name, draw in drawn.items()}, key, size) if drawn else ""


def need_drawing() -> Any:
    """matplotlib, or an error that says how to get it."""
    try:
        import matplotlib
        import matplotlib.figure
    except ImportError:
        raise DataError("drawing needs matplotlib: pip install 'onlineboost[report]'") from None
    return matplotlib


def panels(drawn: Mapping[str, Draw], key: str = "", size: tuple[float, float] = (3.1, 2.1)) -> str:
    """Pictures side by side, by their headings, as part of a page."""
    out = []
    for title, draw in drawn.items():
        heading = f"<figcaption>{escape(title)}</figcaption>" if title else ""
        out.append(f"<figure>{heading}{_svg(draw, size)}</figure>")
    return f'<div class="chart">{key}<div class="panels">{"".join(out)}</div></div>\n'


def key(colours: Iterable[tuple[str, str]], marks: Mapping[str, str] | None = None) -> str:
    """Which colour, and which mark, is whose."""
    lines = [f'<span><i style="background:{OF_THE_PAGE.get(c, c)}"></i>{escape(name)}</span>' for c, name in colours]
    lines += [f"<span>{mark} {escape(name)}</span>" for name, mark in (marks or {}).items()]
    return f'<div class="key">{"".join(lines)}</div>'


def _svg(draw: Draw, size: tuple[float, float]) -> str:
    matplotlib, file = need_drawing(), io.StringIO()
    with matplotlib.rc_context(STYLE):
        figure = matplotlib.figure.Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        told = [artist for artist in figure.findobj() if artist.get_gid()]
        tips = [artist.get_gid() for artist in told]
        for n, artist in enumerate(told):
            artist.set_gid(f"tip-{n}")
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r'<metadata>.*?</metadata>|<defs>\s*<style.*?</defs>| xmlns(:xlink)?="[^"]*"', "", text, flags=re.S)
    text = re.sub(r'^<svg[^>]*viewBox="([^"]*)"[^>]*>', r'<svg viewBox="\1" role="img">', text)
    for n, tip in enumerate(tips):
        text = text.replace(f'<g id="tip-{n}">', f"<g><title>{escape(tip)}</title>")
    text = re.sub(r' id="\w+_\d+"', "", text).replace("xlink:href", "href").replace("'DejaVu Sans'", FONT)
    return re.sub("|".join(OF_THE_PAGE), lambda found: OF_THE_PAGE[found[0]], text)


# ------------------------------------------------------------------------------------------------- charts of runs


def learning_curves(records: Sequence[Record], look: Look) -> str:
    """Accuracy in each thirtieth of the stream, a mean over the orders, smoothed over three points."""
    lines = []
    for name, system, group in _groups(records, look, look.systems):
        right = smoothed(np.mean([record["curve"]["right"] for record in group], axis=0))
        lines.append((name, system, group[0]["curve"]["examples"], right))
    return _lines(lines, look, "examples", "accuracy")


def along_the_chain(records: Sequence[Record], look: Look, what: str, title: str, systems: Sequence[str]) -> str:
    """A number of each learner along the chain, a mean over the orders and over stretches of neighbours."""
    lines = []
    for name, system, group in _groups(records, look, systems):
        if (values := _mean(group, what)) is not None:
            ends = _stretches(len(values))
            lines.append((name, system, ends[1:], np.add.reduceat(values, ends[:-1]) / np.diff(ends)))
    return _lines(lines, look, "learner", title, 2.5, 1.9)


def _lines(lines: Sequence[tuple[str, str, Any, Any]], look: Look, across: str, up: str, *size: float) -> str:
    """Panels with these lines: data set, system, x and y of each."""

    def draw(name: str, ax: Any) -> None:
        for dataset, system, x, y in lines:
            if dataset == name:
                ax.plot(x, y, color=look.colours[system], gid=system)
        _axes(ax, across, up)

    systems = {line[1] for line in lines}
    colours = key((colour, system) for system, colour in look.colours.items() if system in systems)
    return look.panels({name: partial(draw, name) for name in dict.fromkeys(line[0] for line in lines)}, colours, *size)


def _axes(ax: Any, across: str, up: str = "") -> None:
    """Titles of the axes, and a few round numbers along each."""
    ticker = need_drawing().ticker
    ax.set(xlabel=across, ylabel=up)
    for axis, scale, limits in ((ax.xaxis, ax.get_xscale(), ax.get_xlim()), (ax.yaxis, ax.get_yscale(), ax.get_ylim())):
        if axis is ax.xaxis or up:  # otherwise it has names
            axis.set_major_formatter(lambda x, _: f"{x / 1000:g}k" if abs(x) >= 1000.0 else f"{x:g}")
            if scale == "linear":
                whole = limits[1] - limits[0] > 4.0
                axis.set_major_locator(ticker.MaxNLocator(5, steps=[1, 2, 2.5, 5, 10], integer=whole))


def accuracy_and_time(points: Sequence[Mapping[str, Any]], look: Look, families: Mapping[str, str]) -> str:
    """Accuracy on the last 20 % against processor time, on a log axis. A point: dataset, system, tail, seconds, whose.

    `families` gives the colour group of a system.
    """
    marks = dict(zip(dict.fromkeys(point["whose"] for point in points), ("o", "x"), strict=False))

    def draw(name: str, ax: Any) -> None:
        for p in points:
            if p["dataset"] == name:
                told = f"{p['system']}, {p['whose']}: {p['tail']:.3f} in {p['seconds']:.3g} s"
                colour = look.colours[families.get(p["system"], p["system"])]
                x, marker = max(p["seconds"], 1e-3), marks[p["whose"]]
                ax.plot([x], [p["tail"]], marker=marker, color=colour, mfc="none", mew=1.4, ms=5.5, gid=told)
        ax.set_xscale("log")
        ax.minorticks_off()
        ax.margins(0.08)
        _axes(ax, "processor time, seconds", "accuracy, last 20 %")

    groups = dict.fromkeys(families.get(s, s) for s in look.colours)
    there = {families.get(point["system"], point["system"]) for point in points}
    colours = [(look.colours[group], group) for group in groups if group in there]
    shown = {whose: {"o": "○", "x": "×"}[mark] for whose, mark in marks.items()} if len(marks) > 1 else {}
    return look.panels({name: partial(draw, name) for name in look.datasets}, key(colours, shown))


def spread(records: Sequence[Record], look: Look, what: str, title: str, systems: Sequence[str]) -> str:
    """A number of the learners, a row for each system: thin from the least to the greatest, thick the middle half."""
    rows: dict[str, dict[str, list[float]]] = {}
    for name, system, group in _groups(records, look, systems):
        if (values := _mean(group, what)) is not None:
            rows.setdefault(name, {})[system] = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]).tolist()
    there = [system for system in systems if any(system in of for of in rows.values())]

    def draw(of: Mapping[str, list[float]], ax: Any) -> None:
        for system, (least, low, middle, high, greatest) in of.items():
            y, colour = there.index(system), look.colours[system]
            told = f"{system}: {least:.3f} to {greatest:.3f}, half of them from {low:.3f} to {high:.3f}"
            ax.plot([least, greatest], [y, y], color=colour)
            ax.barh([y], [high - low], left=low, height=0.55, color=colour, alpha=0.8, gid=told)
            ax.plot([middle, middle], [y - 0.4, y + 0.4], color=INK)
        ax.set_yticks(range(len(there)), there)
        ax.set_ylim(len(there) - 0.4, -0.6)
        _axes(ax, title)

    return look.panels({name: partial(draw, of) for name, of in rows.items()}, high=0.7 + 0.2 * len(there))


def expert_weights(records: Sequence[Record], look: Look, systems: Sequence[str]) -> dict[str, str]:
    """The weights that Hedge gives the experts over time, by stretches of the chain, in the first order: by system."""
    marks = "".join(
        f'<span><i style="background:var(--blue);opacity:{w**0.5}"></i>{w:g}</span>' for w in (0.05, 0.2, 0.5, 1)
    )
    charts = {}
    for system in systems:
        found = {}
        for name, _, group in _groups(records, look, [system]):
            if shots := next((record["snapshots"] for record in group if "snapshots" in record), None):
                found[name] = partial(_draw_experts, shots)
        if found:
            charts[system] = look.panels(found, f'<div class="key"><span>weight</span>{marks}</div>', 2.6, 1.9)
    return charts


def _draw_experts(shots: Mapping[str, Any], ax: Any) -> None:
    ends = _stretches(len(shots["expert_weights"][0]))
    mass = np.add.reduceat(np.array(shots["expert_weights"]), ends[:-1], axis=1)
    share = 100.0 * np.array([0, *shots["examples"]]) / shots["examples"][-1]
    colour = need_drawing().colors.to_rgba
    t, i = np.nonzero(mass >= FAINT)
    shades = [colour(BLUE, min(1.0, weight**0.5)) for weight in mass[t, i].tolist()]
    where = {"width": np.diff(share)[t], "bottom": ends[i], "align": "edge"}
    ax.bar(share[t], np.diff(ends)[i], color=shades, linewidth=0, antialiased=False, **where)
    ax.set(xlim=(0, 100), ylim=(0, ends[-1]))
    ax.grid(False)
    _axes(ax, "% of the stream", "expert")


def _groups(records: Sequence[Record], look: Look, systems: Sequence[str]) -> list[tuple[str, str, list[Record]]]:
    """(data set, system, its records) for all pairs that have any."""
    out = []
    for name in look.datasets:
        for system in systems:
            if group := [r for r in records if r["dataset"] == name and r["system"] == system]:
                out.append((name, system, group))
    return out


def _mean(group: Sequence[Record], name: str) -> np.ndarray | None:
    values = [record[name] for record in group if name in record]
    return np.mean(values, axis=0) if values else None


def _stretches(n: int) -> np.ndarray:
    """Where stretches of a chain of n learners begin, and where the last one ends."""
    return np.unique(np.linspace(0, n, min(BINS, n) + 1).round().astype(int))


def rank_curves(records: Sequence[Record], look: Look) -> str:
    """How the models rank the rare class: precision against recall, and the ROC curve."""
    ranked = [record for record in records if "ranking" in record]
    share = ranked[0]["ranking"]["share"]

    def draw(x: str, y: str, across: str, up: str, guess: float | None, ax: Any) -> None:
        ends = (0.0, 1.0) if guess is None else (guess, guess)
        ax.plot((0.0, 1.0), ends, color=SOFT, linestyle=(0, (4, 3)), gid="guessing")
        for record in ranked:
            points, system = record["ranking"]["curves"], record["system"]
            ax.plot(points[x], points[y], color=look.colours[system], gid=system)
        ax.set(xlim=(0.0, 1.0), ylim=(0.0, 1.02))
        _axes(ax, across, up)

    drawn = {
        "precision and recall": partial(draw, "recall", "precision", "recall", "precision", share),
        "ROC curve": partial(draw, "false", "found", "share of the other rows above the threshold", "recall", None),
    }
    return panels(drawn, key((look.colours[record["system"]], record["system"]) for record in ranked), (4.2, 2.9))


# ----------------------------------------------------------------------------------------------------- pictures


def draw_potentials(n_learners: int, gammas: Sequence[float], most_classes: int, out: str) -> list[Path]:
    """Draw phi_N(0) against the number of classes k, a panel for each edge, to OUT.png and OUT.html.

    This is the paper's figure on why potentials are hard to approximate in k: with a larger edge the error rate first
    rises with the number of classes, then falls, as wrong votes spread over more labels.
    """
    need_drawing()
    classes = range(2, most_classes + 1)
    errors = {gamma: [asymptotic_error(k, n_learners, gamma) for k in classes] for gamma in gammas}
    all_errors = [error for of in errors.values() for error in of]
    room = 0.05 * (max(all_errors) - min(all_errors))

    def draw(of: Sequence[float], ax: Any) -> None:
        ax.plot(classes, of, color=BLUE, marker=".", ms=4)
        ax.set_ylim(min(all_errors) - room, max(all_errors) + room)
        _axes(ax, "number of classes k", "error rate")

    text = (
        f"{n_learners} weak learners vote, each with the edge γ over guessing: 0 is guessing, 1 is never wrong. The "
        "curve is the error rate of their vote as the number of classes grows, which the paper calls the potential "
        "φ. With a larger edge it first rises with the number of classes, then falls, as wrong votes spread over more "
        "labels. All panels have the same scale."
    )
    title = f"Error rate of OnlineMBBM with {n_learners} learners of edge γ"
    return _save({f"γ = {gamma:g}": partial(draw, of) for gamma, of in errors.items()}, "", title, text, out)


def draw_bounds(rows: list[dict[str, Any]], error: float, n_classes: int, gamma: float, out: str) -> list[Path]:
    """Draw the curves of `onlineboost bounds`, and the error that is wanted, to OUT.png and OUT.html."""
    lines = {"the paper's bound": page.GREY, "OnlineMBBM, exact": BLUE, "no booster is below": page.OKABE_ITO[3]}

    def draw(ax: Any) -> None:
        for line, colour in lines.items():
            shown = [row for row in rows if row["line"] == line and row["error"] >= error / 10.0]
            x, y = [row["learners"] for row in shown], [row["error"] for row in shown]
            ax.plot(x, y, color=colour, gid=line, label=line)
        ax.axhline(error, color="#cf222e", linestyle=(0, (4, 3)), gid="wanted")
        ax.set_yscale("log")
        ax.minorticks_off()
        ax.set_ylim(error / 10.0, 1.0)
        _axes(ax, "number of weak learners N", "error rate")

    text = (
        "The more weak learners vote, the fewer mistakes are left. Each is a little better than guessing, by the edge "
        f"γ = {gamma:g}: 0 is guessing, 1 is never wrong. The dashed line is the error rate that is wanted, {error:g}; "
        "each step of the error axis is a factor. “No booster is below” is a limit for all algorithms of this kind."
    )
    title = f"Error rate with {n_classes} classes and learners of edge γ = {gamma:g}"
    return _save({"": draw}, key((colour, line) for line, colour in lines.items()), title, text, out)


def _save(drawn: Mapping[str, Draw], legend: str, title: str, text: str, out: str) -> list[Path]:
    """The picture with its title, and a page that explains it."""
    picture, whole, matplotlib = Path(f"{out}.png"), Path(f"{out}.html"), need_drawing()
    columns = min(len(drawn), 3)
    size = (4.7, 2.6) if len(drawn) == 1 else (3.1, 2.3)
    with matplotlib.rc_context(STYLE):
        rows = math.ceil(len(drawn) / columns)
        figure = matplotlib.figure.Figure(figsize=(size[0] * columns, size[1] * rows + 0.3), layout="constrained")
        figure.suptitle(title, fontsize=9)
        for ax, (heading, draw) in zip(figure.subplots(rows, columns, squeeze=False).flat, drawn.items(), strict=False):
            draw(ax)
            ax.set_title(heading, fontsize=8)
            if legend:
                ax.legend(frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0), fontsize=7)
        for ax in figure.axes[len(drawn) :]:
            ax.remove()
        figure.savefig(picture, dpi=200)
    body = f"<h1>{escape(title)}</h1>\n<p>{escape(text)}</p>\n{panels(drawn, legend, size)}"
    whole.write_text(page.page(title, body), encoding="utf-8")
    return [picture, whole]
