"""Pictures: the paper's figure and the curves of its bounds, as PNG and as an interactive page.

Needs the extra ``onlineboost[report]``.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from onlineboost.boosters.potentials import asymptotic_error
from onlineboost.data.errors import DataError


def draw_potentials(n_learners: int, gammas: Sequence[float], most_classes: int, out: str) -> list[Path]:
    """Draw phi_N(0) against the number of classes k, a panel for each edge, to OUT.png and OUT.html.

    This is the paper's figure on why potentials are hard to approximate in k: with a larger edge the error rate first
    rises with the number of classes, then falls, as wrong votes spread over more labels.
    """
    altair = need_drawing()
    rows = [
        {"edge": f"γ = {gamma:g}", "classes": k, "error": asymptotic_error(k, n_learners, gamma)}
        for gamma in gammas
        for k in range(2, most_classes + 1)
    ]
    line = (
        altair.Chart(altair.Data(values=rows))
        .mark_line(point={"size": 12}, strokeWidth=2, color="#1f6feb")
        .encode(
            x=altair.X("classes:Q", title="number of classes k"),
            y=altair.Y("error:Q", title="error rate", scale=altair.Scale(zero=False)),
            tooltip=["classes:Q", altair.Tooltip("error:Q", format=".5f")],
        )
        .properties(width=320, height=240)
    )
    header = altair.Header(title=None, labelFontSize=13)
    panels = altair.Facet("edge:N", sort=[f"γ = {g:g}" for g in gammas], header=header)
    text = (
        f"{n_learners} weak learners vote, each with the edge γ over guessing: 0 is guessing, 1 is never wrong. The "
        "curve is the error rate of their vote as the number of classes grows, which the paper calls the potential "
        "φ. With a larger edge it first rises with the number of classes, then falls, as wrong votes spread over more "
        "labels. All panels have the same scale."
    )
    title = f"Error rate of OnlineMBBM with {n_learners} learners of edge γ"
    return _save(line.facet(facet=panels, columns=min(len(gammas), 3)), title, text, out)


def draw_bounds(rows: list[dict[str, Any]], error: float, n_classes: int, gamma: float, out: str) -> list[Path]:
    """Draw the curves of `onlineboost bounds`, and the error that is wanted, to OUT.png and OUT.html."""
    altair = need_drawing()
    names = ["the paper's bound", "OnlineMBBM, exact", "no booster is below"]
    lowest = error / 10.0
    line = (
        altair.Chart(altair.Data(values=[row for row in rows if row["error"] >= lowest]))
        .mark_line(strokeWidth=2)
        .encode(
            x=altair.X("learners:Q", title="number of weak learners N"),
            y=altair.Y("error:Q", title="error rate", scale=altair.Scale(type="log", domain=[lowest, 1.0], nice=False)),
            color=altair.Color(
                "line:N",
                title=None,
                legend=altair.Legend(orient="top"),
                scale=altair.Scale(domain=names, range=["#8b949e", "#1f6feb", "#d29922"]),
            ),
            tooltip=["line:N", "learners:Q", altair.Tooltip("error:Q", format=".4f")],
        )
    )
    wanted = altair.Chart(altair.Data(values=[{"error": error}])).mark_rule(strokeDash=[4, 3], color="#cf222e")
    chart = (line + wanted.encode(y="error:Q")).properties(width=640, height=300)
    text = (
        "The more weak learners vote, the fewer mistakes are left. Each is a little better than guessing, by the edge "
        f"γ = {gamma:g}: 0 is guessing, 1 is never wrong. The dashed line is the error rate that is wanted, {error:g}; "
        "each step of the error axis is a factor. “No booster is below” is a limit for all algorithms of this kind."
    )
    return _save(chart, f"Error rate with {n_classes} classes and learners of edge γ = {gamma:g}", text, out)


def need_drawing() -> Any:
    """altair, or an error that says how to get it."""
    try:
        import altair
    except ImportError:
        raise DataError("drawing needs altair: pip install 'onlineboost[report]'") from None
    return altair


def _save(chart: Any, title: str, text: str, out: str) -> list[Path]:
    """The picture with its title, and a page that explains it."""
    from onlineboost.report import page

    picture, whole = Path(f"{out}.png"), Path(f"{out}.html")
    chart.properties(title=title).save(picture, scale_factor=2)
    body = f"<h1>{escape(title)}</h1>\n<p>{escape(text)}</p>\n{page.chart(chart)}"
    whole.write_text(page.page(title, body), encoding="utf-8")
    return [picture, whole]
