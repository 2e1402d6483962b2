"""Charts of runs, for reports: learning curves, accuracy against time, alphas and edges, experts' weights.

All take records (see `onlineboost.evaluation.records`), each with a "dataset" and a "system" besides, and draw one
panel per data set. Needs the extra ``onlineboost[report]``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import numpy as np

from onlineboost.evaluation.records import Record, smoothed
from onlineboost.report.colours import GREY, OKABE_ITO

BLUE, SKY, INK = "var(--blue)", "var(--sky)", "var(--ink)"  # the page's own: other ones on dark paper than on light
COLOURS = (BLUE, *OKABE_ITO[1:4], SKY, OKABE_ITO[5], INK, "#8c7a00", GREY, "#bbbbbb")
SIZE = 1150  # width of a row of panels
BINS = 20  # stretches that the chain is cut into

Drawn = alt.Chart | alt.LayerChart | alt.FacetChart


@dataclass(frozen=True)
class Look:
    """What is drawn, in which order and colour, and how it is called."""

    datasets: Sequence[str]
    systems: Sequence[str]  # with a line of their own
    colours: Mapping[str, str]
    labels: Mapping[str, str]  # of the data sets

    @property
    def titles(self) -> list[str]:
        return [self.labels.get(name, name) for name in self.datasets]

    def colour(self, systems: Sequence[str], title: str | None = None) -> alt.Color:
        scale = alt.Scale(domain=list(systems), range=[self.colours[s] for s in systems])
        return alt.Color(
            "system:N",
            title=title,
            scale=scale,
            legend=alt.Legend(orient="top", symbolStrokeWidth=3),
        )

    def panel(self, columns: int) -> int:
        return min(460, SIZE // min(columns, max(len(self.datasets), 1)) - 48)

    def facet(self, chart: alt.Chart | alt.LayerChart, columns: int, independent: Sequence[str] = ()) -> Drawn:
        """The chart once per data set, in rows of so many; the chart itself if there is but one."""
        if len(self.datasets) == 1:
            return chart
        columns = min(columns, len(self.datasets))
        header = alt.Header(title=None, labelFontSize=13, labelFontWeight="bold")
        faceted = chart.facet(facet=alt.Facet("panel:N", sort=self.titles, header=header), columns=columns)
        return faceted.resolve_scale(**dict.fromkeys(independent, "independent"))  # type: ignore[arg-type]


def _groups(records: Sequence[Record], look: Look, systems: Sequence[str]) -> list[tuple[str, str, list[Record]]]:
    """(panel, system, its records) for all pairs that have any."""
    out = []
    for name, panel in zip(look.datasets, look.titles, strict=True):
        for system in systems:
            group = [r for r in records if r["dataset"] == name and r["system"] == system]
            if group:
                out.append((panel, system, group))
    return out


def _mean(group: Sequence[Record], name: str) -> np.ndarray | None:
    values = [record[name] for record in group if name in record]
    return np.mean(values, axis=0) if values else None


def learning_curves(records: Sequence[Record], look: Look) -> Drawn:
    """Accuracy in each thirtieth of the stream, a mean over the orders, smoothed over three points."""
    rows = []
    for panel, system, group in _groups(records, look, look.systems):
        right = np.mean([record["curve"]["right"] for record in group], axis=0)
        for examples, value in zip(group[0]["curve"]["examples"], smoothed(right).tolist(), strict=True):
            rows.append({"panel": panel, "system": system, "examples": examples, "accuracy": round(value, 4)})
    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.8, interpolate="monotone")
        .encode(
            x=alt.X("examples:Q", title="examples", axis=alt.Axis(format="~s", tickCount=4)),
            y=alt.Y("accuracy:Q", title="accuracy", scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=5)),
            color=look.colour(_present(rows, look.systems)),
            tooltip=["system:N", "examples:Q", alt.Tooltip("accuracy:Q", format=".3f")],
        )
        .properties(width=look.panel(4), height=190)
    )
    return look.facet(line, 4, ("x", "y"))


def accuracy_and_time(points: Sequence[Mapping[str, Any]], look: Look, families: Mapping[str, str]) -> Drawn:
    """Accuracy on the last 20 % against processor time, on a log axis. A point: dataset, system, tail, seconds, whose.

    `families` gives the colour group of a system.
    """
    titles = dict(zip(look.datasets, look.titles, strict=True))
    rows = [
        {
            "panel": titles[point["dataset"]],
            "system": families.get(point["system"], point["system"]),
            "model": point["system"],
            "whose": point["whose"],
            "seconds": max(point["seconds"], 1e-3),
            "accuracy": round(point["tail"], 4),
        }
        for point in points
    ]
    whose = list(dict.fromkeys(row["whose"] for row in rows))
    groups = list(dict.fromkeys(families.get(s, s) for s in look.colours))
    legend = alt.Legend(orient="top") if len(whose) > 1 else None
    dots = (
        alt.Chart(alt.Data(values=rows))
        .mark_point(size=60, opacity=0.9, strokeWidth=1.8)
        .encode(
            x=alt.X("seconds:Q", title="processor time, seconds", scale=alt.Scale(type="log", padding=8),
                    axis=alt.Axis(format="~g", tickCount=4, labelOverlap=True)),
            y=alt.Y("accuracy:Q", title="accuracy, last 20 %", scale=alt.Scale(zero=False, padding=8),
                    axis=alt.Axis(tickCount=5)),
            color=look.colour(_present(rows, groups)),
            shape=alt.Shape("whose:N", title=None, legend=legend,
                            scale=alt.Scale(domain=whose, range=["circle", "cross"][: len(whose)])),
            tooltip=["model:N", "whose:N", alt.Tooltip("seconds:Q", format=".3~g"),
                     alt.Tooltip("accuracy:Q", format=".3f")],
        )
        .properties(width=look.panel(4), height=190)
    )  # fmt: skip
    return look.facet(dots, 4, ("x", "y"))


def along_the_chain(
    records: Sequence[Record], look: Look, what: str, title: str, systems: Sequence[str]
) -> Drawn | None:
    """A number of each learner along the chain, a mean over the orders and over stretches of neighbours."""
    rows = []
    for panel, system, group in _groups(records, look, systems):
        if (values := _mean(group, what)) is not None:
            ends = _stretches(len(values))
            means = np.add.reduceat(values, ends[:-1]) / np.diff(ends)
            for last, value in zip(ends[1:].tolist(), means.tolist(), strict=True):
                rows.append({"panel": panel, "system": system, "learner": last, "value": round(value, 4)})
    if not rows:
        return None
    line = (
        alt.Chart(alt.Data(values=rows))
        .mark_line(strokeWidth=1.8)
        .encode(
            x=alt.X("learner:Q", title="learner", axis=alt.Axis(tickCount=3), scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title=title, axis=alt.Axis(tickCount=5)),
            color=look.colour(_present(rows, systems)),
            tooltip=["system:N", "learner:Q", alt.Tooltip("value:Q", format=".3f")],
        )
        .properties(width=look.panel(7) + 30 * (len(look.datasets) > 1), height=150)
    )
    return look.facet(line, 7)


def spread(records: Sequence[Record], look: Look, what: str, title: str, systems: Sequence[str]) -> Drawn | None:
    """A number of the learners, a row for each system: thin from the least to the greatest, thick the middle half."""
    rows = []
    for panel, system, group in _groups(records, look, systems):
        if (values := _mean(group, what)) is not None:
            parts = np.quantile(values, [0.0, 0.25, 0.5, 0.75, 1.0]).round(4).tolist()
            names = ("least", "quarter", "median", "three quarters", "greatest")
            rows.append({"panel": panel, "system": system, **dict(zip(names, parts, strict=True))})
    if not rows:
        return None
    there = _present(rows, systems)
    base = alt.Chart().encode(
        y=alt.Y("system:N", title=None, sort=there, axis=alt.Axis(labelLimit=110)),
        color=look.colour(there),
        tooltip=["system:N", "least:Q", "quarter:Q", "median:Q", "three quarters:Q", "greatest:Q"],
    )
    base.encoding.color.legend = None
    thin = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("least:Q", title=title, axis=alt.Axis(tickCount=5)), x2="greatest:Q"
    )
    thick = base.mark_bar(height=11, opacity=0.8).encode(x="quarter:Q", x2="three quarters:Q")
    middle = base.mark_tick(thickness=2, size=17, color=INK).encode(x="median:Q", color=alt.value(INK))
    boxes = alt.LayerChart(layer=[thin, thick, middle], width=look.panel(4), height=24 * len(there))
    boxes.data = alt.Data(values=rows)
    return look.facet(boxes, 4)


def expert_weights(records: Sequence[Record], look: Look, system: str) -> Drawn | None:
    """The weights that Hedge gives the experts over time, by stretches of the chain, in the first order."""
    rows = []
    for panel, _, group in _groups(records, look, [system]):
        shots = next((record["snapshots"] for record in group if "snapshots" in record), None)
        if shots is None:
            continue
        weights = np.array(shots["expert_weights"])
        ends = _stretches(weights.shape[1])
        mass = np.add.reduceat(weights, ends[:-1], axis=1)
        last = shots["examples"][-1]
        starts = [0, *shots["examples"][:-1]]
        for start, stop, row in zip(starts, shots["examples"], mass.tolist(), strict=True):
            for low, high, value in zip(ends[:-1].tolist(), ends[1:].tolist(), row, strict=True):
                span = {"from": 100 * start / last, "to": 100 * stop / last, "low": low, "high": high}
                rows.append({"panel": panel, **span, "weight": round(value, 4)})
    if not rows:
        return None
    tiles = (
        alt.Chart(alt.Data(values=rows))
        .mark_rect(color=BLUE)
        .encode(
            x=alt.X("from:Q", title="% of the stream", axis=alt.Axis(tickCount=3), scale=alt.Scale(domain=[0, 100])),
            x2="to:Q",
            y=alt.Y("low:Q", title="expert", axis=alt.Axis(tickCount=5), scale=alt.Scale(nice=False)),
            y2="high:Q",
            opacity=alt.Opacity("weight:Q", title="weight",
                                scale=alt.Scale(range=[0, 1], domain=[0, 1], type="sqrt"),
                                legend=alt.Legend(orient="top", columns=4, symbolType="square", symbolStrokeWidth=0,
                                                  symbolFillColor=BLUE, values=[0.05, 0.2, 0.5, 1], format=".2~f")),
            tooltip=["low:Q", "high:Q", alt.Tooltip("to:Q", format=".0f"), alt.Tooltip("weight:Q", format=".2f")],
        )
        .properties(width=look.panel(7) + 20 * (len(look.datasets) > 1), height=150)
    )  # fmt: skip
    return look.facet(tiles, 7)


def _stretches(n: int) -> np.ndarray:
    """Where stretches of a chain of n learners begin, and where the last one ends."""
    return np.unique(np.linspace(0, n, min(BINS, n) + 1).round().astype(int))


def _present(rows: Sequence[Mapping[str, Any]], systems: Sequence[str]) -> list[str]:
    there = {row["system"] for row in rows}
    return [system for system in systems if system in there]
